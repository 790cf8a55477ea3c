"""Which equations are possible by their physical units, and what units their constants have.

The rule is that of dimensional analysis: terms of a sum have equal dimensions, products and powers
multiply them, min and max compare what is alike, and any other unit (exponential, logarithm,
cosine, …) takes plain numbers and gives one. Every weight and offset is a constant, which carries a
dimension only as far as the prior lets it (`Prior.constants`). A logarithm of something with a
dimension is a number and a logarithm of units: sums of them are possible where an exponential takes
these back, exp(2 log(a)) = a², and, on the way to an equation that is shown, where they cancel,
log(a) - log(b).

Inside, a dimension is a tuple of whole numbers: the exponents of the base quantities in parts of
1/240, so that halves, thirds and fifths are exact and comparing is quick.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice, product

import numpy as np

from ieql.equations.expression import Expression, Node, Sum
from ieql.errors import IeqlError, shown
from ieql.prior import Prior
from ieql.quantities import FREE, PLAIN, Quantity, quantity
from ieql.units import EXP, LOG, Unit

__all__ = [
    "ANY",
    "LOGARITHM",
    "LOOSE",
    "Dimension",
    "DimensionRule",
    "Possible",
    "check_possible",
    "is_in_order",
    "mended",
    "rule_of",
]

Dimension = tuple[int, ...]
Possible = frozenset[Dimension]
"""The dimensions that something may have, depending on those of the constants in it."""
ANY: Possible = frozenset({(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1)})
"""Stands for every dimension: a product of powers whose exponents are not fitted yet."""
LOGARITHM: Possible = frozenset({(-2, -2, -2, -2, -2, -2, -2, -2, -2, -2)})
"""Stands for the logarithm of something with a dimension, in structures without constants."""
PARTS = 240
POWERS_OF_LISTED = (1, -1, Fraction(1, 2), Fraction(-1, 2), 2, -2)
"""A constant may be one of the listed units to one of these powers: what is √(19.6 h) in one form
of an equation is 4.43 √h in another."""
STEPS = (PARTS // 2, PARTS // 3, PARTS // 4, PARTS // 5)
"""Exponents are halves, thirds, quarters or fifths."""
LOOSE, STRICT = 0.02, 1e-10
"""How far a fitted exponent may be from one that makes dimensions right: before it is rounded, and
in an equation that is shown."""
MOST_POSSIBLE = 96
"""Dimensions that one source is thought to have, at most: those nearest to what there is. Where
constants may have several units, each level multiplies them, and a product of two such sums took
minutes; equations that need the others are not permitted."""
MANY_PAIRS = 50
"""Of dimensions, from which on their products are computed as arrays."""
MOST_CHOICES = 64
"""Dimensions of units used twice that are tried, where constants may have several."""


@dataclass(frozen=True)
class _Value:
    """What a sum or a unit may have for dimensions, and of which units it holds logarithms."""

    possible: Possible
    logarithm: tuple[float, ...] | None = None


class DimensionRule:
    """Decides whether equations agree with the units of the inputs and of the target.

    Parameters
    ----------
    names : sequence of str
        The inputs, in the order of the columns.
    inputs : sequence of Quantity
        Their units.
    target : Quantity
        That of the target.
    listed : sequence of Quantity
        What constants may carry beside plain numbers.
    """

    def __init__(
        self,
        names: Sequence[str],
        inputs: Sequence[Quantity],
        target: Quantity,
        listed: Sequence[Quantity] = (),
    ) -> None:
        self.names = tuple(names)
        self.quantities = tuple(inputs)
        self.target_quantity = target
        self.base = sorted({key for q in (*inputs, target, *listed) for key, _ in q.dimension})
        self.plain: Dimension = (0,) * len(self.base)
        self.inputs = tuple(self._dimension(q) for q in inputs)
        self.target = self._dimension(target)
        powers = [
            tuple(int(e * p) for e in self._dimension(q)) for p in POWERS_OF_LISTED for q in listed
        ]
        self.constants = tuple(dict.fromkeys([self.plain, *powers]))
        self._only_plain = frozenset([self.plain])
        self._known_sums: dict[Possible, Possible] = {}
        self._known_products: dict[tuple[tuple[float, ...], tuple[Possible, ...]], Possible] = {}

    def _dimension(self, q: Quantity) -> Dimension:
        exponents = dict(q.dimension)
        return tuple(int(PARTS * exponents.get(key, Fraction(0))) for key in self.base)

    @cached_property
    def relaxed(self) -> DimensionRule:
        """A rule that is quicker to apply to many structures, and permits no less.

        Dimensions count only as far as no product of the listed units makes up for them; so
        everything has just one.
        """
        if len(self.constants) == 1:
            return self
        result = copy(self)
        result.inputs = tuple(self._without_listed(d) for d in self.inputs)
        result.target = self._without_listed(self.target)
        result.constants = (self.plain,)
        result._known_sums, result._known_products = {}, {}
        return result

    def _without_listed(self, dimension: Dimension) -> Dimension:
        rows = _reduced([c for c in self.constants if any(c)])
        rest = [Fraction(e) for e in dimension]
        for row in rows:
            place = next(k for k, e in enumerate(row) if e)
            rest = [a - rest[place] * b for a, b in zip(rest, row, strict=True)]
        # Whole numbers again: no two dimensions become one by it.
        common = math.lcm(*(e.denominator for row in rows for e in row))
        return tuple(int(e * common) for e in rest)

    # --- sums and units, whatever their constants ----------------------------------------------

    def sum(self, terms: Iterable[Possible], offset: bool) -> Possible:
        """What a sum of weighted terms may have; empty if it is impossible."""
        found: Possible | None = frozenset(self.constants) if offset else None
        logarithms = 0
        for term in terms:
            if term is ANY:
                continue
            if term is LOGARITHM:
                logarithms += 1
                term = self._only_plain
            else:
                term = self._weighted(term)
            found = term if found is None else found & term
        if logarithms:
            if found is not None and self.plain not in found:
                return frozenset()
            # One alone is of no use but to an exponential; of two, units may cancel.
            return LOGARITHM if logarithms == 1 else self._only_plain
        return ANY if found is None else found

    def _weighted(self, possible: Possible) -> Possible:
        if len(self.constants) == 1:
            return possible
        if possible not in self._known_sums:
            self._known_sums[possible] = self._nearest(
                {_plus(d, c) for d in possible for c in self.constants}
            )
        return self._known_sums[possible]

    def unit(self, unit: Unit, arguments: Sequence[Possible]) -> Possible:
        """What a unit of some arguments may have; empty if they are not possible."""
        if not all(arguments):
            return frozenset()
        if unit is EXP and arguments[0] is LOGARITHM:
            return ANY
        if LOGARITHM in arguments:
            return frozenset()
        if unit.selects:
            return self._alike(arguments)
        if unit.raises:
            # What an exponent makes of a dimension is known once it is fitted.
            is_plain = arguments[0] is ANY or self.plain in arguments[0]
            return self._only_plain if is_plain and len(arguments[0]) == 1 else ANY
        if not unit.powers:
            is_possible = all(a is ANY or self.plain in a for a in arguments)
            if unit is LOG and not is_possible:
                return LOGARITHM
            return self._only_plain if is_possible else frozenset()
        if ANY in arguments:
            return ANY
        key = unit.powers, tuple(arguments)
        if key not in self._known_products:
            self._known_products[key] = self._product(unit.powers, arguments)
        return self._known_products[key]

    def _alike(self, arguments: Sequence[Possible]) -> Possible:
        """What all of some arguments may have."""
        known = [a for a in arguments if a is not ANY]
        return frozenset.intersection(*known) if known else ANY

    def _product(self, powers: Sequence[float], arguments: Sequence[Possible]) -> Possible:
        """What a product of powers may have."""
        if math.prod(map(len, arguments)) > MANY_PAIRS:
            return self._nearest(_many_products(powers, arguments))
        found = set()
        for dimensions in product(*arguments):
            exponents = [
                sum(p * e for p, e in zip(powers, row, strict=True))
                for row in zip(*dimensions, strict=True)
            ]
            total = tuple([int(e) for e in exponents])
            if total == tuple(exponents):  # else a root of a root of …, which nobody means
                found.add(total)
        return self._nearest(found)

    def _nearest(self, dimensions: Collection[Dimension]) -> Possible:
        """Those nearest to plain numbers, to an input or to the target, if there are too many."""
        if len(dimensions) <= MOST_POSSIBLE:
            return frozenset(dimensions)
        anchors = (self.plain, self.target, *self.inputs)

        def far(d: Dimension) -> int:
            return min(
                sum(abs(a - b) for a, b in zip(d, anchor, strict=True)) for anchor in anchors
            )

        return frozenset(sorted(dimensions, key=lambda d: (far(d), d))[:MOST_POSSIBLE])

    def is_target(self, possible: Possible) -> bool:
        """Whether a sum may be the whole right-hand side."""
        return possible is ANY or self.target in possible

    def may_add(self, dimension: Dimension) -> bool:
        """Whether something of this dimension may be a term of the whole."""
        return self.target in self._weighted(frozenset([dimension]))

    # --- equations -----------------------------------------------------------------------------

    def holds(self, expression: Expression, tolerance: float = STRICT) -> bool:
        """Whether constants can have dimensions, of those permitted, that make it right."""
        fixed: dict[int, Dimension] = {}
        values = self._values(expression, fixed, tolerance)
        if values is None:
            return False
        shared = self._ambiguous(expression, values)
        if not shared:
            return True
        choices = product(*(sorted(values[i].possible) for i in shared))
        return any(
            self._values(expression, dict(zip(shared, choice, strict=True)), tolerance)
            for choice in islice(choices, MOST_CHOICES)
        )

    def _ambiguous(self, expression: Expression, values: Sequence[_Value]) -> list[int]:
        """Units that are used more than once and may have several dimensions."""
        if len(self.constants) == 1:
            return []
        uses = Counter(i for s in expression.sums for i in s.sources)
        return [
            i
            for i, n in sorted(uses.items())
            if n > 1 and i >= len(expression.names) and len(values[i].possible) > 1
        ]

    def _values(
        self, expression: Expression, fixed: dict[int, Dimension], tolerance: float
    ) -> list[_Value] | None:
        """What every source may have; None if the equation is impossible."""
        values = [_Value(frozenset([d])) for d in self.inputs]
        for k, node in enumerate(expression.nodes, start=len(values)):
            arguments = [self._of_sum(s, values) for s in node.args]
            value = self._of_node(node, arguments, tolerance)
            if k in fixed:
                value = _Value(value.possible & {fixed[k]}, value.logarithm)
            if not value.possible:
                return None
            values.append(value)
        for s in expression.outputs:
            whole = self._of_sum(s, values)
            if not _is_small(whole.logarithm, tolerance) or not self.is_target(whole.possible):
                return None
        return values

    def _of_sum(self, s: Sum, values: Sequence[_Value]) -> _Value:
        if s.is_constant:
            # Nothing at all has any dimension.
            return _Value(ANY if s.bias == 0.0 else frozenset(self.constants))
        total: list[float] | None = None
        terms = []
        for i, w in zip(s.sources, s.weights, strict=True):
            terms.append(values[i].possible)
            inner = values[i].logarithm
            if inner is not None:
                total = [0.0] * len(self.base) if total is None else total
                total = [t + w * e for t, e in zip(total, inner, strict=True)]
        if total is None:
            return _Value(self.sum(terms, s.bias != 0.0))
        # The weight of a logarithm is an exponent, and a number.
        is_plain = all(self.plain in self._weighted(term) for term in terms)
        return _Value(self._only_plain if is_plain else frozenset(), tuple(total))

    def _of_node(self, node: Node, arguments: Sequence[_Value], tolerance: float) -> _Value:
        first = arguments[0]
        if node.unit is EXP and first.logarithm is not None:
            if not first.possible:
                return first
            dimension = _snapped(first.logarithm, tolerance)
            return _Value(frozenset() if dimension is None else frozenset([dimension]))
        if not all(_is_small(a.logarithm, tolerance) for a in arguments):
            return _Value(frozenset())
        if node.unit.raises:
            return self._of_power(node, first, tolerance)
        if node.unit is LOG and first.possible is not ANY and self.plain not in first.possible:
            # Of several dimensions that constants could give it, the first will do.
            logarithm = min(first.possible, default=self.plain)
            possible = self._only_plain if first.possible else frozenset()
            return _Value(possible, tuple(float(e) for e in logarithm))
        return _Value(self.unit(node.unit, [a.possible for a in arguments]))

    def _of_power(self, node: Node, base: _Value, tolerance: float) -> _Value:
        """What something to the power of a number has."""
        exponent = node.args[-1]
        if base.possible is ANY or not exponent.is_constant:
            return base
        raised = [_snapped(tuple(exponent.bias * e for e in d), tolerance) for d in base.possible]
        return _Value(frozenset(d for d in raised if d is not None))

    def dimensions(self, expression: Expression) -> list[Dimension | None]:
        """The dimension of every source, by a `relaxed` rule; None where none is right.

        The whole is not judged.
        """
        values: list[_Value] = [_Value(frozenset([d])) for d in self.inputs]
        for node in expression.nodes:
            arguments = [self._of_sum(s, values) for s in node.args]
            values.append(self._of_node(node, arguments, LOOSE))
        return [_only(value) for value in values]

    def of_sums(self, expression: Expression) -> list[Dimension | None]:
        """The same for every sum; that of the output is the target's."""
        values: list[_Value] = [_Value(frozenset([d])) for d in self.inputs]
        found: list[Dimension | None] = []
        for node in expression.nodes:
            arguments = [self._of_sum(s, values) for s in node.args]
            unit = node.unit
            found += [
                _only(a) if unit.powers or unit.selects or unit.raises else self.plain
                for a in arguments
            ]
            values.append(self._of_node(node, arguments, LOOSE))
        return [*found, *(self.target for _ in expression.outputs)]

    def mended(self, expression: Expression, tolerance: float = LOOSE) -> Expression | None:
        """The expression without the offsets that have no right dimension.

        None if its terms are impossible, too, or nothing is left.
        """
        values = [_Value(frozenset([d])) for d in self.inputs]
        changed = False

        def mended(s: Sum, target: Dimension | None = None) -> Sum:
            nonlocal changed
            if s.bias == 0.0 or (s.is_constant and target is None):
                return s
            without = Sum(0.0, s.sources, s.weights)
            possible = self._of_sum(s, values).possible
            if possible and (target is None or target in possible or possible is ANY):
                return s
            changed = True
            return without

        nodes = []
        for node in expression.nodes:
            args = tuple([mended(s) for s in node.args])
            nodes.append(Node(node.unit, args))
            value = self._of_node(nodes[-1], [self._of_sum(s, values) for s in args], tolerance)
            if not value.possible:
                return None
            values.append(value)
        outputs = tuple([mended(s, self.target) for s in expression.outputs])
        if not all(s.sources or s.bias for s in outputs):
            return None
        result = expression
        if changed:
            result = Expression(expression.names, tuple(nodes), outputs).canonical()
        return result if self.holds(result, tolerance) else None

    def symmetries(self, inputs: Sequence[int]) -> list[list[float]]:
        """Exponents of inputs, and of the target, by which other base units scale a right equation.

        One row for each independent one.
        """
        rule = self.relaxed
        columns = [*(rule.inputs[i] for i in inputs), rule.target]
        rows = [tuple(row) for row in zip(*columns, strict=True)]
        return [[float(e) for e in row] for row in _reduced(rows)]

    # --- before a search -----------------------------------------------------------------------

    def contradiction(self, usable: Sequence[int], target: str) -> str | None:
        """A sentence if nothing but a constant is possible of these inputs; else None.

        A product of powers of the inputs, and of the units that constants may have, must have the
        dimension of the target; for a target without one there must be such a product, too.
        """
        columns = [self.inputs[i] for i in usable]
        columns += [c for c in self.constants if any(c)]
        if any(self.target):
            possible = _rank(columns) == _rank([*columns, self.target])
        else:
            possible = _rank(columns) < len(columns)
        if possible:
            return None
        made_of = ", ".join(_named(self.names[i], self.quantities[i]) for i in usable)
        kinds = "plain constants" if len(self.constants) == 1 else "constants of the listed units"
        return (
            f"The units leave no equation: {_named(target, self.target_quantity)} cannot be made "
            f"of {made_of or 'no inputs'} and {kinds}; check the units under 'quantities', add "
            "the input that is missing, or permit constants with units ('constants: free')."
        )


