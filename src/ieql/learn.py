"""From a data set to fronts of equations: the table of contents of a fit.

Data and prior → tasks in scaled coordinates → search → equations in the user's coordinates → front.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ieql.data import Dataset, Scaling
from ieql.doubts import CROSS_FITTING, HELD_OUT
from ieql.equations.expression import Expression, Sum
from ieql.equations.program import compile_kernels
from ieql.equations.refit import cross_fitted, finish
from ieql.errors import IeqlError
from ieql.outliers import GROSS, stand_far_off
from ieql.parallel import in_parallel
from ieql.prior import Prior
from ieql.recorder import Recorder, Run
from ieql.sample import Sample
from ieql.search import Budget, Result, search
from ieql.selection import CHOICES, Candidate, Front, select, thinned
from ieql.sweep import sweep
from ieql.table import constant_columns
from ieql.training.paper import PaperSettings
from ieql.training.task import Task

if TYPE_CHECKING:
    from ieql.regressor import IEQLRegressor

__all__ = ["Learned", "Target", "learn", "prepare", "seed_of"]

Array = NDArray[np.float64]
KERNELS = ("ieql.equations.kernels", "ieql.training.law_kernel")
SEARCH_ROWS = 20_000
"""The structure is searched on at most this many rows; all training rows fit the constants."""
DOMAIN_POINTS = 2_000
"""Points of the declared domain that every candidate must pass during the search."""
FINAL_DOMAIN_POINTS = 20_000
"""And those that an equation must pass before it is shown."""
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
FEW_ROWS = 2_000
"""Up to so many rows all of them fit the constants, and predict each other by tenths: a tenth of
them, kept back, would say little, and less after it has chosen among the equations."""
DOMINATED = 0.9
"""Rows that stand far off are set aside during the search if the variance falls below this part."""
ROUNDING = 1e-6
"""Part of the target's spread below which a residual is no reason to call a row an outlier."""


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


