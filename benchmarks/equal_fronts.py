"""Whether a change that must not change results changed any: fronts, bit by bit.

Ten problems with a fixed ``random_state`` and a fixed number of trainings are fitted and their
fronts written down with every bit of every constant and error. A rebuild of the house runs it
before and after::

    python benchmarks/equal_fronts.py --out before.json     # at the old commit
    python benchmarks/equal_fronts.py --out after.json --compare before.json

The exit code is 1 if any front differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ieql import IEQLRegressor, load_problem

TRAININGS = 24


def problem_of_paper(name: str, **options: Any) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    p = load_problem(name, seed=0)
    fit = {}
    if options.get("selection") == "V_int&ex":
        fit = {"X_extrapolation": p.X_extrapolation, "y_extrapolation": p.y_extrapolation}
    return p.X, p.y, {"domain": p.domain, **options}, fit


def small_table() -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """A dozen points, with whole-number weights."""
    rng = np.random.default_rng(1)
    t = np.linspace(0.5, 20, 14)
    y = 5.3 * (1 - np.exp(-0.21 * t)) + rng.normal(0, 0.05, 14)
    weight = rng.integers(1, 4, 14)
    return pd.DataFrame({"t": t}), y, {}, {"sample_weight": weight}


def two_outputs() -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Two targets with singular parts, one input without meaning, some gross outliers."""
    rng = np.random.default_rng(2)
    X = rng.uniform(0.5, 4, (300, 3))
    first = X[:, 0] / (X[:, 1] + 1) + rng.normal(0, 0.01, 300)
    second = np.sqrt(X[:, 1]) * np.log(X[:, 0]) + rng.normal(0, 0.01, 300)
    first[[7, 70, 170]] += 20
    return pd.DataFrame(X, columns=["a", "b", "c"]), np.column_stack([first, second]), {}, {}


def paper_trainer() -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """The paper's own training, short."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (400, 2))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 0])
    settings = {"first_epochs": 200, "epochs": 800, "n_strengths": 6}
    options = {"trainer": settings, "layers": 2, "copies": 1, "max_trainings": 6}
    return X, y, options, {}


PROBLEMS = {
    "S0": lambda: problem_of_paper("S0"),
    "S3": lambda: problem_of_paper("S3", selection="V_int&ex"),
    "S5": lambda: problem_of_paper("S5"),
    "A1": lambda: problem_of_paper("A1", prior="paper"),
    "A3": lambda: problem_of_paper("A3"),
    "power_loss": lambda: problem_of_paper("power_loss", prior="motor"),
    "ambiguity": lambda: problem_of_paper("ambiguity"),
    "small": small_table,
    "two outputs": two_outputs,
    "paper's trainer": paper_trainer,
}


def bits(number: float) -> str:
    return float(number).hex()


def front_of(name: str, jobs: int) -> dict[str, Any]:
    X, y, options, fit = PROBLEMS[name]()
    options = {"max_trainings": TRAININGS, "max_time": 1e6, **options}
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = IEQLRegressor(random_state=0, n_jobs=jobs, **options).fit(X, y, **fit)
    seconds = time.perf_counter() - began
    rows = [
        {
            "expression": [
                [s if isinstance(s, str) else repr(s) for s in _flat(candidate.expression)],
            ],
            "complexity": bits(candidate.complexity),
            "n_parameters": candidate.n_parameters,
            "errors": [
                bits(e)
                for e in (
                    candidate.rmse_train,
                    candidate.rmse_validation,
                    candidate.rmse_extrapolation,
                )
            ],
        }
        for front in model.fronts_
        for candidate in front
    ]
    predictions = np.ascontiguousarray(model.predict(X), dtype=float)
    return {
        "n_equations": len(rows),
        "selected": [int(k) for k in model.selected_],
        "rows": rows,
        "predictions": hashlib.sha256(predictions.tobytes()).hexdigest(),
        "n_trainings": model.n_trainings_,
        "last": str(model.equations_["equation"].iloc[-1]),
        "seconds": round(seconds, 1),
    }


def _flat(expression: Any) -> list[str]:
    """The graph with the bits of its constants."""
    return [json.dumps(_exact(expression.to_dict()), sort_keys=True)]


def _exact(form: Any) -> Any:
    if isinstance(form, dict):
        return {key: _exact(value) for key, value in form.items()}
    if isinstance(form, list | tuple):
        return [_exact(value) for value in form]
    return bits(form) if isinstance(form, float) else form


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="JSON file; goes on if it is there")
    parser.add_argument("--compare", type=Path, help="an earlier file, to compare with")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=list(PROBLEMS), default=list(PROBLEMS))
    options = parser.parse_args()
    found = json.loads(options.out.read_text()) if options.out.exists() else {}
    before = json.loads(options.compare.read_text()) if options.compare else {}
    print(f"{platform.machine()}, Python {platform.python_version()}, {options.jobs} jobs, seed 0")
    different = 0
    for name in options.only:
        if name not in found:
            found[name] = front_of(name, options.jobs)
            options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        line = f"{name:16} {found[name]['n_equations']:3} equations {found[name]['seconds']:6.1f} s"
        if name in before:
            same = _without_time(before[name]) == _without_time(found[name])
            different += not same
            line += "  bit-equal" if same else "  DIFFERENT"
        print(line, flush=True)
    if before:
        print(f"{len(options.only) - different} of {len(options.only)} fronts are bit-equal")
    return int(different > 0)


def _without_time(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "seconds"}


if __name__ == "__main__":
    sys.exit(main())
