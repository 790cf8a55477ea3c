"""Losses under which rows far off count less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql.data.robust import (
    INSIDE,
    THRESHOLDS,
    as_seen,
    equation_trust,
    first_trust,
    robust_rmse,
    usual_size,
)
from ieql.data.sample import Sample

RNG = np.random.default_rng(0)
LOSSES = tuple(THRESHOLDS)


def sample(y, weight=None, XT=None):
    y = np.asarray(y, float)
    XT = np.arange(float(len(y)))[None] if XT is None else XT
    return Sample(XT, y, np.ones(len(y)) if weight is None else np.asarray(weight, float))


def location(rows, loss):
    """The constant that minimises a loss."""
    value = np.median(rows.y)
    for _ in range(200):
        seen = as_seen(rows, np.full(len(rows), value), loss)
        value = np.average(seen.y, weights=seen.weight)
    return value


def test_the_usual_size_of_normal_noise_is_its_standard_deviation():
    noise = 3.0 * RNG.normal(size=20_000)
    assert usual_size(noise, np.ones(len(noise))) == pytest.approx(3.0, rel=0.03)


def test_the_usual_size_does_not_mind_rows_far_off():
    noise = RNG.normal(size=1_000)
    noise[:100] *= 1e6
    assert usual_size(noise, np.ones(1_000)) < 1.5


def test_a_whole_weight_is_the_same_as_repeated_rows():
    y, weight = RNG.normal(size=30), RNG.integers(1, 4, 30)
    predicted = np.zeros(30)
    repeated = sample(np.repeat(y, weight))
    for loss in LOSSES:
        seen = as_seen(sample(y, weight), predicted, loss).y
        other = as_seen(repeated, np.zeros(len(repeated)), loss).y
        np.testing.assert_allclose(np.repeat(seen, weight), other)


def test_huber_is_hubers_estimate():
    """Its constant solves the equation that defines it, with the residuals' own size."""
    y = np.r_[RNG.normal(size=300), RNG.uniform(1.0, 3.0, size=60)]
    found = location(sample(y), "huber")
    residual = y - found
    limit = 1.345 * np.sqrt(np.mean(residual**2))
    assert np.clip(residual, -limit, limit).mean() == pytest.approx(0.0, abs=1e-6)


def test_the_absolute_error_is_nearly_least_at_the_median():
    y = RNG.exponential(size=2_001)
    mean, median = y.mean(), np.median(y)
    assert abs(location(sample(y), "absolute") - median) < 0.3 * (mean - median)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_error_of_normal_noise_is_about_its_standard_deviation(loss):
    rows = sample(2.0 * RNG.normal(size=20_000))
    assert robust_rmse(rows, np.zeros(len(rows)), loss) == pytest.approx(2.0, rel=0.02)


@pytest.mark.parametrize(("loss", "factor"), [("huber", 1.026), ("absolute", 1.12)])
def test_what_an_equation_sees_scatters_as_its_constants_do(loss, factor):
    """So that least squares on it gives their standard errors: Huber's takes 1/0.95 of the rows."""
    rows = sample(2.0 * RNG.normal(size=20_000))
    seen = as_seen(rows, np.zeros(len(rows)), loss)
    assert seen.rmse(np.zeros(len(rows))) == pytest.approx(2.0 * factor, rel=0.02)


@pytest.mark.parametrize("loss", LOSSES)
def test_heavy_tails_cost_less_than_their_squares(loss):
    rows = sample(np.random.default_rng(4).standard_t(3, size=2_000))
    zero = np.zeros(len(rows))
    assert robust_rmse(rows, zero, loss) < 0.97 * rows.rmse(zero)
    assert robust_rmse(rows, zero, "squared") == rows.rmse(zero)


def test_an_error_counts_rows_not_their_weights_alone():
    """A gross error of next to no weight is none of the noise."""
    y = np.r_[RNG.normal(size=50), 1e4]
    without = robust_rmse(sample(y[:50]), np.zeros(50), "huber")
    with_one = robust_rmse(sample(y, np.r_[np.ones(50), 1e-20]), np.zeros(51), "huber")
    assert with_one == pytest.approx(without, rel=0.02)


def test_beside_an_exact_equation_gross_errors_weigh_nothing():
    residual = np.zeros(50)
    residual[::10] = 1e3
    weight = equation_trust(residual, np.ones(50), 2)
    np.testing.assert_allclose(weight, residual == 0.0, atol=1e-29)
    for loss in LOSSES:
        rows = sample(residual, weight)
        assert as_seen(rows, np.zeros(50), loss).rmse(np.zeros(50)) < 1e-11
        assert robust_rmse(rows, np.zeros(50), loss) < 1e-11


def test_the_say_of_a_gross_error_fades_with_its_distance():
    """Under Huber's own loss it would be the same from 1.345 usual sizes on."""
    say = []
    for distance in (4.0, 40.0, 400.0):
        residual = np.array([*np.resize([-1.0, 1.0], 40), distance])
        say.append(equation_trust(residual, np.ones(41), 1)[-1] * distance)
    assert say[0] == 4.0
    assert say[1] < 0.1
    assert say[2] < 0.001


@given(st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_it_does_not_depend_on_the_unit(scale, shift):
    y = np.random.default_rng(1).standard_t(2, size=40)
    rows, zero = sample(y), np.zeros(40)
    for loss in LOSSES:
        seen = scale * as_seen(rows, zero, loss).y + shift
        other = as_seen(sample(scale * y + shift), zero + shift, loss).y
        np.testing.assert_allclose(seen, other, atol=1e-9 * (scale + abs(shift)))


def test_precise_rows_are_judged_by_their_own_precision():
    """A residual of 10 is nothing special in a row whose standard deviation is 10."""
    y = np.r_[np.resize([0.9, -0.9, 1.1], 60), 10.0, -10.0]
    weight = np.r_[np.ones(60), 0.01, 0.01]
    seen = as_seen(sample(y, weight), np.zeros(62), "huber").y
    np.testing.assert_allclose(seen[-2:], y[-2:] / INSIDE["huber"])


def test_any_other_loss_sees_rows_as_they_are():
    rows = sample([1.0, 2.0, 300.0])
    assert as_seen(rows, np.zeros(3), "squared") is rows


def test_an_equation_with_many_constants_distrusts_fewer_rows():
    """Through a few rows it runs by its constants, which makes its residuals small."""
    residual = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 5.0])
    few, many = (equation_trust(residual, np.ones(9), k)[-1] for k in (1, 6))
    assert few < many == 1.0


@pytest.mark.parametrize(
    ("n", "d"), [(10, 1), (30, 1), (60, 3), (400, 2)], ids=lambda value: str(value)
)
def test_a_first_look_distrusts_gross_errors_of_a_smooth_law(n, d):
    XT = np.random.default_rng(2).uniform(0, 2, (d, n))
    y = np.exp(XT.sum(axis=0) / d)
    bad = np.arange(n) % 10 == 5
    spoilt = y + np.where(bad, 20.0 * y.std(), 0.0)
    found = first_trust(sample(spoilt, XT=XT))
    assert found[bad].max() < 0.05
    assert np.median(found[~bad]) == 1.0
