"""Means of large equations that were found apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ieql.data.dataset import Dataset
from ieql.equations.expression import Expression
from ieql.equations.refit import refit
from ieql.learn import finish_candidate
from ieql.means import mean_of, means
from ieql.options import FitOptions
from ieql.target import prepare

NAMES = ("x0",)


def test_a_mean_has_what_its_equations_share_once():
    names = ("x", "y")
    one, two = (Expression.parse(t, names) for t in ("cos(2*x*y) + x*y", "x*y - 4*cos(3*x) + 2"))
    mean = mean_of([one, two])
    X = np.random.default_rng(0).normal(size=(20, 2))
    np.testing.assert_allclose(mean.evaluate(X), (one.evaluate(X) + two.evaluate(X)) / 2)
    assert mean.unit_counts()["mul"] == 1


def target_of(n=400):
    """Noisy rows of a curve that no short equation of waves tells."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, (n, 1))
    y = np.abs(X[:, 0]) + np.tanh(4 * X[:, 0] - 2) + 0.2 * rng.normal(size=n)
    data = Dataset.of(X, y, None, None, NAMES, ("y",))
    (target,) = prepare(FitOptions(selection="V_int"), data, None, 0)
    return target


def waves(target, seed, n=22):
    """An equation of some sixty constants, found on its own."""
    rng = np.random.default_rng(seed)
    parts = [f"0.1*cos({w:.3f}*x0 + {p:.3f})" for w, p in rng.uniform(0.3, 9, (n, 2))]
    rows = target.task.train
    return refit(Expression.parse(" + ".join(parts), NAMES), rows, max_steps=60)


@pytest.fixture(scope="module")
def target():
    return target_of()


@pytest.fixture(scope="module")
def finished(target):
    """One equation of each of three lines, and a second one of the third."""
    found = []
    for seed, line in ((0, 1), (1, 2), (2, 3), (4, 3)):
        candidate = target.task.candidate(waves(target, seed))
        found.append(finish_candidate(replace(candidate, lines=(line,)), target))
    return found


def test_a_mean_of_two_lines_errs_less_than_either(target, finished):
    found = means(finished, target)
    assert found
    assert found[0].rmse_validation < min(c.rmse_validation for c in finished)
    x = np.linspace(-3, 3, 400)[:, None]
    truth = np.abs(x[:, 0]) + np.tanh(4 * x[:, 0] - 2)

    def error(c):
        return np.sqrt(np.mean((c.expression.evaluate(x)[:, 0] - truth) ** 2))

    assert error(found[0]) < np.mean([error(c) for c in finished])


def test_it_is_of_different_lines_safe_and_not_too_large(target, finished):
    for mean in means(finished, target):
        assert len(set(mean.lines)) == len(mean.lines) >= 2
        assert mean.n_parameters <= 300
        assert mean.proved
        assert np.isfinite(mean.expression.evaluate(target.points.T)).all()


def test_equations_of_one_line_have_no_mean(target, finished):
    """They are relatives, and err in the same places."""
    assert means([c for c in finished if c.lines == (3,)], target) == []


def test_what_rows_and_what_a_surface_taught_are_not_mixed(target, finished):
    mixed = [replace(finished[0], is_taught=True), finished[1]]
    assert means(mixed, target) == []


def test_small_equations_have_no_mean(target):
    candidate = target.task.candidate(Expression.parse("cos(2*x0)", NAMES))
    small = finish_candidate(candidate, target)
    assert means([replace(small, lines=(1,)), replace(small, lines=(2,))], target) == []
