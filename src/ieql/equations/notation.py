"""How equations are written: one walk for text, LaTeX, MathML and the languages of programs.

Which terms and signs a sum has, what is a fraction or a power and what stands in brackets is
decided here, once. A language is a subclass that says how it writes the pieces.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import cached_property, reduce
from typing import NamedTuple, TypeGuard

import numpy as np

from ieql.equations.expression import Expression, Node, Sum
from ieql.errors import IeqlError, shown
from ieql.units import ABS, DIV, IDENTITY, MUL, Unit

__all__ = [
    "ABSOLUTE",
    "MAX_CHARACTERS",
    "PI",
    "ExactNumber",
    "Form",
    "FormulaWriter",
    "Rank",
    "SumWriter",
    "Term",
    "check_digits",
    "common_factor",
    "exact_number",
    "is_reciprocal",
    "signed",
    "starts_with_constant",
]

ABSOLUTE = ABS.name
"""The root of a square in texts, unless an equation has a unit of that name."""
PI = "pi"
"""The name of the number in texts, unless an input has it."""
DENOMINATORS = (1, 2, 3, 4, 6, 8, 12)
LARGEST_NUMERATOR = 24
"""Of the fractions and multiples of π that are written as such."""
LONG = 15
"""Characters that thirds and multiples of π take at least, with all their digits."""
MAX_CHARACTERS = 1_000_000
"""The length of an equation's text beyond which it is refused."""


def check_digits(digits: object) -> None:
    """Refuse what is no number of significant digits."""
    is_whole = isinstance(digits, int | np.integer) and not isinstance(digits, bool)
    if digits is None or (is_whole and digits > 0):  # type: ignore[operator]
        return
    raise IeqlError(f"digits must be a whole number of at least 1, not {shown(digits)}.")


class Rank(IntEnum):
    """How tightly a form holds together; what is too loose for its place goes into brackets."""

    SUM = 0
    PRODUCT = 1
    POWER = 2
    CALL = 3
    NAME = 4


class Form(NamedTuple):
    """What is written for a source; `node` is None for inputs and for parts with a name."""

    text: str
    rank: Rank = Rank.NAME
    node: Node | None = None


class Term(NamedTuple):
    """A number or a term of a sum, its sign apart."""

    is_negative: bool
    text: str


def signed(terms: Sequence[Term]) -> list[str]:
    """Terms with their signs as they follow one another: ``-a``, ``+ b``, ``- c``."""
    first, *rest = terms
    return [
        f"-{first.text}" if first.is_negative else first.text,
        *(f"{'-' if term.is_negative else '+'} {term.text}" for term in rest),
    ]


def starts_with_constant(s: Sum) -> bool:
    """Whether the constant of a sum is written first: 1 - x rather than -x + 1."""
    return s.bias > 0.0 and all(w <= 0.0 for w in s.weights) and any(s.weights)


def _sign(value: float) -> float:
    return math.copysign(1.0, value) if value else 0.0


def common_factor(s: Sum) -> float:
    """The number that all terms of a sum have in common, up to their signs, if that is shorter.

    1 if there is none: 2.5 - 2.5 x is 2.5 (1 - x), but 2 x + 2 stays.
    """
    constants = [c for c in (s.bias, *s.weights) if c != 0.0]
    size = abs(constants[0]) if constants else 1.0
    if size == 1.0 or not 1e-300 < size < 1e300 or any(abs(c) != size for c in constants):
        return 1.0
    saved = (len(constants) - 1) * (len(f"{size:.12g}") + 1) - (s.bias != 0.0)
    if saved <= len("()"):
        return 1.0
    return size if any(c > 0.0 for c in constants) else -size


class ExactNumber(NamedTuple):
    """A number that is a fraction or a multiple of π, and not a short decimal one."""

    above: int
    below: int
    has_pi: bool


