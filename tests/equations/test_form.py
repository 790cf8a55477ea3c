"""A known form with parts to be learned: reading it, and solving it for a part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql.equations.expression import Expression
from ieql.equations.form import Form
from ieql.errors import IeqlError

NAMES = ("U", "I", "T", "n [1/min]")
X = np.random.default_rng(0).uniform(1.0, 3.0, (30, 4))


def values_of(form, seed=1):
    """Values of its parts and constants."""
    rng = np.random.default_rng(seed)
    return [rng.uniform(1, 2, len(X)) for _ in form.parts], rng.uniform(0.5, 1, len(form.constants))


def test_functions_that_are_no_units_are_parts_and_other_names_constants():
    form = Form.parse("U*I*f(T) + c*exp(-g(`n [1/min]`, T)) + 3", NAMES)
    assert [(p.name, p.inputs) for p in form.parts] == [
        ("f", ("T",)),
        ("g", ("n [1/min]", "T")),
    ]
    assert form.parts[1].label == "g(`n [1/min]`, T)"
    assert form.constants == ("c",)


def test_a_name_in_backticks_may_hold_an_equals_sign():
    form = Form.parse("log(`y=1`) = f(`a=b`)", ("a=b", "c"), "y=1")
    assert form.parts[0].inputs == ("a=b",)


SOLVABLE = [
    "U*I*f(T) + g(`n [1/min]`, T)",
    "a*exp(-b*f(T)) + U",
    "log(y) = f(T)",
    "1/y = 2*f(T) + g(U)",
    "sqrt(y) = U*f(T)",
    "2*y - 1 = f(T)",
    "f(T)*g(U)",
    "U/f(T)",
    "f(T)**2 + U",
    "sqrt(f(T) + U)",
    "log(f(T))*I",
    "U*f(T) + I*f(T)",
]


@pytest.mark.parametrize("text", SOLVABLE)
def test_a_part_is_what_makes_the_form_give_y(text):
    form = Form.parse(text, NAMES)
    parts, constants = values_of(form)
    y = form.evaluate(X, parts, constants)[0]
    for k in range(len(form.parts)):
        assert form.can_be_undone(k)
        found, slope = form.undone(k, X, y, parts, constants)
        np.testing.assert_allclose(found, parts[k], rtol=1e-7)
        moved = [v + 1e-6 * (j == k) for j, v in enumerate(parts)]
        by_hand = (form.evaluate(X, moved, constants)[0] - y) / 1e-6
        np.testing.assert_allclose(slope, by_hand, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("text", SOLVABLE)
def test_the_whole_equation_is_the_form_with_its_parts(text):
    form = Form.parse(text, NAMES)
    bodies = ("0.5*T + 1.5", "cos(U) + 2", "exp(-T)")
    parts = [Expression.parse(b, NAMES) for b in bodies[: len(form.parts)]]
    constants = np.linspace(0.5, 0.7, len(form.constants))
    values = [e.evaluate(X)[:, 0] for e in parts]
    whole = form.whole(parts, constants)
    expected = form.evaluate(X, values, constants)[0]
    np.testing.assert_allclose(whole.evaluate(X)[:, 0], expected, rtol=1e-9)


def test_a_factor_of_a_part_stands_in_front():
    form = Form.parse("U*I*f(T)", NAMES)
    whole = form.whole([Expression.parse("0.5*exp(-T)", NAMES)], [])
    assert whole.text() == "0.5*U*I*exp(-T)"


def test_where_no_value_of_the_part_gives_y_there_is_none():
    form = Form.parse("exp(f(T))", NAMES)
    found, slope = form.undone(0, X[:2], np.array([np.e, -1.0]), [np.ones(2)], np.zeros(0))
    assert found[0] == pytest.approx(1.0)
    assert np.isnan(found[1])
    assert slope[1] == 0.0


@pytest.mark.parametrize("text", ["cos(f(T))", "f(T)*f(T) + U", "f(T) + exp(f(T))"])
def test_some_places_cannot_be_solved_for(text):
    assert not Form.parse(text, NAMES).can_be_undone(0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("U*I", "no part to be learned"),
        ("f(2*T)", "names of columns"),
        ("f()", "names of columns"),
        ("f(T", "names of columns"),
        ("f(V)", "'V' is none"),
        ("f(T) + f(U)", "same inputs wherever"),
        ("f(T, T)", "names an input twice"),
        ("U(T)", "is a column"),
        ("y = f(T) = 3", "more than one '='"),
        ("cos(y) = f(T)", "cannot be undone"),
        ("y + exp(y) = f(T)", "cannot be solved for"),
        ("0*f(T) + U", "no influence"),
        ("f(T)**U", "exponent"),
        ("f(T) + ", "ends there"),
        ("f(T) + __import__('os')", "Cannot read"),
        (3, "must be a text"),
        (" + ".join(f"f{k}(T)" for k in range(7)), "at most 6"),
    ],
)
def test_what_cannot_be_read_is_told_in_a_sentence(text, sentence):
    with pytest.raises(IeqlError, match=sentence):
        Form.parse(text, NAMES)


@given(st.text(alphabet="fgUIT()+-*/^=,.`1 9eaylogxp", max_size=60))
def test_any_text_is_read_or_refused(text):
    """Nothing that is given as a form runs, hangs or ends in a traceback."""
    try:
        form = Form.parse(text, ("U", "I", "T"))
    except IeqlError:
        return
    assert form.parts


@pytest.mark.parametrize("text", ["(" * 3000 + "f(T)" + ")" * 3000, "f(T)*" * 40_000 + "1"])
def test_endless_texts_are_refused(text):
    with pytest.raises(IeqlError):
        Form.parse(text, NAMES)
