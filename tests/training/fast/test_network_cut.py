"""Constants that are not missed go; the others make up for them."""

from __future__ import annotations

import numpy as np

from ieql.network import Network
from ieql.prior import Prior
from ieql.training.fast.network_cut import argument_rows, cut
from ieql.training.fast.network_fit import FittedNetwork, Rows, improved
from ieql.units import COS, DIV
from tasks import NAMES, make_task


def fitted(formula, units=(COS,) * 6, noise=0.05, prior="plain"):
    rows = Rows.of(make_task(formula, noise=noise), 10_000, np.random.default_rng(0))
    network = Network(NAMES, (units,), Prior.of(prior))
    W = np.random.default_rng(1).normal(size=network.allowed.shape)
    live = network.allowed.copy()
    return improved(FittedNetwork(network, np.where(live, W, 0.0), live), rows, 40), rows


def test_most_constants_of_a_dense_network_can_go():
    state, rows = fitted("cos(3*x) + 0.5*y")
    before = state.error
    while state.n_constants > 7:
        smaller = cut(state, rows, 0.03, 10)
        assert smaller is not None
        assert smaller.n_constants < state.n_constants
        state = improved(smaller, rows, 6)
    assert state.error < 1.3 * before
    assert not np.any(state.W[~state.live])


def test_no_more_go_than_are_asked_for_and_units_without_use_go_along():
    state, rows = fitted("x + y", noise=0.5)
    smaller = cut(state, rows, 1.0, 3)
    assert smaller is not None
    assert smaller.n_constants <= state.n_constants - 3
    owned = argument_rows(smaller.network)
    for column, own in owned.items():
        assert smaller.live[:, column].any()
        assert all(row < smaller.network.n_args - 1 for row in own)


def test_the_offsets_of_the_output_and_of_a_denominator_stay():
    network = Network(NAMES, ((DIV,),), Prior.of("plain"))
    W = np.zeros(network.allowed.shape)
    W[0, 1], W[1, 0], W[1, 2], W[2, 0], W[2, 3] = 1.0, 1.5, 0.4, 0.001, 1.0
    rows = Rows.of(make_task("x/(1.5 + 0.4*y)"), 10_000, np.random.default_rng(0))
    state = FittedNetwork(network, W, W != 0.0)
    while (smaller := cut(state, rows, 0.03, 1)) is not None:
        state = smaller
        assert state.live[-1, 0]
        if state.network.layers:
            assert state.live[state.network.singular_rows, 0].all()
