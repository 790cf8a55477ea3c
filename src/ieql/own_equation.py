"""An equation of the user's own beside those of a fit: fitted to the same rows, judged alike."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ieql.alternatives import AS_GOOD
from ieql.data.intake import Measurements
from ieql.equations.branching import ProofEffort
from ieql.equations.dimensions import is_in_order
from ieql.equations.expression import Expression
from ieql.equations.finish import FinishedEquation
from ieql.equations.formula import Formula
from ieql.equations.formula_fit import Effort, cross_fitted, fit, with_few_digits
from ieql.equations.limit_proof import decide
from ieql.equations.precision import standard_errors
from ieql.equations.proof import WORK, prove
from ieql.equations.refit import refit as fitted
from ieql.equations.safety import excess
from ieql.equations.wave_cost import wave_cost
from ieql.model import FittedModel
from ieql.selection import Candidate
from ieql.target import Target, prepare, reconsidered

__all__ = ["OwnEquation", "judged"]

Array = NDArray[np.float64]
PROBED = 2_000
"""Rows by which the range of an argument is judged."""
LOOKS, NO_SEARCH = 8, Effort(starts=1, kept=1)
"""Times that the constants are fitted again where each equation sees the rows in its own way, from
those that are known."""


@dataclass(frozen=True)
class OwnEquation:
    """How an equation of the user's own stands beside the selected one.

    Attributes
    ----------
    candidate : Candidate
        The equation, measured like those of the front.
    nats : float
        How much longer its description of the rows is than that of the selected equation; below
        zero if it is shorter, NaN if it has no value at some row.
    constants : mapping
        Value and standard error of each constant that has a name.
    sentences : tuple of str
        What that means.
    """

    candidate: Candidate
    nats: float
    constants: dict[str, tuple[float, float]]
    sentences: tuple[str, ...]


def judged(
    model: FittedModel,
    measured: Measurements,
    text: str,
    output: int,
    refit: bool,
    seed: int,
) -> OwnEquation:
    """Fit the constants of a text to the rows of a fit, and compare it with what that has found.

    Parameters
    ----------
    model : FittedModel
        What the fit found.
    measured : Measurements
        What it learned from.
    text : str
        The equation; names that are no inputs are constants.
    output : int
        Which output it is for.
    refit : bool
        Whether the numbers of a text without names are fitted as well.
    seed : int
        Of the fit, which split the rows.
    """
    custom = model.prior.named_units
    formula = Formula.parse(text, model.names, custom)
    target = prepare(model.options, measured.data, measured.outside, seed)[output]
    target = reconsidered(target, model.fronts[output])
    expression, constants = _fitted(formula, target, refit)
    candidate = _measured(expression, target, model.options.output_bound)
    if target.is_cross_fitted and (constants or not refit):
        # The measure of the front fits every number again, also those that are given here.
        values = np.array([value for value, _ in constants.values()])
        error = cross_fitted(formula, target.seen(expression), values)
        error *= target.flattery(expression) if constants else 1.0
        candidate = replace(candidate, rmse_validation=error)
    chosen = model.fronts[output][model.selected[output]]
    # What the constants of a fleet's other devices cost is no matter of this one's rows.
    chosen = replace(chosen, saved=max(chosen.saved, 0.0))
    with np.errstate(all="ignore"):
        theirs, own = target.lengths([chosen, candidate]) / 2.0
    has_values = math.isfinite(candidate.rmse_train)
    nats = float(own - theirs) if has_values else math.nan
    return OwnEquation(
        candidate, nats, constants, _sentences(model, candidate, nats, model.targets[output])
    )


def _fitted(
    formula: Formula, target: Target, refit: bool
) -> tuple[Expression, dict[str, tuple[float, float]]]:
    """The equation with its constants, and those that have names."""
    rows = target.fitting
    if formula.constants:
        found = fit(formula, rows)
        for _ in range(LOOKS if target.has_own_views else 0):
            rows = target.step(formula.filled(found.values))
            start = dict(zip(formula.constants, found.values.tolist(), strict=True))
            found = fit(formula, rows, start=start, effort=NO_SEARCH)
        e = with_few_digits(formula.filled(found.values), rows.XT.T, found.rmse)
        pairs = zip(found.values.tolist(), found.standard_errors.tolist(), strict=True)
        return e, dict(zip(formula.constants, pairs, strict=True))
    e = formula.filled([])
    if refit:
        e = fitted(e, rows)
        for _ in range(LOOKS if target.has_own_views else 0):
            rows = target.step(e)
            e = fitted(e, rows)
        e = with_few_digits(e, rows.XT.T, rows.rmse(e.evaluate(rows.XT.T)[:, 0]))
    return e, {}


def _measured(e: Expression, target: Target, bound: float | None) -> Candidate:
    """The equation as a row of the front would be; `bound` in the user's unit."""
    rows = target.step(e)
    ends = target.points.min(axis=1), target.points.max(axis=1)
    with np.errstate(all="ignore"):
        errors, mse = standard_errors(e, rows)
        proof = prove(e, *ends, None if bound is None else (-bound, bound))
        limits = {}
        if proof.proved is not False:
            budget = ProofEffort.of(WORK, seconds=1.0)
            for limit in target.task.prior.shape.limits:
                limits[limit.text] = decide(e, *ends, limit, budget, proof.known).proved
        finished = FinishedEquation(
            e,
            errors,
            mse,
            proved=proof.proved,
            limits=limits,
            excess=excess(proof.low, proof.high, rows.y),
            wave_cost=wave_cost(e, rows.head(PROBED).XT.T, target.task.prior),
        )
        return target.candidate(finished)


def _sentences(model: FittedModel, own: Candidate, nats: float, target: str) -> tuple[str, ...]:
    found = []
    if math.isnan(nats):
        found.append("The equation has no value at some rows, so that it cannot be compared.")
    elif abs(nats) <= AS_GOOD:
        found.append(
            f"The rows cannot tell it from the selected equation: the description of the data by "
            f"it is {abs(nats):.1f} nats {'longer' if nats > 0 else 'shorter'}."
        )
    elif nats > 0:
        found.append(
            f"The rows speak against it: the description of the data by it is {nats:.1f} nats "
            "longer than by the selected equation."
        )
    else:
        found.append(
            f"It describes the data better than the selected equation, by {-nats:.1f} nats."
        )
    if not own.expression.keeps_rules(model.prior):
        found.append(
            "It could not have been shown on the front: it breaks a rule of the prior about the "
            "inputs or the number of units of an equation."
        )
    elif not own.expression.is_allowed(model.prior):
        found.append("The search could not have found it: the prior prohibits a composition in it.")
    elif not is_in_order(own.expression, model.prior.for_target(target)):
        found.append(
            "The search could not have found it: by the units of the columns its terms do not fit."
        )
    if own.proved is False:
        found.append("It is not safe in the whole domain: somewhere it has no value.")
    for text, holds in own.limits.items():
        if holds is False:
            found.append(f"It breaks a limit of the prior: it is not {text} in the whole domain.")
    return tuple(found)
