"""The fast trainer: many trainings in parallel, and one front per target.

Work comes in rounds. In a round every island runs a fixed number of trainings from the same front;
after it the islands' finds are merged in the order of the islands. So the same seed gives the same
front whatever the number of processes, as long as the time limit does not cut a round short.
"""

from __future__ import annotations

import math
import time
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ieql.doubts import AND_COVERED
from ieql.selection import Candidate
from ieql.training.fast.batch import CHECKED, FITTING_ROWS
from ieql.training.fast.complete import (
    EFFORT,
    REFINED_ROWS,
    Coverage,
    Tried,
    n_structures,
    pieces,
    refined,
    try_piece,
)
from ieql.training.fast.grouped import grouped
from ieql.training.fast.grow import looks_like_noise
from ieql.training.fast.island import KINDS, FastSettings, Finds, Training, run_island
from ieql.training.fast.lines import lines
from ieql.training.fast.neighbourhood import explored, places
from ieql.training.fast.power_laws import power_laws
from ieql.training.fast.separate import separated
from ieql.training.fast.structures import RESOLUTION
from ieql.training.fast.waves import waves
from ieql.training.parallel import STARTING, in_parallel
from ieql.training.task import Task
from ieql.training.trainers import INTERRUPTED, Budget, State, Trainer

__all__ = ["FastState", "FastTrainer"]

N_ISLANDS = 4
"""Fixed, so that the outcome does not depend on the number of processes."""
LARGEST_ROUND = 6
"""Trainings per island in one round: short enough for a live front, long enough to be worth it."""
HITS_AT_START = {"path": 1, "growth": 4, "law": 1}
"""Hits that each kind of training starts with, before it has had any."""
LEAST_SHARES = {"path": 0.1, "growth": 0.4, "law": 0.1}
"""Share of the trainings that each kind gets, however few hits it has."""
PATIENCE = 60
"""Least number of trainings without progress after which the search may stop by itself."""
PATIENCE_AT_NOISE = 24
"""The same where the residuals of the best equation look like noise, ..."""
PATIENCE_IF_COVERED = 8
"""... and where all structures of some size were tried."""
RIVALS = 3
"""Equations whose neighbourhood is searched before the search stops by itself, ..."""
TWICE = 2
"""... so many times, from different starts."""
SHORTER = 1.0
"""Twice the nats by which a description must be shorter to be progress."""
BEFORE_SEPARATING = 4
"""Trainings after which parts of an equation are looked for."""
FOR_GROUPS = 0.5
"""Part of the time left that goes into groups of inputs, at most."""
AT_ONCE, PER_TRAINING = 1_500, 600
"""A size is tried once it has no more structures than these say for the trainings so far."""
TWICE_AT_MOST = 1_500
"""Sizes with more structures are not tried a second time."""
MOST_STRUCTURES = 15_000
"""Sizes with more structures are not tried."""
LARGEST_SIZE = 12
AT_HAND = 1_500
"""Structures that are fitted in this process."""
REFINED = 32
"""Fits of a size that are looked at more closely."""
TIME_IS_UP = "the time is up"
IS_EXACT = "the equations are exact"
IS_NOISE = "what is left looks like noise"
NOTHING_BETTER = "nothing better was found for a long time"
ENDED = (TIME_IS_UP, IS_EXACT, IS_NOISE, NOTHING_BETTER, INTERRUPTED)
"""Reasons after which someone who resumes a search wants it to look further."""
Rounds = dict[tuple[int, int], list[Training]]
"""The trainings of a round, by (target, island)."""


