"""Experiment 1: learning complex equations (section "Learning Complex Equations", two tables)."""

from __future__ import annotations

from experiments.budget import Budget
from experiments.compare import compare, table_rows
from experiments.paper_values import PROBLEMS
from experiments.store import Store

__all__ = ["METHODS", "run"]

METHODS = (
    "mean", "mlp", "gp", "operon1", "operon2", "gplearn", "pysr1", "pysr2", "eqldiv", "ieql",
    "ieql_paper",
)  # fmt: skip
WITH_PAPER_TRAINER = ("S1", "S3", "A1")
"""Problems that the paper's own trainer learns as well, with settings for a laptop."""


def run(store: Store, budget: Budget) -> None:
    """Learn S0–S6 and A1–A4 with all methods; selection by V_int&ex with 40 points."""
    problems = budget.first(list(PROBLEMS))
    # Ours first: it is what one wants to see.
    compare(store, budget, problems, ["ieql"])
    compare(store, budget, problems, [m for m in METHODS if not m.startswith("ieql")])
    compare(store, budget, budget.first(list(WITH_PAPER_TRAINER)), ["ieql_paper"])
    store.csv(store.name, table_rows(store, PROBLEMS, METHODS, "V_int&ex"))
