"""Waves first: frequencies from periodograms, then all constants fitted together.

A wave of hundreds of periods has hundreds of local optima in its frequency, and one under strong
noise is no better than a constant to whoever grows equations term by term. A periodogram
(`ieql.training.fast.periodogram`) looks at all frequencies that the rows can tell, and knows how
likely it is that noise alone has a peak like that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder
from ieql.equations.expression import Expression, Sum
from ieql.selection import Candidate
from ieql.training.fast.periodogram import OVERSAMPLING, highest_turns, log_chance, spectrum
from ieql.training.fast.worth import worthwhile
from ieql.training.task import ROWS_PER_PERIOD, Task
from ieql.units import COS, EXP, MUL, SIN, SQUARE

__all__ = ["waves"]

Array = NDArray[np.float64]
ROWS = 2_000
"""Rows that are looked at."""
ROWS_AT_FIRST = 500
"""Rows of the first look, where there are many inputs."""
LEAST_ROWS = 8
MOST_INPUTS = 6
MOST_SCREENED = 40
"""Inputs that the first look takes in."""
FALSE_ALARM = 6e-3
"""Chance that noise alone gives a wave, for all inputs together, ..."""
PLAIN = 0.8
"""... and the part of it for waves that nothing is multiplied with."""
PEAKS = 3
"""Peaks that are followed."""
TUNED = 4
"""Steps that the frequency of a peak is refined with."""
SEEN = 1.5 * math.pi
"""Radians of each wave that the rows must see in the end: less may be any curve."""
ROUNDING = 1e-14
"""Part of the variance below which there is nothing left to be explained."""
LARGEST_EXPONENT = 300.0
"""An envelope whose exponent is larger in the middle of the rows is left out."""
NEEDED = 3.0
"""Standard errors that a part of the trend must be away from zero, ..."""
VISIBLE = 1e-8
"""... and, in spreads of the target, what it must contribute."""
ENVELOPES = (-8.0, -4.0, -2.0, -1.0, 1.0, 2.0, 4.0)
"""Exponents over the span of the input that an envelope is looked for with."""


@dataclass(frozen=True)
class Peak:
    """A wave of an input, perhaps multiplied by an input or an exponential.

    Attributes
    ----------
    input : int
        What it is a wave of.
    frequency : float
        In radians per unit of the input.
    factor : int or None
        The input that it is multiplied by.
    growth : float
        The rate of the exponential of its own input that it is multiplied by; 0 for none.
    chance : float
        Logarithm of the chance that noise alone has it.
    n_trend : int
        Columns of the trend beside which it stands out most.
    """

    input: int
    frequency: float
    factor: int | None = None
    growth: float = 0.0
    chance: float = 0.0
    n_trend: int = 1


def waves(task: Task, deadline: float = math.inf) -> list[Candidate]:
    """Equations with a wave whose frequency stands out of the noise; none where nothing does.

    Parameters
    ----------
    task : Task
        What to learn.
    deadline : float
        The moment (``time.monotonic()``) after which nothing is begun.

    Returns
    -------
    list of Candidate
        Those that describe the rows better than their mean.
    """
    search = _Search(task)
    if not search.can_wave or len(search.y) < LEAST_ROWS:
        return []
    with np.errstate(all="ignore"):
        expressions = [
            expression
            for peak in search.peaks(deadline)
            for expression in _forms(search, search.tuned(peak))
            if expression is not None
        ]
        found = worthwhile(task, expressions, deadline, ROWS)
    return [candidate for candidate in found if _is_seen(candidate.expression, search)]


class _Search:
    """The rows, and what there is to be found in them."""

    def __init__(self, task: Task) -> None:
        sample = task.train.head(ROWS)
        self.task = task
        self.XT, self.y = sample.XT, sample.y
        self.root = np.sqrt(sample.weight / sample.weight.sum())
        self.n_rows = sample.n_rows
        self.can_wave = bool({COS.name, SIN.name} & set(task.prior.units))
        self.inputs = [i for i in task.inputs if np.ptp(self.XT[i]) > 0.0]
        # In the middle and of size one, so that squares of them are not all the same.
        low, high = self.XT.min(axis=1), self.XT.max(axis=1)
        half = np.where(high > low, (high - low) / 2, 1.0)
        self.middle, self.half = (low + high) / 2, half

    def turns(self, i: int) -> float:
        """Most turns of a wave of an input."""
        return highest_turns(self.task.train.XT[i], len(self.task.train), ROWS_PER_PERIOD)

    def trend(self, i: int, inputs: list[int]) -> tuple[Array, list[tuple[int, int]]]:
        """Columns of trends, and of each the input and its power: first those of input i."""
        terms = [(i, 0), (i, 1), (i, 2)]
        terms += [(j, p) for j in inputs if j != i for p in (1, 2)]
        u = (self.XT - self.middle[:, None]) / self.half[:, None]
        return np.array([u[j] ** p for j, p in terms]), terms

    def peaks(self, deadline: float) -> list[Peak]:
        """The most significant peaks of all inputs."""
        inputs = self.inputs = self._screened(deadline)
        factors: list[int | None] = [None, *(inputs if len(inputs) <= MOST_INPUTS // 2 else [])]
        found: list[Peak] = []
        for factor in factors:
            part = PLAIN if factor is None else (1.0 - PLAIN) / len(inputs)
            limit = math.log(FALSE_ALARM * part / max(len(inputs), 1))
            for i in inputs:
                if time.monotonic() < deadline:
                    peaks = self.spectral_peaks(i, factor, inputs)
                    found += [peak for peak in peaks if peak.chance < limit]
        return sorted(found, key=lambda peak: peak.chance)[:PEAKS]

    def _screened(self, deadline: float) -> list[int]:
        """The inputs whose waves stand out most, if there are many."""
        if len(self.inputs) <= MOST_INPUTS:
            return self.inputs
        chances = {}
        for i in self.inputs[:MOST_SCREENED]:
            if time.monotonic() > deadline:
                break
            peaks = self.spectral_peaks(i, None, [i], ROWS_AT_FIRST)
            chances[i] = min((peak.chance for peak in peaks), default=0.0)
        return sorted(sorted(chances, key=lambda i: chances[i])[:MOST_INPUTS])

    def spectral_peaks(
        self, i: int, factor: int | None, inputs: list[int], rows: int = ROWS
    ) -> list[Peak]:
        """The best peak of an input beside each trend, those of equal frequency once."""
        trends, _ = self.trend(i, inputs)
        root = self.root[:rows] / math.sqrt(float(np.sum(self.root[:rows] ** 2)))
        lengths = sorted({1, 2, 3, len(trends)})
        lengths = [m for m in lengths if m + LEAST_ROWS <= len(root) or m == 1]
        amplitude = np.ones(len(root)) if factor is None else self.XT[factor, :rows]
        return self._best(i, factor, amplitude, trends[:, :rows], lengths, root)

    def _best(
        self, i: int, factor: int | None, amplitude: Array, trends: Array, lengths: list[int],
        root: Array,
    ) -> list[Peak]:  # fmt: skip
        n, turns = len(root), self.turns(i)
        shown = spectrum(self.XT[i, :n], amplitude, trends, lengths, self.y[:n], root, turns)
        if shown is None:
            return []
        found: dict[int, Peak] = {}
        n_rows = self.n_rows * n / len(self.y)
        for length, shares in zip(lengths, shown.shares, strict=True):
            k = int(np.argmax(shares))
            chance = log_chance(float(shares[k]), n_rows, length, turns)
            if k not in found or chance < found[k].chance:
                frequency = float(shown.frequencies[k])
                found[k] = Peak(i, frequency, factor, 0.0, chance, length)
        return list(found.values())

    def tuned(self, peak: Peak) -> Peak:
        """The same wave with the frequency between those of the periodogram that fits best."""
        trends, _ = self.trend(peak.input, self.inputs)
        x = self.XT[peak.input] - self.middle[peak.input]
        most = math.pi / (2.0 * OVERSAMPLING * float(self.half[peak.input]))
        for _ in range(TUNED):
            cosine, sine = self.wave_columns(peak)
            columns = np.vstack([trends[: peak.n_trend], cosine, sine])
            a, b = self.fit(columns)[0][-2:]
            slope = x * (b * cosine - a * sine)
            step = float(self.fit(np.vstack([columns, slope]))[0][-1])
            if not abs(step) < 2.0 * most:
                return peak
            peak = replace(peak, frequency=peak.frequency + step)
        return peak

    def second(self, peak: Peak) -> Peak | None:
        """Another wave of the same input in what the first one leaves, if it is significant."""
        trends, _ = self.trend(peak.input, self.inputs)
        columns = np.vstack([trends[: peak.n_trend], *self.wave_columns(peak)])
        if self.fit(columns)[2] < ROUNDING * float(np.var(self.y)):
            return None
        amplitude = np.ones(len(self.y))
        peaks = self._best(peak.input, None, amplitude, columns, [len(columns)], self.root)
        limit = math.log(FALSE_ALARM)
        return peaks[0] if peaks and peaks[0].chance < limit else None

    def wave_columns(self, peak: Peak) -> tuple[Array, Array]:
        """The cosine and the sine of a peak on the rows."""
        x = self.XT[peak.input]
        amplitude = np.exp(peak.growth * (x - self.middle[peak.input]))
        if peak.factor is not None:
            amplitude = amplitude * self.XT[peak.factor]
        z = peak.frequency * x
        return amplitude * np.cos(z), amplitude * np.sin(z)

    def fit(self, columns: Array) -> tuple[Array, Array, float]:
        """Weights of a least squares fit, their standard errors, and the error left."""
        design = (columns * self.root).T
        size = np.sqrt(np.sum(design**2, axis=0)) + 1e-300
        target = self.y * self.root
        weights = np.linalg.lstsq(design / size, target, rcond=None)[0]
        rest = target - design / size @ weights
        error = float(rest @ rest)
        inverse = np.linalg.pinv((design / size).T @ (design / size))
        left = max(self.n_rows - len(columns), 1.0)
        return weights / size, np.sqrt(np.diagonal(inverse) * error / left) / size, error


def _is_seen(expression: Expression, search: _Search) -> bool:
    """Whether the rows see most of a turn of each wave, whatever the fit made of it."""
    arguments = expression.arguments(search.XT.T)
    return all(
        float(np.ptp(z)) >= SEEN
        for node, (z, *_) in zip(expression.nodes, arguments, strict=True)
        if node.unit.period is not None
    )


def _forms(search: _Search, peak: Peak) -> Iterator[Expression | None]:
    """Equations with one wave: beside a constant, a trend, with an envelope, and with another.

    None stands for one whose constants no number can hold.
    """
    constant = [(peak.input, 0)]
    yield _expression(search, [peak], constant)
    trend = _needed_trend(search, [peak])
    straight = [(j, p) for j, p in trend if p < 2]
    for beside in [straight, trend] if straight != trend else [trend]:
        if beside != constant:
            yield _expression(search, [peak], beside)
    enveloped = _enveloped(search, peak, trend)
    if enveloped is not None:
        yield _expression(search, [enveloped], _needed_trend(search, [enveloped]))
    other = search.second(peak)
    if other is not None:
        yield _expression(search, [peak, other], _needed_trend(search, [peak, other]))


def _needed_trend(search: _Search, peaks: list[Peak]) -> list[tuple[int, int]]:
    """The parts of the trend that are significant beside waves, the constant in any case."""
    columns, terms = search.trend(peaks[0].input, search.inputs)
    if len(columns) + 2 * len(peaks) + LEAST_ROWS > len(search.y):
        columns, terms = columns[:2], terms[:2]
    both = [column for peak in peaks for column in search.wave_columns(peak)]
    weights, errors, _ = search.fit(np.vstack([columns, *both]))
    return [
        term
        for k, term in enumerate(terms)
        if k == 0 or abs(weights[k]) > max(NEEDED * errors[k], VISIBLE)
    ]


def _enveloped(search: _Search, peak: Peak, trend: list[tuple[int, int]]) -> Peak | None:
    """The wave with the envelope that goes best with the rows; None if none helps."""
    if not {EXP.name, MUL.name} <= set(search.task.prior.units):
        return None
    columns = _trend_columns(search, trend)
    best, least = None, search.fit(np.vstack([columns, *search.wave_columns(peak)]))[2]
    for exponent in ENVELOPES:
        growth = exponent / (2.0 * float(search.half[peak.input]))
        trial = replace(peak, growth=growth)
        error = search.fit(np.vstack([columns, *search.wave_columns(trial)]))[2]
        if error < least:
            best, least = trial, error
    return best


def _trend_columns(search: _Search, trend: list[tuple[int, int]]) -> Array:
    u = (search.XT - search.middle[:, None]) / search.half[:, None]
    return np.array([u[j] ** p for j, p in trend])


def _expression(
    search: _Search, peaks: list[Peak], trend: list[tuple[int, int]]
) -> Expression | None:
    """Waves beside a trend, with the constants of a linear fit at their frequencies."""
    columns = [_trend_columns(search, trend), *(c for p in peaks for c in search.wave_columns(p))]
    weights = search.fit(np.vstack(columns))[0].tolist()
    builder = Builder(search.task.names)
    has_cosine = COS.name in search.task.prior.units
    total = _trend_sum(search, builder, trend, weights)
    for k, peak in enumerate(peaks):
        a, b = weights[len(trend) + 2 * k : len(trend) + 2 * k + 2]
        # a cos z + b sin z is one cosine, or one sine.
        phase = math.atan2(-b, a) if has_cosine else math.atan2(a, b)
        z = builder.input(peak.input).scaled(peak.frequency).plus(Sum(phase))
        wave = builder.apply(COS if has_cosine else SIN, z)
        size = math.hypot(a, b)
        if peak.growth != 0.0:
            envelope = builder.apply(EXP, builder.input(peak.input).scaled(peak.growth))
            wave = builder.apply(MUL, envelope, wave)
            far = -peak.growth * float(search.middle[peak.input])
            if abs(far) > LARGEST_EXPONENT:
                return None  # an envelope so far from zero has no size that a number could hold
            size *= math.exp(far)
        if peak.factor is not None:
            wave = builder.apply(MUL, builder.input(peak.factor), wave)
        total = total.plus(wave.scaled(size))
    return builder.expression(total)


def _trend_sum(
    search: _Search, builder: Builder, trend: list[tuple[int, int]], weights: list[float]
) -> Sum:
    """The trend, with a parabola as one square."""
    lines: dict[int, float] = {}
    squares: dict[int, float] = {}
    total = Sum(0.0)
    for (j, p), w in zip(trend, weights, strict=False):
        if p == 0:
            total = total.plus(Sum(w))
        else:
            (lines if p == 1 else squares)[j] = w
    for j in sorted(lines.keys() | squares.keys()):
        u = builder.input(j).scaled(1.0 / float(search.half[j]))
        u = u.plus(Sum(-float(search.middle[j] / search.half[j])))
        line, square = lines.get(j, 0.0), squares.get(j, 0.0)
        if square == 0.0:
            total = total.plus(u.scaled(line))
            continue
        shift = line / (2.0 * square)
        curve = builder.apply(SQUARE, u.plus(Sum(shift)))
        total = total.plus(curve.scaled(square)).plus(Sum(-square * shift**2))
    return total
