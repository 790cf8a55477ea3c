"""The command line: thin commands over `IEQLRegressor` and the run folder.

Exit codes: 0 done; 2 wrong use or bad input, said in one sentence; 130 interrupted, results kept.
Whatever is slow to import is imported inside the commands, so that ``--help`` is quick.
"""

from __future__ import annotations

import contextlib
import math
import re
import shlex
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ieql import __version__
from ieql.cli_options import FitCommand, fit_options, named_values
from ieql.cli_tables import (
    check_ids,
    prediction_rows,
    reading_options,
    say,
    source_origins,
    take_reading,
)
from ieql.console import (
    alternatives_table,
    constants_table,
    front_table,
    groups_table,
    moved_table,
    suggestions_table,
    visible,
)
from ieql.errors import IeqlError, nearest

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from ieql.prior import Prior
    from ieql.regressor import IEQLRegressor

__all__ = ["app", "main"]

app = typer.Typer(
    help="Informed equation learning: from a table of measurements to a compact equation.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help and one-line errors: they end up in logs and scripts, too
    pretty_exceptions_enable=False,
)


def _examples(*lines: str) -> str:
    return "\n".join(
        ["\b", "Example:" if len(lines) == 1 else "Examples:", *(f"  {x}" for x in lines)]
    )


RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="The run folder: the --out of the fit.")
]
Index = Annotated[
    int | None,
    typer.Option(metavar="N", help="Another equation on the front, by its index in 'ieql show'."),
]
Precise = Annotated[
    bool,
    typer.Option(
        "--precise", help="Use all fitted digits of the constants, not only the certain ones."
    ),
]


def main() -> None:
    """Run the command line."""
    app(prog_name="ieql")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"ieql {__version__}")
        raise typer.Exit


@app.callback()
def everywhere(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options that stand before the command."""


@contextlib.contextmanager
def _plain_speech() -> Iterator[None]:
    """Turn errors a user can mend into one line on stderr and exit code 2, warnings into a line."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        typer.echo(f"Warning: {visible(str(message))}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        try:
            yield
        except IeqlError as error:
            typer.echo(f"Error: {visible(str(error))}", err=True)
            raise typer.Exit(2) from error
        except KeyboardInterrupt as error:
            typer.echo("Interrupted.", err=True)
            raise typer.Exit(130) from error
        except BrokenPipeError:
            raise  # who reads us has had enough; typer ends without a word
        except OSError as error:
            typer.echo(f"Error: Cannot write: {error.strerror or error}.", err=True)
            raise typer.Exit(2) from error


@app.command(epilog=_examples("ieql demo"))
@_plain_speech()
def demo(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the results; replaced if it exists.")
    ] = (Path("runs/demo")),
    time: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Seconds to search.")
    ] = 20.0,
) -> None:
    """Find the equation of an electric machine's power loss in the bundled data."""
    from ieql.data.table import split_target
    from ieql.problems import demo_table
    from ieql.regressor import IEQLRegressor

    X, y = split_target(demo_table(), ["P_mod"])
    typer.echo(
        f"The power loss P_mod (W) of an electric machine, {len(X):,} rows, {X.shape[1]} inputs.\n"
        "The data is a reconstruction from the paper's numbers, not the original measurement.\n"
        f"Searching for up to {time:g} s with the prior 'motor' ...\n"
    )
    model = IEQLRegressor(
        prior="motor", max_time=time, random_state=0, run_dir=out, progress=sys.stderr.isatty()
    )
    model._fit(X, y, overwrite=True)
    _conclude(model, out, "demo")


