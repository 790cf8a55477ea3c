"""Complete search: every structure up to a size is tried, the simplest first.

Where other trainings draw what they try, this one lists it (`ieql.training.fast.structures`): with
one input everything of up to six connections is a matter of seconds. What was covered is known, so
that it can be said, and so that a search may stop because nothing is left and not because it is
tired.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.dimensions import mended
from ieql.equations.expression import Expression
from ieql.equations.program import Program
from ieql.prior import Prior
from ieql.selection import description_length
from ieql.training.fast.batch import Batch, Effort
from ieql.training.fast.eliminate import FittedExpression, fitted
from ieql.training.fast.structures import Grammar
from ieql.training.fast.styles import ALL_OFFSETS, NO_OFFSETS

__all__ = [
    "Coverage",
    "Piece",
    "Tried",
    "grammar_of",
    "n_structures",
    "pieces",
    "refined",
    "try_piece",
]

Array = NDArray[np.float64]
PIECE = 400
"""Structures that are fitted in one go: a fraction of a second."""
EFFORT = Effort(starts=32, kept=2, steps=20)
LITTLE = 1e-24
"""A mean squared error, of a target with spread one, that stands for none."""
BEST = 12
"""Fits of a piece that are handed on."""
CERTAIN = 3.0
"""How many times as large as a limit an estimate must be for the level not to be made."""
FEW_INPUTS, MANY_CONNECTIONS = 3, 5
"""With so few inputs and so many connections a search is thorough."""
REFINED_ROWS = 800
STEPS = 20


@dataclass(frozen=True)
class Piece:
    """Some structures of one size over some inputs.

    Attributes
    ----------
    inputs : tuple of int
        What they are made of.
    size : int
        Their size, as `Grammar` counts.
    start, stop : int
        Which of them, in the order of the grammar.
    seed : int
        Fixes the starts that are drawn.
    """

    inputs: tuple[int, ...]
    size: int
    start: int
    stop: int
    seed: int


@dataclass(frozen=True)
class Tried:
    """A fit that may be worth more: how long its description is, and what it is."""

    length: float
    expression: Expression


@dataclass
class Coverage:
    """What of all structures over some inputs was tried.

    Attributes
    ----------
    inputs : tuple of int
        The inputs.
    size : int
        Everything up to this size was tried, ...
    number : int
        ... so many structures, ...
    again : int
        ... and up to this size once more, from other starts.
    """

    inputs: tuple[int, ...]
    size: int = 0
    number: int = 0
    again: int = 0
    seen: dict[str, int] = field(default_factory=dict)
    """How often the neighbourhood of an equation was searched, by a mark of its structure."""

    def is_thorough(self, prior: Prior, names: tuple[str, ...]) -> bool:
        """Whether so much was covered that drawing at random has little to add."""
        if len(self.inputs) > FEW_INPUTS:
            return False
        return self.size >= grammar_of(prior, names, self.inputs).size(MANY_CONNECTIONS)

    def sentence(self, prior: Prior, names: tuple[str, ...]) -> str:
        """What was covered, as a sentence; empty if nothing was."""
        if not self.number:
            return ""
        grammar = grammar_of(prior, names, self.inputs)
        costs = {prior.cost(name) for name in ("input", *prior.units)}
        largest = grammar.complexity(self.size)
        what = (
            _counted(int(largest / min(costs) + 1e-9), "connection")
            if len(costs) == 1
            else f"a complexity of {largest:g}"
        )
        number = self.number
        if prior.rules:
            number = sum(len(grammar.structures(size)) for size in range(1, self.size + 1))
        return (
            f"all {number:,} structures with up to {what} of "
            f"{_counted(len(self.inputs), 'input')} were tried"
        )

    @classmethod
    def read(cls, form: Mapping[str, Any]) -> Coverage:
        """What was written down as `form`."""
        return cls(
            tuple(int(i) for i in form["inputs"]),
            int(form["size"]),
            int(form["number"]),
            int(form["again"]),
            {str(key): int(n) for key, n in form.get("seen", {}).items()},
        )


NUMBERS = ("no", "one", "two", "three", "four", "five", "six")


def _counted(n: int, what: str) -> str:
    number = NUMBERS[n] if n < len(NUMBERS) else str(n)
    return f"{number} {what}{'s' if n != 1 else ''}"


@functools.lru_cache(maxsize=8)
def grammar_of(prior: Prior, names: tuple[str, ...], inputs: tuple[int, ...]) -> Grammar:
    """The grammar over some inputs; the last ones are kept, with all that they have made."""
    return Grammar(prior, names, inputs)


def n_structures(
    prior: Prior, names: tuple[str, ...], inputs: tuple[int, ...], size: int, most: int
) -> int:
    """How many structures of a size there are; if far more than `most`, an estimate of them.

    Those that break a rule about the whole equation count as well: making them takes time, too.
    """
    # Each level has several times as many as the one before: making it would take long, too.
    grammar, below, ratio = grammar_of(prior, names, inputs), 0, 1.0
    if not grammar.can_make(size):
        return most + 1
    for n in range(1, size):
        number = grammar.number(n)
        if number > below:
            below, ratio = number, number / max(below, 1)
        if below > most:
            return below
    estimate = below * ratio
    if estimate > CERTAIN * most:
        return int(estimate)
    return grammar.number(size)


def pieces(
    prior: Prior, names: tuple[str, ...], inputs: tuple[int, ...], size: int, seed: int
) -> list[Piece]:
    """All structures of one size in pieces."""
    number = len(grammar_of(prior, names, inputs).structures(size))
    return [
        Piece(inputs, size, start, min(start + PIECE, number), seed)
        for start in range(0, number, PIECE)
    ]


def try_piece(
    prior: Prior,
    names: tuple[str, ...],
    sample: Sample,
    domain: Array,
    piece: Piece,
    effort: Effort = EFFORT,
    deadline: float = math.inf,
    variants: Sequence[int] = (NO_OFFSETS, ALL_OFFSETS),
) -> list[Tried] | None:
    """Fit all structures of a piece, with and without offsets; the best of them, or None if late.

    Parameters
    ----------
    prior, names
        What the structures are made of.
    sample : Sample
        The rows, in random order.
    domain : array (inputs, points)
        Where singular units must be defined, too.
    piece : Piece
        What to try.
    effort : Effort
        How hard each is tried.
    deadline : float
        The moment (``time.monotonic()``) after which nothing is begun.
    variants : sequence of int
        Which offsets are fitted, as of `Batch.fit`.
    """
    if time.monotonic() > deadline:
        return None
    grammar = grammar_of(prior, names, piece.inputs)
    batch = Batch(grammar, grammar.structures(piece.size)[piece.start : piece.stop])
    places = np.arange(piece.start, piece.stop, dtype=np.uint64)
    # Neighbouring seeds give unrelated numbers, as the generator mixes them.
    seeds = places * np.uint64(1_000_003) + np.uint64(piece.seed * 1009 + piece.size)
    complexity, variance = grammar.complexity(piece.size), sample.spread() ** 2 or 1.0
    tried: list[Tried] = []
    for offsets in variants:
        fits = batch.fit(sample, domain, seeds, offsets, effort)
        lengths = np.array(
            [
                description_length(sample.n_rows, e / variance + LITTLE, int(p), complexity)
                if e < math.inf
                else math.inf
                for e, p in zip(fits.errors.tolist(), fits.n_free.tolist(), strict=True)
            ]
        )
        lengths[np.isnan(lengths)] = math.inf
        for i in np.argsort(lengths, kind="stable")[:BEST].tolist():
            if lengths[i] < math.inf:
                tried.append(Tried(float(lengths[i]), fits.expression(i)))
        # With many constants on few rows the length is infinite; a smaller error may still lead on.
    return sorted(tried, key=lambda t: t.length)[:BEST]


def refined(
    tried: Sequence[Tried], prior: Prior, sample: Sample
) -> Iterator[FittedExpression | None]:
    """The best fits, on more rows, without the offsets that their rows do not ask for."""
    for t in tried:
        possible = mended(t.expression, prior) if t.expression.is_allowed(prior) else None
        if possible is None:
            yield None
            continue
        state = fitted(possible, sample, STEPS, patient=True)
        yield None if state is None else without_offsets(state, sample, prior)


def without_offsets(state: FittedExpression, sample: Sample, prior: Prior) -> FittedExpression:
    """Drop offsets one by one while that shortens the description of the rows."""
    length = _length(state, sample, prior)
    while True:
        theta = state.expression.constants()
        biases = _offsets(state.expression)
        best, shortest = None, length
        for place in biases:
            smaller = theta.copy()
            smaller[place] = 0.0
            trial = fitted(state.expression.with_constants(smaller).canonical(), sample, STEPS)
            if trial is None or not trial.expression.is_allowed(prior):
                continue
            trial_length = _length(trial, sample, prior)
            # Of equals the one with fewer constants: gauges may bring one back elsewhere.
            if trial_length < shortest:
                best, shortest = trial, trial_length
        if best is None:
            return state
        state, length = best, shortest


def _offsets(expression: Expression) -> list[int]:
    """Places of the offsets that are not zero."""
    places, at = [], 0
    free = set(Program.of(expression).free.tolist())
    for s in expression.sums:
        if s.bias != 0.0 and at in free:
            places.append(at)
        at += 1 + len(s.weights)
    return places


def _length(state: FittedExpression, sample: Sample, prior: Prior) -> float:
    values = state.expression.constants()[state.program.free]
    n_constants = int(np.count_nonzero(np.abs(values) != 1.0))
    unexplained = state.error / (sample.spread() ** 2 or 1.0) + LITTLE
    complexity = state.expression.complexity(prior)
    return description_length(sample.n_rows, unexplained, n_constants, complexity)
