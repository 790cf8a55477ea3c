"""Edges of jumps: no derivative says where they belong, so all places between two rows are tried.

For every place of an edge at once, the gain of having it there is that of a matching pursuit in the
tangent space (`ieql.training.fast.screen`): all other constants may move along, to first order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.program import Program

__all__ = ["better_edges", "edge_places", "has_edges"]

Array = NDArray[np.float64]
FEW = 192
"""Places that are tried at once: of many rows first some of the places, then those around the
best."""
LEAST_GAIN = 1e-6
"""Part of the error that another place must gain."""


def has_edges(expression: Expression) -> bool:
    """Whether an expression has jumps, the edges of which no fit can move."""
    return any(node.unit.stand_in is not None for node in expression.nodes)


def edge_places(expression: Expression) -> list[int]:
    """Places of the constants in front of jumps, which have no influence to first order."""
    found: list[int] = []
    at = 0
    for node in expression.nodes:
        for s in node.args:
            if node.unit.stand_in is not None:
                found += range(at, at + 1 + len(s.weights))
            at += 1 + len(s.weights)
    return found


def better_edges(expression: Expression, program: Program, sample: Sample) -> Expression | None:
    """The expression with the edge of one jump in a better place; None if all are well.

    Parameters
    ----------
    expression : Expression
        With fitted constants.
    program : Program
        The same, flattened.
    sample : Sample
        The rows that it was fitted to.
    """
    root = np.sqrt(sample.weight / sample.weight.sum())
    places = _bias_places(expression)
    value, D = program.jacobian(sample.XT, free=np.array(places, np.int64))
    _, J = program.jacobian(sample.XT)
    if not (np.all(np.isfinite(J)) and np.all(np.isfinite(D))):
        return None
    residual = (sample.y - value) * root
    arguments = expression.arguments(sample.XT.T)
    number = 0
    for k, node in enumerate(expression.nodes):
        edge = number
        number += len(node.args)
        if node.unit.stand_in is None or node.args[0].is_constant:
            continue
        sensitivity, own = _influence(expression, k, D)
        others = ~np.isin(program.free, own)
        Q = np.linalg.qr(_normed(J[others] * root).T)[0]
        z, d = arguments[k][0], sensitivity * root
        target = residual + d * node.unit(z)
        shift = _best_shift(z, d, target - Q @ (Q.T @ target), Q, float(residual @ residual))
        if shift is not None:
            theta = expression.constants()
            theta[places[edge]] -= shift
            return expression.with_constants(theta)
    return None


def _best_shift(z: Array, d: Array, target: Array, Q: Array, error: float) -> float | None:
    """By how much an argument has to exceed zero where the jump is better; None if it is well."""
    sorted_z = np.unique(z)
    if len(sorted_z) < 2:
        return None
    edges = 0.5 * sorted_z[1:] + 0.5 * sorted_z[:-1]
    stride = max(1, len(edges) // FEW)
    chosen = np.arange(0, len(edges), stride)
    best = int(chosen[np.argmax(_gains(z, d, target, Q, edges[chosen]))])
    if stride > 1:
        around = np.arange(max(0, best - stride), min(len(edges), best + stride + 1))
        best = int(around[np.argmax(_gains(z, d, target, Q, edges[around]))])
    now, then = _gains(z, d, target, Q, np.array([0.0, edges[best]]))
    return float(edges[best]) if then > now + LEAST_GAIN * error else None


def _gains(z: Array, d: Array, target: Array, Q: Array, edges: Array) -> Array:
    """By how much a jump at each of some edges lowers the squared error, to first order."""
    V = d[:, None] * (z[:, None] >= edges)
    size = np.einsum("ij,ij->j", V, V)
    inside = Q.T @ V
    rest = size - np.einsum("ij,ij->j", inside, inside)
    good = rest > 1e-9 * size
    gains: Array = np.where(good, (target @ V) ** 2 / np.where(good, rest, 1.0), 0.0)
    return gains


def _influence(expression: Expression, k: int, D: Array) -> tuple[Array, list[int]]:
    """The output's sensitivity to a node, and the places of the constants that weigh it."""
    source = len(expression.names) + k
    found, places, at = np.zeros(D.shape[1]), [], 0
    for number, s in enumerate(expression.sums):
        for j, (i, w) in enumerate(zip(s.sources, s.weights, strict=True)):
            if i == source:
                found += w * D[number]
                places.append(at + 1 + j)
        at += 1 + len(s.weights)
    return found, places


def _normed(J: Array) -> Array:
    """Rows of length one; those of constants without influence, edges for one, are left out."""
    size = np.linalg.norm(J, axis=1)
    normed: Array = J[size > 0.0] / size[size > 0.0, None]
    return normed


def _bias_places(expression: Expression) -> list[int]:
    places, at = [], 0
    for s in expression.sums:
        places.append(at)
        at += 1 + len(s.weights)
    return places
