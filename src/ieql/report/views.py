"""What each figure shows, as numbers: shared by the figures and the report's drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.selection import Candidate

__all__ = [
    "Comparison",
    "Map",
    "Slice",
    "at_the_border",
    "compare",
    "curve_over",
    "cut_to",
    "frequencies",
    "histogram",
    "map_over",
    "running_median",
    "shown_range",
    "slice_through",
    "staircase",
]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
SLICE_POINTS = 161
CURVE_POINTS = 481
"""A curve of one input may swing often."""
MAP_POINTS = (57, 43)
"""Points of a map, along its first and its second input."""
MANY = 20
"""Of fewer residuals a histogram shows all."""
FAR = 6.0
"""So many times what three quarters of the residuals stay below is far: some seven times sigma."""


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

    @cached_property
    def reach(self) -> float:
        """The largest residual, either way, that axes are scaled to: a few far ones do not count.

        Far is what lies several times beyond three quarters of the rows, and beyond nearly all of
        them: where a tenth of the rows lies far away, that is no accident and is shown.
        """
        sizes = np.abs(self.residual[self.bulk])
        rest = np.abs(self.residual[~self.outlier])
        if len(sizes):
            usual, most = np.quantile(sizes, [0.75, 0.95], method="lower").tolist()
            limit = max(FAR * usual, 2.0 * most)
            rest = rest[rest <= limit] if limit > 0.0 else rest
        return float(rest.max(initial=0.0)) or 1.0

    @property
    def far(self) -> Mask:
        """The rows beyond that reach, outliers, which have a mark of their own, left out."""
        return self.beyond(self.reach)

    def beyond(self, reach: float) -> Mask:
        """The rows, outliers left out, whose residuals are larger than `reach`."""
        mask: Mask = (np.abs(self.residual) > reach) & ~self.outlier
        return mask

    @property
    def sigma(self) -> float:
        """What the standard deviation of the residuals would be if they were normal.

        From their median, so that rows far off do not hide behind their own size.
        """
        sizes = np.abs(self.residual[self.bulk])
        return 1.4826 * float(np.median(sizes)) if len(sizes) else float("nan")

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
    sizes = np.abs(residual)
    # Of more than a few rows the last one alone does not count, however far off it lies.
    most = np.sort(sizes)[:-1] if len(sizes) >= MANY else sizes
    reach = float(np.quantile(most, 0.995))
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


@dataclass(frozen=True, eq=False)
class Map:
    """An equation over two inputs, the others at their means, on a grid.

    Attributes
    ----------
    x, y : arrays
        The values of the two inputs, in order.
    values : array (len(y), len(x))
        NaN where the equation is undefined.
    """

    x: Array
    y: Array
    values: Array


def shown_range(values: Array, domain: tuple[float, float]) -> tuple[float, float]:
    """The domain, but not so much of it that the rows shrink to less than a third of the axis."""
    low, high = float(values.min()), float(values.max())
    width = high / 2 - low / 2
    width = 2 * width if width > 0.0 else domain[1] - domain[0]
    return min(low, max(domain[0], low - width)), max(high, min(domain[1], high + width))


def curve_over(
    expression: Expression, column: int, centre: Sequence[float], ends: tuple[float, float]
) -> tuple[Array, Array]:
    """The rows of a table along one input, the others at `centre`, and the equation's values."""
    X = np.tile(np.asarray(centre, dtype=np.float64), (CURVE_POINTS, 1))
    X[:, column] = np.linspace(*ends, CURVE_POINTS)
    y = expression.evaluate(X)[:, 0]
    return X, np.where(np.abs(y) < 1e150, y, np.nan)


def map_over(
    expression: Expression,
    columns: tuple[int, int],
    centre: Sequence[float],
    ends: tuple[tuple[float, float], tuple[float, float]],
) -> Map:
    """Evaluate an equation with one output over two of its inputs."""
    x, y = (np.linspace(*pair, n) for pair, n in zip(ends, MAP_POINTS, strict=True))
    X = np.tile(np.asarray(centre, dtype=np.float64), (len(x) * len(y), 1))
    X[:, columns[0]], X[:, columns[1]] = np.tile(x, len(y)), np.repeat(y, len(x))
    values = expression.evaluate(X)[:, 0].reshape(len(y), len(x))
    return Map(x, y, np.where(np.abs(values) < 1e150, values, np.nan))


def cut_to(x: Array, y: Array, low: float, high: float) -> tuple[Array, Array]:
    """A line without what lies beyond a range: it ends, and begins again, at the range's edge."""
    xs, ys = [float(x[0])], [float(y[0]) if low <= y[0] <= high else np.nan]
    for k in range(1, len(x)):
        a, b = float(y[k - 1]), float(y[k])
        edges = [e for e in (low, high) if (a < e < b) or (b < e < a)]
        edges.sort(reverse=a > b)
        # With one edge between the two, the line leaves or enters; with two it crosses the range.
        for edge in edges:
            share = (edge - a) / (b - a)
            xs.append(float(x[k - 1] + share * (x[k] - x[k - 1])))
            ys.append(edge)
        xs.append(float(x[k]))
        ys.append(b if low <= b <= high else np.nan)
    return np.array(xs), np.array(ys)


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
