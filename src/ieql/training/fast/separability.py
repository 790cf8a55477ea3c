"""Which inputs of an unknown function matter, and how it comes apart into functions of fewer.

The function is known through a surrogate. At four points that differ in two inputs a and b, with
f₁₁ = f(a, b), f₁₂ = f(a, b'), f₂₁ = f(a', b), f₂₂ = f(a', b'), a function that adds what it makes
of a and b has f₁₁ - f₁₂ - f₂₁ + f₂₂ = 0, and one that multiplies it has f₁₁ f₂₂ - f₁₂ f₂₁ = 0.
What is left is measured by the errors that the surrogate expects of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ieql.training.fast.surrogate import Surrogate

__all__ = ["POWERS", "Split", "relevant", "splits"]

Array = NDArray[np.float64]
Pair = tuple[int, int]
SETS = 64
"""Sets of four points for each pair of inputs."""
CLEAR = (1.5, 3.0, 8.0)
"""What exceeds its expected error by this factor is real; the later ones are tried after."""
POWERS = (1.0, 2.0, -1.0, 0.5, -2.0, 0.0)
"""Powers of a function whose parts may add up; zero stands for the logarithm."""
LEAST = 5e-4
"""Part of the target's spread below which nothing matters, however small its error."""
SAME = 0.02
"""Constants that differ by less, in spreads of the target, are one."""
FAR = 10.0
"""A constant so many spreads from the mean of the target is none."""


@dataclass(frozen=True)
class Split:
    """A way in which a function comes apart.

    Attributes
    ----------
    groups : tuple of tuples of int
        The inputs of its parts.
    power : float or None
        This power of the function is a sum of the parts; None if it is their product.
    constant : float
        What is added to a product.
    """

    groups: tuple[tuple[int, ...], ...]
    power: float | None = 1.0
    constant: float = 0.0


def relevant(
    surrogate: Surrogate, XT: Array, rng: np.random.Generator, error: float = 0.0
) -> tuple[int, ...]:
    """The inputs that change the function by more than its error.

    Parameters
    ----------
    surrogate : Surrogate
        Stands for the function.
    XT : array (inputs, rows)
        Points where it is known.
    rng : Generator
        Draws points.
    error : float
        Errors of the values that it was fitted to, if they are too smooth for it to see.
    """
    found = []
    for i in surrogate.inputs:
        first, second = _rows(XT, rng)
        points = np.stack([first, first], axis=-1)
        points[i, :, 1] = second[i]
        values, covariances = surrogate.joint(points.reshape(len(XT), -1), 2)
        change = values[:, 0] - values[:, 1]
        gradient = np.broadcast_to([1.0, -1.0], values.shape)
        if _ratio(change, gradient, covariances, _Errors(surrogate, error)) > CLEAR[0]:
            found.append(i)
    return tuple(found)


def splits(
    surrogate: Surrogate,
    XT: Array,
    inputs: Sequence[int],
    signs: Array,
    rng: np.random.Generator,
    error: float = 0.0,
) -> list[Split]:
    """The ways in which a function comes apart, the clearest first.

    Parameters
    ----------
    surrogate : Surrogate
        Stands for the function.
    XT : array (inputs, rows)
        Points where it is known.
    inputs : sequence of int
        Those that matter.
    signs : array (rows,)
        Signs of the target: powers are for those with one sign.
    rng : Generator
        Draws points.
    error : float
        As of `relevant`.
    """
    errors = _Errors(surrogate, error)
    pairs = list(combinations(inputs, 2))
    if not pairs:
        return []
    sets = {pair: _four(surrogate, XT, pair, rng) for pair in pairs}
    found: dict[Split, None] = {}
    sign = float(signs[0]) if np.all(signs == signs[0]) else 0.0
    first, *others = _sums(errors, sets, sign)
    everything = [first, *_products(errors, sets), *others]
    for clear in CLEAR:
        for power, constant, ratios in everything:
            groups = _components(inputs, [p for p, ratio in ratios.items() if ratio > clear])
            known = {(s.power, s.constant, s.groups) for s in found}
            if len(groups) > 1 and (power, constant, groups) not in known:
                found[Split(groups, power, constant)] = None
    return list(found)


class _Errors:
    """By what the errors of a surrogate are judged."""

    def __init__(self, surrogate: Surrogate, error: float) -> None:
        self.mean, self.scale = surrogate.mean, surrogate.scale
        self.overconfidence = surrogate.overconfidence
        self.least = max(error, LEAST * surrogate.scale)


