"""Networks get units that explain what is left, and none that the prior prohibits."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.equations.expression import Expression
from ieql.equations.extract import extract
from ieql.prior import Prior
from ieql.training.fast.network_fit import Rows, improved, residual
from ieql.training.fast.network_widen import network_of, widened
from tasks import NAMES, make_task

BOTH = np.arange(2)


def wider(expression, task, seed=0, deepest=3, inputs=BOTH, number=3):
    rows = Rows.of(task, 10_000, np.random.default_rng(0))
    state = improved(network_of(Expression.parse(expression, NAMES), task.prior), rows, 5)
    found = widened(state, rows, np.random.default_rng(seed), number, 100, deepest, inputs)
    assert found is not None
    return state, found, rows


@pytest.mark.parametrize(
    "text", ["2*x - 1", "cos(3*x + y) + 0.5*x*y", "x/(y + 2) + log(3 + x*y)", "4"]
)
def test_an_expression_as_a_network_is_the_same_function(text):
    expression = Expression.parse(text, NAMES)
    state = network_of(expression, Prior.of("plain"))
    X = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    value = state.network.outputs(state.W, np.ascontiguousarray(X.T))[0]
    np.testing.assert_allclose(value, expression.evaluate(X)[:, 0])
    again = extract(state.network, state.W, state.live)
    np.testing.assert_allclose(again.evaluate(X)[:, 0], value)


def test_new_units_lower_the_error_after_some_steps():
    state, found, rows = wider("x", make_task("x + cos(3*y)"))
    assert found.n_constants > state.n_constants
    assert improved(found, rows, 10).error < 0.2 * state.error


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "prior",
    [
        "plain",
        "motor",
        {"units": ["mul", "div"]},
        {"inputs": {"y": {"only_in": ["cos"]}}},
        {"units": ["log", "sqrt", "exp"]},
    ],
)
def test_what_is_built_in_is_permitted_and_safe(prior, seed):
    task = make_task("x + cos(3*y)", prior)
    _, found, rows = wider("x", task, seed)
    assert not np.any(found.live & ~found.network.allowed)
    expression = extract(found.network, found.W, found.live)
    assert expression.is_allowed(task.prior)
    assert set(expression.unit_counts()) <= set(task.prior.units)
    assert residual(found.network, found.W, rows) is not None


def test_depth_and_inputs_are_limited():
    task = make_task("x + cos(3*y)")
    for seed in range(5):
        _, found, _ = wider("x", task, seed, deepest=1, inputs=np.array([0]))
        assert len(found.network.layers) == 1
        assert not found.live[:, 2].any()
