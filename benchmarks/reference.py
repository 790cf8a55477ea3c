"""What the true structure reaches where rows are few: its constants, and its error after a fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.equations.program import Program, free_constants
from ieql.equations.simplify import gauge, simplify

__all__ = ["Reachable", "contains", "fitted_constants", "n_constants", "reachable", "refitted"]

Array = NDArray[np.float64]
Places = NDArray[np.int64]
N_OTHER_DRAWS = 21
"""Draws of the noise of which the median says what a fit to so few rows usually reaches."""
STEPS = 100
MOST_SIMPLIFIED = 60
"""Equations of other tools with more parameters than this are counted as they are written."""
SAME = 1e-4
"""A structure is the truth if with other constants it differs by less of the spread."""


def fitted_constants(expression: Expression) -> Places:
    """Which constants a fit may change, but for those that are 1 or -1, as `n_constants` counts."""
    free = free_constants(expression)
    chosen: Places = free[np.abs(expression.constants()[free]) != 1.0]
    return chosen


def n_constants(expression: Expression, X: Array) -> int:
    """Number of fitted constants of an equation, as it is written or simpler.

    A front counts those of what it prints, which is simple; truths and the equations of other
    tools may be written in many ways.
    """
    forms = [expression, gauge(expression)]
    if expression.n_parameters <= MOST_SIMPLIFIED:
        simple = simplify(expression, X[:500])
        forms += [simple, gauge(simple)]
    return min(len(fitted_constants(form)) for form in forms)


def refitted(expression: Expression, X: Array, y: Array) -> Expression:
    """The same structure with constants fitted to these rows, from those that it has."""
    form = gauge(expression)
    free = fitted_constants(form)
    if len(free) == 0:
        return form
    XT = np.ascontiguousarray(X.T)
    fit = Program.of(form).fit(XT, y, free=free, max_steps=STEPS, tol=1e-12)
    return form.with_constants(fit.theta) if np.isfinite(fit.error) else form


@dataclass(frozen=True)
class Reachable:
    """RMSE of the true structure, fitted to the rows, inside the data and beyond."""

    inside: float
    beyond: float


def reachable(
    truth: Expression,
    X: Array,
    y: Array,
    noise: float,
    inside: tuple[Array, Array],
    beyond: tuple[Array, Array] | None,
) -> Reachable:
    """Tell what can be expected of so few rows.

    Fits the constants of the truth to the rows, and to 21 other draws of their noise; of the error
    of the former and the median error of the latter the larger counts, since the rows at hand may
    by chance have fixed the constants better than rows like them do.

    Parameters
    ----------
    truth : Expression
        With the true constants.
    X, y : arrays
        The rows that were learned from.
    noise : float
        Its standard deviation.
    inside, beyond : (X, y)
        Exact rows to judge by.
    """
    exact = truth.evaluate(X)[:, 0]
    rng = np.random.default_rng(0)
    targets = [y, *(exact + noise * rng.normal(size=len(y)) for _ in range(N_OTHER_DRAWS))]
    errors = []
    for target in targets:
        fitted = refitted(truth, X, target)
        errors.append([_rmse(fitted, rows) for rows in (inside, beyond or inside)])
    own, others = errors[0], np.median(errors[1:], axis=0)
    return Reachable(*(float(max(a, b)) for a, b in zip(own, others, strict=True)))


def _rmse(expression: Expression, rows: tuple[Array, Array]) -> float:
    with np.errstate(all="ignore"):
        error = float(np.sqrt(np.mean((expression.evaluate(rows[0])[:, 0] - rows[1]) ** 2)))
    return error if np.isfinite(error) else float("inf")


def contains(found: Expression, X: Array, y: Array) -> bool:
    """Tell whether an equation can be the truth: with other constants it runs through exact rows.

    This accepts every way to write the truth, a power as exp of a logarithm for one. The constants
    are sought near those that the equation has.

    Parameters
    ----------
    found : Expression
        What was found.
    X, y : arrays
        Rows without noise, in the range of the data and beyond.
    """
    spread = float(np.std(y))
    defined = np.isfinite(found.evaluate(X)[:, 0])
    if not defined.all():  # constants that are off a little may be undefined at the edge
        if defined.mean() < 0.5:
            return False
        X, y = X[defined], y[defined]
    return _rmse(refitted(found, X, y), (X, y)) <= SAME * spread
