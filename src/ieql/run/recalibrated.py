"""The run folder of a recalibration: what a fit leaves, without a search that could go on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ieql.data.dataset import Domain
from ieql.errors import IeqlError
from ieql.model import FittedModel
from ieql.observer import Snapshot
from ieql.options import plain_settings
from ieql.report.evidence import Evidence
from ieql.run.folder import RunFolder
from ieql.run.recorder import Recorder

__all__ = ["refuse_to_search", "store"]

KEY = "recalibrated_from"
"""The setting that tells the run of a recalibration from that of a fit."""


def store(
    path: str | os.PathLike[str],
    model: FittedModel,
    evidence: Evidence,
    source: Mapping[str, Any],
    origin: str,
    overwrite: bool = False,
) -> str | None:
    """Write a recalibrated model with all that belongs to a run.

    Parameters
    ----------
    path : path
        The run folder; one with another run is refused unless it is to be replaced.
    model, evidence
        What was found, and the sample of the new rows.
    source : mapping
        The files and columns that the new rows came from.
    origin : str
        The run whose structure was taken.
    overwrite : bool
        Whether a run that is there is replaced.

    Returns
    -------
    str or None
        Why something could not be written; None if all was.
    """
    domain = Domain.from_dict({name: list(pair) for name, pair in model.domain.items()})
    settings = {
        **plain_settings(model.options),
        "domain": domain.to_dict(),
        "domain_is_declared": bool(model.declared),
        "declared_inputs": list(model.declared),
        "inputs": list(model.names),
        "targets": list(model.targets),
        "extrapolation_sha256": None,
        KEY: origin,
    }
    with Recorder(path, settings, evidence.sha256, model.prior, source, overwrite) as recorder:
        recorder.begin(0, lambda form: None)
        recorder.on_round(Snapshot(model, evidence, model.fronts, evidence.seconds))
        return recorder.fault


def refuse_to_search(path: str | os.PathLike[str]) -> None:
    """Say that a recalibration has no search that could go on."""
    settings = RunFolder.open(path).description().get("settings")
    if isinstance(settings, dict) and settings.get(KEY) is not None:
        raise IeqlError(
            f"The run in {str(path)!r} is a recalibration, which has no search to continue; fit "
            "its rows anew with 'ieql fit', or recalibrate again with more of them."
        )
