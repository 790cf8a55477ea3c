"""The sweep over strengths: one model for each, what time allows, in any number of processes."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ieql import IEQLRegressor
from ieql.errors import IeqlError
from ieql.training.paper.network_training import NetworkTraining
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


@pytest.mark.parametrize(("is_shared", "n_starts"), [(True, 1), (False, 4)])
def test_every_model_has_a_start_of_its_own_or_all_share_one(is_shared, n_starts, monkeypatch):
    """On S4 all sixteen networks of a shared start were the law, on S5 none: the start decided."""
    seeds, begin = set(), NetworkTraining.start
    trained = NetworkTraining.train

    def started(self, seed):
        model = begin(self, seed)
        model.seed = seed
        return model

    def train_on(self, model, epochs, strength, seed, *rest):
        if strength == 0.0 and epochs == SMALL.first_epochs:
            seeds.add(model.seed)
        return trained(self, model, epochs, strength, seed, *rest)

    monkeypatch.setattr(NetworkTraining, "start", started)
    monkeypatch.setattr(NetworkTraining, "train", train_on)
    assert run(settings=replace(SMALL, shared_start=is_shared)).n_trainings == 4
    assert len(seeds) == n_starts


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
        (
            {"gate_limit": 1.0},
            "gate_limit must be at least 2.4, not 1.0: with less no gate can shut",
        ),
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


def test_the_time_that_is_left_goes_into_more_strengths_and_restarts():
    """The reduced settings ended after 30 of 120 seconds."""
    settings = replace(SMALL, restarts=True)
    result = run(Budget(3.0, None), settings)
    assert result.n_trainings > 4
    first, more = settings.strengths, [settings.strength(i) for i in range(4, 12)]
    assert [settings.strength(i) for i in range(4)] == list(first)
    assert len({*first, *more}) == 12
    assert all(first[0] <= s <= first[-1] for s in more)
    assert run(Budget(None, None), settings).n_trainings == 4  # without a limit one sweep is all
    assert run(Budget(60.0, 6), settings).n_trainings == 6


def test_the_reduced_settings_can_express_the_papers_problems():
    """A4 is four units deep: two layers could not hold it."""
    assert PaperSettings.short().layers == PaperSettings.published().layers == 4
    assert PaperSettings.short().restarts
    assert not PaperSettings.published().restarts


def test_a_least_time_goes_no_further_than_the_number_of_trainings():
    assert run(Budget(60.0, 3, min_time=50.0)).n_trainings == 3
    assert run(Budget(60.0, 6, min_time=50.0)).n_trainings == 6


def test_a_sweep_that_is_done_trains_on_if_asked_for():
    first = run()
    again = run(Budget(60.0, 5, min_time=50.0), resumed=first)
    assert again.n_trainings == 5


# --- several outputs -----------------------------------------------------------------------------


def two_tasks():
    return [make_task("x*y + 0.5*x", noise=0.02), make_task("3*x*y + y", noise=0.02)]


def test_one_network_learns_all_outputs_and_counts_once():
    joint = run(tasks=two_tasks())
    assert joint.n_trainings == SMALL.n_strengths
    assert joint.reason == "all 4 models of the sweep are trained"
    apart = run(tasks=two_tasks(), settings=replace(SMALL, joint=False))
    assert apart.n_trainings == 2 * SMALL.n_strengths
    assert apart.reason == joint.reason


def test_the_equations_of_a_model_are_one_graph_in_which_shared_units_are_paid_once():
    state = run(tasks=two_tasks())
    prior = state.tasks[0].prior
    saved = []
    for number in range(SMALL.n_strengths):
        whole = state.whole(number)
        apart = [state.models[k, number].candidate.expression for k in range(2)]
        assert len(whole.outputs) == 2
        X = state.tasks[0].train.XT.T
        expected = np.hstack([e.evaluate(X) for e in apart])
        np.testing.assert_allclose(whole.evaluate(X), expected, rtol=1e-9, atol=1e-12)
        saved.append(sum(e.complexity(prior) for e in apart) - whole.complexity(prior))
    assert max(saved) > 0.0
    assert state.whole(99) is None


def test_a_joint_sweep_does_not_depend_on_processes_and_goes_on_where_it_stood():
    tasks = two_tasks()
    one, two = run(tasks=tasks), run(tasks=tasks, n_jobs=2)
    texts = [[c.expression.text() for f in s.fronts for c in f] for s in (one, two)]
    assert texts[0] == texts[1]
    begun = run(Budget(None, 2), tasks=tasks)
    read = PaperTrainer(SMALL).read(begun.to_form(), tasks)
    again = run(tasks=tasks, resumed=read)
    assert again.n_trainings == SMALL.n_strengths
    assert [[c.expression.text() for f in again.fronts for c in f]] == texts[:1]


def test_a_joint_network_that_diverges_is_counted_once():
    result = run(tasks=two_tasks(), settings=replace(SMALL, first_epochs=0, rate=1e30))
    assert result.reason.endswith("4 diverged")


def test_joint_must_be_true_or_false():
    with pytest.raises(IeqlError, match="joint must be True or False, not 'yes'"):
        replace(SMALL, joint="yes").checked()


def test_joint_training_shares_a_costly_unit():
    """y1 and y2 contain the same exponential; one network finds it once, for both."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.5, 1.5, (300, 2))
    u = np.exp(-0.73 * X[:, 0] ** 2)
    Y = np.column_stack([2 * u, 3 * u + X[:, 1]]) + 0.02 * rng.normal(size=(300, 2))
    settings = {
        "layers": 2, "copies": 2, "first_epochs": 400, "epochs": 1500, "n_strengths": 12,
        "exponents": (-3.5, -1.5), "rate": 0.01, "batch": 50,
    }  # fmt: skip
    prior = {"units": ["exp", "square"], "costs": {"input": 1, "exp": 5, "square": 2}}
    model = IEQLRegressor(
        prior=prior, trainer=settings, max_trainings=12, n_jobs=1, random_state=1
    ).fit(X, Y)
    whole = model.whole()
    assert [unit.outputs for unit in whole.shared] == [(0, 1)]
    assert whole.shared[0].text.startswith("exp(")
    assert whole.complexity == 14 < whole.complexity_apart == 17


def test_joint_training_finds_the_equations_of_the_architecture_figure():
    """y1 = x1 x2 / (cos x1 + 1.5) and y2 = 0 by one network, as the paper draws it."""
    X = pd.DataFrame(np.random.default_rng(0).uniform(-1.5, 1.5, (300, 2)), columns=["x1", "x2"])
    Y = pd.DataFrame({"y1": X["x1"] * X["x2"] / (np.cos(X["x1"]) + 1.5), "y2": np.zeros(300)})
    settings = {
        "layers": 2, "copies": 2, "first_epochs": 400, "epochs": 1500, "n_strengths": 6,
        "exponents": (-3.5, -1.5), "rate": 0.01, "batch": 50,
    }  # fmt: skip
    prior = {"units": ["cos", "mul", "div"]}
    model = IEQLRegressor(
        prior=prior, trainer=settings, max_trainings=6, n_jobs=1, random_state=1
    ).fit(X, Y)
    assert model.expression(output=0).text() == "x1*x2/(cos(x1) + 1.5)"
    assert model.expression(output=1).text() == "0"
    assert model.whole().complexity == 6
