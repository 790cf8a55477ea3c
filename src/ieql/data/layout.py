"""What a text file looks like: its separator, where the names stand, and what stands around them.

It is found by looking at the first rows: the table begins with the first row of numbers below
which rows are alike, its names stand above, perhaps with a row of units between, and what stands
above the names is a preamble.
"""

from __future__ import annotations

import io
import itertools
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ieql.data.cells import is_missing, number_of
from ieql.data.dates import is_date
from ieql.data.notes import Kind, Note
from ieql.data.text_content import BLANKS, GAPS, TextContent
from ieql.data.unit_words import bare_unit, is_unit_word
from ieql.errors import IeqlError, counted

__all__ = ["Layout", "find_layout"]

# The comma comes last: it may also be a decimal mark or stand in a name, the others hardly do.
SEPARATORS = (";", "\t", "|", ",")
SAMPLE_ROWS = 200
HINT = re.compile(r"\s*sep\s*=\s*(\S|\t)\s*", re.IGNORECASE)
"""What spreadsheets write into the first line to tell the separator."""
ENOUGH = 0.5
"""At least this share of the rows must be as wide as the table."""

Row = tuple[int, list[str]]


@dataclass(frozen=True)
class Layout:
    """Where the table stands in a text.

    Attributes
    ----------
    separator : str
        Between columns; `BLANKS` and `GAPS` stand for any number of blanks.
    names : tuple of str
        The names in the header, or made where there is none; empty at the end if the header is.
    first_line : int
        The line on which the data begins.
    header_line : int
        The line of the header; 0 if there is none.
    units : dict
        Units from the row below the header, by name.
    notes : tuple of Note
        What was recognised.
    """

    separator: str
    names: tuple[str, ...]
    first_line: int
    header_line: int
    units: dict[str, str]
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class Block:
    """A table among the rows of a sample: where its parts are, and how well it fits."""

    header: int | None
    units: int | None
    data: int
    width: int
    score: float


def find_layout(
    content: TextContent,
    *,
    skip_rows: int | None = None,
    units_row: bool = False,
    no_header: bool = False,
    na: Collection[str] = (),
    separator: str | None = None,
) -> Layout:
    """Look at the first rows of a text and tell where the table stands in it.

    Parameters
    ----------
    content : TextContent
        The text.
    skip_rows : int, optional
        Lines above the header, which are left out; by default they are looked for.
    units_row : bool
        Whether the row below the header holds units, whatever it looks like.
    no_header : bool
        Whether the first row is data.
    na : collection of str
        Words for missing cells.
    separator : str, optional
        If it is known.

    Raises
    ------
    IeqlError
        If there is no table, or if it cannot be told where it begins.
    """
    notes: list[Note] = []
    skip = skip_rows or 0
    if skip:
        notes.append(Note(Kind.READ, f"skipped {counted(skip, 'line')} at the top, as told"))
    elif hint := _hint(content):
        skip, separator = 1, separator or hint
        notes.append(Note(Kind.FACT, f"its first line says that {hint!r} separates columns"))
    separator, rows, block = _best_block(content, skip, separator, na)
    if not rows:
        raise IeqlError(f"{content.name} is empty: a header line and data rows are needed.")
    block = _as_told(rows, block or Block(0, None, 1, 0, 0.0), skip_rows, units_row, no_header)
    units: dict[str, str] = {}
    named = _commented_header(content, rows, block, separator) if not no_header else None
    if named is not None:
        line, names = named
        notes.append(
            Note(Kind.READ, f"the names of the columns stand in the comment of line {line}")
        )
        header_line, first_line = line, rows[0][0]
    elif block.header is None or _is_data(rows, block, na):
        names = [f"column{j}" for j in range(1, (block.width or len(rows[0][1])) + 1)]
        header_line, first_line = 0, rows[0][0]
        words = f"no header line: the columns are called {names[0]!r} to {names[-1]!r}"
        notes.append(Note(Kind.READ, words))
    else:
        header_line, names = rows[block.header]
        names = _tidy_names(names, block.width if separator in (BLANKS, GAPS) else 0)
        notes += _about_preamble(content, rows, block, skip)
        notes += _about_numbers(names, header_line)
        units, first_line, said = _units(rows, block, names, units_row)
        notes += said
    if content.comment:
        n = content.n_comments - (named is not None)
        words = f"lines that begin with {content.comment!r} are comments ({n})"
        notes += [Note(Kind.READ, words)] if n else []
    return Layout(separator, tuple(names), first_line, header_line, units, tuple(notes))


