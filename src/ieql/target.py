"""One output to be learned: its rows, split and scaled, its outliers, and its errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ieql.data.dataset import Dataset, Scaling
from ieql.data.dependence import dependence
from ieql.data.losses import all_rows, trusted, weighted, with_weights
from ieql.data.outliers import gross_outliers, stand_far_off
from ieql.data.ranges import TRUST, between, measured_exactly, step_between
from ieql.data.robust import THRESHOLDS, as_seen, equation_trust, robust_rmse
from ieql.data.sample import Sample
from ieql.data.table import constant_columns
from ieql.equations.cross_fitted import cross_fitted, left_out_one_by_one
from ieql.equations.description import heavier_tails
from ieql.equations.dimensions import check_possible
from ieql.equations.expression import Expression, Sum
from ieql.equations.finish import FinishedEquation
from ieql.equations.shape_points import ShapePoints
from ieql.errors import IeqlError
from ieql.options import FitOptions
from ieql.prior import Prior
from ieql.selection import DEFAULT, Candidate, find_criterion, scores, select
from ieql.training.task import Task

if TYPE_CHECKING:
    from ieql.training.fast.surface import Learned, Surface

__all__ = ["Target", "prepare", "reconsidered"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
SEARCH_ROWS = 20_000
"""The structure is searched on at most this many rows; all training rows fit the constants."""
DOMAIN_POINTS = 2_000
"""Points of the declared domain that every candidate must pass during the search."""
FINAL_DOMAIN_POINTS = 20_000
"""And those that an equation must pass before it is shown."""
FEW_ROWS = 2_000
"""Up to so many rows all of them fit the constants, and predict each other by tenths: a tenth of
them, kept back, would say little, and less after it has chosen among the equations."""
MANY_IF_ACCURATE = 40
"""Where the error alone selects, an equation of so many parameters is not made to be read."""
LEAST_FOR_ACCURACY = 120
"""With fewer rows than this more constants than other trainings find would be noise."""
LEAST_TO_SPLIT = 100
"""With fewer rows none are kept back during the search either: a handful of them would only say
which equation they happen to like."""
CHOSEN = 0.5
"""Rows that the choice of each connection uses up: measured on fits to textbook laws and to random
equations, where it makes the reported error that of new rows at the median."""
CHOSEN_FOR_INTERVALS = 1.0
"""The same where the share of new rows in an interval is to be right on the average: where the
choice was bad, errors are far larger than at the median."""
DOMINATED = 0.9
"""Rows that lie far off are set aside during the search if the variance falls below this part."""
LEAST_SAY = 0.01
"""Part of its weight below which a row that a robust loss distrusts has no say in the search."""
DEGREES = 3.0
"""Degrees of freedom of the heavy tails that noise may have."""
LEAST_FOR_TAILS = 20
"""Rows from which on it can be told that noise has heavy tails, ..."""
TAIL_ROWS = 5_000
"""... and those that tell it, where there are more."""
SAME_TRUST = 0.02
"""Differences of weights, beside their mean, for which equations are not finished again."""
RANKED = 2_000
"""Rows whose ranks tell whether there is a law at all."""
LOCATING = 20
"""Steps to the mean of the target under a robust loss."""
ROUNDING = 1e-6
"""Part of the target's spread below which a residual is no reason to call a row an outlier."""


