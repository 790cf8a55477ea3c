"""One structure for many devices: searched in some of them and in all together, chosen for all.

Where devices differ in a constant, the rows of all of them together hide the law, and the rows of
one are few. So structures come from both: a search in all rows, and short ones in single devices.
Each is then fitted to all devices, with constants that are shared or each one's own
(`ieql.equations.mixed_fit`), and the shortest description of all rows chooses.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from ieql.data.dataset import Dataset
from ieql.data.intake import Measurements
from ieql.data.sample import Sample
from ieql.doubts import IN_TURN
from ieql.equations.expression import Expression, Sum
from ieql.equations.mixed_fit import MixedFit, mixed_fit
from ieql.equations.noise import Noise
from ieql.equations.prediction_band import PredictionBand
from ieql.equations.recalibrate import Movable, constant_factor, open_information
from ieql.equations.simple_constants import fixed_places
from ieql.errors import IeqlError
from ieql.guesses import with_guesses
from ieql.known_constants import (
    ProvedEquation,
    domain_points,
    measured_candidate,
    proved_equation,
)
from ieql.learn import Earlier, learn
from ieql.model import FittedModel, chosen
from ieql.observer import Observer, Snapshot
from ieql.options import FitOptions, roles_of
from ieql.prior import Prior
from ieql.report.evidence import Evidence
from ieql.selection import CONNECTION, DEFAULT, LAW, Candidate, scores
from ieql.target import prepare
from ieql.training.trainers import Trainer

__all__ = ["learn_fleet"]

Array = NDArray[np.float64]
Devices = NDArray[np.str_]
TOGETHER, SINGLE = 0.2, 0.45
"""Parts of the time for the search in all rows, and for those in single devices together."""
FITTING, ENDING = 0.6, 0.9
"""Parts of the time after that for fitting structures, and until which they are made readable."""
SEARCHED = 6
"""Devices that are searched by themselves, those with the most rows."""
LEAST_SEARCHED = 5
"""Rows that such a device must have."""
LEAST_SECONDS = 1.5
"""Shorter searches find little; then fewer devices are searched."""
MOST_NUMBERS = 20
"""A structure with more numbers is not fitted to devices of a few rows each."""
PROMISING = 12
"""Structures that are fitted to the end, after a first look at all."""
KEPT = 10
"""Structures that are taken of each search."""
STARTS = 2
"""Constants that one structure begins with, as found in different devices."""
SHOWN = 8
"""Structures that are made readable and proved, at most."""
BETTER = 0.99
"""Part of a simpler equation's error that a larger one must stay below to be shown."""
WAYS = (1.0, 0.5, 0.0)
"""Parts of the way from the fleet's constants to a device's own that are tried till one is safe."""


@dataclass(frozen=True, eq=False)
class _Fleet:
    """The rows of one output by device."""

    labels: tuple[str, ...]
    rows: tuple[Sample, ...]

    @property
    def whole(self) -> Sample:
        """The rows of all devices, one after the other."""
        return Sample(
            np.concatenate([r.XT for r in self.rows], axis=1),
            np.concatenate([r.y for r in self.rows]),
            np.concatenate([r.weight for r in self.rows]),
        )


def learn_fleet(
    options: FitOptions,
    measured: Measurements,
    weight: Array | None,
    devices: Devices,
    trainer: Trainer,
    evidence: Evidence,
    *,
    seed: int,
    start: float,
    earlier: Earlier | None = None,
    observers: Sequence[Observer] = (),
    column: str | None = None,
) -> Snapshot:
    """Learn one structure per output for all devices.

    Parameters
    ----------
    options, measured, trainer, evidence, seed, start
        As `ieql.learn.learn` takes them.
    weight : array (rows,), optional
        Of the user's rows.
    devices : array (rows,)
        To which device each of them belongs.
    earlier : Earlier, optional
        What the run that goes on has found before: its structures are fitted again, and the
        searches begin from other random numbers.
    observers : sequence of Observer
        Are told of the end.
    column : str, optional
        The column of the user's file that names the devices.

    Returns
    -------
    Snapshot
        With the finished model.
    """
    earlier = earlier or Earlier()
    seed += earlier.n_trainings
    labels = tuple(sorted(set(devices.tolist()), key=lambda s: (len(s), s)))
    found: list[FittedModel] = []
    for part, seconds in _searches(options, measured, weight, devices, labels, start):
        own = replace(options, max_time=seconds, min_time=None, progress=False)
        targets = with_guesses(prepare(own, part.data, None, seed), own.guesses)
        now = time.monotonic()
        last = learn(own, part, targets, trainer, evidence, seed=seed, start=now)
        found.append(last.model)
        if last.model.interrupted:
            break
    model = _fleet_model(options, measured, weight, devices, labels, found, earlier, start)
    model = replace(model, group_column=column)
    seconds = earlier.seconds + time.monotonic() - start
    last = Snapshot(model, evidence.after(seconds, model.unit_counts), model.fronts, seconds)
    for observer in observers:
        observer.on_round(last)
    return last


