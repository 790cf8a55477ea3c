"""Equations that the user believes in, as the search gets them: fitted, and in its coordinates."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.formula import Formula
from ieql.equations.formula_fit import Effort, fit
from ieql.equations.formula_starts import promising
from ieql.equations.refit import refit
from ieql.errors import IeqlError, shown
from ieql.target import Target

__all__ = ["in_coordinates_of", "with_guesses"]

STARTS, LEAST = 128, 3
"""Starts from which the constants of all guesses together are fitted, those of one at least, ..."""
DRAWS = 16
"""... and how often all of them together draw the starts of which these are the best."""
MOST_DRAWS = 4
"""Draws until a start is defined on all rows."""
ROWS = 1_000
"""Rows that they are fitted to: fewer leave gaps for poles."""
LITTLE = Effort(starts=60, kept=3, rows=300)
"""How hard they are looked for where no quick start is defined on all rows."""


def with_guesses(targets: Sequence[Target], texts: Sequence[str]) -> list[Target]:
    """The same targets, whose searches start from these equations.

    Each is a guess for every output. One that the search may not use is left out with a warning.
    """
    if not texts:
        return list(targets)
    guesses: list[list[Expression]] = [[] for _ in targets]
    kept, draws = max(STARTS // len(texts), LEAST), max(DRAWS // len(texts), 1)
    for text in texts:
        uses = 0
        for k, target in enumerate(targets):
            found = _fitted(text, target, kept, draws)
            usable = next((e for e in found if target.task.candidate(e) is not None), None)
            uses += usable is not None
            # One that may not be used may be right in all terms but one.
            guesses[k].append(found[0])
            if usable is not None and usable is not found[0]:
                guesses[k].append(usable)
        if not uses:
            warnings.warn(
                f"The guess {shown(text)} is left out as it stands: the prior does not allow it, "
                "or it is not safe in the domain.",
                stacklevel=4,
            )
    return [
        replace(target, task=replace(target.task, guesses=tuple(own)))
        for target, own in zip(targets, guesses, strict=True)
    ]


def _fitted(text: str, target: Target, kept: int, draws: int) -> list[Expression]:
    """A guess with its constants at good fits, the best first, in the coordinates of the task."""
    task = target.task
    try:
        formula = Formula.parse(text, task.names, task.prior.named_units)
        drawn = (
            promising(formula, target.training, kept, seed, draws) for seed in range(MOST_DRAWS)
        )
        starts = next(filter(None, drawn), [])
        if not starts:  # a slower way may find one, or say why there is none
            starts = [fit(formula, target.training, effort=LITTLE).values]
    except IeqlError as error:
        raise IeqlError(f"The guess {shown(text)} cannot be used. {error}") from error
    rows = task.train.head(ROWS)
    with np.errstate(all="ignore"):
        found = [
            refit(in_coordinates_of(target, formula.filled(values)), rows) for values in starts
        ]
        return sorted(found, key=lambda e: _error(e, rows))


def in_coordinates_of(target: Target, expression: Expression) -> Expression:
    """An equation in the user's coordinates as the search for a target has it."""
    inputs, output = target.inputs, target.scaling
    return expression.rescaled(
        -inputs.offset / inputs.scale,
        1.0 / inputs.scale,
        -output.offset.item() / output.scale.item(),
        1.0 / output.scale.item(),
    ).canonical()


def _error(expression: Expression, rows: Sample) -> float:
    error = rows.rmse(expression.evaluate(rows.XT.T)[:, 0])
    return error if np.isfinite(error) else np.inf
