"""Laws: a power of the inputs times a function of another power, y = a + w φ^p h(k φ^q).

Planck's law, relativistic masses, damped and barometric forms, growth and gas laws are all of this
kind: a product in front, and inside one unit a quotient without dimension. Grown unit by unit,
neither part is of much use without the other. With whole exponents and shifts φ_i = x_i + b_i that
both parts share, the constants are few, a fit takes a fraction of a millisecond
(`ieql.training.fast.law_kernel`), and the exponents are found by trying their neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.builder import Builder
from ieql.equations.dimensions import mended
from ieql.equations.expression import Expression, Sum
from ieql.equations.program import addresses
from ieql.prior import Prior
from ieql.training.archive import Archive
from ieql.training.fast.eliminate import FittedExpression, drop_unneeded, fitted
from ieql.training.task import EXACT, Task
from ieql.units import DIV, EXP, IDENTITY, MUL, SQUARE, Unit

__all__ = ["Law", "LawForm", "LawSettings", "law_forms", "laws"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
MOST_SHIFTED = 5.0
"""Spans of an input that its shift may exceed its values by; further away a factor is a line."""
FROM_BEST = 0.6
"""Share of laws that start with the exponents of the best one so far."""
RIVAL = 1.05
"""A law whose mean squared error is up to this many times the best one's is a rival."""


@dataclass(frozen=True)
class LawSettings:
    """Numbers of the search for laws."""

    rows: int = 256
    steps: int = 20
    fit_steps: int = 40
    inputs: int = 5
    """Of more inputs some are drawn."""
    largest: int = 3
    """Largest exponent, by amount."""
    price: float = 0.03
    """What a unit of an exponent must lower log(error) by."""
    rounds: int = 25
    rivals: int = 2
    """Laws beside the best of a climb that are handed on, too."""
    powers: int = 3
    """How many pure powers are tried, of which the best is a start."""


@dataclass(frozen=True)
class LawForm:
    """The function h: a unit of k φ^q + c, or one over it with an offset e."""

    unit: Unit
    reciprocal: bool

    @property
    def starts(self) -> tuple[float, float]:
        """The offsets c and e to start from."""
        inside = 0.0 if self.unit is EXP else 1.0
        # One over exp(z) - 1, and one over a wave without a pole.
        outside = -1.0 if self.unit is EXP else 1.5 if self.unit.period is not None else 0.0
        return inside, outside if self.reciprocal else 0.0

    @property
    def free(self) -> tuple[bool, bool]:
        """Whether c and e are fitted: not where another constant does the same.

        A factor inside a power is one in front; so, of the constants inside, a free k is enough.
        """
        is_power = bool(self.unit.powers)
        return not is_power and self.unit is not EXP, self.reciprocal and not is_power


def law_forms(prior: Prior) -> list[LawForm]:
    """The functions h that the prior has the units for, of those that can be compiled."""
    if MUL.name not in prior.units:
        return []
    single = [u for u in map(prior.unit, prior.units) if u.arity == 1]
    inner = [
        IDENTITY,
        *(u for u in single if u not in (SQUARE, IDENTITY) and addresses([u]) is not None),
    ]
    kinds = (False, True) if DIV.name in prior.units else (False,)
    return [LawForm(unit, reciprocal) for unit in inner for reciprocal in kinds]


@dataclass(frozen=True, eq=False)
class Law:
    """Exponents p in front and q inside, constants (shifts, k, c, e, w, a) and the error."""

    shape: LawForm
    p: Indices
    q: Indices
    theta: Array
    error: float = math.inf

    @property
    def size(self) -> int:
        """Sum of all exponents, by amount."""
        return int(np.abs(self.p).sum() + np.abs(self.q).sum())

    def expression(self, names: tuple[str, ...], inputs: Indices, prior: Prior) -> Expression:
        """The law as a graph of units."""
        builder = Builder(names)
        d = len(inputs)
        factors = [
            builder.input(int(i)).plus(Sum(float(b)))
            for i, b in zip(inputs, self.theta[:d], strict=True)
        ]
        k, c, e, w, a = (float(t) for t in self.theta[d:])
        above, below = _powers(builder, prior, factors, self.q)
        z = _quotient(builder, above, below).scaled(k).plus(Sum(c))
        h = z if self.shape.unit is IDENTITY else builder.apply(self.shape.unit, z)
        above, below = _powers(builder, prior, factors, self.p)
        if self.shape.reciprocal:
            below = builder.apply(MUL, below, h.plus(Sum(e)))
        else:
            above = builder.apply(MUL, above, h)
        return builder.expression(_quotient(builder, above, below).scaled(w).plus(Sum(a)))


