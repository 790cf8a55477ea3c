"""A function or its logarithm, whichever is smoother."""

from __future__ import annotations

import numpy as np

from ieql.data.sample import Sample
from ieql.training.fast.smoothed import Smoothed
from tasks import of_formula


def test_what_spans_decades_is_seen_through_its_logarithm():
    task = of_formula("a**3/b**4*exp(2*c)")
    smooth = Smoothed.fit(task.train, (0, 1, 2))
    assert smooth.is_logarithm
    assert smooth.error < 0.01 * task.train.spread()
    assert smooth.error < 0.1 * Smoothed.fit(task.train, (0, 1, 2), is_logarithm=False).error


def test_what_changes_its_sign_has_no_logarithm():
    task = of_formula("cos(3*a) + b")
    assert not Smoothed.fit(of_formula("cos(3*a)").train, (0, 1, 2)).is_logarithm
    assert Smoothed.fit(task.train, (0, 1), is_logarithm=False).error < 0.02


def test_noise_may_turn_the_sign_where_the_function_is_next_to_nothing():
    """One per cent of noise made a few of the small values negative, and all was lost."""
    sample = of_formula("a**3/b**4*exp(2*c)", noise=0.5).train
    assert np.any(sample.y < 0.0)
    smooth = Smoothed.fit(sample, (0, 1, 2))
    assert smooth.is_logarithm
    assert smooth.error < 1.2


def test_changes_are_relative_to_the_size():
    """A power is what a relative step changes, for the function as for its logarithm."""
    task = of_formula("a**2*b")
    points = task.train.XT[:, :20]
    for is_logarithm in (True, False):
        smooth = Smoothed.fit(task.train, (0, 1), is_logarithm)
        change = smooth.change(points, {0: 0.01 * points[0]}) / 0.02
        np.testing.assert_allclose(change / smooth.size(points), 2.0, atol=0.02)


def test_weights_count():
    """Rows of no weight do not spoil the error."""
    task = of_formula("a*b")
    y = task.train.y.copy()
    y[:5] += 100.0
    weight = np.ones(len(y))
    weight[:5] = 1e-9
    assert Smoothed.fit(Sample(task.train.XT, y, weight), (0, 1), False).error < 0.01
