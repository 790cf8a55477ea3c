"""From measurements to a fitted model: the table of contents of a fit.

Measurements and options → targets with tasks in scaled coordinates → trainer → equations in the
user's coordinates → front → fitted model. Whoever watches gets a snapshot after every round.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.alternatives import with_rivals
from ieql.ambiguity import with_ambiguity
from ieql.data.dataset import declared_inputs, positions
from ieql.data.intake import Measurements
from ieql.data.sample import Sample
from ieql.doubts import CROSS_FITTING, HELD_OUT, LEFT_OUT
from ieql.equations.differences import cancelling_sums
from ieql.equations.dimensions import is_in_order
from ieql.equations.expression import Expression
from ieql.equations.finish import finish
from ieql.equations.level_factors import with_one_factor_each
from ieql.equations.program import addresses, compile_kernels
from ieql.equations.refit import refit
from ieql.errors import IeqlError
from ieql.means import means
from ieql.model import FittedModel, chosen, versions
from ieql.observer import Observer, Snapshot
from ieql.options import FitOptions
from ieql.prior import Prior
from ieql.report.evidence import Evidence
from ieql.selection import Candidate, Front, thinned
from ieql.shared_fronts import shared_fronts
from ieql.target import MANY_IF_ACCURATE, Target, reconsidered
from ieql.training.archive import Archive
from ieql.training.parallel import in_parallel
from ieql.training.task import Task
from ieql.training.trainers import Budget, State, Trainer, mean_predictor, train

__all__ = [
    "Earlier",
    "View",
    "compile_for",
    "finish_candidate",
    "front_of",
    "learn",
    "with_earlier",
]

Array = NDArray[np.float64]
KERNELS = ("ieql.equations.kernels",)
"""Compiled code that every fit needs; a trainer names more."""
FRONT_TOLERANCE = 0.003
"""Equations that improve on simpler ones by less than this are not worth finishing."""
MANY_NUMBERS = 20_000_000
"""Inputs times rows: copying so many numbers to other processes takes more than it brings."""
MANY_PARAMETERS = 80
"""An equation of so many parameters is not polished: nobody reads it, and it would take long."""
NOT_SIMPLIFIED = 300
"""One of so many is not even simplified: a network that was hardly cut would take hours."""
MOST_LARGE = 16
"""Equations of so many parameters that are finished, at most."""
MOST_RIVALS = 20
RIVAL_WITHIN = 30.0
"""Twice the nats by which the description of a rival may be longer than the shortest."""
PLAIN, PROBED = 10.0, 2_000
"""Twice the nats by which a plain equation may be longer than a difference of large terms, and the
rows by which it is told."""
NEXT_TO_NOTHING = 1e-3
"""Part of the target's spread that a plain equation may leave, whatever others do beyond it."""
BEST_OUTSIDE = 8
"""Equations with the least extrapolation errors that are finished in any case."""
LOOKS = 20
"""Times that an equation looks at rows far off, under a robust loss, or at ranges, before its fit
is final."""
TIMES_TRUSTED = 3
"""Times that the best equation tells how far rows are to be trusted, under a robust loss."""
FINISHING = 0.12
"""Part of the time kept for finishing the equations of the front."""
LATE = 0.96
"""Part of the time from which on only quick steps are done."""


@dataclass(frozen=True, eq=False)
class Earlier:
    """What earlier parts of a run left: nothing for a new fit.

    Attributes
    ----------
    state : State or None
        Where the trainer stood.
    fronts : sequence of sequences of Candidate
        Per output the finished equations, in the user's coordinates; empty if there are none.
    seconds : float
        What it took.
    n_trainings : int
        Trainings that were done for them.
    """

    state: State | None = None
    fronts: Sequence[Sequence[Candidate]] = field(default_factory=list)
    seconds: float = 0.0
    n_trainings: int = 0


def compile_for(trainer: Trainer, prior: Prior) -> float:
    """Compile what a fit needs; return the seconds that this took beyond loading it.

    Kernels are compiled once per installation, units of the user's once per process. A fit gets its
    time after that.
    """
    start = time.monotonic()
    if not compile_kernels(*KERNELS, *trainer.kernels):
        start = time.monotonic()
    addresses(prior.custom)
    return time.monotonic() - start


