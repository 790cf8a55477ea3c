"""The fast trainer: many trainings in parallel, and one front per target.

What was found for one output is offered to the others (`ieql.training.fast.joint`).

Work comes in rounds. In a round every island runs a fixed number of trainings from the same front;
after it the islands' finds are merged in the order of the islands. So the same seed gives the same
front whatever the number of processes, as long as the time limit does not cut a round short.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ieql.doubts import AND_COVERED
from ieql.equations.expression import Expression
from ieql.selection import Candidate
from ieql.training.fast.accurate import can_be_accurate, least_worth
from ieql.training.fast.complete import Coverage
from ieql.training.fast.completing import Rest, completed
from ieql.training.fast.covering import cover, due_again, look_around, next_due, unseen
from ieql.training.fast.grouped import grouped, grouped_by_units
from ieql.training.fast.grow import looks_like_noise
from ieql.training.fast.guessed import are_many, believed, grown_from, starts
from ieql.training.fast.island import ACCURACY, FastSettings, Finds, Training, run_island
from ieql.training.fast.joint import offers
from ieql.training.fast.lines import lines
from ieql.training.fast.power_laws import power_laws
from ieql.training.fast.separate import separated
from ieql.training.fast.shapes import shapes
from ieql.training.fast.state import FastState, Progress
from ieql.training.fast.surface import with_surface
from ieql.training.fast.waves import waves
from ieql.training.parallel import STARTING, in_parallel
from ieql.training.task import Task
from ieql.training.trainers import INTERRUPTED, Budget, Trainer

__all__ = ["FastState", "FastTrainer"]

N_ISLANDS = 4
"""Fixed, so that the outcome does not depend on the number of processes."""
LARGEST_ROUND = 6
"""Trainings per island in one round: short enough for a live front, long enough to be worth it."""
SHORTER, SHORTER_PER_ROW = 1.0, 0.002
"""Twice the nats by which a description must be shorter to be progress, at least and per row: the
constants of a search are fitted to some of the rows, and what other draws of these change, a
thousandth of the error, says nothing of the structure."""
ROWS_FOR_SCORES = 200
"""Rows from which on a smaller error, at the search's price of complexity, is progress as well."""
MOST_COMPLETED, TRAININGS_FOR_REST = 2, 4
"""Starts around guesses whose rest is searched for, and trainings for each."""
BEFORE_SEPARATING = 4
"""Trainings after which parts of an equation are looked for."""
FOR_GROUPS = 0.5
"""Part of the time left that goes into groups of inputs, at most."""
FOR_GROUPS_BY_UNITS = 0.35
"""The same for groups that physical units tell: they come first, when nothing else was tried."""
ROUNDS_FOR_ACCURACY = 20
"""Rounds for accuracy, where it is asked for, to each other round."""
STALLED, STALLED_AT_NOISE = 8, 2
"""Rounds for accuracy without progress after which there are no more of them, and the same where
what a simpler equation leaves looks like noise."""
SURFACE_TIME = 10.0
"""Seconds that must be left for a surface through the rows to be worth its time."""
PROGRESS = 2.0
"""Twice the nats that are progress in accuracy."""
SMALL = 50
"""Parameters up to which equations are handed to the other trainings: a larger one would be the
measure of their errors, which is none for equations of their size."""
TIME_IS_UP = "the time is up"
IS_EXACT = "the equations are exact"
IS_NOISE = "what is left looks like noise"
NOTHING_BETTER = "nothing better was found for a long time"
ENDED = (TIME_IS_UP, IS_EXACT, IS_NOISE, NOTHING_BETTER, INTERRUPTED)
"""Reasons after which someone who resumes a search wants it to look further."""
Rounds = dict[tuple[int, int], list[Training]]
"""The trainings of a round, by (target, island)."""


