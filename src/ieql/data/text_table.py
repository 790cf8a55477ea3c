"""A text as a frame: parsed as its layout says, with one decimal mark, and its columns cleaned."""

from __future__ import annotations

import contextlib
import io
import itertools
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from ieql.data.cells import Marks, marks_in
from ieql.data.columns import Columns, cleaned, text_columns
from ieql.data.layout import Layout
from ieql.data.notes import Kind, Note
from ieql.data.text_content import BLANKS, TextContent, delimiter, prepared
from ieql.errors import IeqlError, counted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_text"]

UNNAMED = "\0unnamed "
"""Begins the name of a column that has none in the header; no file can hold it."""
FIRST_ROWS = 500
"""Rows that are looked at for the decimal mark before all of them are."""


def read_text(
    content: TextContent,
    layout: Layout,
    *,
    decimal: str | None = None,
    na: Collection[str] = (),
    as_text: Collection[str] = (),
) -> Columns:
    """Read the rows below the header.

    Parameters
    ----------
    content : TextContent
        The text.
    layout : Layout
        Where the table stands in it.
    decimal : "." or ",", optional
        The decimal mark; by default what the cells tell.
    na : collection of str
        Words for missing cells besides the usual ones.
    as_text : collection of str
        Columns that are kept as they are written.

    Raises
    ------
    IeqlError
        If a row is longer or shorter than the header, a column with data has no name, or if the
        cells do not tell the decimal mark.
    """
    names = _checked_names(content, layout)
    as_text = [name for name in as_text if name in names]
    notes: list[Note] = []
    if decimal is None:
        decimal, frame = _read_by_marks(content, layout, names, na, as_text)
    else:
        frame = _parse_by(content, layout, names, decimal, as_text)
    if decimal == ",":
        notes.append(Note(Kind.READ, "numbers have a decimal comma"))
    frame, said = _without_unnamed(content, layout, frame)
    notes += said
    frame, said = _without_repeated_header(frame)
    notes += said
    return cleaned(frame, decimal, na, layout.units, notes, as_text)


# --- parsing ---------------------------------------------------------------------------------


def _checked_names(content: TextContent, layout: Layout) -> list[str]:
    """The names of the header, one for each column: those without a name get one of ours."""
    found = list(layout.names)
    named = [name for name in found if name.strip()]
    for name in named:
        if named.count(name) > 1:
            raise IeqlError(
                f"The column name {name!r} appears {named.count(name)} times in the header of "
                f"{content.name}; every column needs its own name."
            )
    return [name if name.strip() else f"{UNNAMED}{j}" for j, name in enumerate(found, start=1)]


@contextlib.contextmanager
def _opened(content: TextContent, layout: Layout) -> Iterator[TextIO]:
    """The text from the first row of data on, as a parser of CSV can read it."""
    if content.is_to_prepare(layout.separator):
        lines = (
            prepared(line, layout.separator)
            for number, line in content.lines()
            if number >= layout.first_line
        )
        yield io.StringIO("".join(lines), newline="")
        return
    with content.open() as file:
        for _ in range(layout.first_line - 1):
            file.readline()
        yield file


def _parse(
    content: TextContent,
    layout: Layout,
    names: Sequence[str],
    decimal: str,
    as_text: Sequence[str] = (),
) -> pd.DataFrame:
    """Read the rows below the header with pandas' fast parser."""
    import pandas as pd

    if not layout.first_line:
        raise IeqlError(f"{content.name} has a header but no data rows.")
    faults = (pd.errors.ParserError, pd.errors.ParserWarning)
    try:
        frame = _parsed(content, layout, names, decimal, as_text)
    except faults:
        width = _refuse_ragged(content, layout, len(names))
        # Empty cells behind the last column.
        more = [f"{UNNAMED}{j}" for j in range(len(names) + 1, width + 1)]
        try:
            frame = _parsed(content, layout, [*names, *more], decimal, as_text)
        except faults as error:
            reason = str(error).strip()
            raise IeqlError(f"{content.name} cannot be read as a CSV file: {reason}.") from error
    if not len(frame):
        raise IeqlError(f"{content.name} has a header but no data rows.")
    if frame.iloc[:, -1].isna().any():  # pandas fills rows that are too short without a word
        _refuse_ragged(content, layout, len(names))
    return frame


