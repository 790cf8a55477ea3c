"""The scikit-learn door: `IEQLRegressor`. `fit` alone loads the learner."""

from __future__ import annotations

import contextlib
import json
import os
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ieql.caution import caution
from ieql.data.dataset import Dataset, Domain, declared_inputs, positions
from ieql.data.table import MIN_ROWS, check_table, constant_columns, warn_of_rounding
from ieql.doubts import CROSS_FITTING, disagreement_sentence, outlier_sentence
from ieql.equations.expression import Expression
from ieql.errors import (
    DisagreementWarning,
    IeqlError,
    OutlierWarning,
    OutsideDomainWarning,
    nearest,
)
from ieql.files import read_json
from ieql.prior import Prior
from ieql.report.evidence import Evidence
from ieql.report.methods import ReportMethods
from ieql.run.folder import NotWritableError, sha256_of, versions, write_whole
from ieql.selection import CRITERIA, Candidate, select

if TYPE_CHECKING:
    import pandas as pd

    from ieql.export.functions import Equation
    from ieql.learn import Learned
    from ieql.training.paper.trainer import PaperSettings

__all__ = ["IEQLRegressor"]

Array = NDArray[np.float64]
CELLS_PER_SECOND = 300_000
"""Cells of a table for each second of the fit; bringing them in order takes about a tenth of it."""
LEAST_DRAWN = 10_000
"""So many rows are used in any time."""
LARGE_COUNT = 100.0
"""Rows that a row stands for on average, above which that is worth a word."""
SMALLEST = 1e-100
"""Numbers between this and its reciprocal can be squared without a thought."""
LOSSES = ("auto", "squared")
MAX_INPUTS = 2_000
"""Beyond, a first training takes longer than anybody waits, and the domain gigabytes."""
NEGLIGIBLE = 1e-6
"""Part of the mean predictor's error below which errors need not agree: they are rounding."""
ROUNDING = 1e-9
"""Part of a declared interval that may be passed at its ends: 0.1 + 0.2 is inside (0, 0.3)."""
OVER_THE_RANGE = 0.5
"""The same where nothing was declared: new rows of the same kind pass the range of few old ones."""