@dataclass(frozen=True, eq=False)
class Target:
    """One output to be learned.

    Attributes
    ----------
    train, validation : Sample
        Its rows in the user's coordinates; if the loss is robust, with little weight far off.
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
    loss : str
        What errors cost (`ieql.options.LOSSES`).
    measured : (Sample, Sample) or None
        If the loss is robust, the rows to train and validate by with the weights that they came
        with.
    learned : Learned or None
        What the surface of the search has learned, where it has laid one.
    """

    train: Sample
    validation: Sample
    extrapolation: Sample | None
    points: Array
    inputs: Scaling
    scaling: Scaling
    task: Task
    left_out: Mask
    loss: str = "auto"
    measured: tuple[Sample, Sample] | None = None
    learned: Learned | None = None

    @property
    def is_robust(self) -> bool:
        """Whether rows far off count less than by the square of their distance."""
        return self.loss in THRESHOLDS

    @property
    def has_own_views(self) -> bool:
        """Whether each equation sees the rows in its own way, so that it must look repeatedly."""
        return self.is_robust or self.train.ranges is not None

    def seen(self, expression: Expression, rows: Sample | None = None) -> Sample:
        """Rows, those that fit the constants if no others are given, as an equation sees them.

        If the loss is robust, large residuals are cut off (`ieql.data.robust`); of a range the
        nearest value is seen (`ieql.data.ranges`).
        """
        rows = self.fitting if rows is None else rows
        if not self.has_own_views:
            return rows
        predicted = expression.evaluate(rows.XT.T)[:, 0]
        return as_seen(between(rows, predicted), predicted, self.loss)

    def step(self, expression: Expression, rows: Sample | None = None) -> Sample:
        """Rows by which least squares takes a step from an equation to the least cost."""
        rows = self.fitting if rows is None else rows
        if rows.ranges is None:
            return self.seen(expression, rows)
        return step_between(rows, expression.evaluate(rows.XT.T)[:, 0])

    @cached_property
    def rows(self) -> Sample:
        """All rows, outliers and rows for validation included."""
        return all_rows(self.train, self.validation)

    @property
    def is_cross_fitted(self) -> bool:
        """Whether all rows fit the constants, and their tenths validate each other."""
        return self.rows.n_rows <= FEW_ROWS

    @cached_property
    def fitting(self) -> Sample:
        """The rows that fit the constants in the end."""
        if self.is_cross_fitted:
            return self.rows.subset(~self.left_out)
        return self.training

    @cached_property
    def training(self) -> Sample:
        """The rows that trainings see."""
        return self.train.subset(~self.left_out[: len(self.train)])

    @cached_property
    def surface(self) -> Surface | None:
        """A smooth surface through all rows, for equations that were taught by one."""
        from ieql.training.fast.surface import laid  # its imports are not for everyone

        rows = self.rows.subset(~self.left_out)
        return laid(rows, self.task.inputs, self.learned)

    @cached_property
    def spread(self) -> float:
        """Standard deviation of the target, as the loss sees it."""
        if not self.has_own_views:
            return self.fitting.spread()
        constant = Expression(self.task.names, (), (Sum(self.mean_errors["mean"]),))
        return self.seen(constant).spread()

    def has_many_constants(self, n_parameters: int) -> bool:
        """Whether an equation is so large that nobody reads it, as may be asked for."""
        return self.task.accurate and n_parameters > MANY_IF_ACCURATE

    @cached_property
    def held_out(self) -> Sample:
        """The rows kept back for validation."""
        return self.validation.subset(~_kept_back(self.left_out, self.train, self.validation))

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
        for _ in range(LOCATING if self.has_own_views else 0):
            rows = self.step(constant)
            mean = float(np.average(rows.y, weights=rows.weight))
            constant = Expression(self.task.names, (), (Sum(mean),))
        errors = {"mean": mean, "validation": self.validation_error(constant)}
        if self.extrapolation is not None:
            errors["extrapolation"] = _rmse(constant, self.extrapolation)
        return errors

    @cached_property
    def dependence(self) -> float:
        """Twice the nats by which ranks tell that it depends on an input."""
        rows = self.fitting.head(RANKED)
        return dependence(rows.XT, rows.y)

    def validation_error(self, expression: Expression, is_taught: bool = False) -> float:
        """Root mean squared error on rows that had no say in the constants.

        With few rows they did have a say in the structure, so that N rows tell as much as
        N - k/2 would, where k is the number of its connections.

        Where the error alone selects, among equations of up to hundreds of connections, that is too
        little. There a smooth surface through the rows tells how much a row bends what is laid
        through it; that counts if it is more. An equation that was taught by the surface, and not
        by the rows, is measured by that alone. One of many constants that rows have taught is
        measured by rows kept back, too, as the best of many there is the best by chance.
        """
        if self.has_many_constants(expression.n_parameters):
            judges = self.left_out_rows(expression, is_taught)
            error = max(math.sqrt(np.average(r**2, weights=weight)) for r, weight in judges)
            return math.hypot(error, self.strayed(expression))
        if not self.is_cross_fitted:
            return self._error(expression, self.held_out)
        expected = 0.0
        if self.task.accurate and self.surface is not None:
            expected = self.surface.expected(self._at_all_rows(expression))
            if is_taught:
                return expected
        seen = self.seen(expression, self.fitting)
        crossed = cross_fitted(expression, seen)
        if self.is_robust:
            # How much larger errors are on rows that had no say.
            crossed *= self._error(expression, self.fitting) / (_rmse(expression, seen) or math.inf)
        return max(expected, crossed * self.flattery(expression))

    def left_out_rows(self, expression: Expression, is_taught: bool) -> list[tuple[Array, Array]]:
        """Residuals of rows that had no say in the constants of a large equation, with weights.

        One pair for each of those who judge it; the largest error counts.
        """
        held_out = self.held_out.y - expression.evaluate(self.held_out.XT.T)[:, 0]
        kept_back = held_out, self.held_out.weight
        if not self.is_cross_fitted:
            return [kept_back]
        judges = []
        if self.surface is not None:
            rows = self.rows.subset(~self.left_out)
            judges.append((self.surface.left_out_of(self._at_all_rows(expression)), rows.weight))
            if is_taught:
                return judges
        one_by_one = left_out_one_by_one(expression, self.training) * self.flattery(expression)
        return [*judges, kept_back, (one_by_one, self.training.weight)]

    def strayed(self, expression: Expression) -> float:
        """What a large equation errs where no row is; zero if there is no surface to tell."""
        if self.surface is None:
            return 0.0
        between = expression.evaluate(self.surface.checks.XT.T)[:, 0]
        return self.surface.strayed(self._at_all_rows(expression), between)

    def _at_all_rows(self, expression: Expression) -> Array:
        value: Array = expression.evaluate(self.rows.subset(~self.left_out).XT.T)[:, 0]
        return value

    def _error(self, expression: Expression, rows: Sample) -> float:
        predicted = expression.evaluate(rows.XT.T)[:, 0]
        return robust_rmse(between(rows, predicted), predicted, self.loss)

    def flattery(self, expression: Expression, used_up: float = CHOSEN) -> float:
        """How many times smaller errors look than they are because the rows chose the structure."""
        n = self.fitting.n_rows
        telling = max(n - used_up * expression.n_parameters, 0.25 * n)
        return math.sqrt(n / telling)

    def errors(self, expression: Expression, is_taught: bool = False) -> tuple[float, float, float]:
        """Root mean squared errors on training, validation and extrapolation rows; NaN if none."""
        return (
            self._error(expression, self.fitting),
            self.validation_error(expression, is_taught),
            _rmse(expression, self.extrapolation),
        )

    def lengths(self, candidates: Sequence[Candidate]) -> Array:
        """Description lengths, by which the front and the default selection go."""
        return scores(
            candidates, DEFAULT, mean_error=self.mean_errors["validation"], n_rows=self.n_rows
        )

    def evidence(self, expression: Expression) -> float:
        """Twice the nats by which it beats the mean if noise has heavy tails.

        That is, if residuals have Student's distribution with three degrees of freedom and the
        spread that the equation leaves. A row far off, explained, is worth little then: a law has
        to say something about many rows.
        """
        rows = self.fitting
        mean = self.mean_errors["mean"]
        predicted = expression.evaluate(rows.XT.T)[:, 0]
        residual = between(rows, predicted).y - predicted
        scale = max(robust_rmse(rows, rows.y - residual, self.loss), ROUNDING * self.spread)
        if not (math.isfinite(scale) and scale > 0.0):
            return math.inf if scale == 0.0 else -math.inf
        costs = [
            (DEGREES + 1.0) * np.log1p((r / scale) ** 2 / DEGREES)
            for r in (between(rows, np.full(len(rows), mean)).y - mean, residual)
        ]
        return float(np.sum(rows.weight * (costs[0] - costs[1])))

    def tails(self, expression: Expression) -> float:
        """Twice the nats by which heavy tails tell the residuals better than a normal distribution.

        The tails are Student's with three degrees of freedom. Rows far off cost little then, so
        that an equation is not preferred for running through them. Zero where there are too few
        rows to say so; where there are very many, some of them tell it.
        """
        rows = self.fitting.head(TAIL_ROWS)
        if len(rows) < LEAST_FOR_TAILS or self.is_robust:
            return 0.0
        predicted = expression.evaluate(rows.XT.T)[:, 0]
        residual = between(rows, predicted).y - predicted
        gained = heavier_tails(residual, rows.weight, DEGREES)
        return gained * self.fitting.n_rows / rows.n_rows if math.isfinite(gained) else 0.0

    def candidate(self, equation: FinishedEquation, is_taught: bool = False) -> Candidate:
        """Measure a finished equation."""
        e = equation.expression
        with np.errstate(all="ignore"):
            rmse_train, rmse_validation, rmse_extrapolation = self.errors(e, is_taught)
            evidence, tails = self.evidence(e), self.tails(e)
        return Candidate(
            expression=e,
            complexity=e.complexity(self.task.prior),
            n_parameters=e.n_parameters,
            rmse_train=rmse_train,
            rmse_validation=rmse_validation,
            rmse_extrapolation=rmse_extrapolation,
            standard_errors=equation.standard_errors,
            precise=equation.precise,
            proved=equation.proved,
            limits=equation.limits,
            excess=equation.excess,
            wave_cost=equation.wave_cost,
            evidence=evidence,
            tails=tails,
            dependence=self.dependence,
            # The rows chose the structure, too, which flatters its residuals.
            band=None
            if equation.band is None
            else equation.band.widened(self.flattery(e, CHOSEN_FOR_INTERVALS)),
            is_taught=is_taught,
        )

    def best(self, front: Sequence[Candidate]) -> Candidate:
        """The equation that describes the data best."""
        mean = self.mean_errors["validation"]
        return front[select(front, "MDL", mean_error=mean, n_rows=self.n_rows)]

    def outliers(self, front: Sequence[Candidate]) -> Mask:
        """Which rows lie far from the equation that describes the data best."""
        e = self.best(front).expression
        predicted = e.evaluate(self.rows.XT.T)[:, 0]
        residual = between(self.rows, predicted).y - predicted
        used = [i for i, name in enumerate(e.names) if name in e.inputs_used]
        places = self.rows.XT[used] if used else self.rows.XT
        far = stand_far_off(places, residual, floor=_floor(self.rows), measured=self.rows.y)
        # A range is what the user vouches for.
        return far & measured_exactly(self.rows)


