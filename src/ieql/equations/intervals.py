"""Interval arithmetic over many boxes at once: bounds that hold whatever is rounded.

A box is an interval for every input. `Enclosure` bounds one sum of an expression over many boxes
in one go, and its gradient, too. Every operation is widened by the last digits, in which NumPy,
the compiled kernels and a C library may differ: the bounds hold for the exact values and for those
that are computed.

Bounds hold where all arguments are inside the domains of their units; whether they are is what
`ieql.equations.proof` finds out, one argument after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

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
    REALS,
    SIGNED_POWER,
    SIN,
    SQRT,
    SQUARE,
    STEP,
    TANH,
    Interval,
    Unit,
)

__all__ = ["RULES", "Bounds", "Enclosure", "Rule", "rule_of"]

Array = NDArray[np.float64]
Bounds = tuple[Array, Array]
"""Lower and upper bounds, arrays of equal shape."""
EPS = float(np.finfo(np.float64).eps)
LARGEST = float(np.finfo(np.float64).max)
SMALLEST = float(np.finfo(np.float64).smallest_subnormal)
COARSE = float(np.finfo(np.float64).smallest_normal) / EPS
"""Amounts below it may have lost digits to underflow, which a relative widening does not see."""
LAST_DIGITS = 4.0 * EPS
"""By how much functions are widened: NumPy promises their last digits but not all of them."""
FAR = 1e6
"""Beyond it a float is too coarse to tell on which side of a crest of a wave it lies."""


# --- arithmetic --------------------------------------------------------------------------------


def _outward(low: Array, high: Array, digits: float = EPS) -> Bounds:
    """Widen by at least one unit in the last place; lower bounds are never +∞, upper never -∞.

    A zero is taken to be exact: `_not_lost` is for what may have vanished by underflow.
    """
    low, high = np.minimum(low, LARGEST), np.maximum(high, -LARGEST)
    return low - _slack(low, digits), high + _slack(high, digits)


def _slack(x: Array, digits: float) -> Array:
    """What rounding may have taken from an amount that is not zero."""
    size = np.abs(x)
    slack: Array = digits * size
    coarse = size < COARSE
    if coarse.any():
        slack = slack + np.where(coarse & (size > 0.0), SMALLEST, 0.0)
    return slack


def _not_lost(x: Array, vanishes: NDArray[np.bool_] | bool) -> Array:
    """Zeros that stand for something smaller than any float, as the smallest one of their sign."""
    if x.all():
        return x
    lost = (x == 0.0) & ~np.asarray(vanishes)
    return np.where(lost, np.copysign(SMALLEST, x), x) if lost.any() else x


def _times(x: Array | float, y: Array) -> Array:
    """A product, which is zero only if a factor is."""
    whole = x * y
    return whole if whole.all() else _not_lost(whole, np.equal(x, 0.0) | (y == 0.0))


def product(x: Bounds, y: Bounds) -> Bounds:
    """Bounds of a product."""
    corners = _times(x[0], y[0]), _times(x[0], y[1]), _times(x[1], y[0]), _times(x[1], y[1])
    # Zero times infinity is NaN. It counts as zero: every number inside is finite.
    low = np.fmin(np.fmin(corners[0], corners[1]), np.fmin(corners[2], corners[3]))
    high = np.fmax(np.fmax(corners[0], corners[1]), np.fmax(corners[2], corners[3]))
    undefined = np.isnan(low)
    if undefined.any():
        low, high = np.where(undefined, 0.0, low), np.where(undefined, 0.0, high)
    return _outward(low, high)


def _negative(x: Bounds) -> Bounds:
    return -x[1], -x[0]


def _positive(x: Bounds) -> Bounds:
    """The part of an interval that is not negative."""
    return np.maximum(x[0], 0.0), np.maximum(x[1], 0.0)


def reciprocal(x: Bounds) -> Bounds:
    """Bounds of 1/x for the positive part of x."""
    low, high = _positive(x)
    return _outward(1.0 / high, 1.0 / low)


def square(x: Bounds) -> Bounds:
    """Bounds of x²."""
    low, high = _times(x[0], x[0]), _times(x[1], x[1])
    least = np.where((x[0] <= 0.0) & (x[1] >= 0.0), 0.0, np.minimum(low, high))
    return _outward(least, np.maximum(low, high))


def exp(x: Bounds) -> Bounds:
    """Bounds of exp(x)."""
    low, high = (_not_lost(np.exp(end), end == -np.inf) for end in x)
    return _outward(low, high, LAST_DIGITS)


def log(x: Bounds) -> Bounds:
    """Bounds of log(x) for the positive part of x."""
    low, high = _positive(x)
    return _outward(np.log(low), np.log(high), LAST_DIGITS)


def sqrt(x: Bounds) -> Bounds:
    """Bounds of the root of the part of x that is not negative."""
    low, high = _positive(x)
    return _outward(np.sqrt(low), np.sqrt(high))


def _wave(function: Callable[[Array], Array], crest: float, x: Bounds) -> Bounds:
    """Bounds of cos or sin, whose maxima lie at `crest` plus multiples of 2 pi."""
    low, high = x
    near = (low > -FAR) & (high < FAR)
    low, high = np.where(near, low, 0.0), np.where(near, high, 7.0)
    ends = function(low), function(high)
    slack = 1e-9  # a crest so close to an end counts as inside

    def holds(place: float) -> NDArray[np.bool_]:
        period = 2.0 * math.pi
        last = np.floor((high - place + slack) / period)
        return np.asarray(last >= np.ceil((low - place - slack) / period))

    least = np.minimum(*ends) - LAST_DIGITS
    greatest = np.maximum(*ends) + LAST_DIGITS
    return (
        np.where(holds(crest + math.pi), -1.0, np.maximum(least, -1.0)),
        np.where(holds(crest), 1.0, np.minimum(greatest, 1.0)),
    )


def cos(x: Bounds) -> Bounds:
    """Bounds of cos(x)."""
    return _wave(np.cos, 0.0, x)


def sin(x: Bounds) -> Bounds:
    """Bounds of sin(x)."""
    return _wave(np.sin, math.pi / 2, x)


def tanh(x: Bounds) -> Bounds:
    """Bounds of tanh(x)."""
    low, high = _outward(np.tanh(x[0]), np.tanh(x[1]), LAST_DIGITS)
    return np.maximum(low, -1.0), np.minimum(high, 1.0)


def atan(x: Bounds) -> Bounds:
    """Bounds of atan(x)."""
    return _outward(np.arctan(x[0]), np.arctan(x[1]), LAST_DIGITS)


def logistic(x: Bounds) -> Bounds:
    """Bounds of 1/(1 + exp(-x))."""
    low, high = (_not_lost(1.0 / (1.0 + np.exp(-end)), end == -np.inf) for end in x)
    low, high = _outward(low, high, LAST_DIGITS)
    return low, np.minimum(high, 1.0)


def gauss(x: Bounds) -> Bounds:
    """Bounds of exp(-x²)."""
    return exp(_negative(square(x)))


def absolute(x: Bounds) -> Bounds:
    """Bounds of |x|; nothing is rounded."""
    ends = np.abs(x[0]), np.abs(x[1])
    return np.where((x[0] <= 0.0) & (x[1] >= 0.0), 0.0, np.minimum(*ends)), np.maximum(*ends)


def step(x: Bounds) -> Bounds:
    """Bounds of the step; nothing is rounded."""
    return np.where(x[0] >= 0.0, 1.0, 0.0), np.where(x[1] >= 0.0, 1.0, 0.0)


def power(x: Bounds, p: Bounds) -> Bounds:
    """Bounds of sign(x)·|x|^p, for a positive base or a positive exponent.

    It rises or falls all the way in either argument, so that the extremes are in the corners.
    """
    corners = [
        _not_lost(np.copysign(np.abs(z) ** q, z), (z == 0.0) | np.isinf(z) | np.isinf(q))
        for z in x
        for q in p
    ]
    low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    return _outward(low, high, LAST_DIGITS)


# --- units -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """How a unit acts on bounds.

    Attributes
    ----------
    value : callable
        Bounds of the arguments to bounds of the value.
    slopes : callable
        Bounds of the value and of the arguments to bounds of the derivative by each argument.
    is_known : bool
        False where nothing is known of a user's own unit: splitting a box does not help then.
    """

    value: Callable[..., Bounds]
    slopes: Callable[..., tuple[Bounds, ...]]
    is_known: bool = True


def _one(x: Bounds) -> Bounds:
    return np.ones_like(x[0]), np.ones_like(x[0])


def _slopes_of_quotient(value: Bounds, a: Bounds, b: Bounds) -> tuple[Bounds, Bounds]:
    inverse = reciprocal(b)
    return inverse, _negative(product(value, inverse))


def _slope_of_logistic(x: Bounds) -> Bounds:
    """The slope of a logistic curve falls with the distance of the argument from zero."""
    near, far = absolute(x)
    least, most = (
        _not_lost(decay / np.square(1.0 + decay), end == np.inf)
        for end, decay in ((far, np.exp(-far)), (near, np.exp(-near)))
    )
    return _outward(least, most, 2.0 * LAST_DIGITS)


def _slope_of_tanh(x: Bounds) -> Bounds:
    """tanh(x) is 2 logistic(2x) - 1."""
    low, high = _slope_of_logistic((2.0 * x[0], 2.0 * x[1]))
    return 4.0 * low, 4.0 * high


def _slope_of_jump(x: Bounds) -> Bounds:
    """Of a step: any rise where it may jump."""
    jumps = (x[0] < 0.0) & (x[1] >= 0.0)
    return np.zeros_like(x[0]), np.where(jumps, np.inf, 0.0)


def _slopes_of_selection(above: Bounds) -> tuple[Bounds, Bounds]:
    """Of the argument that is selected where a difference is positive, and of the other one."""
    low = np.where(above[0] > 0.0, 1.0, 0.0)
    high = np.where(above[1] < 0.0, 0.0, 1.0)
    return (low, high), (1.0 - high, 1.0 - low)


def _difference(a: Bounds, b: Bounds) -> Bounds:
    return _outward(a[0] - b[1], a[1] - b[0])


def _slopes_of_power(value: Bounds, z: Bounds, p: Bounds) -> tuple[Bounds, Bounds]:
    """By the base; by the exponent, which is a number, nobody asks."""
    less = _difference(p, (np.ones_like(p[0]),) * 2)
    anything = np.full_like(p[0], -np.inf), np.full_like(p[0], np.inf)
    size = absolute(z)
    low, high = product(p, power(size, less))
    # At zero, where a root has a vertical tangent, the slope is taken to be zero.
    return (np.where(size[0] > 0.0, low, np.minimum(low, 0.0)), high), anything


RULES: Mapping[Unit, Rule] = MappingProxyType(
    {
        IDENTITY: Rule(lambda x: x, lambda v, x: (_one(x),)),
        COS: Rule(cos, lambda v, x: (_negative(sin(x)),)),
        SIN: Rule(sin, lambda v, x: (cos(x),)),
        EXP: Rule(exp, lambda v, x: (v,)),
        LOG: Rule(log, lambda v, x: (reciprocal(x),)),
        SQRT: Rule(sqrt, lambda v, x: (_halved(reciprocal(v)),)),
        SQUARE: Rule(square, lambda v, x: ((2.0 * x[0], 2.0 * x[1]),)),
        MUL: Rule(product, lambda v, a, b: (b, a)),
        DIV: Rule(lambda a, b: product(a, reciprocal(b)), _slopes_of_quotient),
        TANH: Rule(tanh, lambda v, x: (_slope_of_tanh(x),)),
        ATAN: Rule(atan, lambda v, x: (reciprocal(_outward(*_plus_one(square(x)))),)),
        LOGISTIC: Rule(logistic, lambda v, x: (_slope_of_logistic(x),)),
        GAUSS: Rule(gauss, lambda v, x: (product((-2.0 * x[1], -2.0 * x[0]), v),)),
        ABS: Rule(absolute, lambda v, x: (_sign(x),)),
        STEP: Rule(step, lambda v, x: (_slope_of_jump(x),)),
        MIN: Rule(
            lambda a, b: (np.minimum(a[0], b[0]), np.minimum(a[1], b[1])),
            lambda v, a, b: _slopes_of_selection(_difference(b, a)),
        ),
        MAX: Rule(
            lambda a, b: (np.maximum(a[0], b[0]), np.maximum(a[1], b[1])),
            lambda v, a, b: _slopes_of_selection(_difference(a, b)),
        ),
        POWER: Rule(
            lambda z, p: power(_positive(z), p),
            lambda v, z, p: _slopes_of_power(v, _positive(z), p),
        ),
        SIGNED_POWER: Rule(
            lambda z, p: power(z, _positive(p)),
            lambda v, z, p: _slopes_of_power(v, z, _positive(p)),
        ),
    }
)
"""The rule of every unit of the table."""


def _plus_one(x: Bounds) -> Bounds:
    return 1.0 + x[0], 1.0 + x[1]


def _sign(x: Bounds) -> Bounds:
    """The slope of |x|: both signs where it may have its kink."""
    return np.where(x[0] > 0.0, 1.0, -1.0), np.where(x[1] < 0.0, -1.0, 1.0)


def _halved(x: Bounds) -> Bounds:
    return 0.5 * x[0], 0.5 * x[1]


def rule_of(unit: Unit) -> Rule:
    """The rule of a unit; that of a user's own is made from its scalar `interval`, box by box."""
    if not unit.is_custom:
        return RULES[unit]

    def value(*args: Bounds) -> Bounds:
        found = np.array(
            [
                _scalar(unit, [(float(low[k]), float(high[k])) for low, high in args])
                for k in range(len(args[0][0]))
            ]
        ).reshape(-1, 2)
        return _outward(found[:, 0], found[:, 1], LAST_DIGITS)

    def slopes(value: Bounds, *args: Bounds) -> tuple[Bounds, ...]:
        anything = np.full_like(value[0], -np.inf), np.full_like(value[0], np.inf)
        return (anything,) * len(args)

    return Rule(value, slopes, is_known=unit.interval is not None)


