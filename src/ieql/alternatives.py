"""What else an equation could be: other structures that the rows cannot tell from it.

Descriptions of the data (`ieql.selection`, criterion MDL) whose lengths differ by a few nats are
equally good: the rows do not say which is the law. So the ones that were tried are kept and shown,
with where in the domain they differ most and how many more rows would decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.data.dataset import Domain
from ieql.data.sample import Sample
from ieql.model import FittedModel
from ieql.selection import DEFAULT, Candidate, scores

__all__ = [
    "AS_GOOD",
    "KEPT_WITHIN",
    "Alternative",
    "alternatives",
    "alternatives_sentence",
    "climbed",
    "noise_of",
    "plausible",
    "readable",
    "values_of",
    "with_rivals",
]

Array = NDArray[np.float64]
AS_GOOD = 5.0
"""Nats within which the rows do not tell two structures apart: odds of 150 to 1 at most."""
DECIDED = 10.0
"""Nats at which the rows have decided: odds of 20,000 to 1."""
KEPT_WITHIN = 10.0
"""Nats within which a rival of the selected equation is kept: another one may be selected later."""
MOST_RIVALS = 12
"""Rivals of each output that are kept, at most."""
SAME = 0.05
"""Part of the noise below which a difference of two equations does not count, anywhere."""
ROUNDING = 1e-9
"""The same as a part of their values."""
ROWS = 2_000
"""Rows, at most, over which the mean difference of two equations is taken."""
TOO_MANY_ROWS = 1e12
"""Nobody measures so many rows: more do not count as a number."""
N_POINTS, N_CORNERS = 2_000, 256
"""Points of the domain at which equations are compared: drawn, and corners."""
N_STARTS, N_STEPS = 4, 30
"""Points from which the largest difference is looked for, and steps from each."""
FIRST_STEP = 0.05
"""Part of the domain's width of the first step."""
WHERE_INPUTS = 6
"""Inputs of a place in the domain that its text names, at most."""
WHERE_DIGITS = 4
"""Digits of a place in the domain, counted from the width of the domain."""


@dataclass(frozen=True, eq=False)
class Alternative:
    """A structure that describes the rows as well as another one.

    Attributes
    ----------
    candidate : Candidate
        The equation with its errors.
    index : int or None
        Its row on the front; None if it is not on it.
    nats : float
        How much longer its description of the data is; below zero if it is shorter.
    largest_difference : float
        Largest difference of the two equations in the domain, in the unit of the target; infinite
        if one of them has no value where the other one has.
    where : dict
        The point of the domain where they differ most: the inputs that they use.
    rows_needed : float
        How many more rows like those at hand would decide between them, to two digits; infinite
        if they do not differ there.
    """

    candidate: Candidate
    index: int | None
    nats: float
    largest_difference: float
    where: dict[str, float]
    rows_needed: float

    def where_text(self) -> str:
        """The point in words: ``x = 3.2, T = 400``; of many inputs the first."""
        parts = [f"{name} = {value:.6g}" for name, value in self.where.items()]
        return ", ".join(parts[:WHERE_INPUTS] + ["…"] * (len(parts) > WHERE_INPUTS))


def alternatives(
    model: FittedModel, index: int | None = None, output: int = 0
) -> list[Alternative]:
    """The structures that the rows cannot tell from an equation, the best description first.

    Parameters
    ----------
    model : FittedModel
        Its front and its rivals are what was tried.
    index : int, optional
        Row of the output's front; default: the selected equation.
    output : int
        The output.
    """
    base = model.candidate(index, output)
    known = _known(model, output)
    own = next(i for i, c in enumerate(known) if c is base)
    nats = _nats(model, known, output)
    nats -= nats[own]
    as_good = [i for i in range(len(known)) if i != own and abs(nats[i]) <= AS_GOOD]
    kept = _distinct(
        [own, *_simplest_first(as_good, known, nats)], known, model, noise_of(model, base)
    )
    found = []
    for i in sorted(kept[1:], key=lambda i: float(nats[i])):
        other = known[i]
        largest, where = _largest_difference(base, other, model.box)
        found.append(
            Alternative(
                candidate=other,
                index=i if i < len(model.fronts[output]) else None,
                nats=float(nats[i]),
                largest_difference=largest,
                where=where,
                rows_needed=_rows_needed(model, output, own, i),
            )
        )
    return found


