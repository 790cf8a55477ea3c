"""Straight lines, for a fit that the clock cuts short."""

from __future__ import annotations

import numpy as np

from ieql import IEQLRegressor
from ieql.training.fast.lines import lines
from tasks import make_task


def test_the_inputs_come_in_the_order_of_what_they_explain():
    found = list(lines(make_task("x - 5*y + 2")))
    assert [c.expression.inputs_used for c in found] == [("y",), ("x", "y")]
    assert found[1].rmse_train < 1e-9


def test_a_fit_without_time_for_a_training_gives_a_line(monkeypatch):
    """It had given the mean."""
    X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    model = IEQLRegressor(max_time=1e-9, n_jobs=1, random_state=0)
    monkeypatch.setattr("ieql.training.fast.search._plan", lambda *_: {})
    model.fit(X, 3 * X[:, 1] - 1)
    assert model.expression().text() == "3*x1 - 1"
