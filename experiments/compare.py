"""Run methods on problems, and read tables from what they found."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from experiments.budget import Budget
from experiments.methods import METHODS, of_budget
from experiments.store import Store
from experiments.sweeping import parts_of
from ieql import load_problem
from ieql.problems import Problem
from ieql.training.parallel import in_parallel
from tables import median

__all__ = ["chosen", "compare", "spread", "table_row", "table_rows"]


def compare(
    store: Store,
    budget: Budget,
    problems: Iterable[str],
    methods: Iterable[str],
    draw: Callable[[str, int], Problem] = load_problem,
) -> None:
    """Let each method learn each problem, in as many runs as the budget has.

    Run k takes the data of seed k and starts its own random choices from k. What is not installed,
    or cannot be judged by so small a budget, is skipped with a message.
    """
    methods = [name for name in methods if not budget.only or name in budget.only]
    for name in list(methods):
        word = METHODS[name].missing(budget)
        if word is not None:
            store.say(f"{store.name}: skipped {METHODS[name].label} ({word})")
            methods.remove(name)
    problems = list(problems)
    for name in methods:
        method = METHODS[name]
        seeds = range(budget.runs if method.is_ours else budget.baseline_runs)
        jobs = [
            (f"{problem}/{name}/{seed}", _run, (name, draw, problem, seed, budget))
            for problem in problems
            for seed in seeds
            if not store.has(f"{problem}/{name}/{seed}", budget)
        ]
        # What has one thread runs beside others of its kind; the rest has the machine to itself.
        for key, made in in_parallel(jobs, budget.n_jobs if method.has_one_thread else 1):
            store.part(key, budget, lambda made=made: made)


def _run(
    name: str, draw: Callable[[str, int], Problem], problem: str, seed: int, budget: Budget
) -> dict[str, Any]:
    run = METHODS[name].run
    if run is None:
        raise ValueError(f"{name} is made by a sweep.")
    start = time.perf_counter()
    made = run(of_budget(draw(problem, seed), budget), seed, budget)
    return {"seconds": round(time.perf_counter() - start, 2), **made}


def chosen(part: Mapping[str, Any], criterion: str) -> Mapping[str, Any]:
    """The row of a part that a criterion selects."""
    row: Mapping[str, Any] = part["front"][part["selected"][criterion]]
    return row


def spread(values: Iterable[float | None]) -> dict[str, float | None]:
    """Median, least and largest; None where a value is not finite."""
    numbers = [math.inf if v is None else float(v) for v in values]
    found = {"median": median(numbers), "min": min(numbers), "max": max(numbers)}
    return {k: v if math.isfinite(v) else None for k, v in found.items()}


def table_rows(
    store: Store, problems: Iterable[str], methods: Iterable[str], criterion: str
) -> list[dict[str, Any]]:
    """One row per problem and method: error on the test rows, parameters, runs, seconds."""
    rows = []
    for problem in problems:
        for name in methods:
            parts = parts_of(store, problem, name)
            if parts:
                rows.append(table_row(parts, problem, name, criterion))
    return rows


def table_row(
    parts: Sequence[Mapping[str, Any]], problem: str, method: str, criterion: str
) -> dict[str, Any]:
    """The runs of one method on one problem."""
    picked = [chosen(p, criterion) for p in parts]
    error = spread(r["rmse_test"] for r in picked)
    size = spread(r["n_parameters"] for r in picked)
    return {
        "problem": problem,
        "method": method,
        "criterion": criterion,
        "runs": len(parts),
        **{f"rmse_{k}": v for k, v in error.items()},
        **{f"parameters_{k}": v for k, v in size.items()},
        "seconds": median(p["seconds"] for p in parts),
        "budget": "/".join(sorted({p["budget"] for p in parts})),
    }
