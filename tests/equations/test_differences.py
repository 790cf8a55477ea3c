"""Differences of large terms are written as what they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.dataset import Scaling
from ieql.data.sample import Sample
from ieql.equations.differences import cancelling_sums, plain_differences
from ieql.equations.expression import Expression
from ieql.equations.finish import finish
from ieql.prior import Prior

NAMES = ("x", "y")
X = np.random.default_rng(0).uniform(0.5, 2.0, (300, 2))


@pytest.mark.parametrize(
    "text",
    [
        "700*cos(2*x + 0.001*y) - 700*cos(2*x)",
        "700*cos(2*x + 0.001*y + 0.0003) - 700.2*cos(2*x) + 0.3*y",
        "500*exp(0.7*x + 0.002*y) - 500*exp(0.7*x)",
        "400*log(x + 0.002*y) - 400*log(x)",
        "400*sqrt(x + 0.002*y) - 400*sqrt(x)",
        "400/(x + 0.002*y) - 400/x",
        "400*(x + 0.002*y)**2 - 400*x**2",
        "y*(400*(x + 0.002*y)**2 - 400*x**2 + 1)",
    ],
)
def test_a_difference_quotient_is_a_derivative(text):
    difference = Expression.parse(text, NAMES)
    exact = difference.evaluate(X)[:, 0]
    plain = next(plain_differences(difference, X))
    assert np.std(plain.evaluate(X)[:, 0] - exact) < 0.01 * np.std(exact)
    largest = max(abs(w) for s in plain.sums for w in s.weights)
    assert largest < 10


def test_a_line_and_a_quotient_that_cancel_are_one_quotient():
    """A random equation came as -1.36*(7.29 - x - 26.1/(x + 4.64))**2: terms of 5 leave 0.1."""
    given = Expression.parse("0.4*y - 1.36*(7.293 - x - 26.11/(x + 4.642))**2", NAMES)
    (plain,) = plain_differences(given, X - 0.5)
    assert np.allclose(plain.evaluate(X)[:, 0], given.evaluate(X)[:, 0], rtol=1e-9)
    assert plain.unit_counts() == {"div": 1, "square": 2}
    outer = next(n for n in plain.nodes if n.unit.name == "square" and n.args[0].sources[0] >= 2)
    assert outer.args[0].bias == 0.0  # nothing stands beside the quotient


def test_a_line_and_a_quotient_that_do_not_cancel_stay():
    given = Expression.parse("(7 - x - 3/(x + 1))**2", NAMES)
    assert list(plain_differences(given, X)) == []


@pytest.mark.parametrize(
    "text",
    [
        "0.5*y**2 - 90.165*cos(0.1706*x**2 - 0.40469) + 84.878",
        "100*exp(0.01*x*y) - 99.7",
        "60*sqrt(x + 60) - 30*log(y + 60)",
        "2*x - 70*log(1.1 - 0.01*y) + 5*exp(50*cos(0.1*x) - 50)",
    ],
)
def test_what_is_left_of_a_unit_that_a_number_cancels_is_a_parabola(text):
    """A random equation was selected with 84.9 - 90.2*cos(…); with a square it fits better."""
    given = Expression.parse(text, NAMES)
    exact = given.evaluate(X)[:, 0]
    for _ in range(4):
        given = next(plain_differences(given, X), given)
    assert cancelling_sums(given, X) == []
    assert np.std(given.evaluate(X)[:, 0] - exact) < 0.01 * np.std(exact)


def test_a_bent_argument_may_hide_a_parabola_of_an_input():
    """I.16.6 without noise: 1 - cos(0.0842*c + 1.8e-6*c**4 + …) stood for c², digit by digit."""
    z = np.arccos(1.0 - 0.001 * (X[:, 0] + 0.3) ** 2)
    a4, a3, a2, a1, a0 = np.polyfit(X[:, 0], z, 4)
    argument = f"{a4}*x**4 + {a3}*x**3 + {a2}*x**2 + {a1}*x + {a0}"
    given = Expression.parse(f"1 - cos({argument})", NAMES)
    exact = given.evaluate(X)[:, 0]
    trials = list(plain_differences(given, X))
    errors = [np.std(e.evaluate(X)[:, 0] - exact) / np.std(exact) for e in trials]
    assert min(errors) < 1e-4
    best = trials[int(np.argmin(errors))]
    assert best.unit_counts() == {"square": 1}


@pytest.mark.parametrize("text", ["3*cos(2*x) - 2*cos(2*x + y)", "exp(x) - exp(-y)", "x**2 - y**2"])
def test_terms_that_do_not_cancel_stay(text):
    assert list(plain_differences(Expression.parse(text, NAMES), X)) == []


def finished(text: str, y: np.ndarray) -> Expression:
    one, none = Scaling(np.zeros(1), np.ones(1)), Scaling(np.zeros(2), np.ones(2))
    XT = np.ascontiguousarray(X.T)
    sample = Sample(XT, y, np.ones(len(y)))
    found = finish(Expression.parse(text, NAMES), none, one, sample, XT, Prior.of("plain"))
    assert found is not None
    return found.expression


def test_a_product_of_waves_hid_in_a_difference_of_two():
    """The paper's S2 came as 670 cos(πx - 0.001 y cos(πx - 2) - 2) - 670 cos(πx - 2)."""
    x, y = X.T
    exact = 0.33 * np.sin(np.pi * x) + 0.33 * y * np.cos(2 * np.pi * x + 0.8)
    rows = exact + 0.01 * np.random.default_rng(1).normal(size=len(x))
    wave = "cos(3.1416*x - 1.9562)"
    found = finished(f"669*cos(3.1416*x - 0.001*y*{wave} - 1.9560) - 668.7*{wave}", rows)
    assert max(abs(w) for s in found.sums for w in s.weights) < 7
    assert found.unit_counts() == {"sin": 1, "cos": 1, "mul": 1}
    assert np.std(found.evaluate(X)[:, 0] - exact) < 0.005


def test_a_wave_that_stands_for_a_fourth_power_gives_way():
    """The paper's S5 came with 1/(1.0002 - cos(0.5 x²)) for 1/(1 + 625 x⁴) in every second run."""
    x, y = X.T - 1.25
    exact = y - 1.0 / (1.0 + 600.0 * x**4)
    noise = 0.01 * np.random.default_rng(1).normal(size=len(x))
    found = finished("y - 1.25 - 0.00021/(1.00021 - cos(0.5*(x - 1.25)**2))", exact + noise)
    assert "cos" not in found.unit_counts()
    assert np.std(found.evaluate(X)[:, 0] - exact) < 0.005


def test_long_equations_are_left_alone():
    """A network that was hardly cut has hundreds of such places; a fit of it never ended."""
    terms = " + ".join(f"90*cos(0.01*x + 0.0{k:02d}*y)" for k in range(10, 40))
    given = Expression.parse(f"{terms} - 2600", NAMES)
    assert cancelling_sums(given, X)
    squares = [e for e in plain_differences(given, X) if "square" in e.unit_counts()]
    assert squares == []
