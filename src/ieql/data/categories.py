"""Columns of words: each of their levels is an input that is 1 where a row has it, else 0.

An equation can then give a level an offset, ``2*{gear: 3}``, or a factor,
``(1 + 0.2*{gear: 3})*x``, and does so where it pays. ``{gear: 3}`` is the name of such an input.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ieql.errors import IeqlError, nearest, shown
from ieql.prior import Prior
from ieql.units import MUL

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MOST_LEVELS", "Categories", "has_few_levels", "level_input"]

Mask = NDArray[np.bool_]
MOST_LEVELS = 50
"""Levels of a column, at most: each is an input to be searched."""
REPEATED = 2
"""Rows of a level, on average, from which on a column of words may be a category."""
NAMED = 5
"""Levels that a sentence names, at most."""
IN = ("output", MUL.name)
"""Where a level may enter: an offset stands in the output, or beside 1 in a factor."""


@dataclass(frozen=True)
class Categories:
    """The columns of words of a fit.

    Attributes
    ----------
    levels : mapping of str to tuple of str
        The levels of each column, in order.
    """

    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.levels)

    @classmethod
    def of(cls, frame: pd.DataFrame, names: Sequence[str], where: str = "X") -> Categories:
        """The levels that columns of a table have.

        Raises
        ------
        IeqlError
            If a column is not there, has gaps, one level, or more than make sense.
        """
        found: dict[str, tuple[str, ...]] = {}
        for name in names if len(frame) else ():  # what is empty is refused for that
            if list(frame.columns).count(name) > 1:
                raise IeqlError(f"{where} has several columns {name!r}; rename them.")
            if name not in frame.columns:
                raise IeqlError(
                    f"{where} has no column {name!r}, which is to be a category."
                    f"{nearest(name, frame.columns)}"
                )
            levels = _in_order(set(_words(frame[name], name, where)))
            if len(levels) < 2:
                raise IeqlError(
                    f"{where}, column {name!r}: a category needs two levels at least, but every "
                    f"row has {shown(levels[0])}; leave the column out."
                )
            if len(levels) > MOST_LEVELS:
                raise IeqlError(
                    f"{where}, column {name!r} has {len(levels):,} different values, but a "
                    f"category may have {MOST_LEVELS} at most; is it the column that was meant?"
                )
            found[name] = levels
        return cls(found)

    @property
    def inputs(self) -> dict[str, tuple[str, str]]:
        """The inputs that stand for levels, each with its column and its level."""
        return {
            level_input(name, level): (name, level)
            for name, levels in self.levels.items()
            for level in levels
        }

    def encoded(self, frame: pd.DataFrame, where: str = "X") -> tuple[pd.DataFrame, Mask]:
        """The table with inputs for levels in place of its columns of words.

        Returns
        -------
        table, unknown
            Also which rows have a level that the fit did not have, for each of these columns
            (rows, columns); all its inputs are 0 there.
        """
        import pandas as pd

        parts: list[Any] = []
        unknown = np.zeros((len(frame), len(self.levels)), dtype=bool)
        for name in frame.columns:
            if name not in self.levels:
                parts.append(frame[[name]])
                continue
            words = np.array(_words(frame[name], name, where), dtype=object)
            columns = {
                level_input(name, level): (words == level).astype(np.float64)
                for level in self.levels[name]
            }
            taken = next((new for new in columns if new in frame.columns), None)
            if taken is not None:
                raise IeqlError(
                    f"{where} has a column {taken!r}, which is the name of a level of {name!r}; "
                    "rename it."
                )
            parts.append(pd.DataFrame(columns, index=frame.index))
            missing = ~np.any(list(columns.values()), axis=0)
            unknown[:, list(self.levels).index(name)] = missing
        return pd.concat(parts, axis=1), unknown

    def unknown_levels(self, frame: pd.DataFrame, unknown: Mask) -> str:
        """The levels in these rows of a table that a fit did not have, in words."""
        said = []
        for name, rows in zip(self.levels, unknown.T, strict=True):
            if rows.any():
                words = sorted({_word(value) for value in frame[name][rows]})
                more = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
                said.append(f"{', '.join(map(repr, words[:NAMED]))}{more} in {name!r}")
        return " and ".join(said)

    def columns(self, names: Iterable[str]) -> list[str]:
        """The user's columns behind inputs, in their order."""
        inputs = self.inputs
        return list(dict.fromkeys(inputs[n][0] if n in inputs else n for n in names))

    def places(self, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Where the levels of each column stand among the inputs."""
        return tuple(
            tuple(names.index(level_input(name, level)) for level in levels)
            for name, levels in self.levels.items()
        )

    def rules(self, prior: Prior) -> Prior:
        """The prior with its rules about levels: they enter the output and factors alone.

        What the user says of a column is said of all its levels.
        """
        if not self:
            return prior
        own = {k: v for k, v in prior.inputs.items() if k not in self.levels}
        places = IN if MUL.name in prior.units else IN[:1]
        for name, (column, _) in self.inputs.items():
            own.setdefault(name, prior.inputs.get(column, {"only_in": places}))
        return replace(prior, inputs=own)

    def read(self, names: Sequence[str], rows: NDArray[np.float64]) -> dict[str, list[Any]]:
        """Rows of inputs as the user's columns, in which words stand for levels again."""
        inputs = self.inputs
        found: dict[str, list[Any]] = {}
        for name, values in zip(names, rows.T.tolist(), strict=True):
            if name not in inputs:
                found[name] = values
                continue
            column, level = inputs[name]
            words = found.setdefault(column, [""] * len(values))
            found[column] = [level if v == 1.0 else w for v, w in zip(values, words, strict=True)]
        return found

    def to_form(self) -> dict[str, list[str]]:
        """Plain dictionaries and lists."""
        return {name: list(levels) for name, levels in self.levels.items()}

    @classmethod
    def from_form(cls, form: Any) -> Categories:
        """The inverse of `to_form`."""
        if not isinstance(form, Mapping) or not all(
            isinstance(levels, list) and len(levels) > 1 and all(isinstance(w, str) for w in levels)
            for levels in form.values()
        ):
            raise IeqlError("its categories are not lists of levels.")
        return cls({str(name): tuple(levels) for name, levels in form.items()})


def level_input(column: str, level: str) -> str:
    """The name of the input that stands for a level.

    >>> level_input("gear", "3")
    '{gear: 3}'
    """
    return f"{{{column}: {level}}}"


def has_few_levels(column: pd.Series[Any]) -> bool:
    """Whether words come again and again, as levels do, and remarks do not."""
    present = column.dropna()
    return 1 < present.nunique() <= min(MOST_LEVELS, len(present) // REPEATED)


def _words(column: pd.Series[Any], name: str, where: str) -> list[str]:
    """The level of each row as text; gaps are refused."""
    words = [
        "" if gap else _word(value)
        for value, gap in zip(column.tolist(), column.isna().tolist(), strict=True)
    ]
    if "" in words:
        raise IeqlError(
            f"{where}, column {name!r}: {words.count('')} of {len(words)} values are missing, the "
            f"first in data row {words.index('') + 1}; fill these cells or drop the rows."
        )
    return words


def _word(value: Any) -> str:
    """A cell as a level: 3 and 3.0 are the same, as a column of numbers with gaps holds 3.0."""
    whole = isinstance(value, float | np.floating) and value.is_integer()
    return str(int(value) if whole else value).strip()


def _in_order(levels: Iterable[str]) -> tuple[str, ...]:
    """Numbers by their size, and then words by the alphabet."""

    def key(level: str) -> tuple[bool, float, str]:
        try:
            number = float(level)
        except ValueError:
            return True, 0.0, level
        return math.isnan(number), number if math.isfinite(number) else 0.0, level

    return tuple(sorted(levels, key=key))
