"""Tables of measurements as users have them: every fault said in one sentence."""

from __future__ import annotations

import re
import reprlib
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ieql.errors import IeqlError, nearest

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MIN_ROWS",
    "check_table",
    "constant_columns",
    "plain_number",
    "split_file",
    "split_target",
    "warn_of_rounding",
]

MIN_ROWS = 4
"""Fewer rows than this cannot tell an equation from a coincidence."""

_DATE = re.compile(r"\s*(\d{1,4}([-/.])\d{1,2}\2\d{1,4}|\d{1,2}:\d{2})\D?.*")
_WHOLE = re.compile(r"\s*[-+]?\d{16,}\s*")
HALVES = re.compile("[\ud800-\udfff]")
_EXACT = 2**53
"""Up to here every whole number is a 64-bit float."""


# --- checking --------------------------------------------------------------------------------


def check_table(X: Any, what: str = "X", *, min_rows: int = MIN_ROWS) -> None:
    """Refuse a table that cannot be learned from, saying what is wrong, where and how to mend it.

    Looks at data frames, series, arrays and lists: too few rows, duplicated and missing names,
    dates, text, missing and infinite values. Booleans count as 0 and 1; a column of objects is
    accepted if every object converts to a number. Other inputs (sparse matrices, arrays of odd
    objects or shapes) pass: scikit-learn's own checks follow and speak for them.

    Parameters
    ----------
    X : object
        The table.
    what : str
        What the user calls it, for the message.
    min_rows : int
        The least number of rows; 1 for tables that are only predicted on.
    """
    X = _as_array(X)
    columns = _named_columns(X)
    if columns is None:
        return
    if len(X) < min_rows:
        needed = f"{min_rows} rows are" if min_rows > 1 else "1 row is"
        raise IeqlError(f"{what} has {len(X)} sample(s); at least {needed} needed.")
    if hasattr(X, "columns"):
        _check_names(list(X.columns), what)
    else:
        _refuse_halves(getattr(X, "name", None), what)
    for label, values in columns:
        _check_column(values, f"{what}, {label}")


def _as_array(X: Any) -> Any:
    """A list as an array; one that is none, and everything else, as it is."""
    if not isinstance(X, list | tuple):
        return X
    try:
        return np.asarray(X)
    except ValueError:  # rows of different lengths
        return X


def _check_names(names: list[Any], what: str) -> None:
    if not names:
        raise IeqlError(f"{what} has no columns; at least one is needed.")
    _refuse_duplicates(names, what)
    if not any(isinstance(name, str) for name in names):
        return  # numbers, as in a frame without names
    for name in names:
        _refuse_halves(name, what)
    for position, name in enumerate(names, start=1):
        if name is None or name != name or not str(name).strip():
            raise IeqlError(f"{what}: column {position} has no name; name it or leave it out.")
        if not isinstance(name, str):
            raise IeqlError(
                f"{what}: the name {name!r} of column {position} is not text like the others; make "
                "all names text, for example with X.columns = X.columns.astype(str)."
            )


def _refuse_halves(name: Any, what: str) -> None:
    """Refuse a name that no file can hold and no terminal show."""
    if isinstance(name, str) and HALVES.search(name):
        raise IeqlError(
            f"{what}: the name {reprlib.repr(name)} of a column holds half a character (a lone "
            "surrogate), as text read with the wrong encoding does; rename the column."
        )


def _named_columns(X: Any) -> Iterator[tuple[str, Any]] | None:
    """Yield each column of a frame, series or numeric array with words for it; None for others."""
    if isinstance(X, np.ndarray):
        if X.ndim == 1:
            return iter([("its column", X)])
        if X.ndim != 2:
            return None
        return ((f"column {j + 1}", X[:, j]) for j in range(X.shape[1]))
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return ((f"column {name!r}", X.iloc[:, j]) for j, name in enumerate(X.columns))
    if hasattr(X, "iloc") and hasattr(X, "name"):
        return iter([(f"column {X.name!r}" if X.name is not None else "its column", X)])
    return None


