"""The part of the page that is about one equation: typeset, with constants and its plots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ieql.doubts import safety_facts
from ieql.equations.constant_units import constant_units
from ieql.equations.expression import Expression
from ieql.equations.shown_constants import power_of, shown_constants
from ieql.errors import IeqlError
from ieql.export.latex import latex
from ieql.export.mathml import mathml_pieces, mathml_source
from ieql.report.diagram import diagram
from ieql.report.drawings import (
    drawn_words,
    histogram_drawing,
    parity_drawing,
    residual_drawing,
    slice_drawing,
)
from ieql.report.evidence import Evidence
from ieql.report.findings import Findings
from ieql.report.network_drawing import network_drawing
from ieql.report.overview_part import overview_part
from ieql.report.svg import clean, extent
from ieql.report.views import compare, slice_through
from ieql.report.words import number, uncertain, unit_name
from ieql.selection import Candidate

__all__ = ["PageBudget", "constants", "equation_part", "shown_inputs", "typeset"]

MAX_DOTS = 40_000
"""Dots in all plots of the page together, about; what keeps it below two megabytes."""
MAX_PLOTS = 250
"""Inputs that are drawn over, for all equations together, about."""
MAX_INPUTS = 24
"""And for one equation."""
LONG = 40_000
"""Characters of MathML beyond which an equation is no longer typeset."""


@dataclass(frozen=True)
class PageBudget:
    """How much may be drawn per equation, so that the page stays small."""

    n_dots: int
    n_inputs: int

    @classmethod
    def of(cls, findings: Findings) -> PageBudget:
        """Share the page among all equations of all fronts."""
        n_equations = sum(len(front) for front in findings.model.fronts)
        n_inputs = min(len(findings.model.names), MAX_INPUTS, max(2, MAX_PLOTS // n_equations))
        n_dots = MAX_DOTS // (n_equations * (2 + n_inputs))
        # Outliers are drawn in any case; their marks take about twice the room of a dot.
        n_dots -= 2 * max((len(rows) for rows in findings.model.outliers), default=0)
        return cls(n_dots=int(np.clip(n_dots, 60, 400)), n_inputs=n_inputs)


def equation_part(
    findings: Findings, output: int, index: int, budget: PageBudget
) -> dict[str, Any]:
    """Everything the template shows of row `index` of an output's front."""
    from markupsafe import Markup

    candidate = findings.model.fronts[output][index]
    e, target = candidate.expression, findings.model.targets[output]
    selected = index == findings.model.selected[output]
    units = constant_units(e, findings.model.prior, target)
    part: dict[str, Any] = {
        "index": index,
        "selected": selected,
        "text": _shortened(e.text()),
        "latex": _shortened(_latex(e, target)),
        "complexity": candidate.complexity,
        "n_parameters": candidate.n_parameters,
        "n_constants": candidate.n_constants,
        "rmse_train": candidate.rmse_train,
        "rmse_validation": candidate.rmse_validation,
        "rmse_extrapolation": _known(candidate.rmse_extrapolation),
        "safety": safety_facts(candidate),
        "proved": candidate.proved is True and all(candidate.limits.values()),
        "typeset": Markup(typeset(e, target)),
        "parts": [Markup(typeset(own, label)) for label, own in candidate.parts],
        "short": Markup(typeset(e, None)),
        "overview": None,
        "constants": [{**row, "of": Markup(row["of"])} for row in constants(candidate, units)],
    }
    X = None if findings.evidence is None else findings.evidence.X
    network = diagram(e, (target,), findings.model.prior, X)
    part["network"] = Markup(network_drawing(network))
    if findings.evidence is not None:
        drawings = _drawings(findings, findings.evidence, output, index, budget)
        part |= {
            name: [Markup(d) for d in drawing] if isinstance(drawing, list) else drawing
            for name, drawing in drawings.items()
        }
        if part["overview"] is not None:
            part["overview"]["drawing"] = Markup(part["overview"]["drawing"])
    return part


