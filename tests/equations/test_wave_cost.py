"""What waves cost, and those of which the rows see too little."""

from __future__ import annotations

import numpy as np
import pytest

from ieql import Prior
from ieql.equations.expression import Expression
from ieql.equations.wave_cost import SLOW_WAVE, WAVE, wave_cost

X = np.linspace(0.0, 10.0, 30)[:, None]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("exp(x)", 0.0),
        ("cos(0.32*x)", WAVE),
        ("cos(0.32*x)*sin(5*x)", 2 * WAVE),
        ("2028*cos(0.0231*x) - 2028", SLOW_WAVE),
        ("cos(0.31*x)", SLOW_WAVE),
        ("cos(0.1*x)*cos(3*x)", SLOW_WAVE + WAVE),
        ("cos(0.04*x**2)", SLOW_WAVE),  # four radians, but of a square: a whole turn must be seen
        ("cos(0.07*x**2)", WAVE),
    ],
)
def test_a_wave_costs_more_if_half_a_turn_of_it_is_not_seen(formula: str, expected: float) -> None:
    assert wave_cost(Expression.parse(formula, ("x",)), X, Prior.of("plain")) == expected


@pytest.mark.parametrize("formula", ["cos(0.1*x)", "cos(3*x)"])
def test_who_makes_waves_cheap_means_them(formula: str) -> None:
    prior = Prior.of({"preset": "plain", "costs": {"cos": 0.5}})
    assert wave_cost(Expression.parse(formula, ("x",)), X, prior) == 0.0
