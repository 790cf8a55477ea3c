"""A bank of small random units to grow equations with, evaluated in bulk.

A bank is a wide random network of at most two layers on top of the inputs and of the units a parent
equation already has: thousands of entries, each a unit with its own constants, whose values on a
few hundred rows are computed type by type. Entries are turned into graph nodes only when used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.prior import Prior
from ieql.units import Unit

__all__ = ["Bank", "make_bank"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
HOMOGENEOUS = ("square", "sqrt", "mul", "div", "identity")
"""Units in which a factor of the argument is a factor (or power) of the value."""


@dataclass(frozen=True)
class _Layer:
    """Entries of one unit type: for each argument up to two sources with weights, and a bias."""

    unit: Unit
    start: int
    sources: tuple[NDArray[np.intp], ...]
    weights: tuple[Array, ...]
    biases: tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class Bank:
    """Values and meaning of all entries.

    Attributes
    ----------
    values : array (entries, rows)
        The first entries are the inputs, then the nodes of the parent, then the rest.
    kinds : list of str
        ``"input"`` or the name of the unit of each entry.
    latest : array
        Index of the last node of the parent an entry depends on, or -1.
    costs : array
        Complexity that a connection to the entry adds.
    """

    values: Array
    kinds: list[str]
    latest: Indices
    costs: Array
    n_inputs: int
    n_nodes: int
    layers: tuple[_Layer, ...]
    grafts: tuple[tuple[Expression, int], ...]
    """(expression, node) behind the entries that come from other equations."""

    @cached_property
    def kind_table(self) -> tuple[list[str], Indices]:
        """The different kinds, and for each entry the place of its kind among them."""
        names, inverse = np.unique(self.kinds, return_inverse=True)
        return names.tolist(), inverse

    def build(self, entry: int, builder: Builder, nodes: Sequence[Sum]) -> Sum:
        """The entry as a sum of a builder in which the parent's nodes are `nodes`."""
        if entry < self.n_inputs:
            return builder.input(entry)
        if entry < self.n_inputs + self.n_nodes:
            return nodes[entry - self.n_inputs]
        graft = entry - self.n_inputs - self.n_nodes
        if graft < len(self.grafts):
            return _copied(*self.grafts[graft], builder)
        layer = next(g for g in reversed(self.layers) if g.start <= entry)
        row = entry - layer.start
        args = []
        for sources, weights, biases in zip(
            layer.sources, layer.weights, layer.biases, strict=True
        ):
            total = Sum(float(biases[row]))
            for source, weight in zip(sources[row], weights[row], strict=True):
                if weight != 0.0:
                    inner = self.build(int(source), builder, nodes)
                    total = total.plus(inner.scaled(float(weight)))
            args.append(total)
        return builder.apply(layer.unit, *args)


def _copied(expression: Expression, node: int, builder: Builder) -> Sum:
    values = [builder.input(i) for i in range(len(expression.names))]
    for n in expression.nodes[: node + 1]:
        values.append(builder.apply(n.unit, *(translate(a, values) for a in n.args)))
    return values[-1]


