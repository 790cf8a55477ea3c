"""Rows that are predicted by the others tell what new rows will show."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.sample import Sample
from ieql.equations.cross_fitted import cross_fitted
from ieql.equations.expression import Expression
from ieql.equations.precision import standard_errors
from ieql.equations.refit import refit
from samples import NAMES, sample


def test_the_cross_fitted_error_is_that_of_new_rows():
    """Six constants on twenty rows: the training error is far too small."""
    text = "x + y + x**2 + x*y + cos(x) + 0.1"
    ratios = []
    for seed in range(30):
        rows = sample("0.5*x + y", n=20, noise=0.3, seed=seed)
        fitted = refit(Expression.parse(text, NAMES), rows)
        fresh = sample("0.5*x + y", n=400, noise=0.3, seed=100 + seed)
        new = fresh.rmse(fitted.evaluate(fresh.XT.T)[:, 0])
        ratios.append(
            [new / cross_fitted(fitted, rows), new / np.sqrt(standard_errors(fitted, rows)[1])]
        )
    crossed, trained = np.median(ratios, axis=0)
    assert 0.85 < crossed < 1.15
    assert trained > 1.3


def test_with_many_constants_rows_are_left_out_one_by_one(monkeypatch):
    rows = sample("0.5*x + y", n=40, noise=0.3)
    fitted = refit(Expression.parse("x + y + x**2 + 0.1", NAMES), rows)
    folds = cross_fitted(fitted, rows)
    monkeypatch.setattr("ieql.equations.cross_fitted.MANY_CONSTANTS", 2)
    assert cross_fitted(fitted, rows) == pytest.approx(folds, rel=0.05)


def test_rows_measured_many_times_are_parted_not_left_out_together():
    """Five values of x with zeros and ones: without a cell its neighbours would be wrong."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, 5000).astype(float)
    y = (rng.random(5000) < 0.1 + 0.2 * x).astype(float)
    cells, counts = np.unique(np.column_stack([x, y]), axis=0, return_counts=True)
    merged = Sample(np.ascontiguousarray(cells[:, :1].T), cells[:, 1], counts.astype(float))
    line = refit(Expression.parse("0.2*x + 0.1", ("x",)), merged)
    rmse = merged.rmse(line.evaluate(merged.XT.T)[:, 0])
    assert cross_fitted(line, merged) == pytest.approx(rmse, rel=2e-3)
