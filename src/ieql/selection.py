"""The Pareto front of candidates, and the criteria that select one equation from it.

Implements the paper's section "Model Selection Criteria" (equation "selection_criteria").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ieql.equations.description import description_of_rows
from ieql.errors import IeqlError, nearest, shown
from ieql.plugins import load_plugins

if TYPE_CHECKING:
    from ieql.equations.expression import Expression
    from ieql.equations.prediction_band import PredictionBand
    from ieql.units import Unit

__all__ = [
    "CONNECTION",
    "CRITERIA",
    "DEFAULT",
    "EXTRAPOLATION",
    "LAW",
    "TOO_FAR",
    "Candidate",
    "Context",
    "Criterion",
    "Front",
    "Need",
    "description_length",
    "find_criterion",
    "register_criterion",
    "scores",
    "select",
    "thinned",
]

CHOICES = 30.0
"""How many connections each connection of an equation was chosen among, as the search prices it."""
CONNECTION = 3.4
"""Twice the nats that each connection of an equation costs: with each there are several times as
many structures to choose from."""
LAW = 10.0
"""Twice the nats that it costs to say that there is a law at all, and not just a mean: that one of
thousands of structures fits noise a little is to be expected."""
TOO_FAR = 100.0
"""An equation that goes so many ranges of y away from the measured values is flagged."""
FAR_COST = 20.0
"""Added to the description length of a flagged equation: ten nats, the evidence of e¹⁰ to 1."""
TAILS_COST = 2.0
"""Twice the nats that it costs to say that the noise has heavy tails."""
UNPREDICTED = 3.0
"""Where all rows fit the constants, an error of rows predicted by the others that is more than so
many times the training error counts instead of it: the equation follows single rows."""
ERRORS = ("rmse_train", "rmse_validation", "rmse_extrapolation")
"""The errors of a candidate, by the names of its attributes."""
LEAST_SPAN = 0.1
"""Part of the mean predictor's error by which errors must differ to count in full: where all are
about as bad outside as the mean, a constant a trifle better would weigh as much as a law."""
ROUNDING = 1e-10
"""Errors below this part of the mean predictor's are rounding."""


