"""Constants are fitted again, and kept where that does not help."""

from __future__ import annotations

import numpy as np

from ieql.equations.expression import Expression
from ieql.equations.precision import readable, shortened
from ieql.equations.refit import refit
from samples import NAMES, sample


def test_refit_finds_the_least_squares_solution():
    train = sample("3*x + 2*y + 1", noise=0.5, weight=np.random.default_rng(2).uniform(1, 3, 400))
    found = refit(Expression.parse("x + y + 1", NAMES), train)
    root = np.sqrt(train.weight)
    columns = np.stack([np.ones(len(train)), *train.XT]) * root
    exact, *_ = np.linalg.lstsq(columns.T, train.y * root, rcond=None)
    np.testing.assert_allclose(found.constants(), exact, rtol=1e-7)


def test_refit_keeps_what_it_cannot_better():
    train = sample("3*x + 2*y")
    expression = Expression.parse("3*x + 2*y", NAMES)
    assert refit(expression, train) == expression
    bare = Expression.parse("7", NAMES).with_constants([0.0])
    assert refit(bare, train) == bare


def test_thousands_of_constants_stay_as_trained():
    """Asked for a second, a fit of the paper's full network was finished after ten minutes."""
    terms = [f"{k}*cos({k}*x + {k})" for k in range(1, 301)]
    large = Expression.parse(" + ".join(terms), NAMES)
    rows = sample("3*x + y")
    assert refit(large, rows) == large
    assert readable(large, rows) == shortened(large)
