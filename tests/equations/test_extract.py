"""From weights to equations."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ieql.equations.extract import extract
from ieql.network import Network
from ieql.prior import Prior


@given(seed=st.integers(0, 100_000), density=st.sampled_from([0.05, 0.15, 0.5]))
@settings(max_examples=40, deadline=None)
def test_the_equation_computes_what_the_network_computes(seed, density):
    rng = np.random.default_rng(seed)
    network = Network.regular(Prior.of("plain"), ("a", "b"), layers=2, copies=1, n_outputs=2)
    live = network.allowed & (rng.random(network.allowed.shape) < density)
    live[:, 0] = network.allowed[:, 0]
    W = np.where(live, 0.5 * rng.normal(size=live.shape), 0.0)
    W[network.singular_rows, 0] = 3.0
    XT = rng.uniform(-1, 1, (2, 30))
    expected = network.outputs(W, XT).T
    found = extract(network, W, live).evaluate(XT.T)
    both = np.isfinite(expected)
    # A unit of constants that is undefined keeps the whole output undefined in the network only if
    # a live weight leads from it to the output, and then also in the equation.
    np.testing.assert_array_equal(np.isfinite(found), both)
    np.testing.assert_allclose(found[both], expected[both], rtol=1e-9, atol=1e-9)


def test_dead_units_are_dropped_and_do_not_count():
    network = Network.regular(Prior.of("plain"), ("a", "b"), layers=2, copies=2)
    live = np.zeros_like(network.allowed)
    W = np.zeros(live.shape)
    square = next(b for b in network.blocks[0] if b.unit.name == "square")
    W[square.args[0].start, 1] = 2.0  # (2a)² ...
    W[-1, square.sources.start] = 3.0  # ... times 3
    W[square.args[0].start + 1, 2] = 9.0  # a second square that nothing uses
    expression = extract(network, W, W != 0)
    assert expression.text() == "3*(2*a)**2"
    assert expression.n_parameters == 2
    assert expression.inputs_used == ("a",)
