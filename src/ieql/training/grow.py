"""Growth: sparse equations are grown, rewired and cut as graphs, every constant refitted each time.

The gain of a new connection is known before it is made (matching pursuit in the tangent space):
let d_a = ∂F/∂z_a be the sensitivity of the output to an argument, φ a unit of the bank, Q an
orthonormal basis of the Jacobian's columns and r⊥ the residual outside their span. Adding w·φ to
the argument lowers the squared error by (r⊥·v)² / (‖v‖² - ‖Qᵀv‖²) with v = d_a φ, to first order.
Thousands of connections are screened by a few matrix products; the most promising are refitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.equations.simplify import expansions
from ieql.prior import Prior
from ieql.sample import Sample
from ieql.training.archive import Archive
from ieql.training.bank import Bank, make_bank
from ieql.training.eliminate import State, drop_unneeded, fitted
from ieql.training.task import Task
from ieql.units import Unit

__all__ = ["GrowSettings", "grow", "looks_like_noise"]

Array = NDArray[np.float64]
Proposal = Callable[[], Expression]
"""A change of an equation, made only when it is tried."""
DOMAIN_POINTS = 128
"""Points of the declared domain where entries of the bank must be defined; corners come first."""
SIZES = (2.0, 4.0, np.inf)
"""Complexity of an entry up to which it counts as simple, as medium, and at all."""


@dataclass(frozen=True)
class GrowSettings:
    """Numbers of the growth; the defaults are those of the lab notebook."""

    rows: int = 384
    moves: int = 6
    steps: int = 20
    price: float = 2.5
    """What a unit of complexity must lower log(error) by to be a step forward, in task.price."""
    trimmed: int = 4
    """Children per move that are cut down before they are judged."""
    others: int = 6
    """Equations of the archive whose units are offered as grafts."""


def grow(
    task: Task, archive: Archive, rng: np.random.Generator, settings: GrowSettings
) -> Iterator[State | None]:
    """Start from a parent of the archive, make moves, and yield every refitted child.

    A pure function of (task, archive, state of rng, settings). None is yielded in between, as a
    sign of life: whoever watches the clock can stop there.
    """
    sample = task.train.draw(settings.rows, rng)
    parent = archive.parent(rng, task.price)
    state = fitted(parent.expression, sample, settings.steps)
    for _ in range(settings.moves):
        if state is None:
            return
        old = _score(state, task, settings)
        best, best_score = None, np.inf
        children: list[State] = []
        for trial in _children(task, archive, state, sample, rng, settings):
            yield None
            if trial is not None:
                children.append(trial)
        children.sort(key=lambda c: _score(c, task, settings))
        for number, child in enumerate(children):
            if number < settings.trimmed:
                child = drop_unneeded(child, sample, task.prior)
            yield child
            score = _score(child, task, settings)
            if score < best_score:
                best, best_score = child, score
        if best is None or best_score >= old:
            return
        state = best


def looks_like_noise(
    task: Task, expression: Expression, rng: np.random.Generator, rows: int = 2000
) -> bool:
    """Whether the residuals of an equation hold nothing that a bank of units could explain.

    For pure noise the largest of M gains, in units of the mean squared error, is about 2 ln M / N.
    """
    sample = task.train.draw(rows, rng)
    state = fitted(expression, sample, 10)
    if state is None:
        return False
    bank = make_bank(task.prior, sample.XT, task.domain[:, :0], state.expression, (), rng)
    screen = _Screen(state, sample, bank, task.prior)
    largest = screen.largest_gain()
    chance = 2.0 * np.log(len(bank.values) * len(screen.masks)) / len(sample)
    return bool(largest < 1.3 * chance * state.error)


def _score(state: State, task: Task, settings: GrowSettings) -> float:
    """Error against complexity: each unit of complexity has to pay for itself."""
    complexity = state.expression.complexity(task.prior)
    price = settings.price * task.price
    return float(0.5 * np.log(state.error + 1e-300) + price * complexity)


def _children(
    task: Task,
    archive: Archive,
    state: State,
    sample: Sample,
    rng: np.random.Generator,
    settings: GrowSettings,
) -> Iterator[State | None]:
    """The most promising changes of a state, refitted; None where one came to nothing."""
    others = list(archive)
    picks = rng.choice(len(others), size=min(settings.others, len(others)), replace=False)
    bank = make_bank(
        task.prior,
        sample.XT,
        task.domain[:, :DOMAIN_POINTS],
        state.expression,
        [others[int(k)].expression for k in picks],
        rng,
        chances=archive.input_chances(len(task.names), task.price),
    )
    screen = _Screen(state, sample, bank, task.prior)
    proposals = [*screen.additions(2), *screen.factors(1), *screen.replacements(1)]
    proposals += _retyped(screen, task.prior, rng, 3)
    proposals += _wrapped(screen, task.prior, rng, 3)
    longer = list(expansions(state.expression))[:3]
    seen: set[Expression] = {state.expression}
    for expression in (*longer, *(proposal() for proposal in proposals)):
        if expression in seen or not expression.is_allowed(task.prior):
            continue
        seen.add(expression)
        child = fitted(expression, sample, settings.steps)
        yield child if child is not None and child.error < 4.0 * state.error else None


class _Screen:
    """First-order gains of all connections between a bank and the arguments of a state."""

    def __init__(self, state: State, sample: Sample, bank: Bank, prior: Prior) -> None:
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

    def _mask(self, k: int, a: int) -> NDArray[np.bool_]:
        """Which entries may enter this argument: permitted, and not depending on it."""
        e, bank = self.expression, self.bank
        outer = e.nodes[k].unit.name if k < len(e.nodes) else "output"
        names, inverse = bank.kind_table
        permitted = [n == "input" or self.prior.allows(outer, a, n) for n in names]
        mask = np.array(permitted)[inverse] & (bank.latest < k)
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
        return float(max(gain.max() for gain, _ in self._gains(self.D)))

    def additions(self, n: int) -> list[Proposal]:
        """Add w·φ to an argument."""
        return self._pursuit(n, self.D, self._added)

    def factors(self, n: int) -> list[Proposal]:
        """Multiply or divide an argument by 1 + w·φ."""
        names = [u for u in ("mul", "div") if u in self.prior.units]
        if not names:
            return []
        return self._pursuit(n, self.D * self.Z, self._multiplied)

    def _pursuit(
        self,
        n: int,
        D: Array,
        make: Callable[[int, int, float], Proposal],
    ) -> list[Proposal]:
        gains, weights = zip(*self._gains(D), strict=True)
        best = self._best_of_each_size(np.array(gains), n, 0.0)
        return [make(s, k, float(weights[s][k])) for s, k in best]

    def _gains(self, D: Array) -> list[tuple[Array, Array]]:
        """For each argument the gain and the weight of every entry, to first order."""
        result = []
        for d, mask in zip(D, self.masks, strict=True):
            along = self.bank.values @ (d * self.outside)
            size = self.squares @ (d * d)
            inside = self.bank.values @ (self.Q * d[:, None])
            rest = size - np.einsum("ij,ij->i", inside, inside)
            good = mask & (rest > 1e-6 * size)
            rest = np.where(good, np.maximum(rest, 1e-300), 1.0)
            result.append((np.where(good, along**2 / rest, 0.0), along / rest))
        return result

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
        return chosen + self._best_of_each_kind(gains, least, chosen)

    def _best_of_each_kind(
        self, gains: Array, least: float, known: list[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """And the best not too elaborate one of each type of unit.

        The gain is that of constants drawn at random: the right type may only show after a refit.
        """
        names, kinds = self.bank.kind_table
        allowed = np.where(self.bank.costs <= SIZES[1], gains, -np.inf)
        chosen = []
        for number in range(len(names)):
            columns = np.flatnonzero(kinds == number)
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
        best = self._best_of_each_size(np.array(gains), n, -3.0 * total)
        return [self._replaced(s, k, float(alphas[s][k]), float(deltas[s][k])) for s, k in best]

    # --- making the children -------------------------------------------------------------------

    def _added(self, s: int, entry: int, weight: float) -> Proposal:
        return lambda: self._rebuilt(s, lambda old, phi, _: old.plus(phi.scaled(weight)), entry)

    def _replaced(self, s: int, entry: int, alpha: float, delta: float) -> Proposal:
        return lambda: self._rebuilt(
            s, lambda old, phi, _: phi.scaled(alpha).plus(Sum(delta)), entry
        )

    def _multiplied(self, s: int, entry: int, weight: float) -> Proposal:
        def change(old: Sum, phi: Sum, builder: Builder) -> Sum:
            factor = phi.scaled(weight).plus(Sum(1.0))
            if "mul" in self.prior.units:
                return builder.apply(self.prior.unit("mul"), old, factor)
            return builder.apply(self.prior.unit("div"), old, phi.scaled(-weight).plus(Sum(1.0)))

        return lambda: self._rebuilt(s, change, entry)

    def around(
        self, s: int, shape: _Shape, w: float, b: float, alpha: float, delta: float
    ) -> Proposal:
        """Sum s as the argument of a unit that takes its place."""

        def change(old: Sum, _: Sum, builder: Builder) -> Sum:
            inner = old.scaled(w).plus(Sum(b))
            return shape.apply(builder, inner).scaled(alpha).plus(Sum(delta))

        return lambda: self._rebuilt(s, change, 0)

    def _rebuilt(
        self, s: int, change: Callable[[Sum, Sum, Builder], Sum], entry: int
    ) -> Expression:
        """The expression with sum s changed by a function of the old sum and a bank entry."""
        e = self.expression
        builder = Builder(e.names)
        values = [builder.input(i) for i in range(len(e.names))]
        d = len(values)
        number = 0
        for node in e.nodes:
            args = []
            for a in node.args:
                new = translate(a, values)
                if number == s:
                    new = change(new, self.bank.build(entry, builder, values[d:]), builder)
                args.append(new)
                number += 1
            values.append(builder.apply(node.unit, *args))
        output = translate(e.outputs[0], values)
        if number == s:
            output = change(output, self.bank.build(entry, builder, values[d:]), builder)
        return builder.expression(output)


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


@dataclass(frozen=True)
class _Shape:
    """A function of one argument: a unit, or the reciprocal by the division unit."""

    unit: Unit

    @property
    def low(self) -> float:
        return self.unit.domains[-1][0]

    def __call__(self, z: Array) -> Array:
        return self.unit(z) if self.unit.arity == 1 else self.unit(np.ones_like(z), z)

    def apply(self, builder: Builder, inner: Sum) -> Sum:
        args = (inner,) if self.unit.arity == 1 else (Sum(1.0), inner)
        return builder.apply(self.unit, *args)


def _shapes(prior: Prior) -> list[_Shape]:
    units = [prior.unit(name) for name in prior.units]
    return [_Shape(u) for u in units if u.arity == 1 or u.name == "div"]


def _retyped(screen: _Screen, prior: Prior, rng: np.random.Generator, n: int) -> list[Proposal]:
    """Exchange a unit for another type that does nearly the same on the data.

    For every unit of one argument z and every other type u, a few α u(w z + b) + δ are fitted to
    the unit's values where the output is sensitive to them; the closest are proposed.
    """
    e = screen.expression
    found: list[tuple[float, Proposal]] = []
    for k, node in enumerate(e.nodes):
        if node.unit.arity != 1:
            continue
        z, y, d = screen.node_values(k)
        total = float(np.sum((d * (y - np.average(y, weights=d * d + 1e-300))) ** 2))
        if not (np.isfinite(total) and total > 0):
            continue
        for shape in _shapes(prior):
            if shape.unit is not node.unit:
                error, *constants = _closest(shape, z, d * y, d, rng)
                if np.isfinite(error):
                    found.append((error / total, _exchange(e, k, shape, *constants)))
    found.sort(key=lambda item: item[0])
    return [proposal for _, proposal in found[:n]]


def _wrapped(screen: _Screen, prior: Prior, rng: np.random.Generator, n: int) -> list[Proposal]:
    """Put a unit around a whole argument: z becomes α u(w z + b) + δ.

    Growth adds beside what is there; a root over a finished quotient needs this move.
    """
    found: list[tuple[float, Proposal]] = []
    for s in range(len(screen.places)):
        z, d = screen.Z[s], screen.D[s]
        if not (np.all(np.isfinite(z)) and np.any(d)):
            continue
        for shape in _shapes(prior):
            error, w, b, alpha, delta = _closest(shape, z, d * z + screen.residual, d, rng)
            if np.isfinite(error):
                found.append((error, screen.around(s, shape, w, b, alpha, delta)))
    found.sort(key=lambda item: item[0])
    return [proposal for _, proposal in found[:n]]


def _closest(
    shape: _Shape, z: Array, target: Array, d: Array, rng: np.random.Generator
) -> tuple[float, float, float, float, float]:
    """Error, w, b, α, δ of the best of a few d · (α u(w z + b) + δ) for a target."""
    spread = float(np.std(z))
    if not spread > 0:
        return np.inf, 0.0, 0.0, 0.0, 0.0
    rates = np.exp(rng.uniform(-2.0, 1.5, 6)) / spread
    shifts = rng.uniform(-3.0, 3.0, 6)
    # True offsets are often zero: half of the trials are u(w z).
    shifts[::2] = rates[::2] * float(z.mean())
    trials = (_line(shape, z, target, d, w, b) for w, b in zip(rates, shifts, strict=True))
    return min(trials, key=lambda fit: fit[0])


def _line(
    shape: _Shape, z: Array, target: Array, d: Array, w: float, b: float
) -> tuple[float, float, float, float, float]:
    """Error, w, b, α, δ of the best d · (α u(w (z - mean) + b) + δ) for given w and b."""
    shift = w * z - w * float(z.mean())
    if np.isfinite(shape.low) and not shift.min() + b > shape.low:
        b = shape.low - float(shift.min()) + abs(b) * 0.5 + 0.05
    basis = np.stack([d * shape(shift + b), d])
    if not np.all(np.isfinite(basis)):
        return np.inf, 0.0, 0.0, 0.0, 0.0
    (alpha, delta), *_ = np.linalg.lstsq(basis.T, target, rcond=None)
    error = float(np.sum((target - alpha * basis[0] - delta * d) ** 2))
    return error, w, b - w * float(z.mean()), float(alpha), float(delta)


def _exchange(
    expression: Expression,
    k: int,
    shape: _Shape,
    w: float,
    b: float,
    alpha: float,
    delta: float,
) -> Proposal:
    def make() -> Expression:
        builder = Builder(expression.names)
        values = [builder.input(i) for i in range(len(expression.names))]
        for j, node in enumerate(expression.nodes):
            args = [translate(a, values) for a in node.args]
            if j == k:
                inner = args[0].scaled(w).plus(Sum(b))
                values.append(shape.apply(builder, inner).scaled(alpha).plus(Sum(delta)))
            else:
                values.append(builder.apply(node.unit, *args))
        return builder.expression(translate(expression.outputs[0], values))

    return make
