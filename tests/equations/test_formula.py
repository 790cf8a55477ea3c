"""A formula of one's own: names that are no columns are constants, wherever they stand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ieql.equations.expression import Expression
from ieql.equations.formula import Formula
from ieql.errors import IeqlError

T = np.linspace(0.1, 5.0, 60)


def test_what_is_no_column_is_a_constant():
    formula = Formula.parse("a*exp(-t/tau) + pi*b*`n [1/min]`", ["t", "n [1/min]"])
    assert formula.constants == ("a", "tau", "b")
    filled = formula.filled([2.0, 4.0, 0.5])
    assert filled == Expression.parse("2*exp(-t/4) + 0.5*pi*`n [1/min]`", filled.names)


def test_slopes_are_derivatives():
    formula = Formula.parse("a*t**n/(b + log(t + c)**2) + sin(w*t)*a", ["t"])
    values = np.array([1.3, 0.7, 2.0, 1.5, 0.4])
    X = T[:, None]
    _, slopes = formula.evaluate(X, values)
    for j in range(len(values)):
        step = 1e-6 * np.eye(len(values))[j]
        above, below = (formula.evaluate(X, values + s)[0] for s in (step, -step))
        np.testing.assert_allclose(slopes[:, j], (above - below) / 2e-6, rtol=1e-5, atol=1e-7)


def test_many_rows_are_evaluated_in_blocks():
    t = np.linspace(0.1, 5.0, 45_000)
    formula, values = Formula.parse("a*exp(-t/tau)", ["t"]), np.array([3.0, 1.5])
    y, slopes = formula.evaluate(t[:, None], values)
    np.testing.assert_allclose(y, 3.0 * np.exp(-t / 1.5))
    np.testing.assert_allclose(slopes[:, 0], np.exp(-t / 1.5))


@given(st.text(alphabet="abt0123456789.+-*/^()`,_ \n'expsinlog", max_size=40))
def test_any_text_is_read_or_refused(text):
    """No text runs as code, hangs, or ends in anything but a sentence."""
    try:
        formula = Formula.parse(text, ["t"])
        value, slopes = formula.evaluate(T[:5, None], np.ones(len(formula.constants)))
    except IeqlError:
        return
    assert value.shape == (5,)
    assert slopes.shape == (5, len(formula.constants))
