"""SymPy text that SymPy reads back."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from exported import HOSTILE
from ieql.equations.expression import Expression, Sum
from ieql.export.sympy import sympy_text
from strategies import expressions


def written(text, names=("x", "y"), **options):
    return sympy_text(Expression.parse(text, names).to_sympy(), **options)


def test_plain_names_read_like_the_equation():
    assert written("0.1*x**2 - 1/3*y") == "0.1*x**2 - y/3"
    assert written("1e-20*exp(-2.5*x)") == "1e-20*exp(-2.5*x)"
    assert written("0.123456*x", digits=3) == "0.123*x"
    assert written("2.5") == "2.5"


@pytest.mark.parametrize("name", [*HOSTILE, "I", "N", "S", "beta", "lambda", "Symbol"])
def test_no_name_is_read_as_something_else(name):
    expression = Expression((name,), (), (Sum(1.5, (0,), (0.1,)),))
    form = expression.to_sympy()
    back = sympy.sympify(sympy_text(form))
    [symbol] = back.free_symbols
    assert symbol.name == name
    assert float(back.subs(symbol, 2)) == pytest.approx(1.7, rel=1e-15)
    rounded = sympy.sympify(sympy_text(form * 1.23456, digits=2))
    assert float(rounded.subs(next(iter(rounded.free_symbols)), 0)) == pytest.approx(1.9)


@settings(max_examples=100)
@given(expressions(max_units=5, constants=st.floats(-2, 2)))
def test_the_text_evaluates_to_the_same(expression):
    at = {"x1": 0.3, "x2": -0.7, "x3": 1.2}
    form = expression.to_sympy()
    forms = form, sympy.sympify(sympy_text(form))
    expected, found = (f.evalf(subs={s: at[s.name] for s in f.free_symbols}) for f in forms)
    if expected.is_finite and expected.is_real:
        assert float(found) == pytest.approx(float(expected), rel=1e-9, abs=1e-12)
