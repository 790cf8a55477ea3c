"""What errors cost, as weights of the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ieql.data.robust import THRESHOLDS, first_trust
from ieql.data.sample import Sample
from ieql.errors import IeqlError

__all__ = ["all_rows", "trusted", "weighted", "with_weights"]

Floats = NDArray[np.float64]
LEAST_SIZE = 1e-6
"""Part of its median below which the size of a target does not make errors larger."""
ONE_VALUE = 0.7
"""Part of the rows that may have one and the same value if the loss is robust."""


def weighted(own: Sample, checks: Sample, loss: str, name: str) -> tuple[Sample, Sample]:
    """Rows to train and to validate by, weighted as the loss asks.

    For relative errors a row weighs 1/y²; the weights keep their sum, the number of rows.
    """
    if loss in THRESHOLDS:
        _refuse_one_value(all_rows(own, checks), loss, name)
    if loss != "relative":
        return own, checks
    rows = all_rows(own, checks)
    low, high = float(rows.y.min()), float(rows.y.max())
    if low <= 0.0 <= high:
        raise IeqlError(
            f"loss='relative' compares errors with the size of {name!r}, which goes from {low:g} "
            f"to {high:g}: all values must be above zero, or all below; use another loss, or give "
            "standard deviations (sigma)."
        )
    size = np.abs(rows.y)
    weight = rows.weight / np.maximum(size / np.median(size), LEAST_SIZE) ** 2
    weight *= rows.weight.sum() / weight.sum()
    return with_weights(own, checks, weight)


def _refuse_one_value(rows: Sample, loss: str, name: str) -> None:
    """Refuse a target that hardly ever changes: to a robust loss all other values are outliers."""
    values, place = np.unique(rows.y, return_inverse=True)
    share = np.bincount(place, weights=rows.weight).max() / rows.weight.sum()
    if len(values) > 1 and share > ONE_VALUE:
        raise IeqlError(
            f"{share:.0%} of the rows of {name!r} have the same value, so that loss={loss!r} would "
            "take all others for outliers; use loss='squared'."
        )


def trusted(own: Sample, checks: Sample, loss: str) -> tuple[Sample, Sample]:
    """The rows as the search weighs them: if the loss is robust, those far off less."""
    if loss not in THRESHOLDS:
        return own, checks
    rows = all_rows(own, checks)
    return with_weights(own, checks, rows.weight * first_trust(rows))


def with_weights(own: Sample, checks: Sample, weight: Floats) -> tuple[Sample, Sample]:
    """Rows to train and to validate by with other weights, given for all of them."""
    train = replace(own, weight=weight[: len(own)])
    return train, train if checks is own else replace(checks, weight=weight[len(own) :])


def all_rows(train: Sample, validation: Sample) -> Sample:
    """The rows of both parts; they are one where there were too few rows to part."""
    return train if validation is train else train.joined(validation)
