"""The terms of the paper's objective, each a pure function, and their gradient by a network.

    L = L_D + δ L_su + λ L_C  on the data,  L = δ L_su + δ L_bound  in a penalty epoch.

Singular units are relaxed as the paper says (equation "divergences_relaxation"): their argument is
shifted by a learnable α > 0, and where the argument is not inside the domain the unit is zero with
a zero slope; the domain penalty alone pulls it back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.network import Block, Network
from ieql.training.paper import gates

__all__ = [
    "Gradient",
    "bound_penalty",
    "complexity",
    "data_loss",
    "domain_penalty",
    "forward",
    "gradient",
    "softplus",
    "softplus_slope",
]

Array = NDArray[np.floating]


def softplus(x: Array) -> Array:
    """The relaxation α = log(1 + exp(α̂)), which is positive."""
    return np.logaddexp(x, 0.0)


def softplus_slope(x: Array) -> Array:
    """Derivative of `softplus`."""
    return 1.0 / (1.0 + np.exp(-x))


def data_loss(output: Array, y: Array, weight: Array | None = None) -> tuple[float, Array]:
    """Mean squared error L_D, summed over the outputs, and its derivative by each output.

    Everything is outputs × rows, weights that are the same for all outputs may be rows alone; each
    output is averaged by its own weights, and one without any in these rows has no say.
    """
    residual = output - y
    if weight is None:
        share: Any = 1.0 / y.shape[1]
    else:
        weight = np.atleast_2d(weight)
        total = weight.sum(axis=1, keepdims=True)
        share = weight / np.where(total > 0.0, total, 1.0)
    return float(np.sum(share * residual**2)), 2.0 * share * residual


def bound_penalty(
    output: Array, bound: Array | float, level: Array | float = 0.0
) -> tuple[float, Array]:
    """How far outputs exceed the bound B on average, L_bound, and its derivative.

    The network's outputs are those of the table less a level, one for each output or for all.
    """
    value = output + np.reshape(level, (-1, 1))
    excess = np.abs(value) - np.reshape(bound, (-1, 1))
    n = output.shape[1]
    slope = np.where(excess > 0.0, np.sign(value), 0.0) / n
    return float(np.sum(np.maximum(excess, 0.0)) / n), slope


def domain_penalty(network: Network, Z: Array) -> tuple[float, Array]:
    """How far singular arguments lie outside their domain, L_su (equation "divergences_penalty").

    Mean over the rows, sum over the units; with the derivative by all arguments.
    """
    n = Z.shape[1]
    total = 0.0
    slope = np.zeros_like(Z)
    for blocks in network.blocks:
        for block in blocks:
            for a in block.unit.singular:
                low, high = block.unit.domains[a]
                z = Z[block.args[a]]
                below, above = z <= low, z >= high
                total += float(np.sum(np.abs(low - z), where=below)) / n
                total += float(np.sum(np.abs(z - high), where=above)) / n
                slope[block.args[a]] = (np.where(above, 1.0, 0.0) - np.where(below, 1.0, 0.0)) / n
    return total, slope


def complexity(log_alpha: Array, cost: Array) -> tuple[float, Array]:
    """Expected complexity L_C = Σ c_u π and its derivative by log α."""
    slope = cost * gates.probability_slope(log_alpha)
    return float(np.sum(cost * gates.probability(log_alpha))), slope


# --- the network -------------------------------------------------------------------------------


def _relaxed(block: Block, Z: Array, alpha: Array) -> tuple[list[Array], NDArray[np.bool_]]:
    """Shifted arguments of the units of a block, and where all of them lie in their domains."""
    args, inside = [], np.ones((1, 1), dtype=bool)
    for a, rows in enumerate(block.args):
        z = Z[rows]
        if a in block.unit.singular:
            low, high = block.unit.domains[a]
            inside = inside & (z > low) & (z < high)
            if np.isfinite(low):
                z = z + alpha[rows, None]
        args.append(z)
    return args, inside


def forward(network: Network, W: Array, alpha: Array, XT: Array) -> tuple[Array, Array]:
    """Values of all sources Y and arguments Z (features × rows) with relaxed singular units."""

    def value(block: Block, Z: Array) -> Array:
        args, inside = _relaxed(block, Z, alpha)
        return np.where(inside, block.unit.trained.value(*args), 0.0)

    return network.forward(W, XT, value=value)


@dataclass(frozen=True)
class Gradient:
    """Values of the terms, and the derivatives of their sum by W (with gates) and α."""

    data: float
    domain: float
    bound: float
    W: Array
    alpha: Array


def gradient(
    network: Network,
    W: Array,
    alpha: Array,
    XT: Array,
    y: Array | None,
    weight: Array | None = None,
    *,
    delta: float = 1.0,
    bound: Array | float = 10.0,
    level: Array | float = 0.0,
) -> Gradient:
    """L_D + δ L_su with targets, δ L_su + δ L_bound without; no complexity term.

    Parameters
    ----------
    network : Network
        Its structure.
    W : array
        All weights, times their gates.
    alpha : array
        Relaxation of each argument; only that of singular ones counts.
    XT, y, weight : arrays
        Inputs (features × rows), targets (outputs × rows) or None, and weights (outputs × rows).
    delta : float
        Penalty strength δ.
    bound, level : float or array (outputs,)
        Bound B and what is added to the network's output before it is compared with it.
    """
    Y, Z = forward(network, W, alpha, XT)
    # A point at which a value overflows has no part in the step: it would make every weight NaN.
    with np.errstate(all="ignore"):
        lost = ~np.all(np.isfinite(Y * Y), axis=0)
    Y[:, lost], Z[:, lost] = 0.0, 0.0
    output = Z[network.layer_rows[-1]]
    data = excess = 0.0
    if y is not None:
        data, seed = data_loss(output, np.where(lost, 0.0, y), weight)
        data = math.nan if lost.all() else data
    else:
        excess, seed = bound_penalty(output, bound, level)
        seed = delta * seed
    seed[:, lost] = 0.0
    outside, pull = domain_penalty(network, Z)
    D = delta * pull
    D[:, lost] = 0.0
    D[network.layer_rows[-1]] = seed
    G = np.zeros_like(W)
    d_alpha = np.zeros_like(alpha)
    S = np.zeros_like(Y)
    for layer in range(len(network.layers), -1, -1):
        rows, count = network.layer_rows[layer], network.visible[layer]
        if layer < len(network.layers):
            for block in network.blocks[layer]:
                _credit(block, Z, alpha, S[block.sources], D, d_alpha)
        G[rows, :count] = np.dot(D[rows], Y[:count].T)
        S[:count] += np.dot(W[rows, :count].T, D[rows])
    return Gradient(data, outside, excess, np.where(network.allowed, G, 0.0), d_alpha)


def _credit(
    block: Block, Z: Array, alpha: Array, sensitivity: Array, D: Array, d_alpha: Array
) -> None:
    """Add to D and dα what the sensitivity of a block's values means for its arguments."""
    with np.errstate(all="ignore"):
        args, inside = _relaxed(block, Z, alpha)
        for a, rows in enumerate(block.args):
            slope = np.where(inside, block.unit.trained.derivatives[a](*args), 0.0) * sensitivity
            D[rows] += slope
            if a in block.unit.singular and np.isfinite(block.unit.domains[a][0]):
                d_alpha[rows] += slope.sum(axis=1)