def _searches(
    options: FitOptions,
    measured: Measurements,
    weight: Array | None,
    devices: Devices,
    labels: Sequence[str],
    start: float,
) -> Iterator[tuple[Measurements, float | None]]:
    """What is searched, and how many seconds: all rows, and then some devices by themselves."""
    limit = options.max_time
    yield measured, None if limit is None else max(TOGETHER * limit, LEAST_SECONDS)
    counts = {label: int(np.sum(devices == label)) for label in labels}
    largest = sorted(labels, key=lambda label: -counts[label])
    y = measured.y.reshape(len(measured.y), -1)
    chosen_ones = [
        label
        for label in largest
        if counts[label] >= LEAST_SEARCHED and np.all(np.ptp(y[devices == label], axis=0) > 0.0)
    ][:SEARCHED]
    if limit is not None:
        chosen_ones = chosen_ones[: max(int(SINGLE * limit / LEAST_SECONDS), 1)]
    for k, label in enumerate(chosen_ones):
        rows = devices == label
        data = Dataset.of(
            measured.X[rows],
            measured.y[rows],
            None if weight is None else weight[rows],
            measured.data.domain,
            measured.data.feature_names,
            measured.data.target_names,
        )
        seconds = None
        if limit is not None:
            # What a search did not need is for those after it.
            left = (TOGETHER + SINGLE) * limit - (time.monotonic() - start)
            seconds = max(left / (len(chosen_ones) - k), 0.5 * LEAST_SECONDS)
            if k > 0 and left < 0.5 * LEAST_SECONDS:
                return
        part = Measurements(
            data, measured.X[rows], measured.y[rows], None, measured.is_named, measured.categories
        )
        yield part, seconds


def _fleet_model(
    options: FitOptions,
    measured: Measurements,
    weight: Array | None,
    devices: Devices,
    labels: tuple[str, ...],
    found: Sequence[FittedModel],
    earlier: Earlier,
    start: float,
) -> FittedModel:
    """The model of the whole fleet, from the structures that the searches have found."""
    from threadpoolctl import threadpool_limits

    first = found[0]
    bound = options.output_bound
    bounds = None if bound is None else (-bound, bound)
    points = domain_points(measured.data.domain)
    differing = roles_of(options.group_constants)
    y = measured.y.reshape(len(measured.y), -1)
    fronts = []
    for k in range(y.shape[1]):
        fleet = _rows_by_device(measured.X, y[:, k], weight, devices, labels)
        prior = first.prior.for_target(first.targets[k])
        deadline = end = math.inf
        if options.max_time is not None:
            now = time.monotonic()
            left = max(start + options.max_time - now, 1.0) / (y.shape[1] - k)
            deadline, end = now + FITTING * left, now + ENDING * left
        with threadpool_limits(limits=1), np.errstate(all="ignore"):
            known = earlier.fronts[k] if earlier.fronts else ()
            structures = _structures(found, k, known)
            fits = _fitted(structures, fleet, points, prior, bounds, differing, deadline)
            fronts.append(_front(fits, fleet, points, prior, bounds, end))
    mean_errors = [_mean_errors(y[:, k], weight) for k in range(y.shape[1])]
    n_rows = (max(round(float(np.sum(weight)) if weight is not None else len(y)), 1), 0)
    fronts = [_priced(f, e["validation"], n_rows) for f, e in zip(fronts, mean_errors, strict=True)]
    candidates = [[c for c, _ in front] for front in fronts]
    largest = [max(c.complexity for c in front) for front in candidates]
    return replace(
        first,
        options=options,
        fronts=tuple(map(tuple, candidates)),
        selected=chosen(candidates, options.selection, mean_errors, largest, n_rows),
        criterion=options.selection,
        mean_errors=tuple(mean_errors),
        largest_complexities=tuple(largest),
        n_rows=n_rows,
        n_data_rows=len(y),
        validation=IN_TURN,
        outliers=tuple(() for _ in fronts),
        n_trainings=earlier.n_trainings + sum(m.n_trainings for m in found),
        stop_reason=f"{len(found)} searches, in all rows and in single groups, had their time",
        interrupted=any(m.interrupted for m in found),
        rivals=(),
        differences=(),
        groups=labels,
    )


