"""A seeded generator of equations that an engineer or physicist might write.

An equation is a sum of one to three terms; a term is a product or quotient of factors: inputs,
powers, saturations, decays, oscillations, roots, logarithms. Constants are natural numbers (1, 2.5,
0.3 …), chosen so that on the ranges of the inputs a decay spans a few time constants, a wave at
most two periods, terms are of similar size and the output has a spread of about one. What cannot be
learned, or is hardly an equation of its inputs, is thrown away (see `_is_reasonable`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.prior import PRESETS

__all__ = ["RandomEquation", "depth", "equations", "formula", "term"]

Array = NDArray[np.float64]
T = TypeVar("T")
MAX_DEPTH = 4
MAX_PARAMETERS = 20
MAX_KURTOSIS = 20.0
MAX_LINEAR_R2 = 0.98
MIN_EFFECT = 0.1
"""Shuffling a relevant input changes the output by at least this part of its spread (RMS)."""
MIN_MARGIN = 0.05
"""Singular arguments stay positive, their least at least this part of their largest."""
N_SAMPLES = 1_000
RANGES = ((-1, 1), (0, 1), (1, 5), (-3, 3), (0, 2), (0.5, 2), (-2, 2), (1, 3), (0, 10), (20, 80))
RANGE_ODDS = (4, 3, 3, 2, 2, 2, 2, 2, 1, 1)
RELEVANT_ODDS = {1: 3, 2: 6, 3: 5, 4: 3, 5: 2, 6: 1}
NOISES = (0.0, 0.01, 0.03, 0.1)
CLUMSY = (["exp"], ["sqrt"], ["square"])
MANTISSAS = {1: 8, 2: 5, 3: 3, 4: 2, 5: 4, 1.5: 3, 2.5: 2, 6: 1, 7: 1, 8: 1, 1.2: 1}


@dataclass(frozen=True)
class RandomEquation:
    """A formula, its inputs with their ranges, those that matter, and a noise level."""

    name: str
    formula: str
    ranges: Mapping[str, tuple[float, float]]
    relevant: tuple[str, ...]
    noise: float


def equations(
    family: int = 0,
    letter: str = "R",
    n_relevant: int | None = None,
    n_inputs: int | None = None,
) -> Iterator[RandomEquation]:
    """Yield equations without end; number k of a family is always the same.

    Parameters
    ----------
    family : int
        Another family, other equations.
    letter : str
        Names are letter, family and number: ``R0-017``.
    n_relevant, n_inputs : int, optional
        How many inputs matter, and how many there are; default: 1 to 6, and 0 to 4 more.
    """
    k = 0
    while True:
        rng = np.random.default_rng([family, ord(letter), k])
        yield _equation(f"{letter}{family}-{k:03d}", n_relevant, n_inputs, rng)
        k += 1


def _equation(
    name: str, n_relevant: int | None, n_inputs: int | None, rng: np.random.Generator
) -> RandomEquation:
    n = n_relevant or _pick(rng, RELEVANT_ODDS)
    d = n_inputs or n + int(rng.integers(5))
    names = [f"x{j + 1}" for j in range(d)]
    ranges = {x: RANGES[k] for x, k in zip(names, _ranges(rng, d), strict=True)}
    relevant = sorted(rng.choice(names, n, replace=False).tolist(), key=names.index)
    while True:
        draft = _Draft({x: ranges[x] for x in relevant}, rng)
        formula = draft.equation()
        if _is_reasonable(formula, draft):
            break
    return RandomEquation(name, formula, ranges, tuple(relevant), float(rng.choice(NOISES)))


def formula(ranges: Mapping[str, tuple[float, float]], rng: np.random.Generator) -> str:
    """A formula of all these inputs, on these ranges."""
    while True:
        draft = _Draft(ranges, rng)
        text = draft.equation()
        if _is_reasonable(text, draft):
            return text


def term(ranges: Mapping[str, tuple[float, float]], rng: np.random.Generator) -> str:
    """A single term of all these inputs, of the kind that formulas are made of."""
    return _Draft(ranges, rng).term(list(ranges))


def _ranges(rng: np.random.Generator, n: int) -> list[int]:
    odds = np.array(RANGE_ODDS) / sum(RANGE_ODDS)
    return [int(k) for k in rng.choice(len(RANGES), n, p=odds)]


def _pick(rng: np.random.Generator, odds: Mapping[T, float]) -> T:
    keys = list(odds)
    weights = np.array(list(odds.values()), dtype=float)
    return keys[int(rng.choice(len(keys), p=weights / weights.sum()))]


class _Draft:
    """Writes one formula over the given inputs; each method returns text that uses all `names`."""

    def __init__(self, ranges: Mapping[str, tuple[float, float]], rng: np.random.Generator) -> None:
        self.rng = rng
        self.names = list(ranges)
        low, high = np.array(list(ranges.values()), dtype=float).T
        self.X = rng.uniform(low, high, (N_SAMPLES, len(low)))
        self.corners = np.array(list(product(*ranges.values())), dtype=float)

    # --- numbers ---------------------------------------------------------------------------------

    def values(self, text: str) -> Array:
        return Expression.parse(text, self.names).evaluate(self.X)[:, 0]

    def range(self, text: str) -> tuple[float, float]:
        z = self.values(text)
        return float(z.min()), float(z.max())

    def natural(self, low: float, high: float) -> str:
        """A natural number between two positive bounds, the simpler the likelier."""
        decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        odds = {
            f"{m * 10.0**e:.3g}": w
            for e in decades
            for m, w in MANTISSAS.items()
            if low <= m * 10.0**e <= high
        }
        number = _pick(self.rng, odds) if odds else f"{np.sqrt(low * high):.1g}"
        return f"{float(number):.6f}".rstrip("0").rstrip(".")

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def sign(self) -> str:
        return "-" if self.chance(0.35) else "+"

    def parts(self, names: list[str], n: int) -> list[list[str]]:
        """The names dealt at random into n parts, none of them empty."""
        shuffled = self.rng.permutation(names).tolist()
        parts = [[x] for x in shuffled[:n]]
        for x in shuffled[n:]:
            parts[int(self.rng.integers(n))].append(x)
        return parts

    # --- from the whole to the parts -------------------------------------------------------------

    def equation(self) -> str:
        text = ""
        for names in self.term_names():
            term = self.term(names)
            size = self.rng.uniform(0.5, 1.2) / float(np.std(self.values(term)))
            text += f" {self.sign()} {_times(self.natural(0.8 * size, 1.25 * size), term)}"
        if self.chance(0.4):
            text += f" {self.sign()} {self.natural(0.2, 3)}"
        return text.removeprefix(" + ").replace(" - ", "-", 1 if text.startswith(" - ") else 0)

    def term_names(self) -> list[list[str]]:
        """Which inputs enter which term: each at least one, some two."""
        n = min(_pick(self.rng, {1: 4, 2: 5, 3: 2}), 1 + len(self.names))
        if n <= len(self.names):
            parts = self.parts(self.names, n)
        else:
            parts = [list(self.names) for _ in range(n)]
        for part in parts:
            others = [x for x in self.names if x not in part]
            if others and self.chance(0.2):
                part.append(str(self.rng.choice(others)))
        return parts

    def term(self, names: list[str]) -> str:
        if len(names) == 1 and self.chance(0.3):
            return f"{self.factor(names)}*{self.factor(names)}"
        if len(names) == 1:
            return self.factor(names)
        groups = self.parts(names, min(len(names), _pick(self.rng, {1: 2, 2: 5, 3: 2})))
        text = self.factor(groups[0])
        for group in groups[1:]:
            if self.chance(0.3):
                text += f"/({self.positive(group)})"
            else:
                text += f"*{self.factor(group)}"
        return text

    def factor(self, names: list[str]) -> str:
        """Something that can stand in a product without brackets around it."""
        if len(names) > 1:
            kind = _pick(self.rng, {"unit": 6, "sum": 3})
            return self.unit(names) if kind == "unit" else f"({self.sum(names)})"
        x = names[0]
        kind = _pick(self.rng, {"bare": 6, "square": 2, "shifted": 2, "unit": 9, "saturation": 1})
        if kind == "bare":
            return x
        if kind == "square":
            return f"{x}**2"
        if kind == "shifted":
            low, high = self.range(x)
            return f"({x} {self.sign()} {self.natural(0.2 * (high - low), high - low)})"
        if kind == "unit":
            return self.unit(names)
        low, high = self.range(x)
        least = max(-low, 0.0) + 0.15 * (high - low)
        return f"({x}/({x} + {self.natural(least, least + high - low)}))"

    def unit(self, names: list[str]) -> str:
        kind = _pick(self.rng, {"exp": 4, "wave": 5, "sqrt": 3, "log": 2, "square": 2})
        if kind in ("sqrt", "log"):
            return f"{kind}({self.positive(names)})"
        z = self.argument(names)
        low, high = self.range(z)
        span = max(high - low, 1e-9)
        if kind == "exp":
            sign = "-" if self.chance(0.75) else ""
            return f"exp({sign}{_times(self.natural(0.7 / span, 4 / span), z)})"
        if kind == "square":
            return f"({z} {self.sign()} {self.natural(0.1 * span, 0.6 * span)})**2"
        wave = "sin" if self.chance(0.6) else "cos"
        number = self.natural(1.5 / span, 12 / span)
        if self.chance(0.25) and 1.5 < np.pi * span < 13:
            number = f"{np.pi:.6f}"
        phase = f" + {self.natural(0.3, 2)}" if self.chance(0.3) else ""
        return f"{wave}({_times(number, z)}{phase})"

    def argument(self, names: list[str]) -> str:
        """The inside of a unit; a product, power or single unit, or a sum in brackets."""
        if len(names) == 1:
            kind = _pick(self.rng, {"bare": 8, "square": 2, "unit": 2})
            x = names[0]
            return x if kind == "bare" else f"{x}**2" if kind == "square" else self.unit(names)
        kind = _pick(self.rng, {"sum": 5, "product": 3, "quotient": 2})
        if kind == "sum":
            return f"({self.sum(names)})"
        one, two = self.parts(names, 2)
        if kind == "product":
            return f"{self.argument(one)}*{self.argument(two)}"
        return f"{self.argument(one)}/({self.positive(two)})"

    def sum(self, names: list[str]) -> str:
        """A sum with one summand per input, or of squares, of similar size."""
        squares = self.chance(0.2)
        summands = [f"{x}**2" if squares else x for x in names]
        if len(names) == 1:
            return summands[0]
        text, size = summands[0], float(np.std(self.values(summands[0])))
        for summand in summands[1:]:
            ratio = size / float(np.std(self.values(summand)))
            number = self.natural(0.4 * ratio, 2.5 * ratio)
            text += f" {'+' if squares else self.sign()} {_times(number, summand)}"
        return text

    def positive(self, names: list[str]) -> str:
        """A sum that stays clear of zero: the inside of a root or logarithm, or a denominator."""
        z = self.argument(names)
        low, high = self.range(z)
        span = high - low
        if low > 0.1 * high and self.chance(0.5):
            return z
        if self.chance(0.15):
            return f"{self.natural(high + 0.15 * span, max(high + span, 0.3 * span))} - {z}"
        least = max(-low, 0.0) + 0.15 * span
        return f"{z} + {self.natural(least, least + span)}"


def _times(number: str, text: str) -> str:
    return text if number == "1" else f"{number}*{text}"


# --- what is thrown away -----------------------------------------------------------------------


def depth(expression: Expression) -> int:
    """Number of units on the longest way from an input to the output."""
    levels = [0] * len(expression.names)
    for node in expression.nodes:
        levels.append(1 + max((levels[i] for a in node.args for i in a.sources), default=0))
    return max((levels[i] for s in expression.outputs for i in s.sources), default=0)


def _is_reasonable(formula: str, draft: _Draft) -> bool:
    """Tell whether the equation can be learned and is one of all its inputs."""
    # A sine is a cosine for the prior, which has only the one.
    expression = Expression.parse(formula.replace("sin(", "cos("), draft.names)
    if not expression.is_allowed(PRESETS["plain"]) or depth(expression) > MAX_DEPTH:
        return False
    expression = Expression.parse(formula, draft.names)
    y = expression.evaluate(draft.X)[:, 0]
    spread = float(np.std(y))
    effects = [_effect(expression, draft, j) for j in range(len(draft.names))]
    return (
        bool(np.all(np.isfinite(y)))
        and expression.n_parameters <= MAX_PARAMETERS
        and 0.3 < spread < 3.0
        and float(np.mean((y - y.mean()) ** 4)) < MAX_KURTOSIS * spread**4
        and _linear_r2(draft.X, y) < MAX_LINEAR_R2
        and not _is_clumsy(expression)
        and _is_clear_of_singularities(expression, np.concatenate([draft.X, draft.corners]))
        and min(effects) > MIN_EFFECT * spread
    )


def _linear_r2(X: Array, y: Array) -> float:
    A = np.column_stack([X, np.ones(len(X))])
    residual = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    return 1.0 - float(np.var(residual) / np.var(y))


def _is_clumsy(expression: Expression) -> bool:
    """Tell whether a unit stands directly on one that undoes it, like the root of a square."""
    d = len(expression.names)
    kinds = [None] * d + [node.unit.name for node in expression.nodes]
    for node in expression.nodes:
        bare = [kinds[a.sources[0]] for a in node.args if len(a.sources) == 1 and a.bias == 0.0]
        if node.unit.name in ("sqrt", "log", "square") and bare[:1] in CLUMSY:
            return True
        if node.unit.name in ("mul", "div") and bare == ["exp", "exp"]:
            return True
    return False


def _is_clear_of_singularities(expression: Expression, X: Array) -> bool:
    for node, args in zip(expression.nodes, expression.arguments(X), strict=True):
        for a in node.unit.singular:
            if args[a].min() < MIN_MARGIN * np.abs(args[a]).max():
                return False
    return True


def _effect(expression: Expression, draft: _Draft, j: int) -> float:
    shuffled = draft.X.copy()
    shuffled[:, j] = shuffled[::-1, j]
    difference = expression.evaluate(shuffled)[:, 0] - expression.evaluate(draft.X)[:, 0]
    return float(np.sqrt(np.mean(difference**2)))
