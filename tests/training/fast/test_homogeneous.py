"""A factor is multiplied into a function where it cancels denominators."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.equations.expression import Expression
from ieql.equations.simplify import simplify
from ieql.training.fast.similarity import Group, Similarity

NAMES = ("x", "y", "z")
ONE = (1.0, 1.0, 1.0)
INPUTS = (((0, 1.0),), ((1, 1.0),), ((2, 1.0),))


@pytest.mark.parametrize(
    ("function", "power", "shortest"),
    [
        ("sqrt(1 + g**2 + h**2)", 1.0, "sqrt(x**2 + y**2 + z**2)"),
        ("1 + g**2 + 3*h**2", 2.0, "x**2 + y**2 + 3*z**2"),
        ("1/(1 + g**2 + h**2)", -2.0, "1/(x**2 + y**2 + z**2)"),
        ("(g + h)/(1 + g*h)", 1.0, "(y + z)/(y*z/x**2 + 1)"),
        ("(g + 2)**2", 2.0, "(2*x + y)**2"),
        ("g*exp(-h)", 1.0, "y*exp(-z/x)"),
    ],
)
def test_what_one_would_write(function, power, shortest):
    """Of f(y/x, z/x) with a power of x before it, the shortest form is the usual one."""
    groups = (Group(((1, 1.0), (0, -1.0))), Group(((2, 1.0), (0, -1.0))))
    similarity = Similarity(INPUTS, ONE, Group(((0, power),)), groups)
    X = np.random.default_rng(0).uniform(0.5, 2.0, (50, 3))
    forms = similarity.expressions(NAMES, Expression.parse(function, ("g", "h")))
    expected = forms[0].evaluate(X)
    for form in forms:
        np.testing.assert_allclose(form.evaluate(X), expected)
    best = min((simplify(form, X) for form in forms), key=lambda e: e.n_parameters)
    asked = Expression.parse(shortest, NAMES)
    np.testing.assert_allclose(best.evaluate(X), asked.evaluate(X))
    assert best.n_parameters <= asked.n_parameters
