"""Noise that changes with the value or an input, and noise that does not."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ieql.equations.noise import LARGEST, Noise, Trend
from ieql.errors import IeqlError


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    inputs = {"x": rng.uniform(1, 10, n), "z": rng.uniform(-1, 1, n)}
    return inputs, 3.0 * inputs["x"] + 5.0, rng.normal(size=n)


def trends_of(residual, value, inputs):
    return Noise.trends_of(residual, value, inputs, np.ones(len(value)))[0].trends


def test_even_noise_has_no_trend():
    found = 0
    for seed in range(40):
        inputs, value, noise = rows(100, seed)
        found += bool(trends_of(noise, value, inputs))
    assert found <= 2


def test_noise_in_proportion_to_an_input_is_found_and_measured():
    inputs, value, noise = rows(400)
    found, _ = Noise.trends_of(inputs["x"] * noise, value, inputs, np.ones(400))
    (trend,) = found.trends
    # Value and input are the same here, up to scale.
    assert trend.variable in (None, "x")
    shape = found.shape(value, inputs)
    relative = shape / inputs["x"]
    assert relative.std() < 0.15 * relative.mean()


def test_noise_least_in_the_middle_is_found():
    inputs, value, noise = rows(400)
    (trend,) = trends_of((0.2 + inputs["z"] ** 2) * noise, value, inputs)
    assert trend.variable == "z"
    low, middle, high = trend.exponent(np.array([-1.0, 0.0, 1.0]))
    assert min(low, high) > middle + 1.0


def test_noise_of_two_inputs_has_two_trends():
    inputs, value, noise = rows(1000)
    found = trends_of(inputs["x"] * np.exp(inputs["z"]) * noise, value, inputs)
    assert len({t.variable for t in found}) == 2
    assert "z" in {t.variable for t in found}


def test_few_rows_say_nothing_of_it():
    inputs, value, noise = rows(15)
    assert trends_of(inputs["x"] ** 3 * noise, value, inputs) == ()


def test_a_row_that_counts_twice_is_two_rows():
    inputs, value, noise = rows(60)
    residual = inputs["x"] * noise
    count = np.where(np.arange(60) < 20, 2.0, 1.0)
    twice = np.r_[np.arange(60), np.arange(20)]
    one, _ = Noise.trends_of(residual, value, inputs, count)
    other, _ = Noise.trends_of(
        residual[twice], value[twice], {k: v[twice] for k, v in inputs.items()}, np.ones(80)
    )
    assert one.trends[0].coefficients == pytest.approx(other.trends[0].coefficients, rel=1e-6)


def test_beyond_the_rows_it_stays_as_it_is_at_their_end():
    noise = Noise(2.0, (Trend("x", None, 0.0, 1.0, (0.7,)),))
    x = np.array([-5.0, 0.0, 1.0, 80.0])
    size = noise.size(np.zeros(4), {"x": x})
    assert size == pytest.approx(2.0 * np.exp([-0.7, -0.7, 0.7, 0.7]))


def test_noise_in_proportion_to_a_value_that_passes_zero_is_found_and_measured():
    rng = np.random.default_rng(1)
    value = rng.uniform(-2, 3, 400)
    residual = np.abs(value) * rng.normal(size=400)
    found, _ = Noise.trends_of(residual, value, {"x": rng.uniform(size=400)}, np.ones(400))
    (trend,) = found.trends
    assert trend.variable is None
    shape = found.shape(np.array([-1.5, -0.75, 1.5, 3.0]), {})
    assert shape / shape[0] == pytest.approx([1.0, 0.5, 1.0, 2.0], rel=0.25)


def test_a_logarithm_of_zero_is_the_lowest_there_was():
    trend = Trend(None, 0.0, 0.0, 2.0, (1.0,))
    assert trend.exponent(np.array([0.0, 1.0])).tolist() == [-1.0, -1.0]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([None, "x", "z"]),
            st.none() | st.floats(0, 3),
            st.floats(-5, 5),
            st.floats(0.1, 5),
            st.lists(st.floats(-9, 9), min_size=1, max_size=2),
        ),
        max_size=2,
    ),
    st.floats(0, 1e6),
)
def test_it_is_read_back_and_bounded(parts, sigma):
    trends = tuple(Trend(v, plus, a, a + w, tuple(c)) for v, plus, a, w, c in parts)
    noise = Noise(sigma, trends)
    assert Noise.from_form(json.loads(json.dumps(noise.to_form())), ["x", "z"]) == noise
    inputs, value, _ = rows(10)
    shape = noise.shape(value, inputs)
    assert np.all((shape >= np.exp(-LARGEST)) & (shape <= np.exp(LARGEST)))


@pytest.mark.parametrize(
    "form",
    [
        {"sigma": -1.0, "trends": []},
        {"sigma": 1.0, "trends": [["q", None, 0.0, 1.0, [1.0]]]},
        {"sigma": 1.0, "trends": [["x", None, 1.0, 1.0, [1.0]]]},
        {"sigma": 1.0, "trends": [["x", float("nan"), 0.0, 1.0, [1.0]]]},
        {"sigma": 1.0, "trends": [["x", None, 0.0, 1.0, []]]},
        {"sigma": 1.0, "trends": [["x", None, 0.0, 1.0, [1.0]]] * 3},
    ],
)
def test_what_is_no_noise_is_refused(form):
    with pytest.raises(IeqlError, match="the noise of an equation"):
        Noise.from_form(form, ["x", "z"])
