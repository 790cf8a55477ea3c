"""What a fitted constant must earn, with few rows and with many."""

from __future__ import annotations

import math

__all__ = ["price_of_constants"]


def price_of_constants(n_rows: float, n_constants: int) -> float:
    """Twice the nats that fitted constants cost, the variance of the residuals included.

    The Bayesian information criterion's q ln N with q = p + 1, corrected for few rows as Akaike's
    criterion is: times N/(N - q - 1). Infinite where there are hardly more rows than constants.

    Examples
    --------
    >>> round(price_of_constants(1000, 2), 1), round(price_of_constants(12, 2), 1)
    (20.8, 11.2)
    >>> price_of_constants(6, 4)
    inf
    """
    q = n_constants + 1
    left = n_rows - q - 1.0
    return q * n_rows * math.log(n_rows) / left if left > 0.0 else math.inf
