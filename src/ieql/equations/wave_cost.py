"""What waves cost beside their connections and constants: they bend to more than others do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression, Sum
from ieql.prior import Prior

__all__ = ["wave_cost"]

Array = NDArray[np.float64]
WAVE = 6.0
"""Twice the nats that a wave costs: its frequency was chosen among some twenty that the rows tell
apart, and each follows other rows."""
SLOW_WAVE = 12.0
"""The same for one of which the rows see too little to be sure that it is one."""
HALF = 0.5
"""Part of a period that the rows must see for a wave to be one, ..."""
WHOLE = 1.0
"""... and of one whose argument is not just a sum of inputs: it can be bent to still more."""


def wave_cost(expression: Expression, X: Array, prior: Prior) -> float:
    """Twice the nats that it costs to say which waves an equation has.

    With a phase and a frequency that are free, a small part of a wave bends to any curve: to a
    decay, a saturation, a parabola. Fast ones run through single rows. An expert who makes waves
    cheaper than all other units means them: then they cost nothing more.

    Parameters
    ----------
    expression : Expression
        The equation.
    X : array (rows, inputs)
        The rows.
    prior : Prior
        Says what units cost.

    Examples
    --------
    >>> x = np.linspace(0.0, 10.0, 20)[:, None]
    >>> [wave_cost(Expression.parse(f"cos({w}*x)", ["x"]), x, Prior.of("plain")) for w in (0.1, 2)]
    [12.0, 6.0]
    """
    if all(node.unit.period is None for node in expression.nodes):
        return 0.0
    with np.errstate(all="ignore"):
        arguments = expression.arguments(X)
    d = len(expression.names)
    return sum(
        SLOW_WAVE if np.ptp(z) < _needed(node.args[0], d) * node.unit.period else WAVE
        for node, (z, *_) in zip(expression.nodes, arguments, strict=True)
        if node.unit.period is not None and not _is_favoured(node.unit.name, prior)
    )


def _needed(argument: Sum, n_inputs: int) -> float:
    """Part of a period of a wave with this argument that must be seen."""
    return HALF if all(i < n_inputs for i in argument.sources) else WHOLE


def _is_favoured(name: str, prior: Prior) -> bool:
    others = [u for u in prior.units if u != name and prior.unit(u).period is None]
    return bool(others) and prior.cost(name) < min(prior.cost(u) for u in others)
