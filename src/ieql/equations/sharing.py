"""Units that the equations of several outputs have in common, fitted to the rows of all of them.

The paper's network maps the inputs to several outputs through shared units (section
"Architecture"). Equations that were found one by one have the same unit with slightly different
constants: exp(-0.502 x) in one and exp(-0.499 x) in the other. Where all constants of a unit and of
what stands inside it agree within errors that are small beside them, that is hardly chance: the
evidence for one common constant is about ln(|c| / (2.5 s)) - d²/(2 s²) nats, d being the difference
and s its standard error; and each connection inside is one that need not be told again, which the
description length of an equation has at 1.7 nats. The unit is then made one, all constants are
fitted together, each output in units of its own noise, and a likelihood ratio says whether the rows
of any output object.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from ieql.data.sample import Sample
from ieql.equations.expression import Expression, Sum
from ieql.equations.precision import Information, half_place, shortest, triangular
from ieql.equations.program import free_constants
from ieql.equations.simple_constants import set_places
from ieql.units import MUL

__all__ = ["SharedEquation", "fitted_together"]

Array = NDArray[np.float64]
Place = tuple[int, int]
"""A constant: the number of the equation, and the place among its constants."""
EVIDENCE = 1.0
"""Nats by which the rows must prefer that a unit is the same in two equations."""
CONNECTION = 1.7
"""Nats that it takes to tell a connection, half of what `ieql.selection` has in its units."""
CHANCE = 0.01
"""How often a unit that is the same in truth is left apart."""
NEAR = 1e-9
"""Relative size below which a difference is rounding."""
MOST_TRIED = 12
"""Pairs of units that are tried, at most; each takes a fit of all constants."""
MOST_CONSTANTS = 80
STEPS = 20
HALVINGS = 8


# --- the same unit in two equations --------------------------------------------------------------


class _Structures:
    """Numbers for the structure of units: the same in any equation, whatever the constants."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def of(self, expression: Expression) -> list[int]:
        """A number for each source of an expression."""
        numbers = [self._number(i) for i in range(len(expression.names))]
        for node in expression.nodes:
            args = [tuple(sorted(numbers[i] for i in a.sources)) for a in node.args]
            if node.unit is MUL:
                args.sort()
            numbers.append(self._number((node.unit, *args)))
        return numbers

    def _number(self, key: Any) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


@dataclass(frozen=True)
class _Match:
    """A unit of one equation and its counterpart in another: which constants correspond."""

    pairs: tuple[tuple[Place, Place], ...]
    n_connections: int


def _matches(equations: Sequence[Expression]) -> list[_Match]:
    """All pairs of units of equal structure in different equations, the largest first."""
    structures = _Structures()
    numbers = [structures.of(e) for e in equations]
    starts = [_starts(e) for e in equations]
    found = []
    for p, q in combinations(range(len(equations)), 2):
        one, two = equations[p], equations[q]
        d = len(one.names)
        for a in range(len(one.nodes)):
            for b in range(len(two.nodes)):
                if numbers[p][d + a] == numbers[q][d + b]:
                    pairs: dict[tuple[Place, Place], None] = {}
                    _pair(equations, numbers, starts, (p, a), (q, b), pairs)
                    biases = set(starts[p].values())
                    n_weights = sum(t not in biases for (_, t), _ in pairs)
                    found.append(_Match(tuple(pairs), n_weights))
    return sorted(found, key=lambda m: -len(m.pairs))


def _pair(
    equations: Sequence[Expression],
    numbers: Sequence[Sequence[int]],
    starts: Sequence[Mapping[tuple[int, int], int]],
    one: Place,
    two: Place,
    pairs: dict[tuple[Place, Place], None],
) -> None:
    """Note which constants inside two units of equal structure correspond."""
    (p, a), (q, b) = one, two
    d = len(equations[p].names)
    orders = []
    for k, node in ((p, a), (q, b)):
        args = list(enumerate(equations[k].nodes[node].args))
        if equations[k].nodes[node].unit is MUL:
            args.sort(key=lambda arg: sorted(numbers[k][i] for i in arg[1].sources))
        orders.append(args)
    for (m, s), (n, t) in zip(*orders, strict=True):
        first, second = starts[p][a, m], starts[q][b, n]
        pairs[(p, first), (q, second)] = None
        for j, g in zip(_order(s, numbers[p]), _order(t, numbers[q]), strict=True):
            pairs[(p, first + 1 + j), (q, second + 1 + g)] = None
            if s.sources[j] >= d:
                inner = (p, s.sources[j] - d), (q, t.sources[g] - d)
                _pair(equations, numbers, starts, *inner, pairs)


