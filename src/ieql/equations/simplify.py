"""Simpler forms of the same function; every step is checked numerically before it is kept.

Two kinds of rewriting live here. `gauge` removes scales that cancel (``(2x)² / 4``), so that the
Jacobian of the constants has full rank: the learner works on gauged expressions. `simplify` applies
identities for the reader's sake.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.prior import Prior
from ieql.units import COS, DIV, EXP, IDENTITY, LOG, MUL, REALS, SIN, SQRT, SQUARE, Unit

__all__ = ["GaugedBuilder", "expansions", "gauge", "has_free_scale", "parabolas", "simplify"]

Array = NDArray[np.float64]
TOLERANCE = 1e-9
SMALL_PART = 3.1
"""Radians of a wave that a parabola can stand for, if it is curved there: less than half a turn."""
BESIDE = 0.1
"""Part of the range of a wave's argument by which its top may lie outside."""
STRAIGHT = 0.3
"""Least |cos| in the middle of such a piece of a wave: below, it has no curvature."""


# --- gauge -------------------------------------------------------------------------------------


def gauge(expression: Expression) -> Expression:
    """Fix the scales that cancel.

    The largest coefficient in every argument of square, sqrt, mul, div and log becomes ± 1 (its
    size moves to the coefficients behind the unit, for log to their bias), the bias inside exp
    becomes a factor, and a cosine's leading coefficient is positive.
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
    if unit is COS and args[0].weights and args[0].weights[0] < 0:
        return apply(unit, args[0].scaled(-1.0))
    if not has_free_scale(unit) or not all(
        1e-100 < size < 1e100 or a.is_constant for size, a in zip(sizes, args, strict=True)
    ):
        return apply(unit, *args)
    sizes = [1.0 if a.is_constant else size for size, a in zip(sizes, args, strict=True)]
    for a in _free_signs(unit):
        if args[a].weights and args[a].weights[0] < 0:
            sizes[a] = -sizes[a]
    scaled = [a.scaled(1.0 / size) for a, size in zip(args, sizes, strict=True)]
    result = apply(unit, *(_exact_one(a) for a in scaled))
    if unit is LOG:
        return result.plus(Sum(math.log(sizes[0])))
    above = below = 1.0
    for size, p in zip(sizes, unit.powers, strict=True):
        part = math.sqrt(size) if abs(p) == 0.5 else size ** abs(p)
        above, below = (above * part, below) if p > 0 else (above, below * part)
    return result.scaled(above / below)


@cache
def has_free_scale(unit: Unit) -> bool:
    """Whether a positive factor of an argument can be written behind the unit instead.

    So it is with the logarithm, and with products of powers: of low ones, as sizes go up to 1e100,
    and on domains that no factor leads out of.
    """
    total = sum(abs(p) for p in _exponents(unit))
    ends = {end for domain in unit.domains for end in domain}
    return unit is LOG or (0.0 < total <= 3.0 and ends <= {0.0, math.inf, -math.inf})


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


def _exact_one(s: Sum) -> Sum:
    """Division may leave 0.9999999999999999 where one is meant."""
    if s.is_constant:
        return s
    size = _largest(s)
    weights = tuple(math.copysign(1.0, w) if abs(w) == size else w for w in s.weights)
    return Sum(s.bias, s.sources, weights)


# --- identities --------------------------------------------------------------------------------

INVERSES = {LOG: EXP, EXP: LOG, SQUARE: SQRT, SQRT: SQUARE}
"""Units that undo each other, where both are defined."""
Rule = Callable[[Expression, int, Builder, tuple[Sum, ...]], "Sum | None"]


def simplify(expression: Expression, X: Array, prior: Prior | None = None) -> Expression:
    """Apply identities until none helps.

    Parameters
    ----------
    expression : Expression
        In any coordinates.
    X : array (rows, inputs)
        Points on which each step must leave the values as they are (1e-9 of their size).
    prior : Prior, optional
        A step that raises the complexity, or makes a composition that is prohibited, is not taken.

    Returns
    -------
    Expression
        Equal to the given one on `X`, and no more complex.
    """
    current = expression.canonical()
    for _ in range(100):
        for trial in _rewritings(current):
            if _is_better(trial, current, prior) and _is_equal(trial, current, X):
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
    # Factors are collected before anything is multiplied out, which hides that they are equal.
    for rule in (
        _inverse,
        _same_arguments,
        _antilogarithms,
        _product_of_waves,
        _collect,
        _collect_grouped,
        _logarithms,
        _expand,
    ):
        for k in range(len(expression.nodes)):
            rewritten = _rewrite(expression, k, rule)
            if rewritten is not None:
                yield rewritten


def _rewrite(expression: Expression, k: int, rule: Rule) -> Expression | None:
    builder = Builder(expression.names)
    values = builder.copy(expression, stop=k)
    args = tuple(translate(a, values) for a in expression.nodes[k].args)
    result = rule(expression, k, builder, args)
    return None if result is None else builder.rebuild(expression, [*values, result])


def _inverse(expression: Expression, k: int, builder: Builder, args: tuple[Sum, ...]) -> Sum | None:
    """Undo a unit by its inverse: log(exp z), exp(log z), square(sqrt z), sqrt(square z)."""
    node = expression.nodes[k]
    if node.unit is IDENTITY:
        return args[0]
    if len(args) != 1 or not args[0].is_bare or args[0].sources[0] < len(builder.names):
        return None
    inner = builder.nodes[args[0].sources[0] - len(builder.names)]
    return inner.args[0] if INVERSES.get(node.unit) is inner.unit else None


def _same_arguments(
    expression: Expression, k: int, builder: Builder, args: tuple[Sum, ...]
) -> Sum | None:
    """Write z·z as a square and z/z as one, also where the two differ by a factor."""
    unit = expression.nodes[k].unit
    if unit not in (MUL, DIV) or args[0].sources != args[1].sources or not args[0].sources:
        return None
    factor = args[1].weights[0] / args[0].weights[0]
    if not np.allclose(
        [args[1].bias, *args[1].weights],
        [factor * args[0].bias, *(factor * w for w in args[0].weights)],
        rtol=1e-12,
        atol=0.0,
    ):
        return None
    if unit is DIV:
        return Sum(1.0 / factor)
    return builder.apply(SQUARE, args[0]).scaled(factor)


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


ROUNDING = 1e-12
SAME_WAVE = 1e-9
"""Relative difference of frequencies that are one."""
SAME_POWER = 1e-9
"""Exponents this close to a simple one are that."""
MOST_FACTORS = 40
"""Factors of a product up to which it is taken apart."""


def _collect(expression: Expression, k: int, builder: Builder, args: tuple[Sum, ...]) -> Sum | None:
    """Collect the powers of equal factors: r·(q/(r²·e)) = q/(r·e)."""
    return _collected(expression, k, builder, args, grouped=False)


def _collect_grouped(
    expression: Expression, k: int, builder: Builder, args: tuple[Sum, ...]
) -> Sum | None:
    """The same, with factors of equal exponents under one power: a²·b² = (a·b)²."""
    return _collected(expression, k, builder, args, grouped=True)


def _collected(
    expression: Expression, k: int, builder: Builder, args: tuple[Sum, ...], grouped: bool
) -> Sum | None:
    exponents = _exponents(expression.nodes[k].unit)
    found = _factors(builder, list(zip(args, exponents, strict=True))) if exponents else None
    if found is None:
        return None
    powers, coefficient = found
    above = _product(builder, {s: p for s, p in powers.items() if p > 0}, grouped)
    below = _product(builder, {s: -p for s, p in powers.items() if p < 0}, grouped)
    if above is None or below is None:
        return None
    return builder.apply(DIV, above, below).scaled(coefficient)


def _factors(
    builder: Builder, stack: list[tuple[Sum, float]]
) -> tuple[dict[Sum, float], float] | None:
    """Take a product of powers apart: each factor with its exponent, and the coefficient."""
    powers: dict[Sum, float] = {}
    coefficient = 1.0
    for _ in range(MOST_FACTORS):
        if not stack:
            break
        s, p = stack.pop()
        size = s.bias if s.is_constant else s.weights[0]
        if size == 0.0 or (size < 0.0 and p != int(p)):
            return None
        try:
            coefficient *= size**p
        except OverflowError:
            return None
        if s.is_constant:
            continue
        s = s.scaled(1.0 / size)
        inner = None
        if len(s.sources) == 1 and s.bias == 0.0 and s.sources[0] >= len(builder.names):
            inner = builder.nodes[s.sources[0] - len(builder.names)]
        exponents = () if inner is None else _exponents(inner.unit)
        logarithms: dict[Sum, float] = {}
        if inner is not None and inner.unit is EXP:
            logarithms, rest = _simple_powers(builder, inner.args[0])
        if inner is not None and exponents:
            stack += [(a, p * q) for a, q in zip(inner.args, exponents, strict=True)]
        elif logarithms:
            stack += [(a, p * q) for a, q in logarithms.items()]
            stack.append((builder.apply(EXP, rest), p))
        else:
            s = s._replace(weights=(1.0, *s.weights[1:]))
            powers[s] = powers.get(s, 0.0) + p
    return None if stack or not math.isfinite(coefficient) else (powers, coefficient)


def _logarithms(
    expression: Expression, k: int, builder: Builder, args: tuple[Sum, ...]
) -> Sum | None:
    """Write the logarithm of a product as a sum: log(x/y²) = log(x) - 2·log(y)."""
    if expression.nodes[k].unit is not LOG:
        return None
    found = _factors(builder, [(args[0], 1.0)])
    if found is None or found[1] <= 0.0:
        return None
    logs = [builder.apply(LOG, s).scaled(p) for s, p in reversed(found[0].items())]
    return Sum.total([Sum(math.log(found[1])), *logs])


def _product_of_waves(
    expression: Expression, k: int, builder: Builder, args: tuple[Sum, ...]
) -> Sum | None:
    """Write a product of waves of one argument as a wave: cos²(z) = cos(2z)/2 + 1/2."""
    if expression.nodes[k].unit is not MUL:
        return None
    found = _factors(builder, [(args[0], 1.0), (args[1], 1.0)])
    if found is None:
        return None
    powers, coefficient = found
    waves = [(s, _wave(builder, s)) for s, p in powers.items() if p == 1.0]
    for (s, z), (t, other) in combinations(waves, 2):
        if z is None or other is None or z.sources != other.sources:
            continue
        same = np.allclose(z.weights, other.weights, rtol=SAME_WAVE, atol=0.0)
        if not same:
            continue
        double = builder.apply(COS, z.plus(other))
        level = math.cos(z.bias - other.bias)
        pair = double.plus(Sum(level if abs(level) > ROUNDING else 0.0))
        rest = {r: p for r, p in powers.items() if r not in (s, t)}
        above = _product(builder, {r: p for r, p in rest.items() if p > 0}, grouped=False)
        below = _product(builder, {r: -p for r, p in rest.items() if p < 0}, grouped=False)
        if above is None or below is None:
            return None
        whole = builder.apply(DIV, builder.apply(MUL, above, pair), below)
        return whole.scaled(0.5 * coefficient)
    return None


def _wave(builder: Builder, s: Sum) -> Sum | None:
    """The argument of the cosine that a sum is, a sine being a shifted one; None for others."""
    if len(s.sources) != 1 or s.bias != 0.0 or s.sources[0] < len(builder.names):
        return None
    node = builder.nodes[s.sources[0] - len(builder.names)]
    if node.unit is SIN:
        return node.args[0].plus(Sum(-0.5 * math.pi))
    return node.args[0] if node.unit is COS else None


def _simple_powers(builder: Builder, exponent: Sum) -> tuple[dict[Sum, float], Sum]:
    """Whole and half powers whose logarithms are in an exponent, and what else is in it."""
    rest = exponent
    powers: dict[Sum, float] = {}
    for i, w in zip(exponent.sources, exponent.weights, strict=True):
        node = builder.nodes[i - len(builder.names)] if i >= len(builder.names) else None
        p = round(2.0 * w) / 2.0
        if node is not None and node.unit is LOG and p != 0.0 and abs(w - p) < SAME_POWER:
            powers[node.args[0]] = powers.get(node.args[0], 0.0) + p
            rest = rest.plus(Sum(0.0, (i,), (-w,)))
    return powers, rest


def _antilogarithms(
    expression: Expression, k: int, builder: Builder, args: tuple[Sum, ...]
) -> Sum | None:
    """Write whole and half powers as such: exp(log(x) - log(y)/2 - z) = x·exp(-z)/√y."""
    if expression.nodes[k].unit is not EXP:
        return None
    powers, inside = _simple_powers(builder, args[0])
    if not powers:
        return None
    above = _product(builder, {s: p for s, p in powers.items() if p > 0.0}, grouped=True)
    below = _product(builder, {s: -p for s, p in powers.items() if p < 0.0}, grouped=True)
    if above is None or below is None:
        return None
    return builder.apply(DIV, builder.apply(MUL, builder.apply(EXP, inside), above), below)


def _product(builder: Builder, powers: dict[Sum, float], grouped: bool) -> Sum | None:
    """The product of sums with exponents, whole or half; None for any other exponent."""
    if grouped:
        classes: dict[float, list[Sum]] = {}
        for s, p in powers.items():
            classes.setdefault(p, []).append(s)
        factors = [(_chain(builder, group), p) for p, group in sorted(classes.items())]
    else:
        factors = list(powers.items())
    result = []
    for s, p in factors:
        if 2.0 * p != int(2.0 * p) or p > 16.0:
            return None
        if p != int(p):
            result.append(builder.apply(SQRT, s))
        if p >= 1.0:
            result.append(_whole_power(builder, s, int(p)))
    return _chain(builder, result)


def _chain(builder: Builder, factors: list[Sum]) -> Sum:
    total = Sum(1.0)
    for s in factors:
        total = builder.apply(MUL, total, s)
    return total


def _whole_power(builder: Builder, s: Sum, n: int) -> Sum:
    if n == 1:
        return s
    half = builder.apply(SQUARE, _whole_power(builder, s, n // 2))
    return builder.apply(MUL, half, s) if n % 2 else half


def _is_better(trial: Expression, current: Expression, prior: Prior | None) -> bool:
    def size(e: Expression) -> tuple[float, int, int, int]:
        n_biases = sum(s.bias != 0.0 for s in e.sums)
        weight = float(e.n_parameters) if prior is None else e.complexity(prior)
        # Of equals, a product rather than the exponential of logarithms.
        return weight, e.n_parameters, n_biases, sum(n.unit is LOG for n in e.nodes)

    if prior is not None:
        new = trial.unit_counts().keys() - current.unit_counts().keys()
        if not new <= set(prior.units):
            return False
        if not trial.is_allowed(prior) and current.is_allowed(prior):
            return False
    return size(trial) < size(current)


def _is_equal(trial: Expression, current: Expression, X: Array) -> bool:
    a, b = trial.evaluate(X), current.evaluate(X)
    scale = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
    return bool(
        np.array_equal(np.isfinite(a), np.isfinite(b))
        and np.all(np.abs(a - b)[np.isfinite(b)] <= TOLERANCE * (scale + 1e-300))
    )
