"""What the report and the figures are about: a fitted model, and the evidence of its fit."""

from __future__ import annotations

from dataclasses import dataclass

from ieql.equations.builder import joined
from ieql.equations.expression import Expression
from ieql.model import FittedModel
from ieql.report.evidence import Evidence

__all__ = ["Findings"]


@dataclass(frozen=True, eq=False)
class Findings:
    """A fitted model with the sample of its data; None if it was loaded without."""

    model: FittedModel
    evidence: Evidence | None = None

    def selected_expression(self) -> Expression:
        """The selected equations of all outputs as one graph, with shared units shared."""
        return joined(self.model.expressions())
