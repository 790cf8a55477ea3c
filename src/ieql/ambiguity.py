"""What the choice among equations that the rows cannot tell apart adds to the error on new rows.

Predicting each row by the others says how well the constants of one structure are known. It does
not say whether the structure is right: with a dozen rows many describe them equally well and differ
between the rows. What new data will show is then the error of the rows *and* the distance to the
equation that is right. Which one that is, nobody knows, but how probable each of the known ones is,
the lengths of their descriptions say: exp(-nats). The mean of their squared distances from the
selected one is added to the squared validation errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ieql.alternatives import plausible, values_of
from ieql.data.sample import Sample
from ieql.doubts import CROSS_FITTING
from ieql.model import FittedModel
from ieql.selection import Candidate

__all__ = ["ambiguity", "places_like", "with_ambiguity"]

Array = NDArray[np.float64]
N_PLACES = 1_000
"""Places between the rows at which equations are compared."""
BEYOND = 1.0
"""How far beyond two rows a place on the line through them may lie, as a part of their distance."""


def with_ambiguity(model: FittedModel, rows: Sequence[Sample]) -> FittedModel:
    """The model with validation errors that contain what the choice of the structure adds.

    Where rows were kept back, their errors contain it already; and where the error alone selects
    among many rows, nobody takes the equation for the law, so that others say nothing of its error.

    Parameters
    ----------
    model : FittedModel
        With its rivals.
    rows : sequence of Sample
        Per output the rows that fitted the constants, in the user's coordinates.
    """
    if model.validation != CROSS_FITTING:
        return model
    fronts = []
    for k, (front, sample) in enumerate(zip(model.fronts, rows, strict=True)):
        added = ambiguity(model, sample, k) if front else 0.0
        mean_error = model.mean_errors[k]["validation"]
        fronts.append(tuple(_with(c, added, mean_error) for c in front))
    return replace(model, fronts=tuple(fronts))


def ambiguity(model: FittedModel, rows: Sample, output: int = 0) -> float:
    """Root mean squared distance of the selected equation from those that could be the law.

    None is taken to lie further off than the rows lie from their mean: a pole between the rows is
    no better known than anything else there.
    """
    (selected, own), *others = plausible(model, output)
    if not others or selected.complexity == 0.0:
        return 0.0
    X = places_like(rows.XT.T, np.random.default_rng(0))
    value = values_of(selected, X)
    largest = model.mean_errors[output]["validation"] ** 2
    with np.errstate(all="ignore"):
        squares = [float(np.mean((values_of(c, X) - value) ** 2)) for c, _ in others]
    squares = [min(s, largest) if math.isfinite(s) else largest for s in squares]
    weights = np.exp([-nats for _, nats in others])
    return math.sqrt(float(weights @ squares) / (math.exp(-own) + float(weights.sum())))


def places_like(X: Array, rng: np.random.Generator) -> Array:
    """Places where new rows like the given ones may lie, inside their ranges.

    They lie on lines through two rows each, so that inputs that go together still do.
    """
    a, b = rng.integers(len(X), size=(2, N_PLACES))
    along = rng.uniform(-BEYOND, 1.0 + BEYOND, (N_PLACES, 1))
    with np.errstate(over="ignore", invalid="ignore"):
        places = X[a] + along * (X[b] - X[a])
    places = np.where(np.isfinite(places), places, X[a])
    inside: Array = np.clip(places, X.min(axis=0), X.max(axis=0))
    return inside


def _with(c: Candidate, added: float, mean_error: float) -> Candidate:
    """A candidate whose error contains the ambiguity; at most that of the mean predictor."""
    rows = c.rmse_rows
    total = min(math.hypot(rows, added), max(rows, mean_error))
    if not rows < total < math.inf:
        return c
    return replace(c, rmse_validation=total, ambiguity=math.sqrt(total**2 - rows**2))
