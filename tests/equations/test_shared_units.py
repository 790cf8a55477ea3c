"""Which units several outputs use."""

from __future__ import annotations

import pytest

from ieql.equations.builder import joined
from ieql.equations.expression import Expression
from ieql.equations.shared_units import outputs_of, shared_units

NAMES = ("x", "z")


def parsed(*texts):
    return [Expression.parse(text, NAMES) for text in texts]


@pytest.mark.parametrize(
    ("texts", "shared"),
    [
        (["2*exp(-x)", "3*exp(-x) + z"], [("exp(-x)", (0, 1))]),
        (["cos(x*z)", "exp(x*z)"], [("x*z", (0, 1))]),
        (["cos(x)/z", "cos(x)/z + 1"], [("cos(x)/z", (0, 1))]),  # the cosine is inside
        (["x", "x + z"], []),  # inputs are no units
        (["cos(x)", "cos(2*x)"], []),
        (["cos(x)", "z", "2*cos(x)"], [("cos(x)", (0, 2))]),
    ],
)
def test_what_several_outputs_use(texts, shared):
    found = shared_units(joined(parsed(*texts)))
    assert [(unit.text, unit.outputs) for unit in found] == shared


def test_every_source_knows_the_outputs_that_depend_on_it():
    e = joined(parsed("cos(x*z)", "exp(x*z) + x"))
    assert outputs_of(e)[:3] == [{0, 1}, {0, 1}, {0, 1}]
    assert sorted(map(sorted, outputs_of(e)[3:])) == [[0], [1]]
