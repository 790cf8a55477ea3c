"""Compiled fit of a law a + w φ^p h(k φ^q), whose whole exponents p and q are given.

φ^p is the product of the shifted inputs (x_i + b_i)^p_i; both powers share the shifts. See
`ieql.training.fast.laws`, which looks for the exponents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from ieql.equations.compiled import entry, exact, loose
from ieql.equations.kernels import apply_unit, gram, solve

__all__ = ["N_EXTRA", "fit_law"]

Row = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

N_EXTRA = 5
"""Constants after the shifts: k, the offsets inside and outside of the unit, w and a."""
TINY = 1e-100
"""In the place of a factor that is exactly zero, so that its derivative is a number, too."""
MAX_DAMPING = 1e8
ENOUGH = 1e-4
"""A step that lowers the error by less than this part is the last."""
SURE = 3
"""Steps that are taken in any case."""
EXACT = 1e-26


class LawCode(NamedTuple):
    """Exponents in front and inside, the unit, and whether 1/(unit + e) is meant.

    The unit is its code and the address of its compiled functions, which is 0 for the table's own.
    """

    p: Indices
    q: Indices
    op: int
    call: int
    reciprocal: bool


class LawWork(NamedTuple):
    """Room for the values of all rows."""

    phi: Matrix
    front: Row
    inside: Row
    z: Row
    value: Row
    slope: Row
    outer: Row
    residual: Row
    J: Matrix


@exact
def _power(x: float, n: int) -> float:
    result = 1.0
    for _ in range(abs(n)):
        result *= x
    return result if n >= 0 else 1.0 / result


@exact
def _forward(law: LawCode, theta: Row, XT: Matrix, work: LawWork) -> None:
    """Values h, their slope ∂h/∂z and, for a reciprocal, ∂h/∂e."""
    d, n = XT.shape
    k, c, e = theta[d], theta[d + 1], theta[d + 2]
    work.front[:] = 1.0
    work.inside[:] = 1.0
    for i in range(d):
        for r in range(n):
            phi = XT[i, r] + theta[i]
            if phi == 0.0:
                phi = TINY
            work.phi[i, r] = phi
            work.front[r] *= _power(phi, law.p[i])
            work.inside[r] *= _power(phi, law.q[i])
    for r in range(n):
        work.z[r] = k * work.inside[r] + c
    apply_unit(law.op, law.call, work.z, work.z, work.value, work.slope, work.outer, n)
    if law.reciprocal:
        for r in range(n):
            h = 1.0 / (work.value[r] + e)
            work.outer[r] = -h * h
            work.slope[r] *= work.outer[r]
            work.value[r] = h
    else:
        work.outer[:] = 0.0


@exact
def _row(law: LawCode, theta: Row, j: int, root: Row, work: LawWork, out: Row) -> None:
    """The derivative by constant j on all rows."""
    d, n = work.phi.shape
    k, w = theta[d], theta[d + 3]
    for r in range(n):
        scale = w * work.front[r]
        if j < d:
            by_shift = law.p[j] * work.value[r] + law.q[j] * k * work.inside[r] * work.slope[r]
            out[r] = root[r] * scale * by_shift / work.phi[j, r]
        elif j == d:
            out[r] = root[r] * scale * work.inside[r] * work.slope[r]
        elif j == d + 1:
            out[r] = root[r] * scale * work.slope[r]
        elif j == d + 2:
            out[r] = root[r] * scale * work.outer[r]
        elif j == d + 3:
            out[r] = root[r] * work.front[r] * work.value[r]
        else:
            out[r] = root[r]


@loose
def _settle(theta: Row, y: Row, root: Row, work: LawWork, offset: bool) -> None:
    """Set w and, if there is one, the offset a, which are linear, to their best values."""
    d, n = work.phi.shape
    ss = s = sy = t = total = 0.0
    for r in range(n):
        weight = root[r] * root[r]
        value = work.front[r] * work.value[r]
        ss += weight * value * value
        s += weight * value
        sy += weight * value * y[r]
        t += weight * y[r]
        total += weight
    if not offset:
        theta[d + 3] = sy / ss if ss > 0.0 else 0.0
        return
    det = total * ss - s * s
    if det > 1e-12 * total * ss:
        theta[d + 3] = (total * sy - s * t) / det
        theta[d + 4] = (t - theta[d + 3] * s) / total


@loose
def _attempt(
    law: LawCode, theta: Row, free: Indices, XT: Matrix, y: Row, root: Row, work: LawWork,
    A: Matrix, g: Row,
) -> float:  # fmt: skip
    """Weighted sum of squared residuals and the normal equations."""
    d, n = XT.shape
    _forward(law, theta, XT, work)
    for r in range(n):
        predicted = theta[d + 3] * work.front[r] * work.value[r] + theta[d + 4]
        work.residual[r] = root[r] * (y[r] - predicted)
    error = 0.0  # in a loop of its own, as in `ieql.equations.kernels`
    for r in range(n):
        error += work.residual[r] * work.residual[r]
    if not np.isfinite(error):
        return np.inf
    for a in range(len(free)):
        _row(law, theta, free[a], root, work, work.J[a])
    A[:] = 0.0
    g[:] = 0.0
    gram(work.J, work.residual, n, A, g)
    check = 0.0
    for a in range(len(g)):
        check += 0.0 * g[a]
        for b in range(a + 1):
            check += 0.0 * A[a, b]
    return error if check == 0.0 else np.inf


@exact
def _is_permitted(law: LawCode, theta: Row, low: Row, high: Row) -> bool:
    """Whether no shift is too large, and factors below the line positive from the lowest input."""
    for i in range(len(low)):
        if abs(theta[i]) > high[i]:
            return False
        if (law.p[i] < 0 or law.q[i] < 0) and not theta[i] + low[i] > 0.0:
            return False
    return True


_F1 = types.Array(types.float64, 1, "C", readonly=True)
_F2 = types.Array(types.float64, 2, "C", readonly=True)
_I1 = types.Array(types.int64, 1, "C", readonly=True)


@entry(
    _I1,
    _I1,
    types.int64,
    types.int64,
    types.boolean,
    _F1,
    _I1,
    _F2,
    _F1,
    _F1,
    _F1,
    _F1,
    types.int64,
)
def fit_law(
    p: Indices, q: Indices, op: int, call: int, reciprocal: bool, start: Row, free: Indices,
    XT: Matrix, y: Row, root: Row, low: Row, high: Row, max_steps: int,
) -> tuple[Row, float]:  # fmt: skip
    """Constants after some Levenberg-Marquardt steps, and the mean squared error.

    `free` are the places of the constants that may change, `low` the lowest values of the inputs
    where the law must be defined, `high` the largest shifts, `root` the roots of the weights.
    """
    law = LawCode(p, q, op, call, reciprocal)
    (d, n), m = XT.shape, len(free)
    work = LawWork(
        np.empty((d, n)), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n),
        np.empty(n), np.empty(n), np.empty((m, n)),
    )  # fmt: skip
    A, g, A_new, g_new = np.empty((m, m)), np.empty(m), np.empty((m, m)), np.empty(m)
    L, step = np.empty((m, m + 1)), np.empty(m)
    theta, trial = start.copy(), start.copy()
    total = scale = 0.0
    for r in range(n):
        total += root[r] * root[r]
        scale += (root[r] * y[r]) ** 2
    if not _is_permitted(law, theta, low, high):
        return theta, np.inf
    _forward(law, theta, XT, work)
    _settle(theta, y, root, work, free[m - 1] == d + 4)
    trial[:] = theta
    error = _attempt(law, theta, free, XT, y, root, work, A, g)
    damping = 1e-3
    for number in range(max_steps):
        if not error > EXACT * scale or error == np.inf or damping > MAX_DAMPING:
            break
        new = np.inf
        if solve(A, g, damping, L, step):
            for a in range(m):
                trial[free[a]] = theta[free[a]] + step[a]
            if _is_permitted(law, trial, low, high):
                new = _attempt(law, trial, free, XT, y, root, work, A_new, g_new)
        if new < error:
            gain = 1.0 - new / error
            error = new
            theta, trial = trial, theta
            A, A_new = A_new, A
            g, g_new = g_new, g
            damping = max(damping / 5.0, 1e-10)
            if gain < ENOUGH and number > SURE:
                break
        else:
            damping *= 6.0
    return theta, error / total
