"""Rows of known equations in two inputs, and points of their domain."""

from __future__ import annotations

import numpy as np

from ieql.data.sample import Sample
from ieql.equations.expression import Expression

__all__ = ["NAMES", "domain", "sample"]

NAMES = ("x", "y")


def sample(formula, n=400, noise=0.0, low=1.0, high=5.0, seed=0, weight=None):
    """Rows of a known equation, x and y uniform between low and high."""
    rng = np.random.default_rng(seed)
    XT = rng.uniform(low, high, (2, n))
    exact = Expression.parse(formula, NAMES).evaluate(XT.T)[:, 0]
    weight = np.ones(n) if weight is None else weight
    return Sample(XT, exact + noise * rng.normal(size=n), weight)


def domain(low=1.0, high=5.0, n=2000):
    """Corners and random points of a square."""
    corners = [[low, low, high, high], [low, high, low, high]]
    points = np.random.default_rng(1).uniform(low, high, (2, n))
    return np.ascontiguousarray(np.concatenate([corners, points], axis=1))
