"""The text form of expressions: written, read, and refused with a reason."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ieql.equations import text as text_module
from ieql.equations.builder import Builder
from ieql.equations.expression import Expression, Node, Sum
from ieql.equations.text import is_writable, write_name
from ieql.errors import IeqlError
from ieql.prior import Prior
from ieql.units import EXP, SQUARE, TANH, UNITS, Unit
from strategies import endless, expressions

NAMES = ("x1", "x2", "x3")
POINT = np.array([[0.5, 2.0, -3.0]])


def parse(text, names=NAMES):
    return Expression.parse(text, names)


def value(text):
    return float(parse(text).evaluate(POINT)[0, 0])


# --- round trips -------------------------------------------------------------------------------


@settings(max_examples=200)
@given(expressions())
def test_the_text_reads_back_as_the_same_expression(expression):
    text = expression.text()
    again = parse(text)
    assert again == expression
    assert again.text() == text
    X = np.random.default_rng(0).uniform(-3, 3, (20, 3))
    np.testing.assert_array_equal(again.evaluate(X), expression.evaluate(X))


@settings(max_examples=100)
@given(
    expressions(constants=st.floats(allow_nan=False, allow_infinity=False), max_units=3),
)
def test_every_constant_is_kept_to_the_last_bit(expression):
    assert parse(expression.text()) == expression


@settings(max_examples=100)
@given(st.data(), st.lists(st.text(max_size=8), min_size=2, max_size=2, unique=True))
def test_any_name_can_be_written(data, names):
    expression = data.draw(expressions(names=names, max_units=3))
    assert Expression.parse(expression.text(), names) == expression


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("speed", "speed"),
        ("I_D", "I_D"),
        ("θ", "θ"),
        ("n [1/min]", "`n [1/min]`"),
        ("a`b", "`a``b`"),
        ("`", "````"),
        ("``", "``````"),
        (" ", "` `"),
        ("x²", "x²"),
        ("2nd", "`2nd`"),
        ("cos", "`cos`"),
        ("", "``"),
    ],
)
def test_names_stand_in_backticks_where_they_must(name, written):
    assert write_name(name) == written
    assert Expression.parse(f"2*{written} + 1", [name]).text() == f"2*{written} + 1"


def test_a_column_may_bear_the_name_of_a_unit():
    expression = Expression.parse("cos(`cos`) + cos", ["cos"])
    assert expression.unit_counts() == {"cos": 1}
    assert expression.text() == "cos(`cos`) + `cos`"


def test_user_defined_units():
    bend = Unit("bend", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    expression = Expression.parse("2*bend(x - 1)", ["x"], {"bend": bend})
    assert expression.text() == "2*bend(x - 1)"
    assert expression.evaluate(np.array([[1.0]])) == 0.0
    with pytest.raises(IeqlError, match="There is no unit 'bend'"):
        Expression.parse("2*bend(x - 1)", ["x"])


def test_a_unit_of_ones_own_goes_before_one_of_the_table():
    tanh = Unit("tanh", np.arctan, lambda z: 1 / (1 + z**2))
    assert Expression.parse("tanh(x)", ["x"], {"tanh": tanh}).nodes[0].unit is tanh
    assert Expression.parse("tanh(x)", ["x"]).nodes[0].unit is TANH


def test_columns_may_have_the_names_of_units_of_machines():
    expression = Expression.parse("2*step*max(min, 3) + power", ["step", "min", "power"])
    assert expression.inputs_used == ("step", "min", "power")
    assert Expression.parse(expression.text(), expression.names) == expression
    assert "`" not in expression.text()


def test_an_absolute_value_is_a_unit_only_where_a_prior_names_it():
    named = Prior.of("engineering").named_units
    assert Expression.parse("abs(x - 1)", ["x"], named).unit_counts() == {"abs": 1}
    assert Expression.parse("abs(x - 1)", ["x"]).unit_counts() == {"square": 1, "sqrt": 1}
    again = Expression.parse("abs(x - 1) + sqrt(x**2)", ["x"], named)
    assert again.text() == "abs(x - 1) + sqrt(x**2)"


# --- what is written ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-3",
        "0.1",
        "1e-05*x1",
        "x1",
        "-x1",
        "x1 - x2 - 1",
        "0.5*x1*cos(2*x2 + 1)/(x3**2 + 1) - 3",
        "1/x1",
        "-0.5/x1",
        "2/x1*x2",
        "1/x1/x2",
        "x1/(x2/x3)",
        "x1*(x2*x3)",
        "x1*x2**2",
        "x1/x2**2",
        "x1**4",
        "x1**5*x2",
        "(x1 + 1)**3",
        "(x1**1.5)**2",
        "x1**64",
        "(x1**64)**2",
        "(x1*x2)**2",
        "x1**1.5*x2**0.3*exp(-0.5*x3)",
        "2.5*(1 - exp(-x1))",
        "-2.5*(x1 + x2 + 1)",
        "2*x1 + 2",
        "1 - x1 - 2*x2",
        "x1/3 + 2*x1*x2/3 - 2*x1/x2/3 + 1/3",
        "2*pi*x1 + cos(pi*x2/2 - 3*pi/4) + pi",
        "x1**(2/3) + (x1 + pi)**-1.5",
        "(-x1)*x2",
        "(x1 + 1)*(x2 - 1)",
        "sqrt(x1)**2 + exp(-x2) - log(3*x3)",
        "identity(x1 + 1)",
        "log(-1)",
        "x1**1.5",
        "2*x1**0.3*x2",
        "(x1 + 1)**-1.7",
        "(2*x1)**1e-05",
        "exp(0.5*log(x1))",
        "exp(-2*log(x1))",
        "exp(1.5*log(x1) + 1)",
    ],
)
def test_texts_that_stay_as_they_are(text):
    assert parse(text).text() == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("  x1+x2 ", "x1 + x2"),
        ("x1 + x1", "2*x1"),
        ("x1 - x1", "0"),
        ("x2 + 1 + x1", "x2 + x1 + 1"),
        ("x1*2*x2/4", "0.5*x1*x2"),
        ("2*(x1 + 1)", "2*x1 + 2"),
        ("(x1 + 1)/2", "0.5*(x1 + 1)"),
        ("-(x1 - 2)", "2 - x1"),
        ("x1 - -x2", "x1 + x2"),
        ("x1 + -+-x2", "x1 + x2"),
        ("x1*-x2", "x1*(-x2)"),
        ("-x1**2", "-x1**2"),
        ("-x1*x2", "-x1*x2"),
        ("x1^2", "x1**2"),
        ("x1**1", "x1"),
        ("x1**0", "1"),
        ("x1*x1*x1", "x1*x1*x1"),
        ("exp(x1)*exp(x2)", "exp(x1 + x2)"),
        ("exp(x1 + 0.3*log(x2))", "x2**0.3*exp(x1)"),
        ("x1**0.5", "sqrt(x1)"),
        ("x1**-1", "1/x1"),
        ("x1**(-2)", "1/x1**2"),
        ("x1**-0.5", "1/sqrt(x1)"),
        ("x1**2**2", "x1**4"),
        ("2**3", "8"),
        ("cos(0)", "1"),
        ("3*exp(0)*x1", "3*x1"),
        ("mul(x1, x2)", "x1*x2"),
        ("div(2, x1)", "2/x1"),
        ("square(x1)", "x1**2"),
        ("0*cos(x1)", "0"),
        (".5*x1 + 2.", "0.5*x1 + 2"),
        ("1E3*x1", "1000*x1"),
    ],
)
def test_texts_that_become_canonical(text, written):
    assert parse(text).text() == written
    assert parse(written) == parse(text)


def test_values_follow_the_usual_order_of_operations():
    assert value("-x1**2") == -0.25
    assert value("2*x1**2") == 0.5
    assert value("x1 - x2 - x3") == 1.5
    assert value("x2/x1/x3") == 2.0 / 0.5 / -3.0
    assert value("x2/x1*x3") == -12.0
    assert value("x2**3") == 8.0
    assert value("x3**5") == -243.0
    assert value("x2**-2") == 0.25
    assert value("x2**2**3") == 256.0


def test_a_power_is_an_exponential_of_a_logarithm():
    """A whole exponent and a root have units of their own; any other power is written as one."""
    power = Expression.parse("3*x1**1.7", ("x1",))
    assert power == Expression.parse("3*exp(1.7*log(x1))", ("x1",))
    assert power.unit_counts() == {"log": 1, "exp": 1}
    assert power.evaluate(np.array([[4.0]]))[0, 0] == pytest.approx(3 * 4**1.7)


def test_shared_parts_are_shared():
    expression = parse("x1*cos(x2) + cos(x2)")
    assert expression.unit_counts() == {"cos": 1, "mul": 1}
    assert expression.text() == "x1*cos(x2) + cos(x2)"


def test_precision_is_for_reading():
    expression = parse("0.123456789*x1 + 0.99999999*x2 - 1.00000001*cos(12345678*x3)")
    assert expression.text(precision=3) == "0.123*x1 + x2 - cos(1.23e+07*x3)"
    assert str(expression) == expression.text()
    assert "0.99999999*x2" in str(expression)


def test_expressions_that_are_not_canonical_are_written_truly():
    """New constants may make a numerator other than 1, and a factor may be constant."""
    expression = parse("3/x1 + x2*x3 + cos(x2)")
    theta = expression.constants()
    theta[0] = -2.0  # the numerator
    other = expression.with_constants(theta)
    np.testing.assert_array_equal(parse(other.text()).evaluate(POINT), other.evaluate(POINT))
    factor = Node(UNITS["mul"], (Sum(-2.0), Sum(1.0, (0,), (3.0,))))
    product = Expression(NAMES, (factor,), (Sum(0.0, (3,), (-1.0,)),))
    assert product.text() == "-(-2)*(3*x1 + 1)"
    np.testing.assert_array_equal(parse(product.text()).evaluate(POINT), product.evaluate(POINT))


def test_constants_that_are_not_finite_can_be_shown():
    assert parse("2*x1 + 1").with_constants([np.inf, np.nan]).text() == "nan*x1 + inf"


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Expected a number, a name or a bracket but the equation ends there."),
        ("   ", "Expected a number, a name or a bracket but the equation ends there."),
        ("x1 +", "Expected a number, a name or a bracket but the equation ends there."),
        ("x1 **", "Expected a number, a name or a bracket but the equation ends there."),
        (
            "x1 + * x2",
            "Expected a number, a name or a bracket but found '*' at character 6 of the equation.",
        ),
        (
            "cos()",
            "Expected a number, a name or a bracket but found ')' at character 5 of the equation.",
        ),
        ("(x1 + 1", "Expected ')' but the equation ends there."),
        ("cos(x1", "Expected ')' but the equation ends there."),
        ("(x1, x2)", "Expected ')' but found ',' at character 4 of the equation."),
        ("x1 x2", "Expected an operator but found 'x2' at character 4 of the equation."),
        ("2x1", "Expected an operator but found 'x1' at character 2 of the equation."),
        ("2 `x1`", "Expected an operator but found 'x1' at character 3 of the equation."),
        ("x1)", "Expected an operator but found ')' at character 3 of the equation."),
        ("x1 + $x2", "Cannot read '$x2' at character 6 of the equation."),
        ("x1 = 2", "Cannot read '= 2' at character 4 of the equation."),
        ("`x1", "Cannot read '`x1' at character 1 of the equation."),
        ("x1 + x4", "There is no input 'x4'. Did you mean 'x3'?"),
        ("speed", "There is no input 'speed'."),
        ("cos x1", "There is no input 'cos'."),
        ("coss(x1)", "There is no unit 'coss'. Did you mean 'cos'?"),
        ("x1(2)", "There is no unit 'x1'."),
        ("cos(x1, x2)", "Unit 'cos' takes 1 argument, not 2."),
        ("div(x1)", "Unit 'div' takes 2 arguments, not 1."),
        ("x1/0", "The equation divides by zero."),
        ("x1/(2 - 2)", "The equation divides by zero."),
        ("x1/(x2 - x2)", "The equation divides by zero."),
        ("div(x1, 0)", "The equation divides by zero."),
        ("0**-1", "The equation divides by zero."),
        ("x1**x2", "An exponent must be a number."),
        ("x1**65", "The exponent 65 cannot be read: whole ones go up to 64."),
        ("1e999*x1", "The number 1e999 is too large."),
        ("1e300*1e300*x1", "A number of the equation is too large."),
        ("1e308*x1 + 1e308*x1", "A number of the equation is too large."),
        ("x1/1e-320", "A number of the equation is too large."),
        ("__import__('os')", "Cannot read \"'os')\" at character 12 of the equation."),
        ("__import__(os)", "There is no unit '__import__'."),
        ("x1.real", "Cannot read '.real' at character 3 of the equation."),
        ("exec(x1)", "There is no unit 'exec'. Did you mean 'exp'?"),
        ("[x1 for x1 in x2]", "Cannot read '[x1 for x1' at character 1 of the equation."),
    ],
)
def test_each_refusal_says_what_and_where(text, sentence):
    with pytest.raises(IeqlError, match=f"^{re.escape(sentence)}$"):
        parse(text)


@settings(max_examples=300)
@given(
    st.lists(
        st.sampled_from([*"+-*/^(),.`$ ", "**", "x1", "x2", "cos", "div", "2", "0", "1e300", "0.5"])
    ).map("".join)
)
def test_whatever_is_typed_is_read_or_refused(text):
    try:
        expression = parse(text)
    except IeqlError:
        return
    assert parse(expression.text()) == expression


@pytest.mark.parametrize(
    "text",
    [
        "(" * 101 + "x1" + ")" * 101,
        "cos(" * 150 + "x1" + ")" * 150,
        "x1" + "**2" * 150,
        "(" * 100_000,
    ],
)
def test_nesting_is_limited(text):
    with pytest.raises(IeqlError, match=r"^The equation is nested more than 100 levels deep\.$"):
        parse(text)


def test_deep_enough_for_any_equation():
    assert parse("(" * 99 + "x1" + ")" * 99).text() == "x1"
    assert parse("-" * 10_001 + "x1").text() == "-x1"


def test_length_is_limited(monkeypatch):
    with pytest.raises(IeqlError, match=r"^The equation is longer than 1000000 characters\.$"):
        parse("1+" * 500_001 + "1")
    monkeypatch.setattr(text_module, "MAX_NODES", 20)
    with pytest.raises(IeqlError, match=r"^The equation has more than 20 units\.$"):
        parse("*".join(["x1"] * 30))


def test_an_input_may_be_called_pi():
    expression = Expression.parse("2*pi + 1", ["pi"])
    assert expression.inputs_used == ("pi",)
    turned = expression.with_constants([1.0, 2 * np.pi])
    assert turned.text() == "6.283185307179586*pi + 1"
    assert Expression.parse(turned.text(), ["pi"]) == turned


def test_the_root_of_a_square_is_an_absolute_value():
    expression = Expression.parse("2*sqrt((x1 - 3)**2) + abs(x2)", ["x1", "x2"])
    assert expression.text() == "2*abs(x1 - 3) + abs(x2)"
    assert Expression.parse(expression.text(), ["x1", "x2"]) == expression
    np.testing.assert_allclose(expression.evaluate(np.array([[1.0, -2.0]])), [[6.0]])
    with pytest.raises(IeqlError, match=r"^Expected '\)' but found ',' at character 7 of the"):
        parse("abs(x1, x2)")


def test_a_unit_of_ones_own_may_be_called_abs():
    own = {"abs": Unit("abs", np.abs, np.sign, c="fabs({0})")}
    expression = Expression.parse("abs(x1) + sqrt(x1**2)", ["x1"], own)
    assert expression.text() == "abs(x1) + sqrt(x1**2)"
    assert Expression.parse(expression.text(), ["x1"], own) == expression


def test_an_input_may_be_called_abs():
    expression = Expression.parse("abs(`abs`) + 1", ["abs"])
    assert expression.text() == "abs(`abs`) + 1"
    assert Expression.parse(expression.text(), ["abs"]) == expression


def test_a_small_graph_may_have_too_long_a_text():
    """Every product writes what it is made of twice; shared, the graph stays small."""
    expression = endless()
    assert len(expression.nodes) < 30
    with pytest.raises(IeqlError, match=r"^The equation is longer than 1000000 characters\.$"):
        expression.text()


def test_a_long_product_is_no_deep_recursion():
    text = "*".join(["x1", "x2"] * 1500)
    expression = parse(text)
    assert len(expression.nodes) == 2999
    assert expression.text() == text


def test_a_long_sum_is_read_in_linear_time():
    """Ten thousand terms: a quadratic merge would take minutes."""
    text = " + ".join(f"cos(x1 + {k})" for k in range(1, 3001)) + " + x1" * 30_000
    expression = parse(text)
    assert expression.outputs[0].weights[-1] == 30_000.0


def test_an_equation_may_be_too_long_to_be_written():
    """Sixty squares of a sum of two copies of the one before: 2^60 letters."""
    builder = Builder(("x",))
    z = builder.input(0)
    for _ in range(60):
        one, other = builder.apply(SQUARE, z), builder.apply(EXP, z)
        z = one.plus(other)
    assert not is_writable(builder.expression(z))
    assert is_writable(Expression.parse("x**2", ("x",)))
