"""New constants for a structure that is known, near the old ones as far as the new rows ask for it.

The old constants are the mean of a prior, and its covariance is what was not known of them plus
what may differ from device to device: Σ + diag((s u)²), u being the size that a constant may
sensibly change by and s, one number per constant, what the new rows say by their evidence
(empirical Bayes; MacKay, 1992). Where a few rows fit the old constants, s is small and these stay
where they were; many rows outweigh any prior, and the fit is theirs alone.

Exponents that are simple numbers, and phases that are parts of a turn, are structure: they stay.
Constants that are one number, as in a·(1 - exp(-k t)), stay one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.noise import Noise
from ieql.equations.precision import PURE_NUMBERS, Information, tie_rows, triangular
from ieql.equations.prediction_band import PredictionBand
from ieql.equations.program import Program, free_constants
from ieql.equations.roles import FACTOR, INSIDE, OFFSET
from ieql.equations.safety import is_safe
from ieql.equations.simple_constants import fixed_places, set_places

__all__ = [
    "LEAST_NOISE",
    "OLD_SAY",
    "ConstantSearch",
    "Movable",
    "Recalibrated",
    "constant_factor",
    "open_information",
    "recalibrate",
]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
SPREADS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Parts of its own size by which a constant may differ from device to device."""
SWEEPS = 2
"""Times that the spread of each constant is looked at beside those of the others."""
ALIKE = 2.0
"""How far the spread of a constant may be from that of all, as a logarithm."""
ROUNDS = 8
"""Times that the spreads and the constants are found in turn."""
STEPS = 40
"""Steps of a fit, and of the damping in each."""
CONVERGED = 1e-9
INSISTED = 10.0
"""Twice the nats by which rows must prefer that a factor of exactly 1 is another number."""
OLD_SAY = 4.0
"""Rows that the noise of the old rows counts for when the new noise is judged."""
LEAST_NOISE = 1e-9
"""Part of the target's size below which what is left is rounding."""
TINY = 1e-14
"""Added to variances in units of one, so that none is below zero by rounding."""
HELD = 1e-6
"""Part of its size by which a constant that is held may be uncertain."""
CHECKED = 1_000
"""Points of the domain that every step must pass; all of them are looked at in the end."""
MOST_SINGLE = 40
"""With more constants they all have one spread: to choose each would take long."""


