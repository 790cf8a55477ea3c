"""Rows whose target is known to lie between two values, and what an equation sees of them.

A reading below the limit of detection, a part that passed one test and failed the next, a torque
that was held within a band: of such a row two bounds are known, one of which may be open. An
equation that lies between them is not wrong there; one outside is wrong by its distance from the
nearest of them. Within the bounds a pull towards the middle, small beside that of a measured value,
keeps constants from resting at an edge.

Least squares on what the equation sees, made of its own prediction, walks to the constants of the
least cost, but the more slowly the more rows lie within their ranges: these hold it where it is. So
there are two views with the same gradient: one to judge by, and one to take a step by.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.errors import IeqlError, shown

__all__ = [
    "TRUST",
    "between",
    "checked_ranges",
    "measured_exactly",
    "refuse_beside_ranges",
    "step_between",
]

Floats = NDArray[np.float64]
PULL = 0.25
"""What a unit's distance from the middle of its range counts, beside one from a measured value."""
HELD = 0.01
"""What a row with an open side, within it, holds a step back, beside a measured value."""
TRUST = 0.1
"""Weight of a range, whose value is a guess, in trainings beside a measured value."""


def checked_ranges(ranges: Any, y: Any, n: int) -> tuple[Floats, Floats]:
    """The target of n rows, without gaps, and the lower and upper bound of each.

    Parameters
    ----------
    ranges : array-like (rows, 2)
        Lower and upper bound of each row. A gap is an open side; with both sides open the row has
        been measured, and its bounds are that value.
    y : array-like (rows,) or None
        The values that are known. Where there is none, the middle of the range stands for it, or
        its one bound.
    n : int
        Number of rows.
    """
    try:
        bounds = np.array(ranges, dtype=np.float64)
        values = np.full(n, np.nan) if y is None else np.array(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise IeqlError(f"y_range and y must hold numbers, not {shown(ranges)}.") from error
    if bounds.shape != (n, 2):
        raise IeqlError(
            f"y_range must hold a lower and an upper bound for each of the {n} rows, but its shape "
            f"is {bounds.shape}."
        )
    if values.shape not in ((n,), (n, 1)):
        raise IeqlError(
            f"Ranges are for one target with {n} rows, but the shape of y is {values.shape}; fit "
            "one target after the other."
        )
    values = values.reshape(n)
    low = np.where(np.isnan(bounds[:, 0]), -np.inf, bounds[:, 0])
    high = np.where(np.isnan(bounds[:, 1]), np.inf, bounds[:, 1])
    wrong = (low > high) | (low == np.inf) | (high == -np.inf)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise IeqlError(
            f"y_range goes from {low[row]:.15g} to {high[row]:.15g} in data row {row + 1}; the "
            "lower bound comes first, and one of them is finite."
        )
    is_open = np.isinf(low) & np.isinf(high)
    if np.any(is_open & np.isnan(values)):
        row = int(np.argmax(is_open & np.isnan(values)))
        raise IeqlError(
            f"Data row {row + 1} has neither a value nor a bound; give one of them, or leave the "
            "row out."
        )
    outside = (values < low) | (values > high)
    if outside.any():
        row = int(np.argmax(outside))
        raise IeqlError(
            f"y is {values[row]:g} in data row {row + 1}, but y_range says {low[row]:g} to "
            f"{high[row]:g}; correct one of them, or leave the value empty."
        )
    low, high = np.where(is_open, values, low), np.where(is_open, values, high)
    values = np.where(np.isnan(values), _middle(low, high), values)
    return values, np.column_stack([low, high])


def _middle(low: Floats, high: Floats) -> Floats:
    """The middle of each range, or its one bound."""
    lowest = np.where(np.isfinite(low), low, high)
    highest = np.where(np.isfinite(high), high, low)
    middle: Floats = lowest / 2.0 + highest / 2.0
    return middle


def between(rows: Sample, predicted: Floats) -> Sample:
    """The rows as an equation that predicts these values sees them.

    A measured value is seen as it is. Of a range the nearest value is seen, moved towards its
    middle by a part of the distance (`PULL`); where a side is open there is no middle.
    """
    if rows.ranges is None or not np.all(np.isfinite(predicted)):
        return rows
    low, high = rows.ranges.T
    nearest = np.clip(predicted, low, high)
    is_closed = np.isfinite(low) & np.isfinite(high)
    middle = np.where(is_closed, _middle(low, high), nearest)
    return replace(rows, y=nearest + PULL * (middle - nearest))


def step_between(rows: Sample, predicted: Floats) -> Sample:
    """Rows by which least squares takes a whole step from these values to the least cost.

    They pull as those of `between` do: within a range the middle itself, with less weight.
    """
    seen = between(rows, predicted)
    if rows.ranges is None or seen is rows:
        return rows
    low, high = rows.ranges.T
    is_within = (low < predicted) & (predicted < high)
    is_closed = np.isfinite(low) & np.isfinite(high)
    hold = np.where(is_closed, PULL, HELD)
    y = np.where(is_within, predicted + (seen.y - predicted) / hold, seen.y)
    return replace(seen, y=y, weight=rows.weight * np.where(is_within, hold, 1.0))


def measured_exactly(rows: Sample) -> NDArray[np.bool_]:
    """Which rows have a value rather than a range."""
    if rows.ranges is None:
        return np.ones(len(rows), dtype=bool)
    exact: NDArray[np.bool_] = rows.ranges[:, 0] == rows.ranges[:, 1]
    return exact


def refuse_beside_ranges(loss: str, has_form: bool, has_groups: bool) -> None:
    """Refuse what is not fitted to ranges, in one sentence."""
    if loss not in ("auto", "squared"):
        raise IeqlError(
            f"Ranges are fitted by the squares of distances from them; with loss={loss!r} leave "
            "them out, or use the loss auto or squared."
        )
    for what, is_given in (("a form", has_form), ("groups", has_groups)):
        if is_given:
            raise IeqlError(f"A fit with {what} takes no ranges; leave one of the two out.")
