"""The report: one HTML page that needs no network and no other file."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from ieql.doubts import ending, validation_sentence
from ieql.export.mathml import mathml_name
from ieql.model import FittedModel
from ieql.options import FitOptions, listed
from ieql.prior import Prior
from ieql.report.alternatives_part import alternatives_part
from ieql.report.diagram import diagram
from ieql.report.drawings import pareto_drawing
from ieql.report.equation_part import PageBudget, equation_part
from ieql.report.evidence import Evidence
from ieql.report.findings import Findings
from ieql.report.network_drawing import network_drawing
from ieql.report.outlier_part import doubts, outlier_part
from ieql.report.templates import filled, markup, package_file
from ieql.report.views import frequencies
from ieql.report.words import input_rules, number, preset_name, prohibitions, unit_name

__all__ = ["page"]

MAX_COLUMNS = 200
"""Columns listed in the summary of the data, at most."""
MAX_UNUSED = 6
"""More inputs that no selected equation uses are folded away in that summary."""


def page(model: FittedModel, evidence: Evidence | None = None) -> str:
    """Write the report of a fitted model as HTML text.

    Everything that comes from the user (names of columns and units, settings) is escaped: by the
    template, or where it stands in a drawing or an equation, when that is written. The page's
    policy allows no script but its own.
    """
    findings = Findings(model, evidence)
    script = package_file("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return filled(
        "template.html",
        title=", ".join(findings.model.targets),
        style=markup(package_file("style.css")),
        script=markup(script),
        script_digest=digest,
        outputs=_outputs(findings),
        joint=_joint(findings),
        criterion=findings.model.criterion,
        reasons=[findings.model.why(k, first=0) for k in range(len(findings.model.targets))],
        validation=validation_sentence(findings.model.validation),
        prior=_prior(findings),
        units=_units(findings),
        data=_data(findings),
        run=_run(findings),
        number=number,
    )


# --- the parts of the page -----------------------------------------------------------------------


def _outputs(findings: Findings) -> list[dict[str, Any]]:
    budget = PageBudget.of(findings)
    outputs = []
    for k, (name, front) in enumerate(
        zip(findings.model.targets, findings.model.fronts, strict=True)
    ):
        keys = [f"{k}-{i}" for i in range(len(front))]
        equations = [equation_part(findings, k, i, budget) for i in range(len(front))]
        for equation, key in zip(equations, keys, strict=True):
            equation["key"] = key
        outputs.append(
            {
                "number": k,
                "name": name,
                "symbol": markup(f"<math><mrow>{mathml_name(name)}</mrow></math>"),
                "pareto": markup(pareto_drawing(front, findings.model.selected[k], name, keys)),
                "equations": equations,
                "selected": findings.model.selected[k],
                "doubts": doubts(findings, k),
                "outliers": outlier_part(findings, k),
                "alternatives": alternatives_part(findings, k),
                "moved": _moved(findings, k),
                "groups": _groups(findings, k),
                "has_extrapolation": any(e["rmse_extrapolation"] is not None for e in equations),
            }
        )
    return outputs


def _moved(findings: Findings, output: int) -> dict[str, Any] | None:
    """What a recalibration moved; None for a model that was learned from its rows."""
    moved = findings.model.recalibrated
    if moved is None:
        return None
    rows = [
        {
            "of": c.of,
            "old": number(c.old),
            "new": number(c.new),
            "standard_error": number(c.standard_error, 2),
            "moved": number(c.moved, 2),
        }
        for c in moved.constants[output]
    ]
    return {"rows": rows, "sentences": moved.sentences[output]}


def _groups(findings: Findings, output: int) -> dict[str, Any] | None:
    """The constants of each group; None for a model without groups."""
    model = findings.model
    if not model.groups:
        return None
    constants = model.group_constants()
    if "output" in constants:
        constants = constants[constants["output"] == model.targets[output]]
    own = constants[~constants["shared"]]
    shared = constants[constants["shared"]]["of"].unique().tolist()
    names = own["of"].unique().tolist()
    rows = [
        {"name": label, "values": [number(v, 6) for v in own[own["group"] == label]["value"]]}
        for label in (model.groups if names else ())
    ]
    return {"names": names, "rows": rows, "shared": shared}


def _joint(findings: Findings) -> Any:
    """The selected equations of several outputs as one network; None for a single output."""
    if len(findings.model.targets) == 1:
        return None
    X = None if findings.evidence is None else findings.evidence.X
    network = diagram(
        findings.selected_expression(), findings.model.targets, findings.model.prior, X
    )
    shared = sum(place.shared for place in network.places)
    return {
        "drawing": markup(network_drawing(network)),
        "n_shared": shared,
        "sentence": findings.model.whole().sentence(),
    }


def _prior(findings: Findings) -> dict[str, Any]:
    prior = findings.model.prior
    return {
        "is_default": prior == Prior.of(FitOptions().prior),
        "preset": preset_name(prior),
        "prohibitions": prohibitions(prior),
        "rules": input_rules(prior),
        "layers": prior.layers,
        "copies": prior.copies,
    }


def _units(findings: Findings) -> dict[str, Any]:
    """Per unit: its cost, how often candidates used it, what it adds to the selected complexity."""
    prior, evidence = findings.model.prior, findings.evidence
    chosen = [
        front[k].expression
        for front, k in zip(findings.model.fronts, findings.model.selected, strict=True)
    ]
    sources = [e.source_name(i) for e in chosen for s in e.sums for i in s.sources]
    counts = () if evidence is None else evidence.unit_counts
    shares = frequencies(counts, prior.units)
    names = dict.fromkeys(["input", *shares, *sources])
    highest = max((share for of in shares.values() for share in of), default=0.0) or 1.0
    rows = [
        {
            "name": name,
            "words": unit_name(name),
            "cost": prior.costs.get(name),
            "shares": [
                {"percent": 100 * share, "width": 100 * share / highest}
                for share in shares.get(name, [])
            ],
            "uses": sources.count(name),
            "is_input": name == "input",
        }
        for name in names
    ]
    return {
        "rows": rows,
        "counted": evidence is not None,
        "n_outputs": len(findings.model.targets),
        "targets": findings.model.targets,
        "total": sum(prior.cost(name) for name in sources),
    }


def _data(findings: Findings) -> dict[str, Any]:
    evidence = findings.evidence
    known = {} if evidence is None else {c.name: c for c in evidence.inputs}
    rows = [
        {
            "name": name,
            "role": "input",
            "column": known.get(name),
            "domain": findings.model.domain[name],
        }
        for name in findings.model.names[:MAX_COLUMNS]
    ]
    targets = {} if evidence is None else {c.name: c for c in evidence.targets}
    unused = []
    used = {name for e in findings.model.expressions() for name in e.inputs_used}
    if len(findings.model.names) - len(used) > MAX_UNUSED:
        unused = [row for row in rows if row["name"] not in used]
        rows = [row for row in rows if row["name"] in used]
    rows += [
        {"name": name, "role": "target", "column": targets.get(name), "domain": None}
        for name in findings.model.targets[:MAX_COLUMNS]
    ]
    return {
        "rows": rows,
        "unused": unused,
        "evidence": evidence,
        "left_out": max(0, len(findings.model.names) - MAX_COLUMNS),
        "declared": bool(findings.model.declared),
        "n_sample": 0 if evidence is None else evidence.n_sampled,
        "n_outliers": len({row for rows in findings.model.outliers for row in rows}),
    }


def _run(findings: Findings) -> dict[str, Any]:
    evidence = findings.evidence
    settings = {
        name.replace("_", " "): _setting(value)
        for name, value in listed(findings.model.options).items()
        if value is not None
    }
    reason, covered = ending(findings.model.stop_reason)
    return {
        "evidence": evidence,
        "settings": settings,
        "n_trainings": findings.model.n_trainings,
        "stop_reason": reason,
        "covered": covered,
        "interrupted": findings.model.interrupted,
        "finished": findings.model.finished,
        "versions": {} if evidence is None else dict(evidence.versions),
    }


def _setting(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
