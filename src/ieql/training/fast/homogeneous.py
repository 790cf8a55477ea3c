"""A factor multiplied into an equation of groups, where it cancels denominators.

By √(1 + (Bx/By)²) is the same as √(By² + Bx²), and the latter is what one would write. The factor
goes through sums, roots, squares, products and quotients down to the groups, whose exponents take
it up. Whether that is shorter, the equation itself tells: both forms are handed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice, product, zip_longest

from ieql.equations.builder import Builder
from ieql.equations.expression import Expression, Sum
from ieql.units import DIV, MUL, SQRT, SQUARE

__all__ = ["multiplied_in"]

Powers = Mapping[int, float]
"""Exponents of the factors of a product of powers, by number."""
MOST = 4
"""Ways that are looked at for each sum."""


def multiplied_in(
    function: Expression,
    groups: list[dict[int, float]],
    factor: dict[int, float],
    builder: Builder,
    build: Callable[[Powers], Sum],
) -> Iterator[Sum]:
    """Ways to write a product of powers times a function of groups as one sum.

    Parameters
    ----------
    function : Expression
        Its inputs stand for the groups.
    groups : list of dict
        The exponents of each group.
    factor : dict
        Those of the factor.
    builder : Builder
        Where the sums are made.
    build : callable
        Makes a product of powers.
    """
    yield from _Inside(function, groups, builder, build).sum(function.outputs[0], factor)


class _Inside:
    def __init__(
        self,
        function: Expression,
        groups: list[dict[int, float]],
        builder: Builder,
        build: Callable[[Powers], Sum],
    ) -> None:
        self.function = function
        self.groups = groups
        self.builder = builder
        self.build = build

    def sum(self, s: Sum, factor: Powers) -> Iterator[Sum]:
        """A sum, each term multiplied by the factor."""
        terms = [islice(self.source(i, factor), MOST) for i in s.sources]
        constant = self.build(factor).scaled(s.bias) if s.bias != 0.0 else Sum(0.0)
        for ways in islice(product(*terms), MOST):
            scaled = [way.scaled(w) for way, w in zip(ways, s.weights, strict=True)]
            yield Sum.total([constant, *scaled])

    def source(self, i: int, factor: Powers) -> Iterator[Sum]:
        """An input or a unit, multiplied by the factor."""
        if i < len(self.groups):
            yield self.build(_times(self.groups[i], factor))
            return
        node = self.function.nodes[i - len(self.groups)]
        apply = self.builder.apply
        if not any(factor.values()):
            for args in product(*(islice(self.sum(a, factor), 1) for a in node.args)):
                yield apply(node.unit, *args)
            return
        if node.unit is SQRT:
            for inner in self.sum(node.args[0], _power(factor, 2.0)):
                yield apply(SQRT, inner)
        elif node.unit is SQUARE and all(p == round(p) for p in _power(factor, 0.5).values()):
            for inner in self.sum(node.args[0], _power(factor, 0.5)):
                yield apply(SQUARE, inner)
        elif node.unit in (MUL, DIV):
            one, other = node.args
            below = _power(factor, -1.0) if node.unit is DIV else factor
            a, b = (next(self.sum(arg, {})) for arg in node.args)
            above = () if one.is_constant else self.sum(one, factor)
            yield from _in_turn(
                (apply(node.unit, way, b) for way in above),
                (apply(node.unit, a, way) for way in self.sum(other, below)),
            )
        for plain in self.source(i, {}):
            yield apply(MUL, self.build(factor), plain)


def _in_turn(*several: Iterator[Sum]) -> Iterator[Sum]:
    """What some iterators yield, one of each after the other."""
    for ways in zip_longest(*several):
        yield from (way for way in ways if way is not None)


def _times(a: Powers, b: Powers) -> Powers:
    return {i: a.get(i, 0.0) + b.get(i, 0.0) for i in {**a, **b}}


def _power(a: Powers, p: float) -> Powers:
    return {i: p * q for i, q in a.items()}
