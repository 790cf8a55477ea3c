"""Accuracy when it is asked for: networks of up to some hundred constants, from dense to sparse.

The paper's own idea, with second-order steps: a network is trained dense and its connections are
eliminated (section "Training"). A training either starts from a random network, all the way down to
few constants, or takes an equation of the archive and widens it by units that explain what is left,
cuts it down again, and keeps the result if it is worth its constants. Along the way one equation
per size is offered, so that the front goes on from simple to exact.

Where no short law explains the rows, and these are few and noisy, a network that is widened and cut
many times over ends up following the noise. Most trainings are therefore taught by a smooth surface
through the rows (`ieql.training.fast.surface`) instead, which is known at as many points as one
likes; unless networks have turned out to be better than the surface.

Two networks that were found apart from each other err in different places, and their mean errs less
than either (`ieql.means`); so there are several lines of trainings that share no equation.

Only training rows judge networks in here; rows kept back say which of the two teaches them. What
is asked for, the least error of other rows, is judged by the selection alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.equations.extract import extract
from ieql.equations.program import Program
from ieql.network import Network
from ieql.prior import Prior
from ieql.selection import Candidate
from ieql.training.archive import PER_PRICE, PRICES, Archive
from ieql.training.fast.network_cut import cut
from ieql.training.fast.network_fit import (
    FittedNetwork,
    Rows,
    improved,
    left_out_error,
    residual,
)
from ieql.training.fast.network_widen import network_of, widened
from ieql.training.task import Task
from ieql.units import EXP, Unit

__all__ = ["AccuracySettings", "accurate", "can_be_accurate", "least_worth"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AccuracySettings:
    """Numbers of these trainings; nothing in them is set per problem."""

    rows: int = 4000
    """Rows that a network is fitted to, at most."""
    inputs: int = 20
    """Inputs of a network; of more, some are drawn."""
    taught: float = 0.75
    """Share of trainings by the surface through the rows, where there is one, ..."""
    seldom_taught: float = 0.15
    """... and the same once an equation is better than the surface."""
    fresh: float = 0.15
    """Share of trainings that start from a random network."""
    lines: int = 3
    """Lines of trainings of which each goes on from its own equations alone."""
    dense_steps: int = 60
    steps_at_once: int = 10
    """Steps of the dense phase after which the clock is looked at."""
    scales: tuple[float, ...] = (0.7, 1.5)
    """Spreads of the arguments of a random network."""
    sizes: tuple[float, float] = (80.0, 280.0)
    """Constants of a random network, log-uniform between these."""
    share: float = 0.03
    """Part of the constants that are cut at once, ..."""
    at_once: int = 4
    """... and their number, at most, once a network has been widened."""
    steps: int = 4
    """Steps after each cut."""
    fewest: int = 25
    """Constants below which other trainings do better."""
    apart: float = 1.12
    """Ratio of the sizes of two networks that are offered on the way down."""
    moves: int = 6
    """Times that an equation is widened and cut down in one training."""
    drawn: int = 400
    """Units that are drawn, of which ..."""
    entering: int = 4
    """... at most so many enter."""
    widened_steps: int = 12
    """Steps after that."""
    misses: int = 6
    """Cuts in a row after which it does not get better any more."""
    final_steps: int = 10
    deepest: int = 3
    """Hidden layers, at most, unless the user fixes them."""


MOST = 300
"""Constants of an equation, at most."""
ROWS_PER_CONSTANT = 4.0
CHEAPER = 0.2
"""What a constant costs where a surface teaches, beside its price where noisy rows do."""
SURPASSED = 0.85
"""Part of the surface's error below which an equation is better than it, and not by chance."""
ROUNDING = 1e-24
"""A mean squared error, of a target with spread one, that stands for none."""


def can_be_accurate(task: Task) -> bool:
    """Whether large networks are asked for, and have inputs to be made of."""
    return task.accurate and bool(task.inputs)


def most_constants(n_rows: float) -> int:
    """How many constants an equation may have, given the number of rows."""
    return min(MOST, int(n_rows / ROWS_PER_CONSTANT))