def prepare(
    options: FitOptions, data: Dataset, outside: tuple[Array, Array] | None, seed: int
) -> list[Target]:
    """Split and scale a data set: one target per output, with the task that trainings see.

    Parameters
    ----------
    options : FitOptions
        Say the share of validation rows, the bound, the size of the network, and the knowledge.
    data : Dataset
        All rows, with the declared domain.
    outside : (X, y) or None
        Labelled points outside the data.
    seed : int
        Fixes the split and the points of the domain; see `ieql.options.seed_of`.
    """
    whole = data.count.sum() < LEAST_TO_SPLIT
    train, validation = (data, data) if whole else data.split(options.validation_fraction, seed)
    # Scales without shifts: see `Task`.
    inputs = Scaling(np.zeros(train.X.shape[1]), Scaling.minmax(train.X).scale)
    points = _domain_points(data, seed)
    rules = _without_constants(Prior.of(options.prior), data)
    priors = [rules.for_target(name) for name in data.target_names]
    for prior in priors:
        check_possible(prior, data.feature_names)
    return [
        _target(options, k, train, validation, outside, inputs, points, prior)
        for k, prior in enumerate(priors)
    ]


def _without_constants(prior: Prior, data: Dataset) -> Prior:
    """The prior, with the inputs left out that have the same value in every row."""
    names = [data.feature_names[i] for i in constant_columns(data.X)]
    for name in prior.require:
        if name in names:
            raise IeqlError(
                f"The prior requires input {name!r}, which has the same value in every row; "
                "measure it at others, or do not require it."
            )
    return prior.without(names) if names else prior


