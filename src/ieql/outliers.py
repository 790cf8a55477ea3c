"""Rows that stand far off from their neighbours: spikes of a sensor, slips of the pen.

A row is judged by the rows nearest to it in the inputs, not by all: where a law is steep, or the
noise is large, its neighbours are spread as well, and it does not stand out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["GROSS", "stand_far_off"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
GROSS = 12.0
"""Spreads of the neighbours beyond which a measured value is set aside during the search. ..."""
RESIDUAL = 7.0
"""... And those beyond which the residual of the best equation makes a row an outlier."""
NEIGHBOURS = 12
MOST_INPUTS = 8
"""Neighbours are looked for in at most so many inputs, ..."""
MOST_ROWS = 20_000
"""... among at most so many rows, and for at most so many."""
FEW = 24
"""With fewer rows nobody can tell an outlier from the law."""
LARGEST_SHARE = 0.15
"""If more rows than this stand off, they are not outliers but something to be learned."""


def stand_far_off(XT: Floats, value: Floats, times: float = RESIDUAL, floor: float = 0.0) -> Mask:
    """Which rows differ from the median of their neighbours by many times the usual spread.

    The spread is that of the neighbours (by quartiles, so that other outliers among them do not
    hide it) or the median of all such spreads, whichever is larger.

    Parameters
    ----------
    XT : array (inputs, rows)
        Where the rows are.
    value : array (rows,)
        Measured values, or residuals of an equation.
    times : float
        How many spreads count as far.
    floor : float
        Differences below this are rounding.
    """
    n = len(value)
    none = np.zeros(n, dtype=bool)
    if n < FEW or not np.all(np.isfinite(value)):
        return none
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(0)
    known = np.arange(n) if n <= MOST_ROWS else np.sort(rng.choice(n, MOST_ROWS, replace=False))
    asked = known
    if n > MOST_ROWS:
        # Beside some of all rows those that are the farthest off on the whole.
        farthest = np.argpartition(-np.abs(value - np.median(value)), MOST_ROWS // 2)
        asked = np.union1d(rng.choice(known, MOST_ROWS // 4), farthest[: MOST_ROWS // 2])
    rows = np.union1d(known, asked)
    places = _places(XT[:, rows], value[rows])
    tree = cKDTree(places[np.searchsorted(rows, known)])
    near = known[tree.query(places[np.searchsorted(rows, asked)], k=NEIGHBOURS + 1)[1]]
    # A row is no neighbour of its own: the last one takes its place.
    near = np.where(near == asked[:, None], near[:, -1:], near)[:, :NEIGHBOURS]
    others = np.sort(value[near], axis=1)
    low, middle, high = (
        (others[:, k - 1] + others[:, k]) / 2 for k in (NEIGHBOURS * np.array([1, 2, 3])) // 4
    )
    spread = (high - low) / 1.349
    usual = float(np.median(spread))
    if usual <= 0.0 and floor <= 0.0:
        return none  # most rows are equal to their neighbours: counts, classes, steps
    distance = np.abs(value[asked] - middle)
    far = none.copy()
    far[asked] = distance > np.maximum(times * np.maximum(spread, usual), floor)
    return far if far.mean() <= LARGEST_SHARE else none


def _places(XT: Floats, value: Floats) -> Floats:
    """The rows by the ranks of their inputs, so that neither unit nor range of an input matters."""
    from scipy.stats import rankdata

    ranks = rankdata(XT, axis=1) / XT.shape[1]
    if len(ranks) > MOST_INPUTS:
        centred = ranks - ranks.mean(axis=1, keepdims=True)
        own = rankdata(value) / len(value)
        own -= own.mean()
        # An input matters by its slope or by its curvature.
        related = np.abs(centred @ own) + np.abs((centred**2 - np.mean(centred**2)) @ own)
        ranks = ranks[np.sort(np.argsort(-related)[:MOST_INPUTS])]
    return np.ascontiguousarray(ranks.T)
