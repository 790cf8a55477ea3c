"""Fronts are compared at the other tool's size, by the error that is known before the test."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import accuracy
from experiments.engine_torque import split


def row(n_parameters, validation, test):
    return {"n_parameters": n_parameters, "rmse_validation": validation, "rmse_test": test}


def test_our_best_at_operons_size_is_the_one_with_the_least_validation_error():
    results = {
        "o": {"rmse": 2.0, "n_parameters": 9},
        "m": {"rmse": 0.5, "front": [row(1, 5, 5), row(8, 3, 1.0), row(9, 4, 0.1), row(40, 1, 1)]},
        "i": {"rmse": 1.5, "front": [row(9, 3, 4.0)]},
        "g": {"rmse": 3.0},
        "t": {"rmse": 1.0},
    }
    keys = {"operon": "o", "mdl": "m", "ieql": "i", "gp": "g", "trees": "t"}
    said = accuracy.compared(results, "table/0", keys)
    assert "mdl 1 (8) against Operon 2 (9): 0.500" in said
    assert "ieql 4 (9) against Operon 2 (9): 2.000" in said
    assert "V_int / better black box 1.500" in said
    assert accuracy.compared(results, "table/0", {"gp": "g"}) == ""


def test_a_part_of_the_rows_is_for_the_test():
    X = pd.DataFrame({"x": np.arange(40.0)})
    problem = split("line", "", X, pd.Series(2 * X["x"], name="y"), 0, 0.25)
    assert (len(problem.X), len(problem.X_test)) == (30, 10)
    assert accuracy.trees(problem, 0)["rmse"] < 60
