"""What each figure shows, as numbers: shared by the figures and the report's drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.selection import Candidate

__all__ = [
    "Comparison",
    "Slice",
    "at_the_border",
    "compare",
    "frequencies",
    "histogram",
    "running_median",
    "slice_through",
    "staircase",
]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
SLICE_POINTS = 161


@dataclass(frozen=True, eq=False)
class Comparison:
    """Measured beside predicted, rows where the equation is undefined left out.

    Attributes
    ----------
    X : array (rows, inputs)
    measured, predicted : arrays (rows,)
    outside : array of bool (rows,)
        Which rows are not data but labelled points outside of it.
    outlier : array of bool (rows,)
        Which rows are data that were left out of the fit.
    n_undefined : int
        Number of rows that were left out.
    """

    X: Array
    measured: Array
    predicted: Array
    outside: Mask
    outlier: Mask
    n_undefined: int

    @property
    def bulk(self) -> Mask:
        """The rows that are data, outliers left out: what errors and scales go by."""
        mask: Mask = ~(self.outside | self.outlier)
        return mask

    @property
    def residual(self) -> Array:
        """Predicted minus measured."""
        difference: Array = self.predicted - self.measured
        return difference

    @property
    def rmse(self) -> float:
        """Of the rows that are data and no outliers; NaN if there are none."""
        r = self.residual[self.bulk]
        return float(np.sqrt(np.mean(r**2))) if len(r) else float("nan")

    @property
    def r2(self) -> float:
        """Explained part of the variance of the same rows; NaN where there is none."""
        y = self.measured[self.bulk]
        spread = float(np.sum((y - y.mean()) ** 2)) if len(y) else 0.0
        if spread == 0.0:
            return float("nan")
        return 1.0 - float(np.sum(self.residual[self.bulk] ** 2)) / spread


def compare(
    expression: Expression,
    X: Array,
    y: Array,
    outside: Mask | None = None,
    outlier: Mask | None = None,
) -> Comparison:
    """Compare an equation with one output to measurements."""
    predicted = expression.evaluate(X)[:, 0]
    none = np.zeros(len(X), dtype=bool)
    # What cannot be squared cannot be drawn either.
    defined = np.abs(predicted) < 1e150
    return Comparison(
        X[defined],
        y[defined],
        predicted[defined],
        (none if outside is None else outside)[defined],
        (none if outlier is None else outlier)[defined],
        int((~defined).sum()),
    )


def at_the_border(values: Array, low: float, high: float) -> tuple[Array, NDArray[np.int64]]:
    """Values moved into a range, and for each the side on which it lay: -1, 1, or 0 inside."""
    sides = (values > high).astype(np.int64) - (values < low).astype(np.int64)
    return np.clip(values, low, high), sides


def histogram(residual: Array) -> tuple[Array, Array]:
    """Counts and edges of a histogram; its middle is zero's, outliers are in the last bins."""
    if len(residual) == 0:
        return np.zeros(1), np.array([-0.5, 0.5])
    reach = float(np.quantile(np.abs(residual), 0.995))
    reach = reach if reach > 1e-300 else 1.0  # an exact equation has residuals of zero
    n_bins = int(np.clip(2 * round(len(residual) ** (1 / 3)), 8, 32)) + 1
    edges = np.linspace(-reach, reach, n_bins + 1)
    inner = np.clip(residual, -reach, reach)
    return np.histogram(inner, edges)[0].astype(np.float64), edges


def running_median(x: Array, values: Array, n_bins: int = 12) -> tuple[Array, Array]:
    """Medians of `values` in bins of `x` that hold equally many: a trend, where there is one."""
    if len(x) < 5 * n_bins or x.min() == x.max():
        return np.empty(0), np.empty(0)
    edges = np.unique(np.quantile(x, np.linspace(0.0, 1.0, n_bins + 1)))
    bins = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    found = [bins == k for k in range(len(edges) - 1)]
    kept = [mask for mask in found if mask.any()]
    centres = np.array([np.median(x[mask]) for mask in kept])
    return centres, np.array([np.median(values[mask]) for mask in kept])


@dataclass(frozen=True, eq=False)
class Slice:
    """An equation along one input, the others held at their means.

    Attributes
    ----------
    x, y : arrays
        NaN in `y` where the equation is undefined.
    data : (low, high)
        Range of the training data.
    domain : (low, high)
        Where the equation must be safe.
    """

    x: Array
    y: Array
    data: tuple[float, float]
    domain: tuple[float, float]


def slice_through(
    expression: Expression,
    column: int,
    centre: Sequence[float] | Array,
    data: tuple[float, float],
    domain: tuple[float, float],
) -> Slice:
    """Evaluate an equation with one output along one input, over the domain and the data."""
    low, high = min(data[0], domain[0]), max(data[1], domain[1])
    X = np.tile(np.asarray(centre, dtype=np.float64), (SLICE_POINTS, 1))
    X[:, column] = np.linspace(low, high, SLICE_POINTS)
    y = expression.evaluate(X)[:, 0]
    return Slice(X[:, column], np.where(np.abs(y) < 1e150, y, np.nan), data, domain)


def staircase(front: Sequence[Candidate]) -> tuple[Array, Array]:
    """Complexity and validation error of the candidates that no simpler one beats, in order."""
    best = float("inf")
    kept = []
    for c in sorted(front, key=lambda c: (c.complexity, c.rmse_validation)):
        if c.rmse_validation < best:
            best = c.rmse_validation
            kept.append((c.complexity, best))
    table = np.array(kept).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def frequencies(
    counts: Sequence[Mapping[str, int]], units: Sequence[str]
) -> dict[str, list[float]]:
    """Relative frequency of each unit, per output; the units of the prior come first."""
    names = dict.fromkeys([*units, *(name for c in counts for name in c)])
    totals = [max(1, sum(c.values())) for c in counts]
    return {
        name: [c.get(name, 0) / total for c, total in zip(counts, totals, strict=True)]
        for name in names
    }
