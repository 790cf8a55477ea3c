"""The derivative of an equation by an input, as an equation of the same units.

Bounds of it over a box are those of automatic differentiation, operation by operation; and as it is
an expression itself, its own slopes, its second derivative and the search of
`ieql.equations.branching` come for nothing. The units of the equation keep their places in front,
so that what is proved of their arguments holds there, too.
"""

from __future__ import annotations

from collections.abc import Callable

from ieql.equations.expression import Expression, Node, Sum
from ieql.units import (
    ABS,
    ATAN,
    COS,
    DIV,
    EXP,
    GAUSS,
    IDENTITY,
    LOG,
    LOGISTIC,
    MAX,
    MIN,
    MUL,
    POWER,
    SIGNED_POWER,
    SIN,
    SQRT,
    SQUARE,
    STEP,
    TANH,
    Unit,
)

__all__ = ["derivative"]

ZERO = Sum()


class _Graph:
    """Units to which more are appended; one that is there already is not made again."""

    def __init__(self, expression: Expression) -> None:
        self.first = len(expression.names)
        self.nodes = list(expression.nodes)
        self._places = {node: self.first + k for k, node in enumerate(self.nodes)}

    def apply(self, unit: Unit, *args: Sum) -> Sum:
        """The value of a unit, as a sum of one term."""
        node = Node(unit, args)
        if node not in self._places:
            self._places[node] = self.first + len(self.nodes)
            self.nodes.append(node)
        return Sum(0.0, (self._places[node],), (1.0,))

    def product(self, a: Sum, b: Sum) -> Sum:
        """The product of two sums; a unit only where neither is a number."""
        if a.is_constant:
            return b.scaled(a.bias) if a.bias != 0.0 else ZERO
        if b.is_constant:
            return a.scaled(b.bias) if b.bias != 0.0 else ZERO
        if a == b:
            return self.apply(SQUARE, a)
        return self.apply(MUL, a, b)

    def quotient(self, a: Sum, b: Sum) -> Sum:
        """A sum divided by one that is positive."""
        if a == ZERO:
            return ZERO
        return a.scaled(1.0 / b.bias) if b.is_constant else self.apply(DIV, a, b)


Rule = Callable[[_Graph, Sum, tuple[Sum, ...], tuple[Sum, ...]], Sum]
"""From the value, the arguments and their derivatives to the derivative of the value."""
ONE = Sum(1.0)


def _selected(g: _Graph, first: Sum, d: tuple[Sum, ...]) -> Sum:
    """The slope of the first argument where a sum is not negative, else that of the second."""
    change = d[0].plus(d[1].scaled(-1.0))
    return d[1].plus(g.product(g.apply(STEP, first), _without_zeros(change)))


def _of_power(g: _Graph, v: Sum, z: tuple[Sum, ...], d: tuple[Sum, ...]) -> Sum:
    """Of z^p, p z^(p-1) for a fixed exponent."""
    p = z[1].bias
    return g.product(g.apply(POWER, z[0], Sum(p - 1.0)).scaled(p), d[0])


def _of_signed_power(g: _Graph, v: Sum, z: tuple[Sum, ...], d: tuple[Sum, ...]) -> Sum:
    p = z[1].bias
    return g.product(g.apply(POWER, g.apply(ABS, z[0]), Sum(p - 1.0)).scaled(p), d[0])


RULES: dict[Unit, Rule] = {
    IDENTITY: lambda g, v, z, d: d[0],
    COS: lambda g, v, z, d: g.product(g.apply(SIN, z[0]), d[0]).scaled(-1.0),
    SIN: lambda g, v, z, d: g.product(g.apply(COS, z[0]), d[0]),
    EXP: lambda g, v, z, d: g.product(v, d[0]),
    LOG: lambda g, v, z, d: g.quotient(d[0], z[0]),
    SQRT: lambda g, v, z, d: g.quotient(d[0].scaled(0.5), v),
    SQUARE: lambda g, v, z, d: g.product(z[0].scaled(2.0), d[0]),
    MUL: lambda g, v, z, d: g.product(z[0], d[1]).plus(g.product(z[1], d[0])),
    DIV: lambda g, v, z, d: g.quotient(d[0].plus(g.product(v, d[1]).scaled(-1.0)), z[1]),
    TANH: lambda g, v, z, d: g.product(ONE.plus(g.apply(SQUARE, v).scaled(-1.0)), d[0]),
    ATAN: lambda g, v, z, d: g.quotient(d[0], ONE.plus(g.apply(SQUARE, z[0]))),
    LOGISTIC: lambda g, v, z, d: g.product(g.product(v, ONE.plus(v.scaled(-1.0))), d[0]),
    GAUSS: lambda g, v, z, d: g.product(g.product(z[0].scaled(-2.0), v), d[0]),
    ABS: lambda g, v, z, d: g.product(g.apply(STEP, z[0]).scaled(2.0).plus(Sum(-1.0)), d[0]),
    MIN: lambda g, v, z, d: _selected(g, _without_zeros(z[1].plus(z[0].scaled(-1.0))), d),
    MAX: lambda g, v, z, d: _selected(g, _without_zeros(z[0].plus(z[1].scaled(-1.0))), d),
    POWER: _of_power,
    SIGNED_POWER: _of_signed_power,
}
"""The rule of every unit of the table but the step, which has none where it jumps: a slope of zero
everywhere else would hide that. Of a user's own unit no derivative is known as units either.

At a kink the slope is that of one side. As the equation is continuous there, it still rises if all
slopes are positive; its curvature is that of a step, of which nothing is known."""


def derivative(expression: Expression, column: int) -> Expression | None:
    """The derivative of the outputs by the input in a column.

    None if it depends on that input by a unit of the user's own, or by a jump.

    It holds wherever all units of the equation are differentiable: not at the zero of a root.
    """
    graph = _Graph(expression)
    slopes = [Sum(1.0) if i == column else ZERO for i in range(graph.first)]

    def slope_of(s: Sum) -> Sum:
        parts = zip(s.sources, s.weights, strict=True)
        return _without_zeros(Sum.total(slopes[i].scaled(w) for i, w in parts))

    for k, node in enumerate(expression.nodes):
        inner = tuple(slope_of(a) for a in node.args)
        if all(d == ZERO for d in inner):
            slopes.append(ZERO)
        elif node.unit not in RULES or any(
            node.unit.takes_number(a) and not s.is_constant for a, s in enumerate(node.args)
        ):
            return None
        else:
            value = Sum(0.0, (graph.first + k,), (1.0,))
            slopes.append(_without_zeros(RULES[node.unit](graph, value, node.args, inner)))
    outputs = tuple(slope_of(s) for s in expression.outputs)
    return Expression(expression.names, tuple(graph.nodes), outputs)


def _without_zeros(s: Sum) -> Sum:
    """The sum without terms that cancelled."""
    if 0.0 not in s.weights:
        return s
    pairs = [(i, w) for i, w in zip(s.sources, s.weights, strict=True) if w != 0.0]
    return Sum(s.bias, tuple(i for i, _ in pairs), tuple(w for _, w in pairs))
