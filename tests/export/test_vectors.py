"""The points at which generated code is checked."""

from __future__ import annotations

import numpy as np

from exported import drawn
from ieql.equations.expression import Expression
from ieql.export.vectors import rounding_allowance, vectors

LOW, HIGH = np.array([0.1, -3.0]), np.array([0.7, 1e9])


def test_corners_and_inner_points_lie_in_the_box_exactly():
    points = vectors(LOW, HIGH)
    assert np.all((points >= LOW) & (points <= HIGH))
    corners = {(a, b) for a in (0.1, 0.7) for b in (-3.0, 1e9)}
    assert corners <= set(map(tuple, points.tolist()))
    np.testing.assert_array_equal(points, vectors(LOW, HIGH))


def test_points_outside_pass_every_end_of_every_input():
    points = vectors(LOW, HIGH, outside=True)
    assert (points < LOW).any(axis=0).all()
    assert (points > HIGH).any(axis=0).all()
    assert vectors(np.empty(0), np.empty(0), outside=True).shape[1] == 0


def test_rounding_in_another_order_stays_below_the_allowance():
    """Floats, whose last digit is known, stand for any other way to round."""
    X = np.random.default_rng(0).uniform(0.5, 2.0, (60, 3))
    eps = float(np.finfo(np.float32).eps)
    compared = 0
    for expression in drawn(40):
        with np.errstate(all="ignore"):
            allowed = rounding_allowance(expression, X, eps)
            value = expression.evaluate(X)[:, 0]
            difference = np.abs(expression.evaluate(X * (1.0 + 0.25 * eps))[:, 0] - value)
            clear = np.isfinite(difference) & (allowed < 1e-2 * np.abs(value))
        assert np.all(difference[clear] <= allowed[clear])
        compared += int(clear.sum())
    assert compared > 300


def test_what_cancels_may_be_off_by_more():
    expression = Expression.parse("x - 1e9*y", ["x", "y"])
    near, far = rounding_allowance(expression, np.array([[1.0, 0.0], [1.0, 1.0]]))
    assert near < 1e-14
    assert 1e-8 < far < 1e-5
