"""Equations whose constants run off, and what they run to."""

from __future__ import annotations

import numpy as np

from ieql import Prior
from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.limits import limits
from ieql.equations.refit import refit
from ieql.equations.shorter import at_its_limit

RNG = np.random.default_rng(0)
NAMES = ("a", "b", "c")
XT = RNG.uniform(0.5, 3.0, (3, 80))


def shortened(formula: str, y: np.ndarray) -> Expression:
    """What becomes of a formula that was fitted to noisy values."""
    sample = Sample(XT, y + 0.01 * np.random.default_rng(1).normal(size=80), np.ones(80))
    fitted = refit(Expression.parse(formula, NAMES), sample, XT)
    return at_its_limit(fitted, sample, XT, Prior.of("plain"))


def test_a_denominator_that_hardly_changes_is_a_constant() -> None:
    """680 a b/(c + 340) was selected for 2 a b, with 680 ± 655 and 340 ± 327."""
    e = shortened("680*a*b/(c + 340)", 2.0 * XT[0] * XT[1])
    assert e.inputs_used == ("a", "b")
    assert e.unit_counts() == {"mul": 1}


def test_a_curve_that_is_straight_on_the_rows_is_a_line() -> None:
    e = shortened("220*exp(0.009*a) - 219 + b", 2.0 * XT[0] + XT[1] + 1.0)
    assert e.unit_counts() == {}
    assert e.inputs_used == ("a", "b")


def test_what_the_rows_ask_for_stays() -> None:
    e = shortened("2*a/(c + 1.3)", 2.0 * XT[0] / (XT[2] + 1.3))
    assert e.unit_counts() == {"div": 1}
    assert e.inputs_used == ("a", "c")


def test_each_limit_is_shorter() -> None:
    e = Expression.parse("2*a*b/(c + 3) + exp(0.5*a)", NAMES)
    found = list(limits(e, XT.T))
    assert len(found) >= 6
    assert all(trial != e for trial in found)
    assert all(np.all(np.isfinite(trial.evaluate(XT.T))) for trial in found)


def test_a_tangent_touches_in_the_middle() -> None:
    e = Expression.parse("exp(0.01*a)", NAMES)
    tangents = [t for t in limits(e, XT.T) if not t.nodes and t.inputs_used]
    (tangent,) = tangents
    difference = tangent.evaluate(XT.T) - e.evaluate(XT.T)
    assert np.max(np.abs(difference)) < 2e-4
