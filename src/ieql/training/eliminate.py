"""Elimination: take weights away one by one, the least missed first (Optimal Brain Surgeon).

With A = JᵀJ/N at a fitted expression, taking weight j away and letting the others make up for it
raises the mean squared error by about w_j² / [A⁻¹]_jj. Many weights that are hardly missed go at
once; after that the three least missed are tried in earnest and the best result is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.equations.program import Program, free_constants
from ieql.equations.simplify import gauge
from ieql.prior import Prior
from ieql.sample import Sample

__all__ = ["EliminationSettings", "State", "eliminate", "fitted"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EliminationSettings:
    """Numbers of the elimination; the defaults are those of the lab notebook."""

    bulk_part: float = 0.1
    """Weights go together while their summed saliency is below this part of the error."""
    bulk_share: float = 1.0 / 3.0
    trials: int = 3
    first_steps: int = 12
    steps: int = 6
    relax: float = 0.1


@dataclass(frozen=True)
class State:
    """A fitted expression on its way down."""

    expression: Expression
    program: Program
    error: float
    """Mean squared error on the rows of the elimination."""


def fitted(
    expression: Expression, sample: Sample, steps: int, relax: float = 0.0
) -> State | None:
    """Gauge an expression and fit its constants; None if it has no finite error."""
    expression = gauge(expression)
    program = Program.of(expression)
    fit = program.fit(
        sample.XT,
        sample.y,
        sample.weight,
        free=free_constants(expression),
        max_steps=steps,
        relax=relax,
    )
    if not np.isfinite(fit.error):
        return None
    expression = gauge(expression.with_constants(fit.theta))
    return State(expression, Program.of(expression), fit.error)


def eliminate(
    expression: Expression, sample: Sample, prior: Prior, settings: EliminationSettings
) -> Iterator[State]:
    """Yield fitted expressions with fewer and fewer weights, down to a single one."""
    state = fitted(expression, sample, settings.first_steps, settings.relax)
    while state is not None:
        yield state
        if state.expression.n_parameters <= 1:
            return
        state = _smaller(state, sample, prior, settings)


def _smaller(
    state: State, sample: Sample, prior: Prior, settings: EliminationSettings
) -> State | None:
    free = free_constants(state.expression)
    theta = state.expression.constants()
    error, A, _ = state.program.normal_equations(
        sample.XT, sample.y, sample.weight, theta, free, settings.relax
    )
    if not (np.isfinite(error) and np.all(np.isfinite(A))):
        return None
    inverse = np.linalg.inv(A + 1e-7 * np.diag(A.diagonal() + A.diagonal().mean()))
    cost = _weight_costs(state.expression, prior)[free]
    weights = np.flatnonzero(cost > 0)
    saliency = theta[free[weights]] ** 2 / np.maximum(inverse[weights, weights], 1e-300)
    order = np.argsort(saliency / cost[weights])
    bulk = int(np.sum(np.cumsum(saliency[order]) < settings.bulk_part * error))
    bulk = min(bulk, max(1, int(settings.bulk_share * len(weights))))
    if bulk >= 2:
        removed = _without(state, weights[order[:bulk]], free, inverse, sample, settings)
        if removed is not None and removed.error < 2.0 * error:
            return removed
    trials = [
        _without(state, weights[order[k : k + 1]], free, inverse, sample, settings)
        for k in range(min(settings.trials, len(order)))
    ]
    return min((t for t in trials if t is not None), key=lambda t: t.error, default=None)


def _without(
    state: State,
    chosen: NDArray[np.intp],
    free: NDArray[np.int64],
    inverse: Array,
    sample: Sample,
    settings: EliminationSettings,
) -> State | None:
    """Remove the chosen weights, correct the others and refit."""
    theta = state.expression.constants()
    corrected = theta.copy()
    block = inverse[np.ix_(chosen, chosen)]
    try:
        corrected[free] -= inverse[:, chosen] @ np.linalg.solve(block, theta[free[chosen]])
    except np.linalg.LinAlgError:
        corrected = theta.copy()
    for start in (corrected, theta):
        start[free[chosen]] = 0.0
        smaller = state.expression.with_constants(start).canonical()
        result = fitted(smaller, sample, settings.steps, settings.relax)
        if result is not None:
            return result
    return None


def _weight_costs(expression: Expression, prior: Prior) -> Array:
    """Complexity factor of each constant; zero for biases, which are not eliminated."""
    costs: list[float] = []
    for s in expression.sums:
        costs.append(0.0)
        costs += [prior.cost(expression.source_name(i)) for i in s.sources]
    return np.array(costs)
