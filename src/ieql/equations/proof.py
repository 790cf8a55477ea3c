"""Proof that an equation is safe in the whole declared domain, or a point where it is not.

Interval branch and bound: every singular argument is bounded over the box, by natural intervals and
by the mean-value form; where the bounds do not decide, the box is split. Before that, descents from
the worst of some points look for a counterexample. Arguments are decided one after the other in
topological order, each in the inputs that it depends on: what is proved of one bounds it wherever
it enters a later one.

The work is limited by a number of boxes, so that the outcome does not depend on the machine; the
clock is only an emergency brake.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ieql.equations.branching import (
    Leaves,
    ProofEffort,
    ProofStep,
    descend,
    draw,
    positive_bound,
    rounding_of,
)
from ieql.equations.expression import Expression, Node, Sum
from ieql.equations.intervals import Enclosure
from ieql.shape import AT_LEAST, AT_MOST
from ieql.units import Interval

__all__ = ["LITTLE_WORK", "WORK", "Condition", "Verdict", "conditions", "prove", "violated"]

Array = NDArray[np.float64]
WORK = 8_000_000
"""Work of a proof (`ProofEffort`): about half a second."""
LITTLE_WORK = 30_000
"""Work of a proof for which there is no time."""
FINITE = 1e300
"""An output that is proved to stay below this one is finite, whatever is rounded."""
TOUCHING = 1e-10
"""A distance below this part of its usual value, if it cannot be bounded, touches zero."""
ALL_BUT_LAST_DIGITS = 1.0 - 1e-9
BEYOND = 3.0
"""The extremes of an output are looked for if it may leave the known range by so many ranges."""


@dataclass(frozen=True)
class Verdict:
    """What `prove` has found.

    Attributes
    ----------
    proved : bool or None
        True if the equation is safe in the whole box, False if `point` shows that it is not, None
        if neither could be shown.
    point : array (inputs,) or None
        A point of the box where a unit is undefined (or as close to it as a descent comes), or
        where the output is not finite or out of bounds.
    low, high : float
        The least and the largest output that was met: the equation does go so far.
    boxes : int
        Number of boxes that were looked at.
    known : mapping from (node, argument) to (low, high)
        What is proved of the arguments of singular units.
    steps : tuple of ProofStep
        What the proof consists of, if it was asked for.
    undecided : tuple of (inputs, lower, upper)
        The boxes that are left, if they were asked for, in the inputs that matter there.
    limits : mapping of str to bool or None
        What was found of limits beside safety (`ieql.equations.limit_proof`).
    """

    proved: bool | None
    point: Array | None
    low: float
    high: float
    boxes: int
    known: Mapping[tuple[int, int], Interval] = field(default_factory=dict)
    steps: tuple[ProofStep, ...] = ()
    undecided: tuple[tuple[tuple[int, ...], Array, Array], ...] = ()
    limits: Mapping[str, bool | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Condition:
    """A sum that must be positive in the box: an argument's distance from an edge of its domain.

    Attributes
    ----------
    sum : Sum
        The distance, ``sign * (value - edge)``.
    closed : bool
        Whether zero is permitted.
    argument : (node, argument) or None
        Where it comes from; None for the output.
    edge, sign : float
        The edge, and on which side of it the domain lies.
    """

    sum: Sum
    closed: bool
    argument: tuple[int, int] | None
    edge: float
    sign: float

    def reached(self, distance: float) -> Interval:
        """Bounds of the value if the distance is at least so large."""
        end = self.edge + self.sign * distance
        return (end, math.inf) if self.sign > 0 else (-math.inf, end)

    def claim(self, distance: float, rounding: float) -> dict[str, object]:
        """What a distance shows, for a certificate: whoever rounds otherwise finds it, too."""
        if self.argument is None:
            return {"kind": AT_LEAST if self.sign > 0 else AT_MOST, "value": self.edge}
        node, argument = self.argument
        return {
            "kind": "argument",
            "node": node,
            "argument": argument,
            "edge": self.edge,
            "sign": self.sign,
            "distance": max(distance * ALL_BUT_LAST_DIGITS - 4.0 * rounding, 0.0),
        }


def conditions(expression: Expression, bounds: Interval | None = None) -> list[Condition]:
    """All that must hold everywhere in the domain, in topological order, the output last."""
    found = []
    for k, node in enumerate(expression.nodes):
        for a in _singular(node):
            found += _distances(node.args[a], node.unit.domains[a], node.unit.closed, (k, a))
    for output in expression.outputs:
        found += _distances(output, bounds or (-FINITE, FINITE), True, None)
    return found


def _singular(node: Node) -> list[int]:
    """Arguments that may leave their domain; a constant does not, or the value is not finite."""
    return [a for a in node.unit.singular if not node.args[a].is_constant]


def _distances(
    s: Sum, domain: Interval, closed: bool, argument: tuple[int, int] | None
) -> list[Condition]:
    return [
        Condition(s.plus(Sum(-edge)).scaled(sign), closed, argument, edge, sign)
        for edge, sign in zip(domain, (1.0, -1.0), strict=True)
        if math.isfinite(edge)
    ]


def violated(expression: Expression, X: Array, bounds: Interval | None = None) -> NDArray[np.bool_]:
    """At which rows a unit is undefined, or the output not finite or out of bounds.

    The expression itself is evaluated, as in `predict`. Denominators must be positive.
    """
    value = expression.evaluate(X)
    bad = ~np.isfinite(value).all(axis=1)
    if bounds is not None:
        bad |= ((value < bounds[0]) | (value > bounds[1])).any(axis=1)
    for node, args in zip(expression.nodes, expression.arguments(X), strict=True):
        for a in _singular(node):
            low, high = node.unit.domains[a]
            z = args[a]
            inside = (low < z) & (z < high)
            if node.unit.closed:
                inside |= np.isfinite(z) & ((z == low) | (z == high))
            bad |= ~inside
    return np.asarray(bad)


def prove(
    expression: Expression,
    lower: Array,
    upper: Array,
    bounds: Interval | None = None,
    seconds: float = 1.0,
    work: float = WORK,
    is_late: Callable[[], bool] | None = None,
    extremes: bool = True,
    record: bool = False,
) -> Verdict:
    """Decide whether an equation is safe in the whole closed box.

    Every singular argument must be inside its domain, and the output finite.

    Parameters
    ----------
    expression : Expression
        What is to be proved.
    lower, upper : array (inputs,)
        The ends of the box.
    bounds : (low, high), optional
        What the output must not leave.
    seconds : float
        Time after which the search is given up, if the work has not ended it.
    work : float
        How much is bounded at most; see `ieql.equations.branching.ProofEffort`.
    is_late : callable, optional
        Asked between the boxes: once it says yes, the search is given up.
    extremes : bool
        Look also for how far the output goes.
    record : bool
        Keep the steps of the proof, for a certificate.
    """
    ends = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    hunt = _Hunt(expression, *ends, bounds, ProofEffort.of(work, seconds, is_late), record)
    with np.errstate(all="ignore"):
        is_open = hunt.run()
        if extremes and hunt.point is None:
            hunt.look_far()
    proved = False if hunt.point is not None else None if is_open else True
    return Verdict(
        proved,
        hunt.point,
        hunt.low,
        hunt.high,
        hunt.budget.boxes,
        hunt.known,
        tuple(hunt.steps) if proved else (),
        tuple(hunt.undecided) if proved is None else (),
    )


@dataclass
class _Hunt:
    """The search for a proof or a counterexample of one expression."""

    expression: Expression
    lower: Array
    upper: Array
    bounds: Interval | None
    budget: ProofEffort
    record: bool = False
    point: Array | None = None
    """A counterexample."""
    low: float = math.inf
    high: float = -math.inf
    known: dict[tuple[int, int], Interval] = field(default_factory=dict)
    """What is proved of the arguments."""
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    steps: list[ProofStep] = field(default_factory=list)
    undecided: list[tuple[tuple[int, ...], Array, Array]] = field(default_factory=list)

    def run(self) -> bool:
        """Decide all conditions until one is refuted; whether one is left open."""
        points = draw(self.lower, self.upper, self.rng).T
        if self.is_refuted_at(np.concatenate([points, [0.5 * self.lower + 0.5 * self.upper]])):
            return True
        is_open = False
        for condition in conditions(self.expression, self.bounds):
            distance = self._decide(condition)
            if self.point is not None:
                return True
            if distance is None:
                is_open = True
            elif condition.argument is not None:
                low, high = condition.reached(max(distance, 0.0))
                before = self.known.get(condition.argument, (-math.inf, math.inf))
                self.known[condition.argument] = max(low, before[0]), min(high, before[1])
        return is_open

    def is_refuted_at(self, X: Array) -> bool:
        """Whether a row is a counterexample; the range of the output is noted, too."""
        # In a domain as wide as the floats a step may overflow.
        X = X[np.all((self.lower <= X) & (self.upper >= X), axis=1)]
        bad = violated(self.expression, X, self.bounds)
        if bad.any():
            self.point = X[int(np.argmax(bad))]
        value = self.expression.evaluate(X[~bad])
        if len(value):
            self.low = min(self.low, float(value.min()))
            self.high = max(self.high, float(value.max()))
        return bool(bad.any())

    def _box(self, f: Enclosure) -> tuple[Array, Array]:
        inputs = list(f.inputs)
        return self.lower[inputs], self.upper[inputs]

    def _rows(self, f: Enclosure, points: Array) -> Array:
        """Rows of all inputs from points in those that matter; the others are in their middle."""
        X = np.tile(0.5 * self.lower + 0.5 * self.upper, (points.shape[1], 1))
        X[:, list(f.inputs)] = points.T
        return X

    def _decide(self, condition: Condition) -> float | None:
        """A lower bound of a distance if it is positive, else None; a counterexample is kept."""
        f = Enclosure(self.expression, condition.sum, self.known)
        box = self._box(f)

        def look_closer() -> bool:
            if self.budget.work < 10 * LITTLE_WORK or self.budget.is_spent:
                return False
            found = descend(f, *box, self.rng, until=-1e-300 if condition.closed else 0.0)
            X = self._rows(f, found.point[:, None])
            if self.is_refuted_at(X):
                return True
            # A double zero is met by rounding at best; no sign change would ever tell.
            if not condition.closed and found.value <= TOUCHING * found.usual:
                touching.append(X[0])
            return False

        touching: list[Array] = []
        leaves = Leaves() if self.record else None
        distance = positive_bound(
            f,
            *box,
            condition.closed,
            self.budget,
            is_refuted=lambda points: self.is_refuted_at(self._rows(f, points)),
            look_closer=look_closer,
            leaves=leaves,
        )
        if leaves is not None and distance is not None:
            claim = condition.claim(distance, rounding_of(f, *box))
            self.steps.append(ProofStep(claim, f.inputs, leaves))
        elif leaves is not None:
            self.undecided += [(f.inputs, low, high) for low, high in leaves.undecided]
        if distance is None and self.point is None and touching:
            self.point = touching[0]
        return distance

    def look_far(self) -> None:
        """Follow the output to its extremes if it may go much further than where it was met."""
        reach = BEYOND * (self.high - self.low)
        for output in self.expression.outputs:
            for sign, met in ((1.0, self.low), (-1.0, -self.high)):
                f = Enclosure(self.expression, output.scaled(sign), self.known)
                if not f.inputs or self.budget.is_spent:
                    continue
                lower, upper = self._box(f)
                if f.bounds(lower[:, None], upper[:, None])[0][0] < met - reach:
                    found = descend(f, lower, upper, self.rng, starts=8)
                    self.is_refuted_at(self._rows(f, found.point[:, None]))
