"""More units for a fitted network: many are drawn, those that explain most of what is left enter.

A unit φ that would feed the argument z_a adds the column ∂F/∂z_a · φ to the Jacobian. What that
column explains beyond all others, to first order, is its gain. The best few are built in with all
inputs connected; `ieql.training.fast.network_cut` takes out what was not needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ieql.equations.expression import Expression, Sum
from ieql.network import Network
from ieql.prior import Prior
from ieql.training.fast.network_cut import argument_rows
from ieql.training.fast.network_fit import (
    ROUNDING,
    FittedNetwork,
    Rows,
    argument_range,
    source_ranges,
    tangent,
)
from ieql.units import EXP, Unit

__all__ = ["network_of", "widened"]

Array = NDArray[np.float64]
FAVOURED = 2.0
"""How many times more often units that have no singularity and do not explode are drawn."""
ALL_INPUTS = 0.5
"""Share of drawn arguments with all inputs, and some units; others have one to three sources."""
TO_OUTPUT = 0.6
"""Share of drawn units that feed the output; the others feed an argument of another unit."""
SPREADS = (0.3, 2.5)
"""Spread of a drawn argument over the rows, log-uniform between these."""
OFFSETS = (0.05, 3.0)
"""Distance of a singular argument from the edge of its domain, in its ranges."""
LARGEST = 50.0
"""A unit that takes larger values has been drawn badly: it is near a pole, or explodes."""
ALIKE = 0.9
"""Of two units whose columns have this cosine only one enters."""
ATTEMPTS = 3
"""Draws for each unit that is wanted, at most."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A unit that may enter: where it stands, its arguments, and the argument it feeds."""

    layer: int
    """From 1."""
    unit: Unit
    args: tuple[tuple[float, NDArray[np.intp], Array], ...]
    """For each argument offset, columns and weights."""
    feeds: int
    """A row of the weight matrix."""

    @property
    def size(self) -> int:
        """Number of constants that it was drawn with."""
        return 1 + sum(1 + len(columns) for _, columns, _ in self.args)


def widened(
    state: FittedNetwork,
    rows: Rows,
    rng: np.random.Generator,
    number: int,
    drawn: int,
    deepest: int,
    inputs: NDArray[np.intp],
) -> FittedNetwork | None:
    """The network with some more units, the best of those drawn; None if none could be drawn.

    Parameters
    ----------
    state, rows
        What to widen, and the rows that judge.
    rng
        Source of the draws.
    number, drawn
        How many units enter, and of how many drawn ones.
    deepest : int
        Hidden layers, at most.
    inputs : array
        The inputs that may be used.
    """
    pool = _Pool(state, rows, rng, deepest, inputs)
    units: list[Drawn] = []
    values: list[Array] = []
    for _ in range(ATTEMPTS * drawn):
        if len(units) == drawn:
            break
        found = pool.draw()
        if found is not None:
            units.append(found[0])
            values.append(found[1])
    if not units:
        return None
    t = tangent(state, rows)
    inverse = t.inverse(state.ridge * state.shrunk + ROUNDING)
    if inverse is None:
        return None
    V = np.array(values) * rows.root
    shared = V @ t.J.T
    own = np.sum(V * V, axis=1)
    left = own - np.sum((shared @ inverse) * shared, axis=1) + 1e-6 * own + state.ridge
    explained = -(V @ t.r) + shared @ (inverse @ (t.J @ t.r))
    gain = explained**2 / left / np.sqrt([u.size for u in units])
    chosen: list[int] = []
    for i in np.argsort(-gain, kind="stable").tolist():
        if all(abs(V[i] @ V[j]) < ALIKE * math.sqrt(own[i] * own[j]) for j in chosen):
            chosen.append(i)
        if len(chosen) == number:
            break
    # They were judged one by one; together they would go too far.
    share = 0.5 / math.sqrt(len(chosen))
    weights = [share * float(explained[i] / left[i]) for i in chosen]
    return _inserted(state, [units[i] for i in chosen], weights, inputs)


