"""Ranges that hold for everything that is computed on the way to an output."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.export.functions import Equation
from ieql.export.ranges import boxes_of, proved_ranges

DOMAIN = {"x": (-2.0, 3.0), "y": (0.5, 1.0)}


def ranges(text):
    return proved_ranges(Equation("f", Expression.parse(text, ["x", "y"])), DOMAIN, "This")


@given(st.floats(-2, 3), st.floats(0.5, 1))
def test_values_at_every_point_are_inside(x, y):
    expression = Expression.parse("exp(x*y)/(1 + x**2) - cos(3*x)*log(y)", ["x", "y"])
    found = proved_ranges(Equation("f", expression), DOMAIN, "This")
    point = np.array([[x, y]])
    parts = [*expression.source_values(point), expression.evaluate(point)[:, 0]]
    bounds = [*(found.values[i] for i in range(len(parts) - 1)), found.output]
    for value, (low, high) in zip(parts, bounds, strict=True):
        assert low.min() <= value[0] <= high.max()


def test_boxes_cover_the_domain():
    low, high = boxes_of(np.array([0.0, 5.0, -1.0]), np.array([1.0, 5.0, 1.0]))
    assert low.shape == high.shape
    assert np.prod(high - low, axis=0, where=np.array([[True], [False], [True]])).sum() == (
        pytest.approx(2.0)
    )
    assert (low[1] == 5.0).all()


def test_many_boxes_make_close_bounds():
    low, high = ranges("x*x - x").output
    assert -0.3 < low.min() <= -0.25
    assert 6.0 <= high.max() < 6.1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1/x", r"^This needs .*: that of 'f' is not safe in the whole domain; `ieql prove`"),
        ("log(x + 2)", r"^This needs .*: that of 'f' is not safe in the whole domain"),
    ],
)
def test_what_is_not_safe_is_refused(text, message):
    with pytest.raises(IeqlError, match=message):
        ranges(text)
