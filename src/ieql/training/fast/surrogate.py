"""A Gaussian process that stands for the unknown function, with an honest error at every point.

The kernel is a product, over the inputs, of a constant and a squared exponential: functions of few
inputs, and sums of such, are likelier than a general function of all inputs and need fewer rows.
Hyperparameters maximise the marginal likelihood on some rows, with analytic gradients; the
posterior knows more of them. A function that is known to be a sum of functions of fewer inputs has
a kernel that is such a sum, which tells its parts apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample

__all__ = ["Surrogate"]

Array = NDArray[np.float64]
Groups = tuple[tuple[int, ...], ...]
LEARNING_ROWS = 300
"""Rows on which lengths and sizes are learned; the time goes with the cube of their number."""
POSTERIOR_ROWS = 700
"""Rows that the posterior knows."""
STEPS = 80
"""Steps of the search for the hyperparameters."""
LENGTHS = (0.1, 50.0)
"""Limits of the lengths, in standard deviations of an input."""
EFFECTS = (1e-3, 30.0)
"""Limits of what varies with an input, beside what does not."""
SIZES = (1e-3, 30.0)
"""Limits of the sizes of functions, in standard deviations of the target."""
NOISES = (1e-4, 1.0)
"""Limits of the noise, in standard deviations of the target: no less keeps the matrix regular."""
STARTS = (1.5, 0.5)
"""Lengths to start from; the later ones, if with the former ..."""
MOSTLY_NOISE = 0.3
"""... more than this part of the target's spread seems to be noise."""
DECADES = 30.0
"""An input that spans such a ratio may be seen through its logarithm, if that is less skewed."""


