"""Factors: multiply a sum, or one term of it, by a power of something simple.

Growth by addition finds sums; most laws of nature are products. Multiplying z by φ^p changes it, to
first order in p, by z log φ: so factors are screened like additions, with log φ in the place of φ,
and the estimate of p tells which power to try. In the logarithm of the output a product *is* a sum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder
from ieql.equations.expression import Sum
from ieql.prior import Prior
from ieql.training.fast.screen import Proposal, Screen
from ieql.units import DIV, MUL, SQRT, SQUARE, Unit

__all__ = ["powers"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Phi = Callable[[Builder, list[Sum]], Sum]
"""A factor, made in a builder with given inputs and nodes."""
Group = tuple[Array, Callable[[int], Phi]]
"""Values of many factors, and how to make one of them."""
EXPONENTS = np.array([0.5, 1.0, 2.0])
N_SHIFTS = 4
"""Offsets tried for each input: z = x + b has to be of one sign."""
N_PAIRS = 120
"""Sums and differences of two inputs that are tried."""
N_UNITS = 150
"""Entries of the bank that are tried."""
SIMPLE = 4.0
"""Entries of the bank of a higher complexity are no factors to begin with."""


def powers(
    screen: Screen,
    XT: Array,
    prior: Prior,
    rng: np.random.Generator,
    n: int,
    chances: Array,
) -> list[Proposal]:
    """The `n` most promising factors of plain inputs, of sums of inputs, and of units each."""
    if not {MUL.name, DIV.name} & set(prior.units):
        return []
    D, places = _places(screen)
    found: list[Proposal] = []
    for values, make in _groups(screen, XT, rng, chances):
        if not len(values):
            continue
        good = (values.min(axis=1) > 0) | (values.max(axis=1) < 0)
        rows = np.flatnonzero(good)
        if not len(rows):
            continue
        logs = np.log(np.abs(values[rows]))
        gains, exponents = screen.gains(D, logs)
        for number, place in enumerate(np.argsort(gains, axis=None)[::-1][:n]):
            s, k = np.unravel_index(place, gains.shape)
            if not gains[s, k] > 0:
                break
            phi, negative = make(int(rows[k])), bool(values[rows[k], 0] < 0)
            for p in _exponents(float(exponents[s, k]), both=number == 0):
                if _needed(p) <= set(prior.units):
                    found.append(_multiplied(screen, places[int(s)], phi, p, negative))
    return found


def _places(screen: Screen) -> tuple[Array, list[tuple[int, int | None]]]:
    """Whole sums, and the terms of those that have several; with the output's sensitivity to z."""
    rows: list[Array] = []
    places: list[tuple[int, int | None]] = []
    for s, total in enumerate(screen.expression.sums):
        if total.is_constant:
            continue
        rows.append(screen.D[s] * screen.Z[s])
        places.append((s, None))
        if len(total.sources) + (total.bias != 0.0) > 1:
            for j, (i, w) in enumerate(zip(total.sources, total.weights, strict=True)):
                rows.append(screen.D[s] * w * screen.bank.values[i])
                places.append((s, j))
    if not rows:
        # Nothing but a constant so far: it is what gets multiplied.
        return screen.D[-1:] * screen.Z[-1:], [(len(screen.D) - 1, None)]
    return np.array(rows), places


