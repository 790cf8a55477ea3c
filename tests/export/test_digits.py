"""What is printed is the equation: read back, it has the values of `predict`."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fitted import model
from ieql.equations.expression import Expression
from ieql.export.latex import latex
from ieql.export.mathml import mathml, mathml_number, mathml_pieces
from ieql.export.numbers import decimal_text
from ieql.report.words import number, uncertain
from read_back import from_latex, from_mathml

NAMES = ("x1", "x2")
EQUATIONS = [
    # A denominator that nearly cancels: with four digits it is zero at x1 = 1.
    "(0.123456789*x1 + 2)/(x1**2 - 1.9999871234567*x1 + 1.00000234567)",
    "12345.6789*x1 - 12345.6788*x2 + 1.00000001",
    "-1.2345678e-7*exp(9.87654321*x1) + 2.3456789e8/(x2 + 1000.0001)",
    "3.00000001/(x1*x2 - 3.9999999 + 4) - (x1 - 1.0000001)**2*sqrt(x2 + 0.33333333)",
    "2.718281828*(x1 + 0.1234567)**1.73205081 + 1e-5*x2",
    "0.1*cos(6.28318530718*x1 + 0.785398163397) + log(1.4142135623*x2 + 1)*x1",
]
X = np.random.default_rng(0).uniform(0.9, 1.1, (50, 2))
X[0] = 1.0


def values(text):
    return Expression.parse(text, NAMES).evaluate(X)[:, 0]


@pytest.mark.parametrize("text", EQUATIONS)
@pytest.mark.parametrize(
    "printed",
    [
        str,
        lambda e: from_latex(latex(e)),
        lambda e: from_mathml(mathml(e, target="y")),
        lambda e: from_mathml(mathml_pieces(e, target="y")),
    ],
    ids=["text", "latex", "mathml", "mathml in pieces"],
)
def test_read_back_it_has_the_same_values(text, printed):
    e = Expression.parse(text, NAMES)
    np.testing.assert_allclose(values(printed(e)), e.evaluate(X)[:, 0], rtol=1e-9)


def test_rounding_for_the_eye_would_give_another_equation():
    e = Expression.parse(EQUATIONS[0], NAMES)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(values(e.text(precision=4)), e.evaluate(X)[:, 0], rtol=0.1)


def test_the_report_prints_the_equation_that_predicts():
    m = model(EQUATIONS, names=NAMES)
    page = m.report_html()
    for k in range(len(EQUATIONS)):
        expected = m.predict(X, index=k)
        # The selected equation stands in the page itself.
        template = page.partition(f'<template data-equation="0-{k}">')[2] or page
        typeset = re.search(r'<span class="equation".*?</span>', template, re.S)[0]
        spoken = re.search(r'aria-label="y = (.*?)"', typeset)[1]
        text, tex = re.findall(r"<pre[^>]*>y = (.*?)</pre>", template, re.S)[:2]
        row = page.partition(f'<tr role="row" data-show="0-{k}"')[2]
        short = re.search(r'<span class="equation".*?</span>', row, re.S)[0]
        label = re.search(rf'data-show="0-{k}" aria-pressed.*?aria-label="[^"]*: ([^"]*)"', page)[1]
        for shown in (from_mathml(typeset), spoken, text, from_latex(tex), from_mathml(short)):
            np.testing.assert_allclose(values(shown), expected, rtol=1e-9)
        np.testing.assert_allclose(values(label), expected, rtol=1e-9)
        for constant in m.expression(k).constants():
            assert number(abs(constant), None).partition("·")[0] in page


def test_the_model_prints_the_equation_that_predicts():
    m = model(EQUATIONS, names=NAMES)
    np.testing.assert_allclose(values(from_latex(m.latex())), m.predict(X), rtol=1e-9)
    assert len(m.latex(precision=3)) < len(m.latex())
    np.testing.assert_allclose(values(str(m.expression())), m.predict(X), rtol=1e-12)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_comes_back_as_it_was(value):
    assert float(decimal_text(value)) == value
    e = Expression.parse("x1", NAMES).with_constants([value, 1.0])
    assert float(from_latex(latex(e)).replace(" ", "").removeprefix("x1") or 0) == value
    assert float(from_mathml(f"<math>{mathml_number(value)}</math>")) == abs(value)


@given(st.floats(-1e9, 1e9), st.floats(1e-12, 1e9))
@example(value=1e6, error=1e-12)  # written as 10⁶ alone
def test_a_constant_with_its_error_comes_back_as_it_was(value, error):
    text = uncertain(value, error)
    found, _, power = text.replace("−", "-").partition(")·10")
    raised = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
    exponent = power.translate(str.maketrans(raised, "-0123456789"))
    constant = found.lstrip("(").partition(" ")[0]
    if set(raised) & set(constant):  # an error too small to stand beside it
        return
    assert float(f"{constant}e{exponent or 0}") == value
