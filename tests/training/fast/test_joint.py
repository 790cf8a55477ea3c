"""What one output has found is offered to the others, and to nobody if there is one output."""

from __future__ import annotations

import json

import joblib
import numpy as np
import pytest

from ieql.equations.expression import Expression
from ieql.prior import Prior
from ieql.training.archive import Archive
from ieql.training.fast import search
from ieql.training.fast.bank import N_GRAFTS, make_bank
from ieql.training.fast.grow import GrowSettings, grow
from ieql.training.fast.joint import MOST, MOST_UNITS, PER_OUTPUT, offers
from ieql.training.fast.search import FastTrainer
from ieql.training.trainers import Budget, train
from tasks import NAMES, make_task


def archive(*texts):
    task = make_task()
    return Archive([task.candidate(Expression.parse(t, NAMES)) for t in texts])


def test_the_best_equations_of_the_others_are_offered():
    found = offers([archive("x*y", "2*x*y + 1"), archive("cos(x)"), archive("3*x + y")])
    assert [len(f) for f in found] == [1, PER_OUTPUT, PER_OUTPUT + 1]
    assert found[0][0].text() == "cos(x)"
    assert {e.text() for e in found[1]} == {"x*y", "2*x*y + 1"}


def test_one_output_is_offered_nothing():
    assert offers([archive("x*y")]) == [()]


def test_drafts_are_not_offered_and_not_too_many():
    long = " + ".join(f"cos({k}*x)" for k in range(1, MOST_UNITS + 2))
    found = offers([archive("x*y"), archive(long)])
    assert found[0] == ()
    many = offers([archive(f"{k}*x*y", f"cos({k}*x)") for k in range(1, 9)])
    assert all(len(f) == MOST for f in many)


def test_units_that_are_offered_cost_only_the_connection_to_them():
    prior = Prior.of("motor")
    XT = np.random.default_rng(0).uniform(-1, 1, (2, 50))
    parent, offer = Expression.parse("x", NAMES), Expression.parse("exp(cos(2*x*y))", NAMES)

    def bank(**options):
        rng = np.random.default_rng(1)
        return make_bank(prior, XT, XT[:, :0], parent, [], rng, **options)

    plain, made = bank(), bank(offered=[offer])
    assert len(made.grafts) == len(plain.grafts) + 3
    places = [2 + k for k, (e, _) in enumerate(made.grafts) if e is offer]
    names = [made.kind_names[made.kinds[p]] for p in places]
    assert names == ["mul", "cos", "exp"]
    np.testing.assert_allclose(made.costs[places], [prior.cost(n) for n in names])
    expected = offer.evaluate(XT.T)[:, 0]
    np.testing.assert_allclose(made.values[places[-1]], expected)


def test_offers_leave_room_for_grafts_of_the_outputs_own():
    prior = Prior.of("plain")
    XT = np.random.default_rng(0).uniform(-1, 1, (2, 50))
    many = [Expression.parse(f"cos({k}*x)", NAMES) for k in range(1, 2 * N_GRAFTS)]
    own = [Expression.parse(f"exp({k}*y/{N_GRAFTS})", NAMES) for k in range(1, 2 * N_GRAFTS)]
    made = make_bank(
        prior, XT, XT[:, :0], Expression.parse("x", NAMES), own, np.random.default_rng(1),
        offered=many,
    )  # fmt: skip
    units = [e.nodes[node].unit.name for e, node in made.grafts]
    assert units.count("cos") == units.count("exp") == N_GRAFTS // 2


@pytest.fixture
def two_tasks():
    few = Prior(units=("mul",), prohibit=())
    formulas = ("x*y + 0.5*x", "3*x*y + y")
    return [make_task(formula, few, n=60, noise=0.05) for formula in formulas]


def run(tasks, trainings, n_jobs=1):
    budget = Budget(max_trainings=trainings, n_jobs=n_jobs)
    return train(FastTrainer(), tasks, budget)


def test_the_trainings_of_an_output_get_what_the_others_have(monkeypatch, two_tasks):
    seen = []
    run_island = search.run_island

    def watched(task, trainings, known, settings, deadline, offered=()):
        seen.append((task is two_tasks[0], len(offered)))
        return run_island(task, trainings, known, settings, deadline, offered)

    monkeypatch.setattr(search, "run_island", watched)
    run(two_tasks, 1)
    assert seen == [(True, PER_OUTPUT), (False, PER_OUTPUT)]
    seen.clear()
    run(two_tasks[:1], 1)
    assert seen == [(True, 0)]


def test_growth_uses_what_is_offered():
    """A unit that is hard to find by chance is at hand if another output has it."""
    formula = "cos(7.31*x*y + 2.9*cos(4.7*x) + 0.4)"
    task = make_task(f"3*{formula} + y", Prior(units=("cos", "mul"), prohibit=()))
    known = Archive([task.candidate(Expression.parse("2*y", NAMES))], 400)
    offer = [Expression.parse(f"0.2*{formula}", NAMES)]

    def error(offered):
        found = grow(task, known, np.random.default_rng(0), GrowSettings(moves=1), offered)
        return min(e.error for e in found if e is not None)

    assert error(offer) < 1e-12 < error(())


def test_the_number_of_jobs_does_not_matter_for_several_outputs(two_tasks):
    one = run(two_tasks, 3)
    with joblib.parallel_config("threading"):
        two = run(two_tasks, 3, n_jobs=2)
    for a, b in zip(one.fronts, two.fronts, strict=True):
        assert [c.expression.text() for c in a] == [c.expression.text() for c in b]


def test_a_search_that_was_cut_short_goes_on_as_if_it_had_not_been(two_tasks):
    whole, state = run(two_tasks, 5), run(two_tasks, 4)
    trainer = FastTrainer()
    read = trainer.read({**json.loads(json.dumps(state.to_form())), "reason": ""}, two_tasks)
    again = train(trainer, two_tasks, Budget(max_trainings=5), resumed=read)
    for a, b in zip(whole.fronts, again.fronts, strict=True):
        assert [c.expression.text() for c in a] == [c.expression.text() for c in b]
