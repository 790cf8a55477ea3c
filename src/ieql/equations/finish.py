"""From a candidate in scaled coordinates to an equation the user can read.

The steps of `finish`: fold the scaling in, simplify, fit the constants in float64 on all rows, drop
the constants that the data do not ask for, write each constant with no more digits than it
deserves, and give its standard error (`ieql.equations.precision`). What is printed is what is
computed: the shorter constants are those that `predict` uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ieql.data.dataset import Scaling
from ieql.data.sample import Sample
from ieql.equations.branching import ProofEffort
from ieql.equations.common_offsets import with_common_offsets
from ieql.equations.differences import cancelling_sums
from ieql.equations.dimensions import is_in_order
from ieql.equations.expression import Expression
from ieql.equations.limit_proof import decide
from ieql.equations.precision import (
    Information,
    readable,
    shortened,
    standard_errors,
    tie_rows,
    tied,
)
from ieql.equations.prediction_band import PredictionBand, constant_errors
from ieql.equations.program import Program
from ieql.equations.proof import LITTLE_WORK, WORK, Verdict, prove
from ieql.equations.refit import refit
from ieql.equations.ridge import fitted_with_ridge
from ieql.equations.safety import excess, is_safe, positive_denominators, worst_points
from ieql.equations.shape_points import ShapePoints
from ieql.equations.sharing import SharedEquation
from ieql.equations.shorter import (
    at_its_limit,
    multiplied_out,
    straightened,
    trim,
    unbent,
    without_differences,
    without_rounding,
)
from ieql.equations.simple_constants import set_places, simple_exponents, with_simple_constants
from ieql.equations.simplify import gauge, simplify
from ieql.equations.standard_form import standard_form
from ieql.equations.wave_cost import wave_cost
from ieql.prior import Prior

__all__ = ["TRIM_ROWS", "FinishedEquation", "finish", "presented", "sound"]

Array = NDArray[np.float64]
TRIM_ROWS = 50_000
"""Rows on which superfluous constants are looked for."""
HASTY_ROWS = 2_000
"""Rows on which the constants are fitted when there is no time left."""
PROBED = 2_000
"""Rows by which the range of an argument is judged."""
MANY_LINES, MANY_STEPS = 128, 33
"""Lines along an input, and points on each, at which a limit must hold that is not proved."""
SETTLING = 3
"""Last steps of the fit, by orthogonal factors instead of normal equations."""


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
    limits: Mapping[str, bool | None] = field(default_factory=dict)
    """The same for every limit of the prior's shape."""
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
    many: bool = False,
    surface: Sample | None = None,
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
    many : bool
        It has so many constants that nobody reads them: they are fitted with a ridge, and neither
        form nor digits are polished.
    surface : Sample, optional
        Points of a smooth surface through all rows, which has taught them and is to do so again.
    """
    plain = expression.rescaled(
        inputs.offset, inputs.scale, target.offset.item(), target.scale.item()
    ).canonical()
    # The errors of the constants come from some rows, where there are very many.
    part = train.standing_for_all(HASTY_ROWS if is_late() else TRIM_ROWS)
    seen = train.head(TRIM_ROWS)
    seen = seen if outside is None else seen.joined(outside)

    def forms() -> Iterator[Expression]:
        if many:
            if not is_late():
                yield gauge(fitted_with_ridge(plain, part if surface is None else surface))
        else:
            yield _polished(plain, train, seen, domain, prior, cut, is_late)
            yield _in_plain_dress(plain, train, domain, prior)
        yield plain

    # The best constants may touch a singularity or pass a bound; then the given ones must do.
    for precise in forms():
        found = presented(precise, train, part, domain, prior, bounds, is_late, many=many)
        if found is not None:
            return found
    return None


def presented(
    precise: Expression,
    train: Sample,
    part: Sample,
    domain: Array,
    prior: Prior,
    bounds: tuple[float, float] | None = None,
    is_late: Callable[[], bool] = lambda: False,
    shared: SharedEquation | None = None,
    many: bool = False,
) -> FinishedEquation | None:
    """An equation at its best fit with the digits that it deserves; None if it is not safe.

    Parameters
    ----------
    precise : Expression
        With all digits.
    train, part : Sample
        All training rows, and those that tell the errors of the constants.
    domain, prior, bounds, is_late
        As in `finish`.
    shared : SharedEquation, optional
        What other equations have a say in: these constants are rounded already.
    many : bool
        Whether it has so many constants that to find the digits of each would take long.
    """
    known = set_places(precise)
    common = {} if shared is None else shared.common
    start = precise if shared is None else shared.shown
    # Should rounding make it unsafe, it gets more digits, but never all of them.
    short = shortened(start, known | common.keys())
    for e in (short,) if many else (readable(start, part, domain, known | common.keys()), short):
        proof = sound(e, domain, prior, bounds, is_late)
        if proof is None:
            continue
        # Who asks for all digits is to be as safe as who does not.
        same = e == precise or sound(precise, domain, prior, bounds, is_late, False)
        far = excess(proof.low, proof.high, train.y)
        errors, mse = standard_errors(e, part, simple_exponents(e))
        waves = wave_cost(e, part.head(PROBED).XT.T, prior)
        all_digits = precise if same else e
        ties = None if many else tie_rows(all_digits, set_places(all_digits))
        band = PredictionBand.of(all_digits, train, e, domain, ties)
        if band is not None and math.isfinite(band.noise.sigma):
            # Rounding may make two units one, and then places are others.
            held = ties if e.skeleton == all_digits.skeleton else None
            errors = constant_errors(e, part, band.noise, simple_exponents(e), held) or errors
        errors = tuple(common.get(place, 0.0) or error for place, error in enumerate(errors))
        return FinishedEquation(
            e, errors, mse, all_digits, proof.proved, proof.limits, far, waves, band
        )
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
    probe = _probe(train, domain)
    e = simplify(gauge(positive_denominators(e, domain.T)), probe, prior)
    if is_late():
        e = refit(e, train.head(HASTY_ROWS), domain, max_steps=5)
        e = straightened(e, train.head(HASTY_ROWS), domain, prior, is_late=True)
        few = train.standing_for_all(HASTY_ROWS)
        if cancelling_sums(e, probe):  # which hides everything else that is strange in it
            e = without_differences(e, few, domain, prior)
        return _with_plain_constants(e, few, few, probe, prior)
    part = train.head(TRIM_ROWS)
    e = refit(e, part, domain)
    # A piece of a wave is no law, whatever points outside say.
    for shorten in (
        (trim, multiplied_out, unbent, without_differences, at_its_limit) if cut else (unbent,)
    ):
        if not is_late():
            e = shorten(e, part, domain, prior)
    if not is_late():
        e = straightened(e, seen, domain, prior)
    e = simplify(gauge(positive_denominators(e, domain.T)), probe, prior)
    # The constants are nearly right already; many rows need few steps.
    steps = 40 if len(train) <= TRIM_ROWS and not is_late() else 4
    e = refit(e, train, domain, max_steps=steps)
    late = is_late()
    if len(train) <= TRIM_ROWS and not late:
        e = _settled(e, train, domain)
    rows = train.standing_for_all(HASTY_ROWS if late else TRIM_ROWS)
    return _with_plain_constants(e, rows, rows if late else train, probe, prior)


def _probe(train: Sample, domain: Array) -> Array:
    """Rows and points of the domain at which two forms must have the same values."""
    parts = [train.XT[:, :500], domain[:, :500]]
    return np.ascontiguousarray(np.concatenate(parts, axis=1).T)


def _in_plain_dress(e: Expression, train: Sample, domain: Array, prior: Prior) -> Expression:
    """An equation as it would be written, with the constants that it has."""
    probe, few = _probe(train, domain), train.standing_for_all(HASTY_ROWS)
    e = simplify(gauge(positive_denominators(e, domain.T)), probe, prior)
    return _with_plain_constants(e, few, few, probe, prior)


def _with_plain_constants(
    e: Expression, rows: Sample, everything: Sample, probe: Array, prior: Prior
) -> Expression:
    """The equation with constants that are one, or are simple numbers, as far as the rows tell."""

    def simplified(e: Expression) -> Expression:
        return standard_form(e, probe, prior)

    e = with_common_offsets(simplified(tied(e, rows)), rows, simplified)
    e = simplified(with_simple_constants(e, rows, everything))
    # Beside simple numbers the others were fitted anew, each offset by itself.
    return without_rounding(with_common_offsets(e, rows, simplified), probe)


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


def sound(
    e: Expression,
    domain: Array,
    prior: Prior,
    bounds: tuple[float, float] | None,
    is_late: Callable[[], bool] = lambda: False,
    extremes: bool = True,
) -> Verdict | None:
    """What is known of an equation's safety in the domain; None if it is not safe or permitted.

    What is not proved must keep away from singularities at the points, also where one is closest.
    """
    within = prior.shape.within(None if bounds is None else bounds[1])
    if not (is_in_order(e, prior) and is_safe(e, domain, bounds=within, margins=False)):
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
            if points.shape[1] and not is_safe(e, points, bounds=within):
                return None
    limits = limits_kept(e, *ends, prior, proof, late, is_late)
    if limits is None:
        return None
    value = Program.of(e).evaluate(domain)
    low, high = min(proof.low, float(value.min())), max(proof.high, float(value.max()))
    return replace(proof, low=low, high=high, limits=limits)


def limits_kept(
    e: Expression,
    lower: Array,
    upper: Array,
    prior: Prior,
    safety: Verdict,
    late: bool = False,
    is_late: Callable[[], bool] = lambda: False,
) -> dict[str, bool | None] | None:
    """Which limits of the prior's shape are proved and which are open; None if one is broken.

    What is open holds at many points. Where it is open whether the equation is safe, nothing is
    proved.
    """
    limits = prior.shape.limits
    if not limits:
        return {}
    points = ShapePoints.of(limits, e.names, lower, upper, MANY_LINES, MANY_STEPS)
    if points is not None and points.broken(Program.of(e).evaluate) is not None:
        return None
    budget = ProofEffort.of(
        LITTLE_WORK if late else WORK, seconds=1.0, is_late=None if late else is_late
    )
    found: dict[str, bool | None] = {}
    for limit in limits:
        holds = decide(e, lower, upper, limit, budget, safety.known).proved
        if holds is False:
            return None
        found[limit.text] = holds if safety.proved else None
    return found
