"""Divide and conquer: parts of the inputs on their own, joined and fitted together.

Where a surrogate tells that the target is a sum or a product of functions of fewer inputs, or that
its square, inverse or logarithm is, each part is a smaller task: it may come apart again, and in
the end all structures over one, two or three inputs are tried on a table of its values. The parts
that were found are joined, and all constants are fitted to the rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.dimensions import mended
from ieql.equations.expression import Expression
from ieql.equations.simplify import simplify
from ieql.prior import Prior
from ieql.selection import Candidate, description_length
from ieql.training.fast.batch import FITTING_ROWS, Batch, Effort
from ieql.training.fast.complete import (
    LITTLE,
    REFINED_ROWS,
    grammar_of,
    n_structures,
    without_offsets,
)
from ieql.training.fast.eliminate import FittedExpression, drop_unneeded, fitted
from ieql.training.fast.joining import INVERSES, combinations_of, together
from ieql.training.fast.separability import Split, relevant, splits
from ieql.training.fast.structures import Structure
from ieql.training.fast.styles import ALL_OFFSETS, NO_OFFSETS
from ieql.training.fast.surrogate import Surrogate
from ieql.training.fast.worth import rounded
from ieql.training.task import Task

__all__ = ["CLEAR", "SINGLE_OFFSETS", "is_known_well", "separated"]

Array = NDArray[np.float64]
LEAST_ROWS = 40
ROWS_PER_INPUT = 10
"""With fewer rows, or fewer for each input, no surrogate is trusted, ..."""
TRUSTED = 0.9
"""... nor one that explains less of the rows that it does not know."""
MOST_INPUTS = 20
"""With more inputs learning their lengths takes too long."""
MOST_SPLITS = 3
"""Ways to come apart that are followed, for each part."""
DEEPEST = 4
"""Times that a part may come apart again."""
LEAF_INPUTS = 3
"""Structures are tried over at most so many inputs, ..."""
MOST_STRUCTURES = 1_600
"""... and at most so many of them for each part, ..."""
LARGEST = 6.0
"""... of at most such a complexity."""
EFFORT = Effort(starts=32, kept=2, steps=20)
TABLE = 200
"""Rows of a part's table."""
CROSSED = 24
"""Rows over which a factor is averaged."""
SMALL = 4.0
"""Structures of at most such a complexity are tried with single offsets, too, ..."""
SINGLE_OFFSETS = 5
"""... those of the first sums, ..."""
CLEAR = 3e-3
"""... if the part's values are known better than this, in their spread."""
KEPT = 6
"""Equations for a part that are handed on."""
JOINED = 24
"""Ways to join them that are fitted, ..."""
POLISHED = 8
"""... and those of which offsets are dropped."""
MOST_FOUND = 30
EXACT = 1e-7
"""Part of the target's spread below which an equation is not to be improved."""
NOISY = 3e-3
"""Part of the target's spread above which a surrogate's noise is that of the rows."""
DOUBTS = (3.0, 30.0, 1.0)
"""Errors of a table that are reckoned with, in multiples of what is expected."""
INDEPENDENT = 40.0
"""Rows of a table that have errors of their own."""
LEAST_NOISE = 1e-5
"""A surrogate is never better known, in spreads of the part."""
DIGITS = 7
"""Digits of the constants of joined parts from which they are fitted together."""
STEPS = 20


@dataclass(frozen=True, eq=False)
class _Part:
    """A function to be explained: its values at some points, and how well they are known."""

    inputs: tuple[int, ...]
    sample: Sample
    noise: float
    depth: int


@dataclass(frozen=True, eq=False)
class _Search:
    """What all parts of a target have in common."""

    task: Task
    seed: int
    deadline: float

    @cached_property
    def prior(self) -> Prior:
        # A part has a dimension of its own: only the whole is judged by it.
        return self.task.prior.for_target(None)

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self.deadline


@dataclass(frozen=True)
class _Found:
    """An equation for a part, with its root mean squared error and what it is made of."""

    expression: Expression
    error: float
    n_constants: int
    complexity: float


