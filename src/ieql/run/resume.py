"""Going on with a run from its folder alone, with the model and the data as they were."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ieql.data.table import read_csv, split_file
from ieql.errors import IeqlError
from ieql.regressor import IEQLRegressor
from ieql.run.folder import OF_OLD, RunFolder

__all__ = ["data_files", "resume_run"]


def resume_run(path: str | os.PathLike[str], **limits: Any) -> IEQLRegressor:
    """Go on with a run within other limits (``max_time``, ``n_jobs`` …); returns the fitted model.

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
        data, *outside = data_files(path)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = repr(error)[:200]
        raise IeqlError(f"The run.json in {str(path)!r} is damaged ({reason}).") from error
    for file in (data, *outside):
        if file.exists() and not file.is_file():  # a device or a pipe may have no end
            raise IeqlError(f"The run.json in {str(path)!r} names {str(file)!r}, which is no file.")
    model.set_params(**limits)
    X, y = split_file(data, read_csv(data), targets, inputs)
    if not outside:
        return model._fit(X, y, source=source)
    (file,) = outside
    extra = split_file(file, read_csv(file), targets, inputs, min_rows=1)
    return model._fit(X, y, None, *extra, source)


def data_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that `resume_run` reads besides the run folder: its ``run.json`` names them.

    They are read only to go on with the same data; any other content is refused by its SHA-256.
    """
    source = RunFolder.open(path).description().get("source")
    named = source if isinstance(source, dict) else {}
    files = [named.get("data"), named.get("extrapolation")]
    return [Path(file) for file in files if isinstance(file, str)]


def _model(settings: dict[str, Any], path: str | os.PathLike[str]) -> IEQLRegressor:
    settings = OF_OLD | settings
    names = IEQLRegressor().get_params()
    parameters = {name: settings[name] for name in names if name in settings}
    if not settings["domain_is_declared"]:
        parameters["domain"] = None
    else:
        # An input that was the same in every row has no width, and never was declared.
        box = {str(k): (float(a), float(b)) for k, (a, b) in settings["domain"].items()}
        parameters["domain"] = {k: (a, b) for k, (a, b) in box.items() if a < b}
    if not isinstance(parameters["prior"], dict):  # a text would be the name of a file to read
        raise TypeError("its prior is not a mapping")
    return IEQLRegressor(**{**parameters, "run_dir": path})