def _order(s: Sum, numbers: Sequence[int]) -> list[int]:
    """The terms of a sum by their structure, and then by their weight."""
    return sorted(range(len(s.sources)), key=lambda j: (numbers[s.sources[j]], s.weights[j]))


def _starts(expression: Expression) -> dict[tuple[int, int], int]:
    """For each (node, argument) the place of its bias among the constants."""
    found, at = {}, 0
    for k, node in enumerate(expression.nodes):
        for m, s in enumerate(node.args):
            found[k, m] = at
            at += 1 + len(s.weights)
    return found


# --- constants of several equations --------------------------------------------------------------


@dataclass
class _Ties:
    """Which constants are one, and which have a given value."""

    parent: dict[Place, Place] = field(default_factory=dict)
    given: dict[Place, float] = field(default_factory=dict)
    """Values by the first place of the group."""

    def copy(self) -> _Ties:
        return _Ties(dict(self.parent), dict(self.given))

    def first(self, place: Place) -> Place:
        while place in self.parent:
            place = self.parent[place]
        return place

    def join(self, one: Place, two: Place) -> bool:
        """Make two constants one; False if both have values that differ."""
        a, b = sorted((self.first(one), self.first(two)))
        if a == b:
            return True
        values = {self.given[p] for p in (a, b) if p in self.given}
        if len(values) > 1:
            return False
        self.parent[b] = a
        if values:
            self.given[a] = values.pop()
        return True