def _drawings(
    findings: Findings, evidence: Evidence, output: int, index: int, budget: PageBudget
) -> dict[str, Any]:
    e, target = findings.model.fronts[output][index].expression, findings.model.targets[output]
    comparison = compare(
        e, evidence.X, evidence.y[:, output], evidence.outside, evidence.outlier(output)
    )
    chosen = index == findings.model.selected[output]
    n_outliers = len(findings.model.outliers[output])
    rows = "sampled rows" if evidence.n_sampled + n_outliers < evidence.n_rows else "rows"
    columns = shown_inputs(findings, e, MAX_INPUTS if chosen else budget.n_inputs)
    used = [j for j in columns if findings.model.names[j] in e.inputs_used]
    overview = overview_part(findings, evidence, output, index, comparison, budget.n_dots)
    # A curve that shows the whole domain is the slice, and more.
    sliced = overview is None or overview["kind"] != "curve" or not overview["is_whole"]
    model = findings.model
    centre = model.box.possible(np.array([[c.mean for c in evidence.inputs]]))[0].tolist()
    # Of a level there is no more to be seen than its constants say.
    levels = {j for places in model.box.levels for j in places}
    slices = {
        j: slice_through(
            e,
            j,
            centre,
            (evidence.inputs[j].low, evidence.inputs[j].high),
            findings.model.domain[findings.model.names[j]],
        )
        for j in (used if sliced else ())
        if j not in levels
    }
    # One scale for all slices: an input that matters little is seen to matter little.
    y_range = extent(*(cut.y for cut in slices.values()))

    def residuals(inputs: list[int]) -> list[str]:
        names = findings.model.names
        return [residual_drawing(comparison, j, names[j], target, budget.n_dots) for j in inputs]

    return {
        "overview": overview,
        "overall": [
            parity_drawing(comparison, target, budget.n_dots),
            histogram_drawing(comparison, target),
        ],
        "residuals": residuals(used),
        "residuals_unused": residuals([j for j in columns if j not in used]),
        "slices": [
            slice_drawing(
                cut, y_range, findings.model.names[j], target, bool(findings.model.declared)
            )
            for j, cut in slices.items()
        ],
        "drawn": drawn_words(comparison, budget.n_dots, rows, n_outliers),
        "n_outliers": n_outliers,
        "n_far": int(comparison.far.sum()),
        "r2": comparison.r2,
        "n_undefined": comparison.n_undefined,
        "n_left_out": len(findings.model.names) - len(columns),
        "has_levels": bool(levels),
    }


def shown_inputs(findings: Findings, e: Expression, most: int) -> list[int]:
    """Columns of inputs to show: those that are used first, if not all can be."""
    used = [j for j, name in enumerate(findings.model.names) if name in e.inputs_used]
    rest = [j for j in range(len(findings.model.names)) if j not in used]
    return sorted((used + rest)[:most])


# --- the equation as text ------------------------------------------------------------------------


def typeset(e: Expression, target: str | None) -> str:
    """MathML in pieces, or a sentence where the equation is too long to be read anyway."""
    try:
        form = mathml_pieces(e, target=target)
    except IeqlError:
        form = None
    if form is None or len(form) > LONG:
        name = "" if target is None else f"{clean(target)} = "
        return f"<em>{name}an equation of {e.n_parameters} weights, too long to be typeset</em>"
    return form


def _latex(e: Expression, target: str) -> str:
    try:
        return latex(e, target=target)
    except IeqlError:
        return ""


def _shortened(text: str, most: int = 3_000) -> str:
    return text if len(text) <= most else text[:most] + " …"


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def constants(candidate: Candidate, units: Sequence[str] = ()) -> list[dict[str, str]]:
    """The constants that are shown with their standard errors, and where each stands.

    Parameters
    ----------
    candidate : Candidate
        The equation.
    units : sequence of str
        Physical units, in the order of `Expression.constants`, where they are known.

    Returns
    -------
    list of dict
        With ``value`` ("2.50 ± 0.12 kW"), ``role`` ("factor of"), ``of`` (MathML, may be empty) and
        ``inside`` ("the exponential", or empty in the equation's own sum).
    """
    e = candidate.expression
    rows: list[dict[str, str]] = []
    hidden = [place for place, unit in enumerate(units) if unit]
    for c in shown_constants(e, candidate.standard_errors, hidden):
        value = uncertain(c.value, c.standard_error)
        unit = units[c.place] if units else ""
        row = {"value": f"{value} {unit}" if unit else value, "inside": "", "of": ""}
        if c.is_exponent and c.home is not None:
            row |= {"role": "exponent in", "of": _typeset_source(e, c.home)}
        elif c.source is not None:
            row |= {"role": "factor of", "of": _typeset_source(e, c.source)}
        else:
            row |= {"role": "term"}
        if c.home is not None and not c.is_exponent:
            row["inside"] = f"the {unit_name(e.source_name(c.home))}"
            if power_of(e, c.home) != c.home:
                row["inside"] = "the power"
        rows.append(row)
    return rows


def _typeset_source(e: Expression, source: int) -> str:
    form = mathml_source(e, source)
    return form if len(form) <= LONG else f"<em>{clean(number(source))}</em>"
