"""One structure, many devices: is it found, and what do a few rows of a new device bring?

Twelve laws from different fields, each with 4 to 10 devices of 10 to 40 rows, whose constants differ
in part. For each, three things are measured:

- whether the structure is found by one fit with ``groups``, and by single fits to each device, with
  the same time for all single fits together as for the one (``same_structure``, see
  `benchmarks/structure.py`: of the fit with groups it has to hold for more than half of the devices,
  of single fits the share of devices counts);
- the error of a new device that is recalibrated from 8 rows, on 500 rows without noise, over that
  of a fit from scratch to the same rows, and over that of the constants alone fitted to them.

    python benchmarks/fleet.py --time 20 --out fleet.json
    python benchmarks/fleet.py --problems 3 --time 10

Results are written after each problem; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ieql import IEQLRegressor
from ieql.equations.expression import Expression
from structure import same_structure

NOISE = 0.01
"""Of the spread of a device's values."""
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
            {"F0": (1.31, 0.30), "k": (12.7, 0.10), "q": (4.3, 0.0)}, {"x": (-1.2, 1.2)}, 6, (15, 30)),
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


def device(problem: Problem, rng: np.random.Generator, n: int) -> tuple[Expression, pd.DataFrame, np.ndarray, float]:
    """A device's law, its rows, their values and the size of their noise."""
    formula = problem.formula
    values = {
        name: mean * (1 + spread * rng.normal()) for name, (mean, spread) in problem.constants.items()
    }
    from ieql.equations.formula import Formula

    parsed = Formula.parse(formula, list(problem.inputs), {})
    truth = parsed.filled([values[name] for name in parsed.constants])
    X = pd.DataFrame({k: rng.uniform(*ends, n) for k, ends in problem.inputs.items()})
    y = truth.evaluate(X.to_numpy())[:, 0]
    dense = np.column_stack([rng.uniform(*ends, 2000) for ends in problem.inputs.values()])
    noise = NOISE * float(np.std(truth.evaluate(dense)[:, 0]))
    return truth, X, y + noise * rng.normal(size=n), noise


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} CPUs; Python {platform.python_version()}"