def separated(task: Task, seed: int, deadline: float = math.inf) -> list[Candidate]:
    """Equations that are joined from parts, the best first; none where nothing comes apart.

    Parameters
    ----------
    task : Task
        The target.
    seed : int
        Fixes all that is drawn.
    deadline : float
        The moment (``time.monotonic()``) after which nothing is begun.
    """
    inputs = task.inputs
    if not is_known_well(task.train, inputs):
        return []
    import scipy.linalg  # noqa: F401 - its BLAS, loaded before its threads are limited
    from threadpoolctl import threadpool_limits

    search = _Search(task, seed, deadline)
    sample = task.train.head(REFINED_ROWS)
    # Matrices are small: more threads would wait for each other.
    with threadpool_limits(limits=1), np.errstate(all="ignore"):
        found = _explained(search, _Part(inputs, sample, 0.0, 0))
        candidates = [
            c
            for c in (task.candidate(e) for e in _shorter(search, found[:MOST_FOUND]))
            if c is not None
        ]
    return candidates


def is_known_well(sample: Sample, inputs: Sequence[int]) -> bool:
    """Whether there are rows enough for a surrogate, and inputs that could come apart."""
    enough = len(sample) >= max(LEAST_ROWS, ROWS_PER_INPUT * len(inputs))
    return enough and 1 < len(inputs) <= MOST_INPUTS


def _shorter(search: _Search, found: Sequence[_Found]) -> Iterator[Expression]:
    """The equations in their simplest form: that a²·b² is (a·b)² no part can know."""
    probe = np.ascontiguousarray(search.task.train.XT[:, :TABLE].T)
    for f in found:
        yield simplify(f.expression, probe, search.task.prior)


# --- one part ----------------------------------------------------------------------------------


def _explained(search: _Search, part: _Part) -> list[_Found]:
    """Equations for a part, the shortest description first."""
    if search.is_late:
        return []
    if len(part.inputs) == 1:
        return _enumerated(search, part)
    surrogate = Surrogate.fit(part.sample, part.inputs)
    if not surrogate.r2 > TRUSTED:
        return []
    rng = np.random.default_rng((search.seed, *part.inputs))
    inputs = relevant(surrogate, part.sample.XT, rng, part.noise)
    found: list[_Found] = []
    if len(inputs) > 1 and part.depth < DEEPEST:
        ways = splits(surrogate, part.sample.XT, inputs, np.sign(part.sample.y), rng, part.noise)
        possible = (w for w in ways if _is_possible(w, search.prior))
        for split, _ in zip(possible, range(MOST_SPLITS), strict=False):
            found += _conquered(search, part, surrogate, split)
            if _is_good(found, part, surrogate) or search.is_late:
                break
    # The whole target's small structures are tried elsewhere, over all its inputs.
    is_new = part.depth > 0 or len(inputs) < len(part.inputs)
    if is_new and 0 < len(inputs) <= LEAF_INPUTS and not _is_good(found, part, surrogate):
        found += _enumerated(search, _Part(inputs, part.sample, part.noise, part.depth))
    return _ranked(found, part)


def _is_possible(split: Split, prior: Prior) -> bool:
    return all(unit.name in prior.units for unit in INVERSES[split.power])


def _is_good(found: Sequence[_Found], part: _Part, surrogate: Surrogate) -> bool:
    """Whether an equation is as accurate as the rows permit."""
    enough = max(EXACT * surrogate.scale, part.noise)
    if surrogate.noise > NOISY * surrogate.scale:
        # Less may be what the surrogate cannot do.
        enough = max(enough, 1.05 * surrogate.noise)
    return any(f.error <= enough for f in found)


