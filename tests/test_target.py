"""What a target tells of its equations."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.dataset import Dataset
from ieql.equations.expression import Expression
from ieql.options import FitOptions
from ieql.target import Target, prepare

X = np.linspace(0.0, 10.0, 40)
NOISE = np.random.default_rng(0).normal(size=40)


def target_of(y: np.ndarray) -> Target:
    return prepare(FitOptions(loss="squared"), Dataset.of(X[:, None], y), None, 0)[0]


def line(slope: float, offset: float) -> Expression:
    return Expression.parse(f"{slope}*x0 + {offset}", ("x0",))


def test_evidence_for_a_law_is_about_what_gaussian_noise_makes_it():
    """With noise that is Gaussian, heavy tails cost little: N ln(variance before / after)."""
    target = target_of(0.3 * X + NOISE)
    evidence = target.evidence(line(0.3, 0.0))
    unexplained = np.mean(NOISE**2) / np.var(target.rows.y)
    assert evidence == pytest.approx(-40 * np.log(unexplained), rel=0.2)


def test_explaining_one_row_far_off_is_hardly_evidence():
    """A narrow spike through the largest of forty values of pure noise was taken for a law."""
    y = NOISE.copy()
    y[17] += 12.0
    target = target_of(y)
    spike = Expression.parse(f"12*exp(-400*(x0 - {X[17]})**2)", ("x0",))
    gaussian = 40 * np.log(np.var(y) / np.mean((y - spike.evaluate(X[:, None])[:, 0]) ** 2))
    assert gaussian > 40
    assert target.evidence(spike) < 25


def test_the_mean_is_no_evidence_and_an_exact_law_much():
    target = target_of(0.3 * X + 1.0)
    assert target.evidence(line(0.0, 2.5)) == pytest.approx(0.0, abs=1e-9)
    assert target.evidence(line(0.3, 1.0)) > 1000


def test_rows_far_off_are_told_by_heavy_tails_and_not_by_the_law():
    y = 0.3 * X + NOISE
    assert abs(target_of(y).tails(line(0.3, 0.0))) < 10
    y[[3, 17, 30]] += 15.0
    assert target_of(y).tails(line(0.3, 0.0)) > 40


def test_tails_of_rounding_alone_are_no_error():
    """All rows but one are exact: the scale of the others vanishes."""
    y = 0.3 * X
    y[7] += 5.0
    assert np.isfinite(target_of(y).tails(line(0.3, 0.0)))


def test_a_handful_of_rows_says_nothing_of_tails():
    y = 0.3 * X[:12] + NOISE[:12]
    y[5] += 15.0
    target = prepare(FitOptions(loss="squared"), Dataset.of(X[:12, None], y), None, 0)[0]
    assert target.tails(line(0.3, 0.0)) == 0.0


def test_the_reported_error_of_few_rows_counts_the_choice():
    """Each connection costs half a row: the error of 40 rows is that of 39.5."""
    from ieql.equations.cross_fitted import cross_fitted

    target = target_of(0.3 * X + NOISE)
    e = line(0.3, 0.01)
    expected = cross_fitted(e, target.fitting) * np.sqrt(40 / 39.5)
    assert target.validation_error(e) == pytest.approx(expected)


# --- equations of many constants -----------------------------------------------------------------


def accurate_target(n: int = 200, selection: str = "V_int") -> tuple[Target, Target]:
    """Rows of a wave with noise, and fresh ones of the same kind."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0.0, 6.0, (n + 2000, 1))
    y = np.cos(2 * x[:, 0]) + 0.3 * rng.normal(size=len(x))
    options = FitOptions(loss="squared", selection=selection)
    return tuple(
        prepare(options, Dataset.of(x[part], y[part]), None, 0)[0]
        for part in (slice(n), slice(n, None))
    )


def fitted_waves(rows, n=30) -> Expression:
    """Many waves, fitted to rows: it follows their noise."""
    from ieql.equations.refit import refit

    rng = np.random.default_rng(2)
    text = " + ".join(f"0.1*cos({w:.3f}*x0 + {p:.3f})" for w, p in rng.uniform(0.3, 9, (n, 2)))
    return refit(Expression.parse(text, ("x0",)), rows, max_steps=200)


