"""Around a guess with a wrong term the right one is found."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from ieql.equations.expression import Expression
from ieql.training.archive import Archive
from ieql.training.fast.guessed import FEW_STARTS, MANY_GUESSES, grown_from, starts
from ieql.training.fast.island import FastSettings
from ieql.training.fast.search import FastTrainer
from ieql.training.trainers import Budget, mean_predictor, restored, train
from tasks import NAMES, make_task

TRUTH = "x*exp(-1*y) + 0.5*y**2"
WRONG = "1.1*x*exp(-1.2*y) + 0.9*y"


def task_with(*guesses):
    written = tuple(Expression.parse(g, NAMES) for g in guesses)
    return make_task(TRUTH, low=0.5, high=2.5, noise=0.002, guesses=written)


def starts_of(task):
    return starts(task, Archive([mean_predictor(task)], task.train.n_rows))


def test_a_guess_is_taken_without_the_term_that_is_missed_least_first():
    task = task_with("x*exp(-1*y) + 0.5*y**2 + 0.01*x")
    first, guess, *others = starts_of(task)
    assert len(guess.expression.outputs[0].sources) == 3
    assert [len(c.expression.outputs[0].sources) for c in (first, *others)] == [2, 2, 2]
    assert first.rmse_train < min(c.rmse_train for c in others)


def test_inputs_as_they_are_count_as_one_term():
    """A bracket of inputs, wrong as a whole, became a term for each: never were all left out."""
    task = task_with("x*exp(-1*y) + 0.5*y**2 + 0.1*(x - 0.3*y)")
    sources = [c.expression.outputs[0].sources for c in starts_of(task)]
    plain = [sum(source < len(NAMES) for source in own) for own in sources]
    assert sorted(plain) == [0, 2, 2, 2]


def test_one_wrong_term_is_replaced():
    task = task_with(WRONG)
    errors = []
    for number, start in enumerate(starts_of(task)):
        found = grown_from(task, 0, start, number, 0, FastSettings(), math.inf)
        errors += [c.rmse_train for c in found.candidates]
    assert min(errors) < 0.004


def test_a_guess_that_explains_nothing_is_not_looked_at():
    assert starts_of(task_with("0.01*x**2 - 7")) == []


def test_a_guess_that_is_unsafe_by_one_term_is_looked_at_without_it():
    task = task_with("x*exp(-1*y) + 0.5*y**2 + 0.001/(x - 1.5001)")
    assert task.candidate(task.guesses[0]) is None
    found = starts_of(task)
    assert found
    assert min(c.rmse_train for c in found) < 0.01


def test_less_is_done_around_each_of_many():
    terms = ["y", "log(y)", "sqrt(y)", "y**2", "x", "log(x)", "sqrt(x)", "x**2", "x*y"]
    assert len(terms) > MANY_GUESSES
    guesses = [f"x*exp(-1*y) + 0.3*{term}" for term in terms]
    assert len(starts_of(task_with(*guesses))) == FEW_STARTS


def test_one_guess_at_many_values_of_its_constants_is_one():
    guesses = [f"x*exp(-1*y) + {k}*y" for k in np.linspace(0.1, 1, MANY_GUESSES + 1)]
    assert len(starts_of(task_with(*guesses))) > FEW_STARTS


def test_a_guess_whose_wrong_term_has_a_pole_among_the_rows_is_looked_at_without_it():
    """It explained less than nothing, so that all its right terms were thrown away with it."""
    task = task_with()
    guess = Expression.parse(
        f"x*exp(-1*y) + 0.5*y**2 + 1/(x - {float(task.train.XT[0][0])})", NAMES
    )
    task = replace(task, guesses=(guess,))
    assert not np.isfinite(task.train.rmse(guess.evaluate(task.train.XT.T)[:, 0]))
    assert any(c.rmse_train < 0.7 * mean_predictor(task).rmse_train for c in starts_of(task))


@pytest.mark.parametrize("cut", [0, 1])
def test_a_search_that_was_stopped_goes_on_around_the_same_guesses(cut):
    """As if it had not been stopped: what is grown from a start depends on nothing else."""
    task = task_with(WRONG, "x*y")
    trainer, forms = FastTrainer(), []
    budget = Budget(max_trainings=1, seed=3)
    whole = train(
        trainer, [task], budget, on_round=lambda state: forms.append(deepcopy(state.to_form()))
    )
    again = restored(trainer, forms[cut], [task])
    assert again.progress[0].around <= cut
    state = train(trainer, [task], budget, resumed=again)
    texts = [[c.expression.text() for c in s.archives[0].front] for s in (whole, state)]
    assert texts[0] == texts[1]