def _ranked(found: Sequence[_Found], part: _Part) -> list[_Found]:
    """The best of each structure, the shortest descriptions first.

    How well the values of a table are known is itself uncertain. So the shortest descriptions for
    larger and for smaller errors take turns.
    """
    if part.depth == 0:
        return list(_unequal(sorted(found, key=lambda f: _length(f, part, 0.0))))

    def order(doubt: float) -> list[_Found]:
        return sorted(found, key=lambda f: _length(f, part, doubt * part.noise))

    orders = [order(doubt) for doubt in DOUBTS]
    return list(_unequal([f for turn in zip(*orders, strict=True) for f in turn]))


def _unequal(found: Sequence[_Found]) -> Iterator[_Found]:
    """The first of each structure."""
    seen = set()
    for f in found:
        if f.expression.skeleton not in seen:
            seen.add(f.expression.skeleton)
            yield f


def _length(found: _Found, part: _Part, noise: float) -> float:
    """Twice the nats of a description of a part's values, which have errors of their own."""
    # Those of a table are smooth: neighbouring rows share them, and together tell little.
    n = part.sample.n_rows if part.depth == 0 else min(part.sample.n_rows, INDEPENDENT)
    unexplained = (found.error**2 + noise**2) / (part.sample.spread() ** 2 or 1.0) + LITTLE
    return description_length(n, unexplained, found.n_constants, found.complexity)


def _enumerated(search: _Search, part: _Part) -> list[_Found]:
    """The best of all small structures over the inputs of a part."""
    prior, names = search.prior, search.task.names
    grammar = grammar_of(prior, names, part.inputs)
    scale = part.sample.spread() or 1.0
    rows = part.sample.head(FITTING_ROWS)
    rows = Sample(rows.XT, rows.y / scale, rows.weight)
    found: list[_Found] = []
    tried, last = 0, grammar.size(LARGEST)
    for size in range(1, last + 1):
        if size > last:
            break
        tried += n_structures(prior, names, part.inputs, size, MOST_STRUCTURES)
        if tried > MOST_STRUCTURES or search.is_late:
            break
        structures = [Structure(terms, size) for terms in grammar.sums(size)]
        if not structures:
            continue
        batch = Batch(grammar, structures)
        seeds = np.arange(len(structures), dtype=np.uint64) * np.uint64(1_000_003)
        seeds += np.uint64(search.seed * 1009 + size)
        # A single offset, too, where wrong equations could be nearly right.
        single = SINGLE_OFFSETS if size <= grammar.size(SMALL) and part.noise < CLEAR * scale else 0
        for offsets in (NO_OFFSETS, *range(single), ALL_OFFSETS):
            fits = batch.fit(rows, search.task.domain, seeds, offsets, EFFORT)
            for i in np.argsort(fits.errors, kind="stable")[:KEPT].tolist():
                error = scale * math.sqrt(float(fits.errors[i]))
                if error < math.inf:
                    e = _scaled(fits.expression(i), scale)
                    n_free, complexity = int(fits.n_free[i]), grammar.complexity(size)
                    found.append(_Found(e, error, n_free, complexity))
        if min((f.error for f in found), default=math.inf) <= DOUBTS[0] * part.noise:
            # What is larger is hardly better; one more connection is for those near the truth.
            last = min(last, size + grammar.size(1.0))
    return _ranked(found, part)[:KEPT]


def _scaled(expression: Expression, factor: float) -> Expression:
    return Expression(
        expression.names, expression.nodes, (expression.outputs[0].scaled(factor),)
    ).canonical()


# --- parts of a part ---------------------------------------------------------------------------


def _conquered(search: _Search, part: _Part, surrogate: Surrogate, split: Split) -> list[_Found]:
    """Equations for a part that comes apart in a given way."""
    parts = _factors(part, surrogate, split) if split.power is None else _summands(part, split)
    if parts is None:
        return []
    choices: list[list[Expression]] = []
    for smaller in parts:
        found = _explained(search, smaller)[:KEPT]
        if not found:
            return []
        choices.append([f.expression for f in found])
    return _joined(search, part, split, choices)


