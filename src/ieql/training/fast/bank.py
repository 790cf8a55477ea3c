"""A bank of small random units to grow equations with, evaluated in bulk.

A bank is a wide random network of at most two layers on top of the inputs and of the units a parent
equation already has: thousands of entries, each a unit with its own constants, whose values on a
few hundred rows are computed type by type. Entries are turned into graph nodes only when used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder
from ieql.equations.expression import Expression, Sum
from ieql.equations.program import addresses
from ieql.prior import Prior
from ieql.training.fast.bank_dimensions import BankDimensions
from ieql.training.fast.monomials import N_MONOMIALS, Monomials
from ieql.units import DIV, EXP, REALS, Unit

__all__ = ["Bank", "make_bank"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
N_SWAPPED = 24
"""Sub-equations of the parent with one input exchanged for another."""
N_GRAFTS = 60
"""Nodes of other equations."""
LOWEST, HIGHEST = 0.3, 3.0
"""Between these a fitted exponent is drawn."""
CENTRED = 0.8
"""Part of the units with a middle that have it at the value of some row."""
NUMBERS = 0.7
"""Part of the selections between a sum and a number, not two sums."""
LARGEST = 1e6
"""Entries with larger values are not used."""


@dataclass(frozen=True)
class _Layer:
    """Random entries: for each argument up to two sources with weights, and a bias."""

    start: int
    units: tuple[Unit, ...]
    unit_of: Indices
    sources: NDArray[np.int64]
    """Entries × arguments × 2."""
    weights: Array
    biases: Array


@dataclass(frozen=True, eq=False)
class Bank:
    """Values and meaning of all entries.

    Attributes
    ----------
    values : array (entries, rows)
        The first entries are the inputs, then the nodes of the parent, then the rest.
    kind_names : list of str
        ``"input"`` and the names of the units.
    kinds : array
        The kind of each entry, as a place in `kind_names`.
    latest : array
        Index of the last node of the parent an entry depends on, or -1.
    costs : array
        Complexity that a connection to the entry adds.
    """

    values: Array
    kind_names: list[str]
    kinds: Indices
    latest: Indices
    costs: Array
    n_inputs: int
    n_nodes: int
    layers: tuple[_Layer, ...]
    monomials: Monomials
    grafts: tuple[tuple[Expression, int], ...]
    """(expression, node) behind the entries that come from other equations."""
    dimensions: BankDimensions | None = None
    """Of the entries, where physical units have a say."""

    def build(self, entry: int, builder: Builder, nodes: Sequence[Sum]) -> Sum:
        """The entry as a sum of a builder in which the parent's nodes are `nodes`."""
        if entry < self.n_inputs:
            return builder.input(entry)
        if entry < self.n_inputs + self.n_nodes:
            return nodes[entry - self.n_inputs]
        graft = entry - self.n_inputs - self.n_nodes
        if graft < len(self.grafts):
            expression, node = self.grafts[graft]
            return builder.copy(expression, stop=node + 1)[-1]
        if entry < self.monomials.start + len(self.monomials):
            return self.monomials.build(entry, builder)
        layer = next(g for g in reversed(self.layers) if g.start <= entry)
        row = entry - layer.start
        unit = layer.units[layer.unit_of[row]]
        args = []
        for a in range(unit.arity):
            total = Sum(float(layer.biases[row, a]))
            for source, weight in zip(layer.sources[row, a], layer.weights[row, a], strict=True):
                if weight != 0.0:
                    inner = self.build(int(source), builder, nodes)
                    total = total.plus(inner.scaled(float(weight)))
            args.append(total)
        return builder.apply(unit, *args)