@app.command(
    cls=FitCommand,
    epilog=_examples(
        "ieql fit data.csv --target torque",
        "ieql fit data.csv --target torque --inputs speed,load --prior motor --time 120",
    ),
)
@_plain_speech()
@fit_options()
@reading_options
def fit(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...",
            help="File with a table: CSV or other text, .xlsx, .parquet, .feather, .mf4. Several "
            "files with the same columns are joined, and the column 'file' tells which.",
        ),
    ],
    target: Annotated[
        list[str],
        typer.Option(
            metavar="NAME", help="Column to explain; for several, repeat it or use commas."
        ),
    ],
    inputs: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Columns to explain it with.  [default: all others]"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Run folder.  [default: runs/<file>-<target>]"),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Replace the run in the run folder instead of continuing it."
        ),
    ] = False,
    domain: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="YAML file, 'name: [low, high]': where it must be safe."),
    ] = None,
    extrapolation: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV file with points outside the data, to select by."),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column that names the device, or other group, of each row: one structure is "
            "learned for all, with constants that are shared or each one's own.",
        ),
    ] = None,
    units: Annotated[
        bool,
        typer.Option(
            "--units",
            help="Read physical units from the names of columns: 'n [1/min]', 'M (Nm)', 'T_K'.",
        ),
    ] = False,
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Inputs that every equation has."),
    ] = None,
    together: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Inputs of which an equation has all or none; repeat for more."
        ),
    ] = None,
    apart: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Inputs of which an equation has one at most; repeat for more."
        ),
    ] = None,
    max_units: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Units (squares, products, ...) of an equation."),
    ] = None,
    sigma: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column with the standard deviation of each row of the target."
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the weight of each row: counts if all are whole, else precisions.",
        ),
    ] = None,
    held_out: Annotated[
        str | None,
        typer.Option(
            "--held-out",
            metavar="COLUMN",
            help="Column that is 1 (or yes) in rows that are not learned from, or COLUMN=VALUE; "
            "they are points to select by, as with --extrapolation.",
        ),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(
            metavar="WHAT", help="Rows with gaps in what is used: 'drop' them, or 'error'."
        ),
    ] = "drop",
    **chosen: Any,
) -> None:
    """Learn equations from a table and keep them in a run folder."""
    from ieql.data.notes import sentences
    from ieql.data.reading import read_table
    from ieql.data.roles import Roles, take
    from ieql.run.resume import outside_roles

    reading = take_reading(chosen)
    table = read_table(*data, **reading)
    frame = table.frame
    chosen["prior"] = _with_rules(chosen["prior"], frame, require, together, apart, max_units)
    targets = column_names(target, frame, "--target")
    wanted = None if inputs is None else column_names(inputs, frame, "--inputs")
    if chosen["categories"]:
        chosen["categories"] = column_names(chosen["categories"], frame, "--categories")
    if groups is not None:
        _check_groups(table.name, frame, groups, (*targets, *(wanted or ())))
    for option, name in (("--sigma", sigma), ("--weights", weights)):
        if name is not None:
            _check_column(name, frame, option, [*targets, *(wanted or [])])
    if held_out is not None and extrapolation is not None:
        raise IeqlError("--held-out and --extrapolation both give points outside; use one of them.")
    roles = Roles(
        tuple(targets),
        None if wanted is None else tuple(wanted),
        groups,
        sigma,
        weights,
        held_out,
        missing,
        categories=tuple(chosen["categories"] or ()),
    )
    taken = take(table, roles)
    say([*table.notes, *taken.notes])
    X, y, weight = taken.X, taken.y, taken.weight
    names = [str(name) for name in X.columns]
    if units:
        chosen["prior"] = _with_units(chosen.get("prior"), [*names, *targets], table.units)
    X_held_out, y_held_out = taken.outside or (None, None)
    if extrapolation is not None:
        others = read_table(extrapolation, **{**reading, "exclude": None})
        outside = take(others, outside_roles(roles, taken), min_rows=1)
        say([*others.notes, *outside.notes], quiet=True)
        X_held_out, y_held_out = outside.X, outside.y
    from ieql.run.folder import RunFolder

    folder = out or default_folder(data[0], targets, len(data))
    if not overwrite and RunFolder.exists(folder):
        there = f"There is a run in {folder}; it continues if nothing has changed."
        typer.echo(visible(there), err=True)
    from ieql.regressor import IEQLRegressor  # takes a second: not before the input is in order

    model = IEQLRegressor(
        **chosen,
        domain=None if domain is None else read_domain(domain, names),
        run_dir=folder,
        progress=sys.stderr.isatty(),
    )
    files = [str(path.resolve()) for path in data]
    told = {
        "sigma": sigma,
        "weights": weights,
        "held_out": held_out,
        "missing": None if missing == "drop" else missing,
        "origins": taken.origins,
        "categories": chosen["categories"],
        "reading": table.reading.told(),
        "said": sentences([*table.notes, *taken.notes]),
    }
    source = {
        "data": files[0] if len(files) == 1 else files,
        "targets": targets,
        "inputs": names,
        "extrapolation": None if extrapolation is None else str(extrapolation.resolve()),
        "groups": groups,
        **{key: value for key, value in told.items() if value},
    }
    model._fit(X, y, weight, X_held_out, y_held_out, source, overwrite, taken.groups)
    _conclude(model, folder, "fit")


