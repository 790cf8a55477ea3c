"""Physical units: their texts and dimensions, exact conversions, and what a prior holds of them."""

from __future__ import annotations

import builtins
import copy
import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ieql.quantities
from ieql import Prior
from ieql.errors import IeqlError
from ieql.quantities import conversion, is_one, quantity, unit_text

NAMES = st.sampled_from(["m", "s", "kg", "K", "N", "kW", "min", "degC", "Ohm", "l"])
EXPONENTS = st.fractions(-4, 4, max_denominator=3).filter(bool)


def dimension(text):
    return dict(quantity(text).dimension)


@pytest.mark.parametrize("text", ["", "1", " 1 ", "-", "dimensionless", "%", "deg", "rad", "m/m"])
def test_plain_numbers_have_no_dimension(text):
    assert quantity(text).is_plain


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("N*m", "J"),
        ("Nm", "J"),  # for pint alone it is a count of yarn
        ("N·m", "J"),
        ("N m", "J"),
        ("kg m² s⁻²", "J"),
        ("kg*m^2/s^2", "J"),
        ("kg*m**2*s**-2", "J"),
        ("m/s2", "N/kg"),
        ("U/min", "Hz"),
        ("rpm", "Hz"),
        ("°C", "K"),
        ("PS", "W"),
        ("W/(m*K)", "W/m/K"),
        ("l/(100 km)", "m**2"),
        ("m**(1/2)", "m/m**0.5"),
    ],
)
def test_texts_of_units_mean_what_engineers_mean(text, same):
    assert dimension(text) == dimension(same)


@pytest.mark.parametrize(
    "text",
    [
        *("foo", "m/", "*m", "m**", "(m", "m)", "m**99", "m**0.37", "9**9**9", "m;s", "0 m"),
        *("x" * 101, "(" * 20 + "9" + ")**9" * 20, "__import__('os')"),
    ],
)
def test_what_is_no_unit_gets_one_sentence(text):
    with pytest.raises(IeqlError, match=r"unit") as caught:
        quantity(text)
    assert str(caught.value).count("\n") == 0


def test_an_unknown_name_in_a_longer_text_is_pointed_out():
    with pytest.raises(IeqlError, match=r"There is no unit 'foo' \(in 'm/foo'\)"):
        quantity("m/foo")


@given(st.dictionaries(NAMES, EXPONENTS, min_size=1, max_size=4))
def test_a_unit_that_is_written_is_read_as_the_same(powers):
    assert dict(quantity(unit_text(powers)).powers) == powers


def test_the_number_one_is_seen_in_any_dress():
    one = {"J": Fraction(1), "N": Fraction(-1), "m": Fraction(-1)}
    assert is_one(one)
    assert not is_one({**one, "km": Fraction(1), "m": Fraction(-2)})


@pytest.mark.parametrize(
    ("given", "asked", "factor", "offset"),
    [
        ("km/h", "m/s", Fraction(5, 18), 0),
        ("1/min", "1/s", Fraction(1, 60), 0),
        ("degC", "K", 1, Fraction(5463, 20)),
        ("degF", "degC", Fraction(5, 9), Fraction(-160, 9)),
        ("K", "degC", 1, Fraction(-5463, 20)),
        ("J/K", "kJ/K", Fraction(1, 1000), 0),
        ("1/degC", "1/K", 1, 0),
    ],
)
def test_conversions_are_exact(given, asked, factor, offset):
    assert conversion(given, asked) == (factor, offset)


def test_what_is_not_of_the_same_kind_is_not_converted():
    with pytest.raises(IeqlError, match="'m' cannot be converted to 's'"):
        conversion("m", "s")


# --- in a prior --------------------------------------------------------------------------------

MOTOR = {"quantities": {"speed": "1/min", "torque": "N*m", "power": "kW"}, "constants": "plain"}


def test_a_prior_keeps_quantities_in_yaml_copies_and_pickles():
    prior = Prior.from_dict(MOTOR)
    for other in (
        Prior.from_yaml(prior.to_yaml()),
        Prior.from_dict(prior.to_dict()),
        pickle.loads(pickle.dumps(prior)),
        copy.deepcopy(prior),
    ):
        assert other == prior
        assert hash(other) == hash(prior)
        assert dict(other.quantities) == MOTOR["quantities"]
        assert other.constants == "plain"


def test_a_prior_without_quantities_is_written_as_before():
    assert not {"quantities", "constants"} & set(Prior().to_dict())


def test_listed_constants_survive_yaml():
    prior = Prior(constants=["m/s**2", "J/K"])
    assert Prior.from_yaml(prior.to_yaml()).constants == ("m/s**2", "J/K")


def test_priors_that_differ_in_a_unit_are_not_equal():
    other = {**MOTOR, "quantities": {**MOTOR["quantities"], "power": "W"}}
    assert Prior.from_dict(MOTOR) != Prior.from_dict(other)


@pytest.mark.parametrize(
    ("mapping", "sentence"),
    [
        ({"quantities": ["m"]}, "quantities: give a mapping of columns to units"),
        ({"quantities": {1: "m"}}, "quantities: put the column name 1 in quotes"),
        ({"quantities": {"x": 3}}, "quantities, 'x': give a unit such as 'm/s'"),
        ({"quantities": {"x": "foo"}}, "quantities, 'x': There is no unit 'foo'"),
        ({"constants": "plane"}, "constants: give free, plain or a list of units.*'plain'"),
        ({"constants": 3}, "constants: give free, plain or a list of units, not 3"),
        ({"constants": ["foo"]}, "constants: There is no unit 'foo'"),
    ],
)
def test_bad_quantities_get_one_sentence(mapping, sentence):
    with pytest.raises(IeqlError, match=sentence):
        Prior.from_dict(mapping)


def test_a_unit_of_no_column_is_refused():
    prior = Prior.from_dict(MOTOR)
    with pytest.raises(IeqlError, match=r"unit for 'torque', which is not a column.*'torq'"):
        prior.check_columns(["speed", "torq"], ["power"])


def test_the_unit_of_the_target_must_be_known_where_constants_have_none():
    prior = Prior.from_dict(MOTOR)
    with pytest.raises(IeqlError, match="none of the target 'loss'"):
        prior.check_columns(["speed", "torque", "power"], ["loss"])


def test_a_prior_says_its_units_in_words():
    words = Prior.from_dict(MOTOR).words()
    assert "speed is in 1/min" in words
    assert "constants are plain numbers" in words


def test_without_pint_a_stored_prior_can_be_read_but_not_fitted_with(monkeypatch):
    real = builtins.__import__

    def missing(name, *arguments, **more):
        if name == "pint":
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    for cached in (ieql.quantities._registry, ieql.quantities.quantity):
        cached.cache_clear()
    prior = Prior.from_dict(MOTOR)
    with pytest.raises(IeqlError, match=r"pip install 'ieql\[units\]'"):
        prior.check_columns(["speed", "torque"], ["power"])
