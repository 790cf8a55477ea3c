"""The part of the page that lists the rows that were left out of a fit."""

from __future__ import annotations

from typing import Any

from ieql.doubts import few_rows_sentence, outlier_sentence
from ieql.report.equation_part import shown_inputs
from ieql.report.evidence import MAX_OUTLIERS
from ieql.report.findings import Findings
from ieql.report.words import number

__all__ = ["doubts", "outlier_part"]

MAX_INPUTS = 6
"""Inputs that the table shows; those that the equation uses come first."""
OPEN = 10
"""A longer table is folded."""


def doubts(findings: Findings, output: int) -> list[str]:
    """What is to be known of an output before its equation is trusted, a sentence each."""
    model = findings.model
    few = few_rows_sentence(model.n_data_rows)
    said = (few, _sentence(findings, output), model.disagreement(output))
    return [sentence for sentence in said if sentence is not None]


def outlier_part(findings: Findings, output: int) -> dict[str, Any] | None:
    """The table of an output's outliers, with the selected equation's values; None without any."""
    rows = findings.model.outliers[output]
    evidence = findings.evidence
    if not rows:
        return None
    places = {} if evidence is None or not evidence.outliers else evidence.outliers[output]
    part: dict[str, Any] = {
        "sentence": _sentence(findings, output, MAX_OUTLIERS if not places else OPEN),
        "folded": len(places) > OPEN,
        "n_left_out": len(rows) - len(places),
        "n_inputs_left_out": 0,
        "names": [],
        "rows": [],
    }
    if evidence is None or not places:
        return part
    e = findings.model.fronts[output][findings.model.selected[output]].expression
    columns = shown_inputs(findings, e, MAX_INPUTS)
    at = list(places.values())
    measured = evidence.y[at, output]
    predicted = e.evaluate(evidence.X[at])[:, 0]
    part["names"] = [findings.model.names[j] for j in columns]
    part["n_inputs_left_out"] = len(findings.model.names) - len(columns)
    part["rows"] = [
        {
            "number": row + 1,
            "inputs": [number(float(x), 6) for x in evidence.X[place, columns]],
            "measured": number(float(y), 6),
            "predicted": number(float(f), 6),
            "residual": number(float(f - y), 6),
        }
        for (row, place), y, f in zip(places.items(), measured, predicted, strict=True)
    ]
    return part


def _sentence(findings: Findings, output: int, listed: int = OPEN) -> str | None:
    rows = findings.model.outliers[output]
    if not rows:
        return None
    target = None if len(findings.model.targets) == 1 else findings.model.targets[output]
    return outlier_sentence(rows, findings.model.n_data_rows, target, listed)