def make_bank(
    prior: Prior,
    XT: Array,
    domain: Array,
    parent: Expression,
    others: Sequence[Expression],
    rng: np.random.Generator,
    sizes: tuple[int, int] = (500, 700),
    chances: Array | None = None,
    offered: Sequence[Expression] = (),
) -> Bank:
    """Draw a bank.

    Parameters
    ----------
    prior : Prior
        Which units may be used, how often (1 / cost) and on what.
    XT : array (inputs, rows)
        Where the values are computed.
    domain : array (inputs, points)
        Where the entries must be defined as well.
    parent : Expression
        Its nodes are entries, and so are copies of them with one input exchanged for another.
    others : sequence of Expression
        Other equations whose nodes are entries, too.
    rng : Generator
        Source of all choices.
    sizes : (int, int)
        Number of entries of the first and second layer.
    chances : array (inputs,), optional
        How often each input is drawn; default: all alike.
    offered : sequence of Expression
        Equations of other outputs: their units are entries that cost only the connection to them,
        as one network for all outputs has them already.
    """
    points = np.concatenate([XT, domain], axis=1)
    size = len(XT) + len(parent.nodes) + N_SWAPPED + N_GRAFTS + N_MONOMIALS + sum(sizes)
    with np.errstate(all="ignore"):
        maker = _Maker(prior, points, XT.shape[1], parent, rng, chances, size)
        swapped = _swapped(parent, rng, N_SWAPPED)
        maker.graft([(e, [k]) for e, k in swapped if e.is_allowed(prior)], N_SWAPPED)
        before = len(maker.grafts)
        maker.graft([(e, range(len(e.nodes))) for e in offered], N_GRAFTS // 2, is_paid=True)
        left = N_GRAFTS - (len(maker.grafts) - before)
        maker.graft([(e, range(len(e.nodes))) for e in others], left)
        maker.add_monomials()
        maker.grow(sizes[0], first=0)
        maker.grow(sizes[1], first=1)
        return maker.bank()


def _swapped(
    parent: Expression, rng: np.random.Generator, limit: int
) -> list[tuple[Expression, int]]:
    """Sub-equations of the parent with one input exchanged for another (sums of equal forms)."""
    d = len(parent.names)
    result = []
    for k, node in enumerate(parent.nodes):
        used = sorted({i for a in node.args for i in a.sources if i < d} | _inputs_below(parent, k))
        for i in used:
            for j in range(d):
                if j != i:
                    result.append((_exchanged(parent, k, i, j), k))
    if len(result) > limit:
        result = [result[int(q)] for q in rng.choice(len(result), size=limit, replace=False)]
    return result


def _inputs_below(parent: Expression, k: int) -> set[int]:
    d = len(parent.names)
    found: set[int] = set()
    stack = [k]
    while stack:
        for a in parent.nodes[stack.pop()].args:
            for i in a.sources:
                if i < d:
                    found.add(i)
                else:
                    stack.append(i - d)
    return found


def _cost_of(expression: Expression, node: int, prior: Prior) -> float:
    d = len(expression.names)
    needed, stack = {node}, [node]
    total = prior.cost(expression.nodes[node].unit.name)
    while stack:
        for a in expression.nodes[stack.pop()].args:
            for i in a.sources:
                total += prior.cost(expression.source_name(i))
                if i >= d and i - d not in needed:
                    needed.add(i - d)
                    stack.append(i - d)
    return total


def _exchanged(parent: Expression, k: int, i: int, j: int) -> Expression:
    def swap(s: Sum) -> Sum:
        return Sum(s.bias, tuple({i: j, j: i}.get(q, q) for q in s.sources), s.weights)

    output = Sum(0.0, (len(parent.names) + k,), (1.0,))
    return Expression(parent.names, parent.nodes[: k + 1], (output,)).map_sums(swap)


class _Maker:
    def __init__(
        self,
        prior: Prior,
        XT: Array,
        n_rows: int,
        parent: Expression,
        rng: np.random.Generator,
        chances: Array | None,
        size: int,
    ) -> None:
        self.prior = prior
        self.rng = rng
        self.names = parent.names
        self.XT = XT
        self.n_rows = n_rows
        self.chances = np.full(len(XT), 1.0 / len(XT)) if chances is None else chances
        self.units = tuple(prior.unit(name) for name in prior.units)
        self.kind_names = ["input", *prior.units]
        self.n_nodes = len(parent.nodes)
        self.kinds = np.zeros(size, np.intp)
        self.latest = np.full(size, -1)
        self.costs = np.empty(size)
        self.table = np.empty((size, XT.shape[1]))
        self.count = 0
        self.layers: list[_Layer] = []
        self.grafts: list[tuple[Expression, int]] = []
        names = ["input"] * len(XT) + [n.unit.name for n in parent.nodes]
        for name, value in zip(names, parent._values(XT.T), strict=True):
            # What stands in the parent already costs only the connection to it.
            self._append(name, value, prior.cost(name))
        self.latest[len(XT) : self.count] = np.arange(self.n_nodes)
        self.dimensions = BankDimensions.of(prior, parent, size)

    def _append(self, kind: str, value: Array, cost: float) -> None:
        if kind not in self.kind_names:
            self.kind_names.append(kind)  # an equation from before the prior's units were changed
        k = self.count
        self.table[k] = value
        self.kinds[k] = self.kind_names.index(kind)
        self.costs[k] = cost
        self.count += 1

    def graft(
        self,
        entries: Iterable[tuple[Expression, Sequence[int]]],
        limit: int,
        is_paid: bool = False,
    ) -> None:
        """Add nodes of other equations, at most so many; if paid, they cost the connection."""
        d = len(self.XT)
        for expression, nodes in entries:
            values = expression._values(self.XT.T)
            for node in nodes:
                value = values[d + node]
                if limit > 0 and np.all(np.isfinite(value)) and np.ptp(value) > 0:
                    name = expression.nodes[node].unit.name
                    cost = self.prior.cost(name)
                    if not is_paid:
                        cost = _cost_of(expression, node, self.prior)
                    if self.dimensions is not None:
                        self.dimensions.graft(self.count, expression, node)
                    self._append(name, value, cost)
                    self.grafts.append((expression, node))
                    limit -= 1

    def add_monomials(self) -> None:
        """Add products and quotients of a few inputs."""
        drawn = Monomials.draw(self.prior, self.XT, self.chances, self.rng, self.count)
        if self.dimensions is not None:
            self.dimensions.mend_monomials(drawn)
        self.monomials = drawn
        start, end = self.count, self.count + len(drawn)
        self.table[start:end] = drawn.values(self.XT)
        self.kinds[start:end] = [self.kind_names.index(kind) for kind in drawn.kinds]
        self.costs[start:end] = drawn.costs(self.prior)
        self.count = end

    def grow(self, size: int, first: int) -> None:
        """Add a layer: in the first, units of the inputs and nodes so far; then also of units."""
        chance = np.array(
            [(2.0 if u.arity == 2 else 1.0) / self.prior.cost(u.name) for u in self.units]
        )
        counts = self.rng.multinomial(size, chance / chance.sum())
        spread = _spreads(self.table[: self.count])
        unit_of, sources, weights, biases, margins = [], [], [], [], []
        for number, (unit, count) in enumerate(zip(self.units, counts.tolist(), strict=True)):
            permitted = [self._permitted(unit, a) for a in range(unit.arity)]
            fed = [a for a in range(unit.arity) if not unit.takes_number(a)]
            if not count or not all(permitted[a].any() for a in fed):
                continue
            src = np.zeros((count, 2, 2), np.int64)
            w, b = np.zeros((count, 2, 2)), np.zeros((count, 2))
            for a, mask in enumerate(permitted):
                if a not in fed:
                    b[:, a] = np.exp(self.rng.uniform(math.log(LOWEST), math.log(HIGHEST), count))
                    continue
                src[:, a] = self._sources(mask, count, first)
                w[:, a], b[:, a] = self._constants(unit, a, spread[src[:, a]])
                w[src[:, a, 0] == src[:, a, 1], a, 1] = 0.0  # the same twice might cancel
                if unit.selects and a == 1:
                    self._compete(src, w, b)
                elif unit.has_middle:
                    self._centre(src[:, a], w[:, a], b[:, a])
                if self.dimensions is not None:
                    self.dimensions.mend(src[:, a], w[:, a], b[:, a])
            # A source that is not used must not spoil the sum by being undefined.
            src[w == 0.0] = 0
            unit_of.append(np.full(count, number))
            sources.append(src)
            weights.append(w)
            biases.append(b)
            # How far inside its domain a singular argument is brought, in spans.
            margins.append(np.exp(self.rng.uniform(np.log(0.03), np.log(2.0), (count, 2))))
        if not unit_of:
            return
        layer = _Layer(
            self.count,
            self.units,
            np.concatenate(unit_of),
            np.concatenate(sources),
            np.concatenate(weights),
            np.concatenate(biases),
        )
        self._evaluate(layer, np.concatenate(margins))
        self.layers.append(layer)

    def _evaluate(self, layer: _Layer, margins: Array) -> None:
        """Values, dependencies and costs of a layer; brings singular arguments into the domain."""
        start, end = layer.start, layer.start + len(layer.unit_of)
        calls = addresses(self.units)
        if calls is None:
            _apply_units(layer, margins, self.table)
        else:
            from ieql.equations import kernels

            ops = np.array([u.code for u in self.units], np.int64)
            arity = np.array([u.arity for u in self.units], np.int64)
            edges = np.array([(*u.domains, REALS)[:2] for u in self.units])
            of = layer.unit_of
            kernels.apply_units(
                ops[of], calls[of], arity[of], edges[of], layer.sources, layer.weights,
                layer.biases, margins, self.table, start,
            )  # fmt: skip
        used = layer.weights != 0.0
        below = np.where(used, self.latest[layer.sources], -1)
        self.latest[start:end] = below.max(axis=(1, 2))
        self.kinds[start:end] = layer.unit_of + 1
        unit_costs = np.array([self.prior.cost(u.name) for u in self.units])
        added = np.where(used, self.costs[layer.sources], 0.0).sum(axis=(1, 2))
        self.costs[start:end] = unit_costs[layer.unit_of] + added
        if self.dimensions is not None:
            units = [self.units[number] for number in layer.unit_of]
            self.dimensions.layer(start, units, layer.sources, layer.weights, layer.biases)
        self.count = end

    def _permitted(self, unit: Unit, argument: int) -> NDArray[np.bool_]:
        ok = [
            name == "input" or self.prior.allows(unit.name, argument, name)
            for name in self.kind_names
        ]
        mask = np.array(ok)[self.kinds[: self.count]]
        for i, name in enumerate(self.names):
            mask[i] = self.prior.allows_input(unit.name, argument, name)
        if self.dimensions is not None:
            mask &= self.dimensions.may_enter(unit, self.count)
        return mask

    def _sources(self, mask: NDArray[np.bool_], count: int, first: int) -> NDArray[np.int64]:
        """Two sources for each entry.

        Inputs are what most arguments are made of; in the second layer one source is a unit.
        """
        n_in = len(self.XT)
        weight = mask.astype(float)
        weight[:n_in] *= self.chances * n_in
        chosen = self._draw(weight, count)
        if weight[:n_in].any():
            plain = self.rng.random((count, 2)) < (0.7 if first == 0 else 0.3)
            chosen = np.where(plain, self._draw(weight[:n_in], count), chosen)
        return chosen

    def _draw(self, weight: Array, count: int) -> NDArray[np.int64]:
        total = np.cumsum(weight)
        place = np.searchsorted(total, self.rng.random((count, 2)) * total[-1], side="right")
        chosen: NDArray[np.int64] = np.minimum(place, np.flatnonzero(weight)[-1])
        return chosen

    def _constants(self, unit: Unit, argument: int, spread: Array) -> tuple[Array, Array]:
        """Weights and bias of one argument of each entry, given the spread of its sources."""
        rng, count = self.rng, len(spread)
        sign = rng.choice([-1.0, 1.0], size=(count, 2), p=[0.3, 0.7])
        two = rng.random(count) < 0.3
        w = np.zeros((count, 2))
        b = np.zeros(count)
        if unit.powers:  # a factor of the argument is one of the value, or a power of it
            w[:, 0] = 1.0
            w[:, 1] = np.where(two, sign[:, 1] * np.exp(0.5 * rng.normal(size=count)), 0.0)
            b = np.where(rng.random(count) < 0.6, 0.0, 0.7 * rng.normal(size=count))
        else:
            # Between a fraction of a bend and a few periods over the data.
            rate = np.exp(rng.uniform(np.log(0.3), np.log(8.0), size=count))
            w[:, 0] = sign[:, 0] * rate / spread[:, 0]
            w[:, 1] = np.where(two, sign[:, 1] * rate / spread[:, 1], 0.0)
            if unit.period is not None:
                b = rng.uniform(-0.5 * unit.period, 0.5 * unit.period, size=count)
            if unit is EXP:
                # Keep the exponent moderate: exp decays or grows by e³ at most over two spreads.
                w *= np.minimum(1.0, 2.0 / rate)[:, None]
        if unit is DIV and argument == 0:
            # Half of the quotients are reciprocals.
            one = rng.random(count) < 0.5
            w[one] = 0.0
            b[one] = 1.0
        return w, b

    def _centre(self, src: NDArray[np.int64], w: Array, b: Array) -> None:
        """Move what was drawn to the middle of the data: most entries to the value of some row."""
        count, n = len(src), self.n_rows
        moved = self.rng.random(count) < CENTRED
        row = self.rng.integers(n, size=count)
        there = np.einsum("ks,ks->k", w, self.table[src, row[:, None]])
        b[moved] = -there[moved]

    def _compete(self, src: NDArray[np.int64], w: Array, b: Array) -> None:
        """Let the second of two arguments be equal to the first at some row, or be a number."""
        count, n = len(src), self.n_rows
        w[self.rng.random(count) < NUMBERS, 1] = 0.0
        row = self.rng.integers(n, size=count)
        first, second = (
            np.einsum("ks,ks->k", w[:, a], self.table[src[:, a], row[:, None]]) for a in (0, 1)
        )
        b[:, 0] = 0.0
        b[:, 1] = first - second

    def bank(self) -> Bank:
        n = self.count
        table = self.table[:n]
        # Entries that overflow or are undefined somewhere are blanked: their gain is zero.
        table[~(np.abs(table).max(axis=1) < LARGEST)] = 0.0
        if self.dimensions is not None:
            table[~self.dimensions.right[:n]] = 0.0
        return Bank(
            np.ascontiguousarray(table[:, : self.n_rows]),
            self.kind_names,
            self.kinds[:n],
            self.latest[:n],
            self.costs[:n],
            len(self.XT),
            self.n_nodes,
            tuple(self.layers),
            self.monomials,
            tuple(self.grafts),
            self.dimensions,
        )


def _spreads(table: Array) -> Array:
    """Standard deviation of each row; 1 for constants, whose rounding must not be blown up."""
    spread = table.std(axis=1)
    constant = spread < 1e-9 * np.abs(table).max(axis=1)
    return np.where(constant | (spread == 0.0), 1.0, spread)


def _apply_units(layer: _Layer, margins: Array, table: Array) -> None:
    """The work of `kernels.apply_units` in NumPy, for units that numba cannot compile."""
    for row, number in enumerate(layer.unit_of):
        unit = layer.units[number]
        args = []
        for a in range(unit.arity):
            sources = table[layer.sources[row, a]]
            z = layer.weights[row, a] @ sources + layer.biases[row, a]
            low, high = unit.domains[a]
            least, most = float(z.min()), float(z.max())
            if np.isfinite(low) and not least > low:
                shift = low - least + margins[row, a] * (most - least)
                layer.biases[row, a] += shift
                z = z + shift
            elif np.isfinite(high) and not most < high:
                shift = high - most - margins[row, a] * (most - least)
                layer.biases[row, a] += shift
                z = z + shift
            args.append(z)
        table[layer.start + row] = unit(*args)
