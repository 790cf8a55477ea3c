"""Paths: random networks, the dense phase, and starting again from an equation."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ieql.equations.expression import Expression
from ieql.equations.extract import extract
from ieql.equations.program import Program
from ieql.prior import Prior
from ieql.training.fast.path import (
    PathSettings,
    cut,
    embed,
    random_network,
    random_weights,
    train_dense,
)
from ieql.units import Unit

NAMES = ("x", "y")
PLAIN = Prior.of("plain")
STRICT = Prior.of({"preset": "paper", "inputs": {"x": {"not_in": ["cos", "output"]}}})
SETTINGS = PathSettings()
QUICK = PathSettings(warm_up=5, shrink_every=1)


def data(formula="0.5*x + x*y", n=300, seed=0):
    """Scaled rows as a dense network sees them: single precision, inputs × rows."""
    XT = np.random.default_rng(seed).uniform(-1, 1, (2, n))
    y = Expression.parse(formula, NAMES).evaluate(XT.T)[:, 0]
    return XT.astype(np.float32), y.astype(np.float32)


def path(seed, XT, y, weight=None, prior=PLAIN, settings=QUICK):
    rng = np.random.default_rng(seed)
    network = random_network(prior, NAMES, rng, layers=2)
    W = random_weights(network, rng, settings)
    return train_dense(XT, y, weight, network, W, rng, settings)


def rmse(expression, XT, y):
    """The error while training, where singular units go on as straight lines."""
    return float(np.sqrt(Program.of(expression).normal_equations(XT, y, relax=QUICK.relax)[0]))


# --- networks to start from ----------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), prior=st.sampled_from([PLAIN, STRICT]))
@settings(max_examples=30)
def test_a_random_network_obeys_the_prior(seed, prior):
    rng = np.random.default_rng(seed)
    network = random_network(prior, NAMES, rng)
    W = random_weights(network, rng, SETTINGS)
    assert {u.name for layer in network.layers for u in layer} <= set(prior.units)
    assert not W[~network.allowed].any()
    assert extract(network, W, network.allowed).is_allowed(prior)


def test_random_networks_are_of_many_kinds():
    rng = np.random.default_rng(0)
    networks = [random_network(PLAIN, NAMES, rng) for _ in range(60)]
    assert {len(n.layers) for n in networks} == {1, 2, 3}
    assert len({n.layers for n in networks}) > 20


def drawn(prior, n=300):
    """How many of n random networks contain each unit."""
    rng = np.random.default_rng(0)
    counts: Counter[str] = Counter()
    for _ in range(n):
        counts.update({u.name for u in random_network(prior, NAMES, rng).layers[0]})
    return counts


def test_what_is_expensive_is_drawn_less_often():
    plain, dear = drawn(PLAIN), drawn(Prior.of({"costs": {"cos": 50}}))
    assert dear["cos"] < 0.8 * plain["cos"]
    assert dear["cos"] < 0.8 * dear["exp"]
    assert dear["cos"] > 0  # rare, but not excluded


@pytest.mark.parametrize(("layers", "copies"), [(1, 1), (2, 3), (3, 1)])
def test_a_random_network_is_a_part_of_the_users(layers, copies):
    for seed in range(10):
        network = random_network(PLAIN, NAMES, np.random.default_rng(seed), layers, copies)
        assert len(network.layers) <= layers
        for layer in network.layers:
            assert max(Counter(layer).values()) <= copies


def test_few_units_are_all_used():
    prior = Prior.of({"units": ["square", "mul"]})
    for seed in range(5):
        network = random_network(prior, NAMES, np.random.default_rng(seed))
        assert {u.name for u in network.layers[0]} == {"square", "mul"}


def test_singular_arguments_start_inside_their_domain():
    rng = np.random.default_rng(0)
    network = random_network(PLAIN, NAMES, rng, layers=2, copies=2)
    W = random_weights(network, rng, SETTINGS)
    assert len(network.singular_rows)
    assert np.all(W[network.singular_rows, 0] >= 1.0)


# --- starting from an equation -------------------------------------------------------------------

EQUATIONS = ["0.5*x + x*y", "2*exp(-x) + y", "1/(x**2 + 1.5) - 0.3", "cos(3*x*y + 1)*y", "0.7"]


@pytest.mark.parametrize("text", EQUATIONS)
def test_a_network_grown_around_an_equation_starts_near_it(text):
    expression = Expression.parse(text, NAMES)
    XT, _ = data()
    expected = expression.evaluate(XT.T)[:, 0]
    errors = []
    for seed in range(20):
        network, W = embed(expression, PLAIN, np.random.default_rng(seed), SETTINGS)
        found = network.forward(W, XT, SETTINGS.relax)[1][-1]
        errors.append(np.sqrt(np.mean((found - expected) ** 2)))
        assert sum(map(len, network.layers)) > len(expression.nodes)  # there is room to grow
    assert np.median(errors) < 0.05


@pytest.mark.parametrize("text", EQUATIONS)
def test_without_what_is_new_the_network_is_the_equation(text):
    expression = Expression.parse(text, NAMES)
    XT, _ = data()
    network, W = embed(expression, PLAIN, np.random.default_rng(1), SETTINGS)
    theta = np.abs(np.concatenate([expression.constants(), [0.0]])).astype(np.float32)
    old = extract(network, W, np.isin(np.abs(W), theta))
    np.testing.assert_allclose(old.evaluate(XT.T), expression.evaluate(XT.T), rtol=1e-6, atol=1e-6)


def test_what_grows_around_an_equation_obeys_the_prior():
    expression = Expression.parse("exp(2*x)*y + y", NAMES)
    for seed in range(10):
        network, W = embed(expression, STRICT, np.random.default_rng(seed), SETTINGS)
        assert not W[~network.allowed].any()
        assert {u.name for layer in network.layers for u in layer} <= set(STRICT.units)


def test_a_cut_takes_one_to_three_connections_away():
    expression = Expression.parse("exp(2*x + y)*(x + 3*y) + cos(x)*y + 2*y", NAMES)
    sizes = set()
    for seed in range(30):
        smaller = cut(expression, np.random.default_rng(seed))
        assert smaller.n_parameters < expression.n_parameters
        sizes.add(smaller.n_parameters)
    assert len(sizes) > 2


@pytest.mark.parametrize("text", ["x", "3"])
def test_a_cut_leaves_a_single_connection(text):
    expression = Expression.parse(text, NAMES)
    assert cut(expression, np.random.default_rng(0)) == expression


# --- the dense phase -----------------------------------------------------------------------------


def test_the_dense_phase_lowers_the_error_and_leaves_few_weights():
    XT, y = data()
    expressions = [path(seed, XT, y) for seed in range(4)]
    errors = [rmse(e, XT, y) for e in expressions if e is not None]
    assert len(errors) >= 3
    assert np.median(errors) < 0.1 * y.std()
    for seed, expression in enumerate(expressions):
        rng = np.random.default_rng(seed)
        start = random_network(PLAIN, NAMES, rng, layers=2)
        assert expression is None or expression.n_parameters < start.n_weights


def test_the_same_seed_gives_the_same_equation():
    XT, y = data(n=1000)
    assert path(3, XT, y) == path(3, XT, y)
    assert path(3, XT, y) != path(4, XT, y)


def test_training_leaves_its_arguments_alone():
    XT, y = data()
    rng = np.random.default_rng(0)
    network = random_network(PLAIN, NAMES, rng, layers=2)
    W = random_weights(network, rng, QUICK)
    before = [a.copy() for a in (XT, y, W, network.allowed)]
    train_dense(XT, y, None, network, W, rng, QUICK)
    for array, old in zip((XT, y, W, network.allowed), before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_what_comes_out_obeys_the_prior():
    XT, y = data("cos(3*x) + x")
    for seed in range(4):
        expression = path(seed, XT, y, prior=STRICT)
        assert expression is None or expression.is_allowed(STRICT)


@pytest.mark.parametrize("n", [200, 2000])
def test_rows_of_little_weight_hardly_count(n):
    """Both when all rows enter a step with their weights, and when rows are drawn by weight."""
    XT, y = data("x + y", n=n)
    wrong = np.arange(n) % 2 == 0
    weight = np.where(wrong, 1e-4, 2.0 - 1e-4).astype(np.float32)
    expression = path(1, XT, np.where(wrong, -y, y), weight)
    assert rmse(expression, XT[:, ~wrong], y[~wrong]) < 0.1


def test_a_network_that_diverges_is_given_up():
    XT, y = data()
    rng = np.random.default_rng(0)
    network = random_network(PLAIN, NAMES, rng, layers=2)
    W = np.where(network.allowed, np.float32(1e30), np.float32(0.0))
    with np.errstate(all="ignore"):
        assert train_dense(XT, y, None, network, W, rng, QUICK) is None


def test_a_users_own_unit_takes_part():
    tanh = Unit("tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    XT, _ = data()
    y = np.tanh(2 * XT[0] - 1)
    prior = Prior(units=("mul",), custom=(tanh,))
    errors = [rmse(e, XT, y) for e in (path(s, XT, y, prior=prior) for s in range(3)) if e]
    assert min(errors) < 0.05
