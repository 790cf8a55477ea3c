"""Rows that lie far from their neighbours: spikes of a sensor, slips of the pen.

A row is judged by the rows nearest to it in the inputs, not by all: where a law is steep, or the
noise is large, its neighbours are spread as well, and it does not stand out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["gross_outliers", "stand_far_off"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
GROSS = 8.0
"""Spreads of the neighbours beyond which a measured value is set aside during the search."""
RESIDUAL = 7.0
"""Spreads of the neighbours beyond which the best equation's residual makes a row an outlier."""
NEIGHBOURS = 12
PASSES = 3
MOST_INPUTS = 8
"""Neighbours are looked for in at most so many inputs."""
MOST_ROWS = 20_000
"""Neighbours are looked for among at most so many rows, and for at most so many."""
ROWS_PER_TERM = 0.2
"""Terms of the quadratic form for each row, at most."""
FEW = 24
"""With fewer rows nobody can tell an outlier from the law."""
LARGEST_SHARE = 0.15
"""If more rows than this stand off, they are not outliers but something to be learned."""


def gross_outliers(XT: Floats, y: Floats) -> Mask:
    """Which rows lie so far from their neighbours that they would govern a search.

    Among neighbours in several inputs the law itself makes a spread in which smaller outliers hide.
    So, where there are some, a second look is taken at what a quadratic form of the ranks of the
    inputs, fitted to the other rows, leaves of the target.

    Values of one sign must lie far off in their logarithms, too: of masses from a shrew's to an
    elephant's the largest lie far from all others, and follow the same law.
    """
    far = _gross(XT, y)
    if far.any() and (np.all(y > 0.0) or np.all(y < 0.0)):
        far &= _gross(XT, np.log(np.abs(y)))
    return far


def _gross(XT: Floats, y: Floats) -> Mask:
    far = stand_far_off(XT, y, GROSS)
    if not far.any() or len(y) > MOST_ROWS:
        return far
    columns = _quadratic(_places(XT, y))
    for _ in range(PASSES):
        if columns.shape[1] > ROWS_PER_TERM * np.sum(~far):
            return far
        fitted, *_ = np.linalg.lstsq(columns[~far], y[~far], rcond=None)
        found = far | stand_far_off(XT, y - columns @ fitted, GROSS)
        if np.array_equal(found, far):
            return far
        far = found
    return far if far.mean() <= LARGEST_SHARE else np.zeros(len(y), dtype=bool)


def _quadratic(places: Floats) -> Floats:
    """Columns of a quadratic form."""
    x = 2.0 * places - 1.0
    pairs = [x[:, i] * x[:, j] for i in range(x.shape[1]) for j in range(i + 1)]
    return np.column_stack([np.ones(len(x)), x, *pairs])


def stand_far_off(
    XT: Floats,
    value: Floats,
    times: float = RESIDUAL,
    floor: float = 0.0,
    measured: Floats | None = None,
) -> Mask:
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
    measured : array (rows,), optional
        If the values are residuals, the measured values: a residual is far only if it exceeds
        their spread among the neighbours, too. Where the law is steep an equation that is not quite
        right has large residuals, and they are no outliers.
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
    places = np.empty((n, min(len(XT), MOST_INPUTS)))
    places[rows] = _places(XT[:, rows], value[rows])
    far = none
    for _ in range(PASSES):
        # Outliers found so far are no neighbours: several of them together would hide another.
        neighbours = known[~far[known]]
        near = neighbours[cKDTree(places[neighbours]).query(places[asked], k=NEIGHBOURS + 1)[1]]
        found = none.copy()
        # A row is no neighbour of its own: the last one takes its place.
        near = np.where(near == asked[:, None], near[:, -1:], near)[:, :NEIGHBOURS]
        spread = _quartiles((value if measured is None else measured)[near])[1]
        if np.median(spread) <= 0.0:
            return none  # most rows are equal to their neighbours: counts, classes, steps
        least = np.full(len(asked), floor) if measured is None else np.maximum(spread, floor)
        found[asked] = _is_far(value[asked], value[near], times, least)
        if np.array_equal(found, far):
            break
        far = found
    return far if far.mean() <= LARGEST_SHARE else none


def _is_far(value: Floats, near: Floats, times: float, least: Floats) -> Mask:
    """Which values are far from the median of those near them."""
    middle, spread = _quartiles(near)
    usual = np.maximum(spread, np.median(spread))
    return np.asarray(np.abs(value - middle) > np.maximum(times * usual, least))


def _quartiles(values: Floats) -> tuple[Floats, Floats]:
    """Median of each row, and its spread by the distance of the quartiles."""
    others = np.sort(values, axis=1)
    low, middle, high = (
        (others[:, k - 1] + others[:, k]) / 2 for k in (NEIGHBOURS * np.array([1, 2, 3])) // 4
    )
    return middle, (high - low) / 1.349


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