class _Together:
    """Several equations with constants in common, and the rows of each."""

    def __init__(self, equations: Sequence[Expression], samples: Sequence[Sample]) -> None:
        self.equations, self.samples = list(equations), list(samples)
        self.theta = [e.constants() for e in equations]
        self.ties = _Ties()
        for k, e in enumerate(equations):
            free = set(free_constants(e).tolist()) - set_places(e)
            sizes: dict[float, Place] = {}
            for t, value in enumerate(self.theta[k].tolist()):
                if t not in free:
                    self.ties.given[k, t] = value
                elif abs(value) in sizes:  # a - a·exp(-k t) stays so
                    self.ties.join(sizes[abs(value)], (k, t))
                else:
                    sizes[abs(value)] = (k, t)
        known = [
            Information.of(e, s, self._fixed(k, self.ties))
            for k, (e, s) in enumerate(zip(equations, samples, strict=True))
        ]
        self.known = known
        self.floors = [(NEAR * s.spread()) ** 2 for s in samples]
        self.errors = [math.nan if i is None else i.error for i in known]

    @property
    def is_possible(self) -> bool:
        """Whether all derivatives are finite, and there are not too many constants."""
        return all(i is not None and len(i.free) <= MOST_CONSTANTS for i in self.known)

    def _fixed(self, k: int, ties: _Ties) -> list[int]:
        return [t for t in range(len(self.theta[k])) if ties.first((k, t)) in ties.given]

    # --- judging ---------------------------------------------------------------------------------

    def evidence(self, match: _Match) -> float:
        """Nats by which the rows prefer that a unit is the same, to first order."""
        differences, variances, evidence = [], [], CONNECTION * match.n_connections
        for one, two in match.pairs:
            a, b = (float(self.theta[k][t]) for k, t in (one, two))
            errors = [self._error(p) for p in (one, two)]
            if not any(errors):
                if a != b:
                    return -math.inf  # both are what they are
                continue
            size = min(abs(a), abs(b)) or max(abs(a), abs(b))
            error = math.hypot(*errors) + NEAR * size
            if a * b < 0.0 or not math.isfinite(error):
                return -math.inf
            differences.append(a - b)
            variances.append(error**2)
            if a * b > 0.0:  # an offset that the other does not have says nothing by its size
                evidence += math.log(size / (2.5 * error))
        away = np.array(differences) ** 2 / np.array(variances) if differences else np.zeros(0)
        # Constants of one unit hang together, so that each by itself is the mildest judge.
        return evidence - 0.5 * float(away.max(initial=0.0))

    def _error(self, place: Place) -> float:
        known = self.known[place[0]]
        assert known is not None
        at = np.flatnonzero(known.free == place[1])
        return float(known.standard_errors[at[0]]) if len(at) else 0.0

    def is_same(self, match: _Match) -> bool:
        """Whether it is one unit already, to the last digit."""
        return all(self.theta[p][t] == self.theta[q][u] for (p, t), (q, u) in match.pairs)

    def keep(self, match: _Match) -> None:
        """Let the constants of a unit that is one already move together."""
        for one, two in match.pairs:
            self.ties.join(one, two)

    def tied(self, match: _Match) -> bool:
        """Make a unit one if the rows do not object; whether it was done."""
        trial = self.ties.copy()
        before = len(trial.parent)
        if not all(trial.join(one, two) for one, two in match.pairs):
            return False
        solved = self._solved(trial)
        if solved is None:
            return False
        theta, errors = solved
        growth = 0.0
        for k, (new, old) in enumerate(zip(errors, self.errors, strict=True)):
            known = self.known[k]
            assert known is not None
            n = max(known.n_rows - len(known.free), 1.0)
            growth += n * math.log((new + self.floors[k]) / (old + self.floors[k] or 1.0))
        if not growth <= float(chdtri(max(len(trial.parent) - before, 1), CHANCE)):
            return False
        self.theta, self.ties = theta, trial
        return True

    # --- fitting ---------------------------------------------------------------------------------

    def _solved(self, ties: _Ties) -> tuple[list[Array], list[float]] | None:
        """The constants that fit all rows best under the ties, and the mean squared errors."""
        theta = self._start(ties)
        found = self._measured(theta, ties)
        for _ in range(STEPS):
            if found is None:
                return None
            total, _, S, rhs, groups = found
            if not groups:
                break
            step = np.asarray(np.linalg.lstsq(S, rhs, rcond=None)[0], dtype=np.float64)
            better = None
            for halving in range(HALVINGS):
                trial = self._moved(theta, ties, groups, 0.5**halving * step)
                better = self._measured(trial, ties)
                if better is not None and better[0] < total:
                    break
                better = None
            if better is None:
                break
            theta, found = trial, better
            if total - found[0] < 1e-12 * total:
                break
        if found is None:
            return None
        return theta, found[1]

    def _start(self, ties: _Ties) -> list[Array]:
        """Constants under the ties: the better one is known, the more it counts."""
        theta = [t.copy() for t in self.theta]
        groups: dict[Place, list[Place]] = {}
        for k, constants in enumerate(theta):
            for t in range(len(constants)):
                groups.setdefault(ties.first((k, t)), []).append((k, t))
        for first, members in groups.items():
            if first in ties.given:
                for k, t in members:
                    theta[k][t] = ties.given[first]
            elif len({k for k, _ in members}) > 1:
                weight = np.array([self._error(p) ** -2.0 for p in members])
                size = np.array([abs(theta[k][t]) for k, t in members])
                common = float(weight @ size / weight.sum()) if weight.sum() < 1e300 else size[0]
                for k, t in members:
                    theta[k][t] = math.copysign(common, theta[k][t])
        return theta

    def _measured(
        self, theta: Sequence[Array], ties: _Ties
    ) -> tuple[float, list[float], Array, Array, list[Place]] | None:
        """Sum of squares in units of the noise, the errors, and the linear least squares."""
        groups: dict[Place, int] = {}
        parts, errors, total = [], [], 0.0
        for k, (e, s) in enumerate(zip(self.equations, self.samples, strict=True)):
            with np.errstate(all="ignore"):
                known = Information.of(e.with_constants(theta[k]), s, self._fixed(k, ties))
            if known is None:
                return None
            noise = math.sqrt((self.errors[k] + self.floors[k] or 1.0) / known.n_rows)
            total += known.error / noise**2
            errors.append(known.error)
            columns = []
            for t in known.free.tolist():
                first = ties.first((k, t))
                sign = 1.0 if theta[k][t] * theta[first[0]][first[1]] > 0.0 else -1.0
                columns.append((groups.setdefault(first, len(groups)), sign))
            parts.append((known.factor * known.size / noise, known.projected / noise, columns))
        S = np.zeros((sum(len(f) for f, _, _ in parts), len(groups)))
        at = 0
        for factor, _, columns in parts:
            for j, (column, sign) in enumerate(columns):
                S[at : at + len(factor), column] += sign * factor[:, j]
            at += len(factor)
        rhs = np.concatenate([projected for _, projected, _ in parts])
        return total, errors, S, rhs, list(groups)

    def _moved(
        self, theta: Sequence[Array], ties: _Ties, groups: Sequence[Place], step: Array
    ) -> list[Array]:
        moved = [t.copy() for t in theta]
        steps = dict(zip(groups, step.tolist(), strict=True))
        for k, constants in enumerate(theta):
            for t, value in enumerate(constants.tolist()):
                first = ties.first((k, t))
                if first in steps:
                    sign = 1.0 if value * theta[first[0]][first[1]] > 0.0 else -1.0
                    moved[k][t] = value + sign * steps[first]
        return moved

    # --- digits ----------------------------------------------------------------------------------

    def shown(self) -> tuple[list[Array], dict[Place, float]] | None:
        """Constants of which the common ones are rounded to what their errors deserve.

        Also the standard errors of the common ones, by the first place of each. They are rounded
        one after the other, and the rest moves along, as in `ieql.equations.precision.readable`.
        """
        found = self._measured(self.theta, self.ties)
        if found is None:
            return None
        _, _, S, _, groups = found
        outputs: dict[Place, set[int]] = {}
        for k, constants in enumerate(self.theta):
            for t in range(len(constants)):
                outputs.setdefault(self.ties.first((k, t)), set()).add(k)
        common = [g for g, first in enumerate(groups) if len(outputs[first]) > 1]
        own = [g for g in range(len(groups)) if g not in common]
        values = np.array([self.theta[k][t] for k, t in groups])
        rounded, errors = values.copy(), {}
        for position, g in enumerate(common):
            rest = [*own, *common[position:]]
            moves, *_ = np.linalg.lstsq(S[:, rest], -S @ (rounded - values), rcond=None)
            rounded[rest] += moves
            R = triangular(S[:, [*own, *common[position + 1 :], g]])
            error = 1.0 / max(abs(float(R[-1, -1])), 1e-300)
            errors[groups[g]] = error
            small = 1e-11 * abs(float(rounded[g]))
            rounded[g] = shortest(float(rounded[g]), half_place(error) if error > small else small)
        return self._moved(self.theta, self.ties, groups, rounded - values), errors

    def places(self, k: int) -> list[int]:
        """Places of the constants of an equation that it has in common with others."""
        groups: dict[Place, set[int]] = {}
        for q, constants in enumerate(self.theta):
            for t in range(len(constants)):
                groups.setdefault(self.ties.first((q, t)), set()).add(q)
        return [t for t in range(len(self.theta[k])) if len(groups[self.ties.first((k, t))]) > 1]


