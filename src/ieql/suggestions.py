"""Where to measure next: points at which the equations that the rows leave open disagree most.

A row at a place where two equations differ by δ tells them apart the better the larger δ is beside
the noise σ. So each pair of plausible equations (`ieql.alternatives.plausible`) counts there with
ln(1 + δ²/(4σ²)), weighted by how plausible both are. The logarithm matters: a pair that is decided
at a place is not decided better where it differs a thousand times as much, and the other pairs
have a say. Points are chosen one after the other. Since the constants of a wrong equation can be
fitted to pass through a point, a second one near it tells little: what is told by points that are
close to chosen ones is discounted.

If there is only one equation, the same is done with what the errors of its constants leave open.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ieql.alternatives import KEPT_WITHIN, climbed, noise_of, plausible, readable, values_of
from ieql.data.categories import Categories
from ieql.data.dataset import Domain
from ieql.data.table import plain_number
from ieql.errors import IeqlError, counted, nearest, shown
from ieql.model import FittedModel
from ieql.selection import Candidate

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Suggestions", "suggest"]

Array = NDArray[np.float64]
MOST_POINTS = 100
"""Points that can be asked for, at most."""
N_DRAWN, N_CORNERS = 4_000, 256
"""Points among which the first choice is made: drawn, half of them dense at the edges; corners."""
REACH = 0.15
"""Distance, in widths of the limits, within which a point tells much of what its neighbour does."""
LARGEST = 1e6
"""Differences count up to so many times the noise: also where one equation has no value."""
EXACT = 1e-9
"""Part of the largest value that is taken for noise where there is less."""
LITTLE = 1e-6
"""Part of what the best row tells that every row is taken to tell, so that points never repeat."""
MOST_VALUES = 10_000
"""Values that an input can be limited to, at most."""
MOST_NAMED = 5
"""Inputs that a sentence names, at most."""


@dataclass(frozen=True, eq=False)
class Suggestions:
    """Points to measure next, and why these.

    Attributes
    ----------
    names : tuple of str
        The inputs.
    points : array (points, inputs)
        The best first.
    outputs : tuple of str
        For each point the output that is most open there; empty if there is only one.
    selected, rival : array
        What the selected equation predicts there, and the rival that a row there would tell from
        it best; NaN without a value, or without a rival.
    disagreement : array
        How far the two are apart, in units of the noise; infinite if one has no value.
    rival_equation : tuple of str
        The rivals.
    sentence : str
        How the points were chosen.
    categories : Categories
        Which inputs stand for levels of columns of words.
    """

    names: tuple[str, ...]
    points: Array
    outputs: tuple[str, ...]
    selected: Array
    rival: Array
    disagreement: Array
    rival_equation: tuple[str, ...]
    sentence: str
    categories: Categories = field(default_factory=Categories)

    @property
    def has_rivals(self) -> bool:
        """Whether the selected equation has any."""
        return any(self.rival_equation)

    def settings(self) -> dict[str, list[Any]]:
        """What to set in each of the user's columns, point by point: numbers, or words."""
        return self.categories.read(self.names, self.points)

    def frame(self) -> pd.DataFrame:
        """One row per point: the inputs, and then what is expected there."""
        import pandas as pd

        columns: dict[str, Any] = dict(self.settings())
        expected = {
            "output": self.outputs,
            "selected": self.selected,
            "rival": self.rival,
            "disagreement": self.disagreement,
            "rival_equation": self.rival_equation,
        }
        for name, values in expected.items():
            if name == "output" and not self.outputs:
                continue
            while name in columns:  # an input has that name
                name += "_"
            columns[name] = values
        frame = pd.DataFrame(columns)
        frame.attrs["sentence"] = self.sentence
        return frame


