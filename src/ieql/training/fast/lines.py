"""Straight lines: what can be had in no time, where there was none for a training."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ieql.equations.dimensions import rule_of
from ieql.equations.expression import Expression, Sum
from ieql.selection import Candidate
from ieql.training.fast.eliminate import fitted
from ieql.training.task import Task

__all__ = ["lines"]

ROWS = 2_000
MOST_TERMS = 5


def lines(task: Task) -> Iterator[Candidate]:
    """Linear equations of one, two, … inputs, each with the input that explains most of the rest.

    A few milliseconds: the least that a fit cut short by the clock must give.
    """
    sample = task.train.head(ROWS)
    root = np.sqrt(sample.weight / sample.weight.sum())
    columns = np.vstack([np.ones(len(sample)), sample.XT]) * root
    target = sample.y * root
    rules = task.shown_prior.rules
    # Inputs that must be there come first.
    chosen = [task.names.index(name) for name in rules.missing(rules.require)]
    chosen = [task.names.index(name) for name in rules.require] + chosen
    rule = rule_of(task.prior, task.names)
    # Terms of a wrong dimension would spoil all longer lines.
    barred = [] if rule is None else [i for i, d in enumerate(rule.inputs) if not rule.may_add(d)]
    others = [i for i in range(len(task.names)) if i not in task.inputs]
    for _ in range(min(max(MOST_TERMS - len(chosen), 1), len(task.names), len(sample) - 2)):
        fixed = columns[[0, *(1 + j for j in chosen)]]
        basis = np.linalg.qr(fixed.T)[0]
        rest = columns[1:] - (columns[1:] @ basis) @ basis.T
        residual = target - basis @ (basis.T @ target)
        size = np.sum(rest**2, axis=1)
        gain = (rest @ residual) ** 2 / np.where(
            size > 1e-12 * np.sum(columns[1:] ** 2, axis=1), size, np.inf
        )
        gain[chosen] = 0.0
        gain[[*barred, *others]] = 0.0
        best = int(np.argmax(gain))
        if gain[best] > 0.0:
            chosen.append(best)
        elif not chosen:
            return
        fixed = columns[[0, *(1 + j for j in chosen)]]
        (bias, *weights), *_ = np.linalg.lstsq(fixed.T, target, rcond=None)
        line = Sum(float(bias), tuple(chosen), tuple(float(w) for w in weights))
        expression = Expression(task.names, (), (line,))
        if rule is not None:
            possible = rule.mended(expression)
            state = None if possible is None else fitted(possible, sample, 1)
            expression = expression if state is None else state.expression
        candidate = task.candidate(expression)
        if candidate is not None:
            yield candidate
