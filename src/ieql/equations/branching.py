"""How low a sum goes over a box: descents from above, branch and bound from below."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ieql.equations.intervals import EPS, Bounds, Enclosure

__all__ = [
    "Descent",
    "Leaves",
    "ProofEffort",
    "ProofStep",
    "descend",
    "draw",
    "positive_bound",
    "rounding_of",
]

Array = NDArray[np.float64]
SWEEP = 2048
"""Boxes that are bounded at once."""
POINTS, CORNERS = 768, 256
"""Points and corners of a box among which descents start."""
STARTS, STEPS = 24, 24
"""Number of descents, and of the steps of each."""
WIDE = 1e3
"""Ratio of the ends of an interval above which it is split in the middle of its decades."""
ROUNDING = 16.0 * EPS
"""Part of the size of its terms by which a computed sum may be off."""


@dataclass
class ProofEffort:
    """What may still be spent on a proof.

    Attributes
    ----------
    work : float
        Numbers that may still be bounded: boxes × units × inputs.
    deadline : float
        Time of this thread at which the search is given up; a busy machine does not matter.
    is_late : callable
        Asked now and then: once it says yes, nothing is left.
    boxes : int
        Number of boxes looked at so far.
    """

    work: float
    deadline: float
    is_late: Callable[[], bool] = lambda: False
    boxes: int = 0

    @classmethod
    def of(
        cls, work: float, seconds: float, is_late: Callable[[], bool] | None = None
    ) -> ProofEffort:
        """So much work, and so many seconds from now on."""
        return cls(work, time.thread_time() + seconds, is_late or (lambda: False))

    def spend(self, f: Enclosure, boxes: int) -> None:
        """Note the work for so many boxes; a small number costs little less than some dozens."""
        self.work -= (boxes + 30) * (len(f.nodes) + 2) * (len(f.inputs) + 3)
        self.boxes += boxes

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.work <= 0 or time.thread_time() > self.deadline or self.is_late()


# --- descents ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Descent:
    """The lowest point that was found, its value, and the size of usual values."""

    point: Array
    value: float
    usual: float


def draw(lower: Array, upper: Array, rng: np.random.Generator) -> Array:
    """Random points and corners of a box, (inputs, points)."""
    d = len(lower)
    share = rng.random((d, POINTS))
    inside = lower[:, None] * (1.0 - share) + upper[:, None] * share
    if 2**d <= CORNERS:
        at_upper = (np.arange(2**d)[None, :] >> np.arange(d)[:, None]) % 2 == 1
    else:
        at_upper = rng.random((d, CORNERS)) < 0.5
    corners = np.where(at_upper, upper[:, None], lower[:, None])
    points = np.concatenate([inside, corners], axis=1)
    return np.asarray(np.clip(points, lower[:, None], upper[:, None]))


def descend(
    f: Enclosure,
    lower: Array,
    upper: Array,
    rng: np.random.Generator,
    until: float = -np.inf,
    starts: int = STARTS,
) -> Descent:
    """Follow the slope of a sum downwards from the lowest of some points, to `until` at most."""
    points = draw(lower, upper, rng)
    value = _middle(f.bounds(points, points))
    usual = float(np.median(np.abs(value)))
    first = np.argsort(value)[:starts]
    x, best = points[:, first], value[first]
    step = np.full(len(best), 0.1)
    for _ in range(STEPS):
        if np.any(best <= until) or np.all(step < 1e-7):
            break
        tried = _moves(f, x, best, step, lower, upper)
        values = _middle(f.bounds(*(2 * [tried.reshape(len(x), -1)]))).reshape(len(best), -1)
        pick = np.argmin(np.where(np.isnan(values), np.inf, values), axis=1)
        rows = np.arange(len(pick))
        better = values[rows, pick] < best
        # Of the last three moves, which go by the step, the best one tells how long the next is.
        factor = np.array([1.0, 1.0, 0.2, 1.0, 4.0])[pick]
        step = np.where(better, step * factor, 0.1 * step)
        x = np.where(better, tried[:, rows, pick], x)
        best = np.where(better, values[rows, pick], best)
    lowest = int(np.argmin(best))
    return Descent(x[:, lowest], float(best[lowest]), usual)


def _moves(f: Enclosure, x: Array, value: Array, step: Array, lower: Array, upper: Array) -> Array:
    """Where to go from each point, (inputs, points, moves).

    To the corner that the slope points to, to the zero of the tangent, and by steps of a part of
    the box.
    """
    low, high = lower[:, None], upper[:, None]
    width = high - low
    slope = np.nan_to_num(_middle(f.bounds_and_slopes(x, x)[1]) * width, posinf=0.0, neginf=0.0)
    steepest = np.maximum(np.abs(slope).max(axis=0), 1e-300)
    direction = -slope / steepest
    direction /= np.maximum(np.sqrt((direction**2).sum(axis=0)), 1e-300)
    ends = [np.where(slope > 0, low, np.where(slope < 0, high, x))]
    newton = 1.1 * np.abs(value) / steepest
    for size in (np.minimum(newton, 2.0), 0.2 * step, step, 4.0 * step):
        ends.append(np.clip(x + direction * size * width, low, high))
    return np.stack(ends, axis=2)


def _middle(bounds: Bounds) -> Array:
    return 0.5 * bounds[0] + 0.5 * bounds[1]


# --- branch and bound --------------------------------------------------------------------------


@dataclass
class Leaves:
    """The boxes with which a search ended: those that are decided cover all but the open ones.

    Attributes
    ----------
    decided, undecided : list of (lower, upper)
        Arrays (inputs, boxes).
    """

    decided: list[tuple[Array, Array]] = field(default_factory=list)
    undecided: list[tuple[Array, Array]] = field(default_factory=list)


@dataclass(frozen=True)
class ProofStep:
    """One thing that was shown, and the boxes that show it.

    Attributes
    ----------
    claim : mapping
        What was shown, in the words of a certificate (`ieql.check_certificate`).
    inputs : tuple of int
        The inputs that the boxes are about.
    leaves : Leaves
        The boxes.
    """

    claim: Mapping[str, Any]
    inputs: tuple[int, ...]
    leaves: Leaves


class _Bundle(NamedTuple):
    """Boxes that may have shrunk to a side, and the boxes that these stand for."""

    lower: Array
    upper: Array
    whole_lower: Array
    whole_upper: Array

    @property
    def whole(self) -> tuple[Array, Array]:
        return self.whole_lower, self.whole_upper

    def chosen(self, which: NDArray[np.generic]) -> _Bundle:
        return _Bundle(*(ends[:, which] for ends in self))

    @staticmethod
    def joined(bundles: list[_Bundle]) -> _Bundle:
        return _Bundle(*(np.concatenate(ends, axis=1) for ends in zip(*bundles, strict=True)))


class _Boxes:
    """Boxes that are not decided yet, in bundles; those with the least bounds come first."""

    def __init__(self, lower: Array, upper: Array) -> None:
        self.bundles: list[tuple[float, int, _Bundle]] = []
        self.count = 0
        self.add(_Bundle(lower, upper, lower, upper), np.zeros(lower.shape[1]))

    def __len__(self) -> int:
        return len(self.bundles)

    def take(self, most: float) -> _Bundle:
        """Take bundles out until there are so many boxes, or a few more."""
        taken, n = [], 0
        while self.bundles and n < most:
            taken.append(heappop(self.bundles)[2])
            n += taken[-1].lower.shape[1]
        return _Bundle.joined(taken)

    def add(self, boxes: _Bundle, bound: Array) -> None:
        """Add boxes, with a lower bound for each."""
        order = np.argsort(bound, kind="stable")
        for start in range(0, len(order), SWEEP):
            part = order[start : start + SWEEP]
            self.count += 1  # decides between equal bounds
            heappush(self.bundles, (float(bound[part[0]]), self.count, boxes.chosen(part)))


@dataclass(frozen=True)
class _Swept:
    """What a sweep has found of some boxes, which are smaller now where the sum is monotone."""

    boxes: _Bundle
    bound: Array
    """Lower bound of the sum."""
    centre: Array
    """A point of each box where the sum is low."""
    low: Array
    """A lower bound of the sum at that point."""
    smear: Array
    """By how much the sum may vary along each input."""


def rounding_of(f: Enclosure, lower: Array, upper: Array) -> float:
    """By how much a computed value of a sum may be off in a box."""
    size = f.size(lower[:, None], upper[:, None])
    return float(np.nan_to_num(ROUNDING * size, posinf=0.0)[0])


def positive_bound(
    f: Enclosure,
    lower: Array,
    upper: Array,
    closed: bool,
    budget: ProofEffort,
    is_refuted: Callable[[Array], bool] = lambda points: False,
    look_closer: Callable[[], bool] = lambda: False,
    leaves: Leaves | None = None,
) -> float | None:
    """A lower bound of a sum over a box, if it is proved to be positive; else None.

    Parameters
    ----------
    f : Enclosure
        The sum.
    lower, upper : array (inputs,)
        The ends of the box, for the inputs of `f`.
    closed : bool
        Whether zero is good enough. Then rounding does no harm: 1 - cos(x) counts as not negative.
    budget : ProofEffort
        What may be spent.
    is_refuted : callable
        Is shown points (inputs, points) where the sum may be negative; if it says yes, all is over.
    look_closer : callable
        Called once, before the first box is split; if it says yes, all is over.
    leaves : Leaves, optional
        Is given the boxes with which the search ends.
    """
    whole = lower[:, None], upper[:, None]
    slack = rounding_of(f, lower, upper)
    boxes = _Boxes(*whole)
    least = np.inf
    is_first = True
    while len(boxes):
        swept = _sweep(f, boxes.take(SWEEP), slack)
        budget.spend(f, len(swept.bound))
        done = swept.bound >= -2.0 * slack if closed else swept.bound > 0.0
        least = min(least, swept.bound[done].min(initial=np.inf))
        if leaves is not None:
            leaves.decided.append(swept.boxes.chosen(done).whole)
        if np.all(done):
            continue
        suspect = ~done & (swept.low <= 0.0)
        if suspect.any() and is_refuted(swept.centre[:, suspect]):
            return None
        if is_first and look_closer():
            return None
        is_first = False
        if not f.is_known or budget.is_spent or not _split(swept, ~done, whole, boxes):
            if leaves is not None:
                leaves.undecided.append(swept.boxes.chosen(~done).whole)
                leaves.undecided += [boxes.take(np.inf).whole] if len(boxes) else []
            return None
    return float(least)


def _sweep(f: Enclosure, boxes: _Bundle, slack: float) -> _Swept:
    """Bound a sum over some boxes, by natural intervals and by the mean-value form."""
    lower, upper = boxes.lower, boxes.upper
    (natural, _), (least, most) = f.bounds_and_slopes(lower, upper)
    # Where the sum rises or falls all over the box, its minimum lies on one side. Where it is
    # infinitely steep, it need not have a value there, and nothing would be left to split.
    rises = (least >= 0.0) & (most < np.inf)
    falls = (most <= 0.0) & (least > -np.inf)
    lower, upper = np.where(falls & ~rises, upper, lower), np.where(rises, lower, upper)
    # The point for which the bound is highest (Baumann): as much may be lost on either side.
    share = np.nan_to_num(most / (most - least), nan=0.5)
    centre = np.clip(lower * share + upper * (1.0 - share), lower, upper)
    low, _ = f.bounds(centre, centre)
    below, above = lower - centre, upper - centre
    losses = np.minimum(
        np.where(below < 0.0, most * below, 0.0), np.where(above > 0.0, least * above, 0.0)
    )
    loss = losses.sum(axis=0) * (1.0 + 4.0 * EPS * (len(lower) + 2))
    # The mean-value form holds for exact values; those that are computed may be off.
    tangent = low + loss - slack - 4.0 * EPS * np.abs(low)
    bound = np.fmax(natural, tangent)
    width = upper - lower
    smear = np.where(width > 0.0, np.maximum(-least, most) * width, 0.0)
    shrunk = boxes._replace(lower=lower, upper=upper)
    return _Swept(shrunk, bound, centre, low, smear)


def _split(
    swept: _Swept, chosen: NDArray[np.bool_], whole: tuple[Array, Array], boxes: _Boxes
) -> bool:
    """Halve boxes along the input that matters most; False if one is as small as can be."""
    parents, bound = swept.boxes.chosen(chosen), swept.bound[chosen]
    lower, upper = parents.lower, parents.upper
    if len(lower) == 0:  # the sum is a number
        return False
    smear = swept.smear[:, chosen]
    # Where a slope is not bounded, the widest of such inputs is taken.
    part = (upper - lower) / np.maximum(whole[1] - whole[0], 1e-300)
    smear = np.where(np.isfinite(smear), np.minimum(smear, 1e200), 1e250 * part)
    axis = np.argmax(smear, axis=0)
    columns = np.arange(len(axis))
    a, b = lower[axis, columns], upper[axis, columns]
    middle = np.where((a > 0.0) & (b > WIDE * a), np.sqrt(a) * np.sqrt(b), 0.5 * a + 0.5 * b)
    if not np.all((a < middle) & (middle < b)):
        return False
    left, right = (_Bundle(*(ends.copy() for ends in parents)) for _ in range(2))
    for ends in (left.upper, left.whole_upper, right.lower, right.whole_lower):
        ends[axis, columns] = middle
    boxes.add(_Bundle.joined([left, right]), np.concatenate([bound, bound]))
    return True
