"""The problems with columns of words are what they say, and one of them is solved."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import category_effects


def test_the_same_number_and_seed_give_the_same_problem():
    one, two = category_effects.drawn(3, 1), category_effects.drawn(3, 1)
    assert np.array_equal(one.effects, two.effects)
    assert one.name == two.name == "product, offsets"
    assert category_effects.drawn(9, 1).name == "product, factors"


def test_levels_differ_and_every_second_problem_has_an_idle_column():
    for number in range(12):
        problem = category_effects.drawn(number, 0)
        X, y = problem.rows(50, np.random.default_rng(0))
        assert len(set(problem.effects)) > 1
        assert ("operator" in X) == (number % 2 == 0)
        assert np.isfinite(y).all()


def test_what_is_right_counts_as_solved():
    problem = category_effects.Problem("line", lambda a, b, e: a + e, np.array([1.0, 3.0]), False)
    solved, error, text = category_effects.solve(problem, 0, 0, 10.0)
    assert solved
    assert error < 0.5
    assert "{kind: " in text
