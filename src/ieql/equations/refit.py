"""Fitting the constants of an expression again, in float64 and to all rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.program import Program, free_constants

__all__ = ["curvature", "inverse_curvature", "refit"]

Array = NDArray[np.float64]
MOST_FITTED = 600
"""More constants than this stay as trained: a step takes the cube of their number."""


def refit(
    expression: Expression, sample: Sample, domain: Array | None = None, max_steps: int = 40
) -> Expression:
    """Fit the constants on all rows; the given ones are kept if that does not help."""
    free = free_constants(expression)
    if not 0 < len(free) <= MOST_FITTED:
        return expression
    program = Program.of(expression)
    fit = program.fit(
        sample.XT,
        sample.y,
        sample.weight,
        free=free,
        max_steps=max_steps,
        tol=1e-9,
        check=domain,
    )
    before = sample.rmse(program.evaluate(sample.XT))
    after = sample.rmse(program.evaluate(sample.XT, fit.theta))
    return expression.with_constants(fit.theta) if after <= before else expression


def curvature(expression: Expression, sample: Sample) -> tuple[float, Array, NDArray[np.int64]]:
    """Mean squared error, Gauss-Newton matrix, and the places of the constants it is about."""
    free = free_constants(expression)
    program = Program.of(expression)
    error, A, _ = program.normal_equations(
        sample.XT, sample.y, sample.weight, expression.constants(), free
    )
    return float(error), A, free


def inverse_curvature(A: Array, ridge: float = 1e-12) -> Array:
    """Inverse of a Gauss-Newton matrix that may be close to singular.

    It is scaled to a unit diagonal, to which the ridge is added.
    """
    # A constant without any influence has a zero row.
    size = np.sqrt(np.where(A.diagonal() > 0.0, A.diagonal(), 1.0))
    scaled = A / np.outer(size, size)
    try:
        inverse = np.linalg.inv(scaled + ridge * np.eye(len(A)))
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(scaled)
    return np.asarray(inverse / np.outer(size, size))
