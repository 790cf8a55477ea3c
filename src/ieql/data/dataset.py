"""What a training sees: rows in a canonical order, their weights, scaling and the domain.

Reading of the user's own tables is in `ieql.data.reading`, checking in `ieql.data.table`, whose
functions are also importable from here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ieql.data.sample import Sample
from ieql.data.table import (
    MIN_ROWS,
    check_table,
    constant_columns,
    plain_number,
    split_target,
)
from ieql.errors import IeqlError, counted, nearest, shown
from ieql.files import MAX_NAME

__all__ = [
    "MIN_ROWS",
    "Dataset",
    "Domain",
    "DomainSpec",
    "Scaling",
    "check_table",
    "checked_weight",
    "constant_columns",
    "declared_inputs",
    "positions",
    "split_target",
]

Floats: TypeAlias = NDArray[np.float64]

MIN_ROWS_TO_SPLIT = 8
MOST_COUNTED = 1e9
"""Rows up to which NumPy draws from counts without replacement."""


# --- scaling ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Scaling:
    """An affine map per column and its inverse: ``transform(X) = (X - offset) / scale``.

    The paper's networks see inputs min-max scaled to [-1, 1] and a z-scored output.
    """

    offset: Floats
    scale: Floats

    def transform(self, X: Floats) -> Floats:
        """Return X in scaled coordinates."""
        scaled: Floats = (X - self.offset) / self.scale
        return scaled

    def inverse(self, X: Floats) -> Floats:
        """Return scaled values in the user's coordinates."""
        original: Floats = X * self.scale + self.offset
        return original

    @classmethod
    def identity(cls, d: int) -> Scaling:
        """Leave d columns as they are."""
        return cls(np.zeros(d), np.ones(d))

    @classmethod
    def minmax(cls, X: Floats) -> Scaling:
        """Map the range of each column to [-1, 1]; a constant column becomes 0."""
        low, high = X.min(axis=0), X.max(axis=0)
        # Halves first: the difference of two large numbers may overflow.
        return cls(high / 2 + low / 2, _one_where_zero(high / 2 - low / 2))

    @classmethod
    def zscore(cls, y: Floats, weight: Floats | None = None) -> Scaling:
        """Give each column mean 0 and standard deviation 1; a constant column becomes 0.

        With weights, a row of weight k counts as k rows.
        """
        constant = y.min(axis=0) == y.max(axis=0)
        mean = np.where(constant, y[0], np.average(y, axis=0, weights=weight))
        largest = _one_where_zero(np.abs(y - mean).max(axis=0))  # keeps the squares in range
        spread = np.sqrt(np.average(((y - mean) / largest) ** 2, axis=0, weights=weight))
        return cls(mean, _one_where_zero(largest * spread))


def _one_where_zero(scale: Floats) -> Floats:
    return np.where(scale == 0, 1.0, scale)


# --- domain ----------------------------------------------------------------------------------

Pair: TypeAlias = tuple[float, float]
DomainSpec: TypeAlias = "Domain | Mapping[str, Pair] | Sequence[Pair] | NDArray[Any] | None"