@app.command(
    epilog=_examples("ieql check data.csv", "ieql check bench.xlsx --sheet Run3 --skip-rows 2")
)
@_plain_speech()
@reading_options
def check(
    data: Annotated[
        list[Path],
        typer.Argument(metavar="DATA...", help="File with a table, or several to be joined."),
    ],
    **chosen: Any,
) -> None:
    """Say what is in a file, what a fit would do about it, and the command to run."""
    from ieql.data.reading import read_table
    from ieql.data.survey import survey

    for line in survey(read_table(*data, **take_reading(chosen))).lines():
        typer.echo(visible(line))


def _converted(model: IEQLRegressor, asked: Sequence[str], precise: bool) -> list[str]:
    """The selected equations in other units, which are given as 'column=unit'."""
    units = {}
    for text in asked:
        column, sign, unit = text.rpartition("=")
        if not sign or not column:
            raise IeqlError(f"--in: write COLUMN=UNIT, such as speed=m/s, not {text!r}.")
        units[column.strip()] = unit.strip()
    lines = []
    for k, name in enumerate(model.target_names_):
        others = [other for other in model.target_names_ if other != name]
        own = {column: unit for column, unit in units.items() if column not in others}
        lines.append(f"{name} = {model.in_units(own, output=k, precise=precise).text()}")
    return lines


def _with_units(prior: Any, names: Sequence[str], others: Mapping[str, str]) -> Prior:
    """The prior with the units that the names of columns, or the file, tell; say which these are.

    `others` are those of the file: a row of units below the header, or units in cells.
    """
    from ieql.column_units import is_unit, units_in_names
    from ieql.prior import Prior

    known = Prior.of(prior)
    in_file = {n: u for n, u in others.items() if n in names and is_unit(u)}
    in_names = units_in_names(names)
    for name in in_file:
        if in_names.get(name, in_file[name]) != in_file[name]:
            raise IeqlError(
                f"--units: the name of the column {name!r} says {in_names[name]}, its cells or the "
                f"line below say {in_file[name]}; correct one of them."
            )
    found = {**in_names, **in_file}
    quantities = {**found, **known.quantities}
    told = ", ".join(f"{name} in {unit}" for name, unit in found.items())
    nothing = "none was found in the names of the columns; write them as 'n [1/min]'"
    typer.echo(visible(f"Units: {told or nothing}."), err=True)
    return replace(known, quantities=quantities)


def _check_column(name: str, frame: pd.DataFrame, option: str, taken: Sequence[str]) -> None:
    """Refuse the name of no column, or of one that has another part."""
    if name not in frame.columns:
        raise IeqlError(f"{option}: there is no column {name!r}.{nearest(name, frame.columns)}")
    if name in taken:
        raise IeqlError(f"{option}: {name!r} is an input or a target as well; name another column.")


def _with_rules(
    prior: Any,
    frame: pd.DataFrame,
    require: Sequence[str] | None,
    together: Sequence[str] | None,
    apart: Sequence[str] | None,
    max_units: int | None,
) -> Any:
    """A prior with the rules of the command line; those of its own that these do not replace stay.

    Each --together and --apart is one list of names.
    """
    rules: dict[str, Any] = {}
    if require:
        rules["require"] = column_names(require, frame, "--require")
    for key, groups in (("together", together), ("apart", apart)):
        if groups:
            rules[key] = [column_names([names], frame, f"--{key}") for names in groups]
    if max_units is not None:
        rules["max_units"] = max_units
    if not rules:
        return prior
    from dataclasses import replace

    from ieql.prior import Prior

    return replace(Prior.of(prior), **rules)


