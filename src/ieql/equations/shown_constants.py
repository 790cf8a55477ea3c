"""The constants of an equation as a reader sees them: each number that is written, and its place.

Factors of 1 and offsets of 0 are not written, and neither is the 1 above a fraction bar; the number
before a fraction, c · 1/z = c/z, is one constant; real exponents stand for weights inside an
exponential.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ieql.equations.expression import Expression, Sum
from ieql.equations.notation import is_reciprocal
from ieql.equations.text import source_texts
from ieql.units import DIV, LOG, MUL, SQUARE

__all__ = ["ShownConstant", "places_in_words", "power_of", "shown_constants"]

LONG_NUMBER, SHORT_NUMBER = 10, 4
"""A number of more digits than the first is cut to the second where a place is named in short."""
LONGEST = 80
"""Characters of a part of the equation that names a place."""


@dataclass(frozen=True)
class ShownConstant:
    """One number of an equation.

    Attributes
    ----------
    value, standard_error : float
        The number as it is written, and its error; NaN if that is not known.
    source : int or None
        What it multiplies, as a source of the expression; None if it is added.
    home : int or None
        The source of the unit that it stands in; None in the equation's own sum.
    argument : int
        In which argument of that unit.
    is_exponent : bool
        Whether it is the exponent of a power; then `source` is the logarithm of its base.
    place : int
        Where it stands among `Expression.constants`.
    """

    value: float
    standard_error: float
    source: int | None
    home: int | None = None
    argument: int = 0
    is_exponent: bool = False
    place: int = -1


def shown_constants(
    expression: Expression,
    standard_errors: Sequence[float] | None = None,
    also: Collection[int] = (),
) -> list[ShownConstant]:
    """The constants of an equation with one output, those of its own sum first.

    Parameters
    ----------
    expression : Expression
        The equation.
    standard_errors : sequence of float, optional
        Of each constant, in the order of `Expression.constants`.
    also : collection of int
        Places of factors of 1 that are shown though they are not written: they have a unit.
    """
    n = len(expression.constants())
    errors = standard_errors or ()
    if len(errors) != n:
        errors = (math.nan,) * n
    inside: list[ShownConstant] = []
    at = 0  # the place of a sum's bias among all constants; its weights follow
    for k, node in enumerate(expression.nodes, start=len(expression.names)):
        for a, s in enumerate(node.args):
            inside += _of_sum(expression, s, errors, at, k, a, also)
            at += 1 + len(s.weights)
    # As it is read: the equation's own sum, and then what stands inside.
    return [*_of_sum(expression, expression.outputs[0], errors, at, None, 0, also), *inside]


def _of_sum(
    expression: Expression,
    s: Sum,
    errors: Sequence[float],
    at: int,
    home: int | None,
    argument: int,
    also: Collection[int],
) -> list[ShownConstant]:
    """The constants of one sum, given the errors of all, the place of its bias, and its home."""
    d = len(expression.names)
    node = None if home is None else expression.nodes[home - d]
    is_power = node is not None and bool(expression.powers(node))
    found = []
    for place, (source, weight) in enumerate(zip(s.sources, s.weights, strict=True), start=at + 1):
        error = errors[place]
        unit = expression.nodes[source - d] if source >= d else None
        before = unit.args[0].bias if is_reciprocal(unit) else 1.0
        is_exponent = is_power and unit is not None and unit.unit is LOG
        if abs(weight * before) != 1.0 or is_exponent or place in also:
            value, error = weight * before, error * abs(before)
            found.append(ShownConstant(value, error, source, home, argument, is_exponent, place))
    # The number above a fraction bar belongs to the factor of the fraction.
    if s.bias != 0.0 and not (is_reciprocal(node) and argument == 0):
        found.append(ShownConstant(s.bias, errors[at], None, home, argument, place=at))
    return found


def places_in_words(
    expression: Expression, constants: Sequence[ShownConstant], shorten: bool = False
) -> list[str]:
    """Where each constant stands, in words: "factor of exp(-0.5*t)", "offset inside the square".

    With `shorten` the long numbers of the parts that are named are rounded.
    """
    precision = SHORT_NUMBER if shorten else None
    texts = [_short(text) for text in source_texts(expression, precision, LONG_NUMBER)]
    places = [_place(expression, c.home, c.argument) for c in constants]
    # A unit that stands there once is named; of several, each is written out.
    homes = {(c.home, place) for c, place in zip(constants, places, strict=True)}
    counts = Counter(place for _, place in homes)
    words = []
    for c, place in zip(constants, places, strict=True):
        if c.is_exponent:
            assert c.source is not None
            base = expression.nodes[c.source - len(expression.names)].args[0]
            text = texts[base.sources[0]] if base.is_bare else _argument(texts[c.source])
            words.append(f"exponent of {text}")
            continue
        role = "offset" if c.source is None else f"factor of {texts[c.source]}"
        if place is None or c.home is None:
            words.append(role)
        elif counts[place] == 1:
            words.append(f"{role} {place}")
        else:
            text = texts[power_of(expression, c.home)]
            is_fraction = expression.nodes[c.home - len(expression.names)].unit is DIV
            words.append(f"{role} {place} of {text}" if is_fraction else f"{role} inside {text}")
    return words


def _place(expression: Expression, home: int | None, argument: int) -> str | None:
    """The place that a unit's argument is, in short."""
    if home is None:
        return None
    node = expression.nodes[home - len(expression.names)]
    if node.unit is DIV:
        return "in the denominator" if argument else "in the numerator"
    if node.unit is SQUARE:
        return "inside the square"
    if node.unit is MUL:
        return "inside the product"
    if power_of(expression, home) != home:
        return "inside the power"
    return f"inside {node.unit.name}"


def power_of(expression: Expression, home: int) -> int:
    """The source of the power whose base a logarithm is; that of any other unit itself."""
    d = len(expression.names)
    if expression.nodes[home - d].unit is not LOG:
        return home
    users = [
        (d + k, node)
        for k, node in enumerate(expression.nodes)
        if any(home in a.sources for a in node.args)
    ]
    in_output = any(home in s.sources for s in expression.outputs)
    if in_output or not users or not all(expression.powers(node) for _, node in users):
        return home
    return users[0][0]


def _argument(text: str) -> str:
    """What stands inside the brackets of a unit's text, with them."""
    return text[max(text.find("("), 0) :]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
