"""The network behind an equation, laid out as in the paper's architecture figure.

Inputs on the left, one column per hidden layer with a place for every unit of the prior, outputs on
the right. Units that the equation uses are live, the others dead. Copy places hand on what a later
layer needs: a connection that skips a layer passes through one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression, Sum
from ieql.equations.shared_units import outputs_of
from ieql.prior import Prior
from ieql.units import DIV, IDENTITY, MUL, SQRT, SQUARE

__all__ = ["Connection", "Diagram", "Place", "diagram"]

Array = NDArray[np.float64]
SYMBOLS = {u.name: s for u, s in ((MUL, "×"), (DIV, "÷"), (SQUARE, "x²"), (SQRT, "√"))}
SYMBOLS[IDENTITY.name] = "id"
"""What stands in the place of a unit, by its name; in that of any other its name."""
MAX_DEAD = 14
"""Dead units drawn per layer, at most: a prior of many units would hide the live ones."""
MAX_INPUTS = 8
"""Inputs up to this number are all drawn; of more, those that are used and few others."""


@dataclass(frozen=True)
class Place:
    """A box or circle of the diagram.

    Attributes
    ----------
    kind : str
        "input", "unit", "copy" or "output".
    label : str
        What stands in it.
    column, row : float
        Where it stands; row 0 is the middle, rows grow downwards.
    live : bool
        Whether anything in the equation passes through it.
    shared : bool
        Whether several outputs depend on this unit.
    """

    kind: str
    label: str
    column: float
    row: float
    live: bool
    shared: bool = False


@dataclass(frozen=True)
class Connection:
    """A live connection: the places it passes, its weight, and its strength from 0 to 1."""

    path: tuple[int, ...]
    weight: float
    strength: float


@dataclass(frozen=True)
class Diagram:
    """Places and connections; `prohibited` are pairs of places that the prior keeps apart."""

    places: tuple[Place, ...]
    connections: tuple[Connection, ...]
    prohibited: tuple[tuple[int, int], ...]
    n_columns: int
    n_rows: float

    def spoken(self) -> str:
        """What the diagram shows, in a sentence."""
        units = [p.label for p in self.places if p.kind == "unit" and p.live]
        layers = self.n_columns - 2
        used = [p.label for p in self.places if p.kind == "input" and p.live]
        return (
            f"Network with {layers} hidden layer{'s' * (layers != 1)}; inputs used: "
            f"{', '.join(used) or 'none'}; live units: {', '.join(units) or 'none'}; "
            f"{len(self.connections)} live connections."
        )


def diagram(
    expression: Expression, targets: tuple[str, ...], prior: Prior, X: Array | None = None
) -> Diagram:
    """Lay out an expression with one or several outputs.

    Parameters
    ----------
    expression : Expression
        Several outputs share the units that they have in common.
    targets : tuple of str
        Names of the outputs.
    prior : Prior
        Says which units stand in every layer, and which connections are prohibited.
    X : array, optional
        Inputs; with them a connection is as strong as what it carries, otherwise as its weight.
    """
    return _Layout(expression, targets, prior, X).diagram()


class _Layout:
    def __init__(
        self, expression: Expression, targets: tuple[str, ...], prior: Prior, X: Array | None
    ) -> None:
        self.e, self.prior, self.targets = expression, prior, targets
        self.d = len(expression.names)
        self.depth = expression.depth
        self.levels = expression.levels
        self.spreads = _spreads(expression, X)
        self.used_by = outputs_of(expression)
        self.places: list[Place] = []
        self.at: dict[tuple[int, int], int] = {}  # (source, layer) → place that holds it there

    def diagram(self) -> Diagram:
        self._column_of_inputs()
        for layer in range(1, self.depth + 1):
            self._column_of_units(layer)
        outputs = self._column_of_outputs()
        connections = []
        for k, node in enumerate(self.e.nodes):
            own = self.d + k
            for a in node.args:
                connections += self._into(a, self.at[own, self.levels[own]], self.levels[own])
        for place, s in zip(outputs, self.e.outputs, strict=True):
            connections += self._into(s, place, self.depth + 1)
        rows = max(abs(p.row) for p in self.places) * 2 + 1
        return Diagram(
            tuple(self.places),
            tuple(connections),
            self._prohibited(),
            self.depth + 2,
            rows,
        )

    # --- columns ---------------------------------------------------------------------------------

    def _add(self, column: list[tuple[Place, int | None]], layer: int) -> list[int]:
        """Put a column of places in its middle; a place holds a source, or None if it is dead."""
        first = len(self.places)
        for k, (place, source) in enumerate(column):
            row = k - (len(column) - 1) / 2
            self.places.append(Place(place.kind, place.label, layer, row, place.live, place.shared))
            if source is not None:
                self.at[source, layer] = first + k
        return list(range(first, len(self.places)))

    def _column_of_inputs(self) -> None:
        used = {i for s in self.e.sums for i in s.sources}
        named = list(enumerate(self.e.names))
        shown = [i for i, _ in named if i in used]
        shown += [i for i, _ in named if i not in used][: max(0, MAX_INPUTS - len(shown))]
        column: list[tuple[Place, int | None]] = [
            (Place("input", self.e.names[i], 0, 0, i in used), i) for i in sorted(shown)
        ]
        left_out = self.d - len(shown)
        if left_out:
            column.append((Place("input", f"+{left_out}", 0, 0, False), None))
        self._add(column, 0)

    def _column_of_units(self, layer: int) -> None:
        live = [
            (self.d + k, node.unit.name)
            for k, node in enumerate(self.e.nodes)
            if self.levels[self.d + k] == layer
        ]
        names = dict.fromkeys([*self.prior.units, *(name for _, name in live)])
        n_dead = 0
        column: list[tuple[Place, int | None]] = []
        for name in names:
            mine = sorted((s for s, n in live if n == name), key=self._height)
            label = SYMBOLS.get(name, name)
            for source in mine:
                shared = len(self.used_by[source]) > 1
                column.append((Place("unit", label, layer, 0, True, shared), source))
            if not mine and n_dead < MAX_DEAD:
                n_dead += 1
                column.append((Place("unit", label, layer, 0, False), None))
        passing = sorted(self._passing(layer), key=self._height)
        for source in passing:
            column.append((Place("copy", "copy", layer, 0, True), source))
        if not passing and layer > 1:
            column.append((Place("copy", "copy", layer, 0, False), None))
        self._add(column, layer)

    def _column_of_outputs(self) -> list[int]:
        column: list[tuple[Place, int | None]] = [
            # One that nothing enters is a constant, as y2 = 0 in the paper's figure.
            (Place("output", name, 0, 0, bool(s.sources)), None)
            for name, s in zip(self.targets, self.e.outputs, strict=True)
        ]
        return self._add(column, self.depth + 1)

    def _passing(self, layer: int) -> set[int]:
        """Sources of earlier layers that a later layer needs."""
        uses = [
            (i, self.levels[self.d + k])
            for k, node in enumerate(self.e.nodes)
            for a in node.args
            for i in a.sources
        ]
        uses += [(i, self.depth + 1) for s in self.e.outputs for i in s.sources]
        return {i for i, at in uses if self.levels[i] < layer < at}

    def _height(self, source: int) -> float:
        """Mean row of what a source is made of, so that lines cross less."""
        layer = self.levels[source]
        if source >= self.d:
            below = [i for a in self.e.nodes[source - self.d].args for i in a.sources]
            found = [self._row(i, layer - 1) for i in below]
            return float(np.mean(found)) if found else 0.0
        return self._row(source, layer)

    def _row(self, source: int, layer: int) -> float:
        for at in range(layer, -1, -1):
            if (source, at) in self.at:
                return self.places[self.at[source, at]].row
        return 0.0

    # --- connections -----------------------------------------------------------------------------

    def _into(self, s: Sum, place: int, layer: int) -> list[Connection]:
        sizes = [abs(w) * self.spreads[i] for i, w in zip(s.sources, s.weights, strict=True)]
        largest = max(sizes, default=0.0) or 1.0
        return [
            Connection(
                (*(self.at[i, at] for at in range(self.levels[i], layer)), place),
                w,
                size / largest,
            )
            for i, w, size in zip(s.sources, s.weights, sizes, strict=True)
        ]

    def _prohibited(self) -> tuple[tuple[int, int], ...]:
        """Between neighbouring layers: the first place of each unit of a prohibited pair."""
        first: dict[tuple[int, str], int] = {}
        for k, place in enumerate(self.places):
            if place.kind == "unit":
                first.setdefault((int(place.column), place.label), k)
        pairs = []
        for layer in range(1, self.depth):
            for outer in self.prior.units:
                for inner in self.prior.units:
                    arity = self.prior.unit(outer).arity
                    if all(self.prior.allows(outer, a, inner) for a in range(arity)):
                        continue
                    ends = (
                        first.get((layer, SYMBOLS.get(inner, inner))),
                        first.get((layer + 1, SYMBOLS.get(outer, outer))),
                    )
                    if ends[0] is not None and ends[1] is not None:
                        pairs.append((ends[0], ends[1]))
        return tuple(pairs)


def _spreads(expression: Expression, X: Array | None) -> list[float]:
    """How much each source varies over the rows; 1 where that is not known."""
    n = len(expression.names) + len(expression.nodes)
    if X is None or len(X) < 2:
        return [1.0] * n
    sources = tuple(Sum(0.0, (i,), (1.0,)) for i in range(n))
    values = Expression(expression.names, expression.nodes, sources).evaluate(X)
    spreads = []
    for column in values.T:
        known = column[np.abs(column) < 1e150]
        spreads.append(float(np.std(known)) if len(known) else 1.0)
    return spreads
