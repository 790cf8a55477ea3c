"""The C of every equation on some fronts against `predict`, at random points and corners.

python benchmarks/exports.py --problems S0 S3 A2 A4 engine --time 10

With --speed, size and speed of the generated code instead, in its variants, beside the compiled
`Expression.evaluate` that `predict` uses:

python benchmarks/exports.py --speed
"""

from __future__ import annotations

import argparse
import ctypes
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ieql import IEQLRegressor, load_problem
from ieql.data.dataset import Domain
from ieql.equations.expression import Expression
from ieql.export.c import c_code
from ieql.export.fixed_c import fixed_c_code
from ieql.export.functions import Equation
from ieql.export.table import table_code

__all__ = ["main"]

FLAGS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fPIC", "-shared"]
LIMITS = {"double": 1e-12, "float": 1e-4}
MEASURED = {
    "polynomial": "0.02*n**2 + 5*load*n - 3*load**2 + 2.5",
    "quotient": "5*n*load/(1 + 0.3*n + 2*load)",
    "exponential": "2.5*exp(-0.3*n)*load + 1",
    "power": "1.2*n**1.7 - 0.3*load",
    "wave": "cos(3*n + 1)*load",
    "root": "sqrt(n*load + 1)",
}
BOX = {"n": (0.5, 6.0), "load": (0.1, 1.0)}
PLACES = np.array([2.0**27, 2.0**30])
"""What the inputs are multiplied with for fixed point, as its header says."""
ROWS, REPEATS = 200_000, 15


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


# --- size and speed ----------------------------------------------------------------------------


def variants(equation: Equation) -> dict[str, tuple[str, str, str]]:
    """What is measured of an equation: code, name of the function, and type of its numbers."""
    own, one = f"ieql_{equation.target}", [equation]
    fixed = f"ieql_fixed_{equation.target}"
    return {
        "double": (c_code(one, domain=BOX), own, "double"),
        "double, clamp": (c_code(one, domain=BOX, guard="clamp"), own, "double"),
        "double, check": (c_code(one, domain=BOX, guard="check"), own, "double"),
        "float": (c_code(one, domain=BOX, real="float"), own, "float"),
        "fixed point": (fixed_c_code(one, domain=BOX), fixed, "int32_t"),
        "table": (table_code(one, domain=BOX, real="float"), own, "float"),
    }


def size_and_time(code: str, name: str, kind: str, inputs: np.ndarray) -> tuple[int, float]:
    """Bytes of code and constants at -O2, and nanoseconds per call in a loop."""
    dtype = {"double": np.float64, "float": np.float32, "int32_t": np.int32}[kind]
    X = np.ascontiguousarray(inputs, dtype=dtype)
    y = np.empty(len(X), dtype=dtype)
    n = X.shape[1]
    arguments = ", ".join(f"x[{n} * i + {j}]" for j in range(n))
    head = f"{kind} {name}({', '.join([kind] * n)});\n"
    loop = f"void loop(const {kind} *x, {kind} *y, int n)"
    body = f"{{ for (int i = 0; i < n; i++) {{ y[i] = {name}({arguments}); }} }}\n"
    with tempfile.TemporaryDirectory(prefix="exports-") as folder:
        source, caller = Path(folder, "e.c"), Path(folder, "loop.c")
        built, library = Path(folder, "e.o"), Path(folder, "e.so")
        source.write_text(code)
        caller.write_text(f"#include <stdint.h>\n{head}{loop}\n{body}")
        flags = ["gcc", "-std=c99", "-O2", "-fPIC"]
        subprocess.run([*flags, "-c", str(source), "-o", str(built)], check=True)
        text = subprocess.run(["size", str(built)], check=True, capture_output=True, text=True)
        n_bytes = sum(map(int, text.stdout.splitlines()[1].split()[:3]))
        both = [*flags, "-shared", str(caller), str(built), "-o", str(library), "-lm"]
        subprocess.run(both, check=True)
        function = ctypes.CDLL(str(library)).loop
        address = [a.ctypes.data_as(ctypes.c_void_p) for a in (X, y)]
        return n_bytes, best_time(lambda: function(*address, len(X)))


def best_time(call) -> float:  # type: ignore[no-untyped-def]
    """The least nanoseconds per row of some repetitions."""
    times = []
    for _ in range(REPEATS):
        start = time.thread_time()  # not the clock: the machine may be busy
        call()
        times.append(time.thread_time() - start)
    return 1e9 * min(times) / ROWS


def measure_speed() -> None:
    """Print size and speed of all variants, and the speed of `Expression.evaluate`."""
    print(f"{platform.machine()}, {_processor()}, gcc -O2, best of {REPEATS} loops of {ROWS} rows")
    names = list(variants(Equation("f", Expression.parse("n + load", list(BOX)))))
    cells = " | ".join(f"{name}" for name in names)
    print(f"| equation | {cells} | `predict` |")
    print("|---" * (len(names) + 2) + "|")
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(*BOX[name], ROWS) for name in BOX])
    for name, text in MEASURED.items():
        equation = Equation(name, Expression.parse(text, list(BOX)))
        equation.expression.evaluate(X)  # compiled before it is measured
        found = []
        used = [i for i, n in enumerate(BOX) if n in equation.expression.inputs_used]
        for variant, (code, function, kind) in variants(equation).items():
            scale = PLACES if variant == "fixed point" else np.ones(len(BOX))
            n_bytes, nanoseconds = size_and_time(code, function, kind, (X * scale)[:, used])
            found.append(f"{n_bytes} B, {nanoseconds:.1f} ns")
        evaluated = best_time(lambda e=equation: e.expression.evaluate(X))
        print(f"| {name} | {' | '.join(found)} | {evaluated:.1f} ns |", flush=True)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((x.partition(": ")[2] for x in lines if x.startswith("model name")), "")


# --- values ------------------------------------------------------------------------------------


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
    parser.add_argument("--speed", action="store_true", help="size and speed instead")
    options = parser.parse_args(arguments)
    if options.speed:
        measure_speed()
        return
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