def learn(
    options: FitOptions,
    measured: Measurements,
    targets: Sequence[Target],
    trainer: Trainer,
    evidence: Evidence,
    *,
    seed: int,
    start: float,
    earlier: Earlier | None = None,
    observers: Sequence[Observer] = (),
) -> Snapshot:
    """Learn the fronts of all outputs.

    Parameters
    ----------
    options : FitOptions
        What the fit is asked, checked.
    measured : Measurements
        The data.
    targets : sequence of Target
        Made of them by `ieql.target.prepare`.
    trainer : Trainer
        Does the search.
    evidence : Evidence
        A sample of the data, for the snapshots.
    seed, start
        What fixes all random choices (`ieql.options.seed_of`), and when the clock started.
    earlier : Earlier, optional
        What the run that goes on has found before.
    observers : sequence of Observer
        Each is told of every round and of the end, one after the other.

    Returns
    -------
    Snapshot
        The last one, with the finished model.
    """
    earlier = earlier or Earlier()
    view = View(options, measured, targets, evidence, start, earlier.seconds)

    def tell(state: State) -> None:
        if not all(len(front) for front in state.fronts):
            return  # nothing keeps to the limits of the prior's shape yet
        snapshot = view.of(state)
        for observer in observers:
            observer.on_round(snapshot)

    budget = Budget(
        None if options.max_time is None else options.max_time * (1.0 - FINISHING),
        options.max_trainings,
        options.min_time,
        seed=seed,
        n_jobs=options.n_jobs,
        start=start,
    )
    state = train(
        trainer,
        [t.task for t in targets],
        budget,
        resumed=earlier.state,
        on_round=tell if observers else None,
    )
    if state.interrupted and observers:
        tell(state)  # what came in since the last round
    targets = [_with_learned(t, task) for t, task in zip(targets, state.tasks, strict=True)]
    finished = _finish_all(options, targets, state, start, range(len(targets)))
    fronts = {k: front_of(finished[k], t) for k, t in enumerate(targets)}
    if not state.interrupted:
        try:
            # Under a robust loss the best equation may be another one then.
            for _ in range(TIMES_TRUSTED if targets[0].is_robust else 1):
                again = [
                    reconsidered(t, fronts[k]) if fronts[k] else t for k, t in enumerate(targets)
                ]
                changed = [k for k, t in enumerate(again) if t is not targets[k]]
                finished |= _finish_all(options, again, state, start, changed)
                fronts |= {k: front_of(finished[k], again[k]) for k in changed}
                targets = again
        except KeyboardInterrupt:
            state.interrupted = True
    for k, known in enumerate(earlier.fronts):
        fronts[k] = with_earlier(fronts[k], known, targets[k])
    _refuse_empty(fronts, measured.data.target_names, options)
    places = range(len(targets))
    fronts = _shared(options, fronts, finished, targets, state, start)
    last = view.finished([fronts[k] for k in places], [finished[k] for k in places], targets, state)
    for observer in observers:
        observer.on_round(last)
    return last


def _refuse_empty(
    fronts: Mapping[int, Sequence[Candidate]], names: Sequence[str], options: FitOptions
) -> None:
    """Say so if no equation at all was found for an output: limits that nothing keeps to."""
    for k, front in fronts.items():
        if not front:
            limits = ", ".join(limit.text for limit in Prior.of(options.prior).shape.limits)
            raise IeqlError(
                f"No equation was found that keeps to the prior's shape for {names[k]!r} "
                f"({limits or 'none'}); relax a limit, or search longer."
            )


# --- snapshots ---------------------------------------------------------------------------------


