"""Limits at sampled points: what keeps to one is never refused."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.equations.expression import Expression
from ieql.equations.shape_points import ShapePoints
from ieql.shape import Shape

NAMES = ("x", "y")
LOWER, UPPER = np.array([-1.0, 0.0]), np.array([1.0, 2.0])


def broken(text, **shape):
    points = ShapePoints.of(Shape.of(shape).limits, NAMES, LOWER, UPPER)
    found = points.broken(lambda XT: Expression.parse(text, NAMES).evaluate(XT.T)[:, 0])
    return None if found is None else found.text


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("1", {"increasing": ["x", "y"], "decreasing": []}),
        ("exp(x)*y", {"increasing": ["x", "y"], "convex": ["x", "y"]}),
        ("2*x + 1e9", {"convex": ["x"], "increasing": ["x"]}),
        ("cos(3*x)*y", {"even": ["x"], "at": {"y": {0: 0}}}),
        ("x**3*y", {"odd": ["x"], "increasing": ["x"]}),
    ],
)
def test_what_keeps_to_its_limits_passes(text, shape):
    assert broken(text, **shape) is None


@pytest.mark.parametrize(
    ("text", "shape", "limit"),
    [
        ("x*(y - 0.1)", {"increasing": ["x"]}, "increasing in x"),
        ("x**2 - 0.4*x**4*y", {"convex": ["x"]}, "convex in x"),
        ("x + 0.001", {"odd": ["x"]}, "odd in x"),
        ("y + 0.01*x", {"at": {"y": {0: 0}}}, "at least 0 at y = 0"),
        ("log(x)", {"increasing": ["x"]}, "increasing in x"),  # it has no value somewhere
    ],
)
def test_what_breaks_one_is_told(text, shape, limit):
    assert broken(text, **shape) == limit


def test_bounds_everywhere_have_the_points_of_the_domain():
    assert ShapePoints.of(Shape.of({"bounds": [0, 1]}).limits, NAMES, LOWER, UPPER) is None
