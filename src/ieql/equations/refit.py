"""From a candidate in scaled coordinates to an equation the user can read.

The steps of `finish`: fold the scaling in, simplify, fit the constants in float64 on all rows, drop
the constants that the data do not ask for, write each constant with no more digits than it
deserves, and give its standard error (`ieql.equations.precision`). What is printed is what is
computed: the shorter constants are those that `predict` uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ieql.data.dataset import Scaling
from ieql.data.sample import Sample
from ieql.equations.bends import unseen_bends
from ieql.equations.description import description_of_rows
from ieql.equations.differences import plain_differences
from ieql.equations.expression import Expression
from ieql.equations.limits import limits
from ieql.equations.precision import (
    EXACT,
    Information,
    readable,
    shortened,
    standard_errors,
    tied,
)
from ieql.equations.prediction_band import PredictionBand, uneven_errors
from ieql.equations.program import Program, free_constants
from ieql.equations.proof import LITTLE_WORK, WORK, Proof, prove
from ieql.equations.safety import excess, is_safe, positive_denominators, worst_points
from ieql.equations.simple_constants import set_places, with_simple_constants
from ieql.equations.simplify import expansions, gauge, parabolas, simplify
from ieql.equations.standard_form import standard_form
from ieql.equations.wave_cost import wave_cost
from ieql.prior import Prior

__all__ = ["FinishedEquation", "cross_fitted", "finish", "inverse_curvature", "refit", "trim"]

Array = NDArray[np.float64]
TRIM_ROWS = 50_000
"""Rows on which superfluous constants are looked for."""
HASTY_ROWS = 2_000
"""Rows on which the constants are fitted when there is no time left."""
PROBED = 2_000
"""Rows by which the range of an argument is judged."""
MOST_FITTED = 600
"""More constants than this stay as trained: a step takes the cube of their number."""
SETTLING = 3
"""Last steps of the fit, by orthogonal factors instead of normal equations."""
LIMIT_ROWS = 1_000
"""Rows on which the limits of an equation are tried, ..."""
LIMIT_STEPS = 15
"""... with so many steps each, ..."""
MOST_LIMITS = 40
"""... if it has no more constants than this."""
DEARER, DIFFERENCE = 2.0, 10.0
"""What a plain form may cost more than one that lives by cancellation: complexity, and twice the
nats of the rows' description."""
CURVED = 2.0
"""The same for a parabola in the place of a piece of a wave."""
MOST_DIFFERENCES = 4
"""Differences of one equation, or curves in it, that are replaced."""
UNSURE = 5.0
"""How many times too large the estimate of what a constant is worth may be, at most."""
FOLDS = 10
"""Parts in which the rows predict each other."""
MANY_CONSTANTS = 40
"""With more constants ten fits would take long; what a row does to its own prediction is known."""
LARGEST_LEVERAGE = 0.9
"""A row that nearly fixes its own prediction says nothing of the error: it counts tenfold."""