class View:
    """Makes snapshots of a search; equations in the user's coordinates are kept."""

    def __init__(
        self,
        options: FitOptions,
        measured: Measurements,
        targets: Sequence[Target],
        evidence: Evidence,
        start: float,
        seconds_before: float,
    ) -> None:
        self.options = options
        self.measured = measured
        self.targets = targets
        self.evidence = evidence
        self.start = start
        self.seconds_before = seconds_before
        self._known: list[dict[Expression, Candidate]] = [{} for _ in targets]
        self._rows = self._outliers(targets)
        self._versions = versions()

    def of(self, state: State) -> Snapshot:
        """What has been found so far, not finished yet."""
        found = tuple(self._front(k, front) for k, front in enumerate(state.fronts))
        first = self.targets[0]
        n_rows = (round(first.train.n_rows), round(first.held_out.n_rows))
        fronts = [thinned(Front(front)) for front in found]
        model = self._model(fronts, self.targets, state, n_rows, self._rows, finished=False)
        return self._snapshot(model, found, state.to_form)

    def finished(
        self,
        fronts: Sequence[list[Candidate]],
        finished: Sequence[Sequence[Candidate]],
        targets: Sequence[Target],
        state: State,
    ) -> Snapshot:
        """What was found in the end; outliers may be others than during the search."""
        outliers = self._outliers(targets)
        model = self._model(fronts, targets, state, targets[0].n_rows, outliers, finished=True)
        rows = [t.fitting for t in targets]
        model = with_ambiguity(with_rivals(model, finished, rows), rows)
        last = self._snapshot(model, model.fronts, None)
        if not any(outliers):
            return last
        X, y = self.measured.X, self.measured.y
        return replace(last, evidence=last.evidence.with_outliers(X, y, outliers))

    def _snapshot(self, model: FittedModel, found: Any, checkpoint: Any) -> Snapshot:
        seconds = self.seconds_before + time.monotonic() - self.start
        evidence = self.evidence.after(seconds, model.unit_counts)
        return Snapshot(model, evidence, found, seconds, checkpoint)

    def _model(
        self,
        fronts: Sequence[list[Candidate]],
        targets: Sequence[Target],
        state: State,
        n_rows: tuple[int, int],
        outliers: tuple[tuple[int, ...], ...],
        finished: bool,
    ) -> FittedModel:
        options, data = self.options, self.measured.data
        mean_errors = tuple(t.mean_errors for t in targets)
        domain = {name: (low, high) for name, (low, high) in data.domain.to_dict().items()}
        return FittedModel(
            options=options,
            names=tuple(data.feature_names),
            targets=tuple(data.target_names),
            fronts=tuple(map(tuple, fronts)),
            selected=chosen(fronts, options.selection, mean_errors, state.largest, n_rows),
            criterion=options.selection,
            domain=domain,
            declared=tuple(declared_inputs(options.domain, data.feature_names)),
            mean_errors=mean_errors,
            largest_complexities=tuple(state.largest),
            n_rows=n_rows,
            n_data_rows=len(self.measured.X),
            validation=_validation(targets[0]) if finished else HELD_OUT,
            outliers=outliers,
            n_trainings=state.n_trainings,
            stop_reason=state.reason,
            interrupted=state.interrupted,
            finished=finished,
            unit_counts=tuple(dict(units) for units in state.units),
            is_named=self.measured.is_named,
            categories=self.measured.categories,
            one_output=self.measured.y.ndim == 1,
            versions=self._versions,
            data_sha256=self.evidence.sha256,
        )

    def _outliers(self, targets: Sequence[Target]) -> tuple[tuple[int, ...], ...]:
        """Where in the user's table the rows stand that each target leaves out."""
        X, columns = self.measured.X, self.measured.y.reshape(len(self.measured.y), -1).T
        left_out = [t.rows.subset(t.left_out) for t in targets]
        return tuple(
            tuple(positions(X, column, rows))
            for column, rows in zip(columns, left_out, strict=True)
        )

    def _front(self, k: int, front: Front) -> tuple[Candidate, ...]:
        """A front in the user's coordinates."""
        known = self._known[k]
        for c in front:
            if c.expression not in known:
                known[c.expression] = _in_users_coordinates(c, self.targets[k])
        prior = self.targets[k].task.prior
        # Exponents that only rounding makes right wait for it.
        shown = [known[c.expression] for c in front]
        return tuple(c for c in shown if is_in_order(c.expression, prior)) or tuple(shown[:1])


def _in_users_coordinates(c: Candidate, target: Target) -> Candidate:
    inputs, scaling = target.inputs, target.scaling
    scale = float(scaling.scale.item())
    expression = c.expression.rescaled(
        inputs.offset, inputs.scale, scaling.offset.item(), scale
    ).canonical()
    return replace(
        c,
        expression=expression,
        rmse_train=c.rmse_train * scale,
        rmse_validation=c.rmse_validation * scale,
        rmse_extrapolation=c.rmse_extrapolation * scale,
    )


