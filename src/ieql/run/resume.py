"""What a run that goes on needs: its options and its data, from its folder alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ieql.data.table import read_csv, split_file
from ieql.errors import IeqlError
from ieql.options import FitOptions
from ieql.run.folder import RunFolder
from ieql.run.settings import options_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Asked", "data_files", "read_asked"]


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
    """

    options: FitOptions
    source: Mapping[str, Any]
    X: pd.DataFrame
    y: pd.DataFrame
    outside: tuple[pd.DataFrame, pd.DataFrame] | None


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
        targets, inputs = [str(t) for t in source["targets"]], [str(n) for n in source["inputs"]]
        data, *outside = data_files(path)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = repr(error)[:200]
        raise IeqlError(f"The run.json in {str(path)!r} is damaged ({reason}).") from error
    for file in (data, *outside):
        if file.exists() and not file.is_file():  # a device or a pipe may have no end
            raise IeqlError(
                f"The run.json in {str(path)!r} names {str(file)!r}, which is not a file."
            )
    X, y = split_file(data, read_csv(data), targets, inputs)
    extra = [split_file(f, read_csv(f), targets, inputs, min_rows=1) for f in outside]
    return Asked(options, source, X, y, extra[0] if extra else None)


def data_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that `read_asked` reads besides the run folder: its ``run.json`` names them.

    They are read only to continue with the same data; any other content is refused by its SHA-256.
    """
    source = RunFolder.open(path).description().get("source")
    named = source if isinstance(source, dict) else {}
    files = [named.get("data"), named.get("extrapolation")]
    return [Path(file) for file in files if isinstance(file, str)]
