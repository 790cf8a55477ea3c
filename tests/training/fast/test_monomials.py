"""Monomials are what they say: values, costs and graphs agree."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.equations.builder import Builder
from ieql.prior import Prior
from ieql.training.fast.monomials import N_MONOMIALS, Monomials

NAMES = ("a", "b", "c")
XT = np.random.default_rng(0).uniform(0.1, 2.0, (3, 40))
EVEN = np.full(3, 1 / 3)


def draw(prior, chances=EVEN, seed=0):
    return Monomials.draw(prior, XT, chances, np.random.default_rng(seed), start=7)


def built(monomials, k):
    builder = Builder(NAMES)
    return builder.expression(monomials.build(7 + k, builder))


@pytest.mark.parametrize("preset", ["plain", "motor"])
def test_values_costs_and_graphs_agree(preset):
    prior = Prior.of(preset)
    monomials = draw(prior)
    assert len(monomials) == N_MONOMIALS
    values, costs = monomials.values(XT), monomials.costs(prior)
    for k in range(N_MONOMIALS):
        expression = built(monomials, k)
        np.testing.assert_allclose(expression.evaluate(XT.T)[:, 0], values[k], rtol=1e-12)
        assert expression.complexity(prior) == pytest.approx(costs[k])
        assert expression.nodes[-1].unit.name == monomials.kinds[k]


def test_undefined_values_are_nan():
    at_zero = np.zeros((3, 1))
    values = draw(Prior.of("plain")).values(at_zero)
    assert not np.any(np.isinf(values))
    assert np.any(np.isnan(values))


def test_only_inputs_with_a_chance_and_units_of_the_prior():
    prior = Prior.of({"units": ["mul", "cos"]})
    for k in range(N_MONOMIALS):
        expression = built(draw(prior, np.array([0.5, 0.5, 0.0])), k)
        assert set(expression.inputs_used) <= {"a", "b"}
        assert set(expression.unit_counts()) == {"mul"}


def test_without_products_or_with_one_input_there_are_none():
    assert len(draw(Prior.of({"units": ["cos", "div"]}))) == 0
    assert len(draw(Prior.of("plain"), np.array([1.0, 0.0, 0.0]))) == 0
