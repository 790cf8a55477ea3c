"""Expressions as text, and back: our own small grammar, never `eval`.

The text reads like Python, ``0.5*x1*cos(2*x2 + 1)/(x3**2 + 1) - 3``. A name that is not a plain
word, or that is also a unit's name, stands in backticks: ``2*`n [1/min]` + 1``. Numbers inside
brackets belong to the argument there, numbers outside to the term, so each text stands for exactly
one graph and ``parse(write(e)) == e`` for every canonical expression e.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from ieql.equations.builder import Builder, tidy
from ieql.equations.expression import MAX_NODES, Expression, Node, Sum
from ieql.errors import IeqlError, nearest
from ieql.units import UNITS, Unit

__all__ = ["parse", "write"]

MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 100
MAX_POWER = 64
LONGEST_SHOWN = 300
"""Characters of a name in a message."""
DIVIDES_BY_ZERO = "The equation divides by zero."
WORD = re.compile(r"[^\W\d]\w*")
TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[^\W\d]\w*)|`(?P<quoted>(?:[^`]|``)*)`|(?P<mark>\*\*|[-+*/^(),]))"
)


# --- writing -----------------------------------------------------------------------------------


def write(expression: Expression, output: int = 0, precision: int | None = None) -> str:
    """Infix text of one output; `precision` significant digits, or all that are needed."""
    return _Writer(expression, precision).sum(expression.outputs[output])


class _Writer:
    def __init__(self, expression: Expression, precision: int | None) -> None:
        self.precision = precision
        self.expression = expression
        # Unit by unit from the inputs on, so that no graph is too deep for it.
        self.texts = [write_name(name) for name in expression.names]
        self.kinds = [""] * len(expression.names)
        for node in expression.nodes:
            self.texts.append(self.application(node))
            self.kinds.append("square" if expression.power(node) else node.unit.name)
            if len(self.texts[-1]) > MAX_CHARACTERS:
                raise IeqlError(f"The equation is longer than {MAX_CHARACTERS} characters.")

    def number(self, value: float) -> str:
        if self.precision is not None:
            return f"{value:.{self.precision}g}"
        return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(value)

    def sum(self, s: Sum) -> str:
        parts = [self.term(i, w) for i, w in zip(s.sources, s.weights, strict=True)]
        if s.bias != 0.0 or not parts:
            parts.append(self.number(s.bias))
        text = parts[0]
        for part in parts[1:]:
            text += f" - {part[1:]}" if part.startswith("-") else f" + {part}"
        return text

    def term(self, source: int, weight: float) -> str:
        text, number = self.texts[source], self.number(weight)
        if text.startswith("1/"):
            return number + text[1:]
        if number in ("1", "-1"):
            return number[:-1] + text
        return f"{number}*{text}"

    def application(self, node: Node) -> str:
        name, args = node.unit.name, node.args
        if name == "square":
            return f"{self.factor(args[0], 'square', 'mul', 'div')}**2"
        if name == "mul":
            return f"{self.factor(args[0])}*{self.factor(args[1], 'mul', 'div')}"
        if name == "div":
            left = "1" if args[0] == Sum(1.0) else self.factor(args[0])
            return f"{left}/{self.factor(args[1], 'mul', 'div')}"
        power = self.expression.power(node)
        if power is not None:
            base, exponent = power
            return f"{self.factor(base, 'square', 'mul', 'div')}**{self.number(exponent)}"
        return f"{name}({', '.join(self.sum(a) for a in args)})"

    def factor(self, s: Sum, *bracketed: str) -> str:
        """An argument of a product, quotient or power; units that bind too loosely in brackets."""
        if s.is_bare and self.kinds[s.sources[0]] not in bracketed:
            return self.texts[s.sources[0]]
        return f"({self.sum(s)})"


def write_name(name: str) -> str:
    """A column's name as it stands in an equation, in backticks unless it is a plain word."""
    if WORD.fullmatch(name) and name not in UNITS:
        return name
    return "`" + name.replace("`", "``") + "`"


# --- reading -----------------------------------------------------------------------------------


def parse(
    text: str, names: tuple[str, ...], custom: Mapping[str, Unit] | None = None
) -> Expression:
    """Read one expression; errors say what is wrong and at which character."""
    if len(text) > MAX_CHARACTERS:
        raise IeqlError(f"The equation is longer than {MAX_CHARACTERS} characters.")
    parser = _Parser(text, names, {**UNITS, **(custom or {})})
    return parser.builder.expression(parser.whole())


