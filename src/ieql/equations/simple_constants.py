"""Constants that are simple numbers within their errors, and mean them.

An exponent of 0.995 ± 0.004 is 1, a phase of 1.5703 ± 0.0011 is a quarter turn, a frequency of
3.1418 ± 0.0004 is π. That a constant lies so close to one of few numbers is hardly chance if its
error is small beside their distance: the evidence for the simple one is
ln(distance / (2.5 s)) - d²/(2 s²) nats, d being the difference and s the standard error. How much
is asked for depends on the place: exponents are simple more often than factors. All that
are set are set together, the others are fitted beside them, and the likelihoods of the two fits are
compared; while they differ by more than chance, the worst one is taken back.

Which constants are set is not stored: no fit ends at 1/3 or 2π to the last bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.precision import Information
from ieql.equations.program import Program, free_constants
from ieql.units import COS, EXP, LOG, SIN

__all__ = ["fixed_places", "set_places", "simple_exponents", "with_simple_constants"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
NO_EVIDENCE = 0.0
"""Nats by which a simple number must be preferred in an exponent, where most are simple, ..."""
EVIDENCE = 2.0
"""... in a phase, ..."""
MORE_EVIDENCE = 2.5
"""... and anywhere else, where most constants are just numbers."""
APART = 10.0
"""Standard errors by which simple numbers must lie apart for one of them to be meant."""
MUCH_EVIDENCE = 8.0
"""For decimal numbers such as 0.05: only rows with hardly any noise tell them from others."""
NEAR = 1e-9
"""Relative size below which a difference is rounding: tables have ten digits, if that."""
FURTHEST = 2.5
"""Standard errors by which a constant may differ from the number that it is set to."""
CHANCE = 0.05
"""How often right constants that are set would be taken back."""
LARGEST = 24
"""Largest multiple that counts as simple."""
MOST_CONSTANTS = 60
STEPS = 30
MANY_ROWS, FEW_STEPS = 50_000, 4
"""With more rows the others have hardly to move, and a step takes long."""


@dataclass(frozen=True)
class _Grid:
    """Multiples of a number."""

    spacing: float
    below: int
    """They are whole multiples of the spacing times this, over this."""

    def nearest(self, value: float) -> float:
        """The multiple nearest to a number."""
        multiple = abs(value) / self.spacing
        # It may overflow: a factor that a fit has sent towards infinity has no nearest one either.
        k = round(multiple) if multiple <= LARGEST + 1 else 0
        unit = self.spacing * self.below
        return math.copysign(k * unit / self.below, value) if 1 <= k <= LARGEST else math.nan


def _grids(unit: float, *denominators: int) -> tuple[_Grid, ...]:
    return tuple(_Grid(unit / n, n) for n in denominators)


NUMBERS = _grids(1.0, 1, 2, 3, 4)
FACTORS = (*NUMBERS, *_grids(math.pi, 1, 2, 3))
DECIMALS = _grids(1.0, 5, 10, 20, 100)
TURNS = _grids(math.pi, 1, 2, 4, 12)
FREQUENCIES = (*_grids(1.0, 1, 2), *_grids(math.pi, 1, 2))
EXPONENT = (NUMBERS, NO_EVIDENCE)
PHASE = (TURNS, EVIDENCE)


def set_places(expression: Expression) -> frozenset[int]:
    """Places of the constants that are simple numbers, among those that a fit may change."""
    theta = expression.constants()
    return frozenset(int(t) for t in free_constants(expression) if _is_simple(float(theta[t])))


def simple_exponents(expression: Expression) -> frozenset[int]:
    """Places of the exponents among them. That they are simple is no coincidence.

    A factor is near some simple number more often, if there are thousands of equations to look at.
    """
    roles = _roles(expression)
    return frozenset(t for t in set_places(expression) if roles.get(t) == EXPONENT)


def fixed_places(expression: Expression) -> frozenset[int]:
    """Places of the constants that are part of the structure: such exponents, and such phases."""
    roles = _roles(expression)
    return frozenset(t for t in set_places(expression) if roles.get(t) in (EXPONENT, PHASE))


def _is_simple(value: float) -> bool:
    return any(grid.nearest(value) == value for grid in (*FACTORS, *TURNS, *DECIMALS))


def with_simple_constants(
    expression: Expression, sample: Sample, everything: Sample | None = None
) -> Expression:
    """Set constants to the simple numbers that they are within their errors, and fit the others.

    Parameters
    ----------
    expression : Expression
        At its best fit, in standard form.
    sample : Sample
        The rows that tell the errors of the constants.
    everything : Sample, optional
        All rows, which fit the others, where the sample is a part that stands for them.
    """
    known = Information.of(expression, sample)
    if known is None or not 0 < len(known.free) <= MOST_CONSTANTS:
        return expression
    rows = sample if everything is None else everything
    proposals = _proposals(expression, known)
    error = known.error if rows is sample else _mse(expression, rows)
    while proposals:
        trial = _fitted(expression, rows, proposals)
        # Of few rows the residuals are smaller than the noise.
        n = max(known.n_rows - len(known.free), 1.0)
        if trial is not None and _is_as_likely(trial, error, rows, n, len(proposals)):
            return trial
        del proposals[max(proposals, key=lambda place: proposals[place][1])]
    return expression


def _proposals(expression: Expression, known: Information) -> dict[int, tuple[float, float]]:
    """For places of constants the simple number each may be, and how many errors away it is."""
    theta = expression.constants()
    roles = _roles(expression)
    found = {}
    for place, error in zip(known.free, known.standard_errors, strict=True):
        value = float(theta[place])
        error = float(error) + NEAR * abs(value)
        if not (math.isfinite(error) and error > 0.0):
            continue
        grids, least = roles.get(int(place), (FACTORS, MORE_EVIDENCE))
        best = 0.0
        for grid in (*grids, *DECIMALS):
            simple = grid.nearest(value)
            away = abs(value - simple) / error
            evidence = math.log(grid.spacing / (2.5 * error)) - 0.5 * away**2
            beyond = evidence - (MUCH_EVIDENCE if grid in DECIMALS else least)
            is_telling = APART * error <= grid.spacing
            if is_telling and away <= FURTHEST and beyond > best and simple != value:
                found[int(place)] = (simple, away)
                best = beyond
    return found


def _roles(expression: Expression) -> dict[int, tuple[tuple[_Grid, ...], float]]:
    """Which numbers are simple at which place, where not all are the same."""
    roles: dict[int, tuple[tuple[_Grid, ...], float]] = {}
    at = 0
    for node in expression.nodes:
        for s in node.args:
            # A factor may be 2π or π/3; what is added to inputs, or weighs them against each other,
            # is hardly ever made of π, and comes close to it by chance: x + 1.047.
            added = range(at, at + 1 + len(s.weights)) if len(s.weights) > 1 else (at,)
            roles |= dict.fromkeys(added, (NUMBERS, MORE_EVIDENCE))
            if node.unit in (COS, SIN):
                roles[at] = PHASE
                for j in range(len(s.weights)):
                    roles[at + 1 + j] = (FREQUENCIES, MORE_EVIDENCE)
            if node.unit is EXP:
                for j, i in enumerate(s.sources):
                    if expression.source_name(i) == LOG.name:
                        roles[at + 1 + j] = EXPONENT
            at += 1 + len(s.weights)
    for s in expression.outputs:
        roles[at] = (NUMBERS, MORE_EVIDENCE)  # nor is an offset made of π: 3*x**2 + 1.047
        at += 1 + len(s.weights)
    return roles


def _fitted(
    expression: Expression, sample: Sample, proposals: dict[int, tuple[float, float]]
) -> Expression | None:
    """The equation with some constants set, and the others at the best fit beside them."""
    theta = expression.constants()
    for place, (simple, _) in proposals.items():
        theta[place] = simple
    expression = expression.with_constants(theta)
    set_already = set_places(expression)
    free = np.array(
        [t for t in free_constants(expression) if int(t) not in set_already], dtype=np.int64
    )
    if len(free) == 0:
        return expression
    program = Program.of(expression)
    steps = STEPS if len(sample) <= MANY_ROWS else FEW_STEPS
    fit = program.fit(sample.XT, sample.y, sample.weight, free=free, max_steps=steps, tol=1e-12)
    if not np.all(np.isfinite(fit.theta)) or np.any(fit.theta[free] == 0.0):
        return None
    return expression.with_constants(fit.theta)


def _is_as_likely(trial: Expression, error: float, rows: Sample, n: float, n_set: int) -> bool:
    """Whether the rows do not speak against the constants that were set (likelihood ratio).

    `error` is the mean squared error without them, and `n` the number of rows that tell.
    """
    level = float(chdtri(n_set, CHANCE))  # of χ² with so many degrees of freedom
    limit = error * math.exp(level / n) + (NEAR * rows.spread()) ** 2
    return bool(_mse(trial, rows) <= limit)


def _mse(expression: Expression, rows: Sample) -> float:
    return rows.rmse(Program.of(expression).evaluate(rows.XT)) ** 2
