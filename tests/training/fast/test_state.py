"""When a search may stop by itself."""

from __future__ import annotations

from collections import Counter

import pytest

from ieql.training.fast.search import FastTrainer
from tasks import make_task


def state_of(n_rows, at_noise=True, trainings=12, patient=False):
    """A search of two inputs whose best equation is as old as its fourth training."""
    state = FastTrainer().first([make_task("x*y", noise=0.1, n=n_rows)])
    progress = state.progress[0]
    progress.done, progress.since = Counter(growth=trainings), 4
    progress.at_noise, progress.patient = at_noise, patient
    return state


@pytest.mark.parametrize(
    ("n_rows", "at_noise", "trainings"), [(400, True, 28), (20_000, True, 12), (20_000, False, 64)]
)
def test_many_rows_tell_noise_sooner(n_rows, at_noise, trainings):
    assert state_of(n_rows, at_noise, trainings).is_tired(0)
    assert not state_of(n_rows, at_noise, trainings - 1).is_tired(0)


def test_whoever_goes_on_with_a_search_wants_all_its_patience():
    assert not state_of(20_000, patient=True).is_tired(0)