class FastTrainer(Trainer):
    """Finds equations in seconds: dense networks cut down, equations grown, laws looked for.

    Parameters
    ----------
    numbers : FastSettings, optional
        Numbers of the trainings; nothing in them is set per problem.
    steered : bool
        Whether labelled points outside the data steer the search as well. In the paper, and by
        default, they only choose among the equations that were found.
    """

    name = "fast"
    takes_guesses = True
    kernels = ("ieql.training.fast.law_kernel", "ieql.training.fast.structure_kernel")

    def __init__(self, numbers: FastSettings | None = None, steered: bool = False) -> None:
        self.numbers = numbers or FastSettings()
        self.steered = steered

    @property
    def settings(self) -> Any:
        """The name, or with it what is not as usual."""
        return {"name": self.name, "steered": True} if self.steered else self.name

    def _own(self, tasks: Sequence[Task]) -> list[Task]:
        steered = self.steered
        return [t if t.steered == steered else replace(t, steered=steered) for t in tasks]

    def first(self, tasks: Sequence[Task]) -> FastState:
        """The mean predictors, and nothing done yet."""
        tasks = self._own(tasks)
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

    def sketch(self, state: FastState, budget: Budget) -> None:
        """A step, but the first one does without a first look and all structures of small sizes.

        What is left where one term is missing is mostly found by a few trainings.
        """
        from threadpoolctl import threadpool_limits

        if state.number:
            self.step(state, budget)
            return
        with threadpool_limits(limits=1):
            self._round(state, budget)

    def _step(self, state: FastState, budget: Budget) -> None:
        targets = range(len(state.tasks))
        # Step by step for all of them: what takes long for one must not leave others with nothing.
        for k in targets:
            if not state.progress[k].guessed:
                _look_around_guesses(state, k, budget, self.numbers)
        for k in targets:
            if not state.progress[k].looked:
                _first_look(state, k, budget)
        for k in targets:
            if not state.progress[k].by_units:
                _group_by_units(state, k, budget, 1 / (len(targets) - k))
        if not _cover_what_is_due(state, budget):
            return
        if state.number + state.n_accurate >= (budget.max_trainings or math.inf):
            return
        for k in range(len(state.tasks)):
            if _may_separate(state, k):
                _separate(state, k, budget)
        if _wants_accuracy(state) and (state.accuracy_due > 0 or _ordinary_end(state)):
            self._accurate_round(state, budget)
            return
        state.accuracy_due = ROUNDS_FOR_ACCURACY
        tired = [k for k in range(len(state.tasks)) if state.is_tired(k)]
        for k in tired:
            if look_around(state, k, budget):
                _measure(state, k, budget)
                return
        self._round(state, budget)

    def _round(self, state: FastState, budget: Budget) -> None:
        deadline = budget.deadline
        rounds = _plan(state.number, state.progress, budget, state.n_accurate)
        number = state.number + sum(len(r) for (k, _), r in rounds.items() if k == 0)
        known = [_shared(state, k) for k in range(len(state.tasks))]
        offered = offers(state.archives)
        # Starting processes takes seconds; by then an easy equation is found in this one.
        is_worth_it = state.n_processes != 1 or deadline - time.monotonic() > STARTING
        state.n_processes = budget.n_jobs if is_worth_it and not _is_small(rounds) else 1
        for part, is_last in _parts(rounds):
            _run_round(state, part, known, offered, self.numbers, deadline)
            if all(a.is_exact for a in state.archives):
                break
            if not is_last:
                budget.tell()
        state.number = number
        for k in range(len(state.tasks)):
            _measure(state, k, budget)

    def _accurate_round(self, state: FastState, budget: Budget) -> None:
        """A training for accuracy on every island, for every target that may gain by it."""
        _learn_surfaces(state, budget)
        n = state.n_accurate
        number = min(N_ISLANDS, (budget.max_trainings or math.inf) - state.number - n)
        targets = [k for k in range(len(state.tasks)) if _may_be_accurate(state, k)]
        rounds: Rounds = {
            (k, i): [Training(k, i, (budget.seed, k, n + i, 1), kind=ACCURACY)]
            for k in targets
            for i in range(int(number))
        }
        known = [archive.shared() for archive in state.archives]
        is_worth_it = state.n_processes != 1 or budget.deadline - time.monotonic() > STARTING
        state.n_processes = budget.n_jobs if is_worth_it else 1
        nothing: list[tuple[Expression, ...]] = [() for _ in state.tasks]
        _run_round(state, rounds, known, nothing, self.numbers, budget.deadline)
        state.n_accurate += int(number)
        state.accuracy_due -= 1
        for k in targets:
            progress = state.progress[k]
            value = least_worth(state.archives[k], state.tasks[k])
            progress.stalled = 0 if value < progress.worth - PROGRESS else progress.stalled + 1
            progress.worth = min(progress.worth, value)
            progress.exact = state.archives[k].is_exact

    def done(self, state: FastState, budget: Budget) -> str:
        """Why the search is over: the limits are reached, or nothing more is to be expected."""
        reason = _reason_to_stop(state, budget)
        number = state.number + state.n_accurate
        if not reason and number >= (budget.max_trainings or math.inf):
            reason = f"all {budget.max_trainings} trainings are done"
        return reason

    def last(self, state: FastState) -> None:
        """Say what was covered; straight lines, if no training came to an equation in the time."""
        state.reason = _with_coverage(state.reason, state)
        for task, archive in zip(state.tasks, state.archives, strict=True):
            if len(archive) <= 1 or all(c.is_step for c in archive.front):
                for candidate in lines(task.variants[0]):
                    archive.add(candidate)

    def read(self, form: Any, tasks: Sequence[Task]) -> FastState:
        """The search as it stood; one that had ended gets new patience, and all of it.

        Whoever resumes a search that had ended wants it to continue: what is left may look like
        noise as it did before, so that alone does not end it again. One that was killed continues
        as if it had not been.
        """
        tasks = self._own(tasks)
        state: FastState = FastState.read(form, tasks)
        state.number = int(form["number"])
        state.n_accurate = int(form.get("n_accurate", 0))
        state.accuracy_due = int(form.get("accuracy_due", 0))
        state.progress = [Progress.read(target["progress"]) for target in form["targets"]]
        state.coverage = [
            Coverage.read(target["coverage"]) if "coverage" in target else Coverage(task.inputs)
            for target, task in zip(form["targets"], tasks, strict=True)
        ]
        if str(form.get("reason")).startswith(ENDED):
            for progress in state.progress:
                progress.since = progress.n_trainings
                progress.patient = True
                progress.stalled = 0
        return state


