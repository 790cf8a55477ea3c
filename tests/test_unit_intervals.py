"""The interval of a unit holds all its values, and no more than it must."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ieql.units import REALS, UNITS

EDGES = [0.0, -0.0, 5e-324, -5e-324, 1e-300, -1e-300, 1e300, -1e300, 709.5, 800.0, math.pi]
every_unit = pytest.mark.parametrize("row", UNITS.values(), ids=lambda row: row.name)
NUMBERS = st.one_of(
    st.floats(-10, 10), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(EDGES)
)


def may_be_undefined(row, args):
    if row.name == "log":
        return args[0][0] <= 0
    if row.name == "sqrt":
        return args[0][0] < 0
    if row.name == "power":
        return args[0][0] <= 0
    if row.name == "signed_power":
        return args[1][0] <= 0
    return row.name == "div" and args[1][0] <= 0 <= args[1][1]


@every_unit
@settings(max_examples=100)
@given(
    ends=st.lists(st.tuples(NUMBERS, NUMBERS).map(sorted).map(tuple), min_size=2, max_size=2),
    parts=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=20),
)
def test_the_interval_holds_every_value(row, ends, parts):
    args = ends[: row.arity]
    bounds = row.to_interval(*args)
    assert (bounds is None) == may_be_undefined(row, args)
    assume(bounds is not None)
    corners = list(itertools.product((0.0, 1.0), repeat=2))
    values = row(
        *(
            np.array([np.clip((1 - p[i]) * low + p[i] * high, low, high) for p in corners + parts])
            for i, (low, high) in enumerate(args)
        )
    )
    assert bounds[0] <= values.min()
    assert values.max() <= bounds[1]


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("identity", [(-1, 2)], (-1, 2)),
        ("cos", [(-1, 1)], (math.cos(1), 1)),
        ("cos", [(1, 4)], (-1, math.cos(1))),
        ("cos", [(0, 7)], (-1, 1)),
        ("cos", [REALS], (-1, 1)),
        ("sin", [(0, 2)], (0, 1)),
        ("sin", [(4, 5)], (-1, math.sin(4))),
        ("sin", [(0.1, 0.2)], (math.sin(0.1), math.sin(0.2))),
        ("exp", [(0, 1)], (1, math.e)),
        ("exp", [REALS], (0, math.inf)),
        ("log", [(1, math.inf)], (0, math.inf)),
        ("sqrt", [(0, 4)], (0, 2)),
        ("square", [(-3, 2)], (0, 9)),
        ("square", [(-3, -2)], (4, 9)),
        ("mul", [(-1, 2), (-3, 4)], (-6, 8)),
        ("mul", [(0, 1), REALS], REALS),
        ("mul", [(0, 0), REALS], (0, 0)),
        ("div", [(1, 2), (-4, -2)], (-1, -0.25)),
        ("div", [(1, math.inf), (1, math.inf)], (0, math.inf)),
        ("tanh", [(-1, 2)], (math.tanh(-1), math.tanh(2))),
        ("tanh", [REALS], (-1, 1)),
        ("atan", [REALS], (-math.pi / 2, math.pi / 2)),
        ("abs", [(-3, 2)], (0, 3)),
        ("abs", [(-3, -2)], (2, 3)),
        ("min", [(-1, 4), (0, 2)], (-1, 2)),
        ("max", [(-1, 4), (0, 2)], (0, 4)),
        ("logistic", [REALS], (0, 1)),
        ("gauss", [(-1, 2)], (math.exp(-4), 1)),
        ("gauss", [REALS], (0, 1)),
        ("step", [(-2, -1)], (0, 0)),
        ("step", [(-1, 0)], (0, 1)),
        ("step", [(0, 1)], (1, 1)),
        ("power", [(1, 4), (0.5, 2)], (1, 16)),
        ("power", [(2, 4), (-1, -1)], (0.25, 0.5)),
        ("signed_power", [(-4, 9), (0.5, 0.5)], (-2, 3)),
        ("power", [(0, 1), (2, 2)], None),
        ("signed_power", [(1, 2), (0, 1)], None),
        ("log", [(0, 1)], None),
        ("sqrt", [(-0.1, 1)], None),
        ("div", [(1, 1), (-1, 1)], None),
        ("div", [(1, 1), (0, 1)], None),
    ],
)
def test_intervals_are_tight(name, args, expected):
    bounds = UNITS[name].to_interval(*args)
    assert bounds is None if expected is None else bounds == pytest.approx(expected, rel=1e-14)


def test_the_lower_bound_of_an_overflowing_exponential_stays_finite():
    low, high = UNITS["exp"].to_interval((709.5, 800.0))
    assert low <= math.exp(709.5)
    assert high == math.inf
