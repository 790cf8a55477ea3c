"""Elimination finds the few weights that matter."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.prior import Prior
from ieql.training.fast.eliminate import EliminationSettings, drop_unneeded, eliminate, fitted
from tasks import NAMES, labelled

PLAIN = Prior.of("plain")
SETTINGS = EliminationSettings()


def parse(text):
    return Expression.parse(text, NAMES)


def rows(formula, n=400, noise=0.0):
    return labelled(formula, n, -1.0, 1.0, noise, seed=0)


def states(text, sample, prior=PLAIN):
    return list(eliminate(parse(text), sample, prior, SETTINGS))


OVERCOMPLETE = (
    "2.9*x**2 + 1.1*y + 0.1*exp(0.3*x + 0.2*y) + 0.1*cos(2*x - y)"
    " + 0.2*x*y/(x - y + 3) + 0.1*x - 0.1"
)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_the_few_true_weights_of_an_overcomplete_equation_are_found(noise):
    """3x² + y has three weights; the start has many more."""
    sample = rows("3*x**2 + y", noise=noise)
    found = states(OVERCOMPLETE, sample)
    small = [s for s in found if s.expression.n_parameters == 3]
    assert len(small) == 1
    assert small[0].expression.unit_counts() == {"square": 1}
    assert np.sqrt(small[0].error) < 1e-6 + 1.1 * noise


def test_every_state_is_smaller_than_the_one_before():
    found = states(OVERCOMPLETE, rows("3*x**2 + y", noise=0.02))
    sizes = [s.expression.n_parameters for s in found]
    assert sizes == sorted(set(sizes), reverse=True)
    assert sizes[-1] <= 1
    assert len(sizes) < sizes[0]  # many weights that are hardly missed go at once


def test_states_are_fitted_and_say_their_error():
    sample = rows("3*x**2 + y", noise=0.02)
    for state in states(OVERCOMPLETE, sample):
        error, _, gradient = state.program.normal_equations(
            sample.XT, sample.y, relax=SETTINGS.relax
        )
        assert state.error == pytest.approx(error, rel=1e-6)
        assert np.all(np.isfinite(gradient))


def test_the_same_start_gives_the_same_states():
    sample = rows("3*x**2 + y", noise=0.02)
    first, second = (states(OVERCOMPLETE, sample) for _ in range(2))
    assert [s.expression for s in first] == [s.expression for s in second]


def test_more_constants_than_rows_go_quickly():
    """With as many constants as rows any of them may go: the error is nothing to go by."""
    names = tuple(f"x{i}" for i in range(20))
    rng = np.random.default_rng(0)
    XT = rng.normal(size=(20, 40))
    sample = Sample(XT, XT[0] + 0.1 * rng.normal(size=40), np.ones(40))
    terms = [
        f"{rng.normal():.3f}*{a} + {rng.normal():.3f}*{a}*{b}"
        for a, b in zip(names, names[1:] + names[:1], strict=True)
    ]
    start = Expression.parse(" + ".join(terms), names)
    found = list(eliminate(start, sample, PLAIN, SETTINGS))
    assert start.n_parameters == 80
    assert len(found) < 30
    assert np.sqrt(found[-1].error) < 0.5


def test_inputs_that_do_not_vary_do_no_harm():
    sample = rows("3*x")
    still = Sample(np.stack([sample.XT[0], np.zeros(len(sample))]), sample.y, sample.weight)
    found = states("2*x + 0.5*y + 0.1*x*y + 0.1*(y + 1)**2", still)
    assert any(np.sqrt(s.error) < 1e-9 for s in found if s.expression.n_parameters == 1)
    nothing = Sample(np.zeros_like(sample.XT), sample.y, sample.weight)
    assert states("2*x + 0.5*y + 0.1*x*y", nothing)


def test_an_equation_without_a_finite_error_is_given_up():
    sample = rows("3*x")
    assert fitted(parse("log(x)"), sample, steps=5) is None
    assert fitted(parse("exp(exp(9*x + 9))"), sample, steps=5) is None
    assert fitted(parse("log(x)"), sample, steps=5, relax=0.1) is not None


def test_what_is_not_needed_is_dropped_weights_and_biases_alike():
    sample = rows("3*x**2 + y", noise=0.02, n=800)
    start = fitted(parse("3*(x + 0.01)**2 + y + 0.01*cos(x) + 0.01"), sample, steps=20)
    state = drop_unneeded(start, sample, PLAIN)
    assert state.expression.unit_counts() == {"square": 1}
    assert state.expression.n_parameters == 3
    assert all(s.bias == 0.0 for s in state.expression.sums)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_a_unit_that_is_a_straight_line_on_the_data_becomes_one(offset):
    """Also far from zero, where a line is hard to fit to numbers that hardly differ."""
    near = rows("3*x", noise=0.02)
    sample = Sample(near.XT + offset, near.y, near.weight)
    start = fitted(parse(f"30*exp(0.1*x - {0.1 * offset}) - 30"), sample, steps=20)
    state = drop_unneeded(start, sample, PLAIN)
    assert state.expression.unit_counts() == {}
    assert np.sqrt(state.error) < 0.03


def test_what_is_needed_stays():
    sample = rows("3*x**2 + y + 0.5", noise=0.02, n=800)
    start = fitted(parse("3*x**2 + y + 0.5"), sample, steps=20)
    assert drop_unneeded(start, sample, PLAIN).expression == start.expression
