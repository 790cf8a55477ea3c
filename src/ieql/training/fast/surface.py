"""A smooth surface through the rows, for networks to be taught by.

A search for a network of two hundred constants by six hundred noisy rows ends up following their
noise. The Gaussian process of `ieql.training.fast.surrogate` does not, but it is no equation. So
networks are fitted to the process, at the rows and at as many points between them as one likes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.training.fast.surrogate import Surrogate
from ieql.training.task import Task

__all__ = ["with_surface"]

Array = NDArray[np.float64]
MOST_ROWS = 3_000
"""With more rows a network does as well by them alone, and the process would take long."""
MOST_INPUTS = 20
LEARNING_ROWS, POSTERIOR_ROWS = 600, 2_000
"""Rows of the process; see `Surrogate.fit`."""
POINTS = 1_500
"""Points between the rows, ..."""
WEIGHT = 0.5
"""... and what each of them counts beside a row."""
NEIGHBOURS = 10
"""Rows next to a row, towards one of which a point lies, ..."""
BEYOND = 0.7
"""... or beyond one of the two, by at most this part of their distance."""


def with_surface(task: Task) -> Task:
    """The task with a surface through its rows; as it is if it has one, or too many rows for it."""
    rows = task.train
    if task.surface is not None or len(rows) > MOST_ROWS or len(task.inputs) > MOST_INPUTS:
        return task
    process = Surrogate.fit(
        rows,
        task.inputs,
        learning_rows=LEARNING_ROWS,
        posterior_rows=POSTERIOR_ROWS,
        thorough=True,
    )
    XT = np.ascontiguousarray(np.hstack([rows.XT, _between(rows.XT, POINTS)]))
    mean = float(rows.weight.mean())
    weight = np.concatenate([rows.weight / mean, np.full(POINTS, WEIGHT)])
    error = float(np.sqrt(np.mean(process.left_out**2)))
    surface = Sample(XT, process.predict(XT), weight)
    return replace(task, surface=surface, surface_error=error)


def _between(XT: Array, n: int) -> Array:
    """Points between rows and their neighbours, or a little beyond, inside the box of the rows."""
    rng = np.random.default_rng(0)
    spread = np.maximum(XT.std(axis=1), 1e-300)
    Z = (XT / spread[:, None]).T
    chosen = rng.integers(len(Z), size=n)
    near = np.empty(n, dtype=np.intp)
    for k, row in enumerate(chosen.tolist()):
        distance = np.sum((Z - Z[row]) ** 2, axis=1)
        distance[row] = np.inf
        nearest = np.argpartition(distance, min(NEIGHBOURS, len(Z) - 1))[:NEIGHBOURS]
        near[k] = rng.choice(nearest)
    part = rng.uniform(-BEYOND, 1.0 + BEYOND, n)
    points = XT[:, chosen] + part * (XT[:, near] - XT[:, chosen])
    return np.clip(points, XT.min(axis=1)[:, None], XT.max(axis=1)[:, None])
