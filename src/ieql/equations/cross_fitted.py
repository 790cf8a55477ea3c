"""What new rows will show of an equation: rows that are predicted by the others."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.precision import Information
from ieql.equations.program import Program, free_constants

__all__ = ["cross_fitted"]

Array = NDArray[np.float64]
FOLDS = 10
"""Parts in which the rows predict each other."""
MANY_CONSTANTS = 40
"""With more constants ten fits would take long; what a row does to its own prediction is known."""
LARGEST_LEVERAGE = 0.9
"""A row that nearly fixes its own prediction says nothing of the error: it counts tenfold."""


def cross_fitted(expression: Expression, sample: Sample, max_steps: int = 8) -> float:
    """Root mean squared error where each tenth of the rows is predicted by the other nine.

    The structure stays; the constants are fitted to nine tenths from the given ones. So no row has
    a say in the constants that predict it.
    """
    free = free_constants(expression)
    program = Program.of(expression)
    if len(free) > MANY_CONSTANTS:
        residual = left_out_one_by_one(expression, sample)
        return float(np.sqrt(np.average(residual**2, weights=sample.weight)))
    total = 0.0
    for weight in _folds(sample.weight):
        rest = sample.weight - weight
        kept, tested = rest > 0.0, weight > 0.0
        if not tested.any() or not kept.any():
            continue
        theta = program.theta
        if len(free):
            XT = np.ascontiguousarray(sample.XT[:, kept])
            fit = program.fit(
                XT, sample.y[kept], rest[kept], free=free, max_steps=max_steps, tol=1e-9
            )
            theta = fit.theta if np.isfinite(fit.error) else theta
        value = program.evaluate(np.ascontiguousarray(sample.XT[:, tested]), theta)
        with np.errstate(over="ignore"):
            total += float(weight[tested] @ (value - sample.y[tested]) ** 2)
    return math.sqrt(total / sample.weight.sum()) if math.isfinite(total) else math.inf


def left_out_one_by_one(expression: Expression, sample: Sample) -> Array:
    """Residual of each row predicted by all others, to first order: over one minus its leverage."""
    known = Information.of(expression, sample)
    if known is None:
        return np.full(len(sample), math.inf)
    value, J = Program.of(expression).jacobian(sample.XT, free=known.free)
    spread = np.linalg.solve(known.factor.T, J / known.size[:, None])
    weight = sample.weight / sample.weight.sum()
    # Of a row that was measured several times one is left out.
    leverage = np.sum(spread**2, axis=0) * np.minimum(weight, 1.0 / known.n_rows)
    residual: Array = (sample.y - value) / (1.0 - np.minimum(leverage, LARGEST_LEVERAGE))
    return residual


def _folds(weight: Array) -> list[Array]:
    """Part the rows into tenths; of a row that stands for several, each tenth gets its share.

    The order of a data set's rows is random already.
    """
    place = np.arange(len(weight)) % FOLDS
    if not np.all(weight == np.round(weight)):  # precisions: a row is one measurement
        return [np.where(place == k, weight, 0.0) for k in range(FOLDS)]
    whole, rest = np.divmod(weight, FOLDS)
    return [whole + ((k - place) % FOLDS < rest) for k in range(FOLDS)]