def make_bank(
    prior: Prior,
    XT: Array,
    domain: Array,
    parent: Expression,
    others: Sequence[Expression],
    rng: np.random.Generator,
    sizes: tuple[int, int] = (500, 700),
    chances: Array | None = None,
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
    """
    points = np.concatenate([XT, domain], axis=1)
    maker = _Maker(prior, points, XT.shape[1], parent, rng, chances)
    maker.graft([(e, k) for e, k in _swapped(parent, rng, 24) if e.is_allowed(prior)])
    maker.graft([(e, k) for e in others for k in range(len(e.nodes))][:60])
    # Entries that overflow are sorted out at the end.
    with np.errstate(all="ignore"):
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

    nodes = tuple(replace(n, args=tuple(swap(a) for a in n.args)) for n in parent.nodes[: k + 1])
    return Expression(parent.names, nodes, (Sum(0.0, (len(parent.names) + k,), (1.0,)),))


class _Maker:
    def __init__(
        self,
        prior: Prior,
        XT: Array,
        n_rows: int,
        parent: Expression,
        rng: np.random.Generator,
        chances: Array | None,
    ) -> None:
        self.n_rows = n_rows
        self.chances = np.full(len(XT), 1.0 / len(XT)) if chances is None else chances
        self.prior = prior
        self.rng = rng
        self.names = parent.names
        self.XT = XT
        nodes = parent._values(XT.T)[len(XT) :]
        self.n_nodes = len(nodes)
        self.values: list[Array] = [XT, np.array(nodes).reshape(len(nodes), XT.shape[1])]
        self.kinds = ["input"] * len(XT) + [n.unit.name for n in parent.nodes]
        self.latest = [-1] * len(XT) + list(range(len(nodes)))
        # What stands in the parent already costs only the connection to it.
        self.costs = [prior.cost(kind) for kind in self.kinds]
        self.layers: list[_Layer] = []
        self.grafts: list[tuple[Expression, int]] = []

    def graft(self, entries: list[tuple[Expression, int]]) -> None:
        for expression, node in entries:
            value = expression._values(self.XT.T)[len(self.XT) + node]
            if np.all(np.isfinite(value)) and np.ptp(value) > 0:
                self.values.append(value[None])
                self.kinds.append(expression.nodes[node].unit.name)
                self.latest.append(-1)
                self.costs.append(_cost_of(expression, node, self.prior))
                self.grafts.append((expression, node))

    def grow(self, size: int, first: int) -> None:
        """Add a layer: in the first, units of the inputs and nodes so far; then also of units."""
        units = [self.prior.unit(name) for name in self.prior.units]
        chance = np.array([(2.0 if u.arity == 2 else 1.0) / self.prior.cost(u.name) for u in units])
        counts = self.rng.multinomial(size, chance / chance.sum())
        table = np.concatenate(self.values)
        kinds = list(self.kinds)
        latest, costs = np.array(self.latest), np.array(self.costs)
        for unit, count in zip(units, counts, strict=True):
            if count:
                self._add(unit, int(count), table, kinds, latest, costs, first)

    def _add(
        self,
        unit: Unit,
        count: int,
        table: Array,
        kinds: list[str],
        latest: Indices,
        costs: Array,
        first: int,
    ) -> None:
        n_in = len(self.XT)
        z, sources, weights, biases = [], [], [], []
        newest = np.full(count, -1)
        cost = np.full(count, self.prior.cost(unit.name))
        for a in range(unit.arity):
            permitted = self._permitted(unit, a, kinds)
            if not len(permitted):
                return
            src, w, b = self._argument(unit, a, count, permitted, table, first, n_in)
            value = b[:, None] + w[:, [0]] * table[src[:, 0]] + w[:, [1]] * table[src[:, 1]]
            if a in unit.singular:
                b = b + self._into_domain(unit, a, value)
                value = b[:, None] + w[:, [0]] * table[src[:, 0]] + w[:, [1]] * table[src[:, 1]]
            newest = np.maximum(newest, np.maximum(latest[src[:, 0]], latest[src[:, 1]]))
            cost += np.sum(np.where(w != 0.0, costs[src], 0.0), axis=1)
            z.append(value)
            sources.append(src)
            weights.append(w)
            biases.append(b)
        self.layers.append(
            _Layer(unit, len(self.kinds), tuple(sources), tuple(weights), tuple(biases))
        )
        self.values.append(unit(*z))
        self.kinds += [unit.name] * count
        self.latest += newest.tolist()
        self.costs += cost.tolist()

    def _permitted(self, unit: Unit, argument: int, kinds: list[str]) -> Indices:
        names, inverse = np.unique(kinds, return_inverse=True)
        ok = [n == "input" or self.prior.allows(unit.name, argument, n) for n in names.tolist()]
        mask = np.array(ok)[inverse]
        for i, name in enumerate(self.names):
            mask[i] = self.prior.allows_input(unit.name, argument, name)
        return np.flatnonzero(mask)

    def _argument(
        self,
        unit: Unit,
        argument: int,
        count: int,
        permitted: Indices,
        table: Array,
        first: int,
        n_in: int,
    ) -> tuple[Indices, Array, Array]:
        """Sources, weights and biases of one argument for `count` entries."""
        rng = self.rng
        inputs = permitted[permitted < n_in]
        # Inputs are what most arguments are made of; in the second layer one source is a unit.
        weight = np.where(permitted < n_in, self.chances[np.minimum(permitted, n_in - 1)], 1.0)
        weight[permitted < n_in] *= n_in
        src = rng.choice(permitted, size=(count, 2), p=weight / weight.sum())
        if len(inputs):
            plain = rng.random((count, 2)) < (0.7 if first == 0 else 0.3)
            chance = self.chances[inputs] / self.chances[inputs].sum()
            src = np.where(plain, rng.choice(inputs, size=(count, 2), p=chance), src)
        spread = np.std(table[src[:, 0]], axis=1) + 1e-12, np.std(table[src[:, 1]], axis=1) + 1e-12
        w = np.zeros((count, 2))
        sign = rng.choice([-1.0, 1.0], size=(count, 2), p=[0.3, 0.7])
        if unit.name in HOMOGENEOUS:
            w[:, 0] = 1.0
            two = rng.random(count) < 0.3
            w[:, 1] = np.where(two, sign[:, 1] * np.exp(0.5 * rng.normal(size=count)), 0.0)
            b = np.where(rng.random(count) < 0.6, 0.0, 0.7 * rng.normal(size=count))
        else:
            # Between a fraction of a bend and a few periods over the data.
            rate = np.exp(rng.uniform(np.log(0.3), np.log(8.0), size=count))
            w[:, 0] = sign[:, 0] * rate / spread[0]
            two = rng.random(count) < 0.3
            w[:, 1] = np.where(two, sign[:, 1] * rate / spread[1], 0.0)
            b = np.zeros(count)
            if unit.name in ("cos", "sin"):
                b = rng.uniform(-np.pi, np.pi, size=count)
            if unit.name == "exp":
                # Keep the exponent moderate: exp decays or grows by e³ at most over two spreads.
                w *= np.minimum(1.0, 2.0 / rate)[:, None]
        if unit.name == "div" and argument == 0:
            # Half of the quotients are reciprocals.
            one = rng.random(count) < 0.5
            w[one] = 0.0
            b[one] = 1.0
        return src, w, b

    def _into_domain(self, unit: Unit, argument: int, z: Array) -> Array:
        """What must be added to arguments to bring them into the domain on all rows."""
        low = unit.domains[argument][0]
        if not np.isfinite(low):
            return np.zeros(len(z))
        least, span = z.min(axis=1), np.ptp(z, axis=1)
        margin = span * np.exp(self.rng.uniform(np.log(0.03), np.log(2.0), size=len(z)))
        return np.where(least > low, 0.0, low - least + margin)

    def bank(self) -> Bank:
        values = np.concatenate(self.values)
        bad = ~np.all(np.isfinite(values), axis=1) | (np.abs(values).max(axis=1) > 1e6)
        values[bad] = 0.0
        return Bank(
            np.ascontiguousarray(values[:, : self.n_rows]),
            self.kinds,
            np.array(self.latest),
            np.array(self.costs),
            len(self.XT),
            self.n_nodes,
            tuple(self.layers),
            tuple(self.grafts),
        )
