"""What a first look at the rows has proposed, fitted and measured; only what is worth it stays."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

import numpy as np

from ieql.equations.dimensions import mended
from ieql.equations.expression import Expression
from ieql.selection import Candidate, description_length
from ieql.training.fast.complete import without_offsets
from ieql.training.fast.eliminate import fitted
from ieql.training.task import Task

__all__ = ["is_permitted", "length", "mean_length", "worthwhile"]

ROWS = 1_000
"""Rows on which the constants are fitted."""
STEPS = 20
DIGITS = 12
"""Digits of the constants from which a fit starts."""
LITTLE = 1e-24
"""A mean squared error, of a target with spread one, that stands for none."""


def is_permitted(task: Task, expression: Expression) -> bool:
    """Whether the prior has all units of an expression, and lets them stand where they do."""
    has_all = all(map(task.prior.has_unit, expression.unit_counts()))
    return has_all and expression.is_allowed(task.prior)


def length(task: Task, error: float, n_constants: int, complexity: float) -> float:
    """Twice the nats of a description of the training rows with this mean squared error."""
    return description_length(task.train.n_rows, error + LITTLE, n_constants, complexity)


def mean_length(task: Task) -> float:
    """The same for the mean alone."""
    return length(task, task.train.spread() ** 2, 1, 0.0)


def rounded(expression: Expression, digits: int) -> Expression:
    """The expression with so many digits of its constants, as a start of a fit.

    The last bits of sums that NumPy adds up depend on where in memory the numbers happen to lie;
    without them the same seed gives the same equations, to the last bit.
    """
    theta = [float(f"{t:.{digits}g}") for t in expression.constants().tolist()]
    return expression.with_constants(theta)


def worthwhile(
    task: Task, expressions: Iterable[Expression], deadline: float = math.inf, rows: int = ROWS
) -> list[Candidate]:
    """Fit expressions, drop the offsets that they do not need, and keep what beats the mean.

    Parameters
    ----------
    task : Task
        What they are measured by.
    expressions : iterable of Expression
        With constants near the right ones.
    deadline : float
        The moment (``time.monotonic()``) after which no fit is begun.
    rows : int
        Rows on which the constants are fitted.
    """
    sample = task.train.head(rows)
    limit = mean_length(task)
    found: list[Candidate] = []
    with np.errstate(all="ignore"):
        for expression in expressions:
            if time.monotonic() > deadline:
                break
            possible = mended(expression, task.prior) if is_permitted(task, expression) else None
            if possible is None:
                continue
            state = fitted(rounded(possible, DIGITS), sample, STEPS, patient=True)
            if state is None:
                continue
            state = without_offsets(state, sample, task.prior)
            candidate = task.candidate(state.expression, state.program)
            if candidate is None or not math.isfinite(candidate.rmse_train):
                continue
            error = candidate.rmse_train**2
            if length(task, error, candidate.n_constants, candidate.complexity) < limit:
                found.append(candidate)
    return found