def _powers(
    builder: Builder, prior: Prior, factors: list[Sum], exponents: Indices
) -> tuple[Sum, Sum]:
    """The products of the factors with positive and with negative exponents."""
    parts = [Sum(1.0), Sum(1.0)]
    for factor, n in zip(factors, exponents.tolist(), strict=True):
        value = Sum(1.0)
        pairs, single = divmod(abs(n), 2)
        for _ in range(pairs):
            square = (
                builder.apply(SQUARE, factor)
                if SQUARE.name in prior.units
                else builder.apply(MUL, factor, factor)
            )
            value = builder.apply(MUL, value, square)
        if single:
            value = builder.apply(MUL, value, factor)
        parts[n < 0] = builder.apply(MUL, parts[n < 0], value)
    return parts[0], parts[1]


def _quotient(builder: Builder, above: Sum, below: Sum) -> Sum:
    return above if below == Sum(1.0) else builder.apply(DIV, above, below)


def laws(
    task: Task, archive: Archive, rng: np.random.Generator, settings: LawSettings
) -> Iterator[FittedExpression | None]:
    """Look for a law of every shape and yield what each search ends with, refitted and cut down.

    None is yielded in between, as a sign of life.
    """
    sample = task.train.draw(settings.rows, rng)
    inputs = _draw_inputs(task, archive, rng, settings.inputs)
    search = _Search(task, sample, inputs, settings, offset=bool(rng.random() < 0.5))
    powers: list[Law] = []
    for _ in range(settings.powers):
        powers += yield from search.climb(search.pure(rng))
    best = min(powers, key=search.score)
    yield _state(best, task, sample, inputs, settings)
    known = law_forms(task.prior)
    for pick in rng.permutation(len(known)):
        found = yield from search.climb(search.start(known[pick], best, rng))
        for law in found:
            yield _state(law, task, sample, inputs, settings)
        best = min([best, *found], key=search.score)


def _state(
    law: Law, task: Task, sample: Sample, inputs: Indices, settings: LawSettings
) -> FittedExpression | None:
    """The law as an expression, refitted with a shift of its own at each place, and cut down."""
    if not math.isfinite(law.error):
        return None
    expression = law.expression(task.names, inputs, task.prior)
    if not expression.is_allowed(task.prior):
        return None
    possible = mended(expression, task.prior)
    if possible is None:
        return None
    state = fitted(possible, sample, settings.fit_steps, patient=True)
    return None if state is None else drop_unneeded(state, sample, task.prior_for(state.expression))


def _draw_inputs(task: Task, archive: Archive, rng: np.random.Generator, most: int) -> Indices:
    d = len(task.names)
    if len(task.inputs) <= most:
        return np.array(task.inputs or range(d))
    chances = archive.input_chances(d, task.price)
    return np.sort(rng.choice(d, size=most, replace=False, p=chances))


