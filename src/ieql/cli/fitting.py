"""Commands that learn: demo, fit, resume; and check, which looks before."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ieql.cli.app import RunArgument, app, examples, plain_speech
from ieql.cli.given import (
    check_column,
    check_groups,
    column_names,
    default_folder,
    read_domain,
    read_ends,
)
from ieql.cli.options import FitCommand, fit_options
from ieql.cli.printing import conclude
from ieql.cli.tables import reading_options, say, take_reading
from ieql.console import visible
from ieql.errors import IeqlError

if TYPE_CHECKING:
    import pandas as pd

    from ieql.prior import Prior

__all__ = ["check", "demo", "fit", "resume"]


@app.command(epilog=examples("ieql demo"))
@plain_speech()
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
    conclude(model, out, "demo")


@app.command(
    cls=FitCommand,
    epilog=examples(
        "ieql fit data.csv --target torque",
        "ieql fit data.csv --target torque --inputs speed,load --prior motor --time 120",
    ),
)
@plain_speech()
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
    target_range: Annotated[
        str | None,
        typer.Option(
            "--target-range",
            metavar="LOWER,UPPER",
            help="Columns between which the target lies, where more is not known; an empty cell is "
            "an open side. The target's own column may have gaps then, or be missing.",
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
        check_groups(table.name, frame, groups, (*targets, *(wanted or ())))
    for option, name in (("--sigma", sigma), ("--weights", weights)):
        if name is not None:
            check_column(name, frame, option, [*targets, *(wanted or [])])
    if held_out is not None and extrapolation is not None:
        raise IeqlError("--held-out and --extrapolation both give points outside; use one of them.")
    ends = None if target_range is None else read_ends(target_range, frame, "--target-range")
    roles = Roles(
        tuple(targets),
        None if wanted is None else tuple(wanted),
        groups,
        sigma,
        weights,
        held_out,
        missing,
        categories=tuple(chosen["categories"] or ()),
        target_range=ends,
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
        "target_range": None if ends is None else list(ends),
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
    model._fit(X, y, weight, X_held_out, y_held_out, source, overwrite, taken.groups, taken.ranges)
    conclude(model, folder, "fit")


@app.command(
    epilog=examples("ieql check data.csv", "ieql check bench.xlsx --sheet Run3 --skip-rows 2")
)
@plain_speech()
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


@app.command(cls=FitCommand, epilog=examples("ieql resume runs/torque --time 60"))
@plain_speech()
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
    conclude(model, run, "resume")


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
