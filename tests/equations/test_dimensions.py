"""Which equations are possible by the units of their columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ieql import Prior, Unit
from ieql.equations.dimensions import (
    MANY_PAIRS,
    MOST_POSSIBLE,
    DimensionRule,
    check_possible,
    is_in_order,
    mended,
    rule_of,
)
from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.quantities import quantity
from ieql.units import DIV, MUL
from strategies import expressions

NAMES = ("m", "v", "u", "h", "g", "t", "a")
UNITS = {"m": "kg", "v": "m/s", "u": "m/s", "h": "m", "g": "m/s**2", "t": "s", "a": "1"}


def prior(target, constants="plain"):
    return Prior(quantities={**UNITS, "out": target}, constants=constants).for_target("out")


def holds(text, target, constants="plain"):
    return is_in_order(Expression.parse(text, NAMES), prior(target, constants))


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("0.5*m*v**2 + m*g*h", "J"),
        ("sqrt(2*g*h)", "m/s"),
        ("v*t + 0.5*g*t**2", "m"),
        ("m*v*exp(-v/u)", "N*s"),
        ("m/sqrt(1 - (v/u)**2)", "kg"),
        ("v*cos(3*a + 1)", "m/s"),
        ("log(v/u)", "1"),
        ("v**0.8*u**0.2", "m/s"),
        ("(v/u)**0.37 + 1", "1"),
        ("h**(1/3)*(u*t)**(2/3)", "m"),
        ("a**2 + a + 1", "1"),
        ("0", "J"),
        ("m*max(v, u)", "N*s"),
        ("h*tanh(v/u) + h*step(v - u)", "m"),
        ("power(h, 1.5)*signed_power(h, 0.5)", "m**2"),
        ("gauss(a) + logistic(3*a - 1)", "1"),
    ],
)
def test_right_equations_are_permitted(text, target):
    assert holds(text, target)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("m + v", "kg"),  # terms of a sum
        ("max(m, v)", "kg"),  # what is compared
        ("max(v, 3)", "m/s"),  # with a number
        ("tanh(v)", "1"),  # a curve of something with a unit
        ("step(v - 3)", "1"),
        ("power(h, 1.5)", "m"),
        ("v + 3", "m/s"),  # an offset without a unit
        ("3", "J"),
        ("m*v**2", "N"),  # not the target's
        ("exp(v)", "1"),
        ("cos(t)", "1"),
        ("log(v)", "1"),
        ("log(v) - log(h)", "1"),
        ("log(v) - log(u)", "1"),  # right, but to be written as log(v/u)
        ("exp(t)*v", "m/s"),
        ("v*sqrt(1 - v**2)", "m/s"),
        ("v**0.8", "m/s"),
        ("v**0.37*u**0.6", "m/s"),
    ],
)
def test_wrong_equations_are_not(text, target):
    assert not holds(text, target)


@pytest.mark.parametrize(
    ("text", "target", "listed", "expected"),
    [
        ("4.9*t**2", "m", ["m/s**2"], True),
        ("4.9*t**2 + 3", "m", ["m/s**2"], False),
        ("4.9*t**2 + 3", "m", ["m/s**2", "m"], True),
        ("sqrt(19.6*h)", "m/s", ["m/s**2"], True),
        ("4.43*sqrt(h)", "m/s", ["m/s**2"], True),  # the root of it: the same law
        ("t/3.2", "m/s", ["m/s**2"], True),
        ("4.9*m*t**2", "m", ["m/s**2"], False),
        ("v*exp(-0.3*t)", "m/s", ["s"], True),
        # What is used twice has the same dimension in both places.
        ("(t**2 + 3)*(t**2 + 2)/(t**2 + 3)**2 + h*0", "1", ["s**2"], True),
    ],
)
def test_listed_units_are_those_that_constants_may_have(text, target, listed, expected):
    assert holds(text, target, listed) is expected


def test_free_constants_permit_everything():
    assert holds("exp(v) + 3*t", "J", "free")


def test_without_a_target_nothing_is_judged():
    e = Expression.parse("m + v", NAMES)
    assert is_in_order(e, Prior(quantities=UNITS, constants="plain"))


def test_a_unit_of_the_users_takes_plain_numbers_unless_it_is_a_power():
    tanh = Unit("tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    cube = Unit("cube", lambda z: z**3, lambda z: 3 * z**2, powers=(3,))
    known = Prior(custom=(tanh, cube), quantities={**UNITS, "out": "m**3"}, constants="plain")
    known = known.for_target("out")
    custom = {"tanh": tanh, "cube": cube}
    assert is_in_order(Expression.parse("cube(h)*tanh(a)", NAMES, custom), known)
    assert not is_in_order(Expression.parse("cube(h)*tanh(t)", NAMES, custom), known)


def test_offsets_of_a_wrong_dimension_are_taken_away():
    e = Expression.parse("3*m*(v + 2)**2 + 4", NAMES)
    assert mended(e, prior("J")).text() == "3*m*v**2"


def test_offsets_of_plain_sums_stay():
    e = Expression.parse("m*sqrt(2 - (v/u)**2) + 1", NAMES)
    assert mended(e, prior("kg")).text() == "m*sqrt(2 - (v/u)**2)"


@pytest.mark.parametrize("text", ["m + v", "exp(v)", "3"])
def test_what_no_lost_offset_mends_is_given_up(text):
    assert mended(Expression.parse(text, NAMES), prior("kg")) is None


def test_exponents_that_are_nearly_right_wait_for_rounding():
    e = Expression.parse("h**0.503*(u*t)**0.49", NAMES)
    assert mended(e, prior("m")) is e
    assert not is_in_order(e, prior("m"))


def test_a_difference_of_logarithms_waits_for_its_plain_form():
    e = Expression.parse("2*log(v) - 2*log(u) + 0.5", NAMES)
    assert mended(e, prior("1")) is e
    assert mended(Expression.parse("2*log(v) - log(u)", NAMES), prior("1")) is None


# --- contradictions ----------------------------------------------------------------------------


def test_a_target_that_cannot_be_made_of_the_inputs_is_told_in_one_sentence():
    known = Prior(quantities={"T": "K", "n": "1/min", "P": "kW"}, constants="plain")
    with pytest.raises(IeqlError, match=r"'P' in kW cannot be made of 'T' in K, 'n' in 1/min"):
        check_possible(known.for_target("P"), ("T", "n"))


def test_a_plain_target_needs_a_group_without_a_dimension():
    known = Prior(quantities={"T": "K", "n": "1/min", "P": "1"}, constants="plain")
    with pytest.raises(IeqlError, match="The units leave no equation"):
        check_possible(known.for_target("P"), ("T", "n"))
    check_possible(known.for_target("P"), ("T", "n", "a plain input"))


def test_a_listed_unit_may_be_what_was_missing():
    known = Prior(quantities={"t": "s", "h": "m"}, constants=["m/s**2"])
    check_possible(known.for_target("h"), ("t",))


def test_an_input_that_the_prior_leaves_out_does_not_help():
    known = Prior(
        quantities={"t": "s", "x": "m", "h": "m"},
        constants="plain",
        inputs={"x": {"only_in": []}},
    )
    with pytest.raises(IeqlError, match="cannot be made of 't' in s and plain constants"):
        check_possible(known.for_target("h"), ("t", "x"))


# --- properties --------------------------------------------------------------------------------

POWERS = st.sampled_from([-1, 0, 0, 0, 1, 2])
SIMPLE = st.sampled_from([1.0, -1.0, 0.5, 2.0, 3.0])
TARGETS = [f"m**{i}*s**{j}" for i in range(-4, 5) for j in range(-4, 5)]


@st.composite
def right_equations(draw):
    """An equation, and the exponents of two base units in its inputs and in the whole."""
    e = draw(expressions(max_units=5, constants=SIMPLE))
    inputs = [(draw(POWERS), draw(POWERS)) for _ in e.names]
    units = [quantity(f"m**{i}*s**{j}") for i, j in inputs]
    for text in TARGETS:
        rule = DimensionRule(e.names, units, quantity(text))
        possible = rule.mended(e)
        if possible is not None and rule.holds(possible):
            exponents = dict(quantity(text).dimension)
            target = [float(exponents.get(base, 0)) for base in ("length", "time")]
            return possible, np.array(inputs, float), np.array(target)
    assume(False)
    raise AssertionError


@settings(max_examples=60, deadline=None)
@given(right_equations(), st.sampled_from([0.25, 4.0, 16.0]), st.sampled_from([0.25, 1.0, 4.0]))
def test_a_right_equation_does_not_change_with_the_base_units(equation, metres, seconds):
    """With lengths in other units everything is another number, and the law is the same."""
    e, inputs, target = equation
    X = np.random.default_rng(0).uniform(0.5, 2.0, size=(20, len(e.names)))
    scales = np.array([metres, seconds])
    other = e.evaluate(X * np.prod(scales**inputs, axis=1))[:, 0]
    own = e.evaluate(X)[:, 0] * np.prod(scales**target)
    fine = np.isfinite(own) & np.isfinite(other) & (np.abs(own) < 1e100)
    # Powers of four are exact in all units that have dimensions, but not in exp(p log x).
    np.testing.assert_allclose(other[fine], own[fine], rtol=1e-6, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(expressions(max_units=5, constants=SIMPLE, names=("h", "v", "t")))
def test_what_was_mended_is_right(e):
    rule = rule_of(Prior(quantities={**UNITS, "out": "m"}, constants="plain").for_target("out"),
                   e.names)  # fmt: skip
    possible = rule.mended(e, tolerance=1e-6)
    assert possible is None or rule.holds(possible)


def test_exponents_that_nearly_cancel_are_wrong():
    """V1**-0.0014232*V2**0.0014233244 was once taken for a plain number, and shown."""
    assert not holds("a*v**-0.0014232*u**0.0014233244", "1")


# --- constants with several units -----------------------------------------------------------------


def listing(*units):
    return DimensionRule(
        NAMES, [quantity(UNITS[n]) for n in NAMES], quantity("J"), [quantity(u) for u in units]
    )


def test_with_several_listed_units_an_equation_is_judged_in_time():
    """Each sum multiplied what its terms may be: the products of this one took minutes, so that a
    fit with such a list did not end."""
    constants = ["m/s**2", "J/K", "Hz"]
    assert holds("m*v**2 + 3*m*h", "J", constants)  # 3 m/s²
    nested = Expression.parse("((v*h)*(g*t))*((u*m)*(h*t))", NAMES)
    values = listing(*constants)._values(nested, {}, 1e-10)
    assert values is None or max(len(value.possible) for value in values) <= MOST_POSSIBLE


def test_what_is_thought_of_is_near_to_what_there_is():
    rule = listing("m/s**2", "J/K", "Hz")
    speed = rule.sum([frozenset([rule.inputs[1]])], offset=True)
    square = rule.unit(MUL, [rule._weighted(speed), rule._weighted(speed)])
    assert len(square) == MOST_POSSIBLE
    assert {rule.plain, rule.inputs[1]} <= square


def test_products_of_many_dimensions_are_those_of_pairs():
    rule = listing("m/s**2", "Hz")
    some = [rule._weighted(frozenset([d])) for d in rule.inputs[:2]]
    assert len(some[0]) * len(some[1]) > MANY_PAIRS
    pairs = {
        tuple(int(p * a + q * b) for a, b in zip(one, other, strict=True))
        for (p, q) in [(1.0, -1.0)]
        for one in some[0]
        for other in some[1]
    }
    assert rule.unit(DIV, some) <= pairs
    assert len(rule.unit(DIV, some)) == min(len(pairs), MOST_POSSIBLE)
