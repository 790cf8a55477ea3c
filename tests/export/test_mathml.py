"""MathML for the reader's browser."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ieql.equations.expression import Expression, Node, Sum
from ieql.errors import IeqlError
from ieql.export.mathml import (
    GREEK_LETTERS,
    mathml,
    mathml_name,
    mathml_number,
    mathml_pieces,
    mathml_source,
)
from ieql.units import UNITS, Unit
from strategies import expressions


def read(text, names=("x", "y", "I_D"), **options):
    """The words of the equation, in reading order, a space where two would touch."""
    return words(mathml(Expression.parse(text, names), **options))


def words(form):
    found = [e.text for e in ElementTree.fromstring(form).iter() if e.text]
    return "".join(w for w in found if w not in "\u2061\u2062")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x", "<mi>x</mi>"),
        ("x_12", "<msub><mi>x</mi><mn>12</mn></msub>"),
        ("I_D", "<msub><mi>I</mi><mi>D</mi></msub>"),
        ("T_rot", '<msub><mi>T</mi><mi mathvariant="normal">rot</mi></msub>'),
        ("alpha", "<mi>α</mi>"),
        ("Omega_1", "<msub><mi>Ω</mi><mn>1</mn></msub>"),
        ("a<b & c", '<mi mathvariant="normal">a&lt;b &amp; c</mi>'),
        ("\x00\ud800", '<mi mathvariant="normal">  </mi>'),
    ],
)
def test_names(name, expected):
    assert mathml_name(name) == expected


def test_every_greek_word_has_its_letter():
    assert GREEK_LETTERS["alpha"] == "α"
    assert GREEK_LETTERS["omega"] == "ω"
    assert GREEK_LETTERS["Gamma"] == "Γ"
    assert GREEK_LETTERS["Omega"] == "Ω"
    assert GREEK_LETTERS["rho"] == "ρ"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "<mn>0</mn>"),
        (-2.5, "<mn>2.5</mn>"),
        (0.123456789, "<mn>0.123456789</mn>"),
        (1e-5, "<msup><mn>10</mn><mrow><mo>−</mo><mn>5</mn></mrow></msup>"),
        (2e20, "<mn>2</mn><mo>·</mo><msup><mn>10</mn><mn>20</mn></msup>"),
        (123456.0, "<mn>123456</mn>"),
        (float("inf"), "<mi>∞</mi>"),
    ],
)
def test_numbers(value, expected):
    assert mathml_number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(0.123456, "<mn>0.1235</mn>"), (123456.0, "<mn>123500</mn>")]
)
def test_numbers_rounded_on_request(value, expected):
    assert mathml_number(value, 4) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", "0"),
        ("-x", "−x"),
        ("x - y - 1", "x−y−1"),
        ("0.123456*x + 2", "0.123456x+2"),
        ("2*x**2", "2x2"),
        ("(x + 1)**2", "(x+1)2"),
        ("x*(y + 1)", "x(y+1)"),
        ("3/x", "3x"),
        ("-3/(x + y)", "−3x+y"),
        ("exp(-x)*cos(y)", "exp(−x)cos(y)"),
        ("cos(x)**2", "cos2(x)"),
        ("sqrt(x + 1)", "x+1"),
        ("2*x**1.7", "2x1.7"),
        ("x**-0.3", "x−0.3"),
        ("sqrt((x - y)**2)", "|x−y|"),
    ],
)
def test_reading_order(text, expected):
    assert read(text) == expected


def test_the_layout_is_said_in_elements():
    form = mathml(Expression.parse("sqrt(x)/(y + 1)", ["x", "y"]))
    assert re.search(r"<mfrac><mrow><msqrt>.*</msqrt></mrow><mrow>.*</mrow></mfrac>", form)


def test_left_hand_side_and_text_for_those_who_do_not_see():
    form = mathml(Expression.parse("2*x", ["x"]), target='P "mod"')
    assert words(form) == 'P "mod"=2x'
    assert ElementTree.fromstring(form).get("alttext") == 'P "mod" = 2*x'


def test_precision():
    assert read("0.123456*x", precision=2) == "0.12x"


def test_in_pieces_a_line_can_end_after_the_left_hand_side_and_after_each_term():
    e = Expression.parse("-x + 2*y - 3*I_D + 4*x*y", ["x", "y", "I_D"])
    form = mathml_pieces(e, target="P [kW]")
    pieces = ElementTree.fromstring(form).findall("math")
    assert ["".join(p.itertext()) for p in pieces][:3] == ["P [kW]=", "−x", "+2⁢y"]
    assert len(pieces) == 1 + 4
    assert words(form) == words(mathml(e, target="P [kW]"))
    # The whole is one formula to those who do not see it.
    whole = ElementTree.fromstring(form)
    assert whole.get("role") == "math"
    assert whole.get("aria-label") == f"P [kW] = {e.text()}"


def test_one_source_alone():
    e = Expression.parse("2*cos(x) + y", ["x", "y"])
    assert words(mathml_source(e, 2)) == "cos(x)"
    assert words(mathml_source(e, 1)) == "y"


def test_names_that_look_the_same_are_told_apart():
    assert read("x1 + x_1", names=("x1", "x_1")) == "x1+x_1"


def test_markup_in_names_stays_text():
    name = "<script>alert(1)</script>"
    form = mathml(Expression(("a", name), (), (Sum(0.0, (1,), (2.0,)),)), target=name)
    assert "<script" not in form
    assert words(form) == f"{name}=2{name}"


def test_user_defined_units_are_written_by_their_name_or_their_own_template():
    unit = {"value": np.cbrt, "derivatives": lambda z: 1 / (3 * np.cbrt(z) ** 2)}
    plain = Unit("cbrt", **unit)
    own = Unit("cbrt", **unit, templates={"mathml": "<mroot>{0}<mn>3</mn></mroot>"})
    forms = [mathml(Expression.parse("2*cbrt(x)", ["x"], {"cbrt": u})) for u in (plain, own)]
    assert words(forms[0]) == "2cbrt(x)"
    assert "<mroot><mrow><mi>x</mi></mrow><mn>3</mn></mroot>" in forms[1]


def test_what_would_grow_without_end_is_refused():
    node = UNITS["mul"]
    nodes = tuple(Node(node, (Sum(0.0, (k,), (1.0,)), Sum(0.0, (k,), (1.0,)))) for k in range(40))
    with pytest.raises(IeqlError, match="longer than"):
        mathml(Expression(("x",), nodes, (Sum(0.0, (40,), (1.0,)),)))


@settings(max_examples=60)
@given(expressions(), st.integers(1, 8))
def test_it_is_always_well_formed(expression, precision):
    ElementTree.fromstring(mathml(expression, precision=precision, target="y"))
    ElementTree.fromstring(mathml_pieces(expression, precision=precision, target="y"))
