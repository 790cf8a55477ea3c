"""Compiled kernels: an interpreter for flat programs that runs over blocks of rows.

One set of kernels serves every equation; nothing is compiled per equation. A program is four arrays
(see `ieql.equations.program.Program`): the opcode of each node, the first sum of each node, and for
all sums a list of sources. Constants stand in one vector theta, the bias of sum ``s`` at
``ptr[s] + s`` and the weights of its sources behind it.

Rows pass in blocks that stay in the cache: first all arguments ``z``, values ``y`` and slopes
``∂y/∂z``, then backwards the sensitivities of the output, which times the sources are the rows of
the Jacobian. Sine, cosine, exponential and logarithm are polynomials that the compiler turns into
vector instructions, several times faster than a call of the C library for every number; outside
the range where they are exact to the last bits the C library is called.

The whole file belongs together: numba's cache notices a change in this file, not in another one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, types

BLOCK = 256
MAX_DAMPING = 1e10
MIN_DAMPING = 1e-12
ROUNDING = 1e-28
"""Squared residuals below this share of the squared targets are nothing but rounding."""

# NaN and infinity keep their meaning everywhere, so "nnan" and "ninf" are never among the flags.
_inner = dict(error_model="numpy", nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
_exact: Any = njit(fastmath={"contract"}, **_inner)
_loose: Any = njit(fastmath={"contract", "reassoc"}, **_inner)

_F1 = types.Array(types.float64, 1, "C", readonly=True)
_F2 = types.Array(types.float64, 2, "C", readonly=True)
_I1 = types.Array(types.int64, 1, "C", readonly=True)
_PROGRAM = (_I1, _I1, _I1, _I1, _F1, _F2)


def _entry(*arguments: Any) -> Any:
    """A kernel that is called from Python: compiled for these types alone, once."""
    return njit(
        [tuple(arguments)],
        cache=True,
        nogil=True,
        error_model="numpy",
        fastmath={"contract"},
    )


# --- elementary functions ----------------------------------------------------------------------


@_exact
def _sincos(z, sine, cosine, m):
    for i in range(m):
        x = z[i]
        k = np.floor(x * 0.6366197723675814 + 0.5)
        # π/2 in three parts: the first two have 33 bits, so that their products with k are exact.
        r = x - k * 1.57079632673412561417e00
        r = (r - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21
        u = r * r
        s = 1.58969099521155010221e-10
        s = s * u - 2.50507602534068634195e-08
        s = s * u + 2.75573137070700676789e-06
        s = s * u - 1.98412698298579493134e-04
        s = s * u + 8.33333333332248946124e-03
        s = s * u - 1.66666666666666324348e-01
        s = s * u * r + r
        c = -1.13596475577881948265e-11
        c = c * u + 2.08757232129817482790e-09
        c = c * u - 2.75573143513906633035e-07
        c = c * u + 2.48015872894767294178e-05
        c = c * u - 1.38888888888741095749e-03
        c = c * u + 4.16666666666666019037e-02
        c = c * u * u - 0.5 * u + 1.0
        quadrant = k - 4.0 * np.floor(0.25 * k)
        odd = quadrant == 1.0 or quadrant == 3.0
        a = c if odd else s
        b = s if odd else c
        sine[i] = -a if quadrant >= 2.0 else a
        cosine[i] = -b if quadrant == 1.0 or quadrant == 2.0 else b
    for i in range(m):
        if not abs(z[i]) < 1e5:
            sine[i] = math.sin(z[i])
            cosine[i] = math.cos(z[i])


@_exact
def _exp(z, y, m):
    for i in range(m):
        x = z[i]
        k = np.floor(x * 1.4426950408889634 + 0.5)
        r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r * r + r + 1.0
        # 2**k from its bits; via 32 bits, because only these are converted in vectors.
        y[i] = p * np.int64((np.int64(np.int32(k)) + 1023) << 52).view(np.float64)
    for i in range(m):
        if not abs(z[i]) < 700.0:
            y[i] = math.exp(z[i])


@_exact
def _log(z, y, m):
    for i in range(m):
        bits = np.float64(z[i]).view(np.int64)
        # z = 2**k * f with f between 1/sqrt(2) and sqrt(2); the whole number k is read from the
        # bits of 2**52 + k.
        shifted = bits - 0x3FE6A09E667F3BCD
        k = np.int64((shifted >> 52) + 0x4338000000000000).view(np.float64) - 6755399441055744.0
        f = np.int64(bits - (shifted >> 52 << 52)).view(np.float64) - 1.0
        s = f / (2.0 + f)
        u = s * s
        p = 1.479819860511658591e-01
        p = p * u + 1.531383769920937332e-01
        p = p * u + 1.818357216161805012e-01
        p = p * u + 2.222219843214978396e-01
        p = p * u + 2.857142874366239149e-01
        p = p * u + 3.999999999940941908e-01
        p = p * u + 6.666666666666735130e-01
        p = p * u
        half = 0.5 * f * f
        tail = s * (half + p) + k * 1.90821492927058770002e-10
        y[i] = k * 6.93147180369123816490e-01 - ((half - tail) - f)
    for i in range(m):
        if not (1e-300 < z[i] < 1e300):
            y[i] = math.log(z[i]) if z[i] > 0.0 else np.nan


@_exact
def _apply(op, a, b, y, da, db, m):
    """Value and slopes of one unit, as in the table of units; `a` is `b` for one argument."""
    if op == 0:  # identity
        for i in range(m):
            y[i] = a[i]
            da[i] = 1.0
    elif op == 1:  # cos
        _sincos(a, da, y, m)
        for i in range(m):
            da[i] = -da[i]
    elif op == 2:  # sin
        _sincos(a, y, da, m)
    elif op == 3:  # exp
        _exp(a, y, m)
        for i in range(m):
            da[i] = y[i]
    elif op == 4:  # log
        _log(a, y, m)
        for i in range(m):
            da[i] = 1.0 / a[i] if a[i] > 0.0 else np.nan
    elif op == 5:  # sqrt
        for i in range(m):
            y[i] = np.sqrt(a[i])
            da[i] = 0.5 / y[i]
    elif op == 6:  # square
        for i in range(m):
            y[i] = a[i] * a[i]
            da[i] = 2.0 * a[i]
    elif op == 7:  # mul
        for i in range(m):
            y[i] = a[i] * b[i]
            da[i] = b[i]
            db[i] = a[i]
    else:  # div
        for i in range(m):
            below = b[i] if b[i] != 0.0 else np.nan
            y[i] = a[i] / below
            da[i] = 1.0 / below
            db[i] = -a[i] / (below * below)


# --- one block of rows -------------------------------------------------------------------------


@_exact
def _affine(ptr, src, theta, s, Y, z, m):
    """z = bias + Σ weight · source, the affine map in front of a unit."""
    at = ptr[s] + s
    bias = theta[at]
    first, last = ptr[s], ptr[s + 1]
    if first == last:
        for i in range(m):
            z[i] = bias
        return
    weight = theta[at + 1]
    y = Y[src[first]]
    for i in range(m):
        z[i] = bias + weight * y[i]
    for j in range(first + 1, last):
        weight = theta[s + j + 1]
        y = Y[src[j]]
        for i in range(m):
            z[i] += weight * y[i]


@_exact
def _forward(op, first, ptr, src, theta, XT, start, m, Y, Z, S):
    """Arguments Z, values Y of inputs and nodes, and slopes S of the rows from `start` on."""
    d = XT.shape[0]
    for j in range(d):
        for i in range(m):
            Y[j, i] = XT[j, start + i]
    for k in range(len(op)):
        s, t = first[k], first[k + 1] - 1
        for q in range(s, t + 1):
            _affine(ptr, src, theta, q, Y, Z[q], m)
        _apply(op[k], Z[s], Z[t], Y[d + k], S[s], S[t], m)
    s = len(ptr) - 2
    _affine(ptr, src, theta, s, Y, Z[s], m)


@_exact
def _fill(ptr, src, s, position, sensitivity, Y, J, m):
    """Rows of the Jacobian for the free constants of one sum."""
    at = position[ptr[s] + s]
    if at >= 0:
        for i in range(m):
            J[at, i] = sensitivity[i]
    for j in range(ptr[s], ptr[s + 1]):
        at = position[s + j + 1]
        if at >= 0:
            for i in range(m):
                J[at, i] = sensitivity[i] * Y[src[j], i]


@_exact
def _spread(ptr, src, theta, s, d, live, sensitivity, D, m):
    """Add the sensitivity of one sum to those of the nodes it is made of."""
    for j in range(ptr[s], ptr[s + 1]):
        k = src[j] - d
        if k >= 0 and live[k]:
            weight = theta[s + j + 1]
            for i in range(m):
                D[k, i] += weight * sensitivity[i]


@_exact
def _backward(op, first, ptr, src, theta, position, live, seed, Y, S, D, J, m):
    """Jacobian rows J from values and slopes; `seed` is what the output's own bias would get."""
    d = len(Y) - len(op)
    for k in range(len(op)):
        if live[k]:
            for i in range(m):
                D[k, i] = 0.0
    last = len(ptr) - 2
    _fill(ptr, src, last, position, seed, Y, J, m)
    _spread(ptr, src, theta, last, d, live, seed, D, m)
    for k in range(len(op) - 1, -1, -1):
        if live[k]:
            for s in range(first[k], first[k + 1]):
                for i in range(m):
                    S[s, i] *= D[k, i]
                _fill(ptr, src, s, position, S[s], Y, J, m)
                _spread(ptr, src, theta, s, d, live, S[s], D, m)


