"""Around guesses: what is near an equation that the user believes in is looked at before all else.

A guess that is nearly right has a term too many, one too few, or a wrong one. So the best guesses
are taken as they are and without each of their terms, and equations are grown from these. How much
is done is fixed, and less for many guesses than for a few: nobody believes in each of forty.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, zip_longest

import numpy as np

from ieql.equations.expression import Expression, Sum
from ieql.selection import Candidate
from ieql.training.archive import Archive
from ieql.training.fast.eliminate import fitted
from ieql.training.fast.island import FastSettings, Finds, Training, run_island
from ieql.training.task import Task

__all__ = ["are_many", "believed", "grown_from", "starts"]

EXPLAINS = 0.98
"""Part of the mean's error that a guess must be below to be looked at."""
MOST_GUESSES = 2
"""Guesses around which is looked, the best ones, ..."""
MOST_STARTS, FEW_STARTS, MANY_GUESSES = 4, 1, 8
"""... from so many starts together, from fewer if there are more guesses than this, ..."""
MOVES = 3
"""... with so many moves of growth from each: one term is wrong, not all."""
STEPS, ROWS = 20, 800
"""Of the fits of a guess without one of its terms."""
SEED = 2
"""Last part of the seeds, which no other training has."""


def believed(task: Task, archive: Archive) -> list[Expression]:
    """The guesses that explain something, the best first; of many the best few.

    Others would only be poor parents of what is grown.
    """
    limit = _little(archive)
    order = [guess for error, guess in _ordered(task) if error < limit]
    return order[:MOST_GUESSES] if are_many(task) else order


def _ordered(task: Task) -> list[tuple[float, Expression]]:
    """The guesses with their errors, the best first."""
    found = []
    for guess in task.guesses:
        error = task.train.rmse(guess.evaluate(task.train.XT.T)[:, 0])
        found.append((error if np.isfinite(error) else np.inf, guess))
    return sorted(found, key=lambda entry: entry[0])


def _little(archive: Archive) -> float:
    """The error from which on an equation explains next to nothing."""
    return EXPLAINS * max(
        (c.rmse_train for c in archive if not c.expression.inputs_used), default=1
    )


def are_many(task: Task) -> bool:
    """Whether there are more guesses than anybody believes in."""
    return len({guess.skeleton for guess in task.guesses}) > MANY_GUESSES


def starts(task: Task, archive: Archive) -> list[Candidate]:
    """Where to look from: the best guesses, each as it is and without one of its terms.

    Of a few guesses also one that explains nothing: without a wrong term that has a pole among the
    rows it may. They depend on the task and the mean's error alone, so that a search that was
    stopped goes on with the same.
    """
    guesses = believed(task, archive) if are_many(task) else [e for _, e in _ordered(task)]
    limit = _little(archive)
    around: dict[object, list[Candidate]] = {}
    for guess in guesses:
        if len(around) == MOST_GUESSES:
            break
        # Of the same guess with other constants the best that any start comes from.
        if guess.skeleton not in around:
            near = [start for start in _starts_of(task, guess) if start.rmse_train < limit]
            if near:
                around[guess.skeleton] = near
    in_turn = chain.from_iterable(zip_longest(*around.values()))
    most = FEW_STARTS if are_many(task) else MOST_STARTS
    return [start for start in in_turn if start is not None][:most]


def _starts_of(task: Task, guess: Expression) -> list[Candidate]:
    """A guess without the term that is missed least, the guess, and it without each other term.

    The guess itself may be forbidden, or unsafe, by its wrong term.
    """
    shorter = sorted(_without_a_term(task, guess), key=lambda c: c.rmse_train)
    itself = task.candidate(guess)
    return [*shorter[:1], *([] if itself is None else [itself]), *shorter[1:]]


def _without_a_term(task: Task, expression: Expression) -> list[Candidate]:
    """Without each term; inputs as they are count as one, as a bracket of them is one to a user."""
    total = expression.outputs[0]
    plain = [j for j, source in enumerate(total.sources) if source < len(expression.names)]
    terms = [[j] for j in range(len(total.sources)) if j not in plain]
    terms += [plain] if plain else []
    if len(terms) < 2:
        return []
    sample = task.train.head(ROWS)
    found = []
    for term in terms:
        others = [i for i in range(len(total.sources)) if i not in term]
        rest = Sum(
            total.bias,
            tuple(total.sources[i] for i in others),
            tuple(total.weights[i] for i in others),
        )
        smaller = Expression(expression.names, expression.nodes, (rest,)).canonical()
        state = fitted(smaller, sample, STEPS)
        candidate = None if state is None else task.candidate(state.expression, state.program)
        if candidate is not None:
            found.append(candidate)
    return found


def grown_from(
    task: Task,
    target: int,
    start: Candidate,
    number: int,
    seed: int,
    settings: FastSettings,
    deadline: float,
) -> Finds:
    """What one training finds that knows nothing but this start: a pure function of these."""
    training = Training(target, number, (seed, target, number, SEED), kind="growth")
    settings = replace(settings, grow=replace(settings.grow, moves=MOVES))
    return run_island(task, [training], (start,), settings, deadline)
