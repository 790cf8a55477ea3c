"""How many nats it takes to write down the constants of an equation.

A constant that the rows fix to six digits says more than one that they hardly fix, and a 2 says
less than 2.0371. Constants are written one after the other: each takes the cheapest number near its
best fit, and the others move to the best fit beside it, so that what hangs together is not paid
twice. Forms that live by cancellation, large terms whose difference matters, need many digits and
lose; standard errors alone, which ignore how constants hang together, would make them look cheap.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.precision import Information, shortest, triangular

__all__ = ["digit_code"]

Array = NDArray[np.float64]
MOST_CODED = 40
"""More constants are coded without looking for simple numbers, which takes too long."""
ONE = 0.7
"""Nats for a constant that is one."""
WHOLE = 1.0
"""Nats for the choice of a whole number, to which its logarithm is added."""
FRACTION = 0.7
"""Nats for the choice of a fraction, on top of those of its numerator."""
LARGEST_WHOLE, LARGEST_DENOMINATOR = 10, 5
GENERIC = 1.4
"""Nats for a constant of no special kind, on top of its digits."""
ROUNDING = 1e-13
"""Part of a constant below which it has no digits."""


def digit_code(expression: Expression, sample: Sample) -> float:
    """Nats for the free constants, coded jointly; NaN where the rows do not tell.

    Parameters
    ----------
    expression : Expression
        With fitted constants, none of them rounded.
    sample : Sample
        The rows they were fitted to.
    """
    known = Information.of(expression, sample)
    if known is None:
        return math.nan
    theta = expression.constants()[known.free]
    if not len(theta):
        return 0.0
    values, label = np.unique(theta, return_inverse=True)  # equal constants are written once
    membership = (label[:, None] == np.arange(len(values))).astype(np.float64)
    M = (known.factor * known.size) @ membership
    noise = math.sqrt(known.variance)
    if not (np.all(np.isfinite(M)) and math.isfinite(noise)):
        return math.nan
    if len(values) > MOST_CODED:
        return _generic_code(values, M, noise)
    return _joint_code(values, M, noise)


def _joint_code(values: Array, M: Array, noise: float) -> float:
    """Code the values one after the other, each given those before it.

    The data's nats for a move δ of the constants are |M δ|²/(2 noise²).
    """
    found, total = values.copy(), 0.0
    for g in range(len(values)):
        rest = M[:, g:]
        moves, *_ = np.linalg.lstsq(rest, -(M @ (found - values)), rcond=None)
        found[g:] += moves
        # With the one in question last, its error when the others behind it are free.
        R = triangular(np.hstack([rest[:, 1:], rest[:, :1]]))
        error = noise / max(abs(float(R[-1, -1])), 1e-300)
        nats, found[g] = _cheapest(float(found[g]), max(error, ROUNDING * abs(float(found[g]))))
        total += nats
    return total


def _cheapest(value: float, error: float) -> tuple[float, float]:
    """The least nats for a number near `value`, the loss of fit included, and that number."""
    best = (GENERIC + 0.5 * math.log1p((value / error) ** 2), value)
    if not error > 0.0:
        return best
    for cost, number in _simple(value, error):
        nats = cost + 0.5 * ((number - value) / error) ** 2
        if nats < best[0]:
            best = (nats, number)
    return best


def _simple(value: float, error: float) -> list[tuple[float, float]]:
    """Simple numbers near a value, with what they cost."""
    size, sign = abs(value), math.copysign(1.0, value)
    found = []
    for q in range(1, LARGEST_DENOMINATOR + 1):
        p = round(size * q)
        if 1 <= p <= LARGEST_WHOLE and math.gcd(p, q) == 1:
            cost = ONE if p == q else WHOLE + math.log(p)
            found.append((cost + (FRACTION + math.log(q) if q > 1 else 0.0), sign * p / q))
    turns = round(size / (math.pi / 2.0))
    if 1 <= turns <= 4:
        found.append((WHOLE + math.log(turns), sign * turns * math.pi / 2.0))
    for tolerance in (2.0, 1.0, 0.5, 0.2):
        number = shortest(value, tolerance * error)
        if number != 0.0:
            found.append((_decimal_cost(number), number))
    return found


def _decimal_cost(number: float) -> float:
    mantissa, _, exponent = f"{abs(number):.15e}".partition("e")
    digits = len(mantissa.replace(".", "").rstrip("0"))
    return digits * math.log(10.0) + math.log1p(abs(int(exponent)))


def _generic_code(values: Array, M: Array, noise: float) -> float:
    """The same without simple numbers: then the order does not matter."""
    diagonal = np.abs(triangular(M).diagonal())
    errors = np.maximum(noise / np.maximum(diagonal, 1e-300), ROUNDING * np.abs(values))
    errors = np.maximum(errors, np.finfo(np.float64).tiny)
    return float(np.sum(GENERIC + 0.5 * np.log1p((values / errors) ** 2)))
