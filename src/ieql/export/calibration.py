"""The constants of equations for calibration tools: their values as DCM, their description as A2L.

Both are about the parameters of the C code that is written with ``constants="named"``: a tool
reads where they are and what they mean from the A2L, sets them, and reads and writes their values
as DCM.
"""

from __future__ import annotations

from collections.abc import Sequence

from ieql.export.c import REALS, c_comment, c_dialect, check_choice, number_text
from ieql.export.functions import Constant, Domain, Equation, functions
from ieql.export.names import printable
from ieql.export.origin import Origin, about

__all__ = ["a2l_text", "dcm_text"]

LONGEST = 255
"""Characters of a text in an A2L file."""
TYPES = {"double": ("FLOAT64_IEEE", 1.7e308), "float": ("FLOAT32_IEEE", 3.4e38)}
"""Name in an A2L file and largest number of each type."""


def dcm_text(
    equations: Sequence[Equation],
    domain: Domain | None = None,
    real: str = "double",
    name: str | None = None,
    origin: Origin | None = None,
) -> str:
    """The values of all constants, one FESTWERT each, in the text format DCM 2.0.

    Parameters are those of `ieql.export.c.c_code`, with which the names agree.
    """
    lines = [f"* {line}" for line in _about(equations, domain, origin)]
    lines += ["", "KONSERVIERUNG_FORMAT 2.0"]
    for constant in _constants(equations, real, name):
        lines += [
            "",
            f"FESTWERT {constant.word}",
            f'   LANGNAME "{_quoted(constant.of)}"',
            f"   WERT {number_text(constant.value, real).removesuffix('f')}",
            "END",
        ]
    return "\n".join([*lines, ""])


def a2l_text(
    equations: Sequence[Equation],
    domain: Domain | None = None,
    real: str = "double",
    name: str | None = None,
    origin: Origin | None = None,
) -> str:
    """The description of all constants, one CHARACTERISTIC each, as A2L (ASAP2 1.6).

    The addresses are left zero: the linker knows them, and the tool that merges its map finds
    each by its SYMBOL_LINK. Parameters are those of `ieql.export.c.c_code`.
    """
    constants = _constants(equations, real, name)
    kind, largest = TYPES[real]
    # Comments of an A2L file are those of C.
    comment = c_comment(_about(equations, domain, origin))
    lines = ["/*", *comment, " */", "ASAP2_VERSION 1 60"]
    lines += ['/begin PROJECT ieql "constants of equations"', '  /begin MODULE ieql ""']
    lines += [
        '    /begin MOD_COMMON ""',
        "      BYTE_ORDER MSB_LAST",
        "      ALIGNMENT_FLOAT32_IEEE 4",
        "      ALIGNMENT_FLOAT64_IEEE 8",
        "    /end MOD_COMMON",
    ]
    for constant in constants:
        lines += [
            f'    /begin CHARACTERISTIC {constant.word} "{_quoted(constant.of)}"',
            f"      VALUE 0x0 ieql_{real} 0 ieql_number -{largest:g} {largest:g}",
            f'      SYMBOL_LINK "{constant.word}" 0',
            "    /end CHARACTERISTIC",
        ]
    lines += [
        '    /begin COMPU_METHOD ieql_number "the number itself"',
        '      IDENTICAL "%20.12" ""',
        "    /end COMPU_METHOD",
        f"    /begin RECORD_LAYOUT ieql_{real}",
        f"      FNC_VALUES 1 {kind} COLUMN_DIR DIRECT",
        "    /end RECORD_LAYOUT",
        "  /end MODULE",
        "/end PROJECT",
        "",
    ]
    return "\n".join(lines)


def _constants(equations: Sequence[Equation], real: str, name: str | None) -> list[Constant]:
    check_choice("real", real, REALS)
    found = functions(equations, c_dialect(real, named=True), name)
    return [constant for function in found for constant in function.constants]


def _about(
    equations: Sequence[Equation], domain: Domain | None, origin: Origin | None
) -> list[str]:
    return [_ascii(line) for line in about(equations, domain, origin)]


def _ascii(text: str) -> str:
    """Text that tools of every age read."""
    return text.encode("ascii", "backslashreplace").decode().replace("\\", "/")


def _quoted(text: str) -> str:
    """Text between quotes, which it must not hold itself."""
    return _ascii(printable(text)).replace('"', "'")[:LONGEST]
