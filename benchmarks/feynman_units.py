"""Physical units of the Feynman set, and a second opinion on dimensions: pint itself.

The units are those of the formulas in the Feynman Lectures; where a formula is pure geometry or
statistics (a normal distribution, a scalar product) everything is a plain number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ieql.equations.expression import Expression, Sum
from ieql.units import DIV, EXP, LOG, MUL, SQRT, SQUARE
from problems import Data

__all__ = ["TARGET", "UNITS", "measured_in_units", "units_of", "violation"]

TARGET = "output"
"""How the target is called: some inputs are called y."""

_USUAL = """
kg: m m1 m2 m_0; m/s: v u w c; m: x x1 x2 y y1 y2 z z1 z2 r r1 r2 d d1 d2; s: t; C: q q1 q2
F/m: epsilon; V/m: Ef; T: B Bx By Bz; m**3/(kg*s**2): G; m/s**2: g; N/m: k_spring
1/s: omega omega_0; N: F Nn; 1/m**3: n_0 n_rho; J/K: kb; K: T T1 T2; J*s: h; Pa: pr Y
m**3: V V1 V2; J: E_n U; W: Pwr; V: Volt; C*m: p_d; C/m**3: rho_c_0; A: I I_0; A*m**2: mom
W/m**2: I1 I2 Int_0; m**2: A; kg*m/s: p; s/kg: mob mu_drift; W/(m*K): kappa; C/m**2: sigma_den
A/m: M; Wb/m: A_vec; kg/m**3: rho; 1/m: k
"""
"""Inputs that stand for the same quantity wherever they appear; all others are plain numbers."""

# name | unit of the output | what is not as usual
_TABLE = """
I.6.2a | 1 |
I.6.2 | 1 |
I.6.2b | 1 |
I.8.14 | m |
I.9.18 | N |
I.10.7 | kg |
I.11.19 | 1 | 1: x1 x2 x3 y1 y2 y3
I.12.1 | N |
I.12.2 | N |
I.12.4 | V/m |
I.12.5 | N |
I.12.11 | N |
I.13.4 | J |
I.13.12 | J |
I.14.3 | J |
I.14.4 | J |
I.15.3x | m |
I.15.3t | s |
I.15.1 | kg*m/s |
I.16.6 | m/s |
I.18.4 | m |
I.18.12 | N*m |
I.18.14 | kg*m**2/s |
I.24.6 | J |
I.25.13 | V | F: C
I.27.6 | m |
I.29.4 | 1/m |
I.29.16 | m |
I.30.3 | W/m**2 |
I.32.5 | W | m/s**2: a
I.32.17 | W |
I.34.8 | 1/s |
I.34.1 | 1/s |
I.34.14 | 1/s |
I.34.27 | J |
I.37.4 | W/m**2 |
I.38.12 | m |
I.39.1 | J |
I.39.11 | J |
I.39.22 | Pa |
I.40.1 | 1/m**3 |
I.41.16 | J/m**2 |
I.43.16 | m/s |
I.43.31 | m**2/s |
I.43.43 | W/(m*K) |
I.44.4 | J |
I.47.23 | m/s |
I.48.2 | J |
I.50.26 | m |
II.2.42 | W |
II.3.24 | W/m**2 |
II.4.23 | V |
II.6.11 | V |
II.6.15a | V/m |
II.6.15b | V/m |
II.8.7 | J |
II.8.31 | J/m**3 |
II.10.9 | V/m |
II.11.3 | m |
II.11.17 | 1/m**3 |
II.11.20 | C/m**2 |
II.11.27 | C/m**2 | 1/m**3: n; m**3: alpha
II.11.28 | 1 | 1/m**3: n; m**3: alpha
II.13.17 | T |
II.13.23 | C/m**3 |
II.13.34 | A/m**2 |
II.15.4 | J |
II.15.5 | J |
II.21.32 | V |
II.24.17 | 1/m |
II.27.16 | W/m**2 |
II.27.18 | J/m**3 |
II.34.2a | A |
II.34.2 | A*m**2 |
II.34.11 | 1/s |
II.34.29a | A*m**2 |
II.34.29b | J | J*s: Jz
II.35.18 | 1/m**3 |
II.35.21 | A/m |
II.36.38 | 1 | T: H
II.37.1 | J |
II.38.3 | N |
II.38.14 | Pa |
III.4.32 | 1 |
III.4.33 | J |
III.7.38 | 1/s |
III.8.54 | 1 |
III.10.19 | J |
III.12.43 | J*s |
III.13.18 | m/s |
III.14.14 | A |
III.15.12 | J |
III.15.14 | kg |
III.15.27 | 1/m |
III.17.37 | 1 |
III.19.51 | J |
III.21.20 | A/m**2 |
"""


def _inputs(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for group in filter(str.strip, text.replace("\n", ";").split(";")):
        unit, names = group.split(":")
        found |= dict.fromkeys(names.split(), unit.strip())
    return found


def _rows() -> dict[str, tuple[str, dict[str, str]]]:
    usual, rows = _inputs(_USUAL), {}
    for line in _TABLE.strip().splitlines():
        name, output, other = (part.strip() for part in line.split("|"))
        rows[name] = output, usual | _inputs(other)
    return rows


UNITS = _rows()
"""By the name of an equation the unit of its output, and those of inputs that are no numbers."""


def units_of(name: str, inputs: tuple[str, ...], target: str) -> dict[str, str]:
    """The units of a problem's columns, as a prior takes them."""
    output, known = UNITS[name]
    return {x: known.get(x, "1") for x in inputs} | {target: output}