@_loose
def _gram(J, p, r, m, A, g):
    """Add the lower triangle of J Jᵀ to A and J r to g, two by two rows at a time."""
    for a in range(0, p - 1, 2):
        s = t = 0.0
        for i in range(m):
            s += J[a, i] * r[i]
            t += J[a + 1, i] * r[i]
        g[a] += s
        g[a + 1] += t
        for b in range(0, a + 1, 2):
            s00 = s01 = s10 = s11 = 0.0
            for i in range(m):
                s00 += J[a, i] * J[b, i]
                s01 += J[a, i] * J[b + 1, i]
                s10 += J[a + 1, i] * J[b, i]
                s11 += J[a + 1, i] * J[b + 1, i]
            A[a, b] += s00
            A[a + 1, b] += s10
            A[a + 1, b + 1] += s11
            if b < a:
                A[a, b + 1] += s01
    if p % 2:
        a = p - 1
        s = 0.0
        for i in range(m):
            s += J[a, i] * r[i]
        g[a] += s
        for b in range(p):
            s = 0.0
            for i in range(m):
                s += J[a, i] * J[b, i]
            A[a, b] += s


@_exact
def _plan(op, first, ptr, src, d, n_theta, free):
    """Place of each constant among the free ones, or -1, and which nodes need a sensitivity.

    A node needs one if the output depends on it and a free constant stands in it or below it.
    """
    position = np.full(n_theta, -1, np.int64)
    for j in range(len(free)):
        if not 0 <= free[j] < n_theta:
            raise IndexError("a free constant is not one of the program's")
        position[free[j]] = j
    n_nodes = len(op)
    live = np.zeros(n_nodes, np.bool_)
    for k in range(n_nodes):
        for s in range(first[k], first[k + 1]):
            if position[ptr[s] + s] >= 0:
                live[k] = True
            for j in range(ptr[s], ptr[s + 1]):
                if position[s + j + 1] >= 0 or (src[j] >= d and live[src[j] - d]):
                    live[k] = True
    used = np.zeros(n_nodes, np.bool_)
    last = len(ptr) - 2
    for j in range(ptr[last], ptr[last + 1]):
        if src[j] >= d:
            used[src[j] - d] = True
    for k in range(n_nodes - 1, -1, -1):
        if used[k]:
            for s in range(first[k], first[k + 1]):
                for j in range(ptr[s], ptr[s + 1]):
                    if src[j] >= d:
                        used[src[j] - d] = True
        live[k] = live[k] and used[k]
    return position, live