def _many_products(powers: Sequence[float], arguments: Sequence[Possible]) -> Collection[Dimension]:
    """What products of powers have, of all combinations of dimensions."""
    total = np.zeros((1, len(next(iter(arguments[0])))))
    for p, possible in zip(powers, arguments, strict=True):
        own = p * np.array(sorted(possible), dtype=float)
        total = (total[:, None, :] + own[None, :, :]).reshape(-1, own.shape[1])
    whole = total[np.all(total == np.rint(total), axis=1)].astype(np.int64)
    return {tuple(row) for row in np.unique(whole, axis=0).tolist()}


def rule_of(prior: Prior, names: Sequence[str]) -> DimensionRule | None:
    """What a prior that is about one target (`Prior.for_target`) says about dimensions, if it does.

    With free constants everything is possible: each takes the unit that is missing.
    """
    if prior.target is None or not prior.quantities or prior.constants == FREE:
        return None
    key = tuple(names)
    known = prior._rules.get(key)
    if known is None:
        listed = () if prior.constants == PLAIN else tuple(map(quantity, prior.constants))
        inputs = [quantity(prior.quantities.get(name, "1")) for name in names]
        target = quantity(prior.quantities.get(prior.target, "1"))
        known = prior._rules[key] = DimensionRule(names, inputs, target, listed)
    rule: DimensionRule = known
    return rule


