"""Hard-concrete gates (appendix "Hard Concrete Distribution"): a differentiable L0 norm.

Every weight is multiplied by a gate that is often exactly 0 or exactly 1. With u uniform in (0, 1)

    s = sigmoid((log u - log(1 - u) + log α) / β),  s̄ = s (ζ - γ) + γ,  g = min(1, max(0, s̄)),

so that the gate is non-zero with the probability π = sigmoid(log α - β log(-γ/ζ)), which is what
the complexity term counts. s alone is the concrete distribution, g the hard concrete one. At the
end the gate takes its deterministic value, and weights whose gate is zero are gone.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BETA",
    "GAMMA",
    "LIMIT",
    "SHUT",
    "ZETA",
    "concrete_density",
    "concrete_deterministic",
    "concrete_sample",
    "density",
    "deterministic",
    "masses",
    "probability",
    "probability_slope",
    "sample",
    "sample_slope",
]

Array = NDArray[np.floating]
BETA, GAMMA, ZETA = 2.0 / 3.0, -0.1, 1.1
"""Temperature and the interval to which s is stretched (equation "hyper")."""
SHIFT = BETA * math.log(-GAMMA / ZETA)
SHUT = math.log(-ZETA / GAMMA)
"""A gate is zero after training from log α = - this on (`deterministic`)."""
LIMIT = 12.0
"""log α is kept in ± this after each step: a gate that is surely open or shut can still move.

The paper has no limit. The authors of the L0 norm have 4.6, with which a gate that is shut opens in
5 % of the steps, and one that is open is not wholly so as often: of 6,000 weights 280 flicker in
each step, and neither constants nor structure settle. At ± 12 it is one step of 30,000.
"""


def _sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def _stretched(u: Array, log_alpha: Array) -> tuple[Array, Array]:
    s = _sigmoid((np.log(u) - np.log1p(-u) + log_alpha) / BETA)
    return s, s * (ZETA - GAMMA) + GAMMA


def sample(u: Array, log_alpha: Array) -> Array:
    """Gates from uniform random numbers (equations "s_concrete" and "s_hardconcrete")."""
    gate: Array = np.clip(_stretched(u, log_alpha)[1], 0.0, 1.0)
    return gate


def sample_slope(u: Array, log_alpha: Array) -> Array:
    """Derivative of `sample` by log α; zero where the gate is 0 or 1."""
    s, stretched = _stretched(u, log_alpha)
    moving = (stretched > 0.0) & (stretched < 1.0)
    return np.where(moving, (ZETA - GAMMA) * s * (1.0 - s) / BETA, 0.0)


def probability(log_alpha: Array) -> Array:
    """Probability π that a gate is not zero: the expected number of a weight."""
    return _sigmoid(log_alpha - SHIFT)


def probability_slope(log_alpha: Array) -> Array:
    """Derivative of `probability`."""
    p = probability(log_alpha)
    return p * (1.0 - p)


def concrete_sample(u: Array, log_alpha: Array) -> Array:
    """The concrete variable s that a gate is made of (equation "s_concrete"); never 0 or 1."""
    return _stretched(u, log_alpha)[0]


def concrete_deterministic(log_alpha: Array) -> Array:
    """The concrete variable without noise and temperature, sigmoid(log α)."""
    return _sigmoid(log_alpha)


def concrete_density(s: Array, log_alpha: Array) -> Array:
    """Density q_s of the concrete variable, for s in (0, 1).

    The derivative of Q_s (equation "concrete"). The paper prints (1 - s)^(-β/2) in the
    denominator, where only the exponent -β gives a density, and the curve of its own figure.
    """
    odds = np.exp(BETA * (np.log(s) - np.log1p(-s)) - log_alpha)
    slope: Array = BETA * odds / ((1.0 + odds) ** 2 * s * (1.0 - s))
    return slope


def density(g: Array, log_alpha: Array) -> Array:
    """Density of a gate between 0 and 1: q_s̄, the concrete one stretched to (γ, ζ).

    Together with `masses` at the two ends it is the distribution q(z | φ) of a gate: the integral
    is the probability that the gate is neither 0 nor 1.
    """
    width = ZETA - GAMMA
    return concrete_density((g - GAMMA) / width, log_alpha) / width


def masses(log_alpha: Array) -> tuple[Array, Array]:
    """Probabilities Q_s̄(0) and 1 - Q_s̄(1) that a gate is exactly 0 and exactly 1."""
    return _sigmoid(SHIFT - log_alpha), _sigmoid(log_alpha + SHIFT)


def deterministic(log_alpha: Array) -> Array:
    """The gate after training, ẑ = min(1, max(0, sigmoid(log α)(ζ - γ) + γ))."""
    gate: Array = np.clip(_sigmoid(log_alpha) * (ZETA - GAMMA) + GAMMA, 0.0, 1.0)
    return gate
