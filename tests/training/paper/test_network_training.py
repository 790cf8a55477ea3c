"""The paper's trainer: compiled steps, phases, gates and relaxations folded into equations."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from ieql.errors import IeqlError
from ieql.network import Network
from ieql.prior import Prior
from ieql.training.paper import gates, objective
from ieql.training.paper.network_training import Model, NetworkTraining
from ieql.training.paper.settings import PaperSettings
from ieql.units import Unit
from tasks import make_task

FOREVER = float("inf")
SMALL = PaperSettings(layers=2, copies=1, first_epochs=5, epochs=10, n_strengths=3, batch=50)


def trainer(formula="x*y + 0.5*x", prior=None, settings=SMALL, **options):
    return NetworkTraining(make_task(formula, prior or "plain", **options), settings)


def test_published_is_what_the_paper_says():
    s = PaperSettings.published()
    assert (s.first_epochs, s.epochs, s.layers, s.copies) == (2000, 10_000, 4, 4)
    assert (s.rate, s.beta1, s.epsilon, s.delta, s.bound) == (1e-3, 0.4, 1e-8, 1.0, 10.0)
    assert len(s.strengths) == 78
    assert s.strengths[0] == pytest.approx(1e-5)
    assert s.strengths[-1] == pytest.approx(1.0)
    np.testing.assert_allclose(np.diff(np.log10(s.strengths)), 5 / 77)


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(IeqlError, match="batch must be a whole number of at least 1, not 0"):
        replace(SMALL, batch=0).checked()


def test_a_fresh_model():
    t = trainer()
    model = t.start(0)
    rows, columns = t.where
    limit = 1 / np.sqrt(2 + 2)
    weights, biases = model.w[0][columns > 0], model.w[0][columns == 0]
    assert np.all(np.abs(weights) <= limit)
    assert np.ptp(weights) > limit
    singular = np.isin(rows[columns == 0], t.network.singular_rows)
    np.testing.assert_array_equal(biases, singular.astype(float))
    np.testing.assert_allclose(objective.softplus(model.relax[0]), 1.0, rtol=1e-6)
    assert gates.probability(model.log_alpha[0]).mean() == pytest.approx(0.83, abs=0.01)


@pytest.mark.parametrize("strength", [None, 1e-2])
def test_compiled_and_plain_epochs_do_the_same(strength):
    """In phase 1 there is no randomness but the order of the rows, which both draw alike."""
    t = trainer("1/(x + 2) + log(y + 2)", low=-1.0, high=1.0, noise=0.01)
    one, two = t.start(1), t.start(1)
    run = t._compiled_epoch()
    for k in range(3):
        run(one, strength, k)
        t._numpy_epoch(two, strength, k)
    assert one.step == two.step
    if strength is None:
        np.testing.assert_allclose(one.w[0], two.w[0], atol=2e-3)
        np.testing.assert_allclose(one.relax[0], two.relax[0], atol=2e-3)
        assert one.losses[0] == pytest.approx(two.losses[0], rel=1e-2)
    else:  # other random gates, but the same pressure on them
        mean = [gates.probability(m.log_alpha[0][t.cost > 0]).mean() for m in (one, two)]
        assert mean[0] == pytest.approx(mean[1], abs=0.01)
        assert one.losses[0] == pytest.approx(two.losses[0], rel=0.5)


def test_one_compiled_step_is_one_step_of_adam_along_the_gradient():
    settings = replace(SMALL, batch=10_000, penalty_points=0)
    t = trainer("sqrt(x + 2) + x*y", settings=settings, low=-1.0, high=1.0)
    model = t.start(3)
    before = model.w[0].copy()
    W, alpha = np.zeros(t.network.allowed.shape), objective.softplus(model.relax[0])
    W[t.where] = before
    XT, y, _ = t.task.dense
    g = objective.gradient(
        t.network, W, alpha.astype(float), XT.astype(float), y[None].astype(float)
    )
    t._compiled_epoch()(model, None, 0)
    assert model.step == 1
    assert model.losses[0] == pytest.approx(g.data, rel=1e-4)
    np.testing.assert_allclose(model.w[1] / (1 - 0.4), g.W[t.where], rtol=1e-3, atol=1e-5)
    # The first step of Adam is the learning rate in the direction of the sign.
    moved = np.abs(g.W[t.where]) > 1e-4
    expected = before[moved] - 1e-3 * np.sign(g.W[t.where][moved])
    np.testing.assert_allclose(model.w[0][moved], expected, atol=1e-5)


@pytest.mark.parametrize("shut", [-11.9, -12.0])
@pytest.mark.parametrize("share", [0.05, 0.25, 0.9])
def test_closed_gates_take_no_part_in_a_step(share, shut):
    """Few open gates are gone through one by one, many as matrices: the gradient is the same.

    So it is if the closed ones have shut for good, and are not even drawn.
    """
    settings = replace(SMALL, layers=3, copies=3, batch=10_000, penalty_points=0)
    t = trainer("sqrt(x + 2) + x*y", settings=settings, low=-1.0, high=1.0)
    model, rng = t.start(3), np.random.default_rng(0)
    model.w[0] = 0.3 * rng.normal(size=model.w.shape[1])  # arguments of logarithms below zero, too
    is_open = (rng.random(model.w.shape[1]) < share) | (t.cost == 0)
    model.log_alpha[0] = np.where(is_open, 100.0, shut)  # gates of one or zero in this draw
    W, alpha = np.zeros(t.network.allowed.shape), objective.softplus(model.relax[0])
    W[t.where] = model.w[0] * is_open
    XT, y, _ = t.task.dense
    g = objective.gradient(
        t.network, W, alpha.astype(float), XT.astype(float), y[None].astype(float)
    )
    t._compiled_epoch()(model, 0.0, 0)
    assert g.domain > 0.0
    assert model.losses[:2] == pytest.approx((g.data, g.domain), rel=1e-3)
    expected = np.where(is_open, g.W[t.where], 0.0)
    np.testing.assert_allclose(
        model.w[1] / (1 - 0.4), expected, rtol=2e-3, atol=2e-4 * np.max(np.abs(expected))
    )
    np.testing.assert_allclose(
        model.relax[1] / (1 - 0.4),
        g.alpha * objective.softplus_slope(t.start(3).relax[0]),
        rtol=2e-3,
        atol=1e-4 * np.max(np.abs(g.alpha)),
    )


@pytest.mark.parametrize("epoch", ["_compiled_epoch", "_numpy_epoch"])
def test_a_gate_that_has_shut_for_good_stays_shut(epoch):
    """Most of a training is spent with nearly all gates at the limit: they cost nothing then."""
    t = trainer("x*y + 0.5*x", noise=0.02)
    model, gated = t.start(0), np.flatnonzero(t.cost > 0)
    gone, left = gated[::2], gated[1::2]
    model.log_alpha[0, gone] = -t.settings.gate_limit
    before = model.copy()
    run = t._compiled_epoch() if epoch == "_compiled_epoch" else t._numpy_epoch
    for k in range(3):
        run(model, 0.0, k)
    np.testing.assert_array_equal(model.log_alpha[0, gone], before.log_alpha[0, gone])
    np.testing.assert_array_equal(model.w[0, gone], before.w[0, gone])
    assert np.mean(model.log_alpha[0, left] != before.log_alpha[0, left]) > 0.5
    biases = t.cost == 0
    assert np.mean(model.w[0, biases] != before.w[0, biases]) > 0.5


def other_network():
    """One layer of sines and products, then a division that alone is the output; no skips."""
    prior = Prior(units=("sin", "mul", "div"), prohibit=())
    task = make_task("x*y + 0.5*x", prior, noise=0.01)
    hidden = tuple(prior.unit(name) for name in ("sin", "sin", "mul"))
    network = Network(task.names, (hidden, (prior.unit("div"),)), prior)
    exists = network.allowed.copy()
    exists[network.layer_rows[1], 1:3] = False
    exists[network.layer_rows[2], :6] = False
    return NetworkTraining(task, SMALL, (network, exists), relaxes=False)


def test_only_weights_that_exist_are_trained():
    t = other_network()
    model = t.start(0)
    assert t.train(model, 3, None, 0, FOREVER)
    W, live = t.weights(model)
    exists = t.given[1]
    np.testing.assert_array_equal(live, exists)
    singular = t.network.singular_rows  # whose relaxation is in the bias
    assert not np.any(np.delete(W, singular, axis=0)[~np.delete(exists, singular, axis=0)])


@pytest.mark.parametrize("l1", [0.0, 0.05])
def test_compiled_and_plain_epochs_agree_on_l1_and_fixed_relaxations(l1):
    t = other_network()
    one, two = t.start(1), t.start(1)
    fixed = one.relax.copy()
    run = t._compiled_epoch()
    for k in range(3):
        run(one, None, k, l1)
        t._numpy_epoch(two, None, k, l1)
    np.testing.assert_allclose(one.w[0], two.w[0], atol=2e-4)
    np.testing.assert_allclose(one.w[1], two.w[1], atol=1e-3)
    for model in (one, two):
        np.testing.assert_array_equal(model.relax, fixed)


def test_the_gradient_of_l1_leaves_biases_alone():
    t = trainer(settings=replace(SMALL, batch=10_000, penalty_points=0))
    plain, pulled = t.start(0), t.start(0)
    sign = np.sign(plain.w[0]) * (t.where[1] > 0)
    t.train(plain, 1, None, 0, FOREVER)
    t.train(pulled, 1, None, 0, FOREVER, 0.5)
    np.testing.assert_allclose((pulled.w[1] - plain.w[1]) / (1 - 0.4), 0.5 * sign, atol=1e-4)


def test_a_penalty_epoch_of_its_own_pulls_the_output_into_its_bound():
    t = trainer("5*x*y", settings=replace(SMALL, bound=0.1, rate=0.01), reach=3.0)
    model = t.start(0)
    points, none = t._domain(), np.random.default_rng(0)
    before = t._step(model.copy(), points, None, None, None, none)[2]
    for seed in range(5):
        t.penalise(model, seed)
    assert model.step == 5 * 8  # 400 rows in batches of 50
    assert t._step(model.copy(), points, None, None, None, none)[2] < 0.8 * before


def test_gates_stay_open_in_phase_one_and_shut_under_a_large_strength():
    t = trainer(noise=0.05)
    model = t.start(0)
    start = model.log_alpha.copy()
    assert t.train(model, 3, None, 0, FOREVER)
    np.testing.assert_array_equal(model.log_alpha, start)
    settings = replace(SMALL, rate=0.05, gate_limit=3.0)
    t = trainer(noise=0.05, settings=settings)
    assert t.train(model, 60, 10.0, 0, FOREVER)
    gated = t.cost > 0
    assert np.all(gates.deterministic(model.log_alpha[0][gated]) == 0.0)
    assert np.abs(model.log_alpha[0]).max() <= 3.0
    assert t.equation(model).n_parameters == 0


def test_gates_and_relaxations_fold_into_the_printed_equation():
    """On the rows where every singular argument is inside its domain, both are the same."""
    t = trainer("1/(x + 2) + log(y + 2)", low=-1.0, high=1.0)
    model = t.start(0)
    rng = np.random.default_rng(0)
    model.log_alpha[0] = rng.normal(0.0, 2.0, len(model.w[0]))
    model.relax[0] = rng.normal(size=len(model.relax[0]))
    gate = np.where(t.cost > 0, gates.deterministic(model.log_alpha[0]), 1.0)
    W = np.zeros(t.network.allowed.shape)
    W[t.where] = model.w[0] * gate
    XT = 4.0 * t.task.train.XT  # beyond the data, too
    alpha = objective.softplus(model.relax[0].astype(float))
    scaled = (XT - t.task.centre[:, None]) / t.task.half[:, None]
    _, Z = objective.forward(t.network, W, alpha, scaled)
    inside = np.all(Z[t.network.singular_rows] > 0, axis=0)
    assert 5 < inside.sum() < len(inside)
    with np.errstate(all="ignore"):
        printed = t.equation(model).evaluate(XT.T)[:, 0]
    network = t.outputs(model, XT)[0]
    np.testing.assert_allclose(printed[inside], network[inside], rtol=1e-5, atol=1e-5)
    # Elsewhere a unit of the network is zero, and the equation knows nothing of that.
    assert np.all(np.isfinite(network))
    assert not np.allclose(printed[~inside], network[~inside], rtol=1e-2)


def test_what_is_prohibited_is_never_live():
    prior = Prior.of({"units": ["cos", "exp", "mul"], "prohibit": ["cos(cos)", "exp(mul)"]})
    t = trainer(prior=prior)
    model = t.start(0)
    t.train(model, 2, None, 0, FOREVER)
    t.train(model, 5, 1e-3, 0, FOREVER)
    W, live = t.weights(model)
    assert not np.any(live & ~t.network.allowed)
    assert not np.any(W[~t.network.allowed])
    assert t.equation(model).is_allowed(prior)


def test_the_penalty_epoch_visits_points_of_the_domain():
    t = trainer(reach=3.0)
    box = t._domain()
    order, picks = t._draw(40, box.shape[1], np.random.default_rng(0))
    assert sorted(order) == list(range(40))
    assert len(picks) == 100
    assert np.all(picks < box.shape[1])
    assert 2.0 < np.abs(box[:, picks]).max() <= 3.0 + 1e-5  # beyond the data, inside the domain


def test_the_bound_is_in_the_unit_of_y():
    """B = 10 is what |y| may reach, not |y - mean| in units of its spread."""
    t = trainer("x + 3", unit=0.5)  # the user's values are 1 to 2
    (bound,), (level,) = t.bounds
    assert bound == pytest.approx(10.0 / 0.5)
    assert level == pytest.approx(t.task.mean)
    output = np.array([[bound - level - 0.1, bound - level + 0.5, -bound - level - 1.0]])
    loss, slope = objective.bound_penalty(output, *t.bounds)
    assert loss == pytest.approx((0.5 + 1.0) / 3)
    np.testing.assert_allclose(slope, [[0.0, 1 / 3, -1 / 3]])


def test_the_bound_is_in_units_of_the_spread_where_values_go_beyond_it():
    """A power loss of 4,000 W is not to be pulled below 10 W; the paper scales such tables."""
    assert trainer("x + 3", unit=1000.0).bounds.tolist() == [[10.0], [0.0]]


def test_what_the_user_declares_is_the_bound():
    t = trainer("x + 3", bounds=(-5.0, 5.0), unit=1000.0)
    assert t.bounds[:, 0].tolist() == pytest.approx([5.0, t.task.mean])


def test_a_penalty_epoch_pulls_the_output_back_into_its_bound():
    settings = replace(SMALL, bound=0.5, rate=0.02, batch=1000)
    errors = []
    for delta in (0.0, 10.0):
        t = trainer("5*x*y", settings=replace(settings, delta=delta), reach=3.0)
        model = t.start(0)
        t.train(model, 40, None, 0, FOREVER)
        errors.append(model.losses[2])
    assert errors[1] < errors[0]


def test_a_point_that_overflows_does_not_ruin_the_network():
    """S0 was lost at a weak strength: at one point of the wide domain an exponential of a square
    was infinite, and every weight became NaN."""
    t = trainer("x + y", prior=Prior.of({"units": ["square", "exp"]}), reach=30.0)
    model = t.start(0)
    model.w[0] = 1.0  # exp((30 + 30 + 1)²) is beyond single precision, exp(9) is not
    domain = t._domain()
    with np.errstate(all="ignore"):
        far = t.outputs(model, t.task.domain)
    assert 0 < np.sum(far > np.finfo(np.float32).max) < domain.shape[1]
    one, two = model.copy(), model.copy()
    t._compiled_epoch()(one, None, 0)
    with np.errstate(all="ignore"):
        t._numpy_epoch(two, None, 0)
    for trained in (one, two):
        assert trained.is_finite
        assert np.all(np.isfinite(trained.losses))
    np.testing.assert_allclose(one.w[0], two.w[0], atol=1e-4)
    assert not np.array_equal(one.w[0], model.w[0])  # the other points still count


def test_a_training_is_fixed_by_its_seed():
    def weights(seed):
        t = trainer(noise=0.05)
        model = t.start(seed)
        t.train(model, 2, None, seed, FOREVER)
        t.train(model, 2, 1e-3, seed, FOREVER)
        return model.w[0]

    np.testing.assert_array_equal(weights(1), weights(1))
    assert not np.array_equal(weights(1), weights(2))


def test_the_deadline_and_divergence_stop_a_training():
    t = trainer()
    assert not t.train(t.start(0), 1000, None, 0, time.monotonic() - 1)
    wild = NetworkTraining(t.task, replace(SMALL, rate=1e30))
    model: Model = wild.start(0)
    assert not wild.train(model, 50, None, 0, FOREVER)
    assert not (model.is_finite and np.isfinite(model.losses[0]))


def tanh_slope(z):
    return 1 - np.tanh(z) ** 2


@pytest.mark.parametrize("value", [np.tanh, np.vectorize(np.tanh)], ids=["compiled", "numpy"])
def test_units_of_the_users_own_are_trained_too(value):
    tanh = Unit("tanh", value, tanh_slope)
    prior = Prior(units=("mul", "tanh"), custom=(tanh,))
    t = trainer("x*y", prior=prior)
    assert (t._compiled_epoch() is not None) == (value is np.tanh)
    model = t.start(0)
    assert t.train(model, 3, None, 0, FOREVER)
    first = model.losses[0]
    assert t.train(model, 10, 1e-4, 0, FOREVER)
    assert model.losses[0] < first


def test_compiled_and_numpy_steps_agree_on_the_edges_of_users_units():
    """One argument with a lower edge and one with an upper one, on both sides of them."""
    odd = Unit(
        "odd",
        lambda a, b: np.sqrt(a + 1.0) * b,
        (lambda a, b: 0.5 * b / np.sqrt(a + 1.0), lambda a, b: np.sqrt(a + 1.0)),
        domains=((-0.5, np.inf), (-np.inf, 0.5)),
    )
    t = trainer("x*y", prior=Prior(units=("odd", "div"), custom=(odd,)), low=-1.0, high=1.0)
    one, two = t.start(1), t.start(1)
    run = t._compiled_epoch()
    for k in range(3):
        run(one, None, k)
        t._numpy_epoch(two, None, k)
    np.testing.assert_allclose(one.w[0], two.w[0], atol=2e-3)
    np.testing.assert_allclose(one.relax[0], two.relax[0], atol=2e-3)
    np.testing.assert_allclose(one.losses, two.losses, rtol=1e-2)
    assert one.losses[1] > 0.0


# --- several outputs -----------------------------------------------------------------------------


def joint_trainer(settings=SMALL, aside=(3, 7), **options):
    """One network for two outputs, of which the second has set some rows aside."""
    one = make_task("1/(x + 2) + log(y + 2)", noise=0.01, **options)
    two = make_task("x*y + 0.5*x", noise=0.01, **options)
    kept = ~np.isin(np.arange(len(two.train)), aside)
    two = replace(two, train=two.train.subset(kept), rows=np.flatnonzero(kept))
    return NetworkTraining(one, settings, others=(two,))


def test_several_outputs_have_one_network():
    t = joint_trainer()
    assert t.network.n_outputs == 2
    assert t.network.n_args == trainer().network.n_args + 1
    model = t.start(0)
    assert t.train(model, 2, None, 0, FOREVER)
    graph = t.equation(model)
    assert len(graph.outputs) == 2
    apart = [graph.output(k).complexity(t.task.prior) for k in range(2)]
    assert graph.complexity(t.task.prior) < sum(apart)  # what both use is paid for once


@pytest.mark.parametrize("strength", [None, 1e-2])
def test_compiled_and_plain_epochs_of_several_outputs_do_the_same(strength):
    t = joint_trainer()
    one, two = t.start(1), t.start(1)
    run = t._compiled_epoch()
    for k in range(3):
        run(one, strength, k)
        t._numpy_epoch(two, strength, k)
    if strength is None:
        np.testing.assert_allclose(one.w[0], two.w[0], atol=2e-3)
        np.testing.assert_allclose(one.w[1], two.w[1], atol=2e-3)
        np.testing.assert_allclose(one.losses, two.losses, rtol=1e-2, atol=1e-6)
    else:
        mean = [gates.probability(m.log_alpha[0][t.cost > 0]).mean() for m in (one, two)]
        assert mean[0] == pytest.approx(mean[1], abs=0.01)


def test_the_loss_is_the_sum_over_outputs_and_its_gradient_agrees_with_differences():
    t = joint_trainer(prior=Prior(units=("cos", "mul"), prohibit=()))
    XT, y, weight = (a.astype(float) for a in t.rows)
    W = np.zeros(t.network.allowed.shape)
    W[t.where] = t.start(2).w[0]
    alpha = np.ones(t.network.n_args)

    def gradient(W):
        return objective.gradient(t.network, W, alpha, XT, y, weight)

    Z = objective.forward(t.network, W, alpha, XT)[1][t.network.layer_rows[-1]]
    errors = [np.average((Z[k] - y[k]) ** 2, weights=weight[k]) for k in range(2)]
    found = gradient(W)
    assert found.data == pytest.approx(sum(errors), rel=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(5):
        step = np.zeros_like(W)
        step[t.where] = 1e-6 * rng.normal(size=len(t.where[0]))
        slope = gradient(W + step).data - gradient(W - step).data
        assert slope == pytest.approx(2 * np.sum(found.W * step), rel=1e-3)


def test_a_row_that_is_set_aside_for_one_output_does_not_spoil_it_or_the_other():
    def trained(wild):
        t = joint_trainer(aside=(3,))
        _, y, _ = t.rows
        y[1, 3] = wild  # the value of the row that the second output has set aside
        model = t.start(0)
        t.train(model, 2, None, 0, FOREVER)
        return model.w[0]

    np.testing.assert_array_equal(trained(0.0), trained(1e6))
    np.testing.assert_array_equal(joint_trainer(aside=(3,)).rows[2][:, 3], [1.0, 0.0])


def test_each_output_has_a_bound_of_its_own():
    t = joint_trainer()
    assert t.bounds.shape == (2, 2)
    one, two = (replace(k, bounds=b) for k, b in zip(t.tasks, ((-3, 3), (-5, 5)), strict=True))
    own = NetworkTraining(one, SMALL, others=(two,)).bounds
    assert own[0].tolist() == [3.0, 5.0]
    assert own[1].tolist() == pytest.approx([one.mean, two.mean])
