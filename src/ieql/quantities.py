"""Physical units of columns: their texts, their dimensions, and exact conversions.

A text such as ``N*m``, ``km/h``, ``m/s²`` or ``l/(100 km)`` is read by a grammar of our own; what a
single name like ``kW`` means says pint (the extra ``units``), which is loaded when it is first
asked. Without quantities nothing here is needed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NoReturn

from ieql.errors import IeqlError, nearest, shown

__all__ = [
    "FREE",
    "PLAIN",
    "Quantity",
    "checked_constants",
    "checked_quantities",
    "conversion",
    "has_pint",
    "is_one",
    "quantity",
    "unit_text",
]

FREE, PLAIN = "free", "plain"
"""What constants may carry: any unit, or none."""
LONGEST = 100
"""Characters of a unit's text."""
LARGEST_EXPONENT, LARGEST_NUMBER = 12, 10**6
NO_UNIT = ("", "1", "-", "[-]", "none", "dimensionless")
ALIASES: Mapping[str, str] = MappingProxyType(
    {"°C": "degC", "℃": "degC", "°F": "degF", "%": "percent", "Ohm": "ohm", "°": "degree",
     "PS": "metric_horsepower", "U": "revolution", "sec": "second", "µ": "micro"}
)  # fmt: skip
"""Spellings of engineers that pint takes for something else, or does not know."""
PRODUCTS: Mapping[str, str] = MappingProxyType(
    {"Nm": "N*m", "kNm": "kN*m", "mNm": "mN*m", "MNm": "MN*m", "Ws": "W*s", "As": "A*s",
     "Vs": "V*s", "kmh": "km/h", "kph": "km/h", "mps": "m/s"}
)  # fmt: skip
"""Products written as one word: for pint Nm is a count of yarn."""
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<name>[^\W\d⁰¹²³⁴⁵⁶⁷⁸⁹]+|[°%℃][A-Za-z]*)|(?P<super>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
    r"|(?P<power>\*\*|\^)|(?P<times>[*·⋅×])|(?P<over>/)|(?P<open>\()|(?P<close>\))|(?P<minus>-))"
)
Powers = Mapping[str, Fraction]


@dataclass(frozen=True)
class Quantity:
    """A physical unit.

    Attributes
    ----------
    text : str
        As the user wrote it.
    powers : tuple of (str, Fraction)
        The units that it is a product of, with their exponents, as they are called in the text.
    dimension : tuple of (str, Fraction)
        The same in the base quantities: length, time, mass, …; empty for a plain number.
    factor : Fraction
        How many of the base units it is.
    """

    text: str
    powers: tuple[tuple[str, Fraction], ...]
    dimension: tuple[tuple[str, Fraction], ...]
    factor: Fraction

    @property
    def is_plain(self) -> bool:
        """Whether it has no dimension: a number, a share or an angle."""
        return not self.dimension


def has_pint() -> bool:
    """Whether the extra that knows what units mean is installed."""
    try:
        _registry()
    except IeqlError:
        return False
    return True


@functools.lru_cache(maxsize=1)
def _registry() -> Any:
    try:
        import pint
    except ImportError as error:
        raise IeqlError(
            "Physical units need pint, which is not installed; install it with "
            "pip install 'ieql[units]', or leave 'quantities' out."
        ) from error
    # Fractions keep conversions exact: a kilometre per hour is 5/18 m/s.
    return pint.UnitRegistry(non_int_type=Fraction, cache_folder=None)


@functools.lru_cache(maxsize=1_000)
def quantity(text: str) -> Quantity:
    """Read a unit's text; a sentence says what is wrong with it."""
    plain = text.strip()
    if plain.lower() in NO_UNIT:
        return Quantity(text, (), (), Fraction(1))
    if len(text) > LONGEST:
        raise IeqlError(f"The unit {shown(text)} is longer than {LONGEST} characters.")
    powers = {name: p for name, p in _Reader(plain).whole().items() if p}
    return _product(text, powers)


