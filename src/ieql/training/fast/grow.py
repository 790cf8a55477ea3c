"""Growth: sparse equations are grown, rewired and cut as graphs, every constant refitted each time.

Connections to a bank of random units are screened in bulk (`screen`), units are exchanged or put
around an argument (`reshape`), products are multiplied out; what looks most promising is refitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from ieql.data.sample import Sample
from ieql.equations.dimensions import mended
from ieql.equations.expression import Expression, Sum
from ieql.equations.simplify import expansions, gauge
from ieql.selection import Candidate
from ieql.training.archive import Archive
from ieql.training.fast.bank import make_bank
from ieql.training.fast.eliminate import FittedExpression, drop_unneeded, fitted
from ieql.training.fast.pattern import has_pattern
from ieql.training.fast.powers import powers
from ieql.training.fast.reshape import loosened, retyped, wrapped
from ieql.training.fast.screen import Proposal, Screen
from ieql.training.task import EXACT, Task

__all__ = ["GrowSettings", "grow", "looks_like_noise", "parent"]

FIRST_PRICE = 0.5
"""Upper end of the prices while there is no front yet."""
OTHERS, SMALL_BANK = 0.1, (150, 150)
"""Where an input must be added: how often others are drawn, and how many units of each layer."""
DOMAIN_POINTS = 128
"""Points of the declared domain where entries of the bank must be defined; corners come first."""


@dataclass(frozen=True)
class GrowSettings:
    """Numbers of the growth; the defaults are those of the lab notebook."""

    rows: int = 384
    moves: int = 6
    steps: int = 20
    price: float = 2.5
    """What a weight must lower log(error) by at least to be a step forward, in task.price."""
    trimmed: int = 4
    """Children per move that are cut down before they are judged."""
    powers: int = 2
    """Factors of each kind that are tried per move."""
    efficient: float = 0.5
    """Share of trainings that take the step that brings most for its size, not that brings most."""
    others: int = 6
    """Equations of the archive whose units are offered as grafts."""


def grow(
    task: Task,
    archive: Archive,
    rng: np.random.Generator,
    settings: GrowSettings,
    offered: Sequence[Expression] = (),
) -> Iterator[FittedExpression | None]:
    """Start from a parent of the archive, make moves, and yield every refitted child.

    A pure function of (task, archive, state of rng, settings, offered), `offered` being equations
    of other outputs, whose units are grafts as well. None is yielded in between, as a sign of life:
    whoever watches the clock can stop there.
    """
    sample = task.train.draw(settings.rows, rng)
    price = _price(task, archive, rng, settings)
    start = Expression(task.names, (), (Sum(task.mean),))
    if len(archive):  # nothing may keep to the limits of a shape yet, not even the mean
        start = parent(task, archive, rng, price).expression
    state = fitted(start, sample, settings.steps)
    if state is not None:
        # What was found beside a better equation was never cut down.
        state = drop_unneeded(state, sample, task.prior_for(state.expression))
        yield state
    efficient = bool(rng.random() < settings.efficient)
    for _ in range(settings.moves):
        if state is None:
            return
        children: list[FittedExpression] = []
        for trial in _children(task, archive, state, sample, rng, settings, offered):
            yield None
            if trial is not None:
                children.append(trial)
        progress = _progress(task, state, settings.price * task.price, efficient)
        children.sort(key=progress, reverse=True)
        best, most = None, 0.0
        for number, child in enumerate(children):
            if number < settings.trimmed or child.error < EXACT**2:
                child = drop_unneeded(child, sample, task.prior_for(child.expression))
            yield child
            if progress(child) > most:
                best, most = child, progress(child)
        if best is None or best.error < EXACT**2:
            return
        state = best


def _progress(
    task: Task, state: FittedExpression, price: float, efficient: bool
) -> Callable[[FittedExpression], float]:
    """How much better a child is than a state: what log(error) falls by, less the price.

    Per unit of size if steps are to be efficient.
    """
    error, size = np.log(state.error + 1e-300), task.size(state.expression)

    def progress(child: FittedExpression) -> float:
        more = task.size(child.expression) - size
        gain = 0.5 * (error - np.log(child.error + 1e-300)) - price * more
        return float(gain / max(more, 1.0) if efficient else gain)

    return progress


def _price(task: Task, archive: Archive, rng: np.random.Generator, settings: GrowSettings) -> float:
    """What a weight must lower log(error) by in this training.

    Drawn between what is worth it at all and what the most efficient equation of the front has
    paid. Without noise approximations can be refined for ever, and the more elaborate one gets, the
    further it is from the truth: at a high price simple equations are parents, and only large steps
    are taken. At a low price the search goes on where it is most accurate.
    """
    low = settings.price * task.price
    errors = [(task.error(c), task.size(c.expression)) for c in archive.inner]
    first = max((error for error, _ in errors), default=1.0)
    rates = [np.log(first / (error + 1e-12)) / size for error, size in errors if error < first]
    high = max([*rates, FIRST_PRICE, low])
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def parent(task: Task, archive: Archive, rng: np.random.Generator, price: float) -> Candidate:
    """Draw a parent: more often the lower log(error) + price · size."""
    members = list(archive)
    score = np.array(
        [np.log(task.error(c) + 1e-12) + price * task.size(c.expression) for c in members]
    )
    chance = np.exp(score.min() - score)
    return members[int(rng.choice(len(members), p=chance / chance.sum()))]


def looks_like_noise(
    task: Task, expression: Expression, rng: np.random.Generator, rows: int = 2000
) -> bool:
    """Whether the residuals of an equation hold nothing that a bank of units could explain.

    For pure noise the largest of M gains, in units of the mean squared error, is about 2 ln M / N.
    And nothing that no unit is needed to see: `ieql.training.fast.pattern`.
    """
    sample = task.train.draw(rows, rng)
    state = fitted(expression, sample, 10)
    if state is None:
        return False
    bank = make_bank(task.prior, sample.XT, task.domain[:, :0], state.expression, (), rng)
    screen = Screen(state, sample, bank, task.prior)
    largest = screen.largest_gain()
    chance = 2.0 * np.log(len(bank.values) * len(screen.masks)) / sample.n_rows
    if not largest < 1.3 * chance * state.error:
        return False
    residual = task.train.y - state.program.evaluate(task.train.XT)
    return not has_pattern(task.train, residual)


def _missing(task: Task, expression: Expression) -> list[int]:
    """The inputs that the prior asks for and that an expression lacks."""
    missing = task.shown_prior.rules.missing(expression.inputs_used)
    return [task.names.index(name) for name in missing]


def _with_missing(
    task: Task,
    state: FittedExpression,
    sample: Sample,
    rng: np.random.Generator,
    missing: Sequence[int],
) -> list[Proposal]:
    """The best ways to add an input that must be there: by gain alone others would come first."""
    chances = np.full(len(task.names), OTHERS / len(task.names))
    chances[list(missing)] += (1.0 - OTHERS) / len(missing)
    points = task.domain[:, :DOMAIN_POINTS]
    bank = make_bank(
        task.prior, sample.XT, points, state.expression, (), rng, SMALL_BANK, chances=chances
    )
    screen = Screen(state, sample, bank, task.prior)
    known = np.arange(bank.n_inputs + bank.n_nodes)
    for mask in screen.masks:
        mask[known[~np.isin(known, missing)]] = False
    return [*screen.additions(2), *screen.factors(2)]


def _children(
    task: Task,
    archive: Archive,
    state: FittedExpression,
    sample: Sample,
    rng: np.random.Generator,
    settings: GrowSettings,
    offered: Sequence[Expression],
) -> Iterator[FittedExpression | None]:
    """The most promising changes of a state, refitted; None where one came to nothing."""
    others = list(archive)
    picks = rng.choice(len(others), size=min(settings.others, len(others)), replace=False)
    chances = archive.input_chances(len(task.names), task.price)
    bank = make_bank(
        task.prior,
        sample.XT,
        task.domain[:, :DOMAIN_POINTS],
        state.expression,
        [others[int(k)].expression for k in picks],
        rng,
        chances=chances,
        offered=offered,
    )
    screen = Screen(state, sample, bank, task.prior)
    proposals = [*screen.additions(2), *screen.factors(2), *screen.replacements(1)]
    proposals += screen.offsets(2)
    proposals += powers(screen, sample.XT, task.prior, rng, settings.powers, chances)
    proposals += retyped(screen, task.prior, rng, 3)
    proposals += wrapped(screen, task.prior, rng, 3)
    proposals += loosened(screen, task.prior, rng, 2)
    if missing := _missing(task, state.expression):
        proposals += _with_missing(task, state, sample, rng, missing)
    longer = [gauge(e) for e in islice(expansions(state.expression), 3)]
    tries: dict[tuple[Any, ...], int] = {}
    for expression in (*longer, *(proposal() for proposal in proposals)):
        skeleton = expression.skeleton
        # The same structure from one or two other constants is worth a try, not from many.
        if tries.get(skeleton, 0) >= 2 or not expression.is_allowed(task.prior):
            continue
        tries[skeleton] = tries.get(skeleton, 0) + 1
        possible = mended(expression, task.prior)
        if possible is None:
            continue
        # Without some offsets its scales may be fixed in another way.
        gauged = possible is expression
        child = fitted(possible, sample, settings.steps, gauged=gauged, patient=True)
        yield child if child is not None and child.error < 4.0 * state.error else None
