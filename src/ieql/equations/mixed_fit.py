"""One structure for many devices: constants that all share, and constants of each one's own.

Each number of the structure is a mean of the fleet plus what a device differs by, which has a
spread τ over the devices (a model with mixed effects; Lindstrom and Bates, 1990). Where τ is zero
the devices share the number; else each has its own, and one of which a device's few rows tell
little stays near the mean. The spreads are those of which the rows give the most evidence, to first
order in the numbers, each spread beside zero having to pay for itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.program import Program
from ieql.equations.recalibrate import LEAST_NOISE, SPREADS, ConstantSearch, Movable

__all__ = ["MixedFit", "mixed_fit"]

Array = NDArray[np.float64]
ROUNDS = 6
"""Times that the spreads, the means and the numbers of each device are found in turn."""
SWEEPS = 3
CONVERGED = 0.01
"""Twice the nats by which a round must shorten the description for another one."""


@dataclass(frozen=True, eq=False)
class MixedFit:
    """A structure fitted to the rows of many devices.

    Attributes
    ----------
    movable : Movable
        The numbers of the structure.
    mean : array (p,)
        Of the fleet.
    own : array (devices, p)
        Of each device.
    spreads : array (p,)
        Standard deviation over the devices; zero where a number is shared.
    sigma : float
        Of the noise.
    length : float
        Twice the nats that it takes to tell the rows, and the numbers, to first order.
    determined : float
        How many numbers the rows determine, all devices together.
    covariance : array (p, p)
        Of the means.
    information : tuple of arrays (p, p)
        Per device what its own rows tell of its numbers: inverse covariances.
    """

    movable: Movable
    mean: Array
    own: Array
    spreads: Array
    sigma: float
    length: float
    determined: float
    covariance: Array
    information: tuple[Array, ...]

    def expression(self, device: int | None = None) -> Expression:
        """The equation of a device, or that of the mean of the fleet, with all digits."""
        values = self.mean if device is None else self.own[device]
        return self.movable.expression.with_constants(self.movable.theta(values))

    def precision(self, device: int) -> Array:
        """Inverse covariance of a device's own numbers; what is shared is held."""
        held = np.where(self.spreads > 0.0, self.spreads, 1e-6 * self._sizes)
        return self.information[device] + np.diag(held**-2.0)

    @property
    def _sizes(self) -> Array:
        return np.maximum(np.abs(self.mean), 1e-280)


def mixed_fit(
    expression: Expression,
    rows: Sequence[Sample],
    domain: Array,
    bounds: tuple[float, float] | None = None,
    rounds: int = ROUNDS,
    may_differ: bool | None = None,
) -> MixedFit | None:
    """Fit a structure to the rows of several devices; None if it has no value somewhere.

    Parameters
    ----------
    expression : Expression
        The structure, with constants to begin with.
    rows : sequence of Sample
        The rows of each device.
    domain, bounds
        Where the equation of each device must be safe, and what it must not leave.
    rounds : int
        The more, the closer to the best fit; one is enough to compare structures by.
    may_differ : bool, optional
        True if all numbers differ between devices, False if none does; default: the evidence says.
    """
    movable = Movable.of(expression)
    program = Program.of(expression)
    if not all(np.all(np.isfinite(program.evaluate(r.XT))) for r in rows):
        return None
    return _Mix(movable, program, rows, domain, bounds, may_differ).run(rounds)