def is_in_order(expression: Expression, prior: Prior, tolerance: float = STRICT) -> bool:
    """Whether the prior permits all compositions of an expression, and its dimensions are right."""
    if not expression.is_allowed(prior):
        return False
    rule = rule_of(prior, expression.names)
    return rule is None or rule.holds(expression, tolerance)


def mended(expression: Expression, prior: Prior) -> Expression | None:
    """An expression without offsets of a wrong dimension, before it is fitted; None if impossible.

    Without a rule about dimensions it is the expression itself.
    """
    rule = rule_of(prior, expression.names)
    return expression if rule is None else rule.mended(expression)


def check_possible(prior: Prior, names: Sequence[str]) -> None:
    """Refuse units of which nothing but a constant could be made."""
    rule = rule_of(prior, names)
    left_out = {name for name, rules in prior.inputs.items() if rules.get("only_in") == ()}
    usable = [i for i, name in enumerate(names) if name not in left_out]
    sentence = None if rule is None else rule.contradiction(usable, prior.target or "")
    if sentence is not None:
        raise IeqlError(sentence)


def _only(value: _Value) -> Dimension | None:
    """The one dimension that something has."""
    if value.logarithm is not None or value.possible is ANY or len(value.possible) != 1:
        return None
    (dimension,) = value.possible
    return dimension


