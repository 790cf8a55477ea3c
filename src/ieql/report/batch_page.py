"""The page of a batch: all its runs in one table, each with its equation and its report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ieql.model import FittedModel
from ieql.report.equation_part import typeset
from ieql.report.templates import filled, markup, package_file
from ieql.report.words import number

__all__ = ["RunEntry", "batch_page"]


@dataclass(frozen=True)
class RunEntry:
    """A run of a batch.

    Attributes
    ----------
    name : str
        Of the job.
    status : str
        How far it is, in a word.
    seconds : float
        That its fit took.
    message : str
        Why it failed.
    model : FittedModel or None
        What it has found, if anything.
    report, printed : str or None
        Where the page of the run, and what its fit printed, are; relative to this page.
    """

    name: str
    status: str
    seconds: float = 0.0
    message: str = ""
    model: FittedModel | None = None
    report: str | None = None
    printed: str | None = None


def batch_page(title: str, entries: Sequence[RunEntry]) -> str:
    """Write the page as HTML text; it needs no network, no script and no other file."""
    rows = [row for entry in entries for row in _rows(entry)]
    return filled(
        "batch.html",
        title=title,
        style=markup(package_file("style.css")),
        rows=rows,
        number=number,
        counts=Counter(entry.status for entry in entries).items(),
    )


def _rows(entry: RunEntry) -> list[dict[str, Any]]:
    """One row for each output of a run; one without an equation if there is none."""
    about = {
        "name": entry.name,
        "status": entry.status,
        "seconds": entry.seconds,
        "message": entry.message,
        "report": entry.report,
        "printed": entry.printed,
    }
    model = entry.model
    if model is None:
        return [{**about, "target": None}]
    return [
        {**about, "target": target, **_found(model, k)} for k, target in enumerate(model.targets)
    ]


def _found(model: FittedModel, output: int) -> dict[str, Any]:
    """The selected equation of an output, and how good it is."""
    c = model.candidate(output=output)
    mean = model.mean_errors[output].get("validation", math.nan)
    share = c.rmse_validation / mean if mean > 0.0 else math.nan
    return {
        "equation": markup(typeset(c.expression, None)),
        "error": c.rmse_validation,
        "share": None if math.isnan(share) else f"{100 * share:.3g} %",
        "n_constants": c.n_constants,
        "complexity": c.complexity,
        "proved": c.proved is True and all(c.limits.values()),
        "n_rows": model.n_data_rows,
    }
