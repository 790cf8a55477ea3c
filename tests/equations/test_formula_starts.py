"""Starts for the constants of a formula, many at once."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.sample import Sample
from ieql.equations.formula import Formula
from ieql.equations.formula_starts import _linear, promising
from ieql.equations.program import Program

RNG = np.random.default_rng(0)
XT = RNG.uniform(1, 3, (2, 80))


def sample(y):
    return Sample(XT, y, np.ones(80))


@pytest.mark.parametrize(
    ("text", "linear"),
    [
        ("a*x + b*y + c", "abc"),
        ("a*exp(-b*x) + c*y", "ac"),
        ("a*(x + b)", "a"),
        ("a*b*x + c", "ac"),
        ("1/(a*x + b)", ""),
    ],
)
def test_constants_in_which_a_formula_is_linear_together(text, linear):
    formula = Formula.parse(text, ["x", "y"])
    k = len(formula.constants)
    found = _linear(Program.of(formula.expression), sample(XT[0]), k, np.random.default_rng(0))
    assert "".join(formula.constants[i] for i in found) == linear


def test_what_is_linear_is_solved_for():
    formula = Formula.parse("a*x + b*y**2 + c", ["x", "y"])
    y = 3.0 * XT[0] - 20.0 * XT[1] ** 2 + 500.0
    np.testing.assert_allclose(promising(formula, sample(y), 1)[0], [3.0, -20.0, 500.0], rtol=1e-5)


def test_the_best_comes_first():
    formula = Formula.parse("a*exp(-b*x) + c*sin(d*y)", ["x", "y"])
    y = formula.filled([2.0, 0.7, 1.0, 2.0]).evaluate(XT.T)[:, 0]
    errors = [
        np.std(formula.filled(v).evaluate(XT.T)[:48, 0] - y[:48])
        for v in promising(formula, sample(y), 4)
    ]
    assert len(errors) == 4
    assert errors[0] < 0.5 * y.std()


def test_a_formula_that_is_nowhere_defined_has_no_start():
    assert promising(Formula.parse("a*log(x - 5)", ["x", "y"]), sample(XT[0]), 3) == []


def test_a_formula_without_constants_is_its_only_start():
    found = promising(Formula.parse("2*x", ["x", "y"]), sample(XT[0]), 3)
    assert all(len(values) == 0 for values in found)
