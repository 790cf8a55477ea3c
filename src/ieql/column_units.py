"""Physical units that stand in the names of columns: ``n [1/min]``, ``M (Nm)``, ``T_K``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ieql.errors import IeqlError
from ieql.quantities import quantity

__all__ = ["is_unit", "unit_in_name", "units_in_names"]

BRACKETS = re.compile(r".*\S\s*(?:\[([^\[\]]*)\]|\(([^()]*(?:\([^()]*\)[^()]*)*)\))\s*")
"""A name, and what stands in the brackets at its end."""
SUFFIX = re.compile(r"(.+)_([A-Za-z%°]+)")
CLEAR = frozenset(
    ("mm", "cm", "km", "µm", "um", "ms", "min", "kg", "mg", "kN", "Nm", "kNm", "kW", "MW", "mW",
     "kV", "mV", "mA", "Hz", "kHz", "MHz", "Pa", "kPa", "MPa", "hPa", "bar", "mbar", "kJ", "MJ",
     "kWh", "rpm", "deg", "rad", "degC", "degF", "Ohm", "kmh", "kph", "mps", "percent", "ppm")
)  # fmt: skip
"""Units after an underscore that are hardly an index."""
LIKELY: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        unit: re.compile(rf"(?:{names})(?:[_\d].*)?", re.IGNORECASE)
        for unit, names in (
            ("K", "T|temp|temperature|theta|dT"),
            ("C", "T|temp|temperature|theta"),
            ("s", "t|dt|tau|time|period|duration"),
            ("h", "t|time|duration"),
            ("m", "x|y|z|d|h|l|r|s|length|height|width|depth|distance|radius|diameter|position"),
            ("g", "m|mass|weight"),
            ("N", "F|force|load"),
            ("W", "P|power|loss|losses"),
            ("V", "U|V|volt|voltage"),
            ("A", "I|current"),
            ("J", "E|W|Q|energy|work|heat"),
        )
    }
)
"""Units of one letter, which could as well be an index, and names that they go with."""


def unit_in_name(name: str) -> str | None:
    """The unit that the name of a column tells; None if it tells none.

    Brackets at its end hold a unit if what stands in them is one. After an underscore only the
    usual ones are taken for a unit, and a single letter only if it goes with the name: T_K is a
    temperature, and I_D is no current in debye.

    Examples
    --------
    >>> unit_in_name("n [1/min]"), unit_in_name("M (Nm)"), unit_in_name("T_K"), unit_in_name("I_D")
    ('1/min', 'Nm', 'K', None)
    """
    found = BRACKETS.fullmatch(name)
    if found is not None:
        text = (found[1] if found[1] is not None else found[2]).strip()
        return text if is_unit(text) else None
    found = SUFFIX.fullmatch(name)
    if found is None:
        return None
    start, unit = found[1], found[2]
    if unit in CLEAR:
        return unit if is_unit(unit) else None
    likely = LIKELY.get(unit)
    if likely is None or likely.fullmatch(start) is None:
        return None
    return "degC" if unit == "C" else unit


def units_in_names(names: Iterable[str]) -> dict[str, str]:
    """The units of all columns whose names tell one."""
    found = {name: unit_in_name(name) for name in names}
    return {name: unit for name, unit in found.items() if unit is not None}


def is_unit(text: str) -> bool:
    """Tell whether a text is a unit that pint knows; who has no pint is told so."""
    quantity("m")
    try:
        quantity(text)
    except IeqlError:
        return False
    return True