def _domain_points(data: Dataset, seed: int) -> Array:
    """Corners and random points of the declared domain, inputs × points."""
    rng = np.random.default_rng([seed, 1])
    points = np.concatenate([data.domain.corners(), data.domain.sample(FINAL_DOMAIN_POINTS, rng)])
    return np.ascontiguousarray(points.T)


def _target(
    options: FitOptions,
    k: int,
    train: Dataset,
    validation: Dataset,
    outside: tuple[Array, Array] | None,
    inputs: Scaling,
    points: Array,
    prior: Prior,
) -> Target:
    own = replace(_sample(train.X, train.y[:, k], train.weight), ranges=train.ranges)
    checks = own
    if validation is not train:
        checks = _sample(validation.X, validation.y[:, k], validation.weight)
        checks = replace(checks, ranges=validation.ranges)
    beyond = None
    if outside is not None:
        beyond = _sample(outside[0], outside[1][:, k], np.ones(len(outside[0])))
    own, checks = weighted(own, checks, options.loss, train.target_names[k])
    measured = own, checks
    aside = np.zeros(len(all_rows(own, checks)), dtype=bool)
    if options.loss == "auto":
        aside = _set_aside(own, checks)
    own, checks = trusted(own, checks, options.loss)
    unseen = aside | _without_say(own, checks, all_rows(*measured).weight)
    counted = own.subset(~aside[: len(own)])
    zscore = Scaling.zscore(counted.y[:, None], counted.weight)
    scaling = Scaling(np.zeros(1), zscore.scale)
    mean = float(zscore.offset.item())
    _refuse_mean_outside(options.output_bound, prior.shape.bounds, mean, train.target_names[k])
    bounds = prior.shape.within(options.output_bound)
    box = Scaling.minmax(inputs.transform(train.X))
    task = Task(
        names=train.feature_names,
        prior=prior.for_parts,
        whole=None if prior.for_parts is prior else prior,
        train=_scaled(
            _by_trust(own.subset(~unseen[: len(own)])).head(SEARCH_ROWS), inputs, scaling
        ),
        validation=_scaled(
            _by_trust(checks.subset(~_kept_back(unseen, own, checks))).head(SEARCH_ROWS),
            inputs,
            scaling,
        ),
        centre=box.offset,
        half=box.scale,
        mean=mean / float(zscore.scale.item()),
        domain=np.ascontiguousarray(
            inputs.transform(points.T[: DOMAIN_POINTS + min(1024, 2 ** len(points))]).T
        ),
        extrapolation=None if beyond is None else _scaled(beyond, inputs, scaling),
        layers=options.layers if options.layers is not None else prior.layers,
        copies=options.copies if options.copies is not None else prior.copies,
        bounds=None if bounds is None else tuple(scaling.transform(np.array(bounds)).tolist()),
        shape=_shape_points(prior, train, inputs, scaling),
        scale=inputs.scale,
        unit=float(zscore.scale.item()),
        rows=np.flatnonzero(~unseen[: len(own)])[:SEARCH_ROWS],
        accurate=find_criterion(options.selection).is_error_alone
        and own.n_rows >= LEAST_FOR_ACCURACY,
        max_complexity=math.inf if options.max_complexity is None else options.max_complexity,
        levels=train.domain.levels,
    )
    kept = measured if options.loss in THRESHOLDS else None
    return Target(own, checks, beyond, points, inputs, scaling, task, aside, options.loss, kept)