@dataclass(frozen=True, eq=False)
class _Sets:
    """Values of the function at sets of four points, and the covariances of their errors."""

    values: Array
    covariances: Array


def _rows(XT: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    first = rng.integers(XT.shape[1], size=SETS)
    second = (first + rng.integers(1, XT.shape[1], size=SETS)) % XT.shape[1]
    return XT[:, first], XT[:, second]


def _four(surrogate: Surrogate, XT: Array, pair: Pair, rng: np.random.Generator) -> _Sets:
    first, second = _rows(XT, rng)
    points = np.stack([first] * 4, axis=-1)
    a, b = pair
    points[a, :, 2:] = second[a][:, None]
    points[b, :, 1::2] = second[b][:, None]
    return _Sets(*surrogate.joint(points.reshape(len(XT), -1), 4))


def _ratio(contrast: Array, gradient: Array, covariances: Array, errors: _Errors) -> float:
    """How much larger a contrast is than its expected error.

    Only the better known half of the sets counts: where inputs depend on each other, some points
    lie far from all data.
    """
    variance = np.einsum("si,sij,sj->s", gradient, covariances, gradient)
    size = np.sum(gradient**2, axis=1)
    variance = np.maximum(variance, 0.0) * errors.overconfidence**2 + size * errors.least**2
    known = np.isfinite(contrast) & np.isfinite(variance)
    if not known.any():
        return np.inf
    contrast, variance = contrast[known], variance[known]
    better = variance <= np.median(variance)
    return float(np.sqrt(np.mean(contrast[better] ** 2) / np.mean(variance[better])))


def _mixed(values: Array) -> Array:
    mixed: Array = values[:, 0] - values[:, 1] - values[:, 2] + values[:, 3]
    return mixed


Measured = tuple[float | None, float, dict[Pair, float]]
"""A power, a constant, and for each pair of inputs how clearly they do not come apart."""


def _sums(errors: _Errors, sets: dict[Pair, _Sets], sign: float) -> Iterator[Measured]:
    """Powers of the function as sums."""
    signs = np.array([1.0, -1.0, -1.0, 1.0])
    for power in POWERS:
        if power != 1.0 and sign == 0.0:
            return
        ratios = {}
        for pair, four in sets.items():
            f = four.values if power == 1.0 else sign * four.values
            if power == 1.0:
                value, slope = f, np.ones_like(f)
            else:
                # A surrogate may go beyond zero where the function does not.
                f = np.where(f > 0.0, f, np.nan)
                value = np.log(f) if power == 0.0 else f**power
                slope = 1.0 / f if power == 0.0 else power * f ** (power - 1.0)
            ratios[pair] = _ratio(_mixed(value), slope * signs, four.covariances, errors)
        yield power, 0.0, ratios


def _products(errors: _Errors, sets: dict[Pair, _Sets]) -> Iterator[Measured]:
    """The function, without a constant, as a product."""

    def ratios(constant: float) -> dict[Pair, float]:
        return {p: _product_ratio(four, constant, errors) for p, four in sets.items()}

    yield None, 0.0, ratios(0.0)
    constants: list[float] = [0.0]
    for four in sets.values():
        f = four.values
        mixed, determinant = _mixed(f), f[:, 0] * f[:, 3] - f[:, 1] * f[:, 2]
        # f₁₁ f₂₂ - f₁₂ f₂₁ of what is left without a constant c is linear in c.
        constant = float(mixed @ determinant / max(float(mixed @ mixed), 1e-300))
        if abs(constant - errors.mean) > FAR * errors.scale:
            continue  # of a sum, which is the limit
        if _product_ratio(four, constant, errors) > CLEAR[0]:
            continue
        if all(abs(constant - c) > SAME * errors.scale for c in constants):
            constants.append(constant)
            yield None, constant, ratios(constant)


def _product_ratio(four: _Sets, constant: float, errors: _Errors) -> float:
    f = four.values - constant
    contrast = f[:, 0] * f[:, 3] - f[:, 1] * f[:, 2]
    gradient = f[:, ::-1] * np.array([1.0, -1.0, -1.0, 1.0])
    return _ratio(contrast, gradient, four.covariances, errors)


def _components(inputs: Sequence[int], edges: Sequence[Pair]) -> tuple[tuple[int, ...], ...]:
    """The connected components of a graph."""
    group = {i: {i} for i in inputs}
    for a, b in edges:
        if group[a] is not group[b]:
            group[a] |= group[b]
            for i in group[b]:
                group[i] = group[a]
    return tuple(sorted({tuple(sorted(g)) for g in group.values()}))
