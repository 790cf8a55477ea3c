"""Large tables and many fits, at a small size; soak.load has the large ones."""

from __future__ import annotations

import pytest

from soak import load
from soak.programs import is_linux


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [
        {"rows": 30_000, "n_inputs": 10},
        {"rows": 100, "n_inputs": 60},
        {"rows": 200, "n_inputs": 3, "n_outputs": 6},
    ],
)
@pytest.mark.skipif(not is_linux, reason="processes are looked at on Linux alone")
def test_large_tables(shape):
    told = load.large(shape, {"max_time": None, "max_trainings": 2, "n_jobs": 1, "random_state": 0})
    assert told["score"] > 0.5
    assert told["outputs"] == shape.get("n_outputs", 1)
    assert told["left"] == ""
    assert 50 < told["peak"] < 2000


@pytest.mark.slow
@pytest.mark.skipif(not is_linux, reason="the memory is looked at on Linux alone")
def test_fits_one_after_the_other_leave_nothing_in_memory():
    told = load.many_fits(6, 1)
    assert list(told) == ["1", "3", "6"]
    (first, files), (last, files_then) = told["1"], told["6"]
    # Of the first fits, much of the growth is what is loaded and compiled once.
    assert last < first + 30
    assert files_then <= files