def _rows_by_device(
    X: Array, y: Array, weight: Array | None, devices: Devices, labels: Sequence[str]
) -> _Fleet:
    counted = np.ones(len(y)) if weight is None else weight
    if not np.all(counted == np.round(counted)):
        counted = counted * (len(counted) / counted.sum())
    parts = []
    for label in labels:
        rows = (devices == label) & (counted > 0.0)
        parts.append(Sample(np.ascontiguousarray(X[rows].T), y[rows], counted[rows]))
    kept = [k for k, part in enumerate(parts) if len(part)]
    return _Fleet(tuple(labels[k] for k in kept), tuple(parts[k] for k in kept))


def _mean_errors(y: Array, weight: Array | None) -> dict[str, float]:
    rows = Sample(np.zeros((0, len(y))), y, np.ones(len(y)) if weight is None else weight)
    return {"mean": float(np.average(y, weights=rows.weight)), "validation": rows.spread()}


# --- structures ----------------------------------------------------------------------------------


def _structures(
    found: Sequence[FittedModel], output: int, earlier: Sequence[Candidate]
) -> list[Expression]:
    """Those known before, and those with the shortest descriptions of each search, best first."""
    ranked = []
    for m in found:
        kept = [*m.fronts[output], *(m.rivals[output] if m.rivals else ())]
        lengths = scores(
            kept, DEFAULT, mean_error=m.mean_errors[output]["validation"], n_rows=m.n_rows
        )
        ranked.append([kept[i] for i in np.argsort(lengths, kind="stable")[:KEPT]])
    # The best of each search first, then the second ones: time may not suffice for all.
    mixed = [c for row in zip_longest(*ranked) for c in row if c is not None]
    mean = found[0].mean_errors[output]["mean"] or 1.0
    constant = Expression(found[0].names, (), (Sum(mean),))
    return [constant, *(c.equation(precise=True) for c in (*earlier, *mixed))]


def _fitted(
    structures: Sequence[Expression],
    fleet: _Fleet,
    points: Array,
    prior: Prior,
    bounds: tuple[float, float] | None,
    differing: Collection[str] | None,
    deadline: float,
) -> list[MixedFit]:
    """Fit structures to all devices: all of them roughly, and those that promise most well."""

    def price(fit: MixedFit) -> float:
        return fit.length + _structure_price(fit.movable.expression, prior)

    rough: list[MixedFit] = []
    half = 0.5 * (time.monotonic() + deadline)
    for e in _different(structures):
        if rough and time.monotonic() > half:
            break
        fit = mixed_fit(e, fleet.rows, points, bounds, rounds=1, differing=differing)
        if fit is not None:
            rough.append(fit)
    rough.sort(key=price)
    fits: list[MixedFit] = []
    for fit in rough[:PROMISING]:
        if fits and time.monotonic() > deadline:
            break
        e = fit.movable.expression
        better = mixed_fit(e, fleet.rows, points, bounds, differing=differing)
        fits.append(fit if better is None or price(fit) < price(better) else better)
    rest = rough[PROMISING:] if len(fits) == PROMISING else rough[len(fits) :]
    return sorted([*fits, *rest], key=price)


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


# --- the front -----------------------------------------------------------------------------------


def _front(
    fits: Sequence[MixedFit],
    fleet: _Fleet,
    points: Array,
    prior: Prior,
    bounds: tuple[float, float] | None,
    end: float,
) -> list[tuple[Candidate, MixedFit]]:
    """The best structure, and others that are simpler, or larger and better; the simplest first."""
    front: list[tuple[Candidate, MixedFit]] = []
    for fit in fits:  # the shortest description first
        if len(front) == SHOWN or (front and time.monotonic() > end):
            break
        complexity = fit.movable.expression.complexity(prior)
        if any(c.complexity <= complexity and BETTER * f.sigma <= fit.sigma for c, f in front):
            continue
        try:
            candidate = _presented(fit, fleet, points, prior, bounds)
        except np.linalg.LinAlgError:  # constants beyond all measure
            continue
        if candidate is not None:
            front.append((candidate, fit))
    if not front:
        raise IeqlError(
            "No equation that was found is safe, and keeps to all that the prior says, for every "
            "group in the whole domain; declare a smaller domain, or search longer."
        )
    return sorted(front, key=lambda pair: (pair[0].complexity, pair[0].rmse_train))


