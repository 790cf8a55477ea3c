"""Learning from rows whose target is only known to lie in a range.

Trainings see one value of each row. What that should be within its range, an equation says that
describes all rows well; so a first, shorter search has the middle of each range (or its one bound),
and the second sees the rows as the best equation of the first does (`ieql.data.ranges`). In both
each finished equation is fitted to the ranges themselves and judged by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ieql.data.dataset import Dataset
from ieql.data.intake import Measurements
from ieql.data.ranges import between
from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.guesses import in_coordinates_of
from ieql.learn import Earlier, learn
from ieql.observer import Observer, Snapshot
from ieql.options import FitOptions
from ieql.report.evidence import Evidence
from ieql.selection import Candidate
from ieql.target import Target, prepare
from ieql.training.trainers import Trainer

__all__ = ["learn_between"]

FIRST = 0.3
"""Part of the time, or of the trainings, for the first search."""
GIVEN = 8
"""Equations of the first search that the second begins with."""


@dataclass(frozen=True)
class _Underway:
    """Tells an observer of all but the end, which is not the end of the whole."""

    observer: Observer

    def on_round(self, snapshot: Snapshot) -> None:
        if not snapshot.model.finished:
            self.observer.on_round(snapshot)


def learn_between(
    options: FitOptions,
    measured: Measurements,
    targets: Sequence[Target],
    trainer: Trainer,
    evidence: Evidence,
    *,
    seed: int,
    start: float,
    earlier: Earlier | None = None,
    observers: Sequence[Observer] = (),
) -> Snapshot:
    """Learn the front of an output that is partly known by ranges; as `ieql.learn.learn`."""
    earlier = earlier or Earlier()
    (target,) = targets
    underway = [_Underway(observer) for observer in observers]
    n_trainings = 0
    last = None
    if not (earlier.fronts and earlier.fronts[0]):
        own = _first_options(options)
        last = learn(
            own, measured, targets, trainer, evidence, seed=seed, start=start, observers=underway
        )
        n_trainings = last.model.n_trainings
        earlier = replace(earlier, fronts=last.model.fronts)
    if last is None or not last.model.interrupted:
        best = _best_first(target, earlier.fronts[0])
        data = _as_seen_by(best[0].equation(precise=True), measured.data)
        (again,) = prepare(options, data, measured.outside, seed)
        if trainer.takes_guesses:
            guesses = [in_coordinates_of(again, c.equation(precise=True)) for c in best[:GIVEN]]
            guesses += target.task.guesses
            again = replace(again, task=replace(again.task, guesses=tuple(guesses)))
        last = learn(
            options,
            replace(measured, data=data),
            [again],
            trainer,
            evidence,
            seed=seed,
            start=start,
            earlier=earlier,
            observers=underway,
        )
        model = replace(last.model, n_trainings=last.model.n_trainings + n_trainings)
        last = replace(last, model=model)
    for observer in observers:
        observer.on_round(last)
    return last


def _first_options(options: FitOptions) -> FitOptions:
    """What the first search is asked: the same, in less time."""
    own = replace(options, min_time=None)
    if options.max_time is not None:
        own.max_time = FIRST * options.max_time
    if options.max_trainings is not None:
        own.max_trainings = max(int(FIRST * options.max_trainings), 1)
    return own


def _best_first(target: Target, front: Sequence[Candidate]) -> list[Candidate]:
    """The equation that describes the rows best, and then the others, the most exact first."""
    best = target.best(front)
    others = sorted(front, key=lambda c: c.rmse_validation)
    return [best, *(c for c in others if c is not best)]


def _as_seen_by(expression: Expression, data: Dataset) -> Dataset:
    """The rows with the values that an equation sees in their ranges."""
    rows = Sample(np.ascontiguousarray(data.X.T), data.y[:, 0], data.weight, data.ranges)
    seen = between(rows, expression.evaluate(data.X)[:, 0])
    return replace(data, y=np.ascontiguousarray(seen.y[:, None]))