def _parsed(
    content: TextContent,
    layout: Layout,
    names: Sequence[str],
    decimal: str,
    as_text: Sequence[str],
) -> pd.DataFrame:
    import pandas as pd

    with _opened(content, layout) as file, warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(
                file,
                sep=delimiter(layout.separator),
                skipinitialspace=layout.separator == BLANKS,
                decimal=decimal,
                header=None,
                names=list(names),
                index_col=False,
                low_memory=False,
                keep_default_na=False,
                na_values=[""],  # other words are kept, so that they can be named
                dtype=dict.fromkeys(as_text, "str"),
            )
        except pd.errors.EmptyDataError:
            return pd.DataFrame(columns=list(names))


def _refuse_ragged(content: TextContent, layout: Layout, n: int) -> int:
    """Raise if a row has another number of fields than the header, naming its line.

    Empty cells behind the last column do no harm: the largest number of fields is returned.
    """
    rows = [
        (line, len(fields), any(f.strip() for f in fields[n:]))
        for line, fields in content.rows(layout.separator, layout.first_line - 1)
    ]
    least = max((k for k, name in enumerate(layout.names, start=1) if name.strip()), default=1)
    others = {width for _, width, _ in rows}
    bad = [(line, width) for line, width, is_full in rows if is_full or width < least]
    if len(bad) == len(rows) > 1 and len(others) == 1:  # the separator is to blame
        raise IeqlError(
            f"{content.name}: the header has {counted(n, 'field')} between {layout.separator!r} "
            f"but every row has {others.pop()}; name every column, use one separator in all lines, "
            "and a decimal point where the comma separates."
        )
    for line, width in bad:
        raise IeqlError(
            f"{content.name}, line {line} has {counted(width, 'field')} but the header has {n}; "
            "complete or delete that line."
        )
    return max(others, default=n)


# --- the decimal mark ------------------------------------------------------------------------


def _parse_by(
    content: TextContent,
    layout: Layout,
    names: Sequence[str],
    decimal: str,
    as_text: Sequence[str],
) -> pd.DataFrame:
    """Read the rows with a decimal mark; if it also separates, cells with it stay text."""
    if decimal == layout.separator:  # they stand within quotation marks
        return _parse(content, layout, names, ".", names)
    return _parse(content, layout, names, decimal, as_text)


def _read_by_marks(
    content: TextContent,
    layout: Layout,
    names: Sequence[str],
    na: Collection[str],
    as_text: Sequence[str],
) -> tuple[str, pd.DataFrame]:
    """Find the one decimal mark of the file in its cells, and read the rows with it.

    With a decimal mark that is likely, pandas reads whole columns at once; what it leaves as text
    tells whether another one is right.
    """
    first = _first_marks(content, layout, names, na)
    has_comma = any("," in marks.decimal for marks in first.values())
    likely = "," if has_comma and layout.separator != "," else "."
    frame = _parse(content, layout, names, likely, as_text)
    texts = [name for name in text_columns(frame) if name not in as_text]
    found = {name: marks_in(_texts(frame[name]), na) for name in texts}
    if likely == ",":  # of the columns of numbers none has a point
        found = {**first, **found}
    else:
        found |= _marks_of_numbers(content, layout, names, frame, found, first, na)
    decimal = _decimal(content, found)
    if decimal != likely:
        frame = _parse_by(content, layout, names, decimal, as_text)
    return decimal, frame


def _marks_of_numbers(
    content: TextContent,
    layout: Layout,
    names: Sequence[str],
    frame: pd.DataFrame,
    of_texts: Mapping[str, Marks],
    first: Mapping[str, Marks],
    na: Collection[str],
) -> dict[str, Marks]:
    """What columns tell that were read as numbers with a decimal point.

    Unless a number needs the point, it may have stood between thousands: then the cells are looked
    at as they are written, 1.500, not 1.5.
    """
    fractions = [name for name in names if name not in of_texts and frame[name].dtype.kind == "f"]
    certain = {name: Marks(frozenset(".")) for name in fractions if _needs_point(frame[name])}
    has_commas = any("," in marks.decimal or marks.unclear for marks in of_texts.values())
    is_open = not certain and layout.separator != ","  # a comma between columns is no decimal one
    if len(certain) == len(fractions) or not (has_commas or is_open):
        return certain
    clear = {name: marks for name in fractions if (marks := first[name]).decimal}
    if clear and not has_commas:
        return clear
    raw = _parse(content, layout, names, ".", names)
    return {name: marks_in(_texts(raw[name]), na) for name in fractions}


