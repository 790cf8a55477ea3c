"""What a notebook shows of a fitted model, and of one that is not."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from xml.etree import ElementTree

import sklearn
from sklearn.utils import estimator_html_repr

from fitted import changed, model
from ieql.equations.expression import Expression, Node, Sum
from ieql.regressor import IEQLRegressor
from ieql.report.notebook import MOST_ROWS, notebook_html, notebook_latex
from ieql.units import MUL

EVIL = "<script>alert(1)</script>"


def rows(text: str) -> list[str]:
    return re.findall(r"<tr.*?</tr>", text.partition("<tbody>")[2], flags=re.S)


def test_a_fitted_model_shows_its_equation_and_its_front():
    m = model()
    text = m._repr_html_()
    ElementTree.fromstring(text)  # well formed
    formula = text.partition("<table")[0]
    assert 'aria-label="y = 2.5*x**2 + cos(z)"' in formula
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in formula
    assert len(rows(text)) == 3
    marked = [row for row in rows(text) if 'aria-current="true"' in row]
    assert len(marked) == 1
    assert "★ 2" in marked[0]
    assert "<pre" in text.partition("As text")[2]
    assert html.escape("y = 2.5*x**2 + cos(z)") in text.partition("As text")[2]
    assert m.fitted_.why() in html.unescape(text)


def test_training_and_validation_error_stand_side_by_side():
    assert re.findall(r"<th[^>]*>([^<]*)</th>", model()._repr_html_()) == [
        *("", "complexity", "training error", "validation error", "equation"),
    ]


def test_another_selection_is_another_picture():
    m = model()
    m.select(1)
    (marked,) = [row for row in rows(m._repr_html_()) if "aria-current" in row]
    assert "★ 1" in marked
    assert m._repr_latex_() == r"$$y = 3 \, x + 1$$"


def test_several_outputs_count_their_rows_as_the_table_of_equations_does():
    m = model(("1", "x*z"), ("1", "2*x*z + x"))
    text = m._repr_html_()
    assert text.count("<table") == 2
    assert re.findall(r"★ (\d)", text) == ["1", "3"]
    assert m._repr_latex_() == (
        "$$\\begin{aligned}\ny &= x \\, z \\\\\nw &= 2 \\, x \\, z + x\n\\end{aligned}$$"
    )


def test_names_are_no_markup():
    m = model(("1", f"2*`{EVIL}` + z"), names=(EVIL, "z"), targets=(EVIL,))
    text = m._repr_html_()
    ElementTree.fromstring(text)
    assert "<script" not in text
    assert html.escape(EVIL) in text
    assert "mathjax_ignore" in text  # nor are dollar signs the beginning of a formula
    dollar = model(("1", "2*`cost [$]`"), names=("cost [$]",))
    assert dollar._repr_latex_().count(r"\$") == 1


def test_of_a_long_front_the_rows_around_the_selected_one_are_shown():
    m = model([f"{k}*x" for k in range(1, 41)])
    m.select(30)
    text = m._repr_html_()
    assert len(rows(text)) == MOST_ROWS
    assert "★ 30" in text
    assert "25 more are in <code>equations_</code>." in text


def test_a_long_equation_is_shortened_in_words():
    m = model(("+".join(f"cos({k + 1}*x*z)" for k in range(1500)),))
    text = m._repr_html_()
    assert "too long to be typeset" in text
    assert len(text) < 40_000


def test_a_run_that_was_cut_short_says_so():
    m = changed(model(), finished=False)
    assert "The run was cut short" in notebook_html(m.fitted_)
    assert "cut short" not in notebook_html(model().fitted_)


def test_all_ways_to_ask_agree():
    m = model()
    bundle = m._repr_mimebundle_(include=None, exclude=None)
    assert bundle["text/html"] == m._repr_html_() == notebook_html(m.fitted_)
    assert bundle["text/latex"] == m._repr_latex_() == notebook_latex(m.fitted_)
    assert bundle["text/plain"] == str(m)
    assert "2.5*x**2 + cos(z)" in bundle["text/plain"]


def test_who_asks_scikit_learn_for_text_gets_text():
    m = model()
    with sklearn.config_context(display="text"):
        assert not hasattr(m, "_repr_html_")
        assert m._repr_latex_() is None
        assert m._repr_mimebundle_() == {"text/plain": repr(m)}


def test_before_a_fit_scikit_learn_shows_the_parameters():
    m = IEQLRegressor(max_time=3)
    for text in (m._repr_html_(), m._repr_mimebundle_()["text/html"]):
        assert "sk-top-container" in text
        assert "IEQLRegressor" in text
    assert "sk-top-container" in estimator_html_repr(m)
    assert m._repr_latex_() is None
    assert set(m._repr_mimebundle_()) == {"text/plain", "text/html"}
    with sklearn.config_context(display="text"):
        assert not hasattr(m, "_repr_html_")


def test_an_equation_too_long_for_latex_has_none():
    squares = tuple(Node(MUL, (Sum(0.0, (k,), (1.0,)),) * 2) for k in range(1, 41))
    e = Expression(("x", "z"), squares, (Sum(0.0, (41,), (1.0,)),))
    m = model()
    changed(m, fronts=((replace(m.fronts_[0][0], expression=e),),), selected=(0,))
    assert notebook_latex(m.fitted_) is None
