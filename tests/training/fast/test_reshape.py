"""Units exchange their type, get a unit around them, or room for one more constant."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.equations.expression import Expression
from ieql.training.fast.bank import make_bank
from ieql.training.fast.eliminate import fitted
from ieql.training.fast.reshape import loosened, retyped, wrapped
from ieql.training.fast.screen import Screen
from tasks import make_task


def best(task, start: str, move, seeds=range(3)) -> float:
    """Least error after a move from a start and a refit, over a few seeds."""
    errors = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        with np.errstate(all="ignore"):
            state = fitted(Expression.parse(start, task.names), task.train, 20)
            assert state is not None
            domain = task.domain[:, :0]
            bank = make_bank(task.prior, task.train.XT, domain, state.expression, (), rng)
            screen = Screen(state, task.train, bank, task.prior)
            states = [fitted(p(), task.train, 60) for p in move(screen, task.prior, rng, 3)]
        errors += [s.error for s in states if s is not None]
    return min(errors) ** 0.5


@pytest.mark.parametrize(
    ("truth", "start"),
    [
        ("y + 2*x**2", "y + cos(2*x) + 1"),
        ("y + exp(x)", "y + (x + 2)**2"),
        ("y + 1/x", "y + log(x)"),
    ],
)
def test_a_unit_becomes_another_that_does_nearly_the_same(truth, start):
    assert best(make_task(truth, low=0.5, high=2.0), start, retyped) < 1e-6


@pytest.mark.parametrize("truth", ["sqrt(x + 2*y)", "exp(x + 2*y)", "1/(x + 2*y)"])
def test_a_unit_comes_around_a_whole_sum(truth):
    assert best(make_task(truth, low=0.5, high=2.0), "x + 2*y + 0.1", wrapped) < 1e-6


@pytest.mark.parametrize(
    ("truth", "start"),
    [("y + 1/(exp(2*x) - 1)", "y + exp(-2*x)"), ("y + (x - 1)*(x + 3)", "y + (x + 1)**2")],
)
def test_an_equal_form_has_room_for_one_constant_more(truth, start):
    """Bose and Einstein from Boltzmann; a product of two sums from a square."""
    assert best(make_task(truth, low=0.5, high=2.0), start, loosened) < 1e-6