@dataclass(frozen=True, eq=False)
class _Coordinate:
    """How the process sees one input: in standard deviations, maybe of the logarithm."""

    is_logarithm: bool
    offset: float
    scale: float

    @classmethod
    def of(cls, x: Array) -> _Coordinate:
        spans = bool(x.min() > 0.0 and x.max() > DECADES * x.min())
        is_logarithm = spans and _skewness(np.log(x)) < _skewness(x)
        z = np.log(x) if is_logarithm else x
        return cls(is_logarithm, float(z.mean()), float(z.std()) or 1.0)

    def __call__(self, x: Array) -> Array:
        z = np.log(x) if self.is_logarithm else x
        return (z - self.offset) / self.scale


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A fitted Gaussian process; made by `Surrogate.fit`.

    Attributes
    ----------
    inputs : tuple of int
        The inputs that it sees.
    groups : tuple of tuples of int
        The function is a sum of one function per group of inputs.
    theta : array
        Logarithms of the lengths and of the effects of the inputs, in the order of the groups, of
        the sizes of the functions, and of the noise.
    """

    inputs: tuple[int, ...]
    groups: Groups
    theta: Array
    coordinates: tuple[_Coordinate, ...]
    rows: Array
    """Rows of the posterior, in the coordinates of the process, inputs × rows."""
    y: Array
    weight: Array
    mean: float
    scale: float

    @classmethod
    def fit(
        cls,
        sample: Sample,
        inputs: Sequence[int],
        groups: Groups = (),
        learning_rows: int = LEARNING_ROWS,
        posterior_rows: int = POSTERIOR_ROWS,
        thorough: bool = False,
        theta: Array | None = None,
    ) -> Surrogate:
        """Fit to the first rows of a sample.

        Parameters
        ----------
        sample : Sample
            The rows, in random order.
        inputs : sequence of int
            The inputs of which the target is a function.
        groups : tuple of tuples of int, optional
            The target is a sum of one function per group.
        learning_rows, posterior_rows : int
            Rows on which lengths and sizes are learned, and rows that the posterior knows.
        thorough : bool
            Learn them from every start, even if the first leads to little noise: the likelihood has
            several maxima.
        theta : array, optional
            What a process of nearly the same rows has learned: then nothing is learned anew.
        """
        inputs = tuple(inputs)
        groups = groups or (inputs,)
        part = sample.head(posterior_rows)
        coordinates = tuple(_Coordinate.of(part.XT[i]) for i in inputs)
        rows = np.stack([c(part.XT[i]) for c, i in zip(coordinates, inputs, strict=True)])
        weight = part.weight / part.weight.mean()
        mean = float(np.average(part.y, weights=weight))
        scale = part.spread() or 1.0
        y = (part.y - mean) / scale
        n = learning_rows
        places = _places(inputs, groups)
        if theta is None:
            theta = _learned(rows[:, :n], y[:n], weight[:n], places, thorough)
        return cls(inputs, groups, theta, coordinates, rows, y, weight, mean, scale)

    # --- what it knows -------------------------------------------------------------------------

    @cached_property
    def noise(self) -> float:
        """Standard deviation of the noise, in the unit of the target."""
        return float(np.exp(self.theta[-1])) * self.scale

    @cached_property
    def _kernel(self) -> _Kernel:
        return _Kernel(_places(self.inputs, self.groups), self.theta)

    @cached_property
    def _factor(self) -> Array:
        return _cholesky(
            self._kernel(self.rows, self.rows) + np.diag(np.exp(2.0 * self.theta[-1]) / self.weight)
        )

    @cached_property
    def _alpha(self) -> Array:
        from scipy.linalg import cho_solve

        alpha: Array = cho_solve((self._factor, True), self.y, check_finite=False)
        return alpha

    @cached_property
    def _left_out(self) -> tuple[Array, Array]:
        """Errors of every row's prediction by the others, and their standard deviations."""
        precision = np.diag(_inverse(self._factor))
        return self._alpha / precision, np.sqrt(1.0 / precision)

    @property
    def n_rows(self) -> int:
        """Number of rows that the posterior knows."""
        return int(self.rows.shape[1])

    @property
    def left_out(self) -> Array:
        """Errors of every row's prediction by the others, in the unit of the target."""
        return self.scale * self._left_out[0]

    @property
    def r2(self) -> float:
        """Part of the target's variance that is explained where each row is left out in turn."""
        errors = self._left_out[0]
        return 1.0 - float(np.average(errors**2, weights=self.weight))

    @property
    def overconfidence(self) -> float:
        """How much larger errors are than the process believes, at least one."""
        errors, sds = self._left_out
        return max(1.0, float(np.sqrt(np.mean((errors / sds) ** 2))))

    # --- predictions ---------------------------------------------------------------------------

    def seen(self, XT: Array) -> Array:
        """Points, inputs of the data × points, in the coordinates of the process."""
        return np.stack([c(XT[i]) for c, i in zip(self.coordinates, self.inputs, strict=True)])

    def predict(self, XT: Array) -> Array:
        """The function at some points, inputs of the data × points."""
        values: Array = self._kernel(self.seen(XT), self.rows) @ self._alpha
        return self.mean + self.scale * values

    def error(self, XT: Array) -> float:
        """The size of the errors at some points."""
        variances = self.joint(XT, 1)[1]
        return float(np.mean(np.maximum(variances, 0.0)) ** 0.5) * self.overconfidence

    def component(self, group: int, XT: Array) -> tuple[Array, float]:
        """The part of the function that belongs to a group, and the size of its errors.

        A constant may be in any part, and is not counted among the errors: the sum of the parts is
        the function without its mean.
        """
        from scipy.linalg import solve_triangular

        seen = self.seen(XT)
        cross = self._kernel.part(group, seen, self.rows)
        root = solve_triangular(self._factor, cross.T, lower=True, check_finite=False)
        covariance = self._kernel.part(group, seen, seen) - root.T @ root
        variance = float(np.mean(np.diag(covariance)) - np.mean(covariance))
        error = max(variance, 0.0) ** 0.5 * self.overconfidence
        return self.scale * (cross @ self._alpha), self.scale * error

    def joint(self, XT: Array, together: int) -> tuple[Array, Array]:
        """Values, and covariances of the errors, of points that come in sets of equal length.

        Returns
        -------
        values : array (sets, together)
        covariances : array (sets, together, together)
        """
        from scipy.linalg import solve_triangular

        seen = self.seen(XT)
        cross = self._kernel(seen, self.rows)
        root = solve_triangular(self._factor, cross.T, lower=True, check_finite=False)
        root = root.T.reshape(-1, together, root.shape[0])
        points = seen.reshape(len(seen), -1, together)
        prior = self._kernel.of_sets(points)
        covariances = prior - root @ root.transpose(0, 2, 1)
        values = self.mean + self.scale * (cross @ self._alpha)
        return values.reshape(-1, together), self.scale**2 * covariances


def _skewness(x: Array) -> float:
    z = x - x.mean()
    return abs(float(np.mean(z**3))) / (float(np.mean(z**2)) ** 1.5 or 1.0)


def _places(inputs: Sequence[int], groups: Groups) -> tuple[tuple[int, ...], ...]:
    """The rows, among those that a process sees, of each group of inputs."""
    return tuple(tuple(inputs.index(i) for i in group) for group in groups)


