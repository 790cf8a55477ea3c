"""What all commands share: the application, their arguments, and how faults are said."""

from __future__ import annotations

import contextlib
import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ieql import __version__
from ieql.console import visible
from ieql.errors import IeqlError

if TYPE_CHECKING:
    from ieql.regressor import IEQLRegressor

__all__ = ["Index", "Precise", "RunArgument", "app", "examples", "load", "plain_speech"]

app = typer.Typer(
    help="Informed equation learning: from a table of measurements to a compact equation.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help and one-line errors: they end up in logs and scripts, too
    pretty_exceptions_enable=False,
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


def examples(*lines: str) -> str:
    """The examples of a command, as the end of its help."""
    return "\n".join(
        ["\b", "Example:" if len(lines) == 1 else "Examples:", *(f"  {x}" for x in lines)]
    )


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
def plain_speech() -> Iterator[None]:
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


def load(run: Path) -> IEQLRegressor:
    """The model of a run; of one that was cut short it says so."""
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
