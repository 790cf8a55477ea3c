"""An equation in other units of the same quantities: the factors are exact, and so is the rest."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ieql.equations.expression import Expression
from ieql.equations.simplify import gauge
from ieql.errors import IeqlError, nearest, shown
from ieql.prior import Prior
from ieql.quantities import conversion

__all__ = ["in_units"]

DIGITS = 15
"""Digits of the new constants: the last bit of a product of two numbers says nothing."""


def in_units(
    expression: Expression, prior: Prior, target: str, asked: Mapping[str, str]
) -> Expression:
    """The equation that takes and gives its columns in the units that are asked for.

    Parameters
    ----------
    expression : Expression
        With one output, in the units of `Prior.quantities`.
    prior : Prior
        Says these units.
    target : str
        The column that it is about.
    asked : mapping of str to str
        The other units, by column; the rest stay as they are.
    """
    columns = [*expression.names, target]
    pairs = dict.fromkeys(columns, (1.0, 0.0))
    for name, unit in asked.items():
        if name not in pairs:
            raise IeqlError(
                f"There is no column {shown(name)} to be converted.{nearest(name, columns)}"
            )
        if name not in prior.quantities:
            raise IeqlError(
                f"The unit of {shown(name)} is not known, so it cannot be converted to "
                f"{shown(unit)}; give it under 'quantities' at the fit."
            )
        factor, zero = conversion(prior.quantities[name], unit)
        pairs[name] = float(factor), float(zero)
    scales = np.array([pairs[name][0] for name in expression.names])
    offsets = np.array([pairs[name][1] for name in expression.names])
    scale, offset = pairs[target]
    found = gauge(expression.rescaled(offsets, scales, offset, scale).canonical())
    theta = [float(f"{t:.{DIGITS}g}") for t in found.constants().tolist()]
    return found.with_constants(theta)