def _as_told(
    rows: Sequence[Row], block: Block, skip_rows: int | None, units_row: bool, no_header: bool
) -> Block:
    """The table where the user says that it is, as far as something is said."""
    if no_header:
        return replace(block, header=None, units=None, data=0)
    if block.header is None and block.data == 0 and _are_whole(rows[0][1]):
        return replace(block, header=0, data=1)
    if skip_rows is not None:
        return replace(block, header=0, units=1 if block.units == 1 else None, data=1)
    if units_row and block.units is None and block.header:
        above = block.header - 1
        if _are_names(rows[above][1], block.width):
            return replace(block, header=above, units=block.header)
    return block


def _hint(content: TextContent) -> str:
    first = next(content.lines(), (0, ""))[1]
    found = HINT.fullmatch(first.rstrip("\r\n") if "\t" in first else first.strip())
    return "" if found is None else found[1]


def _best_block(
    content: TextContent, skip: int, separator: str | None, na: Collection[str]
) -> tuple[str, list[Row], Block | None]:
    """The separator under which a table is found, with the first rows and where it is in them.

    Blanks are tried only where nothing else makes a table. If nothing does, the separator is the
    one under which most rows are as wide as the first.
    """
    best: tuple[str, list[Row], Block] | None = None
    plain, plain_score = separator or ";", 0.0
    plain_rows = _sample(content, plain, skip)
    for group in ((separator,),) if separator else (SEPARATORS, (GAPS,), (BLANKS,)):
        for sign in group:
            rows = _sample(content, sign, skip)
            widths = [len(fields) for _, fields in rows]
            if widths and widths[0] > 1 and sign not in (BLANKS, GAPS):
                score = sum(width == widths[0] for width in widths) / len(widths)
                if score > plain_score:
                    plain, plain_score, plain_rows = sign, score, rows
            block = _block(rows, na, unnamed=sign in (BLANKS, GAPS))
            if block is not None and (best is None or block.score > best[2].score):
                best = sign, rows, block
        if best is not None:
            return best
    return plain, plain_rows, None


def _sample(content: TextContent, separator: str, skip: int) -> list[Row]:
    return list(itertools.islice(content.rows(separator, skip), SAMPLE_ROWS))


