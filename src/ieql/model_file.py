"""A fitted model as plain JSON, and back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from ieql.data.dataset import declared_inputs
from ieql.data.table import HALVES
from ieql.doubts import HELD_OUT, VALIDATIONS
from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.files import MAX_NAME
from ieql.prior import Prior
from ieql.run.folder import OF_OLD
from ieql.selection import CRITERIA, Candidate
from ieql.units import Unit

if TYPE_CHECKING:
    from ieql.regressor import IEQLRegressor

__all__ = ["candidate_form", "from_form", "read_candidate", "to_form"]

FORMAT = 1
"""Version of the form; a file of another version is refused with a word."""
KEPT_PARAMETERS = (
    "trainer",
    "layers",
    "copies",
    "output_bound",
    "selection",
    "validation_fraction",
    "loss",
    "max_time",
    "min_time",
    "max_trainings",
    "n_jobs",
    "progress",
)
MAX_WRITTEN = 50_000_000
"""Characters of all equations of a model with all their parts, about."""
ERRORS = ("rmse_train", "rmse_validation", "rmse_extrapolation")


def to_form(model: IEQLRegressor) -> dict[str, Any]:
    """Plain dictionaries, lists and numbers; a number that is not finite becomes None."""
    prior = Prior.of(model.prior)
    return {
        "format": FORMAT,
        "kind": "ieql model",
        "parameters": {name: _plain(getattr(model, name)) for name in KEPT_PARAMETERS},
        "prior": None if prior.custom else prior.to_dict(),
        "named": hasattr(model, "feature_names_in_"),
        "features": list(model.feature_names_),
        "targets": list(model.target_names_),
        "one_output": bool(model._one_output),
        "domain": model.domain_,
        "domain_is_declared": model.domain is not None,
        "declared_inputs": declared_inputs(model.domain, model.feature_names_),
        "mean_errors": model.mean_errors_,
        "n_rows": [int(n) for n in model.n_rows_],
        "n_data_rows": int(model._n_data_rows),
        "validation": model.validation_,
        "outliers": [[int(row) for row in rows] for rows in model.outliers_],
        "largest_complexities": [float(c) for c in model.largest_complexities_],
        "criterion": model.criterion_,
        "selected": [int(k) for k in model.selected_],
        "n_trainings": int(model.n_trainings_),
        "stop_reason": model.stop_reason_,
        "interrupted": bool(model.interrupted_),
        "finished": bool(getattr(model, "finished_", True)),
        "fronts": [[candidate_form(c) for c in front] for front in model.fronts_],
    }


def _plain(value: Any) -> Any:
    """A number of NumPy's as one of Python's, settings as a mapping."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.item() if hasattr(value, "item") else value