def _look_around_guesses(state: FastState, k: int, budget: Budget, numbers: FastSettings) -> None:
    """Guesses, and what is grown from the best of them, before any search.

    These are not counted as trainings: what waits until trainings have had their chance, such as
    the search for parts, would come before all others.
    """
    task, progress = state.tasks[k], state.progress[k]
    with np.errstate(all="ignore"):
        around = starts(task, state.archives[k])
        for guess in believed(task, state.archives[k]):
            state.add(k, task.candidate(guess))
    for number in range(progress.around, len(around)):
        budget.tell()  # a checkpoint from here begins with this start
        if progress.exact or progress.at_noise or time.monotonic() >= budget.deadline:
            break
        state.add(k, around[number])
        found = grown_from(task, k, around[number], number, budget.seed, numbers, budget.deadline)
        for candidate in found.candidates:
            state.add(k, candidate)
        for candidate in found.to_choose:
            state.add_to_choose(k, candidate)
        state.largest[k] = max(state.largest[k], found.largest)
        for _ in range(2):  # for the second time: it may leave nothing but noise
            _measure(state, k, budget)
        is_due = number + 1 == min(MOST_COMPLETED, len(around))
        if is_due and not are_many(task):
            _complete(state, k, around[:MOST_COMPLETED], budget, numbers)
        progress.around = number + 1
    progress.guessed = True


def _complete(
    state: FastState, k: int, starts: Sequence[Candidate], budget: Budget, numbers: FastSettings
) -> None:
    """Search in turn for what each start leaves, until one of them leaves nothing but noise."""
    task, progress = state.tasks[k], state.progress[k]
    trainer = FastTrainer(numbers)
    searches = [Rest.of(task, trainer, start) for start in starts]
    for _ in range(TRAININGS_FOR_REST):
        for place in range(len(searches)):
            while (search := searches[place]) is not None:
                if progress.exact or progress.at_noise:
                    return
                number = search.state.number + 1
                limits = replace(budget, max_trainings=number, n_jobs=1, tell=lambda: None)
                if trainer.done(search.state, limits):
                    break
                trainer.sketch(search.state, limits)
                found = completed(task, search.start, list(search.state.archives[0].front))
                for candidate in found:
                    state.add(k, candidate)
                for _ in range(2):
                    _measure(state, k, budget)
                budget.tell()
                again = search.anew(task, trainer, found)
                if again is None:
                    break
                searches[place] = again


