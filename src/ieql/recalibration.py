"""A fitted model for new rows: the same structure, other constants."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ieql.data.dataset import Domain, checked_weight
from ieql.data.dependence import dependence
from ieql.data.sample import Sample
from ieql.doubts import IN_TURN
from ieql.equations.expression import Expression
from ieql.equations.program import Program
from ieql.equations.recalibrate import OLD_SAY, Recalibrated, open_information, recalibrate
from ieql.equations.simple_constants import fixed_places
from ieql.errors import IeqlError
from ieql.known_constants import (
    ProvedEquation,
    domain_points,
    measured_candidate,
    proved_equation,
)
from ieql.model import RECALIBRATED, FittedModel, versions
from ieql.moved_constants import MovedConstant, MovedConstants, moved_constants, moved_sentence
from ieql.selection import Candidate

__all__ = ["recalibrated_model"]

Array = NDArray[np.float64]
PROBED = 2_000
"""Rows by which dependences are judged."""
WAYS = (1.0, 0.75, 0.5, 0.25, 0.0)
"""Parts of the way from the old constants to the new ones that are tried, until one is safe."""
FEW = 3.0
"""Rows beyond the constants that they determine, with fewer of which nothing is said."""
LARGER = 1.5
"""How many times the old noise must be passed to be worth saying, if it is no chance."""
CHANCE = 0.001
"""Probability below which a larger noise is no longer put down to chance."""
TELLING = 4.0
"""Twice the nats that ranks must give for a dependence of what is left."""
EXACT = 1e-7
"""Part of the target's size below which what is left is rounding."""
REASON = "only constants were fitted, to the structure of an earlier model"


def recalibrated_model(
    model: FittedModel, X: Array, y: Array, sample_weight: ArrayLike | None, index: int | None
) -> FittedModel:
    """The model with one equation per output, whose constants are fitted to new rows.

    Parameters
    ----------
    model : FittedModel
        Whose structures, and whose constants as a beginning, are taken.
    X, y : arrays (rows, inputs) and (rows, outputs)
        The new rows.
    sample_weight : array (rows,), optional
        As in a fit.
    index : int, optional
        A row of the table of equations; default: the selected ones.
    """
    weight = checked_weight(sample_weight, len(X))
    kept = weight > 0.0
    X, y, weight = X[kept], y[kept], weight[kept]
    if not np.all(weight == np.round(weight)):
        weight = weight * (len(weight) / weight.sum())
    domain = _domain(model, X)
    points = domain_points(domain)
    results = [
        _recalibrated(
            model,
            k,
            model.candidate(row, k),
            Sample(np.ascontiguousarray(X.T), np.ascontiguousarray(y[:, k]), weight),
            points,
        )
        for k, row in enumerate(model.rows_of(index))
    ]
    candidates = [r.candidate for r in results]
    return replace(
        model,
        options=replace(model.options, run_dir=None),
        fronts=tuple((c,) for c in candidates),
        selected=(0,) * len(candidates),
        criterion=RECALIBRATED,
        domain={n: (a, b) for n, (a, b) in domain.to_dict().items()},
        mean_errors=tuple(_mean_errors(y[:, k], weight) for k in range(y.shape[1])),
        largest_complexities=tuple(c.complexity for c in candidates),
        n_rows=(max(round(float(weight.sum())), 1), 0),
        n_data_rows=len(kept),
        validation=IN_TURN,
        outliers=tuple(() for _ in candidates),
        n_trainings=0,
        stop_reason=REASON,
        interrupted=False,
        finished=True,
        unit_counts=(),
        rivals=(),
        differences=(),
        groups=(),
        group_column=None,
        versions=versions(),
        recalibrated=MovedConstants(
            tuple(r.moved for r in results), tuple(r.sentences for r in results)
        ),
    )


def _domain(model: FittedModel, X: Array) -> Domain:
    """What was declared, and for the other inputs the range of the old rows and the new ones."""
    old = model.box
    declared = np.array([name in model.declared for name in model.names], dtype=bool)
    low = np.where(declared, old.lower, np.minimum(old.lower, X.min(axis=0)))
    high = np.where(declared, old.upper, np.maximum(old.upper, X.max(axis=0)))
    return Domain(old.names, low, high)


def _mean_errors(y: Array, weight: Array) -> dict[str, float]:
    rows = Sample(np.zeros((0, len(y))), y, weight)
    return {"mean": float(np.average(y, weights=weight)), "validation": rows.spread()}


@dataclass(frozen=True)
class _Result:
    candidate: Candidate
    moved: tuple[MovedConstant, ...]
    sentences: tuple[str, ...]


