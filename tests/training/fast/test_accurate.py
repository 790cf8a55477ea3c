"""Trainings for accuracy: many constants where they are asked for, and nowhere else."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from ieql.equations.safety import is_safe
from ieql.selection import CRITERIA
from ieql.training.archive import Archive
from ieql.training.fast.accurate import (
    AccuracySettings,
    _parent,
    _taught_share,
    accurate,
    can_be_accurate,
    least_worth,
    most_constants,
)
from ieql.training.fast.island import ACCURACY, FastSettings
from ieql.training.fast.network_fit import Rows
from ieql.training.fast.search import FastTrainer, _may_be_accurate
from ieql.training.fast.surface import with_surface
from ieql.training.trainers import Budget, mean_predictor, restored, train
from tasks import make_task

FORMULA = "cos(4*x*y + x) + cos(2*x + 3*y*y)*x + log(x + 1.3)"
QUICK = AccuracySettings(
    dense_steps=20, sizes=(60.0, 90.0), drawn=60, moves=2, widened_steps=4, final_steps=3, misses=3
)
NUMBERS = FastSettings(accuracy=QUICK)


def task_with(prior="plain", **settings):
    settings = {"noise": 0.05, "accurate": True, **settings}
    return make_task(FORMULA, prior, **settings)


def archive_of(task):
    return Archive([mean_predictor(task)], task.train.n_rows)


def found_by(task, archive, seed=0, settings=QUICK):
    with np.errstate(all="ignore"):
        found = list(accurate(task, archive, np.random.default_rng(seed), settings))
    return [c for c in found if c is not None]


def searched(**settings):
    """A task of which little is tried before the trainings begin."""
    return task_with({"units": ["cos", "mul"]}, n=150, **settings)


def run(task, trainings=8, resumed=None, on_round=None, **limits):
    budget = Budget(max_trainings=trainings, **limits)
    tasks = task if isinstance(task, list) else [task]
    return train(FastTrainer(NUMBERS), tasks, budget, resumed=resumed, on_round=on_round)


def texts(state):
    return [c.expression.text() for c in state.fronts[0]]


def test_a_random_network_gives_equations_of_many_sizes():
    task = task_with()
    found = found_by(task, archive_of(task), settings=replace(QUICK, fresh=1.0))
    sizes = [c.n_parameters for c in found]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) >= 5
    assert max(sizes) > 40
    assert min(c.rmse_train for c in found) < 0.2


def test_an_equation_of_the_archive_is_made_more_worth():
    task = task_with()
    archive = archive_of(task)
    for c in found_by(task, archive, settings=replace(QUICK, fresh=1.0)):
        archive.add(c)
    before = least_worth(archive, task)
    for seed in range(3):
        for c in found_by(task, archive, seed, replace(QUICK, fresh=0.0, fewest=10)):
            archive.add(c)
    assert least_worth(archive, task) < before


def test_what_a_surface_has_taught_is_taught_further_by_it():
    task = with_surface(task_with(n=150, noise=0.02))
    archive = archive_of(task)
    settings = replace(QUICK, fresh=1.0, taught=1.0, fewest=10)
    for c in found_by(task, archive, settings=settings):
        archive.add(c)
    before = least_worth(archive, task)
    for seed in range(3):
        for c in found_by(task, archive, seed, replace(settings, fresh=0.0)):
            archive.add(c)
    assert least_worth(archive, task) < before


def test_a_surface_that_an_equation_has_surpassed_seldom_teaches():
    task = with_surface(task_with(n=150))
    archive = archive_of(task)
    assert _taught_share(replace(task, surface=None), archive, QUICK) == 0.0
    assert _taught_share(task, archive, QUICK) == QUICK.taught
    better = replace(mean_predictor(task), complexity=5.0, rmse_validation=0.5 * task.surface.error)
    archive.add(better)
    assert _taught_share(task, archive, QUICK) == QUICK.seldom_taught


def lines_of(task, *lines):
    """An archive with equations of some lines only."""
    archive = archive_of(task)
    found = found_by(task, archive, settings=replace(QUICK, fresh=1.0))
    return Archive([replace(c, lines=(k,)) for k in lines for c in found], task.train.n_rows)


def test_a_line_goes_on_from_its_own_equations_alone():
    """Relatives err in the same places, and their mean is no better than they are."""
    task = task_with()
    archive = lines_of(task, 2)
    rng = np.random.default_rng(0)
    rows = Rows.of(task, 4000, rng)

    def parent(line):
        return _parent(task, archive, rows, rng, QUICK, 6.0, line)

    assert parent(1) is None
    assert parent(2) is not None


@pytest.mark.parametrize(
    "prior",
    [
        "plain",
        "motor",
        {"units": ["mul", "square", "div"]},
        {"units": ["sqrt", "exp"]},
        {"prohibit": ["cos(mul)", "mul(cos)"], "inputs": {"y": {"not_in": ["output"]}}},
    ],
)
def test_equations_are_permitted_and_safe_in_the_domain(prior):
    task = task_with(prior, reach=1.5)
    archive = archive_of(task)
    for seed in range(2):
        for c in found_by(task, archive, seed):
            archive.add(c)
            assert c.expression.is_allowed(task.prior)
            assert is_safe(c.expression, task.domain)
            assert set(c.expression.unit_counts()) <= set(task.prior.units)


def test_layers_of_the_user_are_kept_to():
    task = task_with(layers=1)
    found = found_by(task, archive_of(task))
    assert found
    assert all(c.expression.depth <= 1 for c in found)


def test_few_rows_have_few_constants():
    assert most_constants(200) == 50
    assert most_constants(1e6) == 300
    assert can_be_accurate(task_with())
    assert not can_be_accurate(task_with(accurate=False))
    task = task_with(n=150)
    found = found_by(task, archive_of(task))
    assert 0 < max(c.n_parameters for c in found) <= most_constants(150)


def test_only_the_error_alone_asks_for_accuracy():
    assert [name for name, c in CRITERIA.items() if c.is_error_alone] == ["V_int"]


def test_other_selections_start_no_such_training(monkeypatch):
    def refuse(*args):
        raise AssertionError

    monkeypatch.setattr("ieql.training.fast.island.accurate", refuse)
    state = run(searched(accurate=False), 5)
    assert state.n_accurate == 0
    assert state.progress[0].done[ACCURACY] == 0
    assert state.n_trainings == 5


def accurate_rounds(*tasks, rounds=1, **limits):
    """A search in which nothing has been tried but rounds for accuracy."""
    trainer = FastTrainer(NUMBERS)
    state = trainer.first(tasks)
    for _ in range(rounds):
        trainer._accurate_round(state, Budget(**limits))
    return state


def test_a_round_is_a_training_on_each_island_and_no_more_than_are_left():
    state = accurate_rounds(searched(), rounds=2, max_trainings=6)
    assert state.progress[0].done[ACCURACY] == state.n_trainings == state.n_accurate == 6
    assert state.progress[0].n_trainings == 0
    assert max(c.n_parameters for c in state.archives[0]) > 20


def test_the_number_of_processes_does_not_matter():
    assert texts(accurate_rounds(task_with(), n_jobs=1)) == texts(
        accurate_rounds(task_with(), n_jobs=2)
    )


def test_without_progress_there_are_no_more_of_them():
    state = accurate_rounds(searched())
    assert state.progress[0].stalled == 0
    assert _may_be_accurate(state, 0)
    state.progress[0].stalled = 8
    assert not _may_be_accurate(state, 0)


def test_a_training_is_a_function_of_its_seed():
    task = task_with()
    one, two = (found_by(task, archive_of(task), 3) for _ in range(2))
    assert [c.expression for c in one] == [c.expression for c in two]


def test_it_resumes_where_it_stood():
    task, forms = searched(), []
    whole = run(task, 12, on_round=lambda state: forms.append(json.dumps(state.to_form())))
    begun = [form for form in map(json.loads, forms) if form["n_accurate"] == 4]
    again = run(task, 12, resumed=restored(FastTrainer(NUMBERS), begun[0], [task]))
    assert (again.number, again.n_accurate) == (whole.number, whole.n_accurate) == (4, 8)
    assert texts(again) == texts(whole)


def test_of_several_outputs_only_those_asked_for():
    state = accurate_rounds(searched(), searched(accurate=False))
    assert state.progress[0].done[ACCURACY] == 4
    assert state.progress[1].done[ACCURACY] == 0