def alternatives_sentence(model: FittedModel, found: Sequence[Alternative], output: int = 0) -> str:
    """What is to be said of the alternatives to an output's selected equation."""
    of = "" if len(model.targets) == 1 else f" of {model.targets[output]}"
    if found:
        return (
            f"The rows cannot tell these from the selected equation{of}: they describe them as "
            f"well, within {AS_GOOD:g} nats."
        )
    nats = _nats(model, _known(model, output), output)
    lead = float(nats[model.selected[output]] - np.nanmin(nats))
    if lead > AS_GOOD:
        return (
            f"The selected equation{of} is not the best description of the rows: another one is "
            f"shorter by {lead:.0f} nats."
        )
    begin = f"Of {model.targets[output]}, no" if of else "No"
    return (
        f"{begin} other structure that was tried describes the rows as well (within {AS_GOOD:g} "
        "nats)."
    )


def plausible(model: FittedModel, output: int = 0) -> list[tuple[Candidate, float]]:
    """The structures that the rows have not ruled out, the selected equation first.

    These are the ones whose descriptions of the rows are at most 10 nats longer than the shortest,
    and the selected one whatever its length.

    Parameters
    ----------
    model : FittedModel
        Its front and its rivals are what was tried.
    output : int
        The output.

    Returns
    -------
    list of (Candidate, float)
        Each with how many nats its description is longer than the shortest.
    """
    known = _known(model, output)
    nats = _nats(model, known, output)
    nats -= np.fmin.reduce(nats)
    own = model.selected[output]
    near = [i for i in range(len(known)) if i != own and nats[i] <= KEPT_WITHIN]
    order = [own, *_simplest_first(near, known, nats)]
    kept = _distinct(order, known, model, noise_of(model, known[own]))
    return [(known[i], float(nats[i])) for i in kept]


def with_rivals(
    model: FittedModel, finished: Sequence[Sequence[Candidate]], rows: Sequence[Sample]
) -> FittedModel:
    """The model with what it takes to answer `alternatives`, also without the data.

    Parameters
    ----------
    model : FittedModel
        With its fronts.
    finished : sequence of sequences of Candidate
        Per output all equations that were finished, those of the front among them.
    rows : sequence of Sample
        Per output the rows that fitted the constants, in the user's coordinates.
    """
    kept = replace(
        model,
        rivals=tuple(_rivals(model, others, k) for k, others in enumerate(finished)),
    )
    return replace(
        kept,
        differences=tuple(
            _differences(_known(kept, k), sample.head(ROWS)) for k, sample in enumerate(rows)
        ),
    )


# --- what was tried ------------------------------------------------------------------------------


def _known(model: FittedModel, output: int) -> list[Candidate]:
    """The equations of the front and then the rivals."""
    return [*model.fronts[output], *(model.rivals[output] if model.rivals else ())]


def _nats(model: FittedModel, candidates: Sequence[Candidate], output: int) -> Array:
    """Lengths of the descriptions of the data; the criterion gives twice the nats."""
    lengths = scores(
        candidates,
        DEFAULT,
        mean_error=model.mean_errors[output]["validation"],
        n_rows=model.n_rows,
    )
    # The criterion has a finite number for what cannot be described, too; here it is none.
    return np.where(lengths < np.finfo(np.float64).max, lengths / 2.0, math.nan)


