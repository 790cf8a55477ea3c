"""Losses under which rows far off count less than by their square: Huber's, and the absolute error.

Gross errors first: a row many usual sizes off the best equation, or off a smooth estimate before
there is one, gets a weight that fades with its distance. The weights are the same for all
equations, so that none is preferred because it calls other rows wrong.

Then the loss. Huber's estimate (1964) solves Σ ψ(r) ∂f/∂θ = 0, where ψ cuts residuals off at a few
times their usual size. Least squares on the target f + ψ(r)/E[ψ'], made of the equation's own
prediction, takes a Newton step towards it; at the solution its residuals have just the spread by
which the estimate scatters. So an equation that is fitted to its own such target, and judged by it,
is fitted and judged by the loss, with all that is known about least squares.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ieql.data.forward import NEAR, explained
from ieql.data.sample import Sample

__all__ = [
    "INSIDE",
    "THRESHOLDS",
    "as_seen",
    "equation_trust",
    "first_trust",
    "robust_rmse",
    "usual_size",
]

Floats = NDArray[np.float64]
THRESHOLDS = {"huber": 1.345, "absolute": 0.5}
"""Usual sizes up to which residuals count by their square: for Huber's loss those at which normal
noise costs five per cent of the rows; for the absolute error few, as it has a corner at zero."""
INSIDE = {"huber": 0.8214, "absolute": 0.3829}
"""Part of normal noise within them, which is E[ψ']. What a few rows happen to have would be a prize
for the equation that has most."""
COSTS = {"huber": 0.9328, "absolute": 0.5805}
"""Mean cost of normal noise of unit size: twice Huber's ρ."""
SHARE, QUANTILE = 0.75, 1.1503
"""Part of the residuals below the size that is looked at, and what it is for normal noise: a
quarter of the rows may be grossly wrong."""
GROSS = 5.0
"""Usual sizes of what an equation leaves from which on the weight of a row fades, ..."""
FADING = 6.0
"""... and the power of the distance by which it does: among exact rows even a small part of a gross
error is larger than all that is to be told apart."""
FIRST_FADING = 24.0
"""The same before there is an equation: of a wave, of which no smooth estimate knows anything but
its size, a row eight times as far off as the wave is high must not count as a thirtieth."""
LEAST_WEIGHT = 1e-30
LEAST_PRECISION = 1e-4
"""A weight, beside the largest, from which on a row counts as a measured one."""


def usual_size(residual: Floats, weight: Floats) -> float:
    """The standard deviation of normal noise of which as many residuals are as small."""
    sizes = np.abs(residual)
    order = np.argsort(sizes)
    total = np.cumsum(weight[order])
    place = int(np.searchsorted(total, SHARE * total[-1]))
    return float(sizes[order[min(place, len(order) - 1)]]) / QUANTILE


def as_seen(rows: Sample, predicted: Floats, loss: str) -> Sample:
    """The rows as an equation that predicts these values sees them under a loss.

    Parameters
    ----------
    rows : Sample
        As they were measured. Weights that are not whole numbers are precisions.
    predicted : array (rows,)
        Values of the equation.
    loss : str
        A key of `THRESHOLDS`; under any other the rows are seen as they are.
    """
    if loss not in THRESHOLDS or len(rows) == 0 or not np.all(np.isfinite(predicted)):
        return rows
    precision, count = _precision(rows)
    residual = (rows.y - predicted) * precision
    limit = THRESHOLDS[loss] * np.sqrt(np.average(residual**2, weights=count))
    cut = np.clip(residual, -limit, limit) / INSIDE[loss]
    return replace(rows, y=predicted + cut / precision)


def robust_rmse(rows: Sample, predicted: Floats, loss: str) -> float:
    """The error of an equation under a loss, as large as that of normal noise with this cost.

    With σ² the mean square, σ² times the mean of 2 ρ(r/σ), which is what the likelihood of Huber's
    distribution goes by; under any other loss it is the root mean square.
    """
    plain = rows.rmse(predicted)
    if loss not in THRESHOLDS or len(rows) == 0 or not 0.0 < plain < np.inf:
        return plain
    precision, count = _precision(rows)
    sizes = np.abs(rows.y - predicted) * precision
    sizes = sizes / np.sqrt(np.average(sizes**2, weights=count))
    k = THRESHOLDS[loss]
    cost = np.average(np.where(sizes <= k, sizes**2, 2.0 * k * sizes - k**2), weights=count)
    return plain * float(np.sqrt(cost / COSTS[loss]))


def _precision(rows: Sample) -> tuple[Floats, Floats]:
    """The precision of each row beside the most precise one, and how many rows it is."""
    if np.all(rows.weight == np.round(rows.weight)):
        return np.ones(len(rows)), rows.weight
    # Rows of next to no weight are gross errors, which are none of the noise.
    share = rows.weight / rows.weight.max()
    return np.sqrt(share), np.minimum(share / LEAST_PRECISION, 1.0)


def equation_trust(residual: Floats, weight: Floats, n_constants: int) -> Floats:
    """Weights of rows by what an equation with so many fitted constants leaves of them."""
    left = max(1.0 - n_constants / weight.sum(), SHARE - 0.5)
    return _fading(residual, GROSS * usual_size(residual, weight) / np.sqrt(left))


def _fading(residual: Floats, edge: float, power: float = FADING) -> Floats:
    """One up to the edge; beyond, a power of the distance in units of it, but never nothing."""
    sizes = np.abs(residual)
    found = np.where(sizes <= edge, 1.0, (edge / np.where(sizes > 0.0, sizes, 1.0)) ** power)
    return np.maximum(found, LEAST_WEIGHT)


def first_trust(rows: Sample) -> Floats:
    """Weights of rows before there is an equation, by smooth estimates that far rows do not govern.

    See `ieql.data.forward`: a row counts as a whole if the best estimate explains it. What it does
    not explain is as far off as any of the estimates says.
    """
    found = explained(rows)
    if not found:
        return np.ones(len(rows))
    farthest = np.max([one.distance for one in found], axis=0)
    return _fading(np.where(found[0].distance <= NEAR, 0.0, farthest), NEAR, FIRST_FADING)
