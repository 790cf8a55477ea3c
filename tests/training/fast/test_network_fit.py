"""Constants of a network: second-order steps, a ridge by evidence, and safety in the domain."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.network import Network
from ieql.prior import Prior
from ieql.training.fast.network_fit import (
    FittedNetwork,
    Rows,
    improved,
    left_out_error,
    residual,
    tangent,
)
from ieql.units import COS, DIV
from tasks import NAMES, make_task

PRIOR = Prior.of("plain")


def rows_of(task):
    return Rows.of(task, 10_000, np.random.default_rng(0))


def random(layers, rows, seed=0):
    network = Network(NAMES, layers, PRIOR)
    W = np.random.default_rng(seed).normal(size=network.allowed.shape)
    live = network.allowed.copy()
    return FittedNetwork(network, np.where(live, W, 0.0), live)


def quotient(denominator):
    """x/(b + w·y)."""
    network = Network(NAMES, ((DIV,),), PRIOR)
    W = np.zeros(network.allowed.shape)
    W[0, 1], W[1, 0], W[1, 2], W[2, 3] = 1.0, *denominator, 1.0
    return FittedNetwork(network, W, W != 0.0)


def test_steps_lower_the_error_to_the_noise():
    rows = rows_of(make_task("cos(3*x) + 0.5*y", noise=0.05))
    state = improved(random(((COS,) * 8,), rows), rows, 40)
    assert np.sqrt(state.error / rows.n_rows) < 0.06
    r = residual(state.network, state.W, rows)
    assert state.error == pytest.approx(float(r @ r))


def test_the_ridge_leaves_fewer_constants_than_there_are_where_noise_is_strong():
    noisy = rows_of(make_task("x", noise=2.0))
    state = improved(random(((COS,) * 20,), noisy), noisy, 20)
    assert state.n_determined < 0.5 * state.n_constants
    # What is left is about the noise, not far below: the rows were not followed one by one.
    assert np.sqrt(state.error / noisy.n_rows) > 1.7


def test_the_error_of_rows_left_out_is_above_that_of_the_rows():
    rows = rows_of(make_task("x", noise=1.0, n=200))
    state = improved(random(((COS,) * 10,), rows), rows, 20)
    assert left_out_error(state, rows) > state.error * (1.0 + state.n_determined / rows.n_rows)


def test_weights_count_like_rows_measured_several_times():
    task = make_task("cos(2*x)", noise=0.1, n=150)
    rows = rows_of(task)
    doubled = Rows(
        np.hstack([rows.XT, rows.XT]), np.hstack([rows.y] * 2), np.ones(300), 300.0,
        rows.lower, rows.upper, rows.points, rows.bounds,
    )  # fmt: skip
    weighted = Rows(
        rows.XT, rows.y, np.full(150, np.sqrt(2.0)), 300.0,
        rows.lower, rows.upper, rows.points, rows.bounds,
    )  # fmt: skip
    start = random(((COS,) * 3,), rows)
    one, two = improved(start, doubled, 5), improved(start, weighted, 5)
    np.testing.assert_allclose(one.W, two.W, rtol=1e-6, atol=1e-9)


def test_a_denominator_must_be_positive_all_over_the_box():
    rows = rows_of(make_task("x"))
    safe, unsafe = quotient((1.5, 1.0)), quotient((0.9, 1.0))
    assert residual(safe.network, safe.W, rows) is not None
    assert residual(unsafe.network, unsafe.W, rows) is None


def test_steps_never_leave_the_domain():
    """The best constants have a pole just inside the domain, beyond the rows."""
    rows = rows_of(make_task("x/(1.05 + y)", reach=1.2))
    state = improved(quotient((1.5, 1.0)), rows, 40)
    assert residual(state.network, state.W, rows) is not None


def test_the_output_keeps_to_the_bounds():
    rows = rows_of(make_task("3*x", bounds=(-2.0, 2.0)))
    network = Network(NAMES, ((COS,),), PRIOR)
    start = FittedNetwork(network, np.zeros(network.allowed.shape), network.allowed.copy())
    state = improved(start, rows, 20)
    assert np.abs(network.outputs(state.W, rows.points)).max() <= 2.1
    assert state.error < float(rows.y @ rows.y)


def test_the_tangent_is_that_of_the_network():
    rows = rows_of(make_task("x*y", n=50))
    state = random(((COS,) * 2,), rows)
    t = tangent(state, rows)
    args, sources = np.nonzero(state.live)
    W = state.W.copy()
    W[args[1], sources[1]] += 1e-6
    moved = (network_value(state, W, rows) - network_value(state, state.W, rows)) / 1e-6
    np.testing.assert_allclose(t.J[1], moved, atol=1e-4)
    np.testing.assert_allclose(np.tril(t.A), np.tril(t.J @ t.J.T))


def network_value(state, W, rows):
    return state.network.outputs(W, rows.XT)[0]
