"""``ieql.fit_formula``: frames in, an equation with the user's names and digits out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ieql
from ieql import IeqlError
from ieql.data.sample import Sample
from ieql.equations.formula import Formula
from ieql.equations.formula_fit import _measured, _Problem

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"t": np.linspace(0.0, 5.0, 50), "speed [1/min]": RNG.uniform(1e3, 6e3, 50)})
LOSS = 3.0 * np.exp(-TABLE["t"] / 1.5) + 2e-6 * TABLE["speed [1/min]"] ** 2
NOISY = pd.Series(LOSS + 0.02 * RNG.normal(size=50), name="loss")
TEXT = "a*exp(-t/tau) + k*`speed [1/min]`**2"


def test_a_formula_is_fitted_printed_and_used():
    found = ieql.fit_formula(TEXT, TABLE, NOISY)
    assert found.constants.loc["tau", "value"] == pytest.approx(1.5, abs=0.05)
    assert found.constants.loc["tau", "standard_error"] == pytest.approx(0.01, rel=0.8)
    assert found.rmse == pytest.approx(0.02, rel=0.3)
    lines = str(found).splitlines()
    assert lines[0].startswith("loss = ")
    assert [line.split()[0] for line in lines[2:]] == ["a", "tau", "k"]
    # What is printed is what is computed, whatever the order of the columns.
    again = ieql.fit_formula(found.equation, TABLE, NOISY)
    np.testing.assert_allclose(found.predict(TABLE[TABLE.columns[::-1]]), again.predict(TABLE))
    assert "exp" in found.latex()
    assert found.sympy().free_symbols
    assert "double" in found.export("c")


def test_the_covariance_gives_the_error_of_a_prediction():
    found = ieql.fit_formula("a*t + b", TABLE, NOISY)
    J = np.column_stack([TABLE["t"], np.ones(50)])
    expected = np.linalg.inv(J.T @ J) * found.rmse**2 * 50 / 48
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-3)


def test_columns_of_an_array_have_numbers_and_a_sorted_table_is_no_trap():
    """The first rows of a sorted table are those at which the formula is undefined or flat."""
    x = np.linspace(-1.0, 4.0, 5000)
    y = 2.0 / (1.0 + np.exp(-3.0 * (x - 3.0)))
    found = ieql.fit_formula("a/(1 + exp(-k*(x0 - m)))", x[:, None], y)
    assert found.constants["value"].to_list() == pytest.approx([2.0, 3.0, 3.0])


def test_weights_are_those_of_a_fit():
    x = np.arange(10.0)
    y = np.where(x < 8, 2.0 * x, 100.0)
    found = ieql.fit_formula("a*x0", x[:, None], y, sample_weight=np.where(x < 8, 1, 0))
    assert found.constants.loc["a", "value"] == 2.0


def test_the_same_seed_gives_the_same():
    one, two = (ieql.fit_formula(TEXT, TABLE, NOISY, random_state=3) for _ in range(2))
    pd.testing.assert_frame_equal(one.constants, two.constants)


def test_one_constant_too_many_is_said_where_it_stands():
    found = ieql.fit_formula("a*b*t + c", TABLE, NOISY)
    assert str(found).count("(not determined by these rows)") == 2
    bounded = ieql.fit_formula("a*t + c", TABLE, NOISY, bounds={"a": (0.0, float("inf"))})
    assert "a = 0  (at its bound)" in str(bounded)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.arange(5.0), np.arange(5.0), "one column is X\\[:, None\\]"),
        (TABLE, TABLE, "y must be one column"),
        (TABLE, NOISY[:10], "X has 50 rows but y has 10"),
        (TABLE.assign(t="x"), NOISY, "'t'"),
        (TABLE, NOISY.where(NOISY.index != 3), "missing|NaN"),
    ],
)
def test_tables_that_do_not_fit_are_refused(X, y, message):
    with pytest.raises(IeqlError, match=message):
        ieql.fit_formula("a*t + b", X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"random_state": "x"}, "random_state must be a whole number of at least 0, not 'x'"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0, not -1"),
        ({"sample_weight": ["much"] * 50}, "sample_weight must hold one number for each of the 50"),
        ({"sample_weight": "much"}, "sample_weight must hold one number .* rows, not 'much'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(IeqlError, match=message):
        ieql.fit_formula("a*t + b", TABLE, NOISY, **options)


def test_a_table_without_a_column_of_the_formula_is_refused():
    found = ieql.fit_formula("a*t + b", TABLE, NOISY)
    with pytest.raises(IeqlError, match="X lacks the column 't'"):
        found.predict(TABLE.rename(columns={"t": "time"}))


def test_slopes_beyond_all_numbers_do_not_break_a_fit_down():
    """The squares of slopes overflowed, and an error of NumPy's came out."""
    x = np.linspace(1, 2, 20)
    formula = Formula.parse("a*exp(b*x)", ["x"])
    rows = Sample(x[None, :], np.exp(300 * x - 600), np.ones(20))
    limits = _Problem(formula, rows, np.full(2, -np.inf), np.full(2, np.inf))
    found = _measured(formula, rows, np.array([np.exp(-600.0), 300.0]), limits)
    assert found.rmse == pytest.approx(0.0, abs=1e-9)
    assert "a" in found.undetermined
