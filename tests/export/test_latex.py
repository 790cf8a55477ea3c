"""LaTeX for the reader."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exported import HOSTILE
from ieql.equations.expression import Expression, Node, Sum
from ieql.errors import IeqlError
from ieql.export.latex import latex, latex_name
from ieql.units import UNITS, Unit
from strategies import endless, expressions


def written(text, names=("x1", "x2", "I_D"), **options):
    return latex(Expression.parse(text, names), **options)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x", "x"),
        ("x1", "x_{1}"),
        ("x_1", "x_{1}"),
        ("x12", "x_{12}"),
        ("I_D", "I_{D}"),
        ("T_rotor", r"T_{\mathrm{rotor}}"),
        ("I_D1", r"I_{\mathrm{D1}}"),
        ("alpha", r"\alpha"),
        ("lambda2", r"\lambda_{2}"),
        ("Omega_max", r"\Omega_{\mathrm{max}}"),
        ("Alpha", r"\mathrm{Alpha}"),  # looks like an A: LaTeX has no such command
        ("speed", r"\mathrm{speed}"),
        ("motor_speed", r"\mathrm{motor\_speed}"),
        ("n [1/min]", r"\mathrm{n\ [1/min]}"),
        ("50 % & $ # {a}", r"\mathrm{50\ \%\ \&\ \$\ \#\ \{a\}}"),
        ("a\\b^c~d", r"\mathrm{a\backslash{}b\wedge{}c\sim{}d}"),
        ("p-q", r"\mathrm{p{-}q}"),
        ("a\tb\n", r"\mathrm{a\ b\ }"),
        ("Größe", r"\mathrm{Größe}"),
        ("nul\0\u202e", r"\mathrm{nul<U+0000><U+202E>}"),
    ],
)
def test_names(name, expected):
    assert latex_name(name) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", "0"),
        ("x1", "x_{1}"),
        ("-x1", "-x_{1}"),
        ("x1 - x2 - 1", "x_{1} - x_{2} - 1"),
        ("0.5*x1", r"0.5 \, x_{1}"),
        ("0.123456789*x1", r"0.123456789 \, x_{1}"),
        ("1.00001*x1 - 0.99999*x2", r"1.00001 \, x_{1} - 0.99999 \, x_{2}"),
        ("1e-5*x1", r"10^{-5} \, x_{1}"),
        ("-1e-5*x1", r"-10^{-5} \, x_{1}"),
        ("1.5e-5*x1 + 1", r"1.5 \cdot 10^{-5} \, x_{1} + 1"),
        ("123456", "123456"),
        ("1234567", "1234567"),
        ("1200000", r"1.2 \cdot 10^{6}"),
        ("2000", "2000"),
        ("x1**2", "x_{1}^{2}"),
        ("I_D**2", "I_{D}^{2}"),
        ("(x1 + 1)**2", r"\left(x_{1} + 1\right)^{2}"),
        ("(-x1)**2", r"\left(-x_{1}\right)^{2}"),
        ("(x1**2)**2", r"x_{1}^{4}"),
        ("(x1*x2)**2", r"\left(x_{1} \, x_{2}\right)^{2}"),
        ("cos(x1)**2", r"\cos^{2}\left(x_{1}\right)"),
        ("exp(x1)**2", r"\left(\exp\left(x_{1}\right)\right)^{2}"),
        ("x1*x2", r"x_{1} \, x_{2}"),
        ("2*x1*(x2 + 1)", r"2 \, x_{1} \, \left(x_{2} + 1\right)"),
        ("x1*(x2*I_D)", r"x_{1} \, x_{2} \, I_{D}"),
        ("x1*x2**2", r"x_{1} \, x_{2}^{2}"),
        ("1/x1", r"\frac{1}{x_{1}}"),
        ("-2/x1 - 3/x2", r"-\frac{2}{x_{1}} - \frac{3}{x_{2}}"),
        ("1e-5/x1", r"\frac{10^{-5}}{x_{1}}"),
        ("2*(x1 + 1)/(x2 - 1)", r"2 \, \frac{x_{1} + 1}{x_{2} - 1}"),
        ("2*x1/x2", r"2 \, \frac{x_{1}}{x_{2}}"),
        ("sqrt(x1 + 1)", r"\sqrt{x_{1} + 1}"),
        ("3*sin(2*x1) + log(x2)", r"3 \, \sin\left(2 \, x_{1}\right) + \log\left(x_{2}\right)"),
        ("2*identity(x1 + 1)", r"2 \, \left(x_{1} + 1\right)"),
        ("x2*identity(x1)", r"x_{2} \, x_{1}"),
        ("2*x1**1.5", r"2 \, x_{1}^{1.5}"),
        ("(x1 + 1)**-0.3", r"\left(x_{1} + 1\right)^{-0.3}"),
        ("sqrt((x1 - x2)**2)", r"\left|x_{1} - x_{2}\right|"),
    ],
)
def test_formulas(text, expected):
    assert written(text) == expected


def test_rounded_on_request():
    assert written("0.123456*x1 + 123456", precision=4) == r"0.1235 \, x_{1} + 1.235 \cdot 10^{5}"
    assert written("1.00001*x1 - 0.99999*x2", precision=4) == "x_{1} - x_{2}"


def test_the_papers_electric_machine_formula():
    text = "0.0082685*I_D**2 + 0.0082685*I_Q**2"
    expected = r"P_{\mathrm{loss}} = 0.00827 \, \left(I_{D}^{2} + I_{Q}^{2}\right)"
    assert written(text, ["I_D", "I_Q"], precision=3, target="P_loss") == expected


def test_fractions_and_multiples_of_pi_are_written_as_such():
    assert written("2/3*x1 + 2*pi*x2 - pi/4", ["x1", "x2"]) == (
        r"\frac{2}{3} \, x_{1} + 2 \pi \, x_{2} - \frac{\pi}{4}"
    )
    assert written("6.283185307179586*pi", ["pi"]) == r"6.283185307179586 \, \pi"


def test_the_output_and_the_target_are_chosen():
    expression = Expression(("x",), (), (Sum(0.0, (0,), (2.0,)), Sum(5.0)))
    assert latex(expression, output=1, target="motor torque") == r"\mathrm{motor\ torque} = 5"


def test_names_that_would_look_the_same_are_written_out():
    names = ["x1", "x_1", "x2"]
    assert written("x1 + x_1 + x2", names) == r"\mathrm{x1} + \mathrm{x\_1} + x_{2}"


def test_user_defined_units():
    tanh = Unit("my_tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    expression = Expression.parse("2*my_tanh(x1 - 1)", ["x1"], {"my_tanh": tanh})
    assert latex(expression) == r"2 \, \operatorname{my\_tanh}\left(x_{1} - 1\right)"


def test_expressions_that_are_not_canonical():
    """Fitted constants may have made a numerator other than 1, or be no numbers at all."""
    quotient = Expression(
        ("x",), (Node(UNITS["div"], (Sum(-2.0), Sum(0.0, (0,), (1.0,)))),), (Sum(0, (1,), (3.0,)),)
    )
    assert latex(quotient) == r"-\frac{6}{x}"
    zero = Expression(("x",), (), (Sum(1.0, (0,), (0.0,)),))
    assert latex(zero) == "1"
    broken = Expression(("x",), (), (Sum(-np.inf, (0,), (np.nan,)),))
    assert latex(broken) == r"\mathrm{nan} \, x - \infty"


@settings(max_examples=100)
@given(expressions(max_units=6), st.integers(1, 17))
def test_braces_and_brackets_are_balanced_and_no_coefficient_is_one(expression, precision):
    text = latex(expression, precision=precision)
    assert text.count("{") == text.count("}")
    assert text.count(r"\left(") == text.count(r"\right)")
    assert not re.search(r"(?<![\d.])1 \\[,c]", text)
    assert not re.search(r"[+-] [+-]|\de[+-]?\d|\{\}", text)


def test_a_text_that_no_one_reads_is_refused():
    with pytest.raises(IeqlError, match=r"^The equation is longer than 1000000 characters\.$"):
        latex(endless())


# --- parts with a name ---------------------------------------------------------------------------


def test_a_part_that_comes_twice_gets_a_name():
    text = "exp(2*x1 + 0.5*x2)/(1 + exp(2*x1 + 0.5*x2))"
    assert written(text, target="y", substitutions=True) == (
        r"""\begin{aligned}
