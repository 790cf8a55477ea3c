"""What is known of the safety of an equation in the domain, in words."""

from __future__ import annotations

from ieql.selection import TOO_FAR, Candidate

__all__ = ["caution", "safety_facts"]

PROVED = "Proved safe in the whole domain"
SAMPLED = "Safe at all sampled points; a proof was not found"
REFUTED = "Not safe: a unit is undefined somewhere in the domain"


def safety_facts(candidate: Candidate) -> list[str]:
    """What is known, for a list of facts: whether it is proved, and whether it goes too far."""
    facts = [{True: PROVED, False: REFUTED, None: SAMPLED}[candidate.proved]]
    if candidate.goes_too_far:
        facts.append(f"Goes {_ranges(candidate)} beyond the measured values somewhere in it")
    return facts


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
    if not candidate.proved:
        return f"{equation} is not safe: a unit is undefined somewhere in the domain."
    return None


def _ranges(candidate: Candidate) -> str:
    return f"more than {TOO_FAR:g} times the range of the target"
