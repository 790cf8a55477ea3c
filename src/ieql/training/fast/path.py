"""Paths: a small random network, trained dense by second-order steps and cut down to an equation.

The objective is that of the paper with its L0 term smoothed, L_D + λ Σ c_j log(1 + w_j²/ε²), which
counts weights as ε → 0 and hardly shrinks large ones. Its majoriser is a ridge λ c_j/(w_j² + ε²),
so every step is a damped Gauss-Newton step with that diagonal. When few weights are left the
network becomes an expression and is eliminated down weight by weight (see `eliminate`).

A path is a pure function of (data, network, settings, seed) and yields candidates as it finds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import spotrf, spotrs

from ieql.equations.expression import Expression, Sum
from ieql.equations.extract import extract
from ieql.network import Network
from ieql.prior import Prior
from ieql.units import DIV, MUL, SQUARE, Unit

__all__ = ["PathSettings", "cut", "embed", "random_network", "random_weights", "train_dense"]

Array32 = NDArray[np.float32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class PathSettings:
    """Numbers of the dense phase; the defaults are those of the lab notebook."""

    rows: int = 400
    resample_every: int = 3
    strength: float = 3e-6
    """Regularisation strength λ."""
    bias_cost: float = 0.02
    warm_up: int = 20
    """Steps at ε = 1 before ε starts to fall."""
    shrink: float = 0.75
    shrink_every: int = 3
    smallest_epsilon: float = 0.01
    prune_below: float = 0.05
    """Weights are dropped only once ε is below this."""
    prune_ratio: float = 0.1
    """A weight smaller than this many ε is dropped."""
    few_weights: int = 50
    relax: float = 0.1
    """Distance from the edge of a domain where singular units become straight lines."""
    cosine_scale: float = 3.5


# --- networks to start from --------------------------------------------------------------------

FAVOURED = {unit.name: 2.0 for unit in (SQUARE, MUL, DIV)}
"""How much more often than their cost says units are drawn."""


def random_network(
    prior: Prior,
    names: Sequence[str],
    rng: np.random.Generator,
    layers: int | None = None,
    copies: int | None = None,
) -> Network:
    """Draw a small network: all unit types once, or three to five types twice.

    Expensive units are drawn less often: the probability falls with the complexity factor c_u.
    `layers` and `copies` are the size of the user's network, of which this is a part.
    """
    units = [prior.unit(name) for name in prior.units]
    chance = np.array([FAVOURED.get(u.name, 1.0) / prior.cost(u.name) for u in units])
    depth = min(int(rng.choice([1, 2, 3], p=[0.15, 0.7, 0.15])), layers or 3)
    # A third layer doubles the number of weights: all types twice would be too slow.
    if depth > 2 or rng.random() < 0.4 or len(units) <= 3:
        chosen, count = list(range(len(units))), 1
    else:
        size = int(rng.integers(3, min(5, len(units)) + 1))
        picks = rng.choice(len(units), size=size, replace=False, p=chance / chance.sum())
        chosen, count = sorted(int(k) for k in picks), min(2, copies or 2)
    layer = tuple(units[k] for k in chosen for _ in range(count))
    return Network(tuple(names), (layer,) * depth, prior)


def random_weights(network: Network, rng: np.random.Generator, settings: PathSettings) -> Array32:
    """Weights N(0, 1/fan-in), biases N(0, 1/4), and 1 + |.| for singular arguments."""
    allowed = network.allowed
    fan_in = np.maximum(allowed[:, 1:].sum(axis=1), 1)
    W = rng.normal(size=allowed.shape) / np.sqrt(fan_in)[:, None]
    W[:, 0] = 0.5 * rng.normal(size=network.n_args)
    W[network.singular_rows, 0] = 1.0 + np.abs(W[network.singular_rows, 0])
    if network.blocks:
        for block in network.blocks[0]:
            if block.unit.period is not None:
                W[block.args[0], 1:] *= settings.cosine_scale
    return np.asarray(np.where(allowed, W, 0.0), dtype=np.float32)


def cut(expression: Expression, rng: np.random.Generator) -> Expression:
    """Remove one to three random connections of an expression."""
    theta = expression.constants()
    weights = np.flatnonzero(_is_weight(expression))
    n = min(int(rng.integers(1, 4)), max(len(weights) - 1, 0))
    theta[rng.choice(weights, size=n, replace=False)] = 0.0
    return expression.with_constants(theta).canonical()


def _is_weight(expression: Expression) -> Mask:
    return np.array([k > 0 for s in expression.sums for k in range(1 + len(s.weights))])


def embed(
    expression: Expression, prior: Prior, rng: np.random.Generator, settings: PathSettings
) -> tuple[Network, Array32]:
    """Put an expression into a network beside one to three fresh random units per layer.

    The fresh units enter with small weights, so that the network starts near the expression.
    """
    d = len(expression.names)
    level = expression.levels[d:]
    depth = max([*level, 1]) + (1 if level and rng.random() < 0.2 else 0)
    chance = np.array([FAVOURED.get(n, 1.0) / prior.cost(n) for n in prior.units])
    layers: list[tuple[Unit, ...]] = []
    places: list[list[int]] = []
    for number in range(1, depth + 1):
        old = [k for k in range(len(expression.nodes)) if level[k] == number]
        picks = rng.choice(len(prior.units), size=int(rng.integers(1, 4)), p=chance / chance.sum())
        entries = [(expression.nodes[k].unit, k) for k in old]
        entries += [(prior.unit(prior.units[int(p)]), -1) for p in picks]
        order = {u: i for i, u in enumerate(dict.fromkeys(u for u, _ in entries))}
        entries.sort(key=lambda entry: order[entry[0]])
        layers.append(tuple(u for u, _ in entries))
        places.append([k for _, k in entries])
    network = Network(expression.names, tuple(layers), prior)
    W = random_weights(network, rng, settings)
    column = {**{i: 1 + i for i in range(d)}}
    old_rows: dict[tuple[int, int], int] = {}
    for blocks, ks in zip(network.blocks, places, strict=True):
        position = 0
        for block in blocks:
            for j in range(block.sources.stop - block.sources.start):
                if ks[position] >= 0:
                    column[d + ks[position]] = block.sources.start + j
                    for a, rows in enumerate(block.args):
                        old_rows[ks[position], a] = rows.start + j
                position += 1
    output_row = network.n_args - 1
    # Old units keep their arguments; what is new around them starts small.
    for row in (*old_rows.values(), output_row):
        W[row] *= 0.02
    for (k, a), row in old_rows.items():
        _place(W, row, expression.nodes[k].args[a], column)
    _place(W, output_row, expression.outputs[0], column)
    return network, np.where(network.allowed, W, 0.0).astype(np.float32)


def _place(W: Array32, row: int, s: Sum, column: dict[int, int]) -> None:
    W[row, 0] = s.bias
    for i, w in zip(s.sources, s.weights, strict=True):
        W[row, column[i]] = w


# --- the dense phase ---------------------------------------------------------------------------


@dataclass
class _Dense:
    """State of the dense phase: network, weights and the list of live ones."""

    network: Network
    W: Array32
    live: Mask
    damping: float = 0.1

    def costs(self, settings: PathSettings) -> Array32:
        cost = self.network.costs[np.nonzero(self.live)[1]]
        return np.where(cost == 0.0, settings.bias_cost, cost).astype(np.float32)


def train_dense(
    XT: Array32,
    y: Array32,
    weight: Array32 | None,
    network: Network,
    W: Array32,
    rng: np.random.Generator,
    settings: PathSettings,
    warm_up: int | None = None,
    inputs: NDArray[np.intp] | None = None,
) -> Expression | None:
    """Train a dense network until few weights are left; None if it diverges.

    Parameters
    ----------
    XT, y, weight
        Scaled inputs (features × rows), target, and weights with mean one unless all are equal.
    network, W
        Where to start.
    rng
        Source of the resampled rows.
    settings, warm_up
        Numbers of the method; `warm_up` overrides that of the settings.
    inputs
        The inputs that may be used; default: all.
    """
    state = _Dense(network, W, network.allowed.copy())
    if inputs is not None:
        unused = np.setdiff1d(np.arange(len(network.names)), inputs)
        state.live[:, 1 + unused] = False
        state.W = np.where(state.live, W, np.float32(0.0))
    epsilon = 1.0
    left = settings.warm_up if warm_up is None else warm_up
    rows = _draw(rng, len(y), weight, settings)
    step = 0
    while epsilon >= settings.smallest_epsilon:
        if step % settings.resample_every == 0:
            rows = _draw(rng, len(y), weight, settings)
        root = np.sqrt(weight[rows]) if weight is not None and len(y) <= settings.rows else None
        if not _step(state, XT[:, rows], y[rows], root, np.float32(epsilon), settings):
            return None
        step += 1
        if step > left and (step - left) % settings.shrink_every == 0:
            epsilon *= settings.shrink
            if epsilon < settings.prune_below and not _prune(state, epsilon, settings):
                break
    return extract(state.network, state.W, state.live)


def _draw(
    rng: np.random.Generator, n: int, weight: Array32 | None, settings: PathSettings
) -> NDArray[np.intp]:
    """Rows of a step: all of few, else a draw in which a row's chance is its weight."""
    if n <= settings.rows:
        return np.arange(n)
    if weight is None:
        return rng.integers(0, n, settings.rows)
    chance = weight.astype(np.float64)
    return rng.choice(n, size=settings.rows, p=chance / chance.sum())