def _groups(screen: Screen, XT: Array, rng: np.random.Generator, chances: Array) -> list[Group]:
    """What may be a factor: shifted inputs, sums of two inputs, cheap units; values and maker."""
    d = len(XT)
    low, high = XT.min(axis=1), XT.max(axis=1)
    span = high - low
    i = np.repeat(np.arange(d), 2 * N_SHIFTS)
    margin = span[i] * _margins(len(i), rng)
    side = np.tile([True, False], d * N_SHIFTS)
    b = np.concatenate([np.zeros(d), np.where(side, margin - low[i], -margin - high[i])])
    i = np.concatenate([np.arange(d), i])
    groups = [_sums(XT, i, i, np.zeros(len(i)), b)]
    if np.count_nonzero(chances) > 1:
        # The second input is another one than the first: drawn as often as the others are.
        keys = rng.random((N_PAIRS, d)) ** (1.0 / np.maximum(chances, 1e-300))
        i, j = np.argsort(keys, axis=1)[:, -2:].T
        w = rng.choice([-1.0, 1.0], N_PAIRS) * np.exp(0.5 * rng.normal(size=N_PAIRS))
        w *= span[i] / span[j]
        least = (XT[i] + w[:, None] * XT[j]).min(axis=1)
        inside = 2.0 * span[i] * _margins(N_PAIRS, rng) - least
        b = np.where((least > 0) & (rng.random(N_PAIRS) < 0.7), 0.0, inside)
        groups.append(_sums(XT, i, j, w, b))
    return [*groups, _units(screen, rng)]


def _margins(n: int, rng: np.random.Generator) -> Array:
    """How far from its zero a factor stays, in spans: next to it up to far away."""
    return np.exp(rng.uniform(np.log(0.02), np.log(3.0), n))


def _sums(XT: Array, i: Indices, j: Indices, w: Array, b: Array) -> Group:
    """The sums b + x_i + w x_j."""

    def make(k: int) -> Phi:
        total = Sum(float(b[k]), (int(i[k]),), (1.0,))
        if w[k] != 0.0:
            total = total.plus(Sum(0.0, (int(j[k]),), (float(w[k]),)))
        return lambda builder, values: total

    return b[:, None] + XT[i] + w[:, None] * XT[j], make


def _units(screen: Screen, rng: np.random.Generator) -> Group:
    """Cheap units of the bank; at any place, so not those that depend on the equation's own."""
    bank = screen.bank
    d = bank.n_inputs
    cheap = np.flatnonzero(bank.costs <= SIMPLE)
    cheap = rng.permutation(cheap[cheap >= d + bank.n_nodes])[:N_UNITS]
    cheap = cheap[bank.latest[cheap] < 0]

    def make(k: int) -> Phi:
        return lambda builder, values: bank.build(int(cheap[k]), builder, values[d:])

    return bank.values[cheap], make


def _exponents(p: float, both: bool) -> list[float]:
    """The simple exponent closest to an estimate, by ratio, and perhaps the plain factor too.

    The estimate is of first order; a whole factor is most often what it means.
    """
    k = int(np.argmin(np.abs(np.log(EXPONENTS) - np.log(abs(p) + 1e-12))))
    sizes = {float(EXPONENTS[k]), 1.0} if both else {float(EXPONENTS[k])}
    return [float(np.copysign(size, p)) for size in sorted(sizes)]


def _needed(p: float) -> set[str]:
    """The units that multiplying by a power takes."""
    return {unit.name for unit in (_joining(p), *_raising(p))}


def _joining(p: float) -> Unit:
    return MUL if p > 0 else DIV


def _raising(p: float) -> list[Unit]:
    return [unit for unit in (SQUARE, SQRT) if unit.powers == (abs(p),)]


def _multiplied(
    screen: Screen,
    place: tuple[int, int | None],
    phi: Phi,
    p: float,
    negative: bool,
) -> Proposal:
    s, j = place
    total = screen.expression.sums[s]

    def change(old: Sum, values: list[Sum], builder: Builder) -> Sum:
        factor = phi(builder, values)
        if negative:
            factor = factor.scaled(-1.0)
        for raising in _raising(p):
            factor = builder.apply(raising, factor)
        unit = _joining(p)
        if j is None:
            return builder.apply(unit, old, factor)
        term = values[total.sources[j]].scaled(total.weights[j])
        return old.plus(term.scaled(-1.0)).plus(builder.apply(unit, term, factor))

    return screen.rebuilt(s, change)
