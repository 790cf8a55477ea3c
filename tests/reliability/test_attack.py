"""Data with poles near the domain: what is shown withstands an attack, and the attack has teeth."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.equations.expression import Expression
from ieql.selection import Candidate
from soak.safety import WIDER, attacked, front, planted, problem, smallest

NAMES = tuple(f"x{i}" for i in range(12))


def box(d):
    return np.full(d, -1.0), np.full(d, 2.0)


@pytest.mark.parametrize(
    "text",
    [
        "1/(" + " + ".join(f"(x{i} - 0.5)**2" for i in range(6)) + " - 0.01)",
        "1/(17 " + " ".join(f"{'+-'[i % 2]} x{i}" for i in range(12)) + ")",
        "log(cos(x0)*cos(2*x1)*cos(3*x2) + 0.9999)",
        "sqrt(1.9999 + x0*x1)",
    ],
)
def test_the_attack_finds_poles_that_random_points_miss(text):
    e = Expression.parse(text, NAMES)
    low, high = box(12)
    X = np.random.default_rng(0).uniform(low, high, (2000, 12))
    assert np.isfinite(e.evaluate(X)).all()
    assert min(smallest(e, low, high, seed=0)) <= 0.0
    assert attacked(Candidate(e, 1.0, 1, 0.1, 0.1), low, high, seed=0).violated


def test_the_attack_leaves_alone_what_is_safe():
    e = Expression.parse("1/(x0*x1 + 2.01) + sqrt(x2 + 1)", NAMES)
    result = attacked(Candidate(e, 1.0, 1, 0.1, 0.1, proved=True), *box(12), seed=0)
    assert (result.singular, result.violated, result.decided) == (True, False, True)


def test_no_equation_that_is_shown_has_a_pole_in_the_domain():
    candidates, _ = front(2, seed=0, trainings=2)
    d = problem(2, seed=0)[0].shape[1]
    for c in candidates:
        result = attacked(c, np.full(d, -WIDER), np.full(d, WIDER), seed=0)
        assert not result.violated, c.expression.text()
        assert c.proved is not False


def test_true_equations_with_a_small_hole_are_refused_and_those_without_are_proved():
    """Most of them passed when 20,000 points were all that was looked at."""
    passed = 0
    for number in range(12):
        c = planted(number, seed=0)
        if c is not None:
            passed += 1
            d = len(c.expression.names)
            result = attacked(c, np.full(d, -WIDER), np.full(d, WIDER), seed=0)
            assert (result.violated, result.decided) == (False, True), c.expression.text()
    assert 0 < passed < 12
