"""Power laws first: y = c + d x_j + k Π x_i^p_i, and the same times an exponential.

Half of what engineers write down is of this kind, with exponents like 0.8 and 1.852 that no growth
by units comes to. In logarithms it is a straight line (`ieql.training.fast.power_fit`), so it is
found in no time, whatever the number of inputs. Inputs whose exponents are zero within their errors
go, exponents that are whole or half ones within theirs are written with plain units, and inputs
over decades are looked at in their logarithm, too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ieql.equations.builder import Builder
from ieql.equations.expression import Expression, Sum
from ieql.equations.program import free_constants
from ieql.selection import Candidate
from ieql.training.fast.power_fit import best_subsets, fit_powers, log_fit
from ieql.training.fast.power_form import Feature, Kind, PowerForm, PowerLaw, Rounding
from ieql.training.fast.worth import is_permitted, length, worthwhile
from ieql.training.task import Task
from ieql.units import EXP, LOG, SQUARE

__all__ = ["power_laws"]

Array = NDArray[np.float64]
ROWS = 500
"""Rows that the search looks at; the final fits see more."""
LEAST_ROWS = 4
MOST_INPUTS = 8
"""Of more inputs those are taken that explain most in logarithms."""
MOST_LINES = 4
"""Inputs that are tried as a straight line beside a power law."""
OFFSETS = (0.003, 0.03, 0.1, 0.3, 1.0, 3.0)
"""How far beyond the rows the constant beside a power law is looked for, in spans of y."""
EXPONENTS = np.array([-3.0, -2.0, -1.0, -0.5, 0.5, 0.8, 1.3, 1.7, 2.0, 2.5, 3.0, 4.0])
"""Exponents tried for one input beside a straight line."""
DECADES = 20.0
"""Ratio of the largest and least value from which on an input is also seen in its logarithm."""
SUBSETS = (3, 3, 2)
"""Sets of one, two and three features that are fitted."""
BEST = 14
"""Laws that are measured in the end."""


def power_laws(task: Task, deadline: float = math.inf) -> list[Candidate]:
    """Products of powers of the inputs, alone and with what often stands beside them.

    Parameters
    ----------
    task : Task
        What to learn.
    deadline : float
        The moment (``time.monotonic()``) after which nothing is begun.

    Returns
    -------
    list of Candidate
        Those that describe the rows better than their mean, in the order of their lengths before
        the last fit.
    """
    search = _Search(task)
    if not search.inputs or len(search.y) < LEAST_ROWS:
        return []
    ranked: dict[tuple[object, ...], tuple[float, Expression]] = {}
    with np.errstate(all="ignore"):
        for law in _all_laws(search, deadline):
            for rounding in Rounding:
                rounded = law if rounding is Rounding.NONE else search.rounded(law, rounding)
                if rounded is None:
                    continue
                expression = rounded.form.expression(task.names, rounded.fit)
                if not is_permitted(task, expression):
                    continue
                # With and without an offset the skeleton is the same.
                key = expression.skeleton, tuple(s.bias != 0.0 for s in expression.sums)
                cost = search.length(expression, rounded.fit.error)
                if key not in ranked or cost < ranked[key][0]:
                    ranked[key] = cost, expression
        best = sorted(ranked.values(), key=lambda entry: entry[0])[:BEST]
        expressions = [expression for _, expression in best]
        expressions += _in_logarithms(search)
    return worthwhile(task, expressions, deadline)


class _Search:
    """The rows in which all usable inputs have one sign, and fits on them."""

    def __init__(self, task: Task) -> None:
        sample = task.train.head(ROWS)
        self.task = task
        permitted = list(task.inputs)
        low, high = sample.XT.min(axis=1), sample.XT.max(axis=1)
        # An input that is zero here and there has whole and half powers: they are found without
        # those rows.
        self.signs = np.where(low >= 0.0, 1, -1)
        one_sign = ((low >= 0.0) | (high <= 0.0)) & (low < high)
        usable = [i for i in permitted if one_sign[i]]
        rows = np.all(sample.XT[usable] != 0.0, axis=0)
        self.XT = sample.XT[:, rows]
        self.y = sample.y[rows]
        self.weight = sample.weight[rows] / max(float(sample.weight[rows].sum()), 1e-300)
        self.root = np.sqrt(self.weight)
        self.lines = permitted[:MOST_LINES]
        self.inputs = usable
        if usable and len(self.y) >= LEAST_ROWS:
            self.inputs = self._chosen(usable)

    def _chosen(self, usable: list[int]) -> list[int]:
        """The inputs that explain most of log |y|, if there are too many."""
        most = min(MOST_INPUTS, max(1, len(self.y) // 3))
        chosen: list[int] = []
        logs = np.log(np.abs(self.XT[usable])) if len(usable) > most else np.zeros((0, 0))
        target = np.log(np.abs(self.y) + 1e-12)
        while len(usable) > most > len(chosen):
            fixed = np.vstack([np.ones(len(self.y)), logs[chosen]]) * self.root
            basis = np.linalg.qr(fixed.T)[0]
            rest = logs * self.root - ((logs * self.root) @ basis) @ basis.T
            size = np.sum(rest**2, axis=1)
            gain = (rest @ (target * self.root)) ** 2 / np.where(size > 1e-12, size, np.inf)
            gain[chosen] = -1.0
            chosen.append(int(np.argmax(gain)))
        return [usable[k] for k in sorted(chosen)] or usable

    def feature(self, kind: Kind, i: int) -> Feature:
        """A feature of one input."""
        return Feature(kind, (i,), (int(self.signs[i]),), (1,))

    def values(self, features: tuple[Feature, ...]) -> Array:
        """Features × rows."""
        return np.array([f.values(self.XT) for f in features]).reshape(-1, len(self.y))

    def fit(self, form: PowerForm, start: Array) -> PowerLaw | None:
        """A form, fitted from given exponents."""
        fit = fit_powers(
            form.columns(self.XT),
            self.values(form.features),
            form.given(self.XT),
            self.y,
            self.root,
            start,
        )
        return None if fit is None else PowerLaw(form, fit)

    def rounded(self, law: PowerLaw, rounding: Rounding) -> PowerLaw | None:
        """The law with simple exponents; None if there are none."""
        found = law.rounded(rounding)
        return None if found is None else self.fit(*found)

    def path(self, law: PowerLaw | None) -> Iterator[PowerLaw]:
        """A law, then the same without the feature that is missed least, and so on."""
        while law is not None:
            yield law
            if len(law.form.features) <= 1:
                return
            p, C = law.fit.exponents, law.fit.covariance
            j = int(np.argmin(p**2 / np.maximum(np.diagonal(C), 1e-300)))
            start = np.delete(p - C[:, j] / max(C[j, j], 1e-300) * p[j], j)
            law = self.fit(law.form.without(j), start)

    def length(self, expression: Expression, error: float) -> float:
        """How long a description of the rows is."""
        values = expression.constants()[free_constants(expression)]
        n_constants = int(np.count_nonzero(np.abs(values) != 1.0))
        return length(self.task, error, n_constants, expression.complexity(self.task.prior))


def _all_laws(search: _Search, deadline: float) -> Iterator[PowerLaw]:
    """Laws of all forms, each with more inputs and with fewer."""
    logs = tuple(search.feature(Kind.LOG, i) for i in search.inputs)
    yield from search.path(_best_start(search, PowerForm((), logs), [0.0]))
    if EXP.name in search.task.prior.units and time.monotonic() < deadline:
        yield from _with_exponentials(search)
    if time.monotonic() > deadline:
        return
    low, span = float(search.y.min()), float(np.ptp(search.y))
    beyond = [low - part * span for part in OFFSETS] + [low + (1 + part) * span for part in OFFSETS]
    shifted = _best_start(search, PowerForm((None,), logs), [0.0, *beyond])
    yield from search.path(shifted)
    for j in search.lines:
        if time.monotonic() > deadline:
            return
        starts = [] if shifted is None else [shifted.fit.exponents]
        starts += _single_powers(search, logs, j)
        yield from search.path(_best_fit(search, PowerForm((None, j), logs), starts))


def _best_start(search: _Search, form: PowerForm, offsets: list[float]) -> PowerLaw | None:
    """The law that a straight line in the logarithm of y less an offset leads to."""
    values, given = search.values(form.features), form.given(search.XT)
    starts = []
    for c in offsets:
        rest = search.y - c
        # The larger side is the law's; of the rest, which noise brings about, there is no log.
        sign = 1.0 if np.sum(search.weight * rest) > 0.0 else -1.0
        for power in (2.0, 0.0):
            # With weights y² the errors in log y are, to first order, those in y.
            starts.append(
                log_fit(values, given, sign * rest, search.weight * np.abs(rest) ** power)
            )
    return _best_fit(search, form, starts)


def _best_fit(search: _Search, form: PowerForm, starts: list[Array]) -> PowerLaw | None:
    """The best fit from the two most promising starts."""
    columns, values = form.columns(search.XT), search.values(form.features)
    errors = []
    for p in starts:
        exponent = p @ values
        curve = np.exp(np.minimum(exponent - exponent.max(), 0.0))
        design = np.vstack([columns, curve]) * search.root
        coefficients = np.linalg.lstsq(design.T, search.y * search.root, rcond=None)[0]
        errors.append(float(np.sum((search.y * search.root - coefficients @ design) ** 2)))
    order = np.argsort(errors, kind="stable")[:2]
    laws = [search.fit(form, starts[k]) for k in order]
    found = [law for law in laws if law is not None]
    return min(found, key=lambda law: law.fit.error, default=None)


def _single_powers(search: _Search, logs: tuple[Feature, ...], j: int) -> list[Array]:
    """For each input the power of it alone that goes best with a straight line in input j."""
    fixed = np.vstack([np.ones(len(search.y)), search.XT[j]]) * search.root
    basis = np.linalg.qr(fixed.T)[0]
    target = search.y * search.root
    starts = []
    for k, values in enumerate(search.values(logs)):
        curves = np.exp(np.outer(EXPONENTS, values - values.max() * np.sign(values.max())))
        curves = curves * search.root
        rest = curves - (curves @ basis) @ basis.T
        size = np.sum(rest**2, axis=1)
        gains = (rest @ target) ** 2 / np.where(
            size > 1e-9 * np.sum(curves**2, axis=1), size, np.inf
        )
        start = np.zeros(len(logs))
        start[k] = EXPONENTS[int(np.argmax(gains))]
        starts.append(start)
    return starts


def _with_exponentials(search: _Search) -> Iterator[PowerLaw]:
    """Powers times exponentials of inputs and their reciprocals, as in Arrhenius' law."""
    features = tuple(search.feature(kind, i) for kind in Kind for i in search.inputs)
    values = search.values(features)
    sign = 1.0 if np.sum(search.weight * search.y) > 0.0 else -1.0
    y = sign * search.y
    good = y > 0.0
    if np.count_nonzero(good) < LEAST_ROWS:
        return
    needed = np.array([f.kind is not Kind.LOG for f in features])
    seen: set[tuple[int, ...]] = set()
    for power in (2.0, 0.0):
        weight = search.weight[good] * y[good] ** power
        for subset in best_subsets(values[:, good], np.log(y[good]), weight, needed, SUBSETS):
            if subset in seen:
                continue
            seen.add(subset)
            form = PowerForm((), tuple(features[k] for k in subset))
            law = _best_start(search, form, [0.0])
            if law is not None:
                yield law


