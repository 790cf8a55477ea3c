"""The selected equations of all outputs as one network, in which a shared unit is paid for once.

The paper's network maps the inputs to all outputs through shared units (section "Architecture"),
and its complexity counts each connection once, however many outputs depend on it (section
"Complexity Measure").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ieql.equations.builder import joined
from ieql.equations.expression import Expression
from ieql.equations.shared_units import SharedUnit, shared_units
from ieql.prior import Prior

__all__ = ["Whole"]

LONGEST = 60
"""Characters of a shared unit in the sentence, at most."""
MOST_NAMED = 3
"""Shared units that the sentence names."""


@dataclass(frozen=True)
class Whole:
    """The equations of several outputs as one graph.

    Attributes
    ----------
    expression : Expression
        All outputs; a unit that several of them use stands in it once.
    targets : tuple of str
        Names of the outputs.
    complexity : float
        Of the graph: what is inside a shared unit is counted once.
    complexity_apart : float
        The sum of the complexities of the equations by themselves.
    shared : tuple of SharedUnit
        The outermost units that several outputs use.
    """

    expression: Expression
    targets: tuple[str, ...]
    complexity: float
    complexity_apart: float
    shared: tuple[SharedUnit, ...]

    @classmethod
    def of(cls, equations: Sequence[Expression], targets: Sequence[str], prior: Prior) -> Whole:
        """Put the equations of the outputs together."""
        expression = joined(equations)
        return cls(
            expression,
            tuple(targets),
            expression.complexity(prior),
            sum(e.complexity(prior) for e in equations),
            shared_units(expression),
        )

    def sentence(self) -> str:
        """What is shared, and what that saves."""
        if not self.shared:
            return f"Together: complexity {self.complexity:g}; no unit is shared."
        named = [
            f"{_listed([self.targets[k] for k in unit.outputs])} share {_short(unit.text)}"
            for unit in self.shared[:MOST_NAMED]
        ]
        more = len(self.shared) - len(named)
        named += [f"{more} more unit{'s are' if more > 1 else ' is'} shared"] if more else []
        return (
            f"Together: complexity {self.complexity:g} ({self.complexity_apart:g} apart); "
            f"{'; '.join(named)}."
        )

    def to_form(self) -> dict[str, Any]:
        """What `equations_` says of it: plain numbers and texts."""
        return {
            "complexity": self.complexity,
            "complexity_apart": self.complexity_apart,
            "shared": [
                {"unit": unit.text, "outputs": [self.targets[k] for k in unit.outputs]}
                for unit in self.shared
            ],
            "sentence": self.sentence(),
        }

    def __str__(self) -> str:
        lines = [
            f"{name} = {self.expression.text(output=k)}" for k, name in enumerate(self.targets)
        ]
        return "\n".join([*lines, self.sentence()])


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _listed(names: Sequence[str]) -> str:
    """``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