def suggest(
    model: FittedModel,
    n: int = 5,
    limits: Mapping[str, Any] | None = None,
    output: int | None = None,
) -> Suggestions:
    """Points of the domain to measure next, spread out where the plausible equations disagree.

    Parameters
    ----------
    model : FittedModel
        All that is needed; the data are not.
    n : int
        How many points.
    limits : mapping, optional
        From inputs to where they can be set: an interval (low, high), which may reach beyond the
        domain; one number; or a list of three or more values, a set, or a range. Other inputs can
        be set anywhere in the domain.
    output : int, optional
        Only what is open about this output counts; default: about all.
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= MOST_POINTS:
        raise IeqlError(
            f"The number of points must be a whole number from 1 to {MOST_POINTS}, not {shown(n)}."
        )
    settings = _settings(model, limits)
    asked = range(len(model.targets)) if output is None else [output]
    questions = [_Question.of(model, k) for k in asked]
    is_open = [q for q in questions if q.is_open]
    questions = is_open or questions
    space = _space(settings, {name for q in questions for name in q.inputs_used}, model)
    if n > space.n_different:
        raise IeqlError(
            f"The limits leave only {counted(space.n_different, 'different point')} in the inputs "
            f"that matter, so {n} cannot be suggested; ask for fewer or widen the limits."
        )
    points, is_informed = _chosen(space, questions, int(n))
    where = [_most_open(questions, row[None]) for row in points]
    told = [questions[k].expected(row[None]) for k, row in zip(where, points, strict=True)]
    selected, rival, disagreement, texts = zip(*told, strict=True)
    several = len(model.targets) > 1
    return Suggestions(
        names=model.names,
        points=points,
        outputs=tuple(questions[k].name for k in where) if several else (),
        selected=np.array(selected),
        rival=np.array(rival),
        disagreement=np.array(disagreement),
        rival_equation=texts,
        sentence=" ".join(
            _sentences(model, questions, space, is_informed, np.array(disagreement), points)
        ),
        categories=model.categories,
    )


# --- what is open --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Question:
    """What the rows leave open about an output.

    Attributes
    ----------
    name : str
        The output.
    equations : list of Candidate
        The plausible ones, the selected one first.
    weights : array
        How plausible each is; they sum to one.
    noise : float
        Standard deviation of a row.
    """

    name: str
    equations: list[Candidate]
    weights: Array
    noise: float

    @classmethod
    def of(cls, model: FittedModel, output: int) -> _Question:
        found = plausible(model, output)
        equations = [c for c, _ in found]
        nats = np.array([nats for _, nats in found])
        weights = np.exp(-np.where(np.isfinite(nats), nats, np.inf)) if len(found) > 1 else [1.0]
        best = equations[int(np.argmax(weights))]
        corners = values_of(best, model.box.corners(N_CORNERS))
        largest = np.max(np.abs(corners), where=np.isfinite(corners), initial=0.0)
        noise = max(noise_of(model, best), EXACT * float(largest), np.finfo(np.float64).tiny)
        return cls(model.targets[output], equations, np.asarray(weights) / np.sum(weights), noise)

    @property
    def is_open(self) -> bool:
        """Whether there is more than one plausible equation."""
        return len(self.equations) > 1

    @property
    def inputs_used(self) -> set[str]:
        return {name for c in self.equations for name in c.expression.inputs_used}

    def information(self, X: Array) -> Array:
        """What a row at each place tells, up to a factor."""
        if not self.is_open:
            return 0.5 * np.log1p(self._uncertainty(X) ** 2)
        values = np.array([values_of(c, X) for c in self.equations])
        told = np.zeros(len(X))
        for i in range(1, len(values)):
            told += self.weights[i] * (self.weights[:i] @ self._pairs(values[i], values[:i]))
        return told

    def expected(self, X: Array) -> tuple[float, float, float, str]:
        """At one place: selected, rival, how many times the noise between them, the rival."""
        values = np.array([values_of(c, X)[0] for c in self.equations])
        if not self.is_open:
            return float(values[0]), math.nan, math.nan, ""
        best = 1 + int(np.argmax(self.weights[1:] * self._pairs(values[0], values[1:])))
        a, b = float(values[0]), float(values[best])
        apart = abs(a - b) / self.noise if math.isfinite(a) and math.isfinite(b) else math.inf
        return a, b, apart, self.equations[best].expression.text()

    def _pairs(self, own: Array, others: Array) -> Array:
        """What a row tells of an equation and each of others."""
        return np.log1p((0.5 * self._apart(own, others)) ** 2)

    def _apart(self, a: Array, b: Array) -> Array:
        """Differences in units of the noise; none where neither has a value."""
        with np.errstate(all="ignore"):
            apart = np.abs(a - b) / self.noise
        neither = ~np.isfinite(a) & ~np.isfinite(b)
        return np.where(neither, 0.0, np.fmin(apart, LARGEST))

    def _uncertainty(self, X: Array) -> Array:
        """Standard error of the prediction in units of the noise, as if constants were independent.

        How they depend on one another is not stored. That counts each of them too much where they
        make up for one another, but it grows where the prediction leaves the data.
        """
        equation = self.equations[0].expression
        theta = equation.constants()
        errors = self.equations[0].standard_errors or ()
        value = equation.evaluate(X)[:, 0]
        squares = np.zeros(len(X))
        for k, error in enumerate(errors[: len(theta)]):
            if math.isfinite(error) and error > 0.0:
                moved = theta.copy()
                moved[k] += error
                with np.errstate(all="ignore"):
                    other = equation.with_constants(moved).evaluate(X)[:, 0]
                squares += self._apart(value, other) ** 2
        return np.sqrt(squares)


def _most_open(questions: Sequence[_Question], X: Array) -> int:
    return int(np.argmax([q.information(X)[0] for q in questions]))


# --- where it can be measured --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Setting:
    """Where an input can be set: an interval or, if they are given, values in order."""

    low: float
    high: float
    values: Array | None = None

    @property
    def n_different(self) -> float:
        if self.values is not None:
            return len(self.values)
        return math.inf if self.low < self.high else 1

    @property
    def middle(self) -> float:
        if self.values is not None:
            return float(self.values[len(self.values) // 2])
        return self._rounded(0.5 * self.low + 0.5 * self.high)

    def at(self, u: Array) -> Array:
        """Values from places between 0 and 1."""
        if self.values is not None:
            m = len(self.values)
            return self.values[np.minimum((u * m).astype(np.int64), m - 1)]
        return np.clip(self.low * (1.0 - u) + self.high * u, self.low, self.high)

    def place(self, x: Array) -> Array:
        """Places of values, in widths from the lowest one."""
        half = 0.5 * self.high - 0.5 * self.low  # the whole width may overflow
        return (0.5 * x - 0.5 * self.low) / half if half > 0.0 else np.zeros(len(x))

    def written(self, x: float) -> float:
        """A value with the digits that matter."""
        return x if self.values is not None else self._rounded(x)

    def _rounded(self, x: float) -> float:
        box = Domain(("",), np.array([self.low]), np.array([self.high]))
        return float(readable(np.array([x]), box)[0])


def _settings(model: FittedModel, limits: Any) -> dict[str, _Setting]:
    """Where each input can be set."""
    limits = {} if limits is None else limits
    if not isinstance(limits, Mapping):
        raise IeqlError(
            "The limits must map inputs to (low, high), a number or a list of values, but they are "
            f"{shown(limits)}."
        )
    for name in limits:
        if name not in model.names:
            raise IeqlError(
                f"The limits name {shown(name)}, which is not an input.{nearest(name, model.names)}"
            )
    settings = {name: _Setting(low, high) for name, (low, high) in model.domain.items()}
    return settings | {name: _setting(name, given) for name, given in limits.items()}


def _setting(name: str, given: Any) -> _Setting:
    """What one entry of the limits says."""
    is_collection = isinstance(given, Collection) and not isinstance(given, (str, bytes, Mapping))
    if is_collection and len(given) > MOST_VALUES:
        raise IeqlError(
            f"The limits of {name!r} are {len(given):,} values; give an interval (low, high) "
            f"or at most {MOST_VALUES:,} values."
        )
    try:
        entries = list(given) if is_collection else [given]
        if any(entry is True or entry is False for entry in entries):
            raise ValueError
        numbers = [plain_number(entry) for entry in entries]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)):
        raise IeqlError(
            f"The limits of {name!r} must be two numbers (low, high), one number, or a list of "
            f"values, but they are {shown(given)}."
        )
    if len(numbers) == 2 and not isinstance(given, (set, frozenset, range)):
        low, high = numbers
        if low > high:
            raise IeqlError(
                f"The limits of {name!r} must be (low, high) with low below high, but they are "
                f"({low:g}, {high:g})."
            )
        return _Setting(low, high)
    values = np.unique(numbers)
    return _Setting(float(values[0]), float(values[-1]), values)


@dataclass(frozen=True, eq=False)
class _Space:
    """Where points are looked for: the inputs that matter, each between 0 and 1."""

    settings: dict[str, _Setting]
    varied: list[str]
    box: Domain
    """Of the model, which knows which inputs are levels of one category."""

    @property
    def n_different(self) -> float:
        return math.prod(self.settings[name].n_different for name in self.varied)

    def rows(self, U: Array) -> Array:
        """Rows of all inputs; those that do not matter are in the middle."""
        columns = [np.full(len(U), setting.middle) for setting in self.settings.values()]
        names = list(self.settings)
        for name, u in zip(self.varied, U.T, strict=True):
            columns[names.index(name)] = self.settings[name].at(u)
        return self.box.possible(np.column_stack(columns))

    def written(self, row: Array) -> Array:
        """A row with the digits that matter."""
        pairs = zip(self.settings.values(), row.tolist(), strict=True)
        return np.array([setting.written(x) for setting, x in pairs])

    def places(self, X: Array) -> Array:
        """The rows' places in the inputs that matter, for distances."""
        names = list(self.settings)
        columns = [self.settings[name].place(X[:, names.index(name)]) for name in self.varied]
        return np.column_stack(columns) if columns else np.zeros((len(X), 0))

    def drawn(self) -> Array:
        """Places to choose from, always the same."""
        rng = np.random.default_rng(0)
        d = len(self.varied)
        even = rng.random((N_DRAWN, d))
        # Equations differ most at the edges, and often only close to them.
        even[::2] = np.sin(0.5 * math.pi * even[::2]) ** 2
        return np.concatenate([self.cube.corners(N_CORNERS), even])

    @property
    def cube(self) -> Domain:
        d = len(self.varied)
        return Domain(tuple(self.varied), np.zeros(d), np.ones(d))


