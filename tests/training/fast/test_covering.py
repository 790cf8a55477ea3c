"""Which structures are due, and in what order."""

from __future__ import annotations

import pytest

from ieql.prior import Prior
from ieql.training.fast.complete import Coverage, grammar_of
from ieql.training.fast.covering import due_again, next_due
from ieql.training.fast.search import FastTrainer
from ieql.training.fast.state import FastState
from tasks import make_task


def state_of(costs: dict[str, float], n_trainings: int = 0) -> FastState:
    prior = {"preset": "plain", "costs": costs}
    state = FastTrainer().first([make_task(prior=prior)])
    state.coverage = [Coverage((0,))]
    state.progress[0].done["growth"] = n_trainings
    return state


def covered(state: FastState) -> float:
    """The complexity up to which structures are due now, as if all were tried at once."""
    coverage = state.coverage[0]
    while (due := next_due(state, 0)) is not None:
        coverage.size, coverage.number = due.size, coverage.number + due.number
    grammar = grammar_of(state.tasks[0].prior, state.tasks[0].names, (0,))
    return grammar.complexity(coverage.size)


def test_large_sizes_wait_for_trainings():
    assert int(covered(state_of({}))) == 5
    assert int(covered(state_of({}, n_trainings=20))) == 6


@pytest.mark.parametrize("costs", [{"cos": 0.1}, {"cos": 10.0}, {"square": 0.2, "exp": 0.3}])
def test_costs_change_the_order_and_not_how_much_is_tried(costs):
    """With a cosine at a tenth of the others two structures were all that was ever tried."""
    state = state_of(costs, n_trainings=20)
    assert covered(state) >= 4.0
    assert state.coverage[0].number > 1000
    assert state.coverage[0].number <= 18_000


def test_a_second_time_is_for_small_sizes():
    state = state_of({}, n_trainings=20)
    assert int(covered(state)) == 6
    coverage, sizes = state.coverage[0], []
    while (due := due_again(state, 0)) is not None:
        coverage.again = due.size
        sizes.append(due.size)
    assert int(grammar_of(Prior.of("plain"), ("x", "y"), (0,)).complexity(sizes[-1])) == 5
    assert coverage.number > 9000
