"""The constants of a formula that is known, by least squares.

Many random starts are compared, in each of which the constants that the formula is linear in are
solved for exactly; Levenberg-Marquardt goes on from the best of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.formula import Formula, listed
from ieql.equations.formula_starts import SQUARED, scales
from ieql.errors import IeqlError, shown

__all__ = ["Effort", "FormulaFit", "cross_fitted", "fit", "with_few_digits"]

Array = NDArray[np.float64]
WORK = 200_000
"""Units times constants and starts that are evaluated at most."""
START_ROWS = 100
"""Rows on which starts are compared."""
FOLDS = 10
"""Parts of the rows that are predicted from the others."""
DECADES = 1.5
"""How far a start may be from the scales that it is drawn around."""
LARGEST = 1e150
"""Residuals and slopes whose squares are still numbers."""
SAME = 1e-9
"""Relative difference up to which two columns are the same."""
EQUAL = 1e-6
"""Relative difference of two sums of squares that are equally good."""
UNSEEN = 1e-3
"""Part of the error by which values may change when an equation gets fewer digits."""
UNKNOWN = 1e-7
"""A direction in which the rows change the values by less than this, times the steepest, is not
determined by them."""


@dataclass(frozen=True)
class Effort:
    """How hard constants are looked for.

    Attributes
    ----------
    starts, kept : int
        Random starts, fewer of a formula of very many units, and how many of them are fitted, ...
    rows : int
        ... on so many rows; the best one is then fitted on all.
    """

    starts: int = 400
    kept: int = 12
    rows: int = 2_000


@dataclass(frozen=True)
class FormulaFit:
    """Constants of a formula at their best fit.

    Attributes
    ----------
    values, standard_errors : array
        In the order of `Formula.constants`; the error is NaN where the rows do not determine a
        constant, and zero at a bound.
    covariance : array
        Of the constants; NaN where they are not determined.
    rmse : float
        Weighted root mean squared error.
    undetermined : tuple of str
        Constants of which the rows determine only a combination, or nothing.
    """

    values: Array
    standard_errors: Array
    covariance: Array
    rmse: float
    undetermined: tuple[str, ...]


def fit(
    formula: Formula,
    sample: Sample,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    start: Mapping[str, float] | None = None,
    seed: int = 0,
    effort: Effort | None = None,
) -> FormulaFit:
    """Fit the constants of a formula to rows by least squares.

    Parameters
    ----------
    formula : Formula
        What to fit.
    sample : Sample
        The rows.
    bounds : mapping from name to (low, high), optional
        Limits of constants.
    start : mapping from name to number, optional
        Values to start from, beside random ones.
    seed : int, default 0
        Of the random starts.
    effort : Effort, optional
        How hard they are looked for.
    """
    k, effort = len(formula.constants), effort or Effort()
    if sample.n_rows < k:
        raise IeqlError(
            f"The formula has {k} constants ({listed(formula.constants)}), but there are only "
            f"{len(sample)} rows."
        )
    problem = _Problem(formula, sample.head(effort.rows), *_limits(formula, bounds))
    if k == 0:
        return _measured(formula, sample, np.empty(0), problem)
    rng = np.random.default_rng(seed)
    starts = _starts(problem, _numbers(formula, start, "start"), rng, effort)
    tried = [_descended(problem, values) for values in starts]
    found = [(cost, values) for cost, values in tried if math.isfinite(cost)]
    if not found:
        raise IeqlError(
            f"No values of {listed(formula.constants)} were found at which the formula is "
            "defined on all rows; check it for logarithms, roots and divisions, or give bounds or "
            "a start."
        )
    least = min(cost for cost, _ in found)
    # Several may be equally good: a phase of 0.5 and one of 0.5 + 24π. The smallest numbers win.
    as_good = [v for cost, v in found if cost <= least * (1.0 + EQUAL) + SAME**2 * problem.size]
    best = min(as_good, key=lambda v: (round(math.log10(np.sum(np.abs(v)) + 1e-300), 3), -v.sum()))
    if len(sample) > effort.rows:
        whole = _Problem(formula, sample, problem.low, problem.high)
        cost, refined = _descended(whole, best)
        best = refined if math.isfinite(cost) else best
    return _measured(formula, sample, best, problem)


def cross_fitted(formula: Formula, sample: Sample, values: Array) -> float:
    """Root mean squared error on rows that had no say in the constants, by tenths of all rows.

    Each tenth is predicted with the constants that the others fit, from `values` on.
    """
    tenth = np.arange(len(sample)) % FOLDS
    open_ended = _limits(formula, None)
    total = 0.0
    for k in range(min(FOLDS, len(sample))):
        others, own = sample.subset(tenth != k), sample.subset(tenth == k)
        _, found = _descended(_Problem(formula, others, *open_ended), values)
        total += _squares(_Problem(formula, own, *open_ended).residuals(found)[0])
    return math.sqrt(total / float(sample.weight.sum()))


def _limits(
    formula: Formula, bounds: Mapping[str, tuple[float, float]] | None
) -> tuple[Array, Array]:
    low, high = np.full(len(formula.constants), -np.inf), np.full(len(formula.constants), np.inf)
    for name in _checked_names(formula, bounds, "bounds"):
        pair = (bounds or {})[name]
        try:
            a, b = (float(v) for v in pair)
        except (TypeError, ValueError):
            a = b = math.nan
        if not a < b:
            raise IeqlError(
                f"The bounds of {name!r} must be two numbers, the lower one first, not "
                f"{shown(pair)}."
            )
        place = formula.constants.index(name)
        low[place], high[place] = a, b
    return low, high


def _numbers(formula: Formula, given: Mapping[str, float] | None, what: str) -> dict[str, float]:
    found = {}
    for name in _checked_names(formula, given, what):
        value = (given or {})[name]
        if not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise IeqlError(f"The {what} of {name!r} must be a number, not {shown(value)}.")
        found[name] = float(value)
    return found


def _checked_names(formula: Formula, given: Mapping[str, object] | None, what: str) -> list[str]:
    if given is not None and not isinstance(given, Mapping):
        raise IeqlError(f"{what} must map names of constants to numbers, not {shown(given)}.")
    for name in given or {}:
        if name not in formula.constants:
            known = listed(formula.constants) or "none"
            raise IeqlError(
                f"{what} names {shown(name)}, which is no constant of the formula (they are: "
                f"{known})."
            )
    return list(given or {})


@dataclass(frozen=True, eq=False)
class _Problem:
    """A formula with rows, and the limits of its constants."""

    formula: Formula
    sample: Sample
    low: Array
    high: Array

    @property
    def root(self) -> Array:
        """Square roots of the weights."""
        return np.sqrt(self.sample.weight)

    @property
    def span(self) -> Array:
        """Distances between the limits of the constants; one where there is none."""
        width = self.high - self.low
        return np.where(np.isfinite(width), width, 1.0)

    @property
    def size(self) -> float:
        """Sum of the squares of y."""
        return float(np.sum((self.root * self.sample.y) ** 2))

    def residuals(self, values: Array) -> tuple[Array, Array]:
        """Weighted residuals, infinite where the formula is undefined, and their slopes."""
        value, slope = self.formula.evaluate(self.sample.XT.T, values)
        with np.errstate(all="ignore"):
            r = self.root * (value - self.sample.y)
            return np.where(np.abs(r) < LARGEST, r, np.inf), self.root[:, None] * slope


def _starts(
    problem: _Problem, given: Mapping[str, float], rng: np.random.Generator, effort: Effort
) -> list[Array]:
    """The most promising of many starts, best first; what is given comes before all."""
    few = _Problem(problem.formula, problem.sample.head(START_ROWS), problem.low, problem.high)
    names, k = problem.formula.constants, len(problem.formula.constants)
    is_linear = _linear(few, rng)
    units = 1 + len(problem.formula.expression.nodes)
    n = int(np.clip(WORK // (units * k), effort.kept, effort.starts))
    ranked = []
    for number in range(n):
        values = np.ones(k) if number == 0 else _drawn(few, rng)
        for name, value in given.items():
            if number % 2 == 0:  # the other half may find what a poor guess hides
                values[names.index(name)] = value
        values = np.clip(values, problem.low, problem.high)
        solved = _solved(few, values, is_linear)
        r, _ = few.residuals(solved)
        ranked.append((_squares(r), number, solved))
    ranked.sort(key=lambda entry: entry[:2])
    best = [values for cost, _, values in ranked if math.isfinite(cost)][: effort.kept]
    if len(given) == k:
        best.insert(0, np.clip([given[name] for name in names], problem.low, problem.high))
    return best


def _drawn(problem: _Problem, rng: np.random.Generator) -> Array:
    """Random constants: of the size of the columns, their reciprocals, or one, a decade or so off.

    A constant with two finite bounds lies anywhere between them.
    """
    k = len(problem.low)
    powers = np.where(rng.random(k) < SQUARED, 2.0, 1.0)
    values = rng.choice(scales(problem.sample), k) ** powers
    values *= 10.0 ** rng.uniform(-DECADES, DECADES, k)
    values *= rng.choice([-1.0, 1.0], k)
    values = np.where(rng.random(k) < 0.3, rng.uniform(-3.0, 3.0, k), values)
    inside = np.isfinite(problem.low) & np.isfinite(problem.high)
    values[inside] = rng.uniform(problem.low[inside], problem.high[inside])
    # Beyond a single bound is the mirror image of it.
    with np.errstate(invalid="ignore"):
        values = np.where(values < problem.low, 2.0 * problem.low - values, values)
        return np.where(values > problem.high, 2.0 * problem.high - values, values)


def _linear(problem: _Problem, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Constants in which the formula is linear, all of them together, and that have no bounds.

    Its slopes by them are then the same whatever values they have.
    """
    k = len(problem.low)
    chosen = np.zeros(k, bool)
    for _ in range(20):
        base = np.clip(_drawn(problem, rng), problem.low, problem.high)
        _, slope = problem.residuals(base)
        if not np.all(np.isfinite(slope)):
            continue
        for j in range(k):
            trial = chosen.copy()
            trial[j] = np.isinf(problem.low[j]) and np.isinf(problem.high[j])
            moved = np.where(trial, base * rng.uniform(0.3, 3.0, k) + rng.normal(size=k), base)
            _, other = problem.residuals(moved)
            limit = SAME * np.max(np.abs(slope[:, trial]), initial=0.0)
            if trial[j] and np.all(np.abs(other[:, trial] - slope[:, trial]) <= limit):
                chosen = trial
        return chosen
    return chosen


