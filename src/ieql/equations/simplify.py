"""Simpler forms of the same function; every step is checked numerically before it is kept.

Two kinds of rewriting live here. `gauge` removes scales that cancel (``(2x)² / 4``), so that the
Jacobian of the constants has full rank: the learner works on gauged expressions. `simplify` is for
the reader: standard form (`ieql.equations.standard_form`), and products multiplied out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.equations.standard_form import is_equal, is_permitted, size, standard_form
from ieql.prior import Prior
from ieql.units import COS, EXP, IDENTITY, LOG, MACHINE_UNITS, MUL, REALS, SIN, SQUARE, Unit

__all__ = ["GaugedBuilder", "expansions", "gauge", "has_free_scale", "parabolas", "simplify"]

Array = NDArray[np.float64]
SMALL_PART = 3.1
"""Radians of a wave that a parabola can stand for, if it is curved there: less than half a turn."""
BESIDE = 0.1
"""Part of the range of a wave's argument by which its top may lie outside."""
SIGNS_OUT = (COS, *(u for u in MACHINE_UNITS if u.parity))
"""Units whose first weight is made positive."""
STRAIGHT = 0.3
"""Least |cos| in the middle of such a piece of a wave: below, it has no curvature."""


# --- gauge -------------------------------------------------------------------------------------


def gauge(expression: Expression) -> Expression:
    """Fix the scales that cancel.

    The largest coefficient in every argument of square, sqrt, mul, div and log becomes ± 1 (its
    size moves to the coefficients behind the unit, for log to their bias), the bias inside exp
    becomes a factor, and a cosine's leading coefficient is positive. So it is with whatever else
    has such traits: the scale of |z|, and scale and offset of the first argument of min and max.
    """
    return GaugedBuilder(expression.names).rebuild(expression)


class GaugedBuilder(Builder):
    """A builder that fixes the scales that cancel, as `gauge` does, while it builds."""

    def apply(self, unit: Unit, *args: Sum) -> Sum:
        """A unit applied to sums; their scales move behind it."""
        return _gauged(super().apply, unit, args)


def _largest(s: Sum) -> float:
    return max((abs(w) for w in s.weights), default=0.0)


def _gauged(apply: Callable[..., Sum], unit: Unit, args: tuple[Sum, ...]) -> Sum:
    sizes = [_largest(a) for a in args]
    if unit is EXP and args[0].sources and args[0].bias and abs(args[0].bias) < 300.0:
        bare = Sum(0.0, args[0].sources, args[0].weights)
        return apply(unit, bare).scaled(math.exp(args[0].bias))
    if unit in SIGNS_OUT and args[0].weights and args[0].weights[0] < 0:
        turned = _gauged(apply, unit, (args[0].scaled(-1.0), *args[1:]))
        return turned.scaled(float(unit.parity))
    if unit.selects:
        return _gauged_selection(apply, unit, args)
    if unit.raises:
        return _gauged_power(apply, unit, args)
    sizes = [1.0 if a.is_constant else size for size, a in zip(sizes, args, strict=True)]
    if not has_free_scale(unit) or not _can_be_moved(unit, sizes):
        return apply(unit, *args)
    for a in _free_signs(unit):
        if args[a].weights and args[a].weights[0] < 0:
            sizes[a] = -sizes[a]
    scaled = [a.scaled(1.0 / size) for a, size in zip(args, sizes, strict=True)]
    result = apply(unit, *(_exact_one(a) for a in scaled))
    if unit is LOG:
        return result.plus(Sum(math.log(sizes[0])))
    return result.scaled(_factor(unit, sizes))


def _gauged_selection(apply: Callable[..., Sum], unit: Unit, args: tuple[Sum, ...]) -> Sum:
    """An offset and a scale that both arguments have, behind the unit.

    Of the first argument, which is not a number, they become 0 and 1: min(2x + 1, 5) is
    2 min(x, 2) + 1.
    """
    if args[0].is_constant:
        args = args[::-1]
    scale = max(map(_largest, args))
    if args[0].is_constant or not 1e-100 < scale < 1e100:
        return apply(unit, *args)
    offset = args[0].bias
    moved = [_exact_one(a.plus(Sum(-offset)).scaled(1.0 / scale), scaled=True) for a in args]
    return apply(unit, *moved).scaled(scale).plus(Sum(offset))


