"""Where the fast search stands: how far each target has come, and what was covered of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ieql.equations.expression import Expression
from ieql.training.fast.complete import Coverage
from ieql.training.fast.island import KINDS
from ieql.training.trainers import State

__all__ = ["FastState", "Progress"]

HITS_AT_START = {"path": 1, "growth": 4, "law": 1}
"""Hits that each kind of training starts with, before it has had any."""
LEAST_SHARES = {"path": 0.1, "growth": 0.4, "law": 0.1}
"""Share of the trainings that each kind gets, however few hits it has."""
PATIENCE = 60
"""Least number of trainings without progress after which the search may stop by itself."""
PATIENCE_AT_NOISE = 24
"""The same where the residuals of the best equation look like noise, ..."""
MANY_ROWS = 20_000
"""Rows from which on noise is told from anything that is a thousandth of the variance: then, ..."""
PATIENCE_IF_COVERED = 8
"""... and where all structures of some size were tried, fewer are enough."""


@dataclass
class Progress:
    """How far the search for one target has come."""

    score: float = float("inf")
    """Least of log(error) + price · complexity over the front: it falls when an equation gets more
    accurate, and when an equally accurate one gets simpler."""
    since: int = 0
    """Number of trainings, of this target, when it fell last."""
    done: Counter[str] = field(default_factory=Counter)
    """Trainings of each kind."""
    hits: Counter[str] = field(default_factory=Counter)
    """Equations that entered the front, by the kind of training that found them."""
    at_noise: bool = False
    """Whether the residuals of the best equation look like noise."""
    exact: bool = False
    patient: bool = False
    """Whether someone went on with a search that had ended: noise does not cut it short."""

    length: float = float("inf")
    """Least length of a description of the data."""
    guessed: bool = False
    """Whether what is near the user's guesses was looked at, ..."""
    around: int = 0
    """... and from how many starts so far."""
    looked: bool = False
    """Whether power laws and waves were looked for, ..."""
    parted: bool = False
    """... and parts that can be found one by one."""
    by_units: bool = False
    """Whether groups of inputs that physical units tell were looked at."""
    worth: float = float("inf")
    """Least of what rows and constants take (`ieql.training.fast.accurate.least_worth`), ..."""
    stalled: int = 0
    """... and the rounds for accuracy since it fell."""

    def patience(self, is_covered: bool) -> int:
        """Number of trainings without progress after which the search may stop by itself."""
        if self.patient:
            return max(PATIENCE, self.since)
        if is_covered:
            return PATIENCE_IF_COVERED
        return PATIENCE_AT_NOISE if self.at_noise else max(PATIENCE, self.since)

    @property
    def n_trainings(self) -> int:
        """Number of trainings of all kinds but those for accuracy, which no patience is about."""
        return sum(self.done[kind] for kind in KINDS)

    @property
    def chances(self) -> tuple[float, float, float]:
        """Shares of the kinds in the next trainings: by what has paid on this data set so far."""
        rates = [(HITS_AT_START[kind] + self.hits[kind]) / (1 + self.done[kind]) for kind in KINDS]
        rest = 1.0 - sum(LEAST_SHARES.values())
        path, growth, law = (
            LEAST_SHARES[kind] + rest * rate / sum(rates)
            for kind, rate in zip(KINDS, rates, strict=True)
        )
        return path, growth, law

    @classmethod
    def read(cls, form: Mapping[str, Any]) -> Progress:
        """The progress that was written down as `form`."""
        return cls(
            score=float(form["score"]) if form["score"] is not None else float("inf"),
            since=int(form["since"]),
            done=_counts(form["done"]),
            hits=_counts(form["hits"]),
            at_noise=bool(form["at_noise"]),
            exact=bool(form["exact"]),
            patient=bool(form.get("patient")),
            length=float(form["length"]) if form.get("length") is not None else float("inf"),
            guessed=bool(form.get("guessed", form.get("looked"))),
            around=int(form.get("around", 0)),
            looked=bool(form.get("looked")),
            parted=bool(form.get("parted")),
            by_units=bool(form.get("by_units")),
            worth=float(form["worth"]) if form.get("worth") is not None else float("inf"),
            stalled=int(form.get("stalled", 0)),
        )


def _counts(form: Mapping[str, Any]) -> Counter[str]:
    return Counter({str(key): int(n) for key, n in form.items()})


@dataclass
class FastState(State):
    """Where the fast search stands."""

    progress: list[Progress] = field(default_factory=list)
    """How far each target has come."""
    number: int = 0
    """Trainings per target that were planned in the rounds that are over."""
    coverage: list[Coverage] = field(default_factory=list)
    """What of all structures was tried, for each target."""
    n_accurate: int = 0
    """Trainings for accuracy per target that were planned in the rounds that are over."""
    accuracy_due: int = 0
    """Rounds for accuracy that come before the next other one."""
    tested: dict[int, tuple[Expression, int]] = field(default_factory=dict)
    """The equation that was last tested for leaving mere noise, by target, and `number` then. As
    long as both stand, another test, after each of many empty sizes, would tell the same."""

    def to_form(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers."""
        form = super().to_form()
        form["number"] = self.number
        form["n_accurate"] = self.n_accurate
        form["accuracy_due"] = self.accuracy_due
        parts = zip(form["targets"], self.progress, self.coverage, strict=True)
        for target, progress, coverage in parts:
            target["progress"] = vars(progress)
            target["coverage"] = vars(coverage)
        return form

    def is_tired(self, k: int) -> bool:
        """Whether a target had no progress for so long that the search may stop by itself."""
        progress, task = self.progress[k], self.tasks[k]
        since = progress.n_trainings - progress.since
        is_covered = self.coverage[k].is_thorough(task.shown_prior, task.names)
        is_certain = progress.at_noise and task.train.n_rows >= MANY_ROWS
        return not progress.exact and since >= progress.patience(is_covered or is_certain)
