"""Fewer constants for a fitted network: those that are least missed go, the others make up for it.

Optimal Brain Surgeon with the ridge of the fit: without constant j the objective rises by about
θ_j² / [A⁻¹]_jj. The last connection of a unit takes the unit's own constants with it, so its rise
is shared among them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ieql.network import Network
from ieql.training.fast.network_fit import ROUNDING, FittedNetwork, Rows, residual, tangent

__all__ = ["argument_rows", "cut"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
GOOD = 1.25
"""A cut that raises the squared error by less than this factor is good enough at once."""
BAD = 2.0
"""One that raises it by more is tried with a third of the constants."""
DAMPING = 1e-2
"""Least damping of the first step after a cut."""


def argument_rows(network: Network) -> dict[int, list[int]]:
    """For the column of every unit the rows of its arguments."""
    return {
        block.sources.start + k: [rows.start + k for rows in block.args]
        for blocks in network.blocks
        for block in blocks
        for k in range(block.sources.stop - block.sources.start)
    }


def cut(state: FittedNetwork, rows: Rows, share: float, most: int) -> FittedNetwork | None:
    """The network without a share of its constants, at most so many; None if none can go."""
    t = tangent(state, rows)
    inverse = t.inverse(state.ridge * state.shrunk + ROUNDING)
    if inverse is None or not np.all(np.isfinite(t.r)):
        return None
    error = float(t.r @ t.r)
    order = _least_missed(state, inverse)
    number = min(max(1, int(share * state.n_constants)), most, len(order))
    while number >= 1:
        smaller = _without(state, order[:number], inverse, error, rows)
        if smaller is not None and (smaller.error < BAD * error or number == 1):
            return smaller
        number //= 3
    return None


def _least_missed(state: FittedNetwork, inverse: Array) -> Indices:
    """The constants that may go, as places among the live ones, the least missed first."""
    network = state.network
    args, sources = np.nonzero(state.live)
    w = state.W[args, sources]
    missed = w * w / np.maximum(inverse.diagonal(), 1e-300)
    # What a connection costs depends on its source (section "Complexity Measure").
    cost = network.costs[sources]
    missed /= np.where(cost > 0.0, cost, 1.0)
    uses = np.bincount(sources, minlength=network.n_sources)
    per_row = state.live.sum(axis=1)
    owned = argument_rows(network)
    for j in np.flatnonzero((sources > len(network.names)) & (uses[sources] == 1)):
        missed[j] /= 1 + per_row[owned[int(sources[j])]].sum()
    # A singular argument without its offset leaves its domain; that of the output costs nothing.
    stays = (sources == 0) & np.isin(args, [*network.singular_rows, network.n_args - 1])
    order = np.argsort(np.where(stays, np.inf, missed), kind="stable")
    return order[: len(order) - int(stays.sum())]


def _without(
    state: FittedNetwork, gone: Indices, inverse: Array, error: float, rows: Rows
) -> FittedNetwork | None:
    args, sources = np.nonzero(state.live)
    w = state.W[args, sources]
    kept = w.copy()
    kept[gone] = 0.0
    try:
        block = np.linalg.solve(inverse[np.ix_(gone, gone)], w[gone])
    except np.linalg.LinAlgError:
        return None
    corrected = w - inverse[:, gone] @ block
    corrected[gone] = 0.0
    live = state.live.copy()
    live[args[gone], sources[gone]] = False
    live = state.network.reachable(live)
    best, least = None, float("inf")
    # To first order the correction is the best there is; far from it less of it may be better.
    for trial in (corrected, 0.5 * (corrected + kept), kept):
        W = state.W.copy()
        W[args, sources] = trial
        W = np.where(live, W, 0.0)
        r = residual(state.network, W, rows)
        if r is not None and float(r @ r) < least:
            best, least = W, float(r @ r)
        if least < GOOD * error:
            break
    if best is None:
        return None
    network, weights, live = state.network.compact(best, live)
    return replace(
        state,
        network=network,
        W=np.asarray(weights, dtype=np.float64),
        live=live,
        damping=max(state.damping, DAMPING),
        error=least,
    )
