"""Accuracy when it is asked for: our most exact equation beside a Gaussian process on all rows.

The generated engine torque, the seven quantities of the measured engine (named by ENGINE_DATA) and
any other tables, each with the target in its last column and a fifth of its rows for the test.
Every result is written at once; what the file holds already is not run again.

    python benchmarks/accuracy.py engine measured --seeds 0 1 2 --time 300 --out accuracy.json
    python benchmarks/accuracy.py path/to/airfoil.csv --time 60 --out accuracy.json

On a busy machine the clock says little. With ``--processor`` a fit runs in one process and its time
is that of the processor, divided by 1.8: what two processes would have done on two free cores.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments.budget import BUDGETS
from experiments.engine_torque import GENERATED, REAL, measured, split
from experiments.methods import METHODS
from fits import count_processor_time
from ieql import IEQLRegressor, load_problem
from ieql.data.reading import read_csv
from ieql.problems import Problem

__all__ = ["main"]

TEST = 0.2


def problem_of(name: str, seed: int) -> Problem:
    """A problem by name, or made of a file."""
    if name == GENERATED:
        return load_problem(name, seed)
    if name in REAL:
        return measured(name, seed)
    table = read_csv(Path(name))
    return split(Path(name).stem, "a table", table.iloc[:, :-1], table.iloc[:, -1], seed)


def ours(problem: Problem, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """The equation selected by V_int, and what else stands on the front."""
    model = IEQLRegressor(
        prior=options.prior,
        selection="V_int",
        max_time=options.time,
        domain=problem.domain,
        n_jobs=options.jobs,
        random_state=seed,
    )
    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # doubts about an equation; the error is what counts here
        model.fit(problem.X, problem.y)
    seconds = time.monotonic() - start
    chosen = model.equations_.query("selected").iloc[0]
    X, y = problem.X_test.to_numpy(), problem.y_test.to_numpy()
    front = [
        {
            "n_parameters": c.n_parameters,
            "rmse_validation": c.rmse_validation,
            "rmse_test": rmse(c.expression.evaluate(X)[:, 0], y),
            "proved": c.proved,
        }
        for c in model.fronts_[0]
    ]
    return {
        "rmse": rmse(model.predict(problem.X_test), y),
        "n_parameters": int(chosen["n_parameters"]),
        "rmse_validation": float(chosen["rmse_validation"]),
        "seconds": round(seconds, 1),
        "end": model.stop_reason_,
        "n_trainings": model.n_trainings_,
        "front": front,
    }


def rmse(predicted: Any, y: Any) -> float:
    return float(np.sqrt(np.mean((np.asarray(predicted) - np.asarray(y)) ** 2)))


def gaussian_process(problem: Problem, seed: int) -> dict[str, Any]:
    """The Gaussian process of the experiments, on all rows."""
    budget = replace(next(iter(BUDGETS.values())), gp_rows=len(problem.X))
    start = time.perf_counter()
    found = METHODS["gp"].run(problem, seed, budget)
    return {
        "rmse": found["front"][0]["rmse_test"],
        "seconds": round(time.perf_counter() - start, 1),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="+", help="engine, measured, its targets, or CSV files")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--time", type=float, default=300.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--prior", default="plain")
    parser.add_argument("--processor", action="store_true", help="count the processor's seconds")
    parser.add_argument("--without-gp", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("accuracy.json"))
    options = parser.parse_args(arguments)
    if options.processor:
        options.jobs = 1
        count_processor_time()
    results = json.loads(options.out.read_text()) if options.out.exists() else {}
    names = [n for t in options.tables for n in (REAL if t == "measured" else (t,))]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    machine = f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    print(f"{machine}; commit {commit}; {options.time:g} s, {options.jobs} jobs")
    for seed in options.seeds:
        for name in names:
            problem = problem_of(name, seed)
            base = f"{problem.name}/{seed}"
            clock = "processor" if options.processor else "clock"
            own = f"{base}/ieql/{options.prior}/{options.time:g} s {clock}"
            runs: dict[str, Any] = {f"{base}/gp": gaussian_process}
            if options.without_gp:
                runs.clear()
            runs[own] = lambda p, s: ours(p, s, options)
            for key, run in runs.items():
                if key not in results:
                    results[key] = {
                        **run(problem, seed),
                        "commit": commit,
                        "machine": machine,
                        "load": round(os.getloadavg()[0], 1),
                    }
                    options.out.write_text(json.dumps(results, indent=1))
                found = results[key]
                note = f"; {found['n_parameters']} parameters" if "n_parameters" in found else ""
                print(f"{key:60s} {found['rmse']:.4f}{note}; {found['seconds']} s", flush=True)


if __name__ == "__main__":
    main()
