"""Shorter equations that describe the rows as well.

Each function takes an equation at its best fit and gives one that is shorter, or plainer, if the
rows (`ieql.equations.description`) do not object, and otherwise the one that it was given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.bends import unseen_bends
from ieql.equations.description import description_of_rows
from ieql.equations.differences import plain_differences
from ieql.equations.dimensions import is_in_order
from ieql.equations.expression import Expression, Sum
from ieql.equations.limits import limits
from ieql.equations.precision import EXACT
from ieql.equations.program import Program, free_constants
from ieql.equations.refit import curvature, inverse_curvature, refit
from ieql.equations.safety import is_safe
from ieql.equations.simplify import expansions, gauge, parabolas, simplify
from ieql.equations.standard_form import is_permitted
from ieql.prior import Prior

__all__ = [
    "at_its_limit",
    "multiplied_out",
    "straightened",
    "trim",
    "unbent",
    "without_differences",
    "without_rounding",
]

Array = NDArray[np.float64]
PROBED = 2_000
"""Rows by which the range of an argument is judged."""
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
"""The same for a plain curve in the place of a bent one."""
LATE_STEPS = 5
"""Steps of a fit when the time is up."""
MOST_DIFFERENCES = 4
"""Differences of one equation, or curves in it, that are replaced."""
MOST_TRIALS = 8
"""Ways to write a difference plainly that are fitted before it is left as it is."""
UNSURE = 5.0
"""How many times too large the estimate of what a constant is worth may be, at most."""
ROUNDING = 1e-14
"""Part of a sum that is no more than rounding, ..."""
SAME = 1e-12
"""... and by how much of its size the equation may change without it."""


def _is_fine(trial: Expression, current: Expression, prior: Prior) -> bool:
    """Whether the prior has nothing against an equation: its units, connections and dimensions."""
    return is_permitted(trial, current, prior) and is_in_order(trial, prior)


def trim(expression: Expression, sample: Sample, domain: Array, prior: Prior) -> Expression:
    """Drop constants, the least missed first, while the data do not object.

    A weight or bias goes if the rows have a shorter description without it, in the user's
    coordinates, where true zeros are zeros: an offset that only the scaling had brought in
    disappears.
    """
    length_of = _lengths(sample)
    while True:
        error, A, free = curvature(expression, sample)
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
                and _is_fine(trial, expression, prior)
                and (is_safe(trial, domain) or not is_safe(expression, domain))
            ):
                expression = trial
                break
        else:
            return expression


def without_rounding(expression: Expression, X: Array) -> Expression:
    """Leave out terms that are no more than rounding: x*y + 4.4e-18 is x*y.

    Rows without noise ask for every digit, and a form that was multiplied out has such terms.
    Where they matter all the same, as 1e-15 in log(x + 1e-15) at x = 0, they stay.
    """
    with np.errstate(all="ignore"):
        values = expression.source_values(X)
        sizes = [float(np.max(np.abs(v), initial=0.0)) for v in values]

        def plain(s: Sum) -> Sum:
            terms = [abs(w) * sizes[i] for i, w in zip(s.sources, s.weights, strict=True)]
            least = ROUNDING * max(abs(s.bias), *terms, 0.0)
            weights = [w if t > least else 0.0 for w, t in zip(s.weights, terms, strict=True)]
            return Sum(s.bias if abs(s.bias) > least else 0.0, s.sources, tuple(weights))

        trial = expression.map_sums(plain)
        if trial == expression:
            return expression
        before, after = expression.evaluate(X), trial.evaluate(X)
        size = float(np.max(np.abs(before), initial=0.0))
        return trial.canonical() if np.all(np.abs(after - before) <= SAME * size) else expression


def multiplied_out(
    expression: Expression, sample: Sample, domain: Array, prior: Prior
) -> Expression:
    """Multiply squares and products out where fewer terms are left: (x + y)² - 2xy is x² + y²."""
    length_of = _lengths(sample)
    error, _, free = curvature(expression, sample)
    for trial in expansions(expression):
        shorter = trim(refit(trial, sample, domain), sample, domain, prior)
        error_after, _, left = curvature(shorter, sample)
        if (
            shorter.complexity(prior) < expression.complexity(prior)
            # A connection less is worth a constant.
            and length_of(error_after, max(len(left) - 1, 0)) <= length_of(error, len(free))
            and _is_fine(shorter, expression, prior)
            and is_safe(shorter, domain)
        ):
            return multiplied_out(shorter, sample, domain, prior)
    return expression


def unbent(expression: Expression, sample: Sample, domain: Array, prior: Prior) -> Expression:
    """Replace waves of which the data see too little by parabolas, if these cost no more."""
    curved = parabolas(expression, sample.XT[:, :PROBED].T)
    plain = _first_as_good(expression, curved, sample, domain, prior)
    return expression if plain is None else unbent(plain, sample, domain, prior)


def straightened(
    expression: Expression, sample: Sample, domain: Array, prior: Prior, is_late: bool = False
) -> Expression:
    """Replace units of which the rows see no bend by plainer curves (`ieql.equations.bends`).

    When it is late, they are fitted by a few steps, and nothing is trimmed.
    """
    X = np.ascontiguousarray(sample.XT[:, :PROBED].T)
    for _ in range(MOST_DIFFERENCES):
        error, _, _ = curvature(expression, sample)
        trials = unseen_bends(expression, X, math.sqrt(max(error, 0.0)))
        plain = _first_as_good(expression, trials, sample, domain, prior, is_late)
        if plain is None:
            break
        expression = plain
    return expression


def _first_as_good(
    expression: Expression,
    trials: Iterable[Expression],
    sample: Sample,
    domain: Array,
    prior: Prior,
    is_late: bool = False,
) -> Expression | None:
    """The first of several plainer equations that describes the rows as well; None if none does."""
    length_of = _lengths(sample)
    error, _, free = curvature(expression, sample)
    limit = length_of(error, len(free))
    for trial in trials:
        if is_late:
            curve = gauge(refit(trial, sample, domain, max_steps=LATE_STEPS))
        else:
            curve = trim(gauge(refit(trial, sample, domain)), sample, domain, prior)
        error_after, _, left = curvature(curve, sample)
        if (
            curve.complexity(prior) <= expression.complexity(prior)
            # It has to describe the rows as well, with the constants that it saves.
            and length_of(error_after, len(left)) <= limit + CURVED
            and _is_fine(curve, expression, prior)
            and is_safe(curve, domain)
        ):
            return curve
    return None


def without_differences(
    expression: Expression, sample: Sample, domain: Array, prior: Prior
) -> Expression:
    """Write differences of large terms as the derivatives that they stand for, if rows allow."""
    few = sample.standing_for_all(LIMIT_ROWS)
    length_of = _lengths(few)
    probe = np.ascontiguousarray(few.XT[:, :PROBED].T)

    def length(e: Expression) -> float:
        error, _, free = curvature(e, few)
        return length_of(error, len(free))

    def plainer(e: Expression) -> Expression | None:
        for trial in islice(plain_differences(e, probe), MOST_TRIALS):
            plain = refit(simplify(gauge(trial), probe, prior), few, domain)
            if not _is_fine(plain, e, prior) or not is_safe(plain, domain):
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


def at_its_limit(expression: Expression, sample: Sample, domain: Array, prior: Prior) -> Expression:
    """Take simpler equations that this one nearly is (`ieql.equations.limits`), while they pay."""
    few = sample.standing_for_all(LIMIT_ROWS)
    length_of = _lengths(few)
    while len(expression.constants()) <= MOST_LIMITS:
        error, _, free = curvature(expression, few)
        best, shortest = None, length_of(error, len(free))
        for trial in limits(expression, few.XT.T):
            shorter = refit(gauge(trial), few, domain, max_steps=LIMIT_STEPS)
            if not _is_fine(shorter, expression, prior) or not is_safe(shorter, domain):
                continue
            if shorter.complexity(prior) > expression.complexity(prior):
                continue
            error, _, left = curvature(shorter, few)
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
