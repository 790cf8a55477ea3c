"""Compiled steps of the paper's trainer: gates, forward pass, backward pass and Adam in one call.

The same formulas as in `gates` and `objective`, in single precision, without a word of Python
between two steps; a test holds both side by side. The weights of each layer stand in one contiguous
piece of a flat buffer, so that every product is one call of BLAS.

A weight whose gate is exactly zero takes no part in a step: neither values nor gradients depend on
it. Once most gates are closed, a step therefore goes through the open ones alone, and leaves out
the units that nothing depends on.

The units themselves are those of `ieql.equations.kernels`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401 - numba's BLAS, loaded before its threads are limited
from numba import types
from numpy.typing import NDArray

from ieql.equations.compiled import entry, loose
from ieql.equations.kernels import apply_unit
from ieql.training.paper.gates import BETA, GAMMA, SHIFT, ZETA

Row = NDArray[np.floating]
Matrix = NDArray[np.floating]
Indices = NDArray[np.int64]

_F1 = types.Array(types.float32, 1, "C")
_F2 = types.Array(types.float32, 2, "C")
_I1 = types.Array(types.int64, 1, "C")
_I2 = types.Array(types.int64, 2, "C")


class Layout(NamedTuple):
    """Where everything stands.

    `layers` has a row (first argument, past the last, visible sources, place in the buffer) for
    each hidden layer and the outputs; `blocks` a row (layer, code of the unit, address of its
    compiled functions, arguments, first row of argument 0, of argument 1, first source, number of
    units) for each type in a layer, and `edges` the ends of the domains of both arguments. The
    address is 0 for the units of the table.
    """

    layers: Indices
    blocks: Indices
    edges: Matrix
    n_inputs: int


class Open(NamedTuple):
    """The weights that take part in a step.

    `is_sparse` says whether they are few; only then the others are filled. The weights of argument
    k are those from `start[k]` to `start[k + 1]`, each with the source that it weighs and its place
    in the buffer; `is_used` says on which sources a loss depends, `is_needed` on which arguments.
    """

    is_sparse: bool
    start: Indices
    source: Indices
    place: Indices
    is_used: NDArray[np.bool_]
    is_needed: NDArray[np.bool_]


class Work(NamedTuple):
    """Where a step writes, made once for all of an epoch: each has a column per row of the batch.

    Values of the sources, arguments, sensitivities of the loss to arguments and to sources, slopes
    of the units by their arguments, and two relaxed arguments.
    """

    Y: Matrix
    Z: Matrix
    D: Matrix
    S: Matrix
    slope: Matrix
    relaxed: Matrix


class Hyper(NamedTuple):
    """Numbers of a step."""

    rate: float
    beta1: float
    beta2: float
    epsilon: float
    strength: float
    delta: float
    gated: bool
    l1: float
    relaxes: bool
    gate_limit: float


@loose
def _uniform(number: int) -> float:
    """A random number in (0, 1), never 0 or 1, from a counter (the mixing of splitmix64)."""
    z = np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (np.float64(z >> np.uint64(44)) + 0.5) / 1048576.0


# Gates are drawn for every weight in every step, which takes as long as the network itself unless
# everything stays in single precision, in which a number in the code must say that it is.
_ZERO, _HALF, _ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
_LOG2E, _LN2_HIGH, _LN2_LOW = (
    np.float32(1.44269504), np.float32(0.693359375), np.float32(-2.12194440e-4),
)  # fmt: skip
_FACTORIALS = tuple(np.float32(1.0 / math.factorial(k)) for k in range(7, -1, -1))
_ODD = tuple(np.float32(2.0 / k) for k in (11, 9, 7, 5, 3, 1))
_ROOT_HALF = np.float32(math.sqrt(0.5))
_FARTHEST = np.float32(80.0)
_BETA32, _GAMMA32, _WIDTH32, _SHIFT32 = (
    np.float32(BETA), np.float32(GAMMA), np.float32(ZETA - GAMMA), np.float32(SHIFT),
)  # fmt: skip
SPARSE = 0.3
"""Share of open weights among all places below which single ones are faster than whole matrices."""


@loose
def _exp(z: Row, y: Row, n: int) -> None:
    """Exponentials of the first n numbers, of which none is to be beyond ± 80."""
    for j in range(n):
        x = min(_FARTHEST, max(-_FARTHEST, z[j]))
        k = np.floor(x * _LOG2E + _HALF)
        r = (x - k * _LN2_HIGH) - k * _LN2_LOW
        p = _FACTORIALS[0]
        for coefficient in _FACTORIALS[1:]:
            p = p * r + coefficient
        y[j] = p * np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(np.float32)


@loose
def _log(z: Row, y: Row, n: int) -> None:
    """Logarithms of the first n numbers, of which all are to be positive."""
    for j in range(n):
        bits = np.float32(z[j]).view(np.int32)
        power = np.float32((bits >> np.int32(23)) - np.int32(126))
        part = np.int32((bits & np.int32(0x7FFFFF)) | np.int32(0x3F000000)).view(np.float32)
        # To [√½, √2): there the series of artanh is short.
        is_small = part < _ROOT_HALF
        part = part + part if is_small else part
        power = power - _ONE if is_small else power
        q = (part - _ONE) / (part + _ONE)
        square = q * q
        p = _ODD[0]
        for coefficient in _ODD[1:]:
            p = p * square + coefficient
        y[j] = (p * q + power * _LN2_LOW) + power * _LN2_HIGH


@loose
def _gate(u: Row, phi: Row, gate: Row, slope: Row, n: int) -> None:
    """Hard-concrete gates and their derivatives by log α; `u` is overwritten."""
    for j in range(n):
        u[j] = u[j] / (_ONE - u[j])
    _log(u, gate, n)
    for j in range(n):
        u[j] = -(gate[j] + phi[j]) / _BETA32
    _exp(u, gate, n)
    for j in range(n):
        s = _ONE / (_ONE + gate[j])
        stretched = s * _WIDTH32 + _GAMMA32
        moving = _ZERO < stretched < _ONE
        gate[j] = min(_ONE, max(_ZERO, stretched))
        slope[j] = _WIDTH32 * s * (_ONE - s) / _BETA32 if moving else _ZERO


@loose
def _value(
    op: int, call: int, edges: Row, alpha: Row, z: Matrix, y: Row, da: Row, db: Row, a: int, b: int,
    relaxed: Matrix, m: int,
) -> None:  # fmt: skip
    """One unit with the relaxation of the paper: zero, with zero slopes, outside its domain."""
    if edges[0] == -np.inf and edges[1] == np.inf and edges[2] == -np.inf and edges[3] == np.inf:
        apply_unit(op, call, z[a], z[b], y, da, db, m)
        return
    last = 0 if a == b else 1
    for k in range(last + 1):
        row = a if k == 0 else b
        for i in range(m):
            relaxed[k, i] = z[row, i]
        if edges[2 * k] > -np.inf:
            for i in range(m):
                relaxed[k, i] += alpha[row]
    apply_unit(op, call, relaxed[0], relaxed[last], y, da, db, m)
    for k in range(last + 1):
        at, low, high = z[a if k == 0 else b], edges[2 * k], edges[2 * k + 1]
        # Without branches, so that several points are done at once.
        for i in range(m):
            inside = (at[i] > low or low == -np.inf) and (at[i] < high or high == np.inf)
            y[i] = y[i] if inside else _ZERO
            da[i] = da[i] if inside else _ZERO
            db[i] = db[i] if inside else _ZERO


@loose
def _places(layers: Indices, where: Indices) -> Indices:
    """Argument and source of each weight, given its place in the buffer; in increasing order."""
    places = np.empty((2, len(where)), np.int64)
    layer = 0
    for j in range(len(where)):
        while layer + 1 < len(layers) and where[j] >= layers[layer + 1, 3]:
            layer += 1
        first, _, count, place = layers[layer]
        places[0, j] = first + (where[j] - place) // count
        places[1, j] = (where[j] - place) % count
    return places


@loose
def _opened(layout: Layout, where: Indices, places: Indices, gate: Row) -> Open:
    """The weights whose gates are not zero; `places` has the argument and the source of each."""
    n, n_args, n_sources = len(where), layout.layers[-1, 1], layout.layers[-1, 2]
    n_open = 0
    for j in range(n):
        n_open += gate[j] != _ZERO
    first, last, count, place = layout.layers[-1]
    is_sparse = n_open < SPARSE * (place + (last - first) * count)
    start = np.zeros(n_args + 1, np.int64)
    source, place = np.empty(n_open, np.int64), np.empty(n_open, np.int64)
    is_used, is_needed = np.ones(n_sources, np.bool_), np.ones(n_args, np.bool_)
    if not is_sparse:
        return Open(is_sparse, start, source, place, is_used, is_needed)
    at = 0
    for j in range(n):
        if gate[j] != _ZERO:
            source[at], place[at] = places[1, j], where[j]
            start[places[0, j] + 1] += 1
            at += 1
    for k in range(n_args):
        start[k + 1] += start[k]
    is_used[:] = False
    for k in range(layout.layers[-1, 0], n_args):
        for j in range(start[k], start[k + 1]):
            is_used[source[j]] = True
    for at in range(len(layout.blocks) - 1, -1, -1):
        _, _, _, arity, one, two, first, number = layout.blocks[at]
        for q in range(number):
            for a in range(arity):
                row = one + q if a == 0 else two + q
                low, high = layout.edges[at, 2 * a], layout.edges[at, 2 * a + 1]
                # An argument that leaves its domain is a loss, whether the unit is used or not.
                is_needed[row] = is_used[first + q] or low > -np.inf or high < np.inf
                if is_needed[row]:
                    for j in range(start[row], start[row + 1]):
                        is_used[source[j]] = True
    return Open(is_sparse, start, source, place, is_used, is_needed)


@loose
def _sums(opened: Open, W: Row, Y: Matrix, Z: Matrix, first: int, last: int) -> None:
    """Arguments of a layer, from the open weights alone."""
    m = Y.shape[1]
    for row in range(first, last):
        if opened.is_needed[row]:
            z = Z[row]
            for j in range(opened.start[row], opened.start[row + 1]):
                y, weight = Y[opened.source[j]], W[opened.place[j]]
                for i in range(m):
                    z[i] += weight * y[i]


@loose
def _sums_backwards(
    opened: Open, W: Row, Y: Matrix, D: Matrix, G: Row, S: Matrix, first: int, last: int
) -> None:
    """Gradients of the open weights of a layer, and what their sources are answerable for."""
    m = Y.shape[1]
    for row in range(first, last):
        if opened.is_needed[row]:
            d = D[row]
            for j in range(opened.start[row], opened.start[row + 1]):
                y, s = Y[opened.source[j]], S[opened.source[j]]
                weight, total = W[opened.place[j]], _ZERO
                for i in range(m):
                    total += d[i] * y[i]
                    s[i] += weight * d[i]
                G[opened.place[j]] = total


@loose
def _room(layout: Layout, m: int) -> Work:
    n_args, n_sources = layout.layers[-1, 1], layout.layers[-1, 2]
    return Work(
        np.zeros((n_sources, m), np.float32),
        np.zeros((n_args, m), np.float32),
        np.zeros((n_args, m), np.float32),
        np.zeros((n_sources, m), np.float32),
        np.zeros((n_args, m), np.float32),
        np.zeros((2, m), np.float32),
    )


@loose
def _gradient(
    layout: Layout, opened: Open, W: Row, alpha: Row, X: Matrix, target: Matrix, share: Matrix,
    bounds: Matrix, hyper: Hyper, labelled: bool, work: Work, G: Row, d_alpha: Row, losses: Row,
) -> None:  # fmt: skip
    """Losses and gradient of one batch, as `ieql.training.paper.objective.gradient`."""
    n_layers = len(layout.layers)
    m = X.shape[1]
    Y, Z, D, S, slope, relaxed = work
    # What the step before has left is cleared where this one looks.
    for k in range(len(S)):
        if opened.is_used[k]:
            S[k] = 0.0
    for k in range(len(Z)):
        if opened.is_needed[k]:
            Z[k] = 0.0
            D[k] = 0.0
    Y[0] = 1.0
    Y[1 : 1 + layout.n_inputs] = X
    at = 0
    for k in range(n_layers):
        first, last, count, place = layout.layers[k]
        rows = last - first
        if opened.is_sparse:
            _sums(opened, W, Y, Z, first, last)
        else:
            np.dot(W[place : place + rows * count].reshape(rows, count), Y[:count], Z[first:last])
        while at < len(layout.blocks) and layout.blocks[at, 0] == k:
            _, op, call, arity, one, two, source, number = layout.blocks[at]
            edges = layout.edges[at]
            for q in range(number):
                if not opened.is_used[source + q]:
                    continue
                a = one + q
                b = two + q if arity == 2 else a
                _value(
                    op, call, edges, alpha, Z, Y[source + q], slope[a], slope[b], a, b,
                    relaxed, m,
                )  # fmt: skip
            at += 1
    first, last, count, place = layout.layers[n_layers - 1]
    losses[:] = 0.0
    overflows = _without_overflows(opened.is_used, Y, Z, slope)
    if overflows == m:
        losses[0] = np.nan
    for k in range(first, last):
        for i in range(m):
            if Y[0, i] == 0.0:
                continue
            if labelled:
                r = Z[k, i] - target[k - first, i]
                losses[0] += share[k - first, i] * r * r
                D[k, i] = 2.0 * share[k - first, i] * r
            else:
                value = Z[k, i] + bounds[1, k - first]
                excess = abs(value) - bounds[0, k - first]
                if excess > 0.0:
                    losses[2] += excess / m
                    D[k, i] = np.sign(value) * hyper.delta / m
    pull = np.float32(hyper.delta / m)
    at = len(layout.blocks) - 1
    for k in range(n_layers - 1, -1, -1):
        first, last, count, place = layout.layers[k]
        rows = last - first
        while at >= 0 and layout.blocks[at, 0] == k:
            _, op, call, arity, one, two, source, number = layout.blocks[at]
            for q in range(number):
                for a in range(arity):
                    row = one + q if a == 0 else two + q
                    low, high = layout.edges[at, 2 * a], layout.edges[at, 2 * a + 1]
                    d, z = D[row], Z[row]
                    if opened.is_used[source + q]:
                        behind, by_argument, total = S[source + q], slope[row], _ZERO
                        for i in range(m):
                            d[i] = behind[i] * by_argument[i]
                            total += d[i]
                        if low > -np.inf:
                            d_alpha[row] += total
                    if low > -np.inf:
                        losses[1] += _pull(z, low, d, -pull, Y[0], m)
                    if high < np.inf:
                        losses[1] += _pull(z, high, d, pull, Y[0], m)
            at -= 1
        if opened.is_sparse:
            _sums_backwards(opened, W, Y, D, G, S, first, last)
            continue
        piece = W[place : place + rows * count].reshape(rows, count)
        G[place : place + rows * count] = np.dot(D[first:last], Y[:count].T).ravel()
        if k > 0:
            S[:count] += np.dot(piece.T, D[first:last])


@loose
def _pull(z: Row, edge: float, d: Row, pull: np.float32, counts: Row, m: int) -> np.float32:
    """The domain penalty of an argument at one edge (paper, L_su); adds its gradient to `d`.

    A positive `pull` is that of an upper edge. `counts` is zero at points that take no part.
    """
    total = _ZERO
    for i in range(m):
        inside = z[i] < edge if pull > _ZERO else z[i] > edge
        outside = _ZERO if inside else counts[i]
        total += outside * np.abs(z[i] - edge)
        d[i] += outside * pull
    return np.float32(total / m)


@loose
def _without_overflows(is_used: NDArray[np.bool_], Y: Matrix, Z: Matrix, slope: Matrix) -> int:
    """Take the points out of a step at which the square of a value overflows; the number of them.

    Far outside the data an exponential of a square reaches infinity now and then, and one such
    point would make every weight NaN. Its column becomes zero, the constant one included. Where
    all units are finite, so are the sums of them that are the outputs.
    """
    m = Y.shape[1]
    total = np.zeros(m, np.float32)  # stays zero where all squares are finite
    for k in range(len(Y)):
        if is_used[k]:
            for i in range(m):
                total[i] += _ZERO * (Y[k, i] * Y[k, i])
    n_points = 0
    for i in range(m):
        if total[i] != _ZERO:
            n_points += 1
            Y[:, i] = 0.0
            Z[:, i] = 0.0
            slope[:, i] = 0.0
    return n_points


@loose
def _is_finite(values: Row) -> bool:
    total = np.float32(0.0)
    for j in range(len(values)):
        total += _ZERO * values[j]
    return bool(total == _ZERO)


@loose
def _adam(p: Row, g: Row, m: Row, v: Row, step: int, hyper: Hyper, n: int) -> None:
    rate = hyper.rate * np.sqrt(1.0 - hyper.beta2**step) / (1.0 - hyper.beta1**step)
    # Adam adds ε to the root of the corrected moment; in terms of the plain one it is this.
    epsilon = hyper.epsilon * np.sqrt(1.0 - hyper.beta2**step)
    b1, b2 = np.float32(hyper.beta1), np.float32(hyper.beta2)
    c1, c2 = np.float32(1.0 - hyper.beta1), np.float32(1.0 - hyper.beta2)
    rate32, epsilon32 = np.float32(rate), np.float32(epsilon)
    for j in range(n):
        m[j] = b1 * m[j] + c1 * g[j]
        v[j] = b2 * v[j] + c2 * g[j] * g[j]
        p[j] -= rate32 * m[j] / (np.sqrt(v[j]) + epsilon32)


@loose
def _step(
    layout: Layout, hyper: Hyper, X: Matrix, target: Matrix, share: Matrix, bounds: Matrix,
    labelled: bool, where: Indices, places: Indices, cost: Row, w: Matrix, phi: Matrix,
    relax: Matrix, buffer: Matrix, work: Work, step: int, seed: int, losses: Row,
) -> None:  # fmt: skip
    """One step of Adam on a batch; rows of w, phi, relax: value and the two moments."""
    n, n_args = w.shape[1], relax.shape[1]
    W, G = buffer[0], buffer[1]
    gate, slope = np.ones(n, np.float32), np.zeros(n, np.float32)
    if hyper.gated:
        u = np.empty(n, np.float32)
        for j in range(n):
            u[j] = _uniform(seed + step * n + j)
        _gate(u, phi[0], gate, slope, n)
        for j in range(n):
            if cost[j] == 0.0:  # a bias has no gate
                gate[j] = 1.0
                slope[j] = 0.0
    for j in range(n):
        W[where[j]] = w[0, j] * gate[j]
    opened = _opened(layout, where, places, gate)
    alpha, d_alpha = np.empty(n_args, np.float32), np.zeros(n_args, np.float32)
    for k in range(n_args):
        if opened.is_needed[k]:
            alpha[k] = np.log1p(np.exp(relax[0, k]))
    G[:] = 0.0
    _gradient(
        layout, opened, W, alpha, X, target, share, bounds, hyper, labelled, work, G, d_alpha,
        losses,
    )  # fmt: skip
    if not _is_finite(G) or not _is_finite(d_alpha):
        return  # slopes may overflow although all values are finite
    g = np.empty(n, np.float32)
    if hyper.gated:
        strength = np.float32(hyper.strength if labelled else 0.0)
        u, odds = np.empty(n, np.float32), np.empty(n, np.float32)
        for j in range(n):
            u[j] = _SHIFT32 - phi[0, j]
        _exp(u, odds, n)
        for j in range(n):
            p = _ONE / (_ONE + odds[j])
            g[j] = G[where[j]] * w[0, j] * slope[j] + strength * cost[j] * p * (_ONE - p)
        _adam(phi[0], g, phi[1], phi[2], step, hyper, n)
        limit = np.float32(hyper.gate_limit)
        for j in range(n):
            phi[0, j] = min(limit, max(-limit, phi[0, j]))
    for j in range(n):
        g[j] = G[where[j]] * gate[j]
    if labelled and hyper.l1 > 0.0:
        for j in range(n):
            if cost[j] > 0.0:
                g[j] += np.float32(hyper.l1) * np.sign(w[0, j])
    _adam(w[0], g, w[1], w[2], step, hyper, n)
    if hyper.relaxes:
        for k in range(n_args):
            if d_alpha[k] != _ZERO:
                d_alpha[k] /= 1.0 + np.exp(-relax[0, k])
        _adam(relax[0], d_alpha, relax[1], relax[2], step, hyper, n_args)


_HYPER = (*[types.float64] * 6, types.boolean, types.float64, types.boolean, types.float64)


@entry(
    _I2, _I2, _F2, types.int64, *_HYPER, _F2, _F2, _F2, _F2, _F2, types.int64, _I1, _I1, _I1, _F1,
    _F2, _F2, _F2, types.int64, types.int64,
)  # fmt: skip
def epoch(
    layers: Indices, blocks: Indices, edges: Matrix, n_inputs: int, rate: float, beta1: float,
    beta2: float, epsilon: float, strength: float, delta: float, gated: bool, l1: float,
    relaxes: bool, gate_limit: float, XT: Matrix, target: Matrix, weight: Matrix, bounds: Matrix,
    domain: Matrix, batch: int, order: Indices, picks: Indices, where: Indices, cost: Row,
    w: Matrix, phi: Matrix, relax: Matrix, step: int, seed: int,
) -> tuple[int, Row]:  # fmt: skip
    """All rows in the given order, in batches, then a penalty epoch at picked points of the domain.

    Changes w, phi and, if `relaxes`, relax. `bounds` has for each output the bound B and what is
    added to the network's output before it is compared with it. `l1` is the strength of an L1
    penalty on the weights that are no biases, `gate_limit` how far log α may be from zero. Targets
    and weights have a row per output, each of which is averaged by its own weights: a row that is
    set aside for one output counts for the others. Returns the number of steps so far and the
    losses (data, domain, bound), means over the batches.
    """
    layout = Layout(layers, blocks, edges, n_inputs)
    hyper = Hyper(rate, beta1, beta2, epsilon, strength, delta, gated, l1, relaxes, gate_limit)
    n = len(order)
    size = layers[-1, 3] + (layers[-1, 1] - layers[-1, 0]) * layers[-1, 2]
    buffer, places = np.zeros((2, size), np.float32), _places(layers, where)
    losses, total = np.zeros(3, np.float32), np.zeros(3, np.float32)
    n_batches = max(1, n // batch)
    work = _room(layout, n // n_batches)
    for k in range(n_batches):
        first, last = k * n // n_batches, (k + 1) * n // n_batches
        m = last - first
        if m != work.Y.shape[1]:
            work = _room(layout, m)
        X, y = np.empty((len(XT), m), np.float32), np.empty((len(target), m), np.float32)
        share = np.empty((len(target), m), np.float32)
        for i in range(m):
            row = order[first + i]
            for j in range(len(XT)):
                X[j, i] = XT[j, row]
            for j in range(len(target)):
                y[j, i] = target[j, row]
                share[j, i] = weight[j, row]
        for j in range(len(target)):
            weights = np.sum(share[j])
            if weights > 0.0:
                share[j] /= weights
        step += 1
        _step(
            layout, hyper, X, y, share, bounds, True, where, places, cost, w, phi, relax,
            buffer, work, step, seed, losses,
        )  # fmt: skip
        total += losses
    if len(picks):
        X = np.empty((len(XT), len(picks)), np.float32)
        for i in range(len(picks)):
            for j in range(len(XT)):
                X[j, i] = domain[j, picks[i]]
        step += 1
        none = np.empty((0, 0), np.float32)
        share = np.empty((0, 0), np.float32)
        _step(
            layout, hyper, X, none, share, bounds, False, where, places, cost, w, phi, relax,
            buffer, _room(layout, len(picks)), step, seed, losses,
        )  # fmt: skip
        total[2] = losses[2] * n_batches
    return step, total / np.float32(n_batches)