class _Pool:
    """Draws units for a network."""

    def __init__(
        self,
        state: FittedNetwork,
        rows: Rows,
        rng: np.random.Generator,
        deepest: int,
        inputs: NDArray[np.intp],
    ) -> None:
        network, prior = state.network, state.network.prior
        self.network, self.rng = network, rng
        self.Y, Z = network.forward(state.W, rows.XT)
        self.D = network.backward(state.W, Z, np.ones((1, rows.XT.shape[1])))
        self.spread = np.maximum(self.Y.std(axis=1), 1e-6)
        self.low, self.high = source_ranges(network, state.W, rows.lower, rows.upper)
        depth = len(network.layers)
        self.deepest = max(min(depth + 1, deepest), 1)
        d = len(network.names)
        usable = np.zeros(network.n_sources, dtype=bool)
        usable[1 + inputs] = True
        usable[1 + d :] = True
        self.usable = usable
        self.level = np.repeat(np.arange(depth + 1), np.diff([0, *network.visible]))
        sizes = [r.stop - r.start for r in network.layer_rows]
        # A unit may stand in a new layer; the output comes after that, too.
        self.row_level = np.repeat([*range(1, depth + 1), depth + 2], sizes)
        self.row_names = {network.n_args - 1: ("output", 0)}
        for blocks in network.blocks:
            for block in blocks:
                for a, r in enumerate(block.args):
                    self.row_names |= dict.fromkeys(range(r.start, r.stop), (block.unit.name, a))
        self.units = [prior.unit(name) for name in prior.units]
        chances = np.array([_chance(u, prior) for u in self.units])
        self.chances = chances / chances.sum()

    def draw(self) -> tuple[Drawn, Array] | None:
        """A unit, and the column that it would add to the Jacobian; None if it is no good."""
        rng, network = self.rng, self.network
        unit = self.units[int(rng.choice(len(self.units), p=self.chances))]
        layer = int(rng.integers(1, self.deepest + 1))
        args, values = [], []
        for a in range(unit.arity):
            argument = self._argument(unit, a, layer)
            if argument is None:
                return None
            offset, columns, weights = argument
            args.append(argument)
            values.append(offset + weights @ self.Y[columns])
        value = unit(*values)
        if not (np.all(np.isfinite(value)) and np.abs(value).max() < LARGEST):
            return None
        row = network.n_args - 1
        if rng.random() >= TO_OUTPUT:
            # Nothing is added to a singular argument: it would hardly stay in its domain.
            later = np.setdiff1d(np.flatnonzero(self.row_level > layer), network.singular_rows)
            row = int(rng.choice(later))
        if not network.prior.allows(*self.row_names[row], unit.name):
            return None
        return Drawn(layer, unit, tuple(args), row), self.D[row] * value

    def _argument(
        self, unit: Unit, a: int, layer: int
    ) -> tuple[float, NDArray[np.intp], Array] | None:
        rng = self.rng
        allowed = self.network.permitted(unit.name, a) & self.usable & (self.level < layer)
        sources = np.flatnonzero(allowed)
        if len(sources) == 0:
            return None
        if rng.random() < ALL_INPUTS:
            is_input = sources <= len(self.network.names)
            beside = rng.permutation(sources[~is_input])[: int(rng.integers(0, 3))]
            columns = np.concatenate([sources[is_input], beside])
        else:
            columns = rng.choice(sources, min(int(rng.integers(1, 4)), len(sources)), replace=False)
        if len(columns) == 0:
            return None
        spread = math.exp(rng.uniform(*np.log(SPREADS))) / math.sqrt(len(columns))
        weights = rng.normal(size=len(columns)) * spread / self.spread[columns]
        if a not in unit.singular:
            offset = 0.0 if unit is EXP else float(rng.normal())
            return offset, columns, weights
        low, high = argument_range(weights, self.low[columns], self.high[columns])
        away = float(high - low) * math.exp(rng.uniform(*np.log(OFFSETS)))
        edge_low, edge_high = unit.domains[a]
        offset = edge_low - float(low) + away
        if not math.isfinite(edge_low):
            offset = edge_high - float(high) - away
        if not math.isfinite(offset):
            return None
        return offset, columns, weights


def _chance(unit: Unit, prior: Prior) -> float:
    tame = not unit.singular and unit is not EXP
    return (FAVOURED if tame else 1.0) / prior.cost(unit.name)


