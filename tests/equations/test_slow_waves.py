"""Waves of which the rows see too little."""

from __future__ import annotations

import numpy as np
import pytest

from ieql import Prior
from ieql.equations.expression import Expression
from ieql.equations.slow_waves import n_slow_waves

X = np.linspace(0.0, 10.0, 30)[:, None]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("2028*cos(0.0231*x) - 2028", 1),
        ("cos(0.31*x)", 1),
        ("cos(0.32*x)", 0),
        ("cos(0.1*x)*cos(3*x)", 1),
        ("exp(x)", 0),
        ("cos(0.04*x**2)", 1),  # four radians, but of a square: a whole turn must be seen
        ("cos(0.07*x**2)", 0),
    ],
)
def test_half_a_turn_must_be_seen(formula: str, expected: int) -> None:
    assert n_slow_waves(Expression.parse(formula, ("x",)), X, Prior.of("plain")) == expected


def test_who_makes_waves_cheap_means_them() -> None:
    prior = Prior.of({"preset": "plain", "costs": {"cos": 0.5}})
    assert n_slow_waves(Expression.parse("cos(0.1*x)", ("x",)), X, prior) == 0
