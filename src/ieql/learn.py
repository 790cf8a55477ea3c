"""From a data set to fronts of equations: the table of contents of a fit.

Data and prior → tasks in scaled coordinates → search → equations in the user's coordinates → front.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ieql.data.dataset import Dataset
from ieql.data.sample import Sample
from ieql.doubts import CROSS_FITTING, HELD_OUT
from ieql.equations.program import compile_kernels
from ieql.equations.refit import finish
from ieql.prior import Prior
from ieql.run.recorder import Recorder, Run
from ieql.selection import Candidate, Front, thinned
from ieql.training.fast.search import Budget, Result, search
from ieql.training.paper.sweep import sweep
from ieql.training.paper.trainer import PaperSettings
from ieql.training.parallel import in_parallel
from ieql.training.target import Target, prepare, reconsidered

if TYPE_CHECKING:
    from ieql.regressor import IEQLRegressor

__all__ = ["Learned", "learn", "seed_of"]

Array = NDArray[np.float64]
KERNELS = ("ieql.equations.kernels", "ieql.training.fast.law_kernel")
FRONT_TOLERANCE = 0.003
"""Equations that improve on simpler ones by less than this are not worth finishing."""
MANY_ROWS = 200_000
"""Copying so many rows to other processes costs more than it brings."""
MANY_PARAMETERS = 80
"""An equation of so many parameters is not polished: nobody reads it, and it would take long."""
BEST_OUTSIDE = 8
"""Equations with the least extrapolation errors that are finished in any case."""
FINISHING = 0.12
"""Part of the time kept for finishing the equations of the front."""


@dataclass(frozen=True)
class Learned:
    """Everything a fitted model is made of."""

    fronts: list[list[Candidate]]
    mean_errors: list[dict[str, float]]
    largest: list[float]
    n_rows: tuple[int, int]
    n_trainings: int
    interrupted: bool
    reason: str
    """Why the search ended; empty while it goes on."""
    units: list[dict[str, int]]
    """For each output how often each unit occurs in all candidates."""
    validation: str = HELD_OUT
    """What the validation errors come from."""
    outliers: list[Sample] = field(default_factory=list)
    """For each output the rows that were left out because they stand far off."""


Publish = Callable[[Learned], None]
"""Makes what has been learned so far the model's own, and stores it."""


def learn(
    model: IEQLRegressor,
    data: Dataset,
    prior: Prior,
    extra: tuple[Array, Array] | None,
    start: float,
    run: Run | None = None,
    publish: Publish | None = None,
) -> Learned:
    """Learn the fronts of all outputs of a data set with the parameters of a model.

    `publish` is called with what has been found so far after every round of the search.
    """
    if compile_kernels(*KERNELS):
        start = time.time()  # the first fit of an installation gets its time, too
    seed = seed_of(model.random_state)
    if run is not None and run.seed is not None:
        seed = run.seed
    targets = prepare(model, data, prior, extra, seed)
    tasks = [t.task for t in targets]
    resumed = None if run is None else run.begin(tasks, prior, seed)
    report = None
    if publish is not None:
        report = Recorder(
            data.target_names,
            targets[0].inputs,
            [t.scaling for t in targets],
            lambda fronts, result: publish(_learned(fronts, targets, result, False)),
            run,
            start,
        )
    budget = Budget(
        None if model.max_time is None else model.max_time * (1.0 - FINISHING),
        model.max_trainings,
        model.min_time,
    )
    options: dict[str, Any] = {
        "seed": seed,
        "n_jobs": model.n_jobs,
        "start": start,
        "on_round": report,
        "resumed": resumed,
    }
    if model.trainer == "fast":
        result = search(tasks, budget, **options)
    else:
        result = sweep(tasks, budget, PaperSettings.of(model.trainer), **options)
    if result.interrupted and report is not None:
        report(result)  # what came in since the last round
    fronts = _finish_all(model, targets, result, start, range(len(targets)))
    if model.loss == "auto" and not result.interrupted:
        try:
            again = [reconsidered(t, fronts[k]) for k, t in enumerate(targets)]
            changed = [k for k, t in enumerate(again) if t is not targets[k]]
            fronts |= _finish_all(model, again, result, start, changed)
            targets = again
        except KeyboardInterrupt:
            result.interrupted = True
    for k, known in enumerate([] if run is None else run.earlier):
        fronts[k] = _with_earlier(fronts[k], known, targets[k])
    return _learned([fronts[k] for k in range(len(targets))], targets, result, True)