def _recalibrated(
    model: FittedModel, output: int, old: Candidate, rows: Sample, points: Array
) -> _Result:
    """One equation with new constants, measured and proved, and what is to be said of it."""
    bound = model.options.output_bound
    bounds = None if bound is None else (-bound, bound)
    target = model.targets[output]
    precise = old.equation(precise=True)
    with np.errstate(all="ignore"):
        try:
            found = recalibrate(precise, old.band, rows, points, bounds)
            if found is None:
                raise IeqlError(_without_value(precise, rows, target))
            made = _safe(found, precise, rows, points, model, bounds)
        except np.linalg.LinAlgError:
            raise IeqlError(
                f"The constants of the equation of {target!r} are too large, too small or too "
                "alike to be fitted to these rows; give the columns in other units, or fit again."
            ) from None
        if made is None:
            raise IeqlError(
                f"No constants of the equation of {target!r} near the old ones are safe in the "
                "whole domain, which the new rows have widened: leave out rows that lie far from "
                "the old ones, or fit again."
            )
        new, way = made
    degrees = max(rows.n_rows + OLD_SAY - found.determined, 1.0)
    F = found.factor(new.precise, rows)
    candidate = measured_candidate(new, F, found.noise, rows, degrees, model.prior)
    moved = moved_constants(
        precise, old.errors_of(precise), new.precise, candidate.errors_of(new.precise)
    )
    sentences = [moved_sentence(moved), _structure_sentence(old, found, new.shown, rows)]
    if way < 1.0:
        nearest = "the old ones are kept" if way == 0.0 else "they went only a part of the way"
        sentences.append(
            "The constants that fit best are not safe in the whole domain or leave the bound, so "
            f"that {nearest}."
        )
    if len(model.targets) > 1:
        sentences[0] = f"{target}: {sentences[0]}"
    return _Result(candidate, moved, tuple(sentences))


def _without_value(e: Expression, rows: Sample, target: str) -> str:
    undefined = ~np.isfinite(Program.of(e).evaluate(rows.XT))
    return (
        f"The equation of {target!r} has no finite value in {int(undefined.sum())} of {len(rows)} "
        "new rows, so that its constants cannot be fitted to them; leave these rows out, or fit "
        "again."
    )


def _safe(
    found: Recalibrated,
    old: Expression,
    rows: Sample,
    points: Array,
    model: FittedModel,
    bounds: tuple[float, float] | None,
) -> tuple[ProvedEquation, float] | None:
    """The equation with readable constants, and the part of the way at which it is safe."""
    start, end = old.constants(), found.expression.constants()
    for way in WAYS if not np.array_equal(start, end) else WAYS[:1]:
        precise = old.with_constants(start + way * (end - start))
        known = fixed_places(precise)
        information = open_information(found.factor(precise, rows), precise, known)
        made = proved_equation(precise, information, rows, points, model.prior, bounds, known)
        if made is not None:
            return made, way
    return None


def _structure_sentence(old: Candidate, found: Recalibrated, e: Expression, rows: Sample) -> str:
    """Whether the structure still holds: by the size of what is left, and what it depends on."""
    value = e.evaluate(rows.XT.T)[:, 0]
    degrees = rows.n_rows - found.determined
    if degrees < FEW:
        return (
            f"{len(rows)} row{'s are' if len(rows) != 1 else ' is'} too few to tell whether the "
            "structure still holds."
        )
    inputs = dict(zip(e.names, rows.XT, strict=True))
    scaled = (rows.y - value) * np.sqrt(rows.weight) / found.noise.shape(value, inputs)
    left = math.sqrt(float(scaled @ scaled) / degrees)
    if left <= EXACT * float(np.max(np.abs(rows.y))):
        return "The structure still holds: the new rows lie on the equation."
    named = _depends_on(e, rows, scaled)
    before = old.band.noise.sigma if old.band is not None else math.nan
    compared, larger = "", False
    if math.isfinite(before) and before > 0.0:
        times = left / before
        larger = _is_larger(times, degrees, old)
        how = "no larger than" if times < 1.0 / LARGER else "about"
        if larger:
            how = f"{times:.1f} times" if times < 1e3 else "far more than"
        compared = f"is {how} the noise of the old rows ({before:.3g})"
    if named is not None:
        also = f", and {compared}" if larger else ""
        return (
            f"The structure does not hold any more: what is left ({left:.3g}) still depends on "
            f"{named}{also}; fit these rows anew."
        )
    if larger:
        return (
            f"It is open whether the structure still holds: what is left ({left:.3g}) {compared}, "
            "but depends on no input as far as these rows tell; they are noisier, or the structure "
            "lacks something."
        )
    also = f"{compared}, and depends" if compared else "depends"
    return f"The structure still holds: what is left ({left:.3g}) {also} on no input."


def _is_larger(times: float, degrees: float, old: Candidate) -> bool:
    """Whether the noise is larger than the old one by more than chance (F test)."""
    from scipy.special import fdtrc

    assert old.band is not None
    before = max(old.band.degrees, 1.0)
    return times > LARGER and bool(fdtrc(degrees, before, min(times, 1e100) ** 2) < CHANCE)


def _depends_on(e: Expression, rows: Sample, scaled: Array) -> str | None:
    """What the residuals rise or fall with, or are largest or smallest in the middle of."""
    part = slice(0, PROBED)
    columns: list[tuple[str, Array]] = []
    for name, x in zip(e.names, rows.XT, strict=True):
        middle = np.abs(x - 0.5 * (x.min() + x.max()))
        columns += [(name, x[part]), (name, middle[part])]
    told = [dependence(c[None, :], scaled[part]) for _, c in columns]
    best = int(np.argmax(told))
    tries: float = 4.0 * math.log(len(columns))  # each of them is one of so many
    return columns[best][0] if told[best] - tries > TELLING else None
