"""Whether an equation is even or odd in an input, told by its form.

The sign of an input is turned, and both equations are brought to a form in which signs stand as far
out as they can: cos(-z) is cos(z), (-a)·b is -(a·b). If the forms are equal, or equal but for the
sign, so are the functions, to the last digit: to turn a sign is exact.
"""

from __future__ import annotations

from typing import Any

from ieql.equations.expression import Expression, Sum
from ieql.units import DIV, EVEN, MUL, ODD, UNITS

__all__ = ["has_parity", "mirrored"]

EVEN_UNITS = tuple(u for u in UNITS.values() if u.parity == EVEN)
ODD_UNITS = tuple(u for u in UNITS.values() if u.parity == ODD)
"""In their first argument, which mostly is their only one."""
SIGN_OUT = (MUL, DIV)
"""Units out of which the sign of every argument can be taken."""

Form = tuple[Any, ...]


def mirrored(expression: Expression, column: int) -> Expression:
    """The equation with the sign of an input turned."""

    def turned(s: Sum) -> Sum:
        pairs = zip(s.sources, s.weights, strict=True)
        return Sum(s.bias, s.sources, tuple(-w if i == column else w for i, w in pairs))

    return expression.map_sums(turned)


def has_parity(expression: Expression, column: int, odd: bool) -> bool:
    """Whether the form shows that the output is even, or odd, in the input of a column."""
    numbers: dict[Form, int] = {}
    own, other = (_forms(e, numbers) for e in (expression, mirrored(expression, column)))
    if odd:
        other = [_times(form, -1.0) for form in other]
    return own == other


def _forms(expression: Expression, numbers: dict[Form, int]) -> list[Form]:
    """The outputs, each as a sum of terms in a fixed order; equal units have equal numbers."""
    signs: list[float] = [1.0] * len(expression.names)
    names = list(range(len(expression.names)))

    def terms(s: Sum) -> Form:
        found: dict[int, float] = {}
        for i, w in zip(s.sources, s.weights, strict=True):
            found[names[i]] = found.get(names[i], 0.0) + w * signs[i]
        return s.bias, tuple(sorted((name, w) for name, w in found.items() if w != 0.0))

    for node in expression.nodes:
        args, sign = [terms(a) for a in node.args], 1.0
        if node.unit in EVEN_UNITS or node.unit in ODD_UNITS or node.unit in SIGN_OUT:
            n_signs = len(args) if node.unit in SIGN_OUT else 1
            turned = [_sign(form) if a < n_signs else 1.0 for a, form in enumerate(args)]
            args = [_times(form, s) for form, s in zip(args, turned, strict=True)]
            if node.unit not in EVEN_UNITS:
                for s in turned:
                    sign *= s
        if node.unit is MUL:
            args.sort()
        key = (node.unit.name, *args)
        # A number instead of the form itself: units shared again and again stay short.
        names.append(numbers.setdefault(key, len(expression.names) + len(numbers)))
        signs.append(sign)
    return [terms(s) for s in expression.outputs]


def _times(form: Form, sign: float) -> Form:
    bias, pairs = form
    return bias * sign, tuple((name, w * sign) for name, w in pairs)


def _sign(form: Form) -> float:
    """The sign of the first number of a sum that is not zero."""
    bias, pairs = form
    first = next((w for w in (*[w for _, w in pairs], bias) if w != 0.0), 1.0)
    return -1.0 if first < 0.0 else 1.0
