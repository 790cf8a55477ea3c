"""Whether one test set explains the paper's error of the mean predictor."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments import mean_predictor
from experiments.mean_predictor import tail_share, words


@pytest.mark.parametrize("problem", ["S0", "S4", "A4"])
def test_the_papers_error_is_a_usual_one(problem):
    assert tail_share(problem) > 0.1


def test_of_a3_no_test_set_has_it():
    assert tail_share("A3") == 0.0


def test_another_error_would_be_told_as_well(monkeypatch):
    monkeypatch.setattr(mean_predictor, "tail_share", lambda name: 0.2 - 0.2 * (name == "S1"))
    assert "on all problems but S1" in words()
    monkeypatch.setattr(mean_predictor, "tail_share", lambda name: 0.2)
    assert "on all problems (the fewest on S0)" in words()