def _in_logarithms(search: _Search) -> list[Expression]:
    """Lines and parabolas in the logarithms of inputs that span decades."""
    sizes = np.abs(search.XT)
    wide = [
        i for i in search.inputs if sizes[i].max() > DECADES * sizes[i].min() and sizes[i].min() > 0
    ]
    if not wide or LOG.name not in search.task.prior.units:
        return []
    names = search.task.names
    logs = [search.feature(Kind.LOG, i) for i in wide]
    columns = np.vstack([search.values(tuple(logs)), search.XT[search.lines]])
    found = []
    needed = np.arange(len(columns)) < len(wide)
    for subset in best_subsets(columns, search.y, search.weight, needed, SUBSETS):
        builder = Builder(names)
        w = _linear(search, columns[list(subset)])
        parts = [
            logs[k].build(builder) if k < len(wide) else builder.input(search.lines[k - len(wide)])
            for k in subset
        ]
        terms = [part.scaled(v) for part, v in zip(parts, w[1:].tolist(), strict=True)]
        found.append(builder.expression(Sum.total([Sum(float(w[0])), *terms])))
    for k, log in enumerate(logs):
        c, v, w2 = _linear(search, np.vstack([columns[k], columns[k] ** 2])).tolist()
        if w2 != 0.0:
            builder = Builder(names)
            inner = log.build(builder).plus(Sum(v / (2.0 * w2)))
            curve = builder.apply(SQUARE, inner).scaled(w2)
            found.append(builder.expression(curve.plus(Sum(c - v * v / (4.0 * w2)))))
    return found


def _linear(search: _Search, columns: Array) -> Array:
    """Offset and weights of a least squares fit."""
    design = np.vstack([np.ones(len(search.y)), columns]) * search.root
    weights: Array = np.linalg.lstsq(design.T, search.y * search.root, rcond=None)[0]
    return weights
