"""How much work the experiments do: a few minutes each, or all five runs of everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ieql.training.paper import PaperSettings

__all__ = ["BUDGETS", "Budget"]


@dataclass(frozen=True)
class Budget:
    """Numbers of runs, seconds and epochs.

    Attributes
    ----------
    name : str
        ``quick`` (all in 90 minutes on two cores), ``full`` (five runs of everything: a day),
        ``published`` (the paper's numbers in every setting: for a sweep of the paper's trainer
        hours) or ``tiny`` (for the tests).
    runs, baseline_runs : int
        Runs of our own methods and of the others, with the seeds 0, 1, ….
    seconds, baseline_seconds : float
        Wall clock of one fit of ours, and of one by genetic programming.
    max_trainings : int or None
        Limit of our fits by number instead of time.
    rows : int or None
        Rows to learn from; None takes all.
    mlp_epochs : int
        Epochs of the perceptron; the paper has 5000.
    eqldiv_epochs, eqldiv_batch, eqldiv_rate, eqldiv_strengths : int, int, float, int
        EQL÷: epochs per hidden layer (the paper has 10,000), rows in a batch (20), learning rate
        (0.001) and number of regularisation strengths (26).
    gp_rows : int
        Rows of the Gaussian process.
    paper : PaperSettings
        Numbers of the paper's own trainer.
    paper_runs : int
        Its runs, with the seeds 0, 1, ….
    genetic_rows : int or None
        Rows for genetic programming, 1000 as in the paper; None takes all.
    problems : int or None
        Only the first so many problems, targets or cost ratios of an experiment; None takes all.
    n_jobs : int
        Processes.
    only : tuple of str
        Methods that are compared; all if it is empty.
    """

    name: str
    runs: int
    baseline_runs: int
    seconds: float
    baseline_seconds: float
    mlp_epochs: int
    eqldiv_epochs: int
    eqldiv_batch: int
    eqldiv_rate: float
    eqldiv_strengths: int
    gp_rows: int
    paper: PaperSettings
    paper_runs: int
    max_trainings: int | None = None
    rows: int | None = None
    genetic_rows: int | None = 1000
    problems: int | None = None
    n_jobs: int = 2
    only: tuple[str, ...] = ()

    def first(self, items: list[Any]) -> list[Any]:
        """The items this budget has time for."""
        return items[: self.problems]


BUDGETS = {
    "tiny": Budget(
        name="tiny",
        runs=1,
        baseline_runs=1,
        seconds=5.0,
        baseline_seconds=1.0,
        mlp_epochs=2,
        eqldiv_epochs=2,
        eqldiv_batch=100,
        eqldiv_rate=4e-3,
        eqldiv_strengths=1,
        gp_rows=50,
        paper=PaperSettings(layers=1, copies=1, first_epochs=1, epochs=2, n_strengths=2),
        paper_runs=1,
        max_trainings=2,
        rows=200,
        problems=1,
        n_jobs=1,
    ),
    "quick": Budget(
        name="quick",
        runs=5,
        baseline_runs=1,
        seconds=30.0,
        baseline_seconds=15.0,
        mlp_epochs=150,
        eqldiv_epochs=60,
        eqldiv_batch=100,
        eqldiv_rate=4e-3,
        eqldiv_strengths=13,
        gp_rows=1000,
        paper=PaperSettings(first_epochs=100, epochs=400, n_strengths=8, exponents=(-3.5, -0.5)),
        paper_runs=1,
    ),
    "full": Budget(
        name="full",
        runs=5,
        baseline_runs=5,
        seconds=60.0,
        baseline_seconds=60.0,
        mlp_epochs=5000,
        eqldiv_epochs=1000,
        eqldiv_batch=20,
        eqldiv_rate=1e-3,
        eqldiv_strengths=26,
        gp_rows=2000,
        genetic_rows=None,
        paper=PaperSettings(first_epochs=500, epochs=2000, n_strengths=16, exponents=(-4.5, -0.5)),
        paper_runs=5,
    ),
    "published": Budget(
        name="published",
        runs=5,
        baseline_runs=5,
        seconds=60.0,
        baseline_seconds=60.0,
        mlp_epochs=5000,
        eqldiv_epochs=10_000,
        eqldiv_batch=20,
        eqldiv_rate=1e-3,
        eqldiv_strengths=26,
        gp_rows=2000,
        genetic_rows=None,
        paper=PaperSettings.published(),
        paper_runs=1,
    ),
}
"""From the smallest to the largest: what a larger one has done, a smaller one need not do again."""