@dataclass(frozen=True, eq=False)
class Target:
    """One output to be learned.

    Attributes
    ----------
    train, validation : Sample
        Its rows in the user's coordinates.
    extrapolation : Sample or None
        Labelled points outside of them.
    points : array (inputs, points)
        Points of the declared domain, in the user's coordinates.
    inputs, scaling : Scaling
        Scaling of the inputs and of the output.
    task : Task
        What a training sees of all this.
    left_out : array (rows,)
        Which of the rows, those to train by and then those to validate by, are outliers.
    """

    train: Sample
    validation: Sample
    extrapolation: Sample | None
    points: Array
    inputs: Scaling
    scaling: Scaling
    task: Task
    left_out: NDArray[np.bool_]

    @cached_property
    def rows(self) -> Sample:
        """All rows, outliers and rows for validation included."""
        return self.train.joined(self.validation)

    @property
    def is_cross_fitted(self) -> bool:
        """Whether all rows fit the constants, and their tenths validate each other."""
        return self.rows.n_rows <= FEW_ROWS

    @cached_property
    def fitting(self) -> Sample:
        """The rows that fit the constants in the end."""
        if self.is_cross_fitted:
            return self.rows.subset(~self.left_out)
        return self.train.subset(~self.left_out[: len(self.train)])

    @cached_property
    def held_out(self) -> Sample:
        """The rows kept back for validation."""
        return self.validation.subset(~self.left_out[len(self.train) :])

    @property
    def n_rows(self) -> tuple[int, int]:
        """Number of measured rows that fit the constants, and of those kept back."""
        kept_back = 0 if self.is_cross_fitted else round(self.held_out.n_rows)
        return round(self.fitting.n_rows), kept_back

    @cached_property
    def mean_errors(self) -> dict[str, float]:
        """Errors of the mean predictor, at which the selection criteria clip."""
        mean = float(np.average(self.fitting.y, weights=self.fitting.weight))
        constant = Expression(self.task.names, (), (Sum(mean),))
        errors = {"mean": mean, "validation": self.validation_error(constant)}
        if self.extrapolation is not None:
            errors["extrapolation"] = _rmse(constant, self.extrapolation)
        return errors

    def validation_error(self, expression: Expression) -> float:
        """Root mean squared error on rows that had no say in the constants.

        With few rows they did have a say in the structure. Each of its k connections was chosen
        among some thirty, and half of what the best of them seems to explain by chance counts
        against it: N rows tell as much as N - k ln(30)/2 would.
        """
        if not self.is_cross_fitted:
            return _rmse(expression, self.held_out)
        n = self.fitting.n_rows
        telling = max(n - 0.5 * math.log(CHOICES) * expression.n_parameters, 0.25 * n)
        return cross_fitted(expression, self.fitting) * math.sqrt(n / telling)

    def errors(self, expression: Expression) -> tuple[float, float, float]:
        """Root mean squared errors on training, validation and extrapolation rows; NaN if none."""
        return (
            _rmse(expression, self.fitting),
            self.validation_error(expression),
            _rmse(expression, self.extrapolation),
        )

    def outliers(self, front: Sequence[Candidate]) -> NDArray[np.bool_]:
        """Which rows stand far off from the equation that describes the data best."""
        best = front[
            select(
                front,
                "MDL",
                mean_error=self.mean_errors["validation"],
                n_rows=self.n_rows,
            )
        ]
        e = best.expression
        residual = self.rows.y - e.evaluate(self.rows.XT.T)[:, 0]
        used = [i for i, name in enumerate(e.names) if name in e.inputs_used]
        places = self.rows.XT[used] if used else self.rows.XT
        return stand_far_off(places, residual, floor=_floor(self.rows), measured=self.rows.y)


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
    if model.loss == "auto":
        before = targets
        targets = [_reconsidered(t, fronts[k]) for k, t in enumerate(targets)]
        changed = [k for k, t in enumerate(targets) if t is not before[k]]
        fronts |= _finish_all(model, targets, result, start, changed)
    for k, known in enumerate([] if run is None else run.earlier):
        fronts[k] = _with_earlier(fronts[k], known, targets[k])
    return _learned([fronts[k] for k in range(len(targets))], targets, result, True)


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


# --- tasks -------------------------------------------------------------------------------------


def seed_of(random_state: Any) -> int:
    """The seed of everything that is drawn in a fit with this random state."""
    # Not at the top: a worker process that finishes equations would load it for seconds.
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


def prepare(
    model: IEQLRegressor,
    data: Dataset,
    prior: Prior,
    extra: tuple[Array, Array] | None,
    seed: int,
) -> list[Target]:
    """Split and scale a data set: one target per output, with the task that trainings see.

    Parameters
    ----------
    model : IEQLRegressor
        Its parameters say the share of validation rows, the bound and the size of the network.
    data : Dataset
        All rows, with the declared domain.
    prior : Prior
        Expert knowledge.
    extra : (X, y) or None
        Labelled points outside the data.
    seed : int
        Fixes the split and the points of the domain; see `seed_of`.
    """
    train, validation = data.split(model.validation_fraction, seed)
    # Scales without shifts: see `Task`.
    inputs = Scaling(np.zeros(train.X.shape[1]), Scaling.minmax(train.X).scale)
    points = _domain_points(data, seed)
    rules = _without_constants(prior, data)
    return [
        _target(model, k, train, validation, extra, inputs, points, rules)
        for k in range(data.y.shape[1])
    ]


def _without_constants(prior: Prior, data: Dataset) -> Prior:
    """The prior, with the inputs left out that have the same value in every row."""
    names = [data.feature_names[i] for i in constant_columns(data.X)]
    if not names:
        return prior
    return replace(prior, inputs={**prior.inputs, **{name: {"only_in": ()} for name in names}})


