"""The constants of a known form and of its parts, fitted together: the error is one of y.

Parts are learned one by one, each from a table of its own (`ieql.equations.form`). What they are
together is decided here: all constants that are not given move at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from ieql.data.sample import Sample
from ieql.equations.builder import Builder
from ieql.equations.expression import Expression, Sum
from ieql.equations.form import Form, Part
from ieql.equations.program import Program, free_constants
from ieql.units import MUL, SQUARE

__all__ = ["FittedForm", "first_look", "fitted", "without_ambiguity"]

Array = NDArray[np.float64]
LARGEST = 1e100
"""A residual that stands for none at all."""
EVALUATIONS = 60
SINGULAR = 1e-11
"""Least eigenvalue of normal equations with ones on the diagonal that determine all constants."""
SAME, ROUNDING = 1.0001, 1e-20
"""How much larger a squared error may be that counts as the same."""
PLAYS_A_PART = 1e-6
"""Part of the largest, below which a constant does not take part in a direction."""
STARTS = 12
"""Values of the form's own constants that are tried first."""
FIRST_ROWS = 1_000
MOST_FOR_SQUARES = 3
"""Inputs of a part up to which the first look at it has squares and products."""


@dataclass(frozen=True, eq=False)
class FittedForm:
    """A form with all its parts and constants.

    Attributes
    ----------
    form : Form
        What was known.
    parts : tuple of Expression
        What was learned, in all inputs of the form.
    constants : array
        Of the form itself.
    mse : float
        Mean squared error on the rows, weighted.
    covariance : array
        Of the form's own constants that are free, and then of the free ones of each part; infinite
        if the rows do not determine them.
    direction : array or None
        Along which the constants may move without any change, to first order; None if they are
        determined.
    held : tuple of bool
        Which of the form's own constants are 1 because a part says the same.
    """

    form: Form
    parts: tuple[Expression, ...]
    constants: Array
    mse: float
    covariance: Array
    direction: Array | None
    held: tuple[bool, ...]

    @property
    def whole(self) -> Expression:
        """The one equation that form and parts make."""
        return self.form.whole(self.parts, self.constants)

    @property
    def n_free(self) -> int:
        """Number of constants that were fitted."""
        return len(self.covariance)

    def values(self, X: Array) -> list[Array]:
        """The value of each part at rows."""
        return [e.evaluate(X)[:, 0] for e in self.parts]

    def moved(self, theta: Array) -> FittedForm:
        """The same with other values of all free constants."""
        parts, constants = _at(self.parts, self.constants, self.held, theta)
        return replace(self, parts=parts, constants=constants)

    @property
    def theta(self) -> Array:
        """All free constants."""
        return _theta(self.parts, self.constants, self.held)


def fitted(
    form: Form,
    parts: Sequence[Expression],
    constants: Array,
    rows: Sample,
    held: tuple[bool, ...] | None = None,
) -> FittedForm | None:
    """All constants at their best fit from the given ones; None if the form has no value there."""
    from scipy.optimize import least_squares

    X, root = np.ascontiguousarray(rows.XT.T), np.sqrt(rows.weight / rows.weight.sum())
    held = held or (False,) * len(constants)
    programs = [Program.of(e) for e in parts]
    free = [free_constants(e) for e in parts]
    is_free = ~np.array(held, dtype=bool)

    def residual(theta: Array) -> Array:
        with np.errstate(all="ignore"):
            own, values = _values(theta)
            r = (form.evaluate(X, values, own)[0] - rows.y) * root
        return np.where(np.isfinite(r), np.clip(r, -LARGEST, LARGEST), LARGEST)

    def _values(theta: Array) -> tuple[Array, list[Array]]:
        own, rest = np.ones(len(constants)), theta[is_free.sum() :]
        own[is_free] = theta[: is_free.sum()]
        values = []
        for program, places in zip(programs, free, strict=True):
            full = program.theta.copy()
            full[places], rest = rest[: len(places)], rest[len(places) :]
            values.append(program.evaluate(rows.XT, full))
        return own, values

    def jacobian(theta: Array) -> Array:
        with np.errstate(all="ignore"):
            own, values = _values(theta)
            slopes = form.evaluate(X, values, own)[1]
            columns = [slopes[:, len(parts) :][:, is_free]]
            rest = theta[is_free.sum() :]
            for k, (program, places) in enumerate(zip(programs, free, strict=True)):
                full = program.theta.copy()
                full[places], rest = rest[: len(places)], rest[len(places) :]
                _, J = program.jacobian(rows.XT, full, places)
                columns.append(slopes[:, [k]] * J.T)
            J = np.hstack(columns) * root[:, None]
        clipped: Array = np.clip(np.nan_to_num(J), -LARGEST, LARGEST)
        return clipped

    theta = _theta(parts, constants, held)
    if not np.all(np.abs(residual(theta)) < LARGEST):
        return None
    if len(theta):
        found = least_squares(
            residual, theta, jacobian, method="trf", x_scale="jac", max_nfev=EVALUATIONS
        )
        theta = found.x
    mse = float(np.sum(residual(theta) ** 2))
    J = jacobian(theta)
    spare = max(rows.n_rows - len(theta), 1.0)
    variance = mse * rows.n_rows / spare
    covariance, direction = _uncertainty(J.T @ J)
    moved, own = _at(parts, constants, held, theta)
    covariance = covariance * variance / max(rows.n_rows, 1.0)
    return FittedForm(form, moved, own, mse, covariance, direction, held)


