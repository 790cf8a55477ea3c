"""Equations whose constants are known, by more than their own rows: made readable and measured."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.data.dataset import Domain
from ieql.data.dependence import dependence
from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.finish import sound
from ieql.equations.noise import Noise
from ieql.equations.precision import Information, readable, shortened
from ieql.equations.prediction_band import PredictionBand
from ieql.equations.program import Program, free_constants
from ieql.equations.proof import Verdict
from ieql.equations.safety import excess
from ieql.equations.simple_constants import fixed_places
from ieql.equations.wave_cost import wave_cost
from ieql.prior import Prior
from ieql.selection import Candidate

__all__ = ["ProvedEquation", "domain_points", "measured_candidate", "proved_equation"]

Array = NDArray[np.float64]
DOMAIN_POINTS = 20_000
"""Points of the domain at which an equation must be safe before it is shown."""
PROBED = 2_000
"""Rows by which the range of an argument, and dependences, are judged."""
LARGEST_SAY = 0.99
"""Part of its own prediction that a row has a say in, at most."""


@dataclass(frozen=True)
class ProvedEquation:
    """An equation as it is shown, the same with all digits, and what is proved of it."""

    shown: Expression
    precise: Expression
    proof: Verdict


def domain_points(domain: Domain, n: int = DOMAIN_POINTS) -> Array:
    """Corners and random points of a domain, always the same (inputs, points)."""
    drawn = domain.sample(n, np.random.default_rng(0))
    return np.ascontiguousarray(np.concatenate([domain.corners(), drawn]).T)


def proved_equation(
    precise: Expression,
    information: Information,
    rows: Sample,
    points: Array,
    prior: Prior,
    bounds: tuple[float, float] | None,
    known: Collection[int] = (),
) -> ProvedEquation | None:
    """The equation with readable constants; None if it is not safe.

    Constants at the places `known` stay as they are.
    """
    short = shortened(precise, known)
    for e in (readable(precise, rows, points, known, information), short):
        proof = sound(e, points, prior, bounds)
        if proof is None or e.skeleton != precise.skeleton:
            continue
        same = sound(precise, points, prior, bounds, extremes=False) is not None
        return ProvedEquation(e, precise if same else e, proof)
    return None


def measured_candidate(
    found: ProvedEquation, F: Array, noise: Noise, rows: Sample, degrees: float, prior: Prior
) -> Candidate:
    """The equation as a row of a front.

    Parameters
    ----------
    found : ProvedEquation
        The equation.
    F : array (p, p)
        With Σ⁻¹ = Fᵀ F, Σ being the covariance of its free constants.
    noise : Noise
        Of the rows.
    rows : Sample
        The rows that it is for.
    degrees : float
        Number of rows that the noise was judged by.
    prior : Prior
        Says what is complex.
    """
    e, exact = found.shown, found.precise
    value, J = Program.of(exact).jacobian(rows.XT)
    shown = e.evaluate(rows.XT.T)[:, 0]
    inverse = np.linalg.inv(F)
    covariance = inverse @ inverse.T
    inputs = dict(zip(e.names, rows.XT, strict=True))
    size = noise.size(value, inputs) / np.sqrt(rows.weight)
    own = np.einsum("in,ij,jn->n", J, covariance, J) / size**2
    left = (rows.y - shown) / (1.0 - np.minimum(own, LARGEST_SAY))
    errors = np.zeros(len(e.constants()))
    errors[free_constants(exact)] = np.sqrt(covariance.diagonal())
    errors[list(fixed_places(exact))] = 0.0
    return Candidate(
        expression=e,
        complexity=e.complexity(prior),
        n_parameters=e.n_parameters,
        rmse_train=rows.rmse(shown),
        rmse_validation=rows.rmse(rows.y - left),
        standard_errors=tuple(errors.tolist()),
        precise=exact,
        proved=found.proof.proved,
        limits=found.proof.limits,
        excess=excess(found.proof.low, found.proof.high, rows.y) if len(rows) > 1 else math.nan,
        wave_cost=wave_cost(e, rows.head(PROBED).XT.T, prior),
        dependence=dependence(rows.XT[:, :PROBED], rows.y[:PROBED]),
        band=PredictionBand.of_known(exact, rows, noise, F, degrees),
    )
