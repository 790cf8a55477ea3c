"""Whether any equation of many searches with physical units breaks them: pint judges.

Every equation on every front is computed by pint with quantities, each constant with the unit that
is printed for it (`feynman_units.violation`). Fronts are short searches of

- the 97 equations of the suite `feynman`, in turn with exact values, 1 % and 10 % noise,
- as many tables drawn at random: up to five inputs in units of mechanics, electricity and heat, and
  a target that is a product of powers of some of them, times a function of what has no unit,

in turn with constants that are plain numbers, may have any unit, or may have the units of a list.

    python benchmarks/pint_fronts.py --fronts 1000 --out pint_fronts.json
    python benchmarks/pint_fronts.py --fronts 500 --first 10000 --out pint_fronts_2.json

Results are written after each search; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import feynman
from feynman_units import TARGET, units_of, violation
from fits import warm_up
from ieql import IEQLRegressor
from ieql.equations.constant_units import MOST_SUMS, constant_units
from ieql.errors import IeqlError
from ieql.prior import Prior
from ieql.quantities import quantity, unit_text
from suites import suite
from tables import earlier_runs, exit_code, write_results

__all__ = ["drawn_table", "judged", "main"]

NOISES = (0.0, 0.01, 0.1)
RULES: tuple[str | list[str], ...] = ("plain", "free", ["m/s**2", "J/K", "Hz"])
"""What constants may be, in turn."""
UNITS = ("m", "mm", "s", "kg", "m/s", "1/min", "N", "N*m", "Pa", "J", "W", "K", "A", "V", "Hz", "1")
"""Of the inputs of random tables."""
POWERS = (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0)
N_ROWS = 60

Table = tuple[pd.DataFrame, pd.Series, dict[str, str]]


def drawn_table(number: int) -> Table:
    """A random table and the units of its columns."""
    rng = np.random.default_rng([number, 53])
    n = int(rng.integers(1, 6))
    names = [f"x{i + 1}" for i in range(n)]
    units = {name: str(rng.choice(UNITS)) for name in names}
    X = pd.DataFrame({name: rng.uniform(0.5, 4.0, N_ROWS) for name in names})
    y, powers = np.ones(N_ROWS), dict[str, Fraction]()
    for name in rng.choice(names, int(rng.integers(1, n + 1)), replace=False):
        p = float(rng.choice(POWERS))
        y = y * X[name].to_numpy() ** p
        for base, exponent in quantity(units[name]).powers:
            powers[base] = powers.get(base, Fraction(0)) + exponent * Fraction(p)
    for name in names:
        if units[name] == "1":
            y = y * (1.5 + np.sin(2.0 * X[name].to_numpy()))
    units[TARGET] = unit_text(powers) or "1"
    noise = NOISES[number % 3] * float(np.std(y))
    return X, pd.Series(y + noise * rng.normal(size=N_ROWS), name=TARGET), units


def _of_feynman(number: int) -> Table:
    equations = [e for e in feynman.EQUATIONS if e.present]
    equation = equations[number % len(equations)]
    noise = NOISES[number % 3]
    problem = next(
        p for p in suite("feynman", noise=noise, present=True) if p.name == equation.name
    )
    data = problem.draw(number)
    X = data.X.iloc[:N_ROWS]
    return X, data.y.iloc[:N_ROWS].rename(TARGET), units_of(equation.name, tuple(X), TARGET)


def is_number(unit: str) -> bool:
    """Whether a unit is none but a conversion, such as min/s."""
    return not unit or not quantity(unit).dimension


def judged(model: IEQLRegressor, prior: Mapping[str, Any]) -> dict[str, Any]:
    """How many equations are on the front, and what pint has against them."""
    units, found = prior["quantities"], {"equations": 0, "violations": [], "too_long": 0}
    for candidate in model.fronts_[0]:
        e = candidate.expression
        if len(e.sums) > MOST_SUMS and prior["constants"] != "plain":
            found["too_long"] += 1  # the units of its constants are not printed
            continue
        printed = constant_units(e, Prior.of(prior), TARGET)
        if prior["constants"] == "plain" and not all(map(is_number, printed)):
            found["violations"].append(f"{e.text()}: a constant has a unit")
        found["equations"] += 1
        is_strict = prior["constants"] == "plain" and not any(printed)
        against = violation(e, units, TARGET, None if is_strict else printed)
        if against:
            found["violations"].append(f"{e.text()}: {against}")
    return found


def _front(number: int, trainings: int) -> dict[str, Any]:
    X, y, units = (drawn_table if number % 2 else _of_feynman)(number // 2)
    prior = {"quantities": units, "constants": RULES[number // 6 % len(RULES)]}
    run: dict[str, Any] = {"number": number, "constants": prior["constants"], "units": units}
    model = IEQLRegressor(
        prior=prior, max_trainings=trainings, max_time=5.0, n_jobs=1, random_state=number
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except IeqlError as error:  # nothing of use is dimensionally possible
            return run | {"refused": str(error)}
        return run | judged(model, prior)


def _summary(runs: Sequence[Mapping[str, Any]]) -> str:
    fronts = [r for r in runs if "equations" in r]
    lines = []
    for kind in (0, 1):
        for rule in RULES:
            own = [r for r in fronts if r["number"] % 2 == kind and r["constants"] == rule]
            lines.append(_line(f"{('feynman', 'random')[kind]}, constants {rule}", own))
    lines.append(_line("all", fronts))
    refused = len(runs) - len(fronts)
    lines.append(f"{refused} more tables are refused, as nothing of use has the target's unit")
    return "\n".join(lines)


def _line(name: str, runs: Sequence[Mapping[str, Any]]) -> str:
    n, against = sum(r["equations"] for r in runs), sum(len(r["violations"]) for r in runs)
    long = sum(r["too_long"] for r in runs)
    return (
        f"{name}: {len(runs)} fronts, {n} equations, {against} violations"
        f"{f', {long} too long for units of constants' if long else ''}"
    )


def _run(arguments: argparse.Namespace) -> None:
    warm_up(1)
    about = {"trainings": arguments.trainings, "first": arguments.first}
    runs = earlier_runs(arguments.out, about)
    known = {r["number"] for r in runs}
    for number in count(arguments.first):
        if sum("equations" in r for r in runs) >= arguments.fronts:
            break
        if number in known:
            continue
        runs.append(_front(number, arguments.trainings))
        for text in runs[-1].get("violations", ()):
            print(f"front {number}: {text}", flush=True)
        if arguments.out is not None and (number % 20 == 0 or runs[-1].get("violations")):
            write_results(arguments.out, {"about": about, "runs": runs})
    if arguments.out is not None:
        write_results(arguments.out, {"about": about, "runs": runs})
    print(_summary(runs))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 done, 2 wrong use, 130 interrupted with results kept."""
    parser = argparse.ArgumentParser(description="What pint has against fronts of searches.")
    parser.add_argument("--fronts", type=int, default=1000)
    parser.add_argument("--trainings", type=int, default=1, help="of each search")
    parser.add_argument("--first", type=int, default=0, help="number of the first table")
    parser.add_argument("--out", type=Path, help="result file")
    arguments = parser.parse_args(argv)
    return exit_code(lambda: _run(arguments), "fronts")


if __name__ == "__main__":
    sys.exit(main())