def least_worth(archive: Archive, task: Task) -> float:
    """The least that rows and constants take, at the middle price: it falls if a training paid.

    Where there is a surface, what its points and constants take counts as well.
    """
    price = PRICES[len(PRICES) // 2]
    least = min((archive.worth(c, price) for c in archive.worthwhile((price,))), default=math.inf)
    if task.surface is None:
        return least
    taught = (_taught_worth(task, c, price) for c in archive.known())
    return least + min(taught, default=0.0)


def _taught_share(task: Task, archive: Archive, settings: AccuracySettings) -> float:
    """The share of trainings that the surface teaches."""
    if task.surface is None:
        return 0.0
    least = min((c.rmse_validation for c in archive.front), default=math.inf)
    is_surpassed = least < SURPASSED * task.surface.error
    return settings.seldom_taught if is_surpassed else settings.taught


def _taught_worth(task: Task, candidate: Candidate, price: float) -> float:
    """What a candidate is worth as an estimate of the surface, as `_worth`."""
    surface = task.surface
    assert surface is not None
    points = surface.points
    apart = points.rmse(Program.of(candidate.expression).evaluate(points.XT))
    size = candidate.n_parameters + sum(s.bias != 0.0 for s in candidate.expression.sums)
    error = apart**2 + surface.error**2
    return points.n_rows * math.log(max(error, ROUNDING)) + CHEAPER * price * size


def _worth(state: FittedNetwork, rows: Rows, price: float) -> float:
    """Twice the nats that rows and constants of a network take; the less, the better.

    Each row is told by the others: a row at the edge of the data, through which a network runs
    because it has a constant to spare for it, does not speak for that constant. That counts two of
    the price of a constant already. Points of a surface have no noise that a constant could follow.
    """
    n = rows.n_rows
    if rows.floor:
        error = rows.floor + state.error / n
        return n * math.log(max(error, ROUNDING)) + CHEAPER * price * state.n_constants
    error = left_out_error(state, rows)
    return n * math.log(max(error / n, ROUNDING)) + (price - 2.0) * state.n_determined


def accurate(
    task: Task, archive: Archive, rng: np.random.Generator, settings: AccuracySettings
) -> Iterator[Candidate | None]:
    """One training; a pure function of its arguments and the state of `rng`.

    None is yielded in between, so that the clock can be looked at.
    """
    taught = rng.random() < _taught_share(task, archive, settings)
    rows = Rows.of(task, settings.rows, rng, taught)
    inputs = _inputs(task, archive, rng, settings)
    price = float(rng.choice(PRICES))
    line = 1 + int(rng.integers(settings.lines))
    parent = None
    if rng.random() >= settings.fresh:
        parent = _parent(task, archive, rows, rng, settings, price, line)
    yield None
    if parent is None:
        states = _from_dense(task, rows, inputs, rng, settings)
    else:
        states = _regrown(task, parent, rows, inputs, rng, settings, price)
    for state in states:
        candidate = None if state is None else task.candidate(_expression(task, state))
        if candidate is not None:
            candidate = replace(candidate, lines=(line,))
        yield _as_taught(task, candidate) if taught and candidate is not None else candidate


def _as_taught(task: Task, candidate: Candidate) -> Candidate:
    """A candidate that the surface has taught, with the error that this leads one to expect.

    All rows tell it, each left out in turn; those kept back are a tenth of them.
    """
    assert task.surface is not None
    values = Program.of(candidate.expression).evaluate(task.train.XT)
    return replace(candidate, rmse_validation=task.surface.expected(values), is_taught=True)


def _expression(task: Task, state: FittedNetwork) -> Expression:
    return task.from_dense(extract(state.network, state.W, state.live))


def _inputs(
    task: Task, archive: Archive, rng: np.random.Generator, settings: AccuracySettings
) -> NDArray[np.intp]:
    """The inputs that a network may use: all, or some of many."""
    usable = np.array(task.inputs, dtype=np.intp)
    if len(usable) <= settings.inputs:
        return usable
    chances = archive.input_chances(len(task.names), task.price)[usable]
    picked = rng.choice(usable, settings.inputs, replace=False, p=chances / chances.sum())
    return np.sort(picked)


# --- from a random network -----------------------------------------------------------------------


def _from_dense(
    task: Task,
    rows: Rows,
    inputs: NDArray[np.intp],
    rng: np.random.Generator,
    settings: AccuracySettings,
) -> Iterator[FittedNetwork | None]:
    """A random network, trained dense and cut down to few constants."""
    state = _random(task, rows, inputs, rng, settings)
    if state is None:
        return
    for _ in range(settings.dense_steps // settings.steps_at_once):
        state = improved(state, rows, settings.steps_at_once)
        yield None
    most = most_constants(rows.n_rows)
    offered = math.inf
    while state.n_constants > settings.fewest:
        if state.n_constants <= most and state.n_constants * settings.apart <= offered:
            offered = state.n_constants
            yield state
        smaller = cut(state, rows, settings.share, most)
        if smaller is None:
            return
        state = improved(smaller, rows, settings.steps)
        yield None
    yield state


def _random(
    task: Task,
    rows: Rows,
    inputs: NDArray[np.intp],
    rng: np.random.Generator,
    settings: AccuracySettings,
) -> FittedNetwork | None:
    """A random network, its output fitted."""
    layers = _layers(task, len(inputs), rng, settings, rows.n_rows)
    if not layers:
        return None
    network = Network(task.names, layers, task.prior)
    scale = float(rng.choice(settings.scales))
    live = network.allowed.copy()
    unused = np.setdiff1d(np.arange(len(task.names)), inputs)
    live[:, 1 + unused] = False
    fan_in = np.maximum(live[:, 1:].sum(axis=1), 1)
    W = rng.normal(size=live.shape) * scale / np.sqrt(fan_in)[:, None]
    W[:, 0] = rng.normal(size=network.n_args)
    for blocks in network.blocks:
        for block in blocks:
            if block.unit.powers:
                # Products of large numbers would be far larger than the target.
                for args in block.args:
                    W[args, 0] *= 0.5
                    W[args, 1:] /= scale
    W = np.where(live, W, 0.0)
    Y, _ = network.forward(W, rows.XT)
    columns = np.flatnonzero(live[-1])
    Y = Y[columns] * rows.root
    if not np.all(np.isfinite(Y)):
        return None
    A = Y @ Y.T + np.eye(len(columns))
    W[-1] = 0.0
    W[-1, columns] = np.linalg.solve(A, Y @ (rows.y * rows.root))
    return FittedNetwork(network, W, live)


def _layers(
    task: Task, n_inputs: int, rng: np.random.Generator, settings: AccuracySettings, n_rows: float
) -> tuple[tuple[Unit, ...], ...]:
    """Units of a random network: one layer of curves, mostly above one of products.

    They are the permitted ones without singularities; other units come in as it is widened.
    """
    products, curves = _tame_units(task.prior)
    outer = curves or products
    if not outer:
        return ()
    size = math.exp(rng.uniform(*np.log(settings.sizes)))
    # A dense network needs more constants than will be left of it.
    size = min(size, n_rows / 3.0)
    inner: tuple[Unit, ...] = ()
    deep = settings.deepest if task.layers is None else task.layers
    if products and deep > 1 and rng.random() < 0.75:
        number = int(rng.integers(2, 7))
        inner = _draw(products, number, rng)
    spent = sum(u.arity for u in inner) * (1 + n_inputs) + len(inner)
    kind = outer[int(rng.integers(len(outer)))]
    each = kind.arity * (1 + n_inputs + len(inner)) + 1
    number = max(int((size - spent) / each), 3)
    last = (kind,) * number
    return (inner, last) if inner else (last,)


def _tame_units(prior: Prior) -> tuple[list[Unit], list[Unit]]:
    """Units without singularities that do not explode: products of powers, and curves."""
    units = [prior.unit(name) for name in prior.units]
    tame = [u for u in units if not u.singular and u is not EXP]
    return [u for u in tame if u.powers], [u for u in tame if not u.powers]


def _draw(units: Sequence[Unit], number: int, rng: np.random.Generator) -> tuple[Unit, ...]:
    """Some of the units, equal ones together."""
    chosen = sorted(rng.integers(len(units), size=number).tolist())
    return tuple(units[k] for k in chosen)


# --- from an equation of the archive -------------------------------------------------------------


def _parent(
    task: Task,
    archive: Archive,
    rows: Rows,
    rng: np.random.Generator,
    settings: AccuracySettings,
    price: float,
    line: int,
) -> FittedNetwork | None:
    """One of the equations that are most worth their constants; None if there is none to widen.

    It is of the line, or of what other trainings have found.
    """
    most = most_constants(rows.n_rows)
    known = [c for c in archive.known() if c.lines in ((), (line,))]
    if rows.floor:
        large = [c for c in known if c.n_parameters >= settings.fewest]
        order = sorted((_taught_worth(task, c, price), k) for k, c in enumerate(large))
        known = [large[k] for _, k in order[:PER_PRICE]]
    else:
        known = archive.worthwhile((price,), known)
    best = [c for c in known if settings.fewest <= c.n_parameters and c.n_parameters <= most]
    if not best:
        return None
    # The best of them is tried most often.
    chosen = best[int(len(best) * rng.random() ** 2)]
    state = network_of(task.to_dense(chosen.expression), task.prior)
    return None if residual(state.network, state.W, rows) is None else state


def _regrown(
    task: Task,
    state: FittedNetwork,
    rows: Rows,
    inputs: NDArray[np.intp],
    rng: np.random.Generator,
    settings: AccuracySettings,
    price: float,
) -> Iterator[FittedNetwork | None]:
    """A network widened and cut down again, several times; what gets better is yielded."""
    deepest = settings.deepest if task.layers is None else task.layers
    best = improved(state, rows, settings.final_steps)
    least = _worth(best, rows, price)
    yield None
    for _ in range(settings.moves):
        number = int(rng.integers(1, settings.entering + 1))
        wider = widened(best, rows, rng, number, settings.drawn, deepest, inputs)
        if wider is None:
            return
        found = None
        for s in _cut_down(improved(wider, rows, settings.widened_steps), rows, settings, price):
            found = s or found
            yield None
        if found is None:
            continue
        found = improved(found, rows, settings.final_steps)
        value = _worth(found, rows, price)
        if value < least:
            best, least = found, value
            yield best


def _cut_down(
    state: FittedNetwork, rows: Rows, settings: AccuracySettings, price: float
) -> Iterator[FittedNetwork | None]:
    """Cut a network until it gets no better; the best so far is yielded, None in between."""
    most = most_constants(rows.n_rows)
    least, misses = math.inf, 0
    while misses < settings.misses and state.n_constants > settings.fewest:
        value = _worth(state, rows, price)
        if state.n_constants <= most and value < least:
            least, misses = value, 0
            yield state
        else:
            misses += state.n_constants <= most
            yield None
        smaller = cut(state, rows, settings.share, settings.at_once)
        if smaller is None:
            return
        state = improved(smaller, rows, settings.steps)
