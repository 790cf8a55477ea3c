"""Expressions as text, and back: our own small grammar, never `eval`.

The text reads like Python, ``0.5*x1*cos(2*x2 + 1)/(x3**2 + 1) - 3``. A name that is not a plain
word, or that is also a unit's name, stands in backticks: ``2*`n [1/min]` + 1``; one in braces, as
the levels of a category have, stands as it is: ``2*{gear: 3} + 1``. Numbers inside brackets belong
to the argument there, numbers outside to the term, so each text stands for exactly one graph and
``parse(write(e)) == e`` for every canonical expression e.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ieql.equations.builder import Builder, tidy
from ieql.equations.expression import LARGEST_POWER, MAX_NODES, Expression, Sum
from ieql.equations.notation import (
    ABSOLUTE,
    MAX_CHARACTERS,
    PI,
    FormulaWriter,
    Rank,
    Term,
    signed,
)
from ieql.errors import IeqlError, counted, nearest
from ieql.units import DIV, EXP, LOG, MUL, SQRT, SQUARE, Unit, is_taken, known_units

__all__ = [
    "Call",
    "calls_in",
    "is_writable",
    "names_in",
    "parse",
    "source_texts",
    "split_equation",
    "write",
    "write_name",
]

MAX_DEPTH = 100
LONGEST_SHOWN = 300
"""Characters of a name in a message."""
DIVIDES_BY_ZERO = "The equation divides by zero."
WHOLE_NUMBER = re.compile(r"-?[\d.e+]+(?:e-\d+)?")
EQUALS = re.compile(r"`[^`]*`|\{[^{}`]*\}|=")
BRACED = re.compile(r"\{[^{}`]*\}")
WORD = re.compile(r"[^\W\d]\w*")
TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[^\W\d]\w*)|`(?P<quoted>(?:[^`]|``)*)`|(?P<braced>\{[^{}`]*\})"
    r"|(?P<mark>\*\*|[-+*/^(),]))"
)


# --- writing -----------------------------------------------------------------------------------


def write(
    expression: Expression, output: int = 0, precision: int | None = None, longest: int = 0
) -> str:
    """Infix text of one output.

    Parameters
    ----------
    expression : Expression
        What to write.
    output : int, default 0
        Which output.
    precision : int, optional
        Significant digits of the numbers; default: all that are needed to read them back.
    longest : int, default 0
        Numbers of at most so many digits keep them all, whatever the precision.
    """
    return _Writer(expression, precision, longest).sum(expression.outputs[output])


def is_writable(expression: Expression) -> bool:
    """Whether every output has a text: parts that are shared are written again and again.

    A network of four dense layers whose gates are all open would fill books.
    """
    try:
        for output in range(len(expression.outputs)):
            write(expression, output)
    except IeqlError:
        return False
    return True


def source_texts(
    expression: Expression, precision: int | None = None, longest: int = 0
) -> list[str]:
    """Infix text of each source, the inputs and then the units; parameters as in `write`."""
    forms = _Writer(expression, precision, longest).forms
    return [forms[i].text for i in range(len(forms))]


class _Writer(FormulaWriter):
    base, right = Rank.CALL, Rank.POWER
    has_bars = False
    shows_identity = True  # to be read back

    def __init__(self, expression: Expression, precision: int | None, longest: int) -> None:
        self.longest = longest
        super().__init__(expression, [write_name(name) for name in expression.names], precision)

    def number(self, value: float) -> str:
        exact = self.exact(value)
        if exact is not None:
            above = str(exact.above)
            if exact.has_pi:
                above = PI if exact.above == 1 else f"{above}*{PI}"
            return above if exact.below == 1 else f"{above}/{exact.below}"
        if self.precision is not None and _n_digits(value) > self.longest:
            return f"{value:.{self.precision}g}"
        return str(int(value)) if value < 1e15 and value == int(value) else repr(value)

    def multiple(self, number: str, form: str) -> str:
        # 2 times 1/x*y is 2/x*y.
        if form.startswith("1/"):
            return number + form[1:]
        above, slash, below = number.partition("/")
        if slash:
            return f"{form if above == self.one else f'{above}*{form}'}/{below}"
        return f"{number}*{form}"

    def joined(self, terms: Sequence[Term]) -> str:
        return " ".join(signed(terms))

    def brackets(self, form: str) -> str:
        return f"({form})"

    def product(self, left: str, right: str) -> str:
        return f"{left}*{right}"

    def quotient(self, above: str, below: str) -> str:
        return f"{above}/{below}"

    def power(self, base: str, exponent: Term) -> str:
        number = self.joined([exponent])
        return f"{base}**{number}" if WHOLE_NUMBER.fullmatch(number) else f"{base}**({number})"

    def absolute(self, form: str) -> str:
        return f"{ABSOLUTE}({form})"

    def call(self, unit: Unit, args: Sequence[str], exponent: str | None = None) -> str:
        return f"{unit.name}({', '.join(args)})"


def _n_digits(value: float) -> int:
    """Significant digits of the shortest text that reads back as this number."""
    return len(repr(value).partition("e")[0].replace(".", "").strip("0")) if value else 0


def write_name(name: str) -> str:
    """A column's name as it stands in an equation, in backticks unless it is a plain word.

    One in braces needs none, either.
    """
    if BRACED.fullmatch(name):
        return name
    if WORD.fullmatch(name) and not is_taken(name) and name != ABSOLUTE:
        return name
    return "`" + name.replace("`", "``") + "`"


# --- reading -----------------------------------------------------------------------------------


def parse(
    text: str,
    names: tuple[str, ...],
    custom: Mapping[str, Unit] | None = None,
    constants: Mapping[str, float] | None = None,
    in_exponents: Collection[str] = (),
) -> Expression:
    """Read one expression; errors say what is wrong and at which character.

    Parameters
    ----------
    text : str
        What to read.
    names : tuple of str
        The inputs.
    custom : mapping, optional
        Units of the user's own, by name, and others that a prior names (`Prior.named_units`).
    constants : mapping, optional
        Names that stand for numbers.
    in_exponents : collection of str
        Inputs that may stand in an exponent: constants that are not known yet.
    """
    # An absolute value is the root of a square, unless someone means the unit of that name.
    units = {name: u for name, u in known_units().items() if name != ABSOLUTE}
    parser = _Parser(text, names, {**units, **(custom or {})}, constants, in_exponents)
    return parser.builder.expression(parser.whole())


def names_in(text: str) -> list[str]:
    """The names in a text that are no calls of a unit, each once, in their order."""
    tokens = _tokens(text)
    after = [value for _, value, _ in (*tokens[1:], ("end", "", 0))]
    found = [
        _unquoted(kind, value)
        for (kind, value, _), behind in zip(tokens, after[: len(tokens)], strict=True)
        if kind == "quoted" or (kind == "word" and behind != "(")
    ]
    return list(dict.fromkeys(found))


class Call(NamedTuple):
    """A function of inputs in a text: its name, theirs, and from where to where it stands."""

    name: str
    arguments: tuple[str, ...]
    start: int
    stop: int


def calls_in(text: str, known: Collection[str]) -> list[Call]:
    """Calls of functions that are not known, in their order; their arguments must be names."""
    tokens = [*_tokens(text), ("end", "", len(text))]
    calls = []
    for at, (kind, name, start) in enumerate(tokens[:-1]):
        if kind != "word" or tokens[at + 1][1] != "(" or name in known or name == ABSOLUTE:
            continue
        names, place, after = [], at + 2, ","
        while after == ",":
            kind, value, _ = tokens[place]
            after = tokens[min(place + 1, len(tokens) - 1)][1]
            if kind not in ("word", "quoted") or after not in (",", ")"):
                raise IeqlError(
                    f"The inputs of {_short(name)} must be names of columns, separated by commas, "
                    f"as in {name}(x); see character {start + 1}."
                )
            names.append(_unquoted(kind, value))
            place += 2
        calls.append(Call(name, tuple(names), start, tokens[place - 1][2] + 1))
    return calls


def split_equation(text: str) -> tuple[str | None, str]:
    """Left- and right-hand side of an equation; without an equals sign there is no left one."""
    # A name in backticks may hold one, too.
    places = [m.start() for m in EQUALS.finditer(text) if m.group() == "="]
    if not places:
        return None, text
    if len(places) > 1:
        raise IeqlError("There is more than one '=' in the equation.")
    return text[: places[0]].strip(), text[places[0] + 1 :].strip()


def _tokens(text: str) -> list[tuple[str, str, int]]:
    """Kind, value and place of all that a text is made of."""
    if len(text) > MAX_CHARACTERS:
        raise IeqlError(f"The equation is longer than {MAX_CHARACTERS} characters.")
    tokens, at = [], 0
    end = len(text.rstrip())
    while at < end:
        match = TOKEN.match(text, at)
        if not match:
            rest = text[at:].lstrip()
            raise IeqlError(
                f"Cannot read {rest[:10].rstrip()!r} at character "
                f"{len(text) - len(rest) + 1} of the equation."
            )
        kind = str(match.lastgroup)
        tokens.append(
            (
                "quoted" if kind == "braced" else kind,
                match.group(kind),
                match.start(kind) - (kind == "quoted"),
            )
        )
        at = match.end()
    return tokens


class _Parser:
    """Recursive descent: sum → term → factor → power → atom."""

    def __init__(
        self,
        text: str,
        names: tuple[str, ...],
        units: Mapping[str, Unit],
        constants: Mapping[str, float] | None = None,
        in_exponents: Collection[str] = (),
    ) -> None:
        self.units = units
        self.constants = constants or {}
        self.in_exponents = in_exponents
        self.indices = {name: i for i, name in enumerate(names)}
        self.builder = Builder(names)
        self.tokens = _tokens(text)
        self.position = 0
        self.depth = 0

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
                value = self.apply(DIV, value if value is not None else Sum(1.0), factor)
            else:
                value = factor if value is None else self.apply(MUL, value, factor)
            if self.peek() not in ("*", "/"):
                break
            divide = self.take("/") or not self.take("*")
        return _finite(Sum(coefficient) if value is None else value.scaled(coefficient))

    def factor(self) -> Sum:
        sign = self.sign()
        base = self.atom()
        if self.take("**") or self.take("^"):
            exponent = self.exponent()
            if exponent.is_constant:
                base = self.power(base, exponent.bias)
            else:
                base = self.apply(EXP, self.apply(MUL, exponent, self.apply(LOG, base)))
        return base if sign == 1.0 else base.scaled(sign)

    def exponent(self) -> Sum:
        self.descend()
        first = self.position
        value = self.factor()
        self.depth -= 1
        names = {_unquoted(kind, v) for kind, v, _ in self.tokens[first : self.position]}
        if not value.is_constant and names & self.indices.keys() - set(self.in_exponents):
            raise IeqlError("An exponent must be a number.")
        return value

    def power(self, base: Sum, exponent: float) -> Sum:
        if exponent == 0.5:
            return self.apply(SQRT, base)
        n = int(exponent)
        if exponent not in (n, -0.5):
            return self.apply(EXP, self.apply(LOG, base).scaled(exponent))
        if exponent < 0:
            return self.apply(DIV, Sum(1.0), self.power(base, -exponent))
        if n > LARGEST_POWER:
            raise IeqlError(
                f"The exponent {exponent:g} cannot be read: whole ones go up to {LARGEST_POWER}."
            )
        if n == 0:
            return Sum(1.0)
        if n == 1:
            return base
        half = self.apply(SQUARE, self.power(base, n // 2))
        return self.apply(MUL, half, base) if n % 2 else half

    def apply(self, unit: Unit, *args: Sum) -> Sum:
        if unit is DIV and args[1] == Sum(0.0):
            raise IeqlError(DIVIDES_BY_ZERO)
        result = self.builder.apply(unit, *args)
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
        return self.name(_unquoted(kind, value))

    def call(self, name: str) -> Sum:
        if name == ABSOLUTE and name not in self.units:
            self.position += 1
            inside = self.sum()
            if not self.take(")"):
                raise self.fail("')'")
            return self.apply(SQRT, self.apply(SQUARE, inside))
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
                f"Unit {name!r} takes {counted(self.units[name].arity, 'argument')}, not "
                f"{len(args)}."
            )
        return self.apply(self.units[name], *args)

    def name(self, name: str) -> Sum:
        if name in self.constants:
            return _finite(Sum(self.constants[name]))
        if name == PI and name not in self.indices:
            return Sum(math.pi)
        if name not in self.indices:
            raise IeqlError(f"There is no input {_short(name)}.{nearest(name, self.indices)}")
        return self.builder.input(self.indices[name])


def _unquoted(kind: str, value: str) -> str:
    return value.replace("``", "`") if kind == "quoted" else value


def _short(word: str) -> str:
    return repr(word if len(word) <= LONGEST_SHOWN else word[:LONGEST_SHOWN] + "…")


def _finite(s: Sum) -> Sum:
    if not all(math.isfinite(c) for c in (s.bias, *s.weights)):
        raise IeqlError("A number of the equation is too large.")
    return s
