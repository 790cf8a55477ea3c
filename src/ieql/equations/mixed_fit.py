"""One structure for many devices: constants that all share, and constants of each one's own.

Each number of the structure is a mean of the fleet plus what a device differs by, which has a
spread τ over the devices (a model with mixed effects; Lindstrom and Bates, 1990). Where τ is zero
the devices share the number; else each has its own, and one of which a device's few rows tell
little stays near the mean. The spreads are those of which the rows give the most evidence, to first
order in the numbers, each spread beside zero having to pay for itself.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.program import Program
from ieql.equations.recalibrate import LEAST_NOISE, ConstantSearch, Movable

__all__ = ["MixedFit", "mixed_fit"]

Array = NDArray[np.float64]
SPREADS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Parts of its own size by which a number may differ from device to device."""
ROUNDS = 6
"""Times that the spreads, the means and the numbers of each device are found in turn."""
SWEEPS = 3
STEPS, FEW_STEPS = 40, 6
"""Steps of each fit, and those of a first look."""
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


def mixed_fit(
    expression: Expression,
    rows: Sequence[Sample],
    domain: Array,
    bounds: tuple[float, float] | None = None,
    rounds: int = ROUNDS,
    differing: Collection[str] | None = None,
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
    differing : collection of str, optional
        Numbers of these roles differ between devices (`Movable.roles`), all others are shared;
        default: the evidence says which.
    """
    movable = Movable.of(expression)
    program = Program.of(expression)
    if not all(np.all(np.isfinite(program.evaluate(r.XT))) for r in rows):
        return None
    try:
        return _Mix(movable, program, rows, domain, bounds, differing).run(rounds)
    except np.linalg.LinAlgError:  # numbers that the rows leave wholly open, or beyond all measure
        return None


_Parts = tuple[Array, Array, Array]
"""Per device A = JᵀJ (p, p), b = Jᵀe (p,) and c = eᵀe, all in units of the noise."""


class _Mix:
    """The fit in its parts: each device's numbers, the means, the spreads, the noise."""

    def __init__(
        self,
        movable: Movable,
        program: Program,
        rows: Sequence[Sample],
        domain: Array,
        bounds: tuple[float, float] | None,
        differing: Collection[str] | None,
    ) -> None:
        self.movable, self.program, self.rows = movable, program, rows
        self.grids: list[tuple[float, ...]] = [
            SPREADS if differing is None else SPREADS[1:] if roles & {*differing} else SPREADS[:1]
            for roles in movable.roles
        ]
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
        mean = self.whole.fitted(start, start, 9.0 * free, sigma, FEW_STEPS)
        unit = np.maximum(unit, 1e-3 * self.whole.units(mean))
        free = np.diag(unit**2)
        steps = STEPS if rounds > 1 else FEW_STEPS
        own = np.tile(mean, (n_devices, 1))
        for _ in range(2):
            own = self._fitted(own, mean, free, sigma, steps)
            sigma = self._noise(own, min(p * n_devices, 0.5 * self.n))
        spreads = np.ones(p)
        best: MixedFit | None = None
        for _ in range(rounds):
            parts = self._parts(own, sigma, unit)
            if parts is None:
                return best
            spreads = self._chosen(parts, spreads)
            _, mean, _, determined = _told(parts, spreads**2)
            own = self._posterior(parts, mean, spreads**2, unit, own)
            sigma = self._noise(own, determined)
            own = self._fitted(own, mean * unit, np.diag((spreads * unit) ** 2), sigma, steps)
            parts = self._parts(own, sigma, unit)
            if parts is None:
                return best
            length, mean, covariance, determined = _told(parts, spreads**2)
            own[:, spreads == 0.0] = (mean * unit)[spreads == 0.0]
            found = MixedFit(
                self.movable,
                mean * unit,
                own.copy(),
                spreads * unit,
                sigma,
                length + self.n * math.log(sigma**2) + self._price(spreads),
                determined,
                covariance * np.outer(unit, unit),
                tuple(parts[0] / np.outer(unit, unit)),
            )
            if best is not None and found.length > best.length - CONVERGED:
                return min(found, best, key=lambda f: f.length)
            best = found
        return best

    def _fitted(
        self, own: Array, mean: Array, covariance: Array, sigma: float, steps: int
    ) -> Array:
        """The most probable numbers of each device."""
        pairs = zip(self.searches, own, strict=True)
        return np.array([s.fitted(v, mean, covariance, sigma, steps) for s, v in pairs])

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

    def _parts(self, own: Array, sigma: float, unit: Array) -> _Parts | None:
        """Per device the normal equations of its numbers, in units of `unit`, to first order."""
        A, b, c = [], [], []
        for s, values in zip(self.searches, own, strict=True):
            value, J = self.movable.run(self.program, s.rows.XT, values)
            told = (J * s.root).T * unit / sigma
            left = (s.rows.y - value) * s.root / sigma + told @ (values / unit)
            if not (np.all(np.isfinite(told)) and np.all(np.isfinite(left))):
                return None
            A.append(told.T @ told)
            b.append(told.T @ left)
            c.append(left @ left)
        return np.array(A), np.array(b), np.array(c)

    def _posterior(
        self, parts: _Parts, mean: Array, variance: Array, unit: Array, own: Array
    ) -> Array:
        """The numbers of each device to first order; as they were where a value is not finite."""
        found = []
        for A, b, before, s in zip(*parts[:2], own, self.searches, strict=True):
            weighed = np.eye(len(mean)) + variance[:, None] * A
            values = (mean + np.linalg.solve(weighed, variance * (b - A @ mean))) * unit
            value, _ = self.movable.run(self.program, s.rows.XT, values)
            found.append(values if np.all(np.isfinite(value)) else before)
        return np.array(found)

    def _chosen(self, parts: _Parts, start: Array) -> Array:
        """The spreads with the shortest description of all rows."""

        def length(spreads: Array) -> float:
            return _told(parts, spreads**2)[0] + self._price(spreads)

        # All alike first; a number that cannot differ so much differs as it can.
        trials = [np.array([s if s in grid else grid[0] for grid in self.grids]) for s in SPREADS]
        if all(s in grid for s, grid in zip(start, self.grids, strict=True)):
            trials.append(start)
        best = min(trials, key=length)
        least = length(best)
        for _ in range(SWEEPS):
            before = least
            for k, s in ((k, s) for k, grid in enumerate(self.grids) for s in grid):
                trial = best.copy()
                trial[k] = s
                value = length(trial)
                if value < least - 1e-9:
                    best, least = trial, value
            if least >= before - CONVERGED:
                break
        return best


def _told(parts: _Parts, variance: Array) -> tuple[float, Array, Array, float]:
    """Description of the rows with these spreads, the means and their covariance, numbers used."""
    A, b, c = parts
    p = len(variance)
    weighed = np.eye(p) + A * variance  # I + A T, for each device
    inverse = np.linalg.inv(weighed)
    H, h = np.sum(inverse @ A, axis=0), np.einsum("gij,gj->i", inverse, b)
    covariance = np.linalg.pinv(H)
    mean = covariance @ h
    left = b - A @ mean
    total = c.sum() + np.linalg.slogdet(weighed)[1].sum()
    total += mean @ A.sum(axis=0) @ mean - 2.0 * mean @ b.sum(axis=0)
    total -= np.einsum("gi,gi->", left, variance * np.einsum("gij,gj->gi", inverse, left))
    used = p + np.einsum("gij,gji->", A * variance, inverse)
    return float(total), mean, covariance, float(used)
