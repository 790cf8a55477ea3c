"""Which columns of a table play which part in a fit, and the rows that are left to learn from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ieql.data.categories import has_few_levels
from ieql.data.cells import ColumnKind
from ieql.data.dates import seconds_since
from ieql.data.intake import weights_of
from ieql.data.notes import Kind, Note, listed
from ieql.data.reading import FILE_COLUMN, Table
from ieql.data.survey import sentinel_notes, twin_notes
from ieql.data.table import MIN_ROWS, check_table, split_target
from ieql.errors import IeqlError, counted, nearest

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MISSING", "Roles", "Taken", "input_columns", "inputs_of", "take"]

MISSING = ("drop", "error")
"""What may be done about rows with gaps: leave them out, or refuse the table."""
YES = frozenset(("1", "true", "yes", "y", "x", "ja"))
NO = frozenset(("0", "false", "no", "n", "nein", "", "nan"))


@dataclass(frozen=True)
class Roles:
    """The columns of a fit.

    Attributes
    ----------
    targets : tuple of str
        Columns to be explained.
    inputs : tuple of str, optional
        Columns to explain them by; by default all others that hold numbers.
    groups, sigma, weights : str, optional
        Columns with the group, the standard deviation or the weight of each row.
    held_out : str, optional
        A column that marks rows which are not learned from, or ``column=value``.
    missing : "drop" or "error"
        What is done about rows with gaps.
    origins : mapping
        What times are counted from, where an earlier fit has said so.
    categories : tuple of str
        Inputs that hold words, or numbers that are only names.
    target_range : (str, str), optional
        Columns with the lower and the upper bound of the target; the one target may have gaps
        then, or no column at all.
    """

    targets: tuple[str, ...]
    inputs: tuple[str, ...] | None = None
    groups: str | None = None
    sigma: str | None = None
    weights: str | None = None
    held_out: str | None = None
    missing: str = "drop"
    origins: Mapping[str, str] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    target_range: tuple[str, str] | None = None

    def others(self, table: Table) -> list[str]:
        """Columns that are neither input nor target by default."""
        named = [self.groups, self.sigma, self.weights, *(self.target_range or ())]
        if self.held_out is not None:
            named.append(held_out_column(table.frame, self.held_out)[0])
        return [name for name in named if name is not None]


@dataclass(frozen=True, eq=False)
class Taken:
    """What a fit is given.

    Attributes
    ----------
    X, y : pandas.DataFrame
        Inputs and targets, without gaps; categories as they are written.
    weight : array (rows,) or None
        Weights of the rows.
    groups : pandas.Series or None
        The group of each row.
    outside : (X, y) or None
        The rows that are held out.
    notes : tuple of Note
        What was left out, and what looks wrong.
    origins : dict
        What the times among the inputs are counted from.
    ranges : array (rows, 2) or None
        Between which values the target of each row lies.
    """

    X: pd.DataFrame
    y: pd.DataFrame
    weight: NDArray[np.float64] | None
    groups: pd.Series[Any] | None
    outside: tuple[pd.DataFrame, pd.DataFrame] | None
    notes: tuple[Note, ...]
    origins: dict[str, str]
    ranges: NDArray[np.float64] | None = None


def take(table: Table, roles: Roles, *, min_rows: int = MIN_ROWS) -> Taken:
    """Take the columns of a fit from a table, and the rows in which none of them has a gap.

    Raises
    ------
    IeqlError
        If a column is not there, holds something else than numbers, or no rows are left.
    """
    if roles.missing not in MISSING:
        raise IeqlError(f"missing must be 'drop' or 'error', not {roles.missing!r}.")
    table = table if roles.target_range is None else _with_target_of_range(table, roles)
    notes: list[Note] = []
    inputs = roles.inputs
    if inputs is None:
        inputs, left_out = inputs_of(table, roles)
        notes += left_out
    try:
        X, y = split_target(table.frame, roles.targets, inputs)
    except IeqlError as error:
        raise IeqlError(f"{table.name}: {error}") from error
    _check_categories(table, roles, X)
    X, origins, said = _with_seconds(table, X, roles.origins)
    notes += said
    extra = [name for name in (roles.groups, roles.sigma, roles.weights) if name is not None]
    for name in extra:
        if name not in table.frame.columns:
            raise IeqlError(f"{table.name} has no column {name!r}.")
    words = list(roles.categories)
    _check_numbers(table, X.join(y).drop(columns=words))
    used = [X, y, *(table.frame[[name]] for name in extra)]
    complete = np.ones(len(X), dtype=bool)
    if roles.missing == "drop":
        complete = ~np.any([part.isna().any(axis=1) for part in used], axis=0)
        notes += _about_gaps(used, complete)
    held = np.zeros(len(X), dtype=bool)
    if roles.held_out is not None:
        held = held_out_rows(table.frame, roles.held_out, table.name)
    kept = complete & ~held
    for part in (X.drop(columns=words), y):
        if len(part.columns):
            check_table(part[kept], table.name, min_rows=min_rows)
    notes += [*sentinel_notes(X.join(y)[kept]), *twin_notes(X.join(y)[kept])]
    weight = _weights(table, roles, kept)
    groups = None if roles.groups is None else table.frame[roles.groups][kept]
    outside = None
    if roles.held_out is not None:
        outside = _held_out(table.name, X, y, complete & held, words)
        n = int((complete & held).sum())
        notes.append(Note(Kind.READ, f"{counted(n, 'row')} held out, by {roles.held_out!r}"))
    return Taken(
        X[kept].reset_index(drop=True),
        y[kept].reset_index(drop=True),
        weight,
        None if groups is None else groups.reset_index(drop=True),
        outside,
        tuple(notes),
        origins,
        None if roles.target_range is None else _bounds(table, roles.target_range)[kept],
    )


def _with_target_of_range(table: Table, roles: Roles) -> Table:
    """The table whose target has a value in each row of which a bound is known."""
    ends = roles.target_range or ()
    if len(roles.targets) != 1:
        raise IeqlError(
            f"A target range is for one target, but there are {len(roles.targets)}; fit one after "
            "the other."
        )
    for name in ends:
        if name not in table.frame.columns:
            raise IeqlError(
                f"{table.name} has no column {name!r}, which the target range names."
                f"{nearest(name, table.frame.columns)}"
            )
        if name in (*roles.targets, *(roles.inputs or ())):
            raise IeqlError(
                f"The column {name!r} is both a bound of the target and an input or target; choose "
                "one role."
            )
    _check_numbers(table, table.frame[list(ends)])
    (target,) = roles.targets
    bounds = _bounds(table, ends)
    known = np.where(np.isnan(bounds), bounds[:, ::-1], bounds).mean(axis=1)
    column = table.frame.get(target)
    if column is None:
        values = known
    else:
        _check_numbers(table, table.frame[[target]])
        values = column.to_numpy(np.float64)
        values = np.where(np.isnan(values), known, values)
    frame = table.frame.assign(**{target: values})
    return replace(table, frame=frame, kinds={**table.kinds, target: ColumnKind.NUMBER})


def _bounds(table: Table, ends: Sequence[str]) -> NDArray[np.float64]:
    """The lower and upper bound of the target in each row, with NaN where there is none."""
    return np.column_stack([table.frame[name].to_numpy(np.float64) for name in ends])


def _check_categories(table: Table, roles: Roles, X: pd.DataFrame) -> None:
    """Refuse the name of no input."""
    for name in roles.categories:
        if name not in X.columns:
            raise IeqlError(
                f"{table.name}: {name!r} is to be a category, but it is not among the inputs."
                f"{nearest(name, table.frame.columns)}"
            )


def inputs_of(table: Table, roles: Roles) -> tuple[tuple[str, ...], list[Note]]:
    """The columns that are inputs if the user names none, and which ones are left out, and why."""
    taken = {*roles.targets, *roles.others(table)}
    free = [name for name in table.frame.columns if name not in taken]
    reasons = {
        ColumnKind.TEXT: "text in {names}",
        ColumnKind.DATE: "dates or times in {names} (seconds since the first row, if --inputs "
        "names them)",
        ColumnKind.EMPTY: "nothing in {names}",
    }
    notes = []
    for kind, words in reasons.items():
        names = [
            name
            for name in free
            if table.kinds[name] == kind and name not in (FILE_COLUMN, *roles.categories)
        ]
        if kind == ColumnKind.TEXT:
            few = [name for name in names if has_few_levels(table.frame[name])]
            if few:
                advice = "their levels become inputs if --categories names them"
                notes.append(Note(Kind.LEFT_OUT, f"text in {listed(few)}; {advice}"))
            names = [name for name in names if name not in few]
        if names:
            notes.append(Note(Kind.LEFT_OUT, words.format(names=listed(names))))
    usable = (ColumnKind.NUMBER, ColumnKind.MIXED)
    chosen = [n for n in free if table.kinds[n] in usable or n in roles.categories]
    return tuple(chosen), notes


def input_columns(
    table: Table,
    names: Sequence[str],
    origins: Mapping[str, str],
    categories: Collection[str] = (),
) -> pd.DataFrame:
    """The inputs of a fit from another table, gaps included; categories as they are written.

    Times are counted from where the fit began to count.
    """
    for name in names:
        kind = table.kinds[name]
        if name in origins and kind not in (ColumnKind.DATE, ColumnKind.EMPTY):
            raise IeqlError(
                f"{table.name}, column {name!r} holds {kind}, but it held dates or times in the "
                "fit; give them here, too."
            )
    known = {name for name in names if name in origins}
    X = table.frame[list(names)]
    if known:
        X, _, _ = _with_seconds(table, X, origins)
    _check_numbers(table, X.drop(columns=list(categories)))
    return X


def _with_seconds(
    table: Table, X: pd.DataFrame, origins: Mapping[str, str]
) -> tuple[pd.DataFrame, dict[str, str], list[Note]]:
    """Inputs with seconds in place of dates and times."""
    found: dict[str, str] = {}
    notes = []
    for name in X.columns:
        if table.kinds[name] != ColumnKind.DATE or (origins and name not in origins):
            continue
        where = f"{table.name}, column {name!r}"
        order = table.reading.dates
        seconds, begin = seconds_since(table.frame[name], where, order, origins.get(name))
        X = X.assign(**{name: seconds})
        found[name] = begin
        since = begin.replace("T", " ").rstrip("0").rstrip(".") if "T" in begin else f"{begin} s"
        words = f"{name!r} is in seconds since {'the fit began' if origins else 'the first row'}"
        notes.append(Note(Kind.READ, f"{words} ({since})"))
    return X, found, notes


def _check_numbers(table: Table, used: pd.DataFrame) -> None:
    """Refuse text and infinite numbers, with the rows as the file has them; gaps are no fault."""
    for name in used.columns:
        column = used[name]
        is_text = table.kinds[name] in (ColumnKind.TEXT, ColumnKind.MIXED, ColumnKind.DATE)
        is_text = is_text and column.dtype.kind not in "iuf"
        filled = column.astype(object).where(column.notna(), 0.0) if is_text else column.fillna(0)
        try:
            check_table(filled.to_frame(name), table.name, min_rows=0)
        except IeqlError as error:
            if table.kinds[name] != ColumnKind.MIXED:
                raise
            raise IeqlError(
                f"{str(error).rstrip('.')}; --na takes such a cell for a missing one, --exclude "
                f"{name!r} leaves the column out."
            ) from error


def _about_gaps(used: Sequence[pd.DataFrame], complete: NDArray[np.bool_]) -> list[Note]:
    n = int((~complete).sum())
    if not n:
        return []
    counts = {
        str(name): int(part[name].isna().sum())
        for part in used
        for name in part.columns
        if part[name].isna().any()
    }
    places = ", ".join(f"{name!r} {count}" for name, count in list(counts.items())[:6])
    more = f" and {len(counts) - 6} more columns" if len(counts) > 6 else ""
    words = f"{n} of {len(complete)} rows, which have gaps ({places}{more})"
    return [Note(Kind.LEFT_OUT, f"{words}; rows are counted without them")]


def _weights(table: Table, roles: Roles, kept: NDArray[np.bool_]) -> NDArray[np.float64] | None:
    if roles.sigma is not None and roles.weights is not None:
        raise IeqlError("--sigma and --weights both say how much a row counts; use one of them.")
    name = roles.sigma if roles.sigma is not None else roles.weights
    if name is None:
        return None
    column = table.frame[[name]][kept]
    check_table(column, table.name, min_rows=0)
    if roles.weights is not None:
        return column[name].to_numpy(np.float64)
    try:
        return weights_of(column[name], len(column))
    except IeqlError as error:
        raise IeqlError(f"{table.name}, column {name!r}: {error}") from error


# --- rows that are held out ----------------------------------------------------------------------


def held_out_column(frame: pd.DataFrame, text: str) -> tuple[str, str | None]:
    """The column that marks rows, and the value that does, if one is named: ``day=3``."""
    if text in frame.columns:
        return text, None
    name, equals, value = text.rpartition("=")
    if equals and name.strip() in frame.columns:
        return name.strip(), value.strip()
    raise IeqlError(
        f"--held-out: there is no column {text!r}; name one that holds 0 and 1, or write "
        "COLUMN=VALUE."
    )


def held_out_rows(frame: pd.DataFrame, text: str, where: str) -> NDArray[np.bool_]:
    """Which rows are held out; there must be some, and not all."""
    name, value = held_out_column(frame, text)
    column = frame[name]
    words = [f"{c:g}" if isinstance(c, float) else str(c).strip() for c in column]
    if value is not None:
        marked = np.array([word == value or _same(word, value) for word in words], dtype=bool)
    else:
        words = [word.lower() for word in words]
        bad = [word for word in words if word not in YES | NO]
        if bad:
            raise IeqlError(
                f"{where}: --held-out: column {name!r} holds {bad[0]!r}, not only 0 and 1 (or yes "
                f"and no); say which rows with --held-out {name}=VALUE."
            )
        marked = np.array([word in YES for word in words], dtype=bool)
    if marked.all() or not marked.any():
        some = "every row" if marked.all() else "no row"
        raise IeqlError(f"{where}: --held-out {text} holds out {some}; there must be some of both.")
    return marked


def _same(word: str, value: str) -> bool:
    try:
        return float(word) == float(value)
    except ValueError:
        return False


def _held_out(
    where: str, X: pd.DataFrame, y: pd.DataFrame, rows: NDArray[np.bool_], words: Sequence[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    for part in (X.drop(columns=list(words)), y):
        check_table(part[rows], f"{where}, rows held out", min_rows=1)
    return X[rows].reset_index(drop=True), y[rows].reset_index(drop=True)