# --- finishing ---------------------------------------------------------------------------------


def _with_learned(target: Target, task: Task) -> Target:
    """The target with what the surface of the search has learned: to learn it again takes long."""
    surface = task.surface
    return target if surface is None else replace(target, learned=surface.learned)


def _finish_all(
    options: FitOptions,
    targets: Sequence[Target],
    state: State,
    start: float,
    which: Sequence[int],
) -> dict[int, list[Candidate]]:
    """Bring what is worth it to the user's coordinates, in parallel."""
    # From here on only the quick steps: the last equation still has to be finished in time.
    deadline = start + LATE * (options.max_time or float("inf"))
    for k in which:
        if targets[k].task.accurate:
            _ = targets[k].surface  # once, and not in every process
    jobs = [
        ((k, i, cut), finish_candidate, (c, targets[k], options.output_bound, cut, deadline))
        for k in which
        for i, c in enumerate(_worth_finishing(state.archives[k], targets[k].task.accurate))
        # What the rows do not ask for may be what matters outside of them: then both forms stand.
        for cut in ((True,) if targets[k].extrapolation is None else (True, False))
    ]
    finished: dict[tuple[int, int, bool], Candidate | None] = {}
    try:
        # Few equations, or those of many rows, are quicker done here than sent elsewhere.
        here = len(jobs) < 4 or targets[0].train.XT.size > MANY_NUMBERS
        finished.update(in_parallel(jobs, 1 if here else state.n_processes))
    except KeyboardInterrupt:
        state.interrupted = True
        for key, function, args in jobs:
            if key not in finished:
                finished[key] = function(*args[:-1], 0.0)
    found = {
        k: [c for key, c in sorted(finished.items()) if key[0] == k and c is not None]
        for k in which
    }
    bound = options.output_bound
    # Means are quick to make, but not once the time is up.
    end = start + (options.max_time or float("inf"))
    for k in which:
        if targets[k].task.accurate and not state.interrupted and time.monotonic() < end:
            found[k] += means(found[k], targets[k], None if bound is None else (-bound, bound))
    return {k: found[k] or _mean_alone(targets[k], options.output_bound) for k in which}


def _mean_alone(target: Target, bound: float | None) -> list[Candidate]:
    """The mean of the target, where no equation that the prior permits could be finished."""
    mean = mean_predictor(target.task)
    finished = None if mean is None else finish_candidate(mean, target, bound)
    return [] if finished is None else [finished]


def front_of(finished: Sequence[Candidate], target: Target) -> list[Candidate]:
    """The front, on which of equally complex equations that with the shortest description stands.

    The shortest of all is on it in any case: with few rows one with more constants may have the
    smaller error, and be no heavier as the paper counts. And no wave stands in the place of
    something that is told in fewer words.
    """
    if not finished:
        return []
    lengths = target.lengths(finished)
    if target.extrapolation is None:
        told = _without_waves_for_others(finished, lengths)
        finished, lengths = [finished[i] for i in told], lengths[told]
    plain = _without_differences(finished, lengths, target)
    finished, lengths = [finished[i] for i in plain], lengths[plain]
    front = _with_shortest(finished, lengths)
    best = finished[int(np.argmin(lengths))]
    if not any(c is best for c in front):
        front = sorted([*front, best], key=lambda c: (c.complexity, c.rmse_validation))
    return front


def _without_differences(
    finished: Sequence[Candidate], lengths: Array, target: Target
) -> list[int]:
    """Places of the equations to show: differences of large terms only where nothing plain does.

    (exp(z) + 2056)² - 4231385 is 4112·exp(z), which nobody can see; where an equation without such
    a difference has hardly a longer description, or leaves next to nothing unexplained, the other
    is refused. Without noise a difference quotient can be refined for ever.
    """
    X = np.ascontiguousarray(target.fitting.XT[:, :PROBED].T)
    cancels = np.array([bool(cancelling_sums(c.expression, X)) for c in finished])
    if not cancels.any() or cancels.all():
        return list(range(len(finished)))
    shortest = float(np.min(lengths[~cancels]))
    least = min(c.rmse_train for c, is_one in zip(finished, cancels, strict=True) if not is_one)
    if least < NEXT_TO_NOTHING * target.spread:
        shortest = -math.inf
    return [i for i, is_one in enumerate(cancels) if not (is_one and shortest < lengths[i] + PLAIN)]


