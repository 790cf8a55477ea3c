"""Numbers of an equation as decimal text, rounded only where that is asked for."""

from __future__ import annotations

import math
from decimal import Decimal

__all__ = ["decimal_text", "exact"]

WRITTEN_OUT = 6
"""Places before the decimal point that are written out; more only if all of them are digits."""
LONGEST = 16
SMALL = -4
"""Least power of ten of a number that is written out: 0.00012, but 1.2e-5."""


def exact(value: float) -> Decimal:
    """The shortest decimal number that is this float and no other."""
    return Decimal(repr(float(value))).normalize()


def decimal_text(value: float, precision: int | None = None) -> str:
    """Text of a number as ``g`` writes it; without `precision`, with all digits that it needs.

    Rounding for the eye gives another equation: where a denominator is the difference of two
    large terms, the fifth digit may decide about its sign.

    Examples
    --------
    >>> decimal_text(123456.789), decimal_text(2e6), decimal_text(1.25e-7)
    ('123456.789', '2e+6', '1.25e-7')
    >>> decimal_text(123456.789, 4)
    '1.235e+05'
    """
    if precision is not None or not math.isfinite(value):
        return f"{value:.{precision or 6}g}"
    number = exact(value)
    if not number:
        return "0"
    n_digits, size = len(number.as_tuple().digits), number.adjusted()
    if SMALL <= size < max(WRITTEN_OUT, min(n_digits, LONGEST)):
        return f"{number:f}"
    return f"{number:e}"
