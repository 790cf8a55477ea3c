"""Proved, refuted with a point, or open: whether an equation keeps to a limit in a whole box."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ieql.equations.branching import ProofEffort
from ieql.equations.derivative import derivative
from ieql.equations.expression import Expression
from ieql.equations.limit_proof import decide
from ieql.equations.proof import prove
from ieql.shape import Limit
from ieql.units import Unit
from tests.strategies import expressions

NAMES = ("x", "y")
RISES, FALLS = Limit("increasing", "x"), Limit("decreasing", "x")
CONVEX, CONCAVE = Limit("convex", "x"), Limit("concave", "x")
UNIT_BOX = ((0.0, 1.0), (0.0, 1.0))


def verdict(text, limit, box=UNIT_BOX, custom=None):
    e = Expression.parse(text, NAMES, custom)
    lower, upper = np.array(box, dtype=float).T
    return decide(e, lower, upper, limit, ProofEffort.of(8e6, seconds=2.0))


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("3", RISES),
        ("x**2", RISES),
        ("x**2", CONVEX),
        ("sqrt(x)", RISES),  # although its slope is not finite at the edge
        ("sqrt(x)", CONCAVE),
        ("exp(-x*y)", FALLS),
        ("x*exp(-x)", RISES),  # whose slope is zero at the other edge
        ("x/(x + y + 0.1)", RISES),
        ("x/(x + y + 0.1)", CONCAVE),
        ("log(x + 0.1)*y", RISES),
        ("cos(3*x) + 3*x", RISES),
        ("x + 0.1*cos(9.9*x*y) + y**2", RISES),
        ("x*y", Limit("at most", value=1.0)),
        ("x*y + x**2", Limit("at least", "x", 0.0, 0.0)),
        ("x*y + x**2", Limit("at most", "x", 0.0, 0.0)),
    ],
)
def test_proved(text, limit):
    found = verdict(text, limit)
    assert found.proved is True
    assert found.steps


@pytest.mark.parametrize(
    ("text", "limit", "box"),
    [
        ("x**2", RISES, ((-1, 1), (0, 1))),
        ("sqrt(x)", CONVEX, UNIT_BOX),
        ("x*y", RISES, ((0, 1), (-0.1, 1))),
        ("cos(3*x) + 2.99*x", RISES, UNIT_BOX),
        ("(x - 0.3)**4 - 0.1*(x - 0.3)**2 + y", CONVEX, UNIT_BOX),
        ("5*x - sqrt(x)", RISES, UNIT_BOX),
        ("x*y", Limit("at most", value=0.999), UNIT_BOX),
        ("x*y + x**2 + 0.001*y", Limit("at most", "x", 0.0, 0.0), UNIT_BOX),
        ("x**2 + 0.01*x", Limit("even", "x"), ((-1, 1), (0, 1))),
    ],
)
def test_refuted_with_a_point_of_the_box(text, limit, box):
    found = verdict(text, limit, box)
    assert found.proved is False
    assert all(low <= p <= high for p, (low, high) in zip(found.point, box, strict=True))


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_kink_is_never_proved_to_be_straight(sign):
    """-|x - 0.5| has the second derivative zero wherever it has one, and is not convex."""
    found = verdict(f"{sign}sqrt((x - 0.5)**2)", CONVEX)
    assert found.proved is None
    assert found.undecided


def test_a_root_that_falls_to_zero_at_the_edge_has_no_kink():
    assert verdict("sqrt(1 - x)", CONCAVE).proved is True


def test_of_a_unit_of_ones_own_the_slope_is_open():
    tanh = Unit("tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    assert verdict("tanh(x)", RISES, custom={"tanh": tanh}).proved is None


@settings(deadline=None, max_examples=60)
@given(
    expressions(n_inputs=2, max_units=5, names=NAMES, constants=st.floats(-3, 3)),
    st.sampled_from([RISES, FALLS, CONVEX, CONCAVE]),
)
def test_what_is_proved_holds_at_points_and_what_is_refuted_does_not(e, limit):
    lower, upper = np.array([0.1, 0.1]), np.array([1.0, 2.0])
    if prove(e, lower, upper, work=1e5).proved is not True:
        return
    found = decide(e, lower, upper, limit, ProofEffort.of(2e5, seconds=1.0))
    slope = derivative(e, 0)
    if limit in (CONVEX, CONCAVE):
        slope = derivative(slope, 0)
    sign = 1.0 if limit in (RISES, CONVEX) else -1.0
    if found.proved:
        X = np.random.default_rng(0).uniform(lower, upper, (200, 2))
        values = sign * slope.evaluate(X)[:, 0]
        size = np.nanmax(np.abs(values))
        assert np.all((values >= -1e-9 * max(size, 1.0)) | np.isnan(values))
    if found.proved is False:
        assert sign * slope.evaluate(found.point[None, :])[0, 0] < 0
