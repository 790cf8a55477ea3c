"""The physical units that the constants of an equation have.

A weight in front of a term makes it what its sum is; so the units of sums are unknown, and of the
constants, as many as possible are to be plain numbers. That is a set of linear equations for the
exponents of the units: what must hold comes first (the output is the target's, an exponential takes
a number), then one wish after the other, each kept if it does not contradict those before: factors
of 1, which are not written, have no unit, then inner weights, then the others, offsets last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ieql.equations.expression import Expression, Node, Sum
from ieql.prior import Prior
from ieql.quantities import FREE, PLAIN, Quantity, has_pint, is_one, quantity, unit_text
from ieql.units import DIV, EXP, LOG

__all__ = ["constant_units"]

Units = dict[str, Fraction]
"""Exponents of units, by their names."""
MOST_SUMS = 60
"""Of longer equations nobody reads the constants."""
LISTED_POWERS = (Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(-1, 2), Fraction(2))


class _Form:
    """A unit that is known up to those of some sums: Σ coefficient · (unit of sum) + known."""

    def __init__(self, sums: Mapping[int, Fraction], known: Mapping[str, Fraction]) -> None:
        self.sums = {i: p for i, p in sums.items() if p}
        self.known = {name: p for name, p in known.items() if p}

    def plus(self, other: _Form, times: Fraction = Fraction(1)) -> _Form:
        sums, known = dict(self.sums), dict(self.known)
        for i, p in other.sums.items():
            sums[i] = sums.get(i, Fraction(0)) + times * p
        for name, p in other.known.items():
            known[name] = known.get(name, Fraction(0)) + times * p
        return _Form(sums, known)


NUMBER = _Form({}, {})


class _Equations:
    """Linear equations "form = no unit", in reduced form; those that contradict are refused."""

    def __init__(self) -> None:
        self.solved: dict[int, _Form] = {}
        """What the unit of a sum is, by others that are not solved for."""

    def reduced(self, form: _Form) -> _Form:
        for i in [i for i in form.sums if i in self.solved]:
            if i in form.sums:
                p = form.sums[i]
                without = _Form({k: q for k, q in form.sums.items() if k != i}, form.known)
                form = without.plus(self.solved[i], p)
        return form

    def add(self, form: _Form) -> bool:
        """Take an equation in, and tell whether it agrees with those before."""
        form = self.reduced(form)
        if not form.sums:
            return not form.known
        i, p = next(iter(form.sums.items()))
        rest = _Form({k: q for k, q in form.sums.items() if k != i}, form.known)
        value = NUMBER.plus(rest, -1 / p)
        for k, known in self.solved.items():
            if i in known.sums:
                q = known.sums[i]
                others = _Form({j: r for j, r in known.sums.items() if j != i}, known.known)
                self.solved[k] = others.plus(value, q)
        self.solved[i] = value
        return True


def constant_units(expression: Expression, prior: Prior, target: str) -> list[str]:
    """The unit of each constant, in the order of `Expression.constants`; empty for plain numbers.

    Parameters
    ----------
    expression : Expression
        An equation with one output, in the user's coordinates.
    prior : Prior
        Says the units of the columns, and which constants may have some.
    target : str
        The column that it is about.
    """
    n = sum(1 + len(s.weights) for s in expression.sums)
    if not prior.quantities or len(expression.sums) > MOST_SUMS or not has_pint():
        return [""] * n
    inputs = [quantity(prior.quantities.get(name, "1")) for name in expression.names]
    listed: list[Quantity] = []
    if prior.constants not in (FREE, PLAIN):
        listed = [quantity(text) for text in prior.constants]
    return _Assignment(expression, inputs, quantity(prior.quantities.get(target, "1"))).texts(
        listed
    )


class _Assignment:
    def __init__(
        self, expression: Expression, inputs: Sequence[Quantity], target: Quantity
    ) -> None:
        self.expression = expression
        self.equations = _Equations()
        self.values = [_Form({}, dict(q.powers)) for q in inputs]
        self.logarithms: dict[int, _Form] = {}
        """Of what, by source, something is the logarithm that an exponential takes back."""
        self.constants: list[tuple[int, _Form | None, float]] = []
        """(order of the wish, unit, value) of each; no unit for exponents."""
        number = 0
        for k, node in enumerate(expression.nodes, start=len(inputs)):
            forms = [_Form({number + a: Fraction(1)}, {}) for a in range(len(node.args))]
            for a, s in enumerate(node.args):
                is_one = node.unit is DIV and a == 0 and s.is_constant
                self._of_sum(s, forms[a], inner=True, is_one=is_one)
            number += len(node.args)
            self.values.append(self._of_node(node, forms, k))
        whole = _Form({number: Fraction(1)}, {})
        self._of_sum(expression.outputs[0], whole, inner=False)
        self.equations.add(whole.plus(_Form({}, dict(target.powers)), Fraction(-1)))

    def _of_sum(self, s: Sum, form: _Form, inner: bool, is_one: bool = False) -> None:
        order = 0 if is_one else 3
        self.constants.append((order, form if s.bias != 0.0 else None, s.bias))
        for i, w in zip(s.sources, s.weights, strict=True):
            if i in self.logarithms:
                self.constants.append((0, None, w))  # an exponent is a number
                continue
            order = 0 if abs(w) == 1.0 else 1 if inner else 2
            self.constants.append((order, form.plus(self.values[i], Fraction(-1)), w))

    def _of_node(self, node: Node, forms: Sequence[_Form], source: int) -> _Form:
        if node.unit.powers:
            total = NUMBER
            for form, p in zip(forms, node.unit.powers, strict=True):
                total = total.plus(form, Fraction(p))
            return total
        if node.unit.selects:
            for form in forms[1:]:
                self.equations.add(form.plus(forms[0], Fraction(-1)))
            return forms[0]
        if node.unit.raises:
            self.equations.add(forms[-1])
            return NUMBER.plus(forms[0], Fraction(node.args[-1].bias).limit_denominator(1000))
        if node.unit is LOG and self._is_taken_back(source):
            self.logarithms[source] = forms[0]
            return NUMBER
        for form in forms:
            self.equations.add(form)
        total = NUMBER
        if node.unit is EXP:
            s = node.args[0]
            for i, w in zip(s.sources, s.weights, strict=True):
                if i in self.logarithms:
                    exponent = Fraction(w).limit_denominator(1000)
                    total = total.plus(self.logarithms[i], exponent)
        return total

    def _is_taken_back(self, source: int) -> bool:
        """Whether all that uses a logarithm are exponentials."""
        e = self.expression
        users = [n for n in e.nodes if any(source in s.sources for s in n.args)]
        in_output = source in e.outputs[0].sources
        return bool(users) and not in_output and all(n.unit is EXP for n in users)

    def texts(self, listed: Sequence[Quantity]) -> list[str]:
        """The unit of each constant."""
        wishes = [NUMBER] + [
            NUMBER.plus(_Form({}, dict(q.powers)), p) for q in listed for p in LISTED_POWERS
        ]
        for order in range(4):
            for wish_order, form, _ in self.constants:
                if wish_order == order and form is not None:
                    for wish in wishes[:1] if order == 0 else wishes:
                        if self.equations.add(form.plus(wish, Fraction(-1))):
                            break
        return [
            "" if form is None else _text(self.equations.reduced(form).known)
            for _, form, _ in self.constants
        ]


def _text(units: Units) -> str:
    """A unit as a text; empty if it is the number one, as J/(N*m) is."""
    return "" if is_one(units) else unit_text(units)
