"""The report: whole, self-contained, well formed, and deaf to markup in the user's names."""

from __future__ import annotations

import base64
import hashlib
import html
import itertools
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from fitted import changed, model, with_outliers, with_rivals_at
from ieql.errors import IeqlError
from ieql.prior import Prior
from ieql.units import Unit

EVIL = "<script>alert(1)</script>"
IMAGE = "\"'><img src=x onerror=alert(1)>"
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Reader(HTMLParser):
    """Collects elements, and fails where one is closed that was not opened last."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def words(text: str) -> str:
    """The page without its markup, style and script."""
    text = re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


@pytest.fixture(scope="module")
def page():
    return model(outside=True, domain={"x": (0.5, 3.0)}).report_html()


def test_the_parts_asked_for_are_there(page):
    said = words(page)
    assert "ab" * 32 in said  # the hash
    assert "300 rows and 20 labelled points outside" in said
    for phrase in (
        "The preset motor",
        "no cosine of a cosine",
        "no exponential of an exponential",
        "Measured and predicted",
        "Residuals over each input",
        "Slices through each input",
        "Network",
        "Constants ± standard error",
        "over all candidates of the search",
        "declared domain 0.5 to 3",
        "time 3.5 s",
        "trainings 12",
        "ended because the time is up",
        "seed 7",
        "python 3.12.1",
    ):
        assert phrase.replace("declared domain ", "") in said, phrase
    assert "2.500 ± 0.025" in said


def test_what_is_proved_of_an_equation_is_among_its_facts():
    fitted = model()
    simple, better, best = fitted.fronts_[0]
    front = (simple, replace(better, proved=True), replace(best, proved=True, excess=1e6))
    changed(fitted, fronts=(front,))
    said = words(fitted.report_html())
    assert "Safe at all sampled points; a proof was not found" in said
    assert said.count("Proved safe in the whole domain") >= 2
    assert "more than 100 times the range of the target beyond the measured values" in said


def test_it_is_well_formed(page):
    Reader(page)
    for svg in re.findall(r"<svg.*?</svg>", page, flags=re.S):
        ElementTree.fromstring(svg)
    for form in re.findall(r"<math.*?</math>", page, flags=re.S):
        ElementTree.fromstring(form)


def test_it_asks_nothing_of_the_network(page):
    reader = Reader(page)
    for _, attrs in reader.elements:
        for name in ("src", "href", "data", "action", "srcset", "poster"):
            address = attrs.get(name)
            assert address is None or address.startswith("#") or address == "data:,", address
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", page))
    assert addresses <= {"http://www.w3.org/1998/Math/MathML"}
    assert "@import" not in page
    assert "url(" not in page


def test_its_policy_allows_its_own_script_and_nothing_else(page):
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [m["content"] for m in Reader(page).all("meta") if "http-equiv" in m]
    assert policy.startswith("default-src 'none'")
    assert f"script-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize(
    "evil", [EVIL, "\"'><img src=x onerror=alert(1)>", "{{ 7*7 }}", "</style>"]
)
def test_markup_in_names_stays_text(evil):
    rule = {evil: {"not_in": ["cos"]}}
    m = model(
        ("3", f"2*`{evil}` + cos(z)"),
        ("1", f"`{evil}`*z"),
        names=(evil, "z"),
        targets=(evil, "w" + evil),
        prior=Prior(inputs=rule),
        outside=True,
    )
    changed(m, stop_reason=evil)
    page = m.report_html()
    reader = Reader(page)
    assert len(reader.all("script")) == 1
    assert not reader.all("img")
    assert not any(name.startswith("on") for _, attrs in reader.elements for name in attrs)
    assert page.count("</style>") == 1
    assert html.escape(evil) in page


def test_a_screen_reader_is_told_what_the_plots_show(page):
    reader = Reader(page)
    svgs = reader.all("svg")
    assert svgs
    assert all(svg["aria-label"] and svg["role"] in ("img", "group") for svg in svgs)
    assert reader.all("html")[0]["lang"] == "en"
    points = [g for g in reader.all("g") if g.get("role") == "button"]
    assert len(points) == 3
    assert "complexity 1" in points[1]["aria-label"]
    assert [p["aria-pressed"] for p in points] == ["false", "false", "true"]
    sorts = [th.get("aria-sort") for th in reader.all("th")]
    assert "ascending" in sorts
    assert all(table_head["scope"] for table_head in reader.all("th"))


def test_headings_go_down_one_step_at_a_time(page):
    body = re.sub(r"<template.*?</template>", "", page, flags=re.S)
    levels = [int(level) for level in re.findall(r"<h([1-6])", body)]
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_training_and_validation_errors_stand_side_by_side_and_it_is_said_what_they_are(page):
    headings = re.findall(r'<button type="button"[^>]*>([^<]*)</button></th>', page)
    assert headings[4:7] == ["training error", "validation error", "extrapolation error"]
    assert "on held-out rows that were not used to fit the constants" in words(page)
    m = model()
    changed(m, validation="cross-fitting")
    assert "each tenth of the rows is predicted with constants fitted" in words(m.report_html())


# --- outliers ------------------------------------------------------------------------------------


def outlier_marks(page: str, label: str) -> int:
    """Number of crosses and triangles in all plots whose label begins so, equation by equation."""
    plots = re.findall(rf'<svg[^>]*aria-label="{label}.*?</svg>', page, flags=re.S)
    paths = [re.findall(r'class="outlier[^"]*" d="([^"]*)"', plot) for plot in plots]
    counts = {sum(path.count("M") for path in of) for of in paths}
    assert len(counts) == 1
    return counts.pop()


def test_every_plot_shows_every_outlier_by_a_mark_of_its_own():
    rows = range(7, 300, 28)
    page = with_outliers(model(), rows).report_html()
    Reader(page)
    for svg in re.findall(r"<svg.*?</svg>", page, flags=re.S):
        ElementTree.fromstring(svg)
    for label in ("Predicted over measured y", "Residuals of y over x", "Residuals of y over z"):
        assert outlier_marks(page, label) == len(rows) == 11
    assert "11 outliers marked, 11 of them beyond the axes" in page
    said = words(page)
    assert "Shown: 300 rows, and all 11 outliers." in said
    assert "11 of 300 rows lie far from the equation and were left out of the fit" in said
    assert "a sample of 300 rows and the 11 outliers" in said


def test_the_counts_are_those_of_what_is_drawn():
    m = with_outliers(model(["2", "3*x + 1"] * 30), range(11))
    said = words(m.report_html())
    assert re.search(r"Shown: \d+ of 300 rows, and all 11 outliers\.", said)
    changed(m, outliers=(tuple(range(250)),))  # more than were kept
    said = words(m.report_html())
    assert re.search(r"and 11 of 250 outliers\.", said)
    assert "239 more outliers are neither listed nor drawn" in said


def test_outliers_do_not_flatten_the_other_rows():
    def ticks(page):
        plot = re.search(r'<svg[^>]*aria-label="Residuals of y over x.*?</svg>', page, re.S)[0]
        return re.findall(r'text-anchor="end">([^<]*)<', plot)

    rest = ticks(model().report_html())
    assert rest == ticks(with_outliers(model(), [3, 4], by=1e6).report_html())


def test_outliers_within_the_axes_are_crosses_those_beyond_are_triangles():
    page = with_outliers(model(("2", "3*x + 1")), [3], by=0.1).report_html()
    assert 'class="outlier"' in page
    assert "beyond" not in re.findall(r'class="(outlier[^"]*)"', page)
    assert "l6 6m0-6l-6 6" in page


def test_outliers_are_listed_and_folded_if_they_are_many():
    m = with_outliers(model(), [3, 250])
    page = m.report_html()
    table = page.partition('id="outliers-0"')[2].partition("</section>")[0]
    assert "<details open>" in table
    rows = re.findall(r"<tr><th[^>]*>(\d+)</th>(.*?)</tr>", table, flags=re.S)
    assert [int(number) for number, _ in rows] == [4, 251]
    x, z, measured, predicted, residual, sigmas = (
        float(cell.replace("−", "-")) for cell in re.findall(r"<td[^>]*>([^<]*)", rows[0][1])
    )
    assert predicted == pytest.approx(2.5 * x**2 + np.cos(z), rel=1e-4)
    assert measured == pytest.approx(predicted + 50, abs=1)
    assert residual == pytest.approx(predicted - measured, rel=1e-4)
    assert sigmas == pytest.approx(abs(residual) / 0.1, rel=0.2)  # the noise is 0.1
    page = with_outliers(model(), range(11)).report_html()
    assert "<details>\n  <summary>11 rows, with the values of the selected" in page


def shifted(m, places, by):
    """The model with these rows of its sample moved off, but none of them left out of the fit."""
    y = m.evidence_.y.copy()
    y[places] += by
    m.evidence_ = replace(m.evidence_, y=y)
    return m


def test_rows_far_off_that_stayed_in_the_fit_are_listed_too():
    page = shifted(model(), [5, 9], 3.0).report_html()
    part = page.partition('id="outliers-0"')[2].partition("</section>")[0]
    assert "2 rows that stayed in the fit lie more than five sigmas from the equation" in part
    assert "left out of the fit" not in part
    rows = re.findall(r"<tr><td.*?</tr>", part, flags=re.S)
    assert len(rows) == 2
    sigmas = [float(re.findall(r">([^<]*)</td>", row)[-1]) for row in rows]
    assert sigmas == sorted(sigmas, reverse=True)
    assert sigmas[-1] > 20


def test_of_many_rows_far_off_the_farthest_are_listed():
    said = words(shifted(model(), list(range(12)), 3.0).report_html())
    assert "12 rows that stayed in the fit lie more than five sigmas" in said
    assert "the 10 farthest are:" in said


def test_rows_are_not_suspect_for_normal_noise_nor_for_rounding(page):
    assert "Suspect rows" not in page
    assert "Suspect rows" not in model(noise=1e-15).report_html()


def test_rows_far_off_do_not_flatten_the_residuals_and_are_marked_at_the_edge():
    def plots(page):
        return re.search(r'<svg[^>]*aria-label="Residuals of y over x.*?</svg>', page, re.S)[0]

    def ticks(plot):
        return re.findall(r'text-anchor="end">([^<]*)<', plot)

    page = shifted(model(), [5, 9], 1e6).report_html()
    assert ticks(plots(page)) == ticks(plots(model().report_html()))
    assert "2 rows beyond the axes" in plots(page)
    (triangles,) = re.findall(r'class="far" d="([^"]*)"', plots(page))
    assert triangles.count("Z") == 2
    assert "2 rows with residuals beyond the axes, which are scaled to the others" in words(page)
    assert "beyond the axes" not in words(model().report_html())


def test_outliers_of_one_output_are_not_those_of_another():
    m = with_outliers(model(("1", "x*z"), ("1", "2*x*z + x")), [], [5, 6])
    page = m.report_html()
    assert 'id="outliers-1"' in page
    assert 'id="outliers-0"' not in page
    assert "2 of 300 rows lie far from the equation of &#39;w&#39;" in page
    assert outlier_marks(page, "Predicted over measured y") == 0
    assert outlier_marks(page, "Predicted over measured w") == 2


def test_without_evidence_outliers_are_at_least_named():
    m = model(with_evidence=False)
    changed(m, outliers=(tuple(range(0, 300, 20)),))
    said = words(m.report_html())
    assert "15 of 300 rows lie far" in said
    assert "data rows 1, 21, 41, 61, 81, 101, 121, 141, 161, 181, 201, 221, 241, 261, 281." in said


def test_errors_that_do_not_agree_are_a_matter_of_the_report():
    m = model()
    *others, chosen = m.fronts_[0]
    worse = replace(chosen, rmse_validation=10 * chosen.rmse_validation)
    changed(m, fronts=((*others, worse),))
    assert "differ by more than chance" in words(m.report_html())


# --- the equation and its inputs -----------------------------------------------------------------


def test_where_the_reported_error_comes_from_is_said_below_the_equation(page):
    card = page.partition('id="equation-0"')[2].partition("</section>")[0]
    assert "Validation error: on held-out rows that were not used to fit the constants" in card


def test_lines_of_an_equation_can_end_between_its_terms():
    m = model(("2", "3*`v [m/s]` + 1"), names=("v [m/s]",), targets=("P [kW]",))
    formula = m.report_html().partition('class="formula"')[2].partition("</div>")[0]
    pieces = re.findall(r"<math.*?</math>", formula, flags=re.S)
    assert words(pieces[0]) == "P [kW] ="
    assert len(pieces) == 3


def test_inputs_that_the_equation_does_not_use_are_folded_away():
    names = tuple(f"s{i}" for i in range(12))
    page = model(("2", "3*s3 + s7"), names=names).report_html()
    page = re.sub(r"<template.*?</template>", "", page, flags=re.S)
    shown, _, folded = page.partition('<details class="unused">')
    assert "Over 10 inputs that the equation does not use" in folded
    assert [f"Residuals of y over s{k}" in shown for k in (2, 3, 7)] == [False, True, True]
    assert "Residuals of y over s2" in folded
    along = re.findall(r'aria-label="y along (\w+),', page)
    assert along == ["s3", "s7"]
    columns = page.partition('id="data"')[2]
    assert "10 inputs that the equation does not use" in columns.partition("<table>")[2]
    table = words(columns.partition("<details")[0])
    assert "s3 input" in table
    assert "s2 input" not in table
    assert "s2 input" in words(columns)


def test_few_inputs_that_are_not_used_stay_in_the_summary_of_the_data():
    said = words(model(("2", "3*x"), names=("x", "z", "u")).report_html().partition('id="data"')[2])
    assert "u input" in said
    assert "does not use" not in said


# --- the rest ------------------------------------------------------------------------------------


def test_a_default_prior_is_not_called_what_an_expert_said(page):
    assert "Prior: what the expert said" in page  # the preset motor
    said = words(model(prior="plain").report_html())
    assert "what the expert said" not in said
    assert "the default units and costs were used (the preset plain )" in said
    own = words(model(prior=Prior(costs={"cos": 9})).report_html())
    assert "what the expert said A custom prior" in own


def test_a_model_without_evidence_has_a_report_without_plots_of_data():
    page = model(with_evidence=False).report_html()
    assert "loaded without the data of its fit" in page
    assert "Residuals over each input" not in page
    Reader(page)


def test_several_outputs_share_a_diagram():
    said = words(model(("1", "x*z"), ("1", "2*x*z + x")).report_html())
    assert "Shared units" in said
    assert "1 unit is used by several outputs" in said
    assert "Front of y" in said
    assert "Front of w" in said


def test_units_of_ones_own_and_their_names():
    tanh = Unit("tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    said = words(model(prior=Prior(custom=(tanh,))).report_html())
    assert "A custom prior" in said.replace("&#39;", "'")
    assert "tanh" in said


def test_equations_that_are_undefined_or_explode_are_drawn():
    m = model(("log(x - 1.5)", "exp(exp(exp(3*x)))", "1/(x - 1.5)", "3*x"))
    page = m.report_html()
    assert "the equation is undefined" in page
    drawn = "".join(re.findall(r"<svg.*?</svg>", page, flags=re.S))
    assert not re.search(r"\b(nan|inf)\b", drawn)
    Reader(page)


def test_a_constant_equation_of_constant_data():
    Reader(model(("3",), noise=0.0).report_html())


def test_the_page_stays_small():
    names = tuple("abcdef")
    front = ["1", *(" + ".join(f"{k}*{n}**2" for n in names[:k]) for k in range(1, 7))] * 2
    assert len(model(front, names=names).report_html()) < 1_000_000


def test_the_page_of_a_map_stays_small():
    front = [f"{k}*x*z + {k}*x + cos({k}*z)" for k in range(1, 13)]
    assert len(model(front).report_html()) < 600_000


def test_the_page_stays_small_whatever_was_found():
    names = tuple(f"input {i}" for i in range(30))
    terms = [f"{k + 1}*`input {k % 30}`" for k in range(40)]
    fronts = [[" + ".join(terms[: k + 1]) for k in range(40)]] * 2
    assert len(model(*fronts, names=names).report_html()) < 4_000_000


def test_an_equation_too_long_to_read_is_not_typeset():
    text = " + ".join(f"cos({k + 1}*x*z)" for k in range(400))
    page = model((text,)).report_html()
    assert "too long to be typeset" in page


def test_report_writes_the_file_and_says_where(tmp_path):
    path = model().report(tmp_path / "r.html")
    assert path == tmp_path / "r.html"
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    with pytest.raises(IeqlError, match="Cannot write the report"):
        model().report(tmp_path / "nowhere" / "r.html")


def test_what_else_it_could_be_is_a_table():
    m = with_rivals_at(model(("4", "3*x + 1"), prior="plain"), {"3*exp(x) - 4": 1.0, "x*z": 9.0})
    page = m.report_html()
    Reader(page)
    said = words(page)
    assert "What else it could be The rows cannot tell these from the selected equation: " in said
    table = said.partition("equation nats largest difference where rows needed")[2]
    assert "+1.0" in table
    assert "x = 2" in table
    assert "+9.0" not in table
    assert 'href="#alternatives-0"' in page


def test_an_alternative_on_the_front_can_be_chosen():
    m = model(("4", "3*x + 1", "3*exp(0.9*x)"), prior="plain")
    simple, line, selected = m.fronts_[0]
    as_good = with_rivals_at(m, {"3*x + 1": 1.0}).fitted_.rivals[0][0]
    changed(m, fronts=((simple, as_good, selected),), rivals=())
    part = m.report_html().partition('id="alternatives-0"')[2].partition("</section>")[0]
    assert 'data-show="0-1"' in part
    assert "on the front" in part
    assert line.expression == as_good.expression


def test_without_alternatives_there_is_no_such_part(page):
    assert "What else" not in page
    assert "alternatives-" not in page


def test_what_was_covered_is_a_sentence_of_its_own():
    tried = "all 6 structures with up to two connections of one input were tried"
    page = changed(model(), stop_reason=f"the time is up; {tried}").report_html()
    assert f"<p>A{tried[1:]}.</p>" in page
    assert "ended because the time is up covered All 6 structures" in words(page)
    assert "covered" not in words(model().report_html())


def test_the_constants_are_those_that_are_written():
    """A factor of 1 stood in the table, though nobody sees it in the equation."""
    said = words(model(("x*z", "x*z + 2.5/(z + 3)**1.5"), targets=("y",)).report_html())
    table = said.partition("Constants ± standard error value what it is")[2].partition("As text")[0]
    assert "1.000" not in table
    assert "2.500 ± 0.025 factor of" in table
    assert "exponent in" in table
    assert "3.000 ± 0.030 term inside the power" in table


@pytest.mark.parametrize(
    ("proved", "limits", "n_badges"),
    [
        (True, {}, 1),
        (True, {f"increasing in {EVIL}": True}, 1),
        (True, {f"increasing in {EVIL}": None}, 0),
        (None, {}, 0),
    ],
)
def test_a_badge_says_that_everything_is_proved(proved, limits, n_badges):
    m = model(("2*x",), prior="plain")
    (candidate,) = m.fronts_[0]
    known = replace(candidate, proved=proved, limits=limits)
    page = changed(m, fronts=((known,),)).report_html()
    assert EVIL not in page
    assert len(re.findall(r'<span class="badge plain"[^>]*>proved</span>', page)) == n_badges
    said = {True: "proved in the whole domain", None: "a proof was not found"}
    for holds in limits.values():
        assert f"Increasing in {html.escape(EVIL)}: " in page
        assert said[holds] in page
