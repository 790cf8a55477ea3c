"""Tables from files: text of many kinds, Excel, Parquet, Feather, MDF; several at once."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ieql.data.cells import ColumnKind
from ieql.data.columns import Columns, cleaned
from ieql.data.dates import ORDERS
from ieql.data.layout import find_layout
from ieql.data.measurement_files import MDF_ENDINGS, table_of_mdf
from ieql.data.notes import Kind, Note, sentences
from ieql.data.sheet_files import ARROW_ENDINGS, EXCEL_ENDINGS, frame_of_arrow, sheet_as_text
from ieql.data.text_content import BLANKS, GAPS, TextContent, content_of_file
from ieql.data.text_table import read_text
from ieql.errors import IeqlError, nearest

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FILE_COLUMN", "Reading", "Table", "read_csv", "read_table"]

FILE_COLUMN = "file"
"""The column that tells which of several files a row is from."""


@dataclass(frozen=True)
class Reading:
    """How files are read, as far as the user says it; the rest is found by looking at them.

    Attributes
    ----------
    skip_rows : int, optional
        Lines above the header.
    units_row : bool
        Whether the line below the header holds units, or something else that is no data.
    no_header : bool
        Whether the first line is data; columns are called column1, column2, … then.
    decimal : "." or ",", optional
        The decimal mark.
    dates : "day-first" or "month-first", optional
        What 01/02/2024 means.
    na : tuple of str
        Words or numbers that mean a missing cell, besides the usual ones.
    exclude : tuple of str
        Columns that are left out.
    sheet : str, optional
        The sheet of an Excel file, or the raster of an MDF file, by name or number.
    raster : float, optional
        Seconds between two rows, to which channels of an MDF file are interpolated.
    """

    skip_rows: int | None = None
    units_row: bool = False
    no_header: bool = False
    decimal: str | None = None
    dates: str | None = None
    na: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    sheet: str | None = None
    raster: float | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Reading:
        """Check what a user says: a sentence if it is wrong."""
        unknown = [name for name in given if name not in cls.__dataclass_fields__]
        if unknown:
            raise IeqlError(
                f"read_table has no option {unknown[0]!r}."
                f"{nearest(unknown[0], cls.__dataclass_fields__)}"
            )
        said = {k: v for k, v in given.items() if v is not None}
        for name in ("na", "exclude"):
            value = said.get(name, ())
            if isinstance(value, str | int | float):
                value = (value,)
            said[name] = tuple(str(part) for part in value)
        skip = said.get("skip_rows")
        if skip is not None and (isinstance(skip, bool) or not isinstance(skip, int) or skip < 0):
            raise IeqlError(f"skip_rows must be a whole number from 0 on, not {skip!r}.")
        raster = said.get("raster")
        if raster is not None:
            is_number = isinstance(raster, int | float) and not isinstance(raster, bool)
            if not (is_number and 0.0 < raster < float("inf")):
                raise IeqlError(f"raster must be a number of seconds above 0, not {raster!r}.")
            said["raster"] = float(raster)
        if said.get("sheet") is not None:
            said["sheet"] = str(said["sheet"])
        marks = {"point": ".", "comma": ","}
        said["decimal"] = marks.get(str(said.get("decimal")), said.get("decimal"))
        for name, allowed in (("decimal", (".", ",")), ("dates", ORDERS)):
            if said.get(name) not in (None, *allowed):
                choices = " or ".join(map(repr, allowed))
                raise IeqlError(f"{name} must be {choices}, not {said[name]!r}.")
        return cls(**said)

    def told(self) -> dict[str, Any]:
        """What the user says, ready for JSON; what is left open is not in it."""
        default = Reading()
        found = {k: getattr(self, k) for k in self.__dataclass_fields__}
        return {
            k: list(v) if isinstance(v, tuple) else v
            for k, v in found.items()
            if v != getattr(default, k)
        }


@dataclass(frozen=True, eq=False)
class Table:
    """A table from one file or several, and what was noticed while it was read.

    Attributes
    ----------
    frame : pandas.DataFrame
        The columns: numbers, with NaN where a cell is missing; texts and dates as they are written.
    name : str
        The files as messages name them.
    kinds : mapping
        What each column holds: numbers, text, dates or times, numbers and text, or nothing.
    units : mapping
        Units from a row below the header, or from the cells, by column.
    decimal : str
        The decimal mark of the (first) file.
    notes : tuple of Note
        What was recognised, what was left out, and what looks wrong.
    reading : Reading
        What the user said.
    files : tuple of str
        The paths as they were given.
    """

    frame: pd.DataFrame
    name: str
    kinds: Mapping[str, str]
    units: Mapping[str, str] = field(default_factory=dict)
    decimal: str = "."
    notes: tuple[Note, ...] = ()
    reading: Reading = field(default_factory=Reading)
    files: tuple[str, ...] = ()

    def __str__(self) -> str:
        """What is in the table, as ``ieql check`` prints it."""
        from ieql.data.survey import survey

        return "\n".join(survey(self).lines())

    def said(self) -> list[str]:
        """What was noticed, one sentence each."""
        return sentences(self.notes)

    def split(
        self,
        target: str | Sequence[str],
        inputs: Sequence[str] | None = None,
        *,
        missing: str = "drop",
    ) -> tuple[pd.DataFrame, Any]:
        """Inputs and target for a fit: columns of numbers, and rows without gaps.

        Parameters
        ----------
        target : str or sequence of str
            The column to be explained, or several.
        inputs : sequence of str, optional
            The columns to explain it by; by default all others that hold numbers. A column of dates
            or times that is named becomes seconds since the first row.
        missing : "drop" or "error"
            What is done about rows with a gap in one of these columns.

        Returns
        -------
        X : pandas.DataFrame
        y : pandas.Series, or pandas.DataFrame for several targets
        """
        from ieql.data.roles import Roles, take

        names = [target] if isinstance(target, str) else list(target)
        wanted = None if inputs is None else tuple(inputs)
        taken = take(self, Roles(tuple(names), wanted, missing=missing))
        return taken.X, taken.y[target] if isinstance(target, str) else taken.y


def read_table(
    *paths: str | os.PathLike[str], as_text: Sequence[str] = (), **options: Any
) -> Table:
    """Read a table of measurements from a file, or from several with the same columns.

    Text (CSV, TSV, columns separated by blanks; also packed with gzip), Excel (``.xlsx``), Parquet
    and Feather. Separator, decimal mark, encoding, lines above the header, comment lines, a row of
    units, thousands separators, percent signs, empty columns and missing cells are recognised; what
    was found is in `Table.notes`. What can be read in two ways is refused, with the option that
    tells.

    Parameters
    ----------
    *paths : path
        The files. With several, the column ``file`` tells which one a row is from.
    as_text : sequence of str
        Columns that are kept exactly as they are written.
    **options
        `skip_rows` (lines above the header), `units_row` (True if the line below the header is no
        data), `no_header` (True if the first line is data), `decimal` ("point" or "comma"), `dates`
        ("day-first" or "month-first"), `na` (texts or numbers that mean a missing cell), `exclude`
        (columns to leave out), `sheet` (of an Excel file).

    Returns
    -------
    Table
        Print it to see what is in it; ``X, y = table.split("torque")`` gives what `fit` takes.

    Raises
    ------
    IeqlError
        If a file cannot be read, or can be read in two ways.
    """
    reading = Reading.of(options)
    if not paths:
        raise IeqlError("read_table needs the path of a file.")
    files = [Path(path) for path in paths]
    found = [_read(file, reading, as_text) for file in files]
    tables = [_table(file, part, reading) for file, part in zip(files, found, strict=True)]
    tables = _without(tables, reading.exclude)
    return tables[0] if len(tables) == 1 else _joined(files, tables)


def read_csv(path: str | os.PathLike[str]) -> pd.DataFrame:
    """The frame of `read_table`, where nothing else is asked for."""
    return read_table(path).frame


def _table(file: Path, part: Columns, reading: Reading) -> Table:
    name = repr(str(file))
    return Table(
        part.frame, name, part.kinds, part.units, part.decimal, part.notes, reading, (str(file),)
    )


def _read(path: Path, reading: Reading, as_text: Sequence[str]) -> Columns:
    """Read one file; every fault is one sentence."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            # It is read more than once, which a pipe cannot be.
            raise IeqlError(f"{str(path)!r} is not a regular file; save the table as a file first.")
        ending = path.suffix.lower()
        if ending in MDF_ENDINGS:
            return _read_mdf(path, reading, as_text)
        if reading.raster is not None:
            raise IeqlError(f"{str(path)!r} is not an MDF file: it has no rasters.")
        if ending in ARROW_ENDINGS:
            return _read_arrow(path, reading, as_text)
        if ending in EXCEL_ENDINGS:
            content, sheet = sheet_as_text(path, reading.sheet)
            facts = (Note(Kind.FACT, f"Excel, sheet {sheet!r}"),)
            return _read_content(content, reading, as_text, facts, ",", ".")
        if reading.sheet is not None:
            raise IeqlError(f"{str(path)!r} is not an Excel file: it has no sheets.")
        return _read_content(content_of_file(path), reading, as_text)
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise IeqlError(f"Cannot read {str(path)!r}: {reason}.") from error
    except csv.Error as error:
        raise IeqlError(f"{str(path)!r} cannot be read as a CSV file: {error}.") from error
    except UnicodeError as error:  # UTF-8 and Latin-1 never get here
        raise IeqlError(
            f"{str(path)!r} begins like UTF-16 or UTF-32 text but does not continue that way; it "
            "may be cut short: save it again as UTF-8."
        ) from error


