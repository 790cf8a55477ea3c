"""Whether an equation keeps to its limits at sampled points: the quick filter of the search.

Slopes and curvature are told by differences along lines through the domain. Whatever rises has
differences that are not negative: no equation that keeps to a limit is refused. Which of the others
keeps to it between the points, `ieql.equations.limit_proof` decides before it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.shape import AT_LEAST, AT_MOST, Limit

__all__ = ["ShapePoints"]

Array = NDArray[np.float64]
LINES, STEPS = 32, 17
"""Lines along an input, and points on each."""
ROUNDING = 1e-9
"""Part of the largest value by which differences may be wrong."""
DIFFERENCES = {"increasing": (1, 1.0), "decreasing": (1, -1.0), "convex": (2, 1.0),
               "concave": (2, -1.0)}  # fmt: skip
"""Which differences of which sign must not be negative."""


@dataclass(frozen=True, eq=False)
class ShapePoints:
    """Points by which limits are judged.

    Attributes
    ----------
    XT : array (inputs, points)
        All points.
    limits : tuple of (Limit, (start, stop))
        Every limit, and which of the points are its own.
    steps : int
        Points on each line.
    """

    XT: Array
    limits: tuple[tuple[Limit, tuple[int, int]], ...]
    steps: int = STEPS

    @classmethod
    def of(
        cls,
        limits: Sequence[Limit],
        names: Sequence[str],
        lower: Array,
        upper: Array,
        lines: int = LINES,
        steps: int = STEPS,
    ) -> ShapePoints | None:
        """Points of a box for limits; None where none of them needs points of its own.

        Bounds that hold everywhere have the points of the whole domain
        (`ieql.equations.safety.is_safe`).
        """
        rng = np.random.default_rng(0)
        blocks: list[Array] = []
        own: list[tuple[Limit, tuple[int, int]]] = []
        known: dict[tuple[int, str], tuple[int, int]] = {}
        start = 0
        for limit in limits:
            if limit.column is None:
                continue
            column = list(names).index(limit.column)
            kind = "line" if limit.kind in DIFFERENCES else limit.text
            if (column, kind) not in known:
                block = _block(limit, column, lower, upper, lines, steps, rng)
                blocks.append(block)
                known[column, kind] = start, start + block.shape[1]
                start += block.shape[1]
            own.append((limit, known[column, kind]))
        if not own:
            return None
        return cls(np.ascontiguousarray(np.concatenate(blocks, axis=1)), tuple(own), steps)

    def broken(self, evaluate: Callable[[Array], Array]) -> Limit | None:
        """The first limit that an equation breaks at the points, if there is one.

        It is given by a function from points (inputs, points) to its values.
        """
        values = np.asarray(evaluate(self.XT)).reshape(-1)
        if not np.all(np.isfinite(values)):
            return self.limits[0][0]
        for limit, (start, stop) in self.limits:
            v = values[start:stop]
            if _worst(limit, v, self.steps) < -ROUNDING * float(np.abs(v).max()):
                return limit
        return None


def _worst(limit: Limit, v: Array, steps: int) -> float:
    """How far a limit is broken at worst, as a number below zero."""
    if limit.kind in DIFFERENCES:
        order, sign = DIFFERENCES[limit.kind]
        return float((sign * np.diff(v.reshape(-1, steps), order, axis=1)).min())
    if limit.kind in (AT_LEAST, AT_MOST):
        return float((v - limit.value if limit.kind == AT_LEAST else limit.value - v).min())
    own, other = v.reshape(2, -1)
    return -float(np.abs(own + other if limit.kind == "odd" else own - other).max())


def _block(
    limit: Limit,
    column: int,
    lower: Array,
    upper: Array,
    lines: int,
    steps: int,
    rng: np.random.Generator,
) -> Array:
    """Points for one limit, (inputs, points)."""
    d = len(lower)
    # Limits are broken at the corners of the other inputs first; half of the lines run there.
    share = rng.random((d, lines))
    share[:, ::2] = np.round(share[:, ::2])
    if limit.kind in DIFFERENCES:
        points = np.repeat(_between(lower, upper, share), steps, axis=1)
        along = np.linspace(lower[column], upper[column], steps)
        points[column] = np.tile(along, lines)
        return points
    points = _between(lower, upper, np.concatenate([share, rng.random((d, 4 * lines))], axis=1))
    if limit.kind in (AT_LEAST, AT_MOST):
        assert limit.place is not None
        points[column] = limit.place
        return points
    reach = min(-lower[column], upper[column])
    points[column] = reach * rng.random(points.shape[1])
    other = points.copy()
    other[column] *= -1.0
    return np.concatenate([points, other], axis=1)


def _between(lower: Array, upper: Array, share: Array) -> Array:
    return np.asarray(lower[:, None] * (1.0 - share) + upper[:, None] * share)