@dataclass(frozen=True, eq=False)
class Domain:
    """The box in which the equation must be safe: one closed interval per input.

    The paper draws the points of its penalty epochs from the test domain (appendix "iEQL
    Training"), which is wider than the data: that is what a user declares here.
    """

    names: tuple[str, ...]
    lower: Floats
    upper: Floats
    levels: tuple[tuple[int, ...], ...] = ()
    """Places of inputs of which one is 1 and the others are 0 (`ieql.data.categories`). What is
    proved holds in the whole box; points are drawn where rows can be."""

    @classmethod
    def of(
        cls,
        spec: DomainSpec,
        names: Sequence[str],
        X: Floats,
        X_extra: Floats | None = None,
    ) -> Domain:
        """Build the domain from what the user declared and the data.

        Parameters
        ----------
        spec : None, mapping, sequence of pairs or Domain
            None takes the range of the data; a mapping from names to ``(low, high)`` declares some
            inputs and takes the range of the data for the others; a sequence declares all.
        names : sequence of str
            The names of the inputs.
        X, X_extra : array of shape (n, d)
            The data and, if there are, further points such as those for extrapolation.
        """
        tables = [X] if X_extra is None or not len(X_extra) else [X, X_extra]
        low = np.min([table.min(axis=0) for table in tables], axis=0).astype(np.float64)
        high = np.max([table.max(axis=0) for table in tables], axis=0).astype(np.float64)
        for name, (declared_low, declared_high) in _declared(spec, names).items():
            j = list(names).index(name)
            # Data may pass the border by rounding: 0.1 + 0.2 must be inside (0, 0.3).
            slack = 1e-9 * (declared_high - declared_low)
            if low[j] < declared_low - slack or high[j] > declared_high + slack:
                raise IeqlError(
                    f"The domain of {name!r} is {declared_low:g} to {declared_high:g} but the data "
                    f"range from {low[j]:g} to {high[j]:g}; widen the domain, or drop the rows "
                    "outside it."
                )
            low[j], high[j] = min(declared_low, low[j]), max(declared_high, high[j])
        return cls(tuple(names), low, high)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Return n points drawn uniformly, shape (n, d)."""
        u = rng.random((n, len(self.names)))
        drawn = np.clip(self.lower * (1 - u) + self.upper * u, self.lower, self.upper)
        return self.possible(drawn)

    def corners(self, limit: int = 1024) -> Floats:
        """Return the corners of the box: all of them, or `limit` at most, always the same."""
        varying = np.flatnonzero(self.lower < self.upper)
        if len(varying) <= math.log2(limit):
            chosen = np.array(list(itertools.product((False, True), repeat=len(varying))))
        else:
            chosen = np.random.default_rng(0).random((limit, len(varying))) < 0.5
        at_upper = np.zeros((len(chosen), len(self.names)), dtype=bool)
        at_upper[:, varying] = chosen
        return np.unique(self.possible(np.where(at_upper, self.upper, self.lower)), axis=0)

    def possible(self, X: Floats) -> Floats:
        """Points with one level of each category: the one whose input is largest."""
        if not self.levels:
            return X
        found = X.copy()
        for places in self.levels:
            largest = np.argmax(X[:, places], axis=1)
            found[:, places] = np.eye(len(places))[largest]
        return found

    def outside(self, X: Floats, margin: Floats | float = 0.0) -> NDArray[np.bool_]:
        """Tell for each cell of X whether it lies beyond the domain widened by a margin.

        The margin is a part of the width of each interval; NaN lies beyond any.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # a domain may be as wide as a float
            reach = margin * (self.upper - self.lower)
            beyond = ~((self.lower - reach <= X) & (self.upper + reach >= X))
        return np.asarray(beyond)

    def to_dict(self) -> dict[str, list[float]]:
        """Return ``{name: [low, high]}``, ready for JSON."""
        return {
            name: [float(low), float(high)]
            for name, low, high in zip(self.names, self.lower, self.upper, strict=True)
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Sequence[float]]) -> Domain:
        """Rebuild what `to_dict` gave."""
        pairs = np.array(list(saved.values()), dtype=np.float64).reshape(-1, 2)
        return cls(tuple(saved), pairs[:, 0].copy(), pairs[:, 1].copy())


def _declared(spec: DomainSpec, names: Sequence[str]) -> dict[str, Pair]:
    """Return the declared intervals by name, each checked."""
    if spec is None:
        return {}
    if isinstance(spec, Domain):
        spec = {name: (low, high) for name, (low, high) in spec.to_dict().items()}
    given: object = spec  # a user may give anything, whatever the annotation says
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence | np.ndarray):
        raise IeqlError(
            "The domain must map input names to (low, high) or list one such pair per input, "
            f"but it is {spec!r}."
        )
    if isinstance(spec, Mapping):
        for name in spec:
            if name not in names:
                raise IeqlError(
                    f"The domain names {name!r}, which is not an input.{nearest(name, names)}"
                )
    else:
        if len(spec) != len(names):
            raise IeqlError(
                f"The domain has {counted(len(spec), 'pair')} but there are "
                f"{counted(len(names), 'input')}; give one (low, high) for each, or a mapping with "
                "the names of some."
            )
        spec = dict(zip(names, spec, strict=True))
    return {name: _interval(name, pair) for name, pair in spec.items()}


