"""What the rows do not ask for is left out, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.equations.expression import Expression
from ieql.equations.refit import refit
from ieql.equations.shorter import trim, without_rounding
from ieql.prior import Prior
from samples import NAMES, domain, sample

PLAIN = Prior.of("plain")


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.3])
def test_trim_drops_what_the_data_do_not_ask_for_and_nothing_else(noise):
    train = sample("3*x**2 + y", n=1000, noise=noise)
    start = refit(Expression.parse("3*(x + 0.01)**2 + y + 0.1 + 0.01*exp(-x)", NAMES), train)
    found = trim(start, train, domain(), PLAIN)
    assert found.unit_counts() == {"square": 1}
    assert found.n_parameters == Expression.parse("3*x**2 + y", NAMES).n_parameters
    assert all(s.bias == 0.0 for s in found.sums)


def test_trim_keeps_a_constant_that_the_data_ask_for():
    train = sample("3*x**2 + y + 0.5", n=1000, noise=0.1)
    expression = refit(Expression.parse("3*x**2 + y + 0.5", NAMES), train)
    found = trim(expression, train, domain(), PLAIN)
    assert [s.bias != 0.0 for s in found.sums] == [s.bias != 0.0 for s in expression.sums]


def test_trim_does_not_make_an_equation_unsafe():
    """Without the offset the denominator would reach zero at the edge of the domain."""
    train = sample("1/(x + 0.001)", low=0.5, high=5.0, noise=0.5)
    expression = Expression.parse("1/(x + 0.001)", NAMES)
    found = trim(expression, train, domain(low=0.0), PLAIN)
    assert found == expression
    assert trim(expression, train, domain(low=0.5), PLAIN) != expression


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("(x*y + 4.4e-18)/(cos(x) + 1.5)", "x*y/(cos(x) + 1.5)"),
        ("3*x + 1e-16*y + 2", "3*x + 2"),
        ("x + 1e-9", "x + 1e-9"),
        # Small beside the largest x, and all there is at the least.
        ("log(x + 1e-15)", "log(x + 1e-15)"),
    ],
)
def test_a_term_that_is_rounding_is_left_out(text, plain):
    """Seen in an equation of rows without noise."""
    X = np.column_stack([np.linspace(0.0, 2.0, 9), np.linspace(1.0, 3.0, 9)])
    found = without_rounding(Expression.parse(text, NAMES), X)
    assert found == Expression.parse(plain, NAMES)
