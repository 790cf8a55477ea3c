"""Columns of text as numbers: decimal and thousands marks, percent signs, units, missing cells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ieql.data.dates import is_date
from ieql.data.unit_words import is_unit_word

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Cleaned", "ColumnKind", "Marks", "clean", "is_missing", "marks_in", "number_of"]

MISSING_WORDS = frozenset(
    ("", "-", "--", "---", "na", "n/a", "n.a.", "nan", "-nan", "null", "none", "<na>", "nil", "?",
     "#n/a", "#na", "#n/a n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!",
     "#wert!", "#bezug!", "#zahl!", "#nv", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan", "nodata",
     "no data", "#error")
)  # fmt: skip
"""Cells that hold no value, in small letters: those of spreadsheets, loggers and programs."""
INFINITE = re.compile(r"[-+]?inf(?:inity)?", re.IGNORECASE)
GROUP_MARKS = " '’\u00a0\u2009\u202f"
"""Marks between thousands that are never a decimal mark."""
MINUS = "\u2212"

PLAIN = {
    mark: re.compile(
        rf"[-+]?(?:\d+(?:{re.escape(mark)}\d*)?|{re.escape(mark)}\d+)(?:[eE][-+]?\d+)?", re.ASCII
    )
    for mark in ".,"
}
GROUPED = {
    mark: re.compile(
        rf"[-+]?[1-9]\d{{0,2}}([{re.escape(other + GROUP_MARKS)}])\d{{3}}(?:\1\d{{3}})*"
        rf"(?:{re.escape(mark)}\d*)?",
        re.ASCII,
    )
    for mark, other in (".,", ",.")
}
SUFFIX = re.compile(r"(?P<number>.*[\d.,])\s*(?P<unit>[^\d\s.,].*)")
TRUTHS = {"true": 1.0, "false": 0.0}
MOSTLY = 0.5
"""Above this share of numbers a column is one of numbers, with cells that are wrong."""


class ColumnKind:
    """What a column holds."""

    NUMBER = "numbers"
    TEXT = "text"
    DATE = "dates or times"
    MIXED = "numbers and text"
    EMPTY = "nothing"


@dataclass(frozen=True)
class Cleaned:
    """A column as it can be used, and what had to be done for it.

    Attributes
    ----------
    values : pandas.Series
        Numbers, or texts as they were; NaN where a cell is missing.
    kind : str
        One of `ColumnKind`.
    unit : str
        The unit that every cell had, if any; ``%`` among them.
    grouped : str
        A cell with thousands separators, as an example; empty if there is none.
    words : dict
        How many cells hold each word that means a missing one, empty cells aside.
    """

    values: pd.Series[Any]
    kind: str
    unit: str = ""
    grouped: str = ""
    words: dict[str, int] = field(default_factory=dict)


def is_missing(text: str, na: Collection[str] = ()) -> bool:
    """Tell whether a cell holds no value: by what is usual, or by what the user says."""
    text = text.strip()
    return text.lower() in MISSING_WORDS or text in na


def number_of(text: str, decimal: str) -> float | None:
    """The number that a text is, thousands separators included; None if it is none.

    Examples
    --------
    >>> number_of("1.234,5", ","), number_of("1'234.5", "."), number_of("12 Nm", ".")
    (1234.5, 1234.5, None)
    """
    text = text.strip().replace(MINUS, "-")
    if PLAIN[decimal].fullmatch(text):
        return float(text.replace(decimal, "."))
    found = GROUPED[decimal].fullmatch(text)
    if found is not None:
        return float(text.replace(found[1], "").replace(decimal, "."))
    return float(text) if INFINITE.fullmatch(text) else None


def clean(column: pd.Series[Any], decimal: str, na: Collection[str] = ()) -> Cleaned:
    """Turn a column of texts into numbers if all of its cells that hold something are numbers."""
    import pandas as pd

    codes, found = pd.factorize(column)
    texts = [str(value) for value in found]
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))
    missing = np.array([is_missing(text, na) for text in texts], dtype=bool)
    words = {texts[k].strip(): int(counts[k]) for k in np.flatnonzero(missing)}
    words.pop("", None)
    kept = [texts[k] for k in np.flatnonzero(~missing)]

    def placed(values: Sequence[float | None]) -> pd.Series[Any]:
        """One value for each text that is kept, where it stands in the column."""
        table = np.full(len(texts) + 1, np.nan)  # the last is for empty cells, whose code is -1
        table[np.flatnonzero(~missing)] = np.array(values, dtype=np.float64)
        return pd.Series(table[codes], index=column.index)

    if not kept:
        return Cleaned(placed([]), ColumnKind.EMPTY, words=words)
    numbers = [number_of(text, decimal) for text in kept]
    if None not in numbers:
        if (
            not missing.any()
            and decimal == "."
            and all(PLAIN["."].fullmatch(text) for text in kept)
        ):
            # As they are: whole numbers beyond 2^53 keep their digits for a warning.
            return Cleaned(column, ColumnKind.NUMBER)
        grouped = next((t.strip() for t in kept if _is_grouped(t, decimal)), "")
        return Cleaned(placed(numbers), ColumnKind.NUMBER, "", grouped, words)
    if all(text.strip().lower() in TRUTHS for text in kept):
        truths = [TRUTHS[text.strip().lower()] for text in kept]
        return Cleaned(placed(truths), ColumnKind.NUMBER, words=words)
    unit = _common_unit(kept, decimal)
    if unit:
        numbers = [number_of(_without(text), decimal) for text in kept]
        return Cleaned(placed(numbers), ColumnKind.NUMBER, unit, "", words)
    raw = column.mask(pd.Series(np.append(missing, True)[codes], index=column.index))
    if all(is_date(text.strip()) for text in kept):
        return Cleaned(raw, ColumnKind.DATE, words=words)
    weights = counts[~missing]
    share = weights[[_is_nearly_number(text) for text in kept]].sum() / weights.sum()
    kind = ColumnKind.MIXED if share > MOSTLY else ColumnKind.TEXT
    return Cleaned(raw, kind, words=words)


def _is_grouped(text: str, decimal: str) -> bool:
    return GROUPED[decimal].fullmatch(text.strip().replace(MINUS, "-")) is not None


def _without(text: str) -> str:
    found = SUFFIX.fullmatch(text.strip())
    return text if found is None else found["number"]


def _is_nearly_number(text: str) -> bool:
    """Whether a cell is a number with either mark, or with a unit, that others do not have."""
    found = SUFFIX.fullmatch(text.strip())
    if found is not None and is_unit_word(found["unit"]):
        text = found["number"]
    return any(number_of(text, mark) is not None for mark in ".,")


def _common_unit(texts: Iterable[str], decimal: str) -> str:
    """The unit that stands behind the number in every cell; empty if there is none."""
    units = set()
    for text in texts:
        found = SUFFIX.fullmatch(text.strip())
        if found is None or number_of(found["number"], decimal) is None:
            return ""
        units.add(found["unit"].strip())
        if len(units) > 1:
            return ""
    unit = units.pop() if units else ""
    return unit if is_unit_word(unit) else ""


# --- which mark is the decimal one ---------------------------------------------------------------

ONE_MARK = re.compile(r"(\d*)([.,])(\d*)", re.ASCII)
TWO_MARKS = re.compile(r"[1-9]\d{0,2}(?:([.,])\d{3})(?:\1\d{3})*(?!\1)([.,])\d*", re.ASCII)
MANY_GROUPS = re.compile(r"[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})+", re.ASCII)
CLEAR_GROUPS = re.compile(
    rf"[1-9]\d{{0,2}}([{re.escape(GROUP_MARKS)}])\d{{3}}(?:\1\d{{3}})*(?:([.,])\d*)?", re.ASCII
)


FEW = 500
"""Cells that are looked at first."""


@dataclass(frozen=True)
class Marks:
    """What a column tells about the decimal mark.

    Attributes
    ----------
    decimal : frozenset of str
        The marks that are decimal in some cell, without doubt.
    unclear : dict
        The marks before three digits, which may be between thousands as well, each with a cell.
    """

    decimal: frozenset[str] = frozenset()
    unclear: dict[str, str] = field(default_factory=dict)


def marks_in(texts: Sequence[str], na: Collection[str] = ()) -> Marks:
    """What the cells of a column tell about the decimal mark; nothing unless most are numbers.

    1.234 is a number with three decimals or a thousand and more. It is the former if the column
    has a whole number of four digits without a mark.
    """
    first = _marks_in(texts[:FEW], na)
    if len(texts) <= FEW:
        return first
    other = {frozenset("."): ",", frozenset(","): "."}.get(first.decimal)
    # If some are clear and none has the other mark, the rest will not tell anything else.
    if other is not None and not any(other in text for text in texts):
        return first
    return _marks_in(dict.fromkeys(texts), na)


def _marks_in(texts: Iterable[str], na: Collection[str]) -> Marks:
    decimal: set[str] = set()
    unclear: dict[str, str] = {}
    is_long, n_numbers, n_others = False, 0, 0
    for text in texts:
        if is_missing(text, na):
            continue
        cell = text.strip().replace(MINUS, "-").lstrip("+-")
        if found := SUFFIX.fullmatch(cell):
            cell = found["number"] if is_unit_word(found["unit"]) else cell
        body, exponent, power = cell.lower().partition("e")
        if exponent and not re.fullmatch(r"[-+]?\d+", power):
            body = ""
        n_numbers += 1
        if body.isdecimal():
            is_long |= len(body) > 3
        elif (found := ONE_MARK.fullmatch(body)) and (found[1] or found[3]):
            is_group = len(found[3]) == 3 and 0 < len(found[1]) < 4 and found[1][0] != "0"
            if is_group and not exponent:
                unclear.setdefault(found[2], text.strip())
            else:
                decimal.add(found[2])
        elif found := TWO_MARKS.fullmatch(body):
            decimal.add(found[2])
        elif found := MANY_GROUPS.fullmatch(body):
            decimal.add("," if found[1] == "." else ".")
        elif found := CLEAR_GROUPS.fullmatch(body):
            decimal |= {found[2]} if found[2] else set()
        else:
            n_numbers, n_others = n_numbers - 1, n_others + 1
    if n_numbers <= n_others:
        return Marks()
    if is_long and unclear:
        decimal |= set(unclear)
        unclear = {}
    return Marks(frozenset(decimal), {m: t for m, t in unclear.items() if m not in decimal})
