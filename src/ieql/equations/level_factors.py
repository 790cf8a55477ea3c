"""Products of levels of one category as one factor.

An input that stands for a level is 1 or 0, and of the levels of a category one alone is 1
(`ieql.data.categories`). So ``(2 - {gear: 1})*({gear: 3} + 3)`` is
``6 - 3*{gear: 1} + 2*{gear: 3}``: shorter, and what each level does can be read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.units import MUL

__all__ = ["with_one_factor_each"]

Sizes = Sequence[float] | NDArray[np.float64]


def with_one_factor_each(
    expression: Expression,
    levels: Sequence[Sequence[int]],
    sizes: Sizes,
) -> Expression:
    """The expression with one factor for the levels of a category in each product.

    Parameters
    ----------
    expression : Expression
        Its values where one level of each category is there stay as they are.
    levels : sequence of sequences of int
        The inputs that are levels of the same category.
    sizes : sequence or array of float
        The value of each input where its level is there: 1 in the user's coordinates.
    """
    category = {i: k for k, places in enumerate(levels) for i in places}
    if not category or not any(node.unit is MUL for node in expression.nodes):
        return expression
    builder = Builder(expression.names)
    values = [builder.input(i) for i in range(len(expression.names))]
    for node in expression.nodes:
        args = [translate(a, values) for a in node.args]
        product = _merged(builder, args, category, sizes) if node.unit is MUL else None
        values.append(builder.apply(node.unit, *args) if product is None else product)
    return builder.expression(*(translate(s, values) for s in expression.outputs))


def _merged(
    builder: Builder,
    args: Sequence[Sum],
    category: dict[int, int],
    sizes: Sizes,
) -> Sum | None:
    """The product with the factors of each category made one; None if there is nothing to do."""
    weight, factors = _factors(builder, args)
    kept: list[Sum] = []
    of_levels: dict[int, list[Sum]] = {}
    for factor in factors:
        found = {category.get(i, -1) for i in factor.sources}
        if len(found) == 1 and -1 not in found:
            of_levels.setdefault(found.pop(), []).append(factor)
        else:
            kept.append(factor)
    if all(len(parts) == 1 for parts in of_levels.values()):
        return None
    kept += [_product(parts, sizes) for parts in of_levels.values()]
    product = kept[0]
    for factor in kept[1:]:
        product = builder.apply(MUL, product, factor)
    return product.scaled(weight)


def _factors(builder: Builder, args: Sequence[Sum]) -> tuple[float, list[Sum]]:
    """All factors of a product of products, and a number."""
    weight, found, left = 1.0, [], [*args][::-1]
    d = len(builder.names)
    while left:
        s = left.pop()
        if s.bias == 0.0 and len(s.sources) == 1 and s.sources[0] >= d:
            node = builder.nodes[s.sources[0] - d]
            if node.unit is MUL:
                weight *= s.weights[0]
                left += node.args[::-1]
                continue
        found.append(s)
    return weight, found


def _product(factors: Sequence[Sum], sizes: Sizes) -> Sum:
    """The product of sums of levels of one category, as such a sum."""
    offset = math.prod(s.bias for s in factors)
    places = list(dict.fromkeys(i for s in factors for i in s.sources))
    weights = []
    for i in places:
        there = math.prod(
            s.bias + sizes[i] * dict(zip(s.sources, s.weights, strict=True)).get(i, 0.0)
            for s in factors
        )
        weights.append(float((there - offset) / sizes[i]))
    return Sum(offset, tuple(places), tuple(weights))
