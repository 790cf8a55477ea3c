"""Means of large equations that were found apart from each other.

Where accuracy is asked for, several lines of trainings share no equation
(`ieql.training.fast.accurate`). Two equations that were found apart err in different places, so
their mean errs less than either; it is an equation like any other, only longer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.equations.finish import TRIM_ROWS, presented
from ieql.selection import Candidate
from ieql.target import Target
from ieql.training.fast.accurate import MOST

__all__ = ["mean_of", "means"]

Array = NDArray[np.float64]
MOST_MEMBERS = 3
KEPT = 2
"""Means of two, and of three, that are finished: the best of each."""


def mean_of(expressions: Sequence[Expression]) -> Expression:
    """The mean of equations for one target; what they have in common is in it once."""
    builder = Builder(expressions[0].names)
    total = Sum(0.0)
    for e in expressions:
        value = translate(e.outputs[0], builder.copy(e))
        total = total.plus(value.scaled(1.0 / len(expressions)))
    return builder.expression(total)


def means(
    finished: Sequence[Candidate], target: Target, bounds: tuple[float, float] | None = None
) -> list[Candidate]:
    """Means of finished equations that err less than the best of them, the best first.

    They are judged by rows that had no say in the constants of either. Each line judges its own
    equation, so that what a mean gains is not eaten up by the number of its constants.

    Parameters
    ----------
    finished : sequence of Candidate
        Equations in the user's coordinates; those of one line, and large, are members.
    target : Target
        What they are equations for.
    bounds : (low, high), optional
        What their values must not leave in the domain.
    """
    members = [
        c for c in finished if len(c.lines) == 1 and target.has_many_constants(c.n_parameters)
    ]
    least = min((c.rmse_validation for c in finished), default=math.inf)
    with np.errstate(all="ignore"):
        left_out = {id(c): target.left_out_rows(c.expression, c.is_taught) for c in members}
    found = []
    for n in range(2, MOST_MEMBERS + 1):
        tried = [some for some in combinations(members, n) if _belong_together(some)]
        errors = [_error([left_out[id(c)] for c in some]) for some in tried]
        order = sorted(range(len(tried)), key=errors.__getitem__)[:KEPT]
        for k in order:
            mean = _finished(tried[k], target, bounds) if errors[k] < least else None
            if mean is not None:
                error = math.hypot(errors[k], target.strayed(mean.expression))
                found.append(replace(mean, rmse_validation=error))
    return sorted(found, key=lambda c: c.rmse_validation)


def _error(members: Sequence[Sequence[tuple[Array, Array]]]) -> float:
    """The error of a mean, by the worst of those who judge its members."""
    errors = []
    for own in zip(*members, strict=True):
        residual = np.mean([r for r, _ in own], axis=0)
        errors.append(math.sqrt(np.average(residual**2, weights=own[0][1])))
    return max(errors)


def _belong_together(some: Sequence[Candidate]) -> bool:
    """Whether equations are of different lines, of one teacher, and not too large together."""
    return (
        len({c.lines for c in some}) == len(some)
        and len({c.is_taught for c in some}) == 1
        and sum(c.n_parameters for c in some) <= MOST
    )


def _finished(
    some: Sequence[Candidate], target: Target, bounds: tuple[float, float] | None
) -> Candidate | None:
    """The mean of some equations, with the digits that it deserves; None if it is not safe."""
    precise = mean_of([c.equation(precise=True) for c in some])
    rows = target.fitting
    with np.errstate(all="ignore"):
        part = rows.standing_for_all(TRIM_ROWS)
        prior, points = target.task.prior, target.points
        equation = presented(precise, rows, part, points, prior, bounds, many=True)
        if equation is None:
            return None
        found = target.candidate(equation, some[0].is_taught)
    lines = tuple(sorted(k for c in some for k in c.lines))
    return replace(found, lines=lines) if found.complexity <= target.task.max_complexity else None
