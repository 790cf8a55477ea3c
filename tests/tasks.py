"""Small tasks with a known equation, for tests of the trainings and the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ieql.data.dataset import Scaling
from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.prior import Prior
from ieql.training.task import Task

__all__ = ["NAMES", "labelled", "make_task", "of_formula", "task_of"]

NAMES = ("x", "y")


def labelled(formula: str, n: int, low: float, high: float, noise: float, seed: int) -> Sample:
    """Rows of a known equation, both inputs uniform between low and high."""
    rng = np.random.default_rng(seed)
    XT = rng.uniform(low, high, (2, n))
    exact = Expression.parse(formula, NAMES).evaluate(XT.T)[:, 0]
    return Sample(XT, exact + noise * rng.normal(size=n), np.ones(n))


def make_task(
    formula: str = "x*y + 0.5*x",
    prior: Any = "plain",
    *,
    low: float = -1.0,
    high: float = 1.0,
    reach: float = 1.0,
    n: int = 400,
    noise: float = 0.0,
    **settings: Any,
) -> Task:
    """A task whose domain is `reach` times as wide as its data."""
    train = labelled(formula, n, low, high, noise, seed=0)
    box = Scaling.minmax(train.XT.T)
    centre, half = (low + high) / 2, (high - low) / 2
    points = np.random.default_rng(2).uniform(-1, 1, (2, 500))
    corners = np.array([[-1.0, -1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1.0]])
    return Task(
        names=NAMES,
        prior=Prior.of(prior),
        train=train,
        validation=labelled(formula, 100, low, high, noise, seed=1),
        centre=box.offset,
        half=box.scale,
        mean=float(train.y.mean()),
        domain=centre + reach * half * np.concatenate([corners, points], axis=1),
        **settings,
    )


def task_of(y: Any, prior: Any = "plain", noise: float = 0.0, **inputs: Any) -> Task:
    """A task in scaled coordinates; the noise is a part of the target's spread."""
    XT = np.array(list(inputs.values()), float)
    y = np.asarray(y, float)
    y = y + noise * y.std() * np.random.default_rng(7).normal(size=len(y))
    XT = XT / Scaling.minmax(XT.T).scale[:, None]
    y = y / Scaling.zscore(y[:, None]).scale
    sample = Sample(np.ascontiguousarray(XT), y, np.ones(len(y)))
    box = Scaling.minmax(XT.T)
    return Task(
        names=tuple(inputs), prior=Prior.of(prior), train=sample, validation=sample,
        centre=box.offset, half=box.scale, mean=float(y.mean()), domain=XT,
    )  # fmt: skip


def of_formula(
    formula: str,
    names: Sequence[str] = "abc",
    *,
    n: int = 200,
    noise: float = 0.0,
    prior: Any = "plain",
    low: float = 0.5,
    high: float = 2.0,
    seed: int = 0,
) -> Task:
    """A task with a known equation of any inputs, all uniform between low and high."""
    rng = np.random.default_rng(seed)
    names = tuple(names)

    def sample(n: int) -> Sample:
        XT = rng.uniform(low, high, (len(names), n))
        y = Expression.parse(formula, names).evaluate(XT.T)[:, 0]
        return Sample(XT, y + noise * rng.normal(size=n), np.ones(n))

    train = sample(n)
    return Task(
        names=names, prior=Prior.of(prior), train=train, validation=sample(50),
        centre=np.full(len(names), (low + high) / 2), half=np.full(len(names), (high - low) / 2),
        mean=float(train.y.mean()), domain=rng.uniform(low, high, (len(names), 200)),
    )  # fmt: skip
