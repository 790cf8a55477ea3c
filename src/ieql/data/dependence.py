"""Whether a target depends on an input at all, whatever the law: ranks tell without an equation."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

__all__ = ["dependence", "rank_chance"]

Array = NDArray[np.float64]
ALL_ORDERS = 7
"""Up to so many rows all orders of the target are counted."""


def dependence(XT: Array, y: Array) -> float:
    """Twice the nats by which ranks tell that the target rises or falls with one of the inputs.

    Of thousands of structures one fits any handful of rows, so that a small error alone does not
    say that there is a law. That six rows out of six rise with an input does: it has a chance of 1
    in 360, and nothing was fitted to it. A chance of p is worth at most -1/(e p ln p) to one, the
    bound of Sellke, Bayarri and Berger (2001). Of d inputs the best is one of d tries, and the more
    there are, the more structures fit by chance, against which a rise with one of them does not
    speak; so the tries are counted as d².

    Parameters
    ----------
    XT : array (inputs, rows)
        The inputs.
    y : array (rows,)
        The target.
    """
    chances = [rank_chance(x, y) for x in XT if np.ptp(x) > 0.0]
    p = min(chances, default=1.0) * max(len(chances), 1) ** 2
    return -2.0 * math.log(-math.e * p * math.log(p)) if 0.0 < p < 1.0 / math.e else 0.0


def rank_chance(x: Array, y: Array) -> float:
    """How probable so large a rank correlation (Spearman's) is where there is no dependence."""
    n = len(y)
    a, b = _ranks(x), _ranks(y)
    size = float(np.sqrt((a @ a) * (b @ b)))
    if n < 3 or size == 0.0:
        return 1.0
    r = abs(float(a @ b)) / size
    if n <= ALL_ORDERS:
        others = np.abs(np.array(list(permutations(b))) @ a) / size
        return float(np.mean(others >= r - 1e-9))
    from scipy.special import stdtr

    t = r * math.sqrt((n - 2) / max(1.0 - r * r, 1e-300))
    # No order is less probable than one of all: one up and one down.
    return max(2.0 * float(stdtr(n - 2, -t)), 2.0 * math.exp(-math.lgamma(n + 1.0)))


def _ranks(values: Array) -> Array:
    """Ranks with their mean taken off; equal values share theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    ranks: Array = (last - 0.5 * (count - 1))[place] - 0.5 * (len(values) + 1)
    return ranks
