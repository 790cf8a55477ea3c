"""Laws of several inputs are found as laws of fewer groups."""

from __future__ import annotations

import time

import pytest

from ieql.prior import Prior
from ieql.training.fast import grouped as module
from ieql.training.fast.grouped import grouped
from tasks import of_formula


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Fewer structures and no trainings: a test is to be quick."""
    monkeypatch.setattr(module, "MOST_STRUCTURES", 250)
    monkeypatch.setattr(module, "ROUNDS", 0)


@pytest.mark.parametrize(
    ("formula", "names", "n_parameters"),
    [
        ("m*v/sqrt(1 - 0.05*v**2/c**2)", "mvc", 9),
        ("h*w**3/(exp(h*w/t) - 0.5)", "hwt", 14),
        ("exp(-((a - b)/c)**2)/c", "abc", 8),
        ("k*sqrt(x**2 + y**2)", "kxy", 7),
    ],
)
def test_a_law_of_groups_is_found(formula, names, n_parameters):
    found = grouped(of_formula(formula, names), 0)[0]
    assert found.rmse_train < 1e-9
    assert found.n_parameters <= n_parameters


def test_noise_does_not_hide_a_law():
    """Of three draws of the noise one may hide it: which, the last digits of a processor decide."""
    draws = [of_formula("i*(exp(q/t) - 1)", "iqt", noise=0.02, seed=seed) for seed in range(3)]
    best = [grouped(task, 0)[0] for task in draws]
    found = [c for c in best if c.rmse_train < 0.025]
    assert len(found) >= 2
    for candidate in found:
        assert candidate.expression.unit_counts()["exp"] == 1
        assert candidate.n_parameters <= 8


def test_inputs_without_effect_do_not_appear():
    found = grouped(of_formula("a*exp(-b/c)", "abcde"), 0)[0]
    assert set(found.expression.inputs_used) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("0*a", {"noise": 1.0}),  # nothing but noise
        ("a*exp(-b/c)", {"n": 35}),  # too few rows
        ("cos(3*a*b) + a", {}),  # nothing scales
    ],
)
def test_where_there_is_no_similarity_nothing_is_found(formula, options):
    assert grouped(of_formula(formula, **options), 0) == []


def test_the_prior_holds():
    """Without quotients nothing of them is made, though the groups are some."""
    rules = {"units": ["mul", "exp", "square"]}
    for found in grouped(of_formula("a*exp(-b/c)", prior=rules), 0):
        assert found.expression.unit_counts().keys() <= set(Prior.of(rules).units)


def test_nothing_is_begun_when_the_time_is_up():
    assert grouped(of_formula("a*exp(-b/c)"), 0, time.monotonic() - 1.0) == []


def test_the_same_arguments_give_the_same_equations():
    task = of_formula("a*exp(-b/c)", noise=0.05)
    first, second = ([c.expression for c in grouped(task, 3)] for _ in range(2))
    assert first == second
    assert first
