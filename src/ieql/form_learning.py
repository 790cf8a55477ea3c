"""Learning the parts of a known form: each from a table of its own, all fitted together.

As long as the other parts are known, a part has a value at every row (`Form.undone`), so that the
search for it is an ordinary one, in its own inputs and with its own knowledge. Parts take turns;
after each search, the constants of all parts and of the form are fitted to y together, and what
describes the rows in the fewest words goes on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ieql.data.dataset import Dataset, Domain
from ieql.data.intake import Measurements
from ieql.data.sample import Sample
from ieql.equations.builder import Builder
from ieql.equations.expression import Expression, Sum
from ieql.equations.finish import FinishedEquation, limits_kept
from ieql.equations.form import Form
from ieql.equations.form_fit import FittedForm, first_look, fitted, without_ambiguity
from ieql.equations.formula import listed
from ieql.equations.prediction_band import PredictionBand
from ieql.equations.proof import prove
from ieql.equations.safety import excess
from ieql.equations.wave_cost import wave_cost
from ieql.errors import IeqlError, nearest, shown
from ieql.learn import Earlier, View, front_of, learn, with_earlier
from ieql.observer import Observer, Snapshot
from ieql.options import FitOptions
from ieql.prior import Prior
from ieql.quantities import FREE
from ieql.report.evidence import Evidence
from ieql.selection import Candidate, description_length
from ieql.shape import Shape
from ieql.target import Target, prepare
from ieql.training.trainers import State, Trainer

__all__ = ["KnownForm", "learn_form"]

Array = NDArray[np.float64]
SEARCHING = 0.8
"""Part of the time for the searches; the rest is for fitting and finishing."""
TURNS = 3
"""Times that each part is learned, at most, where there are several, ..."""
TURNS_OF_ONE = 2
"""... and where there is one that the form is not a straight line in."""
TRIED = 12
"""Equations of a part that are tried in the form after each search."""
FINISHED = 24
"""Equations that are finished."""
FITTING_ROWS = 5_000
UNSEEN = 0.05
"""Part of the error by which fewer digits may move a value."""
PROBED = 2_000
LEAST_ROWS = 5
NO_SPREAD = 1e-9
"""Part of its size by which a part may vary and count as a constant."""
REASON = "the parts of the form were learned"


@dataclass(frozen=True, eq=False)
class KnownForm:
    """A form, and what is known of each of its parts.

    Attributes
    ----------
    form : Form
        The form.
    priors : mapping
        Knowledge by the name of a part.
    """

    form: Form
    priors: Mapping[str, Prior]

    @classmethod
    def of(cls, options: FitOptions, data: Dataset) -> KnownForm:
        """Read what the user gave, for a table."""
        given = options.form
        text = given if isinstance(given, str) else given["equation"]
        if data.y.shape[1] > 1:
            raise IeqlError(
                f"A form is for one target, but y has {data.y.shape[1]} columns; fit one after the "
                "other."
            )
        if options.loss not in ("auto", "squared"):
            raise IeqlError(
                f"A form is fitted by least squares; with loss={options.loss!r} leave it out, or "
                "use the loss auto or squared."
            )
        if options.guesses:
            raise IeqlError("Give a form or guesses, not both: the form says what is known.")
        prior = Prior.of(options.prior)
        if prior.quantities and prior.constants != FREE:
            raise IeqlError(
                "The units of a form's parts are not known, so that constants cannot be held to "
                "plain numbers or listed units; use constants: free, or leave the form out."
            )
        custom = prior.named_units
        form = Form.parse(text, data.feature_names, data.target_names[0], custom)
        names = [p.name for p in form.parts]
        own = {} if isinstance(given, str) else {k: v for k, v in given.items() if k != "equation"}
        for name in own:
            if name not in names:
                raise IeqlError(
                    f"The form has no part {shown(name)}; its parts are {listed(names)}."
                    f"{nearest(name, names)}"
                )
        priors = {}
        for part in form.parts:
            # What is known of the target is not known of a part.
            general = replace(
                prior,
                shape=Shape(),
                quantities={},
                constants="free",
                target=None,
                require=(),
                together=(),
                apart=(),
                max_units=None,
            )
            priors[part.name] = Prior.of(own[part.name]) if part.name in own else general
            if part.name in own:
                priors[part.name].check_columns(part.inputs)
        for k, part in enumerate(form.parts):
            if not form.can_be_undone(k):
                raise IeqlError(
                    f"{part.label} cannot be learned where it stands in the form: it must be "
                    "possible to solve the form for it. It may stand in sums, products, quotients, "
                    "powers, exp, log and sqrt, and more than once only as a factor of sums."
                )
        return cls(form, priors)


@dataclass
class _Pool:
    """What has been found: forms with their parts, the best first."""

    rows: Sample
    prior: Prior
    known: dict[Any, tuple[float, FittedForm]] = field(default_factory=dict)

    def add(self, found: FittedForm | None) -> None:
        if found is None or not math.isfinite(found.mse):
            return
        whole = found.whole
        key, length = whole.skeleton, self._length(found, whole)
        if key not in self.known or length < self.known[key][0]:
            self.known[key] = length, found

    def _length(self, found: FittedForm, whole: Expression) -> float:
        spread = self.rows.spread()
        return description_length(
            self.rows.n_rows,
            found.mse / spread**2 + 1e-24,
            found.n_free,
            whole.complexity(self.prior),
        )

    def best(self, n: int) -> list[FittedForm]:
        order = sorted(self.known.values(), key=lambda entry: entry[0])
        return [found for _, found in order[:n]]


def learn_form(
    known: KnownForm,
    options: FitOptions,
    measured: Measurements,
    targets: Sequence[Target],
    trainer: Trainer,
    evidence: Evidence,
    *,
    seed: int,
    start: float,
    earlier: Earlier | None = None,
    observers: Sequence[Observer] = (),
) -> Snapshot:
    """Learn the parts of a form, and the front of the equations that they make.

    Parameters
    ----------
    known : KnownForm
        The form, and what is known of its parts.
    options, measured, targets, trainer, evidence, seed, start, earlier, observers
        As in `ieql.learn.learn`; there is one target.
    """
    earlier = earlier or Earlier()
    (target,) = targets
    view = View(options, measured, targets, evidence, start, earlier.seconds)
    state: State = State.start([target.task])
    rows = target.fitting.standing_for_all(FITTING_ROWS)
    form, pool = known.form, _Pool(rows, Prior.of(options.prior))
    for parts in _known_before(form, earlier):
        pool.add(fitted(form, parts, np.zeros(0), rows))
    current = pool.best(1)[0] if pool.known else first_look(form, rows, seed)
    if current is None:
        raise IeqlError(
            "The form has no value at these rows, whatever its parts are; see the logarithms, "
            "roots and quotients in it."
        )
    search = _PartSearch(known, options, measured.data, trainer, seed)
    turns = _turns(form)
    before = None
    for number, (part, turn) in enumerate(turns):
        seconds = _share(options, start, len(turns) - number)
        if part == 0:
            skeleton = current.whole.skeleton
            if skeleton == before:
                break  # a whole turn has changed nothing
            before = skeleton if turn else None
        if state.interrupted or seconds == 0.0:
            break
        found, sub = search.run(part, turn, current, seconds)
        # As long as a part is the polynomial of the first look, the whole is no result.
        is_whole = turn > 0 or part == len(form.parts) - 1 or bool(pool.known)
        into = pool if is_whole else _Pool(rows, pool.prior)
        for e in found[:TRIED]:
            trial = [*current.parts]
            trial[part] = e
            into.add(fitted(form, trial, current.constants, rows))
        _note(state, sub)
        current = into.best(1)[0] if into.known else current
    if not pool.known:
        pool.add(current)
    state.reason = REASON
    bound = options.output_bound
    bounds = None if bound is None else (-bound, bound)
    with np.errstate(all="ignore"):
        tried = (_finished(f, target, bounds) for f in pool.best(FINISHED))
        finished = [c for c in tried if c is not None]
    if not finished:
        raise IeqlError(
            "No equation of this form that was found is safe, and keeps to all limits, in the "
            "whole domain; narrow the domain, or give the form so that its quotients, logarithms "
            "and roots are defined there."
        )
    front = front_of(finished, target)
    for shown_before in earlier.fronts:
        front = with_earlier(front, shown_before, target)
    last = view.finished([front], [finished], [target], state)
    for observer in observers:
        observer.on_round(last)
    return last


def _turns(form: Form) -> list[tuple[int, int]]:
    """Which part is learned when, with the number of its turn."""
    n = TURNS if len(form.parts) > 1 else 1 if form.is_line_in(0) else TURNS_OF_ONE
    return [(k, turn) for turn in range(n) for k in range(len(form.parts))]


def _share(options: FitOptions, start: float, left: int) -> float | None:
    """Seconds for the next search: an equal part of what is left; None without a limit."""
    if options.max_time is None:
        return None
    return max(start + SEARCHING * options.max_time - time.monotonic(), 0.0) / left


@dataclass(frozen=True, eq=False)
class _PartSearch:
    """The search for one part after the other."""

    known: KnownForm
    options: FitOptions
    data: Dataset
    trainer: Trainer
    seed: int

    def run(
        self, part: int, turn: int, current: FittedForm, seconds: float | None
    ) -> tuple[list[Expression], Snapshot | None]:
        """Equations for one part, in all inputs, the best first; given what the others are."""
        form, data = self.known.form, self.data
        own = form.parts[part]
        values, weight = _table_of(form, part, turn, current, data)
        good = np.isfinite(values) & (weight > 0.0)
        size = float(np.max(np.abs(values[good]), initial=0.0))
        if good.sum() < LEAST_ROWS or not size:
            return [], None
        values, weight = values[good], weight[good]
        if np.ptp(values) <= NO_SPREAD * size:
            mean = float(np.average(values, weights=weight))
            return [Expression(form.inputs, (), (Sum(mean),))], None
        places = [form.inputs.index(name) for name in own.inputs]
        box = data.domain
        table = Dataset.of(
            data.X[good][:, places],
            values,
            None if np.ptp(weight) <= NO_SPREAD * weight.max() else weight,
            Domain(own.inputs, box.lower[places], box.upper[places]),
            own.inputs,
            (own.name,),
        )
        asked = self._asked(own.name, seconds)
        sub = learn(
            asked,
            Measurements(table, table.X, table.y[:, 0]),
            prepare(asked, table, None, self.seed + turn),
            self.trainer,
            _evidence(table),
            seed=self.seed + turn,
            start=time.monotonic(),
        )
        model = sub.model
        chosen = model.candidate()
        order = [chosen, *(c for c in model.fronts[0] if c is not chosen), *model.rivals[0]]
        return [_in_all_inputs(c.equation(precise=True), form, places) for c in order], sub

    def _asked(self, name: str, seconds: float | None) -> FitOptions:
        return replace(
            self.options,
            prior=self.known.priors[name],
            form=None,
            domain=None,
            selection="MDL",
            max_complexity=None,
            output_bound=None,
            guesses=(),
            max_time=seconds,
            min_time=None,
            run_dir=None,
            progress=False,
        )


def _evidence(table: Dataset) -> Evidence:
    """What a fit wants to know of its data; nobody looks at that of a part."""
    return Evidence.of(
        table.X,
        table.y,
        table.feature_names,
        table.target_names,
        None,
        sha256="",
        seconds=0.0,
        seed=None,
        versions={},
        unit_counts=[{}],
    )


def _table_of(
    form: Form, part: int, turn: int, current: FittedForm, data: Dataset
) -> tuple[Array, Array]:
    """What a part is at each row, and how much that counts.

    At first the form is solved for it. Where the form bends that strongly, noise of y is not noise
    of the part; so later the form is taken as a straight line around what the part is so far.
    """
    y = data.y[:, 0]
    parts = current.values(data.X)
    if turn == 0:
        values, slope = form.undone(part, data.X, y, parts, current.constants)
    else:
        with np.errstate(all="ignore"):
            at, slopes = form.evaluate(data.X, parts, current.constants)
            slope = slopes[:, part]
            values = parts[part] + (y - at) / slope
    return values, np.nan_to_num(data.weight * slope**2, posinf=0.0)


def _in_all_inputs(e: Expression, form: Form, places: Sequence[int]) -> Expression:
    builder = Builder(form.inputs)
    return builder.rebuild(e, [builder.input(i) for i in places])


def _known_before(form: Form, earlier: Earlier) -> Iterator[tuple[Expression, ...]]:
    """Parts that an earlier part of the run has found, to go on from."""
    if form.constants:
        return  # what these were is not written down
    for front in earlier.fronts:
        for c in front:
            if len(c.parts) == len(form.parts):
                yield tuple(e for _, e in c.parts)


def _note(state: State, sub: Snapshot | None) -> None:
    if sub is None:
        return
    model = sub.model
    state.n_trainings += model.n_trainings
    state.interrupted |= model.interrupted
    state.largest[0] = max(state.largest[0], *model.largest_complexities)
    for counts in model.unit_counts:
        state.units[0].update(counts)


# --- finishing -----------------------------------------------------------------------------------


def _finished(
    found: FittedForm, target: Target, bounds: tuple[float, float] | None
) -> Candidate | None:
    """A form with its parts as an equation of the front; None if it is not safe in the domain.

    Nor if it passes the bounds, or breaks a limit of the prior's shape.
    """
    rows = target.fitting
    found = fitted(found.form, found.parts, found.constants, rows, found.held) or found
    found = without_ambiguity(found, rows)
    short = _with_few_digits(found, rows)
    precise, e = found.whole, short.whole
    prior, ends = target.task.prior, (target.points.min(axis=1), target.points.max(axis=1))
    proof = prove(e, *ends, bounds)
    if proof.proved is False or e.complexity(prior) > target.task.max_complexity:
        return None
    limits = limits_kept(e, *ends, prior, proof)
    if limits is None or not e.keeps_rules(prior):
        return None
    same = e.skeleton == precise.skeleton
    equation = FinishedEquation(
        e,
        _errors(short, e),
        found.mse,
        precise if same else e,
        proof.proved,
        limits,
        excess(proof.low, proof.high, rows.y),
        wave_cost(e, rows.head(PROBED).XT.T, prior),
        PredictionBand.of(precise if same else e, rows, e, target.points, None),
    )
    labels = [p.label for p in found.form.parts]
    candidate = target.candidate(equation)
    return replace(candidate, parts=tuple(zip(labels, short.parts, strict=True)))


def _with_few_digits(found: FittedForm, rows: Sample) -> FittedForm:
    """The same with as few digits of the fitted constants as make no difference at the rows."""
    X = rows.XT.T
    value, theta = found.whole.evaluate(X)[:, 0], found.theta
    allowed = UNSEEN * max(math.sqrt(found.mse), UNSEEN**3 * float(np.max(np.abs(value))))
    for digits in range(3, 17):
        trial = found.moved(np.array([float(f"{c:.{digits}g}") for c in theta]))
        if np.all(np.abs(trial.whole.evaluate(X)[:, 0] - value) <= allowed):
            return trial
    return found


def _errors(found: FittedForm, e: Expression) -> tuple[float, ...]:
    """Standard error of each constant of the whole equation; zero for what was given."""
    theta, constants = found.theta, np.asarray(e.constants(), dtype=float)
    slopes = np.zeros((len(constants), len(theta)))
    for k, value in enumerate(theta):
        step = 1e-5 * (abs(value) or 1.0)
        moved = theta.copy()
        moved[k] += step
        other = found.moved(moved).whole
        if other.skeleton != e.skeleton:
            return tuple(math.nan for _ in constants)
        slopes[:, k] = (np.asarray(other.constants()) - constants) / step
    used = np.any(slopes != 0.0, axis=1)
    variance = np.zeros(len(constants))
    if np.all(np.isfinite(found.covariance)):
        variance = np.einsum("ij,jk,ik->i", slopes, found.covariance, slopes)
    else:
        variance[used] = math.nan
    return tuple(float(v) for v in np.sqrt(np.maximum(variance, 0.0)))
