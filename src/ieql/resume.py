"""Going on with a run from its folder alone: the model and the data as they were."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ieql.errors import IeqlError
from ieql.regressor import IEQLRegressor
from ieql.runs import RunFolder
from ieql.table import read_csv, split_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["resumed_model"]

Table = tuple["pd.DataFrame", "pd.DataFrame"]


def resumed_model(
    path: str | os.PathLike[str],
) -> tuple[IEQLRegressor, pd.DataFrame, pd.DataFrame, Table | None, dict[str, Any]]:
    """The model of a run, its inputs and targets, points outside if it had any, and the source.

    Raises
    ------
    IeqlError
        If the run was started from Python, where the data came from no file, or if a file is gone.
    """
    told = RunFolder.open(path).description()
    source, settings = told.get("source"), told.get("settings")
    if not isinstance(source, dict) or not isinstance(settings, dict):
        raise IeqlError(
            f"The run in {str(path)!r} was started from Python: go on with it there, by the same "
            f"fit with run_dir={str(path)!r}."
        )
    try:
        model = _model(settings, path)
        targets, inputs = [str(t) for t in source["targets"]], [str(n) for n in source["inputs"]]
        data, outside = Path(str(source["data"])), source["extrapolation"]
    except (KeyError, TypeError, ValueError) as error:
        raise IeqlError(f"The run.json in {str(path)!r} is damaged ({error!r}).") from error
    X, y = split_file(data, read_csv(data), targets, inputs)
    extra = None
    if outside is not None:
        file = Path(str(outside))
        extra = split_file(file, read_csv(file), targets, inputs)
    return model, X, y, extra, source


def _model(settings: dict[str, Any], path: str | os.PathLike[str]) -> IEQLRegressor:
    names = IEQLRegressor().get_params()
    parameters = {name: settings[name] for name in names if name in settings}
    if not settings["domain_is_declared"]:
        parameters["domain"] = None
    else:
        # An input that was the same in every row has no width, and never was declared.
        box = {str(k): (float(a), float(b)) for k, (a, b) in settings["domain"].items()}
        parameters["domain"] = {k: (a, b) for k, (a, b) in box.items() if a < b}
    return IEQLRegressor(**{**parameters, "run_dir": path})
