"""An island: a sequence of trainings on one task, fixed by its seeds.

Islands run in parallel and know nothing of each other while they run. Between rounds the search
hands all of them the merged front, at fixed points of work, not of time, so that the outcome does
not depend on how many of them run at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ieql.data.sample import Sample
from ieql.equations.dimensions import mended
from ieql.equations.expression import Expression
from ieql.selection import Candidate
from ieql.training.archive import Archive, knees
from ieql.training.fast.accurate import AccuracySettings, accurate
from ieql.training.fast.eliminate import EliminationSettings, FittedExpression, eliminate, fitted
from ieql.training.fast.grow import GrowSettings, grow
from ieql.training.fast.laws import LawSettings, law_forms, laws
from ieql.training.fast.path import (
    PathSettings,
    cut,
    embed,
    random_network,
    random_weights,
    train_dense,
)
from ieql.training.task import Task

__all__ = ["ACCURACY", "KINDS", "FastSettings", "Finds", "Found", "Training", "run_island", "train"]


@dataclass(frozen=True)
class FastSettings:
    """Numbers of the fast trainer; nothing in here is set per problem."""

    path: PathSettings = field(default_factory=PathSettings)
    elimination: EliminationSettings = field(default_factory=EliminationSettings)
    grow: GrowSettings = field(default_factory=GrowSettings)
    laws: LawSettings = field(default_factory=LawSettings)
    accuracy: AccuracySettings = field(default_factory=AccuracySettings)
    rows: int = 800
    """Rows for elimination."""
    strict_steps: int = 10
    """Steps of the first honest refit of a state, on the rows of the elimination."""
    final_rows: int = 2500
    final_steps: int = 20
    """Rows and steps of the refit of what reaches the front."""
    regrow: float = 0.5
    """Share of trainings that start from an equation of the front."""
    warm_up_regrown: int = 6
    path_inputs: int = 10
    """Inputs of a path; of more, some are drawn."""
    abandon: float = 1.5
    """A path whose first sparse error is this many times the best one is given up."""


KINDS = ("path", "growth", "law")
"""Kinds of training: a dense network cut down, an equation grown, a law looked for."""
ACCURACY = "accuracy"
"""One more kind, only where it is asked for: many constants (`ieql.training.fast.accurate`)."""


@dataclass(frozen=True)
class Training:
    """One training: which target, which island, and what fixes it."""

    target: int
    island: int
    seed: tuple[int, ...]
    chances: tuple[float, float, float] = (0.2, 0.7, 0.1)
    """Of the kinds, in the order of `KINDS`."""
    kind: str = ""
    """The kind, if it is not drawn."""


@dataclass
class Finds:
    """What an island brings home from a round."""

    candidates: list[Candidate]
    """What entered the island's archive."""
    kinds: list[str] = field(default_factory=list)
    """The kind of training that each of them comes from."""
    to_choose: list[Candidate] = field(default_factory=list)
    """What is good at points outside alone: it may be chosen, and the search does without it."""
    done: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    """How many trainings of each kind were done."""
    largest: float = 0.0
    """Complexity of the most complex equation met: the scale for the selection criteria."""

    @property
    def n_trainings(self) -> int:
        """Number of trainings of all kinds."""
        return sum(self.done.values())


def run_island(
    task: Task,
    trainings: list[Training],
    known: tuple[Candidate, ...],
    settings: FastSettings,
    deadline: float,
    offered: tuple[Expression, ...] = (),
) -> Finds:
    """Run trainings one after the other from an archive, until the deadline at most.

    `offered` is what was found for other outputs (`ieql.training.fast.joint`).
    """
    from threadpoolctl import threadpool_limits

    archive = Archive(known, task.train.n_rows, task.steered)
    finds = Finds([])
    # One BLAS thread per process: the processes are what runs in parallel. A trial that overflows
    # is sorted out by its error, without a word.
    with threadpool_limits(limits=1), np.errstate(all="ignore"):
        for training in trainings:
            try:
                _run_training(task, training, archive, settings, deadline, finds, offered)
            except (ArithmeticError, np.linalg.LinAlgError):
                continue  # a training that breaks down numerically is dropped; others go on
            if time.monotonic() > deadline or archive.is_exact:
                break
    return finds


def _run_training(
    task: Task,
    training: Training,
    archive: Archive,
    settings: FastSettings,
    deadline: float,
    finds: Finds,
    offered: tuple[Expression, ...],
) -> None:
    rng = np.random.default_rng(training.seed)
    kind = training.kind or _kind(task, training, archive, rng)
    for found in train(*_focused(task, archive, rng), rng, settings, kind, offered):
        finds.largest = max(finds.largest, found.complexity)
        if found.candidate is not None and archive.add(found.candidate):
            if archive.searches_with(found.candidate):
                finds.candidates.append(found.candidate)
                finds.kinds.append(kind)
            else:
                finds.to_choose.append(found.candidate)
        if time.monotonic() > deadline:
            return
    finds.done[kind] = finds.done.get(kind, 0) + 1