def without_ambiguity(found: FittedForm, rows: Sample) -> FittedForm:
    """The same equation where each number is determined, if there is one.

    In ``a*f(x)`` the constant a is 1 if f has a factor of its own, and of the offsets of two parts
    that are added one is enough.
    """
    for _ in range(len(found.theta)):
        if found.direction is None:
            return found
        for parts, constants, held in _simpler(found):
            trial = fitted(found.form, parts, constants, rows, held)
            if trial is not None and trial.mse <= SAME * found.mse + ROUNDING * rows.spread() ** 2:
                found = trial
                break
        else:
            return found
    return found


def _simpler(
    found: FittedForm,
) -> Iterator[tuple[tuple[Expression, ...], Array, tuple[bool, ...]]]:
    """The same with one number less: a constant of the form at 1, or a part without its offset.

    The others move along the direction in which nothing changes.
    """
    assert found.direction is not None
    for at, k in enumerate(k for k, is_held in enumerate(found.held) if not is_held):
        moved = _moved_to(found, at, 1.0)
        if moved is not None:
            yield moved.parts, moved.constants, (*found.held[:k], True, *found.held[k + 1 :])
    last = len(found.theta)
    for k in reversed(range(len(found.parts))):
        places = free_constants(found.parts[k])
        last -= len(places)
        (output,) = found.parts[k].outputs
        if output.bias == 0.0 or not output.sources:
            continue
        offset = len(found.parts[k].constants()) - 1 - len(output.weights)
        moved = _moved_to(found, last + int(np.flatnonzero(places == offset)[0]), 0.0)
        if moved is not None:
            yield moved.parts, moved.constants, found.held


def _moved_to(found: FittedForm, place: int, value: float) -> FittedForm | None:
    """The same with one constant at a value, if it plays a part in what is not determined."""
    assert found.direction is not None
    if abs(found.direction[place]) < PLAYS_A_PART * np.max(np.abs(found.direction)):
        return None
    theta = found.theta
    theta = theta + (value - theta[place]) / found.direction[place] * found.direction
    theta[place] = value
    return found.moved(theta)


def _theta(parts: Sequence[Expression], constants: Array, held: Sequence[bool]) -> Array:
    own = [np.asarray(e.constants())[free_constants(e)] for e in parts]
    free = [c for c, is_held in zip(constants, held, strict=True) if not is_held]
    return np.concatenate([np.array(free, dtype=float), *own])


def _at(
    parts: Sequence[Expression], constants: Array, held: Sequence[bool], theta: Array
) -> tuple[tuple[Expression, ...], Array]:
    """Parts and constants with given values of all that is free."""
    n = len(held) - sum(held)
    own = np.ones(len(held))
    own[~np.array(held, dtype=bool)] = theta[:n]
    rest, moved = theta[n:], []
    for e in parts:
        places = free_constants(e)
        full = np.asarray(e.constants(), dtype=float).copy()
        full[places], rest = rest[: len(places)], rest[len(places) :]
        moved.append(e.with_constants(full.tolist()))
    return tuple(moved), own


def _uncertainty(A: Array) -> tuple[Array, Array | None]:
    """Inverse of normal equations; if they have none, infinity and what they do not determine."""
    if not len(A):
        return A, None
    size = np.sqrt(np.maximum(np.diag(A), 1e-300))
    scaled = A / np.outer(size, size)
    values, vectors = np.linalg.eigh(scaled)
    if values[0] > SINGULAR:
        return np.linalg.inv(scaled) / np.outer(size, size), None
    return np.full_like(A, math.inf), vectors[:, 0] / size


# --- a first look --------------------------------------------------------------------------------


def first_look(form: Form, rows: Sample, seed: int = 0) -> FittedForm | None:
    """The form with a polynomial in the place of each part, from several starts.

    It tells roughly what its constants and all other parts are when the first one is learned.
    """
    rows = rows.head(FIRST_ROWS)
    rng = np.random.default_rng(seed)
    best: FittedForm | None = None
    n = len(form.constants)
    for k in range(STARTS if n else 3):
        size = np.exp(rng.normal(0.0, 1.5, n)) * rng.choice([1.0, 1.0, -1.0], n)
        constants = np.ones(n) if k == 0 else size
        level = (1.0, float(np.average(rows.y, weights=rows.weight)) or 1.0, 0.1)[k % 3]
        parts = [_polynomial(p, form.inputs, rows, level) for p in form.parts]
        found = fitted(form, parts, constants, rows)
        if found is not None and (best is None or found.mse < best.mse):
            best = found
    return best


def _polynomial(part: Part, names: tuple[str, ...], rows: Sample, level: float) -> Expression:
    """A constant, with room for slopes and bends: weights that are nearly nothing."""
    builder = Builder(names)
    places = [names.index(name) for name in part.inputs]
    total = Sum(level)
    for i in places:
        total = total.plus(builder.input(i).scaled(_little(level, rows, i)))
    if len(places) <= MOST_FOR_SQUARES:
        for i, j in combinations_with_replacement(places, 2):
            a, b = builder.input(i), builder.input(j)
            term = builder.apply(SQUARE, a) if i == j else builder.apply(MUL, a, b)
            size = float(np.sqrt(np.mean(rows.XT[j] ** 2))) or 1.0
            total = total.plus(term.scaled(_little(level, rows, i) / size))
    return builder.expression(total)


def _little(level: float, rows: Sample, i: int) -> float:
    """A weight with which an input moves hardly anything."""
    return 1e-3 * level / (float(np.sqrt(np.mean(rows.XT[i] ** 2))) or 1.0)
