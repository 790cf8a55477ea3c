"""What a training sees: one target, in scaled coordinates, with everything it must respect."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.dimensions import LOOSE, is_in_order, rule_of
from ieql.equations.expression import Expression
from ieql.equations.program import Program
from ieql.equations.safety import is_safe
from ieql.equations.shape_points import ShapePoints
from ieql.equations.wave_cost import wave_cost
from ieql.prior import Prior
from ieql.selection import CHOICES, Candidate

if TYPE_CHECKING:
    from ieql.training.fast.surface import Surface

__all__ = ["EXACT", "Task"]

Array = NDArray[np.float64]
OFFSET = 0.5
"""Size of an offset beside that of a weight."""
BEND, ROWS_PER_BEND = 3.0, 4
"""Where a bounded curve is bent, by its argument, and how many rows must lie there."""
ROWS_PER_PERIOD = 4.0
WAVE_ROWS = 200
"""Rows by which it is judged how much of a wave is seen."""
MOST_VARIANTS = 12
"""Choices of inputs that are looked at, where some must stay apart."""
EXACT = 1e-11
"""Part of the target's spread below which an error is rounding: nothing is left to be found."""


@dataclass(frozen=True, eq=False)
class Task:
    """One target to be learned.

    Attributes
    ----------
    names : tuple of str
        Names of the inputs.
    prior : Prior
        Expert knowledge.
    train, validation : Sample
        Inputs and target divided by their scales but not shifted: in the user's own offsets true
        zeros are zeros, and an equation has fewer constants.
    centre, half : array (inputs,)
        Middle and half range of the inputs, for dense networks, which like [-1, 1] better.
    mean : float
        Mean of the target.
    domain : array (inputs, points)
        Points of the declared domain, scaled alike, where every equation must be safe.
    extrapolation : Sample or None
        Labelled points outside the training data, for V_int&ex.
    layers, copies : int or None
        Fixed by the user, or left to the search.
    bounds : (low, high) or None
        What the output must not leave in the domain (the paper's bound B), scaled.
    shape : ShapePoints or None
        Points at which every equation must keep to the limits of the prior's shape, scaled.
    scale : array (inputs,) or None
        What the inputs were divided by: where that is known, inputs in the same unit are.
    unit : float
        What the target was divided by.
    steered : bool
        Whether labelled points outside steer the search, too; else they only choose in the end, as
        in the paper.
    rows : array (rows,) or None
        Which rows of the table those to train by are, so that several outputs can be trained
        together although each has set other rows aside; None: the first ones, in their order.
    accurate : bool
        Whether the error alone will select, so that equations may have hundreds of constants.
    surface : Surface or None
        A smooth surface through the rows, by which such equations may be taught.
    guesses : tuple of Expression
        Equations to start from.
    max_complexity : float
        Largest complexity that the user wants to see.
    whole : Prior or None
        The prior with its rules about inputs that must be there and the number of units, which
        drafts and parts of an equation need not keep (`Prior.for_parts`); None if there are none.
    levels : tuple of tuples of int
        Inputs that are levels of the same category (`ieql.data.categories`).
    """

    names: tuple[str, ...]
    prior: Prior
    train: Sample
    validation: Sample
    centre: Array
    half: Array
    mean: float
    domain: Array
    extrapolation: Sample | None = None
    layers: int | None = None
    copies: int | None = None
    bounds: tuple[float, float] | None = None
    shape: ShapePoints | None = None
    scale: Array | None = None
    unit: float = 1.0
    steered: bool = False
    rows: NDArray[np.intp] | None = None
    accurate: bool = False
    surface: Surface | None = None
    guesses: tuple[Expression, ...] = ()
    max_complexity: float = math.inf
    whole: Prior | None = None
    levels: tuple[tuple[int, ...], ...] = ()

    @property
    def has_rule(self) -> bool:
        """Whether physical units forbid some equations."""
        return rule_of(self.prior, self.names) is not None

    @property
    def may_wave(self) -> bool:
        """Whether an input itself may be the argument of a wave: by its unit it must be plain."""
        rule = rule_of(self.prior, self.names)
        return rule is None or rule.relaxed.plain in rule.relaxed.inputs

    @property
    def inputs(self) -> tuple[int, ...]:
        """The inputs that equations are made of: all, but those that the prior leaves out."""
        return tuple(
            i
            for i, name in enumerate(self.names)
            if self.prior.inputs.get(name, {}).get("only_in", True) != ()
        )

    @property
    def shown_prior(self) -> Prior:
        """What holds for the equations that are shown."""
        return self.prior if self.whole is None else self.whole

    def is_step(self, expression: Expression) -> bool:
        """Whether an expression lacks inputs that must be there, and is only a step to others."""
        if self.whole is None:
            return False
        return bool(self.whole.rules.missing(expression.inputs_used))

    def prior_for(self, expression: Expression) -> Prior:
        """The prior by which to cut an expression down: what it has of inputs it must keep."""
        return self.prior if self.is_step(expression) else self.shown_prior

    @cached_property
    def variants(self) -> tuple[Task, ...]:
        """The same task for each choice of inputs of which no two must stay apart.

        Just this one if there are none: what a search draws, and cannot use, takes its time.
        """
        rules = self.shown_prior.rules
        if not rules.apart:
            return (self,)
        return tuple(
            replace(
                self,
                prior=self.prior.without(left_out),
                whole=None if self.whole is None else self.whole.without(left_out),
            )
            for left_out in rules.choices(MOST_VARIANTS)
        )

    @cached_property
    def dense(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32] | None]:
        """The training rows for dense networks: inputs in [-1, 1], target with mean zero.

        In single precision, and with weights only if they differ.
        """
        weight = self.train.weight
        uniform = bool(np.all(weight == weight[0]))
        return (
            ((self.train.XT - self.centre[:, None]) / self.half[:, None]).astype(np.float32),
            (self.train.y - self.mean).astype(np.float32),
            None if uniform else (weight / weight.mean()).astype(np.float32),
        )

    @cached_property
    def price(self) -> float:
        """What a unit of complexity must lower log(error) by to be worth it.

        At least three per cent; with few rows what the description length (`ieql.selection`) asks
        for, so that the search does not chase noise.
        """
        n = max(self.train.n_rows, 2.0)
        return max(0.03, (math.log(n) + 2.0 * math.log(CHOICES)) / (2.0 * n))

    def error(self, candidate: Candidate) -> float:
        """What a search goes by: the error on the training rows and, if steered, outside."""
        if not self.steered or not math.isfinite(candidate.rmse_extrapolation):
            return candidate.rmse_train
        return math.hypot(candidate.rmse_train, candidate.rmse_extrapolation) / math.sqrt(2.0)

    def size(self, expression: Expression) -> float:
        """What the search takes for the size of an equation: its complexity and its offsets.

        The paper's complexity counts weights alone. Then a cosine, whose offset is free, is the
        cheapest way to draw any curve, and the search would make everything of cosines.
        """
        offsets = sum(s.bias != 0.0 for s in expression.sums)
        return expression.complexity(self.prior) + OFFSET * offsets

    def from_dense(self, expression: Expression) -> Expression:
        """An expression of the dense networks' coordinates in those of the task."""
        return expression.rescaled(self.centre, self.half, self.mean, 1.0).canonical()

    def to_dense(self, expression: Expression) -> Expression:
        """The inverse of `from_dense`."""
        offset, scale = -self.centre / self.half, 1.0 / self.half
        return expression.rescaled(offset, scale, -self.mean, 1.0).canonical()

    def _fits_network(self, expression: Expression) -> bool:
        """Whether the network of the user's size can hold the expression."""
        if self.layers is not None and expression.depth > self.layers:
            return False
        if self.copies is None:
            return True
        places = self.copies * (self.layers or max(expression.depth, 1))
        return all(count <= places for count in expression.unit_counts().values())

    def _is_resolved(self, expression: Expression, program: Program) -> bool:
        """Whether the rows can see the waves of an expression: a period needs some of them.

        A wave that is faster than that can be bent to fit anything; it looks like cos(7e13 x). And
        a saturation that no row sees the bend of is a step: tanh(7e13 x).
        """
        waves, place = [], 0
        for node in expression.nodes:
            if node.unit.period is not None:
                waves.append(place)
            place += len(node.args)
        if not _sees_bends(expression, self.train.XT):
            return False
        if not waves:
            return True
        lows, highs = program.argument_ranges(self.train.XT)
        most = 2.0 * math.pi * len(self.train) / ROWS_PER_PERIOD
        return bool(np.all(highs[waves] - lows[waves] < most))

    def candidate(self, expression: Expression, program: Program | None = None) -> Candidate | None:
        """Measure an expression; None if it is forbidden, too large, or breaks a limit."""
        if not is_in_order(expression, self.prior, LOOSE):
            return None
        complexity = expression.complexity(self.prior)
        if complexity > self.max_complexity or not self._fits_network(expression):
            return None
        if len(expression.nodes) > (self.shown_prior.max_units or math.inf):
            return None
        program = program or Program.of(expression)
        if not is_safe(expression, self.domain, program, self.bounds):
            return None
        if self.shape is not None and self.shape.broken(program.evaluate) is not None:
            return None
        if not self._is_resolved(expression, program):
            return None
        extrapolation = self.extrapolation
        return Candidate(
            expression=expression,
            complexity=complexity,
            n_parameters=expression.n_parameters,
            rmse_train=self.train.rmse(program.evaluate(self.train.XT)),
            rmse_validation=self.validation.rmse(program.evaluate(self.validation.XT)),
            rmse_extrapolation=float("nan")
            if extrapolation is None
            else extrapolation.rmse(program.evaluate(extrapolation.XT)),
            wave_cost=wave_cost(expression, self.train.XT[:, :WAVE_ROWS].T, self.prior),
            is_step=self.is_step(expression),
        )


def _sees_bends(expression: Expression, XT: NDArray[np.float64]) -> bool:
    """Whether some rows lie where each bounded curve is curved, and not only beyond."""
    curves = [k for k, node in enumerate(expression.nodes) if node.unit.is_bounded_curve]
    if not curves:
        return True
    arguments = expression.arguments(XT.T)
    return all(int(np.sum(np.abs(arguments[k][0]) < BEND)) >= ROWS_PER_BEND for k in curves)