class _Parser:
    """Recursive descent: sum → term → factor → power → atom."""

    def __init__(self, text: str, names: tuple[str, ...], units: Mapping[str, Unit]) -> None:
        self.text = text
        self.units = units
        self.indices = {name: i for i, name in enumerate(names)}
        self.builder = Builder(names)
        self.tokens = self._tokens()
        self.position = 0
        self.depth = 0

    def _tokens(self) -> list[tuple[str, str, int]]:
        tokens, at = [], 0
        end = len(self.text.rstrip())
        while at < end:
            match = TOKEN.match(self.text, at)
            if not match:
                rest = self.text[at:].lstrip()
                raise IeqlError(
                    f"Cannot read {rest[:10].rstrip()!r} at character "
                    f"{len(self.text) - len(rest) + 1} of the equation."
                )
            kind = str(match.lastgroup)
            tokens.append((kind, match.group(kind), match.start(kind) - (kind == "quoted")))
            at = match.end()
        return tokens

    def peek(self) -> str:
        kind, value, _ = self.tokens[self.position] if self.more() else ("end", "", 0)
        return value if kind == "mark" else kind

    def more(self) -> bool:
        return self.position < len(self.tokens)

    def take(self, mark: str) -> bool:
        if self.peek() == mark:
            self.position += 1
            return True
        return False

    def fail(self, wanted: str) -> IeqlError:
        if self.more():
            _, value, at = self.tokens[self.position]
            found = f"{_short(value)} at character {at + 1}"
            return IeqlError(f"Expected {wanted} but found {found} of the equation.")
        return IeqlError(f"Expected {wanted} but the equation ends there.")

    def whole(self) -> Sum:
        result = self.sum()
        if self.more():
            raise self.fail("an operator")
        return result

    def descend(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise IeqlError(f"The equation is nested more than {MAX_DEPTH} levels deep.")

    def sum(self) -> Sum:
        self.descend()
        terms = [self.signed_term()]
        while self.peek() in ("+", "-"):
            terms.append(self.signed_term())
        self.depth -= 1
        return _finite(tidy(Sum.total(terms)))

    def signed_term(self) -> Sum:
        sign = self.sign()
        return self.term().scaled(sign)

    def sign(self) -> float:
        sign = 1.0
        while self.peek() in ("+", "-"):
            sign = -sign if self.take("-") else sign
            self.take("+")
        return sign

    def term(self) -> Sum:
        """A product: bare numbers make the coefficient, the rest nests from the left."""
        coefficient, value, divide = 1.0, None, False
        while True:
            factor = self.factor()
            if factor.is_constant:
                if divide and factor.bias == 0.0:
                    raise IeqlError(DIVIDES_BY_ZERO)
                coefficient = coefficient / factor.bias if divide else coefficient * factor.bias
            elif divide:
                value = self.apply("div", value if value is not None else Sum(1.0), factor)
            else:
                value = factor if value is None else self.apply("mul", value, factor)
            if self.peek() not in ("*", "/"):
                break
            divide = self.take("/") or not self.take("*")
        return _finite(Sum(coefficient) if value is None else value.scaled(coefficient))

    def factor(self) -> Sum:
        sign = self.sign()
        base = self.atom()
        if self.take("**") or self.take("^"):
            base = self.power(base, self.exponent())
        return base if sign == 1.0 else base.scaled(sign)

    def exponent(self) -> float:
        self.descend()
        value = self.factor()
        self.depth -= 1
        if not value.is_constant:
            raise IeqlError("An exponent must be a number.")
        return value.bias

    def power(self, base: Sum, exponent: float) -> Sum:
        if exponent == 0.5:
            return self.apply("sqrt", base)
        n = int(exponent)
        if n != exponent and exponent != -0.5:
            return self.apply("exp", self.apply("log", base).scaled(exponent))
        if exponent < 0:
            return self.apply("div", Sum(1.0), self.power(base, -exponent))
        if n > MAX_POWER:
            raise IeqlError(
                f"The exponent {exponent:g} cannot be read: whole ones go up to {MAX_POWER}."
            )
        if n == 0:
            return Sum(1.0)
        if n == 1:
            return base
        half = self.apply("square", self.power(base, n // 2))
        return self.apply("mul", half, base) if n % 2 else half

    def apply(self, name: str, *args: Sum) -> Sum:
        if name == "div" and args[1] == Sum(0.0):
            raise IeqlError(DIVIDES_BY_ZERO)
        result = self.builder.apply(self.units[name], *args)
        if len(self.builder.nodes) > MAX_NODES:
            raise IeqlError(f"The equation has more than {MAX_NODES} units.")
        return result

    def atom(self) -> Sum:
        kind = self.peek()
        if kind == "(":
            self.position += 1
            inner = self.sum()
            if not self.take(")"):
                raise self.fail("')'")
            return inner
        if kind not in ("number", "word", "quoted"):
            raise self.fail("a number, a name or a bracket")
        _, value, _ = self.tokens[self.position]
        self.position += 1
        if kind == "number":
            number = float(value)
            if not math.isfinite(number):
                raise IeqlError(f"The number {value[:20]} is too large.")
            return Sum(number)
        if kind == "word" and self.peek() == "(":
            return self.call(value)
        return self.name(value.replace("``", "`") if kind == "quoted" else value)

    def call(self, name: str) -> Sum:
        if name not in self.units:
            raise IeqlError(f"There is no unit {_short(name)}.{nearest(name, self.units)}")
        self.position += 1
        args = [self.sum()]
        while self.take(","):
            args.append(self.sum())
        if not self.take(")"):
            raise self.fail("')'")
        if len(args) != self.units[name].arity:
            raise IeqlError(
                f"Unit {name!r} takes {self.units[name].arity} argument(s), not {len(args)}."
            )
        return self.apply(name, *args)

    def name(self, name: str) -> Sum:
        if name not in self.indices:
            raise IeqlError(f"There is no input {_short(name)}.{nearest(name, self.indices)}")
        return self.builder.input(self.indices[name])


def _short(word: str) -> str:
    return repr(word if len(word) <= LONGEST_SHOWN else word[:LONGEST_SHOWN] + "…")


def _finite(s: Sum) -> Sum:
    if not all(math.isfinite(c) for c in (s.bias, *s.weights)):
        raise IeqlError("A number of the equation is too large.")
    return s
