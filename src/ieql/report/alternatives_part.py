"""The part of the page that lists what else the selected equation of an output could be."""

from __future__ import annotations

from typing import Any

from ieql.alternatives import alternatives, alternatives_sentence
from ieql.report.equation_part import typeset
from ieql.report.findings import Findings
from ieql.report.words import number

__all__ = ["alternatives_part"]


def alternatives_part(findings: Findings, output: int) -> dict[str, Any] | None:
    """The table of structures that the rows do not tell from the selected one; None without any."""
    from markupsafe import Markup

    found = alternatives(findings.model, output=output)
    if not found:
        return None
    return {
        "sentence": alternatives_sentence(findings.model, found, output),
        "any_on_front": any(a.index is not None for a in found),
        "rows": [
            {
                "index": a.index,
                "key": None if a.index is None else f"{output}-{a.index}",
                "typeset": Markup(typeset(a.candidate.expression, None)),
                "nats": f"{a.nats:+.1f}".replace("-", "−"),
                "largest_difference": number(a.largest_difference, 3),
                "where": a.where_text(),
                "rows_needed": number(a.rows_needed, 2),
            }
            for a in found
        ],
    }
