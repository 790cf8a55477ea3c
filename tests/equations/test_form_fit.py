"""All constants of a form and of its parts, fitted together."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.form import Form
from ieql.equations.form_fit import first_look, fitted, without_ambiguity

NAMES = ("U", "T")


def rows_of(formula, n=200, noise=0.0):
    rng = np.random.default_rng(0)
    XT = rng.uniform(0.5, 2.0, (2, n))
    y = Expression.parse(formula, NAMES).evaluate(XT.T)[:, 0]
    return Sample(XT, y + noise * rng.normal(size=n), np.ones(n))


def parts_of(*texts):
    return [Expression.parse(t, NAMES) for t in texts]


def test_given_numbers_stay_and_all_others_are_fitted():
    form = Form.parse("9.81*U*f(T) + c", NAMES)
    rows = rows_of("9.81*U*(0.3*T + 2) + 7")
    found = fitted(form, parts_of("T + 1"), np.ones(1), rows)
    assert found.mse < 1e-20
    assert found.constants == pytest.approx([7.0])
    assert found.parts[0].text(precision=6) == "0.3*T + 2"
    assert found.n_free == 3


def test_errors_of_the_constants_are_those_of_least_squares():
    form = Form.parse("U*f(T)", NAMES)
    rows = rows_of("U*(0.3*T + 2)", noise=0.1)
    found = fitted(form, parts_of("T + 1"), np.zeros(0), rows)
    U, T = rows.XT
    A = np.column_stack([U, U * T])
    solution, squares, *_ = np.linalg.lstsq(A, rows.y, rcond=None)
    covariance = np.linalg.inv(A.T @ A) * squares[0] / (len(U) - 2)
    assert found.theta == pytest.approx(solution)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-6)


def test_a_first_look_finds_constants_of_the_form():
    form = Form.parse("exp(-b*U)*f(T) + c", NAMES)
    rows = rows_of("3*exp(-1.7*U)*cos(T) + 0.5")
    found = first_look(form, rows)
    assert found.constants == pytest.approx([1.7, 0.5], rel=0.05)
    assert np.sqrt(found.mse) < 0.05 * rows.spread()


def test_a_constant_that_a_part_says_as_well_is_one():
    form = Form.parse("a*f(T)", NAMES)
    rows = rows_of("3*exp(-T)", noise=0.01)
    found = fitted(form, parts_of("2*exp(-1.1*T)"), np.array([5.0]), rows)
    assert found.direction is not None
    plain = without_ambiguity(found, rows)
    assert plain.constants == [1.0]
    assert plain.direction is None
    assert plain.mse == pytest.approx(found.mse)
    assert np.all(np.isfinite(plain.covariance))


def test_of_two_offsets_that_are_added_one_is_enough():
    """A fit left 2532.8 in one part and -2532.8 in the other."""
    form = Form.parse("log(y) = f(U) + g(T)", NAMES)
    rows = rows_of("exp(0.5*U + cos(T) + 0.3)")
    found = fitted(form, parts_of("0.4*U + 40", "1.1*cos(T) - 40"), np.zeros(0), rows)
    plain = without_ambiguity(found, rows)
    assert [e.text(precision=5) for e in plain.parts] == ["0.5*U + 0.3", "cos(T)"]


def test_without_a_value_at_some_row_there_is_no_fit():
    form = Form.parse("log(f(T))", NAMES)
    assert fitted(form, parts_of("T - 1"), np.zeros(0), rows_of("T")) is None