def declared_inputs(spec: DomainSpec, names: Sequence[str]) -> list[str]:
    """Return the inputs for which the user declared an interval; the others have the data's."""
    if spec is None:
        return []
    return [name for name in names if not isinstance(spec, Mapping) or name in spec]


def _interval(name: str, pair: object) -> Pair:
    try:
        low, high = (plain_number(bound) for bound in pair)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise IeqlError(
            f"The domain of {name!r} must be a pair (low, high) of numbers, but it is {pair!r}."
        ) from None
    if not (math.isfinite(low) and math.isfinite(high)):
        raise IeqlError(
            f"The domain of {name!r} must be finite, but it is {low:g} to {high:g}; give the "
            "bounds between which the equation will be used."
        )
    if low >= high:
        raise IeqlError(
            f"The domain of {name!r} must be (low, high) with low below high, but it is "
            f"({low:g}, {high:g})."
        )
    return low, high


# --- data set --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows to learn from, in canonical form.

    Rows of zero weight are dropped, equal rows are merged into one with the sum of their weights,
    and the order follows from a hash of the rows' contents. So nothing that is computed from a
    data set depends on the order in which the user's rows came.

    Weights that are all whole numbers are counts: a weight of k is exactly the same as k repeated
    rows. Any others say how precise each row is (1/σ², in any unit): only their ratios matter, and
    they are scaled to sum to the number of rows. Either way the sum of the weights is the number of
    rows that was measured, which merging does not change.

    Attributes
    ----------
    X : array of shape (n, d)
        Inputs in the user's units.
    y : array of shape (n, k)
        Outputs in the user's units.
    weight : array of shape (n,)
        How much each row counts; 1.0 unless rows were weighted or repeated.
    count : array of shape (n,)
        How many of the measured rows each row stands for.
    feature_names, target_names : tuple of str
        Names of the columns.
    domain : Domain
        Where the equation must be safe.
    ranges : array of shape (n, 2) or None
        Between which values the one output lies, if that is all that is known of some rows.
    """

    X: Floats
    y: Floats
    weight: Floats
    count: Floats
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    domain: Domain
    ranges: Floats | None = None

    @classmethod
    def of(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        domain: DomainSpec = None,
        feature_names: Sequence[str] | None = None,
        target_names: Sequence[str] | None = None,
        X_extra: ArrayLike | None = None,
        levels: tuple[tuple[int, ...], ...] = (),
        ranges: Floats | None = None,
    ) -> Dataset:
        """Bring arrays that are already known to be numeric and finite into canonical form.

        Parameters
        ----------
        X : array of shape (n, d)
            Inputs.
        y : array of shape (n,) or (n, k)
            Outputs.
        sample_weight : array of shape (n,), optional
            How many rows each row stands for if all are whole numbers, else how precise each row
            is; None for 1 each.
        domain : Domain or what `Domain.of` takes, optional
            Where the equation must be safe; a finished `Domain` is taken as it is.
        feature_names, target_names : sequence of str, optional
            By default x1, x2, … and y (or y1, y2, … if there are several).
        X_extra : array of shape (m, d), optional
            Further points that the domain must hold, such as those for extrapolation.
        levels : tuple of tuples of int
            Of the domain, see `Domain`.
        ranges : array of shape (n, 2), optional
            Lower and upper bound of the one output in each row.
        """
        inputs = np.asarray(X, dtype=np.float64)
        outputs = np.asarray(y, dtype=np.float64)
        outputs = outputs.reshape(len(outputs), -1)
        if len(inputs) != len(outputs):
            raise IeqlError(f"X has {len(inputs)} rows but y has {len(outputs)}.")
        features = _names(feature_names, "x", inputs.shape[1], always_numbered=True)
        targets = _names(target_names, "y", outputs.shape[1], always_numbered=False)
        weight = checked_weight(sample_weight, len(inputs))
        if weight.min() == 0:
            kept = weight > 0
            inputs, outputs, weight = inputs[kept], outputs[kept], weight[kept]
            ranges = None if ranges is None else ranges[kept]
        are_counts = bool(np.all(weight == np.round(weight)))
        if not are_counts:
            weight = weight * (len(weight) / np.sort(weight).sum())  # the same in any order
        # Beside outputs that vary, one that does not is an equation too: y2 = 0.
        if np.all(outputs.min(axis=0) == outputs.max(axis=0)):
            raise IeqlError(
                f"The target {targets[0]!r} is {float(outputs[0, 0])} in every row: there is "
                "nothing to learn."
            )
        # Rows of one value and two ranges are two rows.
        told = outputs if ranges is None else np.column_stack([outputs, ranges])
        inputs, told, weight, merged = _canonical(inputs, told, weight)
        outputs = np.ascontiguousarray(told[:, : outputs.shape[1]])
        ranges = None if ranges is None else np.ascontiguousarray(told[:, outputs.shape[1] :])
        if not isinstance(domain, Domain):
            extra = None if X_extra is None else np.asarray(X_extra, dtype=np.float64)
            domain = replace(Domain.of(domain, features, inputs, extra), levels=levels)
        count = weight if are_counts else merged
        return cls(inputs, outputs, weight, count, features, targets, domain, ranges)

    def __len__(self) -> int:
        return len(self.X)

    def split(self, fraction: float, seed: int) -> tuple[Dataset, Dataset]:
        """Part the rows at random into train and validation.

        Which row goes where depends on the rows and the seed alone. Equal rows, merged into one,
        are parted as well: some of them may train and others validate. Below 8 rows there is
        nothing to spare for validation: both parts are the whole set.

        Parameters
        ----------
        fraction : float
            Share of the rows for validation, above 0 and at most 0.9.
        seed : int
            Seed of the choice.
        """
        if not 0 < fraction <= 0.9:
            raise IeqlError(
                f"The validation fraction must be above 0 and at most 0.9, but it is {fraction!r}."
            )
        n = round(float(self.count.sum()))
        if n < MIN_ROWS_TO_SPLIT:
            return self, self
        n_validation = min(max(round(fraction * n), 1), n - 1)
        drawn = _drawn(self.count, n_validation, np.random.default_rng(seed))
        return self._part(self.count - drawn), self._part(drawn)

    def _part(self, count: Floats) -> Dataset:
        """The data set of so many of the measured rows behind each row."""
        kept = count > 0
        if np.array_equal(count[kept], self.count[kept]):
            return self.subset(kept)
        weight = self.weight[kept] * (count[kept] / self.count[kept])
        return replace(self.subset(kept), weight=weight, count=count[kept])

    def subset(self, rows: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Dataset:
        """Return the data set of some rows; the domain stays that of the whole."""
        ranges = None if self.ranges is None else self.ranges[rows]
        X, y, weight, count = (part[rows] for part in (self.X, self.y, self.weight, self.count))
        return replace(self, X=X, y=y, weight=weight, count=count, ranges=ranges)

    def target(self, k: int) -> Dataset:
        """Return the data set with output k alone, the same as if it had been the only one."""
        if self.y.shape[1] == 1 and k == 0:
            return self
        y = self.y[:, [k]]
        count = _canonical(self.X, y, self.count)[2]
        X, y, weight, _ = _canonical(self.X, y, self.weight)
        return replace(
            self, X=X, y=y, weight=weight, count=count, target_names=(self.target_names[k],)
        )


def _names(
    names: Sequence[str] | None, letter: str, count: int, *, always_numbered: bool
) -> tuple[str, ...]:
    if names is None:
        if count == 1 and not always_numbered:
            return (letter,)
        return tuple(f"{letter}{j + 1}" for j in range(count))
    if len(names) != count:
        raise IeqlError(f"{counted(count, 'column')} but {counted(len(names), 'name')}: name each.")
    repeated = [name for name in names if list(names).count(name) > 1]
    if repeated:
        raise IeqlError(f"The column name {repeated[0]!r} is duplicated; give each its own name.")
    for name in names:
        if len(name) > MAX_NAME:
            raise IeqlError(
                f"The column name {name[:40]!r}... has {len(name)} characters; at most "
                f"{MAX_NAME} can be kept, give it a shorter one."
            )
    return tuple(names)


def checked_weight(sample_weight: ArrayLike | None, n: int) -> Floats:
    """The weights of n rows as an array; ones where none are given, a sentence if they are bad."""
    if sample_weight is None:
        return np.ones(n)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise IeqlError(
            f"sample_weight must hold one number for each of the {n} rows, not "
            f"{shown(sample_weight)}."
        ) from None
    if weight.shape != (n,):
        raise IeqlError(
            f"sample_weight must hold one number for each of the {n} rows, but its shape is "
            f"{weight.shape}."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise IeqlError(
            f"sample_weight must be finite and not negative, but it is {weight[row]:g} in data row "
            f"{row + 1}."
        )
    if not weight.any():
        raise IeqlError("sample_weight is zero in every row: there is nothing to learn from.")
    return weight


def _drawn(count: Floats, n: int, rng: np.random.Generator) -> Floats:
    """How many of the rows behind each row are among n rows drawn without replacement."""
    if count.max() == 1.0:
        drawn = np.zeros(len(count))
        drawn[rng.permutation(len(count))[:n]] = 1.0
        return drawn
    if count.sum() < MOST_COUNTED:
        parts = rng.multivariate_hypergeometric(count.astype(np.int64), n, method="marginals")
        return np.asarray(parts, dtype=np.float64)
    # So many rows come in parts of about the same share, whichever are drawn.
    return np.asarray(np.floor(count * (n / count.sum()) + rng.random(len(count))))


def _canonical(X: Floats, y: Floats, weight: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Order the rows by a hash of their contents and merge equal ones, summing their weights.

    Returns inputs, outputs, weights, and how many rows were merged into each.
    """
    X, y = X + 0.0, y + 0.0  # turns -0.0, which is equal but has other bits, into 0.0
    key = _row_hash(X, y)
    # Weights are the second key so that their sum, too, does not depend on the order of the rows.
    order = np.lexsort((weight, key))
    same = _same_as_previous(X, y, order)
    if ((np.diff(key[order]) == 0) & ~same[1:]).any():  # different rows, same hash: very rare
        order = np.lexsort((weight, *y.T, *X.T, key))
        same = _same_as_previous(X, y, order)
    first = np.flatnonzero(~same)
    weight = np.add.reduceat(weight[order], first)
    merged = np.diff(first, append=len(order)).astype(np.float64)
    return X[order[first]], y[order[first]], weight, merged


