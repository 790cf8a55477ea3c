"""The C of every equation on some fronts against `predict`, at random points and corners.

python benchmarks/exports.py --problems S0 S3 A2 A4 engine --time 10
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from ieql import IEQLRegressor, load_problem
from ieql.data.dataset import Domain
from ieql.equations.expression import Expression
from ieql.export.c import c_code

__all__ = ["main"]

FLAGS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fPIC", "-shared"]
LIMITS = {"double": 1e-12, "float": 1e-4}


def compiled_values(expressions: list[Expression], X: np.ndarray, real: str) -> list[np.ndarray]:
    """The values of the compiled C at each row, one array per expression."""
    kind = ctypes.c_double if real == "double" else ctypes.c_float
    with tempfile.TemporaryDirectory(prefix="exports-") as name:
        source, library = Path(name, "e.c"), Path(name, "e.so")
        source.write_text(c_code([(f"f{k}", e) for k, e in enumerate(expressions)], real=real))
        subprocess.run(["gcc", *FLAGS, str(source), "-o", str(library), "-lm"], check=True)
        loaded = ctypes.CDLL(str(library))
        values = []
        for k, e in enumerate(expressions):
            function = loaded[f"ieql_f{k}"]
            columns = [i for i, name in enumerate(e.names) if name in e.inputs_used]
            function.restype, function.argtypes = kind, [kind] * len(columns)
            values.append(np.array([function(*row) for row in X[:, columns]], dtype=float))
    return values


def rounding(e: Expression, X: np.ndarray, size: float) -> np.ndarray:
    """How far values move, relatively, when every input moves by a rounding.

    Where that is much, a comparison of digits says nothing about the code.
    """
    steps = [e.evaluate(X * (1 + s * size))[:, 0] - e.evaluate(X)[:, 0] for s in (1.0, -1.0)]
    with np.errstate(all="ignore"):
        return np.max(np.abs(steps), axis=0) / np.abs(e.evaluate(X)[:, 0])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", nargs="+", default=["S0", "S3", "A2", "A4", "engine"])
    parser.add_argument("--time", type=float, default=10.0)
    parser.add_argument("--points", type=int, default=1000)
    options = parser.parse_args(arguments)
    failed = False
    for name in options.problems:
        problem = load_problem(name)
        model = IEQLRegressor(domain=problem.domain, max_time=options.time, random_state=0)
        model.fit(problem.X, problem.y)
        expressions = [model.expression(k) for k in range(len(model.equations_))]
        domain = Domain.of(problem.domain, model.feature_names_, problem.X.to_numpy())
        rng = np.random.default_rng(0)
        X = np.concatenate([domain.corners(), domain.sample(options.points, rng)])
        for real, limit in LIMITS.items():
            # Both get the same numbers: those that a float can hold.
            points = X if real == "double" else X.astype(np.float32).astype(float)
            worst, n_compared = 0.0, 0
            for k, values in enumerate(compiled_values(expressions, points, real)):
                predicted = model.predict(_frame(points, model), index=k)
                with np.errstate(all="ignore"):
                    difference = np.abs(values - predicted) / np.abs(predicted)
                if real == "float":
                    difference = difference[rounding(expressions[k], points, 1e-7) < 1e-5]
                n_compared += len(difference)
                worst = max(worst, float(np.nanmax(difference, initial=0.0)))
            failed |= not worst <= limit
            print(
                f"{name:<8} {len(expressions):>3} equations, {real:<6}: largest relative "
                f"difference {worst:.1e} at {n_compared} points (limit {limit:g})",
                flush=True,
            )
    sys.exit(failed)


def _frame(X: np.ndarray, model: IEQLRegressor):  # type: ignore[no-untyped-def]
    import pandas as pd

    return pd.DataFrame(X, columns=model.feature_names_)


if __name__ == "__main__":
    main()