def test_only_the_error_alone_among_enough_rows_asks_for_many_constants():
    assert accurate_target(200)[0].task.accurate
    assert not accurate_target(130)[0].task.accurate  # 117 to train by
    assert not accurate_target(200, "MDL")[0].task.accurate


def test_many_constants_that_rows_taught_are_judged_by_the_worse_of_two():
    """The best of many such equations is the best on a few rows by chance."""
    target, fresh = accurate_target()
    e = fitted_waves(target.training)
    shown = target.validation_error(e)
    assert shown >= target.held_out.rmse(e.evaluate(target.held_out.XT.T)[:, 0])
    rows = fresh.rows
    assert shown > 0.8 * rows.rmse(e.evaluate(rows.XT.T)[:, 0])
    assert target.fitting.rmse(e.evaluate(target.fitting.XT.T)[:, 0]) < 0.9 * shown


def test_what_a_surface_taught_is_judged_by_all_rows_left_out_in_turn():
    target, fresh = accurate_target()
    truth = Expression.parse("cos(2*x0)", ("x0",))
    shown = target.validation_error(truth, is_taught=True)
    rows = fresh.rows
    assert shown == pytest.approx(rows.rmse(truth.evaluate(rows.XT.T)[:, 0]), rel=0.1)
    assert len(target.surface.left_out) == 200  # those kept back included


def test_what_a_surface_taught_is_taught_by_it_again_when_it_is_finished():
    """By one through all rows, and not by the noise of the rows."""
    from dataclasses import replace

    from ieql.learn import finish_candidate

    target, fresh = accurate_target()
    candidate = target.task.candidate(fitted_waves(target.task.train, n=25))
    by_rows = finish_candidate(candidate, target)
    by_surface = finish_candidate(replace(candidate, is_taught=True), target)
    assert by_surface.is_taught
    assert not by_rows.is_taught
    assert by_surface.rmse_train > by_rows.rmse_train
    errors = [
        fresh.rows.rmse(c.expression.evaluate(fresh.rows.XT.T)[:, 0]) for c in (by_rows, by_surface)
    ]
    assert errors[1] < errors[0]


@pytest.mark.parametrize(
    ("selection", "n", "words"),
    [
        ("V_int", 200, "rows left out"),
        ("MDL", 200, "cross-fitting"),
        ("V_int", 60, "cross-fitting"),
    ],
)
def test_a_model_says_where_its_validation_errors_come_from(selection, n, words):
    from ieql import IEQLRegressor

    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 6.0, (n, 1))
    y = np.cos(2 * x[:, 0]) + 0.3 * rng.normal(size=n)
    model = IEQLRegressor(selection=selection, max_trainings=1, n_jobs=1, random_state=0).fit(x, y)
    assert model.fitted_.validation == words


def spoilt_target(loss: str, weight: np.ndarray | None = None) -> Target:
    """The line with two rows that are grossly wrong, the first and the eleventh."""
    y = 0.3 * X + 0.01 * NOISE
    y[[0, 10]] += 100.0
    data = Dataset.of(X[:, None], y, sample_weight=weight)
    return prepare(FitOptions(loss=loss), data, None, 0)[0]


def test_rows_that_a_robust_loss_distrusts_have_no_say_in_the_search():
    """They only weighed next to nothing: starting values and ranges were spoilt all the same."""
    target = spoilt_target("huber")
    distrusted = target.rows.weight < 0.01
    assert sorted(target.rows.XT[0, distrusted]) == [X[0], X[10]]
    assert np.ptp(target.task.train.y) < 10.0
    assert target.task.rows.tolist() == np.flatnonzero(~distrusted).tolist()
    assert len(target.fitting) == 40  # in the end an equation may show that they are right


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_rows_of_little_weight_of_their_own_stay_in_the_search(loss):
    """A row measured without precision is not one that is wrong."""
    weight = np.where(np.arange(40) % 2, 1e-6, 1.0)
    weight[[0, 10]] = 1.0
    rows = spoilt_target(loss, weight).task.train
    assert np.sum(rows.weight < 0.01 * rows.weight.max()) == 20