class IEQLRegressor(ReportMethods, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Learn a compact equation from data.

    Parameters
    ----------
    prior : str, path, mapping or Prior, default "plain"
        Expert knowledge: a preset ("plain", "motor", "paper"), a YAML file, a mapping or a `Prior`.
    trainer : {"fast", "paper", "published"}, mapping or PaperSettings, default "fast"
        How equations are learned: by the fast search, or as the paper says, with settings for a
        laptop ("paper"), as published (hours), or of one's own (`ieql.training.paper.trainer`).
    layers, copies : int, optional
        Hidden layers and copies of each unit; None leaves them to the search.
    domain : mapping or sequence of (low, high), optional
        Where the equation must be safe; default: the range of the data.
    output_bound : float, optional
        Largest absolute value the equation may take in the domain (the paper's bound B).
    selection : {"MDL", "V_int", "V_int-S", "V_int&ex"}, default "MDL"
        Criterion that picks the equation used by `predict`.
    validation_fraction : float, default 0.1
        Part of the rows kept for validation.
    loss : {"auto", "squared"}, default "auto"
        "auto" searches with rows left out that stand far off from their neighbours, "squared"
        takes every row as it is.
    max_time : float or None, default 60
        Seconds for `fit`.
    min_time : float, optional
        Seconds that the search goes on at least, whatever it thinks of what is left: without, it
        ends by itself when that looks like noise or nothing better was found for long. It ends
        earlier only when the equations are exact, when `max_trainings` are done or when
        `max_time`, which must not be less, is up. The paper's trainer, done with its models,
        trains them again from other random starts.
    max_trainings : int, optional
        Number of trainings per output; with it, and no time limit reached, the result depends on
        `random_state` alone.
    n_jobs : int, default -1
        Processes, as joblib counts them.
    random_state : int, RandomState or None
        Fixes all random choices.
    run_dir : path, optional
        Folder into which the run is written as it goes. If it holds a run on the same data and
        with the same settings, that run goes on, with `max_time` anew.
    progress : bool, default False
        Show the front as it grows, with the time left; plain lines where there is no terminal.

    Attributes
    ----------
    equations_ : DataFrame
        The front: one row per equation, from simple to exact, in the user's names and units.
    domain_ : dict
        The declared domain, by input.
    n_trainings_ : int
        Number of trainings that were done.
    interrupted_ : bool
        Whether Ctrl-C ended the fit early.
    stop_reason_ : str
        Why the search ended.
    finished_ : bool
        Whether the equations were finished; False in the model of a run that was cut short or is
        still going on, whose equations passed fewer checks and have constants with all digits.
    unit_counts_ : list of dict
        For each output how often each unit occurs in all equations that were kept on the way.
    validation_ : str
        What the validation error is: that of rows kept back from fitting the constants ("held-out
        rows"), or of rows in turn, predicted by constants fitted to the others ("cross-fitting").
    outliers_ : list of lists of int
        For each output the rows of X, counted from 0, that stand far off from the equation and were
        left out of the fit.
    evidence_ : Evidence
        A sample of the data and the circumstances of the fit, for figures and the report; not
        part of a saved model.

    Examples
    --------
    >>> import numpy as np
    >>> from ieql import IEQLRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 2))
    >>> model = IEQLRegressor(max_trainings=8, n_jobs=1, random_state=0)
    >>> _ = model.fit(X, 3 * X[:, 0] ** 2 + X[:, 1])
    >>> model.predict(X[:1]).shape
    (1,)
    """

    def __init__(
        self,
        prior: Any = "plain",
        trainer: str | Mapping[str, Any] | PaperSettings = "fast",
        layers: int | None = None,
        copies: int | None = None,
        domain: Any = None,
        output_bound: float | None = None,
        selection: str = "MDL",
        validation_fraction: float = 0.1,
        loss: str = "auto",
        max_time: float | None = 60.0,
        min_time: float | None = None,
        max_trainings: int | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        run_dir: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> None:
        self.prior = prior
        self.trainer = trainer
        self.layers = layers
        self.copies = copies
        self.domain = domain
        self.output_bound = output_bound
        self.selection = selection
        self.validation_fraction = validation_fraction
        self.loss = loss
        self.max_time = max_time
        self.min_time = min_time
        self.max_trainings = max_trainings
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.run_dir = run_dir
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    # --- learning ------------------------------------------------------------------------------

    def fit(
        self,
        X: ArrayLike | pd.DataFrame,
        y: ArrayLike | pd.DataFrame | pd.Series[Any],
        *,
        sample_weight: ArrayLike | None = None,
        X_extrapolation: ArrayLike | pd.DataFrame | None = None,
        y_extrapolation: ArrayLike | None = None,
    ) -> IEQLRegressor:
        """Learn the front of equations and select one.

        Parameters
        ----------
        X : DataFrame or array (rows, inputs)
            Column names are used in the equations; without names they are x0, x1, …
        y : array (rows,) or (rows, outputs)
            One equation is learned per output.
        sample_weight : array (rows,), optional
            If all are whole numbers, how many rows each row stands for; else how precise each row
            is (1/σ², in any unit: only their ratios matter).
        X_extrapolation, y_extrapolation : optional
            Labelled points outside the data, for the criterion V_int&ex.

        Returns
        -------
        IEQLRegressor
            Itself. Ctrl-C ends the search early and keeps what was found.
        """
        return self._fit(X, y, sample_weight, X_extrapolation, y_extrapolation)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_extrapolation: Any = None,
        y_extrapolation: Any = None,
        source: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> IEQLRegressor:
        """`fit`, which also notes the files that the data came from, so that a run can go on.

        With `overwrite` a run in the run folder is replaced, but not by bad input.
        """
        start = time.time()
        prior = self._checked_parameters(X_extrapolation, y_extrapolation)
        targets = _target_names(y)
        X, y = self._checked_data(X, y)
        names = _feature_names(self)
        prior.check_columns(names)
        _refuse_prior_without_inputs(prior, names)
        extra = self._checked_extrapolation(X_extrapolation, y_extrapolation, y)
        if np.asarray(sample_weight).dtype.kind in "OUS":  # numbers have their own check
            check_table(sample_weight, "sample_weight", min_rows=0)
        weight = None if sample_weight is None else np.asarray(sample_weight)
        # Weights that do not fit the rows are refused with the numbers the user knows.
        fits = weight is None or weight.shape == (len(X),)
        rows = self._rows_in_time(X) if fits else slice(None)
        data = Dataset.of(
            X[rows],
            y[rows],
            weight[rows] if weight is not None and fits else weight,
            self.domain,
            names,
            targets(y),
            None if extra is None else extra[0],
        )
        _refuse_extremes(data)
        _warn_of_constants(data)
        _warn_of_large_counts(data, len(X))

        from ieql.learn import learn
        from ieql.run.recorder import Run

        self._one_output = np.ndim(y) == 1
        self._n_data_rows = len(X)
        evidence = self._evidence(data, extra)
        with contextlib.ExitStack() as stack:
            run, watch = None, None
            if self.run_dir is not None:
                run = stack.enter_context(
                    Run(self, data, prior, extra, evidence.sha256, source, overwrite)
                )
            if self.progress:
                from ieql.progress import Watch

                watch = stack.enter_context(Watch(start, self.max_time))

            def publish(result: Learned, finished: bool = False) -> None:
                self._take(result, data)
                columns = y.reshape(len(y), -1).T
                self.outliers_ = [
                    positions(X, column, rows)
                    for column, rows in zip(columns, result.outliers, strict=True)
                ]
                self.finished_ = finished
                seconds = time.time() - start + (run.seconds_before if run else 0.0)
                self.evidence_ = evidence.after(seconds, result.units)
                if run is not None:
                    run.write(self)
                if watch is not None:
                    found = [c.expression for front in self.fronts_ for c in front]
                    watch.show(self.equations_, found, self.n_trainings_)

            seen = publish if run is not None or watch is not None else None
            publish(learn(self, data, prior, extra, start, run, seen), finished=True)
            if any(self.outliers_):
                self.evidence_ = self.evidence_.with_outliers(X, y, self.outliers_)
            if run is not None:
                run.conclude(self)
            self._not_stored = None if run is None else run.fault
            self._seconds = time.time() - start
        for doubt, sentence in self._doubts():
            warnings.warn(sentence, doubt, stacklevel=3)
        return self

    def _rows_in_time(self, X: Array) -> NDArray[np.intp] | slice:
        """The rows that can be looked at in the time given: all, or some drawn from all of them."""
        most = round(CELLS_PER_SECOND * min(self.max_time or 1e9, 1e9) / (1 + X.shape[1]))
        if len(X) <= max(most, LEAST_DRAWN):
            return slice(None)
        most = max(most, LEAST_DRAWN)
        warnings.warn(
            f"{most:,} of {len(X):,} rows are used: more cannot be read in {self.max_time:g} s; "
            "give more time to use all.",
            stacklevel=4,
        )
        return np.sort(np.random.default_rng(0).choice(len(X), most, replace=False))

    def _doubts(self) -> list[tuple[type[Warning], str]]:
        """What is to be said of each output before it is trusted, one sentence each."""
        found: list[tuple[type[Warning], str]] = []
        for k, (name, rows) in enumerate(zip(self.target_names_, self.outliers_, strict=True)):
            if rows:
                target = None if len(self.fronts_) == 1 else name
                found.append((OutlierWarning, outlier_sentence(rows, self._n_data_rows, target)))
            sentence = self._disagreement(k)
            if sentence is not None:
                found.append((DisagreementWarning, sentence))
        return found

    def _disagreement(self, output: int) -> str | None:
        """What is to be said of the errors of an output's selected equation, if anything."""
        chosen = self.fronts_[output][self.selected_[output]]
        n_train, n_validation = self.n_rows_
        return disagreement_sentence(
            chosen.rmse_train,
            chosen.rmse_validation,
            n_train,
            sum(self.n_rows_) if self.validation_ == CROSS_FITTING else n_validation,
            validation=self.validation_,
            floor=NEGLIGIBLE * self.mean_errors_[output]["validation"],
            target=None if len(self.fronts_) == 1 else self.target_names_[output],
        )

    def _take(self, result: Learned, data: Dataset) -> None:
        """Make what was learned the model's own."""
        self.feature_names_ = list(data.feature_names)
        self.target_names_ = list(data.target_names)
        self.domain_ = data.domain.to_dict()
        self.largest_complexities_ = result.largest
        self.n_rows_ = result.n_rows
        self.n_trainings_ = result.n_trainings
        self.interrupted_ = result.interrupted
        self.stop_reason_ = result.reason
        self.unit_counts_ = result.units
        self.validation_ = result.validation
        self._set_selection(self.selection, result.fronts, result.mean_errors)

    def _evidence(self, data: Dataset, extra: tuple[Array, Array] | None) -> Evidence:
        """What figures and report need of this fit; kept apart from the saved model."""
        return Evidence.of(
            data.X,
            data.y,
            data.feature_names,
            data.target_names,
            extra,
            sha256=sha256_of(data.X, data.y, data.weight),
            seconds=0.0,
            seed=int(self.random_state) if _is_whole(self.random_state) else None,
            versions=versions(),
            unit_counts=[{} for _ in data.target_names],
        )

    def _checked_parameters(self, X_extra: Any, y_extra: Any) -> Prior:
        """Check everything that can be checked before any work is done."""
        if self.trainer != "fast":
            from ieql.training.paper.trainer import PaperSettings

            PaperSettings.of(self.trainer)
        if self.selection not in CRITERIA:
            raise IeqlError(
                f"There is no selection criterion {self.selection!r}; known are "
                f"{', '.join(CRITERIA)}.{nearest(self.selection, CRITERIA)}"
            )
        for name, least in (("layers", 1), ("copies", 1), ("max_trainings", 1)):
            value = getattr(self, name)
            if value is not None and (not _is_whole(value) or value < least):
                raise IeqlError(f"{name} must be None or a whole number from 1 on, not {value!r}.")
        if self.loss not in LOSSES:
            raise IeqlError(
                f"There is no loss {self.loss!r}; known are {', '.join(LOSSES)}."
                f"{nearest(str(self.loss), LOSSES)}"
            )
        for name in ("max_time", "min_time", "output_bound"):
            value = getattr(self, name)
            if value is not None and not (_is_number(value) and 0 < value < float("inf")):
                raise IeqlError(f"{name} must be None or a positive number, not {value!r}.")
        if self.n_jobs is not None and (not _is_whole(self.n_jobs) or self.n_jobs == 0):
            raise IeqlError(
                "n_jobs must be None or a whole number other than 0 (-1: one process per core), "
                f"not {self.n_jobs!r}."
            )
        if self.max_time is None and self.max_trainings is None:
            raise IeqlError("Give max_time or max_trainings: without either, fit would not end.")
        if self.min_time is not None and self.min_time > (self.max_time or float("inf")):
            raise IeqlError(
                f"min_time (--at-least) is {self.min_time:g} s, but max_time (--time) is "
                f"{self.max_time:g} s; lower the one or raise the other."
            )
        if not (_is_number(self.validation_fraction) and 0 < self.validation_fraction <= 0.9):
            raise IeqlError(
                f"validation_fraction must lie between 0 and 0.9, not {self.validation_fraction!r}."
            )
        if (X_extra is None) != (y_extra is None):
            raise IeqlError("Give X_extrapolation and y_extrapolation together, or neither.")
        if self.selection == "V_int&ex" and X_extra is None:
            raise IeqlError(
                "The criterion V_int&ex needs labelled points outside the data: give "
                "X_extrapolation and y_extrapolation, or choose MDL."
            )
        return Prior.of(self.prior)

    def _checked_data(self, X: Any, y: Any) -> tuple[Array, Array]:
        check_table(X, "X")
        if y is not None:
            check_table(y, "y")
            warn_of_rounding(y, "y")
        warn_of_rounding(X, "X")
        X, y = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=1
        )
        if len(X) < MIN_ROWS:
            raise IeqlError(f"X has {len(X)} sample(s); at least {MIN_ROWS} rows are needed.")
        if X.shape[1] > MAX_INPUTS:
            raise IeqlError(
                f"X has {X.shape[1]:,} inputs, but at most {MAX_INPUTS:,} can be searched; leave "
                "out those that cannot matter (on the command line: --inputs)."
            )
        y = np.asarray(y, dtype=np.float64)
        return X, y

    def _checked_extrapolation(
        self, X_extra: Any, y_extra: Any, y: Array
    ) -> tuple[Array, Array] | None:
        if X_extra is None:
            return None
        X_extra = self._by_name(X_extra, "X_extrapolation")
        check_table(X_extra, "X_extrapolation", min_rows=1)
        check_table(y_extra, "y_extrapolation", min_rows=1)
        X_extra = validate_data(self, X_extra, dtype=np.float64, reset=False)
        y_extra = check_array(y_extra, ensure_2d=False, dtype=np.float64)
        width = 1 if y.ndim == 1 else y.shape[1]
        y_extra = y_extra.reshape(len(y_extra), -1)
        if y_extra.shape != (len(X_extra), width):
            raise IeqlError(
                f"y_extrapolation has the shape {y_extra.shape}; {len(X_extra)} rows and {width} "
                "column(s) are needed, as in X_extrapolation and y."
            )
        return X_extra, y_extra

    def _by_name(self, X: Any, what: str) -> Any:
        """Return the inputs of a frame, whatever else it holds; refuse one that lacks any."""
        names = getattr(self, "feature_names_in_", None)
        if hasattr(X, "columns") and names is not None:
            for name in names:
                if name not in X.columns:
                    raise IeqlError(
                        f"{what} lacks the column {name!r}, which is an input of the fit."
                        f"{nearest(name, X.columns)}"
                    )
            X = X[list(names)]
        shape = np.shape(X)
        if len(shape) == 2 and shape[1] != self.n_features_in_:
            raise IeqlError(
                f"{what} has {shape[1]} column(s), but the fit has {self.n_features_in_} input(s); "
                "give the same columns in the same order."
            )
        return X

    # --- the front -----------------------------------------------------------------------------

    def select(
        self,
        criterion: str,
        *,
        X_extrapolation: ArrayLike | None = None,
        y_extrapolation: ArrayLike | None = None,
    ) -> IEQLRegressor:
        """Select by another criterion, or with other extrapolation points; nothing is relearned."""
        check_is_fitted(self, "fronts_")
        if (X_extrapolation is None) != (y_extrapolation is None):
            raise IeqlError("Give X_extrapolation and y_extrapolation together, or neither.")
        errors = [dict(e) for e in self.mean_errors_]
        fronts = self.fronts_
        if X_extrapolation is not None:
            y_shape = np.empty((0,) if self._one_output else (0, len(self.target_names_)))
            extra = self._checked_extrapolation(X_extrapolation, y_extrapolation, y_shape)
            assert extra is not None
            fronts = [
                [_with_extrapolation(c, extra[0], extra[1][:, k]) for c in front]
                for k, front in enumerate(fronts)
            ]
            for k, error in enumerate(errors):
                error["extrapolation"] = _rmse(error["mean"], extra[1][:, k])
        self._set_selection(criterion, fronts, errors)
        return self

    def _set_selection(
        self, criterion: str, fronts: list[list[Candidate]], errors: list[dict[str, float]]
    ) -> None:
        """Select on these fronts and make them the model's; a criterion in vain changes nothing."""
        selected = [
            select(
                front,
                criterion,
                mean_error=error["validation"],
                mean_error_extrapolation=error.get("extrapolation"),
                largest_complexity=largest,
                n_rows=self.n_rows_,
            )
            for front, error, largest in zip(
                fronts, errors, self.largest_complexities_, strict=True
            )
        ]
        self.fronts_ = fronts
        self.selected_ = selected
        self.mean_errors_ = errors
        self.criterion_ = criterion

    @property
    def equations_(self) -> pd.DataFrame:
        """The front as a table, simplest first; errors are in the unit of y."""
        import pandas as pd

        check_is_fitted(self, "fronts_")
        rows = []
        for k, front in enumerate(self.fronts_):
            for i, c in enumerate(front):
                row: dict[str, Any] = (
                    {} if len(self.fronts_) == 1 else {"output": self.target_names_[k]}
                )
                row |= {
                    "equation": c.expression.text(),
                    "complexity": c.complexity,
                    "n_parameters": c.n_parameters,
                    "rmse_train": c.rmse_train,
                    "rmse_validation": c.rmse_validation,
                    "rmse_extrapolation": c.rmse_extrapolation,
                    "proved": c.proved,
                    "selected": i == self.selected_[k],
                }
                rows.append(row)
        return pd.DataFrame(rows)

    def expression(
        self, index: int | None = None, output: int = 0, *, precise: bool = False
    ) -> Expression:
        """The selected equation, or row `index` of the front, of one output.

        Its constants have the digits that their standard errors deserve or, with `precise`, all
        that were fitted. `predict` and the exports take `precise`, too; `equations_` and its errors
        are always those of the equation as it is shown.
        """
        check_is_fitted(self, "fronts_")
        front = self.fronts_[output]
        k = self.selected_[output] if index is None else index
        if not isinstance(k, (int, np.integer)) or not 0 <= k < len(front):
            raise IeqlError(
                f"There is no equation {k!r}; the front has the rows 0 to {len(front) - 1}."
            )
        result: Expression = front[k].equation(precise)
        return result

    def _cautions(self) -> list[str]:
        """What is to be said of the safety of the selected equations, one sentence each."""
        several = len(self.fronts_) > 1
        found = [
            caution(front[chosen], name if several else None)
            for front, chosen, name in zip(
                self.fronts_, self.selected_, self.target_names_, strict=True
            )
        ]
        return [sentence for sentence in found if sentence is not None]

    def _rows_of(self, index: int | None) -> list[int | None]:
        """Row within each output's front; `index` counts the rows of `equations_`."""
        if index is None or len(self.fronts_) == 1:
            return [index] * len(self.fronts_)
        start = 0
        for k, front in enumerate(self.fronts_):
            if isinstance(index, (int, np.integer)) and start <= index < start + len(front):
                return [int(index) - start if j == k else None for j in range(len(self.fronts_))]
            start += len(front)
        raise IeqlError(f"There is no equation {index!r}; the rows are 0 to {start - 1}.")

    def predict(
        self, X: ArrayLike | pd.DataFrame, index: int | None = None, *, precise: bool = False
    ) -> Array:
        """Values of the selected equation, or of row `index` of `equations_`.

        NaN where the equation is undefined. With several outputs `index` chooses the equation of
        the output it belongs to; the others keep their selected one. With `precise` the constants
        have all digits that were fitted, not only those that are shown.

        Warns
        -----
        ieql.errors.OutsideDomainWarning
            Once per call, if rows lie outside the domain, where the equation was never checked:
            for inputs with a declared domain, anywhere outside of it; for the others, outside the
            range of the data by more than half its width (new rows of the same kind, such as those
            of a cross-validation, often lie outside of it by less).
        """
        check_is_fitted(self, "fronts_")
        check_table(X, "X", min_rows=0)
        warn_of_rounding(X, "X")
        table: Array = validate_data(self, X, dtype=np.float64, reset=False)
        self._warn_of_rows_outside(table)
        columns = [
            self.expression(row, k, precise=precise).evaluate(table)[:, 0]
            for k, row in enumerate(self._rows_of(index))
        ]
        return columns[0] if self._one_output else np.column_stack(columns)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination R² of `predict`, with its warnings.

        An `IeqlError` says it if the equation is undefined in some rows: these have no error.
        """
        from sklearn.metrics import r2_score

        check_table(y, "y", min_rows=0)
        found = self.predict(X)
        undefined = ~np.isfinite(found.reshape(len(found), -1)).all(axis=1)
        if undefined.any():
            raise IeqlError(
                f"The equation has no finite value in {int(undefined.sum())} of {len(found)} rows, "
                f"the first is data row {int(undefined.argmax()) + 1}: there is no score; leave "
                "these rows out, or fit again with a domain that holds them."
            )
        return float(r2_score(y, found, sample_weight=sample_weight))

    def _warn_of_rows_outside(self, table: Array) -> None:
        """Say which rows lie outside the domain, and in which inputs."""
        domain = Domain.from_dict(self.domain_)
        declared = declared_inputs(self.domain, domain.names)
        margin = np.array([ROUNDING if n in declared else OVER_THE_RANGE for n in domain.names])
        outside = domain.outside(table, margin)
        columns = np.flatnonzero(outside.any(axis=0))
        if not len(columns):
            return
        counts = [(domain.names[j], int(outside[:, j].sum())) for j in columns]
        where = _in_words([f"{name} ({n} row{'s' * (n > 1)})" for name, n in counts])
        concerned = {name in declared for name, _ in counts}
        box = "domain" if len(concerned) > 1 else "declared domain"
        warnings.warn(
            f"{int(outside.any(axis=1).sum())} of {len(table)} rows lie outside the "
            f"{box if True in concerned else 'range of the data'} in {where}; the equation was not "
            "checked there and its values may be wrong: leave these rows out, or fit again with a "
            "domain that holds them.",
            OutsideDomainWarning,
            stacklevel=3,
        )

    def export(
        self,
        format: str,
        index: int | None = None,
        path: str | os.PathLike[str] | None = None,
        *,
        precise: bool = False,
        **options: Any,
    ) -> str | bytes:
        """The selected equation in one of the formats that ``ieql export --list`` names.

        Parameters
        ----------
        format : str
            The format's name, such as ``"c"``; see `ieql.export.formats` for one of your own.
        index : int, optional
            Another equation: a row of `equations_`, as in `predict`.
        path : path, optional
            A file to write, whole or not at all.
        precise : bool, default False
            Take the constants with all digits that were fitted.
        **options
            What the format takes: ``digits``, ``real``, ...

        Returns
        -------
        str or bytes
            What stands in the file: text, or bytes if the format is no text.
        """
        from ieql.export.formats import find_format

        chosen = find_format(format)
        chosen.check(options)
        equations = self._equations(index, precise)
        if index is not None and not chosen.all_outputs and len(equations) > 1:
            rows = zip(equations, self._rows_of(index), strict=True)
            equations = [equation for equation, row in rows if row is not None]
        content = chosen(equations, self.domain_, **options)
        if path is not None:
            try:
                write_whole(Path(path), content)
            except OSError as error:
                raise NotWritableError(
                    f"Cannot write {str(path)!r}: {error.strerror or error}; choose another place."
                ) from error
        return content

    def sympy(self, index: int | None = None, *, precise: bool = False) -> Any:
        """SymPy form of the selected equation (a list if there are several outputs).

        `precise` as in `expression`.
        """
        forms = [e.expression.to_sympy() for e in self._equations(index, precise)]
        return forms[0] if len(forms) == 1 else forms

    def latex(
        self,
        index: int | None = None,
        precision: int | None = None,
        substitutions: bool = False,
        *,
        precise: bool = False,
    ) -> Any:
        """LaTeX of the selected equation (a list if there are several outputs).

        Parameters
        ----------
        index : int, optional
            Another equation: a row of `equations_`, as in `predict`.
        precision : int, optional
            Round to so many significant digits; default: the constants as they are.
        substitutions : bool, default False
            Give parts that come more than once a name and a line of their own.
        precise : bool, default False
            Take the constants with all digits that were fitted.
        """
        from ieql.export.latex import latex

        forms = [
            latex(e.expression, precision=precision, substitutions=substitutions)
            for e in self._equations(index, precise)
        ]
        return forms[0] if len(forms) == 1 else forms

    def c(
        self,
        index: int | None = None,
        real: str = "double",
        name: str | None = None,
        *,
        precise: bool = False,
    ) -> str:
        """C99 source of the selected equation, one function per output.

        Parameters
        ----------
        index : int, optional
            Another equation: a row of `equations_`, as in `predict`.
        real : {"double", "float"}, default "double"
            Type of all numbers.
        name : str, optional
            Name of the function; with several outputs, what goes before the names of the targets.
        precise : bool, default False
            Take the constants with all digits that were fitted.
        """
        from ieql.export.c import c_code

        return c_code(self._equations(index, precise), real=real, name=name, domain=self.domain_)

    def python(
        self, index: int | None = None, name: str | None = None, *, precise: bool = False
    ) -> str:
        """Python module of the selected equation, with one function per output; it needs NumPy.

        Parameters are those of `c`.
        """
        from ieql.export.python import python_code

        return python_code(self._equations(index, precise), name=name, domain=self.domain_)

    def _equations(self, index: int | None, precise: bool = False) -> list[Equation]:
        """Return target and expression of each output, in the rows that `index` means."""
        from ieql.export.functions import Equation

        check_is_fitted(self, "fronts_")
        rows = zip(self.target_names_, self._rows_of(index), strict=True)
        return [
            Equation(name, self.expression(row, k, precise=precise))
            for k, (name, row) in enumerate(rows)
        ]

    # --- files ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as JSON, whole or not at all; never pickle."""
        check_is_fitted(self, "fronts_")
        try:
            write_whole(Path(path), self._to_json())
        except OSError as error:
            raise NotWritableError(
                f"Cannot write {str(path)!r}: {error.strerror or error}; choose another place."
            ) from error

    @classmethod
    def load(cls, path: str | os.PathLike[str], prior: Any = None) -> IEQLRegressor:
        """Read a model written by `save`.

        Parameters
        ----------
        path : path
            The JSON file.
        prior : Prior, optional
            Needed if the model uses units of your own, which a file cannot hold.
        """
        try:
            form = read_json(path)
        except FileNotFoundError:
            raise IeqlError(f"There is no file {str(path)!r}.") from None
        except OSError as error:
            raise IeqlError(f"Cannot read {str(path)!r}: {error.strerror or error}.") from None
        except ValueError as error:
            raise IeqlError(f"{str(path)!r} is not a saved model: {error}.") from None
        from ieql.model_file import from_form

        return from_form(cls, form, str(path), prior)

    def _to_json(self) -> str:
        from ieql.model_file import to_form

        return json.dumps(to_form(self), indent=1, allow_nan=False)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_whole(value) or isinstance(value, (float, np.floating))


