"""Whether residuals hold a pattern."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.sample import Sample
from ieql.training.fast.pattern import has_pattern


def judged(XT, residual, weight=None):
    return has_pattern(
        Sample(XT, residual, np.ones(len(residual)) if weight is None else weight), residual
    )


@pytest.mark.parametrize("n", [25, 200, 2000])
def test_noise_has_none(n):
    rng = np.random.default_rng(0)
    for _ in range(30):
        XT = rng.uniform(-1, 1, (3, n))
        assert not judged(XT, rng.normal(size=n))
        assert not judged(XT, rng.standard_t(3, size=n) * (1.0 + (XT[0] > 0)))


def test_a_wave_of_eighty_periods_is_one():
    """y = sin(50 t) with noise 0.1 ended as a constant after 1.4 s: "what is left is noise"."""
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 10, 5000)
    for amplitude in (1.0, 0.1, 0.03):
        assert judged(t[None], amplitude * np.sin(50 * t) + 0.1 * rng.normal(size=5000))


def test_what_two_inputs_do_together_is_one():
    rng = np.random.default_rng(0)
    XT = rng.uniform(-1, 1, (3, 2000))
    assert judged(XT, 0.3 * XT[0] * XT[1] + 0.1 * rng.normal(size=2000))


def test_nothing_is_said_of_a_few_rows_or_of_no_residuals():
    assert not judged(np.arange(10.0)[None], np.sin(np.arange(10.0)))
    assert not judged(np.arange(50.0)[None], np.zeros(50))
