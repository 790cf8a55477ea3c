"""Elimination: take weights away one by one, the least missed first (Optimal Brain Surgeon).

With A = JᵀJ/N at a fitted expression, taking weight j away and letting the others make up for it
raises the mean squared error by about w_j² / [A⁻¹]_jj. Many weights that are hardly missed go at
once; after that the three least missed are tried in earnest and the best result is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Node, Sum
from ieql.equations.program import Fit, Program
from ieql.equations.refit import inverse_curvature
from ieql.equations.simplify import gauge, has_free_scale
from ieql.prior import Prior
from ieql.training.fast.edges import better_edges, edge_places, has_edges

__all__ = ["EliminationSettings", "FittedExpression", "drop_unneeded", "eliminate", "fitted"]

Array = NDArray[np.float64]
ROUNDING = 1e-24
"""A mean squared error, of a target with spread one, below which differences mean nothing."""
MANY_STEPS = 250
MOST_MOVES = 6
"""Edges of jumps that are moved in one fit."""
STEPS_TIMES_CONSTANTS = 1600
"""Steps of a patient fit."""
RIDGE = 1e-9
"""Keeps the saliencies of weights that nearly stand in for each other finite."""


@dataclass(frozen=True)
class EliminationSettings:
    """Numbers of the elimination; the defaults are those of the lab notebook."""

    bulk_part: float = 0.1
    """Weights go together while their summed saliency is below this part of the error."""
    bulk_share: float = 1.0 / 3.0
    constants_per_row: float = 0.3
    """With more constants than this the largest bulk goes at once, whatever is missed."""
    trials: int = 3
    first_steps: int = 12
    steps: int = 6
    relax: float = 0.1


@dataclass(frozen=True)
class FittedExpression:
    """A fitted expression on its way down."""

    expression: Expression
    program: Program
    error: float
    """Mean squared error on the rows of the elimination."""


def fitted(
    expression: Expression,
    sample: Sample,
    steps: int,
    relax: float = 0.0,
    *,
    gauged: bool = False,
    patient: bool = False,
) -> FittedExpression | None:
    """Gauge an expression, unless it is, and fit its constants; None if it has no finite error.

    With patience few constants get many steps, which are cheap: between two forms that do nearly
    the same the way to the right constants is a long narrow valley.
    """
    if not gauged:
        expression = gauge(expression)
    program = Program.of(expression)
    if patient:
        steps = max(steps, min(MANY_STEPS, STEPS_TIMES_CONSTANTS // max(len(program.free), 1)))
    fit = program.fit(sample.XT, sample.y, sample.weight, max_steps=steps, relax=relax)
    if not np.isfinite(fit.error):
        return None
    expression = expression.with_constants(fit.theta)
    if relax == 0.0 and has_edges(expression):
        expression, program, fit = _with_edges(expression, program, fit, sample, steps)
    if _is_gauged(expression):
        return FittedExpression(expression, replace(program, theta=fit.theta), fit.error)
    expression = gauge(expression)
    return FittedExpression(expression, Program.of(expression), fit.error)


def _with_edges(
    expression: Expression, program: Program, fit: Fit, sample: Sample, steps: int
) -> tuple[Expression, Program, Fit]:
    """Move the edges of jumps to better places, one after the other, and fit again."""
    for _ in range(MOST_MOVES):
        program = replace(program, theta=fit.theta)
        moved = better_edges(expression, program, sample)
        if moved is None:
            break
        trial = program.fit(
            sample.XT, sample.y, sample.weight, theta=moved.constants(), max_steps=steps
        )
        if not trial.error < fit.error:
            break
        expression, fit = expression.with_constants(trial.theta), trial
    return expression, program, fit


def _is_gauged(expression: Expression) -> bool:
    """Whether the coefficients fixed to one are still among the large ones."""
    return all(
        max((abs(w) for w in a.weights), default=1.0) <= 4.0
        for node in expression.nodes
        if has_free_scale(node.unit)
        for a in node.args
    )


def eliminate(
    expression: Expression, sample: Sample, prior: Prior, settings: EliminationSettings
) -> Iterator[FittedExpression]:
    """Yield fitted expressions with fewer and fewer weights, down to a single one."""
    state = fitted(expression, sample, settings.first_steps, settings.relax)
    while state is not None:
        yield state
        if state.expression.n_parameters <= 1:
            return
        state = _smaller(state, sample, prior, settings)


def _smaller(
    state: FittedExpression, sample: Sample, prior: Prior, settings: EliminationSettings
) -> FittedExpression | None:
    free = state.program.free
    theta = state.expression.constants()
    error, A, _ = state.program.normal_equations(
        sample.XT, sample.y, sample.weight, theta, free, settings.relax
    )
    if not (np.isfinite(error) and np.all(np.isfinite(A))):
        return None
    inverse = inverse_curvature(A, RIDGE)
    cost = _weight_costs(state.expression, prior)[free]
    weights = np.flatnonzero(cost > 0)
    saliency = theta[free[weights]] ** 2 / np.maximum(inverse[weights, weights], 1e-300)
    order = np.argsort(saliency / cost[weights])
    share = max(1, int(settings.bulk_share * len(weights)))
    # Where there are hardly more rows than constants, the error does not say what is missed.
    too_many = len(free) > settings.constants_per_row * len(sample)
    bulk = int(np.sum(np.cumsum(saliency[order]) < settings.bulk_part * error))
    bulk = share if too_many else min(bulk, share)
    if bulk >= 2:
        removed = _without(state, weights[order[:bulk]], free, inverse, sample, settings)
        if removed is not None and (too_many or removed.error < 2.0 * error):
            return removed
    trials = [
        _without(state, weights[order[k : k + 1]], free, inverse, sample, settings)
        for k in range(min(settings.trials, len(order)))
    ]
    return min((t for t in trials if t is not None), key=lambda t: t.error, default=None)


def drop_unneeded(state: FittedExpression, sample: Sample, prior: Prior) -> FittedExpression:
    """Cut what the data do not ask for (BIC on the given rows): units first, then constants."""
    return _drop_constants(_straighten(state, sample, prior), sample, prior)


def _line(z: Array, y: Array) -> tuple[float, float]:
    """Slope and bias of the straight line through some points; NaN where a point is."""
    centred = z - z.mean()
    size = float(centred @ centred)
    slope = float(centred @ y) / size if size != 0.0 else 0.0
    return slope, float(y.mean() - slope * z.mean())


def _straighten(state: FittedExpression, sample: Sample, prior: Prior) -> FittedExpression:
    """Replace units that are nearly straight lines on the data by straight lines."""
    n = sample.n_rows
    k = 0
    while k < len(state.expression.nodes):
        node = state.expression.nodes[k]
        if node.unit.arity == 1 or _is_function_of_one(node):
            z, *numbers = state.expression.arguments(sample.XT.T)[k]
            y = node.unit(z, *numbers)
            slope, bias = _line(z, y)
            if np.var(y - slope * z - bias) < 0.05 * np.var(y):
                line = node.args[0].scaled(slope).plus(Sum(bias))
                trial = fitted(_with_line(state.expression, k, line), sample, 10)
                if (
                    trial is not None
                    and trial.error < n ** (2.0 / n) * state.error + ROUNDING
                    and trial.expression.is_allowed(prior)
                ):
                    state, k = trial, 0
                    continue
        k += 1
    return state


def _is_function_of_one(node: Node) -> bool:
    """Whether a unit of two arguments has a number for its second one, max(x, 3) for one."""
    return (node.unit.selects or node.unit.raises) and node.args[1].is_constant


def _with_line(expression: Expression, k: int, line: Sum) -> Expression:
    """The expression with node k replaced by a sum of its sources."""
    builder = Builder(expression.names)
    values = builder.copy(expression, stop=k)
    return builder.rebuild(expression, [*values, translate(line, values)])


def _drop_constants(state: FittedExpression, sample: Sample, prior: Prior) -> FittedExpression:
    n = sample.n_rows
    limit = n ** (1.0 / n)
    settings = EliminationSettings(relax=0.0)
    while True:
        free = state.program.free
        theta = state.expression.constants()
        error, A, _ = state.program.normal_equations(
            sample.XT, sample.y, sample.weight, theta, free
        )
        if len(free) <= 1 or not (np.isfinite(error) and np.all(np.isfinite(A))):
            return state
        inverse = inverse_curvature(A, RIDGE)
        saliency = theta[free] ** 2 / np.maximum(inverse.diagonal(), 1e-300)
        # No derivative tells how much the edge of a jump is missed: it goes with its unit.
        saliency[np.isin(free, edge_places(state.expression))] = np.inf
        for k in np.argsort(saliency)[:2]:
            # Far above the limit a trial would be in vain: the saliency is a good guess.
            if saliency[k] > 4.0 * (limit - 1.0) * error + ROUNDING:
                return state
            chosen = np.array([k], dtype=np.intp)
            smaller = _without(state, chosen, free, inverse, sample, settings)
            if (
                smaller is not None
                # The gauge may bring a constant back in another place.
                and len(smaller.program.free) < len(free)
                and smaller.error < limit * error + ROUNDING
                and smaller.expression.is_allowed(prior)
            ):
                state = smaller
                break
        else:
            return state


def _without(
    state: FittedExpression,
    chosen: NDArray[np.intp],
    free: NDArray[np.int64],
    inverse: Array,
    sample: Sample,
    settings: EliminationSettings,
) -> FittedExpression | None:
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
