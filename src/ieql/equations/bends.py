"""Units of which the rows see so little that a number, a line or a parabola says the same.

exp(0.47·√(x + 4.6)) is a straight line where x is between -1 and 1: to write it so is to claim a
curve that nobody has seen. The plain curves made here have to be fitted and to describe the rows as
well before one of them is taken (`ieql.equations.shorter`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder, translate
from ieql.equations.expression import Expression, Sum
from ieql.units import DIV, MUL, SQUARE

__all__ = ["unseen_bends"]

Array = NDArray[np.float64]
PART_OF_NOISE = 0.1
"""What a plain curve may change in the output, as a part of the noise, ..."""
PART_OF_ERROR = 1e-9
"""... where there is none, as a part of the output's spread, ..."""
OWN_PART = 0.05
"""... and as a part of what the replaced unit itself does."""
MOST_NODES = 40


def unseen_bends(expression: Expression, X: Array, noise: float) -> Iterator[Expression]:
    """The equation with one unit replaced by a plainer curve, the plainest first.

    Parameters
    ----------
    expression : Expression
        With one output.
    X : array (rows, inputs)
        Rows by which it is judged what is seen of a unit.
    noise : float
        Root mean square of the residuals.
    """
    if len(expression.nodes) > MOST_NODES or len(X) < 4:
        return
    with np.errstate(all="ignore"):
        values, arguments = expression.source_values(X), expression.arguments(X)
        output = expression.evaluate(X)[:, 0]
        rounding = PART_OF_ERROR * float(np.std(output))
        allowed = max(PART_OF_NOISE * noise, rounding)
        for degree in (0, 1, 2):
            # From the outside in: what is straight as a whole need not be looked into.
            for k in reversed(range(len(expression.nodes))):
                node = expression.nodes[k]
                if node.unit in (MUL, SQUARE) and degree > 0:
                    continue
                for place, z in _coordinates(expression, k, values, arguments):
                    over = arguments[k][0] if place is None and node.unit is DIV else None
                    own = values[len(expression.names) + k]
                    curve = _curve(z, own if over is None else 1.0 / z, degree)
                    if curve is None:
                        continue
                    moved = _rms(curve(z) * (1.0 if over is None else over) - own)
                    alike = moved <= OWN_PART * float(np.std(own)) + PART_OF_ERROR * _rms(own)
                    if not alike and degree > 0:
                        continue
                    # What does nothing to the output may be zero, whatever it does by itself.
                    replaced = _replaced(expression, k, place, curve if alike else ZERO)
                    change = _rms(replaced.evaluate(X)[:, 0] - output)
                    if change <= (allowed if alike else rounding):
                        yield replaced


def _coordinates(
    expression: Expression, k: int, values: list[Array], arguments: list[tuple[Array, ...]]
) -> Iterator[tuple[int | None, Array]]:
    """What a unit may be a curve over: the one input that it depends on, or its last argument.

    With each come its values; None stands for the argument, of a quotient the denominator.
    """
    inputs = expression.inputs_below(len(expression.names) + k)
    if len(inputs) == 1:
        (i,) = inputs
        yield i, values[i]
    node = expression.nodes[k]
    if len(node.args) == 1 or node.unit is DIV:
        yield None, arguments[k][-1]


class _Polynomial:
    """A number, a line or a parabola, by the way in which it is written as a graph."""

    def __init__(self, coefficients: list[float]) -> None:
        self.coefficients = coefficients

    def __call__(self, z: Array) -> Array:
        """Its values."""
        return np.asarray(np.polynomial.polynomial.polyval(z, self.coefficients))

    def written(self, builder: Builder, z: Sum) -> Sum:
        """Itself over a sum; a parabola as a square, c + a·(z + b)²."""
        c, *rest = self.coefficients
        if not rest:
            return Sum(c)
        if len(rest) == 1:
            return z.scaled(rest[0]).plus(Sum(c))
        slope, curvature = rest
        shift = slope / (2.0 * curvature)
        square = builder.apply(SQUARE, z.plus(Sum(shift)))
        return square.scaled(curvature).plus(Sum(c - curvature * shift**2))


ZERO = _Polynomial([0.0])


def _curve(z: Array, own: Array, degree: int) -> _Polynomial | None:
    """The best polynomial of a degree through values; None if there is none."""
    if not (np.all(np.isfinite(z)) and np.all(np.isfinite(own))):
        return None
    middle, half = 0.5 * (z.max() + z.min()), 0.5 * (z.max() - z.min()) or 1.0
    powers = ((z - middle) / half)[:, None] ** np.arange(degree + 1)
    scaled, _, rank, _ = np.linalg.lstsq(powers, own, rcond=None)
    if rank <= degree:
        return None
    line = np.polynomial.Polynomial([-middle / half, 1.0 / half])
    found = sum((c * line**k for k, c in enumerate(scaled.tolist())), np.polynomial.Polynomial([0]))
    coefficients = found.coef.tolist()
    if not np.all(np.isfinite(coefficients)) or len(coefficients) <= degree:
        return None
    if degree > 0 and coefficients[degree] == 0.0:
        return None
    return _Polynomial(coefficients)


def _replaced(expression: Expression, k: int, place: int | None, curve: _Polynomial) -> Expression:
    builder = Builder(expression.names)
    known = builder.copy(expression, stop=k)
    args = [translate(a, known) for a in expression.nodes[k].args]
    result = curve.written(builder, args[-1] if place is None else builder.input(place))
    if place is None and expression.nodes[k].unit is DIV:
        result = builder.apply(MUL, args[0], result)
    return builder.rebuild(expression, [*known, result])


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))
