"""From a candidate in scaled coordinates to an equation the user can read.

The steps of `finish`: fold the scaling in, simplify, fit the constants in float64 on all rows, drop
the constants that the data do not ask for, write each constant with no more digits than it
deserves, and give its standard error. What is printed is what is computed: the shorter constants
are those that `predict` uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ieql.data import Scaling
from ieql.equations.expression import Expression
from ieql.equations.program import Program, free_constants
from ieql.equations.proof import LITTLE_WORK, WORK, Proof, prove
from ieql.equations.safety import excess, is_safe, positive_denominators, worst_points
from ieql.equations.simplify import expansions, gauge, parabolas, simplify
from ieql.prior import Prior
from ieql.sample import Sample

__all__ = [
    "Equation",
    "finish",
    "inverse_curvature",
    "readable",
    "refit",
    "standard_errors",
    "trim",
]

Array = NDArray[np.float64]
TRIM_ROWS = 50_000
"""Rows on which superfluous constants are looked for; ..."""
HASTY_ROWS = 2_000
"""... and on which the constants are fitted when there is no time left."""
PROBED = 2_000
"""Rows by which the range of an argument is judged."""
EXACT = 1e-11
"""Relative size below which a difference between two constants is rounding."""


@dataclass(frozen=True)
class Equation:
    """An expression with fitted constants and their standard errors (in `constants()` order)."""

    expression: Expression
    standard_errors: tuple[float, ...]
    error: float
    """Mean squared error on the training rows."""
    proved: bool | None = None
    """Whether it is proved to be safe in the whole domain; None if it is not known."""
    excess: float = math.nan
    """How far it goes in the domain beyond the measured values (`ieql.equations.safety.excess`)."""


def finish(
    expression: Expression,
    inputs: Scaling,
    target: Scaling,
    train: Sample,
    domain: Array,
    prior: Prior,
    bounds: tuple[float, float] | None = None,
    cut: bool = True,
    is_late: Callable[[], bool] = lambda: False,
) -> Equation | None:
    """Bring a candidate to the user's coordinates; None if it is not safe there.

    Parameters
    ----------
    expression : Expression
        In scaled coordinates.
    inputs, target : Scaling
        The scaling that is folded in.
    train : Sample
        All training rows in the user's coordinates.
    domain : array (inputs, points)
        Points of the declared domain, in the user's coordinates.
    prior : Prior
        What must not appear.
    bounds : (low, high), optional
        What the output must not leave in the domain.
    cut : bool
        Drop the constants that the rows do not ask for.
    is_late : callable
        Asked before every slow step: once it says yes, the time is up and they are left out.
    """
    plain = expression.rescaled(
        inputs.offset, inputs.scale, target.offset.item(), target.scale.item()
    ).canonical()
    forms = (_polished(plain, train, domain, prior, cut, is_late), plain)
    # The best constants may touch a singularity or pass a bound; then the given ones must do.
    for e in forms:
        proof = _sound(e, domain, prior, bounds, is_late)
        if proof is not None:
            far = excess(proof.low, proof.high, train.y)
            return Equation(e, *standard_errors(e, train), proof.proved, far)
    return None


def _polished(
    e: Expression,
    train: Sample,
    domain: Array,
    prior: Prior,
    cut: bool,
    is_late: Callable[[], bool],
) -> Expression:
    """Simplify, fit and trim an equation, and give its constants the digits they deserve."""
    probe = np.ascontiguousarray(np.concatenate([train.XT[:, :500], domain[:, :500]], axis=1).T)
    e = simplify(gauge(positive_denominators(e, domain.T)), probe, prior)
    if is_late():
        part = train.head(HASTY_ROWS)
        return readable(refit(e, part, domain, max_steps=5), part)
    part = train.head(TRIM_ROWS)
    e = refit(e, part, domain)
    for shorten in (trim, _multiplied_out, _unbent) if cut else ():
        if not is_late():
            e = shorten(e, part, domain, prior)
    e = simplify(gauge(positive_denominators(e, domain.T)), probe, prior)
    # The constants are nearly right already; many rows need few steps.
    steps = 40 if len(train) <= TRIM_ROWS and not is_late() else 4
    return readable(refit(e, train, domain, max_steps=steps), train)


def _sound(
    e: Expression,
    domain: Array,
    prior: Prior,
    bounds: tuple[float, float] | None,
    is_late: Callable[[], bool],
) -> Proof | None:
    """What is known of an equation's safety in the domain; None if it is not safe or permitted.

    What is not proved must keep away from singularities at the points, also where one is closest.
    """
    if not (e.is_allowed(prior) and is_safe(e, domain, bounds=bounds, margins=False)):
        return None
    ends = domain.min(axis=1), domain.max(axis=1)
    late = is_late()
    proof = prove(
        e, *ends, bounds, work=LITTLE_WORK if late else WORK, is_late=None if late else is_late
    )
    if proof.proved is False:
        return None
    if proof.proved is None:
        worst = worst_points(e, domain, *ends, seed=0)
        for points in (domain, worst):
            if points.shape[1] and not is_safe(e, points, bounds=bounds):
                return None
    value = Program.of(e).evaluate(domain)
    low, high = min(proof.low, float(value.min())), max(proof.high, float(value.max()))
    return replace(proof, low=low, high=high)


def refit(
    expression: Expression, sample: Sample, domain: Array | None = None, max_steps: int = 40
) -> Expression:
    """Fit the constants on all rows; the given ones are kept if that does not help."""
    free = free_constants(expression)
    if len(free) == 0:
        return expression
    program = Program.of(expression)
    fit = program.fit(
        sample.XT,
        sample.y,
        sample.weight,
        free=free,
        max_steps=max_steps,
        tol=1e-9,
        check=domain,
    )
    before = sample.rmse(program.evaluate(sample.XT))
    after = sample.rmse(program.evaluate(sample.XT, fit.theta))
    return expression.with_constants(fit.theta) if after <= before else expression


def _curvature(expression: Expression, sample: Sample) -> tuple[float, Array, NDArray[np.int64]]:
    free = free_constants(expression)
    program = Program.of(expression)
    error, A, _ = program.normal_equations(
        sample.XT, sample.y, sample.weight, expression.constants(), free
    )
    return float(error), A, free


def inverse_curvature(A: Array, ridge: float = 1e-12) -> Array:
    """Inverse of a Gauss-Newton matrix that may be close to singular.

    It is scaled to a unit diagonal, to which the ridge is added.
    """
    # A constant without any influence has a zero row.
    size = np.sqrt(np.where(A.diagonal() > 0.0, A.diagonal(), 1.0))
    scaled = A / np.outer(size, size)
    try:
        inverse = np.linalg.inv(scaled + ridge * np.eye(len(A)))
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(scaled)
    return np.asarray(inverse / np.outer(size, size))


def trim(expression: Expression, sample: Sample, domain: Array, prior: Prior) -> Expression:
    """Drop constants, the least missed first, while the data do not object (BIC).

    A weight or bias goes if N ln(mse'/mse) < ln N, in the user's coordinates, where true zeros are
    zeros: an offset that only the scaling had brought in disappears.
    """
    n = max(len(sample), 2)
    floor = (EXACT * sample.spread()) ** 2
    while True:
        error, A, free = _curvature(expression, sample)
        if len(free) <= 1 or not np.all(np.isfinite(A)):
            return expression
        theta = expression.constants()
        saliency = theta[free] ** 2 / np.maximum(inverse_curvature(A).diagonal(), 1e-300)
        limit = (error + floor) * n ** (1.0 / n)
        for k in np.argsort(saliency)[:3]:
            if not error + saliency[k] < limit + (limit - error) * 4.0:
                return expression
            smaller = theta.copy()
            smaller[free[k]] = 0.0
            trial = expression.with_constants(smaller).canonical()
            trial = refit(trial, sample, domain)
            rmse = sample.rmse(Program.of(trial).evaluate(sample.XT))
            trial = gauge(trial)
            if (
                rmse**2 <= limit
                # The gauge may bring a constant back in another place.
                and len(free_constants(trial)) < len(free)
                and trial.is_allowed(prior)
                and (is_safe(trial, domain) or not is_safe(expression, domain))
            ):
                expression = trial
                break
        else:
            return expression


def _multiplied_out(
    expression: Expression, sample: Sample, domain: Array, prior: Prior
) -> Expression:
    """Multiply squares and products out where fewer terms are left: (x + y)² - 2xy is x² + y²."""
    n = max(len(sample), 2)
    limit = n ** (1.0 / n)
    error = _curvature(expression, sample)[0]
    for trial in expansions(expression):
        shorter = trim(refit(trial, sample, domain), sample, domain, prior)
        if (
            shorter.complexity(prior) < expression.complexity(prior)
            and _curvature(shorter, sample)[0] <= limit * error
            and shorter.is_allowed(prior)
            and is_safe(shorter, domain)
        ):
            return _multiplied_out(shorter, sample, domain, prior)
    return expression


def _unbent(expression: Expression, sample: Sample, domain: Array, prior: Prior) -> Expression:
    """Replace waves of which the data see too little by parabolas, if these cost no more."""
    limit = (1.0 + 2.0 / max(len(sample), 1)) * _curvature(expression, sample)[0]
    for trial in parabolas(expression, sample.XT[:, :PROBED].T):
        curve = trim(gauge(refit(trial, sample, domain)), sample, domain, prior)
        if (
            curve.complexity(prior) <= expression.complexity(prior)
            and _curvature(curve, sample)[0] <= limit
            and curve.is_allowed(prior)
            and is_safe(curve, domain)
        ):
            return _unbent(curve, sample, domain, prior)
    return expression


def readable(expression: Expression, sample: Sample) -> Expression:
    """Give each constant the fewest digits that its uncertainty allows; equal ones become equal.

    A constant moves by at most two of the errors it would have if all others were known, and all
    together may raise the training error by no more than its own uncertainty.
    """
    error, A, free = _curvature(expression, sample)
    n = max(len(sample), 1)
    floor = (EXACT * sample.spread()) ** 2
    precision = np.zeros(len(expression.constants()))
    precision[free] = n * A.diagonal() / max(error, 1e-300)
    for tie in (True, False):
        theta = expression.constants()
        before = len(np.unique(theta))
        if tie:
            theta = _tied(expression, theta, free, A * (n / max(error, 1e-300)))
        # In units of N·Δ(mse)/mse: 2 for rounding a constant (AIC), ln N for one less (BIC).
        allowance = 2.0 * len(free) + np.log(n) * (before - len(np.unique(theta)))
        limit = error * (1.0 + allowance / n) + floor
        for part in (2.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.001):
            with np.errstate(divide="ignore"):
                tolerance = np.where(precision > 0, part / np.sqrt(precision), 0.0)
            tolerance = np.maximum(tolerance, EXACT * np.abs(theta))
            for value in np.unique(theta):
                tolerance[theta == value] = tolerance[theta == value].min()
            shorter = np.array([shortest(t, tol) for t, tol in zip(theta, tolerance, strict=True)])
            trial = expression.with_constants(shorter)
            rmse = sample.rmse(Program.of(trial).evaluate(sample.XT))
            if rmse**2 <= limit:
                return trial.canonical()
    return expression


def _tied(
    expression: Expression, theta: Array, free: NDArray[np.int64], information: Array
) -> Array:
    """Weights of one sum that agree within their errors get their common mean."""
    theta = theta.copy()
    position = {int(t): k for k, t in enumerate(free)}
    start = 0
    for s in expression.sums:
        places = [t for t in range(start + 1, start + 1 + len(s.weights)) if t in position]
        for i, a in enumerate(places):
            for b in places[i + 1 :]:
                pair = [position[a], position[b]]
                own = information[pair, pair]
                if theta[a] == theta[b] or not np.all(own > 0):
                    continue
                move = (own @ theta[[a, b]]) / own.sum() - theta[[a, b]]
                # The rise of N·mse/mse when both go to their mean and the others stay.
                if move @ information[np.ix_(pair, pair)] @ move < 6.0:
                    theta[[a, b]] += move
                    theta[b] = theta[a]
        start += 1 + len(s.weights)
    return theta


def shortest(value: float, tolerance: float) -> float:
    """The decimal number with the fewest digits within `tolerance` of `value`.

    Examples
    --------
    >>> shortest(0.0082685013, 1e-8)
    0.0082685
    """
    if not math.isfinite(value) or value == 0.0:
        return value
    for digits in range(1, 17):
        rounded = float(f"{value:.{digits}g}")
        # A constant is never rounded away: whether it is zero is decided by `trim`.
        if abs(rounded - value) <= tolerance and rounded != 0.0:
            return rounded
    return value


def standard_errors(expression: Expression, sample: Sample) -> tuple[tuple[float, ...], float]:
    """Standard error of each constant (zero for fixed ones) and the mean squared error.

    From the Gauss-Newton covariance σ² (JᵀJ)⁻¹ with σ² = SSE / (N - p).
    """
    error, A, free = _curvature(expression, sample)
    n, p = len(sample), len(free)
    result = np.zeros(len(expression.constants()))
    if p and np.all(np.isfinite(A)):
        variance = error / max(n - p, 1)
        result[free] = np.sqrt(np.maximum(variance * inverse_curvature(A).diagonal(), 0.0))
    return tuple(result.tolist()), error
