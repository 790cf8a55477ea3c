"""What a method found on a problem, in one form for all methods; and our own fit."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql import IEQLRegressor
from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.run.folder import RunFolder
from ieql.selection import scores
from suites import Data, Problem

__all__ = ["Equation", "Fit", "Settings", "count_processor_time", "fit_ieql", "warm_up"]

Array = NDArray[np.float64]
TWO_PROCESSES = 1.8
"""How much more two processes do than one: islands wait for each other at the end of a round."""


@dataclass(frozen=True)
class Settings:
    """What all methods are given: seconds, cores; the number of trainings and the loss for ours."""

    max_time: float | None
    n_jobs: int
    max_trainings: int | None = None
    loss: str = "auto"


@dataclass(frozen=True, eq=False)
class Equation:
    """A formula with its values, and its errors as far as the method knows them."""

    text: str
    values: Callable[[Array], Array]
    expression: Expression | None
    errors: dict[str, float] = field(default_factory=dict)
    standard_errors: tuple[float, ...] | None = None
    """Of the expression's constants, where the method gives them."""

    @classmethod
    def parse(cls, text: str, names: tuple[str, ...], **errors: float) -> Equation:
        """An equation whose text is in our grammar."""
        expression = Expression.parse(text, names)
        return cls(text, lambda X: expression.evaluate(X)[:, 0], expression, errors)

    @property
    def n_parameters(self) -> int | None:
        """Number of weights in our units; None if they cannot express it."""
        return None if self.expression is None else self.expression.n_parameters

    @property
    def inputs_used(self) -> tuple[str, ...]:
        """Names of the inputs that matter; a question mark if our units cannot express it."""
        return ("?",) if self.expression is None else self.expression.inputs_used

    def rmse(self, X: Array, y: Array) -> float:
        """Error on given rows; infinite where the equation is undefined on one of them."""
        with np.errstate(all="ignore"):
            error = float(np.sqrt(np.mean((self.values(X) - y) ** 2)))
        return error if np.isfinite(error) else float("inf")


@dataclass(frozen=True, eq=False)
class Fit:
    """The front, which of its equations was selected, and what was on it at which second."""

    seconds: float
    front: list[Equation]
    selected: int
    trail: list[tuple[float, Equation]]
    notes: dict[str, Any] = field(default_factory=dict)


def fit_ieql(problem: Problem, data: Data, seed: int, settings: Settings) -> Fit:
    """Fit with default settings; what the front held and when is read from the run folder."""
    warm_up(settings.n_jobs)
    with tempfile.TemporaryDirectory(prefix="recovery-") as folder:
        model = IEQLRegressor(
            max_time=settings.max_time,
            max_trainings=settings.max_trainings,
            n_jobs=settings.n_jobs,
            random_state=seed,
            run_dir=Path(folder),
            loss=settings.loss,
            **data.model_options,
        )
        start = time.perf_counter()
        model.fit(data.X, data.y, **data.fit_options)
        seconds = time.perf_counter() - start
        if model.interrupted_:
            raise KeyboardInterrupt
        records = RunFolder.open(folder).records()
    table = model.equations_.assign(mdl=_description_lengths(model))
    errors = ["complexity", "rmse_train", "rmse_validation", "rmse_extrapolation", "mdl"]
    front = [
        replace(
            Equation.parse(row["equation"], problem.names, **{k: float(row[k]) for k in errors}),
            standard_errors=candidate.standard_errors,
        )
        for row, candidate in zip(table.to_dict("records"), model.fitted_.fronts[0], strict=True)
    ]
    notes = {
        "n_trainings": int(model.n_trainings_),
        "stop_reason": model.stop_reason_,
        "criterion": model.criterion_,
        "mean_errors": model.fitted_.mean_errors[0],
        "largest_complexity": float(model.fitted_.largest_complexities[0]),
    }
    selected = int(np.flatnonzero(table["selected"])[0])
    return Fit(seconds, front, selected, _trail(records, problem.names), notes)


def _description_lengths(model: IEQLRegressor) -> Array:
    """Twice the nats that each equation of the front takes, whatever selected one of them."""
    fitted = model.fitted_
    return scores(
        fitted.fronts[0],
        "MDL",
        mean_error=fitted.mean_errors[0]["validation"],
        n_rows=fitted.n_rows,
    )


def _trail(records: list[dict[str, Any]], names: tuple[str, ...]) -> list[tuple[float, Equation]]:
    trail = []
    for record in sorted(records, key=lambda r: r["seconds"]):
        try:
            trail.append((float(record["seconds"]), Equation.parse(record["equation"], names)))
        except IeqlError:  # a constant overflowed when its scaling was undone
            continue
    return trail


@cache
def warm_up(n_jobs: int) -> None:
    """Compile the kernels, or load them, before the first fit is timed."""
    X = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    IEQLRegressor(max_time=None, max_trainings=2, n_jobs=n_jobs, random_state=0).fit(
        X, X[:, 0] ** 2 + X[:, 1]
    )


def count_processor_time() -> None:
    """Let the clocks of this process show what two processes would need on two free cores.

    For fits with one process on a machine that others use, too: seconds are the processor's.
    """
    time.monotonic = time.perf_counter = lambda: time.process_time() / TWO_PROCESSES