@app.command(cls=FitCommand, epilog=_examples("ieql resume runs/torque --time 60"))
@_plain_speech()
@fit_options(resuming=True)
def resume(run: RunArgument, **chosen: Any) -> None:
    """Continue a run that ended, was stopped or was killed; nothing found is lost."""
    from ieql.run.recalibrated import refuse_to_search
    from ieql.run.resume import data_files

    refuse_to_search(run)
    for file in data_files(run):
        typer.echo(visible(f"Reading {str(file)!r}, as the run says."), err=True)
    from ieql.regressor import resume_run

    given = {name: value for name, value in chosen.items() if value is not None}
    model = resume_run(run, **given, progress=sys.stderr.isatty())
    _conclude(model, run, "resume")


@app.command(epilog=_examples("ieql show runs/torque", "ieql show runs/torque --alternatives"))
@_plain_speech()
def show(
    run: RunArgument,
    precise: Precise = False,
    alternatives: Annotated[
        bool,
        typer.Option(
            "--alternatives",
            help="Print the structures that the rows cannot tell from the selected one, too.",
        ),
    ] = False,
    units: Annotated[
        list[str] | None,
        typer.Option(
            "--in",
            metavar="COLUMN=UNIT",
            help="Print the selected equation in other units, too: --in speed=m/s. Repeat it.",
        ),
    ] = None,
) -> None:
    """Print the front of a run as a table, and the selected equation."""
    model = _load(run)
    converted = [] if units is None else _converted(model, units, precise)
    _print_front(model, precise)
    from ieql.doubts import ending

    reason, covered = ending(model.stop_reason_)
    if model.fitted_.recalibrated is not None:
        _print_moved(model)
    elif reason:
        typer.echo(visible(f"The search ended because {reason}."))
    if covered:
        typer.echo(visible(covered))
    if alternatives:
        _print_alternatives(model, precise)
    if converted:
        typer.echo("\nIn the units that were asked for:")
        for line in converted:
            typer.echo(visible(f"  {line}"))
    found = model.constants(precise=precise)
    if found["unit"].any():
        typer.echo("\nConstants of the selected equation:")
        for line in constants_table(found, _width()):
            typer.echo(line)
    for _, sentence in model.fitted_.doubts():  # a fit says them as warnings
        typer.echo(f"Warning: {visible(sentence)}", err=True)


@app.command(
    epilog=_examples("ieql constants runs/torque", "ieql constants runs/torque --index 3 --precise")
)
@_plain_speech()
def constants(run: RunArgument, index: Index = None, precise: Precise = False) -> None:
    """Print the constants of the selected equation with their standard errors."""
    model = _load(run)
    found = model.constants(index, precise)
    rows = enumerate(model.fitted_.rows_of(index))
    for k, row in rows:
        if index is None or row is not None:
            equation = model.fitted_.candidate(row, k).equation(precise)
            typer.echo(visible(f"{model.target_names_[k]} = {equation.text()}"))
    for line in constants_table(found, _width()) if len(found) else ():
        typer.echo(line)


@app.command(
    epilog=_examples(
        "ieql predict runs/torque new.csv > predictions.csv",
        "ieql predict runs/torque new.csv --interval 0.9 > predictions.csv",
    )
)
@_plain_speech()
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

    model = _load(run)
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
    epilog=_examples(
        "ieql export runs/torque --format latex --index 3",
        "ieql export runs/torque --format c --real float --out torque.c",
        "ieql export runs/torque --format c --option guard=clamp --option part=test",
        "ieql export --list",
    )
)
@_plain_speech()
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
    model = _load(run)
    if group is not None:
        model = model.group(group)
    content = model.export(format, index, out, precise=precise, **options)
    if out is not None:
        return
    if isinstance(content, bytes) and sys.stdout.isatty():
        raise IeqlError(f"The format {format!r} is not text; write it to a file with --out.")
    typer.echo(content, nl=False)


