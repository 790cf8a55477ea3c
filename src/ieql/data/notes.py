"""What was noticed while a table was read: one sentence for each, said by `fit` and `check`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

__all__ = ["Kind", "Note", "listed", "sentences"]


class Kind(Enum):
    """How loudly a note is said; the value is the word that it begins with."""

    FACT = "Fact"
    """Ordinary: said by `ieql check` alone."""
    READ = "Read"
    """Something that was recognised and taken care of."""
    LEFT_OUT = "Left out"
    """Rows or columns that are not used."""
    WARNING = "Warning"
    """Something that is used as it is, but looks wrong."""


@dataclass(frozen=True)
class Note:
    """A sentence without its full stop, and how loudly it is said."""

    kind: Kind
    text: str

    def line(self) -> str:
        """The note as it is printed."""
        return f"{self.kind.value}: {self.text}."


def sentences(notes: Iterable[Note], *, facts: bool = False) -> list[str]:
    """The notes as lines, each once; with `facts` also the ordinary ones."""
    lines = (note.line() for note in notes if facts or note.kind is not Kind.FACT)
    return list(dict.fromkeys(lines))


def listed(names: Iterable[object], limit: int = 6) -> str:
    """Names in quotation marks, some of them if there are many."""
    found = [repr(name) for name in names]
    more = len(found) - limit
    return ", ".join(found[:limit]) + (f" and {more} more" if more > 0 else "")
