"""The baseline EQL÷: its network, its threshold, its zeros, and that it learns."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ieql.problems import Problem
from ieql.selection import select
from ieql.training.paper import objective
from tasks import make_task

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiments import eqldiv
from experiments.eqldiv import PRIOR, EqldivSettings, fit_eqldiv, make_trainer, threshold

TINY = EqldivSettings(layers=(2, 3), copies=2, epochs=8, batch=50, n_strengths=2, penalty_every=2)


def make_problem(formula=lambda a, b: a * b + np.sin(2 * a), n=300, outside=True):
    rng = np.random.default_rng(0)
    names = ("x1", "x2")

    def rows(n, reach):
        X = rng.uniform(-reach, reach, (n, 2))
        return pd.DataFrame(X, columns=list(names)), pd.Series(formula(*X.T), name="y")

    X, y = rows(n, 1.0)
    X_test, y_test = rows(100, 2.0)
    X_extra, y_extra = rows(40, 2.0) if outside else (None, None)
    domain = dict.fromkeys(names, (-2.0, 2.0))
    return Problem(
        "tiny", "", X, y, X_test, y_test, X_extra, y_extra, domain, names, 0.0, "x1*x2 + sin(2*x1)"
    )


def tiny_trainer(layers=3, settings=TINY):
    return make_trainer(make_task("x*y + sin(x)", PRIOR, noise=0.01), settings, layers)


def test_the_defaults_are_the_published_numbers():
    s = EqldivSettings()
    assert (s.layers, s.copies, s.epochs, s.batch) == ((2, 3, 4), 10, 10_000, 20)
    assert (s.rate, s.beta1, s.epsilon, s.bound, s.eta) == (1e-3, 0.9, 1e-4, 10.0, 10.0)
    np.testing.assert_allclose(np.log10(s.strengths), np.linspace(-6.0, -3.5, 26))
    assert s.phases(3) == (5_000, 19_000, 20_000)


@pytest.mark.parametrize("layers", [2, 3, 4])
def test_each_layer_sees_only_the_one_before_it(layers):
    t = tiny_trainer(layers)
    network, exists = t.network, np.zeros(t.network.allowed.shape, bool)
    exists[t.where] = True
    width = 2 * 4
    first = 1
    for k, rows in enumerate(network.layer_rows):
        count = {0: 2, layers: 1}.get(k, width)
        expected = np.zeros(network.n_sources, bool)
        expected[first : first + count] = True
        expected[0] = k < layers  # the output is the division and nothing else
        np.testing.assert_array_equal(exists[rows], np.tile(expected, (len(exists[rows]), 1)))
        first += count


def test_the_division_is_the_last_unit_and_the_only_one():
    names = [[u.name for u in layer] for layer in tiny_trainer(4).network.layers]
    assert names[-1] == ["div"]
    assert all(set(layer) == {"identity", "sin", "cos", "mul"} for layer in names[:-1])


def test_the_threshold_falls_and_the_denominator_does_not_jump():
    assert threshold(0) == 1.0
    assert threshold(99) == pytest.approx(0.1)
    t = tiny_trainer()
    model = eqldiv._start(t, 0)
    _, row = eqldiv._rows_of_division(t.network)

    def denominator():
        W = np.zeros(t.network.allowed.shape)
        W[t.where] = model.w[0]
        alpha = objective.softplus(model.relax[0].astype(float))
        XT = t.task.dense[0].astype(float)
        return objective.forward(t.network, W, alpha, XT)[1][row] + alpha[row]

    before = denominator()
    model.epoch = 24
    eqldiv._lower_threshold(t, model)
    assert objective.softplus(model.relax[0, row]) == pytest.approx(0.2, rel=1e-5)
    np.testing.assert_allclose(denominator(), before, rtol=1e-5)


def test_a_division_below_the_threshold_is_zero_and_penalised():
    """h(a, b) = a/b for b > θ, else 0; the penalty is max(θ - b, 0)."""
    t = tiny_trainer(2)
    model = eqldiv._start(t, 0)
    rows, _ = t.where
    numerator, denominator = eqldiv._rows_of_division(t.network)
    W = np.zeros(t.network.allowed.shape)
    alpha = np.full(t.network.n_args, threshold(3))
    for b in (0.7, 0.3):
        W[t.where] = model.w[0] * ~np.isin(rows, (numerator, denominator))
        W[numerator, 0], W[denominator, 0] = 2.0, b - threshold(3)
        _, Z = objective.forward(t.network, W, alpha, t.task.dense[0].astype(float))
        np.testing.assert_allclose(Z[-1], 2.0 / b if b > 0.5 else 0.0)
        penalty, _ = objective.domain_penalty(t.network, Z)
        assert penalty == pytest.approx(max(0.5 - b, 0.0))


def test_the_factor_of_the_output_goes_to_the_numerator():
    t = tiny_trainer()
    model = eqldiv._start(t, 0)
    model.w[0, t.where[0] == t.network.layer_rows[-1].start] = -1.7
    before = t.equation(model).evaluate(t.task.train.XT.T)
    eqldiv._fold_output(t, model)
    assert model.w[0, -1] == 1.0
    np.testing.assert_allclose(t.equation(model).evaluate(t.task.train.XT.T), before, rtol=1e-4)


def test_zeros_stay_zero_in_the_third_phase():
    t = tiny_trainer()
    model = eqldiv._start(t, 0)
    weights = t.where[1] > 0
    model.w[0, np.flatnonzero(weights)[::3][:-1]] = 5e-4
    fewer, rest = eqldiv._without_small(t, model, 1e-3)
    assert rest.w.shape[1] == np.sum(np.abs(model.w[0]) >= 1e-3) + np.sum(
        (np.abs(model.w[0]) < 1e-3) & ~weights
    )
    assert eqldiv._train(fewer, rest, 3, 0.0, TINY, 0)
    _, live = fewer.weights(rest)
    gone = np.zeros(live.shape, bool)
    gone[t.where] = (np.abs(model.w[0]) < 1e-3) & weights
    assert gone.any()
    assert not np.any(live & gone)


def test_a_tiny_run_measures_every_equation():
    fit = fit_eqldiv(make_problem(), 0, TINY, 1)
    assert len(fit.candidates) == 4
    assert fit.n_rows == (270, 30)
    for c in fit.candidates:
        assert np.all(np.isfinite([c.rmse_train, c.rmse_validation, c.rmse_extrapolation]))
        assert "identity" not in c.expression.unit_counts()
        assert c.n_parameters == c.complexity > 0
    again = fit_eqldiv(make_problem(), 0, TINY, 1)
    assert [c.expression for c in again.candidates] == [c.expression for c in fit.candidates]


def test_errors_are_in_the_users_coordinates_and_without_points_outside_there_are_none():
    problem = make_problem(lambda a, b: 500.0 + 40.0 * a * b, outside=False)
    fit = fit_eqldiv(problem, 1, replace(TINY, layers=(2,), n_strengths=1), 1)
    (c,) = fit.candidates
    predicted = c.expression.evaluate(problem.X.to_numpy())[:, 0]
    all_rows = np.sqrt(np.mean((predicted - problem.y.to_numpy()) ** 2))
    shares = np.array(fit.n_rows) / 300
    assert all_rows**2 == pytest.approx(shares @ np.square([c.rmse_train, c.rmse_validation]))
    assert np.isnan(c.rmse_extrapolation)
    assert "extrapolation" not in fit.mean_errors


def test_if_every_model_diverges_the_mean_is_left():
    fit = fit_eqldiv(make_problem(), 0, replace(TINY, rate=1e30), 1)
    (c,) = fit.candidates
    assert c.n_parameters == 0
    assert c.rmse_validation == pytest.approx(fit.mean_errors["validation"])


def test_it_learns_an_equation_of_its_units():
    settings = replace(TINY, copies=4, epochs=150, batch=30, rate=5e-3, penalty_every=50)
    fit = fit_eqldiv(make_problem(), 0, settings, 1)
    best = fit.candidates[
        select(fit.candidates, "V_int&ex", mean_error=fit.mean_errors["validation"],
               mean_error_extrapolation=fit.mean_errors["extrapolation"])
    ]  # fmt: skip
    assert best.rmse_validation < 0.1 * fit.mean_errors["validation"]
