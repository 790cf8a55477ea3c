"""Growth finds the connection that is missing, and respects the prior."""

from __future__ import annotations

import numpy as np

from ieql.equations.expression import Expression
from ieql.prior import Prior
from ieql.training.archive import Archive
from ieql.training.fast.grow import GrowSettings, grow, looks_like_noise, parent
from ieql.training.trainers import mean_predictor
from tasks import make_task


def best_error(task, seed: int, moves: int = 6) -> float:
    start = mean_predictor(task)
    assert start is not None
    archive = Archive([start])
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        states = [s for s in grow(task, archive, rng, GrowSettings(moves=moves)) if s]
    return min(s.error for s in states) ** 0.5


def test_a_few_moves_find_a_sum_of_two_units():
    task = make_task("2*cos(3*x) + y**2")
    assert min(best_error(task, seed) for seed in range(3)) < 1e-3


def test_children_never_contain_what_is_prohibited():
    prior = Prior.of({"units": ["cos", "square", "mul"], "prohibit": ["mul(cos)", "square(mul)"]})
    task = make_task("2*cos(3*x)*y + y**2", prior=prior)
    start = mean_predictor(task)
    assert start is not None
    with np.errstate(all="ignore"):
        found = grow(task, Archive([start]), np.random.default_rng(0), GrowSettings())
        states = [state for state in found if state is not None]
    assert states
    for state in states:
        assert state.expression.is_allowed(prior)


def test_growth_is_fixed_by_its_seed():
    task = make_task("exp(x) - y")
    assert best_error(task, 5, moves=2) == best_error(task, 5, moves=2)


def test_residuals_of_the_truth_look_like_noise_and_those_of_a_wrong_equation_do_not():
    task = make_task("2*cos(3*x) + y**2", noise=0.05)
    rng = np.random.default_rng(0)
    truth = Expression.parse("2*cos(3*x) + y**2", task.names)
    wrong = Expression.parse("2*cos(3*x) + y", task.names)
    with np.errstate(all="ignore"):
        assert looks_like_noise(task, truth, rng)
        assert not looks_like_noise(task, wrong, rng)


def test_a_high_price_makes_simple_equations_parents():
    task = make_task("2*cos(3*x) + y**2")
    texts = ("0.3", "y**2", "2*cos(3*x) + y**2", "2*cos(3*x) + y**2 + 1e-9*exp(x*y + cos(x))")
    members = [task.candidate(Expression.parse(text, task.names)) for text in texts]
    archive = Archive([c for c in members if c is not None])

    def sizes(price):
        rng = np.random.default_rng(0)
        parents = [parent(task, archive, rng, price) for _ in range(50)]
        assert all(p in members for p in parents)
        return np.mean([task.size(p.expression) for p in parents])

    assert sizes(20.0) < sizes(0.1)
