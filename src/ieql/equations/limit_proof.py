"""Proof that an equation keeps to a limit in the whole declared domain, or a point where it breaks.

A limit becomes sums that must not be negative: the output's distance from a bound, its derivative
by an input, its second derivative. `ieql.equations.branching` decides them, as it decides whether
the equation is safe. Even and odd are told by the form (`ieql.equations.mirror`).

A derivative does not exist at the zero of a root. Where the first derivative has its sign on both
sides of such a point the output still rises, as it is continuous. Curvature could jump there, as in
-|x|: so a root must be shown to have no zero along the input, except at the edge of the domain. It
has none where its argument is positive, or where that rises or falls all the way.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from ieql.equations.derivative import derivative
from ieql.equations.expression import Expression, Sum
from ieql.equations.intervals import Enclosure
from ieql.equations.mirror import has_parity, mirrored
from ieql.equations.proof import LITTLE_WORK, violated
from ieql.shape import AT_LEAST, AT_MOST, Limit
from ieql.units import Interval

__all__ = ["LimitVerdict", "decide"]

Array = NDArray[np.float64]
Known = Mapping[tuple[int, int], Interval]
SIGNS: Mapping[str, float] = {"increasing": 1.0, "decreasing": -1.0, "convex": 1.0, "concave": -1.0}
CURVATURE = ("convex", "concave")
PARITY_ROUNDING = 1e-9
"""Part of the output's size by which values at mirrored points may differ."""


@dataclass(frozen=True)
class LimitVerdict:
    """What is known of a limit.

    Attributes
    ----------
    limit : Limit
        The limit.
    proved : bool or None
        True, False if `point` shows that it does not hold, None if neither could be shown.
    point : array (inputs,) or None
        Where it does not hold.
    steps : tuple of ProofStep
        What a proof consists of.
    undecided : list of (inputs, lower, upper)
        Boxes that are left, in the inputs that matter there.
    """

    limit: Limit
    proved: bool | None
    point: Array | None = None
    steps: tuple[ProofStep, ...] = ()
    undecided: tuple[tuple[tuple[int, ...], Array, Array], ...] = ()


def decide(
    expression: Expression,
    lower: Array,
    upper: Array,
    limit: Limit,
    budget: ProofEffort,
    known: Known | None = None,
) -> LimitVerdict:
    """Decide whether an equation that is safe in a box keeps to a limit there.

    Parameters
    ----------
    expression : Expression
        With one output.
    lower, upper : array (inputs,)
        The ends of the box.
    limit : Limit
        What is to be proved.
    budget : ProofEffort
        What may be spent.
    known : mapping from (node, argument) to (low, high)
        What is proved of the arguments of its units.
    """
    if limit.kind in (AT_LEAST, AT_MOST):
        # The whole claim lies on a side of the box where it is about one value of an input.
        lower, upper = lower.copy(), upper.copy()
        if limit.place is not None and limit.column is not None:
            column = expression.names.index(limit.column)
            lower[column] = upper[column] = limit.place
    case = _Case(expression, lower, upper, limit, budget, known or {})
    with np.errstate(all="ignore"):
        if limit.kind in (AT_LEAST, AT_MOST):
            proved = case.shows(expression, _distance(expression.outputs[0], limit))
        elif limit.kind in SIGNS:
            proved = case.slope()
        else:
            proved = case.parity()
    verdict = False if case.point is not None else True if proved else None
    # The limit itself was shown first, and rests on what was shown beside it.
    steps = tuple(reversed(case.steps)) if verdict else ()
    undecided = () if verdict is not None else tuple(case.undecided)
    return LimitVerdict(limit, verdict, case.point, steps, undecided)


def _distance(output: Sum, limit: Limit) -> Sum:
    sign = 1.0 if limit.kind == AT_LEAST else -1.0
    return output.plus(Sum(-limit.value)).scaled(sign)