def _refuse_mean_outside(
    bound: float | None, bounds: tuple[float, float], mean: float, name: str
) -> None:
    """Refuse bounds that leave out the mean of the target, and so every useful equation."""
    if bound is not None and abs(mean) >= bound:
        raise IeqlError(
            f"output_bound is {bound:g}, but the mean of {name!r} is {mean:g}: "
            "no useful equation can stay within it; give a larger bound."
        )
    if not bounds[0] <= mean <= bounds[1]:
        raise IeqlError(
            f"The prior's shape bounds the output to {bounds[0]:g} to {bounds[1]:g}, but the mean "
            f"of {name!r} is {mean:g}: no useful equation can stay within; give wider bounds."
        )


def _shape_points(
    prior: Prior, data: Dataset, inputs: Scaling, scaling: Scaling
) -> ShapePoints | None:
    """Points at which the search looks whether a limit is broken, scaled."""
    prior.shape.check_domain({name: (a, b) for name, (a, b) in data.domain.to_dict().items()})
    scales = dict(zip(data.feature_names, inputs.scale.tolist(), strict=True))
    limits = [limit.scaled(scales, float(scaling.scale.item())) for limit in prior.shape.limits]
    lower, upper = inputs.transform(np.stack([data.domain.lower, data.domain.upper]))
    return ShapePoints.of(limits, data.feature_names, lower, upper)