# --- Levenberg-Marquardt -----------------------------------------------------------------------


@_exact
def _outside(Z, guarded, floor, m, bad):
    """Mark the guarded sums that are not above `floor` on some row."""
    for j in range(len(guarded)):
        z = Z[guarded[j]]
        count = 0
        for i in range(m):
            count += 0 if z[i] > floor else 1
        if count:
            bad[j] = True


@_exact
def _sweep(
    op, first, ptr, src, theta, XT, y, root, position, live, guarded, limit, work, J, A, g, bad
):
    """Weighted squared error; normal equations into A and g, arguments out of domain into `bad`.

    Gives up, and returns infinity, as soon as the error exceeds `limit`.
    """
    Y, Z, S, D = work
    p = len(g)
    A[:] = 0.0
    g[:] = 0.0
    bad[:] = False
    error = 0.0
    out = Z[len(ptr) - 2]
    residual, seed = np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, XT.shape[1], BLOCK):
        m = min(BLOCK, XT.shape[1] - start)
        _forward(op, first, ptr, src, theta, XT, start, m, Y, Z, S)
        error += _residuals(out, y, root, start, m, residual, seed)
        if not error <= limit:  # also when it is not a number
            return np.inf
        _outside(Z, guarded, 0.0, m, bad)
        if p:
            _backward(op, first, ptr, src, theta, position, live, seed, Y, S, D, J, m)
            _gram(J, p, residual, m, A, g)
    for a in range(p):
        for b in range(a):
            A[b, a] = A[a, b]
    return error


