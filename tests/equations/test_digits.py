"""What it takes to write down constants."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ieql.data.sample import Sample
from ieql.equations.digits import digit_code
from ieql.equations.expression import Expression
from ieql.equations.refit import refit

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(1.0, 5.0, 60))


def code(formula: str, truth: str, noise: float = 0.01, shift: float = 0.0) -> float:
    """Nats for the constants of a formula, fitted to the truth with noise."""
    y = Expression.parse(truth, ("x",)).evaluate((X + shift)[:, None])[:, 0]
    y = y + noise * np.random.default_rng(1).normal(size=len(X))
    sample = Sample((X + shift)[None, :].copy(), y, np.ones(len(X)))
    return digit_code(refit(Expression.parse(formula, ("x",)), sample), sample)


def test_simple_numbers_are_cheap() -> None:
    assert code("2*x + 3", "2*x + 3") < code("2*x + 3", "2.0371*x + 3.1459")


def test_less_noise_means_more_digits() -> None:
    line = "2.0371*x + 3.1459"
    assert code(line, line, noise=1e-4) > code(line, line, noise=1e-1) + 5.0


def test_constants_that_hang_together_are_not_paid_twice() -> None:
    """Far from zero neither slope nor offset is known well alone, but the line is as before."""
    line = "2.0371*x + 3.1459"
    assert code(line, line, shift=1000.0) < code(line, line) + 8.0


def test_cancellation_needs_digits() -> None:
    """A parabola as the difference of a large cosine and a large number."""
    plain = code("0.54*x**2", "0.5423*x**2")
    assert code("-2028*cos(0.0231*x) + 2028", "0.5423*x**2") > plain + 5.0


def test_no_constants_cost_nothing() -> None:
    sample = Sample(X[None, :].copy(), X.copy(), np.ones(len(X)))
    assert digit_code(Expression.parse("x", ("x",)), sample) == pytest.approx(0.0, abs=1.0)


def test_many_constants_are_coded_without_looking_for_simple_ones() -> None:
    names = tuple(f"x{i}" for i in range(50))
    XT = RNG.normal(size=(50, 400))
    weights = RNG.uniform(0.5, 2.0, 50)
    formula = " + ".join(f"{w:.6f}*{n}" for w, n in zip(weights, names, strict=True))
    e = Expression.parse(formula, names)
    sample = Sample(XT, e.evaluate(XT.T)[:, 0] + 0.01 * RNG.normal(size=400), np.ones(400))
    assert 50 * 4 < digit_code(e, sample) < 50 * 12


def test_where_the_rows_do_not_tell_nothing_is_known() -> None:
    sample = Sample(np.array([[0.0, 1.0]]), np.array([1.0, 2.0]), np.ones(2))
    with np.errstate(all="ignore"):
        assert math.isnan(digit_code(Expression.parse("2.5*log(x) + 1.5", ("x",)), sample))
