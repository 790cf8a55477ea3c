"""Which rows a smooth law explains, before there is an equation: a forward search.

A smooth estimate is fitted to the rows that it explains best, and the others are let in one by one,
the nearest first, as long as they lie no farther off than the estimate is uncertain there (Atkinson
and Riani, 2000). At the end of a steep law it is uncertain: a row there is let in, the estimate
bends, and the next one is near. Rows that are grossly wrong are never near.

Many estimates are tried: polynomials of the inputs, of their ranks and of their logarithms, for the
target and for its logarithm. The one that tells all rows in the fewest words is taken, if a row
that it does not explain is told by its place in the whole range.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample

__all__ = ["NEAR", "Explained", "explained"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
FIRST = 0.6
"""Part of the rows that an estimate starts from: the others may be wrong."""
LEAST = 0.75
"""Part of the rows that it must explain in the end."""
NEAR = 4.0
"""Standard errors of a prediction up to which a row is let in."""
MOST_UNCERTAIN = 10.0
"""Variances of a row that the estimate's own variance may add to it, at most."""
AT_ONCE = 0.01
"""Part of the rows that are let in at a time, but at least one."""
ROWS_PER_TERM, ROWS_IF_MANY = 2.5, 4.0
"""Rows for each term of an estimate, at least, and the same from six degrees on."""
NEIGHBOURS = 4
"""Of a row, beside two for each further input."""
QUANTILE = 1.1503
"""Standard deviations below which three quarters of normal noise are."""
MOST_INPUTS = 8
MOST_ROWS, MANY_ROWS = 2_000, 20_000
"""Rows that estimates are fitted to, which are in random order, and rows from which on only simple
estimates are made."""
DEGREES = (0, 1, 2, 3, 4, 6, 8, 10)
"""Of polynomials of one input; of several, up to four with pairs of them."""
ONE_SIGN = 0.85
"""Part of the rows whose sign must be the same for logarithms to be looked at."""
RATIO = 2.5
"""Between the ends of an input from which on its logarithm is another matter."""
STEPS = 12
"""Of the reweighted fits with the least absolute errors."""
RIDGE = 1e-10
LARGEST = 700.0
"""Whose exponential is still a number."""
ROUNDING = 1e-10
"""Part of the target's range that a standard error is at least."""


@dataclass(frozen=True)
class Explained:
    """What an estimate makes of the rows.

    Attributes
    ----------
    length : float
        Nats that all rows take by it.
    distance : array (rows,)
        How far each row is off, in standard errors of its prediction.
    """

    length: float
    distance: Floats


def explained(rows: Sample) -> list[Explained]:
    """The best estimates of the target and of its logarithm, that with the fewest words first."""
    best = []
    for y, more in _targets(rows):
        tried = [_forward(terms, y, rows, more) for terms in _polynomials(rows.XT)]
        tried.append(_by_neighbours(y, rows, more))
        found = [one for one in tried if one is not None]
        if found:
            best.append(min(found, key=lambda one: one.length))
    return sorted(best, key=lambda one: one.length)


def _targets(rows: Sample) -> Iterator[tuple[Floats, Floats]]:
    """The target, and its logarithm: NaN where it has none; with what each row takes more."""
    yield rows.y, np.zeros(len(rows))
    sign = np.sign(np.median(rows.y))
    has_one = rows.y * sign > 0.0
    if np.average(has_one, weights=rows.weight) >= ONE_SIGN:
        size = np.log(np.where(has_one, np.abs(rows.y), 1.0))
        # The same rows in logarithms: their density is that of the values times these.
        yield np.where(has_one, size, np.nan), size


