"""The paper's network: how many weights it has, what it computes, and its derivatives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ieql.network import Network
from ieql.prior import Prior
from ieql.units import UNITS, Unit

NAMES = ("a", "b", "c", "d")


@pytest.mark.parametrize(("preset", "count"), [("plain", 6501), ("paper", 6405)])
def test_the_papers_network_has_the_papers_number_of_weights(preset, count):
    network = Network.regular(Prior.of(preset), NAMES, layers=4, copies=4)
    assert network.n_weights == count


def test_prohibited_connections_are_missing_in_every_layer_also_through_the_copies():
    network = Network.regular(Prior.of("plain"), NAMES, layers=3, copies=2)
    cos_columns = [i for i, name in enumerate(network.source_units) if name == "cos"]
    exp_columns = [i for i, name in enumerate(network.source_units) if name == "exp"]
    for blocks in network.blocks:
        rows = next(b for b in blocks if b.unit.name == "cos").args[0]
        assert not network.allowed[rows][:, cos_columns + exp_columns].any()
    last = network.layer_rows[-1]
    assert network.allowed[last].all()


def test_an_input_may_be_kept_out_of_a_unit():
    prior = Prior.of({"inputs": {"a": {"not_in": ["cos"]}}})
    network = Network.regular(prior, NAMES, layers=1, copies=1)
    rows = network.blocks[0][0].args[0]
    assert network.blocks[0][0].unit.name == "cos"
    assert not network.allowed[rows, 1].any()
    assert network.allowed[rows, 2].all()


def test_a_layer_sees_all_layers_before_it_and_nothing_else():
    network = Network.regular(Prior.of("plain"), ("x",), layers=2, copies=1)
    assert network.visible == (2, 9, 16)
    assert not network.allowed[network.layer_rows[0], 2:].any()
    assert not network.allowed[network.layer_rows[1], 9:].any()


def test_the_example_of_the_papers_architecture_figure():
    """y1 = x2·x1 / (cos x1 + 1.5), y2 = 0, written into the weights by hand."""
    units = (UNITS["cos"], UNITS["mul"])
    network = Network(("x1", "x2"), (units, (UNITS["div"],)), Prior.of("plain"), n_outputs=2)
    W = np.zeros((network.n_args, network.n_sources))
    one, x1, x2, cos, mul, div = range(6)
    W[0, x1] = 1.0  # cos(x1)
    W[1, x2] = W[2, x1] = 1.0  # x2 · x1
    W[3, mul] = 1.0
    W[4, cos], W[4, one] = 1.0, 1.5
    W[5, div] = 1.0
    X = np.random.default_rng(0).uniform(-2, 2, (2, 20))
    expected = X[1] * X[0] / (np.cos(X[0]) + 1.5)
    np.testing.assert_allclose(network.outputs(W, X), [expected, np.zeros(20)], rtol=1e-14)


def random_network(rng, n_outputs=1, custom=()):
    prior = Prior(custom=custom)
    names = NAMES[: rng.integers(1, 4)]
    layers = int(rng.integers(1, 4))
    network = Network.regular(prior, names, layers, int(rng.integers(1, 3)), n_outputs)
    W = np.where(network.allowed, 0.3 * rng.normal(size=network.allowed.shape), 0.0)
    W[network.singular_rows, 0] = 2.0
    return network, W, rng.uniform(-1, 1, (len(names), 15))


def check_jacobian(network, W, XT, live, output, relax):
    value, J = network.jacobian(W, XT, live, output, relax)
    step = 1e-6
    assert J.shape == (live.sum(), XT.shape[1])
    finite = np.isfinite(value)
    for row, (a, s) in zip(J, np.argwhere(live), strict=True):
        ahead, behind = W.copy(), W.copy()
        ahead[a, s] += step
        behind[a, s] -= step
        rows = network.layer_rows[-1]
        upper = network.forward(ahead, XT, relax)[1][rows][output]
        lower = network.forward(behind, XT, relax)[1][rows][output]
        numeric = (upper - lower) / (2 * step)
        good = finite & np.isfinite(numeric)
        np.testing.assert_allclose(row[good], numeric[good], rtol=2e-4, atol=2e-4)


@given(seed=st.integers(0, 10_000), relax=st.sampled_from([0.1, 1.0, 2.5]))
@settings(max_examples=15, deadline=None)
def test_derivatives_of_random_networks_agree_with_finite_differences(seed, relax):
    rng = np.random.default_rng(seed)
    network, W, XT = random_network(rng, n_outputs=2)
    live = network.allowed & (rng.random(network.allowed.shape) < 0.2)
    check_jacobian(network, W, XT, live, output=1, relax=relax)


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("relax", [0.0, 3.0])
def test_derivatives_of_every_unit_agree_with_finite_differences(name, relax):
    if UNITS[name].raises and relax > 0.0:
        pytest.skip("the slope by an exponent is that at the edge of the base's domain")
    network = Network(("x", "y"), ((UNITS[name],) * 2,), Prior.of("plain"))
    rng = np.random.default_rng(3)
    W = np.where(network.allowed, rng.normal(size=network.allowed.shape), 0.0)
    W[:, 0] = 2.5
    XT = rng.uniform(-0.5, 0.5, (2, 30))
    check_jacobian(network, W, XT, network.allowed, output=0, relax=relax)


def test_a_user_defined_unit_works_in_a_network():
    tanh = Unit("tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    network, W, XT = random_network(np.random.default_rng(1), custom=(tanh,))
    assert "tanh" in network.source_units
    check_jacobian(network, W, XT, network.allowed, output=0, relax=0.1)


def test_relaxed_singular_units_are_honest_inside_their_domain_and_finite_outside():
    network = Network(("x",), ((UNITS["log"], UNITS["sqrt"]),), Prior.of("plain"))
    W = np.array([[0.0, 1.0, 0, 0], [0.0, 1.0, 0, 0], [0.0, 0.0, 1.0, 1.0]])
    inside, outside = np.array([[0.2, 1.0, 5.0]]), np.array([[-3.0, 0.0, 0.05]])
    honest = np.log(inside[0]) + np.sqrt(inside[0])
    np.testing.assert_allclose(network.forward(W, inside, relax=0.1)[1][-1], honest)
    assert np.isfinite(network.forward(W, outside, relax=0.1)[1]).all()
    assert np.isnan(network.outputs(W, -inside)).all()


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_compacting_drops_units_and_changes_no_value(seed):
    rng = np.random.default_rng(seed)
    network, W, XT = random_network(rng)
    live = network.allowed & (rng.random(network.allowed.shape) < 0.15)
    live[:, 0] = True
    W = np.where(live, W, 0.0)
    smaller, V, rest = network.compact(W, live)
    assert smaller.n_args <= network.n_args
    np.testing.assert_allclose(
        smaller.outputs(np.where(rest, V, 0.0), XT), network.outputs(W, XT), rtol=1e-12, atol=1e-12
    )


def test_units_of_a_layer_must_stand_together():
    layer = (UNITS["cos"], UNITS["exp"], UNITS["cos"])
    with pytest.raises(ValueError, match="stand together"):
        Network(("x",), (layer,), Prior.of("plain")).blocks  # noqa: B018
