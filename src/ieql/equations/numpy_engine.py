"""The work of `ieql.equations.kernels` in plain NumPy, for units that numba cannot compile.

`run` and `fit` take the same arguments, with the units themselves in the place of their codes,
addresses and edges, and give the same results; a test holds both side by side, and so does the
benchmark of refits.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ieql.units import Unit, relaxed_slope, relaxed_value

MAX_DAMPING = 1e10
MIN_DAMPING = 1e-12
ROUNDING = 1e-28

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


class _Code:
    """The lists of a program, in Python's own numbers, which are quicker to loop over."""

    def __init__(
        self,
        units: tuple[Unit, ...],
        first: Indices,
        ptr: Indices,
        src: Indices,
        free: Indices,
        d: int,
        relax: float = 0.0,
    ) -> None:
        self.units = units
        self.relax = relax
        self.args = [range(a, b) for a, b in pairwise(first.tolist())]
        # For each sum the place of its bias, and source and place of each weight.
        sources = src.tolist()
        self.sums = [
            (a + s, [(sources[j], s + j + 1) for j in range(a, b)])
            for s, (a, b) in enumerate(pairwise(ptr.tolist()))
        ]
        self.position = {t: j for j, t in enumerate(free.tolist())}
        n_theta = len(src) + len(self.sums)
        if any(not 0 <= t < n_theta for t in self.position):
            raise IndexError("A free constant is not one of the program's constants.")
        # Which nodes hold a free constant or stand above one.
        self.live: list[bool] = []
        for args in self.args:
            sums = [self.sums[s] for s in args]
            places = {bias for bias, _ in sums} | {t for _, terms in sums for _, t in terms}
            below = [i - d for _, terms in sums for i, _ in terms if i >= d]
            self.live.append(
                not places.isdisjoint(self.position) or any(self.live[i] for i in below)
            )


def _forward(code: _Code, theta: Array, XT: Array) -> tuple[list[Array], list[Array]]:
    """Arguments of the nodes and the output, and values of the inputs and nodes."""
    n = XT.shape[1]
    Z: list[Array] = []
    Y = list(XT)

    def affine(s: int) -> None:
        bias, terms = code.sums[s]
        z = np.full(n, theta[bias])
        for i, t in terms:
            z += theta[t] * Y[i]
        Z.append(z)

    with np.errstate(all="ignore"):
        for unit, args in zip(code.units, code.args, strict=True):
            for s in args:
                affine(s)
            Y.append(relaxed_value(unit, [Z[s] for s in args], code.relax))
        affine(len(code.sums) - 1)
    return Z, Y


def _backward(code: _Code, theta: Array, Z: list[Array], Y: list[Array], seed: Array) -> Array:
    """Derivatives by the free constants as rows, times `seed`."""
    d = len(Y) - len(code.units)
    J = np.zeros((len(code.position), len(seed)))
    D: list[Array | None] = [None] * len(code.units)

    def credit(s: int, sensitivity: Array) -> None:
        bias, terms = code.sums[s]
        if bias in code.position:
            J[code.position[bias]] = sensitivity
        for i, t in terms:
            if t in code.position:
                np.multiply(sensitivity, Y[i], out=J[code.position[t]])
            if i >= d and code.live[i - d]:
                share, so_far = theta[t] * sensitivity, D[i - d]
                D[i - d] = share if so_far is None else so_far + share

    with np.errstate(all="ignore"):
        credit(len(code.sums) - 1, seed)
        for k in reversed(range(len(code.units))):
            sensitivity = D[k]
            if sensitivity is not None:
                args = [Z[s] for s in code.args[k]]
                for a, s in enumerate(code.args[k]):
                    credit(s, sensitivity * relaxed_slope(code.units[k], a, args, code.relax))
    return J


