"""How large the noise of a row is: the same everywhere, or a smooth function of where the row lies.

Measurements are often noisier where the value is large. Whether they are is a question to the rows:
the sizes of the residuals are compared with the predicted value and with each input, and a trend is
only taken if they give evidence for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.errors import IeqlError

__all__ = ["Noise", "Trend"]

Array = NDArray[np.float64]
RATIO = 4.0
"""A variable whose sizes differ by more than this factor may act by their logarithm."""
NEXT_TO_ZERO = 0.05
"""Part of its largest size that is added to a variable that passes zero, before the logarithm."""
DEGREES = (1, 2)
"""Degrees of a trend's polynomial: noise that grows, and noise that is least in the middle."""
MOST_TRENDS = 2
MOST_VARIABLES = 30
"""Inputs that are looked at, those that the equation uses first."""
LEAST_ROWS = 20
"""Fewer rows say nothing of how noise changes."""
EVIDENCE = 1.0
"""Twice the nats that a trend must gain beyond the price of its coefficients and of the choice."""
STEPS = 25
LARGEST = 5.0
"""Logarithm of the noise's size relative to its usual one, at most."""


@dataclass(frozen=True)
class Trend:
    """Noise that grows or shrinks with one variable.

    Attributes
    ----------
    variable : str or None
        An input, or None for the value of the equation.
    offset : float or None
        If the logarithm of its size counts, what is added to the size; None if its value counts.
    low, high : float
        Range of the rows, of the logarithm if that counts; beyond it the noise stays the same.
    coefficients : tuple of float
        Of the polynomial, without a constant, in the variable scaled from that range to [-1, 1].
    """

    variable: str | None
    offset: float | None
    low: float
    high: float
    coefficients: tuple[float, ...]

    def exponent(self, values: Array) -> Array:
        """Logarithm of the noise's size, up to a constant, given the variable's values."""
        powers = _powers(_scaled(values, self.offset, self.low, self.high), len(self.coefficients))
        result: Array = np.array(self.coefficients) @ powers
        return result


