"""Expressions: immutable graphs of units, the paper's sparse networks in their smallest form.

An expression is a list of nodes in topological order. A node applies a unit to one or two sums; a
`Sum` is the affine map in front of a unit, ``bias + Σ weight · source``, the paper's
``z = W ỹ + b`` with only the live weights. Sources are numbered: first the inputs, then the nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ieql.errors import IeqlError, counted
from ieql.files import MAX_NAME
from ieql.units import EXP, LOG, MUL, SQRT, SQUARE, Interval, Unit, unit

if TYPE_CHECKING:
    from ieql.prior import Prior

__all__ = ["LARGEST_POWER", "Expression", "Node", "Sum"]

Array = NDArray[np.float64]
ROWS_AT_ONCE = 65_536
MAX_NODES = 10_000
MAX_WRITTEN = 10_000_000
"""Characters of all units' texts: units shared again and again make short files of endless ones."""
LONGEST_NUMBER = 24
LARGEST_POWER = 64
"""Up to here whole powers are read and written as such."""


class Sum(NamedTuple):
    """The affine map ``bias + Σ weights[i] · sources[i]``.

    A named tuple, like `Node`: the search makes millions of them.
    """

    bias: float = 0.0
    sources: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether nothing enters but the bias."""
        return not self.sources

    @property
    def is_bare(self) -> bool:
        """Whether it passes a single source on unchanged."""
        return self.bias == 0.0 and self.weights == (1.0,)

    def scaled(self, factor: float) -> Sum:
        """The sum times a number."""
        return Sum(self.bias * factor, self.sources, tuple([w * factor for w in self.weights]))

    def plus(self, other: Sum) -> Sum:
        """The sum of both, equal sources merged in the order of their first appearance."""
        return Sum.total((self, other))

    @staticmethod
    def total(parts: Iterable[Sum]) -> Sum:
        """The sum of all parts, merged like `plus`; the time is linear in their length."""
        bias = 0.0
        merged: dict[int, float] = {}
        for offset, sources, weights in parts:
            bias += offset
            for source, weight in zip(sources, weights, strict=True):
                merged[source] = merged.get(source, 0.0) + weight
        return Sum(bias, tuple(merged), tuple(merged.values()))


class Node(NamedTuple):
    """A unit applied to its arguments."""

    unit: Unit
    args: tuple[Sum, ...]


@dataclass(frozen=True)
class Expression:
    """An equation's right-hand side, for one or several outputs.

    Attributes
    ----------
    names : tuple of str
        Names of the inputs, in the order of the columns of ``X``.
    nodes : tuple of Node
        In topological order; source ``len(names) + k`` is node ``k``.
    outputs : tuple of Sum
        One affine map per output.
    """

    names: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Sum, ...]

    # --- reading and writing -------------------------------------------------------------------

    @classmethod
    def parse(
        cls, text: str, names: Sequence[str], custom: Mapping[str, Unit] | None = None
    ) -> Expression:
        """Read the text form of an expression with one output; never evaluates code."""
        from ieql.equations.text import parse

        return parse(text, tuple(names), custom)

    def text(self, output: int = 0, precision: int | None = None) -> str:
        """Infix text in the user's names; without `precision` it parses back to this expression."""
        from ieql.equations.text import write

        return write(self, output, precision)

    def __str__(self) -> str:
        return "; ".join(self.text(k) for k in range(len(self.outputs)))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, for JSON."""

        def plain(s: Sum) -> list[Any]:
            return [s.bias, list(s.sources), list(s.weights)]

        return {
            "names": list(self.names),
            "nodes": [[n.unit.name, [plain(a) for a in n.args]] for n in self.nodes],
            "outputs": [plain(s) for s in self.outputs],
        }

    @classmethod
    def from_dict(
        cls, form: Mapping[str, Any], custom: Mapping[str, Unit] | None = None
    ) -> Expression:
        """Rebuild from `to_dict`; a form that is not a valid graph is refused."""
        try:
            names = tuple(str(n) for n in form["names"])
            if any(len(n) > MAX_NAME for n in names):
                raise IeqlError(f"The name of an input is longer than {MAX_NAME} characters.")
            if len(form["nodes"]) > MAX_NODES:
                raise IeqlError(f"The expression has more than {MAX_NODES} units.")
            nodes = []
            for k, (name, args) in enumerate(form["nodes"]):
                kind = unit(str(name), custom)
                if len(args) != kind.arity:
                    raise IeqlError(f"Unit {name!r} takes {counted(kind.arity, 'argument')}.")
                nodes.append(Node(kind, tuple(_read_sum(a, len(names) + k) for a in args)))
            outputs = tuple(_read_sum(s, len(names) + len(nodes)) for s in form["outputs"])
        except IeqlError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            reason = str(error)[:200]
            raise IeqlError(f"This is not the stored form of an expression: {reason}.") from error
        result = cls(names, tuple(nodes), outputs)
        if result.written_size > MAX_WRITTEN:
            raise IeqlError("The stored expression is too long to be written out.")
        return result

    # --- facts ---------------------------------------------------------------------------------

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        """All affine maps: the arguments of the nodes in order, then the outputs."""
        return tuple(a for n in self.nodes for a in n.args) + self.outputs

    @cached_property
    def skeleton(self) -> tuple[Any, ...]:
        """Units and connections without the constants: equal for equations of equal structure."""
        return tuple([(n.unit.name, *(a.sources for a in n.args)) for n in self.nodes]) + tuple(
            [s.sources for s in self.outputs]
        )

    @property
    def n_parameters(self) -> int:
        """Number of active parameters: weights, not biases (the paper's count)."""
        return sum(len(s.sources) for s in self.sums)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The hidden layer in which each source stands: 0 for inputs, then 1 more than below."""
        levels = [0] * len(self.names)
        for node in self.nodes:
            levels.append(1 + max((levels[i] for a in node.args for i in a.sources), default=0))
        return tuple(levels)

    @property
    def depth(self) -> int:
        """Largest number of units between an input and an output: the hidden layers it needs."""
        return max(self.levels, default=0)

    @cached_property
    def written_size(self) -> int:
        """About how many characters the texts of all units take together; rather too many."""
        sizes = [len(name) for name in self.names]

        def size(s: Sum) -> int:
            return LONGEST_NUMBER + sum(sizes[i] + LONGEST_NUMBER for i in s.sources)

        for node in self.nodes:
            # Not more than it takes to be refused: the true number may have thousands of digits.
            sizes.append(min(sum(map(size, node.args)) + len(node.unit.name), 2 * MAX_WRITTEN))
        return sum(sizes) + sum(map(size, self.outputs))

    @property
    def inputs_used(self) -> tuple[str, ...]:
        """Names of the inputs that matter, in the order of the columns."""
        used = {i for s in self.sums for i in s.sources}
        return tuple(name for i, name in enumerate(self.names) if i in used)

    def inputs_below(self, source: int) -> tuple[int, ...]:
        """The inputs that a source depends on, as places among the columns."""
        found: set[int] = set()
        waiting = [source]
        while waiting:
            i = waiting.pop()
            if i < len(self.names):
                found.add(i)
            else:
                waiting += [j for a in self.nodes[i - len(self.names)].args for j in a.sources]
        return tuple(sorted(found))

    def unit_counts(self) -> dict[str, int]:
        """How often each unit appears."""
        counts: dict[str, int] = {}
        for node in self.nodes:
            counts[node.unit.name] = counts.get(node.unit.name, 0) + 1
        return counts

    def powers(self, node: Node) -> list[tuple[Sum, float]]:
        """Bases and exponents of a node that is a product of powers, exp(p·log z + …); else none.

        Whole exponents and roots have units of their own; any other power is written as one. What
        else is in the exponent gives `beside_powers`.
        """
        s = node.args[0]
        if node.unit is not EXP or s.bias != 0.0:
            return []
        found = []
        for i, p in zip(s.sources, s.weights, strict=True):
            inner = self._node(i)
            if inner is None or inner.unit is not LOG:
                continue
            if not math.isfinite(p) or p == int(p) or abs(p) == 0.5:
                return []
            found.append((inner.args[0], p))
        return found

    def beside_powers(self, node: Node) -> Sum:
        """What a product of powers is multiplied by the exponential of: x^p·exp(z)."""
        s = node.args[0]
        pairs = [
            (i, w)
            for i, w in zip(s.sources, s.weights, strict=True)
            if (inner := self._node(i)) is None or inner.unit is not LOG
        ]
        return Sum(s.bias, tuple(i for i, _ in pairs), tuple(w for _, w in pairs))

    def whole_power(self, node: Node) -> tuple[Sum, int] | None:
        """Base and exponent of a node that is a whole power, built of squares and a product.

        The graph must be that which the text of the power is read as: x**5 is (x²)²·x.
        """
        return self._whole_powers.get(node)

    @cached_property
    def _whole_powers(self) -> dict[Node, tuple[Sum, int]]:
        found: dict[Node, tuple[Sum, int]] = {}
        for node in self.nodes:
            s = node.args[0]
            inner = self._node(s.sources[0]) if s.is_bare else None
            known = None if inner is None else found.get(inner)
            if node.unit is SQUARE:
                whole = known is not None and 2 * known[1] <= LARGEST_POWER
                found[node] = (known[0], 2 * known[1]) if known and whole else (s, 2)
            elif node.unit is MUL and known and inner is not None and inner.unit is SQUARE:
                base, n = known
                if node.args[1] == base and n < LARGEST_POWER:
                    found[node] = base, n + 1
        return found

    def absolute(self, node: Node) -> Sum | None:
        """What a node is the absolute value of, √(z²) = |z|; else None."""
        s = node.args[0]
        inner = self._node(s.sources[0]) if node.unit is SQRT and s.is_bare else None
        power = None if inner is None else self.whole_power(inner)
        return power[0] if power is not None and power[1] == 2 else None

    def _node(self, source: int) -> Node | None:
        k = source - len(self.names)
        return self.nodes[k] if k >= 0 else None

    def source_name(self, source: int) -> str:
        """Return ``"input"`` or the name of the unit behind a source number."""
        k = source - len(self.names)
        return "input" if k < 0 else self.nodes[k].unit.name

    def complexity(self, prior: Prior) -> float:
        """Weighted number of parameters, L_C = Σ c_u ‖W_u‖₀ (section "Complexity Measure")."""
        return float(sum(prior.cost(self.source_name(i)) for s in self.sums for i in s.sources))

    def is_allowed(self, prior: Prior) -> bool:
        """Whether the prior permits every connection and the equation as a whole.

        Connections by the paper's equation "prohibited_components", the rest by `ieql.rules`.
        """
        if not self.keeps_rules(prior):
            return False
        for node in self.nodes:
            for a, argument in enumerate(node.args):
                if not self._sum_is_allowed(prior, node.unit.name, a, argument):
                    return False
        return all(self._sum_is_allowed(prior, "output", 0, s) for s in self.outputs)

    def keeps_rules(self, prior: Prior) -> bool:
        """Whether the prior permits the equation as a whole: its inputs, and how many units."""
        return not prior.rules or prior.rules.are_kept_by(self.inputs_used, len(self.nodes))

    def _sum_is_allowed(self, prior: Prior, outer: str, argument: int, s: Sum) -> bool:
        d = len(self.names)
        return all(
            prior.allows_input(outer, argument, self.names[i])
            if i < d
            else prior.allows(outer, argument, self.nodes[i - d].unit.name)
            for i in s.sources
        )

    # --- values --------------------------------------------------------------------------------

    def evaluate(self, X: Array) -> Array:
        """Values of all outputs, shape (rows, outputs); NaN where a unit is undefined."""
        X = np.asarray(X, dtype=np.float64)
        result = np.empty((len(X), len(self.outputs)))
        for start in range(0, len(X), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            values = self._values(X[rows])
            for k, s in enumerate(self.outputs):
                result[rows, k] = _affine(s, values, len(X[rows]))
        return result

    def arguments(self, X: Array) -> list[tuple[Array, ...]]:
        """For each node the values of its arguments."""
        X = np.asarray(X, dtype=np.float64)
        values = self._values(X)
        return [tuple(_affine(a, values, len(X)) for a in n.args) for n in self.nodes]

    def source_values(self, X: Array) -> list[Array]:
        """The values of every source: the inputs, and then the nodes."""
        return self._values(np.asarray(X, dtype=np.float64))

    def _values(self, X: Array) -> list[Array]:
        values = [np.ascontiguousarray(X[:, i]) for i in range(len(self.names))]
        for node in self.nodes:
            values.append(node.unit(*(_affine(a, values, len(X)) for a in node.args)))
        return values

    def intervals(self, lower: Sequence[float], upper: Sequence[float]) -> list[Interval | None]:
        """Bounds of every source over a box of inputs; None where a unit may be undefined."""
        bounds: list[Interval | None] = [
            (float(a), float(b)) for a, b in zip(lower, upper, strict=True)
        ]
        for node in self.nodes:
            args = [sum_interval(a, bounds) for a in node.args]
            known = [a for a in args if a is not None]
            bounds.append(node.unit.to_interval(*known) if len(known) == len(args) else None)
        return bounds

    # --- constants -----------------------------------------------------------------------------

    def constants(self) -> Array:
        """All constants in order: of each sum the bias, then the weights."""
        return np.array([c for s in self.sums for c in (s.bias, *s.weights)])

    def with_constants(self, theta: Sequence[float] | Array) -> Expression:
        """The same graph with other constants, in the order of `constants`."""
        values = iter(np.asarray(theta, dtype=np.float64).tolist())
        if len(theta) != sum(1 + len(s.weights) for s in self.sums):
            raise ValueError(f"{len(theta)} constants do not fit this expression.")

        def fill(s: Sum) -> Sum:
            return Sum(next(values), s.sources, tuple(next(values) for _ in s.weights))

        return self.map_sums(fill)

    # --- other forms ---------------------------------------------------------------------------

    def map_sums(self, change: Callable[[Sum], Sum]) -> Expression:
        """The same units with every affine map changed, in the order of `sums`."""
        nodes = tuple([Node(n.unit, tuple([change(a) for a in n.args])) for n in self.nodes])
        return Expression(self.names, nodes, tuple([change(s) for s in self.outputs]))

    def output(self, k: int) -> Expression:
        """The expression of one output alone."""
        return Expression(self.names, self.nodes, (self.outputs[k],)).canonical()

    def rescaled(
        self, offset: Array, scale: Array, out_offset: Array | float, out_scale: Array | float
    ) -> Expression:
        """Fold scaling into the constants.

        If this expression maps ``(x - offset) / scale`` to ``(y - out_offset) / out_scale``, the
        result maps x to y: the equation in the user's own coordinates.
        """
        d = len(self.names)

        def fold(s: Sum) -> Sum:
            bias, weights = s.bias, list(s.weights)
            for j, i in enumerate(s.sources):
                if i < d:
                    weights[j] /= float(scale[i])
                    bias -= weights[j] * float(offset[i])
            return Sum(bias, s.sources, tuple(weights))

        folded = self.map_sums(fold)
        shift = np.broadcast_to(out_offset, (len(self.outputs),))
        stretch = np.broadcast_to(out_scale, (len(self.outputs),))
        outputs = tuple(
            s.scaled(float(b)).plus(Sum(float(a)))
            for s, a, b in zip(folded.outputs, shift, stretch, strict=True)
        )
        return Expression(self.names, folded.nodes, outputs)

    def canonical(self) -> Expression:
        """The same function with dead and repeated units removed and constants folded.

        Nodes are numbered by their first appearance when the outputs are read from left to right,
        so that two texts that say the same give the same graph.
        """
        from ieql.equations.builder import Builder

        return Builder(self.names).rebuild(self)

    def to_sympy(self, output: int = 0) -> Any:
        """SymPy form with one symbol per input, named as in the data."""
        try:
            return self._to_sympy(output)
        except RecursionError:
            raise IeqlError("The equation is nested too deeply for SymPy.") from None

    def _to_sympy(self, output: int) -> Any:
        import sympy

        from ieql.equations.notation import exact_number

        values: list[Any] = [sympy.Symbol(n, real=True) for n in self.names]

        def number(value: float) -> Any:
            exact = exact_number(abs(value))
            if exact is None:
                return sympy.Float(value)
            fraction = sympy.Rational(exact.above, exact.below) * (sympy.pi if exact.has_pi else 1)
            return -fraction if value < 0.0 else fraction

        def affine(s: Sum) -> Any:
            terms = [
                values[i] if w == 1.0 else number(w) * values[i]
                for i, w in zip(s.sources, s.weights, strict=True)
            ]
            if s.bias != 0.0 or not terms:
                terms.append(sympy.Integer(1) if s.bias == 1.0 else number(s.bias))
            return sympy.Add(*terms)

        for node in self.nodes:
            values.append(node.unit.to_sympy(*(affine(a) for a in node.args)))
        return affine(self.outputs[output])


def _read_sum(form: Any, n_sources: int) -> Sum:
    bias, sources, weights = form
    sources = tuple(int(i) for i in sources)
    if any(not 0 <= i < n_sources for i in sources) or len(sources) != len(weights):
        raise IeqlError("The stored expression refers to a unit that does not come before it.")
    result = Sum(float(bias), sources, tuple(float(w) for w in weights))
    if not np.all(np.isfinite([result.bias, *result.weights])):
        raise IeqlError("The stored expression holds a constant that is not finite.")
    return result


def _affine(s: Sum, values: list[Array], n_rows: int) -> Array:
    z = np.full(n_rows, s.bias)
    with np.errstate(all="ignore"):
        for i, w in zip(s.sources, s.weights, strict=True):
            z += w * values[i]
    return z


def sum_interval(s: Sum, bounds: Sequence[Interval | None]) -> Interval | None:
    """Bounds of an affine map from the bounds of its sources."""
    low = high = s.bias
    for i, w in zip(s.sources, s.weights, strict=True):
        b = bounds[i]
        if b is None:
            return None
        ends = (0.0 if w == 0.0 else w * b[0], 0.0 if w == 0.0 else w * b[1])
        low += min(ends)
        high += max(ends)
    return (low, high) if low <= high else None
