"""The constants of a formula are found from many starts, with errors that hold."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.sample import Sample
from ieql.equations.formula import Formula
from ieql.equations.formula_fit import Effort, fit
from ieql.errors import IeqlError

T = np.linspace(0.1, 5.0, 60)


def rows(y, *inputs):
    inputs = inputs or (T,)
    return Sample(np.array(inputs), np.asarray(y, float), np.ones(len(y)))


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("a*exp(-t/tau) + b", {"a": 3.0, "tau": 1.5, "b": 2.0}),
        ("a*t**n", {"a": 2.0, "n": 1.7}),
        ("v*t/(k + t)", {"v": 2.0, "k": 0.7}),
        ("a/(1 + exp(-k*(t - t0)))", {"a": 2.0, "k": 3.0, "t0": 2.2}),
        ("a*exp(-t/tau)*(1 - exp(-t/tau))", {"a": 4.0, "tau": 0.8}),
        ("a*exp(-t/p) + b*exp(-t/q)", {"a": 3.0, "p": 0.5, "b": 2.0, "q": 3.0}),
    ],
)
def test_constants_are_found_without_a_start(text, truth):
    formula = Formula.parse(text, ["t"])
    y, _ = formula.evaluate(T[:, None], np.array(list(truth.values())))
    noise = 1e-3 * np.random.default_rng(0).normal(size=len(T))
    found = fit(formula, rows(y + noise))
    values = dict(zip(formula.constants, found.values, strict=True))
    if "p" in values and values["p"] > values["q"]:  # the two terms may change places
        values = {"a": values["b"], "p": values["q"], "b": values["a"], "q": values["p"]}
    assert values == pytest.approx(truth, rel=0.02)
    assert found.rmse == pytest.approx(1e-3, rel=0.2)
    assert found.undetermined == ()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_unit_of_a_column_does_not_matter(scale):
    formula = Formula.parse("a*(1 - exp(-k*t))", ["t"])
    y = 3.0 * (1.0 - np.exp(-T / 1.5))
    found = fit(formula, rows(y, T * scale))
    assert found.values == pytest.approx([3.0, 1.0 / 1.5 / scale], rel=1e-6)


def test_standard_errors_hold_what_they_say():
    """Over 60 draws the errors of the constants are as large as their standard errors."""
    formula, rng = Formula.parse("a*exp(-t/tau)", ["t"]), np.random.default_rng(1)
    truth = np.array([3.0, 1.5])
    y, _ = formula.evaluate(T[:, None], truth)
    start, once = {"a": 3.0, "tau": 1.5}, Effort(starts=1, kept=1)
    pulls = []
    for _ in range(60):
        found = fit(formula, rows(y + 0.05 * rng.normal(size=len(y))), start=start, effort=once)
        pulls.append((found.values - truth) / found.standard_errors)
    assert np.mean(np.abs(pulls) < 1.96) == pytest.approx(0.95, abs=0.05)


def test_what_the_rows_cannot_tell_is_said():
    found = fit(Formula.parse("a*b*t + c", ["t"]), rows(2.0 * T + 1.0))
    assert found.undetermined == ("a", "b")
    assert np.isnan(found.standard_errors[:2]).all()
    assert found.values[0] * found.values[1] == pytest.approx(2.0)
    assert found.values[2] == pytest.approx(1.0)


def test_bounds_hold_and_a_start_decides_between_equal_fits():
    line = Formula.parse("a*t + b", ["t"])
    found = fit(line, rows(3.0 * T + 1.0), bounds={"a": (0.0, 2.0)})
    assert found.values[0] == pytest.approx(2.0)
    assert found.standard_errors[0] == 0.0
    wave = Formula.parse("sin(w*t + p)", ["t"])
    found = fit(wave, rows(np.sin(3.3 * T + 0.5)))
    assert np.abs(found.values) == pytest.approx([3.3, 0.5], rel=1e-6)  # not 0.5 + 24 pi


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a*q + b", {}, "The formula holds no column of the table \\('t'\\)"),
        ("a*log(-t)", {}, "No values of 'a' were found at which the formula is defined"),
        ("a*t", {"bounds": {"b": (0, 1)}}, "bounds names 'b', which is no constant"),
        ("a*t", {"bounds": {"a": (1, 0)}}, "bounds of 'a' must be two numbers"),
        ("a*t", {"start": {"a": "1"}}, "start of 'a' must be a number, not '1'"),
        ("2**t", {}, "An exponent must be a number"),
        ("a*t + exp", {}, "There is no input 'exp'"),
        ("__import__('os')", {}, "Cannot read"),
        ("", {}, "the equation ends there"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(text, options, message):
    with pytest.raises(IeqlError, match=message):
        fit(Formula.parse(text, ["t"]), rows(T), **options)


def test_a_constant_may_be_an_exponent():
    assert fit(Formula.parse("t**n", ["t"]), rows(T**2)).values == pytest.approx([2.0])


def test_more_constants_than_rows_are_refused():
    with pytest.raises(IeqlError, match=r"3 constants \('a', 'b', 'c'\), but there are only 2"):
        fit(Formula.parse("a*t**2 + b*t + c", ["t"]), rows(T[:2], T[:2]))


def test_a_constant_beside_the_square_of_a_large_input_is_found():
    """No start was defined on all rows: none was near the square of an input's size."""
    x = np.linspace(20.0, 80.0, 60)
    y = 0.3 * np.sqrt(9000.0 - x**2)
    found = fit(Formula.parse("a*sqrt(b - x**2)", ["x"]), Sample(x[None, :], y, np.ones(60)))
    np.testing.assert_allclose(found.values, [0.3, 9000.0], rtol=1e-6)