def _check_column(column: Any, where: str) -> None:
    values = _cells(column, where) if isinstance(column, np.ndarray) else _numbers(column, where)
    if values.dtype.kind == "c":
        raise IeqlError(
            f"Complex data not supported: {where} holds complex numbers; give the real and the "
            "imaginary part as separate columns."
        )
    if values.dtype.kind != "f":  # integers and booleans
        return
    finite = np.isfinite(values)
    if finite.all():
        return
    for bad, words, remedy in (
        (np.isnan(values), "missing (NaN)", "fill these cells or drop the rows"),
        (np.isinf(values), "infinite", "replace these cells or drop the rows"),
    ):
        if bad.any():
            raise IeqlError(
                f"{where}: {int(bad.sum())} of {len(values)} values are {words}, the first in data "
                f"row {int(bad.argmax()) + 1}; {remedy}."
            )


def _cells(values: NDArray[Any], where: str) -> NDArray[Any]:
    """Return the column of an array, as numbers if its objects are; text is refused."""
    if values.dtype.kind in "mM":
        raise _dates(where)
    if values.dtype.kind not in "OUS":
        return values
    try:
        return _as_floats(values)
    except (TypeError, ValueError, OverflowError):
        cells = values.tolist()
        rows = (
            i for i, v in enumerate(cells) if isinstance(v, str | bytes | int) and not _is_number(v)
        )
        row = next(rows, None)
        if row is None:
            return values  # stranger things, about which scikit-learn has its own words
        raise _no_number(cells[row], row, where) from None


def _dates(where: str) -> IeqlError:
    return IeqlError(
        f"{where} holds dates or times; turn it into numbers (for example seconds since the "
        "start) or leave the column out."
    )


def _no_number(value: object, row: int, where: str) -> IeqlError:
    """What to say about a cell that is not a number, by what it looks like."""
    found = f"{where} holds {reprlib.repr(value)} in data row {row + 1}"
    if isinstance(value, str) and _DATE.fullmatch(value):
        return IeqlError(
            f"{found}, a date or time; turn the column into numbers (for example seconds since the "
            "start) or leave it out."
        )
    if isinstance(value, str) and _is_number(value.replace(",", ".", 1)):
        return IeqlError(
            f"{found}, with a comma in it; write all numbers with a decimal point, or all with a "
            "decimal comma and a semicolon between the columns, and no thousands separators."
        )
    if isinstance(value, int):
        return IeqlError(f"{found}, which is too large; give the column in another unit.")
    if isinstance(value, str | bytes) and _is_number_but_for_underscores(value):
        return IeqlError(
            f"{found}, with an underscore in it; write plain numbers (no thousands separators) or "
            "leave the column out."
        )
    return IeqlError(
        f"{found}, which is not a number; write plain numbers (no units, no thousands separators) "
        "or leave the column out."
    )


def _is_number_but_for_underscores(value: str | bytes) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _numbers(column: pd.Series[Any], where: str) -> NDArray[Any]:
    """Return the column of a frame as an array of numbers, or raise for dates and text."""
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biufc":
        return np.asarray(column)
    if getattr(dtype, "kind", "O") in "mM" or isinstance(dtype, pd.PeriodDtype):
        raise _dates(where)
    try:
        # By way of objects: numeric extension types and categories convert in their own ways.
        objects = np.asarray(column, dtype=object)
        return _as_floats(np.where(pd.isna(objects), np.nan, objects))
    except (TypeError, ValueError, OverflowError):
        row = _first_non_number(objects)
        raise _no_number(objects[row], row, where) from None


def _first_non_number(objects: NDArray[Any]) -> int:
    """Return the first row that is not a number, sparing decimal commas if anything is worse."""
    import pandas as pd

    bad = [i for i, v in enumerate(objects) if not (pd.api.types.is_scalar(v) and pd.isna(v))]
    bad = [i for i in bad if not _is_number(objects[i])]
    worse = (i for i in bad if not _is_number(str(objects[i]).replace(",", ".")))
    return next(worse, bad[0])


def plain_number(value: Any) -> float:
    """`float`, but for what only programs write: an underscore is no digit.

    Python reads ``2024_01_1`` as 2024011; in a table that is a name or a date.
    """
    mark: Any = b"_" if isinstance(value, bytes) else "_"
    if isinstance(value, str | bytes) and mark in value:
        raise ValueError(f"there is an underscore in {value!r}")
    return float(value)


def _as_floats(values: NDArray[Any]) -> NDArray[np.float64]:
    """Texts and objects as numbers, each as `plain_number` reads it."""
    for value in values.tolist():
        if isinstance(value, str | bytes):
            plain_number(value)
    return values.astype(np.float64)


