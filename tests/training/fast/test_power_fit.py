"""Fits of powers in the target itself."""

from __future__ import annotations

import numpy as np

from ieql.training.fast.power_fit import best_subsets, fit_powers, log_fit

RNG = np.random.default_rng(0)
X = RNG.uniform(0.5, 4.0, (2, 200))
LOGS = np.log(X)
ROOT = np.full(200, 200.0**-0.5)
NONE = np.zeros(200)


def test_a_straight_line_in_logarithms_has_the_exponents() -> None:
    y = 3.0 * X[0] ** 1.3 / X[1] ** 0.7
    np.testing.assert_allclose(log_fit(LOGS, NONE, y, np.ones(200)), [1.3, -0.7])


def test_rows_without_a_logarithm_are_left_out() -> None:
    y = np.append(3.0 * X[0, 1:] ** 1.3, -1.0)
    features = np.append(LOGS[:1, 1:], [[0.0]], axis=1)
    np.testing.assert_allclose(log_fit(features, NONE, y, np.ones(200)), [1.3])


def test_constants_beside_the_law_are_fitted_with_it() -> None:
    y = 2.0 + 3.0 * X[0] ** 1.3 / X[1] ** 0.7
    fit = fit_powers(np.ones((1, 200)), LOGS, NONE, y, ROOT, np.array([1.0, 0.0]))
    assert fit is not None
    np.testing.assert_allclose([fit.linear[0], fit.factor, *fit.exponents], [2.0, 3.0, 1.3, -0.7])


def test_a_part_may_be_given() -> None:
    y = 3.0 * X[0] ** 1.3 / X[1]
    fit = fit_powers(np.zeros((0, 200)), LOGS[:1], -LOGS[1], y, ROOT, np.zeros(1))
    assert fit is not None
    np.testing.assert_allclose([fit.factor, *fit.exponents], [3.0, 1.3])


def test_the_errors_of_exponents_are_those_of_repeated_measurements() -> None:
    exact = 3.0 * X[0] ** 1.3 / X[1] ** 0.7
    fits = []
    for seed in range(200):
        y = exact + 0.2 * np.random.default_rng(seed).normal(size=200)
        fit = fit_powers(np.zeros((0, 200)), LOGS, NONE, y, ROOT, np.array([1.0, -1.0]))
        assert fit is not None
        fits.append(fit)
    spread = np.cov([fit.exponents for fit in fits], rowvar=False)
    said = np.mean([fit.covariance for fit in fits], axis=0)
    np.testing.assert_allclose(said.diagonal(), spread.diagonal(), rtol=0.3)


def test_hardly_more_rows_than_constants_are_refused() -> None:
    few = slice(0, 3)
    fit = fit_powers(
        np.ones((1, 3)), LOGS[:, few], NONE[few], X[0, few], np.full(3, 3.0**-0.5), np.zeros(2)
    )
    assert fit is None


def test_the_best_subsets_of_each_size() -> None:
    columns = RNG.normal(size=(5, 200))
    target = 3.0 * columns[1] - 2.0 * columns[4] + 7.0
    needed = np.array([True, True, False, False, False])
    found = best_subsets(columns, target, np.ones(200), needed, (1, 2))
    assert found[:2] == [(1,), (1, 4)]
    assert all(needed[list(subset)].any() for subset in found)
    assert len(found) == 3