def _kept_back(rows: Mask, train: Sample, validation: Sample) -> Mask:
    """The part of a mask over all rows that is about those for validation."""
    return rows if validation is train else rows[len(train) :]


def _set_aside(train: Sample, validation: Sample) -> Mask:
    """Which rows lie so far from their neighbours that they would govern the search.

    They are looked at again when there is an equation to measure them by.
    """
    rows = all_rows(train, validation)
    aside = gross_outliers(rows.XT, rows.y) & measured_exactly(rows)
    rest = rows.subset(~aside)
    matters = len(rest) > 0 and 0.0 < rest.spread() ** 2 < DOMINATED * rows.spread() ** 2
    return aside if matters and _leaves_some(aside, train, validation) else np.zeros_like(aside)


def _leaves_some(aside: Mask, train: Sample, validation: Sample) -> bool:
    """Whether each part keeps some rows."""
    return not (aside[: len(train)].all() or _kept_back(aside, train, validation).all())


def _without_say(train: Sample, validation: Sample, measured: Array) -> Mask:
    """Which rows a robust loss has left next to nothing of the weight that they came with.

    The search does without them: not all that it does weighs the rows, and its starting values,
    ranges and samples of rows would be spoilt.
    """
    unseen = all_rows(train, validation).weight < LEAST_SAY * measured
    return unseen if _leaves_some(unseen, train, validation) else np.zeros_like(unseen)


def reconsidered(target: Target, front: Sequence[Candidate]) -> Target:
    """The target with the outliers that an equation shows; the same if they are as they were.

    The loss "auto" leaves them out, a robust one weighs them down; others take rows as they are.
    """
    if target.is_robust:
        return _retrusted(target, target.best(front))
    if target.loss != "auto":
        return target
    left_out = target.outliers(front)
    if np.array_equal(left_out, target.left_out):
        return target
    return replace(target, left_out=left_out)


def _retrusted(target: Target, best: Candidate) -> Target:
    """The target with the weights that the residuals of an equation ask for."""
    assert target.measured is not None
    rows = all_rows(*target.measured)
    residual = rows.y - best.expression.evaluate(rows.XT.T)[:, 0]
    if not np.all(np.isfinite(residual)):
        return target
    # Beyond rounding nothing is far off.
    residual = np.where(np.abs(residual) > _floor(rows), residual, 0.0)
    weight = rows.weight * equation_trust(residual, rows.weight, best.n_constants)
    if np.allclose(weight, target.rows.weight, rtol=0.0, atol=SAME_TRUST * rows.weight.mean()):
        return target
    train, validation = with_weights(*target.measured, weight)
    return replace(target, train=train, validation=validation)


def _floor(rows: Sample) -> float:
    """Residuals below this are rounding."""
    return ROUNDING * float(np.subtract(*np.quantile(rows.y, [0.75, 0.25])))


def _sample(X: Array, y: Array, weight: Array) -> Sample:
    return Sample(np.ascontiguousarray(X.T), np.ascontiguousarray(y), weight)


def _by_trust(rows: Sample) -> Sample:
    """Rows as trainings weigh them: what is known by a range counts little beside measurements."""
    exact = measured_exactly(rows)
    if exact.all() or not exact.any():
        return rows
    return replace(rows, weight=rows.weight * np.where(exact, 1.0, TRUST))


def _scaled(sample: Sample, inputs: Scaling, target: Scaling) -> Sample:
    return Sample(
        np.ascontiguousarray(inputs.transform(sample.XT.T).T),
        target.transform(sample.y[:, None])[:, 0],
        sample.weight,
    )


def _rmse(expression: Expression, sample: Sample | None) -> float:
    if sample is None:
        return float("nan")
    return sample.rmse(expression.evaluate(sample.XT.T)[:, 0])
