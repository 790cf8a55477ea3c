"""An island: a sequence of trainings on one task, fixed by its seeds.

Islands run in parallel and know nothing of each other while they run. Between rounds the search
hands all of them the merged front, at fixed points of work, not of time, so that the outcome does
not depend on how many of them run at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ieql.equations.expression import Expression, Sum
from ieql.sample import Sample
from ieql.selection import Candidate, Front
from ieql.training.eliminate import EliminationSettings, State, eliminate, fitted
from ieql.training.path import (
    PathSettings,
    cut,
    embed,
    random_network,
    random_weights,
    train_dense,
)
from ieql.training.task import Task

__all__ = ["Finds", "Found", "Settings", "Training", "constant", "run_island", "train"]


@dataclass(frozen=True)
class Settings:
    """Numbers of the fast trainer; nothing in here is set per problem."""

    path: PathSettings = field(default_factory=PathSettings)
    elimination: EliminationSettings = field(default_factory=EliminationSettings)
    rows: int = 800
    """Rows for elimination."""
    strict_steps: int = 10
    """Steps of the first honest refit of a state, on the rows of the elimination."""
    final_rows: int = 2500
    final_steps: int = 20
    """Rows and steps of the refit of what reaches the front."""
    progress: float = 0.99
    """To enter the front an equation must beat every simpler one by this factor."""
    regrow: float = 0.5
    """Share of trainings that start from an equation of the front."""
    warm_up_regrown: int = 6
    abandon: float = 1.5
    """A path whose first sparse error is this many times the best one is given up."""


@dataclass(frozen=True)
class Training:
    """One training: which target, which island, and the seed that fixes it."""

    target: int
    island: int
    seed: tuple[int, ...]


def constant(task: Task) -> Candidate | None:
    """The mean predictor: the simplest candidate of all."""
    mean = float(np.average(task.train.y, weights=task.train.weight))
    return task.candidate(Expression(task.names, (), (Sum(mean),)))


@dataclass
class Finds:
    """What an island brings home from a round."""

    candidates: list[Candidate]
    """What is on the island's front and was not there before."""
    n_trainings: int = 0
    largest: float = 0.0
    """Complexity of the most complex equation met: the scale for the selection criteria."""


def run_island(
    task: Task,
    trainings: list[Training],
    front: tuple[Candidate, ...],
    settings: Settings,
    deadline: float,
) -> Finds:
    """Run trainings one after the other from a given front, until the deadline at most."""
    from threadpoolctl import threadpool_limits

    own = Front(front)
    finds = Finds([])
    # One BLAS thread per process: the processes are what runs in parallel.
    with threadpool_limits(limits=1):
        for training in trainings:
            for state in train(task, own, training.seed, settings):
                finds.largest = max(finds.largest, state.complexity)
                if state.candidate is not None and own.add(state.candidate):
                    finds.candidates.append(state.candidate)
                if time.time() > deadline:
                    break
            if time.time() > deadline:
                break
            finds.n_trainings += 1
    kept = {id(c) for c in own}
    finds.candidates = [c for c in finds.candidates if id(c) in kept]
    return finds


@dataclass(frozen=True)
class Found:
    """An equation that a training met, and the candidate it makes if it is good enough."""

    complexity: float
    candidate: Candidate | None = None


def train(task: Task, front: Front, seed: tuple[int, ...], settings: Settings) -> Iterator[Found]:
    """One training, a pure function of (task, front, seed, settings).

    Yields what is found as it is found; candidates are safe in the domain and permitted.
    """
    rng = np.random.default_rng(seed)
    sparse = _dense_part(task, front, rng, settings)
    if sparse is None:
        return
    sample = task.train.draw(settings.rows, rng)
    final = task.train.draw(settings.final_rows, rng)
    best = min((c.rmse_train for c in front), default=np.inf)
    for number, state in enumerate(eliminate(sparse, sample, task.prior, settings.elimination)):
        if number == 0 and np.sqrt(state.error) > settings.abandon * best:
            return
        complexity = state.expression.complexity(task.prior)
        candidate = _judged(task, front, state, complexity, sample, final, settings)
        yield Found(complexity, candidate)


def _judged(
    task: Task,
    front: Front,
    state: State,
    complexity: float,
    sample: Sample,
    final: Sample,
    settings: Settings,
) -> Candidate | None:
    """The candidate of a state if it may enter the front: ever more work for ever fewer."""
    # The honest refit may lower the error a little; what it extrapolates to is not known yet.
    unknown = float("nan") if task.extrapolation is None else 0.0
    if not front.would_accept(complexity, 0.9 * float(np.sqrt(state.error)), unknown):
        return None
    strict = fitted(state.expression, sample, settings.strict_steps)
    if strict is None:
        return None
    error = task.validation.rmse(strict.program.evaluate(task.validation.XT))
    outside = task.extrapolation
    error_outside = (
        float("nan")
        if outside is None
        else outside.rmse(strict.program.evaluate(outside.XT)) / settings.progress
    )
    if not front.would_accept(complexity, error / settings.progress, error_outside):
        return None
    strict = fitted(strict.expression, final, settings.final_steps)
    return None if strict is None else task.candidate(strict.expression, strict.program)


def _dense_part(
    task: Task, front: Front, rng: np.random.Generator, settings: Settings
) -> Expression | None:
    starts = [c.expression for c in front if c.expression.nodes]
    if starts and rng.random() < settings.regrow:
        # The most accurate ones are tried most often.
        k = int(len(starts) * (1.0 - rng.random() ** 2))
        expression = cut(starts[min(k, len(starts) - 1)], rng)
        network, W = embed(expression, task.prior, rng, settings.path)
        warm_up = settings.warm_up_regrown
    else:
        network = random_network(task.prior, task.names, rng, task.layers, task.copies)
        W = random_weights(network, rng, settings.path)
        warm_up = settings.path.warm_up
    return train_dense(*task.dense, network, W, rng, settings.path, warm_up)
