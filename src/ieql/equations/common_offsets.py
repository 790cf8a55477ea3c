"""Offsets of one input that are the same: (x + 0.18)²·(x + 0.31) means (x + 0.22)³.

A law that is written in shifted inputs, like Planck's in scaled wavelengths, has the same shift
wherever the input stands. A fit gives each place one of its own, none of them well determined, and
what the rows do not tell them apart by is lost outside of them.

That two offsets differ by no more than their errors is no reason by itself: offsets of different
meaning often do. They are one if that makes the equation simpler, as when factors become a power or
parts become the same, or if they are equal to a small part of their size, which is hardly chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.precision import Information
from ieql.equations.simple_constants import set_places
from ieql.equations.standard_form import text_length

__all__ = ["with_common_offsets"]

Array = NDArray[np.float64]
STEPS = 6
"""Steps to the least squares with common offsets."""
MOST_CONSTANTS = 60
SHORTER = 8
"""Characters by which the text must become shorter for an equation to be simpler: a factor or a
part less."""
EVIDENCE = 2.0
"""Nats by which the rows must prefer that two offsets are one if that is all they tell."""


def with_common_offsets(
    expression: Expression, sample: Sample, simplified: Callable[[Expression], Expression]
) -> Expression:
    """Give the offsets of an input one value where rows and constants are told in fewer words so.

    All places of all inputs are tried together; while the rows object, the place that fits least
    well to the others is left out.

    Parameters
    ----------
    expression : Expression
        With one output, at its best fit, in standard form: inputs with offsets have the weight ± 1.
        Constants that were set to simple numbers stay as they are.
    sample : Sample
        The rows that fit the constants.
    simplified : callable
        The simplest way to write an equation.
    """
    is_set = set_places(expression)
    known = Information.of(expression, sample, is_set)
    if known is None or not 2 <= len(known.free) <= MOST_CONSTANTS:
        return expression
    groups = _groups(expression, known)
    while groups:
        trial = _fitted(expression, sample, known, groups, is_set)
        n_saved = sum(len(g) - 1 for g in groups)
        # Each constant less is worth ln N of twice the nats.
        limit = known.error * math.exp((n_saved * math.log(known.n_rows) + 1.0) / known.n_rows)
        if trial is not None and trial[1] <= limit:
            simple = simplified(trial[0])
            if text_length(simple) <= text_length(expression) - SHORTER:
                return simple
            if all(_are_hardly_equal_by_chance(group, expression, known) for group in groups):
                return simple
        groups = _without_worst(groups, expression, known)
    return expression


Groups = list[dict[int, float]]
"""For each input the free constants that are its offsets, with the sign of the input."""


def _groups(expression: Expression, known: Information) -> Groups:
    place = {int(t): k for k, t in enumerate(known.free)}
    theta = expression.constants()
    found: dict[int, dict[int, float]] = {}
    start = 0
    n_inside = sum(len(node.args) for node in expression.nodes)
    for s in expression.sums[:n_inside]:
        is_input = len(s.sources) == 1 and s.sources[0] < len(expression.names)
        if is_input and abs(s.weights[0]) == 1.0 and start in place:
            found.setdefault(s.sources[0], {})[place[start]] = s.weights[0]
        start += 1 + len(s.weights)
    return [g for g in found.values() if len({theta[known.free[k]] * w for k, w in g.items()}) > 1]


def _are_hardly_equal_by_chance(
    group: dict[int, float], expression: Expression, known: Information
) -> bool:
    """Whether each offset agrees with the best known of them to a small part of its size.

    The evidence is that of `ieql.equations.precision.tied`.
    """
    theta, covariance = expression.constants()[known.free], known.covariance
    first, *others = sorted(group, key=lambda k: covariance[k, k])
    for k in others:
        sign = group[first] * group[k]
        variance = covariance[first, first] + covariance[k, k] - 2.0 * sign * covariance[first, k]
        error = math.sqrt(max(variance, 0.0)) + 1e-12 * abs(theta[first])
        difference = theta[first] - sign * theta[k]
        evidence = math.log(abs(theta[first]) / (2.5 * error) + 1e-300)
        if not evidence - 0.5 * (difference / error) ** 2 > EVIDENCE:
            return False
    return True


def _without_worst(groups: Groups, expression: Expression, known: Information) -> Groups:
    """The groups without the offset that the others agree best without."""
    theta, errors = expression.constants()[known.free], known.standard_errors

    def disagreement(group: dict[int, float]) -> float:
        """Squared distances from the common value, in units of the standard errors."""
        values = np.array([theta[k] * w for k, w in group.items()])
        shares = np.array([1.0 / max(float(errors[k]), 1e-300) ** 2 for k in group])
        return float(shares @ (values - np.average(values, weights=shares)) ** 2)

    def without(group: dict[int, float], left_out: int) -> dict[int, float]:
        return {k: w for k, w in group.items() if k != left_out}

    gains = {
        (g, k): disagreement(group) - disagreement(without(group, k))
        for g, group in enumerate(groups)
        for k in group
    }
    worst, left_out = max(gains, key=lambda entry: gains[entry])
    fewer = [without(group, left_out) if g == worst else group for g, group in enumerate(groups)]
    return [group for group in fewer if len(group) > 1]


def _fitted(
    expression: Expression,
    sample: Sample,
    known: Information,
    groups: Groups,
    is_set: frozenset[int],
) -> tuple[Expression, float] | None:
    """The equation with common offsets at their best fit, and its mean squared error."""
    p = len(known.free)
    member = {k: (g, w) for g, group in enumerate(groups) for k, w in group.items()}
    alone = [k for k in range(p) if k not in member]
    M = np.zeros((p, len(groups) + len(alone)))
    for k, (g, w) in member.items():
        M[k, g] = w
    for column, k in enumerate(alone):
        M[k, len(groups) + column] = 1.0
    theta = expression.constants()
    weighted = known.factor * known.size
    common, *_ = np.linalg.lstsq(weighted @ M, weighted @ theta[known.free], rcond=None)
    best: tuple[Expression, float] | None = None
    for _ in range(STEPS):
        theta[known.free] = M @ common
        if not np.all(np.isfinite(theta)) or np.any(theta[known.free] == 0.0):
            break
        trial = expression.with_constants(theta)
        now = Information.of(trial, sample, is_set)
        if now is None or not np.array_equal(now.free, known.free):
            break
        if best is not None and now.error > best[1]:
            break
        best = trial, now.error
        weighted = now.factor * now.size
        common = common + np.linalg.lstsq(weighted @ M, weighted @ now.step(), rcond=None)[0]
    return best
