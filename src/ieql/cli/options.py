"""The options of a fit as options of the command line, made from their declaration.

A command takes them as ``**chosen``; `fit_options` replaces that by one parameter per option, from
which typer makes flags, help and checks.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from ieql.errors import IeqlError, shown
from ieql.options import NOT_GIVEN, Option, Resume, default_of, options
from ieql.plugins import VARIABLE, load_plugins

__all__ = ["FitCommand", "fit_options", "named_values"]

Command = TypeVar("Command", bound=Callable[..., Any])


def fit_options(*, resuming: bool = False) -> Callable[[Command], Command]:
    """Give a command all options of a fit or, for a run that goes on, those that may change."""

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        added = [
            _parameter(name, option, resuming)
            for name, option in options().items()
            if option.flag is not None and not (resuming and option.resume is Resume.FIXED)
        ]
        command.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        command.__annotations__ |= {p.name: p.annotation for p in added}
        return command

    return decorate


class FitCommand(TyperCommand):
    """A command with options of a fit, whose help lists what has been registered by then."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the options, that which lists names made anew."""
        if VARIABLE in os.environ:
            with contextlib.suppress(IeqlError):  # it is said when a name is not found
                load_plugins()
        for param in self.params:
            option = options().get(param.name or "")
            if option is not None and option.flag is not None and callable(option.flag.help):
                kept = "  [default: as before]" if param.default is None else ""
                param.help = option.flag.help() + kept  # type: ignore[attr-defined]
        super().format_options(ctx, formatter)


def _parameter(name: str, option: Option, resuming: bool) -> inspect.Parameter:
    flag = option.flag
    assert flag is not None
    default = default_of(name) if flag.default is NOT_GIVEN else flag.default
    help = "" if callable(flag.help) else flag.help
    if resuming and option.resume is Resume.KEPT:
        default = None
    kind: Any = flag.type if default is not None else flag.type | None
    info = typer.Option(flag.name, metavar=flag.metavar, min=flag.least, help=help)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, info],
    )


def named_values(given: Sequence[str]) -> dict[str, Any]:
    """What ``--option NAME=VALUE`` says: numbers, true and false as such, all else as text.

    >>> named_values(["guard=clamp", "bits=16", "tolerance=0.1"])
    {'guard': 'clamp', 'bits': 16, 'tolerance': 0.1}
    """
    found = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name.isidentifier():
            raise IeqlError(f"--option takes NAME=VALUE, as in guard=clamp, not {shown(text)}.")
        found[name] = _value(value)
    return found


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text
