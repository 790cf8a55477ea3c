"""New constants for a known structure: near the old ones as far as the rows ask for it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.prediction_band import PredictionBand
from ieql.equations.recalibrate import Movable, recalibrate
from ieql.equations.refit import refit

DOMAIN = np.linspace(0.1, 3.0, 50)[None, :]


def rows(truth, n, noise=0.01, seed=0):
    rng = np.random.default_rng(seed)
    XT = rng.uniform(0.1, 3.0, (1, n))
    return Sample(XT, truth(XT[0]) + noise * rng.normal(size=n), np.ones(n))


def known(text, noise=0.01, n=60):
    """An equation, and what rows of it tell."""
    e = Expression.parse(text, ["t"])
    sample = rows(lambda t: e.evaluate(t[:, None])[:, 0], n, noise, seed=1)
    return e, PredictionBand.of(e, sample)


def test_constants_that_are_one_number_are_moved_as_one():
    e = Expression.parse("2 - 2*exp(-1.5*t)", ["t"])
    movable = Movable.of(e)
    assert movable.n == 2
    assert len(movable.places) == 3
    theta = movable.theta(np.array([3.0, 1.0])[np.argsort(np.argsort(-movable.values))])
    assert e.with_constants(theta) == Expression.parse("3 - 3*exp(-t)", ["t"])


def test_simple_exponents_and_phases_are_structure():
    for text in ("3*t**1.5", "3*cos(2*t + 1.5707963267948966)"):
        e = Expression.parse(text, ["t"])
        moved = Movable.of(e).theta(np.full(Movable.of(e).n, 7.0))
        for kept in (1.5, 1.5707963267948966):
            assert np.sum(e.constants() == kept) == np.sum(moved == kept)
    assert Movable.of(Expression.parse("3*t**1.5", ["t"])).n == 1


def test_a_rate_of_exactly_one_may_move():
    e, band = known("3*exp(-t)")
    found = recalibrate(e, band, rows(lambda t: 3 * np.exp(-1.4 * t), 20), DOMAIN)
    assert min(found.expression.constants()) == pytest.approx(-1.4, abs=0.05)


@given(st.integers(1, 6))
def test_rows_of_the_same_device_leave_the_constants_where_they_were(n):
    e, band = known("3*exp(-0.7*t) + 1.2")
    sample = rows(lambda t: 3 * np.exp(-0.7 * t) + 1.2, n, noise=0.0)
    found = recalibrate(e, band, sample, DOMAIN)
    assert found.expression.constants() == pytest.approx(e.constants(), abs=0.02)


def test_many_rows_have_all_the_say():
    e, band = known("3*exp(-0.7*t) + 1.2")
    sample = rows(lambda t: 4.5 * np.exp(-0.4 * t) + 0.3, 400)
    found = recalibrate(e, band, sample, DOMAIN).expression
    free = refit(e, sample)
    assert sample.rmse(found.evaluate(sample.XT.T)[:, 0]) == pytest.approx(
        sample.rmse(free.evaluate(sample.XT.T)[:, 0]), rel=1e-3
    )


def test_a_few_rows_of_another_device_are_worth_more_beside_the_old_constants():
    """Over many devices with one constant changed: four rows for three constants."""
    e, band = known("3*exp(-0.7*t) + 1.2", noise=0.05)
    t = DOMAIN[0]
    near, free = [], []
    for seed in range(20):
        a = 3.0 + 0.3 * np.random.default_rng(seed).normal()
        truth = a * np.exp(-0.7 * t) + 1.2
        sample = rows(lambda t, a=a: a * np.exp(-0.7 * t) + 1.2, 4, noise=0.05, seed=seed)
        for fit, errors in (
            (recalibrate(e, band, sample, DOMAIN).expression, near),
            (refit(e, sample), free),
        ):
            errors.append(np.sqrt(np.mean((fit.evaluate(t[:, None])[:, 0] - truth) ** 2)))
    assert np.median(near) < 0.8 * np.median(free)


def test_no_step_leaves_the_safe_constants():
    """The pole of the new rows lies inside the domain: it stays outside."""
    e, band = known("2/(t + 0.5)")
    sample = rows(lambda t: 2 / np.abs(t - 0.3), 30)
    found = recalibrate(e, band, sample, DOMAIN).expression
    assert np.all(np.isfinite(found.evaluate(DOMAIN.T)))
    assert np.all(found.evaluate(DOMAIN.T) > 0)


def test_rows_where_the_equation_has_no_value_tell_nothing():
    e, band = known("2*log(t)")
    sample = Sample(np.array([[-1.0, 1.0]]), np.zeros(2), np.ones(2))
    assert recalibrate(e, band, sample, DOMAIN) is None


def test_without_a_band_the_rows_alone_say_what_noise_is():
    e, _ = known("3*t + 1.2")
    found = recalibrate(e, None, rows(lambda t: 3.3 * t + 1.2, 40, noise=0.1), DOMAIN)
    assert found.noise.sigma == pytest.approx(0.1, rel=0.3)
    assert found.determined <= 2.0