@app.command(
    epilog=_examples(
        "ieql suggest runs/torque",
        "ieql suggest runs/torque -n 8 --limits speed=0:3000 --limits gear=1,2,3 --out next.csv",
    )
)
@_plain_speech()
def suggest(
    run: RunArgument,
    n: Annotated[int, typer.Option("-n", "--points", metavar="N", help="How many points.")] = 5,
    limits: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMITS",
            help="Where an input can be set: speed=0:3000, load=0.5 or gear=1,2,3; repeat it for "
            "several, or name a YAML file with lines 'speed: [0, 3000]'.  [default: the domain]",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV file for the points, too.")
    ] = None,
) -> None:
    """Say where to measure next: where the equations that the rows leave open disagree."""
    from ieql.files import save_text
    from ieql.run.folder import without_formulas

    model = _load(run)
    from ieql.suggestions import suggest as suggested

    found = suggested(model.fitted_, n, read_limits(limits or (), model.feature_names_))
    if out is not None:
        table = without_formulas(found.frame())
        save_text(out, table.to_csv(index=False, lineterminator="\n"))
    for line in suggestions_table(found, _width()):
        typer.echo(line)
    typer.echo("\n" + visible(found.sentence))


@app.command(
    "try",
    epilog=_examples(
        "ieql try runs/torque 'a*speed**2 + b'",
        "ieql try runs/torque '0.02*speed**2 + 3' --no-refit",
    ),
)
@_plain_speech()
def try_equation(
    run: RunArgument,
    equation: Annotated[
        str,
        typer.Argument(
            metavar="EQUATION",
            help="Like 'a*speed**2 + b': names that are no inputs are constants, and are fitted.",
        ),
    ],
    refit: Annotated[
        bool,
        typer.Option(help="Fit the numbers of an equation without such names, too."),
    ] = True,
    target: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The output that it is for.  [default: the first]"),
    ] = None,
) -> None:
    """Fit an equation of your own to the rows of a run, and say how it stands beside the front."""
    model = _load(run)
    from ieql.run.resume import data_files, read_asked

    if not data_files(run):
        raise IeqlError(
            f"The rows of the run in {str(run)!r} came from no file; try the equation in Python: "
            "model.try_equation(text, X=X, y=y)."
        )
    names = model.target_names_
    if target is not None and target not in names:
        raise IeqlError(f"The run has no output {target!r}.{nearest(target, names)}")
    asked = read_asked(run)
    if len(asked.X) != model.fitted_.n_data_rows:
        raise IeqlError(
            f"The file of the run in {str(run)!r} has {len(asked.X)} rows now, and had "
            f"{model.fitted_.n_data_rows} at the fit; fit it again, or restore the file."
        )
    output = 0 if target is None else names.index(target)
    row = model.try_equation(
        equation, refit, output=output, X=asked.X, y=asked.y, sample_weight=asked.weight
    )
    typer.echo(visible(f"{names[output]} = {row['equation']}"))
    for name, (value, error) in row.attrs["constants"].items():
        typer.echo(visible(f"  {name} = {value:.6g} ± {error:.2g}"))
    chosen = model.fitted_.candidate(None, output)
    typer.echo(f"{'':12}{'complexity':>12}{'train':>12}{'validation':>12}")
    for label, values in (
        ("this one", (row["complexity"], row["rmse_train"], row["rmse_validation"])),
        ("selected", (chosen.complexity, chosen.rmse_train, chosen.rmse_validation)),
    ):
        typer.echo(f"{label:12}" + "".join(f"{v:12.4g}" for v in values))
    for sentence in row.attrs["sentences"]:
        typer.echo(visible(sentence))


@app.command(
    epilog=_examples(
        "ieql prove runs/torque", "ieql prove runs/torque --index 3 --out certificate.json"
    )
)
@_plain_speech()
def prove(
    run: RunArgument,
    index: Index = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON file for the certificate of what is proved."),
    ] = None,
) -> None:
    """Prove that an equation is safe and keeps to its limits in the whole declared domain."""
    model = _load(run)
    several = len(model.target_names_) > 1 and index is None
    if several and out is not None:
        raise IeqlError("A certificate is about one equation; say which one with --index.")
    for k in range(len(model.target_names_) if several else 1):
        proof = model.prove(index, output=k)
        typer.echo(visible(proof.equation))
        for sentence in proof.sentences():
            typer.echo(visible(f"  {sentence}"))
        if out is not None:
            from ieql import check_certificate

            proof.save(out)
            checker = Path(check_certificate.__file__)
            typer.echo(visible(f"Certificate: {out}; check it with: python {checker} {out}"))


