"""The prior in words, and numbers as they are read."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ieql.prior import PRESETS, Prior
from ieql.report.words import input_rules, number, preset_name, prohibitions, uncertain
from ieql.units import Unit


def test_presets_are_known_by_name():
    assert preset_name(PRESETS["motor"]) == "motor"
    assert preset_name(Prior.of({"preset": "motor"})) == "motor"
    assert preset_name(Prior(prohibit=())) is None


@pytest.mark.parametrize(
    ("composition", "words"),
    [
        ("cos(cos)", "no cosine of a cosine"),
        ("cos(exp)", "no cosine of an exponential"),
        ("mul(mul)", "no product with a product in it"),
        ("mul(_, log)", "no product with a logarithm as its second factor"),
        ("div(_, div)", "no quotient with a quotient as its denominator"),
        ("div(square, _)", "no quotient with a square as its numerator"),
    ],
)
def test_prohibitions(composition, words):
    assert prohibitions(Prior(prohibit=(composition,))) == [words]


def test_a_unit_of_ones_own_has_arguments_not_factors():
    slopes = (lambda a, b: a / np.hypot(a, b), lambda a, b: b / np.hypot(a, b))
    hypot = Unit("hypot", np.hypot, slopes)
    prior = Prior(units=("cos", "hypot"), custom=(hypot,), prohibit=("hypot(_, cos)",))
    assert prohibitions(prior) == ["no hypot with a cosine as its second argument"]


def test_rules_for_inputs():
    rules = {
        "T": {"not_in": ["cos", "exp"]},
        "n": {"only_in": ["output"]},
        "a": {"only_in": []},
        "b": {"not_in": []},
    }
    assert input_rules(Prior(inputs=rules)) == [
        "T does not enter a cosine or an exponential directly",
        "n enters only the output directly",
        "a is not used",
        "b may enter any unit",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-1.5, "−1.5"),
        (24684.0, "24680"),
        (1e6, "10⁶"),
        (-1e6, "−10⁶"),
        (2.5e-7, "2.5·10⁻⁷"),
        (math.nan, "–"),
        (-math.inf, "−∞"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(24684.125, "24684.125"), (1.2345678e-7, "1.2345678·10⁻⁷"), (2.0, "2")]
)
def test_constants_keep_their_digits(value, text):
    assert number(value, None) == text


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.0082685, 0.0000012, "0.0082685 ± 0.0000012"),
        (0.0082685312, 0.0000012, "0.0082685312 ± 0.0000012"),
        (-3.14159265358979, 0.5, "−3.14159265358979 ± 0.50"),
        (24000.0, 5600.0, "24000 ± 5600"),
        (2.50123e-9, 1.2e-11, "(2.50123 ± 0.012)·10⁻⁹"),
        (-29.7, 0.4, "−29.70 ± 0.40"),
        (1234.0, 56.0, "1234 ± 56"),
        (2.5e-9, 1.2e-11, "(2.500 ± 0.012)·10⁻⁹"),
        (0.1, 3.0, "0.1 ± 3.0"),
        (2.0, 0.0, "2 (set)"),
        (2.0, 1e-17, "2 ± 10⁻¹⁷"),
        (2.0, None, "2"),
        (2.0, math.nan, "2"),
        (1e-300, 1e-300, "10⁻³⁰⁰ ± 10⁻³⁰⁰"),
    ],
)
def test_constants_with_their_standard_errors(value, error, text):
    assert uncertain(value, error) == text
