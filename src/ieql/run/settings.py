"""What fixes a run, as ``run.json`` holds it, and the options of a fit back from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.data.dataset import Dataset, declared_inputs
from ieql.options import FitOptions, Resume, of_old, options, plain_settings

__all__ = ["GROUPS", "RANGES", "differences", "options_of", "run_settings"]

Array = NDArray[np.float64]
GROUPS = "groups_sha256"
"""The setting of a fit with groups: of their names."""
RANGES = "ranges_sha256"
"""The setting of a fit whose target is known by ranges: of these."""
DOMAIN = {"domain", "domain_is_declared", "declared_inputs"}
"""What the user gives by the one option ``domain``."""


def run_settings(
    asked: FitOptions, data: Dataset, outside_sha256: str | None = None
) -> dict[str, Any]:
    """What fixes a run, in plain words and numbers.

    Parameters
    ----------
    asked : FitOptions
        What the fit is asked, checked.
    data : Dataset
        What it learns from.
    outside_sha256 : str, optional
        Of the labelled points outside the data.
    """
    return {
        **plain_settings(asked),
        "domain": data.domain.to_dict(),
        "domain_is_declared": asked.domain is not None,
        "declared_inputs": declared_inputs(asked.domain, data.feature_names),
        "inputs": list(data.feature_names),
        "targets": list(data.target_names),
        "extrapolation_sha256": outside_sha256,
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Names of the settings in which a run differs from what is asked now.

    Those that a run may go on with do not count, nor those that its file is too old to tell.
    """
    before = {**of_old(), **before}
    before.setdefault("declared_inputs", now.get("declared_inputs"))
    free = {name for name, option in options().items() if option.resume is not Resume.FIXED}
    names = {name for name in {*before, *now} - free if before.get(name) != now.get(name)}
    if names & DOMAIN:
        names = {*names - DOMAIN, "domain"}
    return sorted(names)


def options_of(settings: Mapping[str, Any]) -> FitOptions:
    """The options of the fit that wrote these settings; any damage is a `KeyError` or the like."""
    values = {
        name: settings[name]
        for name, option in options().items()
        if name in settings and option.resume is not Resume.ANEW
    }
    values = {**of_old(), **values}
    values["domain"] = _declared(settings)
    if not isinstance(values["prior"], dict):  # a text would be the name of a file to read
        raise TypeError("its prior is not a mapping")
    return FitOptions(**values)


def _declared(settings: Mapping[str, Any]) -> dict[str, tuple[float, float]] | None:
    """The intervals that the user declared; older files do not say which, there all count."""
    if not settings["domain_is_declared"]:
        return None
    box = {str(k): (float(a), float(b)) for k, (a, b) in settings["domain"].items()}
    names = settings.get("declared_inputs", list(box))
    # An input that was the same in every row has no width, and never was declared.
    return {k: (a, b) for k, (a, b) in box.items() if k in names and a < b}
