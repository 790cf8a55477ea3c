"""An island runs trainings; a training is a pure function of what it is given."""

from __future__ import annotations

import time

import numpy as np
import pytest

from ieql.equations.safety import is_safe
from ieql.prior import Prior
from ieql.training.archive import Archive
from ieql.training.fast.island import KINDS, FastSettings, Training, run_island, train
from ieql.training.task import EXACT
from ieql.training.trainers import mean_predictor
from tasks import labelled, make_task

SETTINGS = FastSettings()
FOREVER = float("inf")
SEEDS = range(6)


def trainings(n, seed=0):
    return [Training(0, 0, (seed, 0, k)) for k in range(n)]


def start(task):
    """The archive that every search starts with: the mean predictor."""
    return Archive([mean_predictor(task)])


def found_by(task, archive, seed, kind):
    rng = np.random.default_rng((seed, 0, 0))
    with np.errstate(all="ignore"):  # as on an island: trials that overflow are sorted out
        return list(train(task, archive, rng, SETTINGS, kind))


def candidates(task, seeds=SEEDS, kinds=KINDS):
    """What several trainings from the start find."""
    found = [f for seed in seeds for k in kinds for f in found_by(task, start(task), seed, k)]
    return [f.candidate for f in found if f.candidate is not None]


def test_the_mean_predictor_is_the_first_candidate():
    task = make_task("x*y + 3")
    mean = mean_predictor(task)
    assert mean.n_parameters == 0
    assert mean.expression.outputs[0].bias == pytest.approx(task.train.y.mean())
    assert mean.rmse_train == pytest.approx(task.train.y.std())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_training_find_something_better_than_the_mean(kind):
    task = make_task("x*y + 0.5*x")
    found = candidates(task, kinds=[kind])
    assert min(c.rmse_validation for c in found) < 0.05 * mean_predictor(task).rmse_validation


@pytest.mark.parametrize("kind", KINDS)
def test_a_training_is_a_pure_function(kind):
    """The same again, also in between others; and what it is given stays as it was."""
    task = make_task("x*y + 0.5*cos(3*x)", noise=0.05)
    archive = Archive([mean_predictor(task), *candidates(task, range(2), [kind])])
    before = list(archive)
    arrays = [a.copy() for a in (task.train.XT, task.train.y, task.domain)]
    first = found_by(task, archive, 7, kind)
    found_by(task, archive, 8, kind)
    again = found_by(task, archive, 7, kind)
    assert [repr(f) for f in first] == [repr(f) for f in again]
    assert list(archive) == before
    for array, old in zip((task.train.XT, task.train.y, task.domain), arrays, strict=True):
        np.testing.assert_array_equal(array, old)


def test_another_seed_is_another_training():
    task = make_task("x*y + 0.5*cos(3*x)", noise=0.05)
    texts = {tuple(c.expression.text() for c in candidates(task, [seed])) for seed in range(4)}
    assert len(texts) == 4


def test_no_candidate_violates_the_prior():
    prior = Prior.of(
        {
            "units": ["cos", "exp", "square", "mul"],
            "prohibit": ["cos(square)", "exp(cos)", "square(square)"],
            "inputs": {"y": {"not_in": ["output", "exp"]}},
        }
    )
    task = make_task("cos(x**2) + exp(y)*x + y", prior)
    found = candidates(task, range(4))
    assert found
    for c in found:
        assert c.expression.is_allowed(prior)
        assert set(c.expression.unit_counts()) <= set(prior.units)
        assert c.complexity == c.expression.complexity(prior)


@pytest.mark.parametrize("formula", ["log(x + 1.6) + y", "1/(x + 1.6) + y", "sqrt(x + 1.6) - y"])
def test_no_candidate_leaves_its_domain_or_bounds(formula):
    """The truth is only just safe in a domain that is wider than the data, the bounds are tight."""
    task = make_task(formula, {"units": ["log", "div", "sqrt", "mul"]}, reach=1.5, bounds=(-9, 9))
    found = candidates(task, range(4))
    assert found
    for c in found:
        assert is_safe(c.expression, task.domain, bounds=(-9, 9))


def test_candidates_are_measured_outside_the_data_too():
    outside = labelled("x*y + 0.5*x", 20, 1.0, 2.0, 0.0, seed=5)
    found = candidates(make_task("x*y + 0.5*x", extrapolation=outside), range(3))
    assert found
    assert all(c.rmse_extrapolation >= 0 for c in found)


def test_an_island_brings_home_what_entered_its_archive():
    task = make_task("x*y + 0.5*x", noise=0.01)
    finds = run_island(task, trainings(3), start(task).shared(), SETTINGS, FOREVER)
    assert finds.n_trainings == 3
    assert len(finds.kinds) == len(finds.candidates)
    assert set(finds.kinds) <= set(KINDS)
    assert finds.candidates
    assert finds.largest >= max(c.complexity for c in finds.candidates)
    merged = Archive([mean_predictor(task), *finds.candidates])
    assert merged.best() == min(c.rmse_train for c in finds.candidates)


def test_what_an_island_finds_is_fixed_by_its_seeds():
    task = make_task("x*y + 0.5*cos(3*x)", noise=0.05)
    first, again, other = (
        run_island(task, trainings(2, seed), start(task).shared(), SETTINGS, FOREVER)
        for seed in (1, 1, 2)
    )
    assert repr(first) == repr(again)
    assert repr(first) != repr(other)


def test_after_the_deadline_nothing_new_is_begun_and_what_is_found_is_kept():
    task = make_task("x*y + 0.5*x")
    finds = run_island(task, trainings(50), start(task).shared(), SETTINGS, time.monotonic() - 1.0)
    assert finds.n_trainings <= 1
    assert len(finds.candidates) <= 1


def test_without_any_input_that_varies_a_training_still_ends():
    task = make_task("x*y + 0.5*x", low=1.0, high=1.0 + 1e-300, n=50)
    assert np.ptp(task.train.XT) == 0.0
    assert run_island(task, trainings(2), start(task).shared(), SETTINGS, FOREVER).n_trainings >= 1


def test_an_island_stops_where_nothing_is_left_to_be_found():
    task = make_task("x*y + 0.5*x")
    finds = run_island(task, trainings(30), start(task).shared(), SETTINGS, FOREVER)
    assert min(c.rmse_train for c in finds.candidates) < EXACT
    assert finds.n_trainings < 30
