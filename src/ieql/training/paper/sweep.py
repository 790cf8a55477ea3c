"""The paper's trainer: a sweep of models, one per regularisation strength λ, in parallel.

A model is one network of all outputs (section "Architecture") or, if the settings say so, each
output has its own. Each has a random start and a first phase of its own, or all of a sweep share
one, as the first phase does not know λ. The strengths are taken in an order that covers their range
early, so that a time limit leaves a coarser sweep, not half of one.

What a network found is kept for each output by itself, under the number of the model: equations of
one number belong together, and in them the units that outputs share are the same to the last digit.

If more is asked for than one sweep, by a least time or by the settings, there are further ones from
other random starts, with strengths between those of the first; models are numbered on.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ieql.equations.builder import joined
from ieql.equations.expression import Expression
from ieql.equations.program import compile_kernels
from ieql.equations.text import is_writable
from ieql.selection import Candidate
from ieql.training.archive import Archive
from ieql.training.paper.network_training import Model, NetworkTraining
from ieql.training.paper.settings import PaperSettings
from ieql.training.parallel import STARTING, in_parallel, n_processes
from ieql.training.task import Task
from ieql.training.trainers import Budget, State, Trainer, mean_predictor

__all__ = ["PaperTrainer", "SweepState", "SweptModel", "one_thread", "spread_order"]

KERNELS = "ieql.training.paper.steps"
SLOWER = {False: 1.1, True: 1.6}
"""An epoch of the second phase takes at most this many times one of the first, by whether the gates
are open in that: drawing them takes time, too."""

NEXT = 100_003
"""Between the seeds of two sweeps: more than there are strengths."""


@dataclass(frozen=True)
class _Start:
    """A model after the first phase that a sweep shares, and the seconds an epoch took."""

    model: Model | None
    """None if it diverged; untrained if every model has a first phase of its own."""
    seconds: float


@dataclass(frozen=True)
class SweptModel:
    """What became of one model of the sweep."""

    candidate: Candidate | None
    complexity: float = 0.0
    diverged: bool = False


def spread_order(n: int) -> list[int]:
    """0 … n - 1 in an order in which every beginning covers the range: middle, quarters, …."""
    reverse = [int(f"{k:016b}"[::-1], 2) for k in range(1, 2 * n + 2)]
    order = [r * n >> 16 for r in reverse]
    return list(dict.fromkeys([*order, *range(n)]))


@dataclass
class SweepState(State):
    """Where the sweep stands."""

    models: dict[tuple[int, int], SweptModel] = field(default_factory=dict)
    """What became of each model, by (target, number)."""
    sweep: int = 0
    """Number of the sweep that goes on; without a least time there is one."""
    starts: list[_Start] = field(default_factory=list)
    """The first phases of the last sweep; they are trained again when a run goes on."""
    starts_of: int = -1
    """Number of the sweep that they belong to."""
    has_stepped: bool = False
    """Whether anything was done; what comes first has the whole time, the rest the least time."""

    @property
    def known(self) -> set[int]:
        """Numbers of the models that are trained for every target."""
        n = len(self.tasks)
        return {i for _, i in self.models if all((k, i) in self.models for k in range(n))}

    def whole(self, number: int) -> Expression | None:
        """The equations of one model as one graph; None if one of them is not safe or missing."""
        models = [self.models.get((k, number)) for k in range(len(self.tasks))]
        found = [m.candidate.expression for m in models if m is not None and m.candidate]
        return joined(found) if len(found) == len(self.tasks) else None

    def take(self, targets: Sequence[int], number: int, models: Sequence[SweptModel]) -> None:
        """Take in a trained network of these targets; the order of arrival does not matter."""
        self.n_trainings += 1
        for target, model in zip(targets, models, strict=True):
            self.models[target, number] = model
            self.largest[target] = max(self.largest[target], model.complexity)
            self.add(target, model.candidate)
            mean = mean_predictor(self.tasks[target])
            found = [m.candidate for key, m in sorted(self.models.items()) if key[0] == target]
            self.archives[target] = Archive([c for c in (mean, *found) if c is not None])

    def to_form(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers."""
        form = super().to_form()
        form["finds"] = [
            {
                "place": list(place),
                "candidate": None if m.candidate is None else m.candidate.to_form(),
                "complexity": m.complexity,
                "diverged": m.diverged,
            }
            for place, m in sorted(self.models.items())
        ]
        return form


