"""Whether the numbers hold that are printed beside an equation.

``coverage``: ten structures with constants that are not round, each fitted to many draws of noise
from a perturbed start, all the way to the equation as it is shown: how often does a constant ±
1.96 standard errors hold the true one? ``errors``: fits to tables of 40, 100 and 1,000 rows of
random equations, and of pure noise: the error on fresh rows over the validation error that was
reported, for the selected equation and for the one with the least validation error.

    python benchmarks/honesty.py coverage --draws 300
    python benchmarks/honesty.py errors --problems 20 --trainings 24 --out errors.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import warnings
from pathlib import Path

import numpy as np

from ieql import IEQLRegressor
from ieql.data.dataset import Scaling
from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.program import free_constants
from ieql.equations.refit import finish
from ieql.equations.simplify import gauge
from ieql.prior import Prior
from random_equations import equations

NAMES = ("x", "y")
LOW, HIGH = 0.5, 3.5
STRUCTURES = (
    "2.137*x + 0.4718",
    "1.731*x**2 - 0.8137*y + 3.219",
    "2.417*exp(-0.6931*x) + 0.3117",
    "3.142*x/(x + 1.273)",
    "1.413*cos(2.237*x + 0.3719) + 0.5171*y",
    "0.8317*sqrt(x + 0.3719) + 0.2713*y**2",
    "1.713*log(x + 0.7131) - 0.3713*x*y",
    "2.371*exp(-0.4713*x)*y + 1.137",
    "(1.137*x + 2.371)/(y + 0.5137)",
    "0.7313*x*y**2 + 1.317*cos(1.713*y) - 0.4137*x",
)
"""Constants that no rounding would hit by chance."""


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} CPUs; Python {platform.python_version()}"


def coverage(draws: int, rows: int, noise: float) -> None:
    """Print the coverage of ± 1.96 standard errors for each structure and over all."""
    prior = Prior.of({"prohibit": []})
    points = np.random.default_rng(1).uniform(LOW, HIGH, (2, 2000))
    one, none = Scaling(np.zeros(1), np.ones(1)), Scaling(np.zeros(2), np.ones(2))
    held, held_precise, asked = [], [], []
    print(f"coverage: {draws} draws of {rows} rows, noise {noise:g} of the spread; {machine()}")
    for k, text in enumerate(STRUCTURES):
        truth = gauge(Expression.parse(text, NAMES))  # scales that cancel are in one place
        inside = inside_precise = total = same = 0
        for draw in range(draws):
            rng = np.random.default_rng([k, draw])
            XT = rng.uniform(LOW, HIGH, (2, rows))
            exact = truth.evaluate(XT.T)[:, 0]
            sample = Sample(XT, exact + noise * exact.std() * rng.normal(size=rows), np.ones(rows))
            theta = truth.constants()
            free = free_constants(truth)
            theta[free] *= 1 + 0.05 * rng.normal(size=len(free))
            found = finish(truth.with_constants(theta), none, one, sample, points, prior)
            if found is None or found.expression.skeleton != truth.skeleton:
                continue
            same += 1
            errors = np.array(found.standard_errors)[free]
            for e, is_shown in ((found.expression, True), (found.precise, False)):
                z = (e.constants() - truth.constants())[free] / errors
                n = int(np.sum(np.abs(z) <= 1.96))
                inside, inside_precise = inside + n * is_shown, inside_precise + n * (not is_shown)
            total += len(free)
        held.append(inside), held_precise.append(inside_precise), asked.append(total)
        share = f"{inside / total:.3f} (all digits {inside_precise / total:.3f})" if total else "-"
        print(f"  {share}  in {same} of {draws} draws the same structure: {text}", flush=True)
    print(
        f"  all: {sum(held) / sum(asked):.3f} as shown, {sum(held_precise) / sum(asked):.3f} with "
        f"all digits, of {sum(asked):,} constants"
    )


def errors(
    n_problems: int, sizes: list[int], trainings: int, seconds: float, out: Path | None
) -> None:
    """Print medians of fresh over reported errors; a file keeps each fit, and is gone on with."""
    done = json.loads(out.read_text()) if out is not None and out.exists() else {}
    print(
        f"errors: {n_problems} problems, at most {trainings} trainings, {seconds:g} s; {machine()}"
    )
    for noise in (0.1, None):
        for rows in sizes:
            ratios = []
            for k, equation in zip(range(n_problems), equations(5, n_relevant=None), strict=False):
                key = f"{equation.name}/{rows}/{noise}"
                if key not in done:
                    done[key] = _ratios(equation, rows, noise, k, trainings, seconds)
                    if out is not None:
                        out.write_text(json.dumps(done, indent=1))
                ratios.append(done[key])
            selected, best = np.nan_to_num([r[:2] for r in ratios], nan=np.inf).T
            kind = "pure noise" if noise is None else f"noise {noise:g} of the spread"
            print(
                f"  {rows:5d} rows, {kind}: fresh over reported, median {np.median(selected):.2f} "
                f"(quartiles {np.quantile(selected, 0.25):.2f}, {np.quantile(selected, 0.75):.2f}; "
                f"largest {selected.max():.1f}) for the selected equation, {np.median(best):.2f} "
                f"for the front's best; {sum(r[2] for r in ratios)} constants selected",
                flush=True,
            )


def _ratios(equation, rows, noise, seed, trainings, seconds):
    rng = np.random.default_rng([7, seed])
    low, high = np.array(list(equation.ranges.values()), dtype=float).T
    X = rng.uniform(low, high, (rows + 4000, len(low)))
    exact = Expression.parse(equation.formula, list(equation.ranges)).evaluate(X)[:, 0]
    y = (
        rng.normal(size=len(X))
        if noise is None
        else exact + noise * exact.std() * rng.normal(size=len(X))
    )
    model = IEQLRegressor(max_trainings=trainings, max_time=seconds, n_jobs=1, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:rows], y[:rows])
        table = model.equations_
        reported = table["rmse_validation"].to_numpy()
        chosen = int(np.flatnonzero(table["selected"])[0])
        best = int(np.argmin(reported))
        fresh = [
            float(np.sqrt(np.mean((model.predict(X[rows:], index=k) - y[rows:]) ** 2)))
            for k in (chosen, best)
        ]
    return [fresh[0] / reported[chosen], fresh[1] / reported[best], chosen == 0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("coverage", "errors"))
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--rows", type=int, default=80)
    parser.add_argument("--noise", type=float, default=0.05)
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=[40, 100, 1000])
    parser.add_argument("--trainings", type=int, default=24)
    parser.add_argument("--time", type=float, default=20.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.what == "coverage":
        coverage(options.draws, options.rows, options.noise)
    else:
        errors(options.problems, options.sizes, options.trainings, options.time, options.out)


if __name__ == "__main__":
    main()
