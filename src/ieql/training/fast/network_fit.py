"""Constants of a network by second-order steps, with a ridge that the rows choose themselves.

The objective is Σ w r² + α |θ|², θ being all live weights and biases but the output's bias. Every
few steps α is set by the evidence: γ = p - α tr(A⁻¹), A = JᵀWJ + αI, is the number of constants
that the rows determine, and α = γ σ² / |θ|² with σ² = Σ w r² / (N - γ). So hundreds of constants
can be fitted to a thousand rows, and no number has to be chosen per problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from ieql.network import Network
from ieql.training.task import Task
from ieql.units import REALS

__all__ = ["FittedNetwork", "Rows", "Tangent", "improved", "left_out_error", "residual", "tangent"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]
RIDGE_EVERY = 3
"""Steps after which the ridge is set anew."""
LEAST_RIDGE = 1e-6
ROUNDING = 1e-9
"""Added to the diagonal, so that a constant without influence does no harm."""
TRIALS = 6
"""Dampings that are tried before a fit is over."""
FASTER, SLOWER = 5.0, 6.0
"""What the damping is divided by after a step, and multiplied by where none was found."""
LEAST_DAMPING, MOST_DAMPING = 1e-4, 1e6
LEAST_FREE = 0.2
"""Part of the rows that the noise is judged by at least, however many constants there are."""
LARGEST_LEVERAGE = 0.95
"""A row that nearly fixes its own prediction counts twentyfold, and not more."""
MARGIN = 0.01
"""A singular argument keeps this part of its range away from the edge of its domain."""


@dataclass(frozen=True, eq=False)
class Rows:
    """What a network is fitted to, in the coordinates of dense networks.

    Attributes
    ----------
    XT, y : arrays
        Inputs × rows, and the target with mean zero.
    root : array
        Root of each row's weight.
    n_rows : float
        Number of measured rows.
    lower, upper : arrays
        The ends of the declared domain.
    points : array
        Points of it at which the output must keep to the bounds; none if there are no bounds.
    bounds : (low, high)
        What the output must not leave at the points (the paper's bound B).
    floor : float
        Mean squared error of the target itself where it is an estimate: a network that comes
        closer to it than that is hardly better for it.
    """

    XT: Array
    y: Array
    root: Array
    n_rows: float
    lower: Array
    upper: Array
    points: Array
    bounds: tuple[float, float]
    floor: float = 0.0

    @classmethod
    def of(cls, task: Task, most: int, rng: np.random.Generator, taught: bool = False) -> Rows:
        """The training rows of a task, or as many of them as are wanted.

        `taught` by the surface through the rows, a network gets points of that instead.
        """
        surface = task.surface if taught else None
        sample = (task.train if surface is None else surface.points).draw(most, rng)
        domain = (task.domain - task.centre[:, None]) / task.half[:, None]
        low, high = task.bounds or REALS
        return cls(
            np.ascontiguousarray((sample.XT - task.centre[:, None]) / task.half[:, None]),
            sample.y - task.mean,
            np.sqrt(sample.weight),
            sample.n_rows,
            domain.min(axis=1),
            domain.max(axis=1),
            np.ascontiguousarray(domain if task.bounds else domain[:, :0]),
            (low - task.mean, high - task.mean),
            0.0 if surface is None else surface.error**2,
        )


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """A network with its weights, and what the fit knows of them.

    Attributes
    ----------
    network, W, live
        Structure, weights, and which of these exist.
    ridge : float
        α of the module's text.
    damping : float
        Marquardt's damping of the next step, in ridges.
    error : float
        Σ w r².
    n_determined : float
        γ: the number of constants that the rows determine.
    """

    network: Network
    W: Array
    live: Mask
    ridge: float = 1e-2
    damping: float = 1e-2
    error: float = float("inf")
    n_determined: float = 0.0

    @property
    def n_constants(self) -> int:
        """Number of live weights and biases."""
        return int(self.live.sum())

    @property
    def shrunk(self) -> Array:
        """1 for each live constant that the ridge is about, 0 for the bias of the output."""
        args, sources = np.nonzero(self.live)
        return np.where((args == self.network.n_args - 1) & (sources == 0), 0.0, 1.0)


def residual(network: Network, W: Array, rows: Rows) -> Array | None:
    """Weighted residuals, or None if the network is not finite or not safe in the domain.

    Interval arithmetic shows that singular arguments stay in their domains all over the box
    (section "Atomic Units with Singularities"); points would leave gaps between them.
    """
    if len(network.singular_rows) and not _is_defined(network, W, rows):
        return None
    if rows.points.shape[1]:
        low, high = rows.bounds
        value = network.outputs(W, rows.points)
        if not (value.min() >= low and value.max() <= high):
            return None
    r: Array = (network.outputs(W, rows.XT)[0] - rows.y) * rows.root
    return r if np.all(np.isfinite(r)) else None


def source_ranges(network: Network, W: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Least and greatest value of every source in a box, by natural intervals; NaN if undefined."""
    low, high = np.full(network.n_sources, np.nan), np.full(network.n_sources, np.nan)
    low[0] = high[0] = 1.0
    low[1 : 1 + len(lower)], high[1 : 1 + len(lower)] = lower, upper
    for rows, count, blocks in zip(
        network.layer_rows, network.visible, (*network.blocks, ()), strict=True
    ):
        z_low, z_high = argument_range(W[rows, :count], low[:count], high[:count])
        for block in blocks:
            for k in range(block.sources.stop - block.sources.start):
                places = [a.start - rows.start + k for a in block.args]
                ends = [(float(z_low[p]), float(z_high[p])) for p in places]
                inside = all(
                    e[0] > d[0] + MARGIN * (e[1] - d[0]) if np.isfinite(d[0]) else True
                    for e, d in zip(ends, block.unit.domains, strict=True)
                ) and all(
                    e[1] < d[1] - MARGIN * (d[1] - e[0]) if np.isfinite(d[1]) else True
                    for e, d in zip(ends, block.unit.domains, strict=True)
                )
                value = _interval(block.unit, ends) if inside else None
                if value is not None:
                    low[block.sources.start + k], high[block.sources.start + k] = value
    return low, high


def _interval(unit: Any, ends: list[tuple[float, float]]) -> tuple[float, float] | None:
    if any(np.isnan(e).any() for e in ends):
        return None
    if unit.interval is None:
        return REALS
    try:
        found: tuple[float, float] | None = unit.interval(*ends)
    except (ArithmeticError, ValueError):
        return None
    return found


def argument_range(W: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Least and greatest value of sums, given those of their sources."""
    # A source that is not connected may be anything.
    positive, negative = np.maximum(W, 0.0), np.minimum(W, 0.0)
    with np.errstate(invalid="ignore"):
        parts_low = np.where(W != 0.0, positive * low + negative * high, 0.0)
        parts_high = np.where(W != 0.0, positive * high + negative * low, 0.0)
    return parts_low.sum(axis=-1), parts_high.sum(axis=-1)


def _is_defined(network: Network, W: Array, rows: Rows) -> bool:
    low, _ = source_ranges(network, W, rows.lower, rows.upper)
    return not bool(np.isnan(low).any())


@dataclass(frozen=True, eq=False)
class Tangent:
    """The network to first order in its live constants: Jacobian, residuals, normal equations."""

    J: Array
    """Constants × rows, weighted."""
    r: Array
    """Weighted residuals, network minus target."""
    A: Array
    """J Jᵀ; its lower triangle."""

    def inverse(self, diagonal: Array) -> Array | None:
        """Inverse of A with something added to its diagonal; None if it is singular."""
        factor, failed = dpotrf(_plus(self.A, diagonal), lower=1)
        if failed:
            return None
        inverse, failed = dpotri(factor, lower=1)
        if failed or not np.all(np.isfinite(inverse.diagonal())):
            return None
        lower = np.tril(inverse)
        return np.asarray(lower + np.tril(inverse, -1).T)


def _plus(A: Array, diagonal: Array) -> Array:
    B = A.copy(order="F")
    B[np.diag_indices_from(B)] += diagonal
    return B


def tangent(state: FittedNetwork, rows: Rows) -> Tangent:
    """The first order of a network at its constants."""
    value, derivatives = state.network.jacobian(state.W, rows.XT, state.live)
    J: Array = derivatives * rows.root
    return Tangent(J, (value - rows.y) * rows.root, dsyrk(1.0, J.T, trans=1, lower=1))


def improved(state: FittedNetwork, rows: Rows, steps: int) -> FittedNetwork:
    """Some damped Gauss-Newton steps; fewer if none helps any more."""
    args, sources = np.nonzero(state.live)
    for k in range(steps):
        t = tangent(state, rows)
        if not (np.all(np.isfinite(t.r)) and np.all(np.isfinite(t.A.diagonal()))):
            return state
        w = state.W[args, sources]
        if k % RIDGE_EVERY == 0:
            state = _with_ridge(state, t, w, rows)
        step = _step(state, t, w, rows)
        if step is None:
            return replace(state, damping=MOST_DAMPING, error=float(t.r @ t.r))
        state = step
    return state


def left_out_error(state: FittedNetwork, rows: Rows) -> float:
    """Σ w r² where each row is predicted by all others, to first order: r over 1 - leverage."""
    t = tangent(state, rows)
    inverse = t.inverse(state.ridge * state.shrunk + ROUNDING)
    if inverse is None or not np.all(np.isfinite(t.r)):
        return float("inf")
    leverage = np.sum(t.J * (inverse @ t.J), axis=0)
    left = t.r / (1.0 - np.minimum(leverage, LARGEST_LEVERAGE))
    return float(left @ left)


def _with_ridge(state: FittedNetwork, t: Tangent, w: Array, rows: Rows) -> FittedNetwork:
    """The ridge by the evidence of the rows, as in the module's text."""
    shrunk, error = state.shrunk, float(t.r @ t.r)
    inverse = t.inverse(state.ridge * shrunk + ROUNDING)
    if inverse is None:
        return replace(state, error=error)
    determined = len(w) - state.ridge * float(shrunk @ inverse.diagonal())
    noise = error / max(rows.n_rows - determined, LEAST_FREE * rows.n_rows)
    size = max(float(shrunk @ (w * w)), ROUNDING)
    ridge = max(determined * noise / size, LEAST_RIDGE)
    return replace(state, ridge=ridge, error=error, n_determined=determined)


def _step(state: FittedNetwork, t: Tangent, w: Array, rows: Rows) -> FittedNetwork | None:
    """One step that lowers the objective; None if there is none."""
    args, sources = np.nonzero(state.live)
    ridge, damping = state.ridge * state.shrunk, state.damping
    objective = float(t.r @ t.r + ridge @ (w * w))
    gradient = t.J @ t.r + ridge * w
    for _ in range(TRIALS):
        factor, failed = dpotrf(_plus(t.A, ridge + damping * state.ridge + ROUNDING), lower=1)
        if not failed:
            moved = w - dpotrs(factor, gradient, lower=1)[0]
            W = state.W.copy()
            W[args, sources] = moved
            r = residual(state.network, W, rows)
            if r is not None and float(r @ r + ridge @ (moved * moved)) < objective:
                damping = max(damping / FASTER, LEAST_DAMPING)
                return replace(state, W=W, damping=damping, error=float(r @ r))
        damping *= SLOWER
    return None
