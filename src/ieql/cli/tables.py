"""Tables on the command line: the options that say how files are read, and rows to predict."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ieql.console import visible
from ieql.errors import IeqlError, nearest

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from ieql.data.notes import Note
    from ieql.data.reading import Table

__all__ = [
    "check_ids",
    "prediction_rows",
    "reading_options",
    "say",
    "source_origins",
    "take_reading",
]

Command = TypeVar("Command", bound=Callable[..., Any])

OPTIONS: dict[str, tuple[Any, Any, Any]] = {
    "skip_rows": (
        int | None,
        None,
        typer.Option(
            "--skip-rows",
            metavar="N",
            min=0,
            help="Lines of the file above the header.  [default: found by looking]",
        ),
    ),
    "units_row": (
        bool,
        False,
        typer.Option(
            "--units-row", help="The line below the header holds units, or other words: no data."
        ),
    ),
    "no_header": (
        bool,
        False,
        typer.Option(
            "--no-header", help="The first line is data; columns are column1, column2, ..."
        ),
    ),
    "decimal": (
        str | None,
        None,
        typer.Option(
            "--decimal",
            metavar="MARK",
            help="Decimal mark, point or comma; the other one stands between thousands.  "
            "[default: what the cells tell]",
        ),
    ),
    "dates": (
        str | None,
        None,
        typer.Option(
            "--dates", metavar="ORDER", help="What 01/02/2024 means: day-first or month-first."
        ),
    ),
    "na": (
        list[str] | None,
        None,
        typer.Option(
            "--na",
            metavar="CELL",
            help="Cell that means a missing value, such as -9999; repeat it for several. Empty "
            "cells, NA, - and #DIV/0! always do.",
        ),
    ),
    "exclude": (
        list[str] | None,
        None,
        typer.Option("--exclude", metavar="NAMES", help="Columns to leave out."),
    ),
    "sheet": (
        str | None,
        None,
        typer.Option(
            "--sheet", metavar="NAME", help="Sheet of an Excel file, or raster of an MDF file."
        ),
    ),
    "raster": (
        float | None,
        None,
        typer.Option(
            "--raster",
            metavar="SECONDS",
            help="Interpolate the channels of an MDF file to rows at this distance.",
        ),
    ),
}
"""Type, default and flag of each field of `Reading`."""


def reading_options(command: Command) -> Command:
    """Give a command, in place of its ``**chosen``, the options that say how a file is read."""
    signature = inspect.signature(command, eval_str=True)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    added = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[kind, info],
        )
        for name, (kind, default, info) in OPTIONS.items()
    ]
    command.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    command.__annotations__ |= {p.name: p.annotation for p in added}
    return command


def take_reading(chosen: dict[str, Any]) -> dict[str, Any]:
    """Take the options of reading out of all that a command was given."""
    return {name: chosen.pop(name) for name in OPTIONS if name in chosen}


def say(notes: Iterable[Note], *, quiet: bool = False) -> None:
    """Say on stderr what was noticed, a line each; if `quiet`, only what is left out or wrong."""
    from ieql.data.notes import Kind, sentences

    kinds = (Kind.LEFT_OUT, Kind.WARNING) if quiet else tuple(Kind)
    for line in sentences(note for note in notes if note.kind in kinds):
        typer.echo(visible(line), err=True)


# --- rows to predict -----------------------------------------------------------------------------


def source_origins(source: object) -> dict[str, str]:
    """What the times among the inputs of a run are counted from, as its ``run.json`` says."""
    found = source.get("origins") if isinstance(source, dict) else None
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}


def prediction_rows(
    table: Table,
    run: Path,
    names: Sequence[str],
    origins: Mapping[str, str],
    categories: Collection[str] = (),
) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """The inputs of a run from a table, and which of its rows have no gap among them.

    Raises
    ------
    IeqlError
        If an input is not there, or holds something else than numbers.
    """
    from ieql.data.roles import input_columns

    for name in names:
        if name not in table.frame.columns:
            raise IeqlError(
                f"{table.name} lacks the column {name!r}, which is an input of the run "
                f"{str(run)!r}.{nearest(name, table.frame.columns)}"
            )
    X = input_columns(table, names, origins, categories)
    has_all = ~X.isna().any(axis=1).to_numpy()
    n = int((~has_all).sum())
    if n:
        text = f"{n} of {len(X)} rows have gaps in the inputs; their predictions are left empty"
        typer.echo(f"Left out: {text}.", err=True)
    return X, has_all


def check_ids(table: Table, ids: Sequence[str], targets: Sequence[str]) -> None:
    """Refuse the name of no column, or that of a prediction."""
    for name in ids:
        if name not in table.frame.columns:
            raise IeqlError(
                f"{table.name} has no column {name!r}, which --id names."
                f"{nearest(name, table.frame.columns)}"
            )
        if name in targets:
            raise IeqlError(f"--id: {name!r} is the name of the prediction; choose another column.")
