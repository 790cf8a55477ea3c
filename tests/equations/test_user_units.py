"""User-defined units as compiled code: where numba can, what NumPy computes, and never a word."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest

from ieql.equations import user_units
from ieql.equations.program import addresses
from ieql.equations.user_units import _called, _compiled, _in_numpy, address_of
from ieql.units import COS, UNITS, Unit


def tanh_slope(z):
    return 1 - np.tanh(z) ** 2


def plain_tanh(z):
    return np.tanh(z)


@pytest.mark.parametrize(
    ("value", "slope", "domain"),
    [
        (np.tanh, tanh_slope, (-np.inf, np.inf)),
        (lambda z: np.maximum(z, 0), lambda z: (z > 0) * 1.0, (-np.inf, np.inf)),
        (np.arcsin, lambda z: 1 / np.sqrt(1 - z**2), (-1, 1)),
        (lambda z: np.where(z > 0, z**2, 0.0), lambda z: np.where(z > 0, 2 * z, 0.0), (-9, 9)),
        (np.ones_like, np.zeros_like, (-np.inf, np.inf)),  # of arrays alone
        (lambda z: 1.0 / z, lambda z: -1.0 / z**2, (0, np.inf)),  # divides by zero outside
    ],
)
def test_what_numba_can_compile_computes_the_same(value, slope, domain):
    unit = Unit("mine", value, slope, domains=(domain,))
    assert address_of(unit)
    z = np.linspace(-12.0, 12.0, 1001)
    for ours, numpys in zip(_called(_compiled[unit], [z]), _in_numpy(unit, [z]), strict=False):
        np.testing.assert_allclose(ours, numpys, rtol=1e-12, atol=1e-14)


FACTOR = {"two": 2.0}


@pytest.mark.parametrize(
    ("value", "slope"),
    [
        (lambda z: plain_tanh(z), tanh_slope),  # a plain function that another one calls
        (lambda z: FACTOR["two"] * z, lambda z: np.full_like(z, FACTOR["two"])),
        (np.vectorize(np.tanh), tanh_slope),
    ],
)
def test_what_numba_cannot_compile_runs_in_numpy_without_a_word(value, slope, capfd):
    unit = Unit("mine", value, slope)
    assert address_of(unit) == 0  # warnings are errors here
    assert addresses([COS, unit]) is None
    assert capfd.readouterr() == ("", "")


def test_the_units_of_the_table_need_no_address():
    assert addresses(list(UNITS.values())).tolist() == [0] * len(UNITS)


def test_what_differs_from_numpy_is_not_used(monkeypatch):
    """Numba freezes what a function reads from outside; it is compared before it is believed."""
    unit = Unit("mine", np.tanh, tanh_slope)
    monkeypatch.setattr(user_units, "_in_numpy", lambda unit, args: [args[0], args[0]])
    assert address_of(unit) == 0


def test_where_a_compiled_function_fails_the_unit_is_undefined(capfd):
    """Nobody could catch an error in the middle of a kernel, and numba would print it."""

    def only_small(z):
        if np.abs(z).max() > 1e301:
            raise ValueError("too large")
        return z

    unit = Unit("mine", only_small, np.ones_like)
    rows = list(user_units._forms(unit))[1]
    found = user_units._Compiled(
        user_units.cfunc(user_units._SIGNATURE)(user_units._callback(rows))
    )
    assert np.array_equal(_called(found, [np.array([1.0, 2.0])])[0], [1.0, 2.0])
    assert np.isnan(_called(found, [np.array([1.0, 1e305])])[0]).all()
    assert capfd.readouterr() == ("", "")


def test_a_unit_that_comes_twice_is_compiled_once():
    """Every job brings its units along; a worker process would compile them for each."""
    unit = Unit("mine", np.tanh, tanh_slope)
    address, packed = address_of(unit), pickle.dumps(unit)
    again = pickle.loads(packed)
    assert again is unit
    del unit, again
    gc.collect()
    assert address_of(pickle.loads(packed)) == address


def test_compiled_code_goes_with_its_unit(monkeypatch):
    monkeypatch.setattr(user_units, "_latest", user_units.deque(maxlen=1))
    unit = Unit("mine", np.tanh, tanh_slope)
    address_of(unit)
    gone = weakref.ref(unit)
    del unit
    address_of(Unit("other", np.tanh, tanh_slope))
    gc.collect()
    assert gone() is None
