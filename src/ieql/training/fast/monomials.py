"""Monomials for the bank: products of powers of inputs, or of inputs with an offset.

Physics and engineering are full of them, and as random units on units they would hardly ever come
up: with four inputs in the right places a quotient of products is one of thousands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder
from ieql.equations.expression import Sum
from ieql.prior import Prior
from ieql.units import DIV, MUL, SQRT, SQUARE

__all__ = ["N_MONOMIALS", "Monomials"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
N_MONOMIALS = 100
MOST_FACTORS = 4
EXPONENTS = np.array([0.5, 1.0, 2.0])
EXPONENT_CHANCES = (0.12, 0.7, 0.18)


@dataclass(frozen=True)
class Monomials:
    """Products of (x + offset)^exponent, entries × factors; a factor with exponent 0 is none.

    Attributes
    ----------
    start : int
        Place of the first one in the bank.
    sources, offsets, exponents : arrays (entries, factors)
        The factors.
    """

    start: int
    sources: Indices
    offsets: Array
    exponents: Array

    @classmethod
    def draw(
        cls, prior: Prior, XT: Array, chances: Array, rng: np.random.Generator, start: int
    ) -> Monomials:
        """Two to four inputs, some squared, under a root or below the line."""
        width = min(MOST_FACTORS, int(np.count_nonzero(chances)))
        if MUL.name not in prior.units or width < 2:
            none = np.zeros((0, 0))
            return cls(start, none.astype(np.intp), none, none)
        shape = (N_MONOMIALS, width)
        # Without repetition, each input as often as its chance says (Efraimidis and Spirakis).
        keys = rng.random((N_MONOMIALS, len(XT))) ** (1.0 / np.maximum(chances, 1e-300))
        sources = np.argsort(keys, axis=1)[:, ::-1][:, :width]
        exponents = EXPONENTS[rng.choice(3, size=shape, p=EXPONENT_CHANCES)]
        for unit in (SQRT, SQUARE):
            if unit.name not in prior.units:
                exponents[exponents == unit.powers[0]] = 1.0
        if DIV.name in prior.units:
            exponents *= rng.choice([1.0, -1.0], size=shape, p=[0.6, 0.4])
        # Two factors are the most frequent.
        number = 2 + rng.binomial(width - 2, 0.35, size=N_MONOMIALS)
        exponents[np.arange(width) >= number[:, None]] = 0.0
        # Half of the offsets are zero, the others keep a factor away from zero.
        low, span = XT.min(axis=1), np.ptp(XT, axis=1)
        margin = np.exp(rng.uniform(np.log(0.02), np.log(2.0), size=shape))
        plain = rng.random(shape) < 0.5
        offsets = np.where(plain, 0.0, margin * span[sources] - low[sources])
        return cls(start, sources, offsets, exponents)

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def kinds(self) -> list[str]:
        """The outermost unit of each."""
        return [DIV.name if np.any(p < 0) else MUL.name for p in self.exponents]

    def values(self, XT: Array) -> Array:
        """Values at given points, entries × points; NaN where undefined."""
        if not len(self):
            return np.zeros((0, XT.shape[1]))
        base = XT[self.sources] + self.offsets[:, :, None]
        p = self.exponents[:, :, None]
        size = np.abs(p)
        with np.errstate(all="ignore"):
            # The few exponents one by one: much faster than np.power.
            value = np.where(size == 2.0, base * base, np.where(size == 0.5, np.sqrt(base), base))
            value = np.where(p == 0.0, 1.0, np.where(p < 0.0, 1.0 / value, value)).prod(axis=1)
        return np.where(np.isfinite(value), value, np.nan)

    def costs(self, prior: Prior) -> Array:
        """Complexity that a connection to each of them adds."""
        cost = {u: prior.cost(u) for u in ("input", *prior.units)}
        above, below = (self.exponents > 0).sum(axis=1), (self.exponents < 0).sum(axis=1)
        # One connection to each input and each power, one from each product and quotient.
        products = np.maximum(above - 1, 0) + np.maximum(below - 1, 0)
        squares = (np.abs(self.exponents) == 2.0).sum(axis=1)
        roots = (np.abs(self.exponents) == 0.5).sum(axis=1)
        return np.asarray(
            (above + below) * cost["input"]
            + products * cost.get(MUL.name, 0.0)
            + (below > 0) * cost.get(DIV.name, 0.0)
            + squares * cost.get(SQUARE.name, 0.0)
            + roots * cost.get(SQRT.name, 0.0)
        )

    def build(self, entry: int, builder: Builder) -> Sum:
        """The entry as a quotient of products."""
        above, below = Sum(1.0), Sum(1.0)
        row = entry - self.start
        for i, b, p in zip(
            self.sources[row].tolist(),
            self.offsets[row].tolist(),
            self.exponents[row].tolist(),
            strict=True,
        ):
            if p == 0.0:
                continue
            factor = builder.input(i).plus(Sum(b))
            if abs(p) != 1.0:
                factor = builder.apply(SQUARE if abs(p) == 2.0 else SQRT, factor)
            if p > 0:
                above = builder.apply(MUL, above, factor)
            else:
                below = builder.apply(MUL, below, factor)
        return builder.apply(DIV, above, below)
