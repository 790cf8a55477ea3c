"""A forward search tells gross errors from the steep end of a law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ieql.data.forward import NEAR, explained
from ieql.data.sample import Sample


def rows(XT, y):
    order = np.random.default_rng(0).permutation(len(y))
    XT = np.atleast_2d(XT)
    return Sample(np.ascontiguousarray(XT[:, order]), y[order], np.ones(len(y))), order


def far_rows(XT, y):
    """Which rows the best estimate does not explain."""
    sample, order = rows(XT, y)
    far = np.zeros(len(y), dtype=bool)
    far[order] = explained(sample)[0].distance > NEAR
    return far


R = np.linspace(0.5, 3, 30)
LAWS = {
    "a wall": 4.6 * (1 - np.exp(-1.9 * (R - 0.75))) ** 2,
    "a pole": 24.8 / (R - 0.35) - 3.6 / R**2,
    "a power": 3.0 * R**-3,
    "growth": 0.2 * np.exp(2.1 * R),
    "a wave": 2.0 + np.cos(4.0 * R),
}


@pytest.mark.parametrize("law", LAWS)
def test_right_rows_at_a_steep_end_are_explained_and_wrong_ones_are_not(law):
    """An estimate that was fitted once, to all rows, took the end of each of these for wrong."""
    rng = np.random.default_rng(1)
    y = LAWS[law] + 0.01 * LAWS[law].std() * rng.normal(size=30)
    bad = np.zeros(30, dtype=bool)
    bad[[4, 13, 21]] = True
    y = y + np.where(bad, [(-1) ** k * 8.0 * LAWS[law].std() for k in range(30)], 0.0)
    np.testing.assert_array_equal(far_rows(R, y), bad)


def test_rows_of_several_inputs():
    XT = np.random.default_rng(2).uniform(1, 3, (3, 60))
    y = 2.0 * XT[0] ** 2 * XT[1] / XT[2]
    bad = np.arange(60) % 12 == 5
    far = far_rows(XT, y + np.where(bad, 10.0 * y.std(), 0.0))
    assert far[bad].all()
    assert far[~bad].mean() < 0.05


def test_rows_beyond_those_that_are_fitted_are_judged_too():
    x = np.random.default_rng(3).uniform(0, 1, 3000)
    y = np.exp(x)
    y[-1] += 50.0
    distance = explained(Sample(x[None, :], y, np.ones(3000)))[0].distance
    assert distance[-1] > NEAR
    assert np.mean(distance[:-1] > NEAR) < 0.01


@settings(max_examples=5, deadline=None)
@given(st.floats(1e-3, 1e3), st.floats(0.1, 10))
def test_neither_unit_matters(of_y, of_x):
    y = 5.0 * np.exp(-R) + 0.1 * np.sin(40.0 * R)
    y[7] += 30.0
    np.testing.assert_array_equal(far_rows(of_x * R, of_y * y), far_rows(R, y))


def test_too_few_rows_say_nothing():
    sample, _ = rows(np.arange(3.0), np.array([1.0, 2.0, 30.0]))
    assert explained(sample) == []
