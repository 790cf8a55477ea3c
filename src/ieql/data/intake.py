"""A user's table on its way in: what is refused, what is warned of, which rows are used."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.data.categories import Categories
from ieql.data.dataset import Dataset
from ieql.data.table import constant_columns
from ieql.errors import IeqlError, shown
from ieql.prior import Prior

__all__ = [
    "MAX_INPUTS",
    "Measurements",
    "checked_groups",
    "refuse_extremes",
    "refuse_prior_without_inputs",
    "rows_in_time",
    "target_names",
    "warn_of_constants",
    "warn_of_large_counts",
    "weights_of",
]

Array = NDArray[np.float64]
CELLS_PER_SECOND = 300_000
"""Cells of a table for each second of the fit; bringing them in order takes about a tenth of it."""
LEAST_DRAWN = 10_000
"""So many rows are used in any time."""
LARGE_COUNT = 100.0
"""Rows that a row stands for on average, above which a warning says so."""
SMALLEST = 1e-100
"""Numbers between this and its reciprocal can be squared without a thought."""
MOST_GROUPS = 200
"""Groups that are fitted together: each has constants of its own to be found and proved."""
MAX_INPUTS = 2_000
"""Beyond, a first training takes longer than anybody waits, and the domain gigabytes."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """What is learned from.

    Attributes
    ----------
    data : Dataset
        The rows that are used, in order, with the domain.
    X, y : arrays (rows, inputs) and (rows,) or (rows, outputs)
        The user's whole table, in which outliers are named.
    outside : (X, y) or None
        Labelled points outside the data.
    is_named : bool
        Whether the columns have names of the user's.
    categories : Categories
        Which inputs stand for levels of columns of words.
    """

    data: Dataset
    X: Array
    y: Array
    outside: tuple[Array, Array] | None = None
    is_named: bool = False
    categories: Categories = field(default_factory=Categories)


def checked_groups(groups: Any, n: int, least: int = 2) -> NDArray[np.str_]:
    """One name of a group for each of n rows, as texts; a sentence if they are bad.

    Parameters
    ----------
    groups : array-like
        Texts or whole numbers.
    n : int
        Number of rows.
    least : int
        How many groups there must be.
    """
    values = np.asarray(groups)
    if values.shape != (n,):
        raise IeqlError(
            f"groups must name one group for each of the {n} rows, but its shape is {values.shape}."
        )
    if values.dtype.kind == "f" and np.all(values == np.round(values)):
        values = values.astype(np.int64)  # a column of numbers with gaps is read as 1.0, 2.0
    if values.dtype.kind == "f":
        raise IeqlError("groups must be texts or whole numbers, but it holds fractions or gaps.")
    for row, value in enumerate(values.tolist()):
        if value is None or value != value or (isinstance(value, str) and not value.strip()):
            raise IeqlError(f"groups names no group in data row {row + 1}; name one, or drop it.")
    names = np.array([str(value) for value in values.tolist()], dtype=str)
    found = len(set(names.tolist()))
    if found < least:
        raise IeqlError(
            "groups has the same name in every row; leave it out, or name two at least."
        )
    if least > 1 and found > MOST_GROUPS:
        raise IeqlError(
            f"groups names {found:,} groups, but at most {MOST_GROUPS} can be fitted together; is "
            "it the column that was meant?"
        )
    return names


def weights_of(sigma: Any, n: int) -> Array:
    """Weights of rows by the standard deviation of each: 1/σ², with a mean of one.

    So they are all one, or not all whole numbers, which would be counts.
    """
    try:
        deviations = np.asarray(sigma, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise IeqlError(f"sigma must hold numbers, not {shown(sigma)}.") from error
    if deviations.shape not in ((n,), (n, 1)):
        raise IeqlError(
            f"sigma must hold one standard deviation for each of the {n} rows, but its shape is "
            f"{deviations.shape}."
        )
    deviations = deviations.reshape(n)
    bad = ~(np.isfinite(deviations) & (deviations > 0.0))
    if bad.any():
        row = int(np.argmax(bad))
        raise IeqlError(
            f"sigma must be above zero and finite, but it is {deviations[row]:g} in data row "
            f"{row + 1}; leave rows without a known deviation out, or estimate it."
        )
    with np.errstate(over="ignore"):
        weight = (np.median(deviations) / deviations) ** 2
    if not np.all(np.isfinite(weight)) or weight.min() == 0.0:
        raise IeqlError("sigma differs by more than 150 orders of magnitude between rows.")
    found: Array = weight / weight.mean()
    return found


def rows_in_time(X: Array, seconds: float | None) -> NDArray[np.intp] | slice:
    """The rows that can be looked at in the time given: all, or some drawn from all of them."""
    most = round(CELLS_PER_SECOND * min(seconds or 1e9, 1e9) / (1 + X.shape[1]))
    if len(X) <= max(most, LEAST_DRAWN):
        return slice(None)
    most = max(most, LEAST_DRAWN)
    warnings.warn(
        f"{most:,} of {len(X):,} rows are used: more cannot be read in {seconds:g} s; "
        "give more time to use all.",
        stacklevel=4,
    )
    return np.sort(np.random.default_rng(0).choice(len(X), most, replace=False))


def target_names(given: Any, checked: Array) -> list[str]:
    """Names of the outputs: the user's where there are any.

    `given` are the targets as they came, `checked` the same as an array.
    """
    columns = getattr(given, "columns", None)
    name = getattr(given, "name", None)
    if columns is not None:
        return [str(c) for c in columns]
    if checked.ndim == 1:
        return [str(name) if name is not None else "y"]
    return [f"y{k}" for k in range(checked.shape[1])]


def refuse_extremes(data: Dataset) -> None:
    """Refuse numbers so large or small that their squares overflow or vanish."""
    names = (*data.feature_names, *data.target_names)
    for name, column in zip(names, (*data.X.T, *data.y.T), strict=True):
        size = float(np.abs(column).max())
        if size > 1.0 / SMALLEST or 0.0 < np.ptp(column) < SMALLEST:
            raise IeqlError(
                f"The column {name!r} holds numbers too large or too close together to compute "
                f"with (up to {size:.3g}); give it in another unit."
            )


def refuse_prior_without_inputs(prior: Prior, names: Sequence[str]) -> None:
    """Refuse a prior by whose rules no input can enter the equation: only a mean would be left."""
    places = [(u, k) for u in prior.units for k in range(prior.unit(u).arity)] + [("output", 0)]
    if prior.inputs and not any(
        prior.allows_input(outer, k, name) for outer, k in places for name in names
    ):
        raise IeqlError(
            "The prior allows nothing: by its rules under 'inputs' no input may enter any unit or "
            "the output; allow at least one."
        )


def warn_of_large_counts(data: Dataset, n_rows: int) -> None:
    """Whole weights are counts; many of them may have been meant as 1/σ², say 10,000 each."""
    counted = float(data.weight.sum())
    if counted > LARGE_COUNT * n_rows:
        warnings.warn(
            f"sample_weight holds whole numbers only, so they count rows: {n_rows:,} rows stand "
            f"for {counted:.3g}. If they are precisions (1/σ²), divide them by their mean.",
            stacklevel=4,
        )


def warn_of_constants(data: Dataset) -> None:
    """Name the inputs that are the same in every row, and left out."""
    constant = constant_columns(data.X)
    if len(constant):
        listed = ", ".join(repr(data.feature_names[i]) for i in constant)
        warnings.warn(
            f"The input {listed} has the same value in every row and is left out."
            if len(constant) == 1
            else f"The inputs {listed} have the same value in every row and are left out.",
            stacklevel=3,
        )
