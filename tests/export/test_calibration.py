"""The constants as DCM and A2L are those of the C code, and parsers read them."""

from __future__ import annotations

import re

import pytest

from exported import HOSTILE
from ieql.equations.expression import Expression, Sum
from ieql.export.c import c_code
from ieql.export.calibration import a2l_text, dcm_text
from ieql.export.functions import Equation
from ieql.export.origin import Origin

EQUATIONS = [
    Equation("torque", Expression.parse("0.5*n*cos(2*load + 1) - 3e-12/load", ["n", "load"])),
    Equation("power", Expression.parse("n**1.75 - 0.1", ["n", "load"])),
]
HOSTILE_EQUATIONS = [
    Equation(name, Expression((name, "other"), (), (Sum(0.0, (0, 1), (2.5, -3.5)),)))
    for name in HOSTILE
]


def read_dcm(text):
    """A strict reader of the part of DCM 2.0 that holds numbers: name to (meaning, value)."""
    lines = [line for line in text.split("\n") if line and not line.startswith("*")]
    assert text.isascii()
    assert lines.pop(0) == "KONSERVIERUNG_FORMAT 2.0"
    found = {}
    while lines:
        first, long_name, value, end = lines[:4]
        del lines[:4]
        name = re.fullmatch(r"FESTWERT ([A-Za-z_]\w{0,62})", first)[1]
        meaning = re.fullmatch(r'   LANGNAME "([^"]*)"', long_name)[1]
        assert end == "END"
        assert name not in found
        found[name] = meaning, float(re.fullmatch(r"   WERT (\S+)", value)[1])
    return found


def parameters(code):
    found = re.findall(r"^const volatile \w+ (\w+) = (\S+);$", code, re.MULTILINE)
    return {name: float(value.removesuffix("f")) for name, value in found}


@pytest.mark.parametrize("real", ["double", "float"])
def test_values_are_those_of_the_code(real):
    read = read_dcm(dcm_text(EQUATIONS, real=real))
    assert {name: value for name, (_, value) in read.items()} == parameters(
        c_code(EQUATIONS, constants="named", real=real)
    )
    assert {round(value, 15) for _, value in read.values()} >= {2.0, 0.5, 1.75, -0.1}
    assert read["ieql_torque_c1"] == ("factor of load inside cos", 2.0)


def test_names_of_columns_do_no_harm():
    read = read_dcm(dcm_text(HOSTILE_EQUATIONS))
    assert len(read) == 2 * len(HOSTILE)
    assert list(read) == list(parameters(c_code(HOSTILE_EQUATIONS, constants="named")))
    assert all(len(name) <= 31 for name in read)


@pytest.mark.parametrize("real", ["double", "float"])
def test_a_parser_reads_the_a2l(real):
    parser = pytest.importorskip("pya2l.parser", reason="needs pya2l")
    origin = Origin("ab" * 32, {"torque": 0.5})
    text = a2l_text([*EQUATIONS, *HOSTILE_EQUATIONS], {"n": (0, 6)}, real=real, origin=origin)
    assert text.isascii()
    with parser.A2lParser() as reader:
        tree = reader.tree_from_a2l(text.encode(), enforce_version_check=True)
        module = tree.PROJECT.MODULE[0]
        found = {c.Name.Value: c for c in module.CHARACTERISTIC}
        expected = parameters(
            c_code([*EQUATIONS, *HOSTILE_EQUATIONS], constants="named", real=real)
        )
        assert list(found) == list(expected)
        kinds = {layout.Name.Value: layout.FNC_VALUES for layout in module.RECORD_LAYOUT}
        methods = {method.Name.Value for method in module.COMPU_METHOD}
        for name, characteristic in found.items():
            assert characteristic.Type == "VALUE"
            assert characteristic.SYMBOL_LINK.SymbolName.Value == name
            assert characteristic.Conversion.Value in methods
            width = {"double": "FLOAT64_IEEE", "float": "FLOAT32_IEEE"}[real]
            assert kinds[characteristic.Deposit.Value].DataType.Value == width
            assert (
                characteristic.LowerLimit.Value < expected[name] < characteristic.UpperLimit.Value
            )