def _first_marks(
    content: TextContent, layout: Layout, names: Sequence[str], na: Collection[str]
) -> dict[str, Marks]:
    """What the first rows tell about the decimal mark, by column."""
    rows = itertools.islice(content.rows(layout.separator, layout.first_line - 1), FIRST_ROWS)
    fields_of = [fields for _, fields in rows]
    return {
        name: marks_in([fields[j] for fields in fields_of if j < len(fields)], na)
        for j, name in enumerate(names)
    }


def _decimal(content: TextContent, found: Mapping[str, Marks]) -> str:
    """The one decimal mark of the file, as its cells tell; refused if they do not."""
    comma = [name for name, marks in found.items() if "," in marks.decimal]
    point = [name for name, marks in found.items() if "." in marks.decimal]
    if comma and point:
        if set(comma) & set(point):
            return "."  # its cells are named when they are asked for
        raise IeqlError(
            f"{content.name}: column {comma[0]!r} is written with a decimal comma and column "
            f"{point[0]!r} with a decimal point; use the same mark in the whole file."
        )
    if comma or point:
        return "," if comma else "."
    for name, marks in found.items():
        for mark, cell in marks.unclear.items():
            raise IeqlError(
                f"{content.name}, column {name!r} holds {cell!r}, in which the "
                f"{'point' if mark == '.' else 'comma'} may stand before decimals or between "
                "thousands, and no other cell tells; say --decimal point or --decimal comma."
            )
    return "."


def _texts(column: pd.Series[Any]) -> list[str]:
    return list(map(str, column.dropna().tolist()))


def _needs_point(column: pd.Series[Any]) -> bool:
    """Whether some number has a decimal point for certain, and none between thousands."""
    values = np.abs(column.to_numpy(np.float64, na_value=np.nan))
    values = values[np.isfinite(values)]
    thousands = values * 1000
    with np.errstate(over="ignore"):
        off = np.abs(thousands - np.round(thousands)) > 1e-6 * np.maximum(values, 1)
    return bool(np.any(off | ((values > 0) & (values < 1))))


# --- columns ---------------------------------------------------------------------------------


def _without_unnamed(
    content: TextContent, layout: Layout, frame: pd.DataFrame
) -> tuple[pd.DataFrame, list[Note]]:
    """Leave out columns without a name if they are empty or count the rows; refuse others."""
    unnamed = [name for name in frame.columns if name.startswith(UNNAMED)]
    empty, counting = [], []
    for name in unnamed:
        column = frame[name]
        if not any(text.strip() for text in _texts(column)):
            empty.append(name)
        elif name == f"{UNNAMED}1" and _counts_rows(column):
            counting.append(name)
        else:
            raise IeqlError(
                f"{content.name}, line {layout.header_line}: column {name[len(UNNAMED) :]} has no "
                "name; name it in the header or delete it (a row index written by pandas is left "
                "out with index=False)."
            )
    notes = []
    if empty:
        words = f"{counted(len(empty), 'empty column')} without a name"
        notes.append(Note(Kind.LEFT_OUT, words))
    if counting:
        notes.append(Note(Kind.LEFT_OUT, "the first column, which has no name and counts the rows"))
    return frame.drop(columns=unnamed), notes


def _counts_rows(column: pd.Series[Any]) -> bool:
    return column.dtype.kind == "i" and any(
        np.array_equal(column.to_numpy(), np.arange(start, start + len(column))) for start in (0, 1)
    )


def _without_repeated_header(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[Note]]:
    """Leave out rows that repeat the header, as loggers write that were started again.

    The columns are parsed again: because of such a row all of them are text.
    """
    import pandas as pd

    if not len(frame.columns) or len(text_columns(frame)) < len(frame.columns):
        return frame, []
    repeated = np.ones(len(frame), dtype=bool)
    for name in frame.columns:
        repeated &= (frame[name].astype(object).map(str).str.strip() == name.strip()).to_numpy(bool)
    if not repeated.any() or repeated.all():
        return frame, []
    kept = frame[~repeated].reset_index(drop=True)
    for name in kept.columns:
        with contextlib.suppress(ValueError, TypeError):
            kept[name] = pd.to_numeric(kept[name])
    return kept, [
        Note(Kind.LEFT_OUT, f"{counted(int(repeated.sum()), 'row')} with the header once more")
    ]
