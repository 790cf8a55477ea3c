"""Where to look for the constants of a formula: many starts compared at once, in milliseconds.

The constants are columns of the rows here, so that one compiled pass evaluates all starts. Those
in which the formula is linear are solved for in each of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.formula import Formula
from ieql.equations.program import Program

__all__ = ["SQUARED", "promising", "scales"]

Array = NDArray[np.float64]
N_STARTS = 48
ROWS = 150
"""Rows on which starts are compared, ..."""
ROWS_TO_PROBE = 12
"""... and on which it is found out in which constants the formula is linear."""
LINEAR = 1e-9
"""Relative size of a second difference that is rounding."""
DECADES = 1.0
"""How far a start may be from the scales that it is drawn around."""
SQUARED = 0.2
"""Part of the draws around the square of such a scale, as a constant beside a square has it."""
NEAR = 3.0
"""The other starts lie within this of zero."""
RIDGE = 1e-9


def promising(
    formula: Formula, sample: Sample, kept: int, seed: int = 0, draws: int = 1
) -> list[Array]:
    """Values of the constants that fit some rows best, the best first; none if all fail.

    Parameters
    ----------
    formula : Formula
        Whose constants are looked for.
    sample : Sample
        The rows, in random order.
    kept : int
        How many starts are wanted, at most.
    seed : int
        Of the random starts.
    draws : int
        How often starts are drawn: more for constants within waves and other units, which only a
        near start finds.
    """
    rows = sample.head(ROWS)
    k = len(formula.constants)
    rng = np.random.default_rng(seed)
    program = Program.of(formula.expression)
    starts = _drawn(rows, k, rng)
    with np.errstate(all="ignore"):
        linear = _linear(program, rows, k, rng)
        found = [_solved(program, rows, starts, linear)]
        for _ in range(draws - 1):
            found.append(_solved(program, rows, _drawn(rows, k, rng), linear))
    solved, errors = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(errors, kind="stable")
    return [solved[i] for i in order[:kept] if np.isfinite(errors[i])]


def _drawn(rows: Sample, k: int, rng: np.random.Generator) -> Array:
    """Starts (number, constants): near the sizes of the columns and their reciprocals, or small."""
    shape = (N_STARTS, k)
    powers = np.where(rng.random(shape) < SQUARED, 2.0, 1.0)
    values = rng.choice(scales(rows), shape) ** powers
    values *= 10.0 ** rng.uniform(-DECADES, DECADES, shape)
    values *= rng.choice([-1.0, 1.0], shape)
    values = np.where(rng.random(shape) < 0.4, rng.uniform(-NEAR, NEAR, shape), values)
    values[0] = 1.0
    values[1::2] = np.abs(values[1::2])  # what is written with a minus mostly has it for a reason
    return np.asarray(values)


def scales(rows: Sample) -> Array:
    """Sizes that constants may have: one, those of the columns, and their reciprocals."""
    columns = np.vstack([rows.XT, rows.y])
    sizes = np.concatenate([np.ptp(columns, axis=1), np.abs(columns.mean(axis=1))])
    sizes = sizes[(sizes > 1e-100) & (sizes < 1e100)]
    return np.concatenate([[1.0], sizes, 1.0 / sizes])


def _evaluated(program: Program, rows: Sample, values: Array) -> Array:
    """Values of the formula (starts, rows) for some starts (starts, constants)."""
    n = len(values)
    XT = np.vstack([np.tile(rows.XT, n), np.repeat(values.T, len(rows), axis=1)])
    return program.evaluate(XT).reshape(n, len(rows))


def _linear(program: Program, rows: Sample, k: int, rng: np.random.Generator) -> list[int]:
    """Constants in which the formula is linear, all of them together.

    Second differences by two such constants vanish, whatever the others are.
    """
    few = rows.head(ROWS_TO_PROBE)
    base, step = rng.uniform(0.5, 1.5, k), rng.uniform(0.1, 0.3, k)
    pairs = [(i, j) for i in range(k) for j in range(i + 1)]
    corners = [base]
    for i in range(k):
        corners.append(base + step * (np.arange(k) == i))
    for i, j in pairs:
        corners.append(base + step * ((np.arange(k) == i) + 1.0 * (np.arange(k) == j)))
    values = _evaluated(program, few, np.array(corners))
    at, single, double = values[0], values[1 : k + 1], values[k + 1 :]
    bends = np.zeros((k, k), dtype=bool)
    for (i, j), both in zip(pairs, double, strict=True):
        size = np.abs(both) + np.abs(single[i]) + np.abs(single[j]) + np.abs(at)
        difference = np.abs(both - single[i] - single[j] + at)
        bends[i, j] = bends[j, i] = not np.all(difference <= LINEAR * size)
    chosen: list[int] = []
    for i in range(k):
        if not bends[i, i] and not any(bends[i, j] for j in chosen):
            chosen.append(i)
    return chosen


def _solved(
    program: Program, rows: Sample, starts: Array, linear: list[int]
) -> tuple[Array, Array]:
    """The starts with the best values of the linear constants, and their squared errors."""
    n, m = len(starts), len(linear)
    base = starts.copy()
    base[:, linear] = 0.0
    blocks = [base]
    for i in linear:
        blocks.append(base + (np.arange(starts.shape[1]) == i))
    values = _evaluated(program, rows, np.concatenate(blocks)).reshape(m + 1, n, len(rows))
    root = np.sqrt(rows.weight)
    terms = (values[1:] - values[0]).transpose(1, 2, 0) * root[:, None]  # starts, rows, linear
    rest = (rows.y - values[0]) * root
    is_fine = np.isfinite(terms).all(axis=(1, 2)) & np.isfinite(rest).all(axis=1)
    terms, rest = np.where(is_fine[:, None, None], terms, 0.0), np.where(is_fine[:, None], rest, 0)
    size = np.sqrt(np.sum(terms**2, axis=1))
    size = np.where((size > 0.0) & np.isfinite(size), size, 1.0)
    scaled = terms / size[:, None, :]
    normal = np.einsum("sri,srj->sij", scaled, scaled) + RIDGE * np.eye(m)
    found = np.linalg.solve(normal, np.einsum("sri,sr->si", scaled, rest)[..., None])[..., 0]
    left = rest - np.einsum("sri,si->sr", scaled, found)
    errors = np.where(is_fine, np.sum(left**2, axis=1), np.inf)
    solved = starts.copy()
    solved[:, linear] = found / size
    return solved, np.where(np.isfinite(errors), errors, np.inf)
