"""Expressions: values, counts, constants, and their other forms."""

from __future__ import annotations

import json
import math
import pickle
import re

import numpy as np
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ieql.equations import expression as expression_module
from ieql.equations.expression import Expression, Sum
from ieql.errors import IeqlError
from ieql.prior import Prior
from ieql.units import UNITS, Unit
from strategies import boxes, expressions

X = np.random.default_rng(0).uniform(-2, 2, (50, 3))
MODERATE = st.one_of(st.sampled_from([1.0, -1.0, 2.0, 0.5]), st.floats(-3, 3).filter(bool))


def parse(text, names=("x1", "x2", "x3")):
    return Expression.parse(text, names)


# --- values ------------------------------------------------------------------------------------


def test_values_by_hand():
    expression = parse("0.5*x1*cos(2*x2 + 1)/(x3**2 + 1) - 3")
    a, b, c = X.T
    expected = 0.5 * a * np.cos(2 * b + 1) / (c**2 + 1) - 3
    np.testing.assert_allclose(expression.evaluate(X)[:, 0], expected, rtol=1e-14)


def test_several_outputs():
    expression = parse("cos(x1) + x2")
    both = Expression(expression.names, expression.nodes, (*expression.outputs, Sum(1.0)))
    assert both.evaluate(X).shape == (50, 2)
    np.testing.assert_array_equal(both.evaluate(X)[:, 1], 1.0)
    assert str(both) == "cos(x1) + x2; 1"
    assert both.text(1) == "1"
    assert both.output(0) == expression
    assert both.output(1).nodes == ()


def test_no_rows_give_no_values():
    assert parse("cos(x1)").evaluate(np.empty((0, 3))).shape == (0, 1)


def test_rows_are_evaluated_in_blocks(monkeypatch):
    expression = parse("x1*cos(x2) - x3")
    expected = expression.evaluate(X)
    monkeypatch.setattr(expression_module, "ROWS_AT_ONCE", 7)
    np.testing.assert_array_equal(expression.evaluate(X), expected)


def test_undefined_is_nan_and_overflow_infinite_without_a_warning():
    expression = parse("log(x1) + 1/x2 + exp(x3) - exp(2*x3)")
    values = expression.evaluate(
        np.array([[-1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1000.0], [1.0, 1.0, 0.0]])
    )
    np.testing.assert_array_equal(values[:, 0], [np.nan, np.nan, np.nan, 1.0])
    assert parse("1e308*x1 + 1e308*x2").evaluate(np.array([[9.0, 9.0, 0.0]])) == np.inf
    parse("cos(exp(x1) - exp(x2))").arguments(np.full((1, 3), 1e3))


def test_the_arguments_of_every_unit():
    expression = parse("(x1 + 1)*cos(2*x2)")
    arguments = dict(
        zip([n.unit.name for n in expression.nodes], expression.arguments(X), strict=True)
    )
    np.testing.assert_array_equal(arguments["cos"][0], 2 * X[:, 1])
    np.testing.assert_array_equal(arguments["mul"][0], 1 + X[:, 0])
    np.testing.assert_array_equal(arguments["mul"][1], np.cos(2 * X[:, 1]))


# --- other forms agree -------------------------------------------------------------------------


@settings(max_examples=50)
@given(expressions(max_units=5, constants=MODERATE))
def test_the_sympy_form_agrees(expression):
    symbols = [sympy.Symbol(name, real=True) for name in expression.names]
    form = expression.to_sympy()
    assert form.free_symbols <= set(symbols)
    inside = np.all(np.isfinite([*expression._values(X), expression.evaluate(X)[:, 0]]), axis=0)
    assume(np.any(inside))
    ours = expression.evaluate(X[inside])[:, 0]
    function = sympy.lambdify(symbols, form, "numpy")
    theirs = np.broadcast_to(function(*X[inside].T), ours.shape)
    # How far rounding may carry: what a change of all constants in the 13th digit does.
    rng = np.random.default_rng(1)
    theta = expression.constants()
    trembling = [
        expression.with_constants(theta * (1 + 1e-13 * rng.choice([-1, 1], len(theta))))
        for _ in range(5)
    ]
    spread = np.max([np.abs(e.evaluate(X[inside])[:, 0] - ours) for e in trembling], axis=0)
    sure = np.isfinite(spread)
    error = np.abs(theirs - ours)[sure]
    assert np.all(error <= (1e-9 * np.abs(ours) + 10 * spread)[sure])


