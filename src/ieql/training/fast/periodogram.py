"""Periodograms of uneven rows: how much of a target a wave of each frequency explains.

For each frequency a sine and a cosine are fitted together with a trend (Lomb and Scargle, with a
floating mean). With e^{i(u + v)x} = e^{iux} e^{ivx} thousands of frequencies are a product of two
thin matrices, so that even hundreds of periods take milliseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["OVERSAMPLING", "Spectrum", "highest_turns", "log_chance", "spectrum"]

Array = NDArray[np.float64]
OVERSAMPLING = 8
"""Frequencies per turn over the span of the input."""
LEAST_TURNS = 0.8
"""A wave of which the rows see less is left to those who know curves."""
MOST_TURNS = 2_500.0
TRIALS_PER_TURN = 3.0
"""Independent frequencies per turn, as far as the largest of many is concerned."""
PROJECTED = 1e-6
"""Part of a wave that must be left when the trend is taken out of it."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """What waves of an input explain.

    Attributes
    ----------
    frequencies : array (frequencies,)
        In radians per unit of the input.
    shares : array (trends, frequencies)
        Part of what each trend leaves that a wave explains.
    """

    frequencies: Array
    shares: Array


def highest_turns(x: Array, n_rows: int, rows_per_turn: float) -> float:
    """Most turns over the span of x that so many rows can tell; equal values count once."""
    # A little less: at the limit itself the search takes a wave for too fast.
    return min(0.98 * min(n_rows, len(np.unique(x))) / rows_per_turn, MOST_TURNS)


def spectrum(
    x: Array, amplitude: Array, trends: Array, lengths: list[int], y: Array, root: Array,
    turns: float,
) -> Spectrum | None:  # fmt: skip
    """The spectrum of y in x; None if the rows cannot tell any wave.

    Parameters
    ----------
    x : array (rows,)
        The input.
    amplitude : array (rows,)
        What the waves are multiplied by.
    trends : array (columns, rows)
        What is fitted beside a wave; a trend is the first of them, ...
    lengths : list of int
        ... and these are their numbers.
    y, root : arrays (rows,)
        Target, and roots of the weights, which sum to one.
    turns : float
        Most turns of a wave over the span of x.
    """
    span = float(np.ptp(x))
    if not (span > 0.0 and turns > LEAST_TURNS):
        return None
    step = 2.0 * math.pi / (OVERSAMPLING * span)
    number = int((turns - LEAST_TURNS) * OVERSAMPLING) + 1
    inner = max(1, round(math.sqrt(number)))
    outer = -(-number // inner)
    first = 2.0 * math.pi * LEAST_TURNS / span
    centred = x - x.min() - span / 2
    fine = np.exp(1j * np.outer(centred, step * np.arange(inner))).astype(np.complex64)
    starts = first + step * inner * np.arange(outer)
    coarse = np.exp(1j * np.outer(centred, starts)).astype(np.complex64)

    def sums(h: Array) -> Array:
        product = (coarse * h[:, None].astype(np.float32)).T @ fine
        return np.asarray(product.ravel()[:number], np.complex128)

    weighted = root * amplitude
    basis = np.linalg.qr((trends * root).T)[0]
    total = float(weighted @ weighted)
    double = ((coarse**2 * (weighted**2)[:, None].astype(np.float32)).T @ fine**2).ravel()[:number]
    cc, ss = (total + double.real) / 2.0, (total - double.real) / 2.0
    cs = double.imag / 2.0
    cc, ss, cs = cc.astype(np.float64), ss.astype(np.float64), cs.astype(np.float64)
    shares, done = [], 0
    for length in lengths:
        for k in range(done, length):
            part = sums(weighted * basis[:, k])
            cc, ss, cs = cc - part.real**2, ss - part.imag**2, cs - part.real * part.imag
        done = length
        inside = basis[:, :length]
        rest = y * root - inside @ (inside.T @ (y * root))
        size = float(rest @ rest)
        right = sums(weighted * rest / math.sqrt(max(size, 1e-300)))
        det = cc * ss - cs**2
        gain = ss * right.real**2 + cc * right.imag**2 - 2.0 * cs * right.real * right.imag
        good = (det > PROJECTED * total**2) & (size > 1e-20)
        shares.append(np.where(good, np.clip(gain / np.where(good, det, 1.0), 0.0, 1.0), 0.0))
    frequencies = (starts[:, None] + step * np.arange(inner)).ravel()[:number]
    return Spectrum(frequencies, np.array(shares))


def log_chance(share: float, n_rows: float, n_trend: int, turns: float) -> float:
    """Logarithm of the chance that noise has a wave that explains so much at any frequency."""
    left = n_rows - n_trend - 2.0
    if left <= 0.0:
        return 0.0
    # With normal noise the share of a sine and a cosine has a beta distribution.
    single = 0.5 * left * math.log(max(1.0 - share, 1e-12))
    return single + math.log(TRIALS_PER_TURN * turns + 1.0)
