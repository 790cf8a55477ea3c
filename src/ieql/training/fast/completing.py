"""What an equation leaves, explained by a search of its own, and added to it.

Where all terms of an equation are right but one is missing, the rest is the simpler task: a search
for it need not find again what is known already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ieql.data.sample import Sample
from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.selection import Candidate
from ieql.shape import Shape
from ieql.training.fast.eliminate import fitted
from ieql.training.task import Task

__all__ = ["completed", "rest_of"]

KEPT = 30
"""Equations for the rest that are added and fitted together with what was known, the best ones."""
STEPS, ROWS = 60, 2_000


def rest_of(task: Task, known: Expression) -> Task | None:
    """What an equation leaves of the target, as a task of its own; None if that is not finite."""

    def left(rows: Sample) -> Sample:
        return replace(rows, y=rows.y - known.evaluate(rows.XT.T)[:, 0])

    train, validation = left(task.train), left(task.validation)
    if not (np.all(np.isfinite(train.y)) and np.all(np.isfinite(validation.y))):
        return None
    return replace(
        task,
        prior=replace(task.prior, shape=Shape()),  # what is known of the whole holds for no part
        train=train,
        validation=train if task.validation is task.train else validation,
        mean=float(np.average(train.y, weights=train.weight)),
        extrapolation=None,
        steered=False,
        bounds=None,
        shape=None,
        guesses=(),
        accurate=False,
        surface=None,
        whole=None,
    )


def completed(task: Task, start: Candidate, parts: Sequence[Candidate]) -> list[Candidate]:
    """A candidate with each of the best equations for what it leaves, fitted together."""
    found = []
    for part in sorted(parts, key=lambda c: c.rmse_validation)[:KEPT]:
        with np.errstate(all="ignore"):
            state = fitted(_added(start.expression, part.expression), task.train.head(ROWS), STEPS)
            candidate = None if state is None else task.candidate(state.expression)
        if candidate is not None:
            found.append(candidate)
    return found


def _added(one: Expression, other: Expression) -> Expression:
    builder = Builder(one.names)
    sums = [translate(e.outputs[0], builder.copy(e)) for e in (one, other)]
    return builder.expression(Sum.total(sums)).canonical()
