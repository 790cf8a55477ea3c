"""What a recalibration has moved: each constant before and after, and what that means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ieql.equations.expression import Expression
from ieql.equations.notation import is_reciprocal
from ieql.equations.shown_constants import ShownConstant, places_in_words, shown_constants
from ieql.errors import IeqlError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "CLEARLY",
    "MovedConstant",
    "MovedConstants",
    "constants_by_place",
    "key_of",
    "moved_constants",
    "moved_sentence",
]

CLEARLY = 2.0
"""Standard errors by which a constant must have moved to be named."""
NAMED = 3
"""Constants that the sentence names, at most."""


@dataclass(frozen=True)
class MovedConstant:
    """One constant of an equation before and after.

    Attributes
    ----------
    of : str
        Where it stands, in words.
    old, new : float
        Its values.
    standard_error : float
        Of the new one; NaN if it is not known.
    moved : float
        Their difference, in standard errors of the difference.
    """

    of: str
    old: float
    new: float
    standard_error: float
    moved: float


@dataclass(frozen=True)
class MovedConstants:
    """What a recalibration has found, for each output.

    Attributes
    ----------
    constants : tuple of tuples of MovedConstant
        Per output the constants that could move.
    sentences : tuple of tuples of str
        Per output what moved, and whether the structure still holds.
    """

    constants: tuple[tuple[MovedConstant, ...], ...]
    sentences: tuple[tuple[str, ...], ...]

    def frame(self, targets: Sequence[str]) -> pd.DataFrame:
        """One row per constant; ``attrs["sentences"]`` says what it means."""
        import pandas as pd

        names = ["of", "old", "new", "standard_error", "moved"]
        rows = [
            {"output": target, **{name: getattr(c, name) for name in names}}
            for target, of in zip(targets, self.constants, strict=True)
            for c in of
        ]
        columns = [*["output"] * (len(targets) > 1), *names]
        frame = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(names[1:], float))
        frame.attrs["sentences"] = [s for of in self.sentences for s in of]
        return frame

    def to_form(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers; a number that is not finite becomes None."""
        return {
            "constants": [
                [[c.of, *map(_plain, (c.old, c.new, c.standard_error, c.moved))] for c in constants]
                for constants in self.constants
            ],
            "sentences": [list(of) for of in self.sentences],
        }

    @classmethod
    def from_form(cls, form: Mapping[str, Any], n_outputs: int) -> MovedConstants:
        """The inverse of `to_form`."""
        found = cls(
            tuple(
                tuple(
                    MovedConstant(str(of), *(math.nan if v is None else float(v) for v in values))
                    for of, *values in constants
                )
                for constants in form["constants"]
            ),
            tuple(tuple(str(s) for s in of) for of in form["sentences"]),
        )
        if len(found.constants) != n_outputs or len(found.sentences) != n_outputs:
            raise IeqlError("what its recalibration moved does not fit its outputs.")
        return found


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def moved_constants(
    old: Expression,
    old_errors: Sequence[float] | None,
    new: Expression,
    new_errors: Sequence[float] | None,
) -> tuple[MovedConstant, ...]:
    """Compare the constants that are written in two equations of one structure.

    A factor of 1, which is not written, is compared where the other equation has another one.
    """
    before, after = shown_constants(old, old_errors), shown_constants(new, new_errors)
    places = {**_by_place(before), **_by_place(after)}
    words = {
        **_by_place(before, places_in_words(old, before, shorten=True)),
        **_by_place(after, places_in_words(new, after, shorten=True)),
    }
    found = []
    for key in places:
        (a, _), (b, error) = _value(old, old_errors, key), _value(new, new_errors, key)
        spread = math.hypot(*(e for _, e in (_value(old, old_errors, key), (b, error)) if e == e))
        moved = 0.0 if a == b else (b - a) / spread if spread > 0.0 else math.nan
        found.append(MovedConstant(words[key], a, b, error, moved))
    return tuple(found)


Key = tuple[int | None, int, int | None]


def _by_place(
    constants: Sequence[ShownConstant], what: Sequence[Any] | None = None
) -> dict[Key, Any]:
    values = constants if what is None else what
    return {key_of(c): v for c, v in zip(constants, values, strict=True)}


def key_of(constant: ShownConstant) -> Key:
    """Where a constant stands: unit, argument of it, and what it multiplies there."""
    return constant.home, constant.argument, constant.source


def constants_by_place(
    e: Expression, errors: Sequence[float] | None, keys: Sequence[Key]
) -> list[tuple[float, float]]:
    """The constants at some places, written or not, with their standard errors."""
    return [_value(e, errors, key) for key in keys]


def _value(e: Expression, errors: Sequence[float] | None, key: Key) -> tuple[float, float]:
    """The constant at a place, whether it is written or not, and its standard error."""
    home, argument, source = key
    d, at = len(e.names), 0
    for k, node in enumerate(e.nodes, start=d):
        for a, s in enumerate(node.args):
            if (k, a) == (home, argument):
                return _in_sum(e, s, errors, at, source)
            at += 1 + len(s.weights)
    return _in_sum(e, e.outputs[0], errors, at, source)


def _in_sum(
    e: Expression, s: Any, errors: Sequence[float] | None, at: int, source: int | None
) -> tuple[float, float]:
    known = np.full(at + 1 + len(s.weights), math.nan) if errors is None else errors
    if source is None:
        return float(s.bias), float(known[at])
    j = s.sources.index(source)
    d = len(e.names)
    unit = e.nodes[source - d] if source >= d else None
    before = unit.args[0].bias if is_reciprocal(unit) and unit is not None else 1.0
    return float(s.weights[j] * before), float(known[at + 1 + j]) * abs(before)


def moved_sentence(constants: Sequence[MovedConstant]) -> str:
    """Which constants have moved by more than chance, the most telling first."""
    clearly = sorted(
        (
            c
            for c in constants
            if abs(c.moved) > CLEARLY or (math.isnan(c.moved) and c.old != c.new)
        ),
        key=lambda c: -abs(c.moved),
    )
    n = len(constants)
    if not n:
        return "There is no constant that could move."
    if not clearly:
        subject = "The constant has" if n == 1 else f"None of the {n} constants has"
        return (
            f"{subject}{' not' if n == 1 else ''} moved by more than {CLEARLY:g} standard errors."
        )
    listed = [f"{c.of} from {c.old:.4g} to {c.new:.4g}" for c in clearly[:NAMED]]
    more = f" and {len(clearly) - NAMED} more" if len(clearly) > NAMED else ""
    if n == 1:
        return f"The constant has moved: {listed[0]}."
    have = "has" if len(clearly) == 1 else "have"
    return f"{len(clearly)} of {n} constants {have} moved: {', '.join(listed)}{more}."