@dataclass(frozen=True)
class Candidate:
    """An equation on its way to the front, with its complexity and its errors.

    Parameters
    ----------
    expression : Expression
        The equation, constants included.
    complexity : float
        Number of weights, each counted with the prior's complexity factor c_u.
    n_parameters : int
        Number of weights, biases not counted.
    rmse_train, rmse_validation : float
        Root mean squared errors, in the unit of the target.
    rmse_extrapolation : float
        The same on points outside the training domain; NaN where there are none.
    standard_errors : tuple of float, optional
        Standard error of each constant.
    precise : Expression, optional
        The same equation with all digits of its constants; None where they were never rounded.
    proved : bool, optional
        True if it is proved that every unit is defined in the whole domain, False if a point is
        known where one is not, None if neither could be shown.
    limits : mapping of str to bool or None
        The same for every limit of the prior's shape, such as ``increasing in load``.
    excess : float
        How far the equation goes inside the domain: the largest distance from the middle of the
        measured values of y, in units of their range; NaN if it is not known.
    wave_cost : float
        Twice the nats that its waves cost (`ieql.equations.wave_cost`).
    evidence : float
        Twice the nats by which it tells the rows better than their mean does if noise has heavy
        tails; infinite if that is not known.
    tails : float
        Twice the nats by which heavy tails tell its residuals better than a normal distribution.
    dependence : float
        Twice the nats by which ranks tell that there is a law at all (`ieql.data.dependence`).
    band : PredictionBand, optional
        How far new rows may lie from it; None if that is not known.
    ambiguity : float
        What `rmse_validation` contains, added as a square, for the choice among equations that the
        rows cannot tell apart (`ieql.ambiguity`).
    saved : float
        Twice the nats that it saves to share units with the equations of other outputs, its part of
        them: what is shared is described once (`ieql.shared_fronts`). For an equation of many
        devices, less what constants of their own cost (`ieql.fleet`).
    is_taught : bool
        Whether a smooth surface through the rows taught its constants, not the rows themselves.
    lines : tuple of int
        The lines of trainings for accuracy that it stems from (`ieql.training.fast.accurate`): none
        for what other trainings found, several for a mean of equations.
    parts : tuple of (str, Expression)
        What was learned of a known form (`ieql.equations.form`): its parts, with their inputs.
    members : tuple of (str, Candidate)
        The same structure with the constants of each device, by its name; empty if there is one.
    is_step : bool
        Whether it lacks an input that the prior requires (`ieql.rules`): other equations may be
        grown from it, but it is not shown.
    """

    expression: Expression
    complexity: float
    n_parameters: int
    rmse_train: float
    rmse_validation: float
    rmse_extrapolation: float = math.nan
    standard_errors: tuple[float, ...] | None = None
    precise: Expression | None = None
    proved: bool | None = None
    limits: Mapping[str, bool | None] = field(default_factory=dict, hash=False)
    excess: float = math.nan
    wave_cost: float = 0.0
    evidence: float = math.inf
    tails: float = 0.0
    dependence: float = 0.0
    band: PredictionBand | None = None
    ambiguity: float = 0.0
    saved: float = 0.0
    is_taught: bool = False
    lines: tuple[int, ...] = ()
    parts: tuple[tuple[str, Expression], ...] = ()
    members: tuple[tuple[str, Candidate], ...] = ()
    is_step: bool = False

    @property
    def rmse_rows(self) -> float:
        """The validation error that the rows show: without what the choice of a structure adds."""
        if self.ambiguity == 0.0:
            return self.rmse_validation
        return math.sqrt(max(self.rmse_validation**2 - self.ambiguity**2, 0.0))

    def equation(self, precise: bool = False) -> Expression:
        """The equation as it is shown or, if `precise`, with all digits of its constants."""
        return self.precise if precise and self.precise is not None else self.expression

    def errors_of(self, equation: Expression) -> tuple[float, ...] | None:
        """Standard errors of the constants of the equation, as it is shown or with all digits.

        None if they are not known. NaN for one that is shown as exactly 1 and has further digits.
        """
        errors = self.standard_errors
        if errors is None or equation == self.expression:
            return errors
        if equation.skeleton != self.expression.skeleton:
            return None
        from ieql.equations.program import free_constants

        free = set(free_constants(equation).tolist())
        return tuple(
            math.nan if error == 0.0 and at in free else error for at, error in enumerate(errors)
        )

    def to_form(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers; a number that is not finite becomes None."""
        return {
            "expression": self.expression.to_dict(),
            "complexity": self.complexity,
            "n_parameters": self.n_parameters,
            **{name: _finite_or_none(getattr(self, name)) for name in ERRORS},
            "standard_errors": None
            if self.standard_errors is None
            else [_finite_or_none(e) for e in self.standard_errors],
            "precise": None if self.precise is None else self.precise.to_dict(),
            "proved": self.proved,
            "limits": dict(self.limits),
            "excess": _finite_or_none(self.excess),
            "wave_cost": self.wave_cost,
            "evidence": _finite_or_none(self.evidence),
            "tails": self.tails,
            "dependence": self.dependence,
            "band": None if self.band is None else self.band.to_form(),
            "ambiguity": self.ambiguity,
            "saved": self.saved,
            "is_taught": self.is_taught,
            "lines": list(self.lines),
            "parts": [[label, e.to_dict()] for label, e in self.parts],
            **({"members": [[n, c.to_form()] for n, c in self.members]} if self.members else {}),
            **({"is_step": True} if self.is_step else {}),
        }

    @classmethod
    def from_form(cls, form: Mapping[str, Any], custom: Mapping[str, Unit]) -> Candidate:
        """The inverse of `to_form`; `custom` are the user's own units, by name."""
        from ieql.equations.expression import Expression
        from ieql.equations.prediction_band import PredictionBand

        errors = {name: math.nan if form[name] is None else float(form[name]) for name in ERRORS}
        stored, precise, proved = form["standard_errors"], form.get("precise"), form.get("proved")
        if proved is not None and not isinstance(proved, bool):
            raise IeqlError("'proved' of an equation must be true, false or null.")
        limits = form.get("limits", {})
        if not all(holds is None or isinstance(holds, bool) for holds in limits.values()):
            raise IeqlError("'limits' of an equation must each be true, false or null.")
        excess, evidence = form.get("excess"), form.get("evidence")
        equation = Expression.from_dict(form["expression"], custom)
        all_digits = None if precise is None else Expression.from_dict(precise, custom)
        band = form.get("band")
        return cls(
            expression=equation,
            complexity=float(form["complexity"]),
            n_parameters=int(form["n_parameters"]),
            standard_errors=None
            if stored is None
            else tuple(math.nan if e is None else float(e) for e in stored),
            precise=all_digits,
            proved=proved,
            limits={str(text): holds for text, holds in limits.items()},
            excess=math.nan if excess is None else float(excess),
            wave_cost=float(form.get("wave_cost", 0.0)),
            evidence=math.inf if evidence is None else float(evidence),
            tails=float(form.get("tails", 0.0)),
            dependence=float(form.get("dependence", 0.0)),
            band=None if band is None else PredictionBand.from_form(band, all_digits or equation),
            ambiguity=float(form.get("ambiguity", 0.0)),
            saved=float(form.get("saved", 0.0)),
            is_taught=bool(form.get("is_taught", False)),
            lines=tuple(int(k) for k in form.get("lines", ())),
            parts=tuple(
                (str(label), Expression.from_dict(e, custom)) for label, e in form.get("parts", ())
            ),
            members=tuple((str(n), cls.from_form(c, custom)) for n, c in form.get("members", ())),
            is_step=bool(form.get("is_step", False)),
            **errors,
        )

    @cached_property
    def n_constants(self) -> int:
        """Number of fitted constants: the weights and offsets that a fit may change, but for 1.

        Those that were found to be of one size, as in a - a·exp(-k t), are one.

        `n_parameters` counts weights alone, as the paper does, and a weight of 1, too.
        """
        return len(np.unique(self._sizes))

    @property
    def n_fitted(self) -> int:
        """The same without the exponents that were set to simple numbers, like 2/3."""
        return len(np.unique(self._sizes[~self._is_set]))

    @property
    def n_explained(self) -> int:
        """Number of constants that are not fitted: simple exponents, or others once more."""
        return len(self._sizes) - self.n_fitted

    @cached_property
    def _places(self) -> list[int]:
        """Where the constants stand that a fit may change, but for 1."""
        from ieql.equations.program import free_constants

        shown = self.expression.constants()
        return [int(t) for t in free_constants(self.expression) if abs(shown[t]) != 1.0]

    @cached_property
    def _sizes(self) -> Values:
        """Sizes of these constants."""
        shown, precise = self.expression.constants(), self.equation(precise=True).constants()
        # With all digits, where they are known: rounded constants may be equal by chance.
        return np.abs(precise if len(precise) == len(shown) else shown)[self._places]

    @cached_property
    def _is_set(self) -> NDArray[np.bool_]:
        """Which of these are exponents that were set; none before an equation is finished."""
        precise = self.precise
        if precise is None or precise.skeleton != self.expression.skeleton:
            return np.zeros(len(self._sizes), dtype=bool)
        from ieql.equations.simple_constants import simple_exponents

        simple = simple_exponents(precise)
        return np.array([place in simple for place in self._places], dtype=bool)

    @property
    def goes_too_far(self) -> bool:
        """Whether it goes far beyond anything measured, somewhere in the domain."""
        return self.excess > TOO_FAR


def description_length(
    n_rows: float, unexplained: float, n_constants: int, complexity: float
) -> float:
    """Twice the nats that it takes to tell the rows, the constants and the structure.

    The first two are those of `ieql.equations.description`, where the parameters are explained;
    each connection costs 3.4, and that there is any 10.
    """
    structure = CONNECTION * complexity + (LAW if complexity > 0.0 else 0.0)
    return description_of_rows(n_rows, unexplained, n_constants) + structure


def _finite_or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


Objectives = tuple[float, float, float]


class Front:
    """The Pareto set: candidates of which none is beaten in every respect by another.

    The objectives are complexity, validation error and, where it is known, extrapolation error.
    A candidate without a finite extrapolation error counts as the worst in that one respect, so
    that without extrapolation data two objectives remain, and so that the front's objectives never
    depend on the order in which candidates were added.

    Parameters
    ----------
    candidates : iterable of Candidate
        Candidates to start with.
    outside : bool
        Whether extrapolation errors count.
    """

    def __init__(self, candidates: Iterable[Candidate] = (), outside: bool = True) -> None:
        self._members: list[Candidate] = []
        self._outside = outside
        self.merge(candidates)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The members of the front, the simplest first."""
        return tuple(self._members)

    def add(self, candidate: Candidate) -> bool:
        """Add `candidate` unless a member is as good; drop those it beats. True if it entered.

        Of equally good candidates the first one stays. A candidate whose train or validation error
        is not finite never enters.
        """
        new = self._objectives(candidate)
        if not math.isfinite(candidate.rmse_train) or not self._accepts(new):
            return False
        self._members = [old for old in self._members if not _as_good(new, self._objectives(old))]
        self._members.append(candidate)
        self._members.sort(key=self._objectives)
        return True

    def clear(self) -> None:
        """Forget all members."""
        self._members = []

    def merge(self, other: Iterable[Candidate]) -> bool:
        """Add every candidate of `other`, a front or any other iterable; True if one entered."""
        entered = [self.add(candidate) for candidate in other]
        return any(entered)

    def would_accept(
        self, complexity: float, rmse_validation: float, rmse_extrapolation: float = math.nan
    ) -> bool:
        """Tell whether a candidate with these objectives would enter."""
        return self._accepts(self._completed(complexity, rmse_validation, rmse_extrapolation))

    def _objectives(self, candidate: Candidate) -> Objectives:
        return self._completed(
            candidate.complexity, candidate.rmse_validation, candidate.rmse_extrapolation
        )

    def _completed(self, complexity: float, validation: float, outside: float) -> Objectives:
        is_known = self._outside and math.isfinite(outside)
        return complexity, validation, outside if is_known else math.inf

    def _accepts(self, new: Objectives) -> bool:
        complexity, rmse_validation, _ = new
        if not (math.isfinite(complexity) and math.isfinite(rmse_validation)):
            return False
        return not any(_as_good(self._objectives(old), new) for old in self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def __repr__(self) -> str:
        return f"<Front of {len(self)} candidates>"


def thinned(
    candidates: Iterable[Candidate], tolerance: float = 0.01, tolerance_extrapolation: float = 0.1
) -> list[Candidate]:
    """Leave out what is hardly better than something simpler.

    A candidate stays if, against every simpler one that stays, its validation error or, where
    there is one, its extrapolation error is lower by more than the tolerance. The extrapolation
    error comes from a few dozen points, of which a tenth is well within chance. Of equally complex
    ones the first counts as the simplest: sort them, or give a `Front`, which is.
    """
    kept: list[Candidate] = []
    for c in sorted(candidates, key=lambda c: c.complexity):
        if all(
            c.rmse_validation < (1.0 - tolerance) * k.rmse_validation
            or c.rmse_extrapolation < (1.0 - tolerance_extrapolation) * k.rmse_extrapolation
            for k in kept
        ):
            kept.append(c)
    return kept


def _as_good(a: Objectives, b: Objectives) -> bool:
    """Tell whether `a` is at least as good as `b` in every respect."""
    return a[0] <= b[0] and a[1] <= b[1] and a[2] <= b[2]


@dataclass(frozen=True)
class Context:
    """What a criterion may go by, beside the candidates themselves.

    Parameters
    ----------
    mean_error, mean_error_extrapolation : float, optional
        Root mean squared error of the train mean as a predictor, on the validation and on the
        extrapolation points; None does not clip.
    largest_complexity : float, optional
        Complexity of the most complex equation of the experiment. The paper normalises over all
        equations that were found; where the candidates are only the front, this keeps the scale.
    n_rows : (int, int)
        Number of training and of validation rows. Where none was kept back, because all rows
        predict each other, the second is 0.
    literal : bool
        Follow the paper to the letter: neither leave out nor clip before normalising.
    """

    mean_error: float | None = None
    mean_error_extrapolation: float | None = None
    largest_complexity: float | None = None
    n_rows: tuple[int, int] = (1000, 100)
    literal: bool = False


Values = NDArray[np.float64]


@dataclass(frozen=True)
class Need:
    """Something that not every fit has, and without which a criterion cannot select.

    Parameters
    ----------
    what : str
        Its name in the message where it is missing: "labelled points outside the data".
    remedy : str
        What to do about it, as in "give X_extrapolation and y_extrapolation".
    met_by : callable
        Whether the candidates show that it was there.
    """

    what: str
    remedy: str
    met_by: Callable[[Sequence[Candidate]], bool]


@dataclass(frozen=True)
class Criterion:
    """A way to select one equation from the front.

    Parameters
    ----------
    name : str
        Its name, as in ``selection="MDL"``.
    takes : str
        The end of the sentence "It selects ...", for the help, the report and messages.
    values : callable
        From the candidates and a `Context` to a number for each: the least is selected, and of
        equals the simplest. A number that is not finite is never selected.
    needs : tuple of Need
        What it cannot do without.
    is_error_alone : bool
        Whether the validation error alone decides, whatever the size: then trainers may go on to
        hundreds of constants.
    """

    name: str
    takes: str
    values: Callable[[Sequence[Candidate], Context], Values]
    needs: tuple[Need, ...] = ()
    is_error_alone: bool = False

    def lacking(self, need: Need) -> str:
        """The message where something that it needs is missing."""
        return f"The criterion {self.name} needs {need.what}: {need.remedy}, or choose {DEFAULT}."

    def scores(self, candidates: Sequence[Candidate], context: Context) -> Values:
        """Return its value for each candidate; infinity where it has none."""
        if not candidates:
            raise IeqlError("There is no candidate to select from; search longer.")
        for need in self.needs:
            if not need.met_by(candidates):
                raise IeqlError(self.lacking(need))
        values = np.asarray(self.values(candidates, context), dtype=np.float64)
        if values.shape != (len(candidates),):
            raise IeqlError(
                f"The criterion {self.name} gives {values.size} values for {len(candidates)} "
                "candidates; it has to give one for each."
            )
        values = np.where(np.isfinite(values), values, np.inf)
        if not np.isfinite(values).any():
            raise IeqlError(
                f"None of the {len(candidates)} candidates has finite values for {self.name}, so "
                "none can be selected; choose another criterion or search longer."
            )
        return values

    def select(self, candidates: Sequence[Candidate], context: Context) -> int:
        """Return the index of the candidate with the least value; of equals the simplest."""
        values = self.scores(candidates, context)
        complexity = np.array([candidate.complexity for candidate in candidates])
        return int(np.lexsort((complexity, values))[0])


def select(
    candidates: Sequence[Candidate],
    criterion: str,
    *,
    mean_error: float | None = None,
    mean_error_extrapolation: float | None = None,
    largest_complexity: float | None = None,
    n_rows: tuple[int, int] | None = None,
    literal: bool = False,
) -> int:
    """Return the index of the candidate with the least criterion value; of equals the simplest.

    See `scores` for the parameters.
    """
    context = Context(
        mean_error, mean_error_extrapolation, largest_complexity, n_rows or (1000, 100), literal
    )
    return find_criterion(criterion).select(candidates, context)


def scores(
    candidates: Sequence[Candidate],
    criterion: str,
    *,
    mean_error: float | None = None,
    mean_error_extrapolation: float | None = None,
    largest_complexity: float | None = None,
    n_rows: tuple[int, int] | None = None,
    literal: bool = False,
) -> Values:
    """Return the criterion's value for each candidate; infinity where it has none.

    The criteria of the paper's equation "selection_criteria", with v_int and v_ex the validation
    and extrapolation errors and s the complexity, each min-max normalised over the candidates::

        V_int     v_int²
        V_int-S   v_int² + s²
        V_int&ex  v_int² + v_ex²

    And one of ours, which needs no scale: the description length of the data,

        MDL       N ln(N u/(N - p)) + p ln max(1, F) + 3.4 s + 10

    where u is the part of the variance that is left unexplained on all N rows, train and
    validation, p the number of fitted constants (an exponent that is set to a simple number, or a
    constant that is another once more, costs 3.4 instead), and F = (1 - u)(N - p)/(u p): what the
    residuals cost, plus the constants, the more the better the rows fix them
    (`ieql.equations.description`), plus for each connection its choice; the 10 are for a law that
    is more than a constant, less what ranks tell of there being one (`ieql.data.dependence`). An
    equation that somewhere in the domain goes more than 100 ranges of y away from the measured
    values pays 20 more: what looks like a pole is
    believed only if the data ask for it; one that is merely not proved to be safe pays nothing. And
    each wave pays 6, and 12 if the rows see less than half a turn of it, unless the prior makes
    waves cheaper than all other units. Where noise with heavy tails (Student's, three degrees of
    freedom) tells the residuals better than normal noise, it counts: a law need not run through the
    rows far off. A law that would not be worth its price if noise had heavy tails,
    because all it explains are single rows far off, counts as if it had. Of units that the
    equations of several outputs share, each pays its part.

    Taken literally, one wild error flattens all the others to nearly zero. Therefore candidates
    with a quantity that is not finite are left out, and errors are clipped at that of the mean
    predictor (an equation worse than the mean is of no use, however bad it is) before normalising;
    and if they span less than a tenth of that error, they are scaled by that tenth.

    Parameters
    ----------
    candidates : sequence of Candidate
        All candidates of one experiment; the normalisation depends on them.
    criterion : str
        One of `CRITERIA`.
    mean_error, mean_error_extrapolation, largest_complexity, n_rows, literal
        As in `Context`.
    """
    context = Context(
        mean_error, mean_error_extrapolation, largest_complexity, n_rows or (1000, 100), literal
    )
    return find_criterion(criterion).scores(candidates, context)


def find_criterion(name: str) -> Criterion:
    """Return the criterion of this name; an `IeqlError` names the nearest if there is none."""
    known = isinstance(name, str)  # whatever else a caller gives, a list for one, has no hash
    if known and name not in CRITERIA:
        load_plugins()
    if not known or name not in CRITERIA:
        raise IeqlError(
            f"There is no selection criterion {shown(name)}; the choices are {', '.join(CRITERIA)}."
            f"{nearest(str(name), CRITERIA)}"
        )
    return CRITERIA[name]


def register_criterion(criterion: Criterion) -> None:
    """Add a criterion, so that ``selection=`` and ``--select`` know its name.

    Parameters
    ----------
    criterion : Criterion
        With a name that is still free.

    Examples
    --------
    >>> from ieql.selection import Criterion, register_criterion
    >>> def training_errors(candidates, context):
    ...     return [candidate.rmse_train for candidate in candidates]
    >>> criterion = Criterion("train", "the least training error", training_errors)
    >>> register_criterion(criterion)  # doctest: +SKIP
    """
    if criterion.name in CRITERIA:
        raise IeqlError(
            f"There is already a selection criterion {criterion.name!r}; choose another name."
        )
    _CRITERIA[criterion.name] = criterion


def _normalised_squares(**terms: str | None) -> Callable[[Sequence[Candidate], Context], Values]:
    """Sum of squares of quantities, each scaled to [0, 1]: the paper's criteria.

    Each term is named by the candidate's attribute, and has the name of the context's value at
    which it is clipped.
    """

    def values(candidates: Sequence[Candidate], context: Context) -> Values:
        rows = np.array([[getattr(c, name) for name in terms] for c in candidates], np.float64)
        kept = np.full(len(rows), True) if context.literal else np.isfinite(rows).all(axis=1)
        result = np.where(kept, 0.0, np.inf)
        for (name, bound), term in zip(terms.items(), rows[kept].T, strict=True):
            limit = getattr(context, bound) if bound else None
            largest = context.largest_complexity if name == "complexity" else None
            if context.literal or limit is None:
                result[kept] += _normalised(term, largest) ** 2
            else:
                least_span = LEAST_SPAN * limit
                result[kept] += _normalised(np.fmin(term, limit), largest, least_span) ** 2
        return result

    return values


def _description_lengths(candidates: Sequence[Candidate], context: Context) -> Values:
    n_train, n_validation = map(float, context.n_rows)
    n = n_train + n_validation
    values = []
    with np.errstate(over="ignore"):
        errors = np.array([(c.rmse_train, c.rmse_rows) for c in candidates]) ** 2
    train, validation = errors.T
    if n_validation:
        mse = (n_train * train + n_validation * validation) / n
    else:
        mse = np.maximum(train, validation / UNPREDICTED**2)
    variance = np.max(mse, where=np.isfinite(mse), initial=0.0)
    if context.mean_error is not None:
        variance = context.mean_error**2
    for c, error in zip(candidates, mse.tolist(), strict=True):
        unexplained = error / max(variance, np.finfo(np.float64).tiny) + ROUNDING**2
        length = math.inf
        if unexplained < math.inf:
            unexplained *= math.exp(-max(c.tails - TAILS_COST, 0.0) / n)
            length = description_length(n, unexplained, c.n_fitted, c.complexity)
            if c.complexity > 0.0:
                length -= min(c.dependence, LAW)
            price = length - n * math.log(unexplained)
            if price > c.evidence:
                length = max(length, price - c.evidence)
        # What a constant is, if it is not fitted, has to be said, too: 2/3, or the a of
        # a - a·exp(-k t) once more.
        length += CONNECTION * c.n_explained
        values.append(length + FAR_COST * c.goes_too_far + c.wave_cost - c.saved)
    # Finite whatever the errors: the search asks at every moment, and has to get an answer.
    finite = np.isfinite(values)
    return np.where(finite, values, np.finfo(np.float64).max)


def _normalised(values: Values, upper: float | None = None, least_span: float = 0.0) -> Values:
    """Return `values` mapped to [0, 1] by their least and largest; all 0 where they are equal.

    The largest is at least `upper`, if given, and the span between them at least `least_span`.

    An infinite value, met in the literal form only, becomes NaN and the finite ones become 0.
    """
    if values.size == 0:
        return values
    least, largest = np.fmin.reduce(values), np.fmax.reduce(values)
    if upper is not None:
        largest = max(largest, upper)
    if least == largest and np.isfinite(largest):
        return np.where(np.isnan(values), np.nan, 0.0)
    with np.errstate(invalid="ignore"):
        result: Values = (values - least) / max(largest - least, least_span)
    return result


EXTRAPOLATION = Need(
    "labelled points outside the data",
    "give X_extrapolation and y_extrapolation",
    lambda candidates: not all(math.isnan(c.rmse_extrapolation) for c in candidates),
)
"""Points for which the candidates' extrapolation error is known."""

DEFAULT = "MDL"
"""The criterion that needs nothing and is taken where none is named."""

_CRITERIA: dict[str, Criterion] = {}
CRITERIA: Mapping[str, Criterion] = MappingProxyType(_CRITERIA)
"""The criteria by name; `register_criterion` adds one."""

for _criterion in (
    Criterion(
        "MDL",
        "the shortest description of the data: error of all rows against complexity",
        _description_lengths,
    ),
    Criterion(
        "V_int",
        "the smallest validation error",
        _normalised_squares(rmse_validation="mean_error"),
        is_error_alone=True,
    ),
    Criterion(
        "V_int-S",
        "the smallest sum of squared validation error and complexity, each scaled to [0, 1]",
        _normalised_squares(rmse_validation="mean_error", complexity=None),
    ),
    Criterion(
        "V_int&ex",
        "the smallest error inside and outside the data",
        _normalised_squares(
            rmse_validation="mean_error", rmse_extrapolation="mean_error_extrapolation"
        ),
        needs=(EXTRAPOLATION,),
    ),
):
    register_criterion(_criterion)
