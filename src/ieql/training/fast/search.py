"""The search: many trainings in parallel, a time limit, and one front per target.

Work comes in rounds. In a round every island runs a fixed number of trainings from the same front;
after it the islands' finds are merged in the order of the islands. So the same seed gives the same
front whatever the number of processes, as long as the time limit does not cut a round short.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ieql.selection import Candidate, Front
from ieql.training.archive import Archive
from ieql.training.fast.grow import looks_like_noise
from ieql.training.fast.island import KINDS, Finds, Settings, Training, constant, run_island
from ieql.training.fast.lines import lines
from ieql.training.parallel import in_parallel
from ieql.training.task import EXACT, Task

__all__ = ["Budget", "Result", "first_result", "in_parallel", "search"]

N_ISLANDS = 4
"""Fixed, so that the outcome does not depend on the number of processes."""
LARGEST_ROUND = 6
"""Trainings per island in one round: short enough for a live front, long enough to be worth it."""
AHEAD = {"path": 1, "growth": 4, "law": 1}
"""Hits that each kind of training starts with, ..."""
LEAST = {"path": 0.1, "growth": 0.4, "law": 0.1}
"""... and the share of the trainings that it gets in any case."""
PATIENCE = 60
"""Least number of trainings without progress after which the search may stop by itself, ..."""
PATIENCE_AT_NOISE = 24
"""... and where the residuals of the best equation look like noise."""
STARTING = 3.0
"""Seconds that must be left for starting processes to pay."""
Rounds = dict[tuple[int, int], list[Training]]
"""The trainings of a round, by (target, island)."""


@dataclass(frozen=True)
class Budget:
    """When to stop: seconds on the clock, and number of trainings per target."""

    max_time: float | None
    max_trainings: int | None
    min_time: float | None = None
    """Seconds before which the search does not end by itself, unless the equations are exact."""

    def deadline(self, start: float) -> float:
        """The moment (``time.time()``) at which the search must be over."""
        return float("inf") if self.max_time is None else start + self.max_time

    def earliest(self, start: float) -> float:
        """The moment before which the search does not end by itself; never after the deadline."""
        return min(start + (self.min_time or 0.0), self.deadline(start))


@dataclass
class Progress:
    """How far the search for one target has come."""

    score: float = float("inf")
    """Least of log(error) + price · complexity over the front: it falls when an equation gets more
    accurate, and when an equally accurate one gets simpler."""
    since: int = 0
    """Number of trainings, of this target, when it fell last."""
    done: Counter[str] = field(default_factory=Counter)
    """Trainings of each kind, ..."""
    hits: Counter[str] = field(default_factory=Counter)
    """... and equations that entered the front from them."""
    at_noise: bool = False
    """Whether the residuals of the best equation look like noise."""
    exact: bool = False
    patient: bool = False
    """Whether someone went on with a search that had ended: noise does not cut it short."""

    @property
    def patience(self) -> int:
        """Number of trainings without progress after which the search may stop by itself."""
        if self.at_noise and not self.patient:
            return PATIENCE_AT_NOISE
        return max(PATIENCE, self.since)

    @property
    def n_trainings(self) -> int:
        """Number of trainings of all kinds."""
        return self.done.total()

    @property
    def chances(self) -> tuple[float, float, float]:
        """Shares of the kinds in the next trainings: by what has paid on this data set so far."""
        rates = [(AHEAD[kind] + self.hits[kind]) / (1 + self.done[kind]) for kind in KINDS]
        rest = 1.0 - sum(LEAST.values())
        path, growth, law = (
            LEAST[kind] + rest * rate / sum(rates) for kind, rate in zip(KINDS, rates, strict=True)
        )
        return path, growth, law


@dataclass
class Result:
    """What a search has found, also when it was interrupted."""

    archives: list[Archive]
    n_trainings: int = 0
    interrupted: bool = False
    reason: str = ""
    """Why the search stopped, as a sentence."""
    largest: list[float] = field(default_factory=list)
    """For each target the complexity of the most complex equation met."""
    n_processes: int | None = 1
    """In how many processes the last round ran, in joblib's way of counting."""
    progress: list[Progress] = field(default_factory=list)
    """How far each target has come."""
    units: list[Counter[str]] = field(default_factory=list)
    """For each target how often each unit occurs in all candidates."""
    number: int = 0
    """Trainings per target that were planned in the rounds that are over."""
    finds: dict[tuple[int, int], Any] = field(default_factory=dict)
    """Models of the paper's sweep by (target, strength); empty for the fast search."""

    @property
    def fronts(self) -> list[Front]:
        """The Pareto front of each target."""
        return [archive.front for archive in self.archives]


