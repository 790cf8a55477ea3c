"""The columns of a table: each cleaned, and a note for each thing that was done."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ieql.data.cells import Cleaned, ColumnKind, clean
from ieql.data.notes import Kind, Note, listed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Columns", "cleaned", "text_columns"]


@dataclass(frozen=True)
class Columns:
    """The columns of a table, cleaned, and what was noticed.

    Attributes
    ----------
    frame : pandas.DataFrame
        The columns that have names.
    kinds : mapping
        What each holds, see `ColumnKind`.
    units : mapping
        Units that stood in the cells or below the header.
    decimal : str
        The decimal mark of the file.
    notes : tuple of Note
        What was recognised and what was left out.
    """

    frame: pd.DataFrame
    kinds: Mapping[str, str]
    units: Mapping[str, str] = field(default_factory=dict)
    decimal: str = "."
    notes: tuple[Note, ...] = ()


def text_columns(frame: pd.DataFrame) -> list[str]:
    """The columns that do not hold numbers, as pandas sees it."""
    from pandas.api.types import is_numeric_dtype

    return [name for name in frame.columns if not is_numeric_dtype(frame[name].dtype)]


def cleaned(
    frame: pd.DataFrame,
    decimal: str,
    na: Collection[str] = (),
    units: Mapping[str, str] | None = None,
    notes: Sequence[Note] = (),
    as_text: Collection[str] = (),
) -> Columns:
    """Clean every column, and say for each thing done in which columns it was."""
    import pandas as pd

    numbers = [x for x in (_number(text) for text in na) if x is not None]
    columns: dict[str, Cleaned] = {}
    told_missing: list[str] = []
    for name in frame.columns:
        column = frame[name]
        if name in as_text:
            columns[name] = Cleaned(column, ColumnKind.TEXT)
        elif column.dtype.kind in "mM":
            kind = ColumnKind.DATE if column.notna().any() else ColumnKind.EMPTY
            columns[name] = Cleaned(column, kind)
        elif name in text_columns(frame[[name]]):
            columns[name] = clean(column, decimal, na)
        else:
            columns[name] = Cleaned(column, ColumnKind.NUMBER)
        done = columns[name]
        if done.kind == ColumnKind.NUMBER and numbers and done.values.dtype.kind in "iuf":
            hit = done.values.isin(numbers)
            if hit.any():
                told_missing.append(name)
                values = done.values.astype(np.float64).mask(hit)
                columns[name] = Cleaned(values, done.kind, done.unit, done.grouped, done.words)
        if columns[name].values.isna().all():
            columns[name] = Cleaned(columns[name].values, ColumnKind.EMPTY)
    said = [*notes, *_about_cells(columns)]
    if told_missing:
        said.append(Note(Kind.READ, f"{', '.join(na)} means a missing cell, as told"))
    found = {name: c.unit for name, c in columns.items() if c.unit} | dict(units or {})
    table = pd.DataFrame({name: c.values for name, c in columns.items()}, index=frame.index)
    kinds = {name: c.kind for name, c in columns.items()}
    return Columns(table, kinds, found, decimal, tuple(said))


def _about_cells(columns: Mapping[str, Cleaned]) -> list[Note]:
    notes = []
    grouped = [name for name, c in columns.items() if c.grouped]
    if grouped:
        example = columns[grouped[0]].grouped
        words = f"thousands separators, such as {example!r}, in {listed(grouped)}"
        notes.append(Note(Kind.READ, words))
    for unit in dict.fromkeys(c.unit for c in columns.values() if c.unit):
        names = [name for name, c in columns.items() if c.unit == unit]
        words = f"{unit!r} stands behind every number of {listed(names)}, which is used as written"
        notes.append(Note(Kind.READ, words))
    counts: dict[str, int] = {}
    for c in columns.values():
        for word, n in c.words.items():
            counts[word] = counts.get(word, 0) + n
    if counts:
        words = ", ".join(f"{word!r} ({n})" for word, n in list(counts.items())[:6])
        notes.append(Note(Kind.READ, f"these cells count as missing: {words}"))
    return notes


def _number(text: str) -> float | None:
    with contextlib.suppress(ValueError):
        return float(text.replace(",", "."))
    return None