def _in_words(items: list[str], limit: int = 5) -> str:
    """``a``, ``a and b``, ``a, b and c``; of many the first, and how many more there are."""
    if len(items) > limit:
        items = [*items[:limit], f"{len(items) - limit} more inputs"]
    return " and ".join(filter(None, [", ".join(items[:-1]), items[-1]]))


def _rmse(predicted: Any, y: Array) -> float:
    residual = np.asarray(predicted) - y
    return float(np.sqrt(np.mean(residual**2))) if np.all(np.isfinite(residual)) else float("inf")


def _with_extrapolation(c: Candidate, X: Array, y: Array) -> Candidate:
    from dataclasses import replace

    return replace(c, rmse_extrapolation=_rmse(c.expression.evaluate(X)[:, 0], y))


def _feature_names(model: IEQLRegressor) -> list[str]:
    if hasattr(model, "feature_names_in_"):
        return [str(n) for n in model.feature_names_in_]
    return [f"x{i}" for i in range(model.n_features_in_)]


def _target_names(y: Any) -> Any:
    """How to name the outputs: by the user's names where there are any."""
    columns = getattr(y, "columns", None)
    name = getattr(y, "name", None)

    def names(checked: Array) -> list[str]:
        if columns is not None:
            return [str(c) for c in columns]
        if checked.ndim == 1:
            return [str(name) if name is not None else "y"]
        return [f"y{k}" for k in range(checked.shape[1])]

    return names


