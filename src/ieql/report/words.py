"""The prior in words, and numbers as they are read: ``0.0082685 ± 0.0000012``."""

from __future__ import annotations

import math

from ieql.export.numbers import decimal_text, exact
from ieql.prior import PRESETS, Prior
from ieql.units import COS, DIV, EXP, LOG, MUL, SIN, SQRT, UNITS

__all__ = [
    "article",
    "input_rules",
    "number",
    "preset_name",
    "prohibitions",
    "uncertain",
    "unit_name",
]

SPOKEN = {
    COS: "cosine",
    SIN: "sine",
    EXP: "exponential",
    LOG: "logarithm",
    SQRT: "square root",
    MUL: "product",
    DIV: "quotient",
}
"""Units that are spoken in another way than they are written."""
ARGUMENTS = {DIV: ("numerator", "denominator"), MUL: ("first factor", "second factor")}
"""What the arguments of a unit are called."""
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def unit_name(name: str) -> str:
    """A unit's name as it is spoken; a unit of the user's own keeps its name."""
    return SPOKEN.get(UNITS[name], name) if name in UNITS else name


def article(noun: str) -> str:
    """The noun with its indefinite article."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def preset_name(prior: Prior) -> str | None:
    """Name of the preset that a prior is equal to."""
    return next((name for name, preset in PRESETS.items() if preset == prior), None)


def prohibitions(prior: Prior) -> list[str]:
    """Prohibited compositions as phrases like "no cosine of an exponential"."""
    return [_prohibition(prior, text) for text in prior.prohibit]


def _prohibition(prior: Prior, text: str) -> str:
    outer, _, rest = text.partition("(")
    arguments = [a.strip() for a in rest.rstrip(")").split(",")]
    inner = article(unit_name(next(a for a in arguments if a != "_")))
    noun = unit_name(outer)
    if prior.unit(outer).arity == 1:
        return f"no {noun} of {inner}"
    if len(arguments) == 1:
        return f"no {noun} with {inner} in it"
    place = arguments.index(next(a for a in arguments if a != "_"))
    places = ARGUMENTS.get(prior.unit(outer), ("first argument", "second argument"))
    return f"no {noun} with {inner} as its {places[place]}"


def input_rules(prior: Prior) -> list[str]:
    """Rules for inputs as sentences without their full stop."""
    sentences = []
    for column, rule in prior.inputs.items():
        for kind, places in rule.items():
            names = ["the output" if p == "output" else article(unit_name(p)) for p in places]
            listed = " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
            if kind == "only_in":
                text = f"enters only {listed} directly" if names else "is not used"
            else:
                text = f"does not enter {listed} directly" if names else "may enter any unit"
            sentences.append(f"{column} {text}")
    return sentences


def number(value: float, digits: int | None = 4) -> str:
    """A number for the eye, with a true minus and powers of ten written as such.

    Rounded to so many digits; None leaves it all that it has, as constants of an equation need.
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("−∞" if value < 0 else "∞")
    text = decimal_text(value, digits)
    if "e+" in text and abs(value) < 999_999.5:
        text = f"{float(text):.0f}"  # 24680 rather than 2.468·10⁴
    mantissa, _, exponent = text.partition("e")
    if not exponent:
        return text.replace("-", "−")
    power = f"10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    if mantissa in ("1", "-1"):
        return mantissa[:-1].replace("-", "−") + power
    return f"{mantissa.replace('-', '−')}·{power}"


def uncertain(value: float, error: float | None) -> str:
    """A constant as it is in the equation, with its standard error to two digits.

    >>> uncertain(0.0082685, 0.0000012)
    '0.0082685 ± 0.0000012'
    """
    if error is None or not math.isfinite(error) or error < 0:
        return number(value, None)
    if error == 0.0:
        return f"{number(value, None)} (set)"  # a simple number within its error
    if error < 1e-13 * abs(value) or error < 1e-290:
        return f"{number(value, None)} ± {number(error, 2)}"  # more digits than a float has
    size = math.floor(math.log10(max(abs(value), error)))
    place = math.floor(math.log10(error)) - 1
    power = 0 if -5 <= size < 6 and place >= -10 else size
    constant = exact(value).scaleb(-power)
    decimals = max(0, power - place)
    # The constant keeps all its digits, and zeros up to the last digit of its error.
    digits = max(decimals, -int(constant.as_tuple().exponent))
    spread = exact(error).scaleb(-power)
    inner = f"{constant:.{digits}f} ± {spread:.{decimals}f}".replace("-", "−")
    return inner if power == 0 else f"({inner})·10{str(power).translate(SUPERSCRIPTS)}"
