"""What an equation leaves, explained by a search of its own, and added to it.

Where all terms of an equation are right but one is missing, the rest is the simpler task: a search
for it need not find again what is known already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ieql.data.sample import Sample
from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.selection import Candidate
from ieql.shape import Shape
from ieql.training.fast.eliminate import fitted
from ieql.training.task import Task

if TYPE_CHECKING:
    from ieql.training.fast.search import FastTrainer
    from ieql.training.fast.state import FastState

__all__ = ["Rest", "completed", "part_of", "rest_of"]

KEPT = 30
"""Equations for the rest that are added and fitted together with what was known, the best ones."""
STEPS, ROWS = 60, 2_000
MUCH_BETTER = 0.3
"""Part of the error of a start that its completions must fall below for its constants, fitted
beside what was missing, to be worth a new search for what they leave."""


@dataclass(frozen=True)
class Rest:
    """A search for what an equation leaves.

    Attributes
    ----------
    start : Candidate
        What is known; its error is that of the best equation that it is part of.
    state : FastState
        How far the search has come.
    """

    start: Candidate
    state: FastState

    @classmethod
    def of(cls, task: Task, trainer: FastTrainer, start: Candidate) -> Rest | None:
        """One that has not begun; None if what is left is not finite."""
        rest = rest_of(task, start.expression)
        return None if rest is None else cls(start, trainer.first([rest]))

    def anew(self, task: Task, trainer: FastTrainer, found: Sequence[Candidate]) -> Rest | None:
        """One with the constants that the start has beside what was found, if that is worth it."""
        best = min(found, key=lambda c: c.rmse_train, default=self.start)
        if best.rmse_train >= MUCH_BETTER * self.start.rmse_train:
            return None
        known = task.candidate(part_of(best.expression, self.start.expression))
        if known is None:
            return None
        return Rest.of(task, trainer, replace(known, rmse_train=best.rmse_train))


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


def part_of(whole: Expression, start: Expression) -> Expression:
    """The terms of an equation that are built as those of another one, with their constants.

    Fitted beside what the other one lacked, they have better constants.
    """
    total = whole.outputs[0]
    wanted = [_form(start, source) for source in start.outputs[0].sources]
    kept = []
    for place, source in enumerate(total.sources):
        if (form := _form(whole, source)) in wanted:
            wanted.remove(form)
            kept.append(place)
    part = Sum(
        total.bias,
        tuple(total.sources[place] for place in kept),
        tuple(total.weights[place] for place in kept),
    )
    return Expression(whole.names, whole.nodes, (part,)).canonical()


def _form(expression: Expression, source: int) -> tuple[object, ...]:
    """How a source is built: units and inputs, without constants."""
    k = source - len(expression.names)
    if k < 0:
        return (source,)
    node = expression.nodes[k]
    return node.unit.name, *(tuple(_form(expression, i) for i in s.sources) for s in node.args)
