"""The search: many trainings, the same front whatever runs them, and ways to stop."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from dataclasses import replace

import joblib
import pytest

from ieql.errors import IeqlError
from ieql.selection import Front
from ieql.training.fast import search
from ieql.training.fast.complete import Coverage
from ieql.training.fast.search import FastTrainer, _measure
from ieql.training.fast.structures import RESOLUTION
from ieql.training.registry import trainer_of
from ieql.training.trainers import Budget, State, train
from tasks import labelled, make_task

FORMULA = "x*y + 0.5*cos(3*x)"


def run(trainings=6, *, tasks=None, on_round=None, **limits):
    tasks = tasks or [make_task(FORMULA, noise=0.05)]
    budget = Budget(max_trainings=trainings, **limits)
    return train(FastTrainer(), tasks, budget, on_round=on_round)


def texts(result):
    return [[c.expression.text() for c in front] for front in result.fronts]


def test_the_front_begins_with_the_mean_and_gets_better():
    result = run(8)
    front = result.fronts[0].candidates
    assert front[0].n_parameters == 0
    assert front[-1].rmse_validation < 0.5 * front[0].rmse_validation
    assert [c.complexity for c in front] == sorted({c.complexity for c in front})
    assert result.largest[0] >= front[-1].complexity


def test_the_same_seed_gives_the_same_front_whatever_the_number_of_processes():
    one, two = run(5, n_jobs=1), run(5, n_jobs=2)
    assert texts(one) == texts(two)
    assert one.n_trainings == two.n_trainings == 5
    assert one.largest == two.largest
    errors = [[c.rmse_validation for c in r.fronts[0]] for r in (one, two)]
    assert errors[0] == errors[1]


@pytest.mark.parametrize("formula", [FORMULA, "exp(-x) + 1/(y + 2)"])
def test_points_outside_choose_but_do_not_steer(formula):
    """The paper's 40 labelled points outside are for the selection; the search is as without."""
    blind = make_task(formula, noise=0.05)
    outside = labelled(formula, 40, 1.0, 2.0, 0.05, seed=3)
    seeing = replace(blind, extrapolation=outside)
    alone, chosen = run(8, tasks=[blind]), run(8, tasks=[seeing])
    searched = [[c.expression for c in r.archives[0].inner] for r in (alone, chosen)]
    assert searched[0] == searched[1]
    assert alone.progress == chosen.progress
    front = chosen.fronts[0]
    assert all(math.isfinite(c.rmse_extrapolation) for c in front)
    assert {c.expression for c in alone.fronts[0]} <= {c.expression for c in front}


def test_points_outside_steer_if_asked_to():
    task = make_task(FORMULA, noise=0.05)
    task = replace(task, extrapolation=labelled(FORMULA, 40, 1.0, 2.0, 0.05, seed=3))
    steering = trainer_of({"name": "fast", "steered": True})
    state = train(steering, [task], Budget(max_trainings=4))
    assert state.archives[0].inner is state.archives[0].front
    again = steering.read(json.loads(json.dumps(state.to_form())), [task])
    assert again.tasks[0].steered
    assert again.archives[0].inner is again.archives[0].front
    assert trainer_of(steering.settings).steered
    assert not FastTrainer().first([task]).tasks[0].steered


def test_other_settings_of_the_fast_trainer_are_refused():
    with pytest.raises(IeqlError, match="'fast' has no setting 'epochs'; it has 'steered' alone"):
        trainer_of({"name": "fast", "epochs": 3})
    with pytest.raises(IeqlError, match="steered must be True or False, not 'yes'"):
        trainer_of({"name": "fast", "steered": "yes"})