@dataclass
class _Case:
    """One limit of one equation."""

    expression: Expression
    lower: Array
    upper: Array
    limit: Limit
    budget: ProofEffort
    known: Known
    point: Array | None = None
    steps: list[ProofStep] = field(default_factory=list)
    undecided: list[tuple[tuple[int, ...], Array, Array]] = field(default_factory=list)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @property
    def column(self) -> int:
        assert self.limit.column is not None
        return self.expression.names.index(self.limit.column)

    def slope(self) -> bool:
        """Whether the first or second derivative has the right sign."""
        sign = SIGNS[self.limit.kind]
        graph = derivative(self.expression, self.column)
        if graph is not None and self.limit.kind in CURVATURE:
            graph = derivative(graph, self.column)
        if graph is None:
            return False
        if not self.shows(graph, graph.outputs[0].scaled(sign)):
            return False
        return self.limit.kind not in CURVATURE or all(
            self._is_smooth(k) for k in range(len(self.expression.nodes))
        )

    def _is_smooth(self, k: int) -> bool:
        """Whether a root has no zero along the input, but for one at the edge of the domain."""
        e, node = self.expression, self.expression.nodes[k]
        if not node.unit.closed or self.column not in e.inputs_below(len(e.names) + k):
            return True
        for a in node.unit.singular:
            argument = Expression(e.names, e.nodes, (node.args[a],))
            slope = derivative(argument, self.column)
            if slope is None:
                return False
            place = {"input": self.limit.column, "node": k, "argument": a}
            ways = (
                (argument, node.args[a], {"kind": "positive argument", **place}),
                (slope, slope.outputs[0], {"kind": "rising argument", **place}),
                (slope, slope.outputs[0].scaled(-1.0), {"kind": "falling argument", **place}),
            )
            if not any(self.shows(graph, s, claim) for graph, s, claim in ways):
                return False
        return True

    def shows(self, graph: Expression, s: Sum, aside: Mapping[str, object] | None = None) -> bool:
        """Whether a sum is not negative anywhere in the box.

        That is the limit itself, to which a counterexample is looked for, or it is an `aside`: then
        the sum must be positive.
        """
        f = Enclosure(graph, s, self._known_in(graph))
        inputs = list(f.inputs)
        box = self.lower[inputs], self.upper[inputs]
        is_limit = aside is None
        slack = 2.0 * rounding_of(f, *box)

        def is_refuted(points: Array) -> bool:
            below = f.bounds(points, points)[1] < -slack
            X = self._rows(f, points[:, below])
            if not is_limit or not len(X):
                return False
            # Where a derivative does not exist, its bounds say nothing.
            X = X[~violated(graph, X)]
            if len(X):
                self.point = X[0]
            return bool(len(X))

        def look_closer() -> bool:
            hurry = self.budget.work < 10 * LITTLE_WORK or self.budget.is_spent
            if not is_limit or not f.inputs or hurry:
                return False
            found = descend(f, *box, self.rng, until=-1e-300 - slack)
            return is_refuted(found.point[:, None])

        leaves = Leaves()
        found = positive_bound(f, *box, is_limit, self.budget, is_refuted, look_closer, leaves)
        if found is not None:
            self.steps.append(
                ProofStep(self._claim() if aside is None else aside, f.inputs, leaves)
            )
        elif is_limit:
            self.undecided += [(f.inputs, low, high) for low, high in leaves.undecided]
        return found is not None

    def _claim(self) -> dict[str, object]:
        limit = self.limit
        claim: dict[str, object] = {"kind": limit.kind}
        claim |= {} if limit.column is None else {"input": limit.column}
        claim |= {"value": limit.value} if limit.kind in (AT_LEAST, AT_MOST) else {}
        return claim | ({} if limit.place is None else {"place": limit.place})

    def _rows(self, f: Enclosure, points: Array) -> Array:
        """Rows of all inputs from points in those that matter; the others are in their middle."""
        X = np.tile(0.5 * self.lower + 0.5 * self.upper, (points.shape[1], 1))
        X[:, list(f.inputs)] = points.T
        return X

    def _known_in(self, graph: Expression) -> dict[tuple[int, int], Interval]:
        """What is known of arguments, also where a derivative has them again."""
        nodes = self.expression.nodes
        by_sum = {nodes[k].args[a]: bounds for (k, a), bounds in self.known.items()}
        found = dict(self.known)
        for k in range(len(nodes), len(graph.nodes)):
            for a, s in enumerate(graph.nodes[k].args):
                if s in by_sum:
                    found[k, a] = by_sum[s]
        return found

    def parity(self) -> bool:
        """Whether the output is even or odd: by its form, or else by some points that it is not."""
        odd = self.limit.kind == "odd"
        if has_parity(self.expression, self.column, odd):
            self.steps.append(ProofStep(self._claim(), (), Leaves()))
            return True
        # On the part of the domain that holds the mirrored points, too.
        lower, upper = self.lower.copy(), self.upper.copy()
        reach = min(-lower[self.column], upper[self.column])
        lower[self.column], upper[self.column] = -reach, reach
        X = draw(lower, upper, self.rng).T
        own = self.expression.evaluate(X)[:, 0]
        other = mirrored(self.expression, self.column).evaluate(X)[:, 0]
        apart = np.abs(own + other if odd else own - other)
        size = float(np.nanmax(np.abs(own), initial=0.0))
        bad = apart > PARITY_ROUNDING * size
        if bad.any():
            self.point = X[int(np.nanargmax(np.where(bad, apart, -1.0)))]
        return False
