"""What an equation leaves, searched for on its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ieql.equations.expression import Expression
from ieql.training.fast.completing import Rest, completed, part_of, rest_of
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


def test_the_part_of_a_whole_has_the_constants_of_the_whole():
    """Terms are known by how they are built; of two that are built alike one is taken for each."""
    whole = parsed("3*x*exp(-1.1*y) + 2*cos(x) + 5*y**2 + 7*cos(4*x) + 1")
    start = parsed("4*x*exp(-1*y) + cos(2*x) + y**3")
    assert part_of(whole, start).text() == "3*x*exp(-1.1*y) + 2*cos(x) + 1"
    assert part_of(start, start) == start


def test_of_a_start_with_poor_constants_the_rest_is_told_anew():
    """Its terms were fitted while one was missing: what they left was no simple term."""
    task = make_task("2*sin(2*x) + cos(3*x/(y + 2)) + x*y", low=0.0, high=3.0, noise=0.002)
    start = task.candidate(parsed("1.7*sin(1.9*x + 0.3) + x*y"))
    first = FastTrainer()
    rest = Rest.of(task, first, start)
    better = task.candidate(parsed("2*sin(2*x) + 1.01*cos(2.99*x/(y + 2)) + x*y"))
    again = rest.anew(task, first, [better])
    assert again.start.expression.text() == "2*sin(2*x) + x*y"
    left = again.state.tasks[0].train
    assert left.y == pytest.approx(parsed("cos(3*x/(y + 2))").evaluate(left.XT.T)[:, 0], abs=0.02)
    hardly_better = replace(better, rmse_train=0.9 * start.rmse_train)
    assert rest.anew(task, first, [hardly_better]) is None


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
