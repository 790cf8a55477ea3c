"""A check of reliability: what is tried, how often, and what happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Check", "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """What happened: number of cases, whether all were as they should be, and a sentence."""

    cases: int
    passed: bool
    text: str


@dataclass(frozen=True)
class Check:
    """One line of docs/reliability.md; ``python -m soak <name>`` repeats it.

    Attributes
    ----------
    name : str
        Short, with hyphens.
    what : str
        What is tried, a phrase for users.
    run : callable
        Takes the size (1.0 is the size in the table; tests and trials take less) and the seed.
    """

    name: str
    what: str
    run: Callable[[float, int], Outcome]