def _inserted(
    state: FittedNetwork,
    units: Sequence[Drawn],
    weights: Sequence[float],
    inputs: NDArray[np.intp],
) -> FittedNetwork:
    """Build units into a network; their arguments get all permitted inputs, with weight zero."""
    old, d = state.network, len(state.network.names)
    depth = max(len(old.layers), *(u.layer for u in units))
    # What stands in each layer: the column of an old unit, or minus the number of a new one.
    layers: list[list[tuple[Unit, int]]] = [[] for _ in range(depth)]
    column = 1 + d
    for number, layer in enumerate(old.layers):
        for unit in layer:
            layers[number].append((unit, column))
            column += 1
    for k, drawn in enumerate(units):
        layers[drawn.layer - 1].append((drawn.unit, -1 - k))
    network, places = _arranged(layers, old.names, old.prior)
    before, after = argument_rows(old), argument_rows(network)
    columns = {c: c for c in range(1 + d)} | {old: new for old, new in places.items() if old > 0}
    rows = {old.n_args - 1: network.n_args - 1}
    for c, own in before.items():
        rows |= dict(zip(own, after[columns[c]], strict=True))
    W = np.zeros((network.n_args, network.n_sources))
    live = np.zeros(W.shape, dtype=bool)
    args, sources = np.nonzero(state.live)
    new_args = [rows[int(i)] for i in args]
    new_sources = [columns[int(i)] for i in sources]
    W[new_args, new_sources] = state.W[args, sources]
    live[new_args, new_sources] = True
    for k, (drawn, weight) in enumerate(zip(units, weights, strict=True)):
        place = places[-1 - k]
        for row, (offset, cs, ws) in zip(after[place], drawn.args, strict=True):
            new = [columns[int(c)] for c in cs]
            W[row, 0], W[row, new] = offset, ws
            live[row, new] = True
            live[row, 1 + inputs] = True
            # exp(a + z) is a factor times exp(z), and has that factor already.
            live[row, 0] = drawn.unit is not EXP
        W[rows[drawn.feeds], place] = weight
        live[rows[drawn.feeds], place] = True
    live &= network.allowed
    return replace(state, network=network, W=np.where(live, W, 0.0), live=live, damping=0.1)


def _arranged(
    layers: Sequence[Sequence[tuple[Unit, int]]], names: tuple[str, ...], prior: Prior
) -> tuple[Network, dict[int, int]]:
    """A network of marked units, equal ones of a layer together, and the column of each mark."""
    ordered = []
    for entries in layers:
        kinds = dict.fromkeys(u for u, _ in entries)
        ordered.append([(u, mark) for kind in kinds for u, mark in entries if u is kind])
    network = Network(names, tuple(tuple(u for u, _ in e) for e in ordered), prior)
    marks = [mark for entries in ordered for _, mark in entries]
    return network, {mark: 1 + len(names) + k for k, mark in enumerate(marks)}


def network_of(expression: Expression, prior: Prior) -> FittedNetwork:
    """An expression with one output as a network that has just its units and connections."""
    d = len(expression.names)
    depth = expression.depth
    layers: list[list[tuple[Unit, int]]] = [[] for _ in range(depth)]
    for k, node in enumerate(expression.nodes):
        layers[expression.levels[d + k] - 1].append((node.unit, k))
    network, places = _arranged(layers, expression.names, prior)
    columns = {i: 1 + i for i in range(d)} | {d + k: c for k, c in places.items()}
    owned = argument_rows(network)
    W = np.zeros((network.n_args, network.n_sources))
    for k, node in enumerate(expression.nodes):
        for row, s in zip(owned[places[k]], node.args, strict=True):
            _place(W, row, s, columns)
    _place(W, network.n_args - 1, expression.outputs[0], columns)
    live = (W != 0.0) & network.allowed
    live[network.n_args - 1, 0] = True
    return FittedNetwork(network, np.where(live, W, 0.0), live)


def _place(W: Array, row: int, s: Sum, columns: dict[int, int]) -> None:
    W[row, 0] = s.bias
    for i, w in zip(s.sources, s.weights, strict=True):
        W[row, columns[i]] = w
