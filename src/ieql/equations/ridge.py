"""Fitting many constants to all rows, with a ridge that the rows choose themselves.

An equation of a hundred constants has some that the rows hardly determine. Least squares would let
them follow the noise; a ridge keeps them near what they were trained to, which may have been more
than these rows: a smooth surface through them. Its strength comes from the evidence of the rows, as
in `ieql.training.fast.network_fit`, in coordinates in which inputs reach from -1 to 1 and the
target has spread one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.program import Program

__all__ = ["fitted_with_ridge"]

Array = NDArray[np.float64]
STEPS = 15
ROUNDING = 1e-9
LEAST_RIDGE = 1e-6
LEAST_FREE = 0.2
"""Part of the rows that the noise is judged by at least, however many constants there are."""
TRIALS = 10
"""Dampings that are tried: between constants that stand in for each other the way is narrow."""
SMALL_CHANGE = 1e-5
"""Part of the error by which a step must lower it for another one to be worth it."""


def fitted_with_ridge(expression: Expression, sample: Sample) -> Expression:
    """The expression with its constants fitted to the rows; as it is if that does not help."""
    low, high = sample.XT.min(axis=1), sample.XT.max(axis=1)
    centre, half = 0.5 * (low + high), np.where(high > low, 0.5 * (high - low), 1.0)
    mean = float(np.average(sample.y, weights=sample.weight))
    spread = sample.spread() or 1.0
    inner = expression.rescaled(-centre / half, 1.0 / half, -mean / spread, 1.0 / spread)
    program = Program.of(inner)
    XT = np.ascontiguousarray((sample.XT - centre[:, None]) / half[:, None])
    y, root = (sample.y - mean) / spread, np.sqrt(sample.weight)
    theta = _fit(program, XT, y, root, sample.n_rows)
    return inner.with_constants(theta).rescaled(centre, half, mean, spread).canonical()


def _fit(program: Program, XT: Array, y: Array, root: Array, n_rows: float) -> Array:
    free, theta = program.free, program.theta.copy()
    # The offset of the output is not shrunk: it is the first constant of the last sum.
    shrunk = np.where(free == program.ptr[-2] + len(program.ptr) - 2, 0.0, 1.0)
    ridge, damping = 1.0, 1e-2
    start = theta[free].copy()
    for k in range(STEPS):
        value, J = program.jacobian(XT, theta, free)
        J = J * root
        r = (value - y) * root
        if not (np.all(np.isfinite(r)) and np.all(np.isfinite(J))):
            break
        A, w = J @ J.T, theta[free]
        moved = w - start
        if k > 0:  # before the first step there is no distance to judge by
            ridge = _ridge(A, r, moved, shrunk, ridge, n_rows)
        objective = float(r @ r + ridge * (shrunk @ (moved * moved)))
        gradient = J @ r + ridge * shrunk * moved
        gained = 0.0
        for _ in range(TRIALS):
            diagonal = ridge * (shrunk + damping) + ROUNDING
            try:
                proposed = w - cho_solve(cho_factor(A + np.diag(diagonal), lower=True), gradient)
            except LinAlgError:
                damping *= 10.0
                continue
            trial = theta.copy()
            trial[free] = proposed
            e = (program.evaluate(XT, trial) - y) * root
            after = float(e @ e + ridge * (shrunk @ (proposed - start) ** 2))
            if after < objective and np.all(proposed != 0.0):
                theta, gained, damping = trial, objective - after, max(damping / 5.0, 1e-4)
                break
            damping *= 10.0
        if gained <= SMALL_CHANGE * objective:
            break
    return theta


def _ridge(A: Array, r: Array, w: Array, shrunk: Array, ridge: float, n_rows: float) -> float:
    """The ridge that the evidence of the rows asks for."""
    try:
        factor = cho_factor(A + np.diag(ridge * shrunk + ROUNDING), lower=True)
    except LinAlgError:
        return ridge
    inverse = cho_solve(factor, np.eye(len(A)))
    determined = len(w) - ridge * float(shrunk @ inverse.diagonal())
    noise = float(r @ r) / max(n_rows - determined, LEAST_FREE * n_rows)
    return max(determined * noise / max(float(shrunk @ (w * w)), ROUNDING), LEAST_RIDGE)