def is_one(powers: Powers) -> bool:
    """Whether a product of powers of units is the number one, as J/(N*m) is."""
    found = _product("", powers)
    return found.is_plain and found.factor == 1


def _product(text: str, powers: Powers) -> Quantity:
    dimension: dict[str, Fraction] = {}
    factor = Fraction(1)
    for name, p in powers.items():
        size, base = _meaning(name, text)
        factor *= _to_power(size, p)
        for key, q in base.items():
            dimension[key] = dimension.get(key, Fraction(0)) + p * q
    kept = tuple(sorted((key, q) for key, q in dimension.items() if q))
    return Quantity(text, tuple(powers.items()), kept, factor)


def _to_power(size: Fraction, p: Fraction) -> Fraction:
    # A root of a factor is not exact, and nobody measures in one.
    return size**p.numerator if p.denominator == 1 else Fraction(float(size) ** float(p))


def _meaning(name: str, text: str) -> tuple[Fraction, dict[str, Fraction]]:
    """How many base units a single unit is, and its dimension."""
    if name[0].isdigit():
        return Fraction(name), {}
    registry = _registry()
    try:
        known = ALIASES.get(name, name)
        factor, _ = registry.get_base_units(known)
        dimension = registry.get_dimensionality(known)
    except Exception as error:  # pint has a dozen kinds of them, an AssertionError among them
        raise IeqlError(
            f"There is no unit {shown(name)}"
            f"{'' if name == text else f' (in {shown(text)})'}; write one such as "
            "m/s, N*m, 1/min, kW or degC, or 1 for a plain number."
        ) from error
    exponents = {key.strip("[]"): Fraction(p).limit_denominator(12) for key, p in dimension.items()}
    return Fraction(factor), exponents