def _polynomials(XT: Floats) -> Iterator[Floats]:
    """Columns of polynomials, in the inputs, their ranks and their logarithms."""
    from scipy.stats import rankdata

    XT = XT[:MOST_INPUTS]
    positive = np.all(XT.min(axis=1) > 0.0)
    kinds = [XT, rankdata(XT, axis=1)]
    if positive and np.any(XT.max(axis=1) > RATIO * XT.min(axis=1)):
        kinds.append(np.log(XT))
    n = XT.shape[1]
    for kind in kinds:
        low, high = kind.min(axis=1, keepdims=True), kind.max(axis=1, keepdims=True)
        places = 2.0 * (kind - low) / np.where(high > low, high - low, 1.0) - 1.0
        for degree in DEGREES:
            if degree > (2 if n > MANY_ROWS else 4 if len(XT) > 1 else DEGREES[-1]):
                break
            columns = _columns(places, degree)
            needed = ROWS_PER_TERM if degree <= 4 else ROWS_IF_MANY
            if degree > 0 and n < needed * len(columns):
                break
            yield np.column_stack(columns)


def _columns(places: Floats, degree: int) -> list[Floats]:
    """Chebyshev polynomials of each input up to a degree and, from two on, products of pairs."""
    columns = [np.ones(places.shape[1])]
    for place in places:
        angle = np.arccos(np.clip(place, -1.0, 1.0))
        columns += [np.cos(k * angle) for k in range(1, degree + 1)]
    if degree >= 2:
        columns += [a * b for a, b in combinations(places, 2)]
    if degree >= 4:
        columns += [a**2 * b for a in places for b in places if a is not b]
    return columns


def _forward(terms: Floats, y: Floats, rows: Sample, more: Floats) -> Explained | None:
    """Let rows in one by one; None where an estimate explains too few of them."""
    is_known = np.isfinite(y)
    usable = is_known & (np.arange(len(y)) < MOST_ROWS)
    target = np.where(is_known, y, 0.0)
    n, p = int(usable.sum()), terms.shape[1]
    if n < max(ROWS_PER_TERM * p, 4):
        return None
    weight = rows.weight / rows.weight.mean()
    size = np.abs(_least_absolute(terms, target, np.where(usable, weight, 0.0)))
    size = np.where(usable, size * np.sqrt(weight), np.inf)
    m = max(math.ceil(FIRST * n), p + 2)
    floor = ROUNDING * float(np.ptp(target[usable])) or ROUNDING
    while True:
        inside = np.zeros(len(y), dtype=bool)
        inside[np.argsort(size, kind="stable")[:m]] = True
        residual, leverage, sigma = _fit(terms, target, weight, inside)
        sigma = max(sigma / _shrunk(m / n), floor)
        # Those inside have had their say, those outside are predicted.
        spread = np.where(inside, 1.0 - leverage, 1.0 + np.minimum(leverage, MOST_UNCERTAIN))
        size = np.abs(residual) / np.sqrt(np.maximum(spread, 0.1))
        distance = np.where(is_known, size, np.inf)
        size = np.where(usable, size, np.inf)
        if m == n or np.partition(size, m)[m] > NEAR * sigma:
            break
        m = min(n, m + max(1, int(AT_ONCE * n)))
    if m < LEAST * n:
        return None
    distance = distance / sigma
    if y is not rows.y:
        fitted = np.where(is_known, target - residual / np.sqrt(weight), 0.0)
        distance = np.minimum(distance, _without_logarithm(rows, fitted, inside))
    return _told(rows, more, distance, inside, sigma, p)


def _without_logarithm(rows: Sample, fitted: Floats, inside: Mask) -> Floats:
    """How far rows are off where a logarithm was estimated: of small values it says too much.

    A value that is next to nothing, and its error, are far apart in their logarithms.
    """
    sign = np.sign(np.median(rows.y))
    size = np.abs(rows.y - sign * np.exp(np.minimum(fitted, LARGEST)))
    size *= np.sqrt(rows.weight / rows.weight.mean())
    sigma = float(np.quantile(size[inside], LEAST)) / QUANTILE
    return np.asarray(size / max(sigma, ROUNDING * float(np.ptp(rows.y)), 1e-300))