class _Search:
    """The data of a search for laws; its methods make laws and look at their neighbours."""

    def __init__(
        self, task: Task, sample: Sample, inputs: Indices, settings: LawSettings, offset: bool
    ) -> None:
        self.settings = settings
        self.XT = np.ascontiguousarray(sample.XT[inputs])
        self.y = np.ascontiguousarray(sample.y)
        self.root = np.sqrt(sample.weight)
        self.low = np.minimum(self.XT.min(axis=1), task.domain[inputs].min(axis=1, initial=np.inf))
        self.span = np.maximum(np.ptp(self.XT, axis=1), 1e-9)
        self.middle = self.XT.mean(axis=1)
        self.high = MOST_SHIFTED * self.span + np.abs(self.XT).max(axis=1)
        self.divides = DIV.name in task.prior.units
        self.offset = offset

    def pure(self, rng: np.random.Generator) -> Law:
        """A power with small random exponents, some inputs shifted; nothing inside."""
        d = len(self.XT)
        margin = self.span * np.exp(rng.uniform(np.log(0.1), np.log(2.0), d))
        plain = (self.low > 0) & (rng.random(d) < 0.6)
        shifts = np.where(plain, 0.0, margin - self.low)
        theta = np.array([*shifts, 0.0, 1.0, 0.0, 1.0, 0.0])
        return self._fitted(Law(LawForm(IDENTITY, False), self._draw(rng), np.zeros(d, int), theta))

    def start(self, shape: LawForm, best: Law, rng: np.random.Generator) -> Law:
        """A law that begins with the exponents of the best one so far, in front, inside or both."""
        d = len(self.XT)
        p = best.p if rng.random() < FROM_BEST else self._draw(rng)
        theta = np.array([*best.theta[: d + 1], *shape.starts, 1.0, 0.0])
        if best.q.any() and rng.random() < FROM_BEST:
            return self._fitted(Law(shape, p, best.q, theta))
        q = self._draw(rng)
        if not q.any():
            q[rng.integers(d)] = 1
        low = np.where((p < 0) | (q < 0), 0.01 * self.span - self.low, -np.inf)
        theta[:d] = np.maximum(theta[:d], low)
        theta[d] = rng.choice([-1.0, 1.0]) * rng.uniform(0.1, 0.8) / self._middle(q, theta)
        return self._fitted(Law(shape, p, q, theta))

    def _draw(self, rng: np.random.Generator) -> Indices:
        return rng.integers(-1 if self.divides else 0, 2, len(self.XT))

    def score(self, law: Law) -> float:
        """Log of the error and a price for the exponents; the lower the better."""
        return 0.5 * math.log(law.error + 1e-300) + self.settings.price * law.size

    def climb(self, law: Law) -> Generator[None, None, list[Law]]:
        """Go to the best neighbour until there is none better; yields signs of life.

        Returns the last law, and after it those of its neighbours that are hardly worse: what the
        rows cannot tell apart, the points outside may.
        """
        near: list[Law] = []
        for _ in range(self.settings.rounds):
            best, near = law, []
            for look in (self._neighbours, self._pairs):
                near += look(law)
                best = min([best, *near], key=self.score)
                yield
                if self.score(best) < self.score(law) - 1e-9:
                    break
            else:
                break
            law = best
            if law.error < EXACT**2:
                return [law]
        rivals = [n for n in near if n.error < RIVAL * law.error and n.size <= law.size]
        return [law, *sorted(rivals, key=self.score)[: self.settings.rivals]]

    def _neighbours(self, law: Law) -> Iterator[Law]:
        """One input with other exponents, k with the other sign, or h(z) as z h(z) or h(z)/z."""
        if law.q.any():
            flipped = law.theta.copy()
            flipped[len(law.p)] *= -1.0
            yield self._fitted(replace(law, theta=flipped))
            yield self._moved(law, law.p + law.q, law.q)
            yield self._moved(law, law.p - law.q, law.q)
        for i in range(len(law.p)):
            for dp, dq in product((-1, 0, 1), repeat=2):
                if dp or dq:
                    p, q = law.p.copy(), law.q.copy()
                    p[i] += dp
                    q[i] += dq
                    yield self._moved(law, p, q)

    def _pairs(self, law: Law) -> Iterator[Law]:
        """Two inputs with other exponents, both in front or both inside."""
        for i, j in combinations(range(len(law.p)), 2):
            for a, b in product((-1, 1), repeat=2):
                change = np.zeros_like(law.p)
                change[[i, j]] = a, b
                yield self._moved(law, law.p + change, law.q)
                yield self._moved(law, law.p, law.q + change)

    def _moved(self, law: Law, p: Indices, q: Indices) -> Law:
        """A law with other exponents, whose argument has the same size in the middle."""
        exponents = np.concatenate([p, q])
        if (
            np.abs(exponents).max() > self.settings.largest
            or q.any() != law.q.any()
            or not (self.divides or exponents.min() >= 0)
        ):
            return replace(law, error=math.inf)
        theta = law.theta.copy()
        theta[len(p)] *= self._middle(law.q, theta) / self._middle(q, theta)
        return self._fitted(replace(law, p=p, q=q, theta=theta))

    def _middle(self, q: Indices, theta: Array) -> float:
        return float(np.prod((np.abs(self.middle + theta[: len(q)]) + 1e-9) ** q))

    def _fitted(self, law: Law) -> Law:
        from ieql.training.fast.law_kernel import fit_law  # compiled when it is imported

        d = len(law.p)
        used = np.flatnonzero((law.p != 0) | (law.q != 0))
        extra = [bool(law.q.any()), *law.shape.free, True, self.offset]
        free = np.concatenate([used, d + np.flatnonzero(extra)])
        calls = addresses([law.shape.unit])
        assert calls is not None, "law_forms has left out what cannot be compiled"
        theta, error = fit_law(
            law.p, law.q, law.shape.unit.code, int(calls[0]), law.shape.reciprocal, law.theta, free,
            self.XT, self.y, self.root, self.low, self.high, self.settings.steps,
        )  # fmt: skip
        return replace(law, theta=theta, error=error)