@dataclass(frozen=True)
class SharedEquation:
    """An equation some constants of which it has in common with others.

    Attributes
    ----------
    precise : Expression
        At the best fit to the rows of all, with all digits.
    shown : Expression
        The common constants rounded; the others are still to be.
    common : mapping of int to float
        Places of the common constants, with their standard errors; 0 where it is a given number.
    """

    precise: Expression
    shown: Expression
    common: Mapping[int, float]


def fitted_together(
    equations: Sequence[Expression], samples: Sequence[Sample]
) -> list[SharedEquation | None] | None:
    """Make units one that several equations have in common, and fit all constants together.

    Parameters
    ----------
    equations : sequence of Expression
        One of each output, at its best fit, with all digits.
    samples : sequence of Sample
        The rows of each output.

    Returns
    -------
    list or None
        For each equation what became of it, None where nothing did; None if nothing did at all.
    """
    matches = _matches(equations)
    if not matches:
        return None
    together = _Together(equations, samples)
    if not together.is_possible:
        return None
    for match in matches:
        if together.is_same(match):  # and stays so
            together.keep(match)
    judged = [(together.evidence(m), m) for m in matches if not together.is_same(m)]
    judged = [(nats, m) for nats, m in judged if nats > EVIDENCE]
    judged.sort(key=lambda entry: (-len(entry[1].pairs), -entry[0]))
    done = [together.tied(m) for _, m in judged[:MOST_TRIED] if not together.is_same(m)]
    if not any(done):
        return None
    shown = together.shown()
    if shown is None:
        return None
    constants, errors = shown
    results: list[SharedEquation | None] = []
    for k, e in enumerate(equations):
        common = together.places(k)
        # Where these stand as they were, so do the others, which have only rows of their own.
        if np.array_equal(together.theta[k][common], e.constants()[common]):
            results.append(None)
            continue
        results.append(
            SharedEquation(
                e.with_constants(together.theta[k]),
                e.with_constants(constants[k]),
                {t: errors.get(together.ties.first((k, t)), 0.0) for t in common},
            )
        )
    return results
