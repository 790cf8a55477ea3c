"""What the commands print of a model."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ieql.console import alternatives_table, front_table, groups_table, moved_table, visible
from ieql.errors import IeqlError

if TYPE_CHECKING:
    from ieql.regressor import IEQLRegressor

__all__ = ["conclude", "print_alternatives", "print_front", "print_moved", "width"]


def print_front(model: IEQLRegressor, precise: bool = False) -> None:
    """Print the front, the selected equation in full, and which inputs it uses."""
    front = model.equations_
    equations = [c.equation(precise) for part in model.fronts_ for c in part]
    # Cut to the terminal's width, but whole where the output goes to a file or a pipe.
    header, *rows = front_table(front, equations, width())
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
        for line in groups_table(model.group_constants_, width()):
            typer.echo(line)
    limits = model.fitted_.limits_sentence()
    for sentence in (*([] if limits is None else [limits]), *model.fitted_.cautions()):
        typer.echo(visible(sentence))


def print_moved(model: IEQLRegressor) -> None:
    """Print what a recalibration moved, and what that means."""
    moved = model.recalibrated_
    for line in moved_table(moved, width()) if len(moved) else ():
        typer.echo(line)
    for sentence in moved.attrs["sentences"]:
        typer.echo(visible(sentence))


def print_alternatives(model: IEQLRegressor, precise: bool) -> None:
    """Print what else each output's selected equation could be."""
    from ieql.alternatives import alternatives, alternatives_sentence

    any_found, first = False, 0
    for k, front in enumerate(model.fronts_):
        found = alternatives(model.fitted_, output=k)
        typer.echo("\n" + visible(alternatives_sentence(model.fitted_, found, k)))
        any_found |= bool(found)
        for line in alternatives_table(found, width(), precise, first) if found else ():
            typer.echo(line)
        first += len(front)
    if any_found:
        typer.echo(
            "nats: how much longer its description of the rows is (3 nats: the odds are 20 to 1 "
            "for the selected one). largest difference: from the selected one, in the domain. rows "
            "needed: how many more rows like these would decide, about."
        )


def width() -> int | None:
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


def conclude(model: IEQLRegressor, folder: Path, command: str) -> None:
    """Print what a fit has found, why it ended, where it is, and what to do next."""
    print_front(model)
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