def _presented(
    fit: MixedFit,
    fleet: _Fleet,
    points: Array,
    prior: Prior,
    bounds: tuple[float, float] | None,
) -> Candidate | None:
    """A structure as a row of the front, with the equation of each device; None if it is unsafe."""
    movable, places = fit.movable, fit.movable.places
    whole, noise = fleet.whole, Noise(fit.sigma)
    degrees = max(whole.n_rows - fit.determined, 1.0)
    precise = fit.expression()
    M = movable.membership
    F = constant_factor(precise, places, M @ fit.covariance @ M.T)
    fixed = fixed_places(precise)
    information = open_information(F, precise, fixed)
    mean = proved_equation(precise, information, whole, points, prior, bounds, fixed)
    if mean is None:
        return None
    shared = {int(t) for t, k in zip(places, movable.member, strict=True) if not fit.spreads[k]}
    members = []
    for k, (label, rows) in enumerate(zip(fleet.labels, fleet.rows, strict=True)):
        own = _own_covariance(fit, k)
        member = _member(fit, k, mean, own, shared, rows, points, prior, bounds)
        if member is None:
            return None
        factor = constant_factor(member.precise, places, M @ own @ M.T)
        members.append((label, measured_candidate(member, factor, noise, rows, degrees, prior)))
    # A device that is not one of these has constants that differ from the mean as theirs do.
    beyond = M @ (fit.covariance + np.diag(fit.spreads**2)) @ M.T
    F = constant_factor(mean.precise, places, beyond)
    weights = [float(rows.weight.sum()) for rows in fleet.rows]
    left = np.concatenate(
        [
            rows.y - c.expression.evaluate(rows.XT.T)[:, 0]
            for (_, c), rows in zip(members, fleet.rows, strict=True)
        ]
    )
    whole_one = measured_candidate(mean, F, noise, whole, degrees, prior)
    return replace(
        whole_one,
        rmse_train=_together([c.rmse_train for _, c in members], weights),
        rmse_validation=_together([c.rmse_validation for _, c in members], weights),
        band=PredictionBand.of_known(mean.precise, whole, noise, F, degrees, left),
        members=tuple(members),
    )


def _own_covariance(fit: MixedFit, device: int) -> Array:
    """What is not known of a device's numbers: shared ones from all rows, its own beside them.

    Where a shared number is off, the device's own make up for it: they vary together.
    """
    own, shared = np.flatnonzero(fit.spreads > 0.0), np.flatnonzero(fit.spreads == 0.0)
    A, common = fit.information[device], fit.covariance[np.ix_(shared, shared)]
    alone = np.linalg.inv(A[np.ix_(own, own)] + np.diag(fit.spreads[own] ** -2.0))
    makes_up = -alone @ A[np.ix_(own, shared)]
    covariance = np.zeros(A.shape)
    covariance[np.ix_(shared, shared)] = common
    covariance[np.ix_(own, shared)] = makes_up @ common
    covariance[np.ix_(shared, own)] = common @ makes_up.T
    covariance[np.ix_(own, own)] = alone + makes_up @ common @ makes_up.T
    return covariance


def _member(
    fit: MixedFit,
    device: int,
    mean: ProvedEquation,
    covariance: Array,
    shared: set[int],
    rows: Sample,
    points: Array,
    prior: Prior,
    bounds: tuple[float, float] | None,
) -> ProvedEquation | None:
    """The equation of one device: shared constants as they are shown, and its own ones."""
    M, places = fit.movable.membership, fit.movable.places
    shown, own = mean.shown.constants(), fit.expression(device).constants()
    at = sorted(shared)
    for way in WAYS:
        theta = mean.precise.constants()
        theta += way * (own - theta)
        theta[at] = shown[at]
        precise = mean.precise.with_constants(theta)
        F = constant_factor(precise, places, M @ covariance @ M.T)
        known = fixed_places(precise) | shared
        information = open_information(F, precise, known)
        if len(information.free) == 0:
            return replace(mean, precise=mean.shown)
        found = proved_equation(precise, information, rows, points, prior, bounds, known)
        if found is not None:
            return found
    return None


def _together(errors: Sequence[float], weights: Sequence[float]) -> float:
    """Root mean square of errors."""
    return math.sqrt(float(np.average(np.square(errors), weights=weights)))


def _priced(
    front: Sequence[tuple[Candidate, MixedFit]], mean_error: float, n_rows: tuple[int, int]
) -> list[tuple[Candidate, MixedFit]]:
    """The front with descriptions that mind the constants of each device's own.

    The criterion MDL knows one set of constants; what it takes for the description of the rows and
    of these is replaced by that of the mixed fit.
    """
    n = float(sum(n_rows))
    if mean_error <= 0.0:
        return list(front)
    plain = scores([c for c, _ in front], DEFAULT, mean_error=mean_error, n_rows=n_rows)
    priced = []
    for (c, fit), length in zip(front, plain, strict=True):
        own = fit.length - n * math.log(mean_error**2) - n
        own += CONNECTION * (c.complexity + c.n_explained) + (LAW if c.complexity > 0.0 else 0.0)
        own += c.wave_cost
        priced.append((replace(c, saved=float(length) - own), fit))
    return priced
