"""Whether the parts of a known form are found: twenty forms of physics, engines and batteries.

Each problem is a form, what its parts truly are, and the ranges of its inputs; 120 rows with noise
of one per cent of the spread of y. A problem counts as solved if the selected equation has the
structure of the truth (`structure.py`). Each is also exported to C (compiled if there is a
compiler), Python, SymPy and LaTeX, and the values are compared with those of `predict`. Every
result is written at once; what the file holds already is not run again.

    python benchmarks/forms.py --time 20 --out forms.json
    python benchmarks/forms.py --only resistor --only drag --without-form
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import time
import warnings
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ieql import IEQLRegressor
from ieql.equations.expression import Expression
from structure import same_structure

__all__ = ["PROBLEMS", "FormProblem", "main", "rows_of"]

N_ROWS, NOISE = 120, 0.01


class FormProblem(NamedTuple):
    """A form, the truth as one equation, and the ranges of its inputs."""

    name: str
    form: str
    truth: str
    ranges: dict[str, tuple[float, float]]


PROBLEMS = (
    FormProblem(
        "motor_power",
        "U*I*f(T) - g(n)",
        "U*I*exp(-0.002*T) - 2.5e-6*n**2",
        {"U": (10, 14), "I": (1, 30), "T": (20, 90), "n": (500, 3000)},
    ),
    FormProblem(
        "resistor",
        "U**2/f(T)",
        "U**2/(4 + 0.016*T)",
        {"U": (1, 20), "T": (-20, 150)},
    ),
    FormProblem(
        "drag",
        "0.5*1.2*v**2*A*f(a)",
        "0.6*v**2*A*(0.3 + 2.5*a**2)",
        {"v": (5, 40), "A": (1, 3), "a": (-0.5, 0.5)},
    ),
    FormProblem(
        "battery_voltage",
        "f(s) - I*g(T)",
        "3.2 + 0.9*s**2 - 0.06*I*exp(-0.03*T)",
        {"s": (0.1, 1), "I": (0, 20), "T": (-10, 45)},
    ),
    FormProblem(
        "battery_ageing",
        "f(T)*sqrt(t) + g(c)*t",
        "0.002*exp(0.05*T)*sqrt(t) + 0.003*c**2*t",
        {"T": (10, 50), "t": (1, 100), "c": (0.5, 3)},
    ),
    FormProblem(
        "arrhenius",
        "log(k) = f(T)",
        "exp(3 - 9/T)",
        {"T": (1.5, 6)},
    ),
    FormProblem(
        "two_rates",
        "log(k) = f(T) + g(p)",
        "exp(1 - 4/T)*p**0.7",
        {"T": (1.5, 6), "p": (0.5, 5)},
    ),
    FormProblem(
        "lens",
        "1/y = f(a) - g(b)",
        "1/(2/a - 0.1*b)",
        {"a": (0.5, 2), "b": (0.1, 3)},
    ),
    FormProblem(
        "pump_head",
        "f(n) - Q**2*g(z)",
        "2e-5*n**2 - 0.4*Q**2*exp(0.3*z)",
        {"n": (800, 3000), "Q": (0, 8), "z": (0, 4)},
    ),
    FormProblem(
        "friction_brake",
        "F*f(v)*r",
        "F*(0.2 + 0.3*exp(-0.5*v))*r",
        {"F": (10, 100), "v": (0, 8), "r": (0.1, 0.4)},
    ),
    FormProblem(
        "pendulum",
        "a*sqrt(L)*f(x)",
        "2.006*sqrt(L)*(1 + x**2/16)",
        {"L": (0.2, 3), "x": (0, 1.5)},
    ),
    FormProblem(
        "torque",
        "f(n)*g(m) - c",
        "(4 - 0.4*(n - 3)**2)*sqrt(m) - 0.7",
        {"n": (0.8, 6), "m": (0.2, 2)},
    ),
    FormProblem(
        "cooling",
        "A + (B - A)*exp(-t*f(v))",
        "A + (B - A)*exp(-t*(0.05 + 0.02*v))",
        {"A": (10, 30), "B": (60, 100), "t": (0.5, 20), "v": (0, 6)},
    ),
    FormProblem(
        "spring_with_stop",
        "2*x + f(x)",
        "2*x + 0.7*x**3",
        {"x": (-2, 2)},
    ),
    FormProblem(
        "solar_cell",
        "G*f(T) - g(U)",
        "G*(3 + 0.004*T) - 0.001*exp(1.5*U)",
        {"G": (0.1, 1), "T": (0, 70), "U": (0, 5)},
    ),
    FormProblem(
        "antenna",
        "P*f(d)*cos(x)**2",
        "3*P*cos(x)**2/d**2",
        {"P": (0.5, 5), "d": (1, 6), "x": (-1, 1)},
    ),
    FormProblem(
        "valve_flow",
        "f(h)*sqrt(p)",
        "(0.6*h - 0.05*h**2)*sqrt(p)",
        {"h": (0.5, 6), "p": (0.2, 9)},
    ),
    FormProblem(
        "reaction",
        "f(T)*a*b/(1 + g(T)*a)",
        "exp(0.3*T)*a*b/(1 + 0.5*T*a)",
        {"T": (0.5, 4), "a": (0.2, 3), "b": (0.2, 3)},
    ),
    FormProblem(
        "field_of_two",
        "q*f(r) + p*g(r, z)",
        "2*q/r**2 + p*z/r",
        {"q": (0.5, 2), "p": (0.5, 2), "r": (0.8, 3), "z": (0.2, 2)},
    ),
    FormProblem(
        "heat_loss",
        "f(v)*(A - B) + c*(A**4 - B**4)",
        "(5 + 3*sqrt(v))*(A - B) + 0.8*(A**4 - B**4)",
        {"v": (0, 9), "A": (2, 4), "B": (1, 2)},
    ),
)


def rows_of(problem: FormProblem, seed: int) -> tuple[pd.DataFrame, pd.Series, float]:
    """Inputs, noisy target, and the size of the noise."""
    rng = np.random.default_rng([seed, 18])
    X = pd.DataFrame({k: rng.uniform(*v, N_ROWS) for k, v in problem.ranges.items()})
    truth = Expression.parse(problem.truth, tuple(problem.ranges))
    exact = truth.evaluate(X.to_numpy())[:, 0]
    noise = NOISE * float(exact.std())
    name = problem.form.partition("=")[0].strip(" 1/log()") if "=" in problem.form else "y"
    return X, pd.Series(exact + noise * rng.normal(size=N_ROWS), name=name), noise


def solved(problem: FormProblem, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Fit one problem, and compare what was found with the truth and with its exports."""
    X, y, noise = rows_of(problem, seed)
    model = IEQLRegressor(
        form=None if options.without_form else problem.form,
        max_time=options.time,
        n_jobs=options.jobs,
        random_state=seed,
    )
    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # doubts about an equation; here the truth is known
        model.fit(X, y)
    seconds = time.monotonic() - start
    truth = Expression.parse(problem.truth, tuple(problem.ranges))
    found = model.fitted_.candidate()
    return {
        "solved": same_structure(found.expression, truth, X.to_numpy(), noise=noise),
        "equation": found.expression.text(),
        "parts": dict(model.parts().to_numpy().tolist()),
        "rmse_over_noise": found.rmse_train / noise,
        "proved": found.proved,
        "exports": exports_agree(model, X),
        "seconds": round(seconds, 1),
    }


