"""What a run that goes on needs: its options and its data, from its folder alone."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ieql.data.intake import weights_of
from ieql.data.table import read_csv, split_file
from ieql.errors import IeqlError
from ieql.options import FitOptions
from ieql.run.folder import RunFolder
from ieql.run.settings import options_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["Asked", "data_files", "read_asked", "read_weights"]


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
    """

    options: FitOptions
    source: Mapping[str, Any]
    X: pd.DataFrame
    y: pd.DataFrame
    outside: tuple[pd.DataFrame, pd.DataFrame] | None
    weight: NDArray[np.float64] | None = None


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
        sigma = source.get("sigma")
        data, *outside = data_files(path)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = repr(error)[:200]
        raise IeqlError(f"The run.json in {str(path)!r} is damaged ({reason}).") from error
    for file in (data, *outside):
        if file.exists() and not file.is_file():  # a device or a pipe may have no end
            raise IeqlError(
                f"The run.json in {str(path)!r} names {str(file)!r}, which is not a file."
            )
    frame = read_csv(data)
    X, y = split_file(data, frame, targets, inputs)
    weight = None if sigma is None else read_weights(data, frame, str(sigma), inputs)
    extra = [split_file(f, read_csv(f), targets, inputs, min_rows=1) for f in outside]
    return Asked(options, source, X, y, extra[0] if extra else None, weight)


def read_weights(
    data: Path, frame: pd.DataFrame, sigma: str, inputs: Sequence[str]
) -> NDArray[np.float64]:
    """Weights of the rows of a file by its column of standard deviations."""
    _, deviations = split_file(data, frame, [sigma], inputs)
    try:
        return weights_of(deviations[sigma], len(frame))
    except IeqlError as error:
        raise IeqlError(f"{str(data)!r}, column {sigma!r}: {error}") from error


def data_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that `read_asked` reads besides the run folder: its ``run.json`` names them.

    They are read only to continue with the same data; any other content is refused by its SHA-256.
    """
    source = RunFolder.open(path).description().get("source")
    named = source if isinstance(source, dict) else {}
    files = [named.get("data"), named.get("extrapolation")]
    return [Path(file) for file in files if isinstance(file, str)]
