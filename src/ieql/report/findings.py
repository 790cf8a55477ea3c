"""What the report and the figures are about: the fronts, the prior, the domain, the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ieql.doubts import HELD_OUT
from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.prior import Prior
from ieql.report.evidence import Evidence
from ieql.selection import Candidate

__all__ = ["Findings", "joined"]


@dataclass(frozen=True)
class Findings:
    """A fitted model as the report sees it.

    Attributes
    ----------
    names, targets : tuple of str
        Inputs and outputs.
    fronts : tuple of tuples of Candidate
        One front per output, the simplest equation first.
    selected : tuple of int
        Place of the selected equation in each front.
    criterion : str
        What selected it.
    prior : Prior
        The expert knowledge.
    domain : mapping of str to (low, high)
        Where the equations are safe; `domain_is_declared` tells whether the user said so.
    settings : mapping
        The other settings of the fit, to be listed.
    n_trainings, stop_reason, interrupted
        How the search ended.
    evidence : Evidence or None
        The sample of the data; None for a model that was loaded without it.
    finished : bool
        Whether the equations were finished; not if the run was cut short.
    validation : str
        How the validation errors were had, see `ieql.doubts.VALIDATIONS`.
    outliers : tuple of tuples of int
        For each output the rows that were left out of its fit, of `n_data_rows` in all; empty if
        there are none.
    disagreements : tuple of str or None
        For each output a sentence if its training and validation error do not agree.
    """

    names: tuple[str, ...]
    targets: tuple[str, ...]
    fronts: tuple[tuple[Candidate, ...], ...]
    selected: tuple[int, ...]
    criterion: str
    prior: Prior
    domain: Mapping[str, tuple[float, float]]
    domain_is_declared: bool
    settings: Mapping[str, Any]
    n_trainings: int
    stop_reason: str
    interrupted: bool
    evidence: Evidence | None
    finished: bool = True
    validation: str = HELD_OUT
    outliers: tuple[tuple[int, ...], ...] = ()
    n_data_rows: int = 0
    disagreements: tuple[str | None, ...] = ()

    def outliers_of(self, output: int) -> tuple[int, ...]:
        """Rows that were left out of the fit of one output."""
        return self.outliers[output] if self.outliers else ()

    def selected_expression(self) -> Expression:
        """The selected equations of all outputs as one graph, with shared units shared."""
        chosen = zip(self.fronts, self.selected, strict=True)
        return joined([front[k].expression for front, k in chosen])


def joined(expressions: list[Expression]) -> Expression:
    """One graph for the outputs of all expressions: a unit that several use stands in it once."""
    builder = Builder(expressions[0].names)
    outputs: list[Sum] = []
    for e in expressions:
        values = builder.copy(e)
        outputs += [translate(s, values) for s in e.outputs]
    return builder.expression(*outputs)
