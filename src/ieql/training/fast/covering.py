"""What the search tries completely: sizes in their order, and what is near the best equations."""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ieql.selection import Candidate
from ieql.training.fast.batch import CHECKED, FITTING_ROWS
from ieql.training.fast.complete import (
    EFFORT,
    REFINED_ROWS,
    Coverage,
    Tried,
    grammar_of,
    n_structures,
    pieces,
    refined,
    try_piece,
)
from ieql.training.fast.neighbourhood import explored, places
from ieql.training.fast.state import FastState
from ieql.training.parallel import STARTING, in_parallel
from ieql.training.task import Task
from ieql.training.trainers import Budget

__all__ = ["Due", "cover", "due_again", "look_around", "next_due", "unseen"]

RIVALS = 3
"""Equations whose neighbourhood is searched before the search stops by itself, ..."""
TWICE = 2
"""... so many times, from different starts."""
AT_ONCE, PER_TRAINING = 1_500, 700
"""A size is tried once there are, up to it, no more structures than these say for the trainings."""
TWICE_AT_MOST = 1_500
"""Sizes up to which there are more are not tried a second time, ..."""
MOST_STRUCTURES = 18_000
"""... and those up to which there are more than this not at all."""
LARGEST = 12.0
"""Complexity up to which structures are tried, if there are so few."""
AT_HAND = 1_500
"""Structures that are fitted in this process."""
REFINED = 32
"""Fits of a size that are looked at more closely."""


@dataclass(frozen=True)
class Due:
    """A size whose structures are to be tried, for the first time or again."""

    size: int
    number: int
    again: bool


def next_due(state: FastState, k: int) -> Due | None:
    """The structures of a target whose turn it is.

    Small sizes come first. The larger ones, of which there are thousands, wait until that many
    trainings have had their chance, so that what is easily grown is not kept waiting.
    """
    task, covered, progress = state.tasks[k], state.coverage[k], state.progress[k]
    if progress.exact:
        return None
    n = progress.n_trainings
    most = min(AT_ONCE + PER_TRAINING * n, MOST_STRUCTURES)
    size = covered.size + 1
    if size > grammar_of(task.shown_prior, task.names, covered.inputs).size(LARGEST):
        return None
    number = _count(task, covered, size)
    return Due(size, number, False) if covered.number + number <= most else None


def due_again(state: FastState, k: int) -> Due | None:
    """The next size to be tried once more, from other starts; of large ones once is enough."""
    covered = state.coverage[k]
    if covered.again >= covered.size:
        return None
    numbers = [_count(state.tasks[k], covered, size) for size in range(1, covered.again + 2)]
    return Due(covered.again + 1, numbers[-1], True) if sum(numbers) <= TWICE_AT_MOST else None


def _count(task: Task, covered: Coverage, size: int) -> int:
    return n_structures(task.shown_prior, task.names, covered.inputs, size, MOST_STRUCTURES)


def cover(state: FastState, k: int, due: Due, budget: Budget) -> bool:
    """Try all structures of one size for a target; False if the time did not suffice."""
    task, covered = state.tasks[k], state.coverage[k]
    if due.number:
        seed = budget.seed + 7919 * k + (104_729 if due.again else 0)
        jobs = (
            (i, try_piece, (prior, task.names, rows, points, piece, EFFORT, budget.deadline))
            for prior, rows, points in [
                (task.shown_prior, task.train.head(FITTING_ROWS), task.domain[:, :CHECKED])
            ]
            for i, piece in enumerate(pieces(prior, task.names, covered.inputs, due.size, seed))
        )
        # A few are sooner done here than sent elsewhere.
        here = due.number <= AT_HAND or budget.deadline - time.monotonic() < STARTING
        found = dict(in_parallel(jobs, 1 if here else budget.n_jobs))
        if any(tried is None for tried in found.values()):
            return False
        best = sorted((t for i in sorted(found) for t in found[i]), key=lambda t: t.length)
        _take(state, k, best[:REFINED])
    if not due.again:
        covered.size, covered.number = due.size, covered.number + due.number
    return True


def _take(state: FastState, k: int, tried: Sequence[Tried]) -> None:
    """Refine the best fits and take them into the archive."""
    task = state.tasks[k]
    sample = task.train.head(REFINED_ROWS)
    with np.errstate(all="ignore"):
        for fit in refined(tried, task.shown_prior, sample):
            if fit is not None:
                state.add(k, task.candidate(fit.expression, fit.program))


def unseen(state: FastState, k: int) -> list[Candidate]:
    """The best equations of a target whose neighbourhood was not searched twice yet."""
    archive, seen = state.archives[k], state.coverage[k].seen
    rivals = archive.rivals[:RIVALS]
    return [c for c in rivals if c.expression.nodes and seen.get(_key(c), 0) < TWICE]


def _key(candidate: Candidate) -> str:
    return f"{zlib.crc32(repr(candidate.expression.skeleton).encode()):08x}"


def look_around(state: FastState, k: int, budget: Budget) -> bool:
    """Before a search may stop: all structures once more, and what is near the best equations.

    False if nothing is left to be looked at.
    """
    if due_again(state, k):
        # All in one go: there are dozens of sizes, most of them empty.
        while (again := due_again(state, k)) and time.monotonic() < budget.deadline:
            state.coverage[k].again = again.size
            cover(state, k, again, budget)
    elif candidates := unseen(state, k):
        _explore(state, k, candidates, budget)
    else:
        return False
    return True


def _explore(state: FastState, k: int, candidates: Sequence[Candidate], budget: Budget) -> None:
    """Search the neighbourhoods of some equations."""
    task, seen = state.tasks[k], state.coverage[k].seen
    jobs: list[tuple[int, Any, tuple[Any, ...]]] = []
    for candidate in candidates:
        times = seen.get(_key(candidate), 0)
        seen[_key(candidate)] = times + 1
        expression = candidate.expression
        seed = budget.seed + 7919 * k + 15_485_863 * times
        for place in places(expression):
            jobs.append((len(jobs), explored, (task, expression, place, seed, budget.deadline)))
    found = dict(in_parallel(jobs, state.n_processes))
    for i in sorted(found):
        for other in found[i]:
            state.add(k, other)
