"""The one form in which an equation is judged and shown.

What an equation says is found by `ieql.equations.algebra`; here it is written as a graph again: the
numerator over the denominator, roots of products rather than products of roots, real powers as one
exponential of logarithms (which is how a graph holds them), factors and terms in their order. Where
there are several ways, the least complex one is taken and, of equals, that with the shortest text.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from itertools import product as combinations

import numpy as np
from numpy.typing import NDArray

from ieql.equations.algebra import Algebra, NotRegularError, Product, Terms
from ieql.equations.builder import Builder
from ieql.equations.dimensions import is_in_order
from ieql.equations.expression import LARGEST_POWER, Expression, Sum
from ieql.equations.text import write
from ieql.errors import IeqlError
from ieql.prior import Prior
from ieql.units import COS, DIV, EXP, LOG, MAX, MIN, MUL, SIN, SQRT, SQUARE, Unit

__all__ = ["is_equal", "is_permitted", "size", "standard_form", "text_length", "whole_power"]

Array = NDArray[np.float64]
TOLERANCE = 1e-9
"""Relative difference of values that are the same."""
SAME = 1e-12
"""Relative difference of numbers that are the same."""
SHOWN_DIGITS = 4
"""Digits of the numbers in texts whose lengths are compared."""
LITTLE_DEARER = 0.1
"""Part by which the standard form may be more complex than the given one, ..."""
DEARER_IF_SHORTER = 0.25
"""... and if its text is shorter."""
MOST_NODES = 200
"""Larger graphs are left as they are."""
OTHER_END = {MIN: MAX, MAX: MIN}
"""What becomes of a unit if the signs of its arguments and of its value are turned."""


def standard_form(expression: Expression, X: Array, prior: Prior | None = None) -> Expression:
    """The same function in standard form.

    Parameters
    ----------
    expression : Expression
        In any coordinates.
    X : array (rows, inputs)
        Points on which the values must stay as they are.
    prior : Prior, optional
        A form that is much more complex, or has a composition that is prohibited, is not taken.

    Returns
    -------
    Expression
        In standard form, or the given one, if that is not permitted.
    """
    expression = _upright(expression.canonical(), prior)
    if len(expression.nodes) > MOST_NODES:
        return expression
    best = None
    seen: set[Expression] = set()
    for rewritten, trial in _forms(expression, X):
        if trial in seen or not is_permitted(trial, expression, prior):
            continue
        seen.add(trial)
        if best is None:
            best = trial
            continue
        better = size(trial, prior) < size(best, prior)
        # Brackets and sums of waves are to be shorter for the reader as well.
        if better and not (rewritten and text_length(trial) > text_length(best)):
            best = trial
    if best is None or not _is_worth_it(best, expression, prior):
        return expression
    return best if is_equal(best, expression, X) else expression


def _upright(expression: Expression, prior: Prior | None) -> Expression:
    """The same with min(x, 4) for -max(-x, -4), where the prior permits it."""
    turned = _Upright(expression.names).rebuild(expression)
    return turned if is_permitted(turned, expression, prior) else expression


class _Upright(Builder):
    """Writes the least and the largest of two such that the first of them has no minus."""

    def apply(self, unit: Unit, *args: Sum) -> Sum:
        first = next((a for a in args if a.weights), None)
        if unit not in OTHER_END or first is None or first.weights[0] > 0.0:
            return super().apply(unit, *args)
        turned = super().apply(OTHER_END[unit], *(a.scaled(-1.0) for a in args))
        return turned.scaled(-1.0)


def _is_worth_it(best: Expression, given: Expression, prior: Prior | None) -> bool:
    """Whether a form may be taken that shares fewer parts, and so has more connections.

    A little more is all right for what reads well, and some more for a shorter text: a reader
    shares nothing.
    """
    weight, before = _weight(best, prior), _weight(given, prior)
    if weight <= (1.0 + LITTLE_DEARER) * before or _has_hidden_powers(given):
        return True
    return weight <= (1.0 + DEARER_IF_SHORTER) * before and text_length(best) < text_length(given)


def _forms(expression: Expression, X: Array) -> Iterator[tuple[bool, Expression]]:
    """The forms of an expression, and whether factors were taken out or waves multiplied."""
    for splits_waves, clears_brackets, keeps_scales in _ways(expression):
        algebra = Algebra(expression.names, X, splits_waves, clears_brackets, keeps_scales)
        try:
            with np.errstate(all="ignore"):
                outputs = algebra.read(expression)
                # A factor taken out of a sum of waves would be split into waves again.
                for factored in (False,) if splits_waves else (False, True):
                    for written in _written(algebra, outputs, factored):
                        yield factored or splits_waves, written
        except (NotRegularError, OverflowError, RecursionError):
            continue


def _written(algebra: Algebra, outputs: tuple[Terms, ...], factored: bool) -> Iterator[Expression]:
    """The ways of writing terms that may differ."""
    plain = _Writer(algebra, factored, grouped=False, real=False)
    yield plain.expression(outputs)
    if factored and not plain.took_factors_out:
        return  # all that follows has been there without factors
    both = (False, True)
    for grouped, real in combinations(
        both if plain.can_group else (False,), both if plain.has_roots else (False,)
    ):
        if grouped or real:
            yield _Writer(algebra, factored, grouped, real).expression(outputs)


def _ways(expression: Expression) -> Iterator[tuple[bool, bool, bool]]:
    """The ways of reading an expression that may differ, as `Algebra` takes them."""
    units = {node.unit for node in expression.nodes}
    no, both = (False,), (False, True)
    has_waves = bool(units & {COS, SIN})
    return combinations(
        both if has_waves else no, both if DIV in units else no, both if LOG in units else no
    )


def _has_hidden_powers(expression: Expression) -> bool:
    """Whether a root or a whole power is written as the exponential of a logarithm.

    A graph may have fewer connections so, but nobody would write exp(log(x)/2 - z).
    """
    for node in expression.nodes:
        if node.unit is EXP and not expression.powers(node):
            inside = [expression.source_name(i) for i in node.args[0].sources]
            if LOG.name in inside:
                return True
    return False


class _Writer:
    """Writes terms as a graph.

    Parameters
    ----------
    algebra : Algebra
        That of the terms.
    factored : bool
        Take common factors out of sums: a·x + x·y = x·(a + y).
    grouped : bool
        Put factors of equal exponents under one power: a²·b² = (a·b)².
    real : bool
        Write x·√x as x^1.5.

    Attributes
    ----------
    took_factors_out, can_group, has_roots : bool
        Whether there was anything that the three choices are about: if not, the other choice
        gives the same.
    """

    def __init__(self, algebra: Algebra, factored: bool, grouped: bool, real: bool) -> None:
        self.algebra = algebra
        self.factored = factored
        self.grouped = grouped
        self.real = real
        self.builder = Builder(algebra.names)
        self.took_factors_out = False
        self.can_group = False
        self.has_roots = False
        self._bases: dict[int, Sum] = {}

    def expression(self, outputs: tuple[Terms, ...]) -> Expression:
        """The graph of some terms."""
        return self.builder.expression(*(self.sum(z) for z in outputs))

    def sum(self, z: Terms) -> Sum:
        """Terms."""
        if self.factored:
            z = self._with_factors(z)
        return Sum.total([Sum(z.bias), *(self.term(c, p) for c, p in z.terms)])

    def term(self, c: float, product: Product) -> Sum:
        """A number times a product; the number goes into a bracket if it saves one there.

        0.5·x/(x + 0.5) = x/(2x + 1).
        """
        for b, e in product:
            base = self.algebra.bases[b]
            if e == -1.0 and base.unit is None and base.args and abs(c) != 1.0:
                ratio = abs(base.args[0].bias / c)
                if abs(ratio - 1.0) < SAME:
                    scaled = base.args[0].scaled(1.0 / abs(c))
                    whole = Terms(math.copysign(1.0, scaled.bias), scaled.terms)
                    return self.product(product, {b: whole}).scaled(math.copysign(1.0, c))
        return self.product(product).scaled(c)

    def product(self, product: Product, instead: Mapping[int, Terms] | None = None) -> Sum:
        """A product of powers, with other terms in the place of some of its brackets."""
        written = {b: self.sum(z) for b, z in (instead or {}).items()}
        above: dict[int, int] = {}
        below: dict[int, int] = {}
        roots: tuple[list[int], list[int]] = ([], [])
        logarithms: list[Sum] = []
        of_inputs = True
        rest: list[Sum] = []
        for b, e in product:
            if self.algebra.bases[b].unit is EXP:
                rest.append(self.sum(self.algebra.bases[b].args[0]).scaled(e))
            elif (
                2.0 * e != int(2.0 * e)
                or abs(e) > LARGEST_POWER
                or (self.real and self._is_real(e))
            ):
                logarithms.append(self.builder.apply(LOG, self.base(b)).scaled(e))
                of_inputs = of_inputs and self.algebra.bases[b].is_input
            else:
                n = int(e)
                self.has_roots = self.has_roots or self._is_real(e)
                if n != 0:
                    (above if n > 0 else below)[b] = abs(n)
                if n != e:
                    roots[e < 0].append(b)
        self.can_group = self.can_group or len(above) + len(below) > 1
        both = self._grouped(above, below) if self.grouped else []
        numerator = [*self._powers(above), *both]
        denominator = self._powers({b: n for b, n in below.items() if b not in written})
        denominator += written.values()
        if roots[0]:
            over = self._chain([self.base(b) for b in roots[0]])
            under = self._chain([self.base(b) for b in roots[1]])
            numerator.append(self.builder.apply(SQRT, self.builder.apply(DIV, over, under)))
        elif roots[1]:
            under = self._chain([self.base(b) for b in roots[1]])
            denominator.append(self.builder.apply(SQRT, under))
        if logarithms or rest:
            power = self.builder.apply(EXP, Sum.total([*logarithms, *rest]))
            # The power of one bracket stands after inputs; several would need brackets there.
            is_last = not logarithms or (len(logarithms) == 1 and not (of_inputs or rest))
            numerator.insert(len(numerator) if is_last else 0, power)
        above_factor, over = _without_number(self._chain(numerator))
        below_factor, under = _without_number(self._chain(denominator))
        return self.builder.apply(DIV, over, under).scaled(above_factor / below_factor)

    @staticmethod
    def _is_real(exponent: float) -> bool:
        """Whether a power may be written as a real one or with a root."""
        return exponent != int(exponent) and abs(exponent) > 1.0

    def _grouped(self, above: dict[int, int], below: dict[int, int]) -> list[Sum]:
        """Take out the powers that stand above and below: x²/y² = (x/y)²."""
        found = []
        for n in sorted({*above.values()} & {*below.values()} - {1}):
            over = [self.base(b) for b, m in above.items() if m == n]
            under = [self.base(b) for b, m in below.items() if m == n]
            quotient = self.builder.apply(DIV, self._chain(over), self._chain(under))
            found.append(whole_power(self.builder, quotient, n))
            for side in (above, below):
                for b in [b for b, m in side.items() if m == n]:
                    del side[b]
        return found

    def _powers(self, exponents: dict[int, int]) -> list[Sum]:
        if not self.grouped:
            return [whole_power(self.builder, self.base(b), n) for b, n in exponents.items()]
        groups: dict[int, list[int]] = {}
        for b, n in exponents.items():
            groups.setdefault(n, []).append(b)
        # Factors without a power stay factors; inputs go before brackets and functions.
        is_input = [base.is_input for base in self.algebra.bases]
        found = [(is_input[b], self.base(b)) for b in groups.pop(1, [])]
        for n, members in sorted(groups.items()):
            power = whole_power(self.builder, self._chain([self.base(b) for b in members]), n)
            found.append((all(is_input[b] for b in members), power))
        return [factor for _, factor in sorted(found, key=lambda entry: not entry[0])]

    def _chain(self, factors: list[Sum]) -> Sum:
        total = Sum(1.0)
        for s in factors:
            total = self.builder.apply(MUL, total, s)
        return total

    def base(self, number: int) -> Sum:
        """An input, a bracket, or a unit of sums."""
        if number not in self._bases:
            base = self.algebra.bases[number]
            if base.is_input:
                self._bases[number] = self.builder.input(number)
            elif base.unit is None:
                self._bases[number] = self.sum(base.args[0])
            else:
                args = [self.sum(a) for a in base.args]
                self._bases[number] = self.builder.apply(base.unit, *args)
        return self._bases[number]

    def _with_factors(self, z: Terms) -> Terms:
        """Terms with the factor that most of them have in common taken out, and so on.

        An input is taken out of the whole sum only: nobody writes x² + 2xy + y² as x(x + 2y) + y².
        """
        algebra = self.algebra
        shared: dict[tuple[int, bool], list[int]] = {}
        for n, (_, p) in enumerate(z.terms):
            for b, e in p:
                shared.setdefault((b, e > 0.0), []).append(n)
        shared = {
            (b, positive): members
            for (b, positive), members in shared.items()
            if not algebra.bases[b].is_input or (len(members) == len(z.terms) and not z.bias)
        }
        most = max(shared.items(), key=lambda item: len(item[1]), default=None)
        if most is None or len(most[1]) < 2:
            return z
        self.took_factors_out = True
        (b, positive), members = most
        exponents = [dict(z.terms[n][1])[b] for n in members]
        e = min(exponents) if positive else max(exponents)
        out = Terms(0.0, ((1.0, ((b, e),)),))
        inverse = algebra.power(out, -1.0)
        inside = algebra.total(
            [algebra.product([Terms(0.0, (z.terms[n],)), inverse]) for n in members]
        )
        rest = Terms(z.bias, tuple(t for n, t in enumerate(z.terms) if n not in members))
        return algebra.total([rest, algebra.product([out, inside])])


def _without_number(s: Sum) -> tuple[float, Sum]:
    """The number and the rest of a multiple: a number stands in front, not in a fraction."""
    if s.bias == 0.0 and len(s.sources) == 1:
        return s.weights[0], Sum(0.0, s.sources, (1.0,))
    return 1.0, s


def whole_power(builder: Builder, s: Sum, n: int) -> Sum:
    """A sum to a whole power, by squares: the way in which a text is read."""
    if n == 1:
        return s
    half = builder.apply(SQUARE, whole_power(builder, s, n // 2))
    return builder.apply(MUL, half, s) if n % 2 else half


def size(e: Expression, prior: Prior | None) -> tuple[float, int, int, int, int]:
    """What makes one form of an equation simpler than another, the most important first."""
    n_numbers = int(np.count_nonzero(~np.isin(e.constants(), (0.0, 1.0, -1.0))))
    n_biases = sum(s.bias != 0.0 for s in e.sums)
    return _weight(e, prior), e.n_parameters, n_numbers, n_biases, text_length(e)


def text_length(e: Expression) -> int:
    """Characters of the text, with a few digits for each number; very many if it has none."""
    try:
        return sum(len(write(e, k, SHOWN_DIGITS)) for k in range(len(e.outputs)))
    except IeqlError:
        return sys.maxsize


def _weight(e: Expression, prior: Prior | None) -> float:
    return float(e.n_parameters) if prior is None else e.complexity(prior)


def is_permitted(trial: Expression, current: Expression, prior: Prior | None) -> bool:
    """Whether the prior has nothing against an equation that it does not have against another."""
    if not all(np.isfinite(trial.constants())):
        return False
    if prior is None:
        return True
    new = trial.unit_counts().keys() - current.unit_counts().keys()
    if not all(prior.has_unit(name) for name in new):
        return False
    return is_in_order(trial, prior) or not is_in_order(current, prior)


def is_equal(trial: Expression, current: Expression, X: Array) -> bool:
    """Whether two expressions have the same values, and where."""
    a, b = trial.evaluate(X), current.evaluate(X)
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite):
        return False
    scale = np.max(np.abs(b), initial=0.0, where=finite)
    return bool(np.all(np.abs(a[finite] - b[finite]) <= TOLERANCE * (scale + 1e-300)))
