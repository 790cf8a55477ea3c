"""The tables whose fronts pint judges, and that it would tell a wrong equation."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ieql import IEQLRegressor
from ieql.equations.expression import Expression
from ieql.quantities import quantity

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from feynman_units import TARGET
from pint_fronts import drawn_table, is_number, judged


@pytest.mark.parametrize("number", range(12))
def test_a_drawn_table_has_values_and_units(number):
    X, y, units = drawn_table(number)
    assert np.isfinite(y).all()
    assert np.std(y) > 0
    assert set(units) == {*X.columns, TARGET}
    for text in units.values():
        quantity(text)


def test_a_conversion_is_a_number():
    assert is_number("")
    assert is_number("min/s")
    assert not is_number("m/s")


def test_a_wrong_equation_on_a_front_is_told():
    prior = {"quantities": {"x": "m", "t": "s", TARGET: "m/s"}, "constants": "plain"}
    rng = np.random.default_rng(0)
    x, t = rng.uniform(1, 3, (2, 30))
    model = IEQLRegressor(prior=prior, max_trainings=1, max_time=None, n_jobs=1, random_state=0)
    model.fit(pd.DataFrame({"x": x, "t": t}), pd.Series(3 * x / t, name=TARGET))
    assert judged(model, prior)["violations"] == []
    right = model.fronts_[0][-1]
    wrong = replace(right, expression=Expression.parse("3*x + t", ("x", "t")))
    model.fitted_ = replace(model.fitted_, fronts=((*model.fronts_[0], wrong),))
    (found,) = judged(model, prior)["violations"]
    assert found == "3*x + t: a constant has a unit"
