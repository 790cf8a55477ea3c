"""Points at which generated code is checked against the equation, the same ones every time."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.equations.intervals import EPS, Enclosure

__all__ = ["rounding_allowance", "vectors"]

Array = NDArray[np.float64]
N_RANDOM, MOST_CORNERS = 48, 16


def vectors(lower: Array, upper: Array, outside: bool = False) -> Array:
    """Corners, middle and random points of a box, (points, inputs).

    With `outside` there come some that lie beyond one end of one input.
    """
    d = len(lower)
    rng = np.random.default_rng(0)
    corners = np.array(
        list(itertools.islice(itertools.product((0.0, 1.0), repeat=d), MOST_CORNERS))
    )
    share = np.concatenate([corners, np.full((1, d), 0.5), rng.random((N_RANDOM, d))])
    if outside and d:
        beyond = np.repeat(share[-1:], 2 * d, axis=0)
        for i in range(d):
            beyond[2 * i, i], beyond[2 * i + 1, i] = -0.25, 1.25
        share = np.concatenate([share, beyond])
    # At its ends exactly: a sum of both could pass them by rounding.
    points = lower * (1.0 - share) + upper * share
    points = np.where(share == 0.0, lower, np.where(share == 1.0, upper, points))
    return np.asarray(points)


def rounding_allowance(expression: Expression, X: Array, eps: float = EPS) -> Array:
    """How far a computed value may lie from the exact one at each point, whoever computes it.

    It is the width of the bounds of interval arithmetic, in which every operation is widened by
    its last digits, scaled from doubles to numbers whose last digit is `eps`.
    """
    f = Enclosure(expression, expression.outputs[0])
    points = np.ascontiguousarray(X[:, list(f.inputs)].T)
    low, high = f.bounds(points, points)
    inputs = np.abs(points) * EPS
    wide = f.bounds(points - inputs, points + inputs) if len(points) else (low, high)
    width = np.maximum(high - low, wide[1] - wide[0])
    size = np.maximum(np.abs(low), np.abs(high))
    return np.asarray((2.0 * width + 4.0 * EPS * size) * (eps / EPS))
