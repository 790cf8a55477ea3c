"""Screening: the first-order gains of thousands of connections by a few matrix products.

Let d_a = ∂F/∂z_a be the sensitivity of the output to an argument, φ a unit of the bank, Q an
orthonormal basis of the Jacobian's columns and r⊥ the residual outside their span. Adding w·φ to
the argument lowers the squared error by (r⊥·v)² / (‖v‖² - ‖Qᵀv‖²) with v = d_a φ, to first order:
matching pursuit in the tangent space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.equations.simplify import GaugedBuilder, gauge
from ieql.prior import Prior
from ieql.training.fast.bank import Bank
from ieql.training.fast.eliminate import FittedExpression
from ieql.units import DIV, MUL, Unit

__all__ = ["Proposal", "Screen", "UnaryFunction"]

Array = NDArray[np.float64]
Proposal = Callable[[], Expression]
"""A change of an equation, made only when it is tried; the result is gauged."""
Change = Callable[[Sum, list[Sum], Builder], Sum]
"""What becomes of a sum, given the inputs and nodes before it, in a builder."""
SIZES = (2.0, 4.0, np.inf)
"""Complexity of an entry up to which it counts as simple, as medium, and at all."""
SMALL = 1e-6
"""An offset that is there, for a refit to find its size."""


@dataclass(frozen=True)
class UnaryFunction:
    """A function of one argument: a unit, or the reciprocal by the division unit."""

    unit: Unit

    @property
    def low(self) -> float:
        """Lower edge of the argument's domain."""
        return self.unit.domains[-1][0]

    def __call__(self, z: Array) -> Array:
        """Value of the function."""
        return self.unit(z) if self.unit.arity == 1 else self.unit(np.ones_like(z), z)

    def apply(self, builder: Builder, inner: Sum) -> Sum:
        """The function of a sum, in a graph."""
        args = (inner,) if self.unit.arity == 1 else (Sum(1.0), inner)
        return builder.apply(self.unit, *args)