def _gauged_power(apply: Callable[..., Sum], unit: Unit, args: tuple[Sum, ...]) -> Sum:
    """The scale of what is raised to a fitted exponent, behind the unit."""
    base, exponent = args
    scale = _largest(base)
    if not (exponent.is_constant and scale > 0.0) or not _is_moderate(scale, exponent.bias):
        return apply(unit, *args)
    factor = math.pow(scale, exponent.bias)
    return apply(unit, _exact_one(base.scaled(1.0 / scale)), exponent).scaled(factor)


def _is_moderate(scale: float, exponent: float) -> bool:
    return abs(exponent * math.log(scale)) < 200.0 if 1e-100 < scale < 1e100 else False


def _can_be_moved(unit: Unit, sizes: Sequence[float]) -> bool:
    """Whether scales can be written behind a unit without overflow.

    A common scale of numerator and denominator is free, so that a fit may send both anywhere.
    """
    if not all(1e-307 < size < math.inf for size in sizes):
        return False
    return unit is LOG or 1e-100 < _factor(unit, sizes) < 1e100


def _factor(unit: Unit, sizes: Sequence[float]) -> float:
    """What the scales of a unit's arguments are behind it; infinite if it overflows."""
    above = below = 1.0
    exponent = 0.0
    for scale, p in zip(sizes, unit.powers, strict=True):
        # The powers of one scale may overflow, though the product of all does not.
        part, twos = math.frexp(scale)
        if twos % 2:
            part, twos = 2.0 * part, twos - 1
        exponent += p * twos
        part = math.sqrt(part) if abs(p) == 0.5 else math.pow(part, abs(p))
        above, below = (above * part, below) if p > 0 else (above, below * part)
    return above / below * 2.0**exponent if abs(exponent) < 1000.0 else math.inf


@cache
def has_free_scale(unit: Unit) -> bool:
    """Whether a positive factor of an argument can be written behind the unit instead.

    So it is with the logarithm, and with products of powers: of low ones, as sizes go up to 1e100,
    and on domains that no factor leads out of.
    """
    exponents = _exponents(unit)
    total = sum(abs(p) for p in exponents)
    ends = {end for domain in unit.domains for end in domain}
    return unit is LOG or (bool(exponents) and total <= 3.0 and ends <= {0.0, math.inf, -math.inf})


@cache
def _free_signs(unit: Unit) -> tuple[int, ...]:
    """The arguments whose sign goes the same way: (-x)·(-y) is x·y."""
    found = []
    for a, (p, domain) in enumerate(zip(_exponents(unit), unit.domains, strict=False)):
        if p > 0 and p == int(p) and domain == REALS:
            # The exponents hold for positive arguments: |x| has the exponent 1 as well.
            signs = [np.array([-1.0 if k == a else 1.0]) for k in range(unit.arity)]
            if unit(*signs)[0] == (-1.0) ** p:
                found.append(a)
    return tuple(found)


def _exponents(unit: Unit) -> tuple[float, ...]:
    """The exponents of a unit that is a product of powers; the identity is removed, not scaled."""
    return () if unit is IDENTITY else unit.powers


def _exact_one(s: Sum, scaled: bool = False) -> Sum:
    """Division may leave 0.9999999999999999 where one is meant.

    Of sums that were `scaled` together, the largest weight of one need not be meant.
    """
    size = _largest(s)
    if s.is_constant or (scaled and abs(size - 1.0) > 1e-15):
        return s
    weights = tuple(math.copysign(1.0, w) if abs(w) == size else w for w in s.weights)
    return Sum(s.bias, s.sources, weights)


# --- identities --------------------------------------------------------------------------------

Rule = Callable[[Expression, int, Builder, tuple[Sum, ...]], "Sum | None"]


