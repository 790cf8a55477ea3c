"""Which units of a graph with several outputs more than one output uses."""

from __future__ import annotations

from dataclasses import dataclass

from ieql.equations.expression import Expression, Sum

__all__ = ["SharedUnit", "outputs_of", "shared_units"]


@dataclass(frozen=True)
class SharedUnit:
    """A unit that several outputs use, with all that stands inside it."""

    text: str
    outputs: tuple[int, ...]


def outputs_of(expression: Expression) -> list[set[int]]:
    """For each source, inputs first and then nodes, the outputs that depend on it."""
    d = len(expression.names)
    found: list[set[int]] = [set() for _ in range(d + len(expression.nodes))]
    for k, s in enumerate(expression.outputs):
        for i in s.sources:
            found[i].add(k)
    for k in reversed(range(len(expression.nodes))):
        for a in expression.nodes[k].args:
            for i in a.sources:
                found[i] |= found[d + k]
    return found


def shared_units(expression: Expression) -> tuple[SharedUnit, ...]:
    """The units of a graph with several outputs that more than one output uses.

    Only the outermost: what stands inside a shared unit is shared with it.
    """
    d, used_by = len(expression.names), outputs_of(expression)
    found = []
    for k in range(len(expression.nodes)):
        outputs = used_by[d + k]
        # A unit around it that all of these outputs share says it already.
        inside = any(
            d + k in a.sources and used_by[d + j] == outputs
            for j, node in enumerate(expression.nodes)
            for a in node.args
        )
        if len(outputs) > 1 and not inside:
            alone = Expression(
                expression.names, expression.nodes[: k + 1], (Sum(0.0, (d + k,), (1.0,)),)
            )
            found.append(SharedUnit(alone.canonical().text(), tuple(sorted(outputs))))
    return tuple(found)