def _factors(part: _Part, surrogate: Surrogate, split: Split) -> list[_Part]:
    """Tables of the factors of a product."""
    XT = part.sample.XT
    rows = XT[:, : min(TABLE, XT.shape[1])]
    others = XT[:, -min(CROSSED, XT.shape[1]) :]
    error = math.hypot(part.noise, surrogate.error(rows))
    parts = []
    for group in split.groups:
        # The group's inputs of one row with the other inputs of another.
        points = np.repeat(others[:, None], rows.shape[1], axis=1)
        points[list(group)] = rows[list(group)][:, :, None]
        values = surrogate.predict(points.reshape(len(XT), -1)).reshape(rows.shape[1], -1)
        u, s, _ = np.linalg.svd(values - split.constant, full_matrices=False)
        y = u[:, 0] * (1.0 if u[:, 0].sum() >= 0.0 else -1.0)
        scale = float(y.std()) or 1.0
        # As if all errors of the function went into this factor.
        left = error * math.sqrt(values.shape[1]) / max(float(s[0]), 1e-300)
        table = Sample(rows, y / scale, part.sample.weight[: rows.shape[1]])
        parts.append(_Part(group, table, max(left / scale, LEAST_NOISE), part.depth + 1))
    return parts


def _summands(part: _Part, split: Split) -> list[_Part] | None:
    """Tables of the summands of a power of the function."""
    sample, power, change = part.sample, split.power, 1.0
    if power is not None and power != 1.0:
        f = np.abs(sample.y)
        y = np.log(f) if power == 0.0 else f**power
        slope = 1.0 / f if power == 0.0 else power * f ** (power - 1.0)
        weight = sample.weight / np.maximum(slope**2, 1e-12 * np.median(slope**2))
        if not np.all(np.isfinite(y)):
            return None
        change = float(np.median(np.abs(slope)))
        sample = Sample(sample.XT, y, weight)
    inputs = tuple(i for group in split.groups for i in group)
    surrogate = Surrogate.fit(sample, inputs, split.groups)
    rows = sample.XT[:, : min(TABLE, len(sample))]
    parts = []
    known = [surrogate.component(k, rows) for k in range(len(split.groups))]
    # Which part a constant belongs to is not known, so the first gets it all.
    rest = surrogate.mean + sum(float(y.mean()) for y, _ in known)
    for group, (y, own) in zip(split.groups, known, strict=True):
        table = Sample(rows, y - y.mean() + rest, np.ones(len(y)))
        noise = max(math.hypot(own, part.noise * change), LEAST_NOISE * surrogate.scale)
        parts.append(_Part(group, table, noise, part.depth + 1))
        rest = 0.0
    return parts


def _joined(
    search: _Search, part: _Part, split: Split, choices: Sequence[Sequence[Expression]]
) -> list[_Found]:
    """The parts put together and fitted, the best of them without needless offsets."""
    sample, prior = part.sample, search.prior
    states: list[tuple[float, FittedExpression]] = []
    for chosen in combinations_of(choices, JOINED):
        if search.is_late:
            break
        expression = together(split, chosen, sample)
        state = None
        if expression is not None:
            state = fitted(rounded(expression, DIGITS), sample, STEPS, patient=True)
        if state is not None:
            states.append((_length(_found(search, state), part, part.noise), state))
    states.sort(key=lambda entry: entry[0])
    found = []
    for _, state in states[:POLISHED]:
        if search.is_late:
            break
        if part.depth == 0:
            state = without_offsets(drop_unneeded(state, sample, prior), sample, prior)
            # What is not allowed in one place may be so in another: only the whole is judged.
            if not state.expression.is_allowed(prior):
                continue
            possible = mended(state.expression, search.task.prior)
            if possible is not None and possible is not state.expression:
                state = fitted(possible, sample, STEPS, patient=True) or state
        found.append(_found(search, state))
    return found


def _found(search: _Search, state: FittedExpression) -> _Found:
    complexity = state.expression.complexity(search.prior)
    n_constants = len(state.program.free)
    return _Found(state.expression, math.sqrt(state.error), n_constants, complexity)
