"""Whoever watches a fit is an observer: one method, called after every round of the search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ieql.model import FittedModel
from ieql.report.evidence import Evidence
from ieql.selection import Candidate

__all__ = ["Observer", "Snapshot"]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What a fit has found so far; the last one holds what it found in the end.

    Attributes
    ----------
    model : FittedModel
        All that is known by now; `model.finished` in the last snapshot alone.
    evidence : Evidence
        The sample of the data and the circumstances so far.
    found : tuple of tuples of Candidate
        Per output the whole front in the user's coordinates; the model's may be thinner.
    seconds : float
        What the fit has taken, earlier parts of the run included.
    checkpoint : callable or None
        Gives, as plain JSON, where the trainer stands; None in the last snapshot.
    """

    model: FittedModel
    evidence: Evidence
    found: tuple[tuple[Candidate, ...], ...]
    seconds: float
    checkpoint: Callable[[], dict[str, Any]] | None = None


class Observer(Protocol):
    """Is told of every round. The run's recorder and the live display are two observers."""

    def on_round(self, snapshot: Snapshot) -> None:
        """Take in what has been found so far."""
