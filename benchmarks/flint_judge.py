"""A second judge of proofs: the same claims, bounded by Arb (python-flint) with its own series.

Nothing of the interval arithmetic of ieql is used: numbers are balls of Arb, and derivatives come
from its truncated power series. A box is split until the claim is certain in it, is certainly
wrong in it, or the patience ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flint import arb, arb_series, ctx

from ieql.equations.expression import Expression, Sum
from ieql.shape import Limit

__all__ = ["Judged", "judge"]

ORDERS = {"increasing": 1, "decreasing": 1, "convex": 2, "concave": 2}
SIGNS = {"increasing": 1, "decreasing": -1, "convex": 1, "concave": -1}
DIGITS = 120
"""Bits of Arb's numbers."""
FINE, TOUCHING = 1 / 64, 0.05
"""A claim that holds with equality somewhere is never certain there, as a product of balls reaches
beyond that of intervals. So in a box whose sides are the first part of the domain's it may be
missed by the second part of the values' size."""


@dataclass(frozen=True)
class Judged:
    """In how many boxes a claim is certain, certainly wrong, and not decided."""

    certain: int = 0
    wrong: int = 0
    undecided: int = 0

    @property
    def is_confirmed(self) -> bool:
        """Whether it is certain in all boxes."""
        return self.wrong == 0 and self.undecided == 0


def judge(
    expression: Expression,
    domain: Mapping[str, tuple[float, float]],
    limit: Limit | None = None,
    boxes: int = 10_000,
) -> Judged:
    """Judge whether an equation is safe in a domain or, if one is given, keeps to a limit there.

    Parameters
    ----------
    expression : Expression
        With one output.
    domain : mapping of str to (low, high)
        Where.
    limit : Limit, optional
        What; all but even and odd.
    boxes : int
        How many boxes are looked at, at most.
    """
    ctx.prec = DIGITS
    ends = [domain[name] for name in expression.names]
    column = None if limit is None or limit.column is None else expression.names.index(limit.column)
    if limit is not None and limit.place is not None:
        assert column is not None
        ends[column] = (limit.place, limit.place)
    used = [i for i, name in enumerate(expression.names) if name in expression.inputs_used]
    spans = [b - a for a, b in ends]
    stack = [ends]
    certain = wrong = 0
    size = 0.0
    while stack and certain + wrong + len(stack) < boxes:
        box = stack.pop(0)
        found = _distance(expression, box, limit, column)
        if found is not None and found.is_finite():
            size = max(size, abs(float(found.mid())))
            if found < 0 and float(found.upper()) < -1e-12 * size:
                wrong += 1
                continue
            is_fine = all(box[i][1] - box[i][0] <= FINE * spans[i] for i in used)
            if found >= 0 or (is_fine and float(found.lower()) > -TOUCHING * size):
                certain += 1
                continue
        axis = max(used, key=lambda i: (box[i][1] - box[i][0]) / (spans[i] or 1.0), default=None)
        if axis is None or box[axis][0] == box[axis][1]:
            return Judged(certain, wrong, 1 + len(stack))
        low, high = box[axis]
        middle = 0.5 * low + 0.5 * high
        for half in ((low, middle), (middle, high)):
            stack.append([*box[:axis], half, *box[axis + 1 :]])
    return Judged(certain, wrong, len(stack))


def _distance(
    expression: Expression, box: list[tuple[float, float]], limit: Limit | None, column: int | None
) -> Any:
    """A ball that must not be negative: how far the claim is from being wrong; None if unknown."""
    order = 0 if limit is None else ORDERS.get(limit.kind, 0)
    values: list[Any] = []
    for i, (low, high) in enumerate(box):
        ball = arb(low).union(arb(high))
        if order:
            values.append(arb_series([ball, 1 if i == column else 0], order + 1))
        else:
            values.append(ball)
    try:
        for node in expression.nodes:
            z = [_sum(a, values, order) for a in node.args]
            for a in node.unit.singular:
                first = z[a][0] if order else z[a]
                if first < 0:
                    return arb(-1)
                if not (first >= 0 if node.unit.closed else first > 0):
                    return None
            values.append(_unit(node.unit.name, z, order))
        output = _sum(expression.outputs[0], values, order)
    except (ValueError, ZeroDivisionError):
        return None
    if limit is None:
        return arb(1) if output.is_finite() else None
    if order:
        return output[order] * SIGNS[limit.kind]
    return output - limit.value if limit.kind == "at least" else limit.value - output


def _sum(s: Sum, values: list[Any], order: int) -> Any:
    total = arb_series([arb(s.bias)], order + 1) if order else arb(s.bias)
    for i, w in zip(s.sources, s.weights, strict=True):
        total = total + values[i] * arb(w)
    return total


def _unit(name: str, z: list[Any], order: int) -> Any:
    if name == "square":
        # As a ball times itself it would reach below zero.
        return z[0] * z[0] if order else z[0] ** 2
    if name == "mul":
        return z[0] * z[1]
    if name == "div":
        return z[0] / z[1]
    if name in MACHINE:
        return MACHINE[name](*z)
    if name in KINKED:
        return _kinked(name, z, order)
    return z[0] if name == "identity" else getattr(z[0], name)()


def _signed_power(z: Any, p: Any) -> Any:
    first = z[0] if isinstance(z, arb_series) else z
    if first > 0:
        return (z.log() * p).exp()
    if first < 0:
        return -((-z).log() * p).exp()
    raise ValueError("a power at zero has no series")


MACHINE: Mapping[str, Any] = {
    "tanh": lambda z: 1 - 2 / ((2 * z).exp() + 1),
    "logistic": lambda z: 1 / (1 + (-z).exp()),
    "gauss": lambda z: (-(z * z)).exp(),
    "power": lambda z, p: (z.log() * p).exp(),
    "signed_power": _signed_power,
}
"""Units that Arb has no series for by their name."""
KINKED = ("abs", "min", "max", "step")


def _kinked(name: str, z: list[Any], order: int) -> Any:
    """A unit with a kink or a jump, where it is certain on which side of it a box lies."""
    ahead = z[0] - z[1] if len(z) == 2 else z[0]
    first = ahead[0] if order else ahead
    if not (first > 0 or first < 0):
        raise ValueError("a kink has no series")
    if name == "step":
        return 0 * z[0] + (1 if first > 0 else 0)
    if name == "abs":
        return z[0] if first > 0 else -z[0]
    return z[0] if (first > 0) == (name == "max") else z[1]
