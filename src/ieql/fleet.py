"""One structure for many devices: searched in some of them and in all together, chosen for all.

Where devices differ in a constant, rows of all of them together hide the law, and the rows of one
are few. So structures come from both: a search in all rows, and short ones in single devices. Each
is then fitted to all devices, with constants that are shared or each one's own
(`ieql.equations.mixed_fit`), and the shortest description of all rows chooses.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ieql.data.dataset import Dataset, Domain
from ieql.data.intake import Measurements
from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.mixed_fit import MixedFit, mixed_fit
from ieql.equations.recalibrate import Movable
from ieql.prior import Prior
from ieql.selection import CONNECTION, LAW, Candidate

__all__ = ["Fleet", "fitted_structures", "Scored"]

Array = NDArray[np.float64]
MOST_NUMBERS = 20
"""A structure with more numbers is not fitted to devices of a few rows each."""
PROMISING = 12
"""Structures that are fitted to the end, after a first look at all."""
STARTS = 2
"""Constants that one structure begins with, as found in different devices."""


@dataclass(frozen=True, eq=False)
class Fleet:
    """The rows of one output by device.

    Attributes
    ----------
    labels : tuple of str
        The devices, in order.
    rows : tuple of Sample
        The rows of each.
    """

    labels: tuple[str, ...]
    rows: tuple[Sample, ...]

    @property
    def n_rows(self) -> float:
        return float(sum(r.weight.sum() for r in self.rows))


@dataclass(frozen=True, eq=False)
class Scored:
    """A structure fitted to all devices, and how long the description of everything by it is."""

    fit: MixedFit
    length: float


def fitted_structures(
    structures: Sequence[Expression],
    fleet: Fleet,
    domain: Array,
    prior: Prior,
    bounds: tuple[float, float] | None = None,
    may_differ: bool | None = None,
    deadline: float = math.inf,
) -> list[Scored]:
    """Fit structures to all devices, the shortest description first."""
    scale = fleet.n_rows * math.log(max(_variance(fleet), 1e-280))
    seen = [
        (found.length, e)
        for e in _different(structures)
        if (found := _first_look(e, fleet, domain, prior, bounds, may_differ, deadline)) is not None
    ]
    seen.sort(key=lambda pair: pair[0])
    results = []
    for _, e in seen[:PROMISING]:
        fit = mixed_fit(e, fleet.rows, domain, bounds, may_differ=may_differ)
        if fit is not None:
            results.append(Scored(fit, fit.length - scale + _structure_price(e, prior)))
        if time.monotonic() > deadline:
            break
    return sorted(results, key=lambda s: s.length)


def _first_look(
    e: Expression,
    fleet: Fleet,
    domain: Array,
    prior: Prior,
    bounds: tuple[float, float] | None,
    may_differ: bool | None,
    deadline: float,
) -> Scored | None:
    if time.monotonic() > deadline:
        return None
    fit = mixed_fit(e, fleet.rows, domain, bounds, rounds=1, may_differ=may_differ)
    return None if fit is None else Scored(fit, fit.length + _structure_price(e, prior))


def _structure_price(e: Expression, prior: Prior) -> float:
    complexity = e.complexity(prior)
    return CONNECTION * complexity + (LAW if complexity > 0.0 else 0.0)


def _different(structures: Sequence[Expression]) -> Iterator[Expression]:
    """The structures, each with the constants of at most so many that found it."""
    known: dict[object, int] = {}
    for e in structures:
        movable = Movable.of(e)
        if not 0 < movable.n <= MOST_NUMBERS:
            continue
        key = (e.skeleton, movable.n)
        known[key] = known.get(key, 0) + 1
        if known[key] <= STARTS:
            yield e


def _variance(fleet: Fleet) -> float:
    y = np.concatenate([r.y for r in fleet.rows])
    return float(np.var(y))
