"""Commands that look at a run, or choose in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ieql.cli.app import Index, Precise, RunArgument, app, examples, load, plain_speech
from ieql.cli.given import read_limits
from ieql.cli.printing import print_alternatives, print_front, print_moved, width
from ieql.console import constants_table, suggestions_table, visible
from ieql.errors import IeqlError, nearest

if TYPE_CHECKING:
    from ieql.regressor import IEQLRegressor

__all__ = ["constants", "prove", "report", "select_equation", "show", "suggest", "try_equation"]


@app.command(epilog=examples("ieql show runs/torque", "ieql show runs/torque --alternatives"))
@plain_speech()
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
    model = load(run)
    converted = [] if units is None else _converted(model, units, precise)
    print_front(model, precise)
    from ieql.doubts import ending

    reason, covered = ending(model.stop_reason_)
    if model.fitted_.recalibrated is not None:
        print_moved(model)
    elif reason:
        typer.echo(visible(f"The search ended because {reason}."))
    if covered:
        typer.echo(visible(covered))
    if alternatives:
        print_alternatives(model, precise)
    if converted:
        typer.echo("\nIn the units that were asked for:")
        for line in converted:
            typer.echo(visible(f"  {line}"))
    found = model.constants(precise=precise)
    if found["unit"].any():
        typer.echo("\nConstants of the selected equation:")
        for line in constants_table(found, width()):
            typer.echo(line)
    for _, sentence in model.fitted_.doubts():  # a fit says them as warnings
        typer.echo(f"Warning: {visible(sentence)}", err=True)


@app.command(
    epilog=examples("ieql constants runs/torque", "ieql constants runs/torque --index 3 --precise")
)
@plain_speech()
def constants(run: RunArgument, index: Index = None, precise: Precise = False) -> None:
    """Print the constants of the selected equation with their standard errors."""
    model = load(run)
    found = model.constants(index, precise)
    rows = enumerate(model.fitted_.rows_of(index))
    for k, row in rows:
        if index is None or row is not None:
            equation = model.fitted_.candidate(row, k).equation(precise)
            typer.echo(visible(f"{model.target_names_[k]} = {equation.text()}"))
    for line in constants_table(found, width()) if len(found) else ():
        typer.echo(line)


@app.command(
    epilog=examples(
        "ieql suggest runs/torque",
        "ieql suggest runs/torque -n 8 --limits speed=0:3000 --limits gear=1,2,3 --out next.csv",
    )
)
@plain_speech()
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

    model = load(run)
    from ieql.suggestions import suggest as suggested

    found = suggested(model.fitted_, n, read_limits(limits or (), model.feature_names_))
    if out is not None:
        table = without_formulas(found.frame())
        save_text(out, table.to_csv(index=False, lineterminator="\n"))
    for line in suggestions_table(found, width()):
        typer.echo(line)
    typer.echo("\n" + visible(found.sentence))


@app.command(
    "try",
    epilog=examples(
        "ieql try runs/torque 'a*speed**2 + b'",
        "ieql try runs/torque '0.02*speed**2 + 3' --no-refit",
    ),
)
@plain_speech()
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
    group: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="In the rows of this group, for a fit with --groups."),
    ] = None,
) -> None:
    """Fit an equation of your own to the rows of a run, and say how it stands beside the front."""
    model = load(run)
    from ieql.data.intake import checked_groups
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
    given = {
        "X": asked.X, "y": asked.y, "sample_weight": asked.weight, "y_range": asked.ranges
    }  # fmt: skip
    if model.groups_ and group is None:
        raise IeqlError(
            f"The rows of the run in {str(run)!r} belong to several groups; say in which one to "
            f"try the equation, as in --group {model.groups_[0]!r}."
        )
    if group is not None:
        model = model.group(group)
        own = checked_groups(asked.groups, len(asked.X)) == group
        given = {key: None if rows is None else rows[own] for key, rows in given.items()}
    row = model.try_equation(equation, refit, output=output, **given)
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
    epilog=examples(
        "ieql prove runs/torque", "ieql prove runs/torque --index 3 --out certificate.json"
    )
)
@plain_speech()
def prove(
    run: RunArgument,
    index: Index = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON file for the certificate of what is proved."),
    ] = None,
) -> None:
    """Prove that an equation is safe and keeps to its limits in the whole declared domain."""
    model = load(run)
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


@app.command(epilog=examples("ieql report runs/torque"))
@plain_speech()
def report(run: RunArgument) -> None:
    """Write the report of a run again: one HTML page, for instance after updating ieql."""
    model = load(run)
    from ieql.run.folder import RunFolder

    folder = RunFolder.open(run)
    evidence = folder.evidence()
    if evidence is not None:
        model.evidence_ = evidence
    typer.echo(visible(str(folder.write_report(model.report_html()))))


@app.command(
    name="select",
    epilog=examples("ieql select runs/torque 3", "ieql select runs/torque V_int-S"),
)
@plain_speech()
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
        model = load(run)
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
