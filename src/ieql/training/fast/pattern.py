"""Whether residuals hold a pattern that no unit of the bank shows: a fast wave, a bump, a drift.

The bank of units has random constants, so a wave of a hundred periods passes it unseen. These tests
know no units: noise has no frequency, and knows nothing of its neighbours.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample

__all__ = ["has_pattern"]

Array = NDArray[np.float64]
FEW = 20
"""With fewer rows nothing can be said."""
MOST_ROWS = 20_000
MOST_NEIGHBOURED = 4_000
"""Rows for which a neighbour in all inputs is looked for."""
MOST_INPUTS = 8
"""Neighbours in more inputs than this are far away: nothing is smooth over such distances."""
SURPRISE = 8.0
"""Nats by which the largest power of a frequency must exceed that of noise."""
DEVIATIONS = 5.0
"""Standard deviations by which neighbours must agree."""


def has_pattern(sample: Sample, residual: Array) -> bool:
    """Whether residuals (one per row) have a frequency along an input, or resemble neighbours.

    For noise the normalised power at each of K frequencies is exponentially distributed, so the
    largest is about ln K; the correlation of neighbours is 0 ± 1/√N.
    """
    part = sample.head(MOST_ROWS)
    r = residual[: len(part)]
    if len(part) < FEW or not np.all(np.isfinite(r)):
        return False
    r = r - np.average(r, weights=part.weight)
    weighted = part.weight * r
    if not np.any(weighted):
        return False
    inputs = [x for x in part.XT if x.min() < x.max()]
    return (
        any(_has_frequency(x, weighted, len(inputs)) for x in inputs)
        or any(_follows(np.argsort(x, kind="stable"), weighted) for x in inputs)
        or (1 < len(inputs) <= MOST_INPUTS and _resembles_neighbours(np.array(inputs), r))
    )


def _has_frequency(x: Array, weighted: Array, n_inputs: int) -> bool:
    """Whether one frequency along an input holds more than chance: a periodogram by bins."""
    n = len(x)
    cycles = n // 4  # over the range; a period needs a few rows
    bins = 16 * cycles
    place = np.minimum(((x - x.min()) / np.ptp(x) * bins).astype(np.int64), bins - 1)
    sums = np.bincount(place, weights=weighted, minlength=bins)
    # Twice as long as the range: half cycles are frequencies, too.
    power = np.abs(np.fft.rfft(sums, 2 * bins)[1 : 2 * cycles + 1]) ** 2 / (weighted @ weighted)
    return bool(power.max() > math.log(len(power) * n_inputs) + SURPRISE)


def _follows(order: NDArray[np.intp], r: Array) -> bool:
    """Whether rows next to each other along an input have residuals alike."""
    ordered = r[order]
    products = ordered[1:] * ordered[:-1]
    return bool(products.sum() > DEVIATIONS * np.sqrt(np.sum(products**2)))


def _resembles_neighbours(XT: Array, r: Array) -> bool:
    """Whether rows nearest to each other in all inputs have residuals alike."""
    from scipy.spatial import cKDTree
    from scipy.stats import rankdata

    places = (rankdata(XT[:, :MOST_NEIGHBOURED], axis=1)).T
    r = r[: len(places)]
    near = cKDTree(places).query(places, k=2)[1][:, 1]
    products = r * r[near]
    # Two rows may be each other's nearest: then their product counts twice.
    return bool(products.sum() > DEVIATIONS * np.sqrt(2.0 * np.sum(products**2)))
