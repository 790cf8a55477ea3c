"""Groups of inputs: similarity, as dimensional analysis finds it, but read off the rows.

A law of physics does not change if lengths are measured in feet: scaling some inputs together only
scales its output. Whoever knows the units knows these symmetries beforehand; here a surrogate shows
them. Its slopes tell for which exponents a and p

    Σ aᵢ xᵢ ∂f/∂xᵢ = p f    everywhere,

and with k such symmetries f = Π xⱼ^qⱼ · g(groups) for k of the inputs xⱼ, with k groups fewer than
there are inputs (Buckingham, 1914): m v/√(1 - v²/c²) is m v times a function of v/c alone. Likewise
two inputs whose slopes have a fixed ratio enter as one difference. Groups are believed if a
surrogate of them predicts the rows as well as one of all inputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.training.fast.homogeneous import multiplied_in
from ieql.training.fast.power_form import product_of_powers
from ieql.training.fast.smoothed import Smoothed
from ieql.units import DIV, MUL

__all__ = ["Group", "Similarity", "known_similarities", "similarities"]

Array = NDArray[np.float64]
POINTS = 250
"""Rows at which slopes are taken."""
STEP = 0.01
"""Of a difference quotient, as a part of the value or, for a sum, of an input's spread."""
LARGEST = 5.0
"""Of the exponents of groups and factors."""
NEAR = 0.2
"""How far from a simple exponent one may be that stands for it."""
PARALLEL = 0.03
"""Part of the slopes of two inputs that may not have a fixed ratio."""
MOST_FORMS = 6
"""Ways to write an equation of groups in the inputs, beside the plain one."""
FLAT = 0.1
"""Part of the largest change that a symmetry may leave."""
MOST_PIVOTS = 1_000
"""Sets of pivots that are looked at: with many inputs there are too many."""
MOST_WAYS = (0, 3, 2)
"""Ways to write the same similarity that are handed on: with no, one and more groups."""


@dataclass(frozen=True)
class Group:
    """A product of powers of one or several of the sums.

    Attributes
    ----------
    powers : tuple of (int, float)
        The numbers of the sums, and their exponents.
    """

    powers: tuple[tuple[int, float], ...]

    @property
    def weight(self) -> float:
        """How much there is to write: the simpler of two ways has less."""
        return sum(0.5 + abs(p) + (p != round(p)) for _, p in self.powers)

    def values(self, sums: Array) -> Array:
        """Its values, from those of the sums, sums × points."""
        total = np.ones(sums.shape[1])
        for i, p in self.powers:
            total = total * (sums[i] ** int(p) if p == round(p) else np.abs(sums[i]) ** p)
        return total

    def build(self, builder: Builder, sums: Sequence[Sum], signs: Sequence[float]) -> Sum:
        """The same in a graph."""
        halves = {i for i, p in self.powers if p != round(p)}
        factors = [(sums[i].scaled(signs[i] if i in halves else 1.0), p) for i, p in self.powers]
        above = product_of_powers(builder, [(s, p) for s, p in factors if p > 0.0])
        below = product_of_powers(builder, [(s, -p) for s, p in factors if p < 0.0])
        return builder.apply(DIV, above, below)


@dataclass(frozen=True)
class Similarity:
    """A function as a product of powers times a function of fewer groups.

    Attributes
    ----------
    sums : tuple of tuples of (int, float)
        Inputs, or differences of inputs, by number and weight.
    signs : tuple of float
        The signs of the sums.
    factor : Group
        What stands before the function.
    groups : tuple of Group
        What it is a function of.
    """

    sums: tuple[tuple[tuple[int, float], ...], ...]
    signs: tuple[float, ...]
    factor: Group
    groups: tuple[Group, ...]

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.groups)

    def values(self, XT: Array) -> tuple[Array, Array]:
        """Values of the factor (points,) and of the groups (groups, points)."""
        sums = np.stack([sum(w * XT[i] for i, w in terms) for terms in self.sums])
        groups = np.stack([g.values(sums) for g in self.groups])
        return self.factor.values(sums), groups

    def expressions(
        self, names: tuple[str, ...], function: Expression, scale: float = 1.0
    ) -> list[Expression]:
        """Ways to write the whole function, from an equation for that of the groups and a scale."""
        builder = Builder(names)
        sums = [Sum.total([builder.input(i).scaled(w) for i, w in terms]) for terms in self.sums]

        def build(powers: Mapping[int, float]) -> Sum:
            used = tuple((i, p) for i, p in sorted(powers.items()) if p != 0.0)
            return Group(used).build(builder, sums, self.signs)

        groups, factor = [dict(g.powers) for g in self.groups], dict(self.factor.powers)
        values = builder.copy(function, [build(g) for g in groups])
        plain = builder.apply(MUL, build(factor), translate(function.outputs[0], values))
        # What is in no group has nothing to cancel.
        shared = {i for g in groups for i in g}
        inside = {i: p for i, p in factor.items() if i in shared}
        outside = build({i: p for i, p in factor.items() if i not in shared})
        ways = [plain]
        for way in islice(multiplied_in(function, groups, inside, builder, build), MOST_FORMS):
            ways.append(builder.apply(MUL, outside, way))
        return list(dict.fromkeys(builder.expression(way.scaled(scale)) for way in ways))