def _domain_points(data: Dataset, seed: int) -> Array:
    """Corners and random points of the declared domain, inputs × points."""
    rng = np.random.default_rng([seed, 1])
    points = np.concatenate([data.domain.corners(), data.domain.sample(FINAL_DOMAIN_POINTS, rng)])
    return np.ascontiguousarray(points.T)


def _target(
    model: IEQLRegressor,
    k: int,
    train: Dataset,
    validation: Dataset,
    extra: tuple[Array, Array] | None,
    inputs: Scaling,
    points: Array,
    prior: Prior,
) -> Target:
    own = _sample(train.X, train.y[:, k], train.weight)
    checks = _sample(validation.X, validation.y[:, k], validation.weight)
    outside = None if extra is None else _sample(extra[0], extra[1][:, k], np.ones(len(extra[0])))
    aside = (
        _set_aside(own.joined(checks))
        if model.loss == "auto"
        else np.zeros(len(own) + len(checks), dtype=bool)
    )
    counted = own.subset(~aside[: len(own)])
    zscore = Scaling.zscore(counted.y[:, None], counted.weight)
    scaling = Scaling(np.zeros(1), zscore.scale)
    bound, mean = model.output_bound, float(zscore.offset.item())
    if bound is not None and abs(mean) >= bound:
        raise IeqlError(
            f"output_bound is {bound:g}, but the mean of {train.target_names[k]!r} is {mean:g}: "
            "no equation of use can keep to it; give a larger bound."
        )
    box = Scaling.minmax(inputs.transform(train.X))
    task = Task(
        names=train.feature_names,
        prior=prior,
        train=_scaled(own.subset(~aside[: len(own)]).head(SEARCH_ROWS), inputs, scaling),
        validation=_scaled(checks.subset(~aside[len(own) :]).head(SEARCH_ROWS), inputs, scaling),
        centre=box.offset,
        half=box.scale,
        mean=mean / float(zscore.scale.item()),
        domain=np.ascontiguousarray(
            inputs.transform(points.T[: DOMAIN_POINTS + min(1024, 2 ** len(points))]).T
        ),
        extrapolation=None if outside is None else _scaled(outside, inputs, scaling),
        layers=model.layers if model.layers is not None else prior.layers,
        copies=model.copies if model.copies is not None else prior.copies,
        bounds=None
        if bound is None
        else tuple(scaling.transform(np.array([-bound, bound])).tolist()),
    )
    return Target(own, checks, outside, points, inputs, scaling, task, aside)


def _set_aside(rows: Sample) -> NDArray[np.bool_]:
    """Which rows stand so far off from their neighbours that they would govern the search.

    They are looked at again when there is an equation to measure them by.
    """
    aside = stand_far_off(rows.XT, rows.y, GROSS)
    rest = rows.subset(~aside)
    matters = len(rest) and rest.spread() ** 2 < DOMINATED * rows.spread() ** 2
    return aside if matters and rest.spread() > 0.0 else np.zeros(len(rows), dtype=bool)


def _reconsidered(target: Target, front: Sequence[Candidate]) -> Target:
    """The target with the outliers that an equation shows; the same if they are as they were."""
    left_out = target.outliers(front)
    if np.array_equal(left_out, target.left_out):
        return target
    return replace(target, left_out=left_out)


def _floor(rows: Sample) -> float:
    """Residuals below this are rounding."""
    return ROUNDING * float(np.subtract(*np.quantile(rows.y, [0.75, 0.25])))


def _sample(X: Array, y: Array, weight: Array) -> Sample:
    return Sample(np.ascontiguousarray(X.T), np.ascontiguousarray(y), weight)


def _scaled(sample: Sample, inputs: Scaling, target: Scaling) -> Sample:
    return Sample(
        np.ascontiguousarray(inputs.transform(sample.XT.T).T),
        target.transform(sample.y[:, None])[:, 0],
        sample.weight,
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


def _rmse(expression: Expression, sample: Sample | None) -> float:
    if sample is None:
        return float("nan")
    return sample.rmse(expression.evaluate(sample.XT.T)[:, 0])