def _refuse_extremes(data: Dataset) -> None:
    """Refuse numbers so large or small that their squares overflow or vanish."""
    names = (*data.feature_names, *data.target_names)
    for name, column in zip(names, (*data.X.T, *data.y.T), strict=True):
        size = float(np.abs(column).max())
        if size > 1.0 / SMALLEST or 0.0 < np.ptp(column) < SMALLEST:
            raise IeqlError(
                f"The column {name!r} holds numbers too large or too close together to reckon "
                f"with (up to {size:.3g}); give it in another unit."
            )


def _refuse_prior_without_inputs(prior: Prior, names: list[str]) -> None:
    """Refuse a prior by whose rules no input can enter the equation: only a mean would be left."""
    places = [(u, k) for u in prior.units for k in range(prior.unit(u).arity)] + [("output", 0)]
    if prior.inputs and not any(
        prior.allows_input(outer, k, name) for outer, k in places for name in names
    ):
        raise IeqlError(
            "The prior allows nothing: by its rules under 'inputs' no input may enter any unit or "
            "the output; allow at least one."
        )


def _warn_of_large_counts(data: Dataset, n_rows: int) -> None:
    """Whole weights are counts; many of them may have been meant as 1/σ², say 10,000 each."""
    counted = float(data.weight.sum())
    if counted > LARGE_COUNT * n_rows:
        warnings.warn(
            f"sample_weight holds whole numbers only, so they count rows: {n_rows:,} rows stand "
            f"for {counted:.3g}. If they are precisions (1/σ²), divide them by their mean.",
            stacklevel=4,
        )


def _warn_of_constants(data: Dataset) -> None:
    constant = constant_columns(data.X)
    if len(constant):
        listed = ", ".join(repr(data.feature_names[i]) for i in constant)
        warnings.warn(
            f"The input(s) {listed} have the same value in every row and are left out.",
            stacklevel=3,
        )
