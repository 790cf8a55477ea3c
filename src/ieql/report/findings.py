"""What the report and the figures are about: a fitted model, and the evidence of its fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.model import FittedModel
from ieql.report.evidence import Evidence

__all__ = ["Findings", "joined"]


@dataclass(frozen=True, eq=False)
class Findings:
    """A fitted model with the sample of its data; None if it was loaded without."""

    model: FittedModel
    evidence: Evidence | None = None

    def selected_expression(self) -> Expression:
        """The selected equations of all outputs as one graph, with shared units shared."""
        return joined(self.model.expressions())


def joined(expressions: Sequence[Expression]) -> Expression:
    """One graph for the outputs of all expressions: a unit that several use stands in it once."""
    builder = Builder(expressions[0].names)
    outputs: list[Sum] = []
    for e in expressions:
        values = [builder.input(i) for i in range(len(e.names))]
        for node in e.nodes:
            values.append(builder.apply(node.unit, *(translate(a, values) for a in node.args)))
        outputs += [translate(s, values) for s in e.outputs]
    return builder.expression(*outputs)
