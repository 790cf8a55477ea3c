"""Reshaping: another unit in the place of one, or a unit around a whole argument."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.prior import Prior
from ieql.training.screen import Proposal, Screen, Shape

__all__ = ["retyped", "wrapped"]

Array = NDArray[np.float64]


def _shapes(prior: Prior) -> list[Shape]:
    units = [prior.unit(name) for name in prior.units]
    return [Shape(u) for u in units if u.arity == 1 or u.name == "div"]


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
                error, *constants = _closest(shape, z, d * y, d, rng)
                if np.isfinite(error):
                    found.append((error / total, _exchange(e, k, shape, *constants)))
    found.sort(key=lambda item: item[0])
    return [proposal for _, proposal in found[:n]]


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
    shape: Shape, z: Array, target: Array, d: Array, rng: np.random.Generator
) -> tuple[float, float, float, float, float]:
    """Error, w, b, α, δ of the best of a few d · (α u(w z + b) + δ) for a target."""
    spread = float(np.std(z))
    if not spread > 0:
        return np.inf, 0.0, 0.0, 0.0, 0.0
    rates = np.exp(rng.uniform(-2.0, 1.5, 6)) / spread
    shifts = rng.uniform(-3.0, 3.0, 6)
    # True offsets are often zero: half of the trials are u(w z).
    shifts[::2] = rates[::2] * float(z.mean())
    trials = (_line(shape, z, target, d, w, b) for w, b in zip(rates, shifts, strict=True))
    return min(trials, key=lambda fit: fit[0])


def _line(
    shape: Shape, z: Array, target: Array, d: Array, w: float, b: float
) -> tuple[float, float, float, float, float]:
    """Error, w, b, α, δ of the best d · (α u(w (z - mean) + b) + δ) for given w and b."""
    shift = w * z - w * float(z.mean())
    if np.isfinite(shape.low) and not shift.min() + b > shape.low:
        b = shape.low - float(shift.min()) + abs(b) * 0.5 + 0.05
    basis = np.stack([d * shape(shift + b), d])
    if not np.all(np.isfinite(basis)):
        return np.inf, 0.0, 0.0, 0.0, 0.0
    (alpha, delta), *_ = np.linalg.lstsq(basis.T, target, rcond=None)
    error = float(np.sum((target - alpha * basis[0] - delta * d) ** 2))
    return error, w, b - w * float(z.mean()), float(alpha), float(delta)


def _exchange(
    expression: Expression,
    k: int,
    shape: Shape,
    w: float,
    b: float,
    alpha: float,
    delta: float,
) -> Proposal:
    def make() -> Expression:
        builder = Builder(expression.names)
        values = [builder.input(i) for i in range(len(expression.names))]
        for j, node in enumerate(expression.nodes):
            args = [translate(a, values) for a in node.args]
            if j == k:
                inner = args[0].scaled(w).plus(Sum(b))
                values.append(shape.apply(builder, inner).scaled(alpha).plus(Sum(delta)))
            else:
                values.append(builder.apply(node.unit, *args))
        return builder.expression(translate(expression.outputs[0], values))

    return make
