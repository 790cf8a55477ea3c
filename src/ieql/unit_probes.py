"""Probing of user-defined units: what would fail later is refused when a unit is made."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.errors import IeqlError, counted
from ieql.units import EVEN, ODD, REALS, Unit, is_taken

__all__ = ["probe", "probe_points"]

Array = NDArray[Any]


def probe_points(unit: Unit) -> list[Array]:
    """Points well inside the domain, a few hundred, different in each argument."""
    rng = np.random.default_rng(0)
    points = []
    for low, high in unit.domains:
        if math.isfinite(low) and math.isfinite(high):
            margin = 0.01 * (high - low)
            points.append(rng.uniform(low + margin, high - margin, 200))
        elif math.isfinite(low):
            points.append(low + rng.uniform(0.05, 3.0, 200))
        elif math.isfinite(high):
            points.append(high - rng.uniform(0.05, 3.0, 200))
        else:
            points.append(rng.uniform(-3.0, 3.0, 200))
        points[-1].setflags(write=False)  # a function that writes into its arguments fails here
    return points


def probe(unit: Unit) -> None:
    """Refuse a user-defined unit that would fail later, saying why."""
    name = unit.name
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise IeqlError(f"A unit's name must be a word like 'tanh', not {name!r}.")
    if is_taken(name) or name in ("input", "output"):
        raise IeqlError(f"The name {name!r} is taken; choose another name for the unit.")
    if unit.arity not in (1, 2):
        raise IeqlError(f"Unit {name!r} has {unit.arity} derivatives; one or two are possible.")
    if len(unit.domains) != unit.arity:
        raise IeqlError(
            f"Unit {name!r} has {counted(unit.arity, 'argument')} but "
            f"{counted(len(unit.domains), 'domain')}."
        )
    if any(not low < high for low, high in unit.domains):
        raise IeqlError(f"Unit {name!r} has an empty domain: each must be a pair low < high.")
    cost: object = unit.cost
    if not (isinstance(cost, Real) and math.isfinite(cost) and float(cost) > 0):
        raise IeqlError(f"Unit {name!r} has the cost {cost!r}; a cost is a positive number.")
    for dialect in unit.templates:
        _probe_template(unit, dialect)
    args = probe_points(unit)
    value = _probe_call(unit, "value", unit.value, args)
    for i in range(unit.arity):
        _probe_derivative(unit, i, args, value)
    _probe_traits(unit, args, value)
    bounds = unit.to_interval(*((float(a.min()), float(a.max())) for a in args)) or REALS
    slack = 1e-9 * np.max(np.abs(value))
    if not (bounds[0] <= value.min() + slack and bounds[1] >= value.max() - slack):
        raise IeqlError(
            f"The interval rule of unit {name!r} says that its values lie from {bounds[0]:.4g} to "
            f"{bounds[1]:.4g}, but they range from {value.min():.4g} to {value.max():.4g}."
        )


def _probe_template(unit: Unit, dialect: str) -> None:
    template = unit.templates[dialect]
    places = [f"{{{i}}}" for i in range(unit.arity)]
    try:
        # An argument may be written twice, but none may be forgotten.
        complete = all(p in template.format(*places) for p in places)
    except (AttributeError, IndexError, KeyError, ValueError):
        complete = False
    if not complete:
        raise IeqlError(
            f"The {dialect} template of unit {unit.name!r} must hold {' and '.join(places)} for "
            f"its arguments, with every other brace doubled; it is {template!r}."
        )


def _probe_derivative(unit: Unit, i: int, args: list[Array], value: Array) -> None:
    slope = _probe_call(unit, f"derivative {i}", unit.derivatives[i], args)
    low, high = unit.domains[i]
    step = 1e-5 * min(1.0, high - low)
    ahead = [a + step * (j == i) for j, a in enumerate(args)]
    behind = [a - step * (j == i) for j, a in enumerate(args)]
    numeric = (unit(*ahead) - unit(*behind)) / (ahead[i] - behind[i])
    size = np.abs(numeric)
    rounding = 1e-14 * np.max(np.abs(value)) / step
    wrong = ~(np.abs(slope - numeric) <= 1e-4 * (size + np.median(size)) + rounding)
    # A kink (|x|) may fall between the two points once or twice; a wrong formula is wrong often.
    if wrong.sum() > 4:
        k = int(np.argmax(wrong))
        at = ", ".join(f"{a[k]:.4g}" for a in args)
        raise IeqlError(
            f"The derivative of unit {unit.name!r} for argument {i} disagrees with finite "
            f"differences: at ({at}) it gives {slope[k]:.4g} instead of {numeric[k]:.4g}."
        )


def _probe_traits(unit: Unit, args: list[Array], value: Array) -> None:
    """Refuse what algebra would wrongly rely on."""
    name, positive = unit.name, [np.abs(a) for a in args]
    if unit.powers and not (
        len(unit.powers) == unit.arity
        and all(high == math.inf for _, high in unit.domains)
        and np.allclose(
            unit(*positive),
            math.prod(a**p for a, p in zip(positive, unit.powers, strict=True)),
            rtol=1e-9,
            atol=0.0,
        )
    ):
        raise IeqlError(
            f"Unit {name!r} is not the product of its arguments to the powers {unit.powers}."
        )
    if unit.period is not None and not (
        unit.arity == 1
        and unit.domains == (REALS,)
        and unit.period > 0
        and np.allclose(unit(args[0] + unit.period), value, rtol=0.0, atol=1e-9 * np.ptp(value))
    ):
        raise IeqlError(f"Unit {name!r} does not have the period {unit.period!r}.")
    _probe_symmetry(unit, args, value)
    if unit.closed:
        for i, ends in enumerate(unit.domains):
            for end in filter(math.isfinite, ends):
                at_end = [np.full_like(a, end) if j == i else a for j, a in enumerate(args)]
                if not np.all(np.isfinite(unit(*at_end))):
                    raise IeqlError(
                        f"Unit {name!r} is not finite where argument {i} is {end:g}: its domain "
                        "is not closed."
                    )


def _probe_symmetry(unit: Unit, args: list[Array], value: Array) -> None:
    name, first, rest = unit.name, args[0], args[1:]
    # The sum of the largest values, so that rounding counts as such.
    slack = 1e-9 * float(np.max(np.abs(value)))
    if unit.parity and not (
        unit.parity in (EVEN, ODD)
        and unit.domains[0][0] == -unit.domains[0][1]
        and np.allclose(unit(-first, *rest), unit.parity * value, rtol=0.0, atol=slack)
    ):
        raise IeqlError(f"Unit {name!r} does not have the parity {unit.parity!r}.")
    if unit.selects and not np.all(np.any([value == a for a in args], axis=0)):
        raise IeqlError(f"Unit {name!r} does not always select one of its arguments.")
    if unit.raises and not (
        unit.arity == 2 and np.allclose(unit(np.abs(first), *rest), np.abs(first) ** rest[0])
    ):
        raise IeqlError(f"Unit {name!r} is not its first argument to the power of the second.")


def _probe_call(unit: Unit, what: str, function: Callable[..., Array], args: list[Array]) -> Array:
    try:
        with np.errstate(all="ignore"):
            result = function(*args)
    except Exception as error:
        raise IeqlError(
            f"The {what} of unit {unit.name!r} failed on arrays of floats: "
            f"{type(error).__name__}: {error}. It must be a NumPy function."
        ) from error
    result = np.asarray(result)
    if result.shape != args[0].shape or result.dtype.kind != "f":
        raise IeqlError(
            f"The {what} of unit {unit.name!r} must return an array of floats of the shape of its "
            f"arguments, {args[0].shape}; it returned {result.dtype} of shape {result.shape}."
        )
    if not np.all(np.isfinite(result)):
        k = int(np.argmin(np.isfinite(result)))
        at = ", ".join(f"{a[k]:.4g}" for a in args)
        raise IeqlError(
            f"The {what} of unit {unit.name!r} is {result[k]} at ({at}), inside its domain; "
            "give the domain in which it is finite."
        )
    return result
