"""The first picture: the data with the curve for one input, a map for two."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from fitted import model, with_outliers
from ieql.errors import IeqlError
from ieql.model import FittedModel
from ieql.report.overview_part import map_levels, prediction_band


def card(page: str) -> str:
    """The card of the equation that is shown first."""
    return page.partition('id="equation-0"')[2].partition("</section>")[0]


def pictures(page: str) -> list[str]:
    found = re.findall(r'<svg class="overview".*?</svg>', card(page), flags=re.S)
    for svg in found:
        ElementTree.fromstring(svg)
    return found


def labels(page: str) -> list[str]:
    return [re.search(r'aria-label="([^"]*)"', svg)[1] for svg in pictures(page)]


def test_with_one_input_the_data_and_the_curve_come_right_below_the_equation():
    page = model(("2", "3*x**2"), names=("x",)).report_html()
    (picture,) = pictures(page)
    assert 'aria-label="Measured y over x, with the curve of the equation, and the band' in picture
    assert 'class="curve"' in picture
    (dots,) = re.findall(r'class="dots" d="([^"]*)"', picture)
    assert dots.count("M") == 300
    before = card(page).partition("<svg")[0]
    assert 'class="formula"' in before
    assert "RMSE" not in before


def test_the_curve_takes_the_place_of_the_slice():
    page = model(("2", "3*x**2"), names=("x",)).report_html()
    assert "Slices through each input" not in page
    far = model(("2", "3*x**2"), names=("x",), domain={"x": (-50.0, 50.0)}).report_html()
    assert "The domain is wider than what is shown here; see the slices below." in far
    assert "Slices through each input" in far


def test_with_two_inputs_there_is_a_map_with_the_measured_rows_on_it():
    page = model(("2", "3*x*z")).report_html()
    (label,) = labels(page)
    assert re.fullmatch(
        r"Map of y over x and z: from [\d.]+ to [\d.]+, with 300 measured rows", label
    )
    (picture,) = pictures(page)
    tints = set(re.findall(r'<path class="tint-(\d)"', picture))
    assert len(tints) > 3
    dots = re.findall(r'<path class="map-dot tint-(\d)" d="([^"]*)"', picture)
    assert sum(path.count("M") for _, path in dots) == 300
    assert {tint for tint, _ in dots} <= tints


@pytest.mark.parametrize(
    ("equation", "expected"),
    [
        ("3*z", ["Measured y over z, with the curve of the equation"]),
        ("3*x*u", ["Map of y over x and u"]),
        ("x*z*u", []),
        ("2", []),
    ],
)
def test_of_more_inputs_those_that_the_equation_uses_count(equation, expected):
    found = labels(model((equation,), names=("x", "z", "u")).report_html())
    assert [re.split(":|, and", label)[0] for label in found] == expected


def test_the_other_equations_of_the_front_have_their_own():
    page = model(("2", "3*x", "3*x*z")).report_html()
    for k in (0, 1):
        template = page.partition(f'data-equation="0-{k}"')[2].partition("</template>")[0]
        assert 'class="overview"' in template.partition('data-part="figures"')[0]
    assert 'data-equation="0-2"' not in page  # the selected one is in the page already


def test_outliers_are_marked_and_do_not_squeeze_the_rest():
    m = with_outliers(model(("2", "3*x"), names=("x",)), [3, 4], by=1e6)
    (label,) = labels(m.report_html())
    assert label.endswith("; 2 outliers marked, 2 of them beyond the axes")
    assert "Outliers, left out of the fit" in card(m.report_html())
    (picture,) = pictures(with_outliers(model(("2", "3*x*z")), [3, 4]).report_html())
    (crosses,) = re.findall(r'class="outlier" d="([^"]*)"', picture)
    assert crosses.count("l6 6") == 2


def test_a_curve_with_a_pole_and_a_map_with_holes_are_drawn():
    (label,) = labels(model(("1/(x - 1.5)",), names=("x",)).report_html())
    assert "Measured y over x" in label
    (picture,) = pictures(model(("log(x - 1.5) + z",), noise=0.0).report_html())
    assert "undefined in" in picture
    assert "nan" not in picture


def test_without_data_there_is_no_picture():
    assert pictures(model(with_evidence=False).report_html()) == []


def test_levels_of_a_map_are_round_numbers_within_the_measured_values():
    assert map_levels(np.linspace(0, 10, 200)) == [2, 4, 6, 8]
    assert map_levels(np.append(np.linspace(0, 10, 200), 1e9)) == [2, 4, 6, 8]
    decades = map_levels(np.logspace(0, 6, 200))
    assert {10, 1e5} <= set(decades)
    assert map_levels(np.full(9, 3.0)) == [3]
    assert map_levels(np.empty(0)) == [0]


# --- the band ------------------------------------------------------------------------------------


@pytest.fixture
def with_intervals(monkeypatch):
    """Models that know between which values new rows lie: one above and below the equation."""

    def predict_interval(self, table, level=0.9, index=None):
        assert level == 0.9
        values = self.predict(table, index)
        return np.stack([values - 1, values + 1], axis=1)

    monkeypatch.setattr(FittedModel, "predict_interval", predict_interval, raising=False)


def test_the_band_of_the_model_is_drawn_and_explained(with_intervals):
    page = model(("2", "3*x"), names=("x",)).report_html()
    (picture,) = pictures(page)
    assert 'class="interval"' in picture
    assert "and the band of 90% of new measurements" in picture
    assert "where nine of ten new measurements should lie" in card(page)


def test_the_band_is_that_of_the_row_and_the_output(with_intervals):
    m = model(("2", "3*x"), ("1", "5*x", "6*x"), names=("x",))
    X = np.array([[1.0], [2.0]])
    np.testing.assert_allclose(prediction_band(m.fitted_, 0, 0, X), [[1, 3], [1, 3]])
    np.testing.assert_allclose(prediction_band(m.fitted_, 1, 1, X), [[4, 6], [9, 11]])


def test_a_model_without_intervals_has_a_curve_without_band(monkeypatch):
    def unknown(self, table, level=0.9, index=None):
        raise IeqlError("There are no intervals.")

    m = model(("2", "3*x"), names=("x",))
    for refusal in (unknown, None):
        monkeypatch.setattr(FittedModel, "predict_interval", refusal, raising=False)
        assert prediction_band(m.fitted_, 0, 0, np.ones((3, 1))) is None
        page = m.report_html()
        assert 'class="curve"' in pictures(page)[0]
        assert "nine of ten" not in card(page)