def similarities(smooth: Smoothed, XT: Array, scale: Array | None = None) -> Iterator[Similarity]:
    """The ways to write a function with fewer groups than inputs, the fewest first.

    Parameters
    ----------
    smooth : Smoothed
        Stands for the function.
    XT : array (inputs, rows)
        Rows in random order.
    scale : array (inputs,), optional
        The unit of each input: differences in the same unit are likelier than others.
    """
    points = XT[:, :POINTS]
    sums = _sums(smooth, points, np.ones(len(XT)) if scale is None else scale)
    values = np.stack([sum(w * XT[i] for i, w in terms) for terms in sums])
    signs = tuple(_sign(v) for v in values)
    matrix = _slopes(smooth, points, sums, values[:, :POINTS])
    if not np.all(np.isfinite(matrix)):
        return
    slopes = _Slopes(values[:, :POINTS], np.abs(matrix[:, :-1] / matrix[:, -1:]).T)
    _, s, V = np.linalg.svd(matrix, full_matrices=True)
    known = set()
    for k in range(len(sums) - 1, 0, -1):
        if s[len(V) - k] > FLAT * s[0]:
            continue
        symmetries = _simple(V[len(V) - k :], signs)
        if symmetries is None:
            continue
        ways = list(_ways(symmetries, sums, signs, slopes))[: MOST_WAYS[min(len(sums) - k, 2)]]
        key = symmetries.tobytes()
        if key in known or not ways:
            continue
        known.add(key)
        yield from ways
    if len(sums) < len(smooth.inputs):
        none = Group(())
        yield Similarity(sums, signs, none, tuple(Group(((i, 1.0),)) for i in range(len(sums))))


def known_similarities(symmetries: Array, XT: Array, inputs: Sequence[int]) -> Iterator[Similarity]:
    """The same for symmetries that are known beforehand, as by physical units.

    Parameters
    ----------
    symmetries : array (symmetries, inputs + 1)
        The exponents of the inputs, and the power of the function; rows are independent.
    XT : array (inputs, rows)
        Rows of the data.
    inputs : sequence of int
        What the function depends on.
    """
    sums = tuple(((i, 1.0),) for i in inputs)
    signs = tuple(_sign(XT[i]) for i in inputs)
    n_groups = len(sums) - len(symmetries)
    if not len(symmetries) or not n_groups:
        return
    for way in islice(_ways(symmetries, sums, signs, None), MOST_WAYS[min(n_groups, 2)]):
        yield way
        if n_groups == 1:
            # Which of a group and its inverse says it better, no slopes tell here.
            powers = tuple((i, -p) for i, p in way.groups[0].powers)
            if all(signs[i] != 0.0 for i, _ in powers):
                yield replace(way, groups=(Group(powers),))


def _sign(values: Array) -> float:
    if np.all(values > 0.0):
        return 1.0
    return -1.0 if np.all(values < 0.0) else 0.0


# --- differences -------------------------------------------------------------------------------


def _sums(
    smooth: Smoothed, points: Array, scale: Array
) -> tuple[tuple[tuple[int, float], ...], ...]:
    """The inputs, and in place of two whose slopes have a fixed ratio their sum."""
    inputs = smooth.inputs
    slopes = {}
    for i in inputs:
        h = STEP * (float(points[i].std()) or 1.0)
        slopes[i] = smooth.change(points, {i: h}) / (2.0 * h)
    sums: list[tuple[tuple[int, float], ...]] = []
    taken: set[int] = set()
    pairs = []
    for i, j in combinations(inputs, 2):
        a, b = slopes[i], slopes[j]
        size = float(a @ a)
        if not size > 0.0:
            continue
        ratio = float(a @ b) / size
        left = float(np.sum((b - ratio * a) ** 2)) / max(float(b @ b), 1e-300)
        # Slopes that hardly vary say nothing: a straight line is no reason to take two for one.
        varies = float(np.std(a)) > 3.0 * PARALLEL * float(np.abs(np.mean(a)))
        if left < PARALLEL**2 and varies:
            pairs.append((left, i, j, ratio))
    for _, i, j, ratio in sorted(pairs):
        if i not in taken and j not in taken:
            taken |= {i, j}
            sums.append(((i, 1.0), (j, _likely(ratio, float(scale[j] / scale[i])))))
    sums += [((i, 1.0),) for i in inputs if i not in taken]
    return tuple(sorted(sums))


