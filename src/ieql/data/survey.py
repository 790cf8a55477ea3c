"""What is in a table, what a fit would do about it, and the command for it: ``ieql check``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ieql.column_units import unit_in_name
from ieql.data.categories import has_few_levels
from ieql.data.cells import ColumnKind
from ieql.data.dates import unclear_dates
from ieql.data.notes import Kind, Note
from ieql.errors import IeqlError, counted

if TYPE_CHECKING:
    import pandas as pd

    from ieql.data.reading import Table

__all__ = ["ColumnFacts", "Survey", "sentinel_notes", "survey", "twin_notes"]

SENTINELS = (999.0, 9999.0, 99999.0, 999999.0, 999.25, 9999.9)
"""Numbers that loggers write for a missing value, and the same below zero."""
APART = 0.25
"""A sentinel lies outside the other values by more than this share of their range."""
FENCE = 5.0
"""Values further from the middle half than so many times its width are called far off."""
RARE = 0.01
"""If more than this share is far off, the column is skewed and has no outliers."""
EXAMPLES = 4


@dataclass(frozen=True)
class ColumnFacts:
    """One column: what it holds, and what `fit` does with it."""

    name: str
    kind: str
    unit: str
    low: str
    high: str
    n_missing: int
    then: str


@dataclass(frozen=True)
class Survey:
    """What is in a table.

    Attributes
    ----------
    title : str
        The file and its size.
    columns : tuple of ColumnFacts
        One for each column.
    notes : tuple of Note
        What was recognised, and what looks wrong.
    command : str
        The command to run.
    """

    title: str
    columns: tuple[ColumnFacts, ...]
    notes: tuple[Note, ...]
    command: str

    def lines(self) -> list[str]:
        """The survey as lines of text."""
        heads = ("column", "holds", "unit", "lowest", "highest", "missing", "in a fit")
        rows = [
            (c.name, c.kind, c.unit, c.low, c.high, str(c.n_missing or ""), c.then)
            for c in self.columns
        ]
        widths = [max(len(row[j]) for row in [heads, *rows]) for j in range(len(heads))]
        table = [
            "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in [heads, *rows]
        ]
        said = [f"{n.text[0].upper()}{n.text[1:]}." for n in self.notes if n.kind is Kind.FACT]
        said += [note.line() for note in self.notes if note.kind is not Kind.FACT]
        return [self.title, *said, "", *table, "", "Next, try:", f"  {self.command}"]


def survey(table: Table) -> Survey:
    """Look at every column of a table, and say what a fit would do about it."""
    frame = table.frame
    numbers = [n for n in frame.columns if table.kinds[n] == ColumnKind.NUMBER]
    units = _units(table)
    columns = tuple(_facts(table, name, units.get(name, "")) for name in frame.columns)
    notes = [
        *table.notes,
        *sentinel_notes(frame[numbers]),
        *twin_notes(frame[numbers]),
        *_far_off(frame[numbers]),
    ]
    repeated = int(frame.duplicated().sum())
    if repeated:
        notes.append(
            Note(Kind.FACT, f"some rows are there more than once ({repeated}); each counts")
        )
    title = f"{table.name}: {len(frame):,} rows, {len(frame.columns)} columns"
    return Survey(title, columns, tuple(notes), _command(table, columns, units))


def _units(table: Table) -> dict[str, str]:
    """Units from the file, and from the names of columns where pint can tell that they are some."""
    found = dict(table.units)
    for name in table.frame.columns:
        try:
            unit = unit_in_name(str(name))
        except IeqlError:  # no pint: nothing is offered
            break
        if unit is not None:
            found.setdefault(name, unit)
    return found


def _facts(table: Table, name: str, unit: str) -> ColumnFacts:
    column, kind = table.frame[name], table.kinds[name]
    n_missing = int(column.isna().sum())
    present = column.dropna()
    low = high = ""
    if kind == ColumnKind.NUMBER:
        values = present.astype(np.float64)
        low, high = f"{values.min():g}", f"{values.max():g}"
        then = "left out: always the same" if values.min() == values.max() else "input or target"
    elif kind == ColumnKind.TEXT:
        levels = present.astype(str).unique()
        low = f"{len(levels)} different"
        few = has_few_levels(present)
        then = "left out; may be --categories or --groups" if few else "left out"
    elif kind == ColumnKind.DATE:
        low, high = (str(v)[:19] for v in (present.iloc[0], present.iloc[-1]))
        unclear = _unclear(present)
        then = f"left out; {unclear}" if unclear else "left out; seconds if --inputs names it"
    elif kind == ColumnKind.MIXED:
        then = "refused: correct it, or --na, or --exclude"
    else:
        then = "left out: empty"
    if n_missing and kind == ColumnKind.NUMBER:
        then += ", without these rows"
    return ColumnFacts(str(name), kind, unit, low, high, n_missing, then)


def _unclear(column: pd.Series[Any]) -> str:
    if column.dtype.kind in "mM":
        return ""
    reason = unclear_dates(str(text).strip() for text in column)
    return "--dates tells day and month" if "month" in reason else reason


def _command(table: Table, columns: Sequence[ColumnFacts], units: dict[str, str]) -> str:
    """The fit of the last column of numbers; the user will know better which."""
    names = [c.name for c in columns if c.then.startswith("input or target")]
    words = ["ieql", "fit", *table.files, "--target", names[-1] if names else "NAME"]
    for name, value in table.reading.told().items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        else:
            value = {".": "point", ",": "comma"}.get(value, value) if name == "decimal" else value
            for part in value if isinstance(value, list) else [value]:
                words += [flag, str(part)]
    if set(units) & set(names):
        words.append("--units")
    return shlex.join(words)


# --- what looks wrong ----------------------------------------------------------------------------


def _values(column: pd.Series[Any]) -> NDArray[np.float64]:
    try:
        values = column.to_numpy(np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return np.empty(0)
    return np.asarray(values[np.isfinite(values)])


def sentinel_notes(frame: pd.DataFrame) -> list[Note]:
    """Warn of numbers such as -9999 that lie apart from all others: missing values, probably."""
    notes = []
    for name in frame.columns:
        values = _values(frame[name])
        for number in (sign * s for s in SENTINELS for sign in (-1.0, 1.0)):
            n = int((values == number).sum())
            if n and _is_apart(number, n, values):
                words = (
                    f"{number:g} stands {counted(n, 'time')} in {str(name)!r}, apart from all "
                    f"other values; if it means a missing cell, say --na {number:g}"
                )
                notes.append(Note(Kind.WARNING, words))
    return notes


def _is_apart(number: float, n: int, values: NDArray[np.float64]) -> bool:
    others = values[values != number]
    if not len(others):
        return False
    low, high = float(others.min()), float(others.max())
    distance = max(low - number, number - high)
    return distance > APART * (high - low) or (distance > 0 and n > 1)


def twin_notes(frame: pd.DataFrame) -> list[Note]:
    """Warn of columns that are the same in every row: an equation may have either of them."""
    seen: dict[bytes, str] = {}
    notes = []
    for name in frame.columns:
        column = frame[name]
        values = _values(column)
        if len(values) < len(column) or not np.ptp(values):
            continue
        twin = seen.setdefault(values.tobytes(), str(name))
        if twin != str(name):
            words = f"{str(name)!r} is the same as {twin!r} in every row; leave one of them out"
            notes.append(Note(Kind.WARNING, words))
    return notes


def _far_off(frame: pd.DataFrame) -> list[Note]:
    """Say which columns have a few values far from all others."""
    found = []
    for name in frame.columns:
        values = _values(frame[name])
        values = values[~np.isin(np.abs(values), SENTINELS)]
        if len(values) < 24:
            continue
        first, third = np.quantile(values, [0.25, 0.75])
        reach = FENCE * (third - first)
        far = values[(values < first - reach) | (values > third + reach)]
        if reach and 0 < len(far) <= max(RARE * len(values), 1):
            shown = ", ".join(f"{value:g}" for value in far[:EXAMPLES])
            found.append(f"{str(name)!r} ({shown}{', …' if len(far) > EXAMPLES else ''})")
    if not found:
        return []
    words = f"a few values are far from the others in {', '.join(found[:6])}"
    return [
        Note(Kind.WARNING, f"{words}; rows far from the equation are left out of a fit, and named")
    ]