def _plus(a: Dimension, b: Dimension) -> Dimension:
    return tuple([x + y for x, y in zip(a, b, strict=True)])


def _minus(a: Dimension, b: Dimension) -> Dimension:
    return tuple([x - y for x, y in zip(a, b, strict=True)])


def _is_small(logarithm: tuple[float, ...] | None, tolerance: float) -> bool:
    """Whether units cancel in a sum of logarithms.

    In an equation that is shown they must not stand there at all: it has log(a/b).
    """
    if logarithm is None or tolerance <= STRICT:
        return logarithm is None
    return all(abs(e) <= tolerance * PARTS for e in logarithm)


def _snapped(exponents: tuple[float, ...], tolerance: float) -> Dimension | None:
    """The dimension with simple exponents that is meant; None if there is none so close."""
    found = []
    for e in exponents:
        simple = min((round(e / step) * step for step in STEPS), key=lambda s: abs(s - e))
        if abs(simple - e) > tolerance * PARTS:
            return None
        found.append(simple)
    return tuple(found)


def _rank(columns: Sequence[Dimension]) -> int:
    """How many of some dimensions are independent."""
    return len(_reduced(columns))


def _reduced(columns: Sequence[Dimension]) -> list[list[Fraction]]:
    """Dimensions that span the same, each with a 1 where the others, and all before it, have 0."""
    rows = [[Fraction(e) for e in column] for column in columns]
    rank = 0
    for place in range(len(rows[0]) if rows else 0):
        pivot = next((k for k in range(rank, len(rows)) if rows[k][place]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        rows[rank] = [e / rows[rank][place] for e in rows[rank]]
        for k in range(len(rows)):
            if k != rank:
                ratio = rows[k][place]
                rows[k] = [a - ratio * b for a, b in zip(rows[k], rows[rank], strict=True)]
        rank += 1
    return rows[:rank]


def _named(name: str, unit: Quantity) -> str:
    return f"{shown(name)} in {unit.text.strip() or '1'}"
