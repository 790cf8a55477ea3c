"""Fitted models and their evidence, made by hand: no test of figures needs a search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.prediction_band import PredictionBand
from ieql.model import FittedModel
from ieql.options import FitOptions
from ieql.prior import Prior
from ieql.regressor import IEQLRegressor
from ieql.report.evidence import Evidence
from ieql.selection import DEFAULT, Candidate, scores

__all__ = ["CIRCUMSTANCES", "changed", "evidence", "model", "with_outliers", "with_rivals_at"]

CIRCUMSTANCES = {
    "sha256": "ab" * 32,
    "seconds": 3.5,
    "seed": 7,
    "versions": {"python": "3.12.1", "ieql": "0.1.0"},
    "unit_counts": [{"mul": 3, "cos": 1}],
}


def evidence(n_rows=100, n_inputs=2, n_outside=0, n_outputs=1):
    rng = np.random.default_rng(1)
    X = rng.uniform(1, 2, (n_rows, n_inputs))
    y = X[:, :1] * np.arange(1, n_outputs + 1)
    X_out = rng.uniform(3, 4, (n_outside, n_inputs))
    outside = (X_out, X_out[:, :1] * np.arange(1, n_outputs + 1)) if n_outside else None
    counts = CIRCUMSTANCES["unit_counts"] * n_outputs
    names = [f"x{i}" for i in range(n_inputs)]
    targets = [f"y{k}" for k in range(n_outputs)]
    return Evidence.of(X, y, names, targets, outside, **CIRCUMSTANCES | {"unit_counts": counts})


def model(
    *fronts: Sequence[str],
    names: Sequence[str] = ("x", "z"),
    targets: Sequence[str] = ("y", "w"),
    prior: Any = "motor",
    domain: Any = None,
    with_evidence: bool = True,
    outside: bool = False,
    noise: float = 0.1,
) -> IEQLRegressor:
    """A model with these equations, one list per output; the last of each is selected and true."""
    fronts = fronts or (("2", "3*x + 1", "2.5*x**2 + cos(z)"),)
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, (300, len(names)))
    X_outside = rng.uniform(2, 2.5, (20, len(names)))
    truths = [Expression.parse(front[-1], names) for front in fronts]
    y = np.column_stack([e.evaluate(X)[:, 0] for e in truths]) + rng.normal(
        0, noise, (len(X), len(fronts))
    )
    y_outside = np.column_stack([e.evaluate(X_outside)[:, 0] for e in truths])
    extra = (X_outside, y_outside) if outside else None
    given = dict(domain or {})
    counts = [{"square": 3, "cos": 1}] * len(fronts)
    fitted = FittedModel(
        options=FitOptions(Prior.of(prior), domain=domain),
        names=tuple(names),
        targets=tuple(targets[: len(fronts)]),
        fronts=tuple(
            tuple(_candidate(text, names, X, y[:, k], Prior.of(prior), extra, k) for text in front)
            for k, front in enumerate(fronts)
        ),
        selected=tuple(len(front) - 1 for front in fronts),
        criterion="MDL",
        domain={n: tuple(given.get(n, (1.0, 2.5 if outside else 2.0))) for n in names},
        declared=tuple(n for n in names if n in given),
        mean_errors=tuple({"mean": 0.0, "validation": 1.0} for _ in fronts),
        largest_complexities=tuple(10.0 for _ in fronts),
        n_rows=(270, 30),
        n_data_rows=300,
        validation="held-out rows",
        outliers=tuple(() for _ in fronts),
        n_trainings=12,
        stop_reason="the time is up",
        interrupted=False,
        unit_counts=tuple(counts),
        one_output=len(fronts) == 1,
    )
    result = IEQLRegressor._of(fitted)
    if with_evidence:
        circumstances: dict[str, Any] = CIRCUMSTANCES | {"unit_counts": counts}
        result.evidence_ = Evidence.of(X, y, names, fitted.targets, extra, **circumstances)
    return result


def changed(m: IEQLRegressor, **parts: Any) -> IEQLRegressor:
    """The model with other parts of what was fitted."""
    m.fitted_ = replace(m.fitted_, **parts)
    return m


def with_outliers(m: IEQLRegressor, *rows_per_output: Sequence[int], by: float = 50.0) -> Any:
    """The model with these rows of its sample moved far off, as if the fit had left them out."""
    X, y = m.evidence_.X.copy(), m.evidence_.y.copy()
    for k, rows in enumerate(rows_per_output):
        y[list(rows), k] += by
    m.evidence_ = m.evidence_.with_outliers(X, y, rows_per_output)
    return changed(m, outliers=tuple(map(tuple, rows_per_output)))


def with_rivals_at(m: IEQLRegressor, *rivals_per_output: Mapping[str, float]) -> IEQLRegressor:
    """The model with these rivals, whose descriptions are longer by so many nats.

    Their errors are made up for that.
    """
    fitted = m.fitted_
    found = []
    for k, rivals in enumerate(rivals_per_output):
        own = fitted.candidate(None, k)
        made = []
        for text, nats in rivals.items():
            e = Expression.parse(text, fitted.names)
            c = replace(own, expression=e, complexity=e.complexity(fitted.prior), precise=None)
            c = replace(c, band=None)
            made.append(_longer_by(nats, c, own, fitted.mean_errors[k], fitted.n_rows))
        found.append(tuple(made))
    return changed(m, rivals=tuple(found))


def _candidate(
    text: str, names: Sequence[str], X: Any, y: Any, prior: Prior, extra: Any, k: int
) -> Candidate:
    e = Expression.parse(text, names)
    rmse = float(np.sqrt(np.mean((e.evaluate(X)[:, 0] - y) ** 2)))
    outside = float("nan")
    if extra is not None:
        outside = float(np.sqrt(np.mean((e.evaluate(extra[0])[:, 0] - extra[1][:, k]) ** 2)))
    constants = e.constants()
    errors = tuple(0.0 if c in (0.0, 1.0) else 0.01 * abs(c) for c in constants)
    band = PredictionBand.of(e, Sample(np.ascontiguousarray(X.T), y, np.ones(len(y))))
    return Candidate(e, e.complexity(prior), e.n_parameters, rmse, rmse, outside, errors, band=band)


def _longer_by(
    nats: float,
    candidate: Candidate,
    own: Candidate,
    mean_errors: Mapping[str, float],
    n_rows: tuple[int, int],
) -> Candidate:
    """A candidate with errors by which its description is so many nats longer than another's."""

    def with_errors(log_factor: float) -> Candidate:
        factor = math.exp(log_factor)
        errors = {name: factor * getattr(own, name) for name in ("rmse_train", "rmse_validation")}
        return replace(candidate, **errors)

    def excess(log_factor: float) -> float:
        pair = [own, with_errors(log_factor)]
        ours, its = scores(pair, DEFAULT, mean_error=mean_errors["validation"], n_rows=n_rows)
        return float(its - ours) - 2.0 * nats

    return with_errors(brentq(excess, -3.0, 3.0, xtol=1e-12))