@_loose
def _residuals(out, y, root, start, m, residual, seed):
    """Weighted residuals of a block and their sum of squares; `root` is the root of the weights."""
    error = 0.0
    for i in range(m):
        seed[i] = root[start + i]
        residual[i] = seed[i] * (y[start + i] - out[i])
        error += residual[i] * residual[i]
    return error


@_exact
def _visit(op, first, ptr, src, theta, XT, guarded, margin, work, bad):
    """Which guarded sums are not above `margin` at the check points, into `bad`."""
    Y, Z, S, _ = work
    bad[:] = False
    for start in range(0, XT.shape[1], BLOCK):
        m = min(BLOCK, XT.shape[1] - start)
        _forward(op, first, ptr, src, theta, XT, start, m, Y, Z, S)
        _outside(Z, guarded, margin, m, bad)


@_exact
def _workspace(d, n_nodes, n_sums):
    Y = np.empty((d + n_nodes, BLOCK))
    Z = np.empty((n_sums, BLOCK))
    S = np.empty((n_sums, BLOCK))
    D = np.empty((n_nodes, BLOCK))
    return Y, Z, S, D


@_loose
def _solve(A, g, damping, L, step):
    """Solve (A + damping · diag A) step = g by Cholesky; False where A is not positive.

    A is scaled to a unit diagonal first, so that the units of the constants do not matter.
    """
    p = len(g)
    for a in range(p):
        # A constant without any influence has a zero row: it stays where it is.
        step[a] = 1.0 / np.sqrt(A[a, a]) if A[a, a] > 0.0 else 1.0
    for a in range(p):
        for b in range(a):
            s = A[a, b] * step[a] * step[b]
            for i in range(b):
                s -= L[a, i] * L[b, i]
            L[a, b] = s / L[b, b]
        s = 1.0 + damping
        for i in range(a):
            s -= L[a, i] * L[a, i]
        if not s > 1e-14:
            return False
        L[a, a] = np.sqrt(s)
    scale = L[:, p]
    for a in range(p):
        scale[a] = step[a]
        s = g[a] * step[a]
        for i in range(a):
            s -= L[a, i] * step[i]
        step[a] = s / L[a, a]
    for a in range(p - 1, -1, -1):
        s = step[a]
        for i in range(a + 1, p):
            s -= L[i, a] * step[i]
        step[a] = s / L[a, a]
    for a in range(p):
        step[a] *= scale[a]
    return True


@_exact
def _all_finite(A, g):
    total = 0.0
    for a in range(len(g)):
        total += 0.0 * g[a]
        for b in range(a + 1):
            total += 0.0 * A[a, b]
    return total == 0.0


@_exact
def _any_active(bad, active):
    for j in range(len(bad)):
        if bad[j] and active[j]:
            return True
    return False


