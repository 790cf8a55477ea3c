"""The scikit-learn door: `IEQLRegressor`. `fit` alone loads the learner."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ieql.data.categories import Categories
from ieql.data.dataset import Dataset
from ieql.data.frames import as_pandas
from ieql.data.intake import (
    MAX_INPUTS,
    Measurements,
    checked_groups,
    refuse_extremes,
    refuse_prior_without_inputs,
    rows_in_time,
    target_names,
    warn_of_constants,
    warn_of_large_counts,
    weights_of,
)
from ieql.data.ranges import checked_ranges, refuse_beside_ranges
from ieql.data.table import MIN_ROWS, check_table, warn_of_rounding
from ieql.equations.dimensions import check_possible
from ieql.equations.expression import Expression
from ieql.errors import IeqlError, OutsideDomainWarning, counted, nearest
from ieql.files import save_text
from ieql.model import FittedModel, read_model, table_row, versions
from ieql.options import FitOptions, checked, documentation, parameters, seed_number, seed_of
from ieql.plots import PlotMethods
from ieql.report.evidence import Evidence
from ieql.run.folder import sha256_of, sha256_of_texts
from ieql.run.settings import GROUPS, RANGES, run_settings
from ieql.selection import CRITERIA, EXTRAPOLATION, Candidate

if TYPE_CHECKING:
    import pandas as pd

    from ieql.export.functions import Equation
    from ieql.export.origin import Origin
    from ieql.observer import Observer, Snapshot
    from ieql.proofs import Proof
    from ieql.whole import Whole

__all__ = ["IEQLRegressor", "resume_run"]

Array = NDArray[np.float64]


class IEQLRegressor(PlotMethods, FitOptions, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Learn a compact equation from data.

    Nothing is computed or checked before `fit`.

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
        Why the search ended and, after a semicolon, which structures were all tried.
    finished_ : bool
        Whether the equations were finished; False in the model of a run that was cut short or is
        still running, whose equations passed fewer checks and have constants with all digits.
    unit_counts_ : list of dict
        For each output, how often each unit occurs in all equations kept on the way.
    validation_ : str
        How the validation error was measured: on rows not used to fit the constants ("held-out
        rows"), on rows in turn, predicted with constants fitted to the others ("cross-fitting"), or
        where accuracy was asked for also by a surface through the others ("rows left out").
    outliers_ : list of lists of int
        For each output, the rows of X, counted from 0, that lie far from the equation and were
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

    fitted_: FittedModel

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
        groups: ArrayLike | pd.Series[Any] | None = None,
        sigma: ArrayLike | None = None,
        y_range: ArrayLike | None = None,
    ) -> IEQLRegressor:
        """Learn the front of equations and select one.

        Parameters
        ----------
        X : DataFrame or array (rows, inputs)
            Column names are used in the equations; without names they are x0, x1, …
        y : array (rows,) or (rows, outputs)
            One equation is learned per output, and units that several of them have in common are
            fitted together; see `whole`. With `y_range` it may have gaps, or be None.
        sample_weight : array (rows,), optional
            If all are whole numbers, how many rows each row stands for; else how precise each row
            is (1/σ², in any unit: only their ratios matter).
        X_extrapolation, y_extrapolation : optional
            Labelled points outside the data, for the criterion V_int&ex.
        groups : array (rows,), optional
            To which device, or other group, each row belongs: texts or whole numbers. One structure
            is learned for all of them; constants are shared, or each group has its own near those
            of the others, as the rows say (see ``group_constants``).
        sigma : array (rows,), optional
            The standard deviation of each measured row, above zero: rows weigh 1/σ². Only their
            ratios matter. It takes the place of `sample_weight`.
        y_range : array (rows, 2), optional
            Between which values the target of each row lies, where more is not known; a gap is an
            open side, and two gaps are a measured row. Within its range an equation is hardly
            wrong, outside by its distance from it.

        Returns
        -------
        IEQLRegressor
            Itself. Ctrl-C ends the search early and keeps what was found.
        """
        weight = _weight(X, sample_weight, sigma)
        return self._fit(
            X, y, weight, X_extrapolation, y_extrapolation, groups=groups, ranges=y_range
        )

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_extrapolation: Any = None,
        y_extrapolation: Any = None,
        source: Mapping[str, Any] | None = None,
        overwrite: bool = False,
        groups: Any = None,
        ranges: Any = None,
    ) -> IEQLRegressor:
        """`fit`, which also notes the files that the data came from, so that a run can go on.

        With `overwrite` a run in the run folder is replaced, but not by bad input.
        """
        start = time.monotonic()
        asked = self._checked_options(X_extrapolation, y_extrapolation)
        if ranges is not None:
            y, ranges = _with_values(y, ranges, len(X))
            refuse_beside_ranges(asked.loss, asked.form is not None, groups is not None)
        measured = self._measured(
            asked, X, y, sample_weight, X_extrapolation, y_extrapolation, ranges
        )
        asked.prior = measured.categories.rules(asked.prior)
        devices = None if groups is None else checked_groups(groups, len(measured.X))
        if devices is not None and X_extrapolation is not None:
            raise IeqlError("A fit with groups takes no points outside the data; leave them out.")
        if devices is not None and asked.loss not in ("auto", "squared"):
            raise IeqlError(
                f"A fit with groups is one of least squares; with loss={asked.loss!r} leave the "
                "groups out, or use the loss auto or squared."
            )
        if devices is not None and asked.form is not None:
            raise IeqlError("A fit with groups takes no form; leave one of the two out.")

        from ieql.form_learning import KnownForm, learn_form
        from ieql.guesses import with_guesses
        from ieql.learn import Earlier, compile_for, learn
        from ieql.range_learning import learn_between
        from ieql.run.recorder import Recorder
        from ieql.target import prepare
        from ieql.training.registry import trainer_of
        from ieql.training.trainers import restored

        data, outside = measured.data, measured.outside
        trainer = trainer_of(asked.trainer)
        known = None if asked.form is None else KnownForm.of(asked, data)
        if asked.guesses and not trainer.takes_guesses:
            raise IeqlError(
                f"The trainer {trainer.name!r} takes no guesses; leave them out, or use the "
                "trainer 'fast'."
            )
        evidence = _evidence(asked, measured)
        start += compile_for(trainer, asked.prior)
        with contextlib.ExitStack() as stack:
            observers: list[Observer] = []
            recorder = None
            if asked.run_dir is not None:
                settings = run_settings(
                    asked, data, None if outside is None else sha256_of(*outside)
                )
                if devices is not None:
                    settings[GROUPS] = sha256_of_texts(devices)
                if data.ranges is not None:
                    settings[RANGES] = sha256_of(*data.ranges.T)
                recorder = stack.enter_context(
                    Recorder(
                        asked.run_dir, settings, evidence.sha256, asked.prior, source, overwrite
                    )
                )
                observers.append(recorder)
            seed = recorder.seed if recorder is not None else None
            if seed is None:
                seed = seed_of(asked.random_state)
            targets = with_guesses(prepare(asked, data, outside, seed), asked.guesses)
            tasks = [t.task for t in targets]
            earlier = Earlier()
            if recorder is not None:
                state = recorder.begin(seed, lambda form: restored(trainer, form, tasks))
                earlier = Earlier(
                    state, recorder.earlier, recorder.seconds_before, recorder.trainings_before
                )
            if asked.progress:
                from ieql.progress import LiveDisplay

                observers.append(stack.enter_context(LiveDisplay(start, asked.max_time)))
            if devices is None:
                run = learn if known is None else partial(learn_form, known)
                if data.ranges is not None:
                    run = learn_between
                last = run(
                    asked,
                    measured,
                    targets,
                    trainer,
                    evidence,
                    seed=seed,
                    start=start,
                    earlier=earlier,
                    observers=observers,
                )
            else:
                from ieql.fleet import learn_fleet

                weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
                last = learn_fleet(
                    asked,
                    measured,
                    weight,
                    devices,
                    trainer,
                    evidence,
                    seed=seed,
                    start=start,
                    earlier=earlier,
                    observers=observers,
                    column=None if source is None else source.get("groups"),
                )
            self._not_stored = None if recorder is None else recorder.fault
        self._take(last)
        self._learned_from = (measured, seed) if devices is None else None
        self._seconds = time.monotonic() - start
        for doubt, sentence in self.fitted_.doubts():
            warnings.warn(sentence, doubt, stacklevel=3)
        return self

    def _take(self, snapshot: Snapshot) -> None:
        """Make what was learned the model's own."""
        self.fitted_ = snapshot.model
        self.evidence_ = snapshot.evidence

    def _checked_options(self, X_extra: Any, y_extra: Any) -> FitOptions:
        """Check everything that can be checked before any work is done."""
        asked = checked(self)
        if (X_extra is None) != (y_extra is None):
            raise IeqlError("Give X_extrapolation and y_extrapolation together, or neither.")
        criterion = CRITERIA[asked.selection]
        if EXTRAPOLATION in criterion.needs and X_extra is None:
            raise IeqlError(criterion.lacking(EXTRAPOLATION))
        return asked

    def _measured(
        self,
        asked: FitOptions,
        X: Any,
        y: Any,
        sample_weight: Any,
        X_extra: Any,
        y_extra: Any,
        ranges: Array | None = None,
    ) -> Measurements:
        """Check the user's tables and bring them in order."""
        X, given_y = as_pandas(X), as_pandas(y)
        y = given_y
        categories = _categories_of(X, asked.categories)
        X, _ = _with_levels(X, "X", categories)
        X, y = self._checked_data(X, y)
        names = self._input_names()
        targets = target_names(given_y, y)
        prior = categories.rules(asked.prior)
        prior.check_columns(names, targets)
        for name in targets:
            check_possible(prior.for_target(name), names)
        refuse_prior_without_inputs(prior, names)
        extra = self._checked_extrapolation(X_extra, y_extra, y, categories)
        if np.asarray(sample_weight).dtype.kind in "OUS":  # numbers have their own check
            check_table(sample_weight, "sample_weight", min_rows=0)
        weight = None if sample_weight is None else np.asarray(sample_weight)
        # Weights that do not fit the rows are refused with the numbers the user knows.
        fits = weight is None or weight.shape == (len(X),)
        rows = rows_in_time(X, asked.max_time) if fits else slice(None)
        data = Dataset.of(
            X[rows],
            y[rows],
            weight[rows] if weight is not None and fits else weight,
            self.domain,
            names,
            targets,
            None if extra is None else extra[0],
            categories.places(names),
            None if ranges is None else ranges[rows],
        )
        refuse_extremes(data)
        warn_of_constants(data)
        warn_of_large_counts(data, len(X))
        return Measurements(data, X, y, extra, hasattr(self, "feature_names_in_"), categories)

    def _input_names(self) -> list[str]:
        if hasattr(self, "feature_names_in_"):
            return [str(n) for n in self.feature_names_in_]
        return [f"x{i}" for i in range(self.n_features_in_)]

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
        self, X_extra: Any, y_extra: Any, y: Array, categories: Categories
    ) -> tuple[Array, Array] | None:
        if X_extra is None:
            return None
        y_extra = as_pandas(y_extra)
        X_extra, _ = _with_levels(as_pandas(X_extra), "X_extrapolation", categories)
        X_extra = self._by_name(X_extra, "X_extrapolation")
        check_table(X_extra, "X_extrapolation", min_rows=1)
        check_table(y_extra, "y_extrapolation", min_rows=1)
        X_extra = validate_data(self, X_extra, dtype=np.float64, reset=False)
        y_extra = check_array(y_extra, ensure_2d=False, dtype=np.float64)
        width = 1 if y.ndim == 1 else y.shape[1]
        y_extra = y_extra.reshape(len(y_extra), -1)
        if y_extra.shape != (len(X_extra), width):
            raise IeqlError(
                f"y_extrapolation has the shape {y_extra.shape}; {counted(len(X_extra), 'row')} "
                f"and {counted(width, 'column')} are needed, as in X_extrapolation and y."
            )
        return X_extra, y_extra

    def _by_name(self, X: Any, what: str) -> Any:
        """Return the inputs of a frame, whatever else it holds; refuse one that lacks any."""
        X = as_pandas(X)
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
                f"{what} has {counted(shape[1], 'column')}, but the fit has "
                f"{counted(self.n_features_in_, 'input')}; give the same columns in the same order."
            )
        return X

    def _without_others(self, X: Any) -> Any:
        """A frame with more columns than inputs, without the others; anything else as it is.

        One with as many columns is left to scikit-learn, which also minds their order.
        """
        names = getattr(self, "feature_names_in_", ())
        columns = getattr(X, "columns", ())
        return self._by_name(X, "X") if len(columns) > len(names) > 0 else X

    # --- the front -----------------------------------------------------------------------------

    def __str__(self) -> str:
        """The front, the selected equations and why they are; before a fit, the parameters."""
        if not hasattr(self, "fitted_"):
            return repr(self)
        from ieql.console import front_table, groups_table, visible

        model = self.fitted_
        equations = [c.expression for front in model.fronts for c in front]
        lines = [*front_table(self.equations_, equations, None), ""]
        for k, name in enumerate(model.targets):
            lines += [visible(f"{name} = {model.candidate(output=k).expression.text()}")]
            lines += [visible(f"  where {line}") for line in model.where(k)]
            lines += [model.why(k)]
        if model.groups:
            lines += ["", *groups_table(self.group_constants_, None)]
        if model.recalibrated is not None:
            lines += ["", *(visible(s) for of in model.recalibrated.sentences for s in of)]
        if len(model.targets) > 1:
            lines += ["", visible(model.whole().sentence())]
        return "\n".join(lines)

    def _repr_html_inner(self) -> str:
        """What a notebook shows: the equations and the front; before a fit, the parameters."""
        if not hasattr(self, "fitted_"):
            return str(super()._repr_html_inner())
        from ieql.report.notebook import notebook_html

        return notebook_html(self.fitted_)

    def _repr_latex_(self) -> str | None:
        """The selected equations as a formula; None before a fit, or if text is to be shown."""
        if not hasattr(self, "fitted_") or get_config()["display"] != "diagram":
            return None
        from ieql.report.notebook import notebook_latex

        return notebook_latex(self.fitted_)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """All of them, of which a notebook takes the first that it can show."""
        if not hasattr(self, "fitted_") or get_config()["display"] != "diagram":
            return dict(super()._repr_mimebundle_(**kwargs))
        bundle = {"text/plain": str(self), "text/html": self._repr_html_inner()}
        formula = self._repr_latex_()
        return bundle if formula is None else {**bundle, "text/latex": formula}

    def select(
        self,
        criterion: str | int,
        *,
        X_extrapolation: ArrayLike | None = None,
        y_extrapolation: ArrayLike | None = None,
    ) -> IEQLRegressor:
        """Select another equation of the front for good; nothing is relearned.

        What `predict`, the exports, the report and `save` mean by the selected equation follows.

        Parameters
        ----------
        criterion : str or int
            A criterion, or a row of `equations_` by its number.
        X_extrapolation, y_extrapolation : array-like, optional
            Other labelled points outside the data, for a criterion.

        Returns
        -------
        IEQLRegressor
            Itself.

        Examples
        --------
        >>> model.select(3)  # doctest: +SKIP
        """
        check_is_fitted(self, "fitted_")
        if isinstance(criterion, (int, np.integer)) and not isinstance(criterion, bool):
            if X_extrapolation is not None or y_extrapolation is not None:
                raise IeqlError("A row is selected by its number alone, without points outside.")
            self.fitted_ = self.fitted_.with_row(criterion)
            return self
        name: Any = criterion  # whatever else was given is refused by its name
        if (X_extrapolation is None) != (y_extrapolation is None):
            raise IeqlError("Give X_extrapolation and y_extrapolation together, or neither.")
        model = self.fitted_
        if X_extrapolation is None:
            self.fitted_ = model.selected_by(name)
            return self
        y_shape = np.empty((0,) if model.one_output else (0, len(model.targets)))
        extra = self._checked_extrapolation(
            X_extrapolation, y_extrapolation, y_shape, model.categories
        )
        assert extra is not None
        self.fitted_ = model.with_extrapolation(name, *extra)
        return self

    @property
    def equations_(self) -> pd.DataFrame:
        """The front as a table, simplest first; errors are in the unit of y.

        With several outputs, ``equations_.attrs["together"]`` says which units the selected
        equations share and what they cost together, as `whole` does.
        """
        return self._fitted().equations()

    @property
    def fronts_(self) -> tuple[tuple[Candidate, ...], ...]:
        """One front per output: the candidates behind `equations_`."""
        return self._fitted().fronts

    @property
    def selected_(self) -> tuple[int, ...]:
        """Place of the selected equation in each front."""
        return self._fitted().selected

    @property
    def criterion_(self) -> str:
        """What selected it."""
        return self._fitted().criterion

    @property
    def feature_names_(self) -> list[str]:
        """Names of the inputs; x0, x1, … where the data had none."""
        return list(self._fitted().names)

    @property
    def target_names_(self) -> list[str]:
        """Names of the outputs."""
        return list(self._fitted().targets)

    @property
    def domain_(self) -> dict[str, list[float]]:
        """The domain in which the equations were checked, by input."""
        return {name: list(pair) for name, pair in self._fitted().domain.items()}

    @property
    def n_trainings_(self) -> int:
        """Number of trainings that were done."""
        return self._fitted().n_trainings

    @property
    def interrupted_(self) -> bool:
        """Whether Ctrl-C ended the fit early."""
        return self._fitted().interrupted

    @property
    def stop_reason_(self) -> str:
        """Why the search ended and, after a semicolon, which structures were all tried."""
        return self._fitted().stop_reason

    @property
    def finished_(self) -> bool:
        """Whether the equations were finished."""
        return self._fitted().finished

    @property
    def unit_counts_(self) -> list[dict[str, int]]:
        """For each output, how often each unit occurs in all equations kept on the way."""
        return [dict(counts) for counts in self._fitted().unit_counts]

    @property
    def validation_(self) -> str:
        """What the validation error is."""
        return self._fitted().validation

    @property
    def outliers_(self) -> list[list[int]]:
        """For each output, the rows of X that were left out of the fit."""
        return [list(rows) for rows in self._fitted().outliers]

    def _fitted(self) -> FittedModel:
        check_is_fitted(self, "fitted_")
        return self.fitted_

    def expression(
        self, index: int | None = None, output: int = 0, *, precise: bool = False
    ) -> Expression:
        """The selected equation, or row `index` of the front, of one output.

        Its constants have the digits that their standard errors deserve or, with `precise`, all
        that were fitted. `predict` and the exports take `precise`, too; `equations_` and its errors
        are always those of the equation as it is shown.
        """
        check_is_fitted(self, "fitted_")
        return self.fitted_.candidate(index, output).equation(precise)

    def whole(self, index: int | None = None, *, precise: bool = False) -> Whole:
        """The selected equations of all outputs as one network, with shared units shared.

        Parameters
        ----------
        index : int, optional
            Another equation of one output: a row of `equations_`, as in `predict`.
        precise : bool, default False
            With all fitted digits, not only those that are shown.

        Returns
        -------
        Whole
            ``expression``, one graph with all outputs; its ``complexity``, in which what is inside
            a shared unit is counted once; ``complexity_apart``, the sum over the equations; and
            ``shared``, the units that several outputs use. Printed, it says all of that.
        """
        return self._fitted().whole(index, precise)

    def parts(self, index: int | None = None) -> pd.DataFrame:
        """What was learned of the parts of a known form (`form`).

        Parameters
        ----------
        index : int, optional
            Another equation: a row of `equations_`, as in `predict`.

        Returns
        -------
        DataFrame
            One row for each part: ``part``, its name with its inputs as they stand in the form, and
            ``equation``. Empty if no form was given.
        """
        return self._fitted().parts(index)

    def constants(self, index: int | None = None, precise: bool = False) -> pd.DataFrame:
        """The constants of the selected equation with their standard errors.

        There is one row for each number that is written in the equation: not for factors of 1 or
        the exponent of a square. The errors come from the scatter of the rows about the equation,
        given its structure; where the rows show that noise is larger in some places than in others,
        they mind it.

        Parameters
        ----------
        index : int, optional
            Of another equation: a row of `equations_`, as in `predict`.
        precise : bool, default False
            With all fitted digits, not only those that are shown.

        Returns
        -------
        DataFrame
            ``value``; ``standard_error`` (NaN if it is not known); ``of``, what the constant
            multiplies or where it stands, as in "factor of exp(-0.5*t)", "offset", "factor of t
            inside exp" or "exponent of Re"; and ``unit``, its physical unit, which is empty as
            long as the inputs have none. With several outputs the column ``output`` comes first.
        """
        return self._fitted().constants(index, precise)

    def alternatives(self, index: int | None = None, output: int | None = None) -> pd.DataFrame:
        """What else it could be: structures that the rows cannot tell from the selected equation.

        They come from the front and from its rivals, which are kept with the model: all whose
        descriptions of the data (criterion MDL) are as short within 5 nats, odds of 150 to 1. An
        equation that has the same values in the whole domain is left out, however it is written.
        The answer needs no data, so a loaded model gives the same.

        Parameters
        ----------
        index : int, optional
            Compare with another equation: a row of `equations_`, as in `predict`.
        output : int, optional
            Only of this output, and `index` counts the rows of its front, as in `expression`;
            default: of all outputs, or of the one that `index` belongs to.

        Returns
        -------
        DataFrame
            The best description first: the ``equation`` as text; ``nats``, how much longer its
            description is (below zero if it is shorter); ``largest_difference`` from the other one
            in the domain, in the unit of y (infinite where only one of them has a value);
            ``where`` that is, from input to value; and ``rows_needed``, how many more rows like
            those of the fit would decide by 10 nats, about (infinite if the two do not differ
            there). With several outputs the column ``output`` comes first.
        """
        import pandas as pd

        from ieql.alternatives import alternatives

        model = self._fitted()
        if output is not None:
            asked = [(self._checked_output(output), index)]
        else:
            asked = [
                (k, row)
                for k, row in enumerate(model.rows_of(index))
                if index is None or row is not None
            ]
        several = len(model.targets) > 1
        names = ["equation", "nats", "largest_difference", "where", "rows_needed"]
        rows = [
            {
                "output": model.targets[k],
                "equation": found.candidate.expression.text(),
                "nats": found.nats,
                "largest_difference": found.largest_difference,
                "where": found.where,
                "rows_needed": int(found.rows_needed) if found.rows_needed < np.inf else np.inf,
            }
            for k, row in asked
            for found in alternatives(model, row, k)
        ]
        return pd.DataFrame(rows, columns=[*["output"] * several, *names])

    def suggest(
        self,
        n: int = 5,
        limits: Mapping[str, Any] | None = None,
        *,
        output: int | None = None,
    ) -> pd.DataFrame:
        """Where to measure next: points at which the equations that the rows leave open disagree.

        These are the equations of the front, and their rivals, whose descriptions of the data
        (criterion MDL) are at most 10 nats longer than the shortest. The points are spread out,
        since a second row near another tells little more. Inputs that none of the equations uses
        stay in the middle. If there is only one such equation, the points are where the errors of
        its constants leave its prediction most uncertain. The answer needs no data and is always
        the same for the same model.

        Parameters
        ----------
        n : int, default 5
            Number of points, at most 100.
        limits : mapping, optional
            Where inputs can be set: ``{"speed": (0, 3000)}``, one number (``{"load": 0.5}``), or
            values to choose from (``{"gear": [1, 2, 3]}``; of two values make a set, as two
            numbers in a list or tuple are an interval). Points lie in the domain unless these
            limits reach beyond it.
        output : int, optional
            Only what is open about this output counts; default: about all.

        Returns
        -------
        DataFrame
            One row per point, the first tells most: the inputs; what the ``selected`` equation
            predicts there and what its strongest ``rival`` there does; their ``disagreement`` in
            units of the noise (infinite where only one of them has a value); and the
            ``rival_equation``. Without rivals these are missing. With several outputs,
            ``output`` says of which one a point tells most. Its ``attrs["sentence"]`` says how
            the points were chosen.

        Examples
        --------
        >>> model.suggest(3, limits={"speed": (0, 3000), "load": 0.5})  # doctest: +SKIP
        """
        if output is not None:
            output = self._checked_output(output)
        return self._fitted().suggest(n, limits, output)

    def try_equation(
        self,
        text: str,
        refit: bool = True,
        *,
        output: int = 0,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        sigma: Any = None,
        y_range: Any = None,
    ) -> pd.Series:
        """An equation of one's own beside the front: fitted to the same rows, and judged alike.

        Parameters
        ----------
        text : str
            The equation, such as ``"a*speed**2 + b"``: names that are no inputs are constants, and
            are fitted; see `ieql.fit_formula`.
        refit : bool, default True
            Fit the numbers of an equation without such names, from those that are given; False
            takes it as it stands. Beside names, numbers stay as they are.
        output : int, default 0
            For which output it is.
        X, y, sample_weight, sigma, y_range : optional
            The rows of the fit, for a model that was loaded: they are not saved with it.

        Returns
        -------
        Series
            A row as in `equations_`, and ``nats``: how much longer the description of the data by
            it is than by the selected equation (criterion MDL; below zero if it is shorter). Its
            ``attrs`` hold ``sentences`` that say what that means, and ``constants``: value and
            standard error of each constant with a name.

        Examples
        --------
        >>> model.try_equation("a*speed**2 + b")  # doctest: +SKIP
        """
        import pandas as pd

        from ieql.own_equation import judged

        model = self._fitted()
        measured, seed = self._rows_of_fit(X, y, _weight(X, sample_weight, sigma), y_range)
        k = self._checked_output(output)
        own = judged(model, measured, text, k, refit, seed)
        row: dict[str, Any] = {"output": model.targets[k]} if len(model.targets) > 1 else {}
        row |= {**table_row(own.candidate), "selected": False, "nats": own.nats}
        found = pd.Series(row, dtype=object)
        found.attrs = {"sentences": list(own.sentences), "constants": own.constants}
        return found

    def prove(self, index: int | None = None, *, output: int = 0) -> Proof:
        """Prove what can be proved of an equation in the whole declared domain.

        That is whether every unit is defined and the output finite, between which values the output
        lies, and whether it keeps to every limit of the prior's ``shape`` and to `output_bound`. It
        takes a second or two, and needs no data.

        Parameters
        ----------
        index : int, optional
            Another equation: a row of `equations_`, as in `predict`.
        output : int, default 0
            Whose selected equation is meant if there are several outputs and no `index`.

        Returns
        -------
        Proof
            With ``safe``, ``bounds``, ``limits``, ``counterexample`` and ``open_boxes``;
            ``save(path)`` writes a certificate that the file ``check_certificate.py`` of this
            package checks without ieql.

        Examples
        --------
        >>> model.prove().save("certificate.json")  # doctest: +SKIP
        """
        from ieql.proofs import prove

        model = self._fitted()
        k, row = self._checked_output(output), None
        if index is not None:
            rows = model.rows_of(index)
            k, row = next((k, r) for k, r in enumerate(rows) if r is not None)
        return prove(model.candidate(row, k).expression, model.domain, model.limits)

    def _rows_of_fit(
        self, X: Any, y: Any, sample_weight: Any, y_range: Any
    ) -> tuple[Measurements, int]:
        """What the model has learned from, and the seed: as it was at the fit, or given again."""
        model = self._fitted()
        if model.groups:
            raise IeqlError(
                "The rows belong to several groups; try the equation in one of them: "
                "model.group(name).try_equation(text, X=X, y=y) with the rows of that group."
            )
        if X is None:
            known: tuple[Measurements, int] | None = getattr(self, "_learned_from", None)
            if known is None:
                raise IeqlError(
                    "The rows of the fit are not saved with a model; give them again as X and y."
                )
            return known
        table = self._rows_to_predict(_with_levels(as_pandas(X), "X", model.categories)[0])
        if y is None and y_range is None:
            raise IeqlError("Give X and y together, or neither.")
        if y_range is not None:
            y, y_range = _with_values(y, y_range, len(table))
        targets = self._checked_targets(y, table)
        data = Dataset.of(
            table, targets, sample_weight, model.box, model.names, model.targets, ranges=y_range
        )
        return Measurements(data, table, targets), seed_of(seed_number(model.options))

    def recalibrate(
        self,
        X: ArrayLike | pd.DataFrame,
        y: ArrayLike | pd.DataFrame | pd.Series[Any],
        index: int | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> IEQLRegressor:
        """Another model for new rows: the same structure, new constants.

        For another device of the same kind, or the same one after a year. The constants stay near
        the old ones: how far each may move is what the new rows give evidence for. So a handful of
        rows will do, also fewer than there are constants; with many the old constants have no say.
        Exponents that are simple numbers stay. The new equation is proved safe in the domain, which
        for inputs without a declared one is widened to the new rows.

        Parameters
        ----------
        X, y : as in `fit`
            The new rows, of any number.
        index : int, optional
            Another equation: a row of `equations_`, as in `predict`.
        sample_weight : array (rows,), optional
            As in `fit`.

        Returns
        -------
        IEQLRegressor
            A model of its own with one equation per output; this one stays as it is. Its
            `recalibrated_` says what moved, and whether the structure still holds.

        Examples
        --------
        >>> model.recalibrate(X_new, y_new).recalibrated_  # doctest: +SKIP
        """
        from ieql.recalibration import recalibrated_model

        start = time.monotonic()
        model = self._fitted()
        X, _ = _with_levels(as_pandas(X), "X", model.categories)
        X = self._by_name(X, "X")
        check_table(X, "X", min_rows=1)
        # Where nothing was declared, the domain is widened to hold them.
        table = self._rows_to_predict(X, warns=bool(model.declared))
        targets = self._checked_targets(y, table)
        sha256 = sha256_of(table, targets, sample_weight)
        moved = recalibrated_model(model, table, targets, sample_weight, index)
        new = IEQLRegressor._of(replace(moved, data_sha256=sha256))
        new.evidence_ = Evidence.of(
            table,
            targets,
            model.names,
            model.targets,
            sha256=sha256,
            seconds=time.monotonic() - start,
            seed=None,
            versions=versions(),
            unit_counts=[{} for _ in model.targets],
        )
        return new

    @property
    def recalibrated_(self) -> pd.DataFrame:
        """What `recalibrate` moved: a frame of the constants before and after.

        Its columns are ``of`` (where the constant stands), ``old``, ``new``, ``standard_error`` of
        the new one, and ``moved``, the difference in its standard errors; with several outputs
        ``output`` comes first. ``attrs["sentences"]`` say in words what moved, and whether the
        structure still holds.
        """
        moved = self._fitted().recalibrated
        if moved is None:
            raise AttributeError("recalibrated_: the model does not come from recalibrate().")
        return moved.frame(self.target_names_)

    def _checked_targets(self, y: Any, table: Array) -> Array:
        """Targets for rows of a table as an array (rows, outputs), checked."""
        model = self._fitted()
        y = as_pandas(y)
        if hasattr(y, "columns"):
            for name in model.targets if model.is_named and len(model.targets) > 1 else ():
                if name not in y.columns:
                    raise IeqlError(
                        f"y lacks the column {name!r}, which is an output of the fit."
                        f"{nearest(name, y.columns)}"
                    )
            if model.is_named and len(model.targets) > 1:
                y = y[list(model.targets)]
        check_table(y, "y", min_rows=1)
        targets = np.asarray(y, dtype=np.float64)
        if targets.shape[:1] != (len(table),):
            raise IeqlError(f"X has {len(table)} rows but y has the shape {targets.shape}.")
        targets = targets.reshape(len(table), -1)
        if targets.shape[1] != len(model.targets):
            raise IeqlError(
                f"y has {counted(targets.shape[1], 'column')}, but the fit has "
                f"{counted(len(model.targets), 'output')}."
            )
        return targets

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the rows of the fit stay behind, as they do in a saved model."""
        state: dict[str, Any] = super().__getstate__()
        return {k: v for k, v in state.items() if k != "_learned_from"}

    @property
    def groups_(self) -> list[str]:
        """The groups that `fit` was given; empty if it was given none."""
        return list(self._fitted().groups)

    @property
    def group_constants_(self) -> pd.DataFrame:
        """The constants of the selected equation in each group.

        One row per group and constant: ``group``, ``of`` (where it stands), ``value``,
        ``standard_error``, and ``shared``, whether all groups have the same; with several outputs
        ``output`` comes first.
        """
        return self._fitted().group_constants()

    def group(self, name: Any) -> IEQLRegressor:
        """The model of one group: the same front with the constants of this group.

        It is a model like any other: it predicts, exports, reports and is saved by itself.
        """
        return IEQLRegressor._of(self._fitted().for_group(str(name)))

    def predict(
        self,
        X: ArrayLike | pd.DataFrame,
        index: int | None = None,
        *,
        precise: bool = False,
        groups: ArrayLike | pd.Series[Any] | None = None,
    ) -> Array:
        """Values of the selected equation, or of row `index` of `equations_`.

        NaN where the equation is undefined. With several outputs `index` chooses the equation of
        the output it belongs to; the others keep their selected one. With `precise` the constants
        have all digits that were fitted, not only those that are shown. Columns of a frame that are
        not inputs are ignored. `groups` are those of the rows, for a model that was fitted with
        groups; a group that the fit did not have gets the constants of the whole fleet, as all do
        without `groups`, and a warning says so.

        Warns
        -----
        ieql.errors.OutsideDomainWarning
            Once per call, if rows lie outside the domain, where the equation was never checked:
            for inputs with a declared domain, anywhere outside of it; for the others, outside the
            range of the data by more than half its width (new rows of the same kind, such as those
            of a cross-validation, often lie outside of it by less).
        """
        check_is_fitted(self, "fitted_")
        table = self._rows_to_predict(X)
        parts = self._parts(groups, len(table))
        values = [model.predict(table[rows], index, precise) for model, rows in parts]
        return _put_together(values, parts, len(table))

    def _rows_to_predict(self, X: Any, warns: bool = True) -> Array:
        """Rows to predict as an array of the inputs, checked; warns of those outside the domain."""
        categories = self._fitted().categories
        X, unknown = _with_levels(as_pandas(X), "X", categories, refuses=False)
        X = self._without_others(X)
        check_table(X, "X", min_rows=0)
        warn_of_rounding(X, "X")
        table: Array = validate_data(self, X, dtype=np.float64, reset=False)
        if warns:
            self._warn_of_rows_outside(table)
        for places, rows in zip(categories.places(self.feature_names_), unknown.T, strict=False):
            table[np.ix_(rows, places)] = np.nan  # an equation that uses them has no value
        return table

    def predict_interval(
        self,
        X: ArrayLike | pd.DataFrame,
        level: float = 0.9,
        index: int | None = None,
        *,
        precise: bool = False,
        groups: ArrayLike | pd.Series[Any] | None = None,
    ) -> Array:
        """Between which values new measurements lie, of which a share `level` does.

        The interval holds the noise of a measurement and the uncertainty of the constants, so it
        is wider outside the data; and wider where the rows show that noise is larger there. How
        wide it must be comes from the rows of the fit, each predicted by the others, not from a
        normal distribution. That the equation might be another one is not part of it, and neither
        are outliers that were left out of the fit. A loaded model gives the same answer.

        Parameters
        ----------
        X : DataFrame or array (rows, inputs)
            As in `predict`, with the same warning outside the domain.
        level : float, default 0.9
            The share of new measurements that lie between the two ends, between 0 and 1.
        index : int, optional
            Another equation: a row of `equations_`, as in `predict`.
        precise : bool, default False
            Use the constants with all their fitted digits.
        groups : array (rows,), optional
            As in `predict`. The interval of a group that the fit did not have is wide enough for
            constants that differ from the fleet's as those of the others do.

        Returns
        -------
        array (rows, 2) or, with several outputs, (rows, 2, outputs)
            Lower and upper ends. NaN where the equation is undefined; infinite if there were no
            more rows than constants.
        """
        check_is_fitted(self, "fitted_")
        table = self._rows_to_predict(X)
        parts = self._parts(groups, len(table))
        ends = [model.predict_interval(table[rows], level, index, precise) for model, rows in parts]
        return _put_together(ends, parts, len(table))

    def _parts(self, groups: Any, n: int) -> list[tuple[FittedModel, NDArray[np.bool_]]]:
        """Which model predicts which rows: that of each group, or the one there is."""
        model = self.fitted_
        if groups is None:
            return [(model, np.ones(n, dtype=bool))]
        if not model.groups:
            raise IeqlError("The model was fitted without groups; leave them out.")
        labels = checked_groups(groups, n, least=1)
        unknown = [name for name in dict.fromkeys(labels.tolist()) if name not in model.groups]
        if unknown:
            named = _in_words([repr(name) for name in unknown], what="groups")
            warnings.warn(
                f"The fit had no group {named}; the constants of the whole fleet are used there: "
                "recalibrate the model with a few rows of such a group.",
                OutsideDomainWarning,
                stacklevel=4,
            )
        return model.by_device(labels.tolist())

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination R² of `predict`, with its warnings.

        Raises an `IeqlError` if the equation is undefined in some rows: these have no error.
        """
        from sklearn.metrics import r2_score

        y = as_pandas(y)
        check_table(y, "y", min_rows=0)
        found = self.predict(X)
        undefined = ~np.isfinite(found.reshape(len(found), -1)).all(axis=1)
        if undefined.any():
            raise IeqlError(
                f"The equation has no finite value in {int(undefined.sum())} of {len(found)} rows, "
                f"first in data row {int(undefined.argmax()) + 1}, so there is no score; leave "
                "these rows out, or fit again with a domain that holds them."
            )
        return float(r2_score(y, found, sample_weight=sample_weight))

    def _warn_of_rows_outside(self, table: Array) -> None:
        """Say which rows lie outside the domain, and in which inputs."""
        model = self.fitted_
        outside = model.outside(table)
        columns = np.flatnonzero(outside.any(axis=0))
        if not len(columns):
            return
        counts = [(model.names[j], int(outside[:, j].sum())) for j in columns]
        where = _in_words([f"{name} ({n} row{'s' * (n > 1)})" for name, n in counts])
        concerned = {name in model.declared for name, _ in counts}
        box = "domain" if len(concerned) > 1 else "declared domain"
        warnings.warn(
            f"{int(outside.any(axis=1).sum())} of {len(table)} rows lie outside the "
            f"{box if True in concerned else 'range of the data'} in {where}; the equation was not "
            "checked there and its values may be wrong: leave these rows out, or fit again with a "
            "domain that holds them.",
            OutsideDomainWarning,
            stacklevel=4,
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
            Use the constants with all their fitted digits.
        **options
            What the format takes: ``digits``, ``real``, ... Where it has several files to write,
            such as code and its test, ``part`` says which.

        Returns
        -------
        str or bytes
            The content of the file: text, or bytes if the format is not text.
        """
        from ieql.export.formats import find_format

        chosen = find_format(format)
        chosen.check(options)
        equations = self._equations(index, precise)
        if index is not None and not chosen.all_outputs and len(equations) > 1:
            rows = zip(equations, self.fitted_.rows_of(index), strict=True)
            equations = [equation for equation, row in rows if row is not None]
        origin = self._origin(index) if chosen.takes_origin else None
        content = chosen(equations, self.domain_, origin=origin, **options)
        if path is not None:
            save_text(path, content)
        return content

    def in_units(
        self,
        units: Mapping[str, str],
        index: int | None = None,
        output: int = 0,
        *,
        precise: bool = False,
    ) -> Expression:
        """The selected equation in other physical units, exactly converted.

        Parameters
        ----------
        units : mapping of str to str
            The units that are wanted, by column, such as ``{"speed": "m/s"}``; other columns stay
            in those that the prior says (`Prior.quantities`). The target may be among them.
        index : int, optional
            Another equation: a row of `equations_`, as in `predict`.
        output : int, default 0
            Which output.
        precise : bool, default False
            Use the constants with all their fitted digits.
        """
        from ieql.equations.conversion import in_units

        e = self.expression(index, output, precise=precise)
        return in_units(e, self.fitted_.prior, self.target_names_[output], units)

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
            Round to this many significant digits; default: the constants as they are.
        substitutions : bool, default False
            Give parts that occur more than once a name and a line of their own.
        precise : bool, default False
            Use the constants with all their fitted digits.
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
            Use the constants with all their fitted digits.
        """
        from ieql.export.c import c_code

        return c_code(
            self._equations(index, precise),
            real=real,
            name=name,
            domain=self.domain_,
            origin=self._origin(index),
        )

    def python(
        self, index: int | None = None, name: str | None = None, *, precise: bool = False
    ) -> str:
        """Python module of the selected equation, with one function per output; it needs NumPy.

        Parameters are those of `c`.
        """
        from ieql.export.python import python_code

        equations, origin = self._equations(index, precise), self._origin(index)
        return python_code(equations, name=name, domain=self.domain_, origin=origin)

    def _equations(self, index: int | None, precise: bool = False) -> list[Equation]:
        """Return target and expression of each output, in the rows that `index` means."""
        from ieql.export.functions import Equation

        check_is_fitted(self, "fitted_")
        found = zip(self.fitted_.targets, self.fitted_.expressions(index, precise), strict=True)
        return [Equation(name, expression) for name, expression in found]

    def _origin(self, index: int | None) -> Origin:
        """What the heading of an exported file says of the data and the errors."""
        from ieql.export.origin import Origin

        model = self.fitted_
        rows = enumerate(model.rows_of(index))
        errors = {model.targets[k]: model.candidate(row, k).rmse_validation for k, row in rows}
        levels = model.categories.inputs
        return Origin(model.data_sha256, errors, model.prior.quantities, levels)

    # --- files ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as JSON, whole or not at all; never pickle."""
        check_is_fitted(self, "fitted_")
        save_text(path, self.fitted_.to_json())

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
        return cls._of(read_model(path, prior))

    @classmethod
    def _of(cls, fitted: FittedModel) -> IEQLRegressor:
        """An estimator that holds a fitted model."""
        model = cls(**parameters(fitted.options))
        model.fitted_ = fitted
        model.n_features_in_ = len(fitted.names)
        if fitted.is_named:
            model.feature_names_in_ = np.array(fitted.names, dtype=object)
        return model


def resume_run(path: str | os.PathLike[str], **changes: Any) -> IEQLRegressor:
    """Continue a run within other limits (``max_time``, ``n_jobs`` …); returns the fitted model.

    Raises
    ------
    IeqlError
        If the run was started from Python, where the data came from no file, or if a file is gone.
    """
    from ieql.run.resume import read_asked

    asked = read_asked(path)
    model = IEQLRegressor(**{**parameters(asked.options), **changes})
    X_extra, y_extra = asked.outside or (None, None)
    return model._fit(
        asked.X,
        asked.y,
        asked.weight,
        X_extra,
        y_extra,
        asked.source,
        groups=asked.groups,
        ranges=asked.ranges,
    )


def _weight(X: Any, sample_weight: Any, sigma: Any) -> Any:
    """Weights of the rows, as they are given or by standard deviations."""
    if sigma is None:
        return sample_weight
    if sample_weight is not None:
        raise IeqlError("Give sample_weight or sigma, not both: sigma stands for weights 1/σ².")
    if np.asarray(sigma).dtype.kind in "OUS":
        check_table(sigma, "sigma", min_rows=0)
    return weights_of(sigma, len(X))


def _with_values(y: Any, ranges: Any, n: int) -> tuple[Any, Array]:
    """The target with a value in every row, named as the user has it, and its ranges, checked."""
    given = as_pandas(y)
    values, bounds = checked_ranges(as_pandas(ranges), given, n)
    if hasattr(given, "columns"):
        return given.assign(**{given.columns[0]: values}), bounds
    if hasattr(given, "iloc"):
        return type(given)(values, index=given.index, name=given.name), bounds
    return values, bounds


def _evidence(asked: FitOptions, measured: Measurements) -> Evidence:
    """What figures and report need of this fit; kept apart from the saved model."""
    data = measured.data
    return Evidence.of(
        data.X,
        data.y,
        data.feature_names,
        data.target_names,
        measured.outside,
        sha256=sha256_of(data.X, data.y, data.weight),
        seconds=0.0,
        seed=seed_number(asked),
        versions=versions(),
        unit_counts=[{} for _ in data.target_names],
    )


def _categories_of(X: Any, names: Sequence[str]) -> Categories:
    """The levels that the columns of words have."""
    if not names:
        return Categories()
    if not hasattr(X, "columns"):
        raise IeqlError(
            f"categories names columns of X ({names[0]!r}), so X must be a DataFrame with names."
        )
    return Categories.of(X, names)


def _with_levels(
    X: Any, what: str, categories: Categories, refuses: bool = True
) -> tuple[Any, NDArray[np.bool_]]:
    """A table with inputs for levels in place of columns of words, and which rows have others.

    Levels that the fit did not have are refused, or a warning names them. A table that has the
    inputs already, or no names, stays as it is.
    """
    nothing = np.zeros((0, 0), dtype=bool)
    if not categories or not hasattr(X, "columns"):
        return X, nothing
    if set(categories.inputs) <= set(X.columns):
        return X, nothing
    for name in categories.levels:
        if name not in X.columns:
            raise IeqlError(
                f"{what} lacks the column {name!r}, which is a category of the fit."
                f"{nearest(name, X.columns)}"
            )
    table, unknown = categories.encoded(X, what)
    if unknown.any():
        levels = categories.unknown_levels(X, unknown)
        n = int(unknown.any(axis=1).sum())
        words = f"{n} of {len(X)} rows of {what} have a level that the fit did not have: {levels}"
        if refuses:
            raise IeqlError(f"{words}; leave them out, or fit again with such rows.")
        warnings.warn(
            f"{words}; an equation that uses it has no value there.",
            OutsideDomainWarning,
            stacklevel=4,
        )
    return table, unknown


def _put_together(
    values: Sequence[Array], parts: Sequence[tuple[Any, NDArray[np.bool_]]], n: int
) -> Array:
    """What was computed for parts of the rows, in the order of the rows."""
    whole = np.full((n, *values[0].shape[1:]), np.nan)
    for own, (_, rows) in zip(values, parts, strict=True):
        whole[rows] = own
    return whole


def _in_words(items: list[str], limit: int = 5, what: str = "inputs") -> str:
    """``a``, ``a and b``, ``a, b and c``; of many the first, and how many more there are."""
    if len(items) > limit:
        items = [*items[:limit], f"{len(items) - limit} more {what}"]
    return " and ".join(filter(None, [", ".join(items[:-1]), items[-1]]))


def _with_parameters(text: str | None) -> str:
    """A docstring with the options, which are declared elsewhere, before its attributes."""
    import textwrap

    section = textwrap.indent(documentation(), "    ")
    return str(text).replace("    Attributes\n", f"{section}\n\n    Attributes\n", 1)


IEQLRegressor.__doc__ = _with_parameters(IEQLRegressor.__doc__)