def _space(settings: dict[str, _Setting], used: set[str], model: FittedModel) -> _Space:
    varied = [name for name, s in settings.items() if s.n_different > 1]
    # If no equation uses an input, they are all there is to vary.
    chosen = [name for name in varied if name in used] if used else varied
    return _Space(settings, chosen, model.box)


# --- choosing ------------------------------------------------------------------------------------


def _chosen(space: _Space, questions: Sequence[_Question], n: int) -> tuple[Array, bool]:
    """The points, and whether there is a place at which a row tells anything."""
    drawn = space.drawn()

    def information(X: Array) -> Array:
        total: Array = np.sum([q.information(X) for q in questions], axis=0)
        return total

    rows = space.rows(drawn)
    told = information(rows)
    most = float(np.max(told))
    least = LITTLE * most or 1.0  # if nothing is told anywhere, points are just spread
    new = np.ones(len(rows))
    chosen: list[Array] = []

    def height(U: Array) -> Array:
        X = space.rows(U)
        return (information(X) + least) * _new(space, X, np.array(chosen))

    for _ in range(n):
        top = climbed(drawn[int(np.argmax((told + least) * new))], height, space.cube)
        chosen.append(space.written(space.rows(top[None])[0]))
        new *= _new(space, rows, chosen[-1][None])
    return np.array(chosen), most > 0.0