@dataclass
class Progress:
    """How far the search for one target has come."""

    score: float = float("inf")
    """Least of log(error) + price · complexity over the front: it falls when an equation gets more
    accurate, and when an equally accurate one gets simpler."""
    since: int = 0
    """Number of trainings, of this target, when it fell last."""
    done: Counter[str] = field(default_factory=Counter)
    """Trainings of each kind."""
    hits: Counter[str] = field(default_factory=Counter)
    """Equations that entered the front, by the kind of training that found them."""
    at_noise: bool = False
    """Whether the residuals of the best equation look like noise."""
    exact: bool = False
    patient: bool = False
    """Whether someone went on with a search that had ended: noise does not cut it short."""

    length: float = float("inf")
    """Least length of a description of the data."""
    looked: bool = False
    """Whether power laws and waves were looked for, ..."""
    parted: bool = False
    """... and parts that can be found one by one."""

    def patience_with(self, coverage: Coverage) -> int:
        """Number of trainings without progress after which the search may stop by itself."""
        if self.patient:
            return max(PATIENCE, self.since)
        if coverage.is_thorough:
            return PATIENCE_IF_COVERED
        return PATIENCE_AT_NOISE if self.at_noise else max(PATIENCE, self.since)

    @property
    def n_trainings(self) -> int:
        """Number of trainings of all kinds."""
        return self.done.total()

    @property
    def chances(self) -> tuple[float, float, float]:
        """Shares of the kinds in the next trainings: by what has paid on this data set so far."""
        rates = [(HITS_AT_START[kind] + self.hits[kind]) / (1 + self.done[kind]) for kind in KINDS]
        rest = 1.0 - sum(LEAST_SHARES.values())
        path, growth, law = (
            LEAST_SHARES[kind] + rest * rate / sum(rates)
            for kind, rate in zip(KINDS, rates, strict=True)
        )
        return path, growth, law

    @classmethod
    def read(cls, form: Mapping[str, Any]) -> Progress:
        """The progress that was written down as `form`."""
        return cls(
            score=float(form["score"]) if form["score"] is not None else float("inf"),
            since=int(form["since"]),
            done=_counts(form["done"]),
            hits=_counts(form["hits"]),
            at_noise=bool(form["at_noise"]),
            exact=bool(form["exact"]),
            patient=bool(form.get("patient")),
            length=float(form["length"]) if form.get("length") is not None else float("inf"),
            looked=bool(form.get("looked")),
            parted=bool(form.get("parted")),
        )


def _counts(form: Mapping[str, Any]) -> Counter[str]:
    return Counter({str(key): int(n) for key, n in form.items()})


