"""One network for several outputs: units that the selected equations have in common.

Each output has a front of its own, and each front its selected equation. Where these contain the
same unit, its constants are fitted to the rows of all outputs (`ieql.equations.sharing`), so that
it is the same to the last digit, and together they are a network with shared units, each paid for
once (the paper's section "Architecture" and "Complexity Measure"). By description length the whole
is selected: of equations that the rows of an output do not tell apart, that which shares more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import joined
from ieql.equations.finish import TRIM_ROWS, presented
from ieql.equations.program import free_constants
from ieql.equations.shared_units import outputs_of
from ieql.equations.sharing import fitted_together
from ieql.model import chosen
from ieql.prior import Prior
from ieql.selection import CONNECTION, DEFAULT, Candidate
from ieql.target import Target

__all__ = ["shared_fronts", "with_savings"]

Array = NDArray[np.float64]
WITHIN = 10.0
"""Twice the nats by which an equation may be longer than the best of its output: the rows do not
tell them apart, see `ieql.alternatives`."""
PER_OUTPUT = 3
"""Equations of each output that are tried."""
MANY, MOST_WHOLES = 1000, 6
"""Combinations that are looked at, and those that are tried in earnest."""


def shared_fronts(
    fronts: Sequence[Sequence[Candidate]],
    finished: Sequence[Sequence[Candidate]],
    targets: Sequence[Target],
    criterion: str,
    largest: Sequence[float],
    bound: float | None = None,
) -> list[list[Candidate]]:
    """The fronts of several outputs, their selected equations with common units fitted together.

    Parameters
    ----------
    fronts : sequence of sequences of Candidate
        One per output, in the user's coordinates.
    finished : sequence of sequences of Candidate
        Per output all equations that were finished, those of the front among them.
    targets : sequence of Target
        With the rows of each output.
    criterion : str
        What selects an equation of each front.
    largest : sequence of float
        Per output the complexity of the most complex equation met.
    bound : float, optional
        What no output must pass in the domain.

    Returns
    -------
    list of lists of Candidate
        The same fronts, but for the selected equations; the criterion selects these.
    """
    plain = [list(front) for front in fronts]
    if not all(plain):
        return plain
    errors = [t.mean_errors for t in targets]

    def selected(of: Sequence[Sequence[Candidate]]) -> list[Candidate]:
        places = chosen(of, criterion, errors, largest, targets[0].n_rows)
        return [front[i] for front, i in zip(of, places, strict=True)]

    prior = targets[0].task.prior
    n_rows = [t.fitting.n_rows for t in targets]
    apart = selected(plain)
    wholes = [apart]
    if criterion == DEFAULT:
        wholes += _wholes(plain, finished, targets)
    best, shortest = plain, math.inf
    for whole in wholes[:MOST_WHOLES]:
        for found in (_together(whole, targets, bound), whole):
            if found is None:
                continue
            found = with_savings(found, prior, n_rows)
            trial = [
                _replaced(front, old, new)
                for front, old, new in zip(plain, whole, found, strict=True)
            ]
            # What is told of the choice must be true: the criterion takes these and no others.
            is_chosen = all(a is b for a, b in zip(selected(trial), found, strict=True))
            length = sum(float(t.lengths([c])[0]) for c, t in zip(found, targets, strict=True))
            if is_chosen and length < shortest:
                best, shortest = trial, length
    return best


def _wholes(
    fronts: Sequence[Sequence[Candidate]],
    finished: Sequence[Sequence[Candidate]],
    targets: Sequence[Target],
) -> list[list[Candidate]]:
    """Equations that may be one network, the shortest by themselves first.

    By description length it is the whole that counts: an equation that is hardly longer than the
    best of its output may share so much with the others that together they are shorter.
    """
    near, lengths = [], []
    for front, others, target in zip(fronts, finished, targets, strict=True):
        known = {id(c): c for c in (*front, *others)}
        own = target.lengths(list(known.values()))
        order = np.argsort(own, kind="stable")[:PER_OUTPUT].tolist()
        order = [k for k in order if own[k] <= own[order[0]] + WITHIN]
        near.append([list(known.values())[k] for k in order])
        lengths.append([float(own[k]) for k in order])
    places = itertools.islice(itertools.product(*(range(len(n)) for n in near)), MANY)
    ordered = sorted(places, key=lambda ps: sum(lengths[k][p] for k, p in enumerate(ps)))
    return [[near[k][p] for k, p in enumerate(ps)] for ps in ordered]


def _replaced(front: Sequence[Candidate], old: Candidate, new: Candidate) -> list[Candidate]:
    """A front with one candidate in the place of another, or beside the others if it had none."""
    if any(c is old for c in front):
        return [new if c is old else c for c in front]
    return sorted([*front, new], key=lambda c: (c.complexity, c.rmse_validation))


def _together(
    candidates: Sequence[Candidate], targets: Sequence[Target], bound: float | None
) -> list[Candidate] | None:
    """The equations with common units fitted together; None if there are none, or one is unsafe."""
    with np.errstate(all="ignore"):
        seen = [t.seen(c.expression) for c, t in zip(candidates, targets, strict=True)]
        samples = [rows.standing_for_all(TRIM_ROWS) for rows in seen]
        found = fitted_together([c.equation(precise=True) for c in candidates], samples)
    if found is None:
        return None
    prior = targets[0].task.shown_prior
    results = []
    parts = zip(candidates, targets, found, seen, samples, strict=True)
    for c, target, shared, rows, part in parts:
        if shared is None:
            results.append(c)
            continue
        with np.errstate(all="ignore"):
            equation = presented(
                shared.precise,
                rows,
                part,
                target.points,
                target.task.prior,
                None if bound is None else (-bound, bound),
                shared=shared,
            )
        if equation is None:
            return None
        results.append(target.candidate(equation))
    sizes = [joined([c.expression for c in of]).complexity(prior) for of in (candidates, results)]
    return results if sizes[1] < sizes[0] else None


def with_savings(
    candidates: Sequence[Candidate], prior: Prior, n_rows: Sequence[float]
) -> list[Candidate]:
    """Candidates that know what it saves to share units, each its part of it.

    What m outputs share is described once: of the connections inside, and of the constants there,
    each of them pays one part in m.
    """
    whole = joined([c.expression for c in candidates])
    used_by = outputs_of(whole)
    d = len(whole.names)
    free = set(free_constants(whole).tolist())
    saved = [0.0] * len(candidates)
    at = 0
    for node, outputs in zip(whole.nodes, used_by[d:], strict=True):
        for s in node.args:
            cost = CONNECTION * sum(prior.cost(whole.source_name(i)) for i in s.sources)
            n_constants = sum(at + j in free for j in range(1 + len(s.weights)))
            for k in outputs:
                price = cost + n_constants * math.log(max(n_rows[k], 1.0))
                saved[k] += price * (len(outputs) - 1) / len(outputs)
            at += 1 + len(s.weights)
    return [replace(c, saved=own) for c, own in zip(candidates, saved, strict=True)]
