import numpy as np
import pytest

from experiments.perceptron import Perceptron


def network(seed=0):
    return Perceptron(2, (5, 4, 3), seed)


def rows(n, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 2)).astype(np.float32)
    return X, np.sin(3 * X[:, 0]) * X[:, 1]


def test_its_gradient_is_that_of_half_the_mean_squared_error():
    model = network()
    # In double precision, so that differences of the loss have digits left.
    model.theta = model.theta.astype(np.float64)
    X, y = (part.astype(np.float64) for part in rows(20))

    def loss(theta):
        model.theta[:] = theta
        return np.mean((model.predict(X) - y) ** 2) / 2

    start, gradient = model.theta.copy(), np.zeros_like(model.theta)
    model.slope(X, y, gradient)
    steps = 1e-6 * np.eye(len(start))
    differences = [(loss(start + s) - loss(start - s)) / 2e-6 for s in steps]
    assert gradient == pytest.approx(np.array(differences), rel=1e-5, abs=1e-8)


def test_it_learns_and_keeps_the_epoch_that_is_best_on_validation_rows():
    train, validation = rows(200), rows(100, seed=1)
    errors = []
    for epochs in (1, 20, 200):
        model = network()
        model.fit(train, validation, epochs=epochs, batch=20, rate=1e-2)
        errors.append(np.sqrt(np.mean((model.predict(validation[0]) - validation[1]) ** 2)))
    assert errors[0] > errors[1] >= errors[2]
    assert errors[2] < 0.2 * np.std(validation[1])


def test_the_same_seed_gives_the_same_network():
    found = []
    for seed in (3, 3, 4):
        model = network(seed)
        model.fit(rows(50), rows(20, seed=1), epochs=2, batch=10, rate=1e-3)
        found.append(model.theta)
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_weights_are_counted_without_biases():
    assert network().n_weights == 2 * 5 + 5 * 4 + 4 * 3 + 3
