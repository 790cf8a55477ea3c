"""Complete moves: every part of an equation replaced by every structure of at most its size.

A part is an argument of a unit, or one of its summands. What it would have to be for the equation
to be exact is known to first order: z + r/D, where r is the residual and D the sensitivity of the
output to the part z. All structures over the inputs below that place are fitted to this target,
with the weights D², and the best of them are fitted in the whole equation. An equation whose
neighbourhood holds nothing better is not one that was merely not improved by chance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ieql.data.sample import Sample
from ieql.equations.builder import Builder, translate
from ieql.equations.dimensions import mended
from ieql.equations.expression import Expression, Sum
from ieql.equations.program import Program
from ieql.selection import Candidate, description_length
from ieql.training.fast.batch import FITTING_ROWS, Batch, Effort
from ieql.training.fast.complete import LITTLE, REFINED_ROWS, grammar_of, without_offsets
from ieql.training.fast.eliminate import fitted
from ieql.training.fast.structures import Structure
from ieql.training.fast.styles import ALL_OFFSETS, NO_OFFSETS
from ieql.training.task import Task

__all__ = ["Place", "explored", "places"]

MOST_PER_PLACE = 2_500
"""Structures that are tried in one place; larger ones are left out."""
BEST_PER_PLACE = 16
"""Those that are fitted in the whole equation."""
EFFORT = Effort(starts=24, kept=2, steps=15)
LEAST_WEIGHT = 1e-6
"""Of a row in which the part hardly matters, beside the mean."""
STEPS = 20


@dataclass(frozen=True)
class Place:
    """An argument of a unit, or the output where `node` is the number of nodes.

    With `summand` only one of its terms is meant.
    """

    node: int
    argument: int
    summand: int | None = None


def places(expression: Expression) -> list[Place]:
    """All parts of an equation but the whole."""
    found = []
    last = len(expression.nodes)
    sums = [(k, a, s) for k, n in enumerate(expression.nodes) for a, s in enumerate(n.args)]
    for k, a, s in [*sums, (last, 0, expression.outputs[0])]:
        if s.sources and k < last:
            found.append(Place(k, a))
        if len(s.sources) > 1:
            found += [Place(k, a, j) for j in range(len(s.sources))]
    return found


def explored(
    task: Task, expression: Expression, place: Place, seed: int, deadline: float = math.inf
) -> list[Candidate]:
    """The best equations with another structure in one place; none after the deadline."""
    found: list[Candidate] = []
    with np.errstate(all="ignore"):
        for trial in _replaced(task, expression, place, seed, deadline):
            if time.monotonic() > deadline:
                break
            possible = mended(trial, task.prior) if trial.is_allowed(task.prior) else None
            if possible is None:
                continue
            sample = task.train.head(REFINED_ROWS)
            state = fitted(possible, sample, STEPS, patient=True)
            if state is None:
                continue
            state = without_offsets(state, sample, task.prior)
            candidate = task.candidate(state.expression, state.program)
            if candidate is not None:
                found.append(candidate)
    return found


def _replaced(
    task: Task, expression: Expression, place: Place, seed: int, deadline: float
) -> Iterator[Expression]:
    part = _part(expression, place)
    own = Expression(expression.names, expression.nodes, (part,))
    own = Builder(expression.names).rebuild(own)
    used = tuple(i for i, name in enumerate(own.names) if name in own.inputs_used)
    if not used:
        return
    target = _target(task.train.head(FITTING_ROWS), expression, place, part)
    if target is None:
        return
    sample, scale = target
    prior = task.prior
    grammar = grammar_of(prior, expression.names, used)
    largest = round(own.complexity(prior) / grammar.quantum)
    n, rest = task.train.n_rows, expression.complexity(prior) - own.complexity(prior)
    best: list[tuple[float, Expression]] = []
    tried = 0
    for size in range(1, largest + 1):
        structures = [Structure(terms, size) for terms in grammar.sums(size)]
        tried += len(structures)
        if tried > MOST_PER_PLACE or time.monotonic() > deadline:
            break
        if not structures:
            continue
        batch = Batch(grammar, structures)
        seeds = np.arange(len(structures), dtype=np.uint64) * np.uint64(1_000_003)
        seeds += np.uint64(seed * 1009 + size)
        for offsets in (NO_OFFSETS, ALL_OFFSETS):
            fits = batch.fit(sample, task.domain, seeds, offsets, EFFORT)
            for i in np.argsort(fits.errors, kind="stable")[:BEST_PER_PLACE].tolist():
                error = float(fits.errors[i])
                if error < math.inf:
                    complexity = rest + grammar.complexity(size)
                    mse, p = scale * error + LITTLE, int(fits.n_free[i])
                    length = description_length(n, mse, p, complexity)
                    best.append((length, fits.expression(i)))
    best.sort(key=lambda entry: entry[0])
    for _, other in best[:BEST_PER_PLACE]:
        yield _with(expression, place, other)


def _part(expression: Expression, place: Place) -> Sum:
    """The sum that a place means."""
    s = (
        expression.nodes[place.node].args[place.argument]
        if place.node < len(expression.nodes)
        else expression.outputs[0]
    )
    if place.summand is None:
        return s
    return Sum(0.0, (s.sources[place.summand],), (s.weights[place.summand],))


def _target(
    sample: Sample, expression: Expression, place: Place, part: Sum
) -> tuple[Sample, float] | None:
    """What the part would have to be, and what its weighted error is in that of the output."""
    program = Program.of(expression)
    before = sum(len(n.args) for n in expression.nodes[: place.node])
    sums = expression.sums
    number = before + place.argument
    bias = sum(1 + len(s.weights) for s in sums[:number])
    value, J = program.jacobian(sample.XT, free=np.array([bias], dtype=np.int64))
    sensitivity = J[0]
    own = Expression(expression.names, expression.nodes, (part,))
    z = own.evaluate(sample.XT.T)[:, 0]
    square = sensitivity**2
    mean = float(np.average(square, weights=sample.weight))
    if not (math.isfinite(mean) and mean > 0.0 and np.all(np.isfinite(z))):
        return None
    matters = square > LEAST_WEIGHT * mean
    residual = np.where(matters, (sample.y - value) / np.where(matters, sensitivity, 1.0), 0.0)
    if not np.all(np.isfinite(residual)):
        return None
    weight = sample.weight * square
    return Sample(sample.XT, z + residual, np.maximum(weight, 1e-300)), mean


def _with(expression: Expression, place: Place, other: Expression) -> Expression:
    """The equation with another part in a place."""
    builder = Builder(expression.names)

    def changed(s: Sum, values: list[Sum]) -> Sum:
        new = translate(other.outputs[0], builder.copy(other))
        if place.summand is None:
            return new
        j = place.summand
        rest = Sum(s.bias, s.sources[:j] + s.sources[j + 1 :], s.weights[:j] + s.weights[j + 1 :])
        return translate(rest, values).plus(new)

    k = place.node
    values = builder.copy(expression, stop=k)
    if k == len(expression.nodes):
        return builder.expression(changed(expression.outputs[0], values))
    node = expression.nodes[k]
    args = [
        changed(a, values) if i == place.argument else translate(a, values)
        for i, a in enumerate(node.args)
    ]
    return builder.rebuild(expression, [*values, builder.apply(node.unit, *args)])