@dataclass(frozen=True, eq=False)
class Movable:
    """The constants of an equation that may move, as numbers of their own.

    Attributes
    ----------
    expression : Expression
        The equation.
    places : int64 array (m,)
        Where they stand among its constants.
    member : int64 array (m,)
        Which number each of them is.
    sign : array (m,)
        With which sign.
    """

    expression: Expression
    places: Indices
    member: Indices
    sign: Array

    @classmethod
    def of(cls, expression: Expression, rates: bool = True) -> Movable:
        """Find them: free ones and, with `rates`, factors of exactly 1 that might be others."""
        theta = expression.constants()
        fixed = fixed_places(expression)
        inside = [t for t in _unit_factors(expression) if rates and t not in fixed]
        free = [t for t in free_constants(expression).tolist() if t not in fixed]
        places = np.array(sorted({*free, *inside}), dtype=np.int64)
        label = {int(t): k for k, t in enumerate(places)}
        member = np.arange(len(places))
        for row in tie_rows(expression, set_places(expression)):
            tied = [label[t] for t in np.flatnonzero(row).tolist() if t in label]
            if len(tied) == 2:
                a, b = sorted(member[tied].tolist())
                member[member == b] = a
        _, member = np.unique(member, return_inverse=True)
        sign = np.where(theta[places] < 0.0, -1.0, 1.0)
        return cls(expression, places, member.astype(np.int64), sign)

    @property
    def membership(self) -> Array:
        """Derivatives of the constants at `places` by the numbers (m, p)."""
        member: Array = self.sign[:, None] * (self.member[:, None] == np.arange(self.n))
        return member

    @property
    def n(self) -> int:
        """How many numbers there are."""
        return int(self.member.max()) + 1 if len(self.member) else 0

    @property
    def values(self) -> Array:
        """The numbers."""
        first = np.array([int(np.argmax(self.member == k)) for k in range(self.n)], dtype=np.int64)
        own: Array = self.expression.constants()[self.places[first]] * self.sign[first]
        return own

    @property
    def are_offsets(self) -> NDArray[np.bool_]:
        """Which of them are added to something, so that their own size says little."""
        widths = [1 + len(s.weights) for s in self.expression.sums]
        biases = np.cumsum([0, *widths])[:-1]
        is_bias = np.isin(self.places, biases)
        return np.array([bool(np.all(is_bias[self.member == k])) for k in range(self.n)])

    @property
    def roles(self) -> list[set[str]]:
        """What each of them is (`ieql.equations.roles`): one may stand in two places."""
        (total,) = self.expression.outputs
        first = len(self.expression.constants()) - 1 - len(total.weights)
        found: list[set[str]] = [set() for _ in range(self.n)]
        for place, number in zip(self.places.tolist(), self.member.tolist(), strict=True):
            role = INSIDE if place < first else OFFSET if place == first else FACTOR
            found[number].add(role)
        return found

    def theta(self, values: Array) -> Array:
        """All constants of the equation."""
        theta = self.expression.constants()
        theta[self.places] = self.sign * values[self.member]
        return theta

    def run(self, program: Program, XT: Array, values: Array) -> tuple[Array, Array]:
        """Values of the equation (n,) and their derivatives by the numbers (p, n)."""
        value, J = program.jacobian(XT, self.theta(values), self.places)
        return value, self.membership.T @ J

    def covariance(self, band: PredictionBand | None) -> Array:
        """What is not known of the numbers from the rows of the fit; zero where nothing is kept."""
        if band is None or not math.isfinite(band.noise.sigma):
            return np.zeros((self.n, self.n))
        free = free_constants(self.expression)
        known = np.isin(free, self.places)
        whole = np.linalg.inv(band.matrix)
        own = (whole @ whole.T)[np.ix_(known, known)]
        at = np.searchsorted(self.places, free[known])
        # Of several places that are one number the mean; they vary together.
        mean = self.membership[at].T
        mean = mean / np.maximum(np.abs(mean).sum(axis=1, keepdims=True), 1.0)
        return np.asarray(mean @ own @ mean.T)


def _unit_factors(expression: Expression) -> list[int]:
    """Factors of exactly 1 or -1 that a rate or a frequency might as well not have been.

    A factor of 1 before an input in exp(t) is a rate; in log(t) or t/(t + 3) it is nothing, as
    another constant does the same.
    """
    found = []
    at = 0
    for node in expression.nodes:
        powers = bool(expression.powers(node))
        for s in node.args:
            if node.unit in PURE_NUMBERS and not powers:
                found += [at + 1 + j for j, w in enumerate(s.weights) if abs(w) == 1.0]
            at += 1 + len(s.weights)
    return found


@dataclass(frozen=True, eq=False)
class Recalibrated:
    """An equation with new constants.

    Attributes
    ----------
    expression : Expression
        With all digits of its constants.
    noise : Noise
        Of the new rows; it changes from place to place as that of the old ones did.
    determined : float
        How many numbers the new rows determine, as against the old constants.
    prior : array (m, m)
        Covariance of the constants at `places` before the new rows.
    places : int64 array (m,)
        The constants that could move.
    spreads : array (p,)
        Part of its size by which each number may differ, as the rows say.
    """

    expression: Expression
    noise: Noise
    determined: float
    prior: Array
    places: Indices
    spreads: Array

    def factor(self, expression: Expression, rows: Sample) -> Array:
        """F with Σ⁻¹ = Fᵀ F of the free constants of this equation, given prior and rows."""
        value, J = Program.of(expression).jacobian(rows.XT)
        J = np.nan_to_num(J, nan=0.0, posinf=0.0, neginf=0.0)
        told = J * np.sqrt(rows.weight) / self.sizes(value, rows)
        return constant_factor(expression, self.places, self.prior, told.T)

    def sizes(self, value: Array, rows: Sample) -> Array:
        """Standard deviation of the noise of each row."""
        inputs = dict(zip(self.expression.names, rows.XT, strict=True))
        return self.noise.size(value, inputs)


