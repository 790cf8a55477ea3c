"""A fitted model as a value: what a fit was asked and what it found, and its JSON.

`FittedModel` is what a trainer's result becomes, what is saved, loaded, reported and exported. It
never changes: another selection is another `FittedModel`. The estimator holds one and delegates.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ieql.data.categories import Categories
from ieql.data.dataset import Domain
from ieql.data.table import HALVES
from ieql.doubts import (
    HELD_OUT,
    VALIDATIONS,
    caution,
    disagreement_sentence,
    few_rows_sentence,
    limits_in_words,
    outlier_sentence,
)
from ieql.equations.constant_units import constant_units
from ieql.equations.expression import Expression
from ieql.equations.prediction_band import checked_level
from ieql.equations.shown_constants import places_in_words, shown_constants
from ieql.errors import (
    DisagreementWarning,
    FewRowsWarning,
    IeqlError,
    OutlierWarning,
    nearest,
    shown,
)
from ieql.files import MAX_NAME, read_json
from ieql.moved_constants import MovedConstants, constants_by_place, key_of
from ieql.options import FitOptions, from_stored, stored
from ieql.prior import Prior
from ieql.selection import DEFAULT, Candidate, find_criterion, scores, select
from ieql.shape import AT_LEAST, AT_MOST, Limit
from ieql.units import is_taken
from ieql.whole import Whole

if TYPE_CHECKING:
    import pandas as pd

    from ieql.units import Unit

__all__ = ["RECALIBRATED", "FittedModel", "read_model", "table_row", "versions"]

Array = NDArray[np.float64]
FORMAT = 1
"""Version of the form; a file of another version is refused."""
KIND = "ieql model"
MAX_WRITTEN = 50_000_000
"""Characters of all equations of a model with all their parts, about."""
NEGLIGIBLE = 1e-6
"""Part of the mean predictor's error below which errors need not agree: they are rounding."""
ROUNDING = 1e-9
"""Part of a declared interval that may be passed at its ends: 0.1 + 0.2 is inside (0, 0.3)."""
OVER_THE_RANGE = 0.5
"""The same where nothing was declared: new rows of the same kind pass the range of few old ones."""
BY_HAND = "hand"
"""What selected an equation that the user chose."""
RECALIBRATED = "recalibration"
"""And what did where an equation of an earlier model has new constants."""
LISTED = 12
"""Groups that a message names, at most."""
MANY_NATS = 1e4
"""More is not worth a number."""
VERSIONED = ("ieql", "numpy", "scipy", "numba", "scikit-learn", "pandas", "sympy", "joblib")
"""Packages that can change a result."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Everything that a fit found, and what it was asked.

    Attributes
    ----------
    options : FitOptions
        What the fit was asked, with the prior as it was then.
    names, targets : tuple of str
        Inputs and outputs.
    fronts : tuple of tuples of Candidate
        One front per output, the simplest equation first.
    selected : tuple of int
        Place of the selected equation in each front.
    criterion : str
        What selected it.
    domain : mapping of str to (low, high)
        Where the equations must be safe.
    declared : tuple of str
        The inputs whose domain the user gave; the others have the range of the data.
    mean_errors : tuple of mappings
        Per output the errors of the mean predictor, at which the criteria clip.
    largest_complexities : tuple of float
        Per output the complexity of the most complex equation met.
    n_rows : (int, int)
        Number of rows that fitted the constants, and of those kept back.
    n_data_rows : int
        Number of rows of the user's table.
    validation : str
        Where the validation errors come from, see `ieql.doubts.VALIDATIONS`.
    outliers : tuple of tuples of int
        Per output the rows of the user's table, from 0 on, that were left out of its fit.
    n_trainings, stop_reason, interrupted
        How the search ended.
    finished : bool
        Whether the equations were finished; not if the run was cut short or still continues.
    unit_counts : tuple of mappings
        Per output how often each unit occurs in all candidates; empty in older files.
    rivals : tuple of tuples of Candidate
        Per output finished equations that are not on the front but describe the data nearly as
        well as the selected one, the best first; empty in older files.
    differences : tuple of tuples of tuples of float
        Per output the root mean squared differences of equations over the rows of the fit: for each
        equation of the front, and then for each rival, those to the ones before it; empty in older
        files.
    is_named : bool
        Whether the user's table had names.
    one_output : bool
        Whether the targets were one column, and predictions are one.
    versions : mapping
        Of Python and the packages that can change a result.
    recalibrated : MovedConstants or None
        What moved, if the equations are those of an earlier model with new constants.
    groups : tuple of str
        The devices that have constants of their own; empty if there are none.
    group_column : str or None
        The column of the user's file that names them.
    data_sha256 : str
        Of the data of the fit, see `ieql.run.folder.sha256_of`; empty in older files.
    categories : Categories
        Which inputs stand for levels of columns of words.
    """

    options: FitOptions
    names: tuple[str, ...]
    targets: tuple[str, ...]
    fronts: tuple[tuple[Candidate, ...], ...]
    selected: tuple[int, ...]
    criterion: str
    domain: Mapping[str, tuple[float, float]]
    declared: tuple[str, ...]
    mean_errors: tuple[Mapping[str, float], ...]
    largest_complexities: tuple[float, ...]
    n_rows: tuple[int, int]
    n_data_rows: int
    validation: str
    outliers: tuple[tuple[int, ...], ...]
    n_trainings: int
    stop_reason: str
    interrupted: bool
    finished: bool = True
    unit_counts: tuple[Mapping[str, int], ...] = ()
    rivals: tuple[tuple[Candidate, ...], ...] = ()
    differences: tuple[tuple[tuple[float, ...], ...], ...] = ()
    is_named: bool = False
    one_output: bool = True
    versions: Mapping[str, str] = field(default_factory=dict)
    recalibrated: MovedConstants | None = None
    groups: tuple[str, ...] = ()
    group_column: str | None = None
    data_sha256: str = ""
    categories: Categories = field(default_factory=Categories)

    @property
    def prior(self) -> Prior:
        """The expert knowledge as it was at the fit."""
        return Prior.of(self.options.prior)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """What every equation must keep to in the domain: the prior's shape, and the bound B."""
        own = self.prior.shape.limits
        bound = self.options.output_bound
        if bound is None:
            return own
        return tuple(
            dict.fromkeys((*own, Limit(AT_LEAST, value=-bound), Limit(AT_MOST, value=bound)))
        )

    @cached_property
    def box(self) -> Domain:
        """The domain, for those who compute with it."""
        box = Domain.from_dict({name: list(pair) for name, pair in self.domain.items()})
        return replace(box, levels=self.categories.places(self.names))

    # --- the front -----------------------------------------------------------------------------

    def selected_by(
        self,
        criterion: str,
        fronts: Sequence[Sequence[Candidate]] | None = None,
        mean_errors: Sequence[Mapping[str, float]] | None = None,
    ) -> FittedModel:
        """The same model with the equations that a criterion selects, perhaps on other fronts."""
        fronts = self.fronts if fronts is None else fronts
        errors = self.mean_errors if mean_errors is None else mean_errors
        return replace(
            self,
            fronts=tuple(map(tuple, fronts)),
            mean_errors=tuple(errors),
            selected=chosen(fronts, criterion, errors, self.largest_complexities, self.n_rows),
            criterion=criterion,
        )

    def with_row(self, index: int) -> FittedModel:
        """The same model with row `index` of `equations` selected, whatever a criterion says."""
        rows = self.rows_of(index)
        for k, row in enumerate(rows):
            self.candidate(row, k)  # an error says which rows there are
        selected = [
            old if row is None else int(row) for old, row in zip(self.selected, rows, strict=True)
        ]
        return replace(self, selected=tuple(selected), criterion=BY_HAND)

    def why(self, output: int = 0, first: int | None = None) -> str:
        """Why the selected equation of an output is selected, in a sentence.

        Rows are counted as in `equations` or, if it is given, from `first` on.
        """
        first = sum(map(len, self.fronts[:output])) if first is None else first
        front, place = self.fronts[output], self.selected[output]
        if self.criterion == RECALIBRATED:
            return f"Row {first + place} is an equation of an earlier model with new constants."
        if self.criterion == BY_HAND:
            own, *_ = chosen(
                [front],
                DEFAULT,
                [self.mean_errors[output]],
                [self.largest_complexities[output]],
                self.n_rows,
            )
            other = "" if own == place else f"; {DEFAULT} would select row {first + own}"
            return f"Row {first + place} was chosen by hand{other}."
        start = f"Row {first + place} is selected by {self.criterion}"
        if self.criterion != DEFAULT or len(front) == 1:
            return f"{start}, which takes {find_criterion(self.criterion).takes}."
        lengths = scores(
            front,
            DEFAULT,
            mean_error=self.mean_errors[output]["validation"],
            n_rows=self.n_rows,
        )
        others = [i for i in range(len(front)) if i != place]
        next_best = min(others, key=lambda i: float(lengths[i]))
        nats = 0.5 * float(lengths[next_best] - lengths[place])
        margin = f"{nats:.1f} nats" if nats < MANY_NATS else f"more than {MANY_NATS:,.0f} nats"
        return (
            f"{start}: its description of the data is the shortest, {margin} shorter than that of "
            f"row {first + next_best}."
        )

    def with_extrapolation(self, criterion: str, X: Array, y: Array) -> FittedModel:
        """The same model, selected with these labelled points outside the data."""
        fronts = [
            [_measured_outside(c, X, y[:, k]) for c in front] for k, front in enumerate(self.fronts)
        ]
        errors = [
            {**error, "extrapolation": _rmse(error["mean"], y[:, k])}
            for k, error in enumerate(self.mean_errors)
        ]
        return self.selected_by(criterion, fronts, errors)

    def equations(self, precise: bool = False) -> pd.DataFrame:
        """The front as a table, simplest first; errors are in the unit of y.

        With several outputs its ``attrs["together"]`` says what the selected equations are as one
        network, see `whole`.
        """
        import pandas as pd

        rows = []
        for k, front in enumerate(self.fronts):
            for i, c in enumerate(front):
                row: dict[str, Any] = {} if len(self.fronts) == 1 else {"output": self.targets[k]}
                rows.append({**row, **table_row(c, precise), "selected": i == self.selected[k]})
        frame = pd.DataFrame(rows)
        if len(self.fronts) > 1:
            frame.attrs["together"] = self.whole().to_form()
        return frame

    def whole(self, index: int | None = None, precise: bool = False) -> Whole:
        """The selected equations of all outputs as one network; `index` as in `expressions`."""
        return Whole.of(self.expressions(index, precise), self.targets, self.prior)

    def parts(self, index: int | None = None) -> pd.DataFrame:
        """What was learned of the parts of a form; empty if there was none."""
        import pandas as pd

        (place, *_) = self.rows_of(index)
        found = self.candidate(place).parts
        return pd.DataFrame([(label, e.text()) for label, e in found], columns=["part", "equation"])

    def where(self, output: int = 0) -> list[str]:
        """The parts of the selected equation of an output, a line each; empty without a form."""
        return [f"{label} = {e.text()}" for label, e in self.candidate(output=output).parts]

    def constants(self, index: int | None = None, precise: bool = False) -> pd.DataFrame:
        """The constants of the selected equations, or of row `index` of `equations`, as a table.

        One row for each number that is written: its value and standard error, what it multiplies or
        where it stands, and its physical unit, if the prior knows those of the columns
        (`Prior.quantities`). Factors of 1 that have a unit have a row, too.
        """
        rows = [
            row
            for k, place in enumerate(self.rows_of(index))
            if index is None or place is not None
            for row in self._constants(self.candidate(place, k), k, precise)
        ]
        return self._constants_frame(rows)

    def all_constants(self) -> pd.DataFrame:
        """The constants of all equations: `index` and `selected` are those of `equations`."""
        rows, index = [], 0
        for k, front in enumerate(self.fronts):
            for i, candidate in enumerate(front):
                own = {"index": index, "selected": i == self.selected[k]}
                rows += [own | row for row in self._constants(candidate, k, precise=False)]
                index += 1
        return self._constants_frame(rows, "index", "selected")

    def _constants(self, candidate: Candidate, output: int, precise: bool) -> list[dict[str, Any]]:
        e = candidate.equation(precise)
        units = constant_units(e, self.prior, self.targets[output])
        hidden = [place for place, unit in enumerate(units) if unit]
        found = shown_constants(e, candidate.errors_of(e), hidden)
        return [
            {
                "output": self.targets[output],
                "value": c.value,
                "standard_error": c.standard_error,
                "of": of,
                "unit": units[c.place],
            }
            for c, of in zip(found, places_in_words(e, found, shorten=precise), strict=True)
        ]

    def _constants_frame(self, rows: Sequence[Mapping[str, Any]], *first: str) -> pd.DataFrame:
        import pandas as pd

        output = () if len(self.fronts) == 1 else ("output",)
        names = [*first, *output, "value", "standard_error", "of", "unit"]
        frame = pd.DataFrame([[row[name] for name in names] for row in rows], columns=names)
        return frame.astype({"value": float, "standard_error": float})

    def candidate(self, index: int | None = None, output: int = 0) -> Candidate:
        """The selected equation, or row `index` of the front, of one output."""
        front = self.fronts[output]
        k = self.selected[output] if index is None else index
        if not isinstance(k, (int, np.integer)) or not 0 <= k < len(front):
            raise IeqlError(
                f"There is no equation {k!r}; the front has rows 0 to {len(front) - 1}."
            )
        return front[k]

    def rows_of(self, index: int | None) -> list[int | None]:
        """Row within each output's front; `index` counts the rows of `equations`."""
        if index is None or len(self.fronts) == 1:
            return [index] * len(self.fronts)
        start = 0
        for k, front in enumerate(self.fronts):
            if isinstance(index, (int, np.integer)) and start <= index < start + len(front):
                return [int(index) - start if j == k else None for j in range(len(self.fronts))]
            start += len(front)
        raise IeqlError(f"There is no equation {index!r}; the rows are 0 to {start - 1}.")

    def expressions(self, index: int | None = None, precise: bool = False) -> list[Expression]:
        """The equation of each output, in the rows that `index` of `equations` means."""
        rows = enumerate(self.rows_of(index))
        return [self.candidate(row, k).equation(precise) for k, row in rows]

    def predict(self, table: Array, index: int | None = None, precise: bool = False) -> Array:
        """Values of the selected equations, or of row `index`; NaN where one is undefined."""
        columns = [e.evaluate(table)[:, 0] for e in self.expressions(index, precise)]
        return columns[0] if self.one_output else np.column_stack(columns)

    def for_group(self, label: str) -> FittedModel:
        """The model of one device: the same structures with its constants."""
        if label not in self.groups:
            known = ", ".join(map(repr, self.groups[:LISTED])) or "none"
            more = " ..." if len(self.groups) > LISTED else ""
            raise IeqlError(
                f"There is no group {shown(label)}; the groups are {known}{more}."
                f"{nearest(str(label), self.groups)}"
            )
        fronts = tuple(
            tuple(replace(dict(c.members)[label], saved=c.saved) for c in front)
            for front in self.fronts
        )
        return replace(self, fronts=fronts, groups=(), group_column=None)

    def by_device(self, labels: Sequence[str]) -> list[tuple[FittedModel, NDArray[np.bool_]]]:
        """The models of the devices that rows belong to, and which rows; the fleet's for others."""
        names = np.array(labels, dtype=str)
        found = [
            (self.for_group(label), names == label)
            for label in dict.fromkeys(names.tolist())
            if label in self.groups
        ]
        others = ~np.isin(names, list(self.groups))
        return [*found, (self, others)] if others.any() else found

    def group_constants(self, index: int | None = None) -> pd.DataFrame:
        """The constants of each device, one row per device and constant that is written."""
        import pandas as pd

        rows = []
        for k, place in enumerate(self.rows_of(index)):
            if index is not None and place is None:
                continue
            candidate = self.candidate(place, k)
            words = [row["of"] for row in self._constants(candidate, k, precise=False)]
            keys = [key_of(c) for c in shown_constants(candidate.expression)]
            values = {
                label: constants_by_place(c.expression, c.standard_errors, keys)
                for label, c in candidate.members
            }
            for j, of in enumerate(words):
                shared = len({pair[j][0] for pair in values.values()}) == 1
                rows += [
                    {
                        "output": self.targets[k],
                        "group": label,
                        "of": of,
                        "value": pair[j][0],
                        "standard_error": pair[j][1],
                        "shared": shared,
                    }
                    for label, pair in values.items()
                ]
        output = () if len(self.fronts) == 1 else ("output",)
        names = [*output, "group", "of", "value", "standard_error", "shared"]
        return pd.DataFrame(rows, columns=names)

    def predict_interval(
        self,
        table: Array,
        level: float = 0.9,
        index: int | None = None,
        precise: bool = False,
    ) -> Array:
        """Between which values new rows lie, of which a share `level` does.

        Returns
        -------
        array (rows, 2) or, with several outputs, (rows, 2, outputs)
            Lower and upper ends; NaN where an equation is undefined, infinite where there were no
            more rows than constants.
        """
        level = checked_level(level)
        ends = []
        for k, row in enumerate(self.rows_of(index)):
            candidate = self.candidate(row, k)
            if candidate.band is None:
                raise IeqlError(self._why_no_interval())
            value = candidate.equation(precise).evaluate(table)[:, 0]
            half = candidate.band.half_width(candidate.equation(True), table, value, level)
            ends.append(np.column_stack([value - half, value + half]))
        return ends[0] if self.one_output else np.stack(ends, axis=2)

    def _why_no_interval(self) -> str:
        if not self.finished:
            return (
                "There are no intervals yet: the run was cut short or is still running; "
                "`ieql resume` finishes it."
            )
        return (
            "There are no intervals: the model was written by a version of ieql that did not keep "
            "what they need; fit again."
        )

    def suggest(
        self, n: int = 5, limits: Mapping[str, Any] | None = None, output: int | None = None
    ) -> pd.DataFrame:
        """Points to measure next, see `IEQLRegressor.suggest`; `ieql.suggestions` chooses them."""
        from ieql.suggestions import suggest

        return suggest(self, n, limits, output).frame()

    def outside(self, table: Array) -> NDArray[np.bool_]:
        """Which cells of a table lie outside the domain.

        For inputs with a declared domain that is anywhere outside of it; for the others, outside
        the range of the data by more than half its width.
        """
        margin = [ROUNDING if name in self.declared else OVER_THE_RANGE for name in self.names]
        return self.box.outside(table, np.array(margin))

    # --- what is to be said of it ----------------------------------------------------------------

    def doubts(self) -> list[tuple[type[Warning], str]]:
        """What is to be said of each output before it is trusted, one sentence each."""
        found: list[tuple[type[Warning], str]] = []
        if self.recalibrated is not None:
            return found  # it says itself what is to be said
        few = None if self.groups else few_rows_sentence(self.n_data_rows)
        if few is not None:
            found.append((FewRowsWarning, few))
        for k, rows in enumerate(self.outliers):
            if rows:
                sentence = outlier_sentence(rows, self.n_data_rows, self._name(k))
                found.append((OutlierWarning, sentence))
            disagreement = self.disagreement(k)
            if disagreement is not None:
                found.append((DisagreementWarning, disagreement))
        return found

    def disagreement(self, output: int) -> str | None:
        """What is to be said of the errors of an output's selected equation, if anything."""
        candidate = self.candidate(None, output)
        n_train, n_validation = self.n_rows
        return disagreement_sentence(
            candidate.rmse_train,
            candidate.rmse_rows,
            n_train,
            n_validation if self.validation == HELD_OUT else sum(self.n_rows),
            validation=self.validation,
            floor=NEGLIGIBLE * self.mean_errors[output]["validation"],
            target=self._name(output),
        )

    def limits_sentence(self) -> str | None:
        """Which equations are proved to keep to the prior's shape; None if it has none."""
        rows = [c for front in self.fronts for c in front]
        if not any(c.limits for c in rows):
            return None
        limits = ", ".join(dict.fromkeys(text for c in rows for text in c.limits))
        n_proved = sum(all(c.limits.values()) for c in rows)
        if n_proved == len(rows):
            return f"Proved of every equation, in the whole domain: {limits}."
        return (
            f"{n_proved} of {len(rows)} equations are proved to keep to all limits ({limits}); the "
            "others do so at all points that were tried."
        )

    def cautions(self) -> list[str]:
        """What is to be said of the safety of the selected equations, one sentence each."""
        found = [caution(self.candidate(None, k), self._name(k)) for k in range(len(self.fronts))]
        return [sentence for sentence in found if sentence is not None]

    def _name(self, output: int) -> str | None:
        """The name of an output where there are several."""
        return None if len(self.targets) == 1 else self.targets[output]

    # --- JSON ------------------------------------------------------------------------------------

    def to_form(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers; a number that is not finite becomes None."""
        prior = self.prior
        return {
            "format": FORMAT,
            "kind": KIND,
            "parameters": stored(self.options),
            "prior": None if prior.unregistered else prior.to_dict(),
            "named": self.is_named,
            "features": list(self.names),
            "targets": list(self.targets),
            "one_output": self.one_output,
            "domain": {name: list(pair) for name, pair in self.domain.items()},
            "domain_is_declared": bool(self.declared),
            "declared_inputs": list(self.declared),
            "mean_errors": [dict(errors) for errors in self.mean_errors],
            "n_rows": [int(n) for n in self.n_rows],
            "n_data_rows": int(self.n_data_rows),
            "validation": self.validation,
            "outliers": [[int(row) for row in rows] for rows in self.outliers],
            "largest_complexities": [float(c) for c in self.largest_complexities],
            "criterion": self.criterion,
            "selected": [int(k) for k in self.selected],
            "n_trainings": int(self.n_trainings),
            "stop_reason": self.stop_reason,
            "interrupted": bool(self.interrupted),
            "finished": bool(self.finished),
            "unit_counts": [dict(counts) for counts in self.unit_counts],
            "versions": dict(self.versions),
            "fronts": [[c.to_form() for c in front] for front in self.fronts],
            "rivals": [[c.to_form() for c in rivals] for rivals in self.rivals],
            "differences": [
                [[d if math.isfinite(d) else None for d in row] for row in rows]
                for rows in self.differences
            ],
            "recalibrated": None if self.recalibrated is None else self.recalibrated.to_form(),
            "groups": list(self.groups),
            "group_column": self.group_column,
            "data_sha256": self.data_sha256,
            **({"categories": self.categories.to_form()} if self.categories else {}),
        }

    def to_json(self) -> str:
        """The form as JSON text."""
        return json.dumps(self.to_form(), indent=1, allow_nan=False)


def table_row(c: Candidate, precise: bool = False) -> dict[str, Any]:
    """An equation as a row of the table of equations."""
    return {
        "equation": c.equation(precise).text(),
        "complexity": c.complexity,
        "n_parameters": c.n_parameters,
        "n_constants": c.n_constants,
        "rmse_train": c.rmse_train,
        "rmse_validation": c.rmse_validation,
        "rmse_extrapolation": c.rmse_extrapolation,
        "proved": c.proved,
        **({"limits": limits_in_words(c)} if c.limits else {}),
    }


def chosen(
    fronts: Sequence[Sequence[Candidate]],
    criterion: str,
    mean_errors: Sequence[Mapping[str, float]],
    largest_complexities: Sequence[float],
    n_rows: tuple[int, int],
) -> tuple[int, ...]:
    """Place of the equation that a criterion selects, in each front."""
    return tuple(
        select(
            front,
            criterion,
            mean_error=error["validation"],
            mean_error_extrapolation=error.get("extrapolation"),
            largest_complexity=largest,
            n_rows=n_rows,
        )
        for front, error, largest in zip(fronts, mean_errors, largest_complexities, strict=True)
    )


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that can change a result.

    They are read from the metadata of the installed packages; none is imported.
    """
    found = {"python": platform.python_version()}
    for name in VERSIONED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # run from a source tree that is not installed
            found[name] = "unknown"
    return found


def _rmse(predicted: Any, y: Array) -> float:
    residual = np.asarray(predicted) - y
    return float(np.sqrt(np.mean(residual**2))) if np.all(np.isfinite(residual)) else float("inf")


def _measured_outside(c: Candidate, X: Array, y: Array) -> Candidate:
    return replace(c, rmse_extrapolation=_rmse(c.expression.evaluate(X)[:, 0], y))


# --- from a file -------------------------------------------------------------------------------


def read_model(path: str | os.PathLike[str], prior: Any = None) -> FittedModel:
    """Read a model from its JSON file; anything unexpected is refused with a sentence.

    Parameters
    ----------
    path : path
        The file.
    prior : Prior, optional
        Needed if the model uses units of the user's own, which a file cannot hold.
    """
    where = str(path)
    try:
        form = read_json(path)
    except FileNotFoundError:
        raise IeqlError(f"There is no file {where!r}.") from None
    except OSError as error:
        raise IeqlError(f"Cannot read {where!r}: {error.strerror or error}.") from None
    except ValueError as error:
        raise IeqlError(f"{where!r} is not a saved model: {error}.") from None
    return from_form(form, where, prior)


def from_form(form: Any, where: str, prior: Any = None) -> FittedModel:
    """The inverse of `FittedModel.to_form`; `where` names the file in messages."""
    if not isinstance(form, Mapping) or form.get("kind") != KIND:
        raise IeqlError(f"{where!r} is not a saved model: it was not written by save().")
    if form.get("format") != FORMAT:
        found = repr(form.get("format"))[:20]
        raise IeqlError(
            f"{where!r} has the format {found}, but this version of ieql reads format {FORMAT}; "
            "install a newer version."
        )
    try:
        written = form["prior"]
        knowledge = Prior.of(prior) if prior is not None else Prior.from_dict(written or {})
        model = _rebuilt(form, knowledge)
        if prior is None and written is None:
            _refuse_unknown(model)
        _check(model)
    except IeqlError as error:
        hint = ""
        if prior is None and form.get("prior") is None:
            hint = " It was learned with units of your own: hand their prior to load()."
        raise IeqlError(f"{where!r} cannot be read: {error}{hint}") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise IeqlError(f"{where!r} is not a whole saved model: {repr(error)[:200]}.") from None
    return model


def _refuse_unknown(model: FittedModel) -> None:
    """Refuse units whose names are not taken: in the file they stand for units of someone's own."""
    for candidate in (c for front in model.fronts for c in front):
        for node in candidate.expression.nodes:
            if not is_taken(node.unit.name):
                raise IeqlError(f"There is no unit {node.unit.name!r} of your own.")


def _rebuilt(form: Mapping[str, Any], prior: Prior) -> FittedModel:
    custom = {u.name: u for u in prior.custom}
    domain = {str(k): (float(a), float(b)) for k, (a, b) in form["domain"].items()}
    # Older files do not say which inputs were declared, if some were: there all count, but those
    # that were the same in every row, which have no width.
    names = form.get("declared_inputs", list(domain)) if form["domain_is_declared"] else []
    declared = {k: (a, b) for k, (a, b) in domain.items() if a < b and k in names}
    n_train, n_validation = form["n_rows"]
    targets = tuple(str(n) for n in form["targets"])
    validation = form.get("validation", HELD_OUT)
    if not isinstance(validation, str) or validation not in VALIDATIONS:
        raise IeqlError("it does not say what its validation error is.")
    return FittedModel(
        options=from_stored(form["parameters"], prior, declared or None),
        names=tuple(str(n) for n in form["features"]),
        targets=targets,
        fronts=_read_candidates(form["fronts"], custom),
        rivals=_read_candidates(form.get("rivals", []), custom),
        differences=tuple(
            tuple(tuple(math.inf if d is None else float(d) for d in row) for row in rows)
            for rows in form.get("differences", [])
        ),
        selected=tuple(int(k) for k in form["selected"]),
        criterion=str(form["criterion"]),
        domain=domain,
        declared=tuple(declared),
        mean_errors=tuple(
            {str(k): float(v) for k, v in errors.items()} for errors in form["mean_errors"]
        ),
        largest_complexities=tuple(float(c) for c in form["largest_complexities"]),
        n_rows=(int(n_train), int(n_validation)),
        n_data_rows=form.get("n_data_rows", int(n_train) + int(n_validation)),
        validation=validation,
        outliers=_read_outliers(form, len(targets), int(n_train) + int(n_validation)),
        n_trainings=int(form["n_trainings"]),
        stop_reason=str(form["stop_reason"]),
        interrupted=bool(form["interrupted"]),
        finished=bool(form.get("finished", True)),
        unit_counts=tuple(
            {str(k): int(n) for k, n in counts.items()} for counts in form.get("unit_counts", [])
        ),
        is_named=bool(form["named"]),
        one_output=bool(form["one_output"]),
        versions={str(k): str(v) for k, v in form.get("versions", {}).items()},
        recalibrated=None
        if form.get("recalibrated") is None
        else MovedConstants.from_form(form["recalibrated"], len(targets)),
        groups=tuple(str(name) for name in form.get("groups", ())),
        group_column=None if form.get("group_column") is None else str(form["group_column"]),
        data_sha256=_read_digest(form.get("data_sha256", "")),
        categories=Categories.from_form(form.get("categories", {})),
    )


def _read_candidates(
    form: Sequence[Sequence[Mapping[str, Any]]], custom: Mapping[str, Unit]
) -> tuple[tuple[Candidate, ...], ...]:
    return tuple(tuple(Candidate.from_form(c, custom) for c in listed) for listed in form)


def _read_outliers(
    form: Mapping[str, Any], n_targets: int, n_rows: int
) -> tuple[tuple[int, ...], ...]:
    """Which rows were left out; older files do not say it."""
    n = form.get("n_data_rows", n_rows)
    outliers = form.get("outliers", [[] for _ in range(n_targets)])
    if not _is_count(n) or not isinstance(outliers, list):
        raise IeqlError("its numbers of rows are not whole numbers.")
    for rows in outliers:
        if not isinstance(rows, list) or not all(_is_count(row) and row < n for row in rows):
            raise IeqlError("its outliers are not the numbers of rows.")
        if len(rows) > n or any(a >= b for a, b in itertools.pairwise(rows)):
            raise IeqlError("its outliers are not in order.")
    return tuple(tuple(rows) for rows in outliers)


def _read_digest(text: Any) -> str:
    """A SHA-256 in hexadecimal digits, or nothing: it goes into the comments of exported code."""
    if not isinstance(text, str) or not re.fullmatch("([0-9a-f]{64})?", text):
        raise IeqlError("what it calls the SHA-256 of its data is none.")
    return text


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check(model: FittedModel) -> None:
    """The parts of a stored model must fit each other."""
    n = len(model.targets)
    parts = (
        model.fronts,
        model.selected,
        model.mean_errors,
        model.largest_complexities,
        model.outliers,
    )
    if n == 0 or any(len(part) != n for part in parts):
        raise IeqlError("its parts do not belong together.")
    # What older files do not have.
    if any(len(part) not in (0, n) for part in (model.unit_counts, model.rivals)):
        raise IeqlError("its parts do not belong together.")
    _check_differences(model)
    if tuple(model.domain) != model.names:
        raise IeqlError("its domain does not fit the inputs.")
    if model.criterion not in (BY_HAND, RECALIBRATED):
        find_criterion(model.criterion)  # if need be from a plugin
    if any("validation" not in e for e in model.mean_errors):
        raise IeqlError("it has no validation error of the mean.")
    if not set(model.categories.inputs) <= set(model.names):
        raise IeqlError("its categories do not fit the inputs.")
    if len(set(model.names)) < len(model.names):
        raise IeqlError("two of its inputs have the same name.")
    if any(len(name) > MAX_NAME for name in model.targets):
        raise IeqlError(f"the name of a target is longer than {MAX_NAME} characters.")
    if any(HALVES.search(name) for name in (*model.names, *model.targets)):
        raise IeqlError("a name holds half a character (a lone surrogate).")
    candidates = [c for listed in (*model.fronts, *model.rivals) for c in listed]
    if any([n for n, _ in c.members] != list(model.groups) for f in model.fronts for c in f):
        raise IeqlError("an equation does not fit its groups.")
    candidates += [member for c in candidates for _, member in c.members]
    numbers = [*model.largest_complexities, *(c.complexity for c in candidates)]
    numbers += [bound for pair in model.domain.values() for bound in pair]
    if not all(map(math.isfinite, numbers)) or min(model.n_rows) < 0 or model.n_trainings < 0:
        raise IeqlError("it holds an impossible number.")
    if sum(c.expression.written_size for c in candidates) > MAX_WRITTEN:
        raise IeqlError("its equations are too long to be written out.")
    for front, place in zip(model.fronts, model.selected, strict=True):
        if not 0 <= place < len(front):
            raise IeqlError("the selected equation is not on the front.")
    for e in (e for c in candidates for e in (c.expression, c.precise) if e is not None):
        if e.names != model.names or len(e.outputs) != 1:
            raise IeqlError("an equation does not fit the inputs.")


def _check_differences(model: FittedModel) -> None:
    """One for each pair of an output's equations, or none at all."""
    rivals = model.rivals or ((),) * len(model.fronts)
    known = [len(front) + len(of) for front, of in zip(model.fronts, rivals, strict=True)]
    found = [[len(row) for row in rows] for rows in model.differences]
    if found and found != [list(range(n)) for n in known]:
        raise IeqlError("the differences of its equations do not fit them.")
    if not all(d >= 0.0 for rows in model.differences for row in rows for d in row):
        raise IeqlError("it holds an impossible number.")