def _with_shortest(finished: Sequence[Candidate], lengths: Array) -> list[Candidate]:
    """The front, on which of equally complex equations that with the shortest description stands.

    Where there are points outside, an equation may be there with all its constants and cut, both
    equally complex. The other must be clearly better in one respect to stand beside the one that is
    told in fewer words, and a trifle better in both does not hide it.
    """
    shortest: dict[float, Candidate] = {}
    for i in np.argsort(lengths, kind="stable").tolist():
        shortest.setdefault(finished[i].complexity, finished[i])
    known = {id(c) for c in shortest.values()}
    outside = Front(c for c in finished if math.isfinite(c.rmse_extrapolation))
    others = [c for c in outside if id(c) not in known]
    return thinned([*shortest.values(), *others])


def _without_waves_for_others(finished: Sequence[Candidate], lengths: Array) -> list[int]:
    """Which candidates stay: not those with waves of which another, without, tells more shortly.

    A piece of a wave has few connections and bends to a growth curve; the paper's front, which goes
    by connections and error, would show it in the place of a plain one.
    """
    plain = [i for i, c in enumerate(finished) if c.wave_cost == 0.0]
    return [
        i
        for i, c in enumerate(finished)
        if c.wave_cost == 0.0
        or not any(
            lengths[j] < lengths[i] and c.complexity <= finished[j].complexity <= 2 * c.complexity
            for j in plain
        )
    ]


def _shared(
    options: FitOptions,
    fronts: dict[int, list[Candidate]],
    finished: Mapping[int, Sequence[Candidate]],
    targets: Sequence[Target],
    state: State,
    start: float,
) -> dict[int, list[Candidate]]:
    """The fronts with units that the selected equations share, where there is time for it."""
    late = time.monotonic() > start + LATE * (options.max_time or float("inf"))
    if len(targets) == 1 or late or state.interrupted:
        return fronts
    found = shared_fronts(
        [fronts[k] for k in range(len(targets))],
        [finished[k] for k in range(len(targets))],
        targets,
        options.selection,
        state.largest,
        options.output_bound,
    )
    return dict(enumerate(found))


def _seen_by_best_fit(expression: Expression, target: Target, rows: Sample) -> Sample:
    """Rows as an equation sees them whose constants have the least cost.

    They are fitted to what the equation sees of the rows, and it looks again.
    """
    inputs, output = target.inputs, target.scaling
    e = expression.rescaled(inputs.offset, inputs.scale, output.offset.item(), output.scale.item())
    e = e.canonical()
    seen = target.step(e, rows)
    for _ in range(LOOKS):
        e = refit(e.canonical(), seen)
        before, seen = seen, target.step(e, rows)
        if np.allclose(before.y, seen.y, rtol=0.0, atol=1e-4 * seen.rmse(before.y) + 1e-300):
            break
    return seen


def with_earlier(
    front: list[Candidate], earlier: Sequence[Candidate], target: Target
) -> list[Candidate]:
    """A front with the equations that an earlier part of the run has shown: none gets worse."""
    measured = []
    for c in earlier:
        train, validation, extrapolation = target.errors(c.expression)
        measured.append(
            replace(
                c,
                rmse_train=train,
                rmse_validation=validation,
                rmse_extrapolation=extrapolation,
                evidence=target.evidence(c.expression),
                tails=target.tails(c.expression),
                dependence=target.dependence,
                ambiguity=0.0,  # not in the error any more; it is added anew
                saved=0.0,  # as this is
            )
        )
    known = [*measured, *front]
    # The mean, shown as long as there was nothing else, may lack an input that must be there.
    return thinned(Front([c for c in known if not c.is_step] or known))


def _validation(target: Target) -> str:
    """Where the validation errors of finished equations come from."""
    if not target.is_cross_fitted:
        return HELD_OUT
    return LEFT_OUT if target.task.accurate else CROSS_FITTING