def seed_of(random_state: Any) -> int:
    """The seed of everything that is drawn in a fit with this random state."""
    # Not at the top: a worker process that finishes equations would load it for seconds.
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


def _learned(
    fronts: list[list[Candidate]], targets: list[Target], result: Result, is_finished: bool
) -> Learned:
    first = targets[0]
    rows = (
        first.n_rows if is_finished else (round(first.train.n_rows), round(first.held_out.n_rows))
    )
    return Learned(
        fronts,
        [t.mean_errors for t in targets],
        list(result.largest),
        rows,
        result.n_trainings,
        result.interrupted,
        result.reason,
        [dict(units) for units in result.units],
        CROSS_FITTING if is_finished and first.is_cross_fitted else HELD_OUT,
        [t.rows.subset(t.left_out) for t in targets],
    )


# --- finishing ---------------------------------------------------------------------------------


def _finish_all(
    model: IEQLRegressor,
    targets: Sequence[Target],
    result: Result,
    start: float,
    which: Sequence[int],
) -> dict[int, list[Candidate]]:
    """Bring fronts to the user's coordinates, in parallel, and sort out what they dominate."""
    # From here on only the quick steps: the last equation still has to be finished in time.
    deadline = start + 0.96 * (model.max_time or float("inf"))
    jobs = [
        ((k, i, cut), _finish_one, (c, targets[k], model.output_bound, cut, deadline))
        for k in which
        for i, c in enumerate(_worth_finishing(result.fronts[k]))
        # What the rows do not ask for may be what matters outside of them: then both forms stand.
        for cut in ((True,) if targets[k].extrapolation is None else (True, False))
    ]
    finished: dict[tuple[int, int, bool], Candidate | None] = {}
    try:
        # Few equations, or those of many rows, are quicker done here than sent elsewhere.
        here = len(jobs) < 4 or len(targets[0].train) > MANY_ROWS
        finished.update(in_parallel(jobs, 1 if here else result.n_processes))
    except KeyboardInterrupt:
        result.interrupted = True
        for key, function, args in jobs:
            if key not in finished:
                finished[key] = function(*args[:-1], 0.0)
    fronts = {}
    for k in which:
        kept = [c for key, c in sorted(finished.items()) if key[0] == k and c is not None]
        fronts[k] = thinned(Front(kept))
    return fronts


def _with_earlier(
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
            )
        )
    return thinned(Front([*measured, *front]))


def _worth_finishing(front: Front) -> list[Candidate]:
    """The equations to finish: those that are better than simpler ones, in either error.

    Refitting on all rows moves what an equation does outside of them. So, where there are points
    outside, those that do well there are finished too, even if a simpler one did so by chance.
    """
    chosen = thinned(front, FRONT_TOLERANCE)
    known = {id(c) for c in chosen}
    outside = [c for c in front if math.isfinite(c.rmse_extrapolation) and id(c) not in known]
    return chosen + sorted(outside, key=lambda c: c.rmse_extrapolation)[:BEST_OUTSIDE]


def _finish_one(
    candidate: Candidate,
    target: Target,
    bound: float | None,
    cut: bool,
    deadline: float,
) -> Candidate | None:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1), np.errstate(all="ignore"):
        equation = finish(
            candidate.expression,
            target.inputs,
            target.scaling,
            target.fitting,
            target.points,
            target.task.prior,
            bounds=None if bound is None else (-bound, bound),
            cut=cut,
            is_late=lambda: time.time() > deadline or candidate.n_parameters > MANY_PARAMETERS,
        )
    if equation is None:
        return None
    e = equation.expression
    with np.errstate(all="ignore"):
        rmse_train, rmse_validation, rmse_extrapolation = target.errors(e)
    return Candidate(
        expression=e,
        complexity=e.complexity(target.task.prior),
        n_parameters=e.n_parameters,
        rmse_train=rmse_train,
        rmse_validation=rmse_validation,
        rmse_extrapolation=rmse_extrapolation,
        standard_errors=equation.standard_errors,
        precise=equation.precise,
        proved=equation.proved,
        excess=equation.excess,
    )