def _block(rows: Sequence[Row], na: Collection[str], *, unnamed: bool = False) -> Block | None:
    """Find the table among rows; None if there is none of several columns with numbers.

    With `unnamed`, the header may have no name for the first column, as R writes it.
    """
    width = _usual_width(rows)
    if width < 2:
        return None
    lower = [fields for _, fields in rows[-max(len(rows) // 2, 1) :] if len(fields) == width]
    numeric = _numeric_columns(lower, width, na)
    if not numeric:
        return None
    least = max(len(_without_end(fields)) for fields in lower)
    are_data = [_is_row_of_data(fields, numeric, na) for _, fields in rows]
    # Two in a row: a preamble may have a number in a line of its own.
    pairs = itertools.zip_longest(are_data, are_data[1:], fillvalue=True)
    data = next((k for k, both in enumerate(pairs) if all(both)), None)
    if data is None:
        return None
    above = [k for k in range(data) if not _is_row_of_gaps(rows[k][1], na)]
    header, units = (above[-1] if above else None), None
    if (
        len(above) > 1
        and _is_row_of_units(rows[above[-1]][1], numeric)
        and (_are_names(rows[above[-2]][1], width))
    ):
        header, units = above[-2], above[-1]
    if header is not None and not _fits(rows[header][1], least - unnamed, width):
        return None  # a header of another width: the separator is wrong, or the file
    start = data if header is None else header + 1
    fitting = sum(_fits(fields, least, width) for _, fields in rows[start:])
    score = fitting / max(len(rows[start:]), 1)
    return Block(header, units, data, width, score) if score > ENOUGH else None


def _usual_width(rows: Sequence[Row]) -> int:
    """The number of fields that most rows have, of equals the larger."""
    widths = Counter(len(fields) for _, fields in rows)
    return max(widths, key=lambda w: (widths[w], w)) if widths else 0


def _fits(fields: Sequence[str], least: int, width: int) -> bool:
    """Whether a row is as wide as the table but for empty cells at an end."""
    return least <= len(fields) and not any(field.strip() for field in fields[width:])


def _numeric_columns(rows: Sequence[list[str]], width: int, na: Collection[str]) -> list[int]:
    """The columns of which most cells are numbers."""
    found = []
    for j in range(width):
        cells = [fields[j] for fields in rows if not is_missing(fields[j], na)]
        if 2 * sum(_is_numeric(cell) for cell in cells) > len(cells):
            found.append(j)
    return found


def _is_numeric(cell: str) -> bool:
    """Whether a cell holds a number, with either decimal mark, and perhaps a unit."""
    if any(number_of(cell, mark) is not None for mark in ".,"):
        return True
    number, blank, unit = cell.strip().rpartition(" ")
    if not blank and cell.strip().endswith("%"):
        number, unit = cell.strip()[:-1], "%"
    return is_unit_word(unit) and any(number_of(number, mark) is not None for mark in ".,")


def _is_row_of_data(fields: Sequence[str], numeric: Sequence[int], na: Collection[str]) -> bool:
    cells = [fields[j] for j in numeric if j < len(fields)]
    n = sum(_is_numeric(cell) for cell in cells)
    gaps = sum(is_missing(cell, na) for cell in cells)
    return n > 0 and 2 * (n + gaps) >= len(numeric)


def _is_row_of_gaps(fields: Sequence[str], na: Collection[str]) -> bool:
    return all(is_missing(field, na) for field in fields)


def _is_row_of_units(fields: Sequence[str], numeric: Sequence[int]) -> bool:
    """Whether most columns of numbers have a unit in this row, and none has a number."""
    cells = [fields[j].strip() for j in numeric if j < len(fields)]
    named = [cell for cell in cells if bare_unit(cell) not in ("", "-", "1")]
    return bool(named) and all(is_unit_word(cell) for cell in named)


def _are_names(fields: Sequence[str], width: int) -> bool:
    """Whether a row may be the header: texts, none of them empty but at its end."""
    names = _without_end(fields)
    return (
        width - 1 <= len(names)
        and len(names) > 1
        and all(name.strip() and not _is_numeric(name) and not is_date(name) for name in names)
    )


def _without_end(fields: Sequence[str]) -> list[str]:
    """A row without the empty cells at its end."""
    n = max((k for k, field in enumerate(fields, start=1) if field.strip()), default=0)
    return list(fields[:n])


def _tidy_names(names: Sequence[str], width: int) -> list[str]:
    """The names without the blank that stands behind every separator, if it does.

    If there is one less than the `width` of the table, the first column has none.
    """
    found = list(names)
    if len(found) > 1 and all(name.startswith(" ") for name in found[1:] if name):
        found = [name.strip() for name in found]
    return ["", *found] if len(found) == width - 1 else found


def _is_data(rows: Sequence[Row], block: Block, na: Collection[str]) -> bool:
    """Whether the row taken for the header is one of numbers, such as 1.5: it is data then.

    Whole numbers are what an unnamed DataFrame writes as its header.
    """
    names = rows[block.header or 0][1]
    kept = [name.strip() for name in _without_end(names)]
    return (
        bool(kept)
        and all(_is_numeric(name) or is_date(name) for name in kept)
        and not _are_whole(kept)
    )


def _are_whole(fields: Sequence[str]) -> bool:
    """Whether the numbers of a row are all whole, as in the header of an unnamed DataFrame.

    Years are names, too: country, 2019, 2020. The same number twice is data.
    """
    kept = [field.strip() for field in _without_end(fields)]
    are_whole = all(field.isdigit() or not _is_numeric(field) for field in kept)
    return are_whole and len(set(kept)) == len(kept)


def _commented_header(
    content: TextContent, rows: Sequence[Row], block: Block, separator: str
) -> tuple[int, list[str]] | None:
    """The names in the last comment above the data, if there is no other header."""
    if not content.comment or (block.header is not None and block.header != 0):
        return None
    first = rows[0][1]
    if not all(_is_numeric(cell) or is_missing(cell) or is_date(cell) for cell in first):
        return None
    above = [c for c in content.comments(SAMPLE_ROWS) if c[0] < rows[0][0]]
    if not above:
        return None
    line, text = above[-1]
    inner = TextContent("", lambda: io.StringIO(text))
    _, names = next(inner.rows(separator), (0, []))
    names = [name.strip() for name in names]
    return (line, names) if len(names) == len(first) and _are_names(names, len(first)) else None


def _about_preamble(
    content: TextContent, rows: Sequence[Row], block: Block, skip: int
) -> list[Note]:
    """Say that lines above the header are left out; refuse if one of them may be the header."""
    assert block.header is not None
    header_line = rows[block.header][0]
    upper = [k for k in range(block.header) if any(f.strip() for f in rows[k][1])]
    if not upper:
        return []
    if upper[-1] == block.header - 1 and _are_names(rows[upper[-1]][1], block.width):
        one, other = rows[upper[-1]][0], header_line
        raise IeqlError(
            f"{content.name}: lines {one} and {other} may both name the columns; say --units-row "
            f"for the first, or --skip-rows {other - 1} for the second."
        )
    words = f"line {header_line} names the columns; above it {counted(len(upper), 'line')} left out"
    return [Note(Kind.READ, words)]


def _about_numbers(names: Sequence[str], line: int) -> list[Note]:
    """Say it if the names are numbers which are not those of an unnamed frame."""
    kept = [name.strip() for name in names if name.strip().isdigit()]
    numbers = [int(name) for name in kept]
    if not kept or numbers in (list(range(len(kept))), list(range(1, len(kept) + 1))):
        return []
    shown = ", ".join(kept[:4])
    return [
        Note(
            Kind.WARNING,
            f"the numbers {shown} in line {line} are taken for the names of the columns; say "
            "--no-header if they are data",
        )
    ]


def _units(
    rows: Sequence[Row], block: Block, names: Sequence[str], told: bool
) -> tuple[dict[str, str], int, list[Note]]:
    """The units below the header, the line on which the data begins, and what to say of it."""
    assert block.header is not None
    k = block.header + 1
    if not told and block.units is None:
        return {}, rows[k][0] if k < len(rows) else 0, []
    k = block.units or k
    if k >= len(rows):
        return {}, 0, []
    line, cells = rows[k]
    units = {
        name: bare_unit(cell)
        for name, cell in zip(names, cells, strict=False)
        if is_unit_word(cell)
    }
    found = ", ".join(f"{name} in {unit}" for name, unit in list(units.items())[:8])
    more = f" and {len(units) - 8} more" if len(units) > 8 else ""
    words = f"line {line} holds units ({found}{more})" if units else f"line {line} is left out"
    first = rows[k + 1][0] if k + 1 < len(rows) else 0
    return units, first, [Note(Kind.READ, words)]