def _new(space: _Space, X: Array, chosen: Array) -> Array:
    """The part of what rows tell that rows at the chosen points do not tell."""
    if not len(chosen) or not space.varied:
        return np.ones(len(X))
    apart = space.places(X)[:, None] - space.places(chosen)[None]
    square = np.mean(apart**2, axis=2) / REACH**2
    part: Array = np.prod(-np.expm1(-0.5 * square), axis=1)
    return part


# --- what is said --------------------------------------------------------------------------------


def _sentences(
    model: FittedModel,
    questions: Sequence[_Question],
    space: _Space,
    is_informed: bool,
    disagreement: Array,
    points: Array,
) -> list[str]:
    """How the points were chosen."""
    n_equations = sum(len(q.equations) for q in questions if q.is_open)
    if n_equations and is_informed:
        found = [
            f"The points are spread where the {n_equations} equations that the rows leave open "
            f"(within {KEPT_WITHIN:g} nats) disagree most."
        ]
        if np.max(disagreement) < 1.0:
            found.append(
                "At none of them is the selected one further from its rival than the noise, so a "
                "few rows decide little."
            )
    elif n_equations:
        found = [
            f"The {n_equations} equations that the rows leave open (within {KEPT_WITHIN:g} nats) "
            "do not differ within the limits, so the points are just spread out."
        ]
    else:
        lead = f"No other equation describes the rows nearly as well (within {KEPT_WITHIN:g} nats)"
        how = (
            "the points are spread where its constants leave the selected one most uncertain"
            if is_informed
            else "the points are just spread out"
        )
        found = [f"{lead}, so {how}."]
    varied = model.categories.columns(space.varied)
    unused = [
        name
        for name in model.categories.columns(
            name for name, setting in space.settings.items() if setting.n_different > 1
        )
        if name not in varied
    ]
    if unused:
        found.append(f"Not in these equations and left in the middle: {_listed(unused)}.")
    outside = [
        name
        for name, x in zip(model.names, points.T, strict=True)
        if x.min() < model.domain[name][0] or x.max() > model.domain[name][1]
    ]
    if outside:
        found.append(
            f"As the limits allow, points lie outside the domain in {_listed(outside)}, where no "
            "equation was checked."
        )
    return found


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
