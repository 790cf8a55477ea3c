"""Accuracy when it is asked for: our most exact equation beside black boxes and Operon.

The generated engine torque, the seven quantities of the measured engine (named by ENGINE_DATA) and
any other tables, each with the target in its last column and a part of its rows for the test.
Every result is written at once; what the file holds already is not run again. ``mdl`` is what the
default selection takes; Operon has as many cores and as much time. At the end each of our fronts is
compared with Operon's equation: our least error with as many parameters as that has, or fewer.

    python benchmarks/accuracy.py engine measured --seeds 0 1 2 --time 300 --out accuracy.json
    python benchmarks/accuracy.py eng_*.csv --test 0.25 --methods ieql mdl operon gp trees --time 60

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
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments.budget import BUDGETS
from experiments.engine_torque import GENERATED, REAL, measured, split
from experiments.methods import METHODS
from fits import Settings, count_processor_time
from ieql import IEQLRegressor, load_problem
from ieql.data.reading import read_csv
from ieql.problems import Problem
from peers import PEERS
from suites import Data

__all__ = ["main"]

METHOD_NAMES = ("ieql", "mdl", "operon", "gp", "trees")
MOST_FOR_PROCESS = 1_500
"""Rows of a Gaussian process, at most: its time grows with their third power."""


def problem_of(name: str, seed: int, test: float) -> Problem:
    """A problem by name, or made of a file."""
    if name == GENERATED:
        return load_problem(name, seed)
    if name in REAL:
        return measured(name, seed)
    table = read_csv(Path(name))
    return split(Path(name).stem, "a table", table.iloc[:, :-1], table.iloc[:, -1], seed, test)


def ours(
    problem: Problem, seed: int, options: argparse.Namespace, selection: str = "V_int"
) -> dict[str, Any]:
    """The equation that a criterion selects, and what else stands on the front."""
    model = IEQLRegressor(
        prior=options.prior,
        selection=selection,
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
    budget = replace(next(iter(BUDGETS.values())), gp_rows=min(len(problem.X), MOST_FOR_PROCESS))
    start = time.perf_counter()
    found = METHODS["gp"].run(problem, seed, budget)
    return {
        "rmse": found["front"][0]["rmse_test"],
        "seconds": round(time.perf_counter() - start, 1),
    }


def trees(problem: Problem, seed: int) -> dict[str, Any]:
    """Boosted trees, as many as rows kept back ask for."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(
        learning_rate=0.05, max_iter=2_000, early_stopping=True, random_state=seed
    )
    start = time.perf_counter()
    model.fit(problem.X.to_numpy(), problem.y.to_numpy())
    return {
        "rmse": rmse(model.predict(problem.X_test.to_numpy()), problem.y_test),
        "seconds": round(time.perf_counter() - start, 1),
    }


def operon(problem: Problem, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Operon's equation with the least error on rows that it keeps back, and its front."""
    X, y = problem.X, problem.y
    data = Data(X, y, problem.X_test, problem.y_test, problem.noise, float(y.std()), {}, {})
    names = SimpleNamespace(names=problem.feature_names)
    start = time.perf_counter()
    fit = PEERS["operon"](names, data, seed, Settings(options.time, n_jobs=options.jobs))
    seconds = time.perf_counter() - start
    X_test, y_test = problem.X_test.to_numpy(float), problem.y_test.to_numpy(float)
    front = [
        {"n_parameters": e.n_parameters, **e.errors, "rmse_test": e.rmse(X_test, y_test)}
        for e in fit.front
    ]
    best = front[fit.selected]
    return {
        "rmse": best["rmse_test"],
        "n_parameters": best["n_parameters"],
        "seconds": round(seconds, 1),
        "front": front,
    }


def compared(results: dict[str, Any], base: str, keys: dict[str, str]) -> str:
    """Our least error at Operon's size or below it, and the best against the black boxes."""
    words = []
    if "operon" in keys:
        peer = results[keys["operon"]]
        for name in ("mdl", "ieql"):
            if name not in keys:
                continue
            fit = [
                r for r in results[keys[name]]["front"] if r["n_parameters"] <= peer["n_parameters"]
            ]
            best = min(fit, key=lambda r: r["rmse_validation"])
            ratio = best["rmse_test"] / peer["rmse"]
            words.append(
                f"{name} {best['rmse_test']:.4g} ({best['n_parameters']}) against Operon "
                f"{peer['rmse']:.4g} ({peer['n_parameters']}): {ratio:.3f}"
            )
    boxes = [results[keys[name]]["rmse"] for name in ("gp", "trees") if name in keys]
    if boxes and "ieql" in keys:
        words.append(f"V_int / better black box {results[keys['ieql']]['rmse'] / min(boxes):.3f}")
    return f"{base}: {'; '.join(words)}" if words else ""


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
    parser.add_argument("--methods", nargs="+", default=["gp", "ieql"], choices=METHOD_NAMES)
    parser.add_argument("--test", type=float, default=0.2, help="part of a table for the test")
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
            problem = problem_of(name, seed, options.test)
            base = f"{problem.name}/{seed}"
            clock = "processor" if options.processor else "clock"
            limits = f"{options.time:g} s {clock}"
            known: dict[str, tuple[str, Any]] = {
                "gp": (f"{base}/gp", gaussian_process),
                "trees": (f"{base}/trees", trees),
                "operon": (f"{base}/operon/{limits}", lambda p, s: operon(p, s, options)),
                "mdl": (
                    f"{base}/mdl/{options.prior}/{limits}",
                    lambda p, s: ours(p, s, options, "MDL"),
                ),
                "ieql": (
                    f"{base}/ieql/{options.prior}/{limits}",
                    lambda p, s: ours(p, s, options),
                ),
            }
            keys = {method: known[method][0] for method in options.methods}
            for method in options.methods:
                key, run = known[method]
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
                print(f"{key:60s} {found['rmse']:.4g}{note}; {found['seconds']} s", flush=True)
            if said := compared(results, base, keys):
                print(f"  {said}", flush=True)


if __name__ == "__main__":
    main()
