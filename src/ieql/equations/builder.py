"""Building expressions bottom-up, with sharing: used by the parser, extraction and simplification.

A `Builder` hands out source numbers. Adding the same unit with the same arguments twice gives the
same number, and what can be folded at once (a unit of constants, a product with a number) never
becomes a node, so every graph it makes is canonical.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ieql.equations.expression import Expression, Node, Sum
from ieql.units import DIV, EXP, LOG, MUL, Unit

__all__ = ["Builder", "joined", "tidy", "translate"]


class Builder:
    """Collects nodes for an `Expression`; sums go in and sums come out."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.nodes: list[Node] = []
        self._known: dict[Node, int] = {}

    def input(self, index: int) -> Sum:
        """The input with this index, as a sum."""
        return Sum(0.0, (index,), (1.0,))

    def apply(self, unit: Unit, *args: Sum) -> Sum:
        """A unit applied to sums; the result is a sum, too (of one source, or a constant)."""
        args = tuple(tidy(a) for a in args)
        if all(a.is_constant for a in args):
            value = float(unit(*(np.array([a.bias]) for a in args))[0])
            if math.isfinite(value):
                return Sum(value)
        if unit is MUL:
            for a, b in (args, args[::-1]):
                if a.is_constant:
                    return b.scaled(a.bias)
            exponents = [self._exponent(a) for a in args]
            if exponents[0] is not None and exponents[1] is not None:
                # A product of powers and exponentials is one, with fewer connections.
                power = self.apply(EXP, exponents[0].plus(exponents[1]))
                return power.scaled(args[0].weights[0] * args[1].weights[0])
        if unit is EXP:
            args = (self._powers_first(args[0]),)
        factor = 1.0
        if unit is DIV:
            numerator, denominator = args
            if denominator.is_constant and denominator.bias != 0.0:
                return numerator.scaled(1.0 / denominator.bias)
            if numerator.is_constant:
                # c / z is stored as c times 1 / z, so that it is written and read in one way.
                factor = numerator.bias
                args = (Sum(1.0), denominator)
        if factor == 0.0:
            return Sum(0.0)
        return Sum(0.0, (self._number(Node(unit, args)),), (factor,))

    def _exponent(self, s: Sum) -> Sum | None:
        """The sum of which a sum is the exponential, with a factor; else None."""
        node = self._node(s.sources[0]) if len(s.sources) == 1 and s.bias == 0.0 else None
        return node.args[0] if node is not None and node.unit is EXP else None

    def _powers_first(self, s: Sum) -> Sum:
        """Logarithms first: exp(p·log x - z) is written x^p·exp(-z)."""
        pairs = sorted(zip(s.sources, s.weights, strict=True), key=lambda p: not self._is_log(p[0]))
        return Sum(s.bias, tuple(i for i, _ in pairs), tuple(w for _, w in pairs))

    def _is_log(self, source: int) -> bool:
        node = self._node(source)
        return node is not None and node.unit is LOG

    def _node(self, source: int) -> Node | None:
        k = source - len(self.names)
        return self.nodes[k] if k >= 0 else None

    def _number(self, node: Node) -> int:
        if node not in self._known:
            self._known[node] = len(self.names) + len(self.nodes)
            self.nodes.append(node)
        return self._known[node]

    def expression(self, *outputs: Sum) -> Expression:
        """The finished graph; nodes that no output needs are dropped."""
        return _live(Expression(self.names, tuple(self.nodes), tuple(tidy(s) for s in outputs)))

    # --- rebuilding ----------------------------------------------------------------------------

    def copy(
        self, expression: Expression, values: Sequence[Sum] = (), stop: int | None = None
    ) -> list[Sum]:
        """Build the nodes of an expression again, those before node `stop` or all of them.

        Parameters
        ----------
        expression : Expression
            What to copy; its inputs are those of this builder.
        values : sequence of Sum, optional
            What stands for its inputs and first nodes already, if anything does: whoever changes
            node k copies up to k, appends what takes its place, and copies the rest.
        stop : int, optional
            The first node that is not copied.

        Returns
        -------
        list of Sum
            What stands for each of its sources: the inputs, then the nodes.
        """
        sums = list(values) or [self.input(i) for i in range(len(expression.names))]
        for node in expression.nodes[len(sums) - len(expression.names) : stop]:
            sums.append(self.apply(node.unit, *[translate(a, sums) for a in node.args]))
        return sums

    def rebuild(self, expression: Expression, values: Sequence[Sum] = ()) -> Expression:
        """The expression as this builder makes it; `values` as in `copy`."""
        sums = self.copy(expression, values)
        return self.expression(*(translate(s, sums) for s in expression.outputs))


def tidy(s: Sum) -> Sum:
    """Without zero weights and negative zeros."""
    if s.bias and all(s.weights):
        return s
    pairs = [(i, w) for i, w in zip(s.sources, s.weights, strict=True) if w != 0.0]
    return Sum(s.bias + 0.0, tuple(i for i, _ in pairs), tuple(w for _, w in pairs))


def _live(expression: Expression) -> Expression:
    """Drop dead nodes and number the others in the order in which the outputs mention them."""
    d = len(expression.names)

    def mentioned(sums: tuple[Sum, ...]) -> list[int]:
        return [i - d for s in sums for i in s.sources if i >= d]

    # Depth first, with a stack of our own: a long product is a graph deeper than Python's. A node
    # comes after those it mentions, so ~k, put below them, stands for "k is complete".
    order: list[int] = []
    seen: set[int] = set()
    stack = mentioned(expression.outputs)[::-1]
    while stack:
        k = stack.pop()
        if k < 0:
            order.append(~k)
        elif k not in seen:
            seen.add(k)
            stack += [~k, *mentioned(expression.nodes[k].args)[::-1]]
    if order == list(range(len(expression.nodes))):
        return expression
    new = {d + k: d + position for position, k in enumerate(order)}

    def renumber(s: Sum) -> Sum:
        return Sum(s.bias, tuple(new.get(i, i) for i in s.sources), s.weights)

    nodes = tuple([expression.nodes[k] for k in order])
    return Expression(expression.names, nodes, expression.outputs).map_sums(renumber)


def translate(s: Sum, values: Sequence[Sum]) -> Sum:
    """A sum with each source replaced by a sum."""
    parts = [values[i].scaled(w) for i, w in zip(s.sources, s.weights, strict=True)]
    return Sum.total((Sum(s.bias), *parts))


def joined(expressions: Sequence[Expression]) -> Expression:
    """One graph for the outputs of all expressions: a unit that several use stands in it once."""
    builder = Builder(expressions[0].names)
    outputs: list[Sum] = []
    for e in expressions:
        values = builder.copy(e)
        outputs += [translate(s, values) for s in e.outputs]
    return builder.expression(*outputs)
