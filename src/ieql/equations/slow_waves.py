"""Waves of which the rows see less than half a turn: mostly they stand for something else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression, Sum
from ieql.prior import Prior

__all__ = ["n_slow_waves"]

Array = NDArray[np.float64]
HALF = 0.5
"""Part of a period that the rows must see for a wave to be one, ..."""
WHOLE = 1.0
"""... and of one whose argument is not just a sum of inputs: it can be bent to still more."""


def n_slow_waves(expression: Expression, X: Array, prior: Prior) -> int:
    """Number of periodic units of which the rows see less than half a turn.

    With a phase and a frequency that are free, a small part of a wave bends to any curve: a decay,
    a saturation, a parabola. An expert who makes waves cheaper than all other units means them.

    Parameters
    ----------
    expression : Expression
        The equation.
    X : array (rows, inputs)
        The rows.
    prior : Prior
        Says what units cost.
    """
    waves = [n.unit.period is not None for n in expression.nodes]
    if not any(waves):
        return 0
    with np.errstate(all="ignore"):
        arguments = expression.arguments(X)
    d = len(expression.names)
    return sum(
        bool(np.ptp(z) < _needed(node.args[0], d) * node.unit.period)
        for node, (z, *_) in zip(expression.nodes, arguments, strict=True)
        if node.unit.period is not None and not _is_favoured(node.unit.name, prior)
    )


def _needed(argument: Sum, n_inputs: int) -> float:
    """Part of a period of a wave with this argument that must be seen."""
    return HALF if all(i < n_inputs for i in argument.sources) else WHOLE


def _is_favoured(name: str, prior: Prior) -> bool:
    others = [u for u in prior.units if u != name and prior.unit(u).period is None]
    return bool(others) and prior.cost(name) < min(prior.cost(u) for u in others)
