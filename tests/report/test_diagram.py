"""The network's layout: what is live, what passes, what is shared."""

from __future__ import annotations

from hypothesis import given, settings

from ieql.equations.builder import joined
from ieql.equations.expression import Expression
from ieql.prior import PRESETS, Prior
from ieql.report.diagram import diagram
from ieql.report.network_drawing import network_drawing
from strategies import expressions

PLAIN = PRESETS["plain"]


def layout(*texts, names=("x1", "x2"), prior=PLAIN):
    e = joined([Expression.parse(t, names) for t in texts])
    return diagram(e, tuple(f"y{k + 1}" for k in range(len(texts))), prior)


def live(network, kind):
    return [(p.label, p.column) for p in network.places if p.kind == kind and p.live]


def test_the_papers_example():
    """y2 = 0 and y1 = x2·x1 / (cos x1 + 1.5), as in the caption of the architecture figure."""
    network = layout("x2*x1/(cos(x1) + 1.5)", "0")
    assert network.n_columns == 4
    assert sorted(live(network, "unit")) == [("cos", 1), ("×", 1), ("÷", 2)]
    assert [p.label for p in network.places if p.kind == "output"] == ["y1", "y2"]
    assert len(network.connections) == 6


def test_every_layer_has_a_place_for_every_unit():
    network = layout("cos(x1)")
    labels = [p.label for p in network.places if p.kind == "unit"]
    assert labels == ["cos", "exp", "log", "√", "x²", "×", "÷"]
    assert [p.label for p in network.places if p.live and p.kind != "copy"] == ["x1", "cos", "y1"]


def test_what_skips_a_layer_passes_through_a_copy():
    network = layout("exp(cos(x1)) + x2")
    (skip,) = [c for c in network.connections if len(c.path) == 4]
    kinds = [network.places[k].kind for k in skip.path]
    assert kinds == ["input", "copy", "copy", "output"]


def test_shared_units_stand_once():
    network = layout("x1*x2", "3*x1*x2 + cos(x1)")
    shared = [p.label for p in network.places if p.shared]
    assert shared == ["×"]


def test_a_line_without_units():
    network = layout("2*x1 - 1")
    assert network.n_columns == 2
    assert [c.weight for c in network.connections] == [2.0]
    assert "0 hidden layers" in network.spoken()


def test_prohibited_pairs_are_marked_between_layers():
    network = layout("log(cos(x1))", prior=Prior(prohibit=("exp(exp)",)))
    ((a, b),) = network.prohibited
    assert [(network.places[k].label, network.places[k].column) for k in (a, b)] == [
        ("exp", 1),
        ("exp", 2),
    ]


def test_many_inputs_are_not_all_drawn_but_all_that_are_used():
    names = tuple(f"a{i}" for i in range(40))
    network = layout("a39 + a20", names=names)
    inputs = [p.label for p in network.places if p.kind == "input"]
    assert len(inputs) == 9
    assert {"a39", "a20", "+32"} <= set(inputs)


@settings(max_examples=40)
@given(expressions(n_outputs=2))
def test_any_expression_has_a_picture(expression):
    network = diagram(expression, ("a", "b"), PLAIN)
    assert all(0 <= c.strength <= 1 for c in network.connections)
    assert len(network.connections) == expression.n_parameters
    for c in network.connections:  # from left to right, one column at a time
        columns = [network.places[k].column for k in c.path]
        assert columns == list(range(int(columns[0]), int(columns[-1]) + 1))
    assert network_drawing(network).startswith("<svg")