def constant_factor(
    expression: Expression, places: Indices, covariance: Array, told: Array | None = None
) -> Array:
    """F with Σ⁻¹ = Fᵀ F of the free constants of an equation; all but those at `places` are held.

    Parameters
    ----------
    expression : Expression
        The equation.
    places, covariance : arrays (m,) and (m, m)
        What is known of some of its constants, in the order of their places.
    told : array (n, p), optional
        Derivatives by the free constants, of rows that tell more, in units of their noise.
    """
    free = free_constants(expression)
    theta = np.abs(expression.constants()[free])
    moves = np.isin(free, places)
    at = np.searchsorted(places, free[moves])
    known = np.zeros((len(free), len(free)))
    known[np.ix_(moves, moves)] = covariance[np.ix_(at, at)]
    size = np.maximum(theta, np.sqrt(known.diagonal()))
    size = np.where(size > 0.0, size, 1.0)
    # In units of their size, so that large and small ones can be inverted together.
    scaled = known / np.outer(size, size) + HELD**2 * np.eye(len(free))
    rows = np.linalg.inv(np.linalg.cholesky(scaled))
    if told is not None:
        rows = np.vstack([told * size, rows])
    return triangular(rows) / size


def open_information(F: Array, expression: Expression, known: Collection[int]) -> Information:
    """What digits the constants deserve whose covariance has the factor F, but for those `known`.

    The others are as uncertain as they are if these are what they are.
    """
    free = free_constants(expression)
    is_open = np.array([int(t) not in known for t in free], dtype=bool)
    R = triangular(F[:, is_open])
    p, size = len(R), np.linalg.norm(R, axis=0)
    return Information(1.0, p + 1.0, free[is_open], size, R / size, np.zeros(p))


def recalibrate(
    expression: Expression,
    band: PredictionBand | None,
    rows: Sample,
    domain: Array,
    bounds: tuple[float, float] | None = None,
) -> Recalibrated | None:
    """Fit the constants of an equation to new rows, near the old ones; None if it has no value.

    Parameters
    ----------
    expression : Expression
        The equation, with all digits of its old constants.
    band : PredictionBand, optional
        What is known of the old constants and of the old noise.
    rows : Sample
        The new rows, of any number.
    domain : array (inputs, points)
        Points at which the equation must stay safe.
    bounds : (low, high), optional
        What it must not leave there.
    """
    program = Program.of(expression)
    value = program.evaluate(rows.XT)
    if not np.all(np.isfinite(value)):
        return None
    known = band is not None and math.isfinite(band.noise.sigma)
    old = band.noise if band is not None and known else Noise(0.0)
    shape = old.shape(value, dict(zip(expression.names, rows.XT, strict=True)))
    root = np.sqrt(rows.weight) / shape
    best: Recalibrated | None = None
    # A factor of exactly 1 is hardly ever one by chance: the rows must insist on another one.
    for rates in (False, True) if _unit_factors(expression) else (False,):
        movable = Movable.of(expression, rates)
        search = ConstantSearch(movable, program, rows, root, domain, bounds)
        values, sigma, determined, covariance, spreads = search.run(
            movable.covariance(band), old.sigma if known else math.nan
        )
        member = movable.membership
        found = Recalibrated(
            expression.with_constants(movable.theta(values)),
            replace(old, sigma=sigma),
            determined,
            member @ covariance @ member.T,
            movable.places,
            spreads,
        )
        gained = math.inf if best is None else math.log(best.noise.sigma / sigma)
        if 2.0 * rows.n_rows * gained > INSISTED:
            best = found
    return best


