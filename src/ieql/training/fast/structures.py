"""All canonical structures of an equation, the simplest first.

A structure is an equation without its constants: a sum of terms, each an input or a unit of other
sums. Every weight and offset in it is free. The prior says what there is (its units), what it costs
(the order) and what never appears (prohibited compositions, rules about inputs).

Forms that differ only in how they are written are made once: a quadratic is a square with an
offset and never x + x², powers of several inputs are one exponential of a sum of logarithms, and
nothing is divided twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from ieql.equations.dimensions import LOGARITHM, DimensionRule, Possible, rule_of
from ieql.equations.expression import Expression, Node, Sum
from ieql.equations.program import addresses
from ieql.prior import Prior
from ieql.units import COS, DIV, EXP, IDENTITY, LOG, MUL, SIN, SQRT, SQUARE, Unit

__all__ = ["RESOLUTION", "Grammar", "Structure", "Term", "Terms"]

Terms = tuple[int, ...]
"""The terms of a sum, as places in `Grammar.terms`, in ascending order."""
RESOLUTION = 4
"""Costs are rounded to this part of the least of them."""
CHEAPEST = 0.5
"""Costs below this make no finer sizes: there would be hundreds of them."""
MOST_FACTORS = 4
MOST_SUMS = 40_000
"""Sums of one size that are made to find those of the right dimension: about a second."""


class Term(NamedTuple):
    """An input, or a unit of sums; a quotient whose numerator is constant has an empty one."""

    unit: Unit | None
    place: int
    """Of an input: which; of a unit: its place in the grammar."""
    args: tuple[Terms, ...]
    size: int
    """What its connections cost, in parts of the least cost; with the one that leaves it."""


class Structure(NamedTuple):
    """A sum of terms, the whole right-hand side."""

    terms: Terms
    size: int


class Grammar:
    """Makes the structures over some inputs, in the order of their size.

    Parameters
    ----------
    prior : Prior
        What is permitted, and what it costs.
    names : sequence of str
        Names of all inputs of the data.
    inputs : sequence of int
        Those that structures may use.
    """

    def __init__(self, prior: Prior, names: Sequence[str], inputs: Sequence[int]) -> None:
        self.prior = prior
        self.names = tuple(names)
        self.inputs = tuple(inputs)
        units = [prior.unit(name) for name in prior.units]
        self.units = [
            u
            for u in units
            # A sine is a shifted cosine.
            if u is not IDENTITY and not (u is SIN and COS in units) and addresses([u]) is not None
        ]
        least = min(prior.cost(name) for name in ("input", *prior.units))
        self.quantum = max(least, CHEAPEST) / RESOLUTION
        self.terms: list[Term] = []
        self._by_size: list[list[int]] = [[]]
        """Terms by size, and likewise ..."""
        self._sums: list[list[Terms]] = [[()]]
        """... all sums of them."""
        self._structures: dict[int, tuple[Structure, ...]] = {}
        self._numbers: dict[int, int] = {}
        self._permitted: dict[tuple[int, str, int], bool] = {}
        rule = rule_of(prior, names)
        self._rule = None if rule is None else rule.relaxed
        self._dimensions: list[Possible] = []
        """What the terms may have by the units of the inputs, if there is a rule."""

    def cost(self, source: str) -> int:
        """The cost of a connection, in quanta."""
        return max(1, round(self.prior.cost(source) / self.quantum))

    def size(self, complexity: float) -> int:
        """The size that stands for a complexity; connections to inputs cost one each."""
        return round(complexity / self.quantum)

    def complexity(self, size: int) -> float:
        """The complexity that a size stands for."""
        return size * self.quantum

    # --- what there is -------------------------------------------------------------------------

    def structures(self, size: int) -> tuple[Structure, ...]:
        """All structures of this size that keep the prior's rules, in a fixed order."""
        if size not in self._structures:
            fitting = [
                terms
                for terms in self.sums(size)
                if self._fits(terms, "output", 0) and self._is_target(terms)
            ]
            self._numbers[size] = len(fitting)
            self._structures[size] = tuple(
                Structure(terms, size) for terms in fitting if self._keeps_rules(terms)
            )
        return self._structures[size]

    def number(self, size: int) -> int:
        """Number of structures of this size, rules about equations as a whole set aside."""
        self.structures(size)
        return self._numbers[size]

    def _keeps_rules(self, terms: Terms) -> bool:
        rules = self.prior.rules
        if not rules:
            return True
        inputs: set[str] = set()
        n_units, waiting = 0, list(terms)
        while waiting:
            term = self.terms[waiting.pop()]
            if term.unit is None:
                inputs.add(self.names[term.place])
            else:
                # A product of several factors is several units of two arguments.
                n_units += max(len(term.args) - 1, 1)
            waiting += [t for argument in term.args for t in argument]
        return rules.are_kept_by(inputs, n_units)

    def can_make(self, size: int) -> bool:
        """Whether the sums of a size are few enough to be made.

        By their dimensions few of them may be structures, so that these do not tell.
        """
        if self._rule is None:
            return True
        for n in range(1, size):
            made, before = len(self.sums(n)), len(self.sums(max(n - RESOLUTION, 0)))
            # There are about as many times more of the next connection as of the last one.
            if made * max(made / max(before, 1), 1.0) ** (1 / RESOLUTION) > MOST_SUMS:
                return False
        return True

    def sums(self, size: int) -> list[Terms]:
        """All sums of this size, whatever unit they may be an argument of."""
        while len(self._sums) <= size:
            n = len(self._sums)
            self._by_size.append([])
            for term in self._new_terms(n):
                if self._rule is not None:
                    dimensions = self._of_term(self._rule, term)
                    if not dimensions:
                        continue
                    self._dimensions.append(dimensions)
                self._by_size[n].append(len(self.terms))
                self.terms.append(term)
            self._sums.append(list(self._new_sums(n)))
        return self._sums[size]

    def _new_sums(self, size: int) -> Iterator[Terms]:
        for part in range(1, size + 1):
            for term in self._by_size[part]:
                for rest in self._sums[size - part] if part < size else [()]:
                    if (not rest or rest[-1] <= term) and not any(
                        self._are_one(other, term) for other in rest
                    ):
                        terms = (*rest, term)
                        if self._rule is None or self._of_sum(self._rule, terms):
                            yield terms

    def _new_terms(self, size: int) -> Iterator[Term]:
        if size == self.cost("input"):
            for i in self.inputs:
                yield Term(None, i, (), size)
        for place, unit in enumerate(self.units):
            inside = size - self.cost(unit.name)
            if inside < 1:
                continue
            if unit is MUL:
                for args in self._products(inside):
                    yield Term(unit, place, args, size)
            elif unit is DIV:
                for args in self._quotients(inside):
                    yield Term(unit, place, args, size)
            elif unit.arity == 1 or unit.raises:
                for s in self._sums[inside]:
                    if self._fits(s, unit.name, 0) and not self._is_shorter(unit, s):
                        yield Term(unit, place, (s, ()) if unit.raises else (s,), size)
            elif unit.selects:
                for args in self._selections(unit, inside):
                    yield Term(unit, place, args, size)
            else:
                for a in range(1, inside):
                    for s in self._sums[a]:
                        for t in self._sums[inside - a]:
                            if self._fits(s, unit.name, 0) and self._fits(t, unit.name, 1):
                                yield Term(unit, place, (s, t), size)

    def _fits(self, terms: Terms, outer: str, argument: int) -> bool:
        """Whether the prior permits all terms of a sum in this place."""
        return all(self._may_feed(t, outer, argument) for t in terms)

    def _may_feed(self, term: int, outer: str, argument: int) -> bool:
        key = (term, outer, argument)
        if key not in self._permitted:
            t = self.terms[term]
            self._permitted[key] = (
                self.prior.allows_input(outer, argument, self.names[t.place])
                if t.unit is None
                else self.prior.allows(outer, argument, t.unit.name)
            )
        return self._permitted[key]

    # --- dimensions ----------------------------------------------------------------------------

    def _of_term(self, rule: DimensionRule, term: Term) -> Possible:
        """What a term may have; empty if it is impossible."""
        if term.unit is None:
            return frozenset([rule.inputs[term.place]])
        values = [self._of_sum(rule, a) for a in term.args]
        if term.unit is not MUL:
            return rule.unit(term.unit, values)
        total = values[0]
        for value in values[1:]:
            total = rule.unit(MUL, (total, value))
        return total

    def _of_sum(self, rule: DimensionRule, terms: Terms) -> Possible:
        return rule.sum([self._dimensions[t] for t in terms], offset=not terms)

    def _is_target(self, terms: Terms) -> bool:
        if self._rule is None:
            return True
        found = self._of_sum(self._rule, terms)
        return found is not LOGARITHM and self._rule.is_target(found)

    # --- one form of each function -------------------------------------------------------------

    def _are_one(self, a: int, b: int) -> bool:
        """Whether two terms of a sum are one: as an input with itself, or with its square."""
        s, t = self.terms[a], self.terms[b]
        if s.unit is None and t.unit is None:
            return a == b
        if s.unit is None or t.unit is None:
            line, other = (a, t) if s.unit is None else (b, s)
            # With their offsets (x + a)² and (x + a)(y + b) hold x as well.
            return (other.unit is SQUARE and other.args[0] == (line,)) or (
                other.unit is MUL
                and len(other.args) == 2
                and (line,) in other.args
                and all(self._is_linear(f) for f in other.args)
            )
        return a == b and s.unit is SQUARE and self._is_linear(s.args[0])

    def _is_linear(self, terms: Terms) -> bool:
        return all(self.terms[t].unit is None for t in terms)

    def _single(self, terms: Terms) -> Unit | None:
        """The unit of a sum with one term; None for an input and for more terms."""
        return self.terms[terms[0]].unit if len(terms) == 1 else None

    def _is_power(self, terms: Terms) -> bool:
        """Whether a sum is a single exponential with a logarithm in its argument."""
        if self._single(terms) is not EXP:
            return False
        return any(self.terms[t].unit is LOG for t in self.terms[terms[0]].args[0])

    def _is_shorter(self, unit: Unit, terms: Terms) -> bool:
        """Whether a unit of this sum is written shorter in another way."""
        inner = self._single(terms)
        if unit is SQUARE:
            return inner in (SQRT, COS, EXP)
        if unit is SQRT:
            return inner is SQRT or (inner is EXP and not self._is_power(terms))
        if unit is LOG:
            return inner in (MUL, DIV, SQRT)
        return False

    def _products(self, size: int) -> Iterator[tuple[Terms, ...]]:
        """Factors that with the connections between their products have this size."""
        link = self.cost(MUL.name)
        for number in range(2, MOST_FACTORS + 1):
            inside = size - (number - 2) * link
            if number > 2 and not self.prior.allows(MUL.name, 0, MUL.name):
                return
            if inside < number:
                return
            yield from self._factors(inside, number, (), 1, 0)

    def _factors(
        self, size: int, number: int, chosen: tuple[Terms, ...], least: int, first: int
    ) -> Iterator[tuple[Terms, ...]]:
        """Ways to complete a product: factors in ascending order of size and place."""
        for part in range(size if number == 1 else least, size + 1):
            if part * number > size:
                return
            sums = self._sums[part]
            for k in range(first if part == least else 0, len(sums)):
                factor = sums[k]
                if not self._may_multiply(factor, chosen):
                    continue
                if number == 1:
                    yield (*chosen, factor)
                else:
                    yield from self._factors(size - part, number - 1, (*chosen, factor), part, k)

    def _may_multiply(self, factor: Terms, chosen: tuple[Terms, ...]) -> bool:
        unit = self._single(factor)
        if unit in (MUL, DIV):
            return False
        if not (self._fits(factor, MUL.name, 0) and self._fits(factor, MUL.name, 1)):
            return False
        for other in chosen:
            # Of exponentials, squares and roots one is enough: it takes the product inside.
            if unit in (EXP, SQUARE, SQRT) and self._single(other) is unit:
                return False
            if other == factor and self._is_linear(factor):
                return False
            if self._absorbs(factor, other) or self._absorbs(other, factor):
                return False
        return True

    def _absorbs(self, power: Terms, factor: Terms) -> bool:
        """Whether a factor is a power of an input that another factor is a power of, too."""
        if not self._is_power(power):
            return False
        base = factor
        if self._single(factor) in (SQUARE, SQRT):
            base = self.terms[factor[0]].args[0]
        return any(
            self.terms[t].unit is LOG and self.terms[t].args[0] == base
            for t in self.terms[power[0]].args[0]
        )

    def _selections(self, unit: Unit, size: int) -> Iterator[tuple[Terms, Terms]]:
        """A sum and a number of which one is selected, or two sums in either order."""
        for s in self._sums[size]:
            if self._fits(s, unit.name, 0):
                yield s, ()
        for part in range(1, size // 2 + 1):
            for k, s in enumerate(self._sums[part]):
                others = self._sums[size - part]
                for t in others[k + 1 :] if 2 * part == size else others:
                    if self._fits(s, unit.name, 0) and self._fits(t, unit.name, 1):
                        yield s, t

    def _quotients(self, size: int) -> Iterator[tuple[Terms, Terms]]:
        for below in self._sums[size]:
            if self._may_divide(below):
                yield (), below
        for part in range(1, size):
            for below in self._sums[size - part]:
                if not self._may_divide(below):
                    continue
                for above in self._sums[part]:
                    if self._fits(above, DIV.name, 0) and not self._cancels(above, below):
                        yield above, below

    def _may_divide(self, below: Terms) -> bool:
        # One over an exponential is one, unless something is added to it.
        return self._single(below) is not DIV and self._fits(below, DIV.name, 1)

    def _cancels(self, above: Terms, below: Terms) -> bool:
        unit = self._single(above)
        if unit is DIV or (unit in (SQUARE, SQRT) and self._single(below) is unit):
            return True
        # (x + y)/(x + b) is a constant and y/(x + b).
        return self._is_linear(below) and set(below) <= set(above)

    # --- as an expression ----------------------------------------------------------------------

    @cached_property
    def n_inputs(self) -> int:
        """Number of inputs of the data."""
        return len(self.names)

    def expression(self, structure: Structure, theta: Sequence[float]) -> Expression:
        """The structure with these constants, in the order of `ieql.training.fast.batch`."""
        constants = iter([float(t) for t in theta])
        nodes: list[Node] = []

        def filled(sources: Sequence[int]) -> Sum:
            bias = next(constants)
            return Sum(bias, tuple(sources), tuple(next(constants) for _ in sources))

        flat, output = self.flat(structure)
        for unit, args in flat:
            nodes.append(Node(unit, tuple(filled(a) for a in args)))
        return Expression(self.names, tuple(nodes), (filled(output),)).canonical()

    def flat(
        self, structure: Structure
    ) -> tuple[list[tuple[Unit, tuple[list[int], ...]]], list[int]]:
        """Units in topological order with the sources of their arguments, and of the output.

        Sources are numbered as in `Expression`: the inputs of the data, then the units.
        """
        nodes: list[tuple[Unit, tuple[list[int], ...]]] = []
        d = self.n_inputs

        def made(unit: Unit, *args: list[int]) -> int:
            nodes.append((unit, args))
            return d + len(nodes) - 1

        def source(term: int) -> int:
            unit, place, args, _ = self.terms[term]
            if unit is None:
                return place
            values = [[source(t) for t in a] for a in args]
            if unit is not MUL:
                return made(unit, *values)
            value, *others = values
            for other in others:
                value = [made(MUL, value, other)]
            return value[0]

        return nodes, [source(t) for t in structure.terms]
