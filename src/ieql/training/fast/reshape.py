"""Reshaping: another unit in the place of one, a unit around an argument, or room in a unit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.equations.simplify import GaugedBuilder
from ieql.prior import Prior
from ieql.training.fast.screen import SMALL, Proposal, Screen, UnaryFunction
from ieql.units import DIV, EXP, MUL, SQUARE

__all__ = ["loosened", "retyped", "wrapped"]

Array = NDArray[np.float64]
TRIALS = 8
"""Random pairs of rate and offset tried for each shape."""


def _shapes(prior: Prior) -> list[UnaryFunction]:
    units = [prior.unit(name) for name in prior.units]
    return [UnaryFunction(u) for u in units if u.arity == 1 or u is DIV]


def retyped(screen: Screen, prior: Prior, rng: np.random.Generator, n: int) -> list[Proposal]:
    """Exchange a unit for another type that does nearly the same on the data.

    For every unit of one argument z and every other type u, a few α u(w z + b) + δ are fitted to
    the unit's values where the output is sensitive to them; the closest are proposed.
    """
    e = screen.expression
    found: list[tuple[float, Proposal]] = []
    for k, node in enumerate(e.nodes):
        if node.unit.arity != 1:
            continue
        z, y, d = screen.node_values(k)
        total = float(np.sum((d * (y - np.average(y, weights=d * d + 1e-300))) ** 2))
        if not (np.isfinite(total) and total > 0):
            continue
        for shape in _shapes(prior):
            if shape.unit is not node.unit:
                error, w, b, alpha, delta = _closest(shape, z, d * y, d, rng)
                if np.isfinite(error):
                    change = partial(_shaped, shape, w, b, alpha, delta)
                    found.append((error / total, _in_place(e, k, change)))
    found.sort(key=lambda item: item[0])
    return [proposal for _, proposal in found[:n]]


def _shaped(
    shape: UnaryFunction,
    w: float,
    b: float,
    alpha: float,
    delta: float,
    builder: Builder,
    args: list[Sum],
) -> Sum:
    return shape.apply(builder, args[0].scaled(w).plus(Sum(b))).scaled(alpha).plus(Sum(delta))


def wrapped(screen: Screen, prior: Prior, rng: np.random.Generator, n: int) -> list[Proposal]:
    """Put a unit around a whole argument: z becomes α u(w z + b) + δ.

    Growth adds beside what is there; a root over a finished quotient needs this move.
    """
    found: list[tuple[float, Proposal]] = []
    for s in range(len(screen.places)):
        z, d = screen.Z[s], screen.D[s]
        if not (np.all(np.isfinite(z)) and np.any(d)):
            continue
        for shape in _shapes(prior):
            error, w, b, alpha, delta = _closest(shape, z, d * z + screen.residual, d, rng)
            if np.isfinite(error):
                found.append((error, screen.around(s, shape, w, b, alpha, delta)))
    found.sort(key=lambda item: item[0])
    return [proposal for _, proposal in found[:n]]


def _closest(
    shape: UnaryFunction, z: Array, target: Array, d: Array, rng: np.random.Generator
) -> tuple[float, float, float, float, float]:
    """Error, w, b, α, δ of the best of a few d · (α u(w z + b) + δ) for a target."""
    spread = float(np.std(z))
    if not spread > 0:
        return np.inf, 0.0, 0.0, 0.0, 0.0
    sign = rng.choice([1.0, -1.0], TRIALS, p=[0.7, 0.3])
    rates = sign * np.exp(rng.uniform(-2.0, 1.5, TRIALS)) / spread
    shifts = rng.uniform(-3.0, 3.0, TRIALS)
    # True offsets are often zero: half of the trials are u(w z).
    mean = float(z.mean())
    shifts[::2] = rates[::2] * mean
    arguments = np.outer(rates, z - mean)
    if np.isfinite(shape.low):
        least = arguments.min(axis=1)
        inside = shape.low - least + 0.5 * np.abs(shifts) + 0.05
        shifts = np.where(least + shifts > shape.low, shifts, inside)
    basis = d * shape(arguments + shifts[:, None])
    # Least squares for α and δ of all trials at once: the normal equations are two by two.
    d_d, d_t = float(d @ d), float(d @ target)
    b_b, b_d, b_t = np.einsum("ij,ij->i", basis, basis), basis @ d, basis @ target
    det = b_b * d_d - b_d**2
    good = det > 1e-9 * b_b * d_d
    det = np.where(good, det, 1.0)
    alpha, delta = (d_d * b_t - b_d * d_t) / det, (b_b * d_t - b_d * b_t) / det
    error = np.where(good, float(target @ target) - alpha * b_t - delta * d_t, np.inf)
    k = int(np.argmin(error))
    w = float(rates[k])
    return float(error[k]), w, float(shifts[k]) - w * mean, float(alpha[k]), float(delta[k])


def loosened(screen: Screen, prior: Prior, rng: np.random.Generator, n: int) -> list[Proposal]:
    """Write a unit in another way that is equal, but has room for one constant more.

    exp(z) is 1 / (exp(-z) + 0), a square is a product of two sums that need not be equal.
    """
    found: list[Proposal] = []
    for k, node in enumerate(screen.expression.nodes):
        if node.unit is EXP and DIV.name in prior.units:
            found.append(_in_place(screen.expression, k, _reciprocal_exp))
        if node.unit is SQUARE and MUL.name in prior.units:
            found.append(_in_place(screen.expression, k, _as_product))
    return [found[int(k)] for k in rng.permutation(len(found))[:n]]


def _reciprocal_exp(builder: Builder, args: list[Sum]) -> Sum:
    inner = builder.apply(EXP, args[0].scaled(-1.0))
    return builder.apply(DIV, Sum(1.0), inner.plus(Sum(SMALL)))


def _as_product(builder: Builder, args: list[Sum]) -> Sum:
    size = max((abs(w) for w in args[0].weights), default=1.0)
    other = args[0].plus(Sum(SMALL * size))
    return builder.apply(MUL, args[0], other)


def _in_place(
    expression: Expression, k: int, change: Callable[[Builder, list[Sum]], Sum]
) -> Proposal:
    """Node k as something else, made of its arguments."""

    def make() -> Expression:
        builder = GaugedBuilder(expression.names)
        values = builder.copy(expression, stop=k)
        args = [translate(a, values) for a in expression.nodes[k].args]
        return builder.rebuild(expression, [*values, change(builder, args)])

    return make