@dataclass(frozen=True, eq=False)
class ConstantSearch:
    """The numbers, the noise and the spreads, each found beside the others."""

    movable: Movable
    program: Program
    rows: Sample
    root: Array
    domain: Array
    bounds: tuple[float, float] | None

    def run(self, known: Array, old_sigma: float) -> tuple[Array, float, float, Array, Array]:
        """Numbers, noise, how many are determined, the prior's covariance, and the spreads."""
        old = self.movable.values
        floor = LEAST_NOISE * max(float(np.max(np.abs(self.rows.y))), 1e-290)
        sigma = max(old_sigma, floor) if math.isfinite(old_sigma) else 0.0
        unit = self.units(old)
        if not len(old):
            value, _ = self.movable.run(self.program, self.rows.XT, old)
            return old, max(self._noise(value, sigma, 0.0), floor), 0.0, known, np.zeros(0)
        sigma = sigma or 0.1 * self.scale(old)
        spreads = np.ones(len(old))  # everything may have moved, until the rows say otherwise
        values, determined = old, 0.0
        known = _clipped(known, unit)
        covariance = known + np.diag((spreads * unit) ** 2)
        for k in range(ROUNDS):
            before = values
            values = self.fitted(values, old, covariance, sigma)
            value, J = self.movable.run(self.program, self.rows.XT, values)
            told = (J * self.root).T
            left = (self.rows.y - value) * self.root + told @ (values - old)
            spreads = _chosen(told, left, known, unit, sigma)
            covariance = known + np.diag((spreads * unit) ** 2)
            determined = _determined(told / sigma, covariance)
            new = max(self._noise(value, old_sigma, determined), floor)
            settled = abs(math.log(new / sigma)) < 0.01 and np.allclose(values, before, rtol=1e-6)
            sigma = new
            if settled and k > 1:
                break
        return self.fitted(values, old, covariance, sigma), sigma, determined, covariance, spreads

    def scale(self, values: Array) -> float:
        """The size of what is to be explained: how far the rows lie from the old equation."""
        value, _ = self.movable.run(self.program, self.rows.XT, values)
        y = self.rows.y
        away = float(np.sqrt(np.mean((y - value) ** 2)))
        return max(self.rows.spread(), away, 1e-6 * float(np.max(np.abs(y))), 1e-280)

    def units(self, values: Array) -> Array:
        """By how much a number may sensibly change.

        A factor by its own size; an offset, and a factor that does more than all of the target, by
        what changes the equation as much as the target varies.
        """
        _, J = self.movable.run(self.program, self.rows.XT, values)
        slope = np.sqrt(np.mean(np.where(np.isfinite(J), J, 0.0) ** 2, axis=1))
        whole = self.scale(values) / np.maximum(slope, 1e-280)
        size = np.maximum(np.abs(values), 1e-280)
        own = np.where(self.movable.are_offsets, np.inf, size)
        unit = np.minimum(whole, own)
        return np.where(np.isfinite(unit) & (slope > 0.0), unit, size)

    def _noise(self, value: Array, old_sigma: float, determined: float) -> float:
        """Standard deviation of the noise, the old rows having a small say."""
        squares = float(np.sum(((self.rows.y - value) * self.root) ** 2))
        n, say = self.rows.n_rows, OLD_SAY
        if not math.isfinite(old_sigma):
            old_sigma, say = 0.0, 0.0
        return math.sqrt((squares + say * old_sigma**2) / max(n + say - determined, 0.5))

    def fitted(
        self, values: Array, old: Array, covariance: Array, sigma: float, steps: int = STEPS
    ) -> Array:
        """The numbers that are most probable, by Levenberg-Marquardt within the safe ones."""
        size = np.sqrt(covariance.diagonal())
        moves = size > 0.0
        if not moves.any():
            return old
        size = np.where(moves, size, 1.0)
        scaled = (covariance / np.outer(size, size))[np.ix_(moves, moves)]
        scaled = scaled + HELD**2 * np.eye(len(scaled))
        held = np.linalg.inv(np.linalg.cholesky(scaled))
        x = (values - old)[moves] / size[moves]

        def at(x: Array) -> Array:
            new = old.copy()
            new[moves] += size[moves] * x
            return new

        def parts(x: Array) -> tuple[Array, Array]:
            value, J = self.movable.run(self.program, self.rows.XT, at(x))
            residual = (self.rows.y - value) * self.root / sigma
            told = (J[moves] * size[moves, None] * self.root / sigma).T
            return np.concatenate([residual, -held @ x]), np.vstack([told, held])

        residual, J = parts(x)
        if not (np.all(np.isfinite(residual)) and np.all(np.isfinite(J))):
            return values
        damping = 1e-3
        for _ in range(steps):
            cost = float(residual @ residual)
            better = None
            for _ in range(steps):
                diagonal = math.sqrt(damping) * np.linalg.norm(J, axis=0)
                step, *_ = np.linalg.lstsq(
                    np.vstack([J, np.diag(diagonal)]),
                    np.concatenate([residual, np.zeros(len(x))]),
                    rcond=None,
                )
                trial = parts(x + step)
                finite = np.all(np.isfinite(trial[0])) and np.all(np.isfinite(trial[1]))
                if finite and float(trial[0] @ trial[0]) <= cost and self._is_safe(at(x + step)):
                    better = trial
                    break
                damping *= 4.0
                if damping > 1e12:
                    break
            if better is None:
                break
            x, (residual, J), damping = x + step, better, max(damping / 10.0, 1e-12)
            if cost - float(residual @ residual) <= CONVERGED * (cost + 1e-12):
                break
        return at(x)

    def _is_safe(self, values: Array) -> bool:
        theta = self.movable.theta(values)
        if np.any(theta[self.movable.places] == 0.0):
            return False
        e = self.movable.expression.with_constants(theta)
        return is_safe(e, self.domain[:, :CHECKED], bounds=self.bounds, margins=False)


