"""Labelled rows of one target, laid out as the trainers and compiled kernels like them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sample"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sample:
    """Labelled rows: inputs as features × rows, target and weight."""

    XT: Floats
    y: Floats
    weight: Floats

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
        rows = np.sort(rng.choice(len(self), size=n, replace=False))
        return Sample(np.ascontiguousarray(self.XT[:, rows]), self.y[rows], self.weight[rows])

    def head(self, n: int) -> Sample:
        """The first n rows; the order of a data set's rows is random already."""
        if len(self) <= n:
            return self
        return Sample(np.ascontiguousarray(self.XT[:, :n]), self.y[:n], self.weight[:n])

    def standing_for_all(self, n: int) -> Sample:
        """The first n rows, with larger weights: they stand for all measured rows."""
        part = self.head(n)
        if part is self:
            return self
        return Sample(part.XT, part.y, part.weight * (self.weight.sum() / part.weight.sum()))

    def subset(self, rows: NDArray[np.bool_]) -> Sample:
        """Some of the rows."""
        if rows.all():
            return self
        return Sample(np.ascontiguousarray(self.XT[:, rows]), self.y[rows], self.weight[rows])

    def joined(self, other: Sample) -> Sample:
        """These rows, and then those of another sample."""
        return Sample(
            np.concatenate([self.XT, other.XT], axis=1),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.weight, other.weight]),
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
