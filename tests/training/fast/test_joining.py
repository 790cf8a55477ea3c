"""Parts are joined into the function that comes apart into them."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.training.fast.joining import combinations_of, together
from ieql.training.fast.separability import POWERS, Split

NAMES = ("a", "b")
GROUPS = ((0,), (1,))
PARTS = [Expression.parse(text, NAMES) for text in ("a**2 + 0.5", "2*b")]
XT = np.random.default_rng(0).uniform(0.5, 2.0, (2, 50))
TOTAL = XT[0] ** 2 + 0.5 + 2.0 * XT[1]


def sample(y):
    return Sample(XT, y, np.ones(len(y)))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("power", [p for p in POWERS if p not in (0.0, 1.0)])
def test_the_sum_of_the_parts_is_a_power_of_the_whole(power, sign):
    rows = sample(sign * TOTAL ** (1.0 / power))
    whole = together(Split(GROUPS, power), PARTS, rows)
    assert rows.rmse(whole.evaluate(XT.T)[:, 0]) < 1e-12


def test_the_sum_of_the_parts_may_be_the_logarithm():
    rows = sample(np.exp(TOTAL))
    whole = together(Split(GROUPS, 0.0), PARTS, rows)
    assert rows.rmse(whole.evaluate(XT.T)[:, 0]) < 1e-9


def test_a_product_gets_its_scale_and_its_constant():
    rows = sample(3.0 * (XT[0] ** 2 + 0.5) * XT[1] - 7.0)
    whole = together(Split(GROUPS, None, -7.0), PARTS, rows)
    assert rows.rmse(whole.evaluate(XT.T)[:, 0]) < 1e-12


def test_below_a_root_nothing_is_negative():
    parts = [PARTS[0], Expression.parse("2*b - 2.2", NAMES)]
    whole = together(Split(GROUPS, 2.0), parts, sample(np.sqrt(TOTAL)))
    assert np.all(np.isfinite(whole.evaluate(XT.T)))


@pytest.mark.parametrize("n_parts", [2, 5])
def test_the_best_parts_are_joined_first(n_parts):
    choices = [[f"{part}{rank}" for rank in range(3)] for part in "abcde"[:n_parts]]
    first, second, *others = combinations_of(choices, 8)
    assert first == [c[0] for c in choices]
    assert sum(name.endswith("1") for name in second) == 1
    assert len(others) == 6
