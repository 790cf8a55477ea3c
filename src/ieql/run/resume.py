"""What a run that goes on needs: its options and its data, from its folder alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ieql.data.reading import read_table
from ieql.data.roles import Roles, Taken, take
from ieql.errors import IeqlError
from ieql.options import FitOptions
from ieql.run.folder import RunFolder
from ieql.run.settings import options_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["Asked", "data_files", "outside_roles", "read_asked", "roles_of"]


@dataclass(frozen=True, eq=False)
class Asked:
    """What a run was asked, and the data that it learned from.

    Attributes
    ----------
    options : FitOptions
        As they were, limits aside: these start from their defaults.
    source : mapping
        The files and columns that the data come from.
    X, y : DataFrame
        Inputs and targets.
    outside : (DataFrame, DataFrame) or None
        The same of the labelled points outside the data.
    weight : array (rows,) or None
        Weights of the rows, if a column of standard deviations was named.
    groups : Series or None
        The group of each row, if a column of groups was named.
    ranges : array (rows, 2) or None
        Bounds of the target, if columns of them were named.
    """

    options: FitOptions
    source: Mapping[str, Any]
    X: pd.DataFrame
    y: pd.DataFrame
    outside: tuple[pd.DataFrame, pd.DataFrame] | None
    weight: NDArray[np.float64] | None = None
    groups: pd.Series[Any] | None = None
    ranges: NDArray[np.float64] | None = None


def read_asked(path: str | os.PathLike[str]) -> Asked:
    """Read the options of a run, and its data again.

    Raises
    ------
    IeqlError
        If the run was started from Python, where the data came from no file, or if a file is gone.
    """
    told = RunFolder.open(path).description()
    source, settings = told.get("source"), told.get("settings")
    if not isinstance(source, dict) or not isinstance(settings, dict):
        raise IeqlError(
            f"The run in {str(path)!r} was started from Python: continue it there, with the same "
            f"fit and run_dir={str(path)!r}."
        )
    try:
        options = options_of(settings)
        options.run_dir = path
        roles, reading = roles_of(source), dict(source.get("reading") or {})
        data, outside = _files(source, "data"), _files(source, "extrapolation")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = repr(error)[:200]
        raise IeqlError(f"The run.json in {str(path)!r} is damaged ({reason}).") from error
    for file in (*data, *outside):
        if file.exists() and not file.is_file():  # a device or a pipe may have no end
            raise IeqlError(
                f"The run.json in {str(path)!r} names {str(file)!r}, which is not a file."
            )
    taken = take(read_table(*data, **reading), roles)
    extra = taken.outside
    if outside:
        table = read_table(*outside, **{**reading, "exclude": None})
        others = take(table, outside_roles(roles, taken), min_rows=1)
        extra = others.X, others.y
    return Asked(options, source, taken.X, taken.y, extra, taken.weight, taken.groups, taken.ranges)


def roles_of(source: Mapping[str, Any]) -> Roles:
    """The parts that columns play in a run, from its ``run.json``."""
    optional = {k: source.get(k) for k in ("groups", "sigma", "weights", "held_out")}
    ends = source.get("target_range")
    return Roles(
        tuple(str(name) for name in source["targets"]),
        tuple(str(name) for name in source["inputs"]),
        **{k: None if v is None else str(v) for k, v in optional.items()},
        missing=str(source.get("missing", "drop")),
        origins={str(k): str(v) for k, v in dict(source.get("origins") or {}).items()},
        categories=tuple(str(name) for name in source.get("categories") or ()),
        target_range=None if ends is None else (str(ends[0]), str(ends[1])),
    )


def outside_roles(roles: Roles, taken: Taken) -> Roles:
    """The columns of a file with points outside the data: the inputs and targets of the fit."""
    names = tuple(str(name) for name in taken.X.columns)
    return Roles(
        roles.targets,
        names,
        missing=roles.missing,
        origins=taken.origins,
        categories=roles.categories,
    )


def _files(source: Mapping[str, Any], key: str) -> list[Path]:
    """The files that a run names, one or several."""
    named = source.get(key)
    return [Path(file) for file in (named if isinstance(named, list) else [named]) if file]


def data_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that `read_asked` reads besides the run folder: its ``run.json`` names them.

    They are read only to continue with the same data; any other content is refused by its SHA-256.
    """
    source = RunFolder.open(path).description().get("source")
    if not isinstance(source, dict):
        return []
    try:
        return [*_files(source, "data"), *_files(source, "extrapolation")]
    except TypeError as error:
        raise IeqlError(f"The run.json in {str(path)!r} names a file that is none.") from error
