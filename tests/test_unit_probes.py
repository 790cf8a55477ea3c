"""A unit of the user's that would fail later is refused when it is made, in a sentence."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from ieql.errors import IeqlError
from ieql.units import REALS, Unit


def tanh_slope(z):
    return 1 - np.tanh(z) ** 2


@pytest.mark.parametrize(
    ("value", "slope", "domain"),
    [
        (np.abs, np.sign, REALS),  # a kink
        (lambda z: np.maximum(z, 0), lambda z: (z > 0) * 1.0, REALS),
        (np.arcsin, lambda z: 1 / np.sqrt(1 - z**2), (-1, 1)),
        (np.log10, lambda z: 1 / (z * np.log(10)), (0, math.inf)),
        (lambda z: np.sqrt(-z), lambda z: -0.5 / np.sqrt(-z), (-math.inf, 0)),
        (lambda z: np.exp(20 * z), lambda z: 20 * np.exp(20 * z), REALS),
        (lambda z: np.sin(z), np.cos, (0, 1e6)),
        (np.square, lambda z: 2 * z, (1e9, 1e9 + 1)),
        (np.square, lambda z: 2 * z, (0, 1e-6)),
        (np.square, lambda z: 2 * z, (-1e6, 1e6)),
        (np.ones_like, np.zeros_like, REALS),
    ],
)
def test_right_derivatives_are_accepted(value, slope, domain):
    assert Unit("mine", value, slope, domains=(domain,)).domains == (domain,)


@pytest.mark.parametrize(
    ("value", "slope", "domain"),
    [
        (np.tanh, np.cos, REALS),
        (np.square, lambda z: 3 * z, (0, 1e-6)),
        (np.square, lambda z: 3 * z, (0, 1e6)),
        (np.square, np.zeros_like, (0, 1e6)),
        (lambda z: 1e-6 * z**2, lambda z: 1e-6 * z, REALS),
        (lambda z: 1e6 + z, np.zeros_like, REALS),
        (lambda z: z - z.mean(), np.ones_like, REALS),  # not a function of one point alone
    ],
)
def test_wrong_derivatives_are_refused(value, slope, domain):
    with pytest.raises(IeqlError, match="The derivative of unit 'mine' for argument 0 disagrees"):
        Unit("mine", value, slope, domains=(domain,))


def test_the_wrong_derivative_of_two_is_named():
    with pytest.raises(IeqlError, match=r"for argument 1 disagrees .* at \(.*, .*\) it gives"):
        Unit("mine", np.multiply, (lambda a, b: +b, lambda a, b: +b))


FINE = {"name": "mine", "value": np.tanh, "derivatives": tanh_slope}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": "my unit"}, "A unit's name must be a word like 'tanh', not 'my unit'."),
        ({"name": "2x"}, "A unit's name must be a word like 'tanh', not '2x'."),
        ({"name": ""}, "A unit's name must be a word like 'tanh', not ''."),
        ({"name": None}, "A unit's name must be a word like 'tanh', not None."),
        ({"name": "cos"}, "The name 'cos' is taken; choose another name for the unit."),
        ({"name": "input"}, "The name 'input' is taken; choose another name for the unit."),
        ({"name": "output"}, "The name 'output' is taken; choose another name for the unit."),
        ({"derivatives": ()}, "Unit 'mine' has 0 derivatives; one or two are possible."),
        (
            {"derivatives": (tanh_slope,) * 3},
            "Unit 'mine' has 3 derivatives; one or two are possible.",
        ),
        (
            {"domains": ((0, 1), (0, 1))},
            "Unit 'mine' has 1 argument but 2 domains.",
        ),
        (
            {"domains": (0, 1)},
            "The domains of unit 'mine' must be one pair (low, high) per argument, "
            "like ((0, 1),), not (0, 1).",
        ),
        (
            {"domains": ((1, 1),)},
            "Unit 'mine' has an empty domain: each must be a pair low < high.",
        ),
        (
            {"domains": ((math.nan, 1),)},
            "Unit 'mine' has an empty domain: each must be a pair low < high.",
        ),
        ({"cost": 0}, "Unit 'mine' has the cost 0; a cost is a positive number."),
        ({"cost": -1.5}, "Unit 'mine' has the cost -1.5; a cost is a positive number."),
        ({"cost": math.nan}, "Unit 'mine' has the cost nan; a cost is a positive number."),
        ({"cost": math.inf}, "Unit 'mine' has the cost inf; a cost is a positive number."),
        ({"cost": "high"}, "Unit 'mine' has the cost 'high'; a cost is a positive number."),
        (
            {"value": math.tanh},
            "The value of unit 'mine' failed on arrays of floats: TypeError: ",
        ),
        ({"value": None}, "The value of unit 'mine' failed on arrays of floats: TypeError: "),
        (
            {"derivatives": math.cosh},
            "The derivative 0 of unit 'mine' failed on arrays of floats: TypeError: ",
        ),
        (
            {"derivatives": None},
            "The derivative 0 of unit 'mine' failed on arrays of floats: TypeError: ",
        ),
        (
            {"derivatives": (tanh_slope, tanh_slope)},
            "The value of unit 'mine' failed on arrays of floats: ",
        ),
        (
            {"value": lambda z: np.tanh(z, out=z)},
            "The value of unit 'mine' failed on arrays of floats: ValueError: output array is "
            "read-only. It must be a NumPy function.",
        ),
        (
            {"value": np.sum},
            "The value of unit 'mine' must return an array of floats of the shape of its "
            "arguments, (200,); it returned float64 of shape ().",
        ),
        (
            {"value": lambda z: z > 0},
            "The value of unit 'mine' must return an array of floats of the shape of its "
            "arguments, (200,); it returned bool of shape (200,).",
        ),
        (
            {"derivatives": lambda z: 1.0},
            "The derivative 0 of unit 'mine' must return an array of floats of the shape of its "
            "arguments, (200,); it returned float64 of shape ().",
        ),
        ({"value": np.log, "derivatives": np.reciprocal}, "The value of unit 'mine' is nan at (-"),
        (
            {"value": np.sqrt, "derivatives": tanh_slope},
            "inside its domain; give the domain in which it is finite.",
        ),
        (
            {"derivatives": lambda z: np.where(z > 2, np.inf, 1)},
            "The derivative 0 of unit 'mine' is inf at (2",
        ),
        (
            {"latex": r"\mathrm{tanh}({0})"},
            "The latex template of unit 'mine' must hold {0} for its arguments, with every other "
            r"brace doubled; it is '\\mathrm{tanh}({0})'.",
        ),
        ({"c": "tanh(x)"}, "The c template of unit 'mine' must hold {0} for its arguments"),
        ({"c": "f({0}, {1})"}, "The c template of unit 'mine' must hold {0} for its arguments"),
        ({"c": 1}, "The c template of unit 'mine' must hold {0} for its arguments"),
        (
            {"templates": {"matlab": "tanh(x)"}},
            "The matlab template of unit 'mine' must hold {0} for its arguments",
        ),
        (
            {"templates": ["tanh({0})"]},
            "The templates of unit 'mine' must be a mapping like {'c': 'tanh({0})'}, not "
            "['tanh({0})'].",
        ),
        (
            {"powers": (1,)},
            "Unit 'mine' is not the product of its arguments to the powers (1,).",
        ),
        ({"period": 2.0}, "Unit 'mine' does not have the period 2.0."),
        (
            {
                "value": np.arctanh,
                "derivatives": lambda z: 1 / (1 - z**2),
                "domains": ((-1, 1),),
                "closed": True,
            },
            "Unit 'mine' is not finite where argument 0 is -1: its domain is not closed.",
        ),
        (
            {"interval": lambda x: (0.0, 1.0)},
            "The interval rule of unit 'mine' says that its values lie from 0 to 1, but they "
            "range from -0.99",
        ),
    ],
)
def test_each_refusal_says_why(changes, reason):
    with pytest.raises(IeqlError, match=re.escape(reason)):
        Unit(**(FINE | changes))