def test_the_sympy_form_by_hand():
    expression = parse("x1**2 + 2*x2/x1 - 0.5")
    a, b = sympy.symbols("x1 x2", real=True)
    assert expression.to_sympy() == a**2 + 2.0 * b / a - 0.5
    named = Expression.parse("2*`n [1/min]`", ["n [1/min]"]).to_sympy()
    assert named.free_symbols == {sympy.Symbol("n [1/min]", real=True)}


@settings(max_examples=100)
@given(expressions(n_outputs=2))
def test_the_stored_form_reads_back_as_the_same_expression(expression):
    stored = json.dumps(expression.to_dict(), allow_nan=False)
    assert Expression.from_dict(json.loads(stored)) == expression


def test_expressions_pickle_and_compare():
    expression = parse("x1*cos(x2)")
    again = pickle.loads(pickle.dumps(expression))
    assert again == expression
    assert len({again, expression}) == 1
    assert expression != parse("x1*cos(x3)")


def test_stored_user_defined_units():
    bend = Unit("bend", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    form = Expression.parse("bend(x1)", ["x1"], {"bend": bend}).to_dict()
    assert Expression.from_dict(form, {"bend": bend}).nodes[0].unit is bend
    with pytest.raises(IeqlError, match="There is no unit 'bend'"):
        Expression.from_dict(form)


BARE = [0.0, [0], [1.0]]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"nodes": [["coss", [BARE]]]}, "There is no unit 'coss'; known units are"),
        ({"nodes": [["div", [BARE]]]}, "Unit 'div' takes 2 arguments."),
        (
            {"nodes": [["cos", [[0.0, [1], [1.0]]]]]},
            "The stored expression refers to a unit that does not come before it.",
        ),
        (
            {"outputs": [[0.0, [-1], [1.0]]]},
            "The stored expression refers to a unit that does not come before it.",
        ),
        (
            {"outputs": [[0.0, [0], [1.0, 2.0]]]},
            "The stored expression refers to a unit that does not come before it.",
        ),
        (
            {"outputs": [[math.nan, [0], [1.0]]]},
            "The stored expression holds a constant that is not finite.",
        ),
        ({"outputs": [[0.0]]}, "This is not the stored form of an expression: "),
        ({"outputs": [[10**400, [0], [1.0]]]}, "This is not the stored form of an expression: "),
        ({"outputs": [[0.0, [math.inf], [1]]]}, "This is not the stored form of an expression: "),
        ({"outputs": None}, "This is not the stored form of an expression: "),
        ({"nodes": [["cos"]]}, "This is not the stored form of an expression: "),
        ({"nodes": [["cos", [BARE]]] * 10_001}, "The expression has more than 10000 units."),
    ],
)
def test_a_broken_stored_form_is_refused(changes, sentence):
    form = {"names": ["x"], "nodes": [], "outputs": [BARE]}
    assert Expression.from_dict(form).text() == "x"
    with pytest.raises(IeqlError, match=f"^{re.escape(sentence)}"):
        Expression.from_dict(form | changes)


@pytest.mark.parametrize("form", [{}, [], None, "x1", {"names": ["x"], "nodes": []}])
def test_what_is_no_stored_form_at_all_is_refused(form):
    with pytest.raises(IeqlError, match=r"^This is not the stored form of an expression: "):
        Expression.from_dict(form)


# --- intervals ---------------------------------------------------------------------------------


