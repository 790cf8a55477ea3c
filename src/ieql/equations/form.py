"""A known form with parts to be learned: ``U*I*f(T) + g(n, T)``.

Functions that are no units are parts: each is a function of some inputs that is not known yet. All
else is given: inputs, units and numbers as they stand, and names of constants that are fitted. The
text goes through the grammar of all our equations (`ieql.equations.text`), never through `eval`.

As long as all other parts are known, a part has a value at every row: the form is undone from the
outside in, so that it can be learned from a table of its own (`undone`). Equations may be learned
so that the error is one of y all the same: rows of that table weigh as much as the form makes of
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Node, Sum
from ieql.equations.formula import Formula, listed
from ieql.equations.text import Call, calls_in, parse, split_equation, write_name
from ieql.errors import IeqlError, nearest, shown
from ieql.units import DIV, EXP, LOG, MUL, SQRT, SQUARE, Unit, known_units

__all__ = ["Form", "Part"]

Array = NDArray[np.float64]
MOST_PARTS = 6
AFFINE = 1e-7
"""Part of its size by which a function may differ from a straight line and count as one."""


@dataclass(frozen=True)
class Part:
    """A function that is to be learned.

    Attributes
    ----------
    name : str
        Its name.
    inputs : tuple of str
        The columns that it is a function of.
    """

    name: str
    inputs: tuple[str, ...]

    @property
    def label(self) -> str:
        """Name and inputs, as they stand in the form."""
        return f"{self.name}({', '.join(map(write_name, self.inputs))})"


@dataclass(frozen=True, eq=False)
class Form:
    """A structure with parts to be learned; made by `Form.parse`.

    Attributes
    ----------
    text : str
        The right-hand side, as it was given.
    inputs : tuple of str
        All columns of the table.
    parts : tuple of Part
        In the order in which they appear.
    formula : Formula
        The same with the parts among its constants, in front of the others.
    """

    text: str
    inputs: tuple[str, ...]
    parts: tuple[Part, ...]
    formula: Formula

    @classmethod
    def parse(
        cls,
        text: str,
        inputs: Sequence[str],
        target: str = "y",
        custom: Mapping[str, Unit] | None = None,
    ) -> Form:
        """Read a form; with a left-hand side, as in ``log(y) = f(x)``, that is undone first."""
        if not isinstance(text, str):
            raise IeqlError(f"The form must be a text like 'a*f(x) + g(z)', not {shown(text)}.")
        units = {**known_units(), **(custom or {})}
        left, right = split_equation(text)
        calls = calls_in(right, units)
        parts = _parts(calls, inputs)
        for call in reversed(calls):
            label = write_name(Part(call.name, call.arguments).label)
            right = f"{right[: call.start]}{label}{right[call.stop :]}"
        right = _without_left_side(left, right, target, custom or {})
        labels = [p.label for p in parts]
        found = Formula.parse(right, (*inputs, *labels), custom)
        constants = (*labels, *found.constants)
        formula = Formula(right, tuple(inputs), constants, found.expression, found.custom)
        form = cls(text, tuple(inputs), parts, formula)
        for k, part in enumerate(parts):
            if not form._depends[k][-1]:
                raise IeqlError(f"{part.label} has no influence in the form {shown(text)}.")
        return form

    @property
    def constants(self) -> tuple[str, ...]:
        """Names of the constants of the form itself."""
        return self.formula.constants[len(self.parts) :]

    # --- values ----------------------------------------------------------------------------------

    def evaluate(self, X: Array, parts: Sequence[Array], constants: Array) -> tuple[Array, Array]:
        """Values at rows, and slopes by the parts and then by the constants.

        Parameters
        ----------
        X : array (rows, inputs)
            All columns.
        parts : sequence of arrays (rows,)
            The value of each part at the rows.
        constants : array
            Of the form itself.
        """
        return self.formula.evaluate(X, [*parts, *constants])

    def whole(self, parts: Sequence[Expression], constants: Sequence[float] | Array) -> Expression:
        """The form as one equation, given its parts (in all inputs) and its constants."""
        builder = _FormBuilder(self.inputs)
        values = [builder.input(i) for i in range(len(self.inputs))]
        values += [translate(e.outputs[0], builder.copy(e)) for e in parts]
        values += [Sum(float(c)) for c in constants]
        (output,) = self.formula.expression.outputs
        sums = builder.copy(self.formula.expression, values)
        return builder.expression(translate(output, sums)).canonical()

    # --- undoing it ------------------------------------------------------------------------------

    def undone(
        self, part: int, X: Array, y: Array, parts: Sequence[Array], constants: Array
    ) -> tuple[Array, Array]:
        """What a part must be at each row for the form to give y, and how much the row tells of it.

        Parameters
        ----------
        part : int
            Which part.
        X, y : arrays
            The rows.
        parts : sequence of arrays (rows,)
            Values of all parts; that of the part itself does not matter.
        constants : array
            Of the form itself.

        Returns
        -------
        values : array (rows,)
            NaN where no value of the part gives y.
        slopes : array (rows,)
            By how much the form moves with the part there.
        """
        with np.errstate(all="ignore"):
            affine = self._as_line(part, X, parts, constants)
            if affine is not None:
                offset, slope = affine
                values = np.where(slope != 0.0, (y - offset) / slope, np.nan)
            else:
                values = self._inverted(part, X, y, parts, constants)
                _, slopes = self.evaluate(X, _with(parts, part, values), constants)
                slope = slopes[:, part]
        good = np.isfinite(values) & np.isfinite(slope)
        return np.where(good, values, np.nan), np.where(good, slope, 0.0)

    def _as_line(
        self, part: int, X: Array, parts: Sequence[Array], constants: Array
    ) -> tuple[Array, Array] | None:
        """Offset and slope of the form in one of its parts, if it is a straight line in that."""
        at = [self.evaluate(X, _with(parts, part, v), constants)[0] for v in (0.0, 1.0, -2.5, 7.0)]
        offset, slope = at[0], at[1] - at[0]
        for value, line in ((at[2], offset - 2.5 * slope), (at[3], offset + 7.0 * slope)):
            if not np.all(np.abs(value - line) <= AFFINE * (np.abs(value) + np.abs(line) + 1e-300)):
                return None
        return offset, slope

    @cached_property
    def _depends(self) -> list[list[bool]]:
        """For each part which sources depend on it: inputs, units, and last the output."""
        e, d = self.formula.expression, len(self.inputs)
        found = []
        for k in range(len(self.parts)):
            depends = [i == d + k for i in range(len(e.names))]
            for node in e.nodes:
                depends.append(any(depends[i] for a in node.args for i in a.sources))
            depends.append(any(depends[i] for i in e.outputs[0].sources))
            found.append(depends)
        return found

    def is_line_in(self, part: int) -> bool:
        """Whether the form is a straight line in a part, whatever all others are."""
        rng = np.random.default_rng(0)
        X = rng.uniform(0.5, 1.5, (8, len(self.inputs)))
        parts = [rng.uniform(0.5, 1.5, 8) for _ in self.parts]
        constants = rng.uniform(0.5, 1.5, len(self.constants))
        with np.errstate(all="ignore"):
            return self._as_line(part, X, parts, constants) is not None

    def can_be_undone(self, part: int) -> bool:
        """Whether a part stands where it can be solved for, as a line or along one path."""
        return self.is_line_in(part) or self._path(part) is not None

    def _path(self, part: int) -> list[tuple[Sum, Node | None, int]] | None:
        """From the outside in: a sum, the unit of it that holds the part, and its argument.

        None if the part stands in two places, or under a unit that cannot be undone.
        """
        e, depends, d = self.formula.expression, self._depends[part], len(self.inputs)
        total = e.outputs[0]
        path: list[tuple[Sum, Node | None, int]] = []
        while True:
            inside = [i for i in total.sources if depends[i]]
            if len(inside) != 1:
                return None
            if inside[0] == d + part:
                return [*path, (total, None, 0)]
            node = e.nodes[inside[0] - len(e.names)]
            places = [a for a, s in enumerate(node.args) if any(depends[i] for i in s.sources)]
            if len(places) != 1 or node.unit not in (EXP, LOG, SQRT, SQUARE, MUL, DIV):
                return None
            path.append((total, node, places[0]))
            total = node.args[places[0]]

    def _inverted(
        self, part: int, X: Array, y: Array, parts: Sequence[Array], constants: Array
    ) -> Array:
        """Solve for a part along the path to it."""
        path = self._path(part)
        if path is None:
            return np.full(len(y), np.nan)
        e, n = self.formula.expression, len(y)
        known = [X[:, i] for i in range(X.shape[1])]
        known += [np.broadcast_to(v, n) for v in (*parts, *constants)]
        value = known[: len(e.names)]
        for unit, arguments in e.nodes:
            value.append(unit(*(_total(a, value, n) for a in arguments)))
        depends = self._depends[part]
        rest = y
        for total, node, place in path:
            (inside,) = (i for i in total.sources if depends[i])
            weight = total.weights[total.sources.index(inside)]
            others = _total(
                total, [np.zeros(n) if i == inside else v for i, v in enumerate(value)], n
            )
            rest = (rest - others) / weight
            if node is not None:
                at = [_total(a, value, n) for a in node.args]
                rest = _argument(node.unit, place, rest, at)
        return rest


class _FormBuilder(Builder):
    """A builder that writes a factor of a part in front of the whole product."""

    def apply(self, unit: Unit, *args: Sum) -> Sum:
        if unit not in (MUL, DIV) or any(a.is_constant for a in args):
            return super().apply(unit, *args)
        one, two = (a.weights[0] if len(a.sources) == 1 and not a.bias else 1.0 for a in args)
        bare = super().apply(unit, args[0].scaled(1.0 / one), args[1].scaled(1.0 / two))
        return bare.scaled(one * two if unit is MUL else one / two)


def _with(parts: Sequence[Array], part: int, value: Array | float) -> list[Array]:
    others = list(parts)
    others[part] = np.broadcast_to(np.asarray(value, dtype=float), np.shape(parts[part]))
    return others


def _total(s: Sum, value: Sequence[Array], n: int) -> Array:
    total = np.full(n, s.bias)
    for i, w in zip(s.sources, s.weights, strict=True):
        total = total + w * value[i]
    return total


def _argument(unit: Unit, place: int, value: Array, arguments: Sequence[Array]) -> Array:
    """What an argument of a unit must be for the unit to have a value."""
    if unit is EXP:
        return np.where(value > 0.0, np.log(value), np.nan)
    if unit is LOG:
        return np.exp(value)
    if unit is SQRT:
        return np.where(value >= 0.0, value * value, np.nan)
    if unit is SQUARE:
        # Of two values the positive one: the other is minus the part, as good as it.
        return np.where(value >= 0.0, np.sqrt(value), np.nan)
    other = arguments[1 - place]
    if unit is MUL:
        return value / other
    return value * other if place == 0 else other / value


def _parts(calls: Sequence[Call], inputs: Sequence[str]) -> tuple[Part, ...]:
    """The parts of a form, each once."""
    found: dict[str, Part] = {}
    for call in calls:
        if call.name in inputs:
            raise IeqlError(
                f"{shown(call.name)} is a column of the table and cannot be a part of the form, "
                "too; name the part otherwise."
            )
        for name in call.arguments:
            if name not in inputs:
                raise IeqlError(
                    f"{call.name}(…) must be a function of columns of the table; {shown(name)} is "
                    f"none.{nearest(name, inputs)}"
                )
        part = Part(call.name, call.arguments)
        if len(set(part.inputs)) < len(part.inputs):
            raise IeqlError(f"{part.label} names an input twice.")
        if found.setdefault(part.name, part) != part:
            raise IeqlError(
                f"The form holds {found[part.name].label} and {part.label}; a part must have the "
                "same inputs wherever it stands."
            )
    if not found:
        raise IeqlError(
            f"The form has no part to be learned; name one with its inputs, as in f({inputs[0]}). "
            "To fit constants alone, use fit_formula."
        )
    if len(found) > MOST_PARTS:
        raise IeqlError(f"The form has {len(found)} parts; at most {MOST_PARTS} can be learned.")
    return tuple(found.values())


def _without_left_side(
    left: str | None, right: str, target: str, custom: Mapping[str, Unit]
) -> str:
    """The right-hand side for the target itself, if the left one is a function of it."""
    if left is None:
        return right
    e = parse(left, (target,), custom)
    total, names = e.outputs[0], 1
    right = f"({right})"
    while True:
        if len(total.sources) != 1:
            raise IeqlError(
                f"The left-hand side {shown(left)} of the form cannot be solved for "
                f"{shown(target)}; give the form for {shown(target)} itself."
            )
        right = f"(({right} - {total.bias!r})/{total.weights[0]!r})"
        if total.sources[0] < names:
            return right
        node = e.nodes[total.sources[0] - names]
        if node.unit in UNDONE:
            right, total = UNDONE[node.unit].format(right), node.args[0]
        elif node.unit is DIV and node.args[0].is_constant:
            right, total = f"({node.args[0].bias!r}/{right})", node.args[1]
        else:
            raise IeqlError(
                f"The left-hand side {shown(left)} of the form cannot be undone; what can be is "
                f"{listed([u.name for u in UNDONE])} and one over it."
            )


UNDONE = {EXP: "log({})", LOG: "exp({})", SQRT: "({})**2", SQUARE: "sqrt({})"}
"""What undoes a unit of the target."""
