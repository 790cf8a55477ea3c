"""Differences of large terms that nearly cancel, and what they stand for.

670 cos(a + 0.001 b) - 670 cos(a) is a difference quotient: what it says is -0.67 b sin(a), to more
digits than any row has. A fit gets there, because a derivative is sometimes cheaper to make of two
copies of a unit than to build; nobody would write it. 7.29 - x - 26.1/(x + 4.64) over rows where
the three nearly cancel is a quotient whose numerator says what is left of them. And of
84.9 - 90.2 cos(z) where z hardly moves a parabola of z is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.units import COS, DIV, EXP, LOG, MUL, SIN, SQRT, SQUARE, Unit

__all__ = ["cancelling_sums", "plain_differences"]

Array = NDArray[np.float64]
LARGE = 10.0
"""A term so many times as large as the pair it belongs to is there to be cancelled."""
CANCELLING = 30.0
"""Spreads of a sum that two of its terms must have for them to cancel."""
MOST_NODES = 25
"""Units of an equation in which parabolas are looked for; nobody reads a longer one, and a network
that was hardly cut has such places by the hundred."""
FARTHEST_VERTEX = 4.0
"""Half ranges of an argument from its middle to the vertex of a parabola, at most."""
LITTLE = 0.02
"""Part of a small sum's spread below which a term of it is left out."""
Derivative = Callable[[Builder, Sum], Sum]
DERIVATIVES: dict[Unit, Derivative] = {
    COS: lambda builder, z: builder.apply(COS, z.plus(Sum(0.5 * math.pi))),
    SIN: lambda builder, z: builder.apply(SIN, z.plus(Sum(0.5 * math.pi))),
    EXP: lambda builder, z: builder.apply(EXP, z),
    LOG: lambda builder, z: builder.apply(DIV, Sum(1.0), z),
    SQRT: lambda builder, z: builder.apply(DIV, Sum(0.5), builder.apply(SQRT, z)),
    SQUARE: lambda builder, z: z.scaled(2.0),
    DIV: lambda builder, z: builder.apply(DIV, Sum(-1.0), builder.apply(SQUARE, z)),
}


def plain_differences(expression: Expression, X: Array) -> Iterator[Expression]:
    """The equation with a difference of large terms written plainly, for each that it has.

    Of two terms of one kind it is a derivative, of a quotient and a line a quotient, of a unit and
    a number, or any other terms, the parabola that the rows see of the unit.

    Their constants are starting points: they have to be fitted.

    Parameters
    ----------
    expression : Expression
        With one output.
    X : array (rows, inputs)
        Rows by which terms are judged.
    """
    with np.errstate(all="ignore"):
        values = expression.source_values(X)
    sums = [(k, a, s) for k, node in enumerate(expression.nodes) for a, s in enumerate(node.args)]
    for k, a, s in [*sums, (len(expression.nodes), 0, expression.outputs[0])]:
        for plainly in (_differences, _quotients, _parabolas):
            builder = Builder(expression.names)
            known = builder.copy(expression, stop=k)
            for total in plainly(builder, expression, s, known, values):
                if k == len(expression.nodes):
                    yield builder.expression(total)
                    continue
                args = [
                    total if n == a else translate(other, known)
                    for n, other in enumerate(expression.nodes[k].args)
                ]
                unit = expression.nodes[k].unit
                yield builder.rebuild(expression, [*known, builder.apply(unit, *args)])


def cancelling_sums(expression: Expression, X: Array) -> list[int]:
    """Sums of large terms that nearly cancel, as places in `Expression.sums`: 24688 - 24693*cos(z).

    A unit's term and another of opposite sign are each more than thirty times what is left of them
    over the rows. An input and a number may: 9.81*T - 2680 is how one writes a line.
    """
    if len(X) < 2:
        return []
    with np.errstate(all="ignore"):
        values = expression.source_values(X)
        d = len(expression.names)
        found = []
        for place, s in enumerate(expression.sums):
            if _cancelling_units(s, values, d):
                found.append(place)
    return found


