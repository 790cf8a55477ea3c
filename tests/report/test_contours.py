"""Outlines of where a function is at least so large."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ieql.report.contours import outlines


def area(lines):
    """Of all outlines together, holes taken off."""
    total = 0.0
    for line in lines:
        x, y = np.array(line).T
        total += float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2
    return abs(total)


def test_a_level_is_where_a_plane_crosses_it():
    grid = np.tile(np.arange(5.0), (3, 1))  # values are the columns
    (line,) = outlines(grid, 1.5)
    assert {x for x, _ in line} == {1.5, 2.0, 3.0, 4.0}
    assert {y for _, y in line} == {0.0, 1.0, 2.0}
    assert area([line]) == pytest.approx(2.5 * 2)


def test_a_hole_has_an_outline_of_its_own():
    y, x = np.mgrid[-20:21, -20:21]
    lines = outlines(np.hypot(x, y), 10.0)
    assert len(lines) == 2
    assert area(lines) == pytest.approx(40**2 - np.pi * 10**2, rel=0.01)


def test_what_is_undefined_is_outside_of_every_outline():
    grid = np.ones((3, 5))
    grid[:, 2] = np.nan
    lines = outlines(grid, -np.inf)
    assert len(lines) == 2
    assert area(lines) == pytest.approx(2 * 2)
    assert outlines(np.full((3, 3), np.nan), -np.inf) == []


def test_two_hills_across_from_each_other_stay_apart():
    lines = outlines(np.array([[1.0, 0.0], [0.0, 1.0]]), 0.5)
    assert len(lines) == 2


@given(arrays(float, (4, 5), elements=st.floats(-9, 9) | st.just(np.nan)), st.floats(-9, 9))
def test_outlines_are_closed_and_lie_within_the_grid(values, level):
    for line in outlines(values, level):
        x, y = np.array(line).T
        assert 0 <= x.min() <= x.max() <= 4
        assert 0 <= y.min() <= y.max() <= 3