z_{1} &= \exp\left(2 \, x_{1} + 0.5 \, x_{2}\right) \\
y &= \frac{z_{1}}{z_{1} + 1}
\end{aligned}"""
    )
    assert r"& \frac{z_{1}}" in written(text, substitutions=True)


def test_a_part_with_a_name_is_treated_like_an_input():
    """No brackets around it, and no looking into it."""
    text = "cos(x1 + 2*x2 - 3*I_D)**2 + 2*(1/(x1 + x2 + I_D)) - (1/(x1 + x2 + I_D))**2"
    text += " + 3*cos(x1 + 2*x2 - 3*I_D)"
    assert written(text, substitutions=True).splitlines() == [
        r"\begin{aligned}",
        r"z_{1} &= \cos\left(x_{1} + 2 \, x_{2} - 3 \, I_{D}\right) \\",
        r"z_{2} &= \frac{1}{x_{1} + x_{2} + I_{D}} \\",
        r"& z_{1}^{2} + 2 \, z_{2} - z_{2}^{2} + 3 \, z_{1}",
        r"\end{aligned}",
    ]


@pytest.mark.parametrize(
    "text", ["x1", "x1**2 + 1/x1**2", "sqrt(x1) + x2/sqrt(x1)", "exp(x1 + x2)"]
)
def test_nothing_is_named_where_it_would_not_be_shorter(text):
    assert written(text, substitutions=True) == written(text)


def test_a_very_long_part_has_a_line_of_its_own():
    names = [f"x{i}" for i in range(40)]
    inner = " + ".join(f"0.{i}*{n}" for i, n in enumerate(names, start=11))
    lines = written(f"2*exp({inner}) + 1", names, substitutions=True).splitlines()
    assert lines[2] == r"& 2 \, z_{1} + 1"
    # But not if it is all there is.
    assert "aligned" not in written(f"exp({inner})", names, substitutions=True)


def test_the_names_of_parts_are_new():
    text = "exp(2*z1 + 0.5*u_2)/(1 + exp(2*z1 + 0.5*u_2))"
    assert r"w_{1} &= \exp" in written(text, ["z1", "u_2"], target="v1", substitutions=True)


def expanded(text):
    """The equation with the named parts put in again, each in brackets."""
    *parts, equation = text.splitlines()[1:-1]
    pairs = [part.removesuffix(r" \\").split(" &= ", maxsplit=1) for part in parts]
    equation = equation.removeprefix("& ")
    for name, value in reversed(pairs):
        equation = equation.replace(name, f"<{value}>")
    return equation


@settings(max_examples=200)
@given(expressions(max_units=8))
def test_named_parts_are_shorter_complete_and_defined_before_use(expression):
    text = latex(expression, substitutions=True)
    plain = latex(expression)
    if "aligned" not in text:
        assert text == plain
        return
    lines = text.splitlines()[1:-1]
    seen = set()
    for line in lines:
        left, _, right = line.partition("&")
        mentioned = set(re.findall(r"z_\{\d+\}", right))
        assert mentioned <= seen
        seen.add(left.strip())
    assert f"z_{{{len(lines)}}}" not in text
    # Each name is used, and the same inputs and units are still there.
    assert all(
        len(re.findall(re.escape(f"z_{{{k + 1}}}"), text)) > 1 for k in range(len(lines) - 1)
    )
    whole = expanded(text)
    assert set(re.findall(r"x_\{\d\}|\\\w+", whole)) <= set(re.findall(r"x_\{\d\}|\\\w+", plain))
    shared = [line for line in lines[:-1] if len(line) <= 160]
    assert len(text) < len(plain) + 60 or len(shared) < len(lines) - 1


# --- names that bite -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_names(name):
    """One group of balanced braces, on one line, without a bare special character."""
    text = latex_name(name)
    plain = re.sub(r"\\(?:backslash|wedge|sim)\{\}|\\[#$%&_{} ]|\{-\}", "", text)
    assert plain.count("{") == plain.count("}") <= 2
    assert not re.search(r"[#$%&~^\n]", plain)
    assert set(re.findall(r"\\\w+", plain)) <= {r"\mathrm", r"\lambda", r"\pi"}