def _cancelling_units(s: Sum, values: list[Array], d: int) -> list[int]:
    """Terms of a sum, as places in it, that are units and there to be cancelled by others."""
    if not s.sources:
        return []
    terms = [w * values[i] for i, w in zip(s.sources, s.weights, strict=True)]
    limit = CANCELLING * float(np.std(np.sum(terms, axis=0)))
    means = [float(np.mean(t)) for t in terms]
    large = [m for m in (*means, s.bias) if abs(m) > limit]
    return [
        n
        for n, (i, m) in enumerate(zip(s.sources, means, strict=True))
        if i >= d and abs(m) > limit and any(m * other < 0.0 for other in large)
    ]


def _differences(
    builder: Builder, expression: Expression, s: Sum, known: list[Sum], values: list[Array]
) -> Iterator[Sum]:
    """The sum with two copies of a unit that nearly cancel as a derivative of it."""
    d = len(expression.names)
    for i, j in combinations(range(len(s.sources)), 2):
        if min(s.sources[i], s.sources[j]) < d or not _cancels(s, i, j, values):
            continue
        pair = _expanded(builder, expression, s, (i, j), known, values)
        if pair is not None:
            yield translate(_without(s, (i, j)), known).plus(pair)


def _quotients(
    builder: Builder, expression: Expression, s: Sum, known: list[Sum], values: list[Array]
) -> Iterator[Sum]:
    """The sum of a line and a quotient that nearly cancel, over the denominator of the latter."""
    d = len(expression.names)
    terms = [w * values[i] for i, w in zip(s.sources, s.weights, strict=True)]
    spread = float(np.std(np.sum(terms, axis=0))) if terms else 0.0
    for place, source in enumerate(s.sources):
        line = _without(s, (place,))
        if source < d or not line.sources or max(line.sources) >= d:
            continue
        node = expression.nodes[source - d]
        if node.unit is not DIV or any(i >= d for i in node.args[1].sources):
            continue
        if not abs(float(np.mean(terms[place]))) > CANCELLING * spread:
            continue
        numerator, denominator = node.args
        above = [
            translate(numerator, known).scaled(s.weights[place]),
            denominator.scaled(line.bias),
            *(
                builder.input(i).scaled(w * denominator.bias)
                for i, w in zip(line.sources, line.weights, strict=True)
            ),
            *(
                _product(builder, i, j).scaled(w * v)
                for i, w in zip(line.sources, line.weights, strict=True)
                for j, v in zip(denominator.sources, denominator.weights, strict=True)
            ),
        ]
        yield builder.apply(DIV, Sum.total(above), denominator)


def _parabolas(
    builder: Builder, expression: Expression, s: Sum, known: list[Sum], values: list[Array]
) -> Iterator[Sum]:
    """The sum with a unit that other terms nearly cancel as a parabola of its argument.

    Or of the one input that it depends on: an argument may be bent so that the whole is a parabola.
    """
    d = len(expression.names)
    if len(expression.nodes) > MOST_NODES:
        return
    for place in _cancelling_units(s, values, d):
        source = s.sources[place]
        node = expression.nodes[source - d]
        if node.unit.arity != 1 or node.unit is SQUARE:
            continue
        (a,) = node.args
        z = a.bias + np.sum([w * values[i] for i, w in zip(a.sources, a.weights, strict=True)], 0)
        coordinates = [(z, translate(a, known))]
        inputs = expression.inputs_below(source)
        if len(inputs) == 1 and a.sources != inputs:
            coordinates.append((values[inputs[0]], builder.input(inputs[0])))
        rest = translate(_without(s, (place,)), known)
        for z, argument in coordinates:
            parabola = _parabola(builder, argument, z, values[source])
            if parabola is not None:
                yield rest.plus(parabola.scaled(s.weights[place]))


