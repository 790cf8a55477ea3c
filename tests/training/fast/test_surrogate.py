"""The surrogate knows what it knows: its values, its errors, and the parts of a sum."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.sample import Sample
from ieql.training.fast.surrogate import Surrogate, _unlikely


def rows(function, d, n=150, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    XT = rng.uniform(-1.0, 1.0, (d, n))
    return Sample(XT, function(*XT) + noise * rng.normal(size=n), np.ones(n))


def wave(a, b):
    return np.sin(2.0 * a) * b + a


def test_the_gradient_of_the_likelihood_is_that_of_differences():
    rng = np.random.default_rng(0)
    places = ((0, 2), (1,))
    x, y, theta = rng.normal(size=(3, 30)), rng.normal(size=30), 0.3 * rng.normal(size=9)
    halves = np.stack([-0.5 * (x[i][:, None] - x[i]) ** 2 for p in places for i in p])

    def unlikely(t):
        return _unlikely(t, y, 1.0 / np.linspace(1.0, 2.0, 30), places, halves)

    steps = 1e-5 * np.eye(len(theta))
    slopes = [(unlikely(theta + s)[0] - unlikely(theta - s)[0]) / 2e-5 for s in steps]
    np.testing.assert_allclose(unlikely(theta)[1], slopes, atol=1e-6)


def test_it_predicts_a_smooth_function():
    surrogate = Surrogate.fit(rows(wave, 2), (0, 1))
    fresh = rows(wave, 2, seed=1)
    assert fresh.rmse(surrogate.predict(fresh.XT)) < 1e-3
    assert surrogate.r2 > 0.9999


def test_it_tells_noise_from_function():
    surrogate = Surrogate.fit(rows(wave, 2, noise=0.1), (0, 1))
    assert surrogate.noise == pytest.approx(0.1, rel=0.3)
    fresh = rows(wave, 2, seed=1)
    values, covariances = surrogate.joint(fresh.XT, 1)
    errors = (values[:, 0] - fresh.y) / np.sqrt(covariances[:, 0, 0])
    assert 0.5 < np.sqrt(np.mean(errors**2)) < 2.0


def test_of_pure_noise_it_explains_nothing():
    assert Surrogate.fit(rows(lambda a: 0.0 * a, 1, noise=1.0), (0,)).r2 < 0.2


def test_rows_left_out_are_predicted_as_by_a_process_without_them():
    sample = rows(wave, 2, n=40, noise=0.1)
    whole = Surrogate.fit(sample, (0, 1))
    others = Surrogate(
        whole.inputs, whole.groups, whole.theta, whole.coordinates,
        whole.rows[:, 1:], whole.y[1:], whole.weight[1:], whole.mean, whole.scale,
    )  # fmt: skip
    left_out = whole.mean + whole.scale * (whole.y[0] - whole._left_out[0][0])
    assert others.predict(sample.XT[:, :1]).item() == pytest.approx(left_out)


def test_the_parts_of_a_sum_are_told_apart():
    sample = rows(lambda a, b: np.exp(a) + np.cos(3.0 * b), 2)
    surrogate = Surrogate.fit(sample, (0, 1), ((0,), (1,)))
    for k, truth in enumerate((np.exp(sample.XT[0]), np.cos(3.0 * sample.XT[1]))):
        values, error = surrogate.component(k, sample.XT)
        assert np.std(values - truth) < 1e-3
        assert error < 1e-2


def test_errors_of_points_that_share_a_set_are_joint():
    """Of the same point twice the difference is known exactly."""
    surrogate = Surrogate.fit(rows(wave, 2, noise=0.1), (0, 1))
    _, covariances = surrogate.joint(np.array([[0.5, 0.5], [0.2, 0.2]]), 2)
    difference = np.array([1.0, -1.0])
    assert difference @ covariances[0] @ difference == pytest.approx(0.0, abs=1e-12)


def test_an_input_over_decades_is_seen_through_its_logarithm():
    rng = np.random.default_rng(0)
    XT = np.exp(rng.uniform(-5.0, 5.0, (1, 150)))
    sample = Sample(XT, np.log(XT[0]) ** 2, np.ones(150))
    assert Surrogate.fit(sample, (0,)).r2 > 0.999


def test_a_row_counts_by_its_weight():
    """Wrong rows of little weight do little harm."""
    sample = rows(wave, 2, n=200)
    y, weight = sample.y.copy(), np.ones(200)
    y[::4] += 1.0
    weight[::4] = 1e-6
    surrogate = Surrogate.fit(Sample(sample.XT, y, weight), (0, 1))
    fresh = rows(wave, 2, seed=1)
    assert fresh.rmse(surrogate.predict(fresh.XT)) < 0.02