def _read_content(
    content: TextContent,
    reading: Reading,
    as_text: Sequence[str],
    facts: tuple[Note, ...] = (),
    separator: str | None = None,
    decimal: str | None = None,
) -> Columns:
    layout = find_layout(
        content,
        skip_rows=reading.skip_rows,
        units_row=reading.units_row,
        no_header=reading.no_header,
        na=reading.na,
        separator=separator,
    )
    part = read_text(
        content, layout, decimal=decimal or reading.decimal, na=reading.na, as_text=as_text
    )
    if not facts:
        between = {
            "\t": "a tab",
            BLANKS: "blanks",
            GAPS: "two or more blanks",
        }.get(layout.separator, repr(layout.separator))
        encoding = content.encoding.upper().removesuffix("-SIG")
        packed = ", packed with gzip" if content.is_packed else ""
        facts = (Note(Kind.FACT, f"text in {encoding}{packed}, columns separated by {between}"),)
    return replace(part, notes=(*facts, *layout.notes, *part.notes))


def _read_arrow(path: Path, reading: Reading, as_text: Sequence[str]) -> Columns:
    frame = frame_of_arrow(path)
    name = repr(str(path))
    names = list(frame.columns)
    for column in names:
        if names.count(column) > 1:
            raise IeqlError(
                f"The column name {column!r} appears {names.count(column)} times in {name}; every "
                "column needs its own name."
            )
    if not len(frame):
        raise IeqlError(f"{name} has no data rows.")
    what = "Parquet" if path.suffix.lower() in (".parquet", ".pq") else "Feather"
    facts = [Note(Kind.FACT, what)]
    kept = [column for column in names if column in as_text]
    return cleaned(frame, ".", reading.na, None, facts, kept)