def search(
    tasks: Sequence[Task],
    budget: Budget,
    *,
    seed: int,
    n_jobs: int | None,
    start: float | None = None,
    settings: Settings | None = None,
    on_round: Callable[[Result], None] | None = None,
    resumed: Result | None = None,
) -> Result:
    """Learn all targets.

    Parameters
    ----------
    tasks : sequence of Task
        One per target.
    budget : Budget
        Limits of time and trainings; before its `min_time` only exact equations and the number of
        trainings end the search.
    seed : int
        Fixes everything but what the time limit cuts off.
    n_jobs : int or None
        Processes, in joblib's way of counting; joblib's backends (`joblib.parallel_config`) apply.
    start : float, optional
        When the clock started (``time.time()``); default: now.
    settings : Settings, optional
        Numbers of the trainer.
    on_round : callable, optional
        Called with the result so far after every round.
    resumed : Result, optional
        Where an earlier search stood; it is gone on with.

    Returns
    -------
    Result
        One front per target, in scaled coordinates.
    """
    start = time.time() if start is None else start
    deadline, earliest = budget.deadline(start), budget.earliest(start)
    settings = settings or Settings()
    result = resumed or first_result(tasks)
    try:
        if resumed is not None and all(p.exact for p in result.progress):
            result.reason = "the equations are exact"
        while not result.reason:
            rounds = _plan(result.number, result.progress, budget, seed)
            if not rounds:
                result.reason = f"all {budget.max_trainings} trainings are done"
                break
            number = result.number + sum(len(r) for (k, _), r in rounds.items() if k == 0)
            known = [archive.shared() for archive in result.archives]
            # Starting processes takes seconds; by then an easy equation is found in this one.
            is_worth_it = result.n_processes != 1 or deadline - time.time() > STARTING
            result.n_processes = n_jobs if is_worth_it and not _is_small(rounds) else 1
            for part, is_last in _parts(rounds):
                _run_round(tasks, part, known, result, settings, deadline)
                if all(a.best() < EXACT for a in result.archives):
                    break
                if on_round is not None and not is_last:
                    on_round(result)
            for k, task in enumerate(tasks):
                _measure(result.progress[k], task, result.archives[k], (seed, k, number))
            result.number = number
            result.reason = _reason_to_stop(result, deadline, earliest)
            if on_round is not None:
                on_round(result)
    except KeyboardInterrupt:
        result.interrupted = True
        result.reason = "it was interrupted"
    for task, archive in zip(tasks, result.archives, strict=True):
        if len(archive) <= 1:  # no training came to an equation in the time there was
            for candidate in lines(task):
                archive.add(candidate)
    return result


def first_result(tasks: Sequence[Task]) -> Result:
    """What is known before any training: the mean predictors, so that there is an equation."""
    means = [constant(task) for task in tasks]
    return Result(
        [Archive([mean] if mean is not None else []) for mean in means],
        largest=[0.0] * len(tasks),
        progress=[Progress() for _ in tasks],
        units=[Counter() for _ in tasks],
    )


def _measure(progress: Progress, task: Task, archive: Archive, seed: tuple[int, ...]) -> None:
    """Note what a round has brought for one target."""

    def score(c: Candidate) -> float:
        return math.log(c.error + 1e-300) + task.price * c.complexity

    best = min(archive.front, key=score, default=None)
    if best is None:
        return
    progress.exact = best.rmse_train < EXACT
    if score(best) < progress.score - 0.01:
        progress.score = score(best)
        progress.since = progress.n_trainings
        progress.at_noise = False
    elif not progress.at_noise and not _is_worse_outside(best):
        # Only what has stood for a round is worth the test.
        with np.errstate(all="ignore"):
            progress.at_noise = looks_like_noise(task, best.expression, np.random.default_rng(seed))


def _is_worse_outside(candidate: Candidate) -> bool:
    """Whether extrapolation points tell that an equation is not the true one yet."""
    return candidate.rmse_extrapolation > 1.5 * candidate.rmse_validation


def _plan(number: int, progress: Sequence[Progress], budget: Budget, seed: int) -> Rounds:
    """The trainings of the next round, by (target, island); `number` are done per target."""
    per_island = min(LARGEST_ROUND, 1 + number // N_ISLANDS)
    last = number + per_island * N_ISLANDS
    if budget.max_trainings is not None:
        last = min(last, budget.max_trainings)
    rounds: Rounds = {}
    for k in range(number, last):
        for target, so_far in enumerate(progress):
            island = k % N_ISLANDS
            training = Training(target, island, (seed, target, k), so_far.chances)
            rounds.setdefault((target, island), []).append(training)
    return rounds


def _is_small(rounds: Rounds) -> bool:
    return sum(len(r) for r in rounds.values()) <= N_ISLANDS


def _parts(rounds: Rounds) -> list[tuple[Rounds, bool]]:
    """A small round is run island by island, so that what one finds is told at once.

    With each part comes whether it is the last.
    """
    if not _is_small(rounds):
        return [(rounds, True)]
    return [({key: r}, k == len(rounds) - 1) for k, (key, r) in enumerate(rounds.items())]


def _run_round(
    tasks: Sequence[Task],
    rounds: Rounds,
    known: Sequence[tuple[Candidate, ...]],
    result: Result,
    settings: Settings,
    deadline: float,
) -> None:
    jobs = (
        (key, run_island, (tasks[key[0]], trainings, known[key[0]], settings, deadline))
        for key, trainings in rounds.items()
    )
    finds: dict[tuple[int, int], Finds] = {}
    try:
        for key, found in in_parallel(jobs, result.n_processes):
            finds[key] = found
    finally:
        # Also what arrived before an interrupt is kept.
        for (target, _), found in sorted(finds.items()):
            archive, progress = result.archives[target], result.progress[target]
            for candidate in found.candidates:
                archive.add(candidate)
                result.units[target].update(candidate.expression.unit_counts())
            result.n_trainings += found.n_trainings
            progress.done.update(found.done)
            result.largest[target] = max(result.largest[target], found.largest)
        for (target, _), found in sorted(finds.items()):
            front = {id(c) for c in result.archives[target].front}
            for candidate, kind in zip(found.candidates, found.kinds, strict=True):
                result.progress[target].hits[kind] += id(candidate) in front


def _reason_to_stop(result: Result, deadline: float, earliest: float) -> str:
    if time.time() >= deadline:
        return "the time is up"
    if all(p.exact for p in result.progress):
        return "the equations are exact"
    if time.time() < earliest or any(
        not p.exact and p.n_trainings - p.since < p.patience for p in result.progress
    ):
        return ""
    if all(p.at_noise or p.exact for p in result.progress):
        return "what is left looks like noise"
    return "nothing better was found for long"