class _Kernel:
    """The covariance of the function's values at two sets of points, inputs × points."""

    def __init__(self, places: tuple[tuple[int, ...], ...], theta: Array) -> None:
        self.places = places
        d = sum(map(len, places))
        ends = np.cumsum([len(p) for p in places])[:-1]
        self.lengths = np.split(np.exp(theta[:d]), ends)
        self.effects = np.split(np.exp(2.0 * theta[d : 2 * d]), ends)
        self.sizes = np.exp(2.0 * theta[2 * d : 2 * d + len(places)])

    def __call__(self, a: Array, b: Array) -> Array:
        total: Array = np.sum([self.part(g, a, b) for g in range(len(self.places))], axis=0)
        return total

    def part(self, group: int, a: Array, b: Array) -> Array:
        """What the function of one group contributes."""
        total = np.full((a.shape[1], b.shape[1]), self.sizes[group])
        parameters = zip(self.places[group], self.lengths[group], self.effects[group], strict=True)
        for row, length, effect in parameters:
            total *= _factor(a[row][:, None] - b[row], length, effect)
        return total

    def of_sets(self, points: Array) -> Array:
        """Covariances inside sets of points, inputs × sets × points."""
        total = np.zeros((*points.shape[1:], points.shape[2]))
        for g, rows in enumerate(self.places):
            part = np.full_like(total, self.sizes[g])
            for row, length, effect in zip(rows, self.lengths[g], self.effects[g], strict=True):
                x = points[row]
                part *= _factor(x[:, :, None] - x[:, None], length, effect)
            total += part
        return total


def _factor(difference: Array, length: float, effect: float) -> Array:
    """One input's part in the covariance: a constant, and what varies with the input."""
    z: Array = difference * (math.sqrt(0.5) / length)
    np.multiply(z, z, out=z)
    np.negative(z, out=z)
    np.exp(z, out=z)
    z *= effect
    z += 1.0
    return z


# --- hyperparameters ---------------------------------------------------------------------------


def _learned(
    rows: Array, y: Array, weight: Array, places: tuple[tuple[int, ...], ...], thorough: bool
) -> Array:
    """The hyperparameters that make the rows most likely."""
    from scipy.optimize import minimize

    d = sum(map(len, places))
    limits = [LENGTHS] * d + [EFFECTS] * d + [SIZES] * len(places) + [NOISES]
    halves = np.stack([-0.5 * (rows[i][:, None] - rows[i]) ** 2 for p in places for i in p])
    theta, least = np.zeros(len(limits)), math.inf
    for length in STARTS:
        start = np.log([*[length] * d, *[0.7] * d, *[0.7] * len(places), 0.05])
        found = minimize(
            lambda theta: _unlikely(theta, y, 1.0 / weight, places, halves),
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=np.log(limits),
            options={"maxiter": STEPS, "maxfun": STEPS + 20},
        )
        if found.fun < least:
            theta, least = found.x, float(found.fun)
        if math.exp(theta[-1]) < MOSTLY_NOISE and not thorough:
            break
    return theta


def _unlikely(
    theta: Array,
    y: Array,
    inverse_weight: Array,
    places: tuple[tuple[int, ...], ...],
    halves: Array,
) -> tuple[float, Array]:
    """The negative logarithm of the marginal likelihood, and its gradient."""
    from scipy.linalg import cho_solve

    d = len(halves)
    inverse_squares = np.exp(-2.0 * theta[:d])
    effects = np.exp(2.0 * theta[d : 2 * d])
    varying = effects[:, None, None] * np.exp(inverse_squares[:, None, None] * halves)
    groups = np.split(np.arange(d), np.cumsum([len(p) for p in places])[:-1])
    sizes, noise = np.exp(2.0 * theta[2 * d : -1]), float(np.exp(2.0 * theta[-1]))
    parts = [s * np.prod(1.0 + varying[g], axis=0) for s, g in zip(sizes, groups, strict=True)]
    K = np.sum(parts, axis=0)
    K[np.diag_indices_from(K)] += noise * inverse_weight
    factor = _cholesky(K)
    alpha = cho_solve((factor, True), y, check_finite=False)
    value = 0.5 * float(y @ alpha) + float(np.sum(np.log(np.diag(factor))))
    # Minus half of it times dK is the gradient.
    G = np.outer(alpha, alpha) - _inverse(factor)
    gradient = np.empty_like(theta)
    for k, own in enumerate(groups):
        weighted = G * parts[k]
        gradient[2 * d + k] = -float(weighted.sum())
        for i in own:
            share = weighted * (varying[i] / (1.0 + varying[i]))
            gradient[i] = float(np.sum(share * halves[i])) * inverse_squares[i]
            gradient[d + i] = -float(share.sum())
    gradient[-1] = -noise * float(np.diag(G) @ inverse_weight)
    return value, gradient


def _cholesky(K: Array) -> Array:
    """The lower factor; of a matrix that rounding made singular, with a little more noise."""
    from scipy.linalg import LinAlgError, cholesky

    little = 1e-12 * float(np.mean(np.diag(K)))
    while True:
        try:
            factor: Array = cholesky(K, lower=True, check_finite=False)
            return factor
        except LinAlgError:
            K = K + little * np.eye(len(K))
            little *= 100.0


def _inverse(factor: Array) -> Array:
    from scipy.linalg.lapack import dpotri

    inverse, _ = dpotri(factor, lower=1)
    full: Array = np.tril(inverse) + np.tril(inverse, -1).T
    return full
