"""Equations as sums of products of powers, in which equal things are recognised as equal.

The graph of an `Expression` says how something is computed; this algebra says what it is. A `Terms`
is a number plus multiples of products, a product is a set of bases with exponents, and a base is an
input, a sum in brackets or a unit of sums. Whatever is built here is in standard form at once:
equal factors and terms are collected, quotients are powers, a root of a root is one power,
exponentials of logarithms are powers, the phases of waves are in (-π/2, π/2], and everything stands
in an order that does not depend on how it was found.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression, Sum
from ieql.units import COS, EXP, LOG, SIN, Unit

__all__ = ["Algebra", "Base", "NotRegularError", "Product", "Terms"]

Array = NDArray[np.float64]
Product = tuple[tuple[int, float], ...]
"""Numbers of bases with their exponents, in their order; the empty product is 1."""
DIGITS = 11
"""Significant digits by which numbers are told apart."""
SAME_PHASE = 1e-9
"""Phases this close to a quarter turn are one."""
SAME_EXPONENT = 1e-9
"""Exponents this close to a multiple of a half are that."""
SMALL_TERM = 0.01
"""A term whose values spread less than this part of the largest one does not set the scale."""
LONGEST_LABEL = 200
BRACKET_RANK, CALL_RANK = 1, 2
LARGEST = 1e150
ROUNDING = 1e-14
"""What rounding leaves of a difference of equal numbers, as a part of them."""


class NotRegularError(Exception):
    """An equation that cannot be brought into standard form: a number in it is not finite."""


class Terms(NamedTuple):
    """A number plus multiples of products, in their order."""

    bias: float
    terms: tuple[tuple[float, Product], ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether it is a number."""
        return not self.terms

    def scaled(self, factor: float) -> Terms:
        """The same times a number."""
        return Terms(self.bias * factor, tuple((c * factor, p) for c, p in self.terms))


class Base(NamedTuple):
    """What is raised to a power: an input, a sum in brackets (no unit), or a unit of sums."""

    unit: Unit | None
    args: tuple[Terms, ...]
    order: tuple[int, str]
    """Where it stands among the factors of a product: inputs, then brackets, then units."""
    degree: float
    values: Array
    """On the points at which signs are looked at."""

    @property
    def is_input(self) -> bool:
        """Whether it is an input."""
        return not self.args