def measured_in_units(name: str, draw: Callable[[int], Data], seed: int) -> Data:
    """The data of a problem with a prior that knows the units and permits no other constants."""
    data = draw(seed)
    y = data.y.rename(TARGET)
    prior = {"quantities": units_of(name, tuple(data.X), TARGET), "constants": "plain"}
    return replace(data, y=y, model_options={**data.model_options, "prior": prior})


ALIKE = 0.01
"""Difference of exponents of units that is rounding, where constants have printed units."""


# --- a second opinion --------------------------------------------------------------------------


@cache
def _registry() -> Any:
    import pint

    return pint.UnitRegistry()


def violation(
    expression: Expression,
    units: Mapping[str, str],
    target: str,
    constants: Sequence[str] | None = None,
) -> str:
    """What pint has against an equation; empty if nothing.

    The equation is computed with quantities instead of numbers, so that pint itself refuses to add
    a length to a time. The values themselves do not matter. Where constants have units, exponents
    of units may differ by a hundredth (`ALIKE`): those that are printed are near thousandths.

    Parameters
    ----------
    expression : Expression
        In the user's coordinates.
    units : mapping
        Of the inputs and the target.
    target : str
        The column that it is about.
    constants : sequence of str, optional
        The unit of each constant, in the order of `Expression.constants`, empty for plain numbers.
        Without them all constants are plain numbers.
    """
    import pint

    try:
        with np.errstate(all="ignore"):
            return _Computed(expression, units, constants).against(units[target])
    except (pint.DimensionalityError, pint.OffsetUnitCalculusError) as error:
        return str(error)


class _Computed:
    """An equation, computed with quantities."""

    def __init__(
        self, expression: Expression, units: Mapping[str, str], constants: Sequence[str] | None
    ) -> None:
        unit = _registry()
        self.expression = expression
        self.values = [
            unit.Quantity(np.float64(1.3 + 0.17 * i), units[name])
            for i, name in enumerate(expression.names)
        ]
        given, self.is_rounded = iter(constants or ()), constants is not None
        self.units = [
            (next(given, ""), {i: next(given, "") for i in s.sources}) for s in expression.sums
        ]

    def total(self, number: int, part: Sum | None = None) -> Any:
        """The value of a sum, or of a part of it."""
        own, each = self.units[number]
        s, unit = part or self.expression.sums[number], _registry()
        terms = [
            unit.Quantity(np.float64(w), each[i]) * self.values[i]
            for i, w in zip(s.sources, s.weights, strict=True)
        ]
        if s.bias != 0.0 or not terms:
            terms.append(unit.Quantity(np.float64(s.bias), own))
        result = terms[0]
        for term in terms[1:]:
            result = result + self.in_units_of(result, term)
        return result

    def in_units_of(self, one: Any, other: Any) -> Any:
        """The other quantity in the units of one, if they are alike."""
        if not self.is_rounded:
            return other
        one, other = one.to_base_units(), other.to_base_units()
        powers = [dict(q.unit_items()) for q in (one, other)]
        names = set(powers[0]) | set(powers[1])
        off = [abs(float(powers[0].get(n, 0)) - float(powers[1].get(n, 0))) for n in names]
        is_alike = max(off, default=0.0) < ALIKE
        return _registry().Quantity(other.magnitude, one.units) if is_alike else other

    def against(self, target: str) -> str:
        """What is wrong with the unit of the output; what is wrong before it is raised."""
        e, d, number = self.expression, len(self.expression.names), 0
        whose = dict[int, int]()
        for k, node in enumerate(e.nodes, start=d):
            whose[k] = number
            if node.unit is EXP:
                # exp(p log z + …) is a power, and written as one.
                pairs = zip(node.args[0].sources, node.args[0].weights, strict=True)
                powers = {i: p for i, p in pairs if _is_in_powers(e, i)}
                value = self.applied(
                    EXP, [self.total(number, e.beside_powers(node) if powers else None)]
                )
                for i, p in powers.items():
                    value = value * self.total(whose[i]) ** p
            elif _is_in_powers(e, k):
                value = _registry().Quantity(np.float64(0.0), "")  # see above
            else:
                places = range(number, number + len(node.args))
                value = self.applied(node.unit, [self.total(place) for place in places])
            self.values.append(value)
            number += len(node.args)
        whole, output = self.total(number), e.outputs[0]
        is_zero = not output.sources and output.bias == 0.0
        wanted = _registry().Quantity(np.float64(1.0), target)
        is_right = is_zero or self.in_units_of(wanted, whole).check(wanted.dimensionality)
        return "" if is_right else f"{whole.units} is not its unit"

    def applied(self, kind: Any, args: list[Any]) -> Any:
        """A unit of the network, applied to quantities."""
        if kind is MUL:
            return args[0] * args[1]
        if kind is DIV:
            return args[0] / args[1]
        if kind is SQUARE:
            return args[0] ** 2
        if kind is SQRT:
            return abs(args[0]) ** 0.5
        number = _registry().Quantity(np.float64(1.0), "")
        plain = self.in_units_of(number, args[0]).to("dimensionless").magnitude
        return _registry().Quantity(kind(np.array([plain]))[0], "")


def _is_in_powers(expression: Expression, source: int) -> bool:
    """Whether a source is a logarithm that only exponentials use."""
    d = len(expression.names)
    if source < d or expression.nodes[source - d].unit is not LOG:
        return False
    users = [n for n in expression.nodes if any(source in s.sources for s in n.args)]
    in_output = any(source in s.sources for s in expression.outputs)
    return bool(users) and not in_output and all(n.unit is EXP for n in users)
