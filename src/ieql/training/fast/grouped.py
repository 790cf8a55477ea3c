"""Equations of groups of inputs: the same search, with fewer inputs.

`ieql.training.fast.similarity` proposes groups. Those that predict the rows as well as all inputs
do make a smaller task, in which all small structures are tried, power laws and waves looked for,
and parts told apart; what is found is written in the inputs and fitted to the rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ieql.data.dataset import Scaling
from ieql.data.sample import Sample
from ieql.equations.dimensions import rule_of
from ieql.equations.expression import Expression
from ieql.equations.simplify import simplify
from ieql.selection import Candidate
from ieql.training.archive import Archive
from ieql.training.fast.batch import CHECKED, FITTING_ROWS, Effort
from ieql.training.fast.complete import (
    REFINED_ROWS,
    Tried,
    grammar_of,
    n_structures,
    pieces,
    refined,
    try_piece,
)
from ieql.training.fast.island import FastSettings, Training, run_island
from ieql.training.fast.power_laws import power_laws
from ieql.training.fast.separate import CLEAR, SINGLE_OFFSETS, is_known_well, separated
from ieql.training.fast.similarity import Similarity, known_similarities, similarities
from ieql.training.fast.smoothed import Smoothed
from ieql.training.fast.styles import ALL_OFFSETS, NO_OFFSETS
from ieql.training.fast.waves import waves
from ieql.training.fast.worth import length, worthwhile
from ieql.training.parallel import in_parallel
from ieql.training.task import EXACT, Task

__all__ = ["grouped", "grouped_by_units"]

Array = NDArray[np.float64]
SURE = 0.2
"""Part of the target's spread that a surrogate may be off by."""
WORSE, ROUNDING = 1.25, 1e-3
"""The groups may predict the rows worse than all inputs do by this factor, and by what surrogates
leave of what they could know, in spreads of the target."""
BOTH = (NO_OFFSETS, ALL_OFFSETS)
MOST_STRUCTURES = 2_500
"""Structures of groups that are tried, ..."""
LARGEST = 10.0
"""... of at most such a complexity."""
EFFORT = Effort(starts=32, kept=2, steps=20)
REFINED = 24
"""Fits that are looked at more closely."""
FEW_WRITTEN = 3
"""The same where units tell the groups and an equation of them is exact."""
WRITTEN = 8
"""Equations of groups that are written in the inputs."""
PROBED = 200
"""Rows that tell whether two ways to write an equation are the same."""
MOST_WAYS = 3
"""Similarities that are followed."""
FOR_TRYING = 0.5
"""Part of the time for structures of groups that units tell, at most."""
FOR_REWRITING = 0.8
"""Part of the time for writing them in the inputs; the rest is for fits."""
LEAST_FOR_FITS = 0.3
"""Seconds for these fits, in any case."""
FOR_GROWING = 0.75
"""Part of the time left for trainings, at most; the rest is for writing equations in the inputs."""
ROUNDS, ISLANDS = 3, 4
"""Of trainings with groups for inputs."""


def grouped(
    task: Task, seed: int, deadline: float = math.inf, n_jobs: int | None = 1
) -> list[Candidate]:
    """Equations of groups of inputs, the best first; none where rows show no similarity.

    Parameters
    ----------
    task : Task
        The target.
    seed : int
        Fixes all that is drawn.
    deadline : float
        The moment (``time.monotonic()``) after which nothing is begun.
    n_jobs : int or None
        Processes for the trainings with groups.
    """
    inputs = task.inputs
    sample = task.train.head(REFINED_ROWS)
    if not is_known_well(sample, inputs) or time.monotonic() > deadline:
        return []
    smooth = Smoothed.fit(sample, inputs)
    if smooth.error < SURE * sample.spread():
        inputs = _relevant(smooth, sample, inputs)
    if not (smooth.error < SURE * sample.spread() and len(inputs) > 1):
        return []
    if len(inputs) < len(smooth.inputs):
        smooth = Smoothed.fit(sample, inputs)
    clear = smooth.error < CLEAR * sample.spread()
    variants = (NO_OFFSETS, *range(SINGLE_OFFSETS), ALL_OFFSETS) if clear else BOTH
    effort = _Effort(seed, deadline, variants, n_jobs)
    views: list[_View] = []
    for similarity in _believed(smooth, sample, task.scale, deadline):
        view = _View.of(task, similarity)
        if view is None:
            continue
        views.append(view)
        for candidate in _candidates(view.task, effort):
            view.archive.add(candidate)
        if view.archive.is_exact or effort.is_late:
            break
    if not views:
        return []
    best = min(views, key=lambda view: view.length)
    now = time.monotonic()
    _grow(best, replace(effort, deadline=now + FOR_GROWING * (deadline - now)))
    found = [c for view in views for c in view.written(task, deadline)]
    return sorted(found, key=lambda c: length(task, c.rmse_train**2, c.n_constants, c.complexity))


