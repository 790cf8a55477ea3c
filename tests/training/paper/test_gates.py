"""Gates follow the paper's formulas: density, mass at zero, derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql.training.paper import gates
from ieql.training.paper.gates import BETA, GAMMA, ZETA

log_alphas = st.floats(-4.6, 4.6)


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


def cdf(s, log_alpha):
    """Q_s(s | φ) of equation "concrete"."""
    return sigmoid((math.log(s) - math.log1p(-s)) * BETA - log_alpha)


def cdf_stretched(t, log_alpha):
    """Q_s̄ of equation "hardconcrete": the same, stretched to (γ, ζ)."""
    return cdf((t - GAMMA) / (ZETA - GAMMA), log_alpha)


@pytest.mark.parametrize("log_alpha", [-2.0, 0.0, 1.5])
def test_the_density_by_histogram(log_alpha):
    u = np.random.default_rng(0).uniform(size=400_000)
    g = gates.sample(u, np.full(len(u), log_alpha))
    edges = np.linspace(0.0, 1.0, 11)
    counts = np.histogram(g[(g > 0) & (g < 1)], edges)[0] / len(u)
    expected = np.diff([cdf_stretched(t, log_alpha) for t in edges])
    np.testing.assert_allclose(counts, expected, atol=0.003)
    assert np.mean(g == 0.0) == pytest.approx(cdf_stretched(0.0, log_alpha), abs=0.003)
    assert np.mean(g == 1.0) == pytest.approx(1 - cdf_stretched(1.0, log_alpha), abs=0.003)


@given(log_alphas)
def test_the_probability_of_not_being_zero(log_alpha):
    p = gates.probability(np.array([log_alpha]))[0]
    assert p == pytest.approx(1.0 - cdf_stretched(0.0, log_alpha), rel=1e-9)
    assert p == pytest.approx(sigmoid(log_alpha - BETA * math.log(-GAMMA / ZETA)), rel=1e-9)


def test_the_start_of_the_paper_notes():
    """A gate that starts at log α = 0 is open with probability 0.83 and deterministically 0.5."""
    assert gates.probability(np.zeros(1))[0] == pytest.approx(0.83, abs=0.005)
    assert gates.deterministic(np.zeros(1))[0] == pytest.approx(0.5)


def test_a_weight_is_pruned_from_a_known_location_on():
    at = math.log(1 / 12 / (1 - 1 / 12))  # sigmoid(at) (ζ - γ) + γ = 0
    assert at == pytest.approx(-2.398, abs=1e-3)
    assert pytest.approx(-at) == gates.SHUT
    np.testing.assert_array_equal(gates.deterministic(np.array([at - 1e-6, -4.0])), 0.0)
    assert gates.deterministic(np.array([at + 1e-3]))[0] > 0.0


@given(log_alphas, st.floats(0.001, 0.999))
def test_derivatives_against_finite_differences(log_alpha, u):
    step, at, u1 = 1e-6, np.array([log_alpha]), np.array([u])
    numeric = (gates.probability(at + step) - gates.probability(at - step)) / (2 * step)
    np.testing.assert_allclose(gates.probability_slope(at), numeric, rtol=1e-5, atol=1e-8)
    low, high = gates.sample(u1, at - step), gates.sample(u1, at + step)
    if low[0] > 0.0 and high[0] < 1.0:
        np.testing.assert_allclose(
            gates.sample_slope(u1, at), (high - low) / (2 * step), rtol=1e-4, atol=1e-7
        )
    elif low[0] == high[0]:
        assert gates.sample_slope(u1, at)[0] == 0.0


# The paper's figure of the densities at log α = 0, as its coordinates are printed.
PRINTED = {
    0.0101989898989899: (2.85074098308389, 0.976122080635324),
    0.202079797979798: (0.844044853224415, 0.648065722444212),
    0.494950505050505: (0.666704443302742, 0.555577416555316),
    0.98980101010101: (2.85074098308389, 0.976122080635323),
}


@pytest.mark.parametrize(("at", "printed"), PRINTED.items())
def test_densities_are_those_of_the_papers_figure(at, printed):
    z, log_alpha = np.array([at]), np.zeros(1)
    assert gates.concrete_density(z, log_alpha)[0] == pytest.approx(printed[0], rel=1e-9)
    assert gates.density(z, log_alpha)[0] == pytest.approx(printed[1], rel=1e-9)


@given(log_alphas, st.floats(0.01, 0.99))
def test_densities_are_derivatives_of_the_distributions(log_alpha, at):
    z, where, step = np.array([at]), np.array([log_alpha]), 1e-6
    for density, distribution in (
        (gates.concrete_density, cdf),
        (gates.density, cdf_stretched),
    ):
        slope = distribution(at + step, log_alpha) - distribution(at - step, log_alpha)
        assert density(z, where)[0] == pytest.approx(slope / (2 * step), rel=1e-4, abs=1e-7)


@given(log_alphas)
def test_masses_are_what_the_distribution_leaves_at_its_ends(log_alpha):
    closed, opened = (m[0] for m in gates.masses(np.array([log_alpha])))
    assert closed == pytest.approx(cdf_stretched(0.0, log_alpha))
    assert opened == pytest.approx(1.0 - cdf_stretched(1.0, log_alpha))
    assert closed == pytest.approx(1.0 - gates.probability(np.array([log_alpha]))[0])


@given(log_alphas, st.floats(0.001, 0.999))
def test_a_gate_is_the_concrete_variable_stretched_and_cut(log_alpha, u):
    at, u1 = np.array([log_alpha]), np.array([u])
    s = gates.concrete_sample(u1, at)
    assert cdf(s[0], log_alpha) == pytest.approx(u, rel=1e-6)
    np.testing.assert_allclose(gates.sample(u1, at), np.clip(s * (ZETA - GAMMA) + GAMMA, 0, 1))
    calm = gates.concrete_deterministic(at)
    cut = np.clip(calm * (ZETA - GAMMA) + GAMMA, 0, 1)
    np.testing.assert_allclose(gates.deterministic(at), cut)


def test_gates_at_the_limit_hardly_flicker():
    """At ± 4.6 one of twenty did in every step, and networks never settled."""
    u = (np.arange(100_000) + 0.5) / 100_000
    assert np.mean(gates.sample(u, np.full(len(u), -gates.LIMIT)) > 0.0) < 1e-4
    assert np.mean(gates.sample(u, np.full(len(u), gates.LIMIT)) < 1.0) < 1e-4
