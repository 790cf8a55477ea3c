"""Building expressions bottom-up: sharing, folding, and the canonical form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from ieql.equations.builder import Builder, tidy, translate
from ieql.equations.expression import Expression, Node, Sum
from ieql.units import UNITS
from strategies import expressions

COS, MUL, DIV, LOG = (UNITS[name] for name in ("cos", "mul", "div", "log"))


@pytest.fixture
def builder():
    return Builder(("x", "y"))


def test_the_same_unit_of_the_same_argument_is_one_node(builder):
    x, y = builder.input(0), builder.input(1)
    assert builder.apply(COS, x) == builder.apply(COS, x)
    assert builder.apply(COS, x) != builder.apply(COS, y)
    assert len(builder.nodes) == 2


def test_units_of_constants_are_folded(builder):
    assert builder.apply(COS, Sum(0.0)) == Sum(1.0)
    assert builder.apply(MUL, Sum(2.0), Sum(3.0)) == Sum(6.0)
    assert builder.nodes == []


def test_what_is_undefined_is_not_folded(builder):
    expression = builder.expression(builder.apply(LOG, Sum(-1.0)))
    assert expression.text() == "log(-1)"
    assert np.isnan(expression.evaluate(np.zeros((1, 2))))


def test_products_and_quotients_with_numbers_become_weights(builder):
    x = builder.input(0)
    shifted = x.plus(Sum(1.0))
    assert builder.apply(MUL, Sum(2.0), shifted) == Sum(2.0, (0,), (2.0,))
    assert builder.apply(MUL, shifted, Sum(2.0)) == Sum(2.0, (0,), (2.0,))
    assert builder.apply(DIV, shifted, Sum(2.0)) == Sum(0.5, (0,), (0.5,))
    assert builder.nodes == []


def test_a_number_over_something_is_the_number_times_one_over_it(builder):
    x = builder.input(0)
    assert builder.apply(DIV, Sum(3.0), x) == Sum(0.0, (2,), (3.0,))
    assert builder.apply(DIV, Sum(5.0), x) == Sum(0.0, (2,), (5.0,))
    assert builder.nodes == [Node(DIV, (Sum(1.0), x))]
    assert builder.apply(DIV, Sum(0.0), x) == Sum(0.0)


def test_zero_weights_and_dead_units_are_dropped(builder):
    x, y = builder.input(0), builder.input(1)
    cosine = builder.apply(COS, y)
    assert tidy(Sum(-0.0, (0, 1), (0.0, 2.0))) == Sum(0.0, (1,), (2.0,))
    assert math.copysign(1, tidy(Sum(-0.0)).bias) == 1.0
    assert builder.apply(COS, x.plus(y.scaled(0.0))) == builder.apply(COS, x)
    expression = builder.expression(x.plus(cosine.scaled(0.0)))
    assert expression.nodes == ()
    assert expression.text() == "x"


def test_units_are_numbered_as_the_outputs_mention_them(builder):
    x, y = builder.input(0), builder.input(1)
    first, second = builder.apply(LOG, x), builder.apply(COS, y)
    assert builder.expression(second.plus(first)) == Expression.parse("cos(y) + log(x)", "xy")
    assert [n.unit.name for n in builder.expression(second, first).nodes] == ["cos", "log"]


def test_translate_replaces_sources_by_sums():
    values = [Sum(1.0, (0,), (2.0,)), Sum(0.0, (0, 1), (1.0, 1.0))]
    assert translate(Sum(0.5, (0, 1), (10.0, -1.0)), values) == Sum(10.5, (0, 1), (19.0, -1.0))


def test_canonical_merges_folds_and_drops():
    x = Sum(0.0, (0,), (1.0,))
    nodes = (
        Node(LOG, (x,)),  # dead
        Node(COS, (x,)),
        Node(COS, (x,)),  # the same again
        Node(MUL, (Sum(2.0), Sum(0.0, (2, 3), (1.0, 1.0)))),
        Node(COS, (Sum(0.0, (1,), (0.0,)),)),  # cos(0 · log) = 1
    )
    expression = Expression(("x",), nodes, (Sum(0.0, (4, 5), (1.0, 1.0)),))
    assert expression.canonical().text() == "4*cos(x) + 1"


def test_a_unit_is_exchanged_by_copying_up_to_it(builder):
    expression = Expression.parse("2*cos(log(x) + 1) + y", "xy")
    values = builder.copy(expression, stop=1)  # x, y and the logarithm
    assert values == [builder.input(0), builder.input(1), Sum(0.0, (2,), (1.0,))]
    inner = translate(expression.nodes[1].args[0], values)
    exchanged = builder.rebuild(expression, [*values, builder.apply(DIV, Sum(1.0), inner)])
    assert exchanged.text() == "2/(log(x) + 1) + y"


def test_units_of_several_expressions_are_shared_in_one_builder(builder):
    outputs = [builder.copy(Expression.parse(text, "xy"))[-1] for text in ("cos(x)", "log(cos(x))")]
    assert [n.unit.name for n in builder.expression(*outputs).nodes] == ["cos", "log"]


@settings(max_examples=150)
@given(expressions(n_outputs=2))
def test_canonical_changes_nothing_twice(expression):
    assert expression.canonical() == expression


@settings(max_examples=100)
@given(expressions(n_outputs=2, max_units=5))
def test_canonical_keeps_the_values(expression):
    """Repeat every unit and add zero weights: the canonical form undoes it all."""
    d = len(expression.names)

    def spoilt(s, copy):
        sources = tuple(i if i < d else d + 2 * (i - d) + copy for i in s.sources)
        return Sum(s.bias, (*sources, 0), (*s.weights, 0.0))

    nodes = []
    for node in expression.nodes:
        nodes += [Node(node.unit, tuple(spoilt(a, copy) for a in node.args)) for copy in (0, 1)]
    outputs = tuple(spoilt(s, copy) for copy, s in enumerate(expression.outputs))
    larger = Expression(expression.names, tuple(nodes), outputs)
    assert len(larger.nodes) == 2 * len(expression.nodes)
    assert larger.canonical() == expression
    X = np.random.default_rng(0).uniform(-3, 3, (20, 3))
    np.testing.assert_array_equal(larger.evaluate(X), expression.evaluate(X))


def test_a_graph_may_be_deeper_than_the_stack():
    node = Node(COS, (Sum(0.0, (0,), (1.0,)),))
    chain = [node] + [Node(COS, (Sum(0.0, (k,), (1.0,)),)) for k in range(1, 5000)]
    expression = Expression(("x",), tuple(chain), (Sum(0.0, (5000,), (1.0,)),))
    assert expression.canonical() == expression


def test_a_product_of_powers_is_one_power_of_several_inputs() -> None:
    """0.023 Re^0.8 Pr^0.4 was printed as an exponential of logarithms."""
    e = Expression.parse("0.023*Re**0.8*Pr**0.4", ("Re", "Pr"))
    assert e.unit_counts() == {"log": 2, "exp": 1}
    assert e.text() == "0.023*Re**0.8*Pr**0.4"
    X = np.array([[1e4, 0.7], [3e5, 5.1]])
    expected = 0.023 * X[:, 0] ** 0.8 * X[:, 1] ** 0.4
    np.testing.assert_allclose(e.evaluate(X)[:, 0], expected, rtol=1e-12)


def test_powers_of_one_base_become_one_power() -> None:
    e = Expression.parse("x**1.5*(2*x**0.25)", ("x",))
    assert e.text() == "2*x**1.75"