def _first_look(state: FastState, k: int, budget: Budget) -> None:
    """What a straight line in logarithms, a periodogram and a look at kinks tell."""
    task = state.tasks[k]
    with np.errstate(all="ignore"):
        for variant in task.variants:
            for candidate in power_laws(variant, budget.deadline):
                state.add(k, candidate)
        if not task.has_rule:
            _look_for_waves(state, k, budget)
        for variant in task.variants:
            for candidate in shapes(variant, budget.deadline):
                state.add(k, candidate)
    state.progress[k].looked = True
    _measure(state, k, budget)


def _cover_what_is_due(state: FastState, budget: Budget) -> bool:
    """Try all structures that are due, the smallest first; False if the time did not suffice."""
    while time.monotonic() < budget.deadline:
        due = {k: own for k in range(len(state.tasks)) if (own := next_due(state, k)) is not None}
        if not due:
            break
        k = min(due, key=lambda k: due[k].size)
        if not cover(state, k, due[k], budget):
            return False
        # By their dimensions most sizes have no structures at all.
        if due[k].number or not state.tasks[k].has_rule:
            _measure(state, k, budget)
    return True


def _group_by_units(state: FastState, k: int, budget: Budget, share: float) -> None:
    """Groups of inputs that physical units tell, where there is a rule about them.

    `share` is that of the target among those that have not had their turn.
    """
    progress, task = state.progress[k], state.tasks[k]
    if task.has_rule and not progress.exact:
        budget.tell()  # a checkpoint from here begins with the groups
    progress.by_units = True
    if progress.exact or not task.has_rule:
        return
    _measure(state, k, budget)  # for the second time: a power law may leave nothing but noise
    if progress.at_noise:
        return
    now = time.monotonic()
    with np.errstate(all="ignore"), suppress(ArithmeticError, np.linalg.LinAlgError):
        deadline = now + FOR_GROUPS_BY_UNITS * share * (budget.deadline - now)
        for candidate in grouped_by_units(task, budget.seed + 7919 * k, deadline, budget.n_jobs):
            state.add(k, candidate)
        if task.may_wave and not state.archives[k].is_exact:
            _look_for_waves(state, k, budget)
    _measure(state, k, budget)


def _look_for_waves(state: FastState, k: int, budget: Budget) -> None:
    for variant in state.tasks[k].variants:
        for candidate in waves(variant, budget.deadline):
            state.add(k, candidate)


def _may_separate(state: FastState, k: int) -> bool:
    """Whether parts are to be looked for: what is easily grown has had its chance."""
    progress = state.progress[k]
    late = progress.n_trainings >= BEFORE_SEPARATING
    return late and not (progress.parted or progress.exact or progress.at_noise)


def _separate(state: FastState, k: int, budget: Budget) -> None:
    """Divide and conquer: groups of inputs in place of them, and parts that depend on some only."""
    task, seed = state.tasks[k], budget.seed + 7919 * k
    state.progress[k].parted = True
    for variant in task.variants:
        if len(variant.inputs) < 2:
            continue
        now = time.monotonic()
        # What breaks down numerically is given up; the search continues.
        with np.errstate(all="ignore"), suppress(ArithmeticError, np.linalg.LinAlgError):
            deadline = now + FOR_GROUPS * (budget.deadline - now)  # infinite where that is
            for candidate in grouped(variant, seed, deadline, budget.n_jobs):
                state.add(k, candidate)
            if not state.archives[k].is_exact:
                for candidate in separated(variant, seed, budget.deadline):
                    state.add(k, candidate)
    _measure(state, k, budget)


def _measure(state: FastState, k: int, budget: Budget) -> None:
    """Note what a step has brought for one target."""
    progress, task, archive = state.progress[k], state.tasks[k], state.archives[k]

    def score(c: Candidate) -> float:
        return math.log(task.error(c) + 1e-300) + task.price * c.complexity

    best = min(archive.inner, key=score, default=None)
    if best is None:
        return
    progress.exact = archive.is_exact
    rivals = archive.rivals
    length = archive.length(rivals[0]) if rivals else math.inf
    # Of few rows ever more constants explain ever more; only a shorter description is progress.
    is_scored = task.steered or task.train.n_rows >= ROWS_FOR_SCORES
    is_better = is_scored and score(best) < progress.score - 0.01
    shorter = max(SHORTER, SHORTER_PER_ROW * task.train.n_rows)
    if is_better or length < progress.length - shorter:
        progress.score = min(progress.score, score(best))
        progress.length = min(progress.length, length)
        progress.since = progress.n_trainings
        progress.at_noise = False
    elif not progress.at_noise and not (task.steered and _is_worse_outside(best)):
        # Only what has stood for a round is worth the test.
        if state.tested.get(k) == (best.expression, state.number):
            return
        state.tested[k] = best.expression, state.number
        rng = np.random.default_rng((budget.seed, k, state.number))
        with np.errstate(all="ignore"):
            progress.at_noise = looks_like_noise(task, best.expression, rng)


