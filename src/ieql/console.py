"""Equations as a terminal shows them: the front as a table, constants rounded for the eye."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["front_table", "names_in", "rounded", "visible"]

# In the text of an equation: names (quoted or plain, not those of units) and numbers.
_QUOTED = r"`(?P<quoted>(?:[^`]|``)+)`"
_WORD = r"(?P<word>[^\W\d]\w*)(?!\w*\()"
_NUMBER = r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
# Control characters, line ends, marks that turn the direction of writing, and halves of characters
# (bytes of a file's name that are no text), which no terminal takes.
_OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_TOKEN = re.compile(f"{_QUOTED}|{_WORD}|[^\\W\\d]\\w*|{_NUMBER}")


def visible(text: str) -> str:
    r"""Return text on one line, characters that a terminal would obey written by their number.

    >>> print(visible("two\nlines"))
    two<U+000A>lines
    """
    return _OBEYED.sub(lambda c: f"<U+{ord(c[0]):04X}>", text)


def rounded(equation: str, digits: int = 4) -> str:
    """Return the equation with its numbers rounded, its names untouched: for the eye only."""

    def shorter(token: re.Match[str]) -> str:
        number = token["number"]
        return token[0] if number is None else f"{float(number):.{digits}g}"

    return _TOKEN.sub(shorter, equation)


def names_in(equation: str) -> set[str]:
    """Return the names of the inputs that an equation's text contains."""
    tokens = list(_TOKEN.finditer(equation))
    words = {token["word"] for token in tokens if token["word"]}
    return words | {token["quoted"].replace("``", "`") for token in tokens if token["quoted"]}


def front_table(front: pd.DataFrame, width: int | None) -> list[str]:
    """Return the front as the lines of a table, cut to `width` unless that is None."""
    columns = {
        "": ["*" if selected else "" for selected in front["selected"]],
        "index": [str(index) for index in front.index],
        "complexity": [f"{value:g}" for value in front["complexity"]],
        "parameters": [f"{value:g}" for value in front["n_parameters"]],
        "validation error": [f"{value:.4g}" for value in front["rmse_validation"]],
    }
    if "output" in front:
        columns["output"] = [str(name) for name in front["output"]]
    if front["rmse_extrapolation"].notna().any():
        columns["extrapolation error"] = [f"{value:.4g}" for value in front["rmse_extrapolation"]]
    widths = [max(map(len, [header, *cells])) for header, cells in columns.items()]
    rows = [[*columns], *([*cells] for cells in zip(*columns.values(), strict=True))]
    equations = ["equation (rounded)", *(rounded(text) for text in front["equation"])]
    lines = []
    for row, equation in zip(rows, equations, strict=True):
        line = "  ".join([*(cell.rjust(w) for cell, w in zip(row, widths, strict=True)), equation])
        lines.append(line if width is None or len(line) <= width else line[: width - 3] + "...")
    return lines
