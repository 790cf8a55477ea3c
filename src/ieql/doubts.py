"""What a user should know before trusting an equation and its errors, in one sentence each."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ieql.selection import TOO_FAR, Candidate

__all__ = [
    "CROSS_FITTING",
    "HELD_OUT",
    "IN_TURN",
    "LEFT_OUT",
    "VALIDATIONS",
    "caution",
    "disagreement_sentence",
    "ending",
    "few_rows_sentence",
    "limits_in_words",
    "outlier_sentence",
    "safety_facts",
    "validation_sentence",
]

HELD_OUT, CROSS_FITTING, LEFT_OUT = "held-out rows", "cross-fitting", "rows left out"
IN_TURN = "rows in turn"
VALIDATIONS = {
    HELD_OUT: "Validation error: on held-out rows that were not used to fit the constants; they "
    "take part in choosing the equation.",
    CROSS_FITTING: "Validation error: each tenth of the rows is predicted with constants fitted to "
    "the other nine tenths; as all rows took part in choosing the structure, a little is added, "
    "and what equations differ by that the rows cannot tell apart.",
    LEFT_OUT: "Validation error: of rows that are left out of the fit, or of a smooth surface "
    "through the rows, in turn; the larger one counts. As the least of many errors selects the "
    "equation, it is still a little too small.",
    IN_TURN: "Validation error: each new row is predicted with constants that the others, and the "
    "earlier ones, give.",
}
"""Where the validation error of a fit comes from, and what that means."""
AND_COVERED = "; "
"""Stands in the reason why a search ended before what it tried completely, if there is such."""
LISTED = 10
"""Rows that a sentence names; the report lists more."""
PROVED = "Proved safe in the whole domain"
SAMPLED = "Safe at all sampled points; a proof was not found"
REFUTED = "Not safe: a unit is undefined somewhere in the domain"
KNOWN = {
    True: "proved in the whole domain",
    False: "broken somewhere in the domain",
    None: "holds at all points that were tried; a proof was not found",
}
"""What is known of a limit."""
CHANCE = 1e-4
"""Probability below which a difference of two errors is no longer put down to chance."""

FEW_ROWS = 10
"""With fewer rows an equation is a suggestion."""
FAR_ABOVE = 2.5
"""How many times the training error a cross-fitted one must be to be worth a sentence."""


def ending(stop_reason: str) -> tuple[str, str]:
    """Why a search ended, and a sentence on what it tried completely, which may be empty.

    >>> ending("the time is up; all 6 structures with up to two connections were tried")
    ('the time is up', 'All 6 structures with up to two connections were tried.')
    """
    reason, _, covered = stop_reason.partition(AND_COVERED)
    return reason, f"{covered[:1].upper()}{covered[1:]}." if covered else ""


def validation_sentence(validation: str) -> str:
    """What the validation error is: `validation` is one of `VALIDATIONS`."""
    return VALIDATIONS[validation]


def outlier_sentence(
    rows: Sequence[int], n_rows: int, target: str | None = None, listed: int = LISTED
) -> str:
    """Which rows were left out of a fit.

    Parameters
    ----------
    rows : sequence of int
        Their positions in the data, from 0 on; named are data rows, counted from 1 on.
    n_rows : int
        Number of all rows.
    target : str, optional
        Whose equation it is, where there are several.
    listed : int
        How many are named, at most.

    Examples
    --------
    >>> outlier_sentence([16], 5040)
    '1 of 5,040 rows lies far from the equation and was left out of the fit: data row 17.'
    """
    one = len(rows) == 1
    named = [str(row + 1) for row in rows[:listed]]
    more = f" and {len(rows) - listed:,} more" if len(rows) > listed else ""
    equation = "the equation" if target is None else f"the equation of {target!r}"
    return (
        f"{len(rows):,} of {n_rows:,} rows {'lies' if one else 'lie'} far from {equation} "
        f"and {'was' if one else 'were'} left out of the fit: data row{'' if one else 's'} "
        f"{', '.join(named)}{more}."
    )


def few_rows_sentence(n_rows: int) -> str | None:
    """What so few rows can tell; None if there are enough of them.

    Examples
    --------
    >>> few_rows_sentence(6)
    '6 rows can only tell equations with up to 3 constants apart: take the selected one as a \
suggestion until more rows confirm it.'
    """
    if n_rows >= FEW_ROWS:
        return None
    most = max(n_rows - 3, 1)
    constants = f"up to {most} constants" if most > 1 else "one constant"
    return (
        f"{n_rows} rows can only tell equations with {constants} apart: take the selected one as a "
        "suggestion until more rows confirm it."
    )


def disagreement_sentence(
    rmse_train: float,
    rmse_validation: float,
    n_train: int,
    n_validation: int,
    *,
    validation: str = HELD_OUT,
    floor: float = 0.0,
    target: str | None = None,
) -> str | None:
    """A sentence if training and validation error differ by more than chance, else None.

    The F test of the two mean squared errors, either way. Where each row was predicted by
    constants fitted to others, the validation error lies above the training error by nature, and
    only one far above it counts.

    Parameters
    ----------
    rmse_train, rmse_validation : float
        Root mean squared errors of one equation.
    n_train, n_validation : int
        Number of rows behind each of them.
    validation : str
        One of `VALIDATIONS`.
    floor : float
        Errors below this one are taken for it: nobody minds them, however much they differ.
    target : str, optional
        Whose equation it is, where there are several.
    """
    equation = "the selected equation" + ("" if target is None else f" of {target!r}")
    train, valid = max(rmse_train, floor), max(rmse_validation, floor)
    if not (0.0 < train < math.inf and 0.0 < valid < math.inf) or min(n_train, n_validation) < 1:
        return None
    above = _is_no_chance(valid / train, n_validation, n_train)
    if validation != HELD_OUT:
        if not above or valid < FAR_ABOVE * train:
            return None
        return (
            f"The validation error ({rmse_validation:.3g}) of {equation} lies above its "
            f"training error ({rmse_train:.3g}) by more than chance: the equation depends on "
            "individual rows; look at the residuals in the report, or take a simpler equation."
        )
    if not above and not _is_no_chance(train / valid, n_train, n_validation):
        return None
    return (
        f"The training error ({rmse_train:.3g}) and the validation error ({rmse_validation:.3g}) "
        f"of {equation} differ by more than chance: a few rows may dominate one of "
        "them; look at the residuals in the report."
    )


def _is_no_chance(ratio: float, n_above: int, n_below: int) -> bool:
    """Whether one root mean squared error is larger than another one by more than chance."""
    from scipy.special import fdtrc

    return bool(fdtrc(n_above, n_below, min(ratio, 1e100) ** 2) < CHANCE)


def safety_facts(candidate: Candidate) -> list[str]:
    """What is known, for a list of facts: whether it is proved, and whether it goes too far."""
    facts = [{True: PROVED, False: REFUTED, None: SAMPLED}[candidate.proved]]
    facts += [
        f"{text[0].upper()}{text[1:]}: {KNOWN[holds]}" for text, holds in candidate.limits.items()
    ]
    if candidate.goes_too_far:
        facts.append(f"Goes {_ranges(candidate)} beyond the measured values somewhere in it")
    return facts


def limits_in_words(candidate: Candidate) -> str:
    """What is known of the limits of the prior's shape, in a few words.

    >>> from ieql.equations.expression import Expression
    >>> line = Expression.parse("2*load", ["load"])
    >>> limits_in_words(Candidate(line, 1.0, 1, 0.1, 0.1, limits={"increasing in load": True}))
    'all proved'
    """
    left = {
        holds: [text for text, known in candidate.limits.items() if known is holds]
        for holds in (False, None)
    }
    parts = [
        f"{word}: {', '.join(left[k])}"
        for k, word in ((False, "broken"), (None, "open"))
        if left[k]
    ]
    return "; ".join(parts) or "all proved"


def caution(candidate: Candidate, target: str | None = None) -> str | None:
    """A sentence about the selected equation if there is reason for caution, else None.

    Parameters
    ----------
    candidate : Candidate
        The equation.
    target : str, optional
        What it is the equation of, where there are several.
    """
    equation = "The selected equation" + ("" if target is None else f" of {target}")
    if candidate.goes_too_far:
        return (
            f"{equation} goes {_ranges(candidate)} beyond the measured values somewhere in the "
            "domain: look at its slices in the report, declare a smaller domain, or take another."
        )
    if candidate.proved is None:
        return (
            f"{equation} is safe at all sampled points of the domain; a proof for the whole "
            "domain was not found."
        )
    if candidate.proved is False:
        return f"{equation} is not safe: a unit is undefined somewhere in the domain."
    left = [text for text, holds in candidate.limits.items() if holds is None]
    if left:
        return (
            f"{equation} is {' and '.join(left)} at all points that were tried; a proof for the "
            "whole domain was not found."
        )
    return None


def _ranges(candidate: Candidate) -> str:
    return f"more than {TOO_FAR:g} times the range of the target"
