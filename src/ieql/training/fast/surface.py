"""A smooth surface through the rows, for networks to be taught by.

A search for a network of two hundred constants by six hundred noisy rows ends up following their
noise. A Gaussian process does not, but it is no equation. So networks are fitted to such a surface,
at the rows and at as many points between them as one likes.

The surface is the mean of two processes: that of `ieql.training.fast.surrogate`, for which
functions of few inputs are likelier, and one of rougher functions of all inputs together (Matérn's
kernel with ν = 5/2). Which of them is closer differs from table to table; their mean is hardly ever
further off than the better one.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ieql.data.sample import Sample
from ieql.training.fast.surrogate import Surrogate
from ieql.training.task import Task

__all__ = ["Learned", "Surface", "laid", "with_surface"]

Array = NDArray[np.float64]
MOST_ROWS = 2_000
"""With more rows a network does as well by them alone, and the process would take long."""
MOST_INPUTS = 20
LEARNING_ROWS = 600
"""Rows on which the process learns its lengths and sizes."""
POINTS, CHECKS = 1_500, 2_000
"""Points between the rows by which networks are taught, and others by which they are judged, ..."""
WEIGHT = 0.5
"""... and what each of them counts beside a row."""
NEIGHBOURS = 10
"""Rows next to a row, towards one of which a point lies, ..."""
BEYOND = 0.7
"""... or beyond one of the two, by at most this part of their distance."""
CROSSED = 0.5
"""Part of the points that are no such neighbours but rows crossed with others, ..."""
TAKEN = 0.2
"""... each of whose inputs has this chance to be that of the other row."""


SIZES, LENGTHS, NOISES = (1e-3, 1e3), (0.05, 1e3), (1e-6, 1.0)
"""Limits of what is learned of the rougher process: variances and, in standard deviations of an
input, lengths."""


class Learned(NamedTuple):
    """What the two processes of a surface have learned: sizes and lengths, in spreads.

    It takes nearly all of their time, and holds for the same rows in other units, with a few more
    or fewer of them.
    """

    theta: Array
    kernel: Any
    noise: float


@dataclass(frozen=True, eq=False)
class Surface:
    """A smooth surface through rows.

    Attributes
    ----------
    points : Sample
        The rows, and then points between them, with the values of the surface.
    left_out : array (rows,)
        How far each row lies from the surface that is laid through all others.
    checks : Sample
        Other points between the rows, which teach nothing.
    learned : Learned
        Of its processes, for a surface through nearly the same rows.
    """

    points: Sample
    left_out: Array
    checks: Sample
    learned: Learned

    @property
    def error(self) -> float:
        """What rows show of the surface that had no say in it."""
        return float(np.sqrt(np.average(self.left_out**2, weights=self._weight)))

    @property
    def _weight(self) -> Array:
        return self.points.weight[: len(self.left_out)]

    def expected(self, values: Array) -> float:
        """The error that new rows will show of an equation that the surface has taught.

        Each row is left out in turn, as far as it had a say in the surface. `values` are those of
        the equation at the rows.
        """
        with np.errstate(over="ignore"):
            return float(np.sqrt(np.average(self.left_out_of(values) ** 2, weights=self._weight)))

    def strayed(self, values: Array, between: Array) -> float:
        """The error between the rows that the rows do not show.

        An equation of two hundred constants may run off where no row is, and a row or two of the
        next hundred lie there. `values` are those at the rows, `between` those at the `checks`.
        What it differs from the surface there more than at the rows, and than the surface may be
        wrong itself, is its error.
        """
        at_rows = values - self.points.y[: len(self.left_out)]
        known = max(float(np.average(at_rows**2, weights=self._weight)), self.error**2)
        with np.errstate(over="ignore", invalid="ignore"):
            apart = float(np.mean((between - self.checks.y) ** 2))
        return float(np.sqrt(max(apart - known, 0.0))) if np.isfinite(apart) else np.inf

    def left_out_of(self, values: Array) -> Array:
        """How far each row would lie from such an equation if it had no say in the surface."""
        return self.left_out - (values - self.points.y[: len(self.left_out)])


def laid(rows: Sample, inputs: Sequence[int], learned: Learned | None = None) -> Surface | None:
    """A surface through rows over some of their inputs; None if that would be too much work.

    What another surface of nearly the same rows has `learned` saves the time to learn it.
    """
    if len(rows) > MOST_ROWS or not 0 < len(inputs) <= MOST_INPUTS:
        return None
    process = Surrogate.fit(
        rows,
        inputs,
        learning_rows=LEARNING_ROWS,
        posterior_rows=MOST_ROWS,
        thorough=True,
        theta=None if learned is None else learned.theta,
    )
    known = _learned(process) if learned is None else learned
    rng = np.random.default_rng(0)
    XT = np.ascontiguousarray(np.hstack([rows.XT, _between(rows.XT, POINTS + CHECKS, rng)]))
    weight = np.concatenate([rows.weight / rows.weight.mean(), np.full(POINTS, WEIGHT)])
    rough, rough_left_out = _rough(process, known, process.seen(XT))
    values = 0.5 * (process.predict(XT) + rough)
    taught = len(rows) + POINTS
    return Surface(
        Sample(np.ascontiguousarray(XT[:, :taught]), values[:taught], weight),
        0.5 * (process.left_out + rough_left_out),
        Sample(np.ascontiguousarray(XT[:, taught:]), values[taught:], np.ones(CHECKS)),
        known,
    )


def _rough(process: Surrogate, learned: Learned, points: Array) -> tuple[Array, Array]:
    """A process with Matérn's kernel through the rows of another, which sees inputs alike.

    Returns
    -------
    values : array (points,)
        At points in the coordinates of the process.
    left_out : array (rows,)
        Errors of every row's prediction by the others.
    """
    from scipy.linalg import cho_solve
    from sklearn.gaussian_process import GaussianProcessRegressor

    noise = learned.noise / process.weight
    rough = GaussianProcessRegressor(learned.kernel, alpha=noise, optimizer=None)
    rough.fit(process.rows.T, process.y)
    inverse = cho_solve((rough.L_, True), np.eye(len(noise)), check_finite=False)
    values = process.mean + process.scale * rough.predict(points.T)
    return values, process.scale * rough.alpha_ / np.diag(inverse)


def _learned(process: Surrogate) -> Learned:
    """Of a process, and of a rougher one: the kernel that makes its rows most likely, the noise."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    kernel = ConstantKernel(1.0, SIZES) * Matern(np.ones(len(process.inputs)), LENGTHS, nu=2.5)
    rough = GaussianProcessRegressor(kernel + WhiteKernel(0.05, NOISES))
    with warnings.catch_warnings():
        # An input without influence has a length at its limit.
        warnings.simplefilter("ignore", ConvergenceWarning)
        rough.fit(process.rows.T[:LEARNING_ROWS], process.y[:LEARNING_ROWS])
    return Learned(process.theta, rough.kernel_.k1, float(rough.kernel_.k2.noise_level))