def _is_number(value: object) -> bool:
    try:
        plain_number(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _refuse_duplicates(names: Sequence[object], where: str) -> None:
    seen: set[object] = set()
    for name in names:
        if name in seen:
            raise IeqlError(
                f"The column name {name!r} appears {list(names).count(name)} times in {where}; "
                "every column needs its own name."
            )
        seen.add(name)


def warn_of_rounding(X: Any, what: str = "X") -> None:
    """Say which columns hold whole numbers that a 64-bit float cannot: they are rounded.

    Beyond 2^53 not every whole number is a float: 9007199254740993 becomes …992. An equation
    hardly minds, but who has put a serial number or a time in nanoseconds into a column should
    know it. The table must have passed `check_table`.
    """
    for label, column in _named_columns(_as_array(X)) or ():
        row = _first_rounded(np.asarray(column))
        if row is not None:
            warnings.warn(
                f"{what}, {label} holds whole numbers beyond 2^53, the first in data row "
                f"{row + 1}, which are rounded to 16 digits; subtract a constant from the column "
                "if the last digits matter.",
                stacklevel=4,
            )


def _first_rounded(values: NDArray[Any]) -> int | None:
    """Return the first row whose whole number is not a 64-bit float."""
    if values.dtype.kind in "iu":
        rows = np.flatnonzero((values > _EXACT) | (values < -_EXACT)).tolist()
    elif values.dtype.kind in "OU":
        rows = [i for i, v in enumerate(values.tolist()) if _WHOLE.fullmatch(str(v))]
    else:
        return None
    return next((i for i in rows if int(float(values[i])) != int(values[i])), None)


def constant_columns(X: Any) -> list[Any]:
    """Return the columns that hold one value only: names of a frame, positions of an array.

    Such an input cannot matter to any equation; it is for the caller to say so. The table must
    have passed `check_table`.
    """
    if isinstance(X, np.ndarray):
        return [j for j in range(X.shape[1]) if _is_constant(X[:, j])]
    return [name for name in X.columns if _is_constant(_numbers(X[name], f"column {name!r}"))]


def _is_constant(values: NDArray[Any]) -> bool:
    return len(values) > 0 and bool(values.min() == values.max())


def split_target(
    frame: pd.DataFrame, targets: Sequence[str], inputs: Sequence[str] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Part a table into inputs and targets by the names of its columns.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    targets : sequence of str
        The columns to be explained, at least one.
    inputs : sequence of str, optional
        The columns to explain them by; None takes all the others.

    Returns
    -------
    tuple of pandas.DataFrame
        The inputs and the targets, each in the order asked for.
    """
    columns = list(frame.columns)
    _refuse_duplicates(columns, "the table")
    if not targets:
        raise IeqlError("No target is given; name the column that the equation is to explain.")
    if inputs is None:
        inputs = [name for name in columns if name not in targets]
    for role, names in (("target", targets), ("input", inputs)):
        _refuse_duplicates(names, f"the {role}s asked for")
        for name in names:
            if name not in columns and len(columns) == 1:
                raise IeqlError(
                    f"The {role} {name!r} is not a column of the table, whose only column is "
                    f"{columns[0]!r}; separate columns by a comma, a semicolon, a tab or a "
                    "vertical bar."
                )
            if name not in columns:
                raise IeqlError(
                    f"The {role} {name!r} is not a column of the table.{nearest(name, columns)} "
                    f"The columns are {_listed(columns)}."
                )
    for name in inputs:
        if name in targets:
            raise IeqlError(f"The column {name!r} is both a target and an input; choose one role.")
    if not inputs:
        raise IeqlError("No input column is left besides the target; the table needs at least one.")
    return frame[list(inputs)], frame[list(targets)]


def split_file(
    path: Path,
    frame: pd.DataFrame,
    targets: Sequence[str],
    inputs: Sequence[str] | None,
    *,
    min_rows: int = MIN_ROWS,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`split_target` and `check_table` of a table from a file, which is named if there is a fault.

    Columns that are neither input nor target may hold anything.
    """
    where = f"{str(path)!r}"
    try:
        X, y = split_target(frame, targets, inputs)
    except IeqlError as error:
        raise IeqlError(f"{where}: {error}") from error
    for table in (X, y):
        check_table(table, where, min_rows=min_rows)
    return X, y


def _listed(names: Sequence[object], limit: int = 12) -> str:
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