def _rivals(
    model: FittedModel, finished: Sequence[Candidate], output: int
) -> tuple[Candidate, ...]:
    """Finished equations that are not on the front but hardly longer than the selected one."""
    front = model.fronts[output]
    if not front:
        return ()
    known = [*front, *finished]
    nats = _nats(model, known, output)
    nats -= nats[model.selected[output]]
    near = [i for i in range(len(front), len(known)) if nats[i] <= KEPT_WITHIN]
    noise = noise_of(model, front[model.selected[output]])
    order = [*range(len(front)), *_simplest_first(near, known, nats)]
    kept = [i for i in _distinct(order, known, model, noise) if i >= len(front)]
    best = sorted(kept, key=lambda i: float(nats[i]))[:MOST_RIVALS]
    # Nobody predicts with them, so the file need not hold their intervals.
    return tuple(replace(known[i], band=None) for i in best)


def _simplest_first(which: Sequence[int], known: Sequence[Candidate], nats: Array) -> list[int]:
    return sorted(which, key=lambda i: (known[i].complexity, float(nats[i])))


def _distinct(
    order: Sequence[int], known: Sequence[Candidate], model: FittedModel, noise: float
) -> list[int]:
    """Without those that are the same as one before them, in other words or other constants."""
    domain = _part(model.box, [known[i] for i in order])
    points = domain.points(N_POINTS, N_CORNERS)
    kept: list[int] = []
    structures: set[Any] = set()
    values: list[Array] = []
    for i in order:
        structure = _structure(known[i])
        # The digits that are not shown tell a rounded constant from another equation.
        own = values_of(known[i], points, precise=True)
        if structure in structures or any(_same(own, other, noise) for other in values):
            continue
        kept.append(i)
        structures.add(structure)
        values.append(own)
    return kept


def _structure(c: Candidate) -> Any:
    """Units and connections, and which of the sums have an offset."""
    return c.expression.skeleton, tuple(s.bias == 0.0 for s in c.expression.sums)


def _same(a: Array, b: Array, noise: float) -> bool:
    difference = _difference(a, b)
    size = np.fmax(np.abs(a), np.abs(b))
    allowed = SAME * noise + ROUNDING * np.where(np.isfinite(size), size, 0.0)
    return bool(np.all(difference <= allowed))


# --- how they differ -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Part:
    """The inputs of a domain that matter; the others stay in the middle of their intervals."""

    box: Domain
    columns: list[int]
    middle: Array

    def whole(self, points: Array) -> Array:
        """Points of these inputs as rows of all inputs."""
        table = np.tile(self.middle, (len(points), 1))
        table[:, self.columns] = points
        return table

    def points(self, n: int, n_corners: int) -> Array:
        """Corners and drawn points, always the same ones, as rows of all inputs."""
        drawn = self.box.sample(n, np.random.default_rng(0))
        return self.whole(np.concatenate([self.box.corners(n_corners), drawn]))


def _part(box: Domain, candidates: Sequence[Candidate]) -> _Part:
    used = {name for c in candidates for name in c.expression.inputs_used}
    columns = [j for j, name in enumerate(box.names) if name in used]
    names = tuple(box.names[j] for j in columns)
    return _Part(
        Domain(names, box.lower[columns], box.upper[columns]),
        columns,
        0.5 * box.lower + 0.5 * box.upper,
    )


def values_of(c: Candidate, X: Array, precise: bool = False) -> Array:
    """Values of an equation on rows of all inputs; not finite where it is undefined."""
    with np.errstate(all="ignore"):
        return c.equation(precise).evaluate(X)[:, 0]


def _difference(a: Array, b: Array) -> Array:
    """Sizes of the differences; infinite where just one has a value, zero where none has."""
    with np.errstate(all="ignore"):
        difference = np.abs(a - b)
    defined = np.isfinite(a), np.isfinite(b)
    difference[defined[0] != defined[1]] = math.inf
    difference[~defined[0] & ~defined[1]] = 0.0
    return difference