@app.command(
    epilog=_examples(
        "ieql recalibrate runs/torque new.csv --out runs/new",
        "ieql recalibrate runs/torque new.csv --index 3",
    )
)
@_plain_speech()
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

    model = _load(run)
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
    _print_moved(new)
    for sentence in new.fitted_.cautions():
        typer.echo(visible(sentence))
    if fault is not None:
        raise IeqlError(f"{fault} What is printed above is not stored.")
    typer.echo(f"Results are in {visible(str(folder))}.")


@app.command(epilog=_examples("ieql report runs/torque"))
@_plain_speech()
def report(run: RunArgument) -> None:
    """Write the report of a run again: one HTML page, for instance after updating ieql."""
    model = _load(run)
    from ieql.run.folder import RunFolder

    folder = RunFolder.open(run)
    evidence = folder.evidence()
    if evidence is not None:
        model.evidence_ = evidence
    typer.echo(visible(str(folder.write_report(model.report_html()))))


@app.command(
    name="select",
    epilog=_examples("ieql select runs/torque 3", "ieql select runs/torque V_int-S"),
)
@_plain_speech()
def select_equation(
    run: RunArgument,
    row: Annotated[
        str,
        typer.Argument(
            metavar="ROW", help="Row of 'ieql show', or a criterion, such as MDL or V_int-S."
        ),
    ],
) -> None:
    """Choose another equation of a run for good: predict, export and report follow."""
    from ieql.run.folder import RunFolder
    from ieql.run.lock import locked

    folder = RunFolder.open(run)
    with locked(folder.path):
        model = _load(run)
        model.select(int(row) if re.fullmatch(r"-?\d{1,9}", row) else row)
        folder.write_equations(model.equations_)
        folder.write_constants(model.fitted_.all_constants())
        evidence = folder.evidence()
        if evidence is not None:
            model.evidence_ = evidence
        folder.write_model(model.fitted_.to_json())
        folder.write_report(model.report_html())
    for k, name in enumerate(model.target_names_):
        typer.echo(visible(f"{name} = {model.fitted_.candidate(output=k).expression.text()}"))
        for line in model.fitted_.where(k):
            typer.echo(visible(f"  where {line}"))
        typer.echo(visible(model.fitted_.why(k)))


# --- what the options mean -----------------------------------------------------------------------


def column_names(given: Sequence[str], frame: pd.DataFrame, option: str) -> list[str]:
    """Return the columns that an option names, each by its whole name or several with commas."""
    names: list[str] = []
    for text in given:
        # A name may itself have a comma in it, or begin or end with a space.
        parts = [text] if text in frame.columns else text.split(",")
        names += [p if p in frame.columns else p.strip() for p in parts if p.strip()]
    if not names:
        raise IeqlError(f"{option} names no column; write {option} a,b with names from the header.")
    return names


def _check_groups(where: str, frame: pd.DataFrame, name: str, others: Sequence[str]) -> None:
    """Refuse the name of no column, or of one that has another part."""
    if name not in frame.columns:
        raise IeqlError(
            f"{where} has no column {name!r}, which --groups names.{nearest(name, frame.columns)}"
        )
    if name in others:
        raise IeqlError(
            f"The column {name!r} is both a group and an input or target; choose one role."
        )


def default_folder(data: Path, targets: Sequence[str], n_files: int = 1) -> Path:
    """Return ``runs/<file>-<target>``, without what file systems do not like."""
    stem = data.stem if n_files == 1 else f"{data.stem}+{n_files - 1}"
    return Path("runs") / re.sub(r"[^\w.+-]+", "_", "-".join([stem, *targets]))