@dataclass(frozen=True)
class Noise:
    """Standard deviation of the noise: ``sigma`` times the exponential of all trends.

    Attributes
    ----------
    sigma : float
        Its size where the trends are zero; infinite if the rows do not tell.
    trends : tuple of Trend
        Empty if it is the same everywhere.
    """

    sigma: float
    trends: tuple[Trend, ...] = ()

    def size(self, value: Array, inputs: Mapping[str, Array]) -> Array:
        """Standard deviation of the noise of rows with these predicted values and inputs."""
        return self.sigma * self.shape(value, inputs)

    def shape(self, value: Array, inputs: Mapping[str, Array]) -> Array:
        """The same in units of ``sigma``."""
        exponent = np.zeros(len(value))
        for trend in self.trends:
            exponent += trend.exponent(value if trend.variable is None else inputs[trend.variable])
        return np.asarray(np.exp(np.clip(exponent, -LARGEST, LARGEST)))

    # --- plain forms -----------------------------------------------------------------------------

    def to_form(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers, for JSON."""
        return {
            "sigma": self.sigma if math.isfinite(self.sigma) else None,
            "trends": [
                [t.variable, t.offset, t.low, t.high, list(t.coefficients)] for t in self.trends
            ],
        }

    @classmethod
    def from_form(cls, form: Mapping[str, Any], names: Sequence[str]) -> Noise:
        """The inverse of `to_form`, for an equation of these inputs."""
        sigma = form["sigma"]
        trends = []
        for variable, offset, low, high, coefficients in form["trends"]:
            if variable is not None and variable not in names:
                raise IeqlError("the noise of an equation depends on something that is no input.")
            trend = Trend(
                variable,
                None if offset is None else float(offset),
                float(low),
                float(high),
                tuple(map(float, coefficients)),
            )
            numbers = (trend.offset or 0.0, trend.low, trend.high, *trend.coefficients)
            is_function = all(map(math.isfinite, numbers)) and trend.low < trend.high
            if not is_function or not 0 < len(coefficients) <= max(DEGREES):
                raise IeqlError("the noise of an equation is not a function.")
            trends.append(trend)
        if len(trends) > MOST_TRENDS:
            raise IeqlError("the noise of an equation is not a function.")
        found = cls(math.inf if sigma is None else float(sigma), tuple(trends))
        if not found.sigma >= 0.0:
            raise IeqlError("the noise of an equation is not a number.")
        return found

    # --- from residuals --------------------------------------------------------------------------

    @classmethod
    def trends_of(
        cls, residual: Array, value: Array, inputs: Mapping[str, Array], count: Array
    ) -> tuple[Noise, Array]:
        """The trends that rows give evidence for, with ``sigma`` 1.

        Parameters
        ----------
        residual : array (rows,)
            Their sizes are what noise is judged by.
        value : array (rows,)
            Predicted values.
        inputs : mapping of arrays (rows,)
            By name, those that matter most first.
        count : array (rows,)
            How many measurements each row stands for.

        Returns
        -------
        noise : Noise
            Without trends if there is no evidence for any.
        own_say : array (rows,)
            By how much the logarithm of a row's noise would be smaller if the row, as one
            measurement, had no say in the trends.
        """
        size = np.abs(residual)
        none = np.zeros(len(size))
        n = float(count.sum())
        usual = float(count @ size) / n
        if n < LEAST_ROWS or not (math.isfinite(usual) and usual > 0.0):
            return cls(1.0), none
        found: list[Trend] = []
        beta = np.zeros(1)
        relative = size / usual
        variables = dict([(None, value), *list(inputs.items())[:MOST_VARIABLES]])
        while len(found) < MOST_TRENDS:
            known = {t.variable for t in found}
            others = {name: v for name, v in variables.items() if name not in known}
            trend = _telling_trend(relative, others, count)
            if trend is None:
                break
            fitted = _with_trend_of(trend.variable, found, size, variables, count)
            if fitted is None:
                break
            found, beta = fitted
            relative = size / np.exp(beta @ _design(found, variables))
        if not found:
            return cls(1.0), none
        columns = _design(found, variables)
        own = _leverage(columns, count) - 1.0 / n
        say = own / (1.0 - np.minimum(own, 0.9)) * (relative - 1.0)
        places = np.cumsum([1, *(len(t.coefficients) for t in found)])
        trends = tuple(
            replace(t, coefficients=tuple(beta[a:b].tolist()))
            for t, a, b in zip(found, places, places[1:], strict=False)
        )
        return cls(1.0, trends), np.clip(say, -1.0, 1.0)


# --- a trend -------------------------------------------------------------------------------------


def _scaled(values: Array, offset: float | None, low: float, high: float) -> Array:
    if offset is not None:
        values = np.log(np.maximum(np.abs(values) + offset, 1e-300))
    return np.asarray(np.clip((values - low) / (high - low), 0.0, 1.0) * 2.0 - 1.0)


def _powers(scaled: Array, degree: int) -> Array:
    return np.array([scaled**k for k in range(1, degree + 1)])


def _design(trends: Sequence[Trend], variables: Mapping[str | None, Array]) -> Array:
    """The columns of all trends, a constant first."""
    parts = [
        _powers(_scaled(variables[t.variable], t.offset, t.low, t.high), len(t.coefficients))
        for t in trends
    ]
    return np.concatenate([np.ones((1, parts[0].shape[1])), *parts])


def _telling_trend(
    relative: Array, variables: Mapping[str | None, Array], count: Array
) -> Trend | None:
    """The trend that explains most of the sizes of residuals, if that is worth its price.

    A score test: how much of the variance of the sizes the columns of a trend explain, whatever the
    distribution of the noise.
    """
    n = float(count.sum())
    root = np.sqrt(count)
    centred = relative - float(count @ relative) / n
    total = float(count @ centred**2)
    best, most, tried = None, -math.inf, 0
    for name, values in variables.items():
        for trend in _possible(name, values):
            tried += 1
            columns = _design([trend], variables)
            fitted, *_ = np.linalg.lstsq((columns * root).T, centred * root, rcond=1e-8)
            left = float(count @ (centred - fitted @ columns) ** 2)
            gain = n * math.log(total / max(left, 1e-12 * total)) if total > 0.0 else 0.0
            gain -= len(trend.coefficients) * math.log(n)
            if gain > most:
                best, most = trend, gain
    return best if tried and most > EVIDENCE + 2.0 * math.log(tried) else None


def _possible(name: str | None, values: Array) -> Iterator[Trend]:
    """All trends that a variable may bring, their coefficients still unknown."""
    low, high = float(values.min()), float(values.max())
    if not (-1e150 < low < high < 1e150 and high - low > 1e-9 * max(abs(low), abs(high))):
        return
    ranges: list[tuple[float | None, float, float]] = [(None, low, high)]
    size = np.abs(values)
    least, largest = float(size.min()), float(size.max())
    offset = 0.0 if low > 0.0 or high < 0.0 else NEXT_TO_ZERO * largest
    if largest + offset > RATIO * (least + offset):
        ranges.append((offset, math.log(least + offset), math.log(largest + offset)))
    for (added, a, b), degree in product(ranges, DEGREES):
        yield Trend(name, added, a, b, (0.0,) * degree)


def _with_trend_of(
    variable: str | None,
    found: list[Trend],
    size: Array,
    variables: Mapping[str | None, Array],
    count: Array,
) -> tuple[list[Trend], Array] | None:
    """The trends with that of one more variable, in the form that describes the sizes best."""
    fits = []
    for trend in _possible(variable, variables[variable]):
        trends = [*found, trend]
        columns = _design(trends, variables)
        beta = _log_linear(size, columns, count)
        if beta is None:
            continue
        exponent = beta @ columns
        relative = size / np.exp(exponent)
        length = 2.0 * float(count @ (exponent + relative))
        dispersion = float(count @ (relative - 1.0) ** 2) / float(count.sum())
        fits.append((length, dispersion, len(beta), trends, beta))
    if not fits:
        return None
    least = max(min(fit[1] for fit in fits), 1e-12)
    price = math.log(float(count.sum()))
    best = min(fits, key=lambda fit: fit[0] / least + fit[2] * price)
    return best[3], best[4]


def _log_linear(size: Array, columns: Array, count: Array) -> Array | None:
    """Coefficients of log E|residual|, by quasi-likelihood with a variance ∝ mean².

    Less than a tenth is lost beside squares where noise is normal, and much is gained where it has
    heavy tails. The weights of the scoring steps are the same for all rows.
    """
    weighted = columns * count
    normal = weighted @ columns.T
    normal += 1e-9 * np.eye(len(normal)) * np.trace(normal)
    beta = np.zeros(len(columns))
    beta[0] = math.log(float(count @ size) / float(count.sum()))
    for _ in range(STEPS):
        mean = np.exp(np.clip(beta @ columns, -600.0, 600.0))
        step = np.linalg.solve(normal, weighted @ (size / mean - 1.0))
        largest = float(np.max(np.abs(step)))
        if not math.isfinite(largest):
            return None
        beta += step * min(1.0, 1.0 / max(largest, 1e-300))
        if largest < 1e-6:
            break
    return beta


def _leverage(columns: Array, count: Array) -> Array:
    """What one measurement of each row has to say in its own fitted value."""
    normal = (columns * count) @ columns.T
    return np.asarray(np.einsum("ki,ki->i", columns, np.linalg.pinv(normal) @ columns))