def _solved(problem: _Problem, values: Array, is_linear: NDArray[np.bool_]) -> Array:
    """The same constants with the best values of those that the formula is linear in."""
    if not is_linear.any():
        return values
    r, slope = problem.residuals(values)
    J = slope[:, is_linear]
    if not (np.all(np.abs(J) < LARGEST) and np.all(np.isfinite(r))):
        return values
    size = np.linalg.norm(J, axis=0)
    if not np.all(size > 0.0):
        return values
    step = np.linalg.lstsq(J / size, -r, rcond=1e-10)[0] / size
    solved = values.copy()
    solved[is_linear] += step
    return solved if np.all(np.isfinite(solved)) else values


def _descended(problem: _Problem, values: Array) -> tuple[float, Array]:
    """Sum of squares and constants after Levenberg-Marquardt; infinite if it cannot start."""
    from scipy.optimize import least_squares

    def residuals(values: Array) -> Array:
        return np.clip(problem.residuals(values)[0], -LARGEST, LARGEST)

    def slopes(values: Array) -> Array:
        return np.clip(np.nan_to_num(problem.residuals(values)[1]), -LARGEST, LARGEST)

    cost = _squares(problem.residuals(values)[0])
    if not math.isfinite(cost) or not len(values):
        return cost, values
    inside = np.clip(values, problem.low + 1e-9 * problem.span, problem.high - 1e-9 * problem.span)
    try:
        with np.errstate(all="ignore"):
            found = least_squares(
                residuals, inside, slopes, (problem.low, problem.high), x_scale="jac",
                ftol=1e-14, xtol=1e-14, gtol=1e-14, max_nfev=200,
            )  # fmt: skip
    except (ValueError, np.linalg.LinAlgError):
        return math.inf, values
    return _at_bounds(problem, found.x)