class Screen:
    """First-order gains of all connections between a bank and the arguments of a state."""

    def __init__(self, state: FittedExpression, sample: Sample, bank: Bank, prior: Prior) -> None:
        self.expression = e = state.expression
        self.bank = bank
        self.prior = prior
        program = state.program
        root = np.sqrt(sample.weight / sample.weight.sum())
        # The derivative by a bias is the sensitivity of its sum.
        biases = np.array(_bias_places(e), dtype=np.int64)
        value, self.D = program.jacobian(sample.XT, free=biases)
        _, J = program.jacobian(sample.XT)
        self.D = np.where(np.isfinite(self.D), self.D, 0.0) * root
        J = np.where(np.isfinite(J), J, 0.0) * root
        self.residual = (sample.y - value) * root
        self.Q = np.linalg.qr((J / (np.linalg.norm(J, axis=1, keepdims=True) + 1e-300)).T)[0]
        self.outside = self.residual - self.Q @ (self.Q.T @ self.residual)
        self.Z = _sum_values(e, sample.XT)
        self.squares = bank.values**2
        self.places = [(k, a) for k, n in enumerate(e.nodes) for a in range(len(n.args))] + [
            (len(e.nodes), 0)
        ]
        self.masks = [self._mask(k, a) for k, a in self.places]
        self.factor_masks = self.masks
        dimensions = bank.dimensions
        if dimensions is not None:
            n, kinds = len(bank.values), dimensions.rule.of_sums(e)
            # A term has the dimension of its sum, a factor that is added to 1 has none.
            plain = dimensions.plain[:n]
            self.factor_masks = [mask & plain for mask in self.masks]
            self.masks = [
                mask & dimensions.matching(kind, n)
                for mask, kind in zip(self.masks, kinds, strict=True)
            ]

    def _mask(self, k: int, a: int) -> NDArray[np.bool_]:
        """Which entries may enter this argument: permitted, and not depending on it."""
        e, bank = self.expression, self.bank
        outer = e.nodes[k].unit.name if k < len(e.nodes) else "output"
        names = bank.kind_names
        permitted = [n == "input" or self.prior.allows(outer, a, n) for n in names]
        mask = np.array(permitted)[bank.kinds] & (bank.latest < k)
        for i, name in enumerate(e.names):
            mask[i] &= self.prior.allows_input(outer, a, name)
        return mask

    def node_values(self, k: int) -> tuple[Array, Array, Array]:
        """Argument and value of a unit of one argument, and the output's sensitivity to it."""
        e = self.expression
        s = self.places.index((k, 0))
        z = self.Z[s]
        source = len(e.names) + k
        d = np.zeros_like(z)
        for number, total in enumerate(e.sums):
            for i, w in zip(total.sources, total.weights, strict=True):
                if i == source:
                    d += w * self.D[number]
        return z, e.nodes[k].unit(z), d

    def largest_gain(self) -> float:
        """The largest gain of all additions, as a part of the mean squared error."""
        return float(self.gains(self.D, self.bank.values, self.masks)[0].max())

    def additions(self, n: int) -> list[Proposal]:
        """Add w·φ to an argument."""
        return self._pursuit(n, self.D, self._added, kinds=True)

    def offsets(self, n: int) -> list[Proposal]:
        """Give sums that have none an offset: the most promising ones, and all at once."""
        bare = [s for s, total in enumerate(self.expression.sums) if total.bias == 0.0]
        if not bare:
            return []
        gains, weights = self.gains(self.D[bare], np.ones((1, len(self.residual))))
        best = np.argsort(gains[:, 0])[::-1][:n]
        found = [self._offset({bare[k]: float(weights[k, 0])}) for k in best if gains[k, 0] > 0]
        if len(bare) > 1:
            found.append(self._offset(dict.fromkeys(bare, SMALL)))
        return found

    def factors(self, n: int) -> list[Proposal]:
        """Multiply or divide an argument by 1 + w·φ."""
        if not {MUL.name, DIV.name} & set(self.prior.units):
            return []
        return self._pursuit(n, self.D * self.Z, self._multiplied, kinds=False)

    def _pursuit(
        self,
        n: int,
        D: Array,
        make: Callable[[int, int, float], Proposal],
        kinds: bool,
    ) -> list[Proposal]:
        gains, weights = self.gains(D, self.bank.values, self.masks if kinds else self.factor_masks)
        best = self._best_of_each_size(gains, n, 0.0)
        if kinds:
            best += self._best_of_each_kind(gains, 0.0, best)
        return [make(s, k, float(weights[s, k])) for s, k in best]

    def gains(
        self, D: Array, values: Array, masks: Sequence[NDArray[np.bool_]] | None = None
    ) -> tuple[Array, Array]:
        """Gain and weight, to first order, of adding w · d · value for each d and each value."""
        squares = self.squares if values is self.bank.values else values**2
        gains, weights = np.zeros((2, len(D), len(values)))
        for s, d in enumerate(D):
            along = values @ (d * self.outside)
            size = squares @ (d * d)
            inside = values @ (self.Q * d[:, None])
            rest = size - np.einsum("ij,ij->i", inside, inside)
            good = rest > 1e-6 * size
            if masks is not None:
                good &= masks[s]
            rest = np.where(good, np.maximum(rest, 1e-300), 1.0)
            gains[s] = np.where(good, along**2 / rest, 0.0)
            weights[s] = along / rest
        return gains, weights

    def _best_of_each_size(self, gains: Array, n: int, least: float) -> list[tuple[int, int]]:
        """The places (argument, entry) of the n largest gains among simple, medium, all entries.

        By gain alone elaborate entries would always win; what is simple and nearly as good is
        what leads to equations.
        """
        chosen: list[tuple[int, int]] = []
        for limit in SIZES:
            allowed = np.where(self.bank.costs <= limit, gains, -np.inf)
            taken = 0
            for place in np.argsort(allowed, axis=None)[::-1][: 6 * n]:
                s, k = np.unravel_index(place, gains.shape)
                pair = (int(s), int(k))
                if not allowed[s, k] > least or taken == n:
                    break
                if pair not in chosen:
                    chosen.append(pair)
                    taken += 1
        return chosen

    def _best_of_each_kind(
        self, gains: Array, least: float, known: list[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """And the best not too elaborate one of each type of unit.

        The gain is that of constants drawn at random: the right type may only show after a refit.
        """
        allowed = np.where(self.bank.costs <= SIZES[1], gains, -np.inf)
        chosen = []
        for number in range(len(self.bank.kind_names)):
            columns = np.flatnonzero(self.bank.kinds == number)
            if not len(columns):
                continue
            part = allowed[:, columns]
            s, k = np.unravel_index(int(np.argmax(part)), part.shape)
            pair = (int(s), int(columns[k]))
            if part[s, k] > least and pair not in known:
                chosen.append(pair)
        return chosen

    def replacements(self, n: int) -> list[Proposal]:
        """Replace a whole argument by α φ + δ: least squares on the target d_a z_a + r."""
        total = float(self.residual @ self.residual)
        gains, alphas, deltas = [], [], []
        for s, mask in enumerate(self.masks):
            d = self.D[s]
            target = d * self.Z[s] + self.residual
            a0, t0 = float(d @ d), float(d @ target)
            a1, a2 = self.bank.values @ (d * d), self.squares @ (d * d)
            t1 = self.bank.values @ (d * target)
            det = a0 * a2 - a1 * a1
            good = mask & (det > 1e-9 * a0 * a2)
            safe = np.where(good, det, 1.0)
            alpha = (a0 * t1 - a1 * t0) / safe
            delta = (a2 * t0 - a1 * t1) / safe
            error = float(target @ target) - alpha * t1 - delta * t0
            gains.append(np.where(good, total - error, -np.inf))
            alphas.append(alpha)
            deltas.append(delta)
        # A replacement may lose a little at first: the refit brings it back.
        losses = np.array(gains)
        best = self._best_of_each_size(losses, n, -3.0 * total)
        best += self._best_of_each_kind(losses, -3.0 * total, best)
        return [self._replaced(s, k, float(alphas[s][k]), float(deltas[s][k])) for s, k in best]

    # --- making the children -------------------------------------------------------------------

    def _offset(self, offsets: Mapping[int, float]) -> Proposal:
        def make() -> Expression:
            theta = self.expression.constants()
            places = _bias_places(self.expression)
            for s, b in offsets.items():
                theta[places[s]] = b
            return gauge(self.expression.with_constants(theta))

        return make

    def _added(self, s: int, entry: int, weight: float) -> Proposal:
        def change(old: Sum, values: list[Sum], builder: Builder) -> Sum:
            return old.plus(self._entry(entry, values, builder).scaled(weight))

        return self.rebuilt(s, change)

    def _replaced(self, s: int, entry: int, alpha: float, delta: float) -> Proposal:
        def change(old: Sum, values: list[Sum], builder: Builder) -> Sum:
            return self._entry(entry, values, builder).scaled(alpha).plus(Sum(delta))

        return self.rebuilt(s, change)

    def _multiplied(self, s: int, entry: int, weight: float) -> Proposal:
        def change(old: Sum, values: list[Sum], builder: Builder) -> Sum:
            phi = self._entry(entry, values, builder)
            if MUL.name in self.prior.units:
                return builder.apply(MUL, old, phi.scaled(weight).plus(Sum(1.0)))
            return builder.apply(DIV, old, phi.scaled(-weight).plus(Sum(1.0)))

        return self.rebuilt(s, change)

    def around(
        self, s: int, shape: UnaryFunction, w: float, b: float, alpha: float, delta: float
    ) -> Proposal:
        """Sum s as the argument of a unit that takes its place."""

        def change(old: Sum, values: list[Sum], builder: Builder) -> Sum:
            inner = old.scaled(w).plus(Sum(b))
            return shape.apply(builder, inner).scaled(alpha).plus(Sum(delta))

        return self.rebuilt(s, change)

    def _entry(self, entry: int, values: list[Sum], builder: Builder) -> Sum:
        return self.bank.build(entry, builder, values[self.bank.n_inputs :])

    def rebuilt(self, s: int, change: Change) -> Proposal:
        """The expression with sum s changed."""

        def make() -> Expression:
            e, (k, a) = self.expression, self.places[s]
            builder = GaugedBuilder(e.names)
            values = builder.copy(e, stop=k)
            if k == len(e.nodes):
                return builder.expression(change(translate(e.outputs[0], values), values, builder))
            args = [translate(z, values) for z in e.nodes[k].args]
            args[a] = change(args[a], values, builder)
            return builder.rebuild(e, [*values, builder.apply(e.nodes[k].unit, *args)])

        return make


def _bias_places(expression: Expression) -> list[int]:
    places, at = [], 0
    for s in expression.sums:
        places.append(at)
        at += 1 + len(s.weights)
    return places


def _sum_values(expression: Expression, XT: Array) -> Array:
    rows = [z for args in expression.arguments(XT.T) for z in args]
    rows.append(expression.evaluate(XT.T)[:, 0])
    return np.array(rows)
