"""The paper's perceptron: hidden layers of tanh, Adam, the best model on validation rows.

Written for small batches: scikit-learn's takes several times as long for a step of 100 rows, and
the paper has 5000 epochs of them. Points are columns, so that the neurons of a layer are contiguous
and each layer ends in a line of ones: its weight is the bias of the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Perceptron"]

Array = NDArray[np.float32]
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
"""Adam's constants; the paper gives the first, the others are the usual ones."""


class Perceptron:
    """A network of dense layers with tanh and a linear output, in single precision.

    Weights begin uniform within the limits of Glorot and Bengio, biases at zero. All of them are
    views into one vector, so that a step of Adam is one loop.

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
        for (a, b), weights in zip(self.shapes, self._layers(self.theta), strict=True):
            limit = np.sqrt(6.0 / (a + b))
            weights[:a] = self.rng.uniform(-limit, limit, (a, b))

    def _layers(self, vector: Array) -> list[Array]:
        """The weights of each layer as views into a vector; the biases are the last row."""
        found, place = [], 0
        for a, b in self.shapes:
            size = (a + 1) * b
            found.append(vector[place : place + size].reshape(a + 1, b))
            place += size
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
        XT = np.ascontiguousarray(X.T)
        gradient, first, second = (np.zeros_like(self.theta) for _ in range(3))
        best, least, step = self.theta.copy(), np.inf, 0
        for _ in range(epochs):
            order = self.rng.permutation(len(X))
            X_drawn, y_drawn = XT[:, order], y[order]
            for start in range(0, len(X), batch):
                end = start + batch
                self.slope(X_drawn[:, start:end].T, y_drawn[start:end], gradient)
                step += 1
                size = rate * np.sqrt(1.0 - BETA_2**step) / (1.0 - BETA_1**step)
                adam_step(self.theta, gradient, first, second, np.float32(size))
            error = float(np.mean((self.predict(validation[0]) - validation[1]) ** 2))
            if error < least:
                best[:], least = self.theta, error
        self.theta[:] = best

    def slope(self, X: Array, y: Array, out: Array) -> None:
        """Write the gradient of half the mean squared error to `out`."""
        layers, slopes = self._layers(self.theta), self._layers(out)
        values = self._values(X)
        delta = ((layers[-1].T @ values[-1]) - y) / self.theta.dtype.type(len(X))
        for k in reversed(range(len(layers))):
            np.matmul(values[k], delta.T, out=slopes[k])
            if k > 0:
                delta = layers[k][:-1] @ delta
                through_tanh(delta, values[k])

    def predict(self, X: Array) -> Array:
        """The outputs at rows of inputs."""
        found: Array = (self._layers(self.theta)[-1].T @ self._values(X)[-1])[0]
        return found

    def _values(self, X: Array) -> list[Array]:
        """What enters each layer (neurons and a line of ones × points)."""
        values: list[Array] = []
        for (a, _), weights in zip(self.shapes, [None, *self._layers(self.theta)], strict=False):
            value = np.empty((a + 1, len(X)), self.theta.dtype)
            value[a] = 1.0
            if weights is None:
                value[:a] = X.T
            else:
                np.matmul(weights.T, values[-1], out=value[:a])
                np.tanh(value[:a], out=value[:a])
            values.append(value)
        return values


@njit(cache=True, error_model="numpy")
def adam_step(theta: Array, gradient: Array, first: Array, second: Array, size: np.float32) -> None:
    """One step of Adam, in place; `size` is the rate, corrected for the beginning."""
    beta_1, beta_2, epsilon = np.float32(BETA_1), np.float32(BETA_2), np.float32(EPSILON)
    one = np.float32(1.0)
    for i in range(len(theta)):
        first[i] += (one - beta_1) * (gradient[i] - first[i])
        second[i] += (one - beta_2) * (gradient[i] * gradient[i] - second[i])
        theta[i] -= size * first[i] / (np.sqrt(second[i]) + epsilon)


@njit(cache=True, error_model="numpy")
def through_tanh(delta: Array, values: Array) -> None:
    """Multiply by the derivative of tanh, in place; `values` ends in a line that is not meant."""
    for j in range(delta.shape[0]):
        for i in range(delta.shape[1]):
            delta[j, i] *= 1 - values[j, i] * values[j, i]