class PaperTrainer(Trainer):
    """Trains as the paper says (appendix "Training"): two phases, L0 gates, a sweep over λ.

    With too little time fewer strengths are taken, at last fewer epochs; `max_trainings` limits the
    number of models. Before the least time is up, or with `PaperSettings.restarts` as long as the
    limit leaves time, strengths that were left out are trained, and then others from other random
    starts.

    Parameters
    ----------
    numbers : PaperSettings
        Numbers of the method.
    """

    name = "paper"
    kernels = (KERNELS,)

    def __init__(self, numbers: PaperSettings) -> None:
        self.numbers = numbers.checked()

    @property
    def settings(self) -> Any:
        """All numbers of the method, by name."""
        return asdict(self.numbers)

    def first(self, tasks: Sequence[Task]) -> SweepState:
        """No model trained yet."""
        state: SweepState = SweepState.start(tasks)
        return state

    def step(self, state: SweepState, budget: Budget) -> None:
        """Train the models that the time allows, or begin another sweep."""
        numbers, deadline, earliest = self.numbers, budget.deadline, budget.earliest
        n_jobs = budget.n_jobs if deadline - time.monotonic() >= STARTING else 1
        state.n_processes = n_jobs
        left = self._left(state)
        until = earliest if state.has_stepped and not numbers.restarts else deadline
        if left and state.starts_of != state.sweep:
            begin = budget.start if state.sweep == 0 else time.monotonic()
            seed = budget.seed + state.sweep * NEXT
            state.starts = _first_phases(state.tasks, numbers, seed, begin, until, n_jobs)
            state.starts_of = state.sweep
        if left:
            chosen, epochs = _plan(numbers, budget, state, until, left)
            _train(state, numbers, chosen, epochs, budget)
            left = [i for i in left if i not in chosen]
        state.has_stepped = True
        if not left:
            state.sweep += 1

    def _left(self, state: SweepState) -> list[int]:
        """Numbers of the models of this sweep that are not trained, in the order to train them."""
        first, known = state.sweep * self.numbers.n_strengths, state.known
        order = [first + i for i in spread_order(self.numbers.n_strengths)]
        return [i for i in order if i not in known]

    def done(self, state: SweepState, budget: Budget) -> str:
        """Why the sweep is over: all models are trained, or the time is up."""
        n = len(state.known)
        is_spent = budget.max_trainings is not None and n >= budget.max_trainings
        is_late = state.has_stepped and time.monotonic() >= self._end(state, budget)
        has_all = not state.has_stepped and not self._left(state) and not budget.min_time
        if not (is_spent or is_late or has_all):
            return ""
        return _reason(self.numbers, n, state, budget.deadline)

    def _end(self, state: SweepState, budget: Budget) -> float:
        """When no further model is begun.

        Where a limit's whole time is used, as soon as it is too late to train another to its end.
        """
        if not self.numbers.restarts or not np.isfinite(budget.deadline):
            return budget.earliest
        each = max((s.seconds for s in state.starts), default=0.0)
        epochs = _epochs(self.numbers)
        if state.starts_of != state.sweep and self.numbers.shared_start:
            epochs += self.numbers.first_epochs
        slower = SLOWER[self.numbers.open_gates]
        return max(budget.earliest, budget.deadline - slower * each * epochs)

    def read(self, form: Any, tasks: Sequence[Task]) -> SweepState:
        """The sweep as it stood: models that were trained are not trained again."""
        state: SweepState = SweepState.read(form, tasks)
        custom = {u.name: u for task in tasks for u in task.prior.custom}
        state.models = {
            (int(f["place"][0]), int(f["place"][1])): SweptModel(
                None if f["candidate"] is None else Candidate.from_form(f["candidate"], custom),
                float(f["complexity"]),
                bool(f["diverged"]),
            )
            for f in form["finds"]
        }
        return state


def _epochs(settings: PaperSettings) -> int:
    """Epochs that a model has for itself."""
    return settings.epochs + (0 if settings.shared_start else settings.first_epochs)


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
    groups = _groups(tasks, settings)
    jobs = (
        (g, _first_phase, ([tasks[k] for k in group], settings, seed + g, until))
        for g, group in enumerate(groups)
    )
    # One network is trained here: there is nothing to be shared among processes.
    found = dict(in_parallel(jobs, 1 if len(groups) == 1 else n_jobs))
    return [found[g] for g in range(len(groups))]


def _groups(tasks: Sequence[Task], settings: PaperSettings) -> list[tuple[int, ...]]:
    """The targets that have one network."""
    every = range(len(tasks))
    return [tuple(every)] if settings.joint else [(k,) for k in every]


def _network(tasks: Sequence[Task], settings: PaperSettings) -> NetworkTraining:
    return NetworkTraining(tasks[0], settings, others=tuple(tasks[1:]))


