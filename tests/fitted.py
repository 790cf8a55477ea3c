"""Fitted models and their evidence, made by hand: no test of figures needs a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ieql.equations.expression import Expression
from ieql.prior import Prior
from ieql.regressor import IEQLRegressor
from ieql.report.evidence import Evidence
from ieql.selection import Candidate

__all__ = ["CIRCUMSTANCES", "evidence", "model", "with_outliers"]

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
    result = IEQLRegressor(prior, domain=domain)
    truths = [Expression.parse(front[-1], names) for front in fronts]
    y = np.column_stack([e.evaluate(X)[:, 0] for e in truths]) + rng.normal(
        0, noise, (len(X), len(fronts))
    )
    y_outside = np.column_stack([e.evaluate(X_outside)[:, 0] for e in truths])
    extra = (X_outside, y_outside) if outside else None
    result.fronts_ = [
        [_candidate(text, names, X, y[:, k], Prior.of(prior), extra, k) for text in front]
        for k, front in enumerate(fronts)
    ]
    result.selected_ = [len(front) - 1 for front in fronts]
    result.feature_names_ = list(names)
    result.n_features_in_ = len(names)
    result.target_names_ = list(targets[: len(fronts)])
    given = dict(domain or {})
    result.domain_ = {n: list(given.get(n, (1.0, 2.5 if outside else 2.0))) for n in names}
    result.criterion_ = "MDL"
    result.n_trainings_, result.stop_reason_, result.interrupted_ = 12, "the time is up", False
    result._one_output = len(fronts) == 1
    result.n_rows_, result._n_data_rows = (270, 30), 300
    result.mean_errors_ = [{"mean": 0.0, "validation": 1.0} for _ in fronts]
    result.validation_, result.outliers_ = "held-out rows", [[] for _ in fronts]
    if with_evidence:
        counts = [{"square": 3, "cos": 1}] * len(fronts)
        circumstances: dict[str, Any] = CIRCUMSTANCES | {"unit_counts": counts}
        result.evidence_ = Evidence.of(X, y, names, result.target_names_, extra, **circumstances)
    return result


def with_outliers(m: IEQLRegressor, *rows_per_output: Sequence[int], by: float = 50.0) -> Any:
    """The model with these rows of its sample moved far off, as if the fit had left them out."""
    X, y = m.evidence_.X.copy(), m.evidence_.y.copy()
    for k, rows in enumerate(rows_per_output):
        y[list(rows), k] += by
    m.outliers_ = [list(rows) for rows in rows_per_output]
    m.evidence_ = m.evidence_.with_outliers(X, y, m.outliers_)
    return m


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
    return Candidate(e, e.complexity(prior), e.n_parameters, rmse, rmse, outside, errors)
