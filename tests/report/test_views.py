"""The numbers behind the figures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitted import model
from ieql.equations.expression import Expression
from ieql.report.svg import Plot, tick_values
from ieql.report.views import (
    at_the_border,
    compare,
    frequencies,
    histogram,
    running_median,
    slice_through,
    staircase,
)


def test_a_comparison_leaves_out_what_is_undefined():
    e = Expression.parse("sqrt(x)", ["x"])
    c = compare(e, np.array([[4.0], [-1.0], [9.0]]), np.array([2.0, 0.0, 4.0]))
    assert c.n_undefined == 1
    np.testing.assert_allclose(c.residual, [0.0, -1.0])
    assert c.rmse == pytest.approx(np.sqrt(0.5))
    assert c.r2 == pytest.approx(0.5)


def test_errors_are_of_the_data_not_of_the_points_outside():
    e = Expression.parse("x", ["x"])
    X = np.array([[1.0], [2.0], [9.0]])
    c = compare(e, X, np.array([1.0, 2.0, 0.0]), np.array([False, False, True]))
    assert (c.rmse, c.r2) == (0.0, 1.0)


def test_errors_are_of_the_rows_without_outliers():
    e = Expression.parse("x", ["x"])
    X = np.array([[1.0], [2.0], [3.0]])
    outlier = np.array([False, False, True])
    c = compare(e, X, np.array([1.0, 2.0, 1e9]), outlier=outlier)
    assert (c.rmse, c.r2) == (0.0, 1.0)
    assert c.bulk.tolist() == [True, True, False]


def test_values_beyond_a_border_are_moved_to_it():
    values, sides = at_the_border(np.array([-9.0, 0.5, 9.0]), 0.0, 1.0)
    assert values.tolist() == [0.0, 0.5, 1.0]
    assert sides.tolist() == [-1, 0, 1]


def test_what_cannot_be_reckoned_is_not_a_number():
    e = Expression.parse("log(x)", ["x"])
    c = compare(e, np.array([[-1.0]]), np.array([1.0]))
    assert np.isnan(c.rmse)
    assert np.isnan(c.r2)


@given(st.lists(st.floats(-1e50, 1e50), max_size=60))
def test_a_histogram_counts_every_row(values):
    counts, edges = histogram(np.array(values))
    assert counts.sum() == len(values)
    assert np.all(np.diff(edges) > 0)


def test_the_running_median_follows_a_trend():
    x = np.linspace(0, 1, 200)
    centres, medians = running_median(x, 3 * x)
    np.testing.assert_allclose(medians, 3 * centres)
    assert running_median(x[:10], x[:10])[0].size == 0


def test_a_slice_covers_data_and_domain():
    cut = slice_through(Expression.parse("log(x) + z", ["x", "z"]), 0, [5, 1], (1, 2), (-1, 1.5))
    assert (cut.x[0], cut.x[-1]) == (-1.0, 2.0)
    assert np.isnan(cut.y[cut.x < 0]).all()
    np.testing.assert_allclose(cut.y[-1], np.log(2) + 1)


def test_the_staircase_only_goes_down():
    front = model(("2", "x*z", "2.5*x**2 + cos(z)")).fronts_[0]
    complexity, error = staircase(front[::-1])
    assert np.all(np.diff(complexity) > 0)
    assert np.all(np.diff(error) < 0)


def test_frequencies_add_up():
    shares = frequencies([{"mul": 3, "mine": 1}, {}], ["cos", "mul"])
    assert shares == {"cos": [0.0, 0.0], "mul": [0.75, 0.0], "mine": [0.25, 0.0]}


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12))
def test_ticks_lie_within_and_are_few(low, width):
    ticks = tick_values(low, low + width)
    assert len(ticks) <= 8
    slack = 1e-6 * width + 1e-9 * abs(low)
    assert all(low - slack <= t <= low + width + slack for t in ticks)


@given(st.floats(1e-12, 1e6), st.floats(1.01, 1e12))
def test_logarithmic_ticks_lie_within_and_are_few(low, ratio):
    ticks = tick_values(low, low * ratio, log=True)
    assert 1 <= len(ticks) <= 6
    assert all(low * 0.99 <= t <= low * ratio * 1.01 for t in ticks)


@pytest.mark.parametrize("bounds", [(0.0, 0.0), (3.0, 3.0), (-1e300, 1e300), (1e-300, 2e-300)])
def test_any_range_can_be_drawn(bounds):
    plot = Plot(bounds, bounds, "a", "b")
    plot.points(np.array(bounds), np.array(bounds))
    assert "nan" not in plot.svg("x")
