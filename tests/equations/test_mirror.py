"""Even and odd, told by the form of an equation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from ieql.equations.expression import Expression
from ieql.equations.mirror import has_parity, mirrored
from tests.strategies import expressions


def parse(text):
    return Expression.parse(text, ("x", "y"))


@pytest.mark.parametrize(
    "text",
    ["2", "y", "x**2", "cos(x)*y", "exp(x) + exp(-x)", "cos(x + y) + cos(x - y)", "x*sin(x)",
     "x**2/(1 + x**4)", "sqrt(x**2 + 1)", "exp(-x**2)", "gauss(2*x)", "x*tanh(x)",
     "signed_power(x, 1.5)*atan(x)"],
)  # fmt: skip
def test_even(text):
    assert has_parity(parse(text), 0, odd=False)


@pytest.mark.parametrize(
    "text",
    ["x", "x**3*y", "sin(x)", "exp(x) - exp(-x)", "x*y/(1 + cos(x))", "tanh(x)", "atan(2*x)*y",
     "signed_power(x, 0.5)"],
)  # fmt: skip
def test_odd(text):
    assert has_parity(parse(text), 0, odd=True)
    assert not has_parity(parse(text), 0, odd=False)


@pytest.mark.parametrize(
    "text",
    ["x**2 + 0.01*x", "sin(x) + 1", "exp(x)", "cos(x + 0.1)", "x + y", "step(x)", "max(x, 0)",
     "logistic(x)", "power(x, 2.5)"],
)  # fmt: skip
def test_neither(text):
    assert not has_parity(parse(text), 0, odd=False)
    assert not has_parity(parse(text), 0, odd=True)


@given(expressions(n_inputs=2, max_units=6))
def test_what_the_form_tells_is_true_at_points(e):
    X = np.random.default_rng(0).uniform(-2, 2, (50, 2))
    own, other = (f.evaluate(X)[:, 0] for f in (e, mirrored(e, 0)))
    for odd, sign in ((False, 1.0), (True, -1.0)):
        if has_parity(e, 0, odd):
            assert own == pytest.approx(sign * other, rel=1e-9, nan_ok=True)