def grouped_by_units(
    task: Task, seed: int, deadline: float = math.inf, n_jobs: int | None = 1
) -> list[Candidate]:
    """The same where physical units tell the groups (Buckingham, 1914); none without a rule.

    No surrogate is asked: an equation with constants that have no units is one of such groups.
    """
    rule = rule_of(task.prior, task.names)
    if rule is None or len(task.inputs) < 2 or time.monotonic() > deadline:
        return []
    symmetries = np.array(rule.symmetries(task.inputs))
    now = time.monotonic()
    effort = _Effort(seed, now + FOR_TRYING * (deadline - now), BOTH, n_jobs)
    views: list[_View] = []
    with np.errstate(all="ignore"):
        for similarity in known_similarities(symmetries, task.train.XT, task.inputs):
            view = _View.of(task, similarity)
            if view is None:
                continue
            views.append(view)
            for candidate in chain(
                power_laws(view.task, effort.deadline), _enumerated(view.task, effort)
            ):
                view.archive.add(candidate)
                if view.archive.is_exact:
                    break
            if view.archive.is_exact or effort.is_late:
                break
        views.sort(key=lambda view: view.length)
        if views and not views[0].archive.is_exact:
            # What takes longer is for the most promising groups.
            for candidate in _slowly_found(views[0].task, effort):
                views[0].archive.add(candidate)
            now = time.monotonic()
            _grow(views[0], replace(effort, deadline=now + FOR_TRYING * (deadline - now)))
        found = [c for view in views[:1] for c in view.written(task, deadline)]
    return sorted(found, key=lambda c: length(task, c.rmse_train**2, c.n_constants, c.complexity))


def _believed(
    smooth: Smoothed, sample: Sample, scale: Array | None, deadline: float
) -> Iterator[Similarity]:
    """Similarities whose groups say as much as the inputs do, those with the fewest groups."""
    limit = WORSE * smooth.error + ROUNDING * sample.spread()
    judged: dict[int, bool] = {}
    n_ways = 0
    for similarity in similarities(smooth, sample.XT, scale):
        n = similarity.n_groups
        if n_ways >= MOST_WAYS or time.monotonic() > deadline:
            return
        factor, groups = similarity.values(sample.XT)
        if not np.all(np.isfinite(groups)) or not np.all(np.isfinite(1.0 / factor)):
            continue
        if n not in judged:
            rows = Sample(groups, sample.y / factor, sample.weight * factor**2)
            fit = Smoothed.fit(rows, range(n), smooth.is_logarithm)
            # Its errors are those of y/factor, with weights that make them those of y.
            ratio = math.sqrt(rows.weight.mean() / sample.weight.mean())
            judged[n] = fit.error * ratio < limit
        if judged[n]:
            n_ways += 1
            yield similarity


def _relevant(smooth: Smoothed, sample: Sample, inputs: tuple[int, ...]) -> tuple[int, ...]:
    """The inputs that change the function by more than its errors."""
    sizes = np.ones(len(sample)) if not smooth.is_logarithm else np.abs(sample.y)
    found = []
    for i in inputs:
        h = float(sample.XT[i].std())
        change = smooth.change(sample.XT, {i: 0.1 * h}) * 5.0 * sizes
        if np.sqrt(np.average(change**2, weights=sample.weight)) > smooth.error:
            found.append(i)
    return tuple(found)


@dataclass(frozen=True)
class _Effort:
    """How a smaller task is searched."""

    seed: int
    deadline: float
    variants: tuple[int, ...]
    n_jobs: int | None

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self.deadline


