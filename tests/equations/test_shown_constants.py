"""The constants that a reader sees in an equation, and where each stands, in words."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import assume, given, settings

from ieql.equations.expression import Expression
from ieql.equations.notation import exact_number
from ieql.equations.shown_constants import places_in_words, shown_constants
from strategies import expressions

NAMES = ("x", "y", "t", "Re", "Pr")


def constants(text):
    e = Expression.parse(text, NAMES)
    found = shown_constants(e)
    return [(c.value, words) for c, words in zip(found, places_in_words(e, found), strict=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "2.4*exp(-0.5*t) + 0.3",
            [
                (2.4, "factor of exp(-0.5*t)"),
                (0.3, "offset"),
                (-0.5, "factor of t inside exp"),
            ],
        ),
        (
            "0.023*Re**0.8*Pr**0.4",
            [
                (0.023, "factor of Re**0.8*Pr**0.4"),
                (0.8, "exponent of Re"),
                (0.4, "exponent of Pr"),
            ],
        ),
        (
            "2*(3*x + 1.5)**1.7",
            [
                (2.0, "factor of (3*x + 1.5)**1.7"),
                (3.0, "factor of x inside the power"),
                (1.5, "offset inside the power"),
                (1.7, "exponent of (3*x + 1.5)"),
            ],
        ),
        (
            "2.5/(x + 1)",  # one constant before the fraction, not a weight and a numerator
            [(2.5, "factor of 1/(x + 1)"), (1.0, "offset in the denominator")],
        ),
        (
            "(1.1*x + 2.3)/(y + 0.5)",
            [
                (1.1, "factor of x in the numerator"),
                (2.3, "offset in the numerator"),
                (0.5, "offset in the denominator"),
            ],
        ),
        (
            "3*(x + 1)**2*(y - 2)",
            [
                (3.0, "factor of (x + 1)**2*(y - 2)"),
                (1.0, "offset inside the square"),
                (-2.0, "offset inside the product"),
            ],
        ),
        # Of two of a kind each is written out.
        (
            "1.7*cos(2*x) + 0.5*cos(3*x)",
            [
                (1.7, "factor of cos(2*x)"),
                (0.5, "factor of cos(3*x)"),
                (2.0, "factor of x inside cos(2*x)"),
                (3.0, "factor of x inside cos(3*x)"),
            ],
        ),
        (
            "y/(x + 2) - x/(y + 3)",
            [
                (2.0, "offset in the denominator of y/(x + 2)"),
                (3.0, "offset in the denominator of x/(y + 3)"),
            ],
        ),
        ("-7", [(-7.0, "offset")]),
        ("x*y - t**2", []),
        ("1/x", []),
    ],
)
def test_every_number_that_is_written_has_a_place(text, expected):
    assert constants(text) == expected


def test_a_logarithm_that_is_also_written_as_one_is_called_so():
    found = constants("2*(x + 3)**1.7 + log(x + 3)")
    assert (3.0, "offset inside log") in found


def test_errors_belong_to_their_constants():
    e = Expression.parse("2.4*exp(-0.5*t) + 0.3", NAMES)
    errors = [0.0] * len(e.constants())
    for k, value in enumerate(e.constants()):
        errors[k] = abs(value) / 10
    for c in shown_constants(e, errors):
        assert c.standard_error == pytest.approx(abs(c.value) / 10)
    assert all(math.isnan(c.standard_error) for c in shown_constants(e))
    assert all(math.isnan(c.standard_error) for c in shown_constants(e, errors[:2]))


def test_long_parts_are_cut_and_long_numbers_rounded():
    text = " + ".join(f"{k}.123456789012*x**2*y" for k in range(2, 9))
    e = Expression.parse(f"3*exp({text})", NAMES)
    found = shown_constants(e)
    assert max(map(len, places_in_words(e, found))) < 100
    e = Expression.parse("2*exp(0.12345678901234*x)", NAMES)
    found = shown_constants(e)
    assert places_in_words(e, found)[0] == "factor of exp(0.12345678901234*x)"
    assert places_in_words(e, found, shorten=True)[0] == "factor of exp(0.1235*x)"


NUMBER = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?![\w.])")


@settings(max_examples=150, deadline=None)
@given(expressions(n_inputs=2, max_units=5))
def test_what_is_listed_is_written_and_what_is_written_is_listed(e):
    found = shown_constants(e)
    listed = {abs(c.value) for c in found}
    assume(not any(map(exact_number, listed)))  # 1/3 is written with two numbers
    # Ones are above fractions, whole ones may be powers; a name such as x1 is no number.
    written = {float(n) for n in NUMBER.findall(e.text())}
    assert written - {float(n) for n in range(65)} <= listed
    assert listed <= written
    assert len(places_in_words(e, found)) == len(found)
