"""The equations of all outputs as one network, and what is said of it."""

from __future__ import annotations

import numpy as np
import pytest

import fitted
from ieql.equations.expression import Expression
from ieql.prior import Prior
from ieql.whole import Whole

NAMES = ("x", "z")


def whole(*texts, prior="motor"):
    equations = [Expression.parse(t, NAMES) for t in texts]
    return Whole.of(equations, [f"y{k + 1}" for k in range(len(texts))], Prior.of(prior))


def test_a_shared_unit_is_paid_for_once():
    both = whole("2*exp(-0.7*x**2)", "3*exp(-0.7*x**2) + z")
    assert both.complexity_apart == 8 + 9
    assert both.complexity == 8 + 9 - 3  # the square inside, and x inside the square
    assert both.sentence() == (
        "Together: complexity 14 (17 apart); y1 and y2 share exp(-0.7*x**2)."
    )
    X = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    expected = np.column_stack([2 * np.exp(-0.7 * X[:, 0] ** 2),
                                3 * np.exp(-0.7 * X[:, 0] ** 2) + X[:, 1]])  # fmt: skip
    np.testing.assert_allclose(both.expression.evaluate(X), expected)
    assert str(both).splitlines()[:2] == ["y1 = 2*exp(-0.7*x**2)", "y2 = 3*exp(-0.7*x**2) + z"]


def test_nothing_shared_is_said_too():
    assert whole("x*z/(cos(x) + 1.5)", "0").sentence().endswith("; no unit is shared.")


def test_several_units_are_named_and_very_many_counted():
    units = ["cos(x)", "exp(x)", "log(x)", "sqrt(x)", "x**2"]
    text = " + ".join(f"{2 + k}*{u}" for k, u in enumerate(units))
    sentence = whole(text, text + " + z", text + " - z").sentence()
    assert "y1, y2 and y3 share cos(x); y1, y2 and y3 share exp(x)" in sentence
    assert sentence.endswith("2 more units are shared.")


def test_a_long_unit_is_cut():
    inner = " + ".join(f"cos({k}.123456*x)" for k in range(1, 9))
    sentence = whole(f"exp({inner})", f"2*exp({inner})").sentence()
    assert sentence.endswith("….")
    assert len(sentence) < 130


@pytest.fixture
def model():
    return fitted.model(
        ("2", "2*exp(-0.7*x**2)"), ("1", "z", "3*exp(-0.7*x**2) + z"), targets=("force", "power")
    )


def test_of_a_fitted_model(model):
    assert model.whole().complexity == 14
    assert model.whole(index=3).complexity == 8 + 1  # power = z
    assert len(model.whole(precise=True).expression.outputs) == 2


def test_the_table_of_equations_says_it_and_keeps_its_columns(model):
    together = model.equations_.attrs["together"]
    assert together["complexity"] == 14 < together["complexity_apart"] == 17
    assert together["shared"] == [{"unit": "exp(-0.7*x**2)", "outputs": ["force", "power"]}]
    assert "together" not in fitted.model().equations_.attrs
    assert list(model.equations_) == ["output", *fitted.model().equations_]


def test_print_notebook_and_report_say_it(model):
    sentence = "Together: complexity 14 (17 apart); force and power share exp(-0.7*x**2)."
    assert str(model).splitlines()[-1] == sentence
    assert sentence in model._repr_html_inner()
    assert sentence in model.report_html()
    assert "Together" not in str(fitted.model())
