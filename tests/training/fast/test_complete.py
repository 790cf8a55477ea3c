"""Complete search: pieces, what they find, and what is said of it."""

from __future__ import annotations

import time

import numpy as np
import pytest

from ieql import Prior
from ieql.training.fast.complete import (
    PIECE,
    Coverage,
    grammar_of,
    n_structures,
    pieces,
    refined,
    try_piece,
)
from ieql.training.fast.structures import RESOLUTION
from tasks import make_task

PLAIN = Prior.of("plain")


def test_pieces_are_the_whole() -> None:
    size = 5 * RESOLUTION
    number = n_structures(PLAIN, ("x",), (0,), size, 10_000)
    parts = pieces(PLAIN, ("x",), (0,), size, seed=0)
    assert number == 1139
    assert [p.start for p in parts] == list(range(0, number, PIECE))
    assert parts[-1].stop == number


def test_a_level_far_too_large_is_not_made() -> None:
    """Twenty inputs have a hundred thousand structures of four connections."""
    names = tuple(f"x{i}" for i in range(20))
    inputs = tuple(range(20))
    assert n_structures(PLAIN, names, inputs, 4 * RESOLUTION, 15_000) > 45_000
    assert 4 * RESOLUTION not in grammar_of(PLAIN, names, inputs)._structures


def test_an_eviction_from_the_cache_of_grammars_does_no_harm() -> None:
    """Structures are numbered by the grammar that made them; another one had fewer terms."""
    task = make_task("x*y", noise=0.01, n=60)
    size = 3 * RESOLUTION
    part = pieces(PLAIN, task.names, (0, 1), size, seed=0)[0]
    for k in range(12):
        grammar_of(PLAIN, (f"a{k}",), (0,)).structures(RESOLUTION)
    found = try_piece(PLAIN, task.names, task.train, task.domain, part)
    assert found


def test_what_a_piece_finds_is_refined_to_the_law() -> None:
    task = make_task("2*x/(y + 1.7)", low=0.2, high=3.0, n=80)
    tried = [
        t
        for part in pieces(PLAIN, task.names, (0, 1), 3 * RESOLUTION, seed=0)
        for t in try_piece(PLAIN, task.names, task.train, task.domain, part) or []
    ]
    best = min(tried, key=lambda t: t.length)
    (state,) = refined([best], PLAIN, task.train)
    assert state is not None
    assert state.error < 1e-20
    assert state.expression.unit_counts() == {"div": 1}


def test_nothing_is_begun_after_the_deadline() -> None:
    task = make_task(n=30)
    part = pieces(PLAIN, task.names, (0, 1), RESOLUTION, seed=0)[0]
    late = time.monotonic() - 1.0
    assert try_piece(PLAIN, task.names, task.train, task.domain, part, deadline=late) is None


@pytest.mark.parametrize(
    ("coverage", "expected"),
    [
        (
            Coverage((0,), 6 * RESOLUTION, 9025),
            "all 9,025 structures with up to six connections of one input were tried",
        ),
        (
            Coverage((0, 1), RESOLUTION, 2),
            "all 2 structures with up to one connection of two inputs were tried",
        ),
        (Coverage((0,)), ""),
    ],
)
def test_what_was_covered_is_a_sentence(coverage: Coverage, expected: str) -> None:
    assert coverage.sentence(PLAIN, ("x", "y")) == expected


def test_where_connections_cost_differently_complexity_is_named() -> None:
    prior = Prior.of({"preset": "plain", "costs": {"cos": 4}})
    sentence = Coverage((0,), 5 * RESOLUTION, 300).sentence(prior, ("x",))
    assert sentence == "all 300 structures with up to a complexity of 5 of one input were tried"


def test_coverage_is_read_as_it_was_written() -> None:
    coverage = Coverage((0, 2), 20, 693, 12, {"1a2b": 2})
    assert Coverage.read(vars(coverage)) == coverage


def test_the_same_piece_gives_the_same_fits() -> None:
    task = make_task("x*y + x", noise=0.1, n=50)
    part = pieces(PLAIN, task.names, (0, 1), 3 * RESOLUTION, seed=3)[0]
    one, two = (try_piece(PLAIN, task.names, task.train, task.domain, part) for _ in range(2))
    assert one is not None
    assert two is not None
    np.testing.assert_array_equal([t.length for t in one], [t.length for t in two])
