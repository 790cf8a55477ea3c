"""One network for several outputs: units that the selected equations have in common.

Each output has a front of its own, and each front its selected equation. Where these contain the
same unit, its constants are fitted to the rows of all outputs (`ieql.equations.sharing`), so that
it is the same to the last digit, and together they are a network with shared units, each paid for
once (the paper's section "Architecture" and "Complexity Measure").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ieql.equations.builder import joined
from ieql.equations.finish import TRIM_ROWS, presented
from ieql.equations.program import free_constants
from ieql.equations.sharing import fitted_together, outputs_of
from ieql.model import chosen
from ieql.prior import Prior
from ieql.selection import CONNECTION, Candidate
from ieql.target import Target

__all__ = ["shared_fronts", "with_savings"]


def shared_fronts(
    fronts: Sequence[Sequence[Candidate]],
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
        The same fronts, but for the selected equations; these are selected still.
    """
    plain = [list(front) for front in fronts]
    if not all(plain):
        return plain

    def selected(of: Sequence[Sequence[Candidate]]) -> tuple[int, ...]:
        errors = [t.mean_errors for t in targets]
        return chosen(of, criterion, errors, largest, targets[0].n_rows)

    places = selected(plain)
    apart = [front[i] for front, i in zip(plain, places, strict=True)]
    prior = targets[0].task.prior
    for found in (_together(apart, targets, bound), apart):
        if found is None:
            continue
        fitted = with_savings(found, prior, [t.fitting.n_rows for t in targets])
        result = [
            [*front[:i], c, *front[i + 1 :]]
            for front, i, c in zip(plain, places, fitted, strict=True)
        ]
        if selected(result) == places:
            return result
    return plain


def _together(
    candidates: Sequence[Candidate], targets: Sequence[Target], bound: float | None
) -> list[Candidate] | None:
    """The equations with common units fitted together; None if there are none, or one is unsafe."""
    samples = [t.fitting.standing_for_all(TRIM_ROWS) for t in targets]
    with np.errstate(all="ignore"):
        found = fitted_together([c.equation(precise=True) for c in candidates], samples)
    if found is None:
        return None
    prior = targets[0].task.prior
    results = []
    for c, target, shared, part in zip(candidates, targets, found, samples, strict=True):
        if shared is None:
            results.append(c)
            continue
        with np.errstate(all="ignore"):
            equation = presented(
                shared.precise,
                target.fitting,
                part,
                target.points,
                prior,
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