def _first_phase(
    tasks: Sequence[Task], settings: PaperSettings, seed: int, deadline: float
) -> _Start:
    trainer = _network(tasks, settings)
    model = trainer.start(seed)
    with one_thread(), np.errstate(all="ignore"):
        if settings.first_epochs == 0 or not settings.shared_start:
            trial = model.copy()
            began = time.monotonic()
            trainer.train(trial, 1, settings.strengths[0], seed, float("inf"))
            return _Start(model, time.monotonic() - began)
        began = time.monotonic()
        trainer.train(model, settings.first_epochs, settings.first_strength, seed, deadline)
        seconds = (time.monotonic() - began) / max(model.epoch, 1)
    return _Start(model if model.is_finite else None, seconds)


def one_thread() -> Any:
    """One BLAS thread per process; with more, a sum may come out otherwise in its last digits."""
    from threadpoolctl import threadpool_limits

    # Only libraries that are loaded can be limited.
    compile_kernels(KERNELS)
    return threadpool_limits(limits=1)


def _plan(
    settings: PaperSettings, budget: Budget, state: SweepState, until: float, order: list[int]
) -> tuple[list[int], int]:
    """Which models are trained, and for how many epochs: what the time allows."""
    epochs, workers = _epochs(settings), n_processes(state.n_processes)
    starts = state.starts
    if budget.max_trainings is not None:
        order = order[: max(budget.max_trainings - len(state.known), 0)]
    if np.isfinite(until):
        left = max(until - time.monotonic(), 0.0)
        each = SLOWER[settings.open_gates] * max(s.seconds for s in starts)
        models = int(left * workers / (each * epochs * len(starts)))
        least = max(1, workers // len(starts))
        if models < least:
            epochs = max(1, int(left * workers / (each * least * len(starts))))
        order = order[: max(models, least)]
    return order, epochs


def _train(
    state: SweepState,
    settings: PaperSettings,
    chosen: Sequence[int],
    epochs: int,
    budget: Budget,
) -> None:
    """Train models of these numbers for all targets, and take them in as they come."""
    deadline, seed = budget.deadline, budget.seed
    starts = dict(zip(_groups(state.tasks, settings), state.starts, strict=True))
    for group, start in starts.items():
        if start.model is None:  # there is nothing to go on from
            state.models |= {(k, i): SweptModel(None, diverged=True) for i in chosen for k in group}
    tasks = {group: [state.tasks[k] for k in group] for group in starts}
    jobs = (
        (
            (group, i),
            _trained,
            (tasks[group], settings, start.model, i, epochs, seed, deadline),
        )
        for i in chosen
        for group, start in starts.items()
        if any((k, i) not in state.models for k in group)
    )
    for (group, number), models in in_parallel(jobs, state.n_processes):
        state.take(group, number, models)
        budget.tell()


def _trained(
    tasks: Sequence[Task],
    settings: PaperSettings,
    model: Model,
    number: int,
    epochs: int,
    seed: int,
    deadline: float,
) -> list[SweptModel]:
    """Train the model of one number: its second phase, or all its epochs if it shares no start."""
    trainer = _network(tasks, settings)
    model, first, own_seed = model.copy(), 0, seed + 1 + number
    strength = settings.strength(number)
    with one_thread(), np.errstate(all="ignore"):
        if not settings.shared_start:
            model = trainer.start(own_seed)
            first = epochs * settings.first_epochs // _epochs(settings)
            trainer.train(model, first, settings.first_strength, own_seed, deadline)
        trainer.train(model, epochs - first, strength, own_seed, deadline)
        if not model.is_finite:
            return [SweptModel(None, diverged=True) for _ in tasks]
        whole = trainer.equation(model)
        equations = [whole.output(k) for k in range(len(tasks))]
        return [
            # What nobody could write down, as of a network that was hardly trained, is no equation.
            SweptModel(task.candidate(e) if is_writable(e) else None, e.complexity(task.prior))
            for task, e in zip(tasks, equations, strict=True)
        ]


def _reason(settings: PaperSettings, n_models: int, state: SweepState, deadline: float) -> str:
    if state.starts and all(s.model is None for s in state.starts):
        return "the first phase diverged: lower the learning rate"
    # A network of several outputs diverges once, for all of them.
    firsts = {group[0] for group in _groups(state.tasks, settings)}
    diverged = sum(m.diverged for (k, _), m in state.models.items() if k in firsts)
    tail = f"; {diverged} diverged" if diverged else ""
    if n_models < settings.n_strengths or (
        n_models == settings.n_strengths and time.monotonic() > deadline
    ):
        return f"{n_models} of {settings.n_strengths} models of the sweep were trained{tail}"
    more = n_models - settings.n_strengths
    again = f", and {more} from other random starts," if more else ""
    return f"all {settings.n_strengths} models of the sweep{again} are trained{tail}"
