"""Whether an equation is safe in the declared domain (section "Atomic Units with Singularities").

The paper pulls singular arguments into their domain by penalties; here, in addition, an equation
that leaves the domain at any sampled point never reaches the front. This is the quick filter of the
search; before an equation is shown, `ieql.equations.proof` decides.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ieql.equations.branching import ProofEffort, positive_bound
from ieql.equations.expression import Expression, Sum
from ieql.equations.intervals import Enclosure
from ieql.equations.program import Program
from ieql.equations.proof import conditions
from ieql.units import DIV

__all__ = ["excess", "is_safe", "positive_denominators", "worst_points"]

Array = NDArray[np.float64]
MARGIN = 1e-4
"""A logarithm's argument or a denominator must stay this part of its largest value above zero.

Alike for the edges of other domains: a part of the distance from the edge to the farthest value.
"""
LOCAL_MARGIN, LOCAL = 1e-3, 0.1
"""Or it must stay the first part of the value above zero below which the second part of the points
lie: exp(z) - 1 is safe from 0.1 on, even where it reaches a million.

What is proved to be positive all over the box of the points needs no margin: it is as safe over
five decades as over one.
"""
QUICK_WORK = 10_000
"""Work of such a proof (`ProofEffort`): natural intervals, and some splits."""


def is_safe(
    expression: Expression,
    XT: Array,
    program: Program | None = None,
    bounds: tuple[float, float] | None = None,
    margins: bool = True,
) -> bool:
    """Whether all units are defined, and all values finite and bounded, on the given points.

    Points say nothing of what lies between them. So singular arguments must keep away from the
    edges of their domains, or be proved to lie inside all over the box of the points.

    Parameters
    ----------
    expression : Expression
        One output.
    XT : array (inputs, points)
        Points of the declared domain in the coordinates of the expression.
    program : Program, optional
        The compiled form, if it exists already.
    bounds : (low, high), optional
        What the output must not leave (the paper's bound B).
    margins : bool
        False looks at the points alone.
    """
    program = program or Program.of(expression)
    value = program.evaluate(XT)
    if not np.all(np.isfinite(value)):
        return False
    if bounds is not None and (value.min() < bounds[0] or value.max() > bounds[1]):
        return False
    singular = [(k, s) for k, s in enumerate(_sum_domains(expression)) if s is not None]
    if not singular:
        return True
    lows, highs = program.argument_ranges(XT)
    close = []
    for k, domain in singular:
        if not _is_inside(lows[k], highs[k], domain):
            return False
        if not _keeps_away(lows[k], highs[k], domain, MARGIN, lows[k], highs[k]):
            close.append((k, domain))
    if not close or not margins:
        return True
    values = [z for args in expression.arguments(XT.T) for z in args]
    return all(
        _keeps_away(lows[k], highs[k], domain, LOCAL_MARGIN, *_near(values[k]))
        or _is_proved(expression, k, domain, XT)
        for k, domain in close
    )


def _is_proved(
    expression: Expression, place: int, domain: tuple[float, float, bool], XT: Array
) -> bool:
    """Whether little work proves that an argument stays in its domain in the box of the points.

    All other arguments are taken to be inside theirs: they have their own tests.
    """
    arguments = [(k, a) for k, node in enumerate(expression.nodes) for a in range(len(node.args))]
    budget = ProofEffort.of(QUICK_WORK, seconds=1.0)
    with np.errstate(all="ignore"):
        for condition in conditions(expression):
            if condition.argument == arguments[place]:
                f = Enclosure(expression, condition.sum)
                box = XT[list(f.inputs)]
                ends = box.min(axis=1), box.max(axis=1)
                if positive_bound(f, *ends, domain[2], budget) is None:
                    return False
    return True


def _near(z: Array) -> tuple[float, float]:
    """Values between which all points lie but for a tenth at each end, the upper one first."""
    low, high = np.quantile(z, [LOCAL, 1.0 - LOCAL])
    return float(high), float(low)


def _is_inside(least: float, greatest: float, domain: tuple[float, float, bool]) -> bool:
    """Whether a range lies in a domain; NaN does not."""
    low, high, closed = domain
    if closed and math.isfinite(high):
        return low <= least <= greatest <= high
    return low <= least <= greatest < high if closed else low < least <= greatest < high


def _keeps_away(
    least: float,
    greatest: float,
    domain: tuple[float, float, bool],
    margin: float,
    below: float,
    above: float,
) -> bool:
    """Whether a range keeps away from the edges of a domain that do not belong to it.

    The distance is measured by that of the value `above` from the lower edge, and of `below` from
    the upper one.
    """
    low, high, closed = domain
    return closed or bool(
        (low == -math.inf or least - low > margin * (above - low))
        and (high == math.inf or high - greatest > margin * (high - below))
    )


def _sum_domains(expression: Expression) -> list[tuple[float, float, bool] | None]:
    """Domain of every sum that is a singular argument; closed where the unit is finite there."""
    strict = _strict_roots(expression)
    domains: list[tuple[float, float, bool] | None] = []
    for k, node in enumerate(expression.nodes):
        for a in range(len(node.args)):
            low, high = node.unit.domains[a]
            bounded = a in node.unit.singular and not node.args[a].is_constant
            closed = node.unit.closed and k not in strict
            domains.append((low, high, closed) if bounded else None)
    return domains + [None] * len(expression.outputs)


def _strict_roots(expression: Expression) -> set[int]:
    """Roots that must not be zero, as a logarithm or quotient is made of them alone.

    The root of a number is much further from zero than the number: without this log(sqrt(z)) would
    pass where log(z) does not.
    """
    d = len(expression.names)
    found: set[int] = set()
    stack: list[Sum] = []
    for node in expression.nodes:
        if not node.unit.closed:
            stack += [node.args[a] for a in node.unit.singular]
    while stack:
        s = stack.pop()
        if s.bias != 0.0 or len(s.sources) != 1 or s.sources[0] < d:
            continue
        k = s.sources[0] - d
        node = expression.nodes[k]
        if node.unit.closed:
            found.add(k)
        # A product of powers is zero where an argument above the line is.
        stack += [a for a, p in zip(node.args, node.unit.powers, strict=False) if p > 0]
    return found


def positive_denominators(expression: Expression, X: Array) -> Expression:
    """Turn the sign of quotients whose denominator is negative on all points.

    The paper keeps to the positive branch of 1/d and lets the numerator choose the sign.
    """
    nodes = list(expression.nodes)
    for k, args in enumerate(expression.arguments(X)):
        node = nodes[k]
        if node.unit is DIV and np.all(args[1] < 0):
            numerator, denominator = node.args
            nodes[k] = node._replace(args=(numerator.scaled(-1.0), denominator.scaled(-1.0)))
    return Expression(expression.names, tuple(nodes), expression.outputs).canonical()


def worst_points(expression: Expression, XT: Array, lower: Array, upper: Array, seed: int) -> Array:
    """Points of the box near those where a singular argument is closest to leaving its domain.

    A pole between two sampled points is found by sampling again, finer, around the worst ones.
    """
    rng = np.random.default_rng(seed)
    domains = _sum_domains(expression)[: -len(expression.outputs)]
    values = [z for args in expression.arguments(XT.T) for z in args]
    nearest = []
    for z, domain in zip(values, domains, strict=True):
        if domain is not None:
            nearest += [np.argsort(z)[:8]] if domain[0] > -math.inf else []
            nearest += [np.argsort(-z)[:8]] if domain[1] < math.inf else []
    if not nearest:
        return XT[:, :0]
    centres = XT[:, np.unique(np.concatenate(nearest))]
    spread = (upper - lower)[:, None, None] * np.array([0.1, 0.01])[None, None, :]
    clouds = [
        centres[:, :, None] + spread[:, :, [k]] * rng.uniform(-1, 1, (*centres.shape, 64))
        for k in range(2)
    ]
    points = np.concatenate([c.reshape(len(XT), -1) for c in clouds], axis=1)
    return np.ascontiguousarray(np.clip(points, lower[:, None], upper[:, None]))


def excess(low: float, high: float, y: Array) -> float:
    """How far an output that reaches from low to high goes beyond the measured values.

    The largest distance from the middle of y, in ranges of y: 0.5 at its own ends.
    """
    least, most = float(y.min()), float(y.max())
    middle, width = 0.5 * least + 0.5 * most, most - least
    distance = max(high - middle, middle - low)
    # A target that never changes has no range; its rounding must not be blown up.
    return distance / max(width, 1e-9 * abs(middle), 1e-300)
