"""Compiled fits of many structures from scratch: drawn starts, ranked, the best of them fitted.

See `ieql.training.fast.structures` for what a structure is, and `ieql.training.fast.batch` for how
many of them are laid out one after the other in flat arrays.

Starts are drawn in the order of evaluation, so that each unit gets an argument of a size that is of
use to it: a cosine some radians, a logarithm a positive number. What the output depends on
linearly, its weights and the offsets of factors and numerators, is not drawn but solved for; the
error that is left ranks the start, and a few of the best are fitted by Levenberg-Marquardt.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from ieql.equations.compiled import entry, exact
from ieql.equations.kernels import (
    BLOCK,
    Code,
    FitPlan,
    Work,
    _affine,
    _backward,
    _plan,
    _workspace,
    apply_unit,
    fit_code,
    gram,
    solve,
)
from ieql.training.fast.styles import (
    ALL_OFFSETS,
    EDGE,
    EXPONENT,
    FACTOR,
    FIXED,
    LEADING,
    LEVEL,
    OUTPUT,
    PLAIN,
    POWER,
    RAISED_TO,
    SHIFTED,
    SQUARED,
    WAVE,
)

__all__ = ["fit_structures"]

Row = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]
Random = NDArray[np.uint64]

DECADES = 20.0
"""A positive sum spans decades if its range is so many times its least value."""
TOLERANCE = 1e-4
"""A fit ends where two steps lower the error by a smaller part."""
CONTINUED, MORE_STEPS = 5, 3
"""One in so many structures, the best of a batch, get so many times the steps once more."""
RIDGE = 1e-9
"""Relative, on the normal equations of a ranking."""


class Shape(NamedTuple):
    """What a structure's sums are for, and which weight of the output a sum is a factor of."""

    style: Indices
    owner: Indices


