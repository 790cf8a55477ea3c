"""The same seed and number of trainings give the same front, in every bit, whatever runs them."""

from __future__ import annotations

import pytest

from soak.determinism import SWEEP, both_doors, fronts


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"max_trainings": 6}, {"max_trainings": 3, "trainer": SWEEP}],
    ids=["fast", "paper"],
)
def test_the_number_of_processes_does_not_matter(options):
    one, two = fronts({**options, "random_state": 0, "rows": 100})
    assert one == two
    assert one.count("\n") > 2


@pytest.mark.slow
def test_python_and_the_command_line_find_the_same():
    command_line, python = both_doors(6, seed=1, n_jobs=1)
    assert command_line == python
    assert python.count("\n") > 2
