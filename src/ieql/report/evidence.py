"""What figures and the report need beyond the equations: a sample of the data.

A saved model holds equations only. The evidence goes into a file of its own, ``evidence.json`` in
the run folder, so that the model stays small and can be handed on without the data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.errors import IeqlError
from ieql.files import MAX_NAME

__all__ = ["DATA", "EXTRAPOLATION", "Column", "Evidence"]

Array = NDArray[np.float64]
DATA, EXTRAPOLATION = "data", "extrapolation"
KINDS = (DATA, EXTRAPOLATION)
FORMAT = 1
MAX_ROWS = 2_000
"""Rows of the sample, at most; of these, those outside the data are at most a quarter."""
MAX_VALUES = 400_000
"""Numbers in the sample, at most: a table of a thousand columns gets fewer rows."""
MIN_SAMPLE = 50
MAX_OUTLIERS = 200
"""Outliers of each output that the sample holds, at most, beside its other rows."""
MAX_COLUMNS = 20_000
"""What is larger than these was not written by ieql; it is refused before memory is spent."""


@dataclass(frozen=True)
class Column:
    """Range and mean of one column over all rows of the data."""

    name: str
    low: float
    high: float
    mean: float


@dataclass(frozen=True, eq=False)
class Evidence:
    """A sample of the data and the circumstances of a fit; it never changes.

    Attributes
    ----------
    inputs, targets : tuple of Column
        Over all rows of the data, points outside of it not counted.
    X, y : arrays (rows, inputs) and (rows, outputs)
        The sample, read-only.
    kinds : tuple of str
        Of each row of the sample: "data" or "extrapolation".
    n_rows, n_extrapolation : int
        Number of all rows, of which the sample is a part.
    sha256 : str
        Of the data, see `ieql.run.folder.sha256_of`.
    seconds : float
        What the fit took.
    seed : int or None
        The random state if it was a number.
    versions : mapping
        Of Python and the packages that can change a result.
    unit_counts : tuple of mappings
        Per output, how often each unit appears in all candidates.
    outliers : tuple of mappings
        Per output, the rows of the data that were left out of its fit: position in the user's
        table → place in the sample. Empty if there are none, or if they are not known.
    """

    inputs: tuple[Column, ...]
    targets: tuple[Column, ...]
    X: Array
    y: Array
    kinds: tuple[str, ...]
    n_rows: int
    n_extrapolation: int
    sha256: str
    seconds: float
    seed: int | None
    versions: Mapping[str, str]
    unit_counts: tuple[Mapping[str, int], ...]
    outliers: tuple[Mapping[int, int], ...] = ()

    @classmethod
    def of(
        cls,
        X: Array,
        y: Array,
        names: Sequence[str],
        targets: Sequence[str],
        extrapolation: tuple[Array, Array] | None = None,
        *,
        sha256: str,
        seconds: float,
        seed: int | None,
        versions: Mapping[str, str],
        unit_counts: Sequence[Mapping[str, int]],
    ) -> Evidence:
        """Take a sample of the data, always the same one, and note the circumstances."""
        y = y.reshape(len(y), -1)
        most = min(MAX_ROWS, max(MIN_SAMPLE, MAX_VALUES // (X.shape[1] + y.shape[1])))
        parts = [(X, y)]
        if extrapolation is not None:
            outside = (extrapolation[0], extrapolation[1].reshape(len(extrapolation[0]), -1))
            rows = _sample(len(outside[0]), most // 4)
            parts.append((outside[0][rows], outside[1][rows]))
        rows = _sample(len(X), most - sum(len(part[0]) for part in parts[1:]))
        parts[0] = (X[rows], y[rows])
        return cls(
            inputs=_columns(names, X),
            targets=_columns(targets, y),
            X=_frozen(np.concatenate([part[0] for part in parts])),
            y=_frozen(np.concatenate([part[1] for part in parts])),
            kinds=tuple(
                kind for kind, part in zip(KINDS, parts, strict=False) for _ in range(len(part[0]))
            ),
            n_rows=len(X),
            n_extrapolation=0 if extrapolation is None else len(extrapolation[0]),
            sha256=sha256,
            seconds=float(seconds),
            seed=seed,
            versions=dict(versions),
            unit_counts=tuple(dict(counts) for counts in unit_counts),
        )

    def after(self, seconds: float, unit_counts: Sequence[Mapping[str, int]]) -> Evidence:
        """The same after so many seconds, with the counts of units in all candidates so far."""
        return replace(
            self,
            seconds=float(seconds),
            unit_counts=tuple(dict(counts) for counts in unit_counts),
        )

    def with_outliers(self, X: Array, y: Array, rows: Sequence[Sequence[int]]) -> Evidence:
        """The same with these rows in the sample, so that none of them is missing in a plot.

        Parameters
        ----------
        X : array (rows, inputs)
            The user's table, not the sorted and merged one that the sample was drawn from.
        y : array (rows,) or (rows, outputs)
            Its targets.
        rows : sequence of sequences of int
            For each output the positions of its outliers; of more than `MAX_OUTLIERS` the first.
        """
        y = y.reshape(len(y), -1)
        few = [[int(row) for row in of[:MAX_OUTLIERS]] for of in rows]
        n_inside = self.kinds.count(DATA)
        sample = np.hstack([self.X, self.y])
        known = {tuple(row): place for place, row in enumerate(sample[:n_inside].tolist())}
        places: dict[int, int] = {}
        added: list[int] = []
        for row in sorted({row for of in few for row in of}):
            values = tuple(np.concatenate([X[row], y[row]]).tolist())
            # Equal rows are one row of the sample, but each outlier has a place of its own.
            place = known.pop(values, None)
            if place is None:
                place = n_inside + len(added)
                added.append(row)
            places[row] = place
        return replace(
            self,
            X=_frozen(np.concatenate([self.X[:n_inside], X[added], self.X[n_inside:]])),
            y=_frozen(np.concatenate([self.y[:n_inside], y[added], self.y[n_inside:]])),
            kinds=(*self.kinds[:n_inside], *(DATA,) * len(added), *self.kinds[n_inside:]),
            outliers=tuple({row: places[row] for row in of} for of in few),
        )

    def outlier(self, output: int) -> NDArray[np.bool_]:
        """Which rows of the sample are outliers of an output."""
        mask = np.zeros(len(self.X), dtype=bool)
        if self.outliers:
            mask[list(self.outliers[output].values())] = True
        return mask

    @property
    def n_sampled(self) -> int:
        """Number of rows of the data in the sample that no output takes for an outlier."""
        places = {place for of in self.outliers for place in of.values()}
        return self.kinds.count(DATA) - len(places)

    @property
    def outside(self) -> NDArray[np.bool_]:
        """Which rows of the sample lie outside the data."""
        return np.array([kind == EXTRAPOLATION for kind in self.kinds], dtype=bool)

    # --- a file of its own -----------------------------------------------------------------------

    def to_form(self) -> dict[str, Any]:
        """Plain lists, mappings and numbers, for JSON."""
        return {
            "format": FORMAT,
            "kind": "ieql evidence",
            "inputs": [[c.name, c.low, c.high, c.mean] for c in self.inputs],
            "targets": [[c.name, c.low, c.high, c.mean] for c in self.targets],
            "X": self.X.tolist(),
            "y": self.y.tolist(),
            "n_outside": self.kinds.count(EXTRAPOLATION),  # they stand last
            "n_rows": self.n_rows,
            "n_extrapolation": self.n_extrapolation,
            "sha256": self.sha256,
            "seconds": self.seconds,
            "seed": self.seed,
            "versions": dict(self.versions),
            "unit_counts": [dict(counts) for counts in self.unit_counts],
            "outliers": [[[row, place] for row, place in of.items()] for of in self.outliers],
        }

    @classmethod
    def from_form(cls, form: Any, where: str = "evidence.json") -> Evidence:
        """Rebuild from `to_form`; anything else is refused with a sentence."""
        if not isinstance(form, Mapping) or form.get("kind") != "ieql evidence":
            raise IeqlError(f"{where!r} is not the evidence of a fit; fit again to get one.")
        if form.get("format") != FORMAT:
            raise IeqlError(
                f"{where!r} has the format {form.get('format')!r}, but this version of ieql reads "
                f"format {FORMAT}; install a newer version."
            )
        try:
            return _rebuilt(form)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            reason = str(error) if isinstance(error, _DamageError) else repr(error)
            raise IeqlError(f"{where!r} is damaged ({reason}); fit again.") from None


class _DamageError(ValueError):
    """What is wrong with a form, in words."""


def _rebuilt(form: Mapping[str, Any]) -> Evidence:
    inputs, targets = _read_columns(form["inputs"]), _read_columns(form["targets"])
    most = MAX_ROWS + MAX_OUTLIERS * len(targets)
    X, y = _read_table(form["X"], len(inputs), most), _read_table(form["y"], len(targets), most)
    n_outside = _whole(form["n_outside"])
    if len(X) != len(y) or n_outside > len(X):
        raise _DamageError("inputs and targets have different numbers of rows")
    counts = form["unit_counts"]
    if not isinstance(counts, list) or len(counts) != len(targets):
        raise _DamageError("the counts of units do not fit the targets")
    seed = form["seed"]
    return Evidence(
        inputs=inputs,
        targets=targets,
        X=_frozen(X),
        y=_frozen(y),
        kinds=(DATA,) * (len(X) - n_outside) + (EXTRAPOLATION,) * n_outside,
        n_rows=_whole(form["n_rows"]),
        n_extrapolation=_whole(form["n_extrapolation"]),
        sha256=_digest(form["sha256"]),
        seconds=_finite(form["seconds"]),
        seed=None if seed is None else _whole(seed),
        versions={_name(k): _name(v) for k, v in _few(form["versions"]).items()},
        unit_counts=tuple({_name(k): _whole(v) for k, v in _few(c).items()} for c in counts),
        outliers=_read_outliers(form.get("outliers", []), len(targets), len(X) - n_outside),
    )


def _read_outliers(form: Any, n_targets: int, n_inside: int) -> tuple[Mapping[int, int], ...]:
    """Older evidence has none; then none is known."""
    if not isinstance(form, list) or len(form) not in (0, n_targets):
        raise _DamageError("its outliers do not fit the targets")
    found = tuple({_whole(row): _whole(place) for row, place in of} for of in form)
    if any(len(of) > MAX_OUTLIERS for of in found):
        raise _DamageError("it has too many outliers")
    if any(place >= n_inside for of in found for place in of.values()):
        raise _DamageError("an outlier is not in its sample")
    return found


def _sample(n: int, most: int) -> NDArray[np.intp]:
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def _columns(names: Sequence[str], table: Array) -> tuple[Column, ...]:
    ranges = zip(
        names, table.min(axis=0).tolist(), table.max(axis=0).tolist(), _means(table), strict=True
    )
    return tuple(Column(str(name), low, high, mean) for name, low, high, mean in ranges)


def _means(table: Array) -> list[float]:
    # Divided first: the sum of many large numbers may overflow.
    means: list[float] = np.sum(table / len(table), axis=0).tolist()
    return means


def _frozen(table: Array) -> Array:
    table.setflags(write=False)
    return table


def _read_columns(form: Any) -> tuple[Column, ...]:
    if not isinstance(form, list) or not 0 < len(form) <= MAX_COLUMNS:
        raise _DamageError("it has no columns, or too many")
    columns = tuple(
        Column(_name(name), _finite(low), _finite(high), _finite(mean))
        for name, low, high, mean in form
    )
    if any(c.low > c.high for c in columns):
        raise _DamageError("a column's range is reversed")
    return columns


def _read_table(form: Any, n_columns: int, most: int) -> Array:
    if not isinstance(form, list) or not 0 < len(form) <= most:
        raise _DamageError("its sample is empty or too long")
    if any(not isinstance(row, list) or len(row) != n_columns for row in form):
        raise _DamageError("a row of its sample does not fit the columns")
    return np.array([[_finite(value) for value in row] for row in form])


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _DamageError(f"{_short(value)} is not a number")
    if not math.isfinite(value):
        raise _DamageError("it holds a number that is not finite")
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise _DamageError(f"{_short(value)} is not a count")
    return value


def _name(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_NAME:
        raise _DamageError(f"{_short(value)} is not a name")
    return value


def _digest(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9a-f]{64}", value):
        raise _DamageError(f"{_short(value)} is not a SHA-256")
    return value


def _few(value: Any) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping) or len(value) > 1_000:
        raise _DamageError(f"{_short(value)} is not a short mapping")
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