@dataclass(frozen=True, eq=False)
class _View:
    """A target as a function of groups, with a scale, and what was found for it."""

    similarity: Similarity
    task: Task
    scale: float
    archive: Archive

    @classmethod
    def of(cls, task: Task, similarity: Similarity) -> _View | None:
        """The view by which the groups are the inputs; None if they are not defined everywhere."""
        factor, groups = similarity.values(task.train.XT)
        train = Sample(groups, task.train.y / factor, task.train.weight * factor**2)
        scale = train.spread()
        domain = similarity.values(task.domain)[1]
        if not (np.all(np.isfinite(domain)) and np.all(np.isfinite(train.y)) and scale > 0.0):
            return None
        weight = train.weight / train.weight.mean() * task.train.weight.mean()
        rows = Sample(train.XT, train.y / scale, weight)
        box = Scaling.minmax(rows.XT.T)
        smaller = Task(
            names=tuple(f"group {i + 1}" for i in range(similarity.n_groups)),
            prior=task.prior.for_target(None),  # groups have dimensions of their own
            train=rows,
            validation=rows,
            centre=box.offset,
            half=box.scale,
            mean=float(np.average(rows.y, weights=rows.weight)),
            domain=domain,
        )
        return cls(similarity, smaller, scale, Archive((), rows.n_rows))

    @property
    def length(self) -> float:
        """Of the shortest description, in the unit of the target."""
        rivals = self.archive.rivals
        n = self.task.train.n_rows
        return (
            self.archive.length(rivals[0]) + 2.0 * n * math.log(self.scale) if rivals else math.inf
        )

    def written(self, task: Task, deadline: float) -> list[Candidate]:
        """The best equations in the inputs, fitted to the rows."""
        # The simpler ones, too: what a group is a little off by, longer equations make up for.
        chosen = [*self.archive.rivals[:WRITTEN], *self.archive.inner]
        if task.has_rule and self.archive.is_exact:
            chosen = [*self.archive.rivals[:FEW_WRITTEN], *list(self.archive.inner)[:FEW_WRITTEN]]
        probe = np.ascontiguousarray(task.train.XT[:, :PROBED].T)
        shortest: list[Expression] = []
        now = time.monotonic()
        is_late = now + FOR_REWRITING * (deadline - now)
        for e in dict.fromkeys(c.expression for c in chosen):
            if task.has_rule and shortest and time.monotonic() > is_late:
                break
            ways = self.similarity.expressions(task.names, e, self.scale)
            shorter = [simplify(way, probe, task.prior) for way in ways]
            shortest.append(min(shorter, key=task.size))
        if task.has_rule:  # what was written is not thrown away
            deadline = max(deadline, time.monotonic() + LEAST_FOR_FITS)
        return worthwhile(task, shortest, deadline, REFINED_ROWS)


def _candidates(task: Task, effort: _Effort) -> Iterator[Candidate]:
    """What can be found of a task with few inputs in a few seconds."""
    yield from power_laws(task, effort.deadline)
    yield from waves(task, effort.deadline)
    exact = False
    for candidate in _enumerated(task, effort):
        exact |= candidate.rmse_train < EXACT
        yield candidate
    if len(task.names) > 1 and not exact:
        yield from separated(task, effort.seed, effort.deadline)


def _slowly_found(task: Task, effort: _Effort) -> Iterator[Candidate]:
    """Waves and parts, where there is time for them."""
    if not effort.is_late:
        yield from waves(task, effort.deadline)
    if len(task.names) > 1 and not effort.is_late:
        yield from separated(task, effort.seed, effort.deadline)


def _enumerated(task: Task, effort: _Effort) -> Iterator[Candidate]:
    """All structures, as many as there is time for."""
    prior, names, inputs = task.prior, task.names, task.inputs
    rows, points = task.train.head(FITTING_ROWS), task.domain[:, :CHECKED]
    tried = 0
    sample = task.train.head(REFINED_ROWS)
    for size in range(1, grammar_of(prior, names, inputs).size(LARGEST) + 1):
        tried += n_structures(prior, names, inputs, size, MOST_STRUCTURES)
        if tried > MOST_STRUCTURES:
            return
        best: list[Tried] = []
        for piece in pieces(prior, names, inputs, size, effort.seed):
            best += try_piece(
                prior, names, rows, points, piece, EFFORT, effort.deadline, effort.variants
            ) or []  # fmt: skip
        best.sort(key=lambda t: t.length)
        exact = False
        for fit in refined(best[:REFINED], prior, sample):
            candidate = None if fit is None else task.candidate(fit.expression, fit.program)
            if candidate is not None:
                exact |= candidate.rmse_train < EXACT
                yield candidate
        if exact or effort.is_late:
            return


def _grow(view: _View, effort: _Effort) -> None:
    """Some trainings with groups for inputs, as in the search for the whole."""
    archive, task = view.archive, view.task
    for number in range(ROUNDS):
        # In no time nothing may have been found that could be grown.
        if archive.is_exact or effort.is_late or not len(archive):
            return
        known = archive.shared()
        jobs = []
        for island in range(ISLANDS):
            training = Training(0, island, (effort.seed, 5, number, island))
            jobs.append(
                (island, run_island, (task, [training], known, FastSettings(), effort.deadline))
            )
        found = dict(in_parallel(jobs, effort.n_jobs))
        for island in sorted(found):
            for candidate in found[island].candidates:
                archive.add(candidate)
