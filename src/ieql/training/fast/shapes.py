"""Shapes first: where an input bends, saturates, switches or peaks, looked for place by place.

A kink has its place, a logistic curve its middle and its steepness. Drawn at random, constants are
seldom close enough for a fit to find the way. So every unit that has such a place is tried at many
places of every input, beside a smooth trend of all inputs; the gain of each trial is known at once,
to first order, and the best of each kind are fitted and cut down. The best of each kind get another
such unit: a dead zone is two kinks.

Only units with a middle or an edge count: a prior without any costs no time here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.builder import Builder, translate
from ieql.equations.dimensions import mended
from ieql.equations.expression import Expression, Sum
from ieql.equations.program import Program, addresses
from ieql.equations.simplify import gauge
from ieql.selection import Candidate
from ieql.training.fast.eliminate import FittedExpression, drop_unneeded, fitted
from ieql.training.task import Task
from ieql.units import SQUARE, Unit

__all__ = ["shapes"]

Array = NDArray[np.float64]
ROWS, FINAL_ROWS = 400, 2500
"""Rows that are looked at, and of the last fit."""
LEAST_ROWS = 12
MOST_INPUTS = 8
"""Inputs that are looked at, those that the target depends on most in a straight line."""
PLACES = 24
"""Where a middle or an edge may be: quantiles of the input."""
RATES = (2.0, 4.0, 8.0, 16.0, 32.0)
"""Steepnesses, per range of the input."""
EXPONENTS = (0.33, 0.5, 1.5, 2.0, 3.0)
STEPS = 30
BEST = 8
"""Equations of a round that are candidates."""
ROUNDS = 2
"""Units that are added, one after the other."""
LITTLE = 0.8
"""Part of the error that must be left for another unit to have been worth a try."""


class Trial(NamedTuple):
    """A unit at some place of an input: weight and offset of its argument, and another number."""

    unit: Unit
    input: int
    weight: float
    offset: float
    number: float

    def values(self, x: Array) -> Array:
        """Its values on some rows of the input."""
        z = self.weight * x + self.offset
        return self.unit(z) if self.unit.arity == 1 else self.unit(z, np.full_like(z, self.number))

    def apply(self, builder: Builder) -> Sum:
        """The unit in a graph."""
        z = builder.input(self.input).scaled(self.weight).plus(Sum(self.offset))
        args = (z,) if self.unit.arity == 1 else (z, Sum(self.number))
        return builder.apply(self.unit, *args)


def shapes(task: Task, deadline: float = math.inf) -> Iterator[Candidate]:
    """Equations with a unit that has its place, beside a trend; none if the prior has no such unit.

    Parameters
    ----------
    task : Task
        What to learn.
    deadline : float
        The moment (``time.monotonic()``) after which nothing is begun.
    """
    units = [task.prior.unit(name) for name in task.prior.units]
    units = [u for u in units if u.has_middle or u.selects or u.raises]
    sample = task.train.head(ROWS)
    if not units or len(sample) < LEAST_ROWS or addresses(units) is None:
        return
    inputs = _inputs(task, sample)
    trials = [t for i in inputs for u in units for t in _trials(u, i, sample.XT[i])]
    values = np.array([t.values(sample.XT[t.input]) for t in trials])
    good = np.all(np.isfinite(values), axis=1)
    trials = [t for t, use in zip(trials, good, strict=True) if use]
    states = list(_trends(task, sample, inputs))
    for _ in range(ROUNDS):
        if not states:  # physical units may leave no trend, and nothing beside one
            return
        children: dict[tuple[object, ...], tuple[FittedExpression, Unit]] = {}
        for state in states:
            for trial in _promising(task, state, sample, trials, values[good]):
                if time.monotonic() > deadline:
                    return
                child = _with_trial(task, state, sample, trial)
                known = None if child is None else children.get(child.expression.skeleton)
                if child is not None and (known is None or child.error < known[0].error):
                    children[child.expression.skeleton] = child, trial.unit
        ranked = sorted(children.values(), key=lambda c: _score(task, c[0]))
        yield from _candidates(task, [child for child, _ in ranked[:BEST]])
        before = min(s.error for s in states)
        # The best of each kind: of two kinks, the first alone may be worse than a smooth curve.
        states = list({unit: child for child, unit in reversed(ranked)}.values())
        if min((s.error for s in states), default=np.inf) > LITTLE**2 * before:
            return


def _candidates(task: Task, states: Sequence[FittedExpression]) -> Iterator[Candidate]:
    """Equations fitted to more rows, those that may be shown."""
    final = task.train.head(FINAL_ROWS)
    for state in states:
        strict = fitted(state.expression, final, STEPS)
        candidate = strict and task.candidate(strict.expression, strict.program)
        if candidate:
            yield candidate


def _inputs(task: Task, sample: Sample) -> list[int]:
    """The inputs to look at."""
    found = [i for i in task.inputs if np.ptp(sample.XT[i]) > 0.0]
    if len(found) <= MOST_INPUTS:
        return found
    strength = [abs(float(np.corrcoef(sample.XT[i], sample.y)[0, 1])) for i in found]
    return [found[int(k)] for k in np.argsort(strength)[::-1][:MOST_INPUTS]]


def _trials(unit: Unit, i: int, x: Array) -> Iterator[Trial]:
    """A unit at many places of an input, and with many steepnesses if it has one."""
    places = np.unique(np.quantile(x, np.linspace(0.02, 0.98, PLACES)))
    width = float(np.ptp(x))
    if unit.raises:
        for p in EXPONENTS:
            yield Trial(unit, i, 1.0, 0.0, p)
        return
    for place in places.tolist():
        if unit.selects:
            yield Trial(unit, i, 1.0, 0.0, place)
        elif unit.sharp:
            yield Trial(unit, i, 1.0, -place, 0.0)
        else:
            for rate in RATES:
                yield Trial(unit, i, rate / width, -place * rate / width, 0.0)


def _trends(task: Task, sample: Sample, inputs: Sequence[int]) -> Iterator[FittedExpression]:
    """Smooth trends to start from: of all inputs, and for each input of all others."""
    for left_out in (None, *inputs):
        builder = Builder(task.names)
        total = Sum(task.mean)
        for i in inputs:
            if i != left_out:
                total = total.plus(builder.input(i).scaled(1e-3))
                if SQUARE.name in task.prior.units:
                    square = builder.apply(SQUARE, builder.input(i))
                    total = total.plus(square.scaled(1e-3))
        expression = mended(builder.expression(total), task.prior)
        if expression is not None and expression.is_allowed(task.prior):
            state = fitted(expression, sample, STEPS)
            if state is not None:
                yield state


def _promising(
    task: Task, state: FittedExpression, sample: Sample, trials: list[Trial], values: Array
) -> list[Trial]:
    """Of each unit the trial that gains most beside a state, to first order."""
    root = np.sqrt(sample.weight / sample.weight.sum())
    value, J = state.program.jacobian(sample.XT)
    J = np.where(np.isfinite(J), J, 0.0) * root
    size = np.linalg.norm(J, axis=1)
    columns = np.vstack([J[size > 0.0] / size[size > 0.0, None], root])
    Q = np.linalg.qr(columns.T)[0]
    residual = (sample.y - value) * root
    V = values * root
    inside = V @ Q
    squares = np.einsum("ij,ij->i", V, V)
    rest = squares - np.einsum("ij,ij->i", inside, inside)
    good = rest > 1e-6 * squares
    along = V @ (residual - Q @ (Q.T @ residual))
    gains = np.where(good, along**2 / np.where(good, rest, 1.0), 0.0)
    best: dict[str, tuple[float, Trial]] = {}
    for gain, trial in zip(gains.tolist(), trials, strict=True):
        if gain > best.get(trial.unit.name, (0.0, trial))[0]:
            best[trial.unit.name] = gain, trial
    return [trial for _, trial in best.values()]


def _with_trial(
    task: Task, state: FittedExpression, sample: Sample, trial: Trial
) -> FittedExpression | None:
    """A state with one more unit, fitted and cut down."""
    builder = Builder(task.names)
    values = builder.copy(state.expression)
    whole = translate(state.expression.outputs[0], values)
    # Constants that are there, for the fit to find their sizes.
    bias = Sum(task.mean or 1e-9) if whole.bias == 0.0 else Sum()
    expression = builder.expression(whole.plus(trial.apply(builder)).plus(bias))
    if not expression.is_allowed(task.prior):
        return None
    possible = mended(expression, task.prior)
    if possible is None:
        return None
    child = fitted(_weighed(gauge(possible), sample), sample, STEPS, patient=True)
    return None if child is None else drop_unneeded(child, sample, task.prior)


def _weighed(expression: Expression, sample: Sample) -> Expression:
    """With the weights of the output fitted alone: a kink of no weight would be moved anywhere."""
    program = Program.of(expression)
    last = len(program.theta) - 1 - len(expression.outputs[0].weights)
    outer = program.free[program.free >= last]
    fit = program.fit(sample.XT, sample.y, sample.weight, free=outer, max_steps=3)
    return expression.with_constants(fit.theta)


def _score(task: Task, state: FittedExpression) -> float:
    error = 0.5 * math.log(state.error + 1e-300)
    return error + task.price * task.size(state.expression)
