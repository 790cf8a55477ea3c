"""What an equation leaves, searched for on its own."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.equations.expression import Expression
from ieql.training.fast.completing import completed, rest_of
from ieql.training.fast.search import FastTrainer
from ieql.training.trainers import Budget, train
from tasks import NAMES, make_task

MISSING = "cos(3*x/(y + 2))"
TRUTH = f"4*x*exp(-1*y) + {MISSING}"


def parsed(text):
    return Expression.parse(text, NAMES)


def test_the_rest_is_what_the_equation_leaves():
    task = make_task(TRUTH)
    rest = rest_of(task, parsed("4*x*exp(-1*y)"))
    for rows in (rest.train, rest.validation):
        assert rows.y == pytest.approx(parsed(MISSING).evaluate(rows.XT.T)[:, 0])
    assert rest.mean == pytest.approx(rest.train.y.mean())


def test_what_is_known_of_the_whole_holds_for_no_part():
    task = make_task(TRUTH, {"units": ["square"], "shape": {"bounds": [0, 9]}}, bounds=(0.0, 9.0))
    rest = rest_of(task, parsed("x"))
    assert rest.bounds is None
    assert not rest.prior.shape


def test_an_equation_without_a_value_leaves_nothing():
    assert rest_of(make_task(TRUTH), parsed("log(x)")) is None


def test_what_was_known_and_what_was_found_are_fitted_together():
    """Each alone is a little wrong: the known term was fitted without the other."""
    task = make_task(TRUTH, noise=0.001)
    start, part = (task.candidate(parsed(e)) for e in ("4.1*x*exp(-0.9*y)", MISSING))
    (found,) = completed(task, start, [part])
    assert found.rmse_train < 0.0015
    assert found.rmse_train < 0.01 * start.rmse_train


def test_a_guess_that_lacks_a_term_gets_it_by_a_search_for_what_it_leaves():
    guess = parsed("4.1*x*exp(-1*y)")
    task = make_task(TRUTH, low=0.0, high=3.0, noise=0.002, guesses=(guess,))
    tried = []

    def look(state):
        tried.append((state.progress[0].guessed, min(c.rmse_train for c in state.archives[0])))

    train(FastTrainer(), [task], Budget(max_trainings=1, seed=0), on_round=look)
    before = [error for is_over, error in tried if not is_over]
    assert before[0] > 0.1
    assert min(before) < 0.0025
    assert np.isfinite(before).all()
