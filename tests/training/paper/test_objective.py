"""Each term of the objective is what the paper says; gradients agree with differences."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.network import Network
from ieql.prior import Prior
from ieql.training.paper import objective

NAMES = ("a", "b")


@pytest.fixture
def network():
    return Network.regular(Prior.of("plain"), NAMES, layers=2, copies=1)


def point(network, seed=0):
    """Weights, relaxations and rows at which some singular arguments are outside their domain."""
    rng = np.random.default_rng(seed)
    W = np.where(network.allowed, 0.7 * rng.normal(size=network.allowed.shape), 0.0)
    alpha = rng.uniform(0.3, 1.5, network.n_args)
    return W, alpha, rng.uniform(-1, 1, (2, 30)), rng.normal(size=(1, 30))


def test_the_data_loss_is_the_mean_squared_error_and_knows_weights():
    out, y = np.array([[1.0, 2.0, 4.0]]), np.array([[1.0, 1.0, 2.0]])
    assert objective.data_loss(out, y)[0] == pytest.approx(5 / 3)
    assert objective.data_loss(out, y, np.array([0.0, 1.0, 1.0]))[0] == pytest.approx(2.5)


def test_the_bound_penalty_counts_what_exceeds_the_bound():
    loss, slope = objective.bound_penalty(np.array([[3.0, -12.0, 11.0, 0.0]]), 10.0)
    assert loss == pytest.approx((2.0 + 1.0) / 4)
    np.testing.assert_allclose(slope, [[0.0, -0.25, 0.25, 0.0]])


def test_the_domain_penalty_is_the_distance_of_singular_arguments_from_their_domain(network):
    Z = np.full((network.n_args, 4), -5.0)
    Z[network.singular_rows] = 1.0
    assert objective.domain_penalty(network, Z)[0] == 0.0
    row = network.singular_rows[0]
    Z[row] = [-1.0, 2.0, -3.0, 4.0]
    loss, slope = objective.domain_penalty(network, Z)
    assert loss == pytest.approx(1.0)
    np.testing.assert_allclose(slope[row], [-0.25, 0.0, -0.25, 0.0])


def test_relaxed_units_are_shifted_inside_and_zero_outside():
    """Equation "divergences_relaxation": f(z + α) for z > 0, else 0."""
    prior = Prior.of({"units": ["log", "div"]})
    network = Network.regular(prior, ("x",), layers=1, copies=1)
    W = np.zeros((network.n_args, network.n_sources))
    W[0, 1] = W[2, 1] = 1.0  # log(x) and a denominator x
    W[1, 0] = 3.0  # a numerator
    W[3, 2], W[3, 3] = 1.0, 0.0
    alpha = np.array([0.5, 9.0, 0.25, 9.0])
    X = np.array([[-1.0, 0.0, 0.5, 2.0]])
    Y, _ = objective.forward(network, W, alpha, X)
    np.testing.assert_allclose(Y[2], [0.0, 0.0, np.log(1.0), np.log(2.5)])
    np.testing.assert_allclose(Y[3], [0.0, 0.0, 3 / 0.75, 3 / 2.25])


@pytest.mark.parametrize("labelled", [True, False])
def test_the_gradient_against_finite_differences(network, labelled):
    W, alpha, X, y = point(network)
    y = y if labelled else None
    options = {"delta": 0.7, "bound": 0.5}

    def loss(W, alpha):
        g = objective.gradient(network, W, alpha, X, y, **options)
        return g.data + 0.7 * g.domain + 0.7 * g.bound

    g = objective.gradient(network, W, alpha, X, y, **options)
    assert g.domain > 0
    assert labelled or g.bound > 0
    step = 1e-6
    checked = 0
    for row, column in np.argwhere(network.allowed)[::7]:
        high, low = W.copy(), W.copy()
        high[row, column] += step
        low[row, column] -= step
        numeric = (loss(high, alpha) - loss(low, alpha)) / (2 * step)
        if abs(numeric) < 1e3:  # not across the jump at the edge of a domain
            assert g.W[row, column] == pytest.approx(numeric, rel=1e-4, abs=1e-6)
            checked += 1
    assert checked > 10
    for row in network.singular_rows:
        high, low = alpha.copy(), alpha.copy()
        high[row] += step
        low[row] -= step
        numeric = (loss(W, high) - loss(W, low)) / (2 * step)
        assert g.alpha[row] == pytest.approx(numeric, rel=1e-4, abs=1e-6)


def test_the_complexity_term_is_the_expected_cost():
    log_alpha, cost = np.array([0.3, -1.0, 2.0]), np.array([1.0, 5.0, 0.0])
    loss, slope = objective.complexity(log_alpha, cost)
    step = 1e-6
    for k in range(3):
        moved = log_alpha.copy()
        moved[k] += step
        numeric = (objective.complexity(moved, cost)[0] - loss) / step
        assert slope[k] == pytest.approx(numeric, abs=1e-5)


def test_softplus_is_positive_and_its_slope_right():
    x = np.array([-30.0, -1.0, 0.0, 2.0, 40.0])
    assert np.all(objective.softplus(x) > 0)
    numeric = (objective.softplus(x + 1e-6) - objective.softplus(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(objective.softplus_slope(x), numeric, rtol=1e-6, atol=1e-9)