@_entry(
    *_PROGRAM, _F1, _F1, _I1, _I1, _F2, types.float64, types.int64, types.float64, types.float64
)
def fit(
    op, first, ptr, src, constants, XT, y, root, free, guarded, check, margin, max_steps, tol, damping
):
    """Constants by Levenberg-Marquardt; see `Program.fit`."""
    theta = constants.copy()
    d, p, n_sums = XT.shape[0], len(free), len(ptr) - 1
    position, live = _plan(op, first, ptr, src, d, len(theta), free)
    work = _workspace(d, len(op), n_sums)
    J = np.zeros((p, BLOCK))
    A, g, A_new, g_new = np.empty((p, p)), np.empty(p), np.empty((p, p)), np.empty(p)
    L, step = np.empty((p, p + 1)), np.empty(p)
    bad = np.empty(len(guarded), np.bool_)
    best, trial = theta, constants.copy()
    error = _sweep(
        op, first, ptr, src, best, XT, y, root, position, live, guarded, np.inf, work, J, A, g, bad
    )
    # An argument that is out of its domain from the start is not watched.
    on_rows = ~bad
    _visit(op, first, ptr, src, best, check, guarded, margin, work, bad)
    at_points = ~bad
    points = check.shape[1] > 0 and at_points.any()
    if not (math.isfinite(error) and _all_finite(A, g)):
        return best, np.inf, 0, False, A, g
    total = 0.0
    for i in range(len(y)):
        total += (root[i] * y[i]) ** 2
    n_steps = n_small = 0
    blocked = False
    while p and n_steps < max_steps and n_small < 2 and error > ROUNDING * total:
        if damping > MAX_DAMPING:
            # No step along the gradient, however small, lowers the error: a minimum, unless it was
            # the domain that refused the steps.
            return best, error, n_steps, not blocked, A, g
        n_steps += 1
        new = np.inf
        blocked = False
        if _solve(A, g, damping, L, step):
            for j in range(p):
                trial[free[j]] = best[free[j]] + step[j]
            new = _sweep(
                op, first, ptr, src, trial, XT, y, root, position, live, guarded,
                error * (1.0 + max(tol, 0.0)), work, J, A_new, g_new, bad,
            )  # fmt: skip
            blocked = _any_active(bad, on_rows) or not _all_finite(A_new, g_new)
            if points and not blocked and new < error:
                _visit(op, first, ptr, src, trial, check, guarded, margin, work, bad)
                blocked = _any_active(bad, at_points)
        n_small = n_small + 1 if not blocked and abs(new - error) <= tol * error else 0
        if new < error and not blocked:
            error = new
            A, A_new = A_new, A
            g, g_new = g_new, g
            best, trial = trial, best
            damping = max(damping / 5.0, MIN_DAMPING)
        else:
            damping *= 4.0
    return best, error, n_steps, n_steps < max_steps or n_small == 2, A, g


# --- values and derivatives --------------------------------------------------------------------


@_exact
def _widen(z, m, s, lows, highs):
    """Stretch the range of sum `s` by a block of its values."""
    for i in range(m):
        # The comparisons are false for NaN on the right: once NaN, it stays NaN.
        if z[i] < lows[s] or z[i] != z[i]:
            lows[s] = z[i]
        if z[i] > highs[s] or z[i] != z[i]:
            highs[s] = z[i]


@_entry(*_PROGRAM, _I1, types.boolean)
def run(op, first, ptr, src, constants, XT, free, ranges):
    """Values; derivatives by the free constants as rows; if asked for, the range of each sum."""
    theta = constants.copy()
    d, n, p, n_sums = XT.shape[0], XT.shape[1], len(free), len(ptr) - 1
    position, live = _plan(op, first, ptr, src, d, len(theta), free)
    values, jacobian = np.empty(n), np.empty((p, n))
    lows, highs = np.full(n_sums, np.inf), np.full(n_sums, -np.inf)
    Y, Z, S, D = _workspace(d, len(op), n_sums)
    J, seed = np.zeros((p, BLOCK)), np.ones(BLOCK)
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        _forward(op, first, ptr, src, theta, XT, start, m, Y, Z, S)
        for i in range(m):
            values[start + i] = Z[n_sums - 1, i]
        if ranges:
            for s in range(n_sums):
                _widen(Z[s], m, s, lows, highs)
        if p:
            _backward(op, first, ptr, src, theta, position, live, seed, Y, S, D, J, m)
            for j in range(p):
                for i in range(m):
                    jacobian[j, start + i] = J[j, i]
    return values, jacobian, lows, highs
