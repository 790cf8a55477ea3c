"""How far from an equation a new row may lie: the band around its values.

Two things move a row away from the prediction, and their variances add: the noise of the row
(`ieql.equations.noise`), and the uncertainty of the constants, J Σ Jᵀ, which grows outside the
data. How many standard deviations a level takes is not taken from a normal distribution but from
the rows themselves, each predicted by the others (conformal prediction): a row's own leverage says,
to first order in its constants, what the equation would be without it, so all rows may fit and all
may judge. Of rows like those of the fit, the share that the level names lies in the band whatever
the distribution of the noise is.

Only the equation, the factor of Σ, the noise and a table of the rows' scores are needed afterwards:
a saved model predicts intervals without its data.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.noise import Noise
from ieql.equations.precision import triangular
from ieql.equations.program import Program, free_constants
from ieql.errors import IeqlError, shown

__all__ = ["PredictionBand", "checked_level", "constant_errors"]

Array = NDArray[np.float64]
ROWS = 5_000
"""Rows that say how wide the band is, at most."""
ROWS_AT_ONCE = 16_384
MOST_CONSTANTS = 40
"""With more constants their covariances would fill the file; then only their sizes are kept."""
MOST_SCORES = 80
"""Scores that are kept of many rows."""
STIFF = 1e4
"""Length of a row that holds the difference of two constants, beside columns of unit length."""
RIDGE = 1e-10
"""Added to a factor whose columns have unit length: what no row tells stays finite."""
LARGEST_LEVERAGE = 0.99
ROUNDING = 1e-15
DIGITS = (4, 6, 9, 12)
"""Digits of the factor to try, before all of them are kept."""
PROBED = 500
"""Rows, and points of the domain, where that is looked at."""
CLOSE = 0.01
"""Part by which fewer digits may move a standard error."""


@dataclass(frozen=True)
class PredictionBand:
    """What it takes to say where new rows lie, given their inputs and the equation.

    Attributes
    ----------
    noise : Noise
        Standard deviation of a row's noise.
    factor : tuple of float
        F with Σ⁻¹ = Fᵀ F, Σ being the covariance of the free constants with all their digits: the
        upper triangle row by row, or the diagonal alone where there are very many constants.
    n_constants : int
        Number of free constants.
    degrees : float
        Number of rows less the number of constants: what is left to judge the noise by.
    n_scores : float
        Number of rows that were scored.
    scores : tuple of float
        Distances of the rows from their predictions by the others, in standard deviations, in
        increasing order: at the ranks that `_kept_ranks` gives.
    """

    noise: Noise
    factor: tuple[float, ...]
    n_constants: int
    degrees: float
    n_scores: float
    scores: tuple[float, ...]

    # --- asking ----------------------------------------------------------------------------------

    def half_width(self, expression: Expression, X: Array, value: Array, level: float) -> Array:
        """Half the width of the band that holds a share `level` of new rows.

        Parameters
        ----------
        expression : Expression
            The equation with all digits of its constants.
        X : array (rows, inputs)
            Where.
        value : array (rows,)
            The predictions; where they are NaN, so is the result.
        level : float
            Between 0 and 1.
        """
        result: Array = self.quantile(level) * self.standard_deviation(expression, X, value)
        return result

    def standard_deviation(self, expression: Expression, X: Array, value: Array) -> Array:
        """Standard deviation of a new row from the prediction: constants and noise together."""
        inputs = {name: X[:, j] for j, name in enumerate(expression.names)}
        spread = np.hypot(
            self.noise.size(value, inputs), self.standard_errors(expression, np.asarray(X))
        )
        return np.where(np.isfinite(value), spread, math.nan)

    def standard_errors(self, expression: Expression, X: Array) -> Array:
        """Standard error of the equation's value, from the constants alone."""
        result = np.empty(len(X))
        for start in range(0, len(X), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            XT = np.ascontiguousarray(X[rows].T, dtype=np.float64)
            result[rows] = _errors(self.matrix, _derivatives(expression, XT))
        return result

    def quantile(self, level: float) -> float:
        """How many standard deviations hold a share `level` of new rows.

        The rank is that of a new row among the scored ones, (N + 1) · level, between two rows where
        it is not whole. If it lies beyond the last of them, because the rows are too few for such a
        level, Student's distribution takes over.
        """
        if not math.isfinite(self.noise.sigma):
            return 1.0
        rank = (self.n_scores + 1.0) * level
        if rank <= self.n_scores:
            ranks = np.array([0.0, *_kept_ranks(self.n_scores)])
            return float(np.interp(rank, ranks, [0.0, *self.scores]))
        from scipy.special import stdtrit

        student = float(stdtrit(max(self.degrees, 1.0), 0.5 + 0.5 * level))
        return max(student, self.scores[-1])

    def widened(self, times: float) -> PredictionBand:
        """The band, so many times as wide."""
        return replace(
            self,
            noise=replace(self.noise, sigma=self.noise.sigma * times),
            factor=tuple(f / times for f in self.factor),
        )

    @cached_property
    def matrix(self) -> Array:
        """F as a matrix."""
        p = self.n_constants
        return _upper(self.factor, p) if _is_whole(p) else np.diag(self.factor)

    # --- plain forms -----------------------------------------------------------------------------

    def to_form(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers, for JSON."""
        return {
            "noise": self.noise.to_form(),
            "factor": list(self.factor),
            "n_constants": self.n_constants,
            "degrees": self.degrees,
            "n_scores": self.n_scores,
            "scores": list(self.scores),
        }

    @classmethod
    def from_form(cls, form: Mapping[str, Any], expression: Expression) -> PredictionBand:
        """The inverse of `to_form`, for an equation with all digits of its constants."""
        band = cls(
            noise=Noise.from_form(form["noise"], expression.names),
            factor=tuple(map(float, form["factor"])),
            n_constants=int(form["n_constants"]),
            degrees=float(form["degrees"]),
            n_scores=float(form["n_scores"]),
            scores=tuple(map(float, form["scores"])),
        )
        numbers = (*band.factor, *band.scores, band.degrees, band.n_scores)
        if not all(map(math.isfinite, numbers)) or band.n_scores < 1.0:
            raise IeqlError("the band of an equation holds an impossible number.")
        rising = all(0.0 <= a <= b for a, b in zip((0.0, *band.scores), band.scores, strict=False))
        if not rising or len(band.scores) != len(_kept_ranks(band.n_scores)):
            raise IeqlError("the scores of an equation's band are not in order.")
        p = band.n_constants
        fits = p == len(free_constants(expression)) and len(band.factor) == _length(p)
        if not fits or not np.all(band.matrix.diagonal() != 0.0):
            raise IeqlError("the band of an equation does not fit its constants.")
        return band

    # --- from rows -------------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        expression: Expression,
        rows: Sample,
        predicting: Expression | None = None,
        points: Array | None = None,
        ties: Array | None = None,
    ) -> PredictionBand | None:
        """The band of an equation that was fitted to some rows; None where it has no value there.

        Parameters
        ----------
        expression : Expression
            The fitted equation, with all digits of its constants.
        rows : Sample
            All rows that fitted it. Whole weights count measurements; others are precisions, and
            new rows are taken to be as precise as these.
        predicting : Expression, optional
            The same equation with the constants that predictions use.
        points : array (inputs, points), optional
            Other points where the stored numbers must be exact enough.
        ties : array (ties, constants), optional
            Differences of constants that are zero, because they are one number (`tie_rows`).
        """
        part = rows.head(ROWS)
        value = (predicting or expression).evaluate(part.XT.T)[:, 0]
        if len(part) == 0 or not np.all(np.isfinite(value)):
            return None
        J = _derivatives(expression, part.XT, compiled=True)
        n, p = float(_measurements(part.weight)[0].sum()), len(J)
        if n - p < 1.0:
            return cls._unknown(p, n)
        with np.errstate(all="ignore"):
            try:
                band = cls._of_rows(expression, rows, part, value, J, points, ties)
            except np.linalg.LinAlgError:
                return cls._unknown(p, n)
        numbers = (band.noise.sigma, *band.factor, *band.scores)
        return band if all(map(math.isfinite, numbers)) else cls._unknown(p, n)

    @classmethod
    def _of_rows(
        cls,
        expression: Expression,
        rows: Sample,
        part: Sample,
        value: Array,
        J: Array,
        points: Array | None,
        ties: Array | None,
    ) -> PredictionBand:
        """The same from the part of the rows that is looked at, with more rows than constants."""
        weight, residual = part.weight, part.y - value
        count, single = _measurements(weight)
        n = float(count.sum())
        degrees = n - len(J) + (0 if ties is None else int(np.linalg.matrix_rank(ties)))
        if ties is not None:
            ties = ties[:, free_constants(expression)]
        R = _triangle(J * np.sqrt(weight), ties)
        spread = _solved(R.T, J)
        leverage = np.minimum(single * np.sum(spread**2, axis=0), LARGEST_LEVERAGE)
        inputs = _by_relevance(expression, part.XT)
        even = residual * np.sqrt(single / (1.0 - leverage))
        noise, own_say = Noise.trends_of(even, value, inputs, count)
        shape = noise.shape(value, inputs)
        sigma = math.sqrt(float(weight @ (residual / shape) ** 2) / degrees)
        # Without noise there is still rounding.
        sigma = max(sigma, ROUNDING * float(np.max(np.abs(part.y))), 1e-150)
        noise = replace(noise, sigma=sigma)
        F = R / sigma
        if noise.trends:
            F = _sandwich(R, spread, weight * (sigma * shape) ** 2)
        scores = _left_out(
            residual, leverage, single, sigma * shape, _errors(F, J), own_say, degrees
        )
        F = F * math.sqrt(float(rows.weight.sum() / weight.sum()))  # all rows fixed the constants
        probe = J[:, :PROBED]
        if points is not None:
            derivatives = _derivatives(expression, points[:, :PROBED], compiled=True)
            probe = np.hstack([probe, derivatives])
        return cls(noise, _short(F, probe), len(J), degrees, n, _table(scores, count))

    @classmethod
    def of_known(
        cls,
        expression: Expression,
        rows: Sample,
        noise: Noise,
        F: Array,
        degrees: float,
        left: Array | None = None,
    ) -> PredictionBand:
        """The band of an equation of whose constants more is known than what some rows tell.

        Parameters
        ----------
        expression : Expression
            With all digits of its constants.
        rows : Sample
            The rows, which score the noise.
        noise : Noise
            Their noise.
        F : array (p, p)
            With Σ⁻¹ = Fᵀ F, Σ being the covariance of the free constants.
        degrees : float
            Number of rows that the noise was judged by.
        left : array (rows,), optional
            Residuals, if they are not those of this equation: each device may have its own.
        """
        part = rows.head(ROWS)
        value = expression.evaluate(part.XT.T)[:, 0]
        residual = part.y - value if left is None else left[: len(part)]
        J = _derivatives(expression, part.XT, compiled=True)
        count, single = _measurements(part.weight)
        inputs = dict(zip(expression.names, part.XT, strict=True))
        size = noise.size(value, inputs) / np.sqrt(single)
        leverage = np.minimum((_errors(F, J) / size) ** 2, LARGEST_LEVERAGE)
        if left is not None:
            leverage = np.zeros(len(part))
        scores = np.abs(residual) / (size * np.sqrt(1.0 - leverage))
        # What they would be if a row had no say in the noise either.
        rest = np.maximum(degrees - scores**2, 0.05 * degrees) / max(degrees - 1.0, 0.5)
        scores = scores / np.sqrt(np.minimum(rest, 1.0))
        n = float(count.sum())
        return cls(noise, _short(F, J[:, :PROBED]), len(J), degrees, n, _table(scores, count))

    @classmethod
    def _unknown(cls, p: int, n: float) -> PredictionBand:
        """The band of an equation of which the rows tell nothing: all there is."""
        factor = np.eye(p)[np.triu_indices(p)] if _is_whole(p) else np.ones(p)
        scores = (0.0,) * len(_kept_ranks(n))
        return cls(Noise(math.inf), tuple(factor.tolist()), p, n - p, n, scores)


def constant_errors(
    expression: Expression,
    rows: Sample,
    noise: Noise,
    fixed: Collection[int] = (),
    ties: Array | None = None,
) -> tuple[float, ...] | None:
    """Standard error of each constant (zero for fixed ones), whatever noise the rows have.

    (JᵀJ)⁻¹ Jᵀ S² J (JᵀJ)⁻¹ is their covariance, S being the size of each row's noise. It is taken
    twice: from what is known of the noise, which is σ² (JᵀJ)⁻¹ where it is even, and from each
    row's own residual, e / (1 - leverage), which needs no model of the noise and is the better
    guide where a few rows do not tell that it is uneven (HC3 of MacKinnon and White, 1985). The
    larger one counts: each is too small now and then, and seldom both. None where a derivative is
    not finite. `ties` are differences of all constants that are zero (`tie_rows`).
    """
    free = free_constants(expression)
    free = free[~np.isin(free, list(fixed))]
    value, J = Program.of(expression).jacobian(rows.XT, free=free)
    if not (np.all(np.isfinite(value)) and np.all(np.isfinite(J))):
        return None
    inputs = dict(zip(expression.names, rows.XT, strict=True))
    weight = rows.weight / rows.weight.sum()
    R = _triangle(J * np.sqrt(weight), ties if ties is None else ties[:, free])
    own = _solved(R, _solved(R.T, J))  # what each row moves the constants by
    single = _measurements(rows.weight)[1]
    single = single / single.mean()
    leverage = np.minimum(single * np.sum(J * own, axis=0) / rows.n_rows, LARGEST_LEVERAGE)
    residual = np.sqrt(single) * (rows.y - value) / (1.0 - leverage)
    variance = np.zeros(len(free))
    for size in (noise.size(value, inputs), residual):
        variance = np.maximum(variance, (own * size) ** 2 @ weight / rows.n_rows)
    result = np.zeros(len(expression.constants()))
    result[free] = np.sqrt(variance)
    return tuple(result.tolist())


def checked_level(level: Any) -> float:
    """The level as a number; an `IeqlError` says what it must be."""
    is_number = isinstance(level, int | float | np.integer | np.floating)
    if not is_number or isinstance(level, bool) or not 0.0 < float(level) < 1.0:
        raise IeqlError(
            f"level must be a number between 0 and 1, such as 0.9 for nine rows of ten, not "
            f"{shown(level)}."
        )
    return float(level)


# --- the constants -------------------------------------------------------------------------------


def _derivatives(expression: Expression, XT: Array, compiled: bool = False) -> Array:
    """Derivatives by the free constants (p, n).

    Where one is not finite, at the edge of a root, it is left out. Only a fit has the compiled code
    loaded; whoever predicts goes without.
    """
    program = Program.of(expression)
    if compiled:
        J = program.jacobian(XT)[1]
    else:
        from ieql.equations import numpy_engine

        code = (program.units, program.first, program.ptr, program.src)
        J = numpy_engine.run(*code, program.theta, XT, program.free, False)[1]
    return np.nan_to_num(J, nan=0.0, posinf=0.0, neginf=0.0)


def _triangle(J: Array, ties: Array | None = None) -> Array:
    """R with RᵀR = J Jᵀ for derivatives as rows (p, n), regular in any case.

    Differences of constants that are `ties` (t, p) cannot change: rows of their own, heavy as can
    be, hold them.
    """
    size = np.linalg.norm(J, axis=1)
    size = np.where(size > 0.0, size, 1.0)
    scaled = np.vstack([(J / size[:, None]).T, RIDGE * np.eye(len(J))])
    if ties is not None and len(ties):
        held = ties / size
        held *= STIFF / np.linalg.norm(held, axis=1)[:, None]
        scaled = np.vstack([scaled, held])
    return triangular(scaled) * size


def _sandwich(R: Array, spread: Array, variance: Array) -> Array:
    """F of the constants' covariance where rows have different variances (times weights)."""
    middle = (spread * variance) @ spread.T
    L = np.linalg.cholesky(middle + 1e-12 * np.trace(middle) * np.eye(len(middle)))
    return triangular(_solved(L, R))


def _errors(F: Array, J: Array) -> Array:
    if not len(F):
        return np.zeros(J.shape[1])
    with np.errstate(over="ignore"):
        spread = _solved(F.T, J)
        return np.asarray(np.sqrt(np.sum(spread**2, axis=0)))


def _measurements(weight: Array) -> tuple[Array, Array]:
    """How many measurements each row is, and what a single one weighs in the fit.

    Whole weights are counts, others precisions (`ieql.data.dataset.Dataset`).
    """
    is_counted = bool(np.all(weight == np.round(weight)))
    ones = np.ones(len(weight))
    return (weight, ones) if is_counted else (ones, weight)


def _solved(A: Array, B: Array) -> Array:
    return np.asarray(np.linalg.solve(A, B), dtype=np.float64)


def _by_relevance(expression: Expression, XT: Array) -> dict[str, Array]:
    """The inputs by name, those that the equation uses first."""
    used = expression.inputs_used
    columns = dict(zip(expression.names, XT, strict=True))
    return {name: columns[name] for name in sorted(columns, key=lambda name: name not in used)}


def _is_whole(p: int) -> bool:
    return p <= MOST_CONSTANTS


def _length(p: int) -> int:
    return p * (p + 1) // 2 if _is_whole(p) else p


def _upper(values: Sequence[float] | Array, p: int) -> Array:
    """An upper triangle, given row by row, as a matrix."""
    matrix = np.zeros((p, p))
    matrix[np.triu_indices(p)] = values
    return matrix


def _short(F: Array, J: Array) -> tuple[float, ...]:
    """The factor in the form in which it is kept, with no more digits than errors need."""
    p = len(F)
    errors = _errors(F, J)
    if not _is_whole(p):
        size = np.linalg.norm(F, axis=0)
        # As if the constants were independent, and right in the mean of the rows.
        rough = np.sqrt(np.sum((J / size[:, None]) ** 2, axis=0))
        times = np.mean(rough**2) / max(float(np.mean(errors**2)), 1e-300)
        return tuple(_rounded(size * math.sqrt(times), DIGITS[0]).tolist())
    upper = F[np.triu_indices(p)]
    for digits in DIGITS:
        rounded = _upper(_rounded(upper, digits), p)
        if np.all(rounded.diagonal() != 0.0) and np.all(
            np.abs(_errors(rounded, J) - errors) <= CLOSE * errors
        ):
            upper = rounded[np.triu_indices(p)]
            break
    return tuple(upper.tolist())


def _rounded(values: Array, digits: int) -> Array:
    return np.array([float(f"{v:.{digits}g}") for v in values.tolist()])


# --- the scores ----------------------------------------------------------------------------------


def _left_out(
    residual: Array,
    leverage: Array,
    single: Array,
    noise: Array,
    errors: Array,
    own_say: Array,
    degrees: float,
) -> Array:
    """Distance of each row from its prediction by the others, in standard deviations of the two.

    To first order in the constants; exact for an equation that is linear in them. With even noise
    these are the externally studentised residuals.
    """
    without = np.abs(residual) / (1.0 - leverage)
    variance = noise**2 / single
    rest = np.maximum(errors**2 - leverage**2 * variance, 0.0) / (1.0 - leverage) ** 2
    # What is left of the noise's own estimate if the row does not count.
    score = residual**2 / np.maximum(variance * (1.0 - leverage), 1e-300)
    smaller = np.ones(len(residual))
    if degrees >= 2.0:
        smaller = np.maximum(degrees - score, 0.05 * degrees) / (degrees - 1.0)
    deviation = np.sqrt((noise**2 * np.exp(-2.0 * own_say) + rest) * smaller)
    return np.where(without > 0.0, without / np.maximum(deviation, 1e-300), 0.0)


def _kept_ranks(n: float) -> list[float]:
    """The ranks of the scores that are kept of n: all of few; of many the last ones and some more.

    They are dense where levels are asked for, near the largest.
    """
    n = float(n)
    if n <= MOST_SCORES:
        return [float(k) for k in range(1, math.floor(n) + 1)]
    # From the top: 0, 1, 2, then further and further apart.
    below = np.expm1(np.linspace(0.0, math.log(n), MOST_SCORES))
    ranks = sorted({n - float(b) for b in np.round(below)} - {0.0})
    return [r for r in ranks if r >= 1.0]


def _table(scores: Array, count: Array) -> tuple[float, ...]:
    """The scores at the ranks that are kept; a row that stands for several has several ranks."""
    order = np.argsort(scores, kind="stable")
    last = np.cumsum(count[order])
    ranks = np.column_stack([last - count[order] + 1.0, last]).ravel()
    kept = np.interp(_kept_ranks(float(count.sum())), ranks, np.repeat(scores[order], 2))
    return tuple(np.maximum.accumulate(_rounded(kept, 4)).tolist())
