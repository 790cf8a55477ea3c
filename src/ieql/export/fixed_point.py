"""An equation in integers: a format for every value, the steps, and a bound of the total error.

A value v is kept as the integer closest to v·2^p, where p, the number of its binary places, is
chosen from the range that is proved for it: the integer has at most 30 bits and a sign. Products
and sums are computed with 64 bits and rounded once. What each step may be off, by its rounding and
by the errors of what enters, is bounded in each of many boxes that cover the domain; the largest
error of the output over all boxes is the one that is stated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Sum
from ieql.equations.intervals import Bounds
from ieql.errors import IeqlError
from ieql.export.functions import Domain, Equation
from ieql.export.ranges import Ranges, domain_ends, proved_ranges, single
from ieql.units import COS, DIV, EXP, IDENTITY, LOG, MUL, SIN, SQRT, SQUARE, Unit

__all__ = ["ONE", "UNITS", "FixedInput", "FixedPlan", "fixed_plan"]

Array = NDArray[np.float64]
BITS = 30
"""Bits of a value besides its sign: one is left free, so that rounding never overflows."""
PRODUCT_BITS = 62
"""Bits of what is computed with 64."""
MOST_PLACES = 60
ONE = 2**BITS
"""The number 1 in the functions of the library, all of which have 30 places."""
LAST = 2.0**-BITS
EXP_ERROR = 4.0 * LAST
"""Error of the library's 2^r for r in [0, 1): ten roundings and coefficients, each halved by the
next step, its last rounding, and 1e-11 for the terms that are left out."""
SIN_ERROR = 10.0 * LAST
"""Error of its sine: eight steps with a rounding and a coefficient each, a square, a product."""
LOG_ERROR = 4.0 * LAST
"""Error of its logarithm: the quotient, the series, and the multiple of log 2, each rounded."""
LARGEST_SLIP = 0.5
"""By how much the argument of an exponential may be off: with more, its whole part may be."""
WHAT = "Fixed-point C"


@dataclass(frozen=True)
class FixedInput:
    """An input as an integer: column, word, binary places, and its least and greatest integer."""

    column: str
    word: str
    places: int
    low: int
    high: int


@dataclass(frozen=True)
class FixedPlan:
    """An equation in integers.

    Attributes
    ----------
    inputs : tuple of FixedInput
        In the order of the columns.
    steps : tuple of (str, str, str)
        Type and word of a local, and the C code of its value.
    result : str
        The word of the output.
    places : int
        Binary places of the output.
    low, high : float
        Between which values the output is proved to lie.
    error : float
        How far the output may be off from the exact equation, if each input is the number closest
        to the exact one.
    calls : frozenset of str
        The functions of the library that it needs.
    """

    inputs: tuple[FixedInput, ...]
    steps: tuple[tuple[str, str, str], ...]
    result: str
    places: int
    low: float
    high: float
    error: float
    calls: frozenset[str]


@dataclass(frozen=True)
class _Value:
    """What is known of a value: its word in the code, places, and per box its range and error."""

    word: str
    places: int
    bounds: Bounds
    error: Array

    @property
    def size(self) -> Array:
        """The largest amount of the exact value."""
        return np.maximum(np.abs(self.bounds[0]), np.abs(self.bounds[1]))


def fixed_plan(
    equation: Equation,
    domain: Domain | None,
    arguments: Sequence[tuple[str, str]],
    new_word: Callable[[str], str],
) -> FixedPlan:
    """Choose formats and steps for an equation.

    Parameters
    ----------
    equation : Equation
        What to compute.
    domain : mapping
        The ends of its inputs.
    arguments : sequence of (column, word)
        The inputs that it uses, in order.
    new_word : callable
        Makes a local word from a letter.
    """
    own = [n.unit.name for n in equation.expression.nodes if n.unit not in UNITS]
    if own:
        raise IeqlError(
            f"{WHAT} has no integers for the unit {own[0]!r}; choose an equation without it, or "
            "the format c."
        )
    ranges = proved_ranges(equation, domain, WHAT)
    return _Planner(equation, ranges, new_word).plan(domain, arguments)


class _Planner:
    def __init__(self, equation: Equation, ranges: Ranges, new_word: Callable[[str], str]) -> None:
        self.target = equation.target
        self.expression = single(equation)
        self.ranges = ranges
        self.new_word = new_word
        self.steps: list[tuple[str, str, str]] = []
        self.calls = {"ieql_round"}
        self.known: dict[int, _Value] = {}
        self.n_boxes = len(ranges.output[0])

    def plan(self, domain: Domain | None, arguments: Sequence[tuple[str, str]]) -> FixedPlan:
        inputs = [self.input(column, word, domain) for column, word in arguments]
        d = len(self.expression.names)
        for source in sorted(s for s in self.ranges.values if s >= d):
            node = self.expression.nodes[source - d]
            args = [
                self.sum(a, self.ranges.arguments[source - d, j]) for j, a in enumerate(node.args)
            ]
            self.known[source] = UNITS[node.unit](self, args, self.ranges.values[source])
        output = self.sum(self.expression.outputs[0], self.ranges.output)
        return FixedPlan(
            tuple(inputs),
            tuple(self.steps),
            output.word,
            output.places,
            float(output.bounds[0].min()),
            float(output.bounds[1].max()),
            float(output.error.max()) * (1.0 + 1e-9),
            frozenset(self.calls),
        )

    def input(self, column: str, word: str, domain: Domain | None) -> FixedInput:
        """An input, kept inside its domain; it may be off by one integer at an end."""
        i = self.expression.names.index(column)
        lower, upper = domain_ends(self.expression, domain, WHAT)
        places = self.places(max(abs(lower[i]), abs(upper[i])))
        low = math.ceil(math.ldexp(lower[i], places))
        high = math.floor(math.ldexp(upper[i], places))
        off = 1.0
        if low > high:  # narrower than an integer
            low = high = round(math.ldexp(lower[i], places))
            off = 2.0
        inside = self.new_word("x")
        code = f"ieql_clamp({word}, {_integer(low)}, {_integer(high)})"
        self.calls.add("ieql_clamp")
        self.steps.append(("int32_t", inside, code))
        error = np.full(self.n_boxes, off * 2.0**-places)
        self.known[i] = _Value(inside, places, self.ranges.values[i], error)
        return FixedInput(column, word, places, low, high)

    def places(self, largest: float) -> int:
        """Binary places with which values up to this one fill 30 bits."""
        if not math.isfinite(largest):
            raise IeqlError(
                f"{WHAT} needs bounded values, and something in the equation of {self.target!r} "
                "is not proved to be bounded in the domain; choose another equation or a smaller "
                "domain."
            )
        if largest == 0.0:
            return BITS
        return min(BITS - math.ceil(math.log2(largest)), MOST_PLACES)

    def assign(self, letter: str, code: str, places: int, bounds: Bounds, error: Array) -> _Value:
        """A new local value; the last rounding is added to its error."""
        error = error + 0.5 * 2.0**-places
        reach = np.maximum(np.abs(bounds[0]), np.abs(bounds[1])) + error
        if not np.all(reach < math.ldexp(1.0, BITS + 1 - places)):
            raise self.not_exact()
        word = self.new_word(letter)
        self.steps.append(("int32_t", word, code))
        return _Value(word, places, bounds, error)

    def not_exact(self) -> IeqlError:
        return IeqlError(
            f"{WHAT} is not exact enough for the equation of {self.target!r}: rounding errors "
            "grow beyond its values; choose another equation or a smaller domain."
        )

    # --- sums ----------------------------------------------------------------------------------

    def sum(self, s: Sum, bounds: Bounds) -> _Value:
        """An affine map: integers as factors, one rounding at the end."""
        if s.is_bare:
            value = self.known[s.sources[0]]
            return _Value(value.word, value.places, bounds, value.error)
        pairs = [(self.known[i], w) for i, w in zip(s.sources, s.weights, strict=True) if w != 0.0]
        largest = float(np.maximum(np.abs(bounds[0]), np.abs(bounds[1])).max())
        if not pairs:
            places = self.places(abs(s.bias))
            error = np.full(self.n_boxes, 0.5 * 2.0**-places)
            return _Value(_integer(_scaled(s.bias, places)), places, bounds, error)
        inner = self.inner_places(s.bias, pairs)
        places = min(self.places(largest), inner)
        bias = _scaled(s.bias, inner)
        terms = [_long(bias)] if bias else []
        error = np.full(self.n_boxes, abs(math.ldexp(bias, -inner) - s.bias))
        for value, weight in pairs:
            factor = _scaled(weight, inner - value.places)
            actual = math.ldexp(factor, value.places - inner)
            error = error + abs(actual - weight) * value.size + abs(actual) * value.error
            terms.append(f"({_long(factor)} * (int64_t){value.word})")
        code = " + ".join(terms)
        return self.assign("z", self.rounded(code, inner - places), places, bounds, error)

    def inner_places(self, bias: float, pairs: Sequence[tuple[_Value, float]]) -> int:
        """Places of a sum before it is rounded: factors have 31 bits, the whole less than 62."""
        total = abs(bias) + sum(abs(w) * float((v.size + v.error).max()) for v, w in pairs)
        most = PRODUCT_BITS - 2 - math.ceil(math.log2(total)) if total > 0.0 else MOST_PLACES
        each = [v.places + BITS - math.ceil(math.log2(abs(w))) for v, w in pairs]
        return min(most, *each, MOST_PLACES + BITS)

    def rounded(self, code: str, places: int) -> str:
        """Code of a product or sum without so many of its last places."""
        if places == 0:
            return f"(int32_t)({code})"
        return f"(int32_t)ieql_round({code}, {_long(2**places)})"

    # --- units ---------------------------------------------------------------------------------

    def identity(self, args: Sequence[_Value], bounds: Bounds) -> _Value:
        (z,) = args
        return _Value(z.word, z.places, bounds, z.error)

    def square(self, args: Sequence[_Value], bounds: Bounds) -> _Value:
        return self.product([args[0], args[0]], bounds)

    def product(self, args: Sequence[_Value], bounds: Bounds) -> _Value:
        a, b = args
        places = min(self.places(float(_size(bounds).max())), a.places + b.places, MOST_PLACES)
        error = a.size * b.error + b.size * a.error + a.error * b.error
        code = f"(int64_t){a.word} * (int64_t){b.word}"
        code = self.rounded(code, a.places + b.places - places)
        return self.assign("u", code, places, bounds, error)

    def quotient(self, args: Sequence[_Value], bounds: Bounds) -> _Value:
        a, b = args
        least = self.positive(b)
        places = min(self.places(float(_size(bounds).max())), 31 + a.places - b.places)
        shift = places + b.places - a.places
        above, below = f"(int64_t){a.word}", f"(int64_t){b.word}"
        if shift > 0:
            above = f"{above} * {_long(2**shift)}"
        elif shift < 0:
            below = f"{below} * {_long(2**-shift)}"
        error = (a.error + _size(bounds) * b.error) / least
        code = f"(int32_t)ieql_round({above}, {below})"
        return self.assign("u", code, places, bounds, error)

    def positive(self, z: _Value) -> Array:
        """The least integer value of what must be positive, as a number, in each box."""
        least = z.bounds[0] - z.error
        if not np.all(least >= 2.0**-z.places):
            raise IeqlError(
                f"{WHAT} is not exact enough for the equation of {self.target!r}: a denominator or "
                "the argument of a logarithm comes so close to zero that rounding reaches it; "
                "choose another equation or a smaller domain."
            )
        return np.asarray(least)

    def root(self, args: Sequence[_Value], bounds: Bounds) -> _Value:
        (z,) = args
        places = min(self.places(float(_size(bounds).max())), (31 + z.places) // 2)
        shift = 2 * places - z.places
        low = np.maximum(z.bounds[0], 0.0)
        sides = np.sqrt(low) + np.sqrt(np.maximum(low - z.error, 0.0))
        error = np.sqrt(z.error)  # at the zero of the root, where its slope is infinite
        error = np.where(sides > error, z.error / np.maximum(sides, 1e-300), error)
        self.calls.add("ieql_sqrt")
        code = f"ieql_sqrt({z.word}, {_unsigned(2**shift)})"
        return self.assign("u", code, places, bounds, error)

    def logarithm(self, args: Sequence[_Value], bounds: Bounds) -> _Value:
        (z,) = args
        least = self.positive(z)
        places = min(self.places(float(_size(bounds).max())), BITS)
        self.calls.add("ieql_log")
        code = self.rounded(f"ieql_log({z.word}, {_integer(z.places)})", BITS - places)
        return self.assign("u", code, places, bounds, z.error / least + LOG_ERROR)

    def exponential(self, args: Sequence[_Value], bounds: Bounds) -> _Value:
        """2^t for t = z·log2(e): its whole part is a shift, the rest goes through a polynomial."""
        (z,) = args
        if not 0 <= z.places <= MOST_PLACES:
            raise IeqlError(
                f"{WHAT} cannot compute an exponential of {float(z.size.max()):.3g} in the "
                f"equation of {self.target!r}; choose another equation or a smaller domain."
            )
        places = min(self.places(float(_size(bounds).max())), MOST_PLACES)
        factor = _scaled(math.log2(math.e), BITS)
        slip = abs(math.ldexp(factor, -BITS) / math.log2(math.e) - 1.0)
        inner = z.error + slip * (z.size + z.error) + math.log(2.0) * LAST
        if float(inner.max()) > LARGEST_SLIP:
            raise self.not_exact()
        lowest = math.floor(float((z.bounds[0] - inner).min()) * math.log2(math.e)) - 1
        most = BITS - places - lowest
        self.calls.add("ieql_exp")
        t = self.new_word("t")
        product = f"(int64_t){z.word} * {_long(factor)}"
        divisor = _long(2**z.places)
        shifted = f"({product})" if z.places == 0 else f"ieql_round({product}, {divisor})"
        self.steps.append(("int64_t", t, f"{shifted} - {_long(lowest * ONE)}"))
        error = bounds[1] * (np.expm1(inner) + EXP_ERROR * np.exp(inner))
        code = f"ieql_exp((uint64_t){t}, {_unsigned(most)})"
        return self.assign("u", code, places, bounds, error)

    def wave(self, args: Sequence[_Value], bounds: Bounds, quarter: int) -> _Value:
        """A sine of a part of a turn; a cosine is a quarter ahead."""
        (z,) = args
        if not -1 <= z.places <= MOST_PLACES:
            raise IeqlError(
                f"{WHAT} cannot compute a sine or cosine of {float(z.size.max()):.3g} in the "
                f"equation of {self.target!r}; choose another equation or a smaller domain."
            )
        factor = _scaled(0.5 / math.pi, 33)
        slip = abs(math.ldexp(factor, -33) * 2.0 * math.pi - 1.0)
        inner = z.error + slip * (z.size + z.error) + math.pi * 2.0**-32
        self.calls.add("ieql_sin")
        t = self.new_word("t")
        product = f"((int64_t){z.word} * {_long(factor)})"
        if z.places > -1:
            product = f"ieql_round({product}, {_long(2 ** (z.places + 1))})"
        self.steps.append(("int64_t", t, f"{product} + {_long(quarter * ONE)}"))
        return self.assign("u", f"ieql_sin((uint64_t){t})", BITS, bounds, inner + SIN_ERROR)


UNITS: dict[Unit, Callable[[_Planner, Sequence[_Value], Bounds], _Value]] = {
    IDENTITY: _Planner.identity,
    SQUARE: _Planner.square,
    MUL: _Planner.product,
    DIV: _Planner.quotient,
    SQRT: _Planner.root,
    LOG: _Planner.logarithm,
    EXP: _Planner.exponential,
    COS: lambda planner, args, bounds: planner.wave(args, bounds, 1),
    SIN: lambda planner, args, bounds: planner.wave(args, bounds, 0),
}
"""How each unit of the table is computed in integers."""


def _size(bounds: Bounds) -> Array:
    return np.maximum(np.abs(bounds[0]), np.abs(bounds[1]))


def _scaled(value: float, places: int) -> int:
    """The integer closest to a number with so many binary places."""
    return round(math.ldexp(value, places))


def _integer(value: int) -> str:
    return f"{value}" if value >= 0 else f"({value})"


def _long(value: int) -> str:
    return f"INT64_C({value})" if value >= 0 else f"(-INT64_C({-value}))"


def _unsigned(value: int) -> str:
    return f"UINT64_C({value})"
