"""The physical units of constants."""

from __future__ import annotations

import pytest

from ieql import Prior
from ieql.equations.constant_units import constant_units
from ieql.equations.conversion import in_units
from ieql.equations.expression import Expression
from ieql.errors import IeqlError

UNITS = {
    "n": "1/min", "M": "N*m", "T": "K", "h": "m", "t": "s", "I_D": "A", "I_Q": "A", "x": "km",
}  # fmt: skip
NAMES = tuple(UNITS)


def units(text, target, constants="free"):
    """The constants that have a unit, by their values."""
    e = Expression.parse(text, NAMES)
    prior = Prior(quantities={**UNITS, "out": target}, constants=constants)
    found = constant_units(e, prior, "out")
    assert len(found) == len(e.constants())
    return {c: unit for c, unit in zip(e.constants().tolist(), found, strict=True) if unit}


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("0.0083*(I_D**2 + I_Q**2)", "W", {0.0083: "W/A**2"}),
        ("0.1*n*M + 3.2", "kW", {0.1: "kW*min/(N*m)", 3.2: "kW"}),
        ("2.5*exp(-0.5*t) + 2", "V", {2.5: "V", -0.5: "1/s", 2.0: "V"}),
        ("sqrt(19.6*h)", "m/s", {19.6: "m/s**2"}),
        ("4.43*sqrt(h)", "m/s", {4.43: "m**(1/2)/s"}),
        ("5*log(0.2*T)", "1", {0.2: "1/K"}),
        ("7*h/(t + 3)", "m", {7.0: "s", 3.0: "s"}),
        ("2.5*n**0.8", "kW", {2.5: "kW*min**(4/5)"}),
        ("2.5*n**0.371", "kW", {2.5: "kW*min**(371/1000)"}),
        ("3*M", "J", {}),  # J is N*m in other words
        ("h + 1000*x", "m", {1000.0: "m/km"}),
        ("3*exp(-t)", "V", {3.0: "V", -1.0: "1/s"}),  # a factor of 1 that is not plain
    ],
)
def test_constants_take_the_unit_that_is_missing(text, target, expected):
    assert units(text, target) == expected


def test_listed_units_are_taken_where_they_fit():
    assert units("4.9*t**2 + 3*t", "m", ["m/s**2", "m/s"]) == {4.9: "m/s**2", 3.0: "m/s"}


def test_without_quantities_constants_have_no_units():
    e = Expression.parse("3*h + 2", NAMES)
    assert constant_units(e, Prior(), "out") == ["", ""]


# --- the same in other units -------------------------------------------------------------------


def converted(text, target, **asked):
    prior = Prior(quantities={**UNITS, "out": target})
    return in_units(Expression.parse(text, NAMES), prior, "out", asked).text()


def test_an_equation_is_written_in_other_units_exactly():
    assert converted("3.6*x/t", "km/s", x="m", out="m/s") == "3.6*x/t"
    assert converted("0.06*n*M", "W", n="1/s") == "3.6*n*M"


def test_a_temperature_moves_its_zero():
    assert converted("2*T", "1", T="degC") == "2*T + 546.3"


def test_a_column_whose_unit_is_not_known_is_not_converted():
    with pytest.raises(IeqlError, match="There is no column 'y' to be converted"):
        converted("2*T", "1", y="m")
    e = Expression.parse("2*T", ("T",))
    with pytest.raises(IeqlError, match="The unit of 'T' is not known"):
        in_units(e, Prior(), "out", {"T": "degC"})
