"""Periodograms against least squares, frequency by frequency."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ieql.training.fast.periodogram import highest_turns, log_chance, spectrum

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(2.0, 5.0, 80))
Y = 1.0 + 0.3 * X + np.cos(9.0 * X) + 0.2 * RNG.normal(size=80)
WEIGHT = RNG.uniform(0.5, 2.0, 80)
ROOT = np.sqrt(WEIGHT / WEIGHT.sum())
TRENDS = np.array([np.ones(80), X])


def left(columns: list[NDArray[np.float64]]) -> float:
    design = np.array(columns).T * ROOT[:, None]
    rest = Y * ROOT - design @ np.linalg.lstsq(design, Y * ROOT, rcond=None)[0]
    return float(rest @ rest)


def test_shares_are_those_of_least_squares() -> None:
    amplitude = 1.0 + X
    found = spectrum(X, amplitude, TRENDS, [1, 2], Y, ROOT, turns=15.0)
    assert found is not None
    for k in range(0, len(found.frequencies), 7):
        z = found.frequencies[k] * X
        waves = [amplitude * np.cos(z), amplitude * np.sin(z)]
        for j, trend in enumerate(([TRENDS[0]], [*TRENDS])):
            share = 1.0 - left([*trend, *waves]) / left([*trend])
            assert math.isclose(found.shares[j, k], share, abs_tol=1e-4)


def test_the_peak_is_at_the_frequency() -> None:
    found = spectrum(X, np.ones(80), TRENDS, [2], Y, ROOT, turns=15.0)
    assert found is not None
    assert abs(found.frequencies[np.argmax(found.shares[0])] - 9.0) < 0.2


def test_less_than_a_turn_is_no_spectrum() -> None:
    assert spectrum(X, np.ones(80), TRENDS, [1], Y, ROOT, turns=0.5) is None


def test_equal_values_count_once() -> None:
    assert highest_turns(np.repeat(np.arange(40.0), 10), 400, 4.0) < 10.0


def test_the_chance_is_that_of_noise() -> None:
    """One draw in ten has a peak that one in ten should have, within the error of 400 draws."""
    rng = np.random.default_rng(3)
    chances = []
    for _ in range(400):
        x, y = rng.uniform(0.0, 1.0, (2, 60))
        root = np.full(60, 60.0**-0.5)
        found = spectrum(x, np.ones(60), np.ones((1, 60)), [1], y, root, turns=14.0)
        assert found is not None
        chances.append(math.exp(log_chance(float(found.shares.max()), 60, 1, 14.0)))
    assert 0.04 < np.mean(np.array(chances) < 0.1) < 0.16
