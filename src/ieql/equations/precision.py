"""How well the data fix the constants of an equation, and how many digits they deserve.

All of it comes from one triangular matrix, the R of a QR factorisation of the Jacobian. The normal
equations would square its condition: for an input such as 1.7e9 + U(0, 100), a time in seconds,
nothing would be left of it, and standard errors would be wrong by any factor.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.program import Program, free_constants
from ieql.units import COS, EXP, SIN

__all__ = [
    "Information",
    "half_place",
    "readable",
    "shortened",
    "shortest",
    "standard_errors",
    "tie_rows",
    "tied",
    "triangular",
]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
EXACT = 1e-11
"""Relative size below which a difference between two constants is rounding."""
RIDGE = 1e-14
"""Added to R, whose columns have unit length: a constant without influence has a large error."""
ROWS_AT_ONCE = 32_768
MOST_ROUNDED = 150
"""More constants are not rounded by their errors: it takes the fourth power of their number."""
SHORT = 1e-9
"""Part of a constant by which it may be moved if nothing is known of its error."""
CHECKED = 2_000
"""Rows, and points of the domain, at which rounding must not move the prediction."""
MOVED = 0.1
"""Part of a prediction's standard error by which rounding may move it."""
EVIDENCE = 1.0
"""Nats by which the data must prefer that two constants are one."""
PURE_NUMBERS = (EXP, COS, SIN)
"""Units whose values have no unit of measurement, so that their weights may be offsets, too."""


