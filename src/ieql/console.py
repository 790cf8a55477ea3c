"""Equations as a terminal shows them: the front as a table."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["front_table", "names_in", "rounded", "shortened", "visible"]

# In the text of an equation: names (quoted or plain, not those of units) and numbers.
_QUOTED = r"`(?P<quoted>(?:[^`]|``)+)`"
_WORD = r"(?P<word>[^\W\d]\w*)(?!\w*\()"
_NUMBER = r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
# Control characters, line ends, marks that turn the direction of writing, and halves of characters
# (bytes of a file's name that are no text), which no terminal takes.
_OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
LONG_NUMBER, SHORT_NUMBER = 10, 4
"""A number of more digits than the first is cut to the second while a search is under way."""
_TOKEN = re.compile(f"{_QUOTED}|{_WORD}|[^\\W\\d]\\w*|{_NUMBER}")


def visible(text: str) -> str:
    r"""Return text on one line, characters that a terminal would obey written by their number.

    >>> print(visible("two\nlines"))
    two<U+000A>lines
    """
    return _OBEYED.sub(lambda c: f"<U+{ord(c[0]):04X}>", text)


def rounded(equation: str, digits: int = 4) -> str:
    """Return the equation with its numbers rounded, its names untouched: for the eye only."""
    return _with_numbers(equation, lambda number: f"{float(number):.{digits}g}")


def shortened(equation: str) -> str:
    """Return an equation of a search under way, its long numbers rounded: they still change."""

    def shorter(number: str) -> str:
        mantissa = re.split("[eE]", number)[0]
        is_long = len(mantissa.replace(".", "").strip("0")) > LONG_NUMBER
        return f"{float(number):.{SHORT_NUMBER}g}" if is_long else number

    return _with_numbers(equation, shorter)


def _with_numbers(equation: str, change: Callable[[str], str]) -> str:
    def changed(token: re.Match[str]) -> str:
        number = token["number"]
        return token[0] if number is None else change(number)

    return _TOKEN.sub(changed, equation)


def names_in(equation: str) -> set[str]:
    """Return the names of the inputs that an equation's text contains."""
    tokens = list(_TOKEN.finditer(equation))
    words = {token["word"] for token in tokens if token["word"]}
    return words | {token["quoted"].replace("``", "`") for token in tokens if token["quoted"]}


def front_table(front: pd.DataFrame, width: int | None, unfinished: bool = False) -> list[str]:
    """Return the front as the lines of a table.

    Parameters
    ----------
    front : DataFrame
        As `IEQLRegressor.equations_`.
    width : int or None
        Lines are cut to so many characters. Where that cuts an equation, the number of parameters
        is left out first.
    unfinished : bool
        Round the long constants of a search under way, and say so in the heading.
    """
    equations = [str(text) for text in front["equation"]]
    heading = "equation"
    if unfinished:
        shorter = [shortened(text) for text in equations]
        heading = "equation" if shorter == equations else "equation (unfinished: rounded)"
        equations = shorter
    columns = _columns(front)
    lines = _lines(columns, [heading, *equations])
    if width is not None and max(map(len, lines)) > width:
        del columns["parameters"]
        lines = _lines(columns, [heading, *equations])
    if width is None:
        return lines
    return [line if len(line) <= width else line[: width - 3] + "..." for line in lines]


def _columns(front: pd.DataFrame) -> dict[str, list[str]]:
    columns = {
        "": ["*" if selected else "" for selected in front["selected"]],
        "index": [str(index) for index in front.index],
        "complexity": [f"{value:g}" for value in front["complexity"]],
        "parameters": [f"{value:g}" for value in front["n_parameters"]],
        "training error": [f"{value:.4g}" for value in front["rmse_train"]],
        "validation error": [f"{value:.4g}" for value in front["rmse_validation"]],
    }
    if "output" in front:
        columns["output"] = [str(name) for name in front["output"]]
    if front["rmse_extrapolation"].notna().any():
        columns["extrapolation error"] = [f"{value:.4g}" for value in front["rmse_extrapolation"]]
    return columns


def _lines(columns: dict[str, list[str]], equations: list[str]) -> list[str]:
    widths = [max(map(len, [header, *cells])) for header, cells in columns.items()]
    rows = [[*columns], *([*cells] for cells in zip(*columns.values(), strict=True))]
    return [
        "  ".join([*(cell.rjust(w) for cell, w in zip(row, widths, strict=True)), equation])
        for row, equation in zip(rows, equations, strict=True)
    ]