def _same_as_previous(X: Floats, y: Floats, order: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Tell for each position in the order whether its row equals the one before it."""
    same = np.zeros(len(order), dtype=bool)
    same[1:] = True
    for column in itertools.chain(X.T, y.T):
        ordered = column[order]
        same[1:] &= ordered[1:] == ordered[:-1]
    return same


def positions(X: Floats, y: Floats, rows: Sample) -> list[int]:
    """Where in the user's table the given rows of one target stand; equal rows all count."""
    if not len(rows):
        return []
    wanted = _row_hash(rows.XT.T + 0.0, rows.y[:, None] + 0.0)
    found = np.isin(_row_hash(X + 0.0, y[:, None] + 0.0), wanted)
    return [int(k) for k in np.flatnonzero(found)]


def _row_hash(X: Floats, y: Floats) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row's bits: the finaliser of splitmix64 over the columns."""
    key = np.zeros(len(X), dtype=np.uint64)
    for column in itertools.chain(X.T, y.T):
        key += np.uint64(0x9E3779B97F4A7C15)
        key ^= np.ascontiguousarray(column).view(np.uint64)
        key ^= key >> np.uint64(30)
        key *= np.uint64(0xBF58476D1CE4E5B9)
        key ^= key >> np.uint64(27)
        key *= np.uint64(0x94D049BB133111EB)
        key ^= key >> np.uint64(31)
    return key
