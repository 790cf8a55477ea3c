"""Verdicts on the paper's claims are computed from results, and what has none is not tested."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments import claims
from experiments.budget import BUDGETS
from experiments.claims import NO, PARTLY, UNTESTED, YES
from experiments.compare import compare
from experiments.methods import METHODS
from experiments.store import Store

FULL = BUDGETS["full"]


def swept(folder, errors):
    """A store with one complete sweep of two networks for each problem and run."""
    store = Store(folder, "paper_sweeps")
    about = {
        "mean_errors": {"mean": 0.0, "validation": 1.0, "extrapolation": 2.0},
        "settings": {"n_strengths": 2},
    }
    for problem, runs in errors.items():
        for seed, error in enumerate(runs):
            key = f"full/{problem}/{seed}"
            store.part(f"{key}/about", FULL, lambda: about)
            for place, e in enumerate((error, 1.0)):
                row = {
                    "equation": "x1", "complexity": 2.0 - place, "n_parameters": 2 - place,
                    "rmse_train": e, "rmse_validation": e, "rmse_extrapolation": e,
                    "rmse_test": e, "inputs": [], "units": {"cos": 1},
                }  # fmt: skip
                network = {"strength": 0.1, "raw": {**row, "rmse_validation": 2 * e}}
                store.part(
                    f"{key}/{place:02d}",
                    FULL,
                    lambda network=network, row=row: {**network, "finished": row},
                )
    return claims.Results(folder)


def finding(results, judge, by):
    return next(f for f in judge(results) if f.by == by)


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [([0.01, 0.0105], YES), ([0.01, 0.02], NO), ([0.3, 0.4], NO)],
)
def test_captured_in_all_runs_means_in_all_runs(tmp_path, errors, verdict):
    results = swept(tmp_path, dict.fromkeys(claims.S, errors))
    assert finding(results, claims._captured, "the paper's method, finished").verdict == verdict


def test_a_part_of_the_problems_is_a_part_of_the_claim(tmp_path):
    results = swept(tmp_path, {"S0": [0.01], "S1": [0.01]})
    found = finding(results, claims._captured, "the paper's method, finished")
    assert found.verdict == PARTLY
    assert "on 2 of 2" in found.figure
    assert (found.runs, found.budget) == ("1", "full")


def test_a_perfect_fit_is_one_inside_whatever_it_does_outside(tmp_path):
    results = swept(tmp_path, {"S0": [0.004, 0.005], "A1": [0.01, 0.01]})
    found = finding(results, claims._fitted, "the paper's method, as trained")
    assert found.verdict == PARTLY
    assert "on 1 of 2; missed: A1" in found.figure  # as trained, errors are twice as large here


def test_one_structure_of_the_two_currents_is_the_papers(tmp_path):
    results = swept(tmp_path, {"power_loss": [10.0, 20.0]})
    for key, part in results.sweeps.parts.items():
        for kind in {"raw", "finished"} & part.keys():
            row = part[kind]
            row |= {"equation": "0.008*I_D**2 + 0.008*I_Q**2", "inputs": ["I_D", "I_Q"]}
            if key.startswith("full/power_loss/1/") and kind == "finished":
                row |= {"equation": "0.008*I_D**2 + 0.1*n_mtr", "inputs": ["I_D", "n_mtr"]}
    trained = finding(results, claims._machine_structure, "the paper's method, as trained")
    assert (trained.verdict, trained.figure) == (YES, "1 structure of I_D, I_Q")
    found = finding(results, claims._machine_structure, "the paper's method, finished")
    assert (found.verdict, found.runs) == (NO, "2")
    assert found.figure == "2 structures of I_D, I_Q, n_mtr"


def test_retraining_that_halves_the_error_was_necessary(tmp_path):
    (found,) = claims._no_retraining(swept(tmp_path, {"S0": [0.01]}))
    assert found.verdict == NO
    assert "2 times" in found.figure


def test_without_results_every_claim_is_untested(tmp_path):
    text = claims.section(tmp_path)
    rows = [line for line in text.splitlines() if line.startswith('| "')]
    assert len(rows) == len(claims.CLAIMS)
    assert all(f"| {UNTESTED} |" in row for row in rows)


def test_a_method_is_left_out_by_a_budget_that_is_too_small_to_judge_it(tmp_path):
    """EQL÷ stood in every table with a thousandth of its published steps."""
    said = []
    compare(Store(tmp_path, "x", said.append), BUDGETS["quick"], ["S0"], ["eqldiv"])
    assert said == ["x: skipped EQL÷ (the budget is too small to judge it by)"]
    assert all(METHODS["eqldiv"].missing(BUDGETS[b]) is None for b in ("full", "published"))
