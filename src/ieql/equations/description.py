"""How long the description of measured rows by an equation with fitted constants is."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["description_of_rows", "heavier_tails"]

Array = NDArray[np.float64]
STEPS = 50
"""For the scale of heavy tails, by expectation and maximisation."""
ROUNDING = 1e-12
"""Part of the mean square below which a scale is rounding."""


def description_of_rows(n_rows: float, unexplained: float, n_constants: int) -> float:
    """Twice the nats that it takes to tell the rows and the constants: gMDL (Hansen and Yu, 2001).

    N ln(N u/(N - p)) + p ln max(1, F) with the part u of the variance that is left unexplained by p
    constants, and F = (1 - u)(N - p)/(u p), the ratio of what a constant explains to what is left.
    So a constant costs the more the better the rows fix it, which the Bayesian information
    criterion ignores, and few rows are not taken for many. Infinite where there are hardly more
    rows than constants.

    Parameters
    ----------
    n_rows : float
        Number of rows N.
    unexplained : float
        Mean squared error as a part u of the target's variance, above zero.
    n_constants : int
        Number of fitted constants p, offsets included.

    Examples
    --------
    >>> round(description_of_rows(100, 0.01, 2), 1), round(description_of_rows(100, 0.01, 4), 1)
    (-441.5, -425.3)
    >>> description_of_rows(6, 0.01, 5)
    inf
    """
    left = n_rows - n_constants
    if left <= 1.0:
        return math.inf
    length = n_rows * math.log(n_rows * unexplained / left)
    if n_constants == 0 or unexplained >= 1.0:
        return length
    ratio = (1.0 - unexplained) * left / (unexplained * n_constants)
    return length + n_constants * max(0.0, math.log(ratio))


def heavier_tails(residual: Array, weight: Array, degrees: float) -> float:
    """Twice the nats by which Student's distribution tells residuals better than a normal one.

    Both have the scale that suits them best. Negative where tails are not heavy.

    Parameters
    ----------
    residual, weight : array (rows,)
        The residuals, and how often each counts.
    degrees : float
        Degrees of freedom of Student's distribution.

    Examples
    --------
    >>> even = np.linspace(-1.0, 1.0, 30)
    >>> heavier_tails(even, np.ones(30), 3.0) < 0.0
    True
    >>> heavier_tails(np.append(even, 20.0), np.ones(31), 3.0) > 30.0
    True
    """
    squares = residual**2
    n, mean = float(weight.sum()), float(np.average(squares, weights=weight))
    if not (math.isfinite(mean) and mean > 0.0):
        return 0.0
    scale = 0.5 * mean
    for _ in range(STEPS):
        shares = (degrees + 1.0) / (degrees + squares / scale) * squares
        # Where nearly all residuals are rounding, it would vanish.
        scale = max(float(np.average(shares, weights=weight)), ROUNDING * mean)
    constant = 2.0 * (
        math.lgamma(0.5 * (degrees + 1.0))
        - math.lgamma(0.5 * degrees)
        - 0.5 * math.log(degrees * math.pi)
    )
    tails = float(np.sum(weight * (degrees + 1.0) * np.log1p(squares / (degrees * scale))))
    normal = n * (math.log(2.0 * math.pi * mean) + 1.0)
    return normal - (n * (math.log(scale) - constant) + tails)
