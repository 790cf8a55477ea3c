"""How long the description of measured rows by an equation with fitted constants is."""

from __future__ import annotations

import math

__all__ = ["description_of_rows"]


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