def _read_mdf(path: Path, reading: Reading, as_text: Sequence[str]) -> Columns:
    found = table_of_mdf(path, reading.sheet, reading.raster)
    kept = [column for column in found.frame.columns if column in as_text]
    return cleaned(found.frame, ".", reading.na, found.units, found.notes, kept)


def _joined(files: Sequence[Path], tables: Sequence[Table]) -> Table:
    """The rows of several files below one another, and a column that tells which."""
    import pandas as pd

    first = tables[0]
    columns = list(first.frame.columns)
    for other in tables[1:]:
        for one, two in ((first, other), (other, first)):
            lacking = [c for c in one.frame.columns if c not in two.frame.columns]
            if lacking:
                raise IeqlError(
                    f"{two.name} lacks the column {lacking[0]!r}, which {one.name} has; "
                    f"--exclude {lacking[0]!r} leaves it out."
                )
        for name in set(first.units) & set(other.units):
            if first.units[name] != other.units[name]:
                raise IeqlError(
                    f"The column {name!r} is in {first.units[name]} in {first.name} and in "
                    f"{other.units[name]} in {other.name}; convert one of them."
                )
    if FILE_COLUMN in columns:
        raise IeqlError(
            f"The files have a column {FILE_COLUMN!r}, which is to tell the file of each row; "
            "rename it, or join the files yourself."
        )
    stems = [file.stem for file in files]
    labels = stems if len(set(stems)) == len(stems) else [str(file) for file in files]
    parts = [
        table.frame[columns].assign(**{FILE_COLUMN: label})
        for table, label in zip(tables, labels, strict=True)
    ]
    kinds = {c: _common_kind([table.kinds[c] for table in tables]) for c in columns}
    words = (
        f"{len(files)} files with {', '.join(str(len(t.frame)) for t in tables)} rows; the column "
        f"{FILE_COLUMN!r} tells which"
    )
    notes = (Note(Kind.READ, words), *_notes_of_several(tables))
    name = f"{first.name} and {len(files) - 1} more"
    paths = tuple(path for table in tables for path in table.files)
    units = {k: v for table in reversed(tables) for k, v in table.units.items()}
    frame = pd.concat(parts, ignore_index=True)
    kinds[FILE_COLUMN] = ColumnKind.TEXT
    return Table(frame, name, kinds, units, first.decimal, notes, first.reading, paths)


def _common_kind(kinds: Sequence[str]) -> str:
    found = {kind for kind in kinds if kind != ColumnKind.EMPTY}
    if len(found) > 1:
        return ColumnKind.MIXED if ColumnKind.NUMBER in found else ColumnKind.TEXT
    return found.pop() if found else ColumnKind.EMPTY


def _notes_of_several(tables: Sequence[Table]) -> list[Note]:
    """Notes that all files have as they are, the others with the name of their file."""
    common = set.intersection(*(set(table.notes) for table in tables))
    notes = [note for note in tables[0].notes if note in common]
    for table in tables:
        notes += [Note(n.kind, f"{table.name}: {n.text}") for n in table.notes if n not in common]
    return notes


def _without(tables: Sequence[Table], names: Sequence[str]) -> list[Table]:
    """The tables without the columns that the user does not want, each of which one must have."""
    columns = [column for table in tables for column in table.frame.columns]
    # A name may itself have a comma in it; else several are separated by commas.
    names = [
        part if part in columns else part.strip()
        for name in names
        for part in ([name] if name in columns else name.split(","))
    ]
    for name in names:
        if name not in columns:
            raise IeqlError(
                f"{tables[0].name} has no column {name!r} to be left out.{nearest(name, columns)}"
            )
    return [
        replace(
            table,
            frame=table.frame.drop(columns=[name for name in names if name in table.frame.columns]),
            kinds={k: v for k, v in table.kinds.items() if k not in names},
            units={k: v for k, v in table.units.items() if k not in names},
        )
        for table in tables
    ]
