"""Edges of jumps: the right place is found among all places between two rows."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.program import Program
from ieql.training.fast.edges import better_edges, edge_places, has_edges
from ieql.training.fast.eliminate import fitted


def sample_of(text, names=("x", "z"), n=300, noise=0.0):
    rng = np.random.default_rng(0)
    XT = rng.uniform(0, 10, (len(names), n))
    y = Expression.parse(text, names).evaluate(XT.T)[:, 0]
    return Sample(XT, y + noise * rng.normal(size=n), np.ones(n))


def parse(text):
    return Expression.parse(text, ("x", "z"))


def test_only_jumps_have_edges_that_no_fit_moves():
    assert has_edges(parse("step(x - 3)"))
    assert not has_edges(parse("max(x, 3) + tanh(z)"))
    assert edge_places(parse("2*step(x - 3) + z")) == [0, 1]
    assert edge_places(parse("2*max(x, 3) + z")) == []


def test_the_edge_goes_where_the_rows_want_it():
    sample = sample_of("2*step(x - 3.2) + 0.5*z")
    start = parse("1.5*step(x - 6) + 0.3*z + 0.1")
    moved = better_edges(start, Program.of(start), sample)
    left = sample.XT[0][sample.XT[0] < 3.2].max()
    right = sample.XT[0][sample.XT[0] >= 3.2].min()
    assert left < -moved.nodes[0].args[0].bias < right


def test_an_edge_in_the_best_place_stays():
    e = parse("2*step(x - 3.2) + 0.5*z")
    assert better_edges(e, Program.of(e), sample_of("2*step(x - 3.2) + 0.5*z", noise=0.1)) is None


@pytest.mark.parametrize("n", [300, 3000])
def test_a_fit_finds_two_edges(n):
    sample = sample_of("2*step(x - 3.2) - step(z - 7.1) + 0.5*x", n=n, noise=0.05)
    state = fitted(parse("1.5*step(x - 5) + 0.3*step(z - 5) + 0.3*x + 0.1"), sample, 20)
    edges = [-node.args[0].bias / node.args[0].weights[0] for node in state.expression.nodes]
    assert sorted(edges) == pytest.approx([3.2, 7.1], abs=0.1)
    assert np.sqrt(state.error) == pytest.approx(0.05, rel=0.15)


def test_an_edge_that_nothing_depends_on_is_left_alone():
    sample = sample_of("0.5*z")
    e = Expression.parse("0.5*z", ("x", "z"))
    assert better_edges(e, Program.of(e), sample) is None
