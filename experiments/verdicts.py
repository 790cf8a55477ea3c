"""What a verdict on a claim of the paper is made of: stored results, findings, words for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.compare import table_row
from experiments.engine_torque import GENERATED
from experiments.paper_sweeps import FINISHED, RAW
from experiments.paper_values import PROBLEMS
from experiments.store import Store
from experiments.sweeping import parts_of

__all__ = [
    "FAST",
    "LEARNED",
    "NO",
    "NOISE_LEVEL",
    "PAPERS",
    "PARTLY",
    "UNTESTED",
    "YES",
    "A",
    "Claim",
    "Finding",
    "Results",
    "S",
    "count",
    "middle",
    "names_without",
    "of_rows",
]

NOISE_LEVEL = 0.011
"""Test error up to which an equation is at the noise level of 0.01."""
S, A = PROBLEMS[:7], PROBLEMS[7:]
YES, NO, PARTLY, UNTESTED = "reproduced", "**not reproduced**", "**in part**", "not tested"
PAPERS = "the paper's method"
FAST = "ieql, fast"
LEARNED = (
    (f"{PAPERS}, as trained", RAW), (f"{PAPERS}, finished", FINISHED), (FAST, "ieql"),
)  # fmt: skip
"""Ways to an equation, by name and method."""


class Results:
    """The stores of all experiments in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.complex, self.sweeps, self.ambiguity, self.machine, self.engine, self.units = (
            Store(folder, name)
            for name in (
                "complex_equations", "paper_sweeps", "ambiguity", "electric_machine",
                "engine_torque", "unit_frequencies",
            )
        )  # fmt: skip

    def row(self, problem: str, method: str, criterion: str = "V_int&ex") -> dict[str, Any] | None:
        """The runs of a method on a problem of the first experiment; None if there are none."""
        parts = parts_of(self.complex, problem, method, self.sweeps)
        return table_row(parts, problem, method, criterion) if parts else None

    def machine_row(self, method: str, criterion: str = "V_int-S") -> dict[str, Any] | None:
        """The runs of a method on the power loss; None if there are none."""
        parts = parts_of(self.machine, "power_loss", method, self.sweeps)
        return table_row(parts, "power_loss", method, criterion) if parts else None

    def engine_row(self, method: str, criterion: str) -> dict[str, Any] | None:
        """The runs of a method on the generated engine; None if there are none."""
        parts = parts_of(self.engine, GENERATED, method, self.sweeps)
        return table_row(parts, GENERATED, method, criterion) if parts else None


@dataclass(frozen=True)
class Finding:
    """What was found on a claim: by which method, the verdict, the figure, runs and budget."""

    by: str
    verdict: str
    figure: str = ""
    runs: str = ""
    budget: str = ""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, where it stands, how it is judged, the command, and of whom it is.

    What it speaks of is a method by the name under which findings on it begin.
    """

    sentence: str
    where: str
    judge: Callable[[Results], list[Finding]]
    command: str
    of: str = PAPERS


def of_rows(by: str, verdict: str, figure: str, rows: Sequence[dict[str, Any]]) -> Finding:
    """A finding with the runs and budgets of the rows that it was made from."""
    runs = sorted({str(r["runs"]) for r in rows})
    budgets = sorted({b for r in rows for b in r["budget"].split("/")})
    return Finding(by, verdict, figure, "/".join(runs), ", ".join(budgets))


def count(good: int, of: int) -> str:
    """The verdict on a claim that holds for some of many."""
    return YES if good == of else (PARTLY if good else NO)


def middle(row: dict[str, Any]) -> float:
    """The median error of a row of a table; infinite if it is not finite."""
    return float("inf") if row["rmse_median"] is None else float(row["rmse_median"])


def names_without(rows: Sequence[dict[str, Any]], good: Sequence[dict[str, Any]]) -> str:
    """The problems of the rows that are not among the good ones."""
    return ", ".join(r["problem"] for r in rows if r not in good) or "none"