def _focused(task: Task, archive: Archive, rng: np.random.Generator) -> tuple[Task, Archive]:
    """Where some inputs must stay apart, one choice of them, and what is known of it."""
    if len(task.variants) == 1:
        return task.variants[0], archive
    chosen = task.variants[int(rng.integers(len(task.variants)))]
    known = (c for c in archive.shared() if c.expression.is_allowed(chosen.prior))
    return chosen, Archive(known, archive.n_rows, task.steered)


def _kind(task: Task, training: Training, archive: Archive, rng: np.random.Generator) -> str:
    """Draw the kind of a training; the first of all is growth, which finds most the soonest."""
    kind = str(rng.choice(KINDS, p=training.chances))
    if kind == "law" and (len(archive) <= 1 or not law_forms(task.prior)):
        return "growth"
    return kind


@dataclass(frozen=True)
class Found:
    """An equation that a training met, and the candidate it makes if it is good enough."""

    complexity: float
    candidate: Candidate | None = None


def train(
    task: Task,
    archive: Archive,
    rng: np.random.Generator,
    settings: FastSettings,
    kind: str,
    offered: Sequence[Expression] = (),
) -> Iterator[Found]:
    """One training of one kind, a pure function of its arguments and the state of `rng`.

    Yields what is found as it is found; candidates are safe in the domain and permitted.
    """
    if kind == ACCURACY:
        for candidate in accurate(task, archive, rng, settings.accuracy):
            yield Found(0.0 if candidate is None else candidate.complexity, candidate)
        return
    states = {
        "law": lambda: laws(task, archive, rng, settings.laws),
        "growth": lambda: grow(task, archive, rng, settings.grow, offered),
        "path": lambda: path(task, archive, rng, settings),
    }[kind]()
    final = task.train.draw(settings.final_rows, rng)
    for state in states:
        if state is None:
            yield Found(0.0)
            continue
        complexity = state.expression.complexity(task.prior)
        yield Found(complexity, _judged(task, archive, state, complexity, final, settings))


def path(
    task: Task, archive: Archive, rng: np.random.Generator, settings: FastSettings
) -> Iterator[FittedExpression | None]:
    """A dense network, fresh or grown from the archive, trained and eliminated.

    None is yielded in between, as in `grow`.
    """
    sparse = _dense_part(task, archive, rng, settings)
    if sparse is None:
        return
    sample = task.train.draw(settings.rows, rng)
    best = archive.best()
    for number, state in enumerate(eliminate(sparse, sample, task.prior, settings.elimination)):
        if number == 0 and np.sqrt(state.error) > settings.abandon * best:
            return
        yield None
        if archive.would_accept(
            state.expression,
            state.expression.complexity(task.prior),
            0.9 * float(np.sqrt(state.error)),
            task.is_step(state.expression),
        ):
            # So far singular units were relaxed; what counts is the honest error.
            strict = fitted(state.expression, sample, settings.strict_steps)
            if strict is not None:
                yield strict


def _judged(
    task: Task,
    archive: Archive,
    state: FittedExpression,
    complexity: float,
    final: Sample,
    settings: FastSettings,
) -> Candidate | None:
    """The candidate of a state if the archive would keep it, refitted on more rows."""
    error = float(np.sqrt(state.error))
    is_step = task.is_step(state.expression)
    if not archive.would_accept(state.expression, complexity, 0.98 * error, is_step):
        return None
    if not state.expression.is_allowed(task.prior):
        return None
    possible = mended(state.expression, task.prior)
    strict = None if possible is None else fitted(possible, final, settings.final_steps)
    return None if strict is None else task.candidate(strict.expression, strict.program)


def _dense_part(
    task: Task, archive: Archive, rng: np.random.Generator, settings: FastSettings
) -> Expression | None:
    starts = [c.expression for c in knees(archive.inner, task.price) if c.expression.nodes]
    if starts and rng.random() < settings.regrow:
        # The most accurate ones are tried most often.
        k = int(len(starts) * (1.0 - rng.random() ** 2))
        expression = cut(starts[min(k, len(starts) - 1)], rng)
        network, W = embed(task.to_dense(expression), task.prior, rng, settings.path)
        warm_up = settings.warm_up_regrown
    else:
        network = random_network(task.prior, task.names, rng, task.layers, task.copies)
        W = random_weights(network, rng, settings.path)
        warm_up = settings.path.warm_up
    d = len(task.names)
    inputs = None
    if d > settings.path_inputs:
        chances = archive.input_chances(d, task.price)
        inputs = rng.choice(d, size=settings.path_inputs, replace=False, p=chances)
    sparse = train_dense(*task.dense, network, W, rng, settings.path, warm_up, inputs)
    return None if sparse is None else task.from_dense(sparse)