@dataclass(frozen=True)
class FinishedEquation:
    """An expression with fitted constants and their standard errors (in `constants()` order)."""

    expression: Expression
    standard_errors: tuple[float, ...]
    error: float
    """Mean squared error on the training rows, or on some of them where there are very many."""
    precise: Expression | None = None
    """The same with all digits."""
    proved: bool | None = None
    """Whether it is proved to be safe in the whole domain; None if it is not known."""
    excess: float = math.nan
    """How far it goes in the domain beyond the measured values (`ieql.equations.safety.excess`)."""
    wave_cost: float = 0.0
    """Twice the nats that its waves cost (`ieql.equations.wave_cost`)."""
    band: PredictionBand | None = None
    """How far new rows may lie from it."""


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
    outside: Sample | None = None,
) -> FinishedEquation | None:
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
    outside : Sample, optional
        Labelled rows outside the others: they say whether a curve is needed, not what it is.
    """
    plain = expression.rescaled(
        inputs.offset, inputs.scale, target.offset.item(), target.scale.item()
    ).canonical()
    # The errors of the constants come from some rows, where there are very many.
    part = train.standing_for_all(HASTY_ROWS if is_late() else TRIM_ROWS)
    seen = train if outside is None else train.head(TRIM_ROWS).joined(outside)
    forms = (_polished(plain, train, seen, domain, prior, cut, is_late), plain)
    # The best constants may touch a singularity or pass a bound; then the given ones must do.
    for precise in forms:
        known = set_places(precise)
        # Should rounding make it unsafe, it gets more digits, but never all of them.
        for e in (readable(precise, part, domain, known), shortened(precise, known)):
            proof = _sound(e, domain, prior, bounds, is_late)
            if proof is None:
                continue
            # Who asks for all digits is to be as safe as who does not.
            same = e == precise or _sound(precise, domain, prior, bounds, is_late, False)
            far = excess(proof.low, proof.high, train.y)
            errors, mse = standard_errors(e, part, known)
            waves = wave_cost(e, part.head(PROBED).XT.T, prior)
            all_digits = precise if same else e
            band = PredictionBand.of(all_digits, train, e, domain)
            if band is not None and band.noise.trends:
                errors = uneven_errors(e, part, band.noise, known) or errors
            return FinishedEquation(e, errors, mse, all_digits, proof.proved, far, waves, band)
    return None


def _polished(
    e: Expression,
    train: Sample,
    seen: Sample,
    domain: Array,
    prior: Prior,
    cut: bool,
    is_late: Callable[[], bool],
) -> Expression:
    """Simplify, fit and trim an equation; its constants keep all their digits.

    `seen` are the rows that say what is seen of a curve.
    """
    probe = np.ascontiguousarray(np.concatenate([train.XT[:, :500], domain[:, :500]], axis=1).T)
    e = simplify(gauge(positive_denominators(e, domain.T)), probe, prior)
    if is_late():
        e = refit(e, train.head(HASTY_ROWS), domain, max_steps=5)
        e = _straight(e, train.head(HASTY_ROWS), domain, prior)
        few = train.standing_for_all(HASTY_ROWS)
        return _with_plain_constants(e, few, few, probe, prior)
    part = train.head(TRIM_ROWS)
    e = refit(e, part, domain)
    # A piece of a wave is no law, whatever points outside say.
    for shorten in (trim, _multiplied_out, _unbent, _plain, _at_its_limit) if cut else (_unbent,):
        if not is_late():
            e = shorten(e, part, domain, prior)
    if not is_late():
        e = _straight(e, seen.head(TRIM_ROWS), domain, prior, is_fitted=True)
    e = simplify(gauge(positive_denominators(e, domain.T)), probe, prior)
    # The constants are nearly right already; many rows need few steps.
    steps = 40 if len(train) <= TRIM_ROWS and not is_late() else 4
    e = refit(e, train, domain, max_steps=steps)
    late = is_late()
    if len(train) <= TRIM_ROWS and not late:
        e = _settled(e, train, domain)
    rows = train.standing_for_all(HASTY_ROWS if late else TRIM_ROWS)
    return _with_plain_constants(e, rows, rows if late else train, probe, prior)


def _with_plain_constants(
    e: Expression, rows: Sample, everything: Sample, probe: Array, prior: Prior
) -> Expression:
    """The equation with constants that are one, or are simple numbers, as far as the rows tell."""
    e = standard_form(tied(e, rows), probe, prior)
    return standard_form(with_simple_constants(e, rows, everything), probe, prior)


def _settled(expression: Expression, sample: Sample, domain: Array) -> Expression:
    """The last digits of the fit, which normal equations of nearly equal columns do not give."""
    for _ in range(SETTLING):
        known = Information.of(expression, sample)
        if known is None or len(known.free) == 0:
            return expression
        theta = expression.constants()
        step = known.step()
        if np.all(np.abs(step) <= 1e-3 * known.conditional_errors):
            return expression
        theta[known.free] += step
        if not np.all(np.isfinite(theta)) or np.any(theta[known.free] == 0.0):
            return expression
        trial = expression.with_constants(theta)
        rmse = sample.rmse(Program.of(trial).evaluate(sample.XT))
        if not (rmse**2 < known.error and is_safe(trial, domain)):
            return expression
        expression = trial
    return expression


def _sound(
    e: Expression,
    domain: Array,
    prior: Prior,
    bounds: tuple[float, float] | None,
    is_late: Callable[[], bool],
    extremes: bool = True,
) -> Proof | None:
    """What is known of an equation's safety in the domain; None if it is not safe or permitted.

    What is not proved must keep away from singularities at the points, also where one is closest.
    """
    if not (e.is_allowed(prior) and is_safe(e, domain, bounds=bounds, margins=False)):
        return None
    ends = domain.min(axis=1), domain.max(axis=1)
    late = is_late()
    proof = prove(
        e,
        *ends,
        bounds,
        work=LITTLE_WORK if late else WORK,
        is_late=None if late else is_late,
        extremes=extremes and not late,
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
    if not 0 < len(free) <= MOST_FITTED:
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
    """Drop constants, the least missed first, while the data do not object.

    A weight or bias goes if the rows have a shorter description without it, in the user's
    coordinates, where true zeros are zeros: an offset that only the scaling had brought in
    disappears.
    """
    length_of = _lengths(sample)
    while True:
        error, A, free = _curvature(expression, sample)
        if len(free) <= 1 or not np.all(np.isfinite(A)):
            return expression
        theta = expression.constants()
        saliency = theta[free] ** 2 / np.maximum(inverse_curvature(A).diagonal(), 1e-300)
        length = length_of(error, len(free))
        for k in np.argsort(saliency)[:3]:
            if not length_of(error + saliency[k] / UNSURE, len(free) - 1) <= length:
                return expression
            smaller = theta.copy()
            smaller[free[k]] = 0.0
            trial = expression.with_constants(smaller).canonical()
            trial = refit(trial, sample, domain)
            rmse = sample.rmse(Program.of(trial).evaluate(sample.XT))
            trial = gauge(trial)
            if (
                # The gauge may bring a constant back in another place.
                (left := len(free_constants(trial))) < len(free)
                and length_of(rmse**2, left) <= length
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
    length_of = _lengths(sample)
    error, _, free = _curvature(expression, sample)
    for trial in expansions(expression):
        shorter = trim(refit(trial, sample, domain), sample, domain, prior)
        error_after, _, left = _curvature(shorter, sample)
        if (
            shorter.complexity(prior) < expression.complexity(prior)
            # A connection less is worth a constant.
            and length_of(error_after, max(len(left) - 1, 0)) <= length_of(error, len(free))
            and shorter.is_allowed(prior)
            and is_safe(shorter, domain)
        ):
            return _multiplied_out(shorter, sample, domain, prior)
    return expression


def _unbent(expression: Expression, sample: Sample, domain: Array, prior: Prior) -> Expression:
    """Replace waves of which the data see too little by parabolas, if these cost no more."""
    length_of = _lengths(sample)
    error, _, free = _curvature(expression, sample)
    limit = length_of(error, len(free))
    for trial in parabolas(expression, sample.XT[:, :PROBED].T):
        curve = trim(gauge(refit(trial, sample, domain)), sample, domain, prior)
        error_after, _, left = _curvature(curve, sample)
        if (
            curve.complexity(prior) <= expression.complexity(prior)
            # It has to describe the rows as well, with the constants that it saves.
            and length_of(error_after, len(left)) <= limit + CURVED
            and curve.is_allowed(prior)
            and is_safe(curve, domain)
        ):
            return _unbent(curve, sample, domain, prior)
    return expression


def _straight(
    expression: Expression, sample: Sample, domain: Array, prior: Prior, is_fitted: bool = False
) -> Expression:
    """Replace units of which the rows see no bend by plainer curves (`ieql.equations.bends`).

    If it is fitted, a curve is fitted as well before it is judged.
    """
    length_of = _lengths(sample)
    X = np.ascontiguousarray(sample.XT[:, :PROBED].T)
    for _ in range(MOST_DIFFERENCES):
        error, _, free = _curvature(expression, sample)
        limit = length_of(error, len(free))
        for trial in unseen_bends(expression, X, math.sqrt(max(error, 0.0))):
            curve = gauge(trial)
            if is_fitted:
                curve = trim(refit(curve, sample, domain), sample, domain, prior)
            error_after, _, left = _curvature(curve, sample)
            if (
                curve.complexity(prior) <= expression.complexity(prior)
                and length_of(error_after, len(left)) <= limit + CURVED
                and curve.is_allowed(prior)
                and is_safe(curve, domain)
            ):
                expression = curve
                break
        else:
            return expression
    return expression


def _plain(expression: Expression, sample: Sample, domain: Array, prior: Prior) -> Expression:
    """Write differences of large terms as the derivatives that they stand for, if rows allow."""
    few = sample.standing_for_all(LIMIT_ROWS)
    length_of = _lengths(few)
    probe = np.ascontiguousarray(few.XT[:, :PROBED].T)

    def length(e: Expression) -> float:
        error, _, free = _curvature(e, few)
        return length_of(error, len(free))

    def plainer(e: Expression) -> Expression | None:
        for trial in plain_differences(e, probe):
            plain = refit(simplify(gauge(trial), probe, prior), few, domain)
            if not plain.is_allowed(prior) or not is_safe(plain, domain):
                continue
            plain = trim(gauge(plain), sample, domain, prior)
            dearer = plain.complexity(prior) - e.complexity(prior)
            # A little longer is all right: nobody can read the difference.
            if dearer <= DEARER and length(plain) < length(e) + DIFFERENCE:
                return plain
        return None

    for _ in range(MOST_DIFFERENCES):
        plain = plainer(expression)
        if plain is None:
            break
        expression = plain
    return expression


def _at_its_limit(
    expression: Expression, sample: Sample, domain: Array, prior: Prior
) -> Expression:
    """Take simpler equations that this one nearly is (`ieql.equations.limits`), while they pay."""
    few = sample.standing_for_all(LIMIT_ROWS)
    length_of = _lengths(few)
    while len(expression.constants()) <= MOST_LIMITS:
        error, _, free = _curvature(expression, few)
        best, shortest = None, length_of(error, len(free))
        for trial in limits(expression, few.XT.T):
            shorter = refit(gauge(trial), few, domain, max_steps=LIMIT_STEPS)
            if not shorter.is_allowed(prior) or not is_safe(shorter, domain):
                continue
            if shorter.complexity(prior) > expression.complexity(prior):
                continue
            error, _, left = _curvature(shorter, few)
            if len(left) < len(free) and length_of(error, len(left)) < shortest:
                best, shortest = shorter, length_of(error, len(left))
        if best is None:
            return expression
        expression = refit(best, sample, domain)
    return expression


def _lengths(sample: Sample) -> Callable[[float, int], float]:
    """The length of the rows' description, by mean squared error and number of constants."""
    n = max(sample.n_rows, 2.0)
    variance = sample.spread() ** 2 + np.finfo(np.float64).tiny

    def length_of(error: float, n_constants: int) -> float:
        # Errors that are rounding are all the same.
        unexplained = error / variance + EXACT**2
        return description_of_rows(n, unexplained, n_constants) if error < math.inf else math.inf

    return length_of


