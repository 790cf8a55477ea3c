"""Equations that the user believes in, as the search gets them: fitted, and in its coordinates."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ieql.equations.expression import Expression
from ieql.equations.formula import Formula
from ieql.equations.formula_fit import Effort, fit
from ieql.equations.refit import refit
from ieql.errors import IeqlError, shown
from ieql.target import Target

__all__ = ["with_guesses"]

LITTLE = Effort(starts=60, kept=3, rows=300)
"""How hard the constants of a guess are looked for: there may be many, and the search goes on."""


def with_guesses(targets: Sequence[Target], texts: Sequence[str]) -> list[Target]:
    """The same targets, whose searches start from these equations.

    Each is a guess for every output. One that the search may not use is left out with a warning.
    """
    if not texts:
        return list(targets)
    guesses: list[list[Expression]] = [[] for _ in targets]
    for text in texts:
        uses = 0
        for k, target in enumerate(targets):
            guess = _fitted(text, target)
            if target.task.candidate(guess) is not None:
                guesses[k].append(guess)
                uses += 1
        if not uses:
            warnings.warn(
                f"The guess {shown(text)} is left out: the prior does not allow it, or it is not "
                "safe in the domain.",
                stacklevel=4,
            )
    return [
        replace(target, task=replace(target.task, guesses=tuple(own)))
        for target, own in zip(targets, guesses, strict=True)
    ]


def _fitted(text: str, target: Target) -> Expression:
    """A guess with its constants at the best fit, in the coordinates of the task."""
    task = target.task
    rows = target.training
    try:
        formula = Formula.parse(text, task.names, task.prior.named_units)
        found = fit(formula, rows, effort=LITTLE)
    except IeqlError as error:
        raise IeqlError(f"The guess {shown(text)} cannot be used. {error}") from error
    inputs, output = target.inputs, target.scaling
    scaled = formula.filled(found.values).rescaled(
        -inputs.offset / inputs.scale,
        1.0 / inputs.scale,
        -output.offset.item() / output.scale.item(),
        1.0 / output.scale.item(),
    )
    with np.errstate(all="ignore"):
        return refit(scaled.canonical(), task.train.head(LITTLE.rows))
