"""A formula of somebody's own: its structure is given, its constants have names.

What is not the name of an input is a constant: in ``a*exp(-t/tau) + b`` of an input t these are a,
tau and b. A constant may stand in several places and in an exponent. The text goes through the
grammar of all our equations (`ieql.equations.text`), never through `eval`. `formula_fit` finds the
constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression
from ieql.equations.notation import PI
from ieql.equations.text import names_in, parse
from ieql.errors import IeqlError, shown
from ieql.units import MACHINE_UNITS, Unit, known_units

__all__ = ["Formula", "listed"]

Array = NDArray[np.float64]
MOST_CONSTANTS = 50
BLOCK = 20_000
"""Rows that are evaluated at a time."""


@dataclass(frozen=True)
class Formula:
    """A structure with named constants.

    Attributes
    ----------
    text : str
        As it was given.
    inputs, constants : tuple of str
        Names of the columns, and of the constants in the order in which they appear.
    expression : Expression
        Its graph; the constants are inputs behind the others.
    custom : mapping
        Units of the user's own, by name.
    """

    text: str
    inputs: tuple[str, ...]
    constants: tuple[str, ...]
    expression: Expression
    custom: Mapping[str, Unit]

    @classmethod
    def parse(
        cls, text: str, inputs: Sequence[str], custom: Mapping[str, Unit] | None = None
    ) -> Formula:
        """Read a formula; whatever is no input, no unit and not π is a constant."""
        if not isinstance(text, str):
            raise IeqlError(f"The formula must be a text like 'a*x + b', not {shown(text)}.")
        known, custom = set(inputs), custom or {}
        units = {name for name, u in known_units().items() if u not in MACHINE_UNITS}
        others = {*units, *custom} | ({PI} - known)
        constants = [n for n in names_in(text) if n not in known and n not in others]
        if len(constants) > MOST_CONSTANTS:
            raise IeqlError(
                f"The formula has {len(constants)} constants; at most {MOST_CONSTANTS} are fitted. "
                "Names that are no column of the table are constants."
            )
        expression = parse(text, (*inputs, *constants), custom, in_exponents=constants)
        if not known & set(names_in(text)):
            raise IeqlError(
                f"The formula holds no column of the table ({listed(inputs)}). "
                f"Its names count as constants: {listed(constants) or 'it has none'}."
            )
        return cls(text, tuple(inputs), tuple(constants), expression, custom)

    def filled(self, values: Sequence[float] | Array) -> Expression:
        """The equation of the inputs alone, with these values of the constants."""
        numbers = dict(zip(self.constants, map(float, values), strict=True))
        return parse(self.text, self.inputs, self.custom, numbers)

    def evaluate(self, X: Array, values: Array | Sequence[Array | float]) -> tuple[Array, Array]:
        """Values at rows, and slopes by the constants (rows, constants).

        A constant may have another value at each row.
        """
        n, d, k = len(X), len(self.inputs), len(self.constants)
        if n > BLOCK:  # the slopes of every unit are kept
            parts = []
            for i in range(0, n, BLOCK):
                rows = slice(i, i + BLOCK)
                own = [v[rows] if isinstance(v, np.ndarray) and v.ndim else v for v in values]
                parts.append(self.evaluate(X[rows], own))
            return np.concatenate([v for v, _ in parts]), np.concatenate([s for _, s in parts])
        y: list[Array] = [X[:, i] for i in range(d)] + [np.full(n, v) for v in values]
        slopes: list[Array] = [np.zeros((n, k)) for _ in range(d)] + list(
            np.repeat(np.eye(k)[:, None, :], n, axis=1)
        )

        def total(bias: float, sources: Sequence[int], weights: Sequence[float]) -> list[Array]:
            z, dz = np.full(n, bias), np.zeros((n, k))
            for i, w in zip(sources, weights, strict=True):
                z = z + w * y[i]
                dz = dz + w * slopes[i]
            return [z, dz]

        with np.errstate(all="ignore"):
            for node in self.expression.nodes:
                args = [total(*a) for a in node.args]
                at = [z for z, _ in args]
                y.append(node.unit(*at))
                slope = np.zeros((n, k))
                for j, (_, dz) in enumerate(args):
                    # Where a constant has no part, an infinite slope is none of its business.
                    part = node.unit.derivative(j, *at)[:, None] * dz
                    slope = slope + np.where(dz == 0.0, 0.0, part)
                slopes.append(slope)
            value, slope = total(*self.expression.outputs[0])
        return value, slope


def listed(names: Sequence[str]) -> str:
    """Names for a message, the first few of many."""
    few = ", ".join(shown(name) for name in names[:10])
    return f"{few}, …" if len(names) > 10 else few
