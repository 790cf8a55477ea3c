"""What a sum of a structure is for: it decides which constants are free and how they are drawn."""

from __future__ import annotations

__all__ = [
    "ALL_OFFSETS",
    "EDGE",
    "EXPONENT",
    "FACTOR",
    "FIXED",
    "LEADING",
    "LEVEL",
    "NO_OFFSETS",
    "OUTPUT",
    "PLAIN",
    "POWER",
    "RAISED_TO",
    "SHIFTED",
    "SQUARED",
    "WAVE",
]

OUTPUT = 0
"""The whole: all constants are free, and are solved for."""
FACTOR = 1
"""Of a product, or a numerator: the first weight is 1."""
FIXED = 2
"""A product inside a longer product, or the numerator 1: nothing is free."""
EDGE = 3
"""An argument with a bounded domain, the first weight of which is 1 or -1."""
EXPONENT = 4
"""Has no offset, which would be a factor."""
WAVE = 5
SQUARED = 6
PLAIN = 7
"""An argument of a unit of the user's."""
POWER = 8
"""An exponent of logarithms alone: the weights are powers."""
SHIFTED = 9
"""A denominator with a single exponential: without its offset the quotient is an exponential."""
RAISED_TO = 10
"""A fitted exponent, and nothing else."""
LEADING = 11
"""The first of two arguments of which one is selected: without an offset, which would be one of the
whole; its first weight is 1."""
LEVEL = 12
"""The other one, a number or a sum that crosses the first."""

NO_OFFSETS, ALL_OFFSETS = -2, -1
"""Which of the offsets that a structure may do without are fitted; a number is that of the one sum
that has one."""