def _outside(code: _Code, Z: list[Array], margin: float) -> Flags:
    """Which singular arguments are not inside their domain on some row."""
    bad = []
    for unit, args in zip(code.units, code.args, strict=True):
        for a in unit.singular:
            low, high = unit.domains[a]
            z = Z[args[a]]
            inside = z > low + margin
            if high < np.inf:
                inside &= z < high - margin
            bad.append(not inside.all())
    return np.array(bad, dtype=np.bool_)


def _solve(A: Array, g: Array, damping: float) -> Array:
    scale = np.sqrt(A.diagonal())
    scale = 1.0 / np.where(scale > 0.0, scale, 1.0)
    C = A * scale * scale[:, None]
    np.fill_diagonal(C, 1.0 + damping)
    step: Array = scale * np.linalg.solve(C, scale * g)
    return step


def fit(
    units: tuple[Unit, ...], first: Indices, ptr: Indices, src: Indices, start: Array, XT: Array,
    y: Array, root: Array, free: Indices, guarded: Indices, check: Array, margin: float,
    max_steps: int, tol: float, damping: float, relax: float,
) -> tuple[Array, float, int, bool, Array, Array]:  # fmt: skip
    """Constants, error, steps, whether converged, and the normal equations; see `Program.fit`."""
    code = _Code(units, first, ptr, src, free, len(XT), relax)
    p = len(free)
    watched = np.zeros((2, len(guarded)), np.bool_)
    bad = np.zeros((2, len(guarded)), np.bool_)

    def attempt(theta: Array, limit: float) -> tuple[float, bool, Array, Array]:
        """Error, whether something forbids these constants, normal equations."""
        A, g = np.zeros((p, p)), np.zeros(p)
        Z, Y = _forward(code, theta, XT)
        with np.errstate(all="ignore"):
            residual = root * (y - Z[-1])
            error = float(residual @ residual)
        if not error < np.inf:
            return np.inf, True, A, g
        if error > limit:
            return error, False, A, g
        with np.errstate(all="ignore"):
            J = _backward(code, theta, Z, Y, root)
            A, g = J @ J.T, J @ residual
        if len(guarded):
            bad[0] = _outside(code, Z, 0.0)
            bad[1] = _outside(code, _forward(code, theta, check)[0], margin)
        finite = bool(np.isfinite(A).all() and np.isfinite(g).all())
        return error, not finite or bool((bad & watched).any()), A, g

    theta = start.copy()
    error, blocked, A, g = attempt(theta, np.inf)
    if blocked:
        return theta, error, 0, False, A, g
    watched = ~bad
    rounding = ROUNDING * float(((root * y) ** 2).sum())
    n_steps = n_small = 0
    while p and n_small < 2 and error > rounding:
        if damping > MAX_DAMPING:
            return theta, error, n_steps, not blocked, A, g
        if n_steps >= max_steps:
            return theta, error, n_steps, False, A, g
        n_steps += 1
        trial = theta.copy()
        trial[free] += _solve(A, g, damping)
        new, blocked, A_new, g_new = attempt(trial, error * (1.0 + max(tol, 0.0)))
        n_small = n_small + 1 if not blocked and abs(new - error) <= tol * error else 0
        if new < error and not blocked:
            theta, error, A, g = trial, new, A_new, g_new
            damping = max(damping / 5.0, MIN_DAMPING)
        else:
            damping *= 4.0
    return theta, error, n_steps, True, A, g


def run(
    units: tuple[Unit, ...], first: Indices, ptr: Indices, src: Indices, theta: Array, XT: Array,
    free: Indices, with_ranges: bool,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Values; derivatives by the free constants as rows; if asked for, the range of each sum."""
    code = _Code(units, first, ptr, src, free, len(XT))
    Z, Y = _forward(code, theta, XT)
    J = _backward(code, theta, Z, Y, np.ones(XT.shape[1]))
    lows, highs = np.full(len(Z), np.inf), np.full(len(Z), -np.inf)
    if with_ranges and XT.shape[1]:
        lows, highs = np.array([z.min() for z in Z]), np.array([z.max() for z in Z])
    return Z[-1], J, lows, highs
