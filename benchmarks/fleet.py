"""One structure, many devices: whether it is found, and what a few rows of a new device bring.

Twelve laws from different fields, each with 4 to 10 devices of 10 to 40 rows, whose constants
differ in part. For each is measured:

- whether the structure is found by one fit with ``groups``, and by single fits to each device, with
  the same time for all single fits together as for the one (``same_structure``, see
  `benchmarks/structure.py`: of the fit with groups it has to hold for more than half of the
  devices, of single fits the share of devices counts);
- the error of a new device that is recalibrated to 8 rows, from one device of the fleet or from the
  whole fleet, on 500 rows without noise, over that of a fit from scratch to these 8 rows, and over
  that of the same structure with its constants fitted to them alone.

    python benchmarks/fleet.py --time 20 --out fleet.json
    python benchmarks/fleet.py --problems 3 --time 10

Results are written after each problem; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ieql import IEQLRegressor
from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.formula import Formula
from ieql.equations.refit import refit
from structure import same_structure

NOISE = 0.03
"""Of the spread of a device's values, unless another one is asked for."""
NEW_ROWS = 8


@dataclass(frozen=True)
class Problem:
    """A law of a fleet: constants as ``name: mean ± relative spread``, zero for shared ones."""

    name: str
    field: str
    formula: str
    constants: dict[str, tuple[float, float]]
    inputs: dict[str, tuple[float, float]]
    n_devices: int
    n_rows: tuple[int, int]


PROBLEMS = [
    Problem("pump_curve", "hydraulics", "h0 - a*Q**2",
            {"h0": (41.3, 0.10), "a": (0.0173, 0.15)}, {"Q": (2, 38)}, 6, (10, 20)),
    Problem("capacitor", "electronics", "U*exp(-t/tau) + b",
            {"U": (4.83, 0.15), "tau": (1.37, 0.25), "b": (0.41, 0.0)}, {"t": (0, 5)}, 8, (12, 25)),
    Problem("enzyme", "biochemistry", "V*S/(K + S)",
            {"V": (2.71, 0.30), "K": (1.63, 0.0)}, {"S": (0.1, 9)}, 5, (10, 15)),
    Problem("thermistor", "sensors", "a - b*log(R)",
            {"a": (243.7, 0.01), "b": (21.9, 0.05)}, {"R": (800, 30000)}, 10, (10, 20)),
    Problem("fan_power", "ventilation", "c*n**3 + d*n",
            {"c": (3.17, 0.20), "d": (0.87, 0.20)}, {"n": (0.3, 2.4)}, 4, (15, 30)),
    Problem("spring", "mechanics", "F0 + k*x + q*x**3",
            {"F0": (1.31, 0.30), "k": (12.7, 0.10), "q": (4.3, 0.0)},
            {"x": (-1.2, 1.2)}, 6, (15, 30)),
    Problem("motor_loss", "machines", "r*I**2 + f*n + c",
            {"r": (0.83, 0.20), "f": (1.91, 0.15), "c": (3.3, 0.2)},
            {"I": (0.5, 6), "n": (0.2, 5)}, 7, (15, 30)),
    Problem("heat_exchanger", "process", "T0 + q/(m*c)",
            {"T0": (21.7, 0.05), "c": (0.418, 0.10)}, {"q": (1, 12), "m": (0.5, 4)}, 8, (12, 30)),
    Problem("battery", "energy", "E - R*I - k/s",
            {"E": (3.92, 0.02), "R": (0.137, 0.25), "k": (0.083, 0.0)},
            {"I": (0.1, 4), "s": (0.15, 1)}, 9, (15, 30)),
    Problem("pendulum", "physics", "A*sin(w*t)",
            {"A": (1.83, 0.15), "w": (2.17, 0.06)}, {"t": (0, 6)}, 6, (15, 30)),
    Problem("growth", "biology", "N/(1 + exp(-r*(t - 4.1)))",
            {"N": (7.3, 0.25), "r": (1.21, 0.0)}, {"t": (0, 9)}, 5, (15, 40)),
    Problem("hall_sensor", "sensors", "o + g*B*sqrt(T)",
            {"o": (2.51, 0.02), "g": (0.173, 0.15)}, {"B": (-3, 3), "T": (250, 400)}, 10, (10, 20)),
]  # fmt: skip


@dataclass(frozen=True)
class Device:
    """One device: its law, its rows, and the size of their noise."""

    truth: Expression
    X: pd.DataFrame
    y: np.ndarray
    noise: float


def device(problem: Problem, rng: np.random.Generator, n: int, noise: float = NOISE) -> Device:
    """A device of the fleet, with n rows."""
    values = {
        name: mean * (1.0 + spread * rng.normal())
        for name, (mean, spread) in problem.constants.items()
    }
    formula = Formula.parse(problem.formula, list(problem.inputs), {})
    truth = formula.filled([values[name] for name in formula.constants])
    X = pd.DataFrame({name: rng.uniform(*ends, n) for name, ends in problem.inputs.items()})
    dense = np.column_stack([rng.uniform(*ends, 2_000) for ends in problem.inputs.values()])
    size = noise * float(np.std(truth.evaluate(dense)[:, 0]))
    y = truth.evaluate(X.to_numpy())[:, 0] + size * rng.normal(size=n)
    return Device(truth, X, y, size)


