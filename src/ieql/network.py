"""The network of units (paper, section "Architecture of the iEQL").

All weights of a network live in one matrix ``W``: a row per argument of a unit (the outputs come
last), a column per source. Column 0 is the constant one, so that biases are weights like others;
then come the inputs and the units, layer by layer. A layer sees all columns before its own: the
paper's copy units, which pass everything on, are just these columns. What the prior prohibits is
False in `allowed`, in every layer.

Arrays are features × rows: one contiguous row of memory per source or argument, which is what BLAS
and the units' elementwise functions like best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ieql.prior import Prior
from ieql.units import Unit, relaxed_slope, relaxed_value

__all__ = ["Network"]

Array = NDArray[np.floating]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Block:
    """Units of one type in one layer: their argument rows (one slice per argument) and columns."""

    unit: Unit
    args: tuple[slice, ...]
    sources: slice


@dataclass(frozen=True, eq=False)
class Network:
    """Structure of a network; the weights are passed to its methods.

    Attributes
    ----------
    names : tuple of str
        Names of the inputs.
    layers : tuple of tuples of Unit
        The units of each hidden layer; equal units of a layer stand together.
    prior : Prior
        What is prohibited and what each source costs.
    n_outputs : int
        Number of outputs.
    """

    names: tuple[str, ...]
    layers: tuple[tuple[Unit, ...], ...]
    prior: Prior
    n_outputs: int = 1

    @classmethod
    def regular(
        cls,
        prior: Prior,
        names: Sequence[str],
        layers: int = 4,
        copies: int = 4,
        n_outputs: int = 1,
    ) -> Network:
        """The paper's network: every unit of the prior `copies` times in each hidden layer."""
        layer = tuple(prior.unit(name) for name in prior.units for _ in range(copies))
        return cls(tuple(names), (layer,) * layers, prior, n_outputs)

    # --- layout --------------------------------------------------------------------------------

    @cached_property
    def blocks(self) -> tuple[tuple[Block, ...], ...]:
        """For each hidden layer its units, grouped by type."""
        row, column = 0, 1 + len(self.names)
        layers = []
        for layer in self.layers:
            blocks = []
            for unit, count in _runs(layer):
                args = tuple(
                    slice(row + a * count, row + (a + 1) * count) for a in range(unit.arity)
                )
                blocks.append(Block(unit, args, slice(column, column + count)))
                row += count * unit.arity
                column += count
            layers.append(tuple(blocks))
        return tuple(layers)

    @cached_property
    def layer_rows(self) -> tuple[slice, ...]:
        """Argument rows of each hidden layer and, last, of the outputs."""
        rows, start = [], 0
        for layer in self.layers:
            stop = start + sum(u.arity for u in layer)
            rows.append(slice(start, stop))
            start = stop
        return (*rows, slice(start, start + self.n_outputs))

    @cached_property
    def visible(self) -> tuple[int, ...]:
        """Number of columns that each hidden layer and, last, the outputs can see."""
        counts = [1 + len(self.names)]
        for layer in self.layers:
            counts.append(counts[-1] + len(layer))
        return tuple(counts)

    @property
    def n_args(self) -> int:
        """Number of rows of the weight matrix."""
        return int(self.layer_rows[-1].stop)

    @property
    def n_sources(self) -> int:
        """Number of columns of the weight matrix."""
        return self.visible[-1]

    @cached_property
    def source_units(self) -> tuple[str, ...]:
        """What stands behind each column: ``"one"``, ``"input"`` or the name of a unit."""
        units = [u.name for blocks in self.blocks for b in blocks for u in [b.unit] * _size(b)]
        return ("one", *["input"] * len(self.names), *units)

    @cached_property
    def allowed(self) -> Mask:
        """Which weights exist: True where the connection is causal and not prohibited."""
        mask = np.zeros((self.n_args, self.n_sources), dtype=bool)
        for rows, count in zip(self.layer_rows, self.visible, strict=True):
            mask[rows, :count] = True
        for blocks in self.blocks:
            for block in blocks:
                for a, rows in enumerate(block.args):
                    mask[rows] &= self.permitted(block.unit.name, a)
        mask[self.layer_rows[-1]] &= self.permitted("output", 0)
        return mask

    def permitted(self, outer: str, argument: int) -> Mask:
        """Which columns the prior lets feed an argument of a unit, or ``"output"``."""
        permitted = [True]
        permitted += [self.prior.allows_input(outer, argument, name) for name in self.names]
        for inner in self.source_units[1 + len(self.names) :]:
            permitted.append(self.prior.allows(outer, argument, inner))
        return np.array(permitted)

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """Complexity factor of a weight by its source; biases are free (paper_notes, table)."""
        return np.array([0.0, *(self.prior.cost(s) for s in self.source_units[1:])])

    @property
    def n_weights(self) -> int:
        """Number of weights and biases that exist."""
        return int(self.allowed.sum())

    @cached_property
    def singular_rows(self) -> NDArray[np.intp]:
        """Rows of arguments with a bounded domain (the paper's singular units)."""
        rows: list[int] = []
        for blocks in self.blocks:
            for block in blocks:
                for a in block.unit.singular:
                    rows.extend(range(block.args[a].start, block.args[a].stop))
        return np.array(rows, dtype=np.intp)

    # --- values and derivatives ----------------------------------------------------------------

    def forward(
        self,
        W: Array,
        XT: Array,
        relax: float = 0.0,
        value: Callable[[Block, Array], Array] | None = None,
    ) -> tuple[Array, Array]:
        """Values of all sources Y and of all arguments Z, each features × rows.

        With ``relax > 0`` singular units are relaxed (`ieql.units.relaxed_value`); `value` gives
        the values of a block of units from Z in another way.
        """
        n = XT.shape[1]
        Y = np.empty((self.n_sources, n), dtype=XT.dtype)
        Z = np.empty((self.n_args, n), dtype=XT.dtype)
        Y[0] = 1.0
        Y[1 : 1 + len(self.names)] = XT
        with np.errstate(all="ignore"):
            for rows, count, blocks in zip(
                self.layer_rows, self.visible, (*self.blocks, ()), strict=True
            ):
                np.dot(W[rows, :count], Y[:count], out=Z[rows])
                for block in blocks:
                    Y[block.sources] = (
                        relaxed_value(block.unit, [Z[a] for a in block.args], relax)
                        if value is None
                        else value(block, Z)
                    )
        return Y, Z

    def backward(self, W: Array, Z: Array, seed: Array, relax: float = 0.0) -> Array:
        """Per-sample sensitivities D = ∂(Σ_k seed_k · output_k)/∂Z, arguments × rows.

        `seed` has a row per output: ones for the Jacobian of an output, the derivative of the loss
        for a gradient. The Jacobian column of weight (i, o) is then ``Y[i] * D[o]``.
        """
        D = np.empty_like(Z)
        D[self.layer_rows[-1]] = seed
        S = np.dot(W[self.layer_rows[-1]].T, D[self.layer_rows[-1]])
        with np.errstate(all="ignore"):
            for layer in range(len(self.layers) - 1, -1, -1):
                for block in self.blocks[layer]:
                    z = [Z[a] for a in block.args]
                    for a, rows in enumerate(block.args):
                        np.multiply(
                            S[block.sources], relaxed_slope(block.unit, a, z, relax), out=D[rows]
                        )
                rows, count = self.layer_rows[layer], self.visible[layer]
                S[:count] += np.dot(W[rows, :count].T, D[rows])
        return D

    def outputs(self, W: Array, XT: Array) -> Array:
        """Honest values of the outputs, outputs × rows; NaN where a unit is undefined."""
        return self.forward(W, XT)[1][self.layer_rows[-1]]

    def jacobian(
        self, W: Array, XT: Array, live: Mask, output: int = 0, relax: float = 0.0
    ) -> tuple[Array, Array]:
        """Value of one output (rows,) and its derivatives (live weights × rows).

        Only the columns of live weights are formed, in the order of ``np.nonzero(live)``.
        """
        Y, Z = self.forward(W, XT, relax)
        seed = np.zeros((self.n_outputs, XT.shape[1]), dtype=XT.dtype)
        seed[output] = 1.0
        D = self.backward(W, Z, seed, relax)
        args, sources = np.nonzero(live)
        return Z[self.layer_rows[-1]][output], D[args] * Y[sources]

    # --- smaller networks ----------------------------------------------------------------------

    def reachable(self, live: Mask) -> Mask:
        """The live weights that lie on a path to an output; the others do nothing."""
        useful = live & self.allowed
        needed = np.zeros(self.n_sources, dtype=bool)
        needed |= useful[self.layer_rows[-1]].any(axis=0)
        for layer in range(len(self.layers) - 1, -1, -1):
            for block in self.blocks[layer]:
                for rows in block.args:
                    useful[rows] &= needed[block.sources, None]
            needed |= useful[self.layer_rows[layer]].any(axis=0)
        return useful

    def compact(self, W: Array, live: Mask) -> tuple[Network, Array, Mask]:
        """The same function by a network without the units that no live weight needs."""
        live = self.reachable(live)
        needed = np.asarray(live.any(axis=0))
        rows: list[int] = []
        columns = list(range(1 + len(self.names)))
        layers = []
        for blocks in self.blocks:
            layer: list[Unit] = []
            for block in blocks:
                kept = np.flatnonzero(needed[block.sources])
                layer += [block.unit] * len(kept)
                columns += (block.sources.start + kept).tolist()
                for a in block.args:
                    rows += (a.start + kept).tolist()
            if layer:
                layers.append(tuple(layer))
        rows += range(self.layer_rows[-1].start, self.layer_rows[-1].stop)
        smaller = Network(self.names, tuple(layers), self.prior, self.n_outputs)
        index = np.ix_(rows, columns)
        return smaller, np.ascontiguousarray(W[index]), live[index]


def _size(block: Block) -> int:
    return int(block.sources.stop - block.sources.start)


def _runs(layer: tuple[Unit, ...]) -> list[tuple[Unit, int]]:
    """Units of a layer by type in the order of their first appearance, with their number.

    Networks are built with equal units together; anything else is a mistake of the caller.
    """
    counts: dict[Unit, int] = {}
    for position, unit in enumerate(layer):
        if unit in counts and layer[position - 1] is not unit:
            raise ValueError(f"Units of one type must stand together in a layer: {unit.name}.")
        counts[unit] = counts.get(unit, 0) + 1
    return list(counts.items())