def _prune(state: _Dense, epsilon: float, settings: PathSettings) -> bool:
    """Drop the weights that ε has counted out; False when few enough are left."""
    state.live &= np.abs(state.W) >= settings.prune_ratio * epsilon
    state.live[:, 0] = state.network.allowed[:, 0]
    state.network, state.W, state.live = state.network.compact(state.W, state.live)
    state.W = np.where(state.live, state.W, np.float32(0.0))
    return int(state.live[:, 1:].sum()) > settings.few_weights


def _step(
    state: _Dense,
    XT: Array32,
    y: Array32,
    root: Array32 | None,
    epsilon: np.float32,
    settings: PathSettings,
) -> bool:
    """One damped Gauss-Newton step; False if the state is not finite.

    `root` holds the roots of the rows' weights, where they count.
    """
    args, sources = np.nonzero(state.live)
    cost = np.float32(settings.strength) * state.costs(settings)
    w = state.W[args, sources]
    value, J = state.network.jacobian(state.W, XT, state.live, relax=settings.relax)
    n = np.float32(len(y))
    residual = value - y
    if root is not None:
        residual *= root
        J *= root
    objective = _objective(residual, w, cost, epsilon)
    if not np.isfinite(objective):
        return False
    ridge = cost / (w * w + epsilon * epsilon)
    A = np.dot(J, J.T) / n
    g = np.dot(J, residual) / n + ridge * w
    diagonal = A.diagonal() + ridge
    for _ in range(6):
        np.fill_diagonal(A, diagonal + np.float32(state.damping))
        factor, info = spotrf(A, lower=1, clean=0)
        if info == 0:
            delta, _ = spotrs(factor, g, lower=1)
            trial = state.W.copy()
            trial[args, sources] = w - delta
            with np.errstate(all="ignore"):
                output = state.network.forward(trial, XT, settings.relax)[1][-1]
                error = output - y if root is None else (output - y) * root
                new = _objective(error, w - delta, cost, epsilon)
            if new < objective:
                state.W = trial
                state.damping = max(state.damping / 3.0, 1e-6)
                return True
        state.damping *= 4.0
    state.damping = min(state.damping, 1e3)
    return True


def _objective(residual: Array32, w: Array32, cost: Array32, epsilon: np.float32) -> float:
    with np.errstate(all="ignore"):
        data = np.dot(residual, residual) / len(residual)
        return float(data + np.sum(cost * np.log1p((w / epsilon) ** 2)))
