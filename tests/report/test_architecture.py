"""The paper's architecture figure from an expression."""

from __future__ import annotations

import pytest

from ieql.equations.builder import joined
from ieql.equations.expression import Expression
from ieql.report.architecture import architecture

NAMES = ("x1", "x2")


def drawn(*texts, **options):
    figure = architecture(joined([Expression.parse(t, NAMES) for t in texts]), **options)
    ax = figure.axes[0]
    words = [t.get_text() for t in ax.texts]
    below = figure.get_supxlabel()
    return figure, ax, words, below


def test_the_papers_example():
    prior = {"units": ["cos", "exp", "log", "mul", "div"]}
    from ieql.prior import Prior

    figure, ax, words, below = drawn("x1*x2/(cos(x1) + 1.5)", "0", prior=Prior.of(prior))
    for word in ("inputs", "layer 1", "layer 2", "outputs", "x1", "x2", "cos", "×", "÷", "y1"):
        assert word in words
    assert below == "y1 = x1*x2/(cos(x1) + 1.5)\ny2 = 0"
    live = [line for line in ax.lines if line.get_linestyle() == "-"]
    assert len(live) == 6  # x1 to cos and to the product, x2 to it, both to the quotient, y1
    colours = {t.get_text(): t.get_color() for t in ax.texts}
    assert colours["y1"] == "black" != colours["y2"] == colours["exp"]
    figure.savefig("/dev/null", format="png")


def test_weights_stand_on_lines_if_they_are_few():
    words = drawn("2*exp(-0.73213*x1**2)", "x2 + 3*exp(-0.73213*x1**2)")[2]
    assert {"2", "3", "-0.7321"} <= set(words)
    many = " + ".join(f"{k}.5*cos({k}*x1)" for k in range(1, 12))
    assert "1.5" not in drawn(many)[2]


def test_shared_units_have_a_bold_frame():
    ax = drawn("2*cos(x1)", "cos(x1) + cos(x2)")[1]
    widths = sorted(t.get_bbox_patch().get_linewidth() for t in ax.texts if t.get_text() == "cos")
    assert widths[0] < widths[-1]


@pytest.mark.parametrize("targets", [None, ("torque $x$",)])
def test_names_and_long_equations(targets):
    text = " + ".join(f"cos({k}*x1)" for k in range(1, 40))
    figure, _, words, below = drawn(text, targets=targets)
    assert below.startswith("torque $x$ = " if targets else "y1 = ")
    assert below.endswith("…")
    assert "output" in words
    figure.savefig("/dev/null", format="png")