def _determined(told: Array, covariance: Array) -> float:
    """How many numbers the rows determine, beside what is known of them."""
    size = np.sqrt(np.where(covariance.diagonal() > 0.0, covariance.diagonal(), 1.0))
    scaled = covariance / np.outer(size, size)
    moved = told * size
    values, vectors = np.linalg.eigh(scaled)
    moved = moved @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    told_of = np.linalg.svd(moved, compute_uv=False) ** 2
    return float(np.sum(told_of / (1.0 + told_of)))


def _clipped(known: Array, unit: Array) -> Array:
    """What is known of the numbers, none of which can differ by more than its size."""
    values, vectors = np.linalg.eigh(known / np.outer(unit, unit))
    values = np.clip(values, 0.0, 1.0)
    return np.asarray((vectors * values) @ vectors.T * np.outer(unit, unit))


def _chosen(told: Array, left: Array, known: Array, unit: Array, sigma: float) -> Array:
    """The spreads that the rows give evidence for, to first order in the numbers.

    First one for all; then that of each number by itself, not too far from it. All that are
    possible count, by their evidence: a few rows do not single one out, and to take the best would
    now and then hold a number that has moved.
    """
    # In units of their sizes, so that large and small numbers stand side by side.
    told, known = told * unit, known / np.outer(unit, unit)

    def evidence(spreads: Array) -> float:
        return _evidence(told, left, known + np.diag(spreads**2), sigma)

    p = len(unit)
    common = _weighed([evidence(np.full(p, s)) for s in SPREADS])
    found = np.full(p, common)
    if p == 1 or p > MOST_SINGLE:
        return found
    for _ in range(SWEEPS):
        for k in range(p):
            told_of = []
            for s in SPREADS:
                found[k] = s
                away = math.log(s / common)
                told_of.append(evidence(found) - 0.5 * (away / ALIKE) ** 2)
            found[k] = _weighed(told_of)
    return found


def _weighed(evidence: Sequence[float]) -> float:
    """The mean of the spreads, as a logarithm, that are tried, by their evidence."""
    told = np.array(evidence)
    weight = np.exp(told - told.max())
    return math.exp(float(np.average(np.log(SPREADS), weights=weight)))


def _evidence(told: Array, left: Array, covariance: Array, sigma: float) -> float:
    """Logarithm of the probability of the rows, up to a constant."""
    p = len(covariance)
    try:
        L = np.linalg.cholesky(covariance + TINY * (1.0 + np.trace(covariance)) * np.eye(p))
        moved = told @ L / sigma
        R = np.linalg.cholesky(np.eye(p) + moved.T @ moved)
        explained = np.linalg.solve(R, moved.T @ (left / sigma))
    except np.linalg.LinAlgError:  # rounding has the last word
        return -math.inf
    return 0.5 * float(explained @ explained) - float(np.sum(np.log(R.diagonal())))
