"""The derivative of an equation is an equation, and agrees with differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from ieql.equations.derivative import derivative
from ieql.equations.expression import Expression
from ieql.units import Unit
from tests.strategies import expressions

X = np.random.default_rng(0).uniform(0.5, 1.5, (40, 2))


def by_differences(e, column, X, step=1e-6):
    move = np.zeros(X.shape[1])
    move[column] = step
    return (e.evaluate(X + move) - e.evaluate(X - move)) / (2 * step)


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize(
    "text",
    ["2", "y", "x**2*y + 3", "exp(-x*y)/(1 + x**2)", "sqrt(x + y)*log(x)", "cos(3*x)*sin(x*y)",
     "x**5/y", "1/(x + y)", "sqrt(x*y + cos(x)**2)", "tanh(x*y) - atan(3*x)", "logistic(x - y)*x",
     "gauss(2*x - y)", "power(x + y, 1.7)", "signed_power(x - 2, 2.5)"],
)  # fmt: skip
def test_first_and_second_derivatives_agree_with_differences(text, column):
    e = Expression.parse(text, ("x", "y"))
    first = derivative(e, column)
    assert first.evaluate(X) == pytest.approx(by_differences(e, column, X), rel=1e-6, abs=1e-7)
    second = derivative(first, column)
    assert second.evaluate(X) == pytest.approx(by_differences(first, column, X), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "slope"),
    [
        ("max(2*x, y)", "2*step(2*x - y)"),
        ("min(2*x, y)", "2*step(y - 2*x)"),
        ("max(x, 3)", "step(x - 3)"),
        ("signed_power(x - 1, 0.5)", "0.5*power(abs(x - 1), -0.5)"),
    ],
)
def test_the_slope_of_a_kink_is_that_of_one_side(text, slope):
    points = np.random.default_rng(1).uniform(-5, 5, (50, 2))
    first = derivative(Expression.parse(text, ("x", "y")), 0)
    expected = Expression.parse(slope, ("x", "y")).evaluate(points)
    assert first.evaluate(points) == pytest.approx(expected, rel=1e-12)


def test_a_jump_has_no_derivative_and_a_kink_no_second_one():
    assert derivative(Expression.parse("step(x)", ("x", "y")), 0) is None
    assert derivative(derivative(Expression.parse("max(x, y)", ("x", "y")), 0), 0) is None
    assert derivative(Expression.parse("step(y)*x", ("x", "y")), 0) is not None
    assert derivative(Expression.parse("power(y, x)", ("x", "y")), 0) is None


def test_the_units_of_the_equation_keep_their_places():
    e = Expression.parse("log(x + 2)*exp(y)/(x + 3)", ("x", "y"))
    assert derivative(e, 0).nodes[: len(e.nodes)] == e.nodes


def test_of_a_unit_of_ones_own_none_is_known_unless_the_input_does_not_enter_it():
    tanh = Unit("tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    e = Expression.parse("tanh(x) + y**2", ("x", "y"), {"tanh": tanh})
    assert derivative(e, 0) is None
    assert derivative(e, 1).evaluate(np.array([[0.0, 3.0]]))[0, 0] == 6.0


@given(expressions(n_inputs=2, max_units=5))
def test_what_does_not_depend_on_an_input_has_the_derivative_zero(e):
    first = derivative(e, 0)
    if first is None:  # a jump, or an exponent that is no number
        return
    if "x1" not in e.inputs_used:
        assert first.outputs == (type(first.outputs[0])(),)
    else:
        assert first.names == e.names