# --- errors that hold ----------------------------------------------------------------------------


def cross_fitted(expression: Expression, sample: Sample, max_steps: int = 8) -> float:
    """Root mean squared error where each tenth of the rows is predicted by the other nine.

    The structure stays; the constants are fitted to nine tenths from the given ones. So no row has
    a say in the constants that predict it.
    """
    free = free_constants(expression)
    program = Program.of(expression)
    if len(free) > MANY_CONSTANTS:
        return _left_out_one_by_one(expression, sample)
    total = 0.0
    for weight in _folds(sample.weight):
        rest = sample.weight - weight
        kept, tested = rest > 0.0, weight > 0.0
        if not tested.any() or not kept.any():
            continue
        theta = program.theta
        if len(free):
            XT = np.ascontiguousarray(sample.XT[:, kept])
            fit = program.fit(
                XT, sample.y[kept], rest[kept], free=free, max_steps=max_steps, tol=1e-9
            )
            theta = fit.theta if np.isfinite(fit.error) else theta
        value = program.evaluate(np.ascontiguousarray(sample.XT[:, tested]), theta)
        with np.errstate(over="ignore"):
            total += float(weight[tested] @ (value - sample.y[tested]) ** 2)
    return math.sqrt(total / sample.weight.sum()) if math.isfinite(total) else math.inf


def _left_out_one_by_one(expression: Expression, sample: Sample) -> float:
    """The same to first order, each row by all others: residuals over one minus their leverage."""
    known = Information.of(expression, sample)
    if known is None:
        return math.inf
    value, J = Program.of(expression).jacobian(sample.XT, free=known.free)
    spread = np.linalg.solve(known.factor.T, J / known.size[:, None])
    weight = sample.weight / sample.weight.sum()
    # Of a row that was measured several times one is left out.
    leverage = np.sum(spread**2, axis=0) * np.minimum(weight, 1.0 / known.n_rows)
    residual = (sample.y - value) / (1.0 - np.minimum(leverage, LARGEST_LEVERAGE))
    return float(np.sqrt(weight @ residual**2))


def _folds(weight: Array) -> list[Array]:
    """Part the rows into tenths; of a row that stands for several, each tenth gets its share.

    The order of a data set's rows is random already.
    """
    place = np.arange(len(weight)) % FOLDS
    if not np.all(weight == np.round(weight)):  # precisions: a row is one measurement
        return [np.where(place == k, weight, 0.0) for k in range(FOLDS)]
    whole, rest = np.divmod(weight, FOLDS)
    return [whole + ((k - place) % FOLDS < rest) for k in range(FOLDS)]
