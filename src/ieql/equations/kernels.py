"""Compiled kernels: an interpreter for flat programs that runs over blocks of rows.

One set of kernels serves every equation; nothing is compiled per equation. A program is some arrays
(`Code`; see `ieql.equations.program.Program`), its constants stand in one vector theta. The arity
of a unit, its singular arguments and the edges of their domains come with the program; the code of
a unit says what is computed, and one that no unit has is an error. A user-defined unit is called
where its own compiled functions stand (`ieql.equations.user_units`).

Rows pass in blocks that stay in the cache: first all arguments z, values y and slopes ∂y/∂z, then
backwards the sensitivities of the output, which times the sources are the rows of the Jacobian.
Sine, cosine, exponential and logarithm are polynomials that the compiler turns into vector
instructions, several times faster than a call of the C library for every number; outside the range
where they are exact to the last bits the C library is called.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from ieql.equations.compiled import entry, exact, loose
from ieql.equations.user_units import call_rows
from ieql.units import (
    ABS,
    ATAN,
    COS,
    CUSTOM_CODE,
    DIV,
    EXP,
    EXP_LIMIT,
    GAUSS,
    IDENTITY,
    LOG,
    LOGISTIC,
    MAX,
    MIN,
    MUL,
    POWER,
    SIGNED_POWER,
    SIN,
    SQRT,
    SQUARE,
    STEP,
    TANH,
)

_IDENTITY, _COS, _SIN, _EXP = IDENTITY.code, COS.code, SIN.code, EXP.code
_LOG, _SQRT, _SQUARE, _MUL, _DIV = LOG.code, SQRT.code, SQUARE.code, MUL.code, DIV.code
_TANH, _ATAN, _LOGISTIC, _GAUSS = TANH.code, ATAN.code, LOGISTIC.code, GAUSS.code
_ABS, _MIN, _MAX, _STEP = ABS.code, MIN.code, MAX.code, STEP.code
_POWER, _SIGNED_POWER = POWER.code, SIGNED_POWER.code

BLOCK = 256
"""Rows at a time: the blocks of a usual equation fit into the second-level cache."""
MAX_DAMPING = 1e10
MIN_DAMPING = 1e-12
ROUNDING = 1e-28
"""Squared residuals below this share of the squared targets are nothing but rounding."""

Row = NDArray[np.floating]
Matrix = NDArray[np.floating]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Arrays from Python may be read-only, as those that joblib hands to its workers are.
_F1 = types.Array(types.float64, 1, "C", readonly=True)
_F2 = types.Array(types.float64, 2, "C", readonly=True)
_I1 = types.Array(types.int64, 1, "C", readonly=True)
_PROGRAM = (_I1, _I1, _I1, _I1, _I1, _F2, _F1, _F2)


class Code(NamedTuple):
    """The arrays of a program; the bias of sum s is theta[ptr[s] + s], its weights follow."""

    op: Indices
    calls: Indices
    first: Indices
    ptr: Indices
    src: Indices
    edges: Matrix
    relax: float


class FitPlan(NamedTuple):
    """What is to be fitted: place of each constant in the Jacobian or -1, nodes that matter."""

    position: Indices
    live: Flags
    guarded: Indices


class Work(NamedTuple):
    """Room for one block: a row per source, sum, slope, node and free constant."""

    Y: Matrix
    Z: Matrix
    S: Matrix
    D: Matrix
    J: Matrix
    residual: Row
    seed: Row


# --- elementary functions ----------------------------------------------------------------------


@exact
def _sincos(z: Row, sine: Row, cosine: Row, m: int) -> None:
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


@exact
def exp_rows(z: Row, y: Row, m: int) -> None:
    """Exponentials of the first m numbers of a row."""
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


@exact
def log_rows(z: Row, y: Row, m: int) -> None:
    """Logarithms of the first m numbers of a row; NaN where there is none."""
    for i in range(m):
        bits = np.float64(z[i]).view(np.int64)
        # z = 2**k (1 + f) with 1 + f between 1/sqrt(2) and sqrt(2); adding k to the bits of
        # 1.5 * 2**52 makes it a float without a conversion, which vectors lack.
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


@exact
def _call_unit(call: int, a: Row, b: Row, y: Row, da: Row, db: Row, m: int) -> None:
    """Value and slopes of a user-defined unit, whose compiled functions take blocks of doubles."""
    rows = np.empty((5, BLOCK))
    for start in range(0, m, BLOCK):
        count = min(BLOCK, m - start)
        for i in range(count):
            rows[0, i] = a[start + i]
            rows[1, i] = b[start + i]
        call_rows(call, rows[0], rows[1], rows[2], rows[3], rows[4], count)
        for i in range(count):
            y[start + i] = rows[2, i]
            da[start + i] = rows[3, i]
            db[start + i] = rows[4, i]


@exact
def _apply_curve(op: int, a: Row, y: Row, da: Row, m: int) -> None:
    """Value and slope of a saturation or a peak."""
    if op == _TANH:
        for i in range(m):
            da[i] = -2.0 * abs(a[i])
        exp_rows(da, y, m)
        for i in range(m):
            da[i] = 4.0 * y[i] / ((1.0 + y[i]) * (1.0 + y[i]))
            y[i] = math.tanh(a[i])
    elif op == _ATAN:
        for i in range(m):
            y[i] = math.atan(a[i])
            da[i] = 1.0 / (1.0 + a[i] * a[i])
    elif op == _LOGISTIC:
        for i in range(m):
            da[i] = -a[i]
        exp_rows(da, y, m)
        for i in range(m):
            y[i] = 1.0 / (1.0 + y[i])
            # The slope is even: so it has all its digits on either side.
            decay = math.exp(-abs(a[i]))
            da[i] = decay / ((1.0 + decay) * (1.0 + decay))
    else:  # a peak
        for i in range(m):
            da[i] = -(a[i] * a[i])
        exp_rows(da, y, m)
        for i in range(m):
            da[i] = -2.0 * a[i] * y[i]


@exact
def _apply_power(op: int, a: Row, b: Row, y: Row, da: Row, db: Row, m: int) -> None:
    """Value and slopes of a power whose exponent is the second argument."""
    for i in range(m):
        z, p = a[i], b[i]
        # NaN to the power of zero would be one, and so would be one to the power of NaN.
        if not ((z > 0.0 and p == p) if op == _POWER else p > 0.0):
            y[i] = da[i] = db[i] = np.nan
            continue
        size = math.pow(abs(z), p)
        y[i] = math.copysign(size, z)
        da[i] = p * math.pow(abs(z), p - 1.0) if z != 0.0 or not p < 1.0 else 0.0
        db[i] = y[i] * math.log(abs(z)) if size != 0.0 and z != 0.0 else y[i]


@exact
def _apply_machine_unit(op: int, a: Row, b: Row, y: Row, da: Row, db: Row, m: int) -> None:
    """Value and slopes of the units that only some priors have."""
    if op in (_TANH, _ATAN, _LOGISTIC, _GAUSS):
        _apply_curve(op, a, y, da, m)
    elif op in (_POWER, _SIGNED_POWER):
        _apply_power(op, a, b, y, da, db, m)
    elif op == _ABS:
        for i in range(m):
            y[i] = abs(a[i])
            da[i] = np.sign(a[i])
    elif op == _STEP:
        for i in range(m):
            y[i] = 1.0 if a[i] >= 0.0 else 0.0 if a[i] < 0.0 else np.nan
            da[i] = 0.0 if a[i] == a[i] else np.nan
    elif op in (_MIN, _MAX):
        sign = 1.0 if op == _MIN else -1.0
        for i in range(m):
            y[i] = min(a[i], b[i]) if op == _MIN else max(a[i], b[i])
            if a[i] != a[i] or b[i] != b[i]:
                y[i] = np.nan
            above = sign * (b[i] - a[i]) if a[i] != b[i] else 0.0
            da[i] = 1.0 if above > 0.0 else 0.5 if a[i] == b[i] else 0.0
            db[i] = 1.0 if above < 0.0 else 0.5 if a[i] == b[i] else 0.0
    else:
        raise ValueError("A unit of the program has no kernel.")


@exact
def apply_unit(op: int, call: int, a: Row, b: Row, y: Row, da: Row, db: Row, m: int) -> None:
    """Value and slopes of one unit, as in the table of units; `a` is `b` for one argument.

    `call` is the address of a user-defined unit, 0 for one of the table.
    """
    if op == _IDENTITY:
        for i in range(m):
            y[i] = a[i]
            da[i] = 1.0
    elif op == _COS:
        _sincos(a, da, y, m)
        for i in range(m):
            da[i] = -da[i]
    elif op == _SIN:
        _sincos(a, y, da, m)
    elif op == _EXP:
        exp_rows(a, y, m)
        for i in range(m):
            da[i] = y[i]
    elif op == _LOG:
        log_rows(a, y, m)
        for i in range(m):
            da[i] = 1.0 / a[i] if a[i] > 0.0 else np.nan
    elif op == _SQRT:
        for i in range(m):
            y[i] = np.sqrt(a[i])
            da[i] = 0.5 / y[i]
    elif op == _SQUARE:
        for i in range(m):
            y[i] = a[i] * a[i]
            da[i] = 2.0 * a[i]
    elif op == _MUL:
        for i in range(m):
            y[i] = a[i] * b[i]
            da[i] = b[i]
            db[i] = a[i]
    elif op == _DIV:
        for i in range(m):
            below = b[i] if b[i] != 0.0 else np.nan
            y[i] = a[i] / below
            da[i] = 1.0 / below
            db[i] = -y[i] / below
    elif op == CUSTOM_CODE and call != 0:
        _call_unit(call, a, b, y, da, db, m)
    else:
        _apply_machine_unit(op, a, b, y, da, db, m)


@exact
def _apply_relaxed(code: Code, k: int, a: Row, b: Row, y: Row, da: Row, db: Row, m: int) -> None:
    """Units with straight lines closer than `relax` to their singularity, or where exp is large.

    See `ieql.units.relaxed_value`, which says why.
    """
    op, relax = code.op[k], code.relax
    if op == _EXP:
        exp_rows(a, y, m)
        edge = math.exp(EXP_LIMIT)
        for i in range(m):
            da[i] = edge if a[i] > EXP_LIMIT else y[i]
            if a[i] > EXP_LIMIT:
                y[i] = edge + edge * (a[i] - EXP_LIMIT)
    elif op == _LOG:
        log_rows(a, y, m)
        edge = math.log(relax)
        for i in range(m):
            if a[i] < relax:
                y[i] = edge + (a[i] - relax) / relax
            da[i] = 1.0 / max(a[i], relax)
    elif op == _SQRT:
        for i in range(m):
            root = np.sqrt(max(a[i], relax))
            da[i] = 0.5 / root
            y[i] = root + (da[i] * (a[i] - relax) if a[i] < relax else 0.0)
    elif op == _DIV:
        for i in range(m):
            slope = 1.0 / max(b[i], relax)
            da[i] = slope * (2.0 - b[i] * slope) if b[i] < relax else slope
            y[i] = a[i] * da[i]
            db[i] = -a[i] * slope * slope
    elif op == _STEP:
        for i in range(m):
            decay = math.exp(-abs(a[i]) / relax)
            y[i] = 1.0 / (1.0 + decay) if a[i] >= 0.0 else decay / (1.0 + decay)
            da[i] = decay / ((1.0 + decay) * (1.0 + decay)) / relax
    elif op in (CUSTOM_CODE, _POWER, _SIGNED_POWER):
        s, t = code.first[k], code.first[k + 1] - 1
        inside = np.empty((2, m))
        _clip(a, code.edges[0, s] + relax, code.edges[1, s] - relax, inside[0], m)
        _clip(b, code.edges[0, t] + relax, code.edges[1, t] - relax, inside[1], m)
        apply_unit(op, code.calls[k], inside[0], inside[1], y, da, db, m)
        for i in range(m):
            if a[i] != inside[0, i]:
                y[i] += da[i] * (a[i] - inside[0, i])
            if t > s and b[i] != inside[1, i]:
                y[i] += db[i] * (b[i] - inside[1, i])
    else:
        apply_unit(op, 0, a, b, y, da, db, m)


@exact
def _clip(z: Row, low: float, high: float, clipped: Row, m: int) -> None:
    for i in range(m):
        clipped[i] = low if z[i] < low else high if z[i] > high else z[i]


# --- one block of rows -------------------------------------------------------------------------


@exact
def _workspace(code: Code, d: int, p: int) -> Work:
    n_nodes, n_sums = len(code.op), len(code.ptr) - 1
    return Work(
        np.empty((d + n_nodes, BLOCK)),
        np.empty((n_sums, BLOCK)),
        np.empty((n_sums, BLOCK)),
        np.empty((n_nodes, BLOCK)),
        np.zeros((p, BLOCK)),  # rows of constants without influence are never written
        np.empty(BLOCK),
        np.ones(BLOCK),
    )


@exact
def _affine(code: Code, theta: Row, s: int, Y: Matrix, z: Row, m: int) -> None:
    """The affine map in front of a unit, z = bias + Σ weight · source."""
    first, last = code.ptr[s], code.ptr[s + 1]
    bias = theta[first + s]
    if first == last:
        for i in range(m):
            z[i] = bias
        return
    weight, y = theta[s + first + 1], Y[code.src[first]]
    for i in range(m):
        z[i] = bias + weight * y[i]
    for j in range(first + 1, last):
        weight, y = theta[s + j + 1], Y[code.src[j]]
        for i in range(m):
            z[i] += weight * y[i]


@exact
def _forward(code: Code, theta: Row, XT: Matrix, start: int, m: int, work: Work) -> None:
    """Arguments Z, values Y and slopes S on the m rows from `start` on."""
    Y, Z, S = work.Y, work.Z, work.S
    d = XT.shape[0]
    for j in range(d):
        for i in range(m):
            Y[j, i] = XT[j, start + i]
    for k in range(len(code.op)):
        s, t = code.first[k], code.first[k + 1] - 1
        for q in range(s, t + 1):
            _affine(code, theta, q, Y, Z[q], m)
        if code.relax > 0.0:
            _apply_relaxed(code, k, Z[s], Z[t], Y[d + k], S[s], S[t], m)
        else:
            apply_unit(code.op[k], code.calls[k], Z[s], Z[t], Y[d + k], S[s], S[t], m)
    s = len(code.ptr) - 2
    _affine(code, theta, s, Y, Z[s], m)


@exact
def _credit(
    code: Code, theta: Row, s: int, sensitivity: Row, task: FitPlan, work: Work, m: int
) -> None:
    """Hand the sensitivity of one sum to its free constants and to the nodes it is made of."""
    Y, D, J = work.Y, work.D, work.J
    d = len(Y) - len(D)
    at = task.position[code.ptr[s] + s]
    if at >= 0:
        for i in range(m):
            J[at, i] = sensitivity[i]
    for j in range(code.ptr[s], code.ptr[s + 1]):
        at = task.position[s + j + 1]
        if at >= 0:
            for i in range(m):
                J[at, i] = sensitivity[i] * Y[code.src[j], i]
        k = code.src[j] - d
        if k >= 0 and task.live[k]:
            weight = theta[s + j + 1]
            for i in range(m):
                D[k, i] += weight * sensitivity[i]


@exact
def _backward(code: Code, theta: Row, task: FitPlan, work: Work, m: int) -> None:
    """Jacobian rows from values and slopes; `work.seed` is the sensitivity of the output."""
    S, D = work.S, work.D
    n_nodes = len(code.op)
    for k in range(n_nodes):
        if task.live[k]:
            for i in range(m):
                D[k, i] = 0.0
    _credit(code, theta, len(code.ptr) - 2, work.seed, task, work, m)
    for k in range(n_nodes - 1, -1, -1):
        if task.live[k]:
            for s in range(code.first[k], code.first[k + 1]):
                for i in range(m):
                    S[s, i] *= D[k, i]
                _credit(code, theta, s, S[s], task, work, m)


@exact
def _mark(code: Code, s: int, d: int, used: Flags) -> None:
    for j in range(code.ptr[s], code.ptr[s + 1]):
        if code.src[j] >= d:
            used[code.src[j] - d] = True


@exact
def _plan(code: Code, d: int, n_theta: int, free: Indices, guarded: Indices) -> FitPlan:
    """Which nodes need a sensitivity: the output depends on them, and they on a free constant."""
    position = np.empty(n_theta, np.int64)
    position[:] = -1
    for j in range(len(free)):
        if not 0 <= free[j] < n_theta:
            raise IndexError("A free constant is not one of the program's constants.")
        position[free[j]] = j
    n_nodes = len(code.op)
    live, used = np.zeros(n_nodes, np.bool_), np.zeros(n_nodes, np.bool_)
    for k in range(n_nodes):
        for s in range(code.first[k], code.first[k + 1]):
            live[k] |= position[code.ptr[s] + s] >= 0
            for j in range(code.ptr[s], code.ptr[s + 1]):
                i = code.src[j] - d
                live[k] |= position[s + j + 1] >= 0 or (i >= 0 and live[i])
    _mark(code, len(code.ptr) - 2, d, used)
    for k in range(n_nodes - 1, -1, -1):
        if used[k]:
            for s in range(code.first[k], code.first[k + 1]):
                _mark(code, s, d, used)
        else:
            live[k] = False
    return FitPlan(position, live, guarded)


# --- the error and its derivatives on all rows -------------------------------------------------


@loose
def _residuals(y: Row, root: Row, start: int, m: int, work: Work) -> float:
    """Weighted residuals of a block and their sum of squares; `root` is the root of the weights."""
    out, residual, seed = work.Z[-1], work.residual, work.seed
    for i in range(m):
        seed[i] = root[start + i]
        residual[i] = seed[i] * (y[start + i] - out[i])
    # In a loop of its own: beside stores the compiler makes two versions, for arrays that may
    # overlap and for others, which round differently; which one runs depends on addresses.
    error = 0.0
    for i in range(m):
        error += residual[i] * residual[i]
    return error


@loose
def gram(J: Matrix, r: Row, m: int, A: Matrix, g: Row) -> None:
    """Add J Jᵀ to the lower triangle of A and J r to g, two by two rows at a time."""
    p = len(g)
    for a in range(0, p, 2):
        c = min(a + 1, p - 1)  # the last row stands alone if their number is odd
        s = t = 0.0
        for i in range(m):
            s += J[a, i] * r[i]
            t += J[c, i] * r[i]
        g[a] += s
        if c > a:
            g[c] += t
        for b in range(0, a + 1, 2):
            e = min(b + 1, p - 1)
            ab = ae = cb = ce = 0.0
            for i in range(m):
                ab += J[a, i] * J[b, i]
                ae += J[a, i] * J[e, i]
                cb += J[c, i] * J[b, i]
                ce += J[c, i] * J[e, i]
            A[a, b] += ab
            if b < a:
                A[a, e] += ae
            if c > a:
                A[c, b] += cb
                A[c, e] += ce


@exact
def _outside(Z: Matrix, guarded: Indices, edges: Matrix, margin: float, m: int, bad: Flags) -> None:
    """Mark the guarded sums that are not inside their domain, by a margin, on some row."""
    for j in range(len(guarded)):
        z, low, high = Z[guarded[j]], edges[0, guarded[j]] + margin, edges[1, guarded[j]] - margin
        count = 0
        for i in range(m):
            count += 0 if z[i] > low else 1
        if high < np.inf:
            for i in range(m):
                count += 0 if z[i] < high else 1
        if count:
            bad[j] = True


@exact
def _sweep(
    code: Code, theta: Row, XT: Matrix, y: Row, root: Row, limit: float,
    task: FitPlan, work: Work, A: Matrix, g: Row, bad: Flags,
) -> float:  # fmt: skip
    """Weighted squared error; normal equations into A and g, arguments out of domain into `bad`.

    Gives up as soon as the error exceeds `limit`; an error that is not finite is infinite.
    """
    A[:] = 0.0
    g[:] = 0.0
    bad[:] = False
    error: float = 0.0
    for start in range(0, XT.shape[1], BLOCK):
        m = min(BLOCK, XT.shape[1] - start)
        _forward(code, theta, XT, start, m, work)
        error += _residuals(y, root, start, m, work)
        if not error < np.inf:
            return np.inf
        if error > limit:
            return error
        _outside(work.Z, task.guarded, code.edges, 0.0, m, bad)
        if len(g):
            _backward(code, theta, task, work, m)
            gram(work.J, work.residual, m, A, g)
    for a in range(len(g)):
        for b in range(a):
            A[b, a] = A[a, b]
    return error


@exact
def _visit(
    code: Code, theta: Row, XT: Matrix, margin: float, task: FitPlan, work: Work, bad: Flags
) -> None:
    """Which guarded sums are not inside, by `margin`, at the check points, into `bad`."""
    bad[:] = False
    for start in range(0, XT.shape[1], BLOCK):
        m = min(BLOCK, XT.shape[1] - start)
        _forward(code, theta, XT, start, m, work)
        _outside(work.Z, task.guarded, code.edges, margin, m, bad)


# --- Levenberg-Marquardt -----------------------------------------------------------------------


@loose
def solve(A: Matrix, g: Row, damping: float, L: Matrix, step: Row) -> bool:
    """Solve (A + damping · diag A) step = g by Cholesky; False where it is not positive definite.

    A is scaled to a unit diagonal first, so that the units of the constants do not matter.
    """
    p = len(g)
    scale = L[:, p]
    for a in range(p):
        # A constant without any influence has a zero row and stays where it is.
        scale[a] = 1.0 / np.sqrt(A[a, a]) if A[a, a] > 0.0 else 1.0
    for a in range(p):
        for b in range(a):
            s = A[a, b] * scale[a] * scale[b]
            for i in range(b):
                s -= L[a, i] * L[b, i]
            L[a, b] = s / L[b, b]
        s = 1.0 + damping
        for i in range(a):
            s -= L[a, i] * L[a, i]
        if not s > 0.0:
            return False
        L[a, a] = np.sqrt(s)
    for a in range(p):
        s = g[a] * scale[a]
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


@exact
def _is_blocked(A: Matrix, g: Row, bad: Flags, watched: Flags) -> bool:
    """Whether a watched argument left its domain or a derivative is not finite."""
    for j in range(bad.shape[1]):
        if (bad[0, j] and watched[0, j]) or (bad[1, j] and watched[1, j]):
            return True
    total = 0.0
    for a in range(len(g)):
        total += 0.0 * g[a]
        for b in range(a + 1):
            total += 0.0 * A[a, b]
    return total != 0.0


@exact
def _attempt(
    code: Code, theta: Row, XT: Matrix, y: Row, root: Row, limit: float, check: Matrix,
    margin: float, task: FitPlan, work: Work, A: Matrix, g: Row, bad: Flags, watched: Flags,
) -> tuple[float, bool]:  # fmt: skip
    """Error and normal equations of these constants, and whether something forbids them."""
    error = _sweep(code, theta, XT, y, root, limit, task, work, A, g, bad[0])
    if not error <= limit or error == np.inf:
        return error, error == np.inf
    if len(task.guarded):
        _visit(code, theta, check, margin, task, work, bad[1])
    return error, _is_blocked(A, g, bad, watched)


_NUMBERS = (types.float64, types.int64, types.float64, types.float64, types.float64)


@exact
def fit_code(
    code: Code, start: Row, XT: Matrix, y: Row, root: Row, free: Indices, guarded: Indices,
    check: Matrix, margin: float, max_steps: int, tol: float, damping: float,
) -> tuple[Row, float, int, bool, Matrix, Row]:  # fmt: skip
    """What `fit` does, for other kernels."""
    d, p = XT.shape[0], len(free)
    task = _plan(code, d, len(start), free, guarded)
    work = _workspace(code, d, p)
    A, g, A_new, g_new = np.empty((p, p)), np.empty(p), np.empty((p, p)), np.empty(p)
    L, step = np.empty((p, p + 1)), np.empty(p)
    theta, trial = start.copy(), start.copy()
    # First row: on the data, second row: at the check points.
    bad, watched = np.zeros((2, len(guarded)), np.bool_), np.zeros((2, len(guarded)), np.bool_)
    error, blocked = _attempt(
        code, theta, XT, y, root, np.inf, check, margin, task, work, A, g, bad, watched
    )
    if blocked:
        return theta, error, 0, False, A, g
    for j in range(len(guarded)):  # an argument out of its domain from the start is not watched
        watched[0, j], watched[1, j] = not bad[0, j], not bad[1, j]
    rounding = 0.0
    for i in range(len(y)):
        rounding += ROUNDING * (root[i] * y[i]) ** 2
    n_steps = n_small = 0
    while p and n_small < 2 and error > rounding:
        if damping > MAX_DAMPING:
            # No step along the gradient, however small, lowers the error: a minimum, unless it was
            # the domain that refused the steps.
            return theta, error, n_steps, not blocked, A, g
        if n_steps >= max_steps:
            return theta, error, n_steps, False, A, g
        n_steps += 1
        new, blocked = np.inf, False
        if solve(A, g, damping, L, step):
            for j in range(p):
                trial[free[j]] = theta[free[j]] + step[j]
            limit = error * (1.0 + max(tol, 0.0))
            new, blocked = _attempt(
                code, trial, XT, y, root, limit, check, margin, task, work, A_new, g_new, bad,
                watched,
            )  # fmt: skip
        n_small = n_small + 1 if not blocked and abs(new - error) <= tol * error else 0
        if new < error and not blocked:
            error = new
            theta, trial = trial, theta
            A, A_new = A_new, A
            g, g_new = g_new, g
            damping = max(damping / 5.0, MIN_DAMPING)
        else:
            damping *= 4.0
    return theta, error, n_steps, True, A, g


@entry(*_PROGRAM, _F1, _F1, _I1, _I1, _F2, *_NUMBERS)
def fit(
    op: Indices, calls: Indices, first: Indices, ptr: Indices, src: Indices, edges: Matrix,
    start: Row, XT: Matrix, y: Row, root: Row, free: Indices, guarded: Indices, check: Matrix,
    margin: float, max_steps: int, tol: float, damping: float, relax: float,
) -> tuple[Row, float, int, bool, Matrix, Row]:  # fmt: skip
    """Constants, error, steps, whether converged, and the normal equations; see `Program.fit`."""
    code = Code(op, calls, first, ptr, src, edges, relax)
    return fit_code(code, start, XT, y, root, free, guarded, check, margin, max_steps, tol, damping)


# --- values and derivatives --------------------------------------------------------------------


@exact
def _widen(z: Row, m: int, s: int, lows: Row, highs: Row) -> None:
    """Stretch the range of sum s by a block of its values; once NaN, it stays NaN."""
    for i in range(m):
        if z[i] < lows[s] or z[i] != z[i]:
            lows[s] = z[i]
        if z[i] > highs[s] or z[i] != z[i]:
            highs[s] = z[i]


@entry(*_PROGRAM, _I1, types.boolean)
def run(
    op: Indices, calls: Indices, first: Indices, ptr: Indices, src: Indices, edges: Matrix,
    constants: Row, XT: Matrix, free: Indices, with_ranges: bool,
) -> tuple[Row, Matrix, Row, Row]:  # fmt: skip
    """Values; derivatives by the free constants as rows; if asked for, the range of each sum."""
    code, theta = Code(op, calls, first, ptr, src, edges, 0.0), constants.copy()
    d, n, p, n_sums = XT.shape[0], XT.shape[1], len(free), len(ptr) - 1
    task = _plan(code, d, len(theta), free, free)
    work = _workspace(code, d, p)
    values, jacobian = np.empty(n), np.empty((p, n))
    lows, highs = np.empty(n_sums), np.empty(n_sums)
    lows[:] = np.inf
    highs[:] = -np.inf
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        _forward(code, theta, XT, start, m, work)
        for i in range(m):
            values[start + i] = work.Z[n_sums - 1, i]
        if with_ranges:
            for s in range(n_sums):
                _widen(work.Z[s], m, s, lows, highs)
        if p:
            _backward(code, theta, task, work, m)
            for j in range(p):
                for i in range(m):
                    jacobian[j, start + i] = work.J[j, i]
    return values, jacobian, lows, highs


# --- many units at once ------------------------------------------------------------------------

_WRITABLE = types.Array(types.float64, 2, "C")
_F3 = types.Array(types.float64, 3, "C", readonly=True)
_I3 = types.Array(types.int64, 3, "C", readonly=True)


@entry(_I1, _I1, _I1, _F3, _I3, _F3, _WRITABLE, _F2, _WRITABLE, types.int64)
def apply_units(
    op: Indices, calls: Indices, arity: Indices, edges: NDArray[np.float64],
    sources: NDArray[np.int64], weights: NDArray[np.float64], biases: Matrix, margins: Matrix,
    table: Matrix, start: int,
) -> None:  # fmt: skip
    """Rows of a table, from `start` on: units of earlier rows, two sources for each argument.

    ``edges[k, a]`` are the ends of the domain of argument a. An argument that is not inside gets
    another bias, which is written back: it ends `margins` times its span inside.
    """
    n = table.shape[1]
    z, slopes = np.empty((2, n)), np.empty((2, n))
    for k in range(len(op)):
        last = arity[k] - 1
        for a in range(last + 1):
            v, w = weights[k, a, 0], weights[k, a, 1]
            x, y = table[sources[k, a, 0]], table[sources[k, a, 1]]
            bias = biases[k, a]
            least, most = np.inf, -np.inf
            for i in range(n):
                z[a, i] = bias + v * x[i] + w * y[i]
                least, most = min(least, z[a, i]), max(most, z[a, i])
            low, high = edges[k, a, 0], edges[k, a, 1]
            shift = 0.0
            if low > -np.inf and not least > low:
                shift = margins[k, a] * (most - least) - (least - low)
            elif high < np.inf and not most < high:
                shift = (high - most) - margins[k, a] * (most - least)
            if shift != 0.0:
                biases[k, a] += shift
                for i in range(n):
                    z[a, i] += shift
        apply_unit(op[k], calls[k], z[0], z[last], table[start + k], slopes[0], slopes[last], n)
