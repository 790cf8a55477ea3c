"""Labelled rows of one target, laid out as the trainers and compiled kernels like them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sample"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sample:
    """Labelled rows: inputs as features × rows, target and weight.

    Where the target is only known to lie in a range, `ranges` (rows × 2) has its ends, and the
    target is a value in it (`ieql.data.ranges`).
    """

    XT: Floats
    y: Floats
    weight: Floats
    ranges: Floats | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_rows(self) -> float:
        """How many measured rows these stand for: the sum of their weights, at least one.

        Equal rows are merged, so this, not the length, is the N of every statistic.
        """
        return max(float(self.weight.sum()), 1.0)

    def draw(self, n: int, rng: np.random.Generator) -> Sample:
        """At most n rows, drawn without replacement."""
        if len(self) <= n:
            return self
        return self._at(np.sort(rng.choice(len(self), size=n, replace=False)))

    def head(self, n: int) -> Sample:
        """The first n rows; the order of a data set's rows is random already."""
        if len(self) <= n:
            return self
        return self._at(slice(n))

    def standing_for_all(self, n: int) -> Sample:
        """The first n rows, with larger weights: they stand for all measured rows."""
        part = self.head(n)
        if part is self:
            return self
        return replace(part, weight=part.weight * (self.weight.sum() / part.weight.sum()))

    def subset(self, rows: NDArray[np.bool_]) -> Sample:
        """Some of the rows."""
        if rows.all():
            return self
        return self._at(rows)

    def _at(self, rows: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Sample:
        ranges = None if self.ranges is None else self.ranges[rows]
        XT = np.ascontiguousarray(self.XT[:, rows])
        return Sample(XT, self.y[rows], self.weight[rows], ranges)

    def joined(self, other: Sample) -> Sample:
        """These rows, and then those of another sample."""
        ranges = None
        if self.ranges is not None and other.ranges is not None:
            ranges = np.concatenate([self.ranges, other.ranges])
        return Sample(
            np.concatenate([self.XT, other.XT], axis=1),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.weight, other.weight]),
            ranges,
        )

    def rmse(self, predicted: Floats) -> float:
        """Weighted root mean squared error; infinite if a prediction is not finite."""
        if len(self) == 0:
            return float("nan")
        if not np.all(np.isfinite(predicted)):
            return float("inf")
        with np.errstate(over="ignore"):
            return float(np.sqrt(np.average((predicted - self.y) ** 2, weights=self.weight)))

    def spread(self) -> float:
        """Weighted standard deviation of the target: the error of the mean predictor."""
        mean = np.average(self.y, weights=self.weight)
        return float(np.sqrt(np.average((self.y - mean) ** 2, weights=self.weight)))