def is_right(model: IEQLRegressor, of: Device) -> bool:
    """Whether a model has found the law of a device."""
    return same_structure(model.expression(), of.truth, of.X.to_numpy(), noise=of.noise)


def error(model: Any, of: Device, problem: Problem) -> float:
    """Root mean squared error on rows without noise, over the spread of their values.

    Where a model has no value, the mean is taken for it.
    """
    rng = np.random.default_rng(99)
    X = pd.DataFrame({name: rng.uniform(*ends, 500) for name, ends in problem.inputs.items()})
    exact = of.truth.evaluate(X.to_numpy())[:, 0]
    found = model(X)
    found = np.where(np.isfinite(found), found, exact.mean())
    return float(np.sqrt(np.mean((found - exact) ** 2)) / np.std(exact))


def measured(
    problem: Problem, number: int, seed: int, seconds: float, jobs: int, noise: float
) -> dict[str, Any]:
    """All figures of one problem."""
    rng = np.random.default_rng([seed, number])
    low, high = problem.n_rows
    devices = [
        device(problem, rng, int(rng.integers(low, high + 1)), noise)
        for _ in range(problem.n_devices)
    ]
    X = pd.concat([d.X for d in devices], ignore_index=True)
    y = np.concatenate([d.y for d in devices])
    names = [f"device {k}" for k in range(len(devices))]
    groups = np.repeat(names, [len(d.y) for d in devices])
    options = {"n_jobs": jobs, "random_state": seed}
    start = time.monotonic()
    fleet = IEQLRegressor(max_time=seconds, **options).fit(X, y, groups=groups)
    took = time.monotonic() - start
    right = [is_right(fleet.group(name), d) for name, d in zip(names, devices, strict=True)]
    share = seconds / len(devices)
    single = [is_right(IEQLRegressor(max_time=share, **options).fit(d.X, d.y), d) for d in devices]
    constants = fleet.group_constants_
    new = device(problem, rng, NEW_ROWS, noise)
    # Recalibrated from one device alone, and from the whole fleet.
    alone = fleet.group(names[0])
    scratch = IEQLRegressor(max_time=share, **options).fit(new.X, new.y)
    rows = Sample(np.ascontiguousarray(new.X.to_numpy().T), new.y, np.ones(NEW_ROWS))
    refitted = refit(alone.expression(precise=True), rows)
    return {
        "problem": problem.name,
        "equation": fleet.expression().text(precision=4),
        "shared": int(constants[constants["shared"]]["of"].nunique()),
        "seconds": round(took, 1),
        "groups": float(np.mean(right)),
        "single": float(np.mean(single)),
        "from_one": error(alone.recalibrate(new.X, new.y).predict, new, problem),
        "from_fleet": error(fleet.recalibrate(new.X, new.y).predict, new, problem),
        "scratch": error(scratch.predict, new, problem),
        "refitted": error(lambda X: refitted.evaluate(X.to_numpy())[:, 0], new, problem),
    }


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} CPUs; Python {platform.python_version()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=len(PROBLEMS), help="the first so many")
    parser.add_argument("--time", type=float, default=20.0, help="seconds of a fit with groups")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--noise", type=float, default=NOISE, help="part of the spread of values")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="JSON file, to go on from")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    settings = {name: getattr(asked, name) for name in ("time", "seed", "jobs", "noise")}
    settings |= {"machine": machine()}
    rows: list[dict[str, Any]] = []
    if asked.out is not None and asked.out.exists():
        told = json.loads(asked.out.read_text())
        rows = told["rows"] if told["settings"] == settings else []
    for number, problem in enumerate(PROBLEMS[: asked.problems]):
        if problem.name in {row["problem"] for row in rows}:
            continue
        rows.append(measured(problem, number, asked.seed, asked.time, asked.jobs, asked.noise))
        print(*(f"{k}={v:.4g}" if isinstance(v, float) else v for k, v in rows[-1].items()))
        sys.stdout.flush()
        if asked.out is not None:
            asked.out.write_text(json.dumps({"settings": settings, "rows": rows}, indent=1))
    summary(rows, settings)


def summary(rows: list[dict[str, Any]], settings: dict[str, Any]) -> None:
    """Print the figures of all problems."""
    found = sum(row["groups"] > 0.5 for row in rows)
    single = sum(row["single"] for row in rows)
    print(f"structure found with groups: {found} of {len(rows)}")
    print(f"by single fits, mean share of devices: {single:.1f} of {len(rows)}")
    for start in ("from_one", "from_fleet"):
        for other in ("scratch", "refitted"):
            own, others = (np.array([row[name] for row in rows]) for name in (start, other))
            mean, median = own.mean() / others.mean(), np.median(own / others)
            print(
                f"{NEW_ROWS} rows, error of recalibration {start} over {other}: "
                f"mean {mean:.3f}, median {median:.3f}"
            )
    print(", ".join(f"{name} {value}" for name, value in settings.items()))


if __name__ == "__main__":
    main()
