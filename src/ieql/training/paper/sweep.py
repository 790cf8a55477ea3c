"""The paper's sweep: one model per regularisation strength λ, from one first phase, in parallel.

All models of a target share the first phase, which does not know λ. The strengths are taken in an
order that covers their range early, so that a time limit leaves a coarser sweep, not half of one.
If more is asked for than one sweep, by a least time, the strengths are swept again from other
random starts; models are numbered on: of 40 strengths, model 41 is the second of strength 1.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ieql.equations.program import compile_kernels
from ieql.selection import Candidate
from ieql.training.fast.search import STARTING, Budget, Result, first_result
from ieql.training.paper.trainer import Model, PaperSettings, Trainer
from ieql.training.parallel import in_parallel, n_processes
from ieql.training.task import Task

__all__ = ["Find", "one_thread", "spread_order", "sweep"]

SLOWER = 1.6
"""An epoch of the second phase takes at most this many times one of the first: it draws gates."""

NEXT = 100_003
"""Between the seeds of two sweeps: more than there are strengths."""


@dataclass(frozen=True)
class _Start:
    """A model after its first phase, and the seconds an epoch took."""

    model: Model | None
    """None if it diverged."""
    seconds: float


@dataclass(frozen=True)
class Find:
    """What became of one model of the sweep."""

    candidate: Candidate | None
    complexity: float = 0.0
    diverged: bool = False


def spread_order(n: int) -> list[int]:
    """0 … n - 1 in an order in which every beginning covers the range: middle, quarters, …."""
    reverse = [int(f"{k:016b}"[::-1], 2) for k in range(1, 2 * n + 2)]
    order = [r * n >> 16 for r in reverse]
    return list(dict.fromkeys([*order, *range(n)]))


def sweep(
    tasks: Sequence[Task],
    budget: Budget,
    settings: PaperSettings,
    *,
    seed: int,
    n_jobs: int | None,
    start: float | None = None,
    on_round: Callable[[Result], None] | None = None,
    resumed: Result | None = None,
) -> Result:
    """Train the models of all targets (appendix "Training").

    Parameters
    ----------
    tasks : sequence of Task
        One per target.
    budget : Budget
        With too little time fewer strengths are taken, at last fewer epochs; `max_trainings`
        limits the number of models. Before `min_time` is up, what strengths were left out are
        trained, and then all of them again from other random starts.
    settings : PaperSettings
        Numbers of the method.
    seed, n_jobs, start, on_round, resumed
        As for `ieql.training.fast.search.search`; `on_round` is called after every model. Models
        that were trained before are not trained again; the first phase is.

    Returns
    -------
    Result
        One front per target, in scaled coordinates.
    """
    settings = settings.checked()
    start = time.time() if start is None else start
    if compile_kernels("ieql.training.paper.steps"):
        start = time.time()
    deadline, earliest = budget.deadline(start), budget.earliest(start)
    if deadline - time.time() < STARTING:
        n_jobs = 1
    result = resumed or first_result(tasks)
    result.n_processes = n_jobs
    finds = result.finds
    starts: list[_Start] = []
    try:
        known = {i for _, i in finds if all((k, i) in finds for k in range(len(tasks)))}
        for number in itertools.count():  # of the sweep; without a least time there is one
            first = number * settings.n_strengths
            left = [first + i for i in spread_order(settings.n_strengths)]
            left = [i for i in left if i not in known]
            begin, until = (time.time(), earliest) if number else (start, deadline)
            if left:  # else they were trained in an earlier part of the run
                starts = _first_phases(tasks, settings, seed + number * NEXT, begin, until, n_jobs)
            while left and not _is_spent(budget, known):
                chosen, epochs = _plan(settings, budget, starts, n_jobs, until, left, len(known))
                _train(tasks, settings, starts, chosen, epochs, seed, deadline, result, on_round)
                known.update(chosen)
                left = [i for i in left if i not in known]
                until = earliest
                if time.time() >= earliest:
                    break
            if time.time() >= earliest or _is_spent(budget, known):
                break
        result.reason = _reason(settings, len(known), finds, starts, deadline)
    except KeyboardInterrupt:
        result.interrupted = True
        result.reason = "it was interrupted"
    # Merged anew in the order of the strengths: the order of arrival must not matter.
    result.archives = first_result(tasks).archives
    for key in sorted(finds):
        candidate = finds[key].candidate
        if candidate is not None:
            result.archives[key[0]].add(candidate)
    return result


def _first_phases(
    tasks: Sequence[Task],
    settings: PaperSettings,
    seed: int,
    start: float,
    deadline: float,
    n_jobs: int | None,
) -> list[_Start]:
    share = settings.first_epochs / (settings.first_epochs + settings.epochs)
    until = start + max(share, 0.2) * (deadline - start) if np.isfinite(deadline) else deadline
    jobs = ((k, _first_phase, (task, settings, seed + k, until)) for k, task in enumerate(tasks))
    # One target is trained here: there is nothing to be shared among processes.
    found = dict(in_parallel(jobs, 1 if len(tasks) == 1 else n_jobs))
    return [found[k] for k in range(len(tasks))]


def _first_phase(task: Task, settings: PaperSettings, seed: int, deadline: float) -> _Start:
    trainer = Trainer(task, settings)
    model = trainer.start(seed)
    with one_thread(), np.errstate(all="ignore"):
        if settings.first_epochs == 0:
            trial = model.copy()
            began = time.time()
            trainer.train(trial, 1, settings.strengths[0], seed, float("inf"))
            return _Start(model, time.time() - began)
        began = time.time()
        trainer.train(model, settings.first_epochs, None, seed, deadline)
        seconds = (time.time() - began) / max(model.epoch, 1)
    return _Start(model if model.is_finite else None, seconds)


def one_thread() -> Any:
    """One BLAS thread per process; with more, a sum may come out otherwise in its last digits."""
    from threadpoolctl import threadpool_limits

    # Only libraries that are loaded can be limited.
    compile_kernels("ieql.training.paper.steps")
    return threadpool_limits(limits=1)


def _plan(
    settings: PaperSettings,
    budget: Budget,
    starts: Sequence[_Start],
    n_jobs: int | None,
    deadline: float,
    order: list[int],
    n_known: int,
) -> tuple[list[int], int]:
    """Which models are trained, and for how many epochs: what the time allows."""
    epochs, workers = settings.epochs, n_processes(n_jobs)
    if budget.max_trainings is not None:
        order = order[: max(budget.max_trainings - n_known, 0)]
    if np.isfinite(deadline):
        left = max(deadline - time.time(), 0.0)
        each = SLOWER * max(s.seconds for s in starts)
        models = int(left * workers / (each * epochs * len(starts)))
        least = max(1, workers // len(starts))
        if models < least:
            epochs = max(1, int(left * workers / (each * least * len(starts))))
        order = order[: max(models, least)]
    return order, epochs


def _train(
    tasks: Sequence[Task],
    settings: PaperSettings,
    starts: Sequence[_Start],
    chosen: Sequence[int],
    epochs: int,
    seed: int,
    deadline: float,
    result: Result,
    on_round: Callable[[Result], None] | None,
) -> None:
    """Train models of these numbers for all targets, and add them to the result as they come."""
    jobs = (
        ((k, i), _second_phase, (task, settings, starts[k].model, i, epochs, seed, deadline))
        for i in chosen
        for k, task in enumerate(tasks)
        if starts[k].model is not None and (k, i) not in result.finds
    )
    for key, find in in_parallel(jobs, result.n_processes):
        result.finds[key] = find
        result.number += 1
        _merge(result, key[0], find)
        if on_round is not None:
            on_round(result)


def _second_phase(
    task: Task,
    settings: PaperSettings,
    model: Model,
    number: int,
    epochs: int,
    seed: int,
    deadline: float,
) -> Find:
    trainer = Trainer(task, settings)
    model = model.copy()
    strength = settings.strengths[number % settings.n_strengths]
    with one_thread(), np.errstate(all="ignore"):
        trainer.train(model, epochs, strength, seed + 1 + number, deadline)
        if not model.is_finite:
            return Find(None, diverged=True)
        equation = trainer.equation(model)
        return Find(task.candidate(equation), equation.complexity(task.prior))


def _merge(result: Result, target: int, find: Find) -> None:
    result.n_trainings += 1
    result.progress[target].done["sweep"] += 1
    result.largest[target] = max(result.largest[target], find.complexity)
    if find.candidate is not None:
        result.archives[target].add(find.candidate)
        result.units[target].update(find.candidate.expression.unit_counts())


def _reason(
    settings: PaperSettings,
    n_models: int,
    finds: dict[tuple[int, int], Find],
    starts: Sequence[_Start],
    deadline: float,
) -> str:
    if starts and all(s.model is None for s in starts):
        return "the first phase diverged: lower the learning rate"
    diverged = sum(f.diverged for f in finds.values())
    tail = f"; {diverged} diverged" if diverged else ""
    if n_models < settings.n_strengths or (
        n_models == settings.n_strengths and time.time() > deadline
    ):
        return f"{n_models} of {settings.n_strengths} models of the sweep were trained{tail}"
    more = n_models - settings.n_strengths
    again = f", and {more} from other random starts," if more else ""
    return f"all {settings.n_strengths} models of the sweep{again} are trained{tail}"


def _is_spent(budget: Budget, known: set[int]) -> bool:
    return budget.max_trainings is not None and len(known) >= budget.max_trainings