@settings(max_examples=150)
@given(expressions(constants=MODERATE), boxes())
def test_intervals_hold_the_values_of_every_unit(expression, box):
    lower, upper = zip(*box, strict=True)
    bounds = expression.intervals(lower, upper)
    assert len(bounds) == len(expression.names) + len(expression.nodes)
    corners = np.random.default_rng(0).choice([0.0, 1.0, 0.5, 0.25, 0.9], (60, 3))
    points = np.clip(lower + corners * np.subtract(upper, lower), lower, upper)
    for values, interval in zip(expression._values(points), bounds, strict=True):
        if interval is not None:
            assert not np.any(np.isnan(values))
            assert interval[0] <= values.min()
            assert values.max() <= interval[1]


def test_intervals_by_hand():
    expression = parse("log(x1**2 + 1) + 1/x2 + 1/(3*x3 - 2)")
    bounds = expression.intervals([-1, -1, 1], [2, 1, 2])
    names = [expression.source_name(i) for i in range(len(bounds))]
    found = dict(zip(names[3:5], bounds[3:5], strict=True))
    assert found["square"] == (0, 4)
    assert found["log"] == pytest.approx((0, math.log(5)))
    assert bounds[5] is None  # x2 may be zero
    assert bounds[6] == (0.25, 1.0)


def test_nothing_is_known_behind_what_may_be_undefined():
    assert parse("cos(1/x1)").intervals([-1, 0, 0], [1, 0, 0])[3:] == [None, None]


# --- counts ------------------------------------------------------------------------------------

MACHINE = "2*I_Q + 3*I_D + 5*(0.3*I_D + 1)**2 + 6*(0.4*I_Q + 2)**2 + 7"


def test_the_papers_electric_machine_formula_has_six_parameters():
    """Weights count, biases do not; a weight costs the factor of the unit it comes from."""
    expression = Expression.parse(MACHINE, ["I_D", "I_Q", "speed", "temperature"])
    assert expression.n_parameters == 6
    assert expression.complexity(Prior.of("plain")) == 6
    assert expression.complexity(Prior.of("motor")) == 4 * 1 + 2 * 2
    assert expression.inputs_used == ("I_D", "I_Q")
    assert expression.unit_counts() == {"square": 2}


@pytest.mark.parametrize(
    ("text", "depth"), [("3", 0), ("2*x1 + x2", 0), ("cos(x1) + x2**2", 1), ("exp(x1*x2)*x1", 3)]
)
def test_depth_is_the_number_of_hidden_layers_needed(text, depth):
    assert parse(text).depth == depth


def test_a_unit_stands_one_layer_above_the_highest_of_its_sources():
    assert parse("exp(x1*x2)*x1").levels[3:] == (1, 2, 3)
    assert parse("2*x1").levels == (0, 0, 0)


def test_map_sums_changes_arguments_first_and_outputs_last():
    seen = []
    doubled = parse("cos(x1) + 3").map_sums(lambda s: seen.append(s.bias) or s.scaled(2.0))
    assert doubled.text() == "2*cos(2*x1) + 6"
    assert seen == [0.0, 3.0]


def test_a_shared_unit_is_paid_once():
    motor = Prior.of("motor")
    assert parse("cos(x1)").complexity(motor) == 1 + 10
    assert parse("cos(x1) + cos(x1)*x2").complexity(motor) == 1 + 10 + (10 + 1) + 2
    assert parse("3").complexity(motor) == 0


def test_sources_have_names():
    expression = parse("sqrt(cos(x1))")
    assert [expression.source_name(i) for i in range(5)] == ["input"] * 3 + ["cos", "sqrt"]


@pytest.mark.parametrize(
    ("text", "prior", "allowed"),
    [
        ("cos(2*cos(x1) + 1)", "plain", False),
        ("cos(cos(x1)**2)", "plain", True),  # only direct compositions are prohibited
        ("exp(x1 + exp(x2))", "plain", False),
        ("cos(exp(x1))", "plain", False),
        ("exp(cos(x1))", "plain", True),
        ("x1/(x2/x3 + 1)", "plain", True),
        ("x1/(x2/x3 + 1)", "paper", False),
        ("(x2/x3 + 1)/x1", "paper", True),
        ("cos(x1)", {"inputs": {"x1": {"not_in": ["cos"]}}}, False),
        ("cos(x1**2 + x2) + x1", {"inputs": {"x1": {"not_in": ["cos"]}}}, True),
        ("x1 + x2", {"inputs": {"x1": {"not_in": ["output"]}}}, False),
        ("1 + cos(x1)", {"inputs": {"x1": {"not_in": ["output"]}}}, True),
    ],
)
def test_prohibited_compositions(text, prior, allowed):
    assert parse(text).is_allowed(Prior.of(prior)) is allowed