def _likely(ratio: float, equal: float) -> float:
    """The ratio, with as many digits as slopes tell, or that of a plain sum or difference."""
    plain = math.copysign(equal, ratio)
    likely = plain if abs(ratio / plain - 1.0) < PARALLEL else float(f"{ratio:.4g}")
    # A weight of one would be taken for structure, and not be fitted.
    return likely if abs(likely) != 1.0 else likely * (1.0 + 1e-9)


# --- scales ------------------------------------------------------------------------------------


def _slopes(
    smooth: Smoothed,
    points: Array,
    sums: Sequence[tuple[tuple[int, float], ...]],
    values: Array,
) -> Array:
    """What scaling each sum changes, and minus the function: points × (sums + 1)."""
    columns = []
    for terms, value in zip(sums, values, strict=True):
        # A sum is scaled by moving its first input.
        i, w = terms[0]
        h = STEP * value / w
        columns.append(smooth.change(points, {i: h}) / (2.0 * STEP))
    f = smooth.size(points)
    matrix: Array = np.stack([*columns, -f], axis=1) / (float(np.sqrt(np.mean(f**2))) or 1.0)
    return matrix


def _simple(null: Array, signs: Sequence[float]) -> Array | None:
    """Symmetries with simple exponents, one per pivot, from vectors that span them.

    Each row has exponents of all sums, one of them, its pivot's, is 1 and the other pivots' are 0,
    and at the end the power of the function.
    """
    from scipy.linalg import qr

    k, d = len(null), null.shape[1] - 1
    possible = [i for i in range(d) if signs[i] != 0.0]
    if len(possible) < k:
        return None
    _, R, order = qr(null[:, possible], pivoting=True, mode="economic")
    if abs(R[k - 1, k - 1]) < 1e-3:
        return None
    pivots = [possible[i] for i in order[:k]]
    reduced = np.linalg.solve(null[:, pivots], null)
    simple = np.round(2.0 * reduced) / 2.0
    if np.any(np.abs(reduced - simple) > NEAR) or np.any(np.abs(simple) > LARGEST):
        return None
    return simple + 0.0


class _Slopes(NamedTuple):
    """Values of the sums, and sizes of ∂ log f/∂ log of each, sums × points."""

    values: Array
    sizes: Array

    def falls(self, j: int, group: Group) -> bool:
        """Whether a group matters the less the larger it is: then its inverse says it better.

        The sum is in no other group, so that the slope by the group is that by the sum.
        """
        return bool(np.corrcoef(np.abs(group.values(self.values)), self.sizes[j])[0, 1] < 0.0)


def _ways(
    symmetries: Array,
    sums: Sequence[tuple[tuple[int, float], ...]],
    signs: Sequence[float],
    slopes: _Slopes | None,
) -> Iterator[Similarity]:
    """The same symmetries by other pivots, the simplest to write first."""
    k, d = len(symmetries), len(sums)
    found: list[tuple[float, Similarity]] = []
    possible = [i for i in range(d) if signs[i] != 0.0]
    for pivots in islice(combinations(possible, k), MOST_PIVOTS):
        square = symmetries[:, pivots]
        if abs(np.linalg.det(square)) < 1e-9:
            continue
        reduced = np.linalg.solve(square, symmetries)
        exact = np.round(2.0 * reduced) / 2.0 + 0.0
        if np.any(np.abs(exact - reduced) > 1e-9) or np.any(np.abs(exact) > LARGEST):
            continue
        factor = Group(_powers((p, exact[row, d]) for row, p in enumerate(pivots)))
        others = [j for j in range(d) if j not in pivots]
        groups = []
        for j in others:
            powers = _powers([(j, 1.0), *((p, -exact[row, j]) for row, p in enumerate(pivots))])
            falls = slopes is not None and signs[j] != 0.0 and slopes.falls(j, Group(powers))
            groups.append(Group(tuple((i, -p) for i, p in powers) if falls else powers))
        weight = factor.weight + sum(g.weight for g in groups)
        found.append((weight, Similarity(tuple(sums), tuple(signs), factor, tuple(groups))))
    found.sort(key=lambda entry: entry[0])
    yield from (similarity for _, similarity in found)


def _powers(
    pairs: Iterator[tuple[int, float]] | list[tuple[int, float]],
) -> tuple[tuple[int, float], ...]:
    return tuple((i, float(p)) for i, p in pairs if p != 0.0)
