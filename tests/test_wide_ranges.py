"""Laws over many decades: once log(x) and 1/x counted as unsafe there, and came out disguised."""

from __future__ import annotations

import numpy as np
import pytest

from ieql import IEQLRegressor


def fitted(decades, n_inputs, law):
    rng = np.random.default_rng(0)
    X = 10 ** rng.uniform(*decades, (200, n_inputs))
    return IEQLRegressor(max_trainings=12, n_jobs=1, random_state=0).fit(X, law(*X.T))


@pytest.mark.parametrize(
    ("decades", "law", "equation"),
    [((-3, 2), np.log, "log(x0)"), ((-3, 2), lambda x: 20 / x, "20/x0")],
    ids=["logarithm", "reciprocal"],
)
def test_five_decades_of_one_input(decades, law, equation):
    model = fitted(decades, 1, law)
    assert model.expression().text() == equation
    assert model.equations_["proved"].all()


def test_eighteen_decades_of_two_inputs():
    model = fitted((-9, 9), 2, lambda a, b: np.log(a) - 0.5 * np.log(b))
    assert model.expression().text() in ("log(x0) - 0.5*log(x1)", "-0.5*log(x1) + log(x0)")
    assert model.equations_["proved"].all()