def exports_agree(model: IEQLRegressor, X: pd.DataFrame) -> dict[str, bool]:
    """Whether texts in other languages give what `predict` gives."""
    import sympy

    expected = model.predict(X)
    names = list(X.columns)
    space: dict[str, Any] = {}
    exec(model.export("python"), space)  # our own export, written a moment ago
    (function,) = (v for v in space.values() if isinstance(v, FunctionType))
    by_python = function(*(X[k].to_numpy() for k in names))
    symbolic = model.sympy()
    arguments = [sympy.Symbol(k, real=True) for k in names]
    known = {s.name: s for s in symbolic.free_symbols}
    by_sympy = sympy.lambdify([known.get(s.name, s) for s in arguments], symbolic)(
        *(X[k].to_numpy() for k in names)
    )
    return {
        "python": bool(np.allclose(by_python, expected, rtol=1e-9)),
        "sympy": bool(np.allclose(by_sympy, expected, rtol=1e-9)),
        "latex": len(model.latex()) > 0,
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--time", type=float, default=20.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--without-form", action="store_true", help="the same rows, nothing known")
    parser.add_argument("--out", type=Path, default=Path("forms.json"))
    options = parser.parse_args(arguments)
    results = json.loads(options.out.read_text()) if options.out.exists() else {}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    machine = f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
    print(f"{machine}; commit {commit}; {options.time:g} s")
    count = total = 0
    for seed in options.seeds:
        for problem in PROBLEMS:
            if options.only and problem.name not in options.only:
                continue
            key = f"{problem.name}/{seed}/{options.time:g} s"
            key += "/without form" if options.without_form else ""
            if key not in results:
                results[key] = {**solved(problem, seed, options), "commit": commit}
                options.out.write_text(json.dumps(results, indent=1))
            found = results[key]
            count, total = count + found["solved"], total + 1
            mark = "+" if found["solved"] else "-"
            print(
                f"{mark} {key:32} {found['seconds']:5.1f} s  {found['rmse_over_noise']:.2f} of the "
                f"noise  {found['equation'][:100]}"
            )
    print(f"solved: {count} of {total}")


if __name__ == "__main__":
    main()