def simplify(expression: Expression, X: Array, prior: Prior | None = None) -> Expression:
    """Bring an expression into standard form, and multiply out while that makes it simpler.

    Parameters
    ----------
    expression : Expression
        In any coordinates.
    X : array (rows, inputs)
        Points on which each step must leave the values as they are (1e-9 of their size).
    prior : Prior, optional
        A composition that is prohibited is not made.

    Returns
    -------
    Expression
        Equal to the given one on `X`. It is hardly more complex (`ieql.equations.standard_form`),
        but where that had a root or a whole power as the exponential of a logarithm.
    """
    current = standard_form(expression, X, prior)
    for _ in range(100):
        for rewritten in _rewritings(current):
            trial = standard_form(rewritten, X, prior)
            if (
                is_permitted(trial, current, prior)
                and size(trial, prior) < size(current, prior)
                and is_equal(trial, current, X)
            ):
                current = trial
                break
        else:
            return current
    return current


def expansions(expression: Expression) -> Iterator[Expression]:
    """The expression with one square or product of short sums multiplied out, in every way.

    The result is longer, but some of its terms may turn out not to be needed.
    """
    for k, node in enumerate(expression.nodes):
        if node.unit in (SQUARE, MUL):
            expanded = _rewrite(expression, k, _expand)
            if expanded is not None:
                yield expanded


def parabolas(expression: Expression, X: Array) -> Iterator[Expression]:
    """The expression with one wave replaced by a parabola, where the rows see little of the wave.

    On a small part of a period 1966 (1 - cos(0.019 x)) is 0.35 x², which says what it is.
    """
    shifts = {COS: 0.0, SIN: math.pi / 2}
    for k, (z, *_) in enumerate(expression.arguments(X)):
        shift = shifts.get(expression.nodes[k].unit)
        if shift is None:
            continue
        low, high = float(z.min()) - shift, float(z.max()) - shift
        if not high - low < SMALL_PART:
            continue
        middle = (low + high) / 2
        top = math.pi * round(middle / math.pi)
        beside = BESIDE * (high - low)
        # Where rows are near the top of the wave, that is where it has to be right.
        for point in (top, middle) if low - beside < top < high + beside else (middle,):
            if abs(math.cos(point)) > STRAIGHT:
                replaced = _rewrite(expression, k, partial(_parabola, point, shift))
                if replaced is not None:
                    yield replaced


def _parabola(
    middle: float,
    shift: float,
    expression: Expression,
    k: int,
    builder: Builder,
    args: tuple[Sum, ...],
) -> Sum | None:
    """cos(m + d) to second order in d, as a square."""
    c, t = math.cos(middle), math.tan(middle)
    square = builder.apply(SQUARE, args[0].plus(Sum(t - middle - shift)))
    return square.scaled(-c / 2).plus(Sum(c * (1.0 + t * t / 2)))


def _rewritings(expression: Expression) -> Iterator[Expression]:
    for k in range(len(expression.nodes)):
        rewritten = _rewrite(expression, k, _expand)
        if rewritten is not None:
            yield rewritten


def _rewrite(expression: Expression, k: int, rule: Rule) -> Expression | None:
    builder = Builder(expression.names)
    values = builder.copy(expression, stop=k)
    args = tuple(translate(a, values) for a in expression.nodes[k].args)
    result = rule(expression, k, builder, args)
    return None if result is None else builder.rebuild(expression, [*values, result])


def _expand(expression: Expression, k: int, builder: Builder, args: tuple[Sum, ...]) -> Sum | None:
    """Multiply out a square or product of short sums: (x + a)² = x² + 2a x + a²."""
    unit = expression.nodes[k].unit
    if unit is SQUARE:
        args = (args[0], args[0])
    elif unit is not MUL:
        return None
    if sum(len(a.sources) + (a.bias != 0.0) for a in args) > 4 or all(a.is_bare for a in args):
        return None
    total = args[1].scaled(args[0].bias).plus(args[0].scaled(args[1].bias))
    total = total.plus(Sum(-args[0].bias * args[1].bias))
    for i, v in zip(args[0].sources, args[0].weights, strict=True):
        for j, w in zip(args[1].sources, args[1].weights, strict=True):
            one, two = sorted((i, j))
            product = (
                builder.apply(SQUARE, Sum(0.0, (i,), (1.0,)))
                if one == two
                else builder.apply(MUL, Sum(0.0, (one,), (1.0,)), Sum(0.0, (two,), (1.0,)))
            )
            total = total.plus(product.scaled(v * w))
    return total
