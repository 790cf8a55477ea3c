"""The part of the page that lists suspect rows: those left out of a fit, and others far from it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ieql.doubts import few_rows_sentence, outlier_sentence
from ieql.report.equation_part import shown_inputs
from ieql.report.evidence import MAX_OUTLIERS
from ieql.report.findings import Findings
from ieql.report.views import Comparison, compare
from ieql.report.words import number

__all__ = ["doubts", "outlier_part"]

MAX_INPUTS = 6
"""Inputs that the table shows; those that the equation uses come first."""
OPEN = 10
"""A longer table is folded, and of rows that stayed in the fit only so many are listed."""
SUSPECT = 5.0
"""How many sigmas off a row that stayed in the fit is suspect: of normal ones, 1 in 2 million."""
NEGLIGIBLE = 1e-9
"""Part of the target's spread below which residuals are rounding."""


def doubts(findings: Findings, output: int) -> list[str]:
    """What is to be known of an output before its equation is trusted, a sentence each."""
    model = findings.model
    few = few_rows_sentence(model.n_data_rows)
    said = (few, _sentence(findings, output), model.disagreement(output))
    return [sentence for sentence in said if sentence is not None]


def outlier_part(findings: Findings, output: int) -> dict[str, Any] | None:
    """The suspect rows of an output, with the selected equation's values; None without any.

    They are the outliers, which were left out of the fit, and rows that stayed in it although they
    lie far from the equation.
    """
    rows = findings.model.outliers[output]
    evidence = findings.evidence
    e = findings.model.candidate(None, output).expression
    columns = shown_inputs(findings, e, MAX_INPUTS)
    places = {} if evidence is None or not evidence.outliers else evidence.outliers[output]
    part: dict[str, Any] = {
        "sentence": _sentence(findings, output, MAX_OUTLIERS if not places else OPEN),
        "folded": len(places) > OPEN,
        "n_left_out": len(rows) - len(places),
        "n_inputs_left_out": len(findings.model.names) - len(columns),
        "names": [findings.model.names[j] for j in columns],
        "rows": [],
        "kept": [],
        "n_kept": 0,
    }
    if evidence is not None:
        y = evidence.y[:, output]
        comparison = compare(e, evidence.X, y, evidence.outside, evidence.outlier(output))
        sigma = comparison.sigma
        at = list(places.values())
        predicted = e.evaluate(evidence.X[at])[:, 0]
        part["rows"] = [
            {"number": row + 1, **_row(evidence.X[place, columns], y[place], value, sigma)}
            for (row, place), value in zip(places.items(), predicted, strict=True)
        ]
        far = _far_rows(comparison)
        part["n_kept"] = len(far)
        part["kept"] = [
            _row(comparison.X[k, columns], comparison.measured[k], comparison.predicted[k], sigma)
            for k in far[:OPEN]
        ]
    return part if rows or part["n_kept"] else None


def _row(inputs: Any, measured: float, predicted: float, sigma: float) -> dict[str, Any]:
    residual = float(predicted - measured)
    known = sigma > 0.0 and math.isfinite(residual)
    return {
        "inputs": [number(float(x), 6) for x in inputs],
        "measured": number(float(measured), 6),
        "predicted": number(float(predicted), 6),
        "residual": number(residual, 6),
        "sigmas": number(abs(residual) / sigma, 2) if known else "–",
    }


def _far_rows(c: Comparison) -> list[int]:
    """Rows of the sample that stayed in the fit but lie far off, the farthest first."""
    spread = float(np.std(c.measured[c.bulk])) if c.bulk.any() else 0.0
    if not c.sigma > NEGLIGIBLE * spread:
        return []  # of an exact equation only rounding is left
    sizes = np.where(c.bulk, np.abs(c.residual), 0.0)
    far = np.flatnonzero(sizes > SUSPECT * c.sigma)
    ordered: list[int] = far[np.argsort(-sizes[far])].tolist()
    return ordered


def _sentence(findings: Findings, output: int, listed: int = OPEN) -> str | None:
    rows = findings.model.outliers[output]
    if not rows:
        return None
    target = None if len(findings.model.targets) == 1 else findings.model.targets[output]
    return outlier_sentence(rows, findings.model.n_data_rows, target, listed)
