"""Texts that look like a physical unit: ``rpm``, ``[1/min]``, ``kg*m^2``, ``°C``.

A row of units below the header, and units in cells, are recognised by this alone, so that a file is
read alike whether or not pint, which knows what units mean, is installed.
"""

from __future__ import annotations

import re

__all__ = ["bare_unit", "is_unit_word"]

BASE = frozenset(
    ("m", "s", "g", "K", "A", "V", "W", "N", "J", "Pa", "Hz", "mol", "bar", "l", "L", "h", "Nm",
     "Ohm", "ohm", "Ω", "F", "H", "T", "C", "S", "t", "VA", "Wh", "Ah", "eV", "cd", "lm", "lx")
)  # fmt: skip
"""Units that take a prefix."""
WHOLE = frozenset(
    ("%", "°", "°C", "°F", "degC", "degF", "deg", "rad", "rpm", "U/min", "min", "d", "sec", "hour",
     "hours", "kph", "kmh", "mph", "psi", "ppm", "ppb", "in", "inch", "ft", "lb", "lbf", "mmHg",
     "Vol", "vol", "percent", "dB", "dBA", "ata", "atm", "cP", "cSt", "Nl", "inc", "count")
)  # fmt: skip
PREFIXES = ("", "n", "u", "µ", "μ", "m", "c", "d", "h", "k", "M", "G", "T")
SYMBOLS = WHOLE | {prefix + unit for prefix in PREFIXES for unit in BASE}
WORD = re.compile(r"[^\W\d_]+|[%°][CF]?|Ω")
ALLOWED = re.compile(r"[\w%°Ω/*·⋅.^²³⁻¹()\- ]{1,24}")


def bare_unit(text: str) -> str:
    """The text without the brackets around it."""
    text = text.strip()
    pairs = ("[]", "()", "{}", "<>")
    return text[1:-1].strip() if len(text) > 1 and text[0] + text[-1] in pairs else text


def is_unit_word(text: str) -> bool:
    """Tell whether a text looks like a unit.

    Examples
    --------
    >>> [is_unit_word(t) for t in ("[1/min]", "kg*m^2", "°C", "speed", "12")]
    [True, True, True, False, False]
    """
    text = bare_unit(text)
    if text in SYMBOLS:
        return True
    words = WORD.findall(text)
    return bool(words) and ALLOWED.fullmatch(text) is not None and all(w in SYMBOLS for w in words)
