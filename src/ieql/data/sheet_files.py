"""Tables in files that are no text: Excel, Parquet and Feather.

Their readers are extras, imported when used. Nothing in such a file is run: of formulas the values
are read that the spreadsheet stored. What a file may unpack to is limited.
"""

from __future__ import annotations

import csv
import datetime
import io
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ieql.data.cells import PLAIN, number_of
from ieql.data.text_content import TextContent
from ieql.errors import IeqlError, nearest

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ARROW_ENDINGS",
    "EXCEL_ENDINGS",
    "check_size",
    "damaged",
    "frame_of_arrow",
    "reader",
    "sheet_as_text",
]

EXCEL_ENDINGS = (".xlsx", ".xlsm")
ARROW_ENDINGS = (".parquet", ".pq", ".feather", ".arrow")
MOST_CELLS = 100_000_000
"""Cells of a table: about a gigabyte of numbers."""
MOST_UNPACKED = 1_000_000_000
"""Bytes that the parts of a workbook may have once unpacked."""


def reader(module: str, extra: str, what: str) -> Any:
    """Import an optional reader; who lacks it is told how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise IeqlError(
            f"To read {what} files, {module.partition('.')[0]} is needed: pip install "
            f"'ieql[{extra}]'; or save the table as CSV."
        ) from error


# --- Excel -----------------------------------------------------------------------------------


def sheet_as_text(path: Path, sheet: str | None = None) -> tuple[TextContent, str]:
    """One sheet of a workbook as text with commas and decimal points, and the name of the sheet.

    Parameters
    ----------
    path : Path
        The workbook.
    sheet : str, optional
        The sheet; by default the only one that holds a table.

    Raises
    ------
    IeqlError
        If it is no workbook, there are several sheets, or numbers are stored as text.
    """
    openpyxl = reader("openpyxl", "excel", "Excel")
    name = repr(str(path))
    _check_parts(path, name)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
    except OSError:
        raise
    except Exception as error:  # whatever a damaged part makes the reader raise
        raise damaged(name, "an Excel", error) from error
    try:
        chosen = _chosen_sheet(book, sheet, name)
        text = _text_of_sheet(book[chosen], f"{name}, sheet {chosen!r}")
    except (IeqlError, OSError):
        raise
    except Exception as error:
        raise damaged(name, "an Excel", error) from error
    finally:
        book.close()
    where = name if len(book.sheetnames) == 1 else f"{name}, sheet {chosen!r}"
    return TextContent(where, lambda: io.StringIO(text, newline="")), chosen


def _short(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:120].rstrip(". ")


def _check_parts(path: Path, name: str) -> None:
    """Refuse a workbook that would unpack to more than memory holds, or that declares entities."""
    try:
        with zipfile.ZipFile(path) as parts:
            if sum(part.file_size for part in parts.infolist()) > MOST_UNPACKED:
                raise IeqlError(f"{name} holds more than 1 GB once unpacked; save it as CSV.")
            for part in parts.infolist():
                with parts.open(part) as file:
                    if b"<!DOCTYPE" in file.read(2_000):
                        raise IeqlError(f"{name} is no Excel file: a part of it declares a type.")
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError) as error:
        raise IeqlError(
            f"{name} is not an Excel file of today (.xlsx); save it as one, or as CSV."
        ) from error


def _chosen_sheet(book: Any, sheet: str | None, name: str) -> str:
    names = [ws.title for ws in book.worksheets]
    if sheet is not None:
        if sheet not in names:
            raise IeqlError(
                f"{name} has no sheet {sheet!r}.{nearest(sheet, names)} The sheets are "
                f"{', '.join(map(repr, names))}."
            )
        return sheet
    full = [ws.title for ws in book.worksheets if _has_table(ws)]
    if len(full) > 1:
        raise IeqlError(
            f"{name} has several sheets with data: {', '.join(map(repr, full))}; name one with "
            "--sheet."
        )
    if not names:
        raise IeqlError(f"{name} has no sheet with a table.")
    return str(full[0] if full else names[0])


def _has_table(sheet: Any) -> bool:
    """Whether there are two rows that hold something, among the first hundred."""
    rows = sheet.iter_rows(max_row=100, values_only=True)
    return sum(any(value is not None for value in row) for row in rows) > 1


def _text_of_sheet(sheet: Any, where: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    n_cells = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells = [_text_of_cell(value, number, j, where) for j, value in enumerate(row, start=1)]
        n_cells += len(cells)
        if n_cells > MOST_CELLS:
            raise IeqlError(f"{where} has more than {MOST_CELLS:,} cells; save it as CSV.")
        writer.writerow(cells)
    return out.getvalue()


def _text_of_cell(value: Any, row: int, column: int, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        text = " ".join(value.split())
        is_number = any(number_of(text, mark) is not None for mark in ".,")
        if is_number and not PLAIN["."].fullmatch(text.replace(".", "x")):
            raise IeqlError(
                f"{where}: the cell in row {row}, column {column} holds {text!r} as a text, not as "
                "a number; turn such texts into numbers in the spreadsheet."
            )
        return text
    if isinstance(value, datetime.datetime | datetime.time):
        return value.isoformat(" ") if isinstance(value, datetime.datetime) else value.isoformat()
    if isinstance(value, datetime.timedelta):
        return repr(value.total_seconds())
    return repr(value) if isinstance(value, float) else str(value)


# --- Parquet and Feather ---------------------------------------------------------------------


def frame_of_arrow(path: Path) -> pd.DataFrame:
    """The table of a Parquet or Feather file."""
    pyarrow = reader("pyarrow", "parquet", "Parquet and Feather")
    name = repr(str(path))
    is_parquet = path.suffix.lower() in (".parquet", ".pq")
    what = "a Parquet" if is_parquet else "a Feather"
    try:
        table = (_parquet if is_parquet else _feather)(pyarrow, path, name)
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    except (IeqlError, OSError) as error:
        if isinstance(error, IeqlError) or error.strerror is not None:
            raise
        raise damaged(name, what, error) from error
    except Exception as error:  # whatever a damaged file makes the reader raise
        raise damaged(name, what, error) from error
    frame.columns = [str(column) for column in frame.columns]
    return frame


def damaged(name: str, what: str, error: Exception) -> IeqlError:
    """What to say of a file that its reader cannot read."""
    return IeqlError(f"{name} cannot be read as {what} file: {_short(error)}.")


def _parquet(pyarrow: Any, path: Path, name: str) -> Any:
    parquet = import_module("pyarrow.parquet")
    with parquet.ParquetFile(path) as file:
        check_size(file.metadata.num_rows * file.metadata.num_columns, name)
        return file.read()


def _feather(pyarrow: Any, path: Path, name: str) -> Any:
    ipc = import_module("pyarrow.ipc")

    def batches(file: Any) -> Iterator[Any]:
        n_cells = 0
        for k in range(file.num_record_batches):
            batch = file.get_batch(k)
            n_cells += batch.num_rows * batch.num_columns
            check_size(n_cells, name)
            yield batch

    with ipc.open_file(str(path)) as file:
        return pyarrow.Table.from_batches(batches(file), schema=file.schema)


def check_size(n_cells: int, name: str) -> None:
    """Refuse a table that memory would not hold."""
    if n_cells > MOST_CELLS:
        raise IeqlError(f"{name} has more than {MOST_CELLS:,} cells; keep what is needed of it.")