def _worth_finishing(archive: Archive, accurate: bool = False) -> list[Candidate]:
    """The equations to finish: those that are better than simpler ones, in either error.

    And the rivals for the choice, whose descriptions are hardly longer than the shortest.

    Refitting on all rows moves what an equation does outside of them. So, where there are points
    outside, those that do well there are finished too, even if a simpler one did so by chance.
    """
    chosen = thinned(archive.front, FRONT_TOLERANCE)
    known = {id(c) for c in chosen}
    rivals = archive.rivals[:MOST_RIVALS]
    shortest = min((archive.length(c) for c in rivals), default=math.inf)
    chosen += [
        c for c in rivals if id(c) not in known and archive.length(c) < shortest + RIVAL_WITHIN
    ]
    known |= {id(c) for c in chosen}
    outside = [c for c in archive.front if math.isfinite(c.rmse_extrapolation)]
    outside = [c for c in outside if id(c) not in known]
    chosen += sorted(outside, key=lambda c: c.rmse_extrapolation)[:BEST_OUTSIDE]
    return _few_large(chosen, archive) if accurate else chosen


def _few_large(chosen: Sequence[Candidate], archive: Archive) -> list[Candidate]:
    """The equations to finish where the error alone selects: of the large ones not too many.

    The few rows that were kept back during the search do not tell for sure which are best; so
    beside those that are best by them stand those that are most worth their constants, at several
    prices of a constant.
    """
    small = [c for c in chosen if c.n_parameters <= MANY_IF_ACCURATE]
    large = [c for c in archive.known() if c.n_parameters > MANY_IF_ACCURATE]
    lines = sorted({c.lines for c in large})
    # Each line has its share, as a mean of equations takes one of each (`ieql.means`).
    shares = [
        _best_large([c for c in large if c.lines == line], archive, MOST_LARGE // len(lines))
        for line in lines
    ]
    return small + [c for share in shares for c in share]


def _best_large(large: Sequence[Candidate], archive: Archive, most: int) -> list[Candidate]:
    """The best of some large equations, by several measures."""
    # A smaller error of the few rows kept back does not hide what a surface has taught.
    by_teacher = [
        sorted(thinned(Front(c for c in large if c.is_taught is taught)), key=_error)
        for taught in (True, False)
    ]
    best = by_teacher[0][: most // 2] + by_teacher[1][: max(most // 4, 1)]
    best += archive.worthwhile(known=large) + by_teacher[0] + by_teacher[1]
    return list({id(c): c for c in best}.values())[:most]


def _error(candidate: Candidate) -> float:
    return candidate.rmse_validation


def finish_candidate(
    candidate: Candidate,
    target: Target,
    bound: float | None = None,
    cut: bool = True,
    deadline: float = math.inf,
) -> Candidate | None:
    """A candidate of the search as an equation in the user's coordinates, with all that is known.

    None if it is not safe there, or too complex. Bound and `cut` as in `ieql.equations.finish`;
    after the deadline slow steps are left out.
    """
    from threadpoolctl import threadpool_limits

    is_asked_for = target.has_many_constants(candidate.n_parameters)
    is_large = candidate.n_parameters > MANY_PARAMETERS
    many = is_asked_for or candidate.n_parameters > NOT_SIMPLIFIED
    surface = target.surface if is_asked_for and candidate.is_taught else None
    rows = target.training if is_asked_for and surface is None else target.fitting
    with threadpool_limits(limits=1), np.errstate(all="ignore"):
        if target.has_own_views and surface is None:
            rows = _seen_by_best_fit(candidate.expression, target, rows)
        try:
            equation = finish(
                with_one_factor_each(
                    candidate.expression, target.task.levels, 1.0 / target.inputs.scale
                ),
                target.inputs,
                target.scaling,
                rows,
                target.points,
                # A step stands on the front only if nothing else does: the mean of the target.
                target.task.prior if candidate.is_step else target.task.shown_prior,
                bounds=None if bound is None else (-bound, bound),
                cut=cut,
                outside=target.extrapolation,
                is_late=lambda: time.monotonic() > deadline or (is_large and not many),
                many=many,
                surface=None if surface is None else surface.points,
            )
        except np.linalg.LinAlgError:
            return None  # constants beyond all measure cost this equation, not the fit
    if equation is None:
        return None
    finished = target.candidate(equation, is_taught=surface is not None)
    finished = replace(finished, lines=candidate.lines)
    # Written otherwise it may have become larger.
    if finished.complexity > target.task.max_complexity:
        return None
    return replace(finished, is_step=True) if candidate.is_step else finished
