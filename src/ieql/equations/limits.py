"""Simpler equations that an equation becomes as its constants run off.

680 a b/(c + 340), with 680 ± 655 and 340 ± 327, is 2 a b: the larger both constants, the closer.
No fit arrives at such a limit, and none of the constants can be dropped where it is. So the limits
themselves are made: a term of an argument is left out, or a unit of which the rows see so little
that it is straight gives way to its tangent.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.units import Unit

__all__ = ["limits"]

Array = NDArray[np.float64]
STEP = 1e-5
"""Part of an argument's spread by which it is moved for a derivative."""


def limits(expression: Expression, X: Array) -> Iterator[Expression]:
    """All equations with one term less, or with one unit straightened.

    Their constants are starting points: they have to be fitted.

    Parameters
    ----------
    expression : Expression
        With one output.
    X : array (rows, inputs)
        Rows by which the arguments of its units are judged.
    """
    yield from _without_a_term(expression)
    yield from _straightened(expression, X)


def _without_a_term(expression: Expression) -> Iterator[Expression]:
    for k, node in enumerate(expression.nodes):
        for a, s in enumerate(node.args):
            for j in range(len(s.sources)):
                smaller = _shorter(s, j)
                if smaller.is_constant and smaller.bias == 0.0:
                    continue
                builder = Builder(expression.names)
                values = builder.copy(expression, stop=k)
                args = [
                    translate(smaller if i == a else other, values)
                    for i, other in enumerate(node.args)
                ]
                yield builder.rebuild(expression, [*values, builder.apply(node.unit, *args)])
    (output,) = expression.outputs
    for j in range(len(output.sources)):
        yield Builder(expression.names).rebuild(
            Expression(expression.names, expression.nodes, (_shorter(output, j),))
        )


def _shorter(s: Sum, j: int) -> Sum:
    return Sum(s.bias, s.sources[:j] + s.sources[j + 1 :], s.weights[:j] + s.weights[j + 1 :])


def _straightened(expression: Expression, X: Array) -> Iterator[Expression]:
    """One unit replaced by its tangent in the middle of the rows."""
    with np.errstate(all="ignore"):
        arguments = expression.arguments(X)
    for k, (node, values) in enumerate(zip(expression.nodes, arguments, strict=True)):
        middle = [float(np.median(z)) for z in values]
        spans = [float(np.ptp(z)) for z in values]
        tangent = _tangent(node.unit, middle, spans)
        if tangent is None:
            continue
        height, slopes = tangent
        builder = Builder(expression.names)
        known = builder.copy(expression, stop=k)
        parts = [
            translate(a, known).plus(Sum(-m)).scaled(slope)
            for a, m, slope in zip(node.args, middle, slopes, strict=True)
        ]
        straight = Sum.total((Sum(height), *parts))
        yield builder.rebuild(expression, [*known, straight])


def _tangent(
    unit: Unit, middle: list[float], spans: list[float]
) -> tuple[float, list[float]] | None:
    """Value and slopes of a unit at a point; None where they are not finite."""
    height = _value(unit, middle)
    slopes = []
    for i, span in enumerate(spans):
        step = STEP * span
        if step == 0.0:
            slopes.append(0.0)
            continue
        above, below = list(middle), list(middle)
        above[i] += step
        below[i] -= step
        slopes.append((_value(unit, above) - _value(unit, below)) / (2.0 * step))
    return (height, slopes) if np.all(np.isfinite([height, *slopes])) else None


def _value(unit: Unit, at: list[float]) -> float:
    with np.errstate(all="ignore"):
        return float(unit(*(np.array([z]) for z in at))[0])