class Algebra:
    """Makes `Terms` for the inputs `names`.

    Parameters
    ----------
    names : sequence of str
        The inputs.
    X : array (rows, inputs)
        Points on which the equations have to be right; signs are read from them.
    splits_waves : bool
        Write products of waves as sums of waves: cos²(z) = cos(2z)/2 + 1/2.
    clears_brackets : bool
        Leave no denominator in a bracket: 1/(2 + 3/x) = x/(2x + 3).
    keeps_scales : bool
        Leave the scale of a sum in its logarithm: log(1 + 2x), not log(x + 1/2) + log(2).
    """

    def __init__(
        self,
        names: Sequence[str],
        X: Array,
        splits_waves: bool = False,
        clears_brackets: bool = False,
        keeps_scales: bool = False,
    ) -> None:
        self.names = tuple(names)
        self.splits_waves = splits_waves
        self.clears_brackets = clears_brackets
        self.keeps_scales = keeps_scales
        self.n_points = len(X)
        self.bases: list[Base] = [
            Base(None, (), (0, f"{i:06d}"), 1.0, np.ascontiguousarray(X[:, i], dtype=np.float64))
            for i in range(len(names))
        ]
        self._known: dict[tuple[object, ...], int] = {}

    # --- reading -------------------------------------------------------------------------------

    def read(self, expression: Expression) -> tuple[Terms, ...]:
        """The outputs of an expression."""
        values = [Terms(0.0, ((1.0, ((i, 1.0),)),)) for i in range(len(self.names))]
        with np.errstate(all="ignore"):
            for node in expression.nodes:
                values.append(self.apply(node.unit, [self.affine(a, values) for a in node.args]))
            return tuple(self.affine(s, values) for s in expression.outputs)

    def affine(self, s: Sum, values: Sequence[Terms]) -> Terms:
        """An affine map of terms."""
        parts = [values[i].scaled(w) for i, w in zip(s.sources, s.weights, strict=True)]
        return self.total([Terms(s.bias), *parts])

    def apply(self, unit: Unit, args: Sequence[Terms]) -> Terms:
        """A unit of terms."""
        if unit.powers and _is_total(unit) and not unit.sharp:
            return self.product([self.power(a, p) for a, p in zip(args, unit.powers, strict=True)])
        if unit is EXP:
            return self.exponential(args[0])
        if unit is LOG:
            return self.logarithm(args[0])
        if unit in (COS, SIN):
            return self.wave(args[0], 0.0 if unit is COS else -0.5 * math.pi)
        return self._call(unit, args)

    # --- sums ----------------------------------------------------------------------------------

    def total(self, parts: Iterable[Terms]) -> Terms:
        """The sum of some terms; equal products are collected, and waves of one argument."""
        bias = 0.0
        found: dict[tuple[tuple[int, str], ...], tuple[float, float, Product]] = {}
        for part in parts:
            bias += part.bias
            for c, p in part.terms:
                key = tuple((b, _key(e)) for b, e in p)
                before, size, _ = found.get(key, (0.0, 0.0, p))
                found[key] = (before + c, max(size, abs(c)), p)
        # What rounding leaves of a difference of equal terms is nothing.
        terms = [(c, p) for c, size, p in found.values() if abs(c) > ROUNDING * size]
        if not math.isfinite(bias) or not all(math.isfinite(c) for c, _ in terms):
            raise NotRegularError
        waves = self._one_wave(terms)
        if waves is not None:
            return self.total([Terms(bias, waves[0]), waves[1]])
        logs = self._one_logarithm(terms)
        if logs is not None:
            return self.total([Terms(bias, logs[0]), logs[1]])
        if bias != 0.0:
            squares = self._one_square(terms)
            if squares is not None:
                return self.total([Terms(bias, squares[0]), squares[1]])
        terms = [self._without_sign(c, p) for c, p in terms]
        return Terms(bias, tuple(sorted(terms, key=lambda term: self._term_order(term[1]))))

    def _without_sign(self, c: float, product: Product) -> tuple[float, Product]:
        """A logarithm of a quotient has no sign: -log(x/y) = log(y/x)."""
        base = self.bases[product[0][0]]
        if c < 0.0 and len(product) == 1 and product[0][1] == 1.0 and base.unit is LOG:
            z = base.args[0]
            if z.bias == 0.0 and len(z.terms) == 1 and any(e < 0.0 for _, e in z.terms[0][1]):
                return -c, ((self._number(LOG, (self.power(z, -1.0),)), 1.0),)
        return c, product

    def _term_order(self, product: Product) -> tuple[object, ...]:
        """Polynomials before functions, higher degrees before lower ones, then by name."""
        degree = sum(self.bases[b].degree * e for b, e in product)
        functions = [self.bases[b].order for b, _ in product if self.bases[b].order[0] == CALL_RANK]
        labels = tuple((*self.bases[b].order, -e) for b, e in product)
        return bool(functions), -round(degree, 6), labels

    def _one_wave(
        self, terms: list[tuple[float, Product]]
    ) -> tuple[tuple[tuple[float, Product], ...], Terms] | None:
        """Two waves of one argument as one: a·cos(z) + b·sin(z) = A·cos(z + φ)."""
        seen: dict[tuple[object, ...], int] = {}
        for n, (c, p) in enumerate(terms):
            waves = [b for b, e in p if e == 1.0 and self.bases[b].unit in (COS, SIN)]
            if len(waves) != 1:
                continue
            z, phase = self._phase(self.bases[waves[0]])
            key = (_terms_key(z), tuple((b, _key(e)) for b, e in p if b != waves[0]))
            if key not in seen:
                seen[key] = n
                continue
            m = seen[key]
            d, q = terms[m]
            other = next(b for b, e in q if e == 1.0 and self.bases[b].unit in (COS, SIN))
            _, shift = self._phase(self.bases[other])
            a = c * math.cos(phase) + d * math.cos(shift)
            b = c * math.sin(phase) + d * math.sin(shift)
            size = max(abs(c), abs(d))
            a, b = (v if abs(v) > ROUNDING * size else 0.0 for v in (a, b))
            rest = tuple(term for k, term in enumerate(terms) if k not in (n, m))
            factors = tuple(factor for factor in p if factor[0] != waves[0])
            wave = self.wave(z, math.atan2(b, a)).scaled(math.hypot(a, b))
            whole = self.product([wave, Terms(0.0, ((1.0, factors),))]) if factors else wave
            return rest, whole
        return None if self.splits_waves else self._product_of_waves(terms)

    def _product_of_waves(
        self, terms: list[tuple[float, Product]]
    ) -> tuple[tuple[tuple[float, Product], ...], Terms] | None:
        """A sum of two waves of one height as a product of simpler ones.

        cos(x + y) + cos(x - y) = 2 cos(x)·cos(y).
        """
        waves = [
            (n, c, p[0][0])
            for n, (c, p) in enumerate(terms)
            if len(p) == 1 and p[0][1] == 1.0 and self.bases[p[0][0]].unit in (COS, SIN)
        ]
        for (n, c, one), (m, d, other) in combinations(waves, 2):
            if _key(abs(c)) != _key(abs(d)):
                continue
            u, phase = self._phase(self.bases[one])
            v, shift = self._phase(self.bases[other])
            shift += math.pi if c * d < 0.0 else 0.0
            mean = self.total([u.scaled(0.5), v.scaled(0.5)])
            half = self.total([u.scaled(0.5), v.scaled(-0.5)])
            if max(len(mean.terms), len(half.terms)) >= max(len(u.terms), len(v.terms)):
                continue
            waves_of = [
                self.wave(mean, 0.5 * (phase + shift)),
                self.wave(half, 0.5 * (phase - shift)),
            ]
            rest = tuple(term for k, term in enumerate(terms) if k not in (n, m))
            return rest, self.product(waves_of).scaled(2.0 * c)
        return None

    def _one_square(
        self, terms: Sequence[tuple[float, Product]]
    ) -> tuple[tuple[tuple[float, Product], ...], Terms] | None:
        """a·x² + b·x as a·(x + c)², unless its vertex is far from the points."""
        linear = {p[0][0]: n for n, (_, p) in enumerate(terms) if len(p) == 1 and p[0][1] == 1.0}
        for m, (a, q) in enumerate(terms):
            if len(q) != 1 or q[0][1] != 2.0 or q[0][0] not in linear:
                continue
            n = linear[q[0][0]]
            b, p = terms[n]
            if sum(q[0][0] in dict(r) for _, r in terms) > 2:
                continue
            shift = 0.5 * b / a
            values = self.bases[q[0][0]].values
            low, high = float(np.min(values)), float(np.max(values))
            if not low - (high - low) < -shift < high + (high - low):
                continue
            rest = tuple(term for k, term in enumerate(terms) if k not in (n, m))
            square = self.power(Terms(shift, ((1.0, p),)), 2.0).scaled(a)
            return rest, self.total([square, Terms(-a * shift**2)])
        return None

    def _one_logarithm(
        self, terms: list[tuple[float, Product]]
    ) -> tuple[tuple[tuple[float, Product], ...], Terms] | None:
        """Two logarithms of equal weight as one: a·log(x) - a·log(y) = a·log(x/y)."""
        seen: dict[str, int] = {}
        for n, (c, p) in enumerate(terms):
            if len(p) != 1 or p[0][1] != 1.0 or self.bases[p[0][0]].unit is not LOG:
                continue
            m = seen.setdefault(_key(abs(c)), n)
            if m == n:
                continue
            d, q = terms[m]
            inner = [self.bases[r[0][0]].args[0] for r in (q, p)]
            ratio = self.product([inner[0], self.power(inner[1], 1.0 if c * d > 0.0 else -1.0)])
            rest = tuple(term for k, term in enumerate(terms) if k not in (n, m))
            return rest, self._plain_logarithm(ratio).scaled(d)
        return None

    # --- products ------------------------------------------------------------------------------

    def product(self, parts: Sequence[Terms]) -> Terms:
        """The product of some terms."""
        coefficient = 1.0
        exponents: dict[int, float] = {}
        inside: list[Terms] = []
        for part in parts:
            if part.is_constant:
                coefficient *= part.bias
                continue
            c, p = self._single(part)
            coefficient *= c
            for b, e in p:
                if self.bases[b].unit is EXP:
                    inside.append(self.bases[b].args[0].scaled(e))
                else:
                    exponents[b] = exponents.get(b, 0.0) + e
        if not math.isfinite(coefficient) or abs(coefficient) > LARGEST:
            raise NotRegularError
        if coefficient == 0.0:
            return Terms(0.0)
        if len(inside) == 1:
            b = self._number(EXP, (inside[0],))
            exponents[b] = 1.0
        elif inside:
            whole = self.exponential(self.total(inside))
            others = self._term(coefficient, list(exponents.items()))
            return self.product([others, whole])
        factors = [(b, e) for b, e in ((b, _simple(e)) for b, e in exponents.items()) if e != 0.0]
        pair = self._two_waves(factors) if self.splits_waves else None
        if pair is None:
            return self._term(coefficient, factors)
        rest, parts = pair
        known = self._term(coefficient, rest)
        return self.total([self.product([known, part]) for part in parts])

    def _two_waves(
        self, factors: list[tuple[int, float]]
    ) -> tuple[list[tuple[int, float]], tuple[Terms, Terms]] | None:
        """Two waves among some factors as the sum of waves that they are, and the other factors.

        cos(u)·cos(v) = (cos(u - v) + cos(u + v))/2.
        """
        waves = [
            (b, e)
            for b, e in factors
            if self.bases[b].unit in (COS, SIN) and e >= 1.0 and e == int(e)
        ]
        pair = [b for b, e in waves for _ in range(min(int(e), 2))][:2]
        if len(pair) < 2:
            return None
        (u, phase), (v, shift) = (self._phase(self.bases[b]) for b in pair)
        difference = self.total([u, v.scaled(-1.0)])
        together = self.total([u, v])
        parts = (
            self.wave(difference, phase - shift).scaled(0.5),
            self.wave(together, phase + shift).scaled(0.5),
        )
        left = dict(factors)
        for b in pair:
            left[b] -= 1.0
        return [(b, e) for b, e in left.items() if e != 0.0], parts

    def _term(self, coefficient: float, factors: list[tuple[int, float]]) -> Terms:
        if not factors:
            return Terms(coefficient)
        if len(factors) == 1 and factors[0][1] == 1.0:
            base = self.bases[factors[0][0]]
            if base.unit is None and base.args:
                return base.args[0].scaled(coefficient)
        factors.sort(key=lambda factor: self.bases[factor[0]].order)
        return Terms(0.0, ((coefficient, tuple(factors)),))

    def power(self, z: Terms, exponent: float) -> Terms:
        """Terms to a power."""
        exponent = _simple(exponent)
        if z.is_constant:
            if z.bias == 0.0 and exponent < 0.0:
                raise NotRegularError
            if z.bias < 0.0 and exponent != int(exponent):
                raise NotRegularError
            return Terms(_raised(z.bias, exponent))
        c, p = self._single(z)
        whole = exponent == int(exponent)
        if c < 0.0 and not whole:
            # The root of something negative: only if the whole is a positive number times it.
            return self._root_of_all(-c, z.scaled(-1.0 / c), exponent)
        factors: list[tuple[int, float]] = []
        sign = 1.0
        hidden: list[tuple[int, float]] = []
        for b, e in p:
            values = self.bases[b].values
            if self.bases[b].unit is EXP:
                factors.append((b, e * exponent))
            elif whole or np.all(values >= 0.0) or _stays_even(e, exponent):
                factors.append((b, _simple(e * exponent)))
            elif e == int(e) and int(e) % 2 == 0 and np.all(values <= 0.0):
                # The root of a square is a size, and the size of something negative its opposite.
                combined = _simple(e * exponent)
                if combined != int(combined):
                    hidden.append((b, e))
                    continue
                sign *= -1.0 if int(combined) % 2 else 1.0
                factors.append((b, combined))
            else:
                hidden.append((b, e))
        known = self.product([Terms(0.0, ((1.0, ((b, e),)),)) for b, e in factors if e != 0.0])
        result = known.scaled(sign * _raised(c, exponent))
        if len(hidden) == 1 and hidden[0][1] == 1.0:
            result = self.product([result, self._term(1.0, [(hidden[0][0], exponent)])])
        elif hidden:
            rest = self._root_of_all(1.0, Terms(0.0, ((1.0, tuple(hidden)),)), exponent)
            result = self.product([result, rest])
        return result

    def _root_of_all(self, size: float, z: Terms, exponent: float) -> Terms:
        """A power of a sum or product as a whole."""
        base = self._number(None, (z,))
        return Terms(0.0, ((_raised(size, exponent), ((base, exponent),)),))

    def _single(self, z: Terms) -> tuple[float, Product]:
        """Terms as a number times one product; a sum becomes a bracket."""
        if len(z.terms) == 1 and z.bias == 0.0:
            return z.terms[0]
        below = self._denominators(z) if self.clears_brackets else []
        if below:
            above = Terms(0.0, ((1.0, tuple((b, -e) for b, e in below)),))
            terms = [self.product([Terms(0.0, (term,)), above]) for term in z.terms]
            c, p = self._single(self.total([*terms, above.scaled(z.bias)]))
            whole = self._term(c, [*p, *below])
            return whole.terms[0]
        scale = self._scale(z)
        return scale, ((self._number(None, (_exactly_one(z.scaled(1.0 / scale)),)), 1.0),)

    def _denominators(self, z: Terms) -> list[tuple[int, float]]:
        """What the terms of a sum are divided by, as whole powers, the largest of each."""
        least: dict[int, float] = {}
        for _, p in z.terms:
            for b, e in p:
                if e < 0.0 and e == int(e) and self.bases[b].unit is not EXP:
                    least[b] = min(least.get(b, 0.0), e)
        return sorted(least.items(), key=lambda factor: self.bases[factor[0]].order)

    def _scale(self, z: Terms) -> float:
        """The number that is taken out of a sum, so that its first term has none.

        A sum that is negative on all points changes its sign.
        """
        values = [c * self._value_of(p) for c, p in z.terms]
        spreads = [float(np.ptp(v)) if np.all(np.isfinite(v)) else math.inf for v in values]
        largest = max(spreads)
        chosen = next(
            (
                c
                for (c, _), spread in zip(z.terms, spreads, strict=True)
                if not spread < SMALL_TERM * largest
            ),
            z.terms[0][0],
        )
        value = z.bias + np.sum(values, axis=0)
        if np.all(value > 0.0):
            return abs(chosen)
        return -abs(chosen) if np.all(value < 0.0) else chosen

    # --- units ---------------------------------------------------------------------------------

    def exponential(self, z: Terms) -> Terms:
        """Exp of terms: logarithms in it become powers, its constant a factor."""
        rest, powers = [], []
        for c, p in z.terms:
            base = self.bases[p[0][0]]
            if len(p) == 1 and p[0][1] == 1.0 and base.unit is LOG:
                powers.append(self.power(base.args[0], c))
            else:
                rest.append((c, p))
        inside = Terms(z.bias, tuple(rest))
        # The constant that a square brings is a factor here.
        square = self._one_square(rest)
        if square is not None:
            inside = self.total([Terms(z.bias, square[0]), square[1]])
        if abs(inside.bias) > 300.0:
            raise NotRegularError
        parts = [Terms(math.exp(inside.bias)), *powers]
        if inside.terms:
            b = self._number(EXP, (Terms(0.0, inside.terms),))
            parts.append(Terms(0.0, ((1.0, ((b, 1.0),)),)))
        return self.product(parts)

    def logarithm(self, z: Terms) -> Terms:
        """Log of terms: numbers, powers and exponentials come out of it."""
        if z.is_constant:
            if z.bias <= 0.0:
                raise NotRegularError
            return Terms(math.log(z.bias))
        if self.keeps_scales and (len(z.terms) > 1 or z.bias != 0.0):
            return self._plain_logarithm(z)
        c, p = self._single(z)
        if c < 0.0:
            return self._plain_logarithm(z)
        parts = [Terms(math.log(c))]
        rest: list[tuple[int, float]] = []
        for b, e in p:
            if self.bases[b].unit is EXP:
                parts.append(self.bases[b].args[0].scaled(e))
            else:
                rest.append((b, e))
        sizes = {_key(abs(e)) for _, e in rest}
        # What has a root is not negative anyway.
        positive = all(np.all(self.bases[b].values > 0.0) for b, _ in rest)
        if rest and len(sizes) == 1 and (positive or abs(rest[0][1]) != int(abs(rest[0][1]))):
            first = rest[0][1]
            ratio = [(b, e / first) for b, e in rest]
            inner = self.product([Terms(0.0, ((1.0, ((b, _simple(e)),)),)) for b, e in ratio])
            parts.append(self._plain_logarithm(inner).scaled(first))
        elif rest and positive:
            for b, e in rest:
                inner = self._term(1.0, [(b, 1.0)])
                parts.append(self._plain_logarithm(inner).scaled(e))
        elif rest:
            parts.append(self._plain_logarithm(self._term(1.0, rest)))
        return self.total(parts)

    def _plain_logarithm(self, z: Terms) -> Terms:
        if z.is_constant:
            return self.logarithm(z)
        return Terms(0.0, ((1.0, ((self._number(LOG, (z,)), 1.0),)),))

    def wave(self, z: Terms, phase: float) -> Terms:
        """cos(z + phase): the phase comes to (-π/2, π/2], what moves a quarter turn is a sine."""
        if z.is_constant:
            value = math.cos(z.bias + phase)
            return Terms(value if abs(value) > ROUNDING else 0.0)
        phase += z.bias
        z = Terms(0.0, z.terms)
        if z.terms[0][0] < 0.0:
            z, phase = z.scaled(-1.0), -phase
        turns = math.floor(phase / math.pi + 0.5)
        sign = -1.0 if turns % 2 else 1.0
        phase -= turns * math.pi
        if abs(phase) < SAME_PHASE:
            phase = 0.0
        for quarter in (-0.5 * math.pi, 0.5 * math.pi):
            if abs(phase - quarter) < SAME_PHASE:
                b = self._number(SIN, (z,))
                # cos(z - π/2) = sin(z), cos(z + π/2) = -sin(z)
                return Terms(0.0, ((sign if quarter < 0.0 else -sign, ((b, 1.0),)),))
        b = self._number(COS, (Terms(phase, z.terms),))
        return Terms(0.0, ((sign, ((b, 1.0),)),))

    def _phase(self, base: Base) -> tuple[Terms, float]:
        """The argument of a wave without its phase, and the phase of it as a cosine."""
        z = base.args[0]
        return Terms(0.0, z.terms), z.bias - (0.5 * math.pi if base.unit is SIN else 0.0)

    def _call(self, unit: Unit, args: Sequence[Terms]) -> Terms:
        return Terms(0.0, ((1.0, ((self._number(unit, tuple(args)), 1.0),)),))

    # --- bases ---------------------------------------------------------------------------------

    def _number(self, unit: Unit | None, args: tuple[Terms, ...]) -> int:
        """The number of a base, a new one if it has not been met."""
        key = (unit, *map(_terms_key, args))
        if key not in self._known:
            label = ", ".join(self._label(a) for a in args)
            name = "" if unit is None else unit.name
            order = (BRACKET_RANK if unit is None else CALL_RANK, _short(f"{name}({label})"))
            values = [self.value(a) for a in args]
            degree = self._degree(args[0]) if unit is None else 0.0
            self._known[key] = len(self.bases)
            value = values[0] if unit is None else unit(*values)
            self.bases.append(Base(unit, args, order, degree, value))
        return self._known[key]

    def value(self, z: Terms) -> Array:
        """Values on the points."""
        total = np.full(self.n_points, z.bias)
        for c, p in z.terms:
            total += c * self._value_of(p)
        return total

    def _value_of(self, product: Product) -> Array:
        result = np.ones(self.n_points)
        for b, e in product:
            result *= self.bases[b].values if e == 1.0 else self.bases[b].values ** e
        return result

    def _degree(self, z: Terms) -> float:
        return max((sum(self.bases[b].degree * e for b, e in p) for _, p in z.terms), default=0.0)

    def _label(self, z: Terms) -> str:
        """The structure of terms without their constants: what orders those of equal degree."""
        terms = ["*".join(f"{self.bases[b].order[1]}^{e:g}" for b, e in p) for _, p in z.terms]
        return " + ".join(terms)


