"""What a trainer is, and the loop around every one of them.

A trainer learns the equations of all targets in steps on an explicit state: `Trainer.first` makes
the state, `Trainer.step` does a piece of work, `Trainer.done` says why it is over. The state writes
itself as plain JSON, so that a run that was cut short goes on from it. `train` is the loop around
them; it knows no trainer, and a trainer knows nobody who watches.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ieql.equations.expression import Expression, Sum
from ieql.errors import IeqlError
from ieql.selection import Candidate, Front
from ieql.training.archive import Archive
from ieql.training.task import Task

__all__ = ["Budget", "State", "Trainer", "mean_predictor", "restored", "train"]

CHECKPOINT_FORMAT = 1
"""Version of the form that a state writes; one of another version is refused."""
INTERRUPTED = "it was interrupted"


@dataclass(frozen=True)
class Budget:
    """What a training may spend, and what fixes its random choices.

    Attributes
    ----------
    max_time : float or None
        Seconds on the clock, counted from `start`.
    max_trainings : int or None
        Number of trainings per target.
    min_time : float or None
        Seconds before which a trainer does not stop by itself, unless its equations are exact.
    seed : int
        Fixes everything but what the time limit cuts off.
    n_jobs : int or None
        Processes, in joblib's way of counting; joblib's backends (`joblib.parallel_config`) apply.
    start : float
        When the clock started (``time.monotonic()``, which no change of the system's time moves).
    tell : callable
        A step that takes long calls it in between, when the state has grown.
    """

    max_time: float | None = None
    max_trainings: int | None = None
    min_time: float | None = None
    seed: int = 0
    n_jobs: int | None = 1
    start: float = field(default_factory=time.monotonic)
    tell: Callable[[], None] = field(default=lambda: None, repr=False)

    @property
    def deadline(self) -> float:
        """The moment (``time.monotonic()``) at which the training must be over."""
        return float("inf") if self.max_time is None else self.start + self.max_time

    @property
    def earliest(self) -> float:
        """The moment before which it does not end by itself; never after the deadline."""
        return min(self.start + (self.min_time or 0.0), self.deadline)


@dataclass
class State:
    """Where a training stands: what all trainers have in common.

    Attributes
    ----------
    tasks : sequence of Task
        One per target; not written down.
    archives : list of Archive
        For each target the candidates that are remembered.
    largest : list of float
        For each target the complexity of the most complex equation met.
    units : list of Counter
        For each target how often each unit occurs in all candidates.
    n_trainings : int
        Number of trainings that were done, over all targets.
    n_processes : int or None
        In how many processes the last step ran, in joblib's way of counting.
    reason : str
        Why the training ended; empty while it goes on.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    tasks: Sequence[Task]
    archives: list[Archive]
    largest: list[float]
    units: list[Counter[str]]
    n_trainings: int = 0
    n_processes: int | None = 1
    reason: str = ""
    interrupted: bool = False

    @classmethod
    def start(cls, tasks: Sequence[Task]) -> Any:
        """What is known before any training: the mean predictors, so that there is an equation."""
        means = [mean_predictor(task) for task in tasks]
        return cls(
            tasks=tasks,
            archives=[
                Archive([mean] if mean is not None else [], task.train.n_rows, task.steered)
                for mean, task in zip(means, tasks, strict=True)
            ],
            largest=[0.0] * len(tasks),
            units=[Counter() for _ in tasks],
        )

    @property
    def fronts(self) -> list[Front]:
        """The Pareto front of each target."""
        return [archive.front for archive in self.archives]

    def add(self, target: int, candidate: Candidate | None) -> None:
        """Take in what a training found for a target."""
        if candidate is not None:
            self.archives[target].add(candidate)
            self.units[target].update(candidate.expression.unit_counts())

    def add_to_choose(self, target: int, candidate: Candidate) -> None:
        """Take in what may be chosen for its error at points outside, but is no use to a search."""
        if self.archives[target].front.add(candidate):
            self.units[target].update(candidate.expression.unit_counts())

    def to_form(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers; constants to the last bit."""
        parts = zip(self.archives, self.largest, self.units, strict=True)
        return {
            "format": CHECKPOINT_FORMAT,
            "n_trainings": self.n_trainings,
            "reason": self.reason,
            "targets": [
                {**archive.to_form(), "largest": largest, "units": dict(units)}
                for archive, largest, units in parts
            ],
        }

    @classmethod
    def read(cls, form: Any, tasks: Sequence[Task]) -> Any:
        """The inverse of `to_form`; a reason to stop is left behind, as the training continues.

        Whoever reads may meet any content: `trainer.read` is called through `restored`, which
        turns what is wrong into a sentence.
        """
        custom = {u.name: u for task in tasks for u in task.prior.custom}
        if form["format"] != CHECKPOINT_FORMAT or len(form["targets"]) != len(tasks):
            raise IeqlError("it is from another version.")
        archives = [Archive.from_form(target, custom) for target in form["targets"]]
        for archive, task in zip(archives, tasks, strict=True):
            if any(c.expression.names != task.names for c in archive):
                raise IeqlError("it has other inputs.")
        return cls(
            tasks=tasks,
            archives=archives,
            largest=[float(t["largest"]) for t in form["targets"]],
            units=[
                Counter({str(k): int(n) for k, n in t["units"].items()}) for t in form["targets"]
            ],
            n_trainings=int(form["n_trainings"]),
        )


class Trainer(ABC):
    """A way to learn equations.

    A trainer of one's own needs `step` and `done`; `CONTRIBUTING.md` has a recipe.

    Attributes
    ----------
    name : str
        How it is called.
    kernels : tuple of str
        Modules that are compiled before the clock starts, besides those of the equations.
    takes_guesses : bool
        Whether it starts from `Task.guesses`.
    """

    name: str
    kernels: tuple[str, ...] = ()
    takes_guesses: bool = False

    @property
    def settings(self) -> Any:
        """What `trainer_of` makes the same trainer of: plain JSON, stored with a run."""
        return self.name

    def first(self, tasks: Sequence[Task]) -> Any:
        """The state before the first step."""
        return State.start(tasks)

    @abstractmethod
    def step(self, state: Any, budget: Budget) -> None:
        """Do a piece of work, such as one round of trainings, and note it in the state."""

    @abstractmethod
    def done(self, state: Any, budget: Budget) -> str:
        """Why the training is over, as the end of a sentence; empty while it goes on."""

    def last(self, state: Any) -> None:  # noqa: B027 (most trainers need none)
        """What is to be done at the end, also after an interrupt; by default nothing."""

    def read(self, form: Any, tasks: Sequence[Task]) -> Any:
        """The state that wrote itself as `form`."""
        return State.read(form, tasks)


def train(
    trainer: Trainer,
    tasks: Sequence[Task],
    budget: Budget,
    *,
    resumed: Any = None,
    on_round: Callable[[Any], None] | None = None,
) -> Any:
    """Train until the trainer is done or somebody presses Ctrl-C; return the state.

    Parameters
    ----------
    trainer : Trainer
        Does the work.
    tasks : sequence of Task
        One per target.
    budget : Budget
        Limits of time and trainings.
    resumed : State, optional
        Where an earlier training stood; it goes on from there.
    on_round : callable, optional
        Called with the state after every step, and within long steps.
    """
    state = trainer.first(tasks) if resumed is None else resumed
    if on_round is not None:
        budget = replace(budget, tell=lambda: on_round(state))
    try:
        state.reason = trainer.done(state, budget)
        while not state.reason:
            trainer.step(state, budget)
            state.reason = trainer.done(state, budget)
            if on_round is not None:
                on_round(state)
    except KeyboardInterrupt:
        state.interrupted = True
        state.reason = INTERRUPTED
    trainer.last(state)
    return state


def restored(trainer: Trainer, form: Any, tasks: Sequence[Task]) -> Any:
    """The state that a trainer wrote; an `IeqlError` says what is wrong with it."""
    try:
        return trainer.read(form, tasks)
    except IeqlError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise IeqlError(f"it is damaged ({error!r}).") from error


def mean_predictor(task: Task) -> Candidate | None:
    """The mean of the target: the simplest candidate of all.

    Where constants must not have its physical unit it is zero, which has every unit.
    """
    mean = float(np.average(task.train.y, weights=task.train.weight))
    found = task.candidate(Expression(task.names, (), (Sum(mean),)))
    return found or task.candidate(Expression(task.names, (), (Sum(0.0),)))
