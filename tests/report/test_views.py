"""The numbers behind the figures."""

from __future__ import annotations

import re

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
    curve_over,
    cut_to,
    frequencies,
    histogram,
    map_over,
    running_median,
    shown_range,
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


def residuals(*values):
    """A comparison with these residuals."""
    X = np.zeros((len(values), 1))
    return compare(Expression.parse("x", ["x"]), X, -np.array(values, dtype=float))


def test_a_few_rows_far_off_do_not_scale_the_axes():
    noise = np.random.default_rng(0).normal(size=100)
    c = residuals(*noise, 1e6, -1e9)
    assert c.reach == np.abs(noise).max()
    assert c.far.tolist() == [False] * 100 + [True] * 2
    assert c.sigma == pytest.approx(1.0, rel=0.2)


def test_many_rows_far_off_are_no_accident_and_are_shown():
    c = residuals(*[0.01, -0.01] * 40, *[1.0, -1.0] * 10)
    assert c.reach == 1.0
    assert not c.far.any()


@given(st.lists(st.floats(-1e50, 1e50), max_size=30))
def test_the_axes_have_a_width_whatever_the_residuals_are(values):
    c = residuals(*values)
    assert c.reach > 0
    assert c.far.sum() <= max(0.05 * len(values) + 1, 0)


def test_one_row_far_off_is_in_the_last_bar_of_the_histogram():
    counts, edges = histogram(np.append(np.linspace(-1, 1, 60), 1e6))
    assert edges[-1] <= 1.0
    assert counts.sum() == 61


def test_a_line_ends_at_the_edge_of_its_range_and_begins_there_again():
    x, y = cut_to(np.arange(4.0), np.array([0.0, 4.0, np.nan, 1.0]), 0.0, 1.0)
    np.testing.assert_allclose(x, [0, 0.25, 1, 2, 3])
    np.testing.assert_allclose(y, [0, 1, np.nan, np.nan, 1])
    x, y = cut_to(np.array([0.0, 1.0]), np.array([3.0, -1.0]), 0.0, 1.0)  # right through it
    np.testing.assert_allclose(x, [0, 0.5, 0.75, 1])
    np.testing.assert_allclose(y, [np.nan, 1, 0, np.nan])


def test_a_wide_domain_does_not_squeeze_the_rows():
    rows = np.array([1.0, 2.0])
    assert shown_range(rows, (0.5, 2.5)) == (0.5, 2.5)
    assert shown_range(rows, (-100.0, 100.0)) == (0.0, 3.0)
    assert shown_range(rows, (1.2, 1.5)) == (1.0, 2.0)
    assert shown_range(np.array([1.0, 1.0]), (0.0, 4.0)) == (0.0, 4.0)


def test_curves_and_maps_are_evaluated_at_the_other_inputs_means():
    e = Expression.parse("log(x) + 10*z + u", ["x", "z", "u"])
    X, y = curve_over(e, 0, [9, 2, 3], (-1.0, 1.0))
    assert (X[0].tolist(), X[-1].tolist()) == ([-1, 2, 3], [1, 2, 3])
    assert np.isnan(y[0])
    assert y[-1] == 23
    drawn = map_over(e, (0, 2), [9, 2, 9], ((1.0, 2.0), (0.0, 5.0)))
    assert drawn.values.shape == (len(drawn.y), len(drawn.x))
    np.testing.assert_allclose(drawn.values[-1, 0], 20 + 5)
    np.testing.assert_allclose(drawn.values[0, -1], np.log(2) + 20)


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


def path(plot):
    return re.findall(r' d="([^"]*)"', plot.parts[-1])[0]


def test_a_shape_keeps_its_corners_and_leaves_out_points_in_a_row():
    plot = Plot((0, 10), (0, 10), "a", "b")
    side = np.linspace(0, 10, 40)
    square = np.concatenate([side, np.full(40, 10), side[::-1], np.zeros(40)])
    plot.shapes([(square, np.roll(square, 40))], "x")
    assert path(plot).count("L") + 1 <= 8
    angle = np.linspace(0, 2 * np.pi, 400)
    plot.shapes([(5 + 4 * np.cos(angle), 5 + 4 * np.sin(angle))], "x")
    assert path(plot).count("L") > 20  # a circle stays round


def test_a_ribbon_has_a_gap_where_it_is_not_known():
    plot = Plot((0, 5), (0, 2), "a", "b")
    low = np.array([0, 0, np.nan, 0, 0, 0.0])
    plot.ribbon(np.arange(6.0), low, low + 1, "x")
    assert path(plot).count("M") == path(plot).count("Z") == 2