def _by_neighbours(y: Floats, rows: Sample, more: Floats) -> Explained | None:
    """Rows that lie near the medians of their neighbours: for what no polynomial follows."""
    from scipy.spatial import cKDTree
    from scipy.stats import rankdata

    usable = np.flatnonzero(np.isfinite(y))[:MOST_ROWS]
    n, d = len(usable), min(len(rows.XT), MOST_INPUTS)
    k = NEIGHBOURS + 2 * (d - 1)
    if n <= 3 * k or len(rows) > MANY_ROWS:
        return None
    places = rankdata(rows.XT[:d], axis=1).T
    near = usable[cKDTree(places[usable]).query(places, k=k + 1)[1]]
    own = np.arange(len(y))[:, None]
    # A row is no neighbour of its own: the last one takes its place.
    near = np.where(near == own, near[:, -1:], near)[:, :k]
    size = np.abs(np.where(np.isfinite(y), y, np.inf) - np.median(y[near], axis=1))
    size *= np.sqrt(rows.weight / rows.weight.mean())
    sigma = float(np.quantile(size[usable], LEAST)) / QUANTILE
    sigma = max(sigma, ROUNDING * float(np.ptp(y[usable])), 1e-300)
    inside = np.zeros(len(y), dtype=bool)
    inside[usable] = size[usable] <= NEAR * sigma
    return _told(rows, more, size / sigma, inside, sigma, 1)


def _fit(terms: Floats, y: Floats, weight: Floats, inside: Mask) -> tuple[Floats, Floats, float]:
    """Weighted residuals, leverages, and the standard deviation that is left of some rows."""
    root = np.sqrt(weight)
    A = terms * root[:, None]
    chosen = A[inside]
    normal = chosen.T @ chosen
    normal[np.diag_indices_from(normal)] *= 1.0 + RIDGE
    inverse = np.linalg.pinv(normal)
    fitted = inverse @ (chosen.T @ (y * root)[inside])
    residual = y * root - A @ fitted
    leverage = np.clip(np.einsum("ij,jk,ik->i", A, inverse, A), 0.0, None)
    left = max(int(inside.sum()) - terms.shape[1], 1)
    return residual, leverage, math.sqrt(float(np.sum(residual[inside] ** 2)) / left)


def _shrunk(part: float) -> float:
    """The standard deviation of the nearest part of normal noise."""
    from statistics import NormalDist

    if part >= 1.0:
        return 1.0
    normal = NormalDist()
    q = normal.inv_cdf(0.5 + 0.5 * part)
    return math.sqrt(max(1.0 - 2.0 * q * normal.pdf(q) / part, 1e-3))


def _told(
    rows: Sample, more: Floats, distance: Floats, inside: Mask, sigma: float, p: int
) -> Explained:
    """How many nats all rows take: those explained, the others by their place, the constants."""
    m, n = int(inside.sum()), min(len(rows), MOST_ROWS)
    whole = float(np.ptp(rows.y)) or 1.0
    length = m * math.log(sigma) + float(np.sum(more[inside])) + 0.5 * p * math.log(n)
    length += (n - m) * math.log(whole)
    return Explained(length, distance)


def _least_absolute(terms: Floats, y: Floats, weight: Floats) -> Floats:
    """Residuals of the linear fit with the least absolute errors, by reweighting."""
    few, known, given = terms[:MOST_ROWS], y[:MOST_ROWS], weight[:MOST_ROWS]
    own = given
    for _ in range(STEPS):
        weighted = few * own[:, None]
        normal = few.T @ weighted
        normal[np.diag_indices_from(normal)] *= 1.0 + RIDGE
        found = np.linalg.pinv(normal) @ (weighted.T @ known)
        sizes = np.abs(known - few @ found)
        middle = float(np.median(sizes[given > 0.0]))
        own = given / np.maximum(sizes, 1e-3 * middle + 1e-300)
        own = own / own.mean()
    return np.asarray(y - terms @ found)