def _is_worse_outside(candidate: Candidate) -> bool:
    """Whether extrapolation points tell that an equation is not the true one yet."""
    return candidate.rmse_extrapolation > 1.5 * candidate.rmse_validation


def _may_be_accurate(state: FastState, k: int) -> bool:
    """Whether more constants are asked for and may still bring something."""
    progress = state.progress[k]
    most = STALLED_AT_NOISE if progress.at_noise else STALLED
    return can_be_accurate(state.tasks[k]) and not progress.exact and progress.stalled < most


def _learn_surfaces(state: FastState, budget: Budget) -> None:
    """Lay a smooth surface through the rows of every target that networks may be taught by."""
    state.tasks = [
        with_surface(task)
        if _may_be_accurate(state, k) and budget.deadline - time.monotonic() > SURFACE_TIME
        else task
        for k, task in enumerate(state.tasks)
    ]


def _wants_accuracy(state: FastState) -> bool:
    return any(_may_be_accurate(state, k) for k in range(len(state.tasks)))


def _shared(state: FastState, k: int) -> tuple[Candidate, ...]:
    """What the archive hands to trainings that look for short equations."""
    known = state.archives[k].shared()
    if not state.tasks[k].accurate:
        return known
    return tuple(c for c in known if c.n_parameters <= SMALL)


def _plan(number: int, progress: Sequence[Progress], budget: Budget, n_others: int = 0) -> Rounds:
    """The trainings of the next round, by (target, island); `number` are done per target.

    So are `n_others` that this is not about.
    """
    per_island = min(LARGEST_ROUND, 1 + number // N_ISLANDS)
    last = number + per_island * N_ISLANDS
    if budget.max_trainings is not None:
        last = min(last, budget.max_trainings - n_others)
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
    offered: Sequence[tuple[Expression, ...]],
    numbers: FastSettings,
    deadline: float,
) -> None:
    jobs = (
        (
            (k, island),
            run_island,
            (state.tasks[k], trainings, known[k], numbers, deadline, offered[k]),
        )
        for (k, island), trainings in rounds.items()
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
            for candidate in found.to_choose:
                state.add_to_choose(target, candidate)
            state.n_trainings += found.n_trainings
            state.progress[target].done.update(found.done)
            state.largest[target] = max(state.largest[target], found.largest)
        for (target, _), found in sorted(finds.items()):
            front = {id(c) for c in state.archives[target].inner}
            for candidate, kind in zip(found.candidates, found.kinds, strict=True):
                state.progress[target].hits[kind] += id(candidate) in front


def _reason_to_stop(state: FastState, budget: Budget) -> str:
    if time.monotonic() >= budget.deadline:
        return TIME_IS_UP
    if all(p.exact for p in state.progress):
        return IS_EXACT
    if time.monotonic() < budget.earliest or _wants_accuracy(state):
        return ""
    return _ordinary_end(state)


def _ordinary_end(state: FastState) -> str:
    """Why there is nothing more to be expected of the trainings for short equations, if so."""
    for k, progress in enumerate(state.progress):
        if progress.exact:
            continue
        if not state.is_tired(k) or next_due(state, k) is not None:
            return ""
        if due_again(state, k) is not None or unseen(state, k):
            return ""
    noise = all(p.at_noise or p.exact for p in state.progress)
    return IS_NOISE if noise else NOTHING_BETTER


def _with_coverage(reason: str, state: FastState) -> str:
    """A reason, and what was covered for every target."""
    # Structures are made of the same inputs for all of them, so that the least is common to all.
    least = min(range(len(state.tasks)), key=lambda k: state.coverage[k].size)
    task = state.tasks[least]
    covered = state.coverage[least].sentence(task.shown_prior, task.names)
    if covered and len(state.tasks) > 1:
        covered += " for every output"
    return f"{reason}{AND_COVERED}{covered}" if covered else reason
