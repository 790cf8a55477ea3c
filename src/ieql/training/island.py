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
from ieql.selection import Candidate, Front
from ieql.training.eliminate import EliminationSettings, eliminate, fitted
from ieql.training.path import (
    PathSettings,
    cut,
    embed,
    random_network,
    random_weights,
    train_dense,
)
from ieql.training.task import Task

__all__ = ["Settings", "Training", "constant", "run_island", "train"]


@dataclass(frozen=True)
class Settings:
    """Numbers of the fast trainer; nothing in here is set per problem."""

    path: PathSettings = field(default_factory=PathSettings)
    elimination: EliminationSettings = field(default_factory=EliminationSettings)
    rows: int = 800
    """Rows for elimination."""
    final_rows: int = 2500
    """Rows for the refit of what reaches the front."""
    final_steps: int = 20
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


def run_island(
    task: Task,
    trainings: list[Training],
    front: tuple[Candidate, ...],
    settings: Settings,
    deadline: float,
) -> tuple[list[Candidate], int]:
    """Run trainings one after the other from a given front.

    Returns
    -------
    candidates : list of Candidate
        What entered the island's front, in the order in which it was found.
    n_done : int
        How many of the trainings came to their end before the deadline (``time.time()``).
    """
    from threadpoolctl import threadpool_limits

    own = Front(front)
    found: list[Candidate] = []
    done = 0
    # One BLAS thread per process: the processes are what runs in parallel.
    with threadpool_limits(limits=1):
        for training in trainings:
            for candidate in train(task, own, training.seed, settings):
                if own.add(candidate):
                    found.append(candidate)
                if time.time() > deadline:
                    break
            if time.time() > deadline:
                break
            done += 1
    return [c for c in found if c in own.candidates], done


def train(
    task: Task, front: Front, seed: tuple[int, ...], settings: Settings
) -> Iterator[Candidate]:
    """One training, a pure function of (task, front, seed, settings).

    Yields candidates as they are found: safe in the domain and permitted by the prior.
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
        # Leave a little room: the strict refit on more rows may lower the error.
        if not front.would_accept(complexity, 0.9 * float(np.sqrt(state.error))):
            continue
        strict = fitted(state.expression, final, settings.final_steps)
        if strict is None:
            continue
        candidate = task.candidate(strict.expression, strict.program)
        if candidate is not None:
            yield candidate


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
