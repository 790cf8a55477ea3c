"""The fleets of the benchmark: laws that can be measured, and devices that differ."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from fleet import PROBLEMS, device, error, summary


def test_there_are_twelve_fleets_of_the_sizes_that_are_asked_for():
    assert len({p.name for p in PROBLEMS}) == 12
    for problem in PROBLEMS:
        assert 4 <= problem.n_devices <= 10
        assert 10 <= problem.n_rows[0] <= problem.n_rows[1] <= 40


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_devices_have_values_and_differ(problem):
    rng = np.random.default_rng(0)
    one, other = device(problem, rng, 20), device(problem, rng, 20)
    assert np.isfinite(one.y).all()
    assert 0 < one.noise < np.std(one.y)
    assert one.truth != other.truth
    assert one.truth.skeleton == other.truth.skeleton


def test_the_truth_has_no_error():
    problem = PROBLEMS[0]
    one = device(problem, np.random.default_rng(0), 20)
    assert error(lambda X: one.truth.evaluate(X.to_numpy())[:, 0], one, problem) == 0.0


def test_the_summary_counts_structures_and_compares_errors(capsys):
    row = {"groups": 1.0, "single": 0.5, "from_one": 1.0, "from_fleet": 2.0}
    rows = [row | {"scratch": 4.0, "refitted": 2.0}, row | {"scratch": 2.0, "refitted": 2.0}]
    summary(rows, {"seed": 0})
    said = capsys.readouterr().out
    assert "with groups: 2 of 2" in said
    assert "from_one over scratch: mean 0.333, median 0.375" in said
