"""Between which values everything in an equation lies, proved over the whole domain.

The domain is cut into boxes, and all that is computed on the way to the output is bounded in each
of them. Integer code takes its formats from that, and a table the error of its interpolation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.equations.intervals import Bounds, Enclosure
from ieql.equations.proof import prove
from ieql.errors import IeqlError
from ieql.export.functions import Domain, Equation

__all__ = ["Ranges", "boxes_of", "domain_ends", "proved_ranges", "single"]

Array = NDArray[np.float64]
MOST_BOXES = 4096
MOST_PER_INPUT = 512
SECONDS = 2.0


@dataclass(frozen=True)
class Ranges:
    """Bounds of the parts of an equation in each of some boxes that cover the domain.

    Attributes
    ----------
    values : dict
        Bounds of inputs and units by their source.
    arguments : dict
        Bounds of the arguments of units, by node and place.
    output : (low, high)
        Bounds of the output.
    """

    values: dict[int, Bounds]
    arguments: dict[tuple[int, int], Bounds]
    output: Bounds


def single(equation: Equation) -> Expression:
    """The expression with the equation's own output alone."""
    e = equation.expression
    return Expression(e.names, e.nodes, (e.outputs[equation.output],))


def domain_ends(expression: Expression, domain: Domain | None, what: str) -> tuple[Array, Array]:
    """Lower and upper ends of all inputs; those that do not matter may be missing."""
    ends = []
    for name in expression.names:
        given = (domain or {}).get(name)
        if given is None and name in expression.inputs_used:
            raise IeqlError(
                f"{what} needs the domain of the input {name!r}; fit with domain={{{name!r}: "
                "(low, high)}."
            )
        ends.append((0.0, 0.0) if given is None else (float(given[0]), float(given[1])))
    both = np.array(ends, dtype=np.float64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def boxes_of(lower: Array, upper: Array) -> tuple[Array, Array]:
    """A grid of boxes that cover a box, each array of shape (inputs, boxes)."""
    wide = upper > lower
    n = int(wide.sum())
    per_input = 1 if n == 0 else max(1, min(MOST_PER_INPUT, int(MOST_BOXES ** (1.0 / n) + 1e-9)))
    axes = [
        np.linspace(low, high, per_input + 1) if is_wide else np.array([low, high])
        for low, high, is_wide in zip(lower, upper, wide, strict=True)
    ]
    lows = np.meshgrid(*(a[:-1] for a in axes), indexing="ij")
    highs = np.meshgrid(*(a[1:] for a in axes), indexing="ij")
    if not axes:
        return np.empty((0, 1)), np.empty((0, 1))
    return np.array([a.ravel() for a in lows]), np.array([a.ravel() for a in highs])


def proved_ranges(equation: Equation, domain: Domain | None, what: str) -> Ranges:
    """The ranges of an equation; it is refused if it is not proved to be safe in the domain.

    `what` names the format in the message.
    """
    expression = single(equation)
    lower, upper = domain_ends(expression, domain, what)
    verdict = prove(expression, lower, upper, seconds=SECONDS, extremes=False)
    if verdict.proved is not True:
        found = "is not safe" if verdict.proved is False else "is not proved to be safe"
        raise IeqlError(
            f"{what} needs an equation whose values are proved to stay finite: that of "
            f"{equation.target!r} {found} in the whole domain; `ieql prove` says where."
        )
    f = Enclosure(expression, expression.outputs[0], verdict.known)
    inputs = list(f.inputs)
    boxes = boxes_of(lower[inputs], upper[inputs])
    values, arguments = f.parts(*boxes)
    return Ranges(values, arguments, f.bounds(*boxes))
