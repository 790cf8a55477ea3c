"""What the options of the command line mean: columns, domains, limits."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ieql.errors import IeqlError, nearest

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "check_column",
    "check_groups",
    "column_names",
    "default_folder",
    "read_domain",
    "read_ends",
    "read_limits",
]


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


def check_column(name: str, frame: pd.DataFrame, option: str, taken: Sequence[str]) -> None:
    """Refuse the name of no column, or of one that has another part."""
    if name not in frame.columns:
        raise IeqlError(f"{option}: there is no column {name!r}.{nearest(name, frame.columns)}")
    if name in taken:
        raise IeqlError(f"{option}: {name!r} is an input or a target as well; name another column.")


def read_ends(text: str, frame: pd.DataFrame, option: str) -> tuple[str, str]:
    """Return the two columns that an option names, the lower bound first."""
    names = column_names([text], frame, option)
    if len(names) != 2:
        raise IeqlError(
            f"{option} takes two columns, the lower bound first, as in {option} low,high; "
            f"{text!r} names {len(names)}."
        )
    return names[0], names[1]


def check_groups(where: str, frame: pd.DataFrame, name: str, others: Sequence[str]) -> None:
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
        raise IeqlError(
            f"Cannot read {str(path)!r}: {error.strerror or error}. Give {what} in a YAML file "
            "with lines like 'speed: [0, 6000]', one per input."
        ) from error
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