class _Mix:
    """The fit in its parts: each device's numbers, the means, the spreads, the noise."""

    def __init__(
        self,
        movable: Movable,
        program: Program,
        rows: Sequence[Sample],
        domain: Array,
        bounds: tuple[float, float] | None,
        may_differ: bool | None,
    ) -> None:
        self.movable, self.program, self.rows, self.may_differ = movable, program, rows, may_differ
        self.searches = [
            ConstantSearch(movable, program, r, np.sqrt(r.weight), domain, bounds) for r in rows
        ]
        whole = rows[0]
        for r in rows[1:]:
            whole = whole.joined(r)
        self.whole = ConstantSearch(movable, program, whole, np.sqrt(whole.weight), domain, bounds)
        self.n = float(sum(r.weight.sum() for r in rows))
        self.floor = LEAST_NOISE * max(float(np.max(np.abs(whole.y))), 1e-290)

    def run(self, rounds: int) -> MixedFit | None:
        start = self.movable.values
        p, n_devices = len(start), len(self.rows)
        if p == 0:
            return None
        unit = self.whole.units(start)
        sigma = 0.1 * self.whole.scale(start)
        free = np.diag(unit**2)
        # One fit to all rows, and then each device near it: nothing is known of spreads yet.
        mean = self.whole.fitted(start, start, 9.0 * free, sigma)
        unit = np.maximum(unit, 1e-3 * self.whole.units(mean))
        free = np.diag(unit**2)
        own = np.array([s.fitted(mean, mean, free, sigma) for s in self.searches])
        sigma = self._noise(own, min(p * n_devices, 0.5 * self.n))
        own = np.array(
            [s.fitted(v, mean, free, sigma) for s, v in zip(self.searches, own, strict=True)]
        )
        sigma = self._noise(own, min(p * n_devices, 0.5 * self.n))
        spreads = np.ones(p)
        best: MixedFit | None = None
        for _ in range(rounds):
            parts = self._parts(own, sigma)
            if parts is None:
                return best
            spreads = self._chosen(parts, unit, spreads)
            variance = (spreads * unit) ** 2
            length, mean, covariance, determined = _told(parts, variance)
            sigma = self._noise(self._posterior(parts, mean, variance, own), determined)
            moved = [
                s.fitted(v, mean, np.diag(variance), sigma)
                for s, v in zip(
                    self.searches, self._posterior(parts, mean, variance, own), strict=True
                )
            ]
            own = np.array(moved)
            own[:, variance == 0.0] = mean[variance == 0.0]
            parts = self._parts(own, sigma)
            if parts is None:
                return best
            length, mean, covariance, determined = _told(parts, variance)
            length += self.n * math.log(sigma**2) + self._price(spreads)
            found = MixedFit(
                self.movable,
                mean,
                own,
                spreads * unit,
                sigma,
                length,
                determined,
                covariance,
                tuple(A for A, _, _ in parts),
            )
            own = own + 0.0
            own[:, variance == 0.0] = mean[variance == 0.0]
            if best is not None and found.length > best.length - CONVERGED:
                return min(found, best, key=lambda f: f.length)
            best = found
        return best

    def _price(self, spreads: Array) -> float:
        """Twice the nats of the means, and of saying which numbers differ and by how much."""
        return len(spreads) * math.log(self.n) + float(
            np.sum(spreads > 0.0) * (math.log(len(self.rows)) + 2.0)
        )

    def _noise(self, own: Array, determined: float) -> float:
        squares = 0.0
        for s, values in zip(self.searches, own, strict=True):
            value, _ = self.movable.run(self.program, s.rows.XT, values)
            squares += float(np.sum(((s.rows.y - value) * s.root) ** 2))
        if not math.isfinite(squares):
            return math.inf
        return max(math.sqrt(squares / max(self.n - determined, 0.2 * self.n)), self.floor)

    def _parts(self, own: Array, sigma: float) -> list[tuple[Array, Array, float]] | None:
        """Per device the normal equations of its numbers, to first order."""
        parts = []
        for s, values in zip(self.searches, own, strict=True):
            value, J = self.movable.run(self.program, s.rows.XT, values)
            told = (J * s.root).T / sigma
            left = (s.rows.y - value) * s.root / sigma + told @ values
            if not (np.all(np.isfinite(told)) and np.all(np.isfinite(left))):
                return None
            parts.append((told.T @ told, told.T @ left, float(left @ left)))
        return parts

    def _posterior(
        self, parts: Sequence[tuple[Array, Array, float]], mean: Array, variance: Array, own: Array
    ) -> Array:
        """The numbers of each device to first order; as they were where a value is not finite."""
        found = []
        for (A, b, _), before, s in zip(parts, own, self.searches, strict=True):
            step = np.linalg.solve(
                np.eye(len(mean)) + variance[:, None] * A, variance * (b - A @ mean)
            )
            values = mean + step
            value, _ = self.movable.run(self.program, s.rows.XT, values)
            found.append(values if np.all(np.isfinite(value)) else before)
        return np.array(found)

    def _chosen(
        self, parts: Sequence[tuple[Array, Array, float]], unit: Array, start: Array
    ) -> Array:
        """The spreads with the shortest description of all rows."""
        p = len(unit)
        grid = SPREADS
        if self.may_differ is False:
            return np.zeros(p)
        if self.may_differ:
            grid = SPREADS[1:]

        def length(spreads: Array) -> float:
            return _told(parts, (spreads * unit) ** 2)[0] + self._price(spreads)

        trials = [np.full(p, s) for s in grid]
        if self.may_differ is None or np.all(start > 0.0):
            trials.append(start)
        best = min(trials, key=length)
        least = length(best)
        for _ in range(SWEEPS):
            before = least
            for k, s in product(range(p), grid):
                trial = best.copy()
                trial[k] = s
                value = length(trial)
                if value < least - 1e-9:
                    best, least = trial, value
            if least >= before - CONVERGED:
                break
        return best


def _told(
    parts: Sequence[tuple[Array, Array, float]], variance: Array
) -> tuple[float, Array, Array, float]:
    """Description of the rows with these spreads, the means and their covariance, numbers used."""
    p = len(variance)
    H, h = np.zeros((p, p)), np.zeros(p)
    solved = []
    total, used = 0.0, 0.0
    for A, b, c in parts:
        weighed = np.eye(p) + A * variance  # I + A T
        inverse = np.linalg.inv(weighed)
        H += inverse @ A
        h += inverse @ b
        _, determinant = np.linalg.slogdet(weighed)
        total += c + float(determinant)
        solved.append((A, b, inverse))
    covariance = np.linalg.pinv(H, hermitian=False)
    mean = covariance @ h
    for A, b, inverse in solved:
        left = b - A @ mean
        total += float(mean @ A @ mean) - 2.0 * float(mean @ b)
        total -= float(left @ (variance * (inverse @ left)))
        used += float(np.trace((A * variance) @ inverse))
    return total, mean, covariance, used + p
