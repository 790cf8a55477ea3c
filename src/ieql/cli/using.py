"""Commands that use an equation: predict, export, recalibrate."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ieql.cli.app import Index, Precise, RunArgument, app, examples, load, plain_speech
from ieql.cli.given import column_names, default_folder
from ieql.cli.options import named_values
from ieql.cli.printing import print_moved
from ieql.cli.tables import (
    check_ids,
    prediction_rows,
    reading_options,
    say,
    source_origins,
    take_reading,
)
from ieql.console import visible
from ieql.errors import IeqlError, nearest

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from ieql.regressor import IEQLRegressor

__all__ = ["export", "predict", "recalibrate"]


@app.command(
    epilog=examples(
        "ieql predict runs/torque new.csv > predictions.csv",
        "ieql predict runs/torque new.csv --interval 0.9 > predictions.csv",
    )
)
@plain_speech()
@reading_options
def predict(
    run: RunArgument,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="File with a table; columns that are not inputs are ignored."
        ),
    ],
    index: Index = None,
    precise: Precise = False,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="LEVEL",
            help="Add columns NAME_low and NAME_high: so large a share of measurements, such as "
            "0.9, lies between them.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File for the predictions.  [default: standard output]"),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id", metavar="NAMES", help="Columns to write in front, such as the time of each row."
        ),
    ] = None,
    **chosen: Any,
) -> None:
    """Predict the rows of a file; writes a CSV with one column per target.

    Rows and their order are kept, and so is a decimal comma; a row with a gap gets none.
    """
    import pandas as pd

    from ieql.data.reading import read_table
    from ieql.run.folder import RunFolder, without_formulas

    model = load(run)
    table = read_table(data, **take_reading(chosen))
    shown_ids = [] if ids is None else column_names(ids, table.frame, "--id")
    check_ids(table, shown_ids, model.target_names_)
    if shown_ids:  # exactly as they are written
        table = read_table(data, as_text=shown_ids, **table.reading.told())
    say(table.notes, quiet=True)
    origins = source_origins(RunFolder.open(run).description().get("source"))
    categories = model.fitted_.categories
    names = categories.columns(model.feature_names_)
    X, has_all = prediction_rows(table, run, names, origins, categories.levels)
    column = model.fitted_.group_column
    groups = table.frame[column] if model.groups_ and column in table.frame.columns else None
    if model.groups_ and groups is None:
        text = f"The file has no column {column!r}: the constants of the whole fleet are used."
        typer.echo(f"Warning: {visible(text)}", err=True)
    predictions = _predicted(model, X, has_all, groups, index, precise, interval)
    found = pd.concat([table.frame[shown_ids], predictions], axis=1)
    # Names come from elsewhere, and a spreadsheet would run one that looks like a formula.
    found = without_formulas(found)
    separator = ";" if table.decimal == "," else ","
    style: dict[str, Any] = {"index": False, "lineterminator": "\n", "sep": separator}
    try:
        found.to_csv(out or sys.stdout, decimal=table.decimal, **style)
        sys.stdout.flush()  # a full disk is to be seen here, not at the end of Python
    except OSError as error:
        if out is None:
            raise
        raise IeqlError(f"Cannot write {str(out)!r}: {error.strerror or error}.") from error


@app.command(
    epilog=examples(
        "ieql export runs/torque --format latex --index 3",
        "ieql export runs/torque --format c --real float --out torque.c",
        "ieql export runs/torque --format c --option guard=clamp --option part=test",
        "ieql export --list",
    )
)
@plain_speech()
def export(
    run: Annotated[
        Path | None,
        typer.Argument(metavar="RUN", help="The run folder: the --out of the fit."),
    ] = None,
    format: Annotated[
        str, typer.Option(metavar="NAME", help="The format to write; --list shows all of them.")
    ] = "text",
    index: Index = None,
    precise: Precise = False,
    real: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE", help="Type of all numbers in C: double or float.  [default: double]"
        ),
    ] = None,
    digits: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=17, help="Significant digits, for reading.  [default: all]"
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Another option of the format, see --list; repeat it for several.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write.  [default: standard output]"),
    ] = None,
    list_formats: Annotated[
        bool, typer.Option("--list", help="List the formats with their options and exit.")
    ] = False,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With the constants of this group, for a fit with --groups.  [default: the fleet]",
        ),
    ] = None,
) -> None:
    """Print the selected equation, or another one on the front, in another notation.

    A format for programs, such as C, holds one function per target; with --index the other targets
    keep their selected equation.
    """
    from ieql.export.formats import all_formats, find_format

    if list_formats:
        formats = all_formats()
        width = max(map(len, formats))
        for name, known in formats.items():
            takes = f" ({', '.join(known.options)})" if known.options else ""
            typer.echo(visible(f"{name:{width}}  {known.sentence}{takes}"))
        return
    if run is None:
        raise IeqlError("RUN is missing: name the run folder, as in `ieql export runs/torque`.")
    given = {"real": real, "digits": digits}
    options = {name: value for name, value in given.items() if value is not None}
    options |= named_values(option or [])
    find_format(format).check(options)  # before the model is loaded, which takes a second
    model = load(run)
    if group is not None:
        model = model.group(group)
    content = model.export(format, index, out, precise=precise, **options)
    if out is not None:
        return
    if isinstance(content, bytes) and sys.stdout.isatty():
        raise IeqlError(f"The format {format!r} is not text; write it to a file with --out.")
    typer.echo(content, nl=False)


@app.command(
    epilog=examples(
        "ieql recalibrate runs/torque new.csv --out runs/new",
        "ieql recalibrate runs/torque new.csv --index 3",
    )
)
@plain_speech()
@reading_options
def recalibrate(
    run: RunArgument,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="File with the inputs and targets of the run; other columns are ignored.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Run folder.  [default: runs/<file>-<target>]"),
    ] = None,
    index: Index = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run in the run folder.")
    ] = False,
    **chosen: Any,
) -> None:
    """Fit the constants of a run's equation to new rows, near the old ones; the structure stays.

    A handful of rows will do. The new run folder holds what a fit leaves there, so that show,
    predict, export and report work on it.
    """
    from ieql.data.reading import read_table
    from ieql.data.roles import Roles, take
    from ieql.run.folder import RunFolder

    model = load(run)
    categories, targets = model.fitted_.categories, model.target_names_
    names = categories.columns(model.feature_names_)
    table = read_table(data, **take_reading(chosen))
    for name in (*names, *targets):
        if name not in table.frame.columns:
            raise IeqlError(
                f"{table.name} lacks the column {name!r} of the run {str(run)!r}."
                f"{nearest(name, table.frame.columns)}"
            )
    origins = source_origins(RunFolder.open(run).description().get("source"))
    roles = Roles(
        tuple(targets), tuple(names), origins=origins, categories=tuple(categories.levels)
    )
    taken = take(table, roles, min_rows=1)
    say([*table.notes, *taken.notes])
    X, y = taken.X, taken.y
    new = model.recalibrate(X, y, index)
    from ieql.run.recalibrated import store

    folder = out or default_folder(data, targets)
    source = {
        "data": str(data.resolve()),
        "targets": targets,
        "inputs": names,
        "extrapolation": None,
        **({"reading": table.reading.told()} if table.reading.told() else {}),
        **({"origins": taken.origins} if taken.origins else {}),
        **({"categories": list(categories.levels)} if categories else {}),
    }
    origin = str(run.resolve())
    fault = store(folder, new.fitted_, new.evidence_, source, origin, overwrite)
    for k, name in enumerate(targets):
        typer.echo(visible(f"{name} = {new.fitted_.candidate(output=k).expression.text()}"))
    print_moved(new)
    for sentence in new.fitted_.cautions():
        typer.echo(visible(sentence))
    if fault is not None:
        raise IeqlError(f"{fault} What is printed above is not stored.")
    typer.echo(f"Results are in {visible(str(folder))}.")


def _predicted(
    model: IEQLRegressor,
    X: pd.DataFrame,
    has_all: NDArray[np.bool_],
    groups: Any,
    index: int | None,
    precise: bool,
    interval: float | None,
) -> pd.DataFrame:
    """Predictions of all rows, with gaps for those that lack an input."""
    import pandas as pd

    whole, of = X[has_all], None if groups is None else groups[has_all]
    if not len(whole):
        return pd.DataFrame(index=X.index, columns=list(model.target_names_), dtype=float)
    predictions = model.predict(whole, index=index, precise=precise, groups=of)
    table = pd.DataFrame(predictions, columns=model.target_names_)
    if interval is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they have just been said
            ends = model.predict_interval(whole, interval, index, precise=precise, groups=of)
        table = _with_interval(table, ends)
    return table.set_axis(whole.index).reindex(X.index)


def _with_interval(predictions: pd.DataFrame, ends: NDArray[np.float64]) -> pd.DataFrame:
    """Return predictions with the lower and upper ends of their intervals beside each."""
    import pandas as pd

    ends = ends.reshape(len(predictions), 2, -1)
    columns, names = [], []
    for k, name in enumerate(predictions.columns):
        columns += [predictions.iloc[:, k].to_numpy(), ends[:, 0, k], ends[:, 1, k]]
        names += [name, f"{name}_low", f"{name}_high"]
    return pd.DataFrame(dict(enumerate(columns))).set_axis(names, axis=1)
