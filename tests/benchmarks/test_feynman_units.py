"""The units of the Feynman set, and pint's opinion on equations."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ieql import Prior
from ieql.equations.constant_units import constant_units
from ieql.equations.dimensions import is_in_order
from ieql.equations.expression import Expression

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import feynman
from feynman_units import UNITS, units_of, violation

PRESENT = [e for e in feynman.EQUATIONS if e.present]


def test_all_97_have_units():
    assert {e.name for e in PRESENT} == set(UNITS)


@pytest.mark.parametrize("equation", PRESENT, ids=lambda e: e.name)
def test_every_formula_agrees_with_its_units(equation):
    names = tuple(equation.ranges)
    units = units_of(equation.name, names, "output")
    e = Expression.parse(equation.formula, names)
    assert violation(e, units, "output") == ""
    assert is_in_order(e, Prior(quantities=units, constants="plain").for_target("output"))


@pytest.mark.parametrize("text", ["x + t", "x + 3", "x*exp(t)", "x*t", "x**0.8", "x*log(x)", "3"])
def test_pint_refuses_what_is_wrong(text):
    e = Expression.parse(text, ("x", "t"))
    assert violation(e, {"x": "m", "t": "s", "y": "m"}, "y")


@pytest.mark.parametrize("text", ["3*x", "x**0.8*x**0.2", "x*exp(x/(2*x))", "0", "sqrt(2*x**2)"])
def test_pint_has_nothing_against_what_is_right(text):
    e = Expression.parse(text, ("x", "t"))
    assert violation(e, {"x": "m", "t": "s", "y": "m"}, "y") == ""


def test_constants_have_the_units_that_are_printed():
    e = Expression.parse("3*x + 2*exp(0.5*t) + 1", ("x", "t"))
    units = {"x": "m", "t": "s", "y": "kg"}
    printed = constant_units(e, Prior(quantities=units, constants="free"), "y")
    assert violation(e, units, "y", printed) == ""
    assert violation(e, units, "y", [unit.replace("kg", "g*s") for unit in printed])
    assert violation(e, units, "y")  # plain numbers
