"""The sweep over strengths: one model for each, what time allows, in any number of processes."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from ieql import IEQLRegressor
from ieql.errors import IeqlError
from ieql.training.paper.settings import PaperSettings
from ieql.training.paper.sweep import PaperTrainer, spread_order
from ieql.training.trainers import Budget, train
from tasks import make_task

SMALL = PaperSettings(
    layers=1, copies=1, first_epochs=20, epochs=30, n_strengths=4, exponents=(-4, -1), batch=50,
    rate=0.01,
)  # fmt: skip
NO_LIMIT = Budget(None, None)


def run(budget=NO_LIMIT, settings=SMALL, n_jobs=1, tasks=None, **options):
    tasks = tasks or [make_task("x*y + 0.5*x", noise=0.02)]
    budget = replace(budget, seed=0, n_jobs=n_jobs, start=time.monotonic())
    return train(PaperTrainer(settings), tasks, budget, **options)


@pytest.mark.parametrize("n", [1, 2, 5, 78])
def test_every_beginning_of_the_order_covers_the_range(n):
    order = spread_order(n)
    assert sorted(order) == list(range(n))
    if n > 10:
        gaps = np.diff([-1, *sorted(order[:7]), n])
        assert gaps.max() <= n / 4


def test_a_sweep_trains_one_model_per_strength():
    told = []
    result = run(on_round=lambda r: told.append((r.n_trainings, bool(r.reason))))
    assert result.n_trainings == 4
    assert told == [(1, False), (2, False), (3, False), (4, False), (4, True)]
    assert result.reason == "all 4 models of the sweep are trained"
    assert len(result.fronts[0].candidates) >= 2  # the mean predictor and a model
    assert result.largest[0] > 0


def test_stronger_regularisation_gives_simpler_equations():
    def size(exponent):
        settings = replace(SMALL, n_strengths=1, exponents=(exponent, exponent), epochs=150)
        return run(settings=settings).largest[0]

    assert size(1.0) == 0.0 < size(-5.0)


def test_the_number_of_processes_does_not_matter():
    one, two = run(n_jobs=1).fronts[0], run(n_jobs=2).fronts[0]
    assert [c.expression.text() for c in one] == [c.expression.text() for c in two]
    assert [c.rmse_train for c in one] == [c.rmse_train for c in two]


def test_fewer_trainings_are_fewer_strengths():
    result = run(Budget(None, 2))
    assert result.n_trainings == 2
    assert result.reason == "2 of 4 models of the sweep were trained"


def test_a_time_limit_leaves_a_coarser_sweep():
    settings = replace(SMALL, epochs=100_000, n_strengths=50)
    result = run(Budget(2.0, None), settings)
    assert 1 <= result.n_trainings < 50
    assert "of 50 models" in result.reason


def test_a_model_that_diverges_is_reported_and_reaches_no_front():
    result = run(settings=replace(SMALL, rate=1e30))
    assert "diverged" in result.reason
    assert len(result.fronts[0].candidates) == 1


def test_without_phase_one():
    result = run(settings=replace(SMALL, first_epochs=0))
    assert result.n_trainings == 4


def test_ctrl_c_keeps_what_was_found():
    def interrupt(result):
        if result.n_trainings == 2:
            raise KeyboardInterrupt

    result = run(on_round=interrupt)
    assert result.interrupted
    assert result.n_trainings == 2


def data(n=200):
    X = np.random.default_rng(0).uniform(-1, 1, (n, 2))
    return X, 3 * X[:, 0] + X[:, 1] ** 2


def test_from_the_regressor_by_name_mapping_or_settings(tmp_path):
    X, y = data()
    small = {"layers": 1, "copies": 1, "first_epochs": 60, "epochs": 60, "batch": 50, "rate": 0.02}
    for trainer in (small, PaperSettings(**small)):
        model = IEQLRegressor(trainer=trainer, max_trainings=2, n_jobs=1, random_state=0)
        model.fit(X, y)
        assert model.n_trainings_ == 2
        assert model.score(X, y) > 0.5
        model.save(tmp_path / "model.json")
        loaded = IEQLRegressor.load(tmp_path / "model.json")
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    named = IEQLRegressor(trainer="paper", max_time=2, n_jobs=1, random_state=0).fit(X, y)
    assert "12 models" in named.stop_reason_


@pytest.mark.parametrize(
    ("trainer", "message"),
    [
        (
            "papre",
            "There is no trainer 'papre'; the choices are fast, paper, published. Did you mean",
        ),
        ({"epoch": 3}, "The paper's trainer has no setting 'epoch'; the choices are"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, not 0"),
        ({"batch": "many"}, "batch must be a whole number of at least 1, not 'many'"),
        ({"rate": None}, "rate must be a number and not negative, not None"),
        ({"exponents": 3}, "exponents must be two numbers, not 3"),
        (5, "trainer must be a name or settings, not 5"),
    ],
)
def test_a_trainer_that_is_none_is_refused(trainer, message):
    with pytest.raises(IeqlError, match=message):
        IEQLRegressor(trainer=trainer).fit(*data())


def test_a_least_time_trains_more_than_one_sweep():
    """With time left the strengths are swept again, from other random starts."""
    result = run(Budget(60.0, None, min_time=2.0))
    assert result.n_trainings > 4
    more = result.n_trainings - 4
    assert result.reason == (
        f"all 4 models of the sweep, and {more} from other random starts, are trained"
    )
    errors = {i: m.candidate.rmse_train for (_, i), m in result.models.items()}
    once = {i: m.candidate.rmse_train for (_, i), m in run().models.items()}
    assert once == {i: errors[i] for i in range(4)}
    assert any(errors[i] != errors[i % 4] for i in errors if i >= 4)


def test_a_least_time_goes_no_further_than_the_number_of_trainings():
    assert run(Budget(60.0, 3, min_time=50.0)).n_trainings == 3
    assert run(Budget(60.0, 6, min_time=50.0)).n_trainings == 6


def test_a_sweep_that_is_done_trains_on_if_asked_for():
    first = run()
    again = run(Budget(60.0, 5, min_time=50.0), resumed=first)
    assert again.n_trainings == 5
