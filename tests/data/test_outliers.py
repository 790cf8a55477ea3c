"""Rows that lie far from their neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.outliers import GROSS, gross_outliers, stand_far_off


def spiked(n=400, d=2, share=0.05, seed=0, size=50.0):
    rng = np.random.default_rng(seed)
    XT = rng.uniform(-2, 2, (d, n))
    y = np.sin(2 * XT[0]) + 0.5 * XT[-1] ** 2 + 0.05 * rng.normal(size=n)
    bad = rng.permutation(n) < share * n
    y[bad] += size * rng.choice([-1, 1], bad.sum())
    return XT, y, bad


@pytest.mark.parametrize("d", [1, 2, 6, 12])
def test_spikes_are_found_and_nothing_else(d):
    XT, y, bad = spiked(d=d)
    np.testing.assert_array_equal(stand_far_off(XT, y, GROSS), bad)


@pytest.mark.parametrize(
    "law",
    [
        lambda x: 1 / x,
        lambda x: np.exp(5 * x),
        lambda x: np.cos(40 * x),
        lambda x: 1 / ((x - 0.5) ** 2 + 0.001),
        lambda x: np.where(x > 0.5, 10.0, 0.0),
    ],
)
def test_where_a_law_is_steep_the_neighbours_are_spread_as_well(law):
    x = np.random.default_rng(0).uniform(0.02, 1, 300)
    assert not stand_far_off(x[None], law(x), GROSS).any()


def test_noise_that_grows_has_no_outliers():
    """Noise in proportion to an input over decades: the large ones are many times the usual."""
    rng = np.random.default_rng(0)
    x = 10 ** rng.uniform(-3, 3, 1000)
    assert not stand_far_off(x[None], x * rng.normal(size=1000)).any()


def test_counts_and_classes_have_no_outliers():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, 500)
    y = (rng.random(500) < 0.03).astype(float)
    assert not stand_far_off(x[None], y, GROSS).any()
    assert not stand_far_off(x[None], y - 0.03 * x, measured=y).any()


def test_many_rows_that_stand_off_are_no_outliers():
    XT, y, _ = spiked(share=0.3)
    assert not stand_far_off(XT, y, GROSS).any()


def test_a_handful_of_rows_is_not_judged():
    XT, y, _ = spiked(n=20)
    assert not stand_far_off(XT, y, GROSS).any()


def test_of_very_many_rows_those_farthest_off_are_looked_at():
    XT, y, bad = spiked(n=60_000, share=0.001)
    np.testing.assert_array_equal(stand_far_off(XT, y, GROSS), bad)


def test_an_equation_that_is_not_quite_right_has_no_outliers():
    """A straight line through 1/x is far off at its steep end, like the rows beside it."""
    x = np.random.default_rng(0).uniform(0.05, 1, 300)
    residual = 1 / x - np.polyval(np.polyfit(x, 1 / x, 3), x)
    assert not stand_far_off(x[None], residual, measured=1 / x).any()
    residual[5] += 200.0
    assert np.flatnonzero(stand_far_off(x[None], residual, measured=1 / x)).tolist() == [5]


def test_smaller_outliers_hide_in_the_spread_of_the_law_and_are_found_behind_it():
    """In five inputs neighbours differ by as much as all rows; a rough fit takes that away."""
    rng = np.random.default_rng(0)
    XT = rng.uniform(-1, 1, (5, 600))
    y = 3 * XT[0] + 2 * XT[1] * XT[2] + XT[3] ** 2 + 0.02 * rng.normal(size=600)
    bad = rng.permutation(600) < 30
    y[bad] += np.where(np.arange(bad.sum()) % 2, 8.0, -60.0)
    assert not np.array_equal(stand_far_off(XT, y, GROSS), bad)
    np.testing.assert_array_equal(gross_outliers(XT, y), bad)


def masses(n=62, seed=0):
    rng = np.random.default_rng(seed)
    body = np.exp(rng.normal(1.3, 3.1, n))
    return body, 9.0 * body**0.75 * np.exp(0.7 * rng.normal(size=n))


def test_the_largest_of_values_over_decades_are_no_outliers():
    """Brains of mammals: elephants were set aside, and a law of twelve constants found without."""
    n_linear = 0
    for seed in range(10):
        body, brain = masses(seed=seed)
        n_linear += stand_far_off(body[None], brain, GROSS).any()
        assert not gross_outliers(body[None], brain).any()
        assert not gross_outliers(body[None], -brain).any()
    assert n_linear > 5


def test_slips_of_the_pen_among_values_over_decades_are_found():
    body, brain = masses(n=300)
    brain = 9.0 * body**0.75
    brain[[20, 150, 280]] *= 1000.0
    assert set(np.flatnonzero(gross_outliers(body[None], brain))) == {20, 150, 280}
