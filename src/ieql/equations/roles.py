"""What a constant may be in an equation, in words that a user may give.

Apart from all else, so that the options can be listed without loading numpy.
"""

__all__ = ["FACTOR", "INSIDE", "OFFSET", "ROLES"]

OFFSET, FACTOR, INSIDE = ROLES = ("offset", "factor", "inside")
"""Added at the end, before a term, or within a unit."""
