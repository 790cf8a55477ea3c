"""Bounds over boxes: whatever is computed inside a box lies within them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql.equations.expression import Expression, Sum
from ieql.equations.intervals import RULES, Enclosure, rule_of
from ieql.units import UNITS, Unit
from tests.strategies import boxes, expressions

EDGES = np.array([-1e9, -700.0, -7.0, -1.0, -1e-9, 0.0, 1e-300, 1e-9, 0.5, 1.0, 3.2, 7.0, 700.0])


def inside(lower, upper, n=40):
    """Points of a box, its corners among them, (inputs, points)."""
    share = np.random.default_rng(0).random((len(lower), n))
    share[:, :8] = share[:, :8] < 0.5
    points = lower[:, None] * (1 - share) + upper[:, None] * share
    return np.clip(points, lower[:, None], upper[:, None])


def are_defined(expression, X):
    """At which rows every argument is inside the domain of its unit."""
    good = np.ones(len(X), dtype=bool)
    for node, args in zip(expression.nodes, expression.arguments(X), strict=True):
        for a in node.unit.singular:
            low, high = node.unit.domains[a]
            good &= (args[a] >= low) & (args[a] < high) & (args[a] != 0.0)
    return good


def test_every_unit_of_the_table_has_a_rule():
    assert set(RULES) == set(UNITS.values())


@pytest.mark.parametrize("name", UNITS)
def test_values_and_derivatives_of_a_unit_lie_within_their_bounds(name):
    unit = UNITS[name]
    pairs = np.array([(a, b) for a in EDGES for b in EDGES if a <= b])
    order = np.random.default_rng(1).permutation(len(pairs))
    chosen = [pairs, pairs[order]][: unit.arity]
    args = [(p[:, 0], p[:, 1]) for p in chosen]
    with np.errstate(all="ignore"):
        value = RULES[unit].value(*args)
        slopes = RULES[unit].slopes(value, *args)
    for k in range(len(pairs)):
        points = inside(np.array([a[0][k] for a in args]), np.array([a[1][k] for a in args]))
        for a, (low, _) in enumerate(unit.domains):
            points = points[:, points[a] > low]
        found = [(unit(*points), value)]
        found += [(unit.derivative(a, *points), slopes[a]) for a in range(unit.arity)]
        for numbers, (low, high) in found:
            numbers = numbers[np.isfinite(numbers)]
            assert np.all((low[k] <= numbers) & (numbers <= high[k])), [
                (a[0][k], a[1][k]) for a in args
            ]


def enclosure_of(expression):
    return Enclosure(expression, expression.outputs[0])


@given(expressions(), boxes())
def test_values_of_an_expression_lie_within_its_bounds(expression, ends):
    f = enclosure_of(expression)
    box = np.array(ends).T
    X = inside(*box).T
    X = X[are_defined(expression, X)]
    value = expression.evaluate(X)[:, 0]
    value = value[np.isfinite(value)]
    inputs = list(f.inputs)
    low, high = f.bounds(box[0][inputs][:, None], box[1][inputs][:, None])
    assert low[0] <= high[0]
    assert np.all((low[0] <= value) & (value <= high[0]))


@given(expressions(constants=st.floats(-3, 3), max_units=5), boxes())
def test_slopes_of_an_expression_lie_within_their_bounds(expression, ends):
    """A chord inside a box is no steeper than the bounds of the gradient say."""
    f = enclosure_of(expression)
    inputs = list(f.inputs)
    box = np.array(ends).T
    points = inside(*box)
    with np.errstate(all="ignore"):
        (low, _), (least, most) = f.bounds_and_slopes(
            box[0][inputs][:, None], box[1][inputs][:, None]
        )
        assert least.shape == (len(inputs), 1)
        assert np.all(least <= most)
        X, Z = points.T[:20], points.T[20:]
        good = are_defined(expression, X) & are_defined(expression, Z)
        rise = expression.evaluate(Z)[:, 0] - expression.evaluate(X)[:, 0]
        step = (Z - X)[:, inputs].T
        # The mean-value theorem needs the whole chord in the domain: where all units are defined
        # all over the box there is no doubt.
        whole = expression.intervals(*box)
        if any(b is None for b in whole):
            return
        parts = [np.nan_to_num(g * step, nan=0.0) for g in (least, most)]
        low, high = np.minimum(*parts).sum(axis=0), np.maximum(*parts).sum(axis=0)
        size = 1e-9 * (1 + np.abs(expression.evaluate(X)[:, 0]) + np.abs(low) + np.abs(high))
        good &= np.isfinite(rise)
        assert np.all((rise >= low - size) & (rise <= high + size) | ~good)


def test_many_boxes_are_bounded_like_each_of_them():
    expression = Expression.parse("log(x + 2)*cos(3*y)/(x**2 + 0.5)", ("x", "y"))
    f = enclosure_of(expression)
    rng = np.random.default_rng(0)
    lower = rng.uniform(-1, 1, (2, 50))
    upper = lower + rng.uniform(0, 1, (2, 50))
    together, slopes = f.bounds_and_slopes(lower, upper)
    for k in range(50):
        alone, own = f.bounds_and_slopes(lower[:, [k]], upper[:, [k]])
        np.testing.assert_array_equal([together[0][k], together[1][k]], np.ravel(alone))
        np.testing.assert_array_equal(slopes[0][:, k], own[0][:, 0])
        np.testing.assert_array_equal(slopes[1][:, k], own[1][:, 0])


def test_smaller_boxes_have_closer_bounds():
    expression = Expression.parse("x*cos(y) - log(x + 3)", ("x", "y"))
    f = enclosure_of(expression)
    widths = []
    for half in (1.0, 0.1, 0.01):
        low, high = f.bounds(np.full((2, 1), 0.5 - half), np.full((2, 1), 0.5 + half))
        widths.append(float(high[0] - low[0]))
    assert widths[1] < 0.2 * widths[0]
    assert widths[2] < 0.2 * widths[1]


def test_a_point_is_bounded_to_the_last_digits():
    expression = Expression.parse("x*cos(y) - log(x + 3)/sqrt(y + 2)", ("x", "y"))
    point = np.array([[0.3], [0.7]])
    low, high = enclosure_of(expression).bounds(point, point)
    value = expression.evaluate(point.T)[0, 0]
    assert low[0] <= value <= high[0]
    assert high[0] - low[0] < 1e-14


def test_bounds_over_many_decades_stay_positive():
    """Each end is widened by its own last digits, not by those of the other end."""
    expression = Expression.parse("2.5*x*y", ("x", "y"))
    low, high = enclosure_of(expression).bounds(np.full((2, 1), 1e-9), np.full((2, 1), 1e9))
    assert 0.0 < low[0] <= 2.5e-18
    assert high[0] >= 2.5e18


def test_what_is_known_of_an_argument_is_used():
    expression = Expression.parse("1/(x + 1)", ("x",))
    ends = np.array([[-1.0]]), np.array([[1.0]])
    assert enclosure_of(expression).bounds(*ends)[1][0] == np.inf
    cut = Enclosure(expression, expression.outputs[0], {(0, 1): (0.25, np.inf)})
    assert cut.bounds(*ends)[1][0] == pytest.approx(4.0)


def test_only_the_inputs_that_matter_are_asked_for():
    expression = Expression.parse("log(y + 2) + z", ("x", "y", "z"))
    argument = expression.nodes[0].args[0]
    assert Enclosure(expression, argument).inputs == (1,)
    assert enclosure_of(expression).inputs == (1, 2)
    assert Enclosure(expression, Sum(2.0)).bounds(np.empty((0, 1)), np.empty((0, 1)))[0][0] == 2.0


def test_a_users_unit_is_bounded_by_its_own_rule():
    tanh = Unit(
        "tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2,
        interval=lambda x: (float(np.tanh(x[0])), float(np.tanh(x[1]))),
    )  # fmt: skip
    expression = Expression.parse("tanh(x) + 2", ("x",), {"tanh": tanh})
    f = enclosure_of(expression)
    low, high = f.bounds(np.array([[-1.0, 0.0]]), np.array([[1.0, 0.5]]))
    np.testing.assert_allclose(low, 2 + np.tanh([-1.0, 0.0]))
    np.testing.assert_allclose(high, 2 + np.tanh([1.0, 0.5]))
    assert f.is_known


def test_of_a_users_unit_without_a_rule_nothing_is_known():
    tanh = Unit("tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    expression = Expression.parse("tanh(x) + 2", ("x",), {"tanh": tanh})
    f = enclosure_of(expression)
    (low, high), (least, most) = f.bounds_and_slopes(np.array([[-1.0]]), np.array([[1.0]]))
    assert (low[0], high[0], least[0, 0], most[0, 0]) == (-np.inf, np.inf, -np.inf, np.inf)
    assert not f.is_known


@pytest.mark.parametrize("broken", [lambda x: 1 / 0, lambda x: (np.nan, 1.0), lambda x: None])
def test_a_users_rule_that_fails_says_nothing(broken):
    """The probe at its making sees moderate bounds; infinite ones may be too much for it."""
    calls = []

    def rule(x):
        calls.append(x)
        return (-1.0, 1.0) if len(calls) == 1 else broken(x)

    unit = Unit("tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2, interval=rule)
    with np.errstate(all="ignore"):
        low, high = rule_of(unit).value((np.array([-1.0]), np.array([1.0])))
    assert (low[0], high[0]) == (-np.inf, np.inf)


def test_what_underflows_is_not_taken_for_zero():
    """cos(2e-309·x) was proved to increase: the slope was too small for a float, hence zero."""
    expression = Expression.parse("cos(2e-309*x)", ["x"])
    f = enclosure_of(expression)
    _, (low, _) = f.bounds_and_slopes(np.array([[0.0]]), np.array([[1.0]]))
    assert low[0, 0] < 0.0


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("exp(x)", -800.0),
        ("gauss(x)", 40.0),
        ("logistic(x)", -800.0),
        ("x**2", 1e-200),
        ("1e-200*x", 1e-200),
        ("sqrt(x)*x", 1e-220),
    ],
)
def test_a_positive_number_too_small_for_a_float_is_at_most_zero_from_below(text, at):
    f = enclosure_of(Expression.parse(text, ["x"]))
    ends = np.array([[at]])
    low, high = f.bounds(ends, ends)
    assert low[0] <= 0.0 < high[0]


def test_an_exact_zero_stays_one():
    f = enclosure_of(Expression.parse("3*x**2 + 2*x", ["x"]))
    low, _ = f.bounds(np.array([[0.0]]), np.array([[1.0]]))
    assert low[0] == 0.0