@dataclass(frozen=True, eq=False)
class Information:
    """What the rows say about the free constants at the given ones.

    Attributes
    ----------
    error : float
        Weighted mean of the squared residuals.
    n_rows : float
        Number of measured rows, the sum of the weights.
    free : int64 array (p,)
        The constants concerned, as places in `Expression.constants`.
    size : array (p,)
        Length of each column of the Jacobian, with weights that sum to one.
    factor : array (p, p)
        R of the Jacobian with columns of unit length.
    projected : array (p,)
        Qᵀ times the residuals: what the constants can still explain to first order.
    """

    error: float
    n_rows: float
    free: Indices
    size: Array
    factor: Array
    projected: Array

    @classmethod
    def of(
        cls, expression: Expression, sample: Sample, known: Collection[int] = ()
    ) -> Information | None:
        """Factorise the Jacobian on the rows; None if a value or derivative is not finite.

        Constants at the places `known` are not fitted.
        """
        program = Program.of(expression)
        free = free_constants(expression)
        free = free[~np.isin(free, list(known))]
        p = len(free)
        root = np.sqrt(sample.weight / sample.weight.sum())
        R = np.zeros((0, p + 1))
        for start in range(0, len(sample), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            value, J = program.jacobian(sample.XT[:, rows], free=free)
            block = np.vstack([J, sample.y[rows] - value]) * root[rows]
            if not np.all(np.isfinite(block)):
                return None
            R = triangular(np.vstack([R, block.T]))
        R = np.vstack([R, np.zeros((max(p + 1 - len(R), 0), p + 1))])
        size = np.linalg.norm(R[:, :p], axis=0)
        size = np.where(size > 0.0, size, 1.0)
        if not (np.all(size > 1e-150) and np.all(size < 1e150)):
            return None
        # With the ridge below it the factor can always be inverted.
        scaled = np.hstack([R[: p + 1, :p] / size, R[: p + 1, p:]])
        ridge = np.hstack([RIDGE * np.eye(p), np.zeros((p, 1))])
        regular = triangular(np.vstack([scaled, ridge]))
        error = float(R[:, p] @ R[:, p])
        return cls(error, sample.n_rows, free, size, regular[:p, :p], regular[:p, p])

    @property
    def variance(self) -> float:
        """Variance of the noise over the number of rows: mse / (N - p)."""
        return self.error / max(self.n_rows - len(self.free), 1.0)

    @property
    def covariance(self) -> Array:
        """Covariance of the free constants, σ² (JᵀJ)⁻¹."""
        inverse = self._inverse()
        covariance: Array = self.variance * (inverse @ inverse.T)
        return covariance

    @property
    def standard_errors(self) -> Array:
        """Standard errors of the free constants."""
        errors: Array = np.sqrt(self.variance * np.sum(self._inverse() ** 2, axis=1))
        return errors

    @property
    def conditional_errors(self) -> Array:
        """What the standard errors would be if all other constants were known."""
        errors: Array = math.sqrt(self.variance) / self.size
        return errors

    def step(self) -> Array:
        """The Gauss-Newton step of the free constants."""
        solved: Array = np.linalg.solve(self.factor, self.projected) / self.size
        return solved

    def prediction_errors(self, expression: Expression, XT: Array) -> Array:
        """Standard error of the equation's value at given points (of the curve, not of a row).

        NaN where the equation is undefined.
        """
        _, J = Program.of(expression).jacobian(XT, free=self.free)
        spread = np.linalg.solve(self.factor.T, J / self.size[:, None])
        return np.asarray(np.sqrt(self.variance * np.sum(spread**2, axis=0)))

    def _inverse(self) -> Array:
        inverse = np.asarray(np.linalg.inv(self.factor), dtype=np.float64)
        return inverse / self.size[:, None]


def triangular(matrix: Array) -> Array:
    """R of the QR factorisation."""
    return np.asarray(np.linalg.qr(matrix, mode="r"))


def standard_errors(
    expression: Expression, sample: Sample, known: Collection[int] = ()
) -> tuple[tuple[float, ...], float]:
    """Standard error of each constant (zero for fixed ones) and the mean squared error.

    From the Gauss-Newton covariance σ² (JᵀJ)⁻¹ with σ² = SSE / (N - p), N being the sum of the
    weights. NaN where the rows do not tell.
    """
    result = np.zeros(len(expression.constants()))
    information = Information.of(expression, sample, known)
    if information is None:
        result[free_constants(expression)] = math.nan
        value = Program.of(expression).evaluate(sample.XT)
        return tuple(result.tolist()), sample.rmse(value) ** 2
    if len(information.free):
        result[information.free] = information.standard_errors
    return tuple(result.tolist()), information.error


# --- digits --------------------------------------------------------------------------------------


def readable(
    expression: Expression,
    sample: Sample,
    points: Array | None = None,
    known: Collection[int] = (),
    information: Information | None = None,
) -> Expression:
    """Round the constants to two digits of their standard errors, one after the other.

    What is rounded first is known from then on: the others move to the best fit beside it, and
    the errors of those still to be rounded shrink accordingly. So each step costs at most a
    twentieth of a standard error, and where constants hang together, as slope and offset of an
    input far from zero do, the first is short and the last makes up for it. All get more digits
    where together they would move a prediction, on the rows or at the given points
    (inputs × points), by more than a tenth of *its* standard error. Constants at the places `known`
    stay as they are. `information` is what is known of the constants, if that is more than what
    the rows tell.
    """
    few = len(free_constants(expression)) <= MOST_ROUNDED
    if information is None and few:
        information = Information.of(expression, sample, known)
    if information is None or not few:
        return shortened(expression, known)
    if len(information.free) == 0:
        return expression
    XT = sample.XT[:, :CHECKED]
    if points is not None:
        XT = np.ascontiguousarray(np.concatenate([XT, points[:, :CHECKED]], axis=1))
    value = expression.evaluate(XT.T)[:, 0]
    size = np.max(np.abs(value), initial=0.0, where=np.isfinite(value))
    allowed = MOVED * information.prediction_errors(expression, XT) + 10.0 * EXACT * size
    for part in (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5):
        try:
            rounded = _rounded(expression, information, part)
        except np.linalg.LinAlgError:  # numbers that the rows leave wholly open
            break
        trial = expression.with_constants(rounded).canonical()
        moved = np.abs(trial.evaluate(XT.T)[:, 0] - value)
        if np.all((moved <= allowed) | ~np.isfinite(allowed)):
            return trial
    return shortened(expression, known)


def shortened(expression: Expression, known: Collection[int] = ()) -> Expression:
    """All constants with ten digits at most: what is left where their errors are not known."""
    shorter = [
        t if place in known else shortest(t, SHORT * abs(t))
        for place, t in enumerate(expression.constants().tolist())
    ]
    return expression.with_constants(shorter).canonical()


def _rounded(expression: Expression, known: Information, part: float) -> Array:
    """The constants, each rounded within a part of half a place; see `readable`."""
    theta = expression.constants()
    best = theta[known.free]
    # Constants of equal size stay so.
    values, label = np.unique(np.abs(best), return_inverse=True)
    signs = np.where(best < 0.0, -1.0, 1.0)
    membership = signs[:, None] * (label[:, None] == np.arange(len(values)))
    M = (known.factor * known.size) @ membership
    biases = {int(t) for t in _bias_places(expression)}
    order = sorted(
        range(len(values)), key=lambda g: int(known.free[np.argmax(label == g)]) in biases
    )
    found = values.copy()
    for step, g in enumerate(order):
        rest = order[step:]
        # The free ones at the best fit beside those already rounded, ...
        offset = M @ (found - values)
        moves, *_ = np.linalg.lstsq(M[:, rest], -offset, rcond=None)
        found[rest] += moves
        # ... and the error of the next one given those.
        R = triangular(M[:, [*rest[1:], g]])
        error = math.sqrt(known.variance) / max(abs(float(R[-1, -1])), 1e-300)
        rounding = EXACT * abs(float(found[g]))
        tolerance = part * (half_place(error) if error > rounding else rounding)
        found[g] = shortest(float(found[g]), tolerance)
    theta[known.free] = signs * found[label]
    return theta


def _bias_places(expression: Expression) -> list[int]:
    """Places of the biases among the constants: they are rounded last."""
    return [int(n) for n in np.cumsum([0, *(1 + len(s.weights) for s in expression.sums)])[:-1]]


def half_place(error: float) -> float:
    """Half a unit of the place at which the second digit of an error stands."""
    if not (math.isfinite(error) and error > 0.0):
        return 0.0
    return 0.5 * 10.0 ** (math.floor(math.log10(error)) - 1)


def shortest(value: float, tolerance: float) -> float:
    """The decimal number with the fewest digits within `tolerance` of `value`.

    Examples
    --------
    >>> shortest(0.0082685013, 1e-8)
    0.0082685
    """
    if not math.isfinite(value) or value == 0.0:
        return value
    for digits in range(1, 17):
        rounded = float(f"{value:.{digits}g}")
        # A constant is never rounded away: whether it is zero is decided by `trim`.
        if abs(rounded - value) <= tolerance and rounded != 0.0:
            return rounded
    return value


# --- ties ----------------------------------------------------------------------------------------


def tied(expression: Expression, sample: Sample) -> Expression:
    """Give constants of one sum a common size where the data prefer that they have one.

    That is weights of the same sum, and its offset beside the weight of an exponential or a wave:
    a·(1 - exp(-k t)) has two constants, not three.

    Two that agree within an error that is small beside them are hardly equal by chance:
    the evidence for one common constant is about ln(|w| / (2.5 s)) - d²/(2 s²) nats, d being their
    difference and s its standard error. The others move along, to the least squares under the tie.
    """
    known = Information.of(expression, sample)
    if known is None or len(known.free) < 2:
        return expression
    groups = _groups(expression, known)
    labels = sorted(set(groups))
    if len(labels) == len(groups):
        return expression
    theta = expression.constants()
    signs = np.sign(theta[known.free])
    membership = signs[:, None] * np.array([[g == label for label in labels] for g in groups])
    weighted = known.factor * known.size
    # The least squares of R (θ - θ̂) over constants of which some are the same.
    common, *_ = np.linalg.lstsq(weighted @ membership, weighted @ theta[known.free], rcond=None)
    theta[known.free] = membership @ common
    if not np.all(np.isfinite(theta)) or np.any(theta[known.free] == 0.0):
        return expression
    trial = expression.with_constants(theta)
    rmse = sample.rmse(trial.evaluate(sample.XT.T)[:, 0])
    n_ties = len(groups) - len(labels)
    limit = known.error * (1.0 + (n_ties * math.log(known.n_rows) + 1.0) / known.n_rows)
    is_kept = rmse**2 <= limit + (EXACT * sample.spread()) ** 2
    return trial if is_kept else expression


def tie_rows(expression: Expression, simple: Collection[int] = ()) -> Array:
    """Differences of constants that are zero because they are one number (ties × constants).

    That are constants of equal size in one sum, as in a·(1 - exp(-k t)), and offsets that several
    sums have in common; of the latter not `simple` numbers, which may be equal by chance.
    """
    theta = expression.constants()
    home = np.repeat(np.arange(len(expression.sums)), [1 + len(s.weights) for s in expression.sums])
    rows = []
    for a, b in combinations(free_constants(expression).tolist(), 2):
        by_chance = home[a] != home[b] and (a in simple or b in simple)
        if abs(theta[a]) != abs(theta[b]) or abs(theta[a]) == 1.0 or by_chance:
            continue
        row = np.zeros(len(theta))
        row[a], row[b] = 1.0, -1.0 if theta[a] * theta[b] > 0.0 else 1.0
        rows.append(row)
    return np.array(rows).reshape(-1, len(theta))


def _groups(expression: Expression, known: Information) -> list[int]:
    """For each free constant the first one of its group: those that may well be the same."""
    theta, covariance = expression.constants()[known.free], known.covariance
    place = {int(t): k for k, t in enumerate(known.free)}
    group = list(range(len(known.free)))
    start = 0
    d = len(expression.names)
    for s in expression.sums:
        weights = range(start + 1, start + 1 + len(s.weights))
        pairs = [
            (place[t], place[u]) for t, u in combinations(weights, 2) if t in place and u in place
        ]
        if start in place:
            pure = [i >= d and expression.nodes[i - d].unit in PURE_NUMBERS for i in s.sources]
            pairs += [
                (place[start], place[t])
                for t, is_pure in zip(weights, pure, strict=True)
                if is_pure and t in place
            ]
        for a, b in pairs:
            same = 1.0 if theta[a] * theta[b] > 0.0 else -1.0
            variance = covariance[a, a] + covariance[b, b] - 2.0 * same * covariance[a, b]
            size = min(abs(theta[a]), abs(theta[b]))
            error = math.sqrt(max(variance, 0.0)) + EXACT * size
            difference = abs(theta[a]) - abs(theta[b])
            evidence = math.log(size / (2.5 * error) + 1e-300)
            if evidence - 0.5 * (difference / error) ** 2 > EVIDENCE:
                group[b] = min(group[a], group[b])
        start += 1 + len(s.weights)
    return group