def with_surface(task: Task) -> Task:
    """The task with a surface through its rows, if it may have one."""
    if task.surface is not None:
        return task
    return replace(task, surface=laid(task.train, task.inputs))


def _between(XT: Array, n: int, rng: np.random.Generator) -> Array:
    """Points where further rows may lie, of two kinds in any order.

    Those near the rows say little of where a row without neighbours may lie. A row with an input or
    two of another row does: of a plan of tests, or a mixture, it may be the next one.
    """
    crossed = _crossed(XT, int(CROSSED * n), rng)
    points = np.hstack([_near(XT, n - crossed.shape[1], rng), crossed])
    return rng.permutation(points, axis=1)


def _crossed(XT: Array, n: int, rng: np.random.Generator) -> Array:
    """Rows of which some inputs are those of another row: n, or what differs of so many."""
    d, n_rows = XT.shape
    one, other = rng.integers(n_rows, size=(2, n))
    is_taken = rng.random((d, n)) < TAKEN
    is_taken[rng.integers(d, size=n), np.arange(n)] = True
    drawn = np.where(is_taken, XT[:, other], XT[:, one])
    rows = {tuple(row) for row in XT.T.tolist()}
    new = sorted({tuple(point) for point in drawn.T.tolist()} - rows)
    return np.array(new, dtype=float).reshape(-1, d).T


def _near(XT: Array, n: int, rng: np.random.Generator) -> Array:
    """Points between rows and their neighbours, or a little beyond, inside the box of the rows."""
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
