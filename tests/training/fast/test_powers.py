"""A factor, or a power of one, is found from the logarithm of what may be one."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.equations.expression import Expression
from ieql.prior import Prior
from ieql.training.fast.bank import make_bank
from ieql.training.fast.eliminate import fitted
from ieql.training.fast.powers import powers
from ieql.training.fast.screen import Screen
from tasks import make_task


def proposals(task, start: str, seeds=range(4), n: int = 3) -> list[Expression]:
    """What is proposed for a start; offsets are drawn, so from a few seeds."""
    return [e for seed in seeds for e in _proposals(task, start, seed, n)]


def _proposals(task, start: str, seed: int, n: int) -> list[Expression]:
    rng = np.random.default_rng(seed)
    state = fitted(Expression.parse(start, task.names), task.train, 20)
    assert state is not None
    chances = np.full(len(task.names), 1.0 / len(task.names))
    with np.errstate(all="ignore"):
        domain = task.domain[:, :0]
        bank = make_bank(task.prior, task.train.XT, domain, state.expression, (), rng)
        screen = Screen(state, task.train, bank, task.prior)
        return [make() for make in powers(screen, task.train.XT, task.prior, rng, n, chances)]


def best_error(task, found: list[Expression]) -> float:
    with np.errstate(all="ignore"):
        states = [fitted(e, task.train, 50) for e in found]
    return min(s.error for s in states if s is not None) ** 0.5


@pytest.mark.parametrize("truth", ["x**2*y", "x/y", "y*sqrt(x)", "x/y**2", "(x + 0.3)*y"])
def test_from_one_factor_to_two(truth):
    """The other factor is there already; neither is an addition of anything simple."""
    task = make_task(truth, low=0.5, high=2.0)
    start = "y" if truth.endswith("y") or truth.startswith("y") else "x"
    if "/y" in truth:
        start = "x"
    assert best_error(task, proposals(task, start)) < 1e-6


def test_one_term_of_a_sum_gets_a_factor():
    task = make_task("x*y + 3*x**2 + 2", low=0.5, high=2.0)
    assert best_error(task, proposals(task, "x + 2.5*x**2 + 2")) < 1e-6


def test_only_units_of_the_prior_are_used():
    prior = Prior.of({"units": ["mul", "square"]})
    task = make_task("x*y", prior=prior, low=0.5, high=2.0)
    for expression in proposals(task, "x + 1"):
        assert set(expression.unit_counts()) <= {"mul", "square"}
    none = Prior.of({"units": ["cos", "exp"]})
    assert proposals(make_task("x*y", prior=none, low=0.5, high=2.0), "x + 1") == []