def _exactly_one(z: Terms) -> Terms:
    """Division may leave 0.9999999999999999 where one is meant."""
    ones = [math.copysign(1.0, c) if abs(abs(c) - 1.0) < 1e-15 else c for c, _ in z.terms]
    return Terms(z.bias, tuple((c, p) for c, (_, p) in zip(ones, z.terms, strict=True)))


def _is_total(unit: Unit) -> bool:
    """Whether a product of powers has no domain but that of the powers."""
    return all(low in (-math.inf, 0.0) and high == math.inf for low, high in unit.domains)


def _stays_even(exponent: float, raised_to: float) -> bool:
    """Whether a power has no sign, and none if it is raised further: √(x⁴) = x²."""
    return exponent % 2.0 == 0.0 and _simple(exponent * raised_to) % 2.0 == 0.0


def _simple(exponent: float) -> float:
    """An exponent without what rounding has left of it."""
    nearest = round(2.0 * exponent) / 2.0
    return nearest if abs(exponent - nearest) < SAME_EXPONENT else exponent


def _raised(value: float, exponent: float) -> float:
    try:
        result = value**exponent
    except (OverflowError, ZeroDivisionError):
        raise NotRegularError from None
    if isinstance(result, complex) or not math.isfinite(result) or abs(result) > LARGEST:
        raise NotRegularError
    return float(result)


def _key(value: float) -> str:
    return f"{value:.{DIGITS}g}"


def _terms_key(z: Terms) -> tuple[object, ...]:
    return (
        _key(z.bias),
        tuple((_key(c), tuple((b, _key(e)) for b, e in p)) for c, p in z.terms),
    )


def _short(label: str) -> str:
    if len(label) <= LONGEST_LABEL:
        return label
    digest = hashlib.sha256(label.encode()).hexdigest()[:16]
    return label[: LONGEST_LABEL - 17] + "~" + digest
