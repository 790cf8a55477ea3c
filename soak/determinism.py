"""Determinism: the same seed and number of trainings, the same front, to the last bit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pandas as pd

from soak.check import Check, Outcome
from soak.programs import Program, fit, sandbox, write_table

__all__ = ["CHECKS"]

SWEEP = {"layers": 1, "copies": 1, "first_epochs": 60, "epochs": 100, "batch": 50, "rate": 0.02}
FROM_CSV = """
import json, sys
from pathlib import Path
from ieql import IEQLRegressor
from ieql.data.reading import read_csv
from ieql.data.table import split_target
from soak.programs import front_of
trainings, seed, n_jobs, trainer = json.loads(sys.argv[1])
X, y = split_target(read_csv(Path("data.csv")), ["y"])
model = IEQLRegressor(max_time=3600, max_trainings=trainings, n_jobs=n_jobs, random_state=seed,
                      trainer=trainer)
print(json.dumps({"front": front_of(model.fit(X, y))}))
"""


def fronts(options: Mapping[str, Any]) -> list[str]:
    """The front of the same fit with one process and with two."""
    found = []
    for n_jobs in (1, 2):
        with sandbox() as folder:
            told = fit(folder, {**options, "max_time": None, "n_jobs": n_jobs}).told(3600)
            found.append(str(told["front"]))
    return found


def both_doors(trainings: int, seed: int, n_jobs: int, trainer: str = "fast") -> list[str]:
    """The front of the same CSV file from Python and from the command line."""
    with sandbox() as folder:
        write_table(folder / "data.csv", seed=seed)
        arguments = ["--target", "y", "--trainings", str(trainings), "--time", "3600"]
        arguments += ["--seed", str(seed), "--jobs", str(n_jobs), "--trainer", trainer]
        program = Program("-m", "ieql", "fit", "data.csv", "--out", "run", *arguments,
                          folder=folder)  # fmt: skip
        code, _, errors = program.end(3600)
        if code != 0:
            raise RuntimeError(f"ieql fit ended with {code}: {errors[-600:]}")
        text = f'[{trainings}, {seed}, {n_jobs}, "{trainer}"]'
        told = Program("-c", FROM_CSV, text, folder=folder).told(3600)
        return [(folder / "run" / "equations.csv").read_text(encoding="utf-8"), told["front"]]


def after_compiling(options: Mapping[str, Any]) -> list[str]:
    """The front of the process that compiles the kernels, and that of a later one."""
    with sandbox() as folder:
        before = os.environ.get("NUMBA_CACHE_DIR")
        os.environ["NUMBA_CACHE_DIR"] = str(folder / "cache")
        try:
            return [
                str(fit(folder, {**options, "max_time": None}).told(3600)["front"])
                for _ in range(2)
            ]
        finally:
            del os.environ["NUMBA_CACHE_DIR"]
            if before is not None:
                os.environ["NUMBA_CACHE_DIR"] = before


def _all_equal(pairs: list[list[str]]) -> Outcome:
    different = [k for k, pair in enumerate(pairs) if len(set(pair)) > 1]
    if different:
        return Outcome(
            len(pairs), False, f"{len(different)} differed, the first was number {different[0]}"
        )
    rows = sum(len(pd.read_csv(_file(pair[0]))) for pair in pairs)
    return Outcome(len(pairs), True, f"equal in every bit ({rows} equations)")


def _file(text: str) -> Any:
    from io import StringIO

    return StringIO(text)


def _count(n: int, size: float) -> int:
    return max(1, round(n * size))


def _processes(size: float, seed: int) -> Outcome:
    pairs = []
    for k in range(_count(10, size)):
        base = {"random_state": seed + k, "seed": seed + k}
        pairs.append(fronts({**base, "max_trainings": _count(40, max(size, 0.3))}))
        pairs.append(fronts({**base, "max_trainings": 4, "trainer": SWEEP}))
    return _all_equal(pairs)


def _doors(size: float, seed: int) -> Outcome:
    n = _count(6, size)
    return _all_equal([both_doors(_count(30, max(size, 0.4)), seed + k, 2) for k in range(n)])


def _compiled(size: float, seed: int) -> Outcome:
    options: dict[str, Any] = {"random_state": seed, "seed": seed, "n_jobs": 1}
    kinds: list[dict[str, Any]] = [{"max_trainings": 4, "trainer": SWEEP}, {"max_trainings": 12}]
    return _all_equal([after_compiling({**options, **k}) for k in kinds[: _count(2, size)]])


CHECKS: tuple[Check, ...] = (
    Check(
        "same-front",
        "the same seed and `max_trainings` with one process and with two, both trainers",
        _processes,
    ),
    Check(
        "same-front-doors",
        "the same CSV file from Python and from `ieql fit`",
        _doors,
    ),
    Check(
        "same-front-compiled",
        "the fit of the process that finds no compiled kernels, and a later one, both trainers",
        _compiled,
    ),
)
