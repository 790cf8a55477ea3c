"""The paper's training and the fast one, given the same problem, time and cores.

Every trainer gets the declared domain and, where the paper has them, the 40 points outside. What
is printed is the equation that is selected, with its error on test data that no trainer sees.

    python benchmarks/trainers.py --problems S0 S3 S6 A1 --trainers fast paper --time 600
    python benchmarks/trainers.py --problems power_loss --trainers paper --time 900
    python benchmarks/trainers.py --problems S3 --trainers '{"layers": 2, "epochs": 1000}'
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np

from ieql import IEQLRegressor, load_problem
from ieql.problems import Problem

__all__ = ["main", "run"]


def run(problem: Problem, trainer: Any, max_time: float, n_jobs: int, seed: int) -> dict[str, Any]:
    """Fit one problem with one trainer and judge the selected equation on the test data."""
    outside = problem.X_extrapolation is not None
    model = IEQLRegressor(
        trainer=trainer,
        domain=problem.domain,
        selection="V_int&ex" if outside else "MDL",
        max_time=max_time,
        n_jobs=n_jobs,
        random_state=seed,
    )
    options = (
        {"X_extrapolation": problem.X_extrapolation, "y_extrapolation": problem.y_extrapolation}
        if outside
        else {}
    )
    start = time.perf_counter()
    model.fit(problem.X, problem.y, **options)
    seconds = time.perf_counter() - start
    target = problem.y_test.to_numpy()
    front = []
    for index, row in enumerate(model.equations_.to_dict("records")):
        error = model.predict(problem.X_test, index=index) - target
        front.append({**row, "rmse_test": float(np.sqrt(np.mean(error**2)))})
    return {
        "problem": problem.name,
        "trainer": trainer,
        "seed": seed,
        "max_time": max_time,
        "n_jobs": n_jobs,
        "seconds": round(seconds, 1),
        "n_trainings": int(model.n_trainings_),
        "stop_reason": model.stop_reason_,
        "front": front,
    }


def line(result: dict[str, Any]) -> str:
    """One line for the equation that was selected."""
    (chosen,) = (row for row in result["front"] if row["selected"])
    name = result["trainer"] if isinstance(result["trainer"], str) else "settings"
    return (
        f"{result['problem']:<10} {name:<9} {result['seconds']:>7.1f} s "
        f"{result['n_trainings']:>5} trainings  test RMSE {chosen['rmse_test']:<10.4g} "
        f"{chosen['n_parameters']:>3} parameters  {chosen['equation'][:120]}"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", nargs="+", default=["S0", "S3", "S6", "A1"])
    parser.add_argument(
        "--trainers", nargs="+", default=["fast", "paper"], help="names, or settings as JSON"
    )
    parser.add_argument("--time", type=float, default=600.0, help="seconds for each fit")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="file to which each result is appended as JSON")
    options = parser.parse_args(arguments)
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, seed {options.seed}, {options.jobs} jobs")
    for name in options.problems:
        problem = load_problem(name, seed=options.seed)
        for trainer in options.trainers:
            settings = json.loads(trainer) if trainer.startswith("{") else trainer
            result = run(problem, settings, options.time, options.jobs, options.seed)
            print(line(result), flush=True)
            if options.out:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(result, default=float) + "\n")


if __name__ == "__main__":
    main()