def _largest_difference(a: Candidate, b: Candidate, box: Domain) -> tuple[float, dict[str, float]]:
    """The largest difference in the domain that was found, and where."""
    part = _part(box, [a, b])

    def difference(points: Array) -> Array:
        X = part.whole(points)
        return _difference(values_of(a, X), values_of(b, X))

    points = part.points(N_POINTS, N_CORNERS)[:, part.columns]
    sizes = difference(points)
    starts = np.argsort(-sizes, kind="stable")[:N_STARTS]
    ends = np.array([climbed(points[i], difference, part.box) for i in starts.tolist()])
    # As it is written down, so that the difference is that of the point shown.
    ends = np.array([readable(end, part.box) for end in ends]).reshape(len(ends), -1)
    sizes = difference(ends)
    best = int(np.argmax(sizes))
    where = dict(zip(part.box.names, ends[best].tolist(), strict=True))
    return float(sizes[best]), where


def climbed(point: Array, height: Callable[[Array], Array], box: Domain) -> Array:
    """A point further up, by steps along single inputs that become shorter."""
    if not len(point):
        return point
    with np.errstate(over="ignore"):
        steps = FIRST_STEP * (box.upper - box.lower)
    steps = np.where(np.isfinite(steps), steps, 0.0)
    best = float(height(point[None])[0])
    for _ in range(N_STEPS):
        trials = np.clip(
            np.concatenate([point + np.diag(steps), point - np.diag(steps)]), box.lower, box.upper
        )
        heights = height(trials)
        top = int(np.argmax(heights))
        if heights[top] > best:
            point, best = trials[top], float(heights[top])
        else:
            steps = 0.5 * steps
    return point


def readable(point: Array, box: Domain) -> Array:
    """The point rounded to digits that matter in its domain."""
    rounded = []
    for value, low, high in zip(
        point.tolist(), box.lower.tolist(), box.upper.tolist(), strict=True
    ):
        width = high - low
        if 0.0 < width < math.inf:
            value = round(value, WHERE_DIGITS - 1 - math.floor(math.log10(width)))
        rounded.append(min(max(value, low), high))
    return np.array(rounded, dtype=np.float64)


# --- how many rows would decide ------------------------------------------------------------------


def noise_of(model: FittedModel, c: Candidate) -> float:
    """Standard deviation of the residuals, with what the constants took from them."""
    n = model.n_rows[0]
    return c.rmse_train * math.sqrt(n / max(n - c.n_constants, 1)) if n else c.rmse_train


def _differences(known: Sequence[Candidate], rows: Sample) -> tuple[tuple[float, ...], ...]:
    """Root mean squared differences over the rows: of each to those before it."""
    values = [values_of(c, rows.XT.T) for c in known]
    return tuple(
        tuple(_mean_difference(own, other, rows.weight) for other in values[:i])
        for i, own in enumerate(values)
    )


def _mean_difference(a: Array, b: Array, weight: Array | None = None) -> float:
    difference = _difference(a, b)
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.average(difference**2, weights=weight)))


def _rows_needed(model: FittedModel, output: int, a: int, b: int) -> float:
    """Rows until the squared differences of two equations add up to what decides.

    A row tells δ²/(2σ²) nats on average, with the noise σ and the difference δ at its place.
    """
    known = _known(model, output)
    if model.differences:
        delta = model.differences[output][max(a, b)][min(a, b)]
    else:  # an older file: as if the rows filled the domain evenly
        part = _part(model.box, [known[a], known[b]])
        points = part.whole(part.box.sample(N_POINTS, np.random.default_rng(0)))
        delta = _mean_difference(values_of(known[a], points), values_of(known[b], points))
    noise = noise_of(model, known[a])
    if not delta > 0.0:
        return math.inf
    return _rounded_up(2.0 * DECIDED * (noise / delta) ** 2)


def _rounded_up(number: float) -> float:
    """To two digits, at least 1; infinite if there are too many to count.

    >>> _rounded_up(0.2), _rounded_up(17.3), _rounded_up(1234.0)
    (1.0, 18.0, 1300.0)
    """
    if not number < TOO_MANY_ROWS:
        return math.inf
    unit = 10.0 ** max(0, math.floor(math.log10(max(number, 1.0))) - 1)
    return max(1.0, math.ceil(number / unit - 1e-9) * unit)
