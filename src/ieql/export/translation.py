"""From a unit's form in C to its form in other languages.

A unit is written once, as an expression of C; what other languages write is made from that, so
that a new unit, and one of the user's own, is at home in all of them. Where a language has a
better way, an entry of its own in `Unit.templates` goes first.

The expressions are what templates hold: numbers, ``{0}`` and ``{1}``, ``NAN`` and ``INFINITY``,
calls of functions of ``math.h``, the four operations, comparisons, ``&&``, ``||``, ``!`` and
``condition ? yes : no``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from ieql.units import Unit

__all__ = ["Language", "holds_together", "spelled", "template"]

TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<place>\{[01]\})"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<sign><=|>=|==|!=|&&|\|\||[-+*/<>!?:(),]))"
)
LEVELS = (("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/"))
"""Operators of two operands, from the loosest to the tightest."""


@dataclass(frozen=True)
class Number:
    """A number; NaN and infinity are among them."""

    value: float
    is_whole: bool = False


@dataclass(frozen=True)
class Place:
    """An argument of the unit."""

    index: int


@dataclass(frozen=True)
class Call:
    """A function of ``math.h``."""

    name: str
    args: tuple[Term, ...]


@dataclass(frozen=True)
class Unary:
    """A minus, or a negation of a condition."""

    sign: str
    inner: Term


@dataclass(frozen=True)
class Binary:
    """Two operands and what stands between them."""

    sign: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Choice:
    """What C writes as ``condition ? yes : no``."""

    condition: Term
    yes: Term
    no: Term


Term = Number | Place | Call | Unary | Binary | Choice


@dataclass(frozen=True)
class Language:
    """How a language writes the expressions of C.

    Attributes
    ----------
    dialect : str
        The name of the export, by which `Unit.templates` may have a form of its own.
    name : str
        What the language is called.
    functions : mapping from str to str
        Its functions by their names in ``math.h``; a form that needs another is none. With ``{0}``
        they are templates, otherwise names.
    number : callable
        Writes a number; raises ValueError for one that the language does not have, such as NaN.
    signs : mapping from str to str
        Operators that it writes in another way.
    choice : callable
        Writes ``condition ? yes : no``, given the three of them; braces are doubled.
    defined : callable, optional
        Writes ``condition ? yes : NAN``, given the first two, in a language that has no NaN.
    masked : callable, optional
        Writes an argument inside of `yes` and `no`, given whether it is inside of `yes`, the
        condition and the argument: where both are computed, the one that does not count can be
        kept from doing harm.
    filled : callable, optional
        Writes the number that is the first branch of a choice, where plain numbers would leave
        open how many bits the result has.
    """

    dialect: str
    name: str
    functions: Mapping[str, str]
    number: Callable[[float], str]
    choice: Callable[[str, str, str], str]
    signs: Mapping[str, str] = field(default_factory=dict)
    defined: Callable[[str, str], str] | None = None
    masked: Callable[[bool, str, str], str] | None = None
    filled: Callable[[str], str] | None = None


def spelled(table: str) -> dict[str, str]:
    """Functions of a language by their names in ``math.h``, from lines ``log = LN``.

    >>> spelled("log = LN")
    {'log': 'LN'}
    """
    lines = (line.partition(" = ") for line in table.strip().splitlines())
    return {name.strip(): form.strip() for name, _, form in lines}


def template(unit: Unit, language: Language) -> str:
    """The unit in a language: its own form, or that of C translated.

    Raises
    ------
    IeqlError
        If it has neither; a sentence says how to give it one.
    """
    if language.dialect not in unit.templates and "c" in unit.templates:
        try:
            return _Writer(language).held(_parsed(unit.templates["c"]))
        except (_NoTranslationError, ValueError):
            pass
    return unit.template(language.dialect, language.name)


class _NoTranslationError(Exception):
    """C of a kind that is not read here, or that the language has no word for."""


# --- reading -------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _parsed(code: str) -> Term:
    tokens = []
    position = 0
    end = len(code.rstrip())
    while position < end:
        match = TOKEN.match(code, position)
        if match is None or match.lastgroup is None:
            raise _NoTranslationError
        tokens.append((match.lastgroup, match[match.lastgroup]))
        position = match.end()
    reader = _Reader(tokens)
    term = reader.choice()
    if reader.tokens:
        raise _NoTranslationError
    return term


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens[::-1]

    def next_is(self, *signs: str) -> bool:
        return bool(self.tokens) and self.tokens[-1][0] == "sign" and self.tokens[-1][1] in signs

    def take(self, sign: str) -> None:
        if not self.next_is(sign):
            raise _NoTranslationError
        self.tokens.pop()

    def choice(self) -> Term:
        condition = self.binary(0)
        if not self.next_is("?"):
            return condition
        self.take("?")
        yes = self.choice()
        self.take(":")
        return Choice(condition, yes, self.choice())

    def binary(self, level: int) -> Term:
        if level == len(LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.next_is(*LEVELS[level]):
            sign = self.tokens.pop()[1]
            right = self.binary(level + 1)
            if sign == "/" and _is_whole(left) and _is_whole(right):
                raise _NoTranslationError  # C drops the fraction
            left = Binary(sign, left, right)
        return left

    def unary(self) -> Term:
        if self.next_is("-", "!"):
            return Unary(self.tokens.pop()[1], self.unary())
        if self.next_is("+"):
            self.take("+")
            return self.unary()
        return self.primary()

    def primary(self) -> Term:
        if self.next_is("("):
            self.take("(")
            inner = self.choice()
            self.take(")")
            return inner
        if not self.tokens or self.tokens[-1][0] == "sign":
            raise _NoTranslationError
        kind, text = self.tokens.pop()
        if kind == "number":
            return Number(float(text), text.isdigit())
        if kind == "place":
            return Place(int(text[1:-1]))
        if text in CONSTANTS:
            return Number(CONSTANTS[text])
        return Call(text, self.arguments())

    def arguments(self) -> tuple[Term, ...]:
        self.take("(")
        args = [self.choice()]
        while self.next_is(","):
            self.take(",")
            args.append(self.choice())
        self.take(")")
        return tuple(args)


CONSTANTS: Mapping[str, float] = MappingProxyType(
    {"NAN": float("nan"), "INFINITY": float("inf"), "M_PI": 3.141592653589793}
)


def _is_whole(term: Term) -> bool:
    return isinstance(term, Number) and term.is_whole


def _is_nan(term: Term) -> bool:
    return isinstance(term, Number) and math.isnan(term.value)


# --- writing -------------------------------------------------------------------------------------


class _Writer:
    def __init__(self, language: Language) -> None:
        self.language = language
        self.inside: tuple[tuple[bool, str], ...] = ()
        """The choices around what is written now: whether it is the yes, and the condition."""

    def held(self, term: Term) -> str:
        """In such a way that a sign or an operation may stand beside it."""
        text = self.text(term)
        tight = isinstance(term, Number) or (
            isinstance(term, Call | Choice) and holds_together(text)
        )
        return text if tight else f"({text})"

    def text(self, term: Term) -> str:
        match term:
            case Number():
                return self.language.number(term.value)
            case Place():
                return self.argument(term)
            case Call():
                return self.call(term)
            case Unary():
                return f"{self.sign(term.sign)}{self.held(term.inner)}"
            case Binary():
                return f"{self.held(term.left)} {self.sign(term.sign)} {self.held(term.right)}"
            case Choice():
                return self.choice(term)

    def argument(self, place: Place) -> str:
        text = f"{{{place.index}}}"
        for is_yes, condition in self.inside:
            assert self.language.masked is not None
            text = self.language.masked(is_yes, condition, text)
        return text

    def call(self, call: Call) -> str:
        word = self.language.functions.get(call.name)
        if word is None:
            raise _NoTranslationError
        args = [self.text(a) for a in call.args]
        if "{0}" in word:
            try:
                return word.format(*args)
            except IndexError:
                raise _NoTranslationError from None
        return f"{word}({', '.join(args)})"

    def choice(self, choice: Choice) -> str:
        condition = self.text(choice.condition)
        if self.language.defined is not None and _is_nan(choice.no):
            return self.language.defined(condition, self.text(choice.yes))
        branches = []
        for is_yes, branch in ((True, choice.yes), (False, choice.no)):
            outside = self.inside
            if self.language.masked is not None:
                self.inside = (*outside, (is_yes, condition))
            branches.append(self.text(branch))
            self.inside = outside
        if self.language.filled is not None and isinstance(choice.yes, Number):
            branches[0] = self.language.filled(branches[0])
        return self.language.choice(condition, *branches)

    def sign(self, sign: str) -> str:
        return self.language.signs.get(sign, sign)


def holds_together(text: str) -> bool:
    """Whether a text is one call or bracket, ``f(...)`` or ``(...)``, from its begin to its end."""
    if not re.match(r"[\w.:]*\(", text) or not text.endswith(")"):
        return False
    depth = 0
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == ")" and depth == 0:
            return position == len(text) - 1
    return False
