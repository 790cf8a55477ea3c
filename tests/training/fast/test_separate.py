"""Equations are put together from parts, where the target comes apart."""

from __future__ import annotations

import time

import pytest

from ieql.prior import Prior
from ieql.training.fast import separate
from ieql.training.fast.separate import separated
from tasks import of_formula as task_of


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Fewer structures than in earnest: a test is to be quick."""
    monkeypatch.setattr(separate, "MOST_STRUCTURES", 100)


@pytest.mark.parametrize(
    ("formula", "names", "n_parameters"),
    [
        ("0.7*a*(b**2 + c**2 + d**2)", "abcd", 9),
        ("sqrt((a - 1.2)**2 + 2*b**2 + c**2)", "abc", 7),
        ("exp(-1.3*a) + 1.5*b**2 + 1/c", "abc", 6),
        ("1.4 + (a - 1.2)*exp(-b)/c", "abc", 7),
        ("1/(a + 0.6*b*c)", "abc", 5),
    ],
)
def test_a_law_is_put_together(formula, names, n_parameters):
    found = separated(task_of(formula, names), 0)[0]
    assert found.rmse_validation < 1e-6
    assert found.n_parameters <= n_parameters


def test_noise_does_not_hide_a_law():
    found = separated(task_of("a*b**2*exp(-c)", noise=0.01), 0)[0]
    assert found.rmse_validation < 0.013
    assert found.n_parameters <= 8


def test_inputs_without_effect_do_not_appear():
    found = separated(task_of("a**2/(c + 1)", "abcd"), 0)[0]
    assert found.expression.inputs_used == ("a", "c")


def test_noise_alone_brings_nothing():
    assert separated(task_of("0*a", noise=1.0), 0) == []


def test_too_few_rows_bring_nothing():
    assert separated(task_of("a + b**2 + c", n=35), 0) == []


def test_what_does_not_come_apart_brings_nothing():
    assert separated(task_of("cos(a*b*c)"), 0) == []


def test_the_prior_holds():
    """Without a product, and without a third input, nothing of either is made."""
    rules = {"units": ["square", "exp", "log"], "inputs": {"c": {"only_in": []}}}
    for formula in ("a*b", "a + b**2"):
        for found in separated(task_of(formula, prior=rules), 0):
            assert "mul" not in found.expression.unit_counts()
            assert set(found.expression.inputs_used) <= {"a", "b"}


def test_an_input_may_be_allowed_inside_a_product_alone():
    rules = {"preset": "plain", "inputs": {"a": {"only_in": ["mul"]}}}
    found = separated(task_of("a*(b**2 + c)", prior=rules), 0)[0]
    assert found.rmse_validation < 1e-6
    assert found.expression.is_allowed(Prior.of(rules))


def test_nothing_is_begun_when_the_time_is_up():
    assert separated(task_of("a + b**2 + c"), 0, time.monotonic() - 1.0) == []


def test_the_same_arguments_give_the_same_equations():
    task = task_of("a + b**2 + c", noise=0.05)
    first, second = ([c.expression for c in separated(task, 3)] for _ in range(2))
    assert first == second
    assert first