def read_domain(path: Path, inputs: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Read a mapping ``name: [low, high]`` from a YAML file, for some or all of the inputs."""
    return {
        name: _interval(bounds, f"{str(path)!r}: the domain of {name!r}")
        for name, bounds in _read_inputs(path, inputs, "a domain").items()
    }


def read_limits(given: Sequence[str], inputs: Sequence[str]) -> dict[str, Any]:
    """Read where inputs can be set: each text is ``name=…`` or a YAML file."""
    limits: dict[str, Any] = {}
    for text in given:
        name, equals, setting = text.rpartition("=")
        found = {name.strip(): setting} if equals else _read_inputs(Path(text), inputs, "limits")
        for name, value in found.items():
            if name in limits:
                raise IeqlError(f"--limits gives {name!r} twice; write each input once.")
            limits[name] = _setting(name, value) if isinstance(value, str) else value
    return limits


def _setting(name: str, text: str) -> Any:
    """``0:3000`` is an interval, ``1,2,3`` are values, ``0.5`` is one."""
    from ieql.data.table import plain_number

    try:
        if ":" in text:
            low, high = map(plain_number, text.split(":"))
            return low, high
        return frozenset(map(plain_number, text.split(",")))
    except (ValueError, OverflowError):
        raise IeqlError(
            f"The limits of {name!r} must be written like 0:3000, 0.5 or 1,2,3, not {text!r}."
        ) from None


def _read_inputs(path: Path, inputs: Sequence[str], what: str) -> dict[str, Any]:
    """Read a YAML file that gives something for some or all of the inputs."""
    from ieql.prior import parse_yaml

    try:
        found = parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise IeqlError(f"Cannot read {str(path)!r}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise IeqlError(f"{str(path)!r} is not a YAML file: it is not UTF-8 text.") from error
    except IeqlError as error:
        raise IeqlError(f"{str(path)!r} is not a YAML file: {error}") from error
    if not isinstance(found, dict) or not found:
        raise IeqlError(f"{str(path)!r} must hold lines like 'speed: [0, 6000]', one per input.")
    for name in found:
        if str(name) not in inputs:
            raise IeqlError(
                f"{str(path)!r} gives {what} for {str(name)!r}, which is not an input."
                f"{nearest(str(name), inputs)}"
            )
    return {str(name): value for name, value in found.items()}


def _interval(bounds: Any, where: str) -> tuple[float, float]:
    from ieql.data.table import plain_number

    try:
        # YAML takes 1e3 for a text, and yes for a truth.
        low, high = (
            math.nan if bound is True or bound is False else plain_number(bound) for bound in bounds
        )
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if isinstance(bounds, str) or not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise IeqlError(f"{where} must be two numbers [low, high], low below high, not {bounds!r}.")
    return low, high


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


def _load(run: Path) -> IEQLRegressor:
    from ieql.run.folder import RunFolder

    path = RunFolder.open(run).model_path()  # before the import, which takes a second
    from ieql.regressor import IEQLRegressor

    model = IEQLRegressor.load(path)
    if not model.finished_:
        text = (
            "The run was cut short or is still running: these equations passed fewer checks and "
            "their constants are not rounded; "
            f"`ieql resume {shlex.quote(str(run))}` finishes them."
        )
        typer.echo(visible(text), err=True)
    return model


# --- what is printed -----------------------------------------------------------------------------


def _print_front(model: IEQLRegressor, precise: bool = False) -> None:
    """Print the front, the selected equation in full, and which inputs it uses."""
    front = model.equations_
    equations = [c.equation(precise) for part in model.fronts_ for c in part]
    # Cut to the terminal's width, but whole where the output goes to a file or a pipe.
    header, *rows = front_table(front, equations, _width())
    typer.echo(header)
    for row, selected in zip(rows, front["selected"], strict=True):
        typer.echo(typer.style(row, bold=True) if selected else row)
    from ieql.doubts import validation_sentence

    typer.echo(validation_sentence(model.validation_))
    chosen = [e for e, selected in zip(equations, front["selected"], strict=True) if selected]
    typer.echo("\nSelected (*):")
    for k, (name, equation) in enumerate(zip(model.target_names_, chosen, strict=True)):
        typer.echo(visible(f"  {name} = {equation.text()}"))
        for line in model.fitted_.where(k):
            typer.echo(visible(f"    where {line}"))
    for k in range(len(chosen)):
        typer.echo(visible(model.fitted_.why(k)))
    if "together" in front.attrs:
        typer.echo(visible(front.attrs["together"]["sentence"]))
    typer.echo()
    used = {name for equation in chosen for name in equation.inputs_used}
    columns = model.fitted_.categories.columns
    matter = columns(name for name in model.feature_names_ if name in used)
    rest = [name for name in columns(model.feature_names_) if name not in matter]
    typer.echo(visible(f"Inputs that matter: {', '.join(matter) or 'none'}."), nl=not rest)
    if rest:
        typer.echo(visible(f" Not used: {', '.join(rest)}."))
    if model.fitted_.groups:
        typer.echo()
        for line in groups_table(model.group_constants_, _width()):
            typer.echo(line)
    limits = model.fitted_.limits_sentence()
    for sentence in (*([] if limits is None else [limits]), *model.fitted_.cautions()):
        typer.echo(visible(sentence))


def _print_moved(model: IEQLRegressor) -> None:
    """Print what a recalibration moved, and what that means."""
    moved = model.recalibrated_
    for line in moved_table(moved, _width()) if len(moved) else ():
        typer.echo(line)
    for sentence in moved.attrs["sentences"]:
        typer.echo(visible(sentence))


def _print_alternatives(model: IEQLRegressor, precise: bool) -> None:
    """Print what else each output's selected equation could be."""
    from ieql.alternatives import alternatives, alternatives_sentence

    any_found, first = False, 0
    for k, front in enumerate(model.fronts_):
        found = alternatives(model.fitted_, output=k)
        typer.echo("\n" + visible(alternatives_sentence(model.fitted_, found, k)))
        any_found |= bool(found)
        for line in alternatives_table(found, _width(), precise, first) if found else ():
            typer.echo(line)
        first += len(front)
    if any_found:
        typer.echo(
            "nats: how much longer its description of the rows is (3 nats: the odds are 20 to 1 "
            "for the selected one). largest difference: from the selected one, in the domain. rows "
            "needed: how many more rows like these would decide, about."
        )


def _width() -> int | None:
    """The terminal's width, or None where the output goes to a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _why_stopped(model: IEQLRegressor, run: str, command: str) -> str:
    """Why the search ended, and what would have made it go on; what it tried completely."""
    from ieql.doubts import ending

    reason, covered = ending(model.stop_reason_)
    hint = ""
    if reason == "the time is up" or re.match(r"\d+ of ", reason):
        hint = (
            f"`ieql resume {run}` continues it"
            if command != "demo"
            else "--time SECONDS gives more"
        )
    elif re.match(r"all \d+ trainings", reason):
        hint = "--trainings N allows more"
    elif command != "demo" and re.match("what is left|nothing better|all", reason):
        hint = "--at-least SECONDS searches longer"
    after = f"{model._seconds:.{0 if model._seconds >= 9.95 else 1}f} s"
    stopped = f"Stopped after {after}: {reason}{f' ({hint})' if hint else ''}."
    return f"{stopped} {covered}" if covered else stopped


def _conclude(model: IEQLRegressor, folder: Path, command: str) -> None:
    _print_front(model)
    typer.echo("\n" + visible(_why_stopped(model, shlex.quote(str(folder)), command)))
    if model._not_stored is not None:
        raise IeqlError(f"{model._not_stored} What is printed above is not stored.")
    from ieql.run.folder import RunFolder

    run = visible(shlex.quote(str(folder)))
    typer.echo(f"Report: {visible(str(RunFolder(folder).report_path))}")
    typer.echo(f"Results are in {visible(str(folder))}. Next, try:")
    typer.echo(f"  ieql predict {run} new.csv > predictions.csv")
    typer.echo(f"  ieql export {run} --format latex")
    if model.interrupted_:
        typer.echo("Interrupted; everything found so far was kept.", err=True)
        raise typer.Exit(130)