def test_another_seed_gives_another_front():
    assert texts(run(4, seed=0)) != texts(run(4, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threading", "sequential"])
def test_any_backend_of_joblib_will_do(backend):
    expected = texts(run(5))
    with joblib.parallel_config(backend):
        assert texts(run(5, n_jobs=2)) == expected


def test_a_backend_of_ones_own_gets_all_the_work():
    """What a cluster engine has to be: a joblib backend; the search knows nothing of it.

    But for the first round, which is over before a cluster would have started.
    """
    from joblib.parallel import ThreadingBackend

    submitted = []

    class Counting(ThreadingBackend):
        supports_return_generator = True

        def submit(self, func, callback=None):
            submitted.append(func)
            return super().submit(func, callback)

    joblib.register_parallel_backend("counting", Counting)
    with joblib.parallel_config("counting"):
        run(12, n_jobs=2)
    assert len(submitted) >= 4


@pytest.mark.parametrize("trainings", [1, 3, 5])
def test_the_number_of_trainings_is_kept(trainings):
    result = run(trainings)
    assert result.n_trainings == trainings
    assert result.reason.startswith(f"all {trainings} trainings are done")
    assert not result.interrupted


def test_every_target_has_its_own_front():
    tasks = [make_task("x*y"), make_task("3*x - y")]
    result = run(3, tasks=tasks)
    assert len(result.fronts) == len(result.largest) == 2
    assert result.n_trainings == 6
    for task, front in zip(tasks, result.fronts, strict=True):
        for c in front:
            assert task.candidate(c.expression).rmse_validation == c.rmse_validation


def test_a_budget_of_time_is_counted_from_the_start_of_the_clock():
    assert Budget(10.0, None, start=100.0).deadline == 110.0
    assert Budget(None, 5, start=100.0).deadline == float("inf")


def test_when_the_time_is_up_there_is_still_a_front():
    result = run(50, max_time=1.0, start=time.monotonic() - 2.0)
    assert result.reason == "the time is up"
    assert result.n_trainings < 50
    assert result.fronts[0].candidates


def test_the_search_ends_by_itself_when_the_equation_is_exact():
    result = run(200, tasks=[make_task("2*x + 3*y")])
    assert result.reason.startswith("the equations are exact")
    assert result.n_trainings < 200


def test_the_front_can_be_watched():
    rounds: list[tuple[int, int]] = []

    def watch(result: State) -> None:
        assert all(isinstance(front, Front) for front in result.fronts)
        rounds.append((result.n_trainings, len(result.fronts[0].candidates)))

    result = run(9, on_round=watch)
    assert len(rounds) > 1
    assert [n for n, _ in rounds] == sorted({n for n, _ in rounds})
    assert rounds[-1] == (9, len(result.fronts[0].candidates))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_keeps_what_was_found(n_jobs):
    seen = []

    def interrupt(result: State) -> None:
        seen.append(texts(result))
        raise KeyboardInterrupt

    result = run(50, n_jobs=n_jobs, on_round=interrupt)
    assert result.interrupted
    assert result.reason.startswith("it was interrupted")
    assert texts(result) == seen[0]
    assert 0 < result.n_trainings < 50
    assert len(result.fronts[0].candidates) > 1


def test_an_interrupt_in_the_middle_of_a_round_keeps_the_islands_that_came_home(monkeypatch):
    from ieql.training.fast import search as module

    calls = []
    run_island = module.run_island

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run_island(*args)

    monkeypatch.setattr(module, "run_island", interrupted)
    result = run(50)
    assert result.interrupted
    assert result.n_trainings == 2
    assert len(result.fronts[0].candidates) > 1


# --- a least time --------------------------------------------------------------------------------


@pytest.fixture
def easily_content(monkeypatch):
    """A search to which all that is left looks like noise, after some trainings."""
    monkeypatch.setattr("ieql.training.fast.search.looks_like_noise", lambda *_: True)
    monkeypatch.setattr("ieql.training.fast.state.PATIENCE_AT_NOISE", 2)
    return [make_task("x + y", noise=0.3, n=60)]


def test_a_least_time_is_kept_whatever_the_search_thinks(easily_content):
    """What was left looked like noise, and nothing could make the search go on."""
    first = run(400, tasks=easily_content)
    assert first.reason.startswith("what is left looks like noise")
    assert first.n_trainings < 40
    more = first.n_trainings + 5
    again = run(more, tasks=easily_content, max_time=60, min_time=50)
    assert again.n_trainings == more
    assert again.reason.startswith(f"all {more} trainings are done")


def test_a_least_time_is_over_at_last(easily_content):
    begin = time.monotonic()
    result = run(None, tasks=easily_content, max_time=60, min_time=3)
    assert 3 <= time.monotonic() - begin < 30
    assert result.reason.startswith("what is left looks like noise")


def test_a_least_time_ends_with_the_greatest():
    assert Budget(10.0, None, 4.0, start=100.0).earliest == 104.0
    assert Budget(10.0, None, 40.0, start=100.0).earliest == 110.0
    assert Budget(10.0, None, start=100.0).earliest == 100.0


def test_an_exact_equation_ends_the_search_before_any_least_time():
    begin = time.monotonic()
    result = run(None, tasks=[make_task("2*x + 3*y")], max_time=120, min_time=100)
    assert result.reason.startswith("the equations are exact")
    assert time.monotonic() - begin < 60


def test_the_reason_tells_what_was_covered_for_every_target():
    """However the search ended: by its time, by Ctrl-C, by its number of trainings."""
    trainer = FastTrainer()

    def ended(state):
        trainer.last(state)
        return state.reason

    def first(n, reason):
        state = trainer.first([make_task(FORMULA, noise=0.05)] * n)
        state.reason = reason
        return state

    assert ended(first(2, "the time is up")) == "the time is up"
    two, three = 2 * RESOLUTION, 3 * RESOLUTION
    both = first(2, "it was interrupted")
    both.coverage = [Coverage((0, 1), three, 100), Coverage((0, 1), two, 15)]
    assert ended(both) == (
        "it was interrupted; all 15 structures with up to two connections of two inputs were "
        "tried for every output"
    )
    alone = first(1, "the equations are exact")
    alone.coverage = both.coverage[:1]
    assert ended(alone).endswith("up to three connections of two inputs were tried")


def test_what_other_rows_do_to_the_constants_is_no_progress():
    """With 20,000 rows each refit on some of them seemed to shorten the description of all."""
    state = run(1, tasks=[make_task(FORMULA, noise=0.05, n=20_000)])
    progress, since = state.progress[0], 17
    progress.since, progress.done = since, Counter(growth=40)
    known = progress.length
    for shorter, is_progress in ((30.0, False), (60.0, True)):
        progress.since, progress.length = since, known + shorter
        progress.score = -math.inf  # no error is smaller than that
        _measure(state, 0, Budget())
        assert (progress.since > since) == is_progress


def test_structures_of_several_outputs_are_tried_by_their_size(monkeypatch):
    """All sizes of the first output were tried before any of the second, which got nothing."""
    order = []

    def noted(state, k, due, budget):
        order.append((due.size, k))
        return real(state, k, due, budget)

    real = search.cover
    monkeypatch.setattr(search, "cover", noted)
    tasks = [make_task(FORMULA, noise=0.05), make_task("exp(-x) + 1/(y + 2)", noise=0.05)]
    run(1, tasks=tasks)
    first = [size for size, _ in order]
    assert first == sorted(first)
    assert {k for _, k in order[:2]} == {0, 1}
