"""Interval rules of the built-in units: bounds of the values for bounds of the arguments.

Each holds all values, those of the exported C included, which differ from ours in the last digits;
None says that the unit may be undefined there. The table of units (`ieql.units`) names them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

__all__ = [
    "Interval",
    "abs_interval",
    "cos_interval",
    "div_interval",
    "exp_interval",
    "gauss_interval",
    "log_interval",
    "logistic_at",
    "mul_interval",
    "power_interval",
    "rising",
    "signed_power_interval",
    "sin_interval",
    "square_interval",
]

Interval = tuple[float, float]
"""Lower and upper bound; the bounds may be infinite."""


def _outward(low: float, high: float) -> Interval:
    """Widen by a few of the last digits, in which NumPy and the C library differ."""
    digits = 1e-15
    return low - digits * abs(low), high + digits * abs(high)


def _wave_interval(wave: Callable[[float], float], crest: float, x: Interval) -> Interval:
    """Bounds of cos or sin, whose maxima lie at `crest` plus multiples of 2 pi."""
    low, high = x
    # Far out, a float is too coarse to tell on which side of an extremum it lies.
    if not (low > -1e6 and high < 1e6) or high - low >= 2 * math.pi:
        return -1.0, 1.0
    lower, upper = _outward(min(wave(low), wave(high)), max(wave(low), wave(high)))
    first, last = math.ceil((low - crest) / math.pi), math.floor((high - crest) / math.pi)
    for k in range(first, last + 1):
        lower, upper = (lower, 1.0) if k % 2 == 0 else (-1.0, upper)
    return max(lower, -1.0), min(upper, 1.0)


def cos_interval(x: Interval) -> Interval:
    """Bounds of a cosine."""
    return _wave_interval(math.cos, 0.0, x)


def sin_interval(x: Interval) -> Interval:
    """Bounds of a sine."""
    return _wave_interval(math.sin, math.pi / 2, x)


def _exp(z: float) -> float:
    try:
        return math.exp(z)
    except OverflowError:
        return math.inf


def exp_interval(x: Interval) -> Interval:
    """Bounds of an exponential."""
    # Where even the lower bound overflows, the largest float is still a lower bound.
    return _outward(min(_exp(x[0]), sys.float_info.max), _exp(x[1]))


def log_interval(x: Interval) -> Interval | None:
    """Bounds of a logarithm, for positive arguments."""
    return _outward(math.log(min(x[0], sys.float_info.max)), math.log(x[1])) if x[0] > 0 else None


def _product(a: float, b: float) -> float:
    # A zero bound times an infinite one is zero: no finite value inside gives anything else.
    return 0.0 if a == 0.0 or b == 0.0 else a * b


def mul_interval(x: Interval, y: Interval) -> Interval:
    """Bounds of a product."""
    products = [_product(a, b) for a in x for b in y]
    return min(products), max(products)


def div_interval(x: Interval, y: Interval) -> Interval | None:
    """Bounds of a quotient, whose denominator keeps away from zero."""
    if y[0] <= 0.0 <= y[1]:
        return None
    quotients = [0.0 if math.isinf(b) else a / b for a in x for b in y]
    return min(quotients), max(quotients)


def square_interval(x: Interval) -> Interval:
    """Bounds of a square."""
    squares = (x[0] * x[0], x[1] * x[1])
    return (0.0 if x[0] <= 0.0 <= x[1] else min(squares)), max(squares)


def rising(function: Callable[[float], float]) -> Callable[[Interval], Interval]:
    """The rule of a function that rises all the way."""

    def interval(x: Interval) -> Interval:
        return _outward(function(x[0]), function(x[1]))

    return interval


def logistic_at(z: float) -> float:
    """The logistic function of a number."""
    return 1.0 / (1.0 + _exp(-z))


def gauss_interval(x: Interval) -> Interval:
    """Bounds of exp(-z²)."""
    near, far = square_interval(x)
    return _outward(_exp(-far), _exp(-near))


def abs_interval(x: Interval) -> Interval:
    """Bounds of an absolute value."""
    ends = abs(x[0]), abs(x[1])
    return (0.0 if x[0] <= 0.0 <= x[1] else min(ends)), max(ends)


def _power_at(z: float, p: float) -> float:
    try:
        return math.copysign(math.pow(abs(z), p), z)
    except OverflowError:
        return math.copysign(math.inf, z)
    except ValueError:  # zero to a negative power
        return math.inf


def power_interval(x: Interval, y: Interval) -> Interval | None:
    """Powers rise or fall all the way in either argument: the extremes are in the corners."""
    if not x[0] > 0.0:
        return None
    return _corners(x, y)


def signed_power_interval(x: Interval, y: Interval) -> Interval | None:
    """Bounds of sign(x) |x|^y, for positive exponents."""
    return _corners(x, y) if y[0] > 0.0 else None


def _corners(x: Interval, y: Interval) -> Interval:
    powers = [_power_at(min(z, sys.float_info.max), p) for z in x for p in y]
    # Where even the lower bound overflows, the largest float is still a lower bound.
    least = min(min(powers), sys.float_info.max)
    most = max(max(powers), -sys.float_info.max)
    return _outward(-math.inf if x[0] == -math.inf else least, math.inf if math.inf in x else most)