def _scalar(unit: Unit, args: list[Interval]) -> Interval:
    try:
        bounds = unit.to_interval(*args)
    except (ArithmeticError, ValueError):  # a user's rule may not be made for infinite bounds
        return REALS
    if bounds is None or math.isnan(bounds[0]) or math.isnan(bounds[1]):
        return REALS
    return bounds


# --- expressions -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Enclosure:
    """One sum of an expression, ready to be bounded over many boxes.

    Only the units and inputs that the sum depends on are looked at. Boxes are given by the lower
    and upper ends of these inputs, arrays of shape (inputs, boxes).

    Parameters
    ----------
    expression : Expression
        Where the sources of the sum are defined.
    sum : Sum
        An argument of a unit, an output, or any other sum of the sources.
    known : mapping from (node, argument) to (low, high)
        Proved bounds of arguments, with which their intervals are cut.
    """

    expression: Expression
    sum: Sum
    known: Mapping[tuple[int, int], Interval] = field(default_factory=dict)

    @cached_property
    def _sources(self) -> set[int]:
        d = len(self.expression.names)
        found: set[int] = set()
        stack = list(self.sum.sources)
        while stack:
            source = stack.pop()
            if source not in found:
                found.add(source)
                if source >= d:
                    stack += [i for a in self.expression.nodes[source - d].args for i in a.sources]
        return found

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """Numbers of the inputs that the sum depends on."""
        return tuple(sorted(i for i in self._sources if i < len(self.expression.names)))

    @cached_property
    def nodes(self) -> tuple[tuple[int, Node, Rule], ...]:
        """Number, node and rule of the units that the sum depends on, in topological order."""
        d = len(self.expression.names)
        numbers = sorted(i - d for i in self._sources if i >= d)
        nodes = self.expression.nodes
        return tuple((k, nodes[k], rule_of(nodes[k].unit)) for k in numbers)

    @property
    def is_known(self) -> bool:
        """Whether something is known of all units: then smaller boxes have closer bounds."""
        return all(rule.is_known for _, _, rule in self.nodes)

    def bounds(self, lower: Array, upper: Array) -> Bounds:
        """Bounds of the sum over each box, shape (boxes,)."""
        return self._run(lower, upper, with_slopes=False)[0]

    def bounds_and_slopes(self, lower: Array, upper: Array) -> tuple[Bounds, Bounds]:
        """Bounds of the sum, shape (boxes,), and of its gradient, shape (inputs, boxes)."""
        return self._run(lower, upper, with_slopes=True)

    def parts(
        self, lower: Array, upper: Array
    ) -> tuple[dict[int, Bounds], dict[tuple[int, int], Bounds]]:
        """Bounds over each box of all that the sum is computed from.

        Those of inputs and units by their source, those of arguments by node and place; the last
        are cut to what is known, as they are for the value of the unit.
        """
        values, _ = self._sources_of(lower, upper, with_slopes=False)
        arguments = {}
        with np.errstate(all="ignore"):
            for k, node, _ in self.nodes:
                for j, a in enumerate(node.args):
                    z = _affine(a, values, lower.shape[1])
                    arguments[k, j] = self._cut(k, node.unit, j, z)
        return values, arguments

    def size(self, lower: Array, upper: Array) -> Array:
        """The sum of the amounts of all terms, at most, over each box: what rounding goes by."""
        s = self.sum
        sizes = Sum(abs(s.bias), s.sources, tuple(abs(w) for w in s.weights))
        values, _ = self._sources_of(lower, upper, with_slopes=False)
        absolute = {i: (np.maximum(np.abs(v[0]), np.abs(v[1])),) * 2 for i, v in values.items()}
        return _affine(sizes, absolute, lower.shape[1])[1]

    def _run(self, lower: Array, upper: Array, with_slopes: bool) -> tuple[Bounds, Bounds]:
        values, slopes = self._sources_of(lower, upper, with_slopes)
        with np.errstate(all="ignore"):
            total = _affine(self.sum, values, lower.shape[1])
            if not with_slopes:
                return total, total
            return total, _gradient(self.sum, slopes, lower.shape)

    def _sources_of(
        self, lower: Array, upper: Array, with_slopes: bool
    ) -> tuple[dict[int, Bounds], dict[int, Bounds]]:
        d, n_boxes = len(self.expression.names), lower.shape[1]
        values: dict[int, Bounds] = {}
        slopes: dict[int, Bounds] = {}
        for row, i in enumerate(self.inputs):
            values[i] = lower[row], upper[row]
            if with_slopes:
                unit = np.zeros(lower.shape)
                unit[row] = 1.0
                slopes[i] = unit, unit
        with np.errstate(all="ignore"):
            for k, node, rule in self.nodes:
                args = [_affine(a, values, n_boxes) for a in node.args]
                args = [self._cut(k, node.unit, j, z) for j, z in enumerate(args)]
                value = rule.value(*args)
                values[d + k] = value
                if with_slopes:
                    slopes[d + k] = _chained(node, rule.slopes(value, *args), slopes, lower.shape)
        return values, slopes

    def _cut(self, k: int, unit: Unit, argument: int, z: Bounds) -> Bounds:
        """The part of an argument's interval that lies in its domain, and within known bounds."""
        low, high = unit.domains[argument]
        bounds = self.known.get((k, argument))
        if bounds is not None:
            low, high = max(low, bounds[0]), min(high, bounds[1])
        if (low, high) == REALS:
            return z
        return np.clip(z[0], low, high), np.clip(z[1], low, high)


