"""The paper's perceptron: hidden layers of tanh, Adam, the best model on validation rows.

Written for small batches: scikit-learn's takes several times as long for a step of 100 rows, and
the paper has 5000 epochs of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["Perceptron"]

Array = NDArray[np.float32]
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
"""Adam's constants; the paper gives the first, the others are the usual ones."""


class Perceptron:
    """A network of dense layers with tanh and a linear output, in single precision.

    Weights begin uniform within the limits of Glorot and Bengio, biases at zero. All of them are
    views into one vector, so that a step of Adam is a handful of operations.

    Parameters
    ----------
    n_inputs : int
        Number of inputs.
    hidden : sequence of int
        Neurons of each hidden layer.
    seed : int
        Of the weights and of the order of the rows.
    """

    def __init__(self, n_inputs: int, hidden: Sequence[int], seed: int) -> None:
        sizes = (n_inputs, *hidden, 1)
        self.shapes = list(pairwise(sizes))
        self.n_weights = sum(a * b for a, b in self.shapes)
        self.theta = np.zeros(sum((a + 1) * b for a, b in self.shapes), np.float32)
        self.rng = np.random.default_rng(seed)
        for weights, _ in self._layers(self.theta):
            limit = np.sqrt(6.0 / sum(weights.shape))
            weights[:] = self.rng.uniform(-limit, limit, weights.shape)

    def _layers(self, vector: Array) -> list[tuple[Array, Array]]:
        """The weights and biases of each layer as views into a vector."""
        found, place = [], 0
        for a, b in self.shapes:
            weights = vector[place : place + a * b].reshape(a, b)
            found.append((weights, vector[place + a * b : place + (a + 1) * b]))
            place += (a + 1) * b
        return found

    def fit(
        self,
        rows: tuple[Array, Array],
        validation: tuple[Array, Array],
        *,
        epochs: int,
        batch: int,
        rate: float,
    ) -> None:
        """Train on rows (inputs, outputs), and go back to the epoch that is best on validation."""
        X, y = rows
        gradient, first, second = (np.zeros_like(self.theta) for _ in range(3))
        best, least, step = self.theta.copy(), np.inf, 0
        for _ in range(epochs):
            order = self.rng.permutation(len(X))
            X_drawn, y_drawn = X[order], y[order]
            for start in range(0, len(X), batch):
                end = start + batch
                self.slope(X_drawn[start:end], y_drawn[start:end], gradient)
                step += 1
                first += (1.0 - BETA_1) * (gradient - first)
                gradient *= gradient
                second += (1.0 - BETA_2) * (gradient - second)
                size = rate * np.sqrt(1.0 - BETA_2**step) / (1.0 - BETA_1**step)
                self.theta -= np.float32(size) * first / (np.sqrt(second) + np.float32(EPSILON))
            error = float(np.mean((self.predict(validation[0]) - validation[1]) ** 2))
            if error < least:
                best[:], least = self.theta, error
        self.theta[:] = best

    def slope(self, X: Array, y: Array, out: Array) -> None:
        """Write the gradient of half the mean squared error to `out`."""
        layers = self._layers(self.theta)
        values = [X]
        for weights, bias in layers[:-1]:
            values.append(np.tanh(values[-1] @ weights + bias))
        error = (values[-1] @ layers[-1][0])[:, 0] + layers[-1][1] - y
        delta = error[:, None] / np.float32(len(X))
        slopes = self._layers(out)
        for k in reversed(range(len(layers))):
            np.matmul(values[k].T, delta, out=slopes[k][0])
            delta.sum(axis=0, out=slopes[k][1])
            if k > 0:
                delta = (delta @ layers[k][0].T) * (1.0 - values[k] * values[k])

    def predict(self, X: Array) -> Array:
        """The outputs at rows of inputs."""
        *hidden, (weights, bias) = self._layers(self.theta)
        value = X
        for w, b in hidden:
            value = np.tanh(value @ w + b)
        found: Array = (value @ weights + bias)[:, 0]
        return found