def exact_number(value: float) -> ExactNumber | None:
    """The simple fraction or multiple of π that a number is, to the last bit; else None.

    >>> exact_number(2 / 3)
    ExactNumber(above=2, below=3, has_pi=False)
    """
    if not 0.0 < value <= LARGEST_NUMERATOR * math.pi or len(repr(value)) < LONG:
        return None
    for below in DENOMINATORS:
        for unit in (1.0, math.pi):
            above = round(value * below / unit)
            if not 1 <= above <= LARGEST_NUMERATOR or above * unit / below != value:
                continue
            if unit == 1.0 and (below % 3 or math.gcd(above, below) > 1):
                break  # a short decimal number
            if math.gcd(above, below) == 1:
                return ExactNumber(above, below, unit != 1.0)
    return None


class SumWriter(ABC):
    """Writes the affine maps of an expression.

    Attributes
    ----------
    forms : dict
        What is written for each source, as far as it is known.
    as_computed : bool
        Whether terms stand in the order in which `Expression.evaluate` adds them, the constant
        first, and none is left out; otherwise they are written for the reader.
    """

    as_computed = False

    def __init__(self) -> None:
        self.forms: dict[int, Form] = {}

    @abstractmethod
    def number(self, value: float) -> str:
        """A number that is not negative."""

    @abstractmethod
    def multiple(self, number: str, form: str) -> str:
        """A number times something."""

    @abstractmethod
    def joined(self, terms: Sequence[Term]) -> str:
        """The sum of some terms, of one at least."""

    def sum(self, s: Sum) -> str:
        """An affine map."""
        return self.joined(self.terms(s))

    def terms(self, s: Sum) -> list[Term]:
        """The terms of an affine map, a constant among them unless it is zero."""
        pairs = zip(s.sources, s.weights, strict=True)
        terms = [self.term(i, w) for i, w in pairs if w != 0.0 or self.as_computed]
        if s.bias != 0.0 or not terms:
            first = self.as_computed or starts_with_constant(s)
            terms.insert(0 if first else len(terms), self.constant(s.bias))
        return terms

    def term(self, source: int, weight: float) -> Term:
        """A source with its coefficient, which is left out if it is written as 1."""
        is_negative, number = self.constant(weight)
        form = self.forms[source].text
        return Term(is_negative, form if number == self.one else self.multiple(number, form))

    @cached_property
    def one(self) -> str:
        """The number 1."""
        return self.number(1.0)

    def constant(self, value: float) -> Term:
        """A number with its sign."""
        return Term(value < 0.0, self.number(abs(value)))