def _affine(s: Sum, values: Mapping[int, Bounds], n_boxes: int) -> Bounds:
    """Bounds of a sum; each end is widened by the rounding of its own terms."""
    if s.is_bare:
        return values[s.sources[0]]
    if s.is_constant:
        return np.full(n_boxes, s.bias), np.full(n_boxes, s.bias)
    ends = []
    for end in (0, 1):
        total = np.full(n_boxes, s.bias)
        size = np.full(n_boxes, abs(s.bias))
        for i, w in zip(s.sources, s.weights, strict=True):
            if w != 0.0:
                term = _times(w, values[i][end if w > 0.0 else 1 - end])
                total = total + term
                size += np.abs(term)
        ends.append((total, (len(s.sources) + 1) * _slack(size, EPS)))
    (low, below), (high, above) = ends
    return _widened(low, high, below, above)


def _widened(low: Array, high: Array, below: Array, above: Array) -> Bounds:
    """Widen by given amounts; where infinite terms of both signs met, nothing is known."""
    low = np.minimum(low, LARGEST) - below
    high = np.maximum(high, -LARGEST) + above
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _gradient(s: Sum, slopes: Mapping[int, Bounds], shape: tuple[int, ...]) -> Bounds:
    """Bounds of the gradient of a sum."""
    low, high = np.zeros(shape), np.zeros(shape)
    if s.is_bare:
        return slopes[s.sources[0]]
    below, above = np.zeros(shape), np.zeros(shape)
    for i, w in zip(s.sources, s.weights, strict=True):
        if w != 0.0:
            a, b = slopes[i] if w > 0.0 else (slopes[i][1], slopes[i][0])
            a, b = _times(w, a), _times(w, b)
            low, high = low + a, high + b
            below, above = below + np.abs(a), above + np.abs(b)
    n = len(s.sources) + 1
    return _widened(low, high, n * _slack(below, EPS), n * _slack(above, EPS))


def _chained(
    node: Node,
    own: tuple[Bounds, ...],
    slopes: Mapping[int, Bounds],
    shape: tuple[int, ...],
) -> Bounds:
    """Bounds of the gradient of a node from the derivatives by its arguments."""
    low, high = np.zeros(shape), np.zeros(shape)
    for a, slope in zip(node.args, own, strict=True):
        if not a.is_constant:
            part = product(slope, _gradient(a, slopes, shape))
            low, high = low + part[0], high + part[1]
    return _widened(low, high, _slack(low, EPS), _slack(high, EPS))