# --- constants ---------------------------------------------------------------------------------


@settings(max_examples=100)
@given(expressions(n_outputs=2))
def test_the_own_constants_change_nothing(expression):
    assert expression.with_constants(expression.constants()) == expression


def test_constants_are_the_bias_and_the_weights_of_every_sum():
    expression = parse("2*cos(3*x1 + 4*x2 + 5) + 6")
    assert expression.constants().tolist() == [5, 3, 4, 6, 2]
    other = expression.with_constants([50, 30, 40, 60, 20])
    assert other.text() == "20*cos(30*x1 + 40*x2 + 50) + 60"
    assert expression.text() == "2*cos(3*x1 + 4*x2 + 5) + 6"


@pytest.mark.parametrize("theta", [[1.0] * 4, [1.0] * 6])
def test_the_number_of_constants_must_fit(theta):
    with pytest.raises(ValueError, match="constants do not fit this expression"):
        parse("2*cos(3*x1 + 4*x2 + 5) + 6").with_constants(theta)


@settings(max_examples=100)
@given(
    expressions(max_units=4, n_outputs=2, constants=MODERATE),
    st.lists(st.floats(-100, 100), min_size=3, max_size=3),
    st.lists(st.floats(0.01, 100), min_size=3, max_size=3),
    st.floats(-100, 100),
    st.floats(0.01, 100),
)
def test_scaling_is_folded_into_the_constants(expression, offset, scale, shift, stretch):
    """The rescaled expression of x is the scaled-back value at the scaled x."""
    offset, scale = np.array(offset), np.array(scale)
    rescaled = expression.rescaled(offset, scale, shift, stretch)
    x = X * scale + offset
    expected = expression.evaluate((x - offset) / scale) * stretch + shift
    # Rounding may be carried far: compare with what a change in the 11th digit of x does.
    nearby = [expression.evaluate(X * (1 + e) + e) * stretch + shift for e in (1e-11, -1e-11)]
    spread = np.abs(nearby[0] - expected) + np.abs(nearby[1] - expected)
    close = np.abs(rescaled.evaluate(x) - expected) <= 1e-9 * (np.abs(expected) + 1) + 10 * spread
    assert np.all(close | ~np.isfinite(expected) | ~np.isfinite(spread))


def test_each_output_has_its_own_scale():
    expression = Expression(("x",), (), (Sum(0.0, (0,), (1.0,)), Sum(1.0)))
    rescaled = expression.rescaled(
        np.array([10.0]), np.array([2.0]), np.array([5.0, 7.0]), np.array([4.0, 3.0])
    )
    assert rescaled.text(0) == "2*x - 15"
    assert rescaled.text(1) == "10"


def test_sums_add_and_scale():
    a, b = Sum(1.0, (0, 1), (2.0, 3.0)), Sum(1.0, (1, 2), (-3.0, 4.0))
    assert a.plus(b) == Sum(2.0, (0, 1, 2), (2.0, 0.0, 4.0))
    assert Sum.total([a, b, a]) == Sum(3.0, (0, 1, 2), (4.0, 3.0, 4.0))
    assert Sum.total([]) == Sum(0.0)
    assert a.scaled(-2.0) == Sum(-2.0, (0, 1), (-4.0, -6.0))
    assert Sum(0.0, (3,), (1.0,)).is_bare
    assert not a.is_bare
    assert Sum(2.0).is_constant
    assert not a.is_constant
    assert UNITS["cos"] is parse("cos(x1)").nodes[0].unit
