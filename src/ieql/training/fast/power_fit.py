"""Least squares of y = b·B + k exp(g + p·Φ): products of powers and exponentials, fitted in y.

In logarithms such a law is a straight line. That gives the start; but an error of y is another one
in log y, so the constants are those of a fit in y itself. For given exponents p the rest is linear,
and only p is searched for (variable projection).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["PowerFit", "best_subsets", "fit_powers", "log_fit"]

Array = NDArray[np.float64]
STEPS = 40
CONVERGED = 1e-9
"""Part of the error by which a step must lower it, or it was the last."""
PLACES = 6
"""Decimal places of the exponents that are given back."""
LARGEST = 300.0
"""Largest exponent of e: beyond, nothing is finite any more."""
MOST_DAMPED = 1e6
FACTORS = (1e-60, 1e60)
"""Least and largest factor k of a law in scaled coordinates."""
RIDGE = 1e-10
"""Keeps normal equations of nearly equal columns solvable."""


@dataclass(frozen=True, eq=False)
class PowerFit:
    """A fit of y = b·B + k exp(g + p·Φ).

    Attributes
    ----------
    linear : array
        The factors b.
    factor : float
        The factor k.
    exponents : array
        The exponents p, ...
    covariance : array
        ... and how uncertain they are.
    error : float
        Weighted mean of the squared residuals.
    """

    linear: Array
    factor: float
    exponents: Array
    covariance: Array
    error: float


def fit_powers(
    base: Array, features: Array, given: Array, y: Array, root: Array, start: Array
) -> PowerFit | None:
    """Fit a law from given exponents; None where nothing is finite or there are too few rows.

    Parameters
    ----------
    base : array (terms, rows)
        The columns B; none at all is allowed, as it is for the features.
    features : array (features, rows)
        The columns Φ.
    given : array (rows,)
        The known part g of the exponent of e.
    y, root : arrays (rows,)
        Target, and the roots of the weights, which sum to one.
    start : array (features,)
        The exponents p to start from.
    """
    m, n = len(features), len(y)
    left = n - len(base) - 1 - m
    if left < 1:
        return None
    middle = features.mean(axis=1)
    shift = float(np.mean(given[np.isfinite(given)])) if n else 0.0
    centred, known = features - middle[:, None], given - shift
    weighted, target = base * root, y * root

    def solved(p: Array) -> tuple[float, Array, Array, Array, Array]:
        curve = np.exp(np.minimum(known + p @ centred, LARGEST)) * root
        columns = np.vstack([weighted, curve]).T
        size = np.sqrt(np.sum(columns**2, axis=0))
        q, r = np.linalg.qr(columns / size)
        if not np.all(np.abs(np.diagonal(r)) > 1e-10):
            raise np.linalg.LinAlgError
        coefficients = np.linalg.solve(r, q.T @ target) / size
        rest = target - columns @ coefficients
        return float(rest @ rest), coefficients, curve, q, rest

    p, damping = start.astype(np.float64), 1e-3
    try:
        error, coefficients, curve, q, rest = solved(p)
        curvature = np.zeros((m, m))
        for _ in range(STEPS if m else 0):
            slopes = coefficients[-1] * curve * centred
            slopes = slopes - (slopes @ q) @ q.T
            curvature, gradient = slopes @ slopes.T, slopes @ rest
            lifted = curvature + np.diag((damping + 1e-13) * np.diagonal(curvature))
            trial = p + np.linalg.solve(lifted, gradient)
            outcome = solved(trial)
            if outcome[0] < error:
                is_last = error - outcome[0] < CONVERGED * error
                p, damping = trial, damping / 8.0
                error, coefficients, curve, q, rest = outcome
                if is_last:
                    break
            else:
                damping *= 6.0
                if damping > MOST_DAMPED:
                    break
        # What is beyond the sixth place depends on the order in which rows were added up.
        p = np.round(p, PLACES)
        _, coefficients, *_ = solved(p)
        covariance: Array = np.zeros((0, 0))
        if m:
            covariance = np.asarray(np.linalg.inv(curvature) * (error / left), np.float64)
    except np.linalg.LinAlgError:
        return None
    factor = float(coefficients[-1] * np.exp(-shift - p @ middle))
    is_sane = FACTORS[0] < abs(factor) < FACTORS[1]
    if not (is_sane and np.isfinite(error) and np.all(np.isfinite(covariance))):
        return None
    return PowerFit(coefficients[:-1], factor, p, covariance, error)


def log_fit(features: Array, given: Array, y: Array, weight: Array) -> Array:
    """The exponents of a straight line in logarithms, for the rows where y is positive."""
    good = (y > 0.0) & np.isfinite(given)
    root = np.sqrt(weight[good])
    columns = np.vstack([np.ones(len(y)), features])[:, good] * root
    target = (np.log(y[good]) - given[good]) * root
    if np.count_nonzero(root) <= len(columns):
        return np.zeros(len(features))
    exponents: Array = np.linalg.lstsq(columns.T, target, rcond=None)[0][1:]
    return exponents


def best_subsets(
    columns: Array, target: Array, weight: Array, needed: NDArray[np.bool_], keep: Sequence[int]
) -> list[tuple[int, ...]]:
    """Sets of columns that, with an offset, explain most of a target.

    Parameters
    ----------
    columns : array (columns, rows)
        What there is to choose from.
    target, weight : arrays (rows,)
        What is to be explained.
    needed : bool array (columns,)
        Columns of which a set has one at least.
    keep : sequence of int
        How many sets of one, two, ... columns are kept.
    """
    root = np.sqrt(weight / weight.sum())
    inside = columns - (columns @ root**2)[:, None]
    size = np.sqrt(np.sum((inside * root) ** 2, axis=1))
    inside = inside * root / np.where(size > 0.0, size, np.inf)[:, None]
    gram = inside @ inside.T
    product = inside @ (root * (target - target @ root**2))
    found: list[tuple[int, ...]] = []
    for number, kept in enumerate(keep, start=1):
        subsets = np.array(list(itertools.combinations(range(len(columns)), number)), np.intp)
        subsets = subsets.reshape(-1, number)
        subsets = subsets[needed[subsets].any(axis=1)]
        blocks = gram[subsets[:, :, None], subsets[:, None, :]] + RIDGE * np.eye(number)
        right = product[subsets]
        gains = np.sum(right * np.linalg.solve(blocks, right[:, :, None])[:, :, 0], axis=1)
        best = np.argsort(-gains, kind="stable")[:kept]
        found += [tuple(subset) for subset in subsets[best].tolist()]
    return found