@exact
def _uniform(state: Random) -> float:
    """A number between 0 and 1 (Steele, Lea and Flood, 2014)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) / 9007199254740992.0


@exact
def _between(state: Random, low: float, high: float) -> float:
    """A number between two positive ones, uniform in its logarithm."""
    return low * math.exp(_uniform(state) * math.log(high / low))


@exact
def _signed(state: Random, low: float, high: float) -> float:
    size = _between(state, low, high)
    return size if _uniform(state) < 0.5 else -size


@exact
def _range(row: Row, m: int) -> tuple[float, float]:
    """Least and largest of the first m numbers; NaN if one is not finite."""
    low, high, total = np.inf, -np.inf, 0.0
    for i in range(m):
        total += 0.0 * row[i]
        low, high = min(low, row[i]), max(high, row[i])
    return low + total, high + total


@exact
def _owners(code: Code, style: Indices, d: int) -> Indices:
    """For each sum the place of the output's weight that it is a factor of, or -1.

    The output is linear in the constants of such a sum.
    """
    n_sums, n_nodes = len(code.ptr) - 1, len(code.op)
    owner, node = np.full(n_sums, -1), np.full(n_nodes, -1)
    last = n_sums - 1
    for j in range(code.ptr[last], code.ptr[last + 1]):
        if code.src[j] >= d:
            node[code.src[j] - d] = last + j + 1
    for k in range(n_nodes - 1, -1, -1):
        for s in range(code.first[k], code.first[k + 1]):
            if node[k] >= 0 and (style[s] == FACTOR or style[s] == FIXED):
                owner[s] = node[k]
                for j in range(code.ptr[s], code.ptr[s + 1]):
                    if code.src[j] >= d:
                        node[code.src[j] - d] = node[k]
    # A wave right below the output: its phase is solved for, together with its weight.
    for j in range(code.ptr[last], code.ptr[last + 1]):
        if code.src[j] >= d:
            s = code.first[code.src[j] - d]
            if style[s] == WAVE:
                owner[s] = last + j + 1
    return owner


@exact
def _has_offset(offsets: int, s: int) -> bool:
    """Whether a sum has an offset that it could do without."""
    return offsets in (ALL_OFFSETS, s)


@exact
def _may_have_offset(shape: Shape, s: int, n_sums: int) -> bool:
    """Whether a structure has such a sum, with an offset that it could do without."""
    return s < n_sums and shape.style[s] in (FACTOR, EDGE, SQUARED)


@exact
def _constants(code: Code, shape: Shape, offsets: int, linear: bool) -> Indices:
    """Places of the constants that are fitted or, if asked for, of those that are solved for."""
    n_sums = len(code.ptr) - 1
    places = np.empty(n_sums + len(code.src), np.int64)
    n = 0
    for s in range(n_sums):
        style = shape.style[s]
        if linear and style != OUTPUT and shape.owner[s] < 0:
            continue
        if style in (OUTPUT, WAVE, PLAIN, RAISED_TO, LEVEL):
            offset, first = True, 0
        elif style == LEADING:
            offset, first = False, 1
        elif style in (EXPONENT, POWER):
            offset, first = False, 0
        elif style == FIXED:
            continue
        else:
            offset, first = _has_offset(offsets, s) or style == SHIFTED, 1
        if linear and style == WAVE:
            first = len(code.src)
        if offset:
            places[n] = code.ptr[s] + s
            n += 1
        for j in range(code.ptr[s] + first, code.ptr[s + 1]):
            places[n] = s + j + 1
            n += 1
    return places[:n]


@exact
def _draw_weights(
    code: Code, s: int, style: int, theta: Row, low: Row, high: Row, state: Random
) -> None:
    """Weights of one sum, by the ranges of its sources."""
    first = code.ptr[s]
    for j in range(first, code.ptr[s + 1]):
        i, lead = code.src[j], code.src[first]
        span = max(high[i] - low[i], 1e-12)
        if style == WAVE:
            weight = _signed(state, 1.0, 30.0) / span
        elif style == EXPONENT:
            weight = _signed(state, 0.4, 8.0) / span
        elif style == POWER:
            weight = _signed(state, 0.25, 4.0)
        elif style == PLAIN:
            weight = _signed(state, 0.3, 6.0) / span
        elif j == first:
            weight = -1.0 if style in (EDGE, SHIFTED) and _uniform(state) < 0.25 else 1.0
        else:
            weight = _signed(state, 0.15, 6.0) * max(high[lead] - low[lead], 1e-12) / span
        theta[s + j + 1] = weight


@exact
def _draw_offset(
    code: Code, s: int, style: int, owned: bool, low: float, high: float, state: Random
) -> float:
    """The offset of a sum that without it lies between `low` and `high`."""
    span = max(high - low, 1e-12)
    if style == WAVE:
        return 0.0 if owned else 2.0 * math.pi * _uniform(state)
    if style in (EDGE, SHIFTED):
        least, most = code.edges[0, s], code.edges[1, s]
        if style == EDGE and low > least and high < most and _uniform(state) < 0.5:
            return 0.0
        if least > -np.inf:
            # What spans decades, an exponential for one, is moved by parts of its least value.
            decades = low > least and span > DECADES * (low - least)
            size = low - least if decades and _uniform(state) < 0.5 else span
            return float(least - low + size * _between(state, 0.02, 6.0))
        return float(most - high - span * _between(state, 0.02, 6.0))
    if style == SQUARED:
        if _uniform(state) < 0.3:
            return 0.0
        return -(low + span * (1.6 * _uniform(state) - 0.3))
    if style == PLAIN:
        return -(low + span * _uniform(state))
    if style == FACTOR and not owned and _uniform(state) < 0.5:
        return -low + span * _signed(state, 0.02, 6.0)
    return 0.0


@exact
def _draw_level(
    code: Code, s: int, theta: Row, z: Row, leading: Row, m: int, state: Random
) -> None:
    """Scale a sum that competes with another, and move it: both are equal somewhere."""
    low, high = _range(leading, m)
    least, most = _range(z, m)
    if most > least:
        factor = _signed(state, 0.3, 3.0) * max(high - low, 1e-12) / (most - least)
        for j in range(code.ptr[s], code.ptr[s + 1]):
            theta[s + j + 1] *= factor
        for i in range(m):
            z[i] *= factor
        least, most = _range(z, m)
    there, here = _uniform(state), _uniform(state)
    offset = low + (high - low) * there - (least + (most - least) * here)
    theta[code.ptr[s] + s] = offset
    for i in range(m):
        z[i] += offset


@exact
def _draw(
    code: Code, shape: Shape, theta: Row, XT: Matrix, low: Row, high: Row, offsets: int, work: Work,
    state: Random,
) -> bool:  # fmt: skip
    """Draw constants while evaluating; False where a unit is undefined."""
    Y, Z, S = work.Y, work.Z, work.S
    d, m = XT.shape
    n_sums = len(code.ptr) - 1
    for k in range(len(code.op)):
        s, t = code.first[k], code.first[k + 1] - 1
        for q in range(s, t + 1):
            style = shape.style[q]
            place = code.ptr[q] + q
            if style == FIXED:
                theta[place] = 1.0 if code.ptr[q] == code.ptr[q + 1] else 0.0
                for j in range(code.ptr[q], code.ptr[q + 1]):
                    theta[q + j + 1] = 1.0
                _affine(code, theta, q, Y, Z[q], m)
                continue
            theta[place] = _between(state, 0.3, 3.0) if style == RAISED_TO else 0.0
            _draw_weights(code, q, style, theta, low, high, state)
            _affine(code, theta, q, Y, Z[q], m)
            if style == LEVEL:
                _draw_level(code, q, theta, Z[q], Z[s], m, state)
            if style in (EXPONENT, POWER, RAISED_TO, LEADING, LEVEL):
                continue
            if not _has_offset(offsets, q) and style not in (WAVE, PLAIN, SHIFTED):
                if style == EDGE:
                    least, most = _range(Z[q], m)
                    if most < 0.0 and code.edges[0, q] == 0.0:
                        # The other sign is inside.
                        for j in range(code.ptr[q], code.ptr[q + 1]):
                            theta[q + j + 1] *= -1.0
                        for i in range(m):
                            Z[q, i] *= -1.0
                        least, most = -most, -least
                    if not (least > code.edges[0, q] and most < code.edges[1, q]):
                        return False
                continue
            least, most = _range(Z[q], m)
            offset = _draw_offset(code, q, style, shape.owner[q] >= 0, least, most, state)
            if offset != 0.0:
                theta[place] = offset
                for i in range(m):
                    Z[q, i] += offset
        apply_unit(code.op[k], code.calls[k], Z[s], Z[t], Y[d + k], S[s], S[t], m)
        low[d + k], high[d + k] = _range(Y[d + k], m)
        if not (high[d + k] < 1e100 and low[d + k] > -1e100):
            return False
    last = n_sums - 1
    theta[code.ptr[last] + last] = 0.0
    for j in range(code.ptr[last], code.ptr[last + 1]):
        theta[last + j + 1] = 1.0
    return True


@exact
def _solved(
    code: Code, shape: Shape, theta: Row, y: Row, root: Row, task: FitPlan, places: Indices,
    work: Work, A: Matrix, g: Row, L: Matrix, step: Row,
) -> float:  # fmt: skip
    """Solve for the constants in which the output is linear; the error that is left."""
    m = len(y)
    for i in range(m):
        work.seed[i] = root[i]
        work.residual[i] = root[i] * y[i]
    A[:] = 0.0
    g[:] = 0.0
    _backward(code, theta, task, work, m)
    gram(work.J, work.residual, m, A, g)
    total = 0.0
    for i in range(m):
        total += work.residual[i] * work.residual[i]
    if not solve(A, g, RIDGE, L, step):
        return np.inf
    error = total
    for a in range(len(places)):
        error -= g[a] * step[a]
    if not error < np.inf:
        return np.inf
    n_sums = len(code.ptr) - 1
    last = n_sums - 1
    for a in range(len(places)):
        if places[a] >= code.ptr[last] + last:
            theta[places[a]] = step[a]
    for s in range(last):
        if shape.owner[s] < 0:
            continue
        weight = theta[shape.owner[s]]
        for a in range(len(places)):
            if code.ptr[s] + s <= places[a] <= code.ptr[s + 1] + s:
                if shape.style[s] == WAVE:
                    theta[places[a]] += math.atan2(step[a], weight)
                    theta[shape.owner[s]] = math.sqrt(weight * weight + step[a] * step[a])
                elif abs(step[a]) < 1e6 * abs(weight):
                    theta[places[a]] = step[a] / weight
    return max(error, 0.0)


_F1 = types.Array(types.float64, 1, "C", readonly=True)
_F2 = types.Array(types.float64, 2, "C", readonly=True)
_I1 = types.Array(types.int64, 1, "C", readonly=True)
_I2 = types.Array(types.int64, 2, "C", readonly=True)
_U1 = types.Array(types.uint64, 1, "C", readonly=True)


class Structures(NamedTuple):
    """Many structures one after the other; see `fit_structures`."""

    op: Indices
    calls: Indices
    first: Indices
    ptr: Indices
    src: Indices
    edges: Matrix
    at: Indices


@exact
def _code(listed: Structures, i: int) -> Code:
    """The i-th structure."""
    at = listed.at
    sums, n_sums = at[i, 2] - i, at[i + 1, 2] - at[i, 2] - 1
    own = np.empty((2, n_sums))
    for s in range(n_sums):
        own[0, s], own[1, s] = listed.edges[0, sums + s], listed.edges[1, sums + s]
    return Code(
        listed.op[at[i, 0] : at[i + 1, 0]], listed.calls[at[i, 0] : at[i + 1, 0]],
        listed.first[at[i, 1] : at[i + 1, 1]], listed.ptr[at[i, 2] : at[i + 1, 2]],
        listed.src[at[i, 3] : at[i + 1, 3]], own, 0.0,
    )  # fmt: skip


@exact
def _guarded(code: Code) -> Indices:
    """The sums that have to stay inside a domain."""
    n_sums = len(code.ptr) - 1
    guarded = np.empty(n_sums, np.int64)
    n = 0
    for s in range(n_sums):
        if code.edges[0, s] > -np.inf or code.edges[1, s] < np.inf:
            guarded[n] = s
            n += 1
    return guarded[:n]


@entry(
    _I1, _I1, _I1, _I1, _I1, _I1, _F2, _I2, _U1, _F2, _F1, _F1, _F2, _F1, _F1, _F2,
    types.int64, types.int64, types.int64, types.int64,
)  # fmt: skip
def fit_structures(
    op: Indices, calls: Indices, first: Indices, ptr: Indices, src: Indices, style: Indices,
    edges: Matrix, at: Indices, seeds: Random, few_XT: Matrix, few_y: Row, few_root: Row,
    XT: Matrix, y: Row, root: Row, check: Matrix, offsets: int, starts: int, kept: int, steps: int,
) -> tuple[Row, Row, Indices]:  # fmt: skip
    """Constants, mean squared error and number of fitted constants of each structure.

    ``at[i]`` says where the nodes, entries of `first`, entries of `ptr`, sources and constants of
    structure i begin. Starts are ranked on the few rows. The error is infinite where no start was
    of use. The best structures of the batch get more steps in the end: valleys are long.
    """
    n = len(at) - 1
    thetas, errors, counts = np.zeros(at[n, 4]), np.full(n, np.inf), np.zeros(n, np.int64)
    d, m = few_XT.shape
    state = np.zeros(1, np.uint64)
    structures = Structures(op, calls, first, ptr, src, edges, at)
    for i in range(n):
        code = _code(structures, i)
        n_sums = len(code.ptr) - 1
        styles = style[at[i, 2] - i : at[i, 2] - i + n_sums]
        shape = Shape(styles, _owners(code, styles, d))
        if offsets >= 0 and not _may_have_offset(shape, offsets, n_sums):
            continue
        free = _constants(code, shape, offsets, False)
        places = _constants(code, shape, offsets, True)
        counts[i] = len(free)
        n_theta, n_places = at[i + 1, 4] - at[i, 4], len(places)
        none = np.empty(0, np.int64)
        task = _plan(code, d, n_theta, places, none)
        work = _workspace(code, d, n_places)
        A, g = np.empty((n_places, n_places)), np.empty(n_places)
        L, step = np.empty((n_places, n_places + 1)), np.empty(n_places)
        low, high = np.empty(d + len(code.op)), np.empty(d + len(code.op))
        for j in range(d):
            for r in range(m):
                work.Y[j, r] = few_XT[j, r]
            low[j], high[j] = _range(few_XT[j], m)
        # With nothing to draw one start is as good as many.
        number = starts if len(free) > n_places else 1
        theta, best, ranks = np.zeros(n_theta), np.zeros((kept, n_theta)), np.full(kept, np.inf)
        state[0] = seeds[i]
        for _ in range(number):
            if not _draw(code, shape, theta, few_XT, low, high, offsets, work, state):
                continue
            rank = _solved(code, shape, theta, few_y, few_root, task, places, work, A, g, L, step)
            worst = 0
            for b in range(1, kept):
                if ranks[b] > ranks[worst]:
                    worst = b
            if rank < ranks[worst]:
                ranks[worst] = rank
                best[worst] = theta
        guarded = _guarded(code)
        for b in range(kept):
            if ranks[b] == np.inf:
                continue
            found, error, _, _, _, _ = fit_code(
                code, best[b], XT, y, root, free, guarded, check, 0.0, steps, TOLERANCE, 1e-2
            )
            if error < errors[i]:
                errors[i] = error
                thetas[at[i, 4] : at[i + 1, 4]] = found
    limit = np.sort(errors)[n // CONTINUED]
    for i in range(n):
        if not errors[i] <= limit or errors[i] == np.inf:
            continue
        code = _code(structures, i)
        styles = style[at[i, 2] - i : at[i, 2] - i + len(code.ptr) - 1]
        free = _constants(code, Shape(styles, _owners(code, styles, d)), offsets, False)
        found, error, _, _, _, _ = fit_code(
            code, thetas[at[i, 4] : at[i + 1, 4]], XT, y, root, free, _guarded(code), check, 0.0,
            MORE_STEPS * steps, TOLERANCE, 1e-2,
        )  # fmt: skip
        if error < errors[i]:
            errors[i] = error
            thetas[at[i, 4] : at[i + 1, 4]] = found
    return thetas, errors, counts


assert BLOCK >= 64, "a start is ranked on one block of rows"