@dataclass
class FastState(State):
    """Where the fast search stands."""

    progress: list[Progress] = field(default_factory=list)
    """How far each target has come."""
    number: int = 0
    """Trainings per target that were planned in the rounds that are over."""
    coverage: list[Coverage] = field(default_factory=list)
    """What of all structures was tried, for each target."""

    def to_form(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers."""
        form = super().to_form()
        form["number"] = self.number
        parts = zip(form["targets"], self.progress, self.coverage, strict=True)
        for target, progress, coverage in parts:
            target["progress"] = vars(progress)
            target["coverage"] = vars(coverage)
        return form


class FastTrainer(Trainer):
    """Finds equations in seconds: dense networks cut down, equations grown, laws looked for.

    Parameters
    ----------
    numbers : FastSettings, optional
        Numbers of the trainings; nothing in them is set per problem.
    """

    name = "fast"
    kernels = ("ieql.training.fast.law_kernel", "ieql.training.fast.structure_kernel")

    def __init__(self, numbers: FastSettings | None = None) -> None:
        self.numbers = numbers or FastSettings()

    def first(self, tasks: Sequence[Task]) -> FastState:
        """The mean predictors, and nothing done yet."""
        state: FastState = FastState.start(tasks)
        state.progress = [Progress() for _ in tasks]
        state.coverage = [Coverage(task.inputs) for task in tasks]
        return state

    def step(self, state: FastState, budget: Budget) -> None:
        """Try all structures of the next size, or run some trainings; look around when tired."""
        from threadpoolctl import threadpool_limits

        # Several threads add up in an order of their own, and small matrices are slower by them.
        with threadpool_limits(limits=1):
            self._step(state, budget)

    def _step(self, state: FastState, budget: Budget) -> None:
        for k in range(len(state.tasks)):
            if not state.progress[k].looked:
                _first_look(state, k, budget)
            while (due := _due(state, k)) is not None and time.monotonic() < budget.deadline:
                if not _cover(state, k, due, budget):
                    return
                _measure(state, k, budget)
        if state.number >= (budget.max_trainings or math.inf):
            return
        for k in range(len(state.tasks)):
            if _may_separate(state, k):
                _separate(state, k, budget)
        tired = [k for k in range(len(state.tasks)) if _is_tired(state, k)]
        if any(_look_around(state, k, budget) for k in tired):
            return
        self._round(state, budget)

    def _round(self, state: FastState, budget: Budget) -> None:
        deadline = budget.deadline
        rounds = _plan(state.number, state.progress, budget)
        number = state.number + sum(len(r) for (k, _), r in rounds.items() if k == 0)
        known = [archive.shared() for archive in state.archives]
        # Starting processes takes seconds; by then an easy equation is found in this one.
        is_worth_it = state.n_processes != 1 or deadline - time.monotonic() > STARTING
        state.n_processes = budget.n_jobs if is_worth_it and not _is_small(rounds) else 1
        for part, is_last in _parts(rounds):
            _run_round(state, part, known, self.numbers, deadline)
            if all(a.is_exact for a in state.archives):
                break
            if not is_last:
                budget.tell()
        state.number = number
        for k in range(len(state.tasks)):
            _measure(state, k, budget)

    def done(self, state: FastState, budget: Budget) -> str:
        """Why the search is over: the limits are reached, or nothing more is to be expected."""
        reason = _reason_to_stop(state, budget)
        if not reason and state.number >= (budget.max_trainings or math.inf):
            reason = f"all {budget.max_trainings} trainings are done"
        return reason

    def last(self, state: FastState) -> None:
        """Say what was covered; straight lines, if no training came to an equation in the time."""
        state.reason = _with_coverage(state.reason, state)
        for task, archive in zip(state.tasks, state.archives, strict=True):
            if len(archive) <= 1:
                for candidate in lines(task):
                    archive.add(candidate)

    def read(self, form: Any, tasks: Sequence[Task]) -> FastState:
        """The search as it stood; one that had ended gets new patience, and all of it.

        Whoever resumes a search that had ended wants it to continue: what is left may look like
        noise as it did before, so that alone does not end it again. One that was killed continues
        as if it had not been.
        """
        state: FastState = FastState.read(form, tasks)
        state.number = int(form["number"])
        state.progress = [Progress.read(target["progress"]) for target in form["targets"]]
        state.coverage = [
            Coverage.read(target["coverage"]) if "coverage" in target else Coverage(task.inputs)
            for target, task in zip(form["targets"], tasks, strict=True)
        ]
        if str(form.get("reason")).startswith(ENDED):
            for progress in state.progress:
                progress.since = progress.n_trainings
                progress.patient = True
        return state


def _first_look(state: FastState, k: int, budget: Budget) -> None:
    """What a straight line in logarithms and a periodogram tell, before anything is searched."""
    task = state.tasks[k]
    with np.errstate(all="ignore"):
        for found in (power_laws(task, budget.deadline), waves(task, budget.deadline)):
            for candidate in found:
                state.add(k, candidate)
    state.progress[k].looked = True
    _measure(state, k, budget)


def _may_separate(state: FastState, k: int) -> bool:
    """Whether parts are to be looked for: what is easily grown has had its chance."""
    progress = state.progress[k]
    late = progress.n_trainings >= BEFORE_SEPARATING
    return late and not (progress.parted or progress.exact or progress.at_noise)


def _separate(state: FastState, k: int, budget: Budget) -> None:
    """Divide and conquer: groups of inputs in place of them, and parts that depend on some only."""
    task, seed = state.tasks[k], budget.seed + 7919 * k
    state.progress[k].parted = True
    if len(task.inputs) < 2:
        return
    left = budget.deadline - time.monotonic()
    with np.errstate(all="ignore"):
        deadline = budget.deadline - (1.0 - FOR_GROUPS) * left
        for candidate in grouped(task, seed, deadline, budget.n_jobs):
            state.add(k, candidate)
        if not state.archives[k].is_exact:
            for candidate in separated(task, seed, budget.deadline):
                state.add(k, candidate)
    _measure(state, k, budget)


@dataclass(frozen=True)
class _Due:
    """A size whose structures are to be tried, for the first time or again."""

    size: int
    number: int
    again: bool


def _due(state: FastState, k: int) -> _Due | None:
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
    if size > LARGEST_SIZE * RESOLUTION:
        return None
    number = _count(task, covered, size)
    return _Due(size, number, False) if number <= most else None


def _due_again(state: FastState, k: int) -> _Due | None:
    """The next size to be tried once more, from other starts; of large ones once is enough."""
    covered = state.coverage[k]
    if covered.again >= covered.size:
        return None
    number = _count(state.tasks[k], covered, covered.again + 1)
    return _Due(covered.again + 1, number, True) if number <= TWICE_AT_MOST else None


def _count(task: Task, covered: Coverage, size: int) -> int:
    return n_structures(task.prior, task.names, covered.inputs, size, MOST_STRUCTURES)


def _cover(state: FastState, k: int, due: _Due, budget: Budget) -> bool:
    """Try all structures of one size for a target; False if the time did not suffice."""
    task, covered = state.tasks[k], state.coverage[k]
    if due.number:
        seed = budget.seed + 7919 * k + (104_729 if due.again else 0)
        jobs = (
            (i, try_piece, (task.prior, task.names, rows, points, piece, EFFORT, budget.deadline))
            for rows, points in [(task.train.head(FITTING_ROWS), task.domain[:, :CHECKED])]
            for i, piece in enumerate(
                pieces(task.prior, task.names, covered.inputs, due.size, seed)
            )
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
        for fit in refined(tried, task.prior, sample):
            if fit is not None:
                state.add(k, task.candidate(fit.expression, fit.program))


def _measure(state: FastState, k: int, budget: Budget) -> None:
    """Note what a step has brought for one target."""
    progress, task, archive = state.progress[k], state.tasks[k], state.archives[k]

    def score(c: Candidate) -> float:
        return math.log(c.error + 1e-300) + task.price * c.complexity

    best = min(archive.front, key=score, default=None)
    if best is None:
        return
    progress.exact = archive.is_exact
    rivals = archive.rivals
    length = archive.length(rivals[0]) if rivals else math.inf
    if score(best) < progress.score - 0.01 or length < progress.length - SHORTER:
        progress.score = min(progress.score, score(best))
        progress.length = min(progress.length, length)
        progress.since = progress.n_trainings
        progress.at_noise = False
    elif not progress.at_noise and not _is_worse_outside(best):
        # Only what has stood for a round is worth the test.
        rng = np.random.default_rng((budget.seed, k, state.number))
        with np.errstate(all="ignore"):
            progress.at_noise = looks_like_noise(task, best.expression, rng)


def _is_tired(state: FastState, k: int) -> bool:
    """Whether a target had no progress for so long that the search may stop by itself."""
    progress = state.progress[k]
    return not progress.exact and progress.n_trainings - progress.since >= progress.patience_with(
        state.coverage[k]
    )


def _unseen(state: FastState, k: int) -> list[Candidate]:
    """The best equations of a target whose neighbourhood was not searched twice yet."""
    archive, seen = state.archives[k], state.coverage[k].seen
    rivals = archive.rivals[:RIVALS]
    return [c for c in rivals if c.expression.nodes and seen.get(_key(c), 0) < TWICE]


def _key(candidate: Candidate) -> str:
    return f"{zlib.crc32(repr(candidate.expression.skeleton).encode()):08x}"


def _look_around(state: FastState, k: int, budget: Budget) -> bool:
    """Before a search may stop: all structures once more, and what is near the best equations.

    False if nothing is left to be looked at.
    """
    if again := _due_again(state, k):
        state.coverage[k].again = again.size
        _cover(state, k, again, budget)
    elif candidates := _unseen(state, k):
        _explore(state, k, candidates[0], budget)
    else:
        return False
    _measure(state, k, budget)
    return True


def _explore(state: FastState, k: int, candidate: Candidate, budget: Budget) -> None:
    """Search the neighbourhood of an equation."""
    task, seen = state.tasks[k], state.coverage[k].seen
    times = seen.get(_key(candidate), 0)
    seen[_key(candidate)] = times + 1
    expression = candidate.expression
    seed = budget.seed + 7919 * k + 15_485_863 * times
    jobs = [
        (i, explored, (task, expression, place, seed, budget.deadline))
        for i, place in enumerate(places(expression))
    ]
    found = dict(in_parallel(jobs, state.n_processes))
    for i in sorted(found):
        for other in found[i]:
            state.add(k, other)


def _is_worse_outside(candidate: Candidate) -> bool:
    """Whether extrapolation points tell that an equation is not the true one yet."""
    return candidate.rmse_extrapolation > 1.5 * candidate.rmse_validation


def _plan(number: int, progress: Sequence[Progress], budget: Budget) -> Rounds:
    """The trainings of the next round, by (target, island); `number` are done per target."""
    per_island = min(LARGEST_ROUND, 1 + number // N_ISLANDS)
    last = number + per_island * N_ISLANDS
    if budget.max_trainings is not None:
        last = min(last, budget.max_trainings)
    rounds: Rounds = {}
    for k in range(number, last):
        for target, so_far in enumerate(progress):
            island = k % N_ISLANDS
            training = Training(target, island, (budget.seed, target, k), so_far.chances)
            rounds.setdefault((target, island), []).append(training)
    return rounds


def _is_small(rounds: Rounds) -> bool:
    return sum(len(r) for r in rounds.values()) <= N_ISLANDS


def _parts(rounds: Rounds) -> list[tuple[Rounds, bool]]:
    """A small round is run island by island, so that what one finds is told at once.

    With each part comes whether it is the last.
    """
    if not _is_small(rounds):
        return [(rounds, True)]
    return [({key: r}, k == len(rounds) - 1) for k, (key, r) in enumerate(rounds.items())]


def _run_round(
    state: FastState,
    rounds: Rounds,
    known: Sequence[tuple[Candidate, ...]],
    numbers: FastSettings,
    deadline: float,
) -> None:
    jobs = (
        (key, run_island, (state.tasks[key[0]], trainings, known[key[0]], numbers, deadline))
        for key, trainings in rounds.items()
    )
    finds: dict[tuple[int, int], Finds] = {}
    try:
        for key, found in in_parallel(jobs, state.n_processes):
            finds[key] = found
    finally:
        # Also what arrived before an interrupt is kept.
        for (target, _), found in sorted(finds.items()):
            for candidate in found.candidates:
                state.add(target, candidate)
            state.n_trainings += found.n_trainings
            state.progress[target].done.update(found.done)
            state.largest[target] = max(state.largest[target], found.largest)
        for (target, _), found in sorted(finds.items()):
            front = {id(c) for c in state.archives[target].front}
            for candidate, kind in zip(found.candidates, found.kinds, strict=True):
                state.progress[target].hits[kind] += id(candidate) in front


def _reason_to_stop(state: FastState, budget: Budget) -> str:
    if time.monotonic() >= budget.deadline:
        return TIME_IS_UP
    if all(p.exact for p in state.progress):
        return IS_EXACT
    if time.monotonic() < budget.earliest:
        return ""
    for k, progress in enumerate(state.progress):
        if progress.exact:
            continue
        if not _is_tired(state, k) or _due(state, k) is not None:
            return ""
        if _due_again(state, k) is not None or _unseen(state, k):
            return ""
    noise = all(p.at_noise or p.exact for p in state.progress)
    return IS_NOISE if noise else NOTHING_BETTER


def _with_coverage(reason: str, state: FastState) -> str:
    """A reason, and what was covered for every target."""
    # Structures are made of the same inputs for all of them, so that the least is common to all.
    least = min(range(len(state.tasks)), key=lambda k: state.coverage[k].size)
    task = state.tasks[least]
    covered = state.coverage[least].sentence(task.prior, task.names)
    if covered and len(state.tasks) > 1:
        covered += " for every output"
    return f"{reason}{AND_COVERED}{covered}" if covered else reason