class FormulaWriter(SumWriter):
    """Writes whole formulas: unit by unit from the inputs on, so that no graph is too deep.

    Attributes
    ----------
    base, right : Rank
        The least rank of what may be raised to a power, and of what may be a right factor or
        stand below a slash, without brackets.
    has_bars : bool
        Whether fractions have a bar, above and below which no brackets are needed.
    shows_identity : bool
        Whether the identity is written as a unit, or left out.
    raised_by_name : tuple of Unit
        Units whose square is written at their name, cos²(x).
    """

    base: Rank
    right: Rank
    has_bars: bool
    shows_identity: bool
    raised_by_name: tuple[Unit, ...] = ()

    def __init__(
        self,
        expression: Expression,
        names: Sequence[str],
        precision: int | None = None,
        named: Callable[[int, Form], Form] | None = None,
    ) -> None:
        """Write all units, given the inputs; `named` may put a name in the place of a part."""
        super().__init__()
        check_digits(precision)
        self.expression = expression
        self.precision = precision
        self.knows_absolute = all(node.unit.name != ABSOLUTE for node in expression.nodes)
        self.forms = {i: Form(name) for i, name in enumerate(names)}
        for source, node in enumerate(expression.nodes, start=len(names)):
            form = self.application(node)
            if len(form.text) > MAX_CHARACTERS:
                raise IeqlError(f"The equation is longer than {MAX_CHARACTERS} characters.")
            self.forms[source] = form if named is None else named(source, form)

    def exact(self, value: float) -> ExactNumber | None:
        """The fraction or multiple of π that a number is; no π beside an input of that name."""
        exact = exact_number(value)
        if exact is not None and exact.has_pi and PI in self.expression.names:
            return None
        return exact

    @abstractmethod
    def brackets(self, form: str) -> str:
        """Something in brackets."""

    @abstractmethod
    def product(self, left: str, right: str) -> str:
        """The product of two factors."""

    @abstractmethod
    def quotient(self, above: str, below: str) -> str:
        """A fraction."""

    @abstractmethod
    def power(self, base: str, exponent: Term) -> str:
        """Something raised to a number."""

    @abstractmethod
    def absolute(self, form: str) -> str:
        """The absolute value of something."""

    @abstractmethod
    def call(self, unit: Unit, args: Sequence[str], exponent: str | None = None) -> str:
        """Any other unit of its arguments, raised to `exponent` if it is in `raised_by_name`."""

    def sum(self, s: Sum) -> str:
        """An affine map; a number that all its terms have stands before a bracket."""
        return self.joined(self.whole(s))

    def whole(self, s: Sum) -> list[Term]:
        """The terms of an affine map, or its only one: a number times a bracket."""
        factor = common_factor(s)
        is_negative, number = self.constant(factor)
        if number == self.one:
            return self.terms(s)
        sign = math.copysign(1.0, factor)
        ones = Sum(sign * _sign(s.bias), s.sources, tuple(sign * _sign(w) for w in s.weights))
        inside = self.brackets(self.joined(self.terms(ones)))
        return [Term(is_negative, self.multiple(number, inside))]

    def term(self, source: int, weight: float) -> Term:
        """A source with its coefficient; c · 1/z is one fraction, with the sign in front of it."""
        node = self.forms[source].node
        if not is_reciprocal(node):
            return super().term(source, weight)
        value = weight * node.args[0].bias
        return Term(value < 0.0, self.fraction(Sum(abs(value)), node.args[1]))

    def application(self, node: Node) -> Form:
        """A unit with its arguments."""
        unit, args = node.unit, node.args
        power = self.expression.whole_power(node)
        if power is not None:
            return Form(self.whole_power(*power), Rank.POWER, node)
        inside = self.expression.absolute(node)
        if inside is not None and self.knows_absolute:
            return Form(self.absolute(self.sum(inside)), Rank.CALL, node)
        powers = [
            self.power(self.placed(base, self.base), self.constant(exponent))
            for base, exponent in self.expression.powers(node)
        ]
        rest = self.expression.beside_powers(node)
        if powers and not rest.is_constant:
            powers.append(self.call(unit, [self.sum(rest)]))
        if powers:
            rank = Rank.POWER if len(powers) == 1 else Rank.PRODUCT
            return Form(reduce(self.product, powers), rank, node)
        if unit is MUL:
            left, right = self.placed(args[0], Rank.PRODUCT), self.placed(args[1], self.right)
            return Form(self.product(left, right), Rank.PRODUCT, node)
        if unit is DIV:
            return Form(self.fraction(*args), Rank.PRODUCT, node)
        if unit is IDENTITY and not self.shows_identity:
            return Form(self.placed(args[0], Rank.PRODUCT), Rank.CALL, node)
        return Form(self.call(unit, [self.sum(a) for a in args]), Rank.CALL, node)

    def whole_power(self, s: Sum, exponent: int) -> str:
        """A whole power of an affine map."""
        number = self.number(float(exponent))
        node = self.forms[s.sources[0]].node if s.is_bare else None
        if node is not None and node.unit in self.raised_by_name:
            return self.call(node.unit, [self.sum(a) for a in node.args], number)
        return self.power(self.placed(s, self.base), Term(False, number))

    def fraction(self, above: Sum, below: Sum) -> str:
        """The quotient of two affine maps."""
        if self.has_bars:
            return self.quotient(self.sum(above), self.sum(below))
        left = self.sum(above) if above.is_constant else self.placed(above, Rank.PRODUCT)
        return self.quotient(left, self.placed(below, self.right))

    def placed(self, s: Sum, least: Rank) -> str:
        """An affine map in a place that takes what holds together at least as tightly."""
        if s.is_bare and self.forms[s.sources[0]].rank >= least:
            return self.forms[s.sources[0]].text
        return self.brackets(self.sum(s))


def is_reciprocal(node: Node | None) -> TypeGuard[Node]:
    """Whether a node is a number divided by something."""
    return node is not None and node.unit is DIV and node.args[0].is_constant