def _at_bounds(problem: _Problem, values: Array) -> tuple[float, Array]:
    """Sum of squares and constants; those that are as good at their bound are put there."""
    cost = _squares(problem.residuals(values)[0])
    for place in range(len(values)):
        for bound in (problem.low[place], problem.high[place]):
            trial = np.where(np.arange(len(values)) == place, bound, values)
            if math.isfinite(bound) and _squares(problem.residuals(trial)[0]) <= cost * (1 + SAME):
                values = trial
    return _squares(problem.residuals(values)[0]), values


def _squares(r: Array) -> float:
    """The sum of squares; infinite if one of them is."""
    return float(r @ r) if np.all(np.isfinite(r)) else math.inf


def _measured(formula: Formula, sample: Sample, values: Array, limits: _Problem) -> FormulaFit:
    """Errors of the constants from σ² (JᵀJ)⁻¹, σ² being the sum of squares over N - k."""
    k = len(values)
    r, J = _Problem(formula, sample, limits.low, limits.high).residuals(values)
    total = float(sample.weight.sum())
    rmse = math.sqrt(float(r @ r) / total)
    errors, covariance = np.full(k, np.nan), np.full((k, k), np.nan)
    at_bound = (values == limits.low) | (values == limits.high)
    errors[at_bound] = 0.0
    free = np.flatnonzero(~at_bound)
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.linalg.norm(J[:, free], axis=0)
    known = (size > 0.0) & np.isfinite(size)  # a slope beyond all numbers tells nothing
    unknown = {formula.constants[i] for i in free[~known]}
    free, size = free[known], size[known]
    if len(free):
        _, singular, V = np.linalg.svd(J[:, free] / size, full_matrices=False)
        lost = singular <= UNKNOWN * singular[0]
        mixed = np.any(np.abs(V[lost]) > 0.1, axis=0)
        unknown |= {formula.constants[i] for i in free[mixed]}
        variance = float(r @ r) / (total - len(free)) if total > len(free) else math.nan
        keep = ~lost
        root = (V[keep].T / singular[keep]) / size[:, None]
        part = variance * (root @ root.T)
        part[mixed] = part[:, mixed] = np.nan
        covariance[np.ix_(free, free)] = part
        errors[free] = np.sqrt(np.diagonal(part))
    order = tuple(name for name in formula.constants if name in unknown)
    return FormulaFit(values, errors, covariance, rmse, order)


def with_few_digits(expression: Expression, X: Array, rmse: float) -> Expression:
    """The equation with as few digits as make no difference to its values at the rows.

    A constant that it is divided by, or a product of two, has no end of digits.
    """
    value, theta = expression.evaluate(X), expression.constants()
    allowed = UNSEEN * max(rmse, UNSEEN**3 * float(np.max(np.abs(value), initial=0.0)))
    for digits in range(4, 17):
        trial = expression.with_constants([float(f"{c:.{digits}g}") for c in theta])
        if np.all(np.abs(trial.evaluate(X) - value) <= allowed):
            # What is a fraction, or a multiple of π, is short with all its digits.
            return min(expression, trial, key=lambda e: len(e.text()))
    return expression
