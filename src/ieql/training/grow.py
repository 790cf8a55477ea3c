"""Growth: sparse equations are grown, rewired and cut as graphs, every constant refitted each time.

Connections to a bank of random units are screened in bulk (`screen`), units are exchanged or put
around an argument (`reshape`), products are multiplied out; what looks most promising is refitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ieql.equations.expression import Expression
from ieql.equations.simplify import expansions
from ieql.sample import Sample
from ieql.training.archive import Archive
from ieql.training.bank import make_bank
from ieql.training.eliminate import State, drop_unneeded, fitted
from ieql.training.reshape import retyped, wrapped
from ieql.training.screen import Screen
from ieql.training.task import Task

__all__ = ["GrowSettings", "grow", "looks_like_noise"]

DOMAIN_POINTS = 128
"""Points of the declared domain where entries of the bank must be defined; corners come first."""


@dataclass(frozen=True)
class GrowSettings:
    """Numbers of the growth; the defaults are those of the lab notebook."""

    rows: int = 384
    moves: int = 6
    steps: int = 20
    price: float = 2.5
    """What a unit of complexity must lower log(error) by to be a step forward, in task.price."""
    trimmed: int = 4
    """Children per move that are cut down before they are judged."""
    others: int = 6
    """Equations of the archive whose units are offered as grafts."""


def grow(
    task: Task, archive: Archive, rng: np.random.Generator, settings: GrowSettings
) -> Iterator[State | None]:
    """Start from a parent of the archive, make moves, and yield every refitted child.

    A pure function of (task, archive, state of rng, settings). None is yielded in between, as a
    sign of life: whoever watches the clock can stop there.
    """
    sample = task.train.draw(settings.rows, rng)
    parent = archive.parent(rng, task.price)
    state = fitted(parent.expression, sample, settings.steps)
    for _ in range(settings.moves):
        if state is None:
            return
        old = _score(state, task, settings)
        best, best_score = None, np.inf
        children: list[State] = []
        for trial in _children(task, archive, state, sample, rng, settings):
            yield None
            if trial is not None:
                children.append(trial)
        children.sort(key=lambda c: _score(c, task, settings))
        for number, child in enumerate(children):
            if number < settings.trimmed:
                child = drop_unneeded(child, sample, task.prior)
            yield child
            score = _score(child, task, settings)
            if score < best_score:
                best, best_score = child, score
        if best is None or best_score >= old:
            return
        state = best


def looks_like_noise(
    task: Task, expression: Expression, rng: np.random.Generator, rows: int = 2000
) -> bool:
    """Whether the residuals of an equation hold nothing that a bank of units could explain.

    For pure noise the largest of M gains, in units of the mean squared error, is about 2 ln M / N.
    """
    sample = task.train.draw(rows, rng)
    state = fitted(expression, sample, 10)
    if state is None:
        return False
    bank = make_bank(task.prior, sample.XT, task.domain[:, :0], state.expression, (), rng)
    screen = Screen(state, sample, bank, task.prior)
    largest = screen.largest_gain()
    chance = 2.0 * np.log(len(bank.values) * len(screen.masks)) / len(sample)
    return bool(largest < 1.3 * chance * state.error)


def _score(state: State, task: Task, settings: GrowSettings) -> float:
    """Error against complexity: each unit of complexity has to pay for itself."""
    complexity = state.expression.complexity(task.prior)
    price = settings.price * task.price
    return float(0.5 * np.log(state.error + 1e-300) + price * complexity)


def _children(
    task: Task,
    archive: Archive,
    state: State,
    sample: Sample,
    rng: np.random.Generator,
    settings: GrowSettings,
) -> Iterator[State | None]:
    """The most promising changes of a state, refitted; None where one came to nothing."""
    others = list(archive)
    picks = rng.choice(len(others), size=min(settings.others, len(others)), replace=False)
    bank = make_bank(
        task.prior,
        sample.XT,
        task.domain[:, :DOMAIN_POINTS],
        state.expression,
        [others[int(k)].expression for k in picks],
        rng,
        chances=archive.input_chances(len(task.names), task.price),
    )
    screen = Screen(state, sample, bank, task.prior)
    proposals = [*screen.additions(2), *screen.factors(1), *screen.replacements(1)]
    proposals += retyped(screen, task.prior, rng, 3)
    proposals += wrapped(screen, task.prior, rng, 3)
    longer = list(expansions(state.expression))[:3]
    seen: set[Expression] = {state.expression}
    for expression in (*longer, *(proposal() for proposal in proposals)):
        if expression in seen or not expression.is_allowed(task.prior):
            continue
        seen.add(expression)
        child = fitted(expression, sample, settings.steps)
        yield child if child is not None and child.error < 4.0 * state.error else None