def _parabola(builder: Builder, argument: Sum, z: Array, values: Array) -> Sum | None:
    """The parabola of an argument that is closest to some values."""
    middle, half = float(np.mean(z)), 0.5 * float(np.ptp(z))
    if not (half > 0.0 and np.all(np.isfinite(values)) and np.all(np.isfinite(z))):
        return None
    square, slope, level = np.polyfit((z - middle) / half, values, 2)
    argument = argument.plus(Sum(-middle)).scaled(1.0 / half)
    vertex = 0.5 * slope / square if square else math.inf
    line = argument.scaled(slope)
    # Whole where the vertex is near; else it would be a difference of large terms again.
    if abs(vertex) < FARTHEST_VERTEX:
        argument, line = argument.plus(Sum(vertex)), Sum(-square * vertex**2)
    return Sum.total([builder.apply(SQUARE, argument).scaled(square), line, Sum(float(level))])


def _product(builder: Builder, i: int, j: int) -> Sum:
    """Input i times input j."""
    if i == j:
        return builder.apply(SQUARE, builder.input(i))
    return builder.apply(MUL, builder.input(min(i, j)), builder.input(max(i, j)))


def _without(s: Sum, places: tuple[int, ...]) -> Sum:
    rest = [n for n in range(len(s.sources)) if n not in places]
    return Sum(s.bias, tuple(s.sources[n] for n in rest), tuple(s.weights[n] for n in rest))


def _cancels(s: Sum, i: int, j: int, values: list[Array]) -> bool:
    """Whether two terms are much larger than what they make together."""
    one, other = (s.weights[n] * values[s.sources[n]] for n in (i, j))
    together = float(np.std(one + other))
    return bool(min(np.std(one), np.std(other)) > LARGE * together)


def _expanded(
    builder: Builder,
    expression: Expression,
    s: Sum,
    pair: tuple[int, int],
    known: list[Sum],
    values: list[Array],
) -> Sum | None:
    """V U(z + δ) + w U(z) as (v + w) U(z) + v δ U'(z), term by term."""
    d = len(expression.names)
    one, other = (expression.nodes[s.sources[n] - d] for n in pair)
    v, w = (s.weights[n] for n in pair)
    derivative = DERIVATIVES.get(one.unit)
    if one.unit is not other.unit or derivative is None:
        return None
    if one.unit is DIV and not (one.args[0].is_constant and one.args[0] == other.args[0]):
        return None
    a, b = one.args[-1], other.args[-1]
    step = _without_little(a.plus(b.scaled(-1.0)), values)
    z = translate(b, known)
    slope = derivative(builder, z)
    terms = [
        builder.apply(MUL, known[i], slope).scaled(v * weight)
        for i, weight in zip(step.sources, step.weights, strict=True)
    ]
    large = values[s.sources[pair[1]]]
    whole = float(np.std(v * values[s.sources[pair[0]]] + w * large))
    height = v + w if np.std((v + w) * large) > LITTLE * whole else 0.0
    return Sum.total([*terms, _level(builder, one.unit, z, v * step.bias, height)])


def _level(builder: Builder, unit: Unit, z: Sum, slope: float, height: float) -> Sum:
    """slope·U'(z) + height·U(z): of a wave another wave."""
    if unit in (COS, SIN):
        size, phase = math.hypot(slope, height), math.atan2(slope, height)
        return builder.apply(unit, z.plus(Sum(phase))).scaled(size)
    value = builder.apply(DIV, Sum(1.0), z) if unit is DIV else builder.apply(unit, z)
    return DERIVATIVES[unit](builder, z).scaled(slope).plus(value.scaled(height))


def _without_little(s: Sum, values: list[Array]) -> Sum:
    """A sum without the terms that hardly change it: what rounding left of equal ones."""
    terms = [w * values[i] for i, w in zip(s.sources, s.weights, strict=True)]
    whole = float(np.std(np.sum(terms, axis=0))) if terms else 0.0
    kept = [
        (i, w)
        for i, w, term in zip(s.sources, s.weights, terms, strict=True)
        if np.std(term) > LITTLE * whole
    ]
    bias = s.bias if abs(s.bias) > LITTLE * whole else 0.0
    return Sum(bias, tuple(i for i, _ in kept), tuple(w for _, w in kept))
