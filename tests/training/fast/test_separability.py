"""How a function comes apart is read off a surrogate."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.sample import Sample
from ieql.training.fast.separability import Split, relevant, splits
from ieql.training.fast.surrogate import Surrogate


def ways(function, d, n=200, noise=0.0):
    """The splits of a function of inputs between 0.5 and 2."""
    rng = np.random.default_rng(0)
    XT = rng.uniform(0.5, 2.0, (d, n))
    y = function(*XT) + noise * rng.normal(size=n)
    surrogate = Surrogate.fit(Sample(XT, y, np.ones(n)), range(d))
    return splits(surrogate, XT, range(d), np.sign(y), rng)


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize(
    ("function", "first"),
    [
        (lambda a, b, c: a * b + c**2, Split(((0, 1), (2,)))),
        (lambda a, b, c: a * (b - c), Split(((0,), (1, 2)), None)),
        (lambda a, b, c: np.sqrt(a**2 + b**2 + c**2), Split(((0,), (1,), (2,)), 2.0)),
        (lambda a, b, c: 1.0 / (a + b * c), Split(((0,), (1, 2)), -1.0)),
        (lambda a, b, c: -((a + b * c) ** 2), Split(((0,), (1, 2)), 0.5)),
    ],
)
def test_the_way_a_function_comes_apart_is_found(function, first, noise):
    """Without noise it is the first; in noise others may look as good."""
    found = ways(function, 3, noise=noise)
    assert first in (found if noise else found[:1])


def test_a_product_may_stand_beside_a_constant():
    found = ways(lambda a, b: 3.0 - a**2 * np.exp(-b), 2)[0]
    assert found.groups == ((0,), (1,))
    assert found.power is None
    assert found.constant == pytest.approx(3.0, abs=0.01)


def test_an_exponential_of_a_sum_is_a_product_and_its_logarithm_a_sum():
    found = ways(lambda a, b: np.exp(a - b**2), 2)
    assert {Split(((0,), (1,)), None), Split(((0,), (1,)), 0.0)} <= set(found)


@pytest.mark.parametrize(
    "function", [lambda a, b, c: a * b + b * c + c * a, lambda a, b, c: np.cos(a * b * c)]
)
def test_what_does_not_come_apart_is_left_together(function):
    assert ways(function, 3) == []


def test_inputs_that_do_nothing_are_seen():
    rng = np.random.default_rng(0)
    XT = rng.uniform(0.5, 2.0, (4, 200))
    y = XT[0] * XT[2] + 0.02 * rng.normal(size=200)
    surrogate = Surrogate.fit(Sample(XT, y, np.ones(200)), range(4))
    assert relevant(surrogate, XT, rng) == (0, 2)


def test_inputs_that_depend_on_each_other_are_told_apart():
    """Combinations of values that never occur say nothing about interactions."""
    rng = np.random.default_rng(0)
    a = rng.uniform(0.5, 2.0, 200)
    XT = np.stack([a, a + 0.3 * rng.normal(size=200)])
    y = np.exp(XT[0]) + XT[1] ** 2
    surrogate = Surrogate.fit(Sample(XT, y, np.ones(200)), range(2))
    assert splits(surrogate, XT, range(2), np.sign(y), rng)[0] == Split(((0,), (1,)))