def candidate_form(c: Candidate) -> dict[str, Any]:
    """A candidate as plain dictionaries, lists and numbers."""
    return {
        "expression": c.expression.to_dict(),
        "complexity": c.complexity,
        "n_parameters": c.n_parameters,
        **{name: _finite(getattr(c, name)) for name in ERRORS},
        "standard_errors": None
        if c.standard_errors is None
        else [_finite(e) for e in c.standard_errors],
        "precise": None if c.precise is None else c.precise.to_dict(),
        "proved": c.proved,
        "excess": _finite(c.excess),
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def from_form(cls: type[IEQLRegressor], form: Any, where: str, prior: Any = None) -> IEQLRegressor:
    """Build a fitted model from its form; anything unexpected is refused with a sentence."""
    import numpy as np

    if not isinstance(form, Mapping) or form.get("kind") != "ieql model":
        raise IeqlError(f"{where!r} is not a saved model: it was not written by save().")
    if form.get("format") != FORMAT:
        found = repr(form.get("format"))[:20]
        raise IeqlError(
            f"{where!r} has the format {found}, but this version of ieql reads format {FORMAT}; "
            "install a newer version."
        )
    try:
        stored = form["prior"]
        knowledge = Prior.of(prior) if prior is not None else Prior.from_dict(stored or {})
        custom = {u.name: u for u in knowledge.custom}
        given = OF_OLD | form["parameters"]
        parameters = {k: v for k, v in given.items() if k in KEPT_PARAMETERS}
        bounds = {str(k): (float(a), float(b)) for k, (a, b) in form["domain"].items()}
        # An input that was the same in every row has no width, and never was declared. Files of
        # old do not say which were, if some were: there all count.
        names = form.get("declared_inputs", list(bounds))
        declared = {k: (a, b) for k, (a, b) in bounds.items() if a < b and k in names}
        domain = declared if form["domain_is_declared"] else None
        model = cls(prior=knowledge, domain=domain, **parameters)
        model.feature_names_ = [str(n) for n in form["features"]]
        model.n_features_in_ = len(model.feature_names_)
        if form["named"]:
            model.feature_names_in_ = np.array(model.feature_names_, dtype=object)
        model.target_names_ = [str(n) for n in form["targets"]]
        model._one_output = bool(form["one_output"])
        model.domain_ = {k: [a, b] for k, (a, b) in bounds.items()}
        model.mean_errors_ = [{str(k): float(v) for k, v in e.items()} for e in form["mean_errors"]]
        n_train, n_validation = form["n_rows"]
        model.n_rows_ = (int(n_train), int(n_validation))
        model.largest_complexities_ = [float(c) for c in form["largest_complexities"]]
        model.criterion_ = str(form["criterion"])
        model.n_trainings_ = int(form["n_trainings"])
        model.stop_reason_ = str(form["stop_reason"])
        model.interrupted_ = bool(form["interrupted"])
        model.finished_ = bool(form.get("finished", True))  # files of old do not say it
        model.fronts_ = [[read_candidate(c, custom) for c in front] for front in form["fronts"]]
        model.selected_ = [int(k) for k in form["selected"]]
        _read_doubts(model, form)
        _check(model)
    except IeqlError as error:
        hint = ""
        if prior is None and form.get("prior") is None:
            hint = " It was learned with units of your own: hand their prior to load()."
        raise IeqlError(f"{where!r} cannot be read: {error}{hint}") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise IeqlError(f"{where!r} is not a whole saved model: {repr(error)[:200]}.") from None
    return model


def read_candidate(form: Mapping[str, Any], custom: Mapping[str, Unit]) -> Candidate:
    """The inverse of `candidate_form`; `custom` are the user's own units, by name."""
    errors = {name: float("nan") if form[name] is None else float(form[name]) for name in ERRORS}
    stored, precise, proved = form["standard_errors"], form.get("precise"), form.get("proved")
    if proved is not None and not isinstance(proved, bool):
        raise IeqlError("whether an equation is proved is not said by true, false or null.")
    excess = form.get("excess")
    return Candidate(
        expression=Expression.from_dict(form["expression"], custom),
        complexity=float(form["complexity"]),
        n_parameters=int(form["n_parameters"]),
        standard_errors=None
        if stored is None
        else tuple(float("nan") if e is None else float(e) for e in stored),
        precise=None if precise is None else Expression.from_dict(precise, custom),
        proved=proved,
        excess=float("nan") if excess is None else float(excess),
        **errors,
    )


def _read_doubts(model: IEQLRegressor, form: Mapping[str, Any]) -> None:
    """How the errors were had and which rows were left out; files of old do not say it."""
    model.validation_ = form.get("validation", HELD_OUT)
    if not isinstance(model.validation_, str) or model.validation_ not in VALIDATIONS:
        raise IeqlError("what its validation error is, is unknown.")
    n = form.get("n_data_rows", sum(model.n_rows_))
    outliers = form.get("outliers", [[] for _ in model.target_names_])
    if not _is_count(n) or not isinstance(outliers, list):
        raise IeqlError("its rows are not counted by whole numbers.")
    model._n_data_rows, model.outliers_ = n, outliers
    for rows in outliers:
        if not isinstance(rows, list) or not all(_is_count(row) and row < n for row in rows):
            raise IeqlError("its outliers are not the numbers of rows.")
        if len(rows) > n or any(a >= b for a, b in itertools.pairwise(rows)):
            raise IeqlError("its outliers are not in order.")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check(model: IEQLRegressor) -> None:
    """The parts of a stored model must fit each other."""
    n = len(model.target_names_)
    parts = (
        model.fronts_,
        model.selected_,
        model.mean_errors_,
        model.largest_complexities_,
        model.outliers_,
    )
    if n == 0 or any(len(part) != n for part in parts):
        raise IeqlError("its parts do not belong together.")
    if list(model.domain_) != model.feature_names_:
        raise IeqlError("its domain does not fit the inputs.")
    if model.criterion_ not in CRITERIA or any("validation" not in e for e in model.mean_errors_):
        raise IeqlError("what it was selected by is unknown.")
    if len(set(model.feature_names_)) < len(model.feature_names_):
        raise IeqlError("two of its inputs have the same name.")
    if any(len(name) > MAX_NAME for name in model.target_names_):
        raise IeqlError(f"the name of a target is longer than {MAX_NAME} characters.")
    if any(HALVES.search(name) for name in (*model.feature_names_, *model.target_names_)):
        raise IeqlError("a name holds half a character (a lone surrogate).")
    candidates = [c for front in model.fronts_ for c in front]
    numbers = [*model.largest_complexities_, *(c.complexity for c in candidates)]
    numbers += [bound for pair in model.domain_.values() for bound in pair]
    if not all(map(math.isfinite, numbers)) or min(model.n_rows_) < 0 or model.n_trainings_ < 0:
        raise IeqlError("it holds a number that cannot be.")
    if sum(c.expression.written_size for c in candidates) > MAX_WRITTEN:
        raise IeqlError("its equations are too long to be written out.")
    for front, chosen in zip(model.fronts_, model.selected_, strict=True):
        if not 0 <= chosen < len(front):
            raise IeqlError("the selected equation is not on the front.")
        for e in (e for c in front for e in (c.expression, c.precise) if e is not None):
            if list(e.names) != model.feature_names_ or len(e.outputs) != 1:
                raise IeqlError("an equation does not fit the inputs.")
