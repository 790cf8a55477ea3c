"""Forms of power laws: which inputs stand where, with simple exponents or free ones, as a graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder
from ieql.equations.expression import Expression, Sum
from ieql.training.fast.power_fit import PowerFit
from ieql.units import DIV, EXP, LOG, MUL, SQRT, SQUARE

__all__ = ["Feature", "Kind", "PowerForm", "PowerLaw", "Rounding", "product_of_powers"]

Array = NDArray[np.float64]
LARGEST_WHOLE, LARGEST_HALF = 6.0, 3.5
"""Whole and half exponents that are written with plain units."""
ERRORS = 3.0
"""Standard errors within which an exponent may be rounded, or two be taken for one."""
EXACT = 1e-5
"""What differs by less than this is the same, however small the errors are."""


class Kind(Enum):
    """What an exponent is multiplied by inside the exponential."""

    LOG = "logarithm"
    LINE = "line"
    INVERSE = "inverse"


class Rounding(Enum):
    """Which exponents are made simple."""

    NONE = "none"
    WITHIN_ERRORS = "within errors"
    ALL = "all"


class Feature(NamedTuple):
    """A summand inside the exponential: log of a product of inputs, an input, or one over it.

    Attributes
    ----------
    kind : Kind
        Which of them.
    inputs, signs, powers : tuples of int
        The inputs, their signs in the data, and whether they stand above (1) or below (-1).
    """

    kind: Kind
    inputs: tuple[int, ...]
    signs: tuple[int, ...]
    powers: tuple[int, ...]

    def values(self, XT: Array) -> Array:
        """Its values on rows."""
        if self.kind is Kind.LINE:
            return np.asarray(XT[self.inputs[0]])
        if self.kind is Kind.INVERSE:
            return np.asarray(1.0 / XT[self.inputs[0]])
        return np.asarray(np.array(self.powers) @ np.log(np.abs(XT[list(self.inputs)])))

    def build(self, builder: Builder) -> Sum:
        """The same in a graph."""
        if self.kind is Kind.LINE:
            return builder.input(self.inputs[0])
        if self.kind is Kind.INVERSE:
            return builder.apply(DIV, Sum(1.0), builder.input(self.inputs[0]))
        above, below = Sum(1.0), Sum(1.0)
        # The first one above the line: else the whole is turned over.
        turned = self.powers[0]
        for i, sign, p in zip(self.inputs, self.signs, self.powers, strict=True):
            factor = builder.input(i).scaled(float(sign))
            if p == turned:
                above = builder.apply(MUL, above, factor)
            else:
                below = builder.apply(MUL, below, factor)
        return builder.apply(LOG, builder.apply(DIV, above, below)).scaled(float(turned))


class Plain(NamedTuple):
    """An input with a simple exponent."""

    input: int
    sign: int
    power: float


@dataclass(frozen=True)
class PowerForm:
    """The form c + d x_j + k Π |x_i|^q_i exp(Σ p·feature), without its constants.

    Attributes
    ----------
    base : tuple
        What stands beside the law: None for a constant, the number of an input for a line.
    features : tuple of Feature
        With free exponents.
    plain : tuple of Plain
        With fixed ones.
    """

    base: tuple[int | None, ...]
    features: tuple[Feature, ...]
    plain: tuple[Plain, ...] = ()

    def columns(self, XT: Array) -> Array:
        """What stands beside the law, terms × rows."""
        ones = np.ones(XT.shape[1])
        columns = [ones if j is None else XT[j] for j in self.base]
        return np.array(columns).reshape(-1, XT.shape[1])

    def given(self, XT: Array) -> Array:
        """Logarithm of the part with fixed exponents."""
        total = np.zeros(XT.shape[1])
        for i, _, q in self.plain:
            total += q * np.log(np.abs(XT[i]))
        return total

    def without(self, j: int) -> PowerForm:
        """The form without feature j."""
        return replace(self, features=self.features[:j] + self.features[j + 1 :])

    def expression(self, names: tuple[str, ...], fit: PowerFit) -> Expression:
        """The graph with its constants; free powers are one exponential of logarithms."""
        builder = Builder(names)
        factors = [(builder.input(i).scaled(float(sign)), q) for i, sign, q in self.plain]
        above = product_of_powers(builder, [(s, q) for s, q in factors if q > 0.0])
        below = product_of_powers(builder, [(s, -q) for s, q in factors if q < 0.0])
        inside = [
            f.build(builder).scaled(p)
            for f, p in zip(self.features, fit.exponents.tolist(), strict=True)
        ]
        if inside:
            above = builder.apply(MUL, above, builder.apply(EXP, Sum.total(inside)))
        total = builder.apply(DIV, above, below).scaled(fit.factor)
        for j, b in zip(self.base, fit.linear.tolist(), strict=True):
            total = total.plus(Sum(b) if j is None else builder.input(j).scaled(b))
        return builder.expression(total)


def product_of_powers(builder: Builder, factors: list[tuple[Sum, float]]) -> Sum:
    """The product of positive whole and half powers, those with equal exponents under one."""
    groups: dict[float, Sum] = {}
    for factor, power in factors:
        groups[power] = builder.apply(MUL, groups.get(power, Sum(1.0)), factor)
    total = Sum(1.0)
    for power, group in groups.items():
        if power != int(power):
            total = builder.apply(MUL, total, builder.apply(SQRT, group))
        if power >= 1.0:
            total = builder.apply(MUL, total, _whole(builder, group, int(power)))
    return total


def _whole(builder: Builder, s: Sum, n: int) -> Sum:
    if n == 1:
        return s
    half = builder.apply(SQUARE, _whole(builder, s, n // 2))
    return builder.apply(MUL, half, s) if n % 2 else half


@dataclass(frozen=True, eq=False)
class PowerLaw:
    """A form and its constants."""

    form: PowerForm
    fit: PowerFit

    def rounded(self, rounding: Rounding) -> tuple[PowerForm, Array] | None:
        """A form with simple exponents and where to start its fit; None if nothing changes.

        One exponent after the other takes its simple value, the surest first, and the others make
        up for it: they are never as independent as their standard errors pretend.
        """
        features, plain = list(self.form.features), list(self.form.plain)
        p, C = self.fit.exponents.copy(), self.fit.covariance.copy()
        while True:
            deviations = np.array(
                [_deviation(f, q, c) for f, q, c in zip(features, p, np.diagonal(C), strict=True)]
            )
            if not len(features) or not np.isfinite(deviations.min()):
                break
            j = int(np.argmin(deviations))
            value = _simple(p[j])
            close = deviations[j] <= ERRORS or abs(p[j] - value) < EXACT
            if rounding is Rounding.WITHIN_ERRORS and not close:
                break
            feature = features.pop(j)
            if value != 0.0:
                plain.append(Plain(feature.inputs[0], feature.signs[0], value))
            p, C = _conditioned(p, C, j, value)
        if rounding is Rounding.WITHIN_ERRORS:
            features, p = _tied(features, p, C)
        form = PowerForm(self.form.base, tuple(features), tuple(sorted(plain)))
        if form == self.form or not (features or plain):
            return None
        return form, p


def _simple(p: float) -> float:
    """The whole or half number next to an exponent."""
    half = round(2.0 * p) / 2.0
    if half != int(half) and abs(half) > LARGEST_HALF:
        return float(round(p))
    return half


def _deviation(feature: Feature, p: float, variance: float) -> float:
    """Standard errors between an exponent and the simple one next to it; infinite if none is."""
    if not abs(p) <= LARGEST_WHOLE + 1.0:  # nor is one that is not finite
        return float("inf")
    value = _simple(p)
    if feature.kind is not Kind.LOG or len(feature.inputs) > 1 or abs(value) > LARGEST_WHOLE:
        return float("inf")
    return float(abs(p - value) / np.sqrt(max(variance, 1e-300)))


def _conditioned(p: Array, C: Array, j: int, value: float) -> tuple[Array, Array]:
    """The other exponents and their covariance, once exponent j is known."""
    size = max(float(C[j, j]), 1e-300)
    shifted = p + C[:, j] / size * (value - p[j])
    left = C - np.outer(C[:, j], C[j]) / size
    return np.delete(shifted, j), np.delete(np.delete(left, j, 0), j, 1)


def _tied(features: list[Feature], p: Array, C: Array) -> tuple[list[Feature], Array]:
    """Powers with the same exponent, up to its sign, as one power of a product or quotient."""
    taken: set[int] = set()
    tied: list[Feature] = []
    exponents: list[float] = []
    for j, feature in enumerate(features):
        if j in taken:
            continue
        for k in range(j + 1, len(features)):
            other = features[k]
            if k in taken or Kind.LOG is not feature.kind or Kind.LOG is not other.kind:
                continue
            sign = 1 if p[j] * p[k] > 0.0 else -1
            variance = C[j, j] + C[k, k] - 2.0 * sign * C[j, k]
            if abs(p[j] - sign * p[k]) < max(ERRORS * np.sqrt(max(variance, 0.0)), EXACT):
                taken.add(k)
                feature = Feature(
                    Kind.LOG,
                    feature.inputs + other.inputs,
                    feature.signs + other.signs,
                    feature.powers + tuple(sign * q for q in other.powers),
                )
        tied.append(feature)
        exponents.append(float(p[j]))
    return tied, np.array(exponents)
