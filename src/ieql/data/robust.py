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

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

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
FAR, GROSS = 3.0, 5.0
"""Usual sizes from which on the weight of a row fades, of what a smooth estimate leaves and of what
an equation does, ..."""
FADING = 6.0
"""... and the power of the distance by which it does: among exact rows even a small part of a gross
error is larger than all that is to be told apart."""
LEAST_WEIGHT = 1e-30
LEAST_PRECISION = 1e-4
"""A weight, beside the largest, from which on a row counts as a measured one."""
STEPS = 20
"""Of the reweighted fits of a first estimate."""
ONE_SIGN = 0.85
"""Part of the rows whose sign must be the same for logarithms to be looked at."""
ROWS_PER_TERM = 2.5
MOST_INPUTS = 8
"""Inputs of a first estimate by a polynomial, at most, ..."""
MOST_FITTED, RIDGE = 2_000, 1e-10
"""Rows that it is fitted to, which are in random order, and a part of the diagonal for its sake."""
MOST_ROWS = 20_000
"""... and rows of one by neighbours."""
NEAR = 4
"""Neighbours of a row, beside two for each further input."""


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


def _fading(residual: Floats, edge: float) -> Floats:
    """One up to the edge; beyond, a power of the distance in units of it, but never nothing."""
    sizes = np.abs(residual)
    found = np.where(sizes <= edge, 1.0, (edge / np.where(sizes > 0.0, sizes, 1.0)) ** FADING)
    return np.maximum(found, LEAST_WEIGHT)


def first_trust(rows: Sample) -> Floats:
    """Weights of rows before there is an equation, by an estimate that far rows do not govern.

    Polynomials in the ranks of the inputs, with least absolute errors, and medians of neighbours
    are tried; the one that leaves least, for its number of terms, is taken. Also of the logarithm,
    if nearly all values have one sign: what grows over decades is not smooth otherwise.
    """
    places = _places(rows.XT)
    kinds = [min(_smooth(places, rows.y, rows.weight), key=lambda entry: entry[0])]
    sign = np.sign(np.median(rows.y))
    if np.average(rows.y * sign > 0.0, weights=rows.weight) >= ONE_SIGN:
        size = np.abs(rows.y)
        size = np.maximum(size, 1e-6 * np.median(size))
        logs = np.where(rows.y * sign > 0.0, np.log(size), np.log(size.max()) + FAR)
        # The same rows in logarithms: their density is that of the values times these.
        more = len(rows) * float(np.average(np.log(size), weights=rows.weight))
        cost, residual = min(_smooth(places, logs, rows.weight), key=lambda entry: entry[0])
        kinds.append((cost + more, residual))
    kinds.sort(key=lambda entry: entry[0])
    weights = [_fading(r, FAR * usual_size(r, rows.weight)) for _, r in kinds]
    # What is far off by the better of the two is as far off as either says.
    return np.where(weights[0] < 1.0, np.min(weights, axis=0), 1.0)


def _smooth(places: Floats, y: Floats, weight: Floats) -> Iterator[tuple[float, Floats]]:
    """Residuals of smooth estimates, each after half the nats that they and their terms take."""
    n = len(y)
    for terms in _polynomials(places):
        p = terms.shape[1]
        if p > 1 and n < ROWS_PER_TERM * p:
            continue
        residual = _least_absolute(terms, y, weight)
        size = usual_size(residual, weight) * n / max(n - p, 1)
        yield n * np.log(size + 1e-300) + 0.5 * p * np.log(n), residual
    apart = _from_neighbours(places, y)
    if apart is not None:
        yield n * np.log(usual_size(apart, weight) + 1e-300), apart


def _places(XT: Floats) -> Floats:
    """Ranks of the inputs, from -1 to 1: neither unit nor range of an input matters."""
    from scipy.stats import rankdata

    ranks: Floats = rankdata(XT[:MOST_INPUTS], axis=1).T
    return 2.0 * (ranks - 0.5) / len(ranks) - 1.0


def _polynomials(places: Floats) -> list[Floats]:
    one = np.ones((len(places), 1))
    d = places.shape[1]
    pairs = [places[:, i] * places[:, j] for i in range(d) for j in range(i + 1)]
    linear = np.hstack([one, places])
    quadratic = np.column_stack([linear, *pairs])
    if len(places) > MOST_ROWS:
        return [one, linear, quadratic]
    cubic = np.column_stack([quadratic, places**3])
    return [one, linear, quadratic, cubic, np.column_stack([cubic, places**4])]


def _least_absolute(terms: Floats, y: Floats, weight: Floats) -> Floats:
    """Residuals of the linear fit with the least absolute errors, by reweighting."""
    few, known, given = terms[:MOST_FITTED], y[:MOST_FITTED], weight[:MOST_FITTED]
    own = given
    for _ in range(STEPS):
        weighted = few * own[:, None]
        normal = few.T @ weighted
        normal[np.diag_indices_from(normal)] *= 1.0 + RIDGE
        found = np.linalg.solve(normal, weighted.T @ known)
        sizes = np.abs(known - few @ found)
        own = given / np.maximum(sizes, 1e-3 * usual_size(sizes, given) + 1e-300)
        own = own / own.mean()
    return np.asarray(y - terms @ found)


def _from_neighbours(places: Floats, y: Floats) -> Floats | None:
    """Differences to the medians of the nearest rows; None where there are too few or many."""
    from scipy.spatial import cKDTree

    n, d = places.shape
    k = NEAR + 2 * (d - 1)
    if not 3 * k < n <= MOST_ROWS:
        return None
    near = cKDTree(places).query(places, k=k + 1)[1]
    own = np.arange(n)[:, None]
    # A row is no neighbour of its own: the last one takes its place.
    near = np.where(near == own, near[:, -1:], near)[:, :k]
    return np.asarray(y - np.median(y[near], axis=1))
