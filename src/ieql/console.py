"""Equations as a terminal shows them: the front as a table, and what else it could be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from ieql.alternatives import Alternative
    from ieql.equations.expression import Expression
    from ieql.suggestions import Suggestions

__all__ = [
    "alternatives_table",
    "constants_table",
    "front_table",
    "groups_table",
    "moved_table",
    "suggestions_table",
    "unfinished_text",
    "visible",
]

# Control characters, line ends, marks that turn the direction of writing, and halves of characters
# (bytes of a file's name that are no text), which no terminal takes.
_OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
LONG_NUMBER, SHORT_NUMBER = 10, 4
"""A number of more digits than the first is cut to the second while a search is under way."""


def visible(text: str) -> str:
    r"""Return text on one line, characters that a terminal would obey written by their number.

    >>> print(visible("two\nlines"))
    two<U+000A>lines
    """
    return _OBEYED.sub(lambda c: f"<U+{ord(c[0]):04X}>", text)


def unfinished_text(expression: Expression) -> str:
    """An equation of a search under way, its long numbers rounded: they still change."""
    from ieql.equations.text import write

    return write(expression, precision=SHORT_NUMBER, longest=LONG_NUMBER)


def front_table(
    front: pd.DataFrame,
    expressions: Sequence[Expression],
    width: int | None,
    unfinished: bool = False,
) -> list[str]:
    """Return the front as the lines of a table.

    Parameters
    ----------
    front : DataFrame
        As `IEQLRegressor.equations_`.
    expressions : sequence of Expression
        The equations of its rows, with the constants to be shown.
    width : int or None
        Lines are cut to so many columns of the terminal. Where that cuts an equation, the numbers
        of weights and constants are left out first.
    unfinished : bool
        Round the long constants of a search under way, and say so in the heading.
    """
    equations = [e.text() for e in expressions]
    heading = "equation"
    if unfinished:
        shorter = [unfinished_text(e) for e in expressions]
        heading = "equation" if shorter == equations else "equation (unfinished: rounded)"
        equations = shorter
    columns = _columns(front)
    lines = _lines(columns, [heading, *equations])
    if width is not None and _is_wider(lines, width):
        del columns["weights"], columns["constants"]
        lines = _lines(columns, [heading, *equations])
    return _cut(lines, width)


def alternatives_table(
    found: Sequence[Alternative], width: int | None, precise: bool = False, first: int = 0
) -> list[str]:
    """Return structures that the rows do not tell from the selected one as the lines of a table.

    Parameters
    ----------
    found : sequence of Alternative
        As `ieql.alternatives.alternatives` gives them.
    width : int or None
        Lines are cut to so many columns of the terminal.
    precise : bool
        Show the equations with all digits of their constants.
    first : int
        Index of the first equation of the output's front among those of all outputs.
    """
    columns = {
        "index": ["" if a.index is None else str(first + a.index) for a in found],
        "nats": [f"{a.nats:+.1f}" for a in found],
        "largest difference": [f"{a.largest_difference:.3g}" for a in found],
        "where": [a.where_text() for a in found],
        "rows needed": [f"{a.rows_needed:,.0f}" for a in found],
    }
    equations = [a.candidate.equation(precise).text() for a in found]
    return _cut(_lines(columns, ["equation", *equations]), width)


def constants_table(constants: pd.DataFrame, width: int | None) -> list[str]:
    """Return the constants of equations, as `IEQLRegressor.constants`, as the lines of a table."""
    columns = {
        "value": [repr(value) for value in constants["value"].tolist()],
        "standard error": [
            # A simple number within its error was set, not fitted.
            "" if error != error else f"{error:.2g}" if error else "set"
            for error in constants["standard_error"]
        ],
    }
    units = [str(unit) for unit in constants.get("unit", ())]
    if any(units):
        columns["unit"] = units
    if "output" in constants:
        columns = {"output": [str(name) for name in constants["output"]], **columns}
    return _cut(_lines(columns, ["what it is", *constants["of"]]), width)


def groups_table(constants: pd.DataFrame, width: int | None) -> list[str]:
    """Return the constants of each group, as `IEQLRegressor.group_constants_`, as lines of a table.

    There is a column for each constant that differs between groups; what is shared is said below.
    """
    lines: list[str] = []
    outputs = constants["output"].unique().tolist() if "output" in constants else [None]
    for output in outputs:
        part = constants if output is None else constants[constants["output"] == output]
        own = part[~part["shared"]]
        n_shared = part[part["shared"]]["of"].nunique()
        about = "" if output is None else f" of {output}"
        if len(own):
            labels = own["group"].unique().tolist()
            columns = {
                str(of): [f"{value:.6g}" for value in own[own["of"] == of]["value"]]
                for of in own["of"].unique().tolist()
            }
            lines += _cut(_lines(columns, ["group", *labels]), width)
        shared = f"{n_shared} constant{'s' * (n_shared != 1)}{about}"
        if n_shared:
            verb = "is" if n_shared == 1 else "are"
            lines.append(visible(f"{shared} {verb} shared by all groups."))
        elif len(own):
            lines.append(visible(f"No constant{about} is shared by all groups."))
    return lines


def moved_table(moved: pd.DataFrame, width: int | None) -> list[str]:
    """Return what a recalibration moved, as `IEQLRegressor.recalibrated_`, as lines of a table."""
    columns = {
        "old": [f"{value:.6g}" for value in moved["old"]],
        "new": [f"{value:.6g}" for value in moved["new"]],
        "standard error": ["" if e != e else f"{e:.2g}" for e in moved["standard_error"]],
        "moved": ["" if m != m else f"{m:+.1f}" if m else "0" for m in moved["moved"]],
    }
    if "output" in moved:
        columns = {"output": [str(name) for name in moved["output"]], **columns}
    return _cut(_lines(columns, ["what it is", *moved["of"]]), width)


def suggestions_table(found: Suggestions, width: int | None) -> list[str]:
    """Return points to measure next as the lines of a table.

    Inputs that have the same value in all of several points are named once, below it.

    Parameters
    ----------
    found : Suggestions
        As `ieql.suggestions.suggest` gives them.
    width : int or None
        Lines are cut to so many columns of the terminal.
    """
    values = {
        name: [x if isinstance(x, str) else f"{x:.6g}" for x in of]
        for name, of in found.settings().items()
    }
    same = [name for name, of in values.items() if len(of) > 1 and len(set(of)) == 1]
    cells = [(name, of) for name, of in values.items() if name not in same]
    if found.outputs:
        cells.append(("output", [*found.outputs]))
    cells.append(("selected", [f"{y:.4g}" for y in found.selected]))
    if found.has_rivals:
        cells.append(("rival", [f"{y:.4g}" for y in found.rival]))
        cells.append(("disagreement", [f"{d:.3g}" for d in found.disagreement]))
        cells.append(("rival equation", [*found.rival_equation]))
    *others, (heading, last) = cells
    lines = _cut(_lines(others, [heading, *last]), width)
    if same:
        fixed = ", ".join(f"{name} = {values[name][0]}" for name in same)
        lines.append(visible(f"In all rows: {fixed}."))
    if found.has_rivals:
        lines.append("disagreement: between selected and rival, in units of the noise.")
    return lines


def _is_wider(lines: Sequence[str], width: int) -> bool:
    from rich.cells import cell_len  # takes some milliseconds

    return max(map(cell_len, lines)) > width


def _cut(lines: Sequence[str], width: int | None) -> list[str]:
    if width is None:
        return [*lines]
    from rich.cells import cell_len, set_cell_size

    return [
        line if cell_len(line) <= width else set_cell_size(line, width - 3) + "..."
        for line in lines
    ]


def _columns(front: pd.DataFrame) -> dict[str, list[str]]:
    columns = {
        "": ["*" if selected else "" for selected in front["selected"]],
        "index": [str(index) for index in front.index],
        "complexity": [f"{value:g}" for value in front["complexity"]],
        "weights": [f"{value:g}" for value in front["n_parameters"]],
        "constants": [f"{value:g}" for value in front["n_constants"]],
        "training error": [f"{value:.4g}" for value in front["rmse_train"]],
        "validation error": [f"{value:.4g}" for value in front["rmse_validation"]],
    }
    if "output" in front:
        columns["output"] = [str(name) for name in front["output"]]
    if front["rmse_extrapolation"].notna().any():
        columns["extrapolation error"] = [f"{value:.4g}" for value in front["rmse_extrapolation"]]
    return columns


def _lines(
    columns: dict[str, list[str]] | Sequence[tuple[str, list[str]]], equations: list[str]
) -> list[str]:
    from rich.cells import cell_len  # characters may take no room in a terminal, or that of two

    pairs = columns.items() if isinstance(columns, dict) else columns
    cells = [*map(list, zip(*([name, *of] for name, of in pairs), strict=True))]
    shown = [[visible(cell) for cell in row] for row in cells]
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    padded = [
        [" " * (width - cell_len(cell)) + cell for cell, width in zip(row, widths, strict=True)]
        for row in shown
    ]
    texts = map(visible, equations)
    return ["  ".join([*row, text]) for row, text in zip(padded, texts, strict=True)]