class _Reader:
    """Reads products of powers of names: no code is run, and no number grows large."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                self.refuse()
            assert match.lastgroup is not None
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()
        self.at = 0

    def refuse(self) -> NoReturn:
        raise IeqlError(
            f"{shown(self.text)} is not a unit; write one such as m/s, N*m, 1/min, kg*m**2 or "
            "l/(100 km), or 1 for a plain number."
        )

    def peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, kind: str) -> str:
        if self.peek() != kind:
            self.refuse()
        self.at += 1
        return self.tokens[self.at - 1][1]

    def whole(self) -> dict[str, Fraction]:
        found = self.product()
        if self.peek():
            self.refuse()
        return {name: self.limited(p) for name, p in found.items()}

    def product(self) -> dict[str, Fraction]:
        total = self.factor()
        while self.peek() not in ("", "close"):
            sign = 1
            if self.peek() in ("times", "over"):
                sign = -1 if self.tokens[self.at][0] == "over" else 1
                self.at += 1
            for name, p in self.factor().items():
                total[name] = total.get(name, Fraction(0)) + sign * p
        return total

    def factor(self) -> dict[str, Fraction]:
        kind = self.peek()
        if kind == "open":
            self.at += 1
            base = self.product()
            self.take("close")
        elif kind == "number":
            number = self.take("number")
            if float(number) == 0.0 or float(number) > LARGEST_NUMBER:
                self.refuse()
            base = {} if float(number) == 1.0 else {number: Fraction(1)}
        else:
            name = self.take("name")
            inner = PRODUCTS.get(name)
            base = {name: Fraction(1)} if inner is None else _Reader(inner).whole()
        p = self.exponent(kind)
        return {name: q * p for name, q in base.items()}

    def exponent(self, base: str) -> Fraction:
        kind = self.peek()
        if kind == "super":
            text = self.take("super").translate(SUPERSCRIPTS)
            if not re.fullmatch(r"-?\d+", text):
                self.refuse()
            return self.limited(Fraction(text))
        if kind == "number" and base == "name":  # m/s2, as it stands in many headers
            return self.limited(Fraction(self.take("number")))
        if kind != "power":
            return Fraction(1)
        self.at += 1
        if self.peek() != "open":
            return self.limited(self.signed())
        self.at += 1
        p = self.signed()
        if self.peek() == "over":
            self.at += 1
            below = self.signed()
            if not below:
                self.refuse()
            p /= below
        self.take("close")
        return self.limited(p)

    def signed(self) -> Fraction:
        sign = 1
        if self.peek() == "minus":
            self.at += 1
            sign = -1
        return sign * Fraction(self.take("number"))

    def limited(self, p: Fraction) -> Fraction:
        if abs(p) > LARGEST_EXPONENT or p.denominator > LARGEST_EXPONENT:
            self.refuse()
        return p


def unit_text(powers: Powers | Iterable[tuple[str, Fraction]]) -> str:
    """A product of powers of units as a text that `quantity` reads; empty for none."""
    pairs = [(name, p) for name, p in dict(powers).items() if p]

    def power(name: str, p: Fraction) -> str:
        if p == 1:
            return name
        return f"{name}**{p}" if p.denominator == 1 else f"{name}**({p})"

    above = "*".join(power(name, p) for name, p in pairs if p > 0)
    below = [power(name, -p) for name, p in pairs if p < 0]
    if not below:
        return above
    return f"{above or '1'}/{below[0] if len(below) == 1 else '(' + '*'.join(below) + ')'}"


def conversion(given: str, asked: str) -> tuple[Fraction, Fraction]:
    """Factor and offset that turn a value in one unit into the same in another, exactly.

    Only temperatures with a zero of their own (degC, degF) have an offset.
    """
    one, other = quantity(given), quantity(asked)
    if one.dimension != other.dimension:
        raise IeqlError(
            f"{shown(given)} cannot be converted to {shown(asked)}: they are not units of the same "
            "kind of quantity."
        )
    factor = one.factor / other.factor
    return factor, (_zero(one) - _zero(other)) / other.factor


def _zero(unit: Quantity) -> Fraction:
    """Where a unit has its zero, in base units."""
    if len(unit.powers) != 1 or unit.powers[0][1] != 1 or unit.powers[0][0][0].isdigit():
        return Fraction(0)
    name = ALIASES.get(unit.powers[0][0], unit.powers[0][0])
    registry = _registry()
    zero = registry.Quantity(Fraction(0), name)
    return Fraction(zero.to_base_units().magnitude).limit_denominator(10**6)


# --- what a prior holds ------------------------------------------------------------------------


def checked_quantities(value: object) -> Mapping[str, str]:
    """The units of columns as a mapping from name to text; each is read, if pint is there."""
    if not isinstance(value, Mapping):
        raise IeqlError(f"quantities: give a mapping of columns to units, not {shown(value)}.")
    found: dict[str, str] = {}
    for column, text in value.items():
        if not isinstance(column, str):
            raise IeqlError(f"quantities: put the column name {shown(column)} in quotes.")
        found[column] = _text(text, f"quantities, {shown(column)}", quantity)
    return MappingProxyType(found)


def checked_constants(value: object) -> str | tuple[str, ...]:
    """What constants may carry: ``free``, ``plain`` or a list of units."""
    if isinstance(value, str):
        if value not in (FREE, PLAIN):
            hint = nearest(value, (FREE, PLAIN))
            raise IeqlError(
                f"constants: give free, plain or a list of units, not {shown(value)}.{hint}"
            )
        return value
    if not isinstance(value, list | tuple):
        raise IeqlError(f"constants: give free, plain or a list of units, not {shown(value)}.")
    return tuple(_text(text, "constants", quantity) for text in value)


def _text(value: object, where: str, read: Callable[[str], object]) -> str:
    if isinstance(value, int) and value == 1:
        value = "1"
    if not isinstance(value, str):
        raise IeqlError(f"{where}: give a unit such as 'm/s', or '1', not {shown(value)}.")
    if has_pint():  # whoever only predicts with a stored model does not need it
        try:
            read(value)
        except IeqlError as error:
            raise IeqlError(f"{where}: {error}") from error
    return value
