"""The parameters of a fit, declared once.

`FitOptions` is the list of them, with default, check, help, and whether a run may continue with
another value. The estimator inherits it, the command line makes its options of it, and the run
folder, the model's file and the report read from it what they store and show.

Nothing heavy is imported to list them: ``ieql --help`` does that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import Field, asdict, dataclass, field, fields, is_dataclass
from enum import Enum
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from ieql.equations.roles import ROLES
from ieql.errors import IeqlError, nearest, shown

if TYPE_CHECKING:
    from ieql.prior import Prior
    from ieql.training.paper.settings import PaperSettings
    from ieql.training.trainers import Trainer

__all__ = [
    "NOT_GIVEN",
    "FitOptions",
    "Flag",
    "Option",
    "Resume",
    "checked",
    "default_of",
    "documentation",
    "from_stored",
    "is_whole",
    "listed",
    "of_old",
    "options",
    "parameters",
    "plain_settings",
    "roles_of",
    "seed_number",
    "seed_of",
    "stored",
]

LOSSES = ("auto", "squared", "huber", "absolute", "relative")
AUTO, SHARED, OWN = GROUP_CONSTANTS = ("auto", "shared", "own")
MOST_GUESSES = 100


class _NotGivenType(Enum):
    """Its one member stands for what was not given, where None means something."""

    NOT_GIVEN = None


NOT_GIVEN = _NotGivenType.NOT_GIVEN


class Resume(Enum):
    """What becomes of an option when a run is resumed."""

    FIXED = "it must be the same: another value would change what has been found"
    KEPT = "it may be another; as in the run if it is not given"
    ANEW = "it may be another; its default if it is not given"


@dataclass(frozen=True)
class Flag:
    """How an option is called on the command line.

    Attributes
    ----------
    name : str
        With its dashes.
    help : str or callable
        One sentence; a callable that gives it where it lists what has been registered.
    type : type
        What its text is read as.
    metavar : str
        Stands for the value in the help.
    least : float, optional
        The least value.
    default : object, optional
        If it is another one than in Python.
    """

    name: str
    help: str | Callable[[], str]
    type: type
    metavar: str
    least: float | None = None
    default: Any = NOT_GIVEN


@dataclass(frozen=True)
class Option:
    """All that is known of a parameter besides its name, type and default.

    Attributes
    ----------
    kind : str
        Its type and default in words, for the documentation.
    help : str or callable
        What it does, for the documentation; a callable where it lists what has been registered.
    check : callable
        Gets name and value; returns the value in plain types, or raises an `IeqlError`.
    resume : Resume
        Whether a run may continue with another value.
    flag : Flag, optional
        How it is given on the command line; None if not, or not as it is.
    stored : bool
        Whether a saved model holds it among its parameters.
    listed : bool
        Whether the report lists it.
    before : object, optional
        What fits did whose files are older than the option, if it is not the default.
    """

    kind: str
    help: str | Callable[[], str]
    check: Callable[[str, Any], Any]
    resume: Resume = Resume.FIXED
    flag: Flag | None = None
    stored: bool = True
    listed: bool = True
    before: Any = NOT_GIVEN


def _option(*args: Any, **more: Any) -> dict[str, Any]:
    return {"option": Option(*args, **more)}


# --- checks ------------------------------------------------------------------------------------


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, of Python or NumPy; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a number of Python or NumPy."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _prior(name: str, value: Any) -> Prior:
    from ieql.prior import Prior

    return Prior.of(value)


def _trainer(name: str, value: Any) -> Any:
    from ieql.training.registry import trainer_of

    trainer_of(value)
    return dict(value) if isinstance(value, Mapping) else value


def _count(name: str, value: Any) -> int | None:
    if value is not None and (not is_whole(value) or value < 1):
        raise IeqlError(f"{name} must be None or a whole number of at least 1, not {value!r}.")
    return None if value is None else int(value)


def _positive(name: str, value: Any) -> float | None:
    if value is not None and not (is_number(value) and 0 < value < float("inf")):
        raise IeqlError(f"{name} must be None or a positive number, not {value!r}.")
    return None if value is None else float(value)


def _fraction(name: str, value: Any) -> float:
    if not (is_number(value) and 0 < value <= 0.9):
        raise IeqlError(f"{name} must lie between 0 and 0.9, not {value!r}.")
    return float(value)


def _jobs(name: str, value: Any) -> int | None:
    if value is not None and (not is_whole(value) or value == 0):
        raise IeqlError(
            f"{name} must be None or a whole number other than 0 (-1: one process per core), not "
            f"{value!r}."
        )
    return None if value is None else int(value)


def _selection(name: str, value: Any) -> str:
    from ieql.selection import find_criterion

    return find_criterion(value).name


def _texts(name: str, value: Any) -> list[str]:
    given = () if value is None else value
    if not isinstance(given, list | tuple) or not all(isinstance(text, str) for text in given):
        raise IeqlError(f"{name} must be a list of equations as texts, not {shown(value)}.")
    if len(given) > MOST_GUESSES:
        raise IeqlError(f"{name} has {len(given)} equations; at most {MOST_GUESSES} are taken.")
    return list(given)


def _columns(name: str, value: Any) -> list[str]:
    given = () if value is None else value
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list | tuple) or not all(isinstance(text, str) for text in given):
        raise IeqlError(f"{name} must be a list of names of columns, not {shown(value)}.")
    return list(dict.fromkeys(given))


def _form(name: str, value: Any) -> str | dict[str, Any] | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping) and isinstance(value.get("equation"), str):
        from ieql.prior import Prior

        own = {k: Prior.of(v).to_dict() for k, v in value.items() if k != "equation"}
        return {"equation": value["equation"], **own}
    raise IeqlError(
        f"{name} must be a text like 'a*f(x) + g(z)', or a mapping with such a text as 'equation' "
        f"and a prior for some of its parts, not {shown(value)}."
    )


def _loss(name: str, value: Any) -> str:
    if not isinstance(value, str) or value not in LOSSES:
        raise IeqlError(
            f"There is no loss {value!r}; the choices are {', '.join(LOSSES)}."
            f"{nearest(str(value), LOSSES)}"
        )
    return value


def _group_constants(name: str, value: Any) -> str:
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise IeqlError(f"{name} must be a word or a list of words, not {shown(value)}.")
    words = [word.strip() for word in words]
    if len(words) == 1 and words[0] in GROUP_CONSTANTS:
        return words[0]
    wrong = [word for word in words if word not in ROLES]
    if wrong or not words:
        hint = nearest(wrong[0], (*GROUP_CONSTANTS, *ROLES)) if wrong else ""
        raise IeqlError(
            f"{name} is {shown(value)}; the choices are {', '.join(GROUP_CONSTANTS)}, or one or "
            f"more of {', '.join(ROLES)}.{hint}"
        )
    return ",".join(role for role in ROLES if role in words)


def roles_of(group_constants: str) -> Collection[str] | None:
    """The roles of the constants that differ between groups; None if the evidence says which."""
    if group_constants == AUTO:
        return None
    return {SHARED: (), OWN: ROLES}.get(group_constants, group_constants.split(","))


def _as_it_is(name: str, value: Any) -> Any:
    return value


# --- what has been registered, for help --------------------------------------------------------


def _presets() -> str:
    from ieql.prior import PRESETS

    return ", ".join(PRESETS)


def _criteria() -> str:
    from ieql.selection import CRITERIA

    return ", ".join(CRITERIA)


def _trainers() -> str:
    from ieql.training.registry import TRAINERS

    return "; ".join(f"{entry.name} {entry.sentence}" for entry in TRAINERS.values())


# --- the list ----------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class FitOptions:
    """What a fit is asked to do: the parameters of `IEQLRegressor`.

    Nothing is checked when it is made; `checked` does that. What can be done with options are
    functions beside it, as the estimator inherits its attributes.
    """

    prior: Any = field(
        default="plain",
        metadata=_option(
            'str, path, mapping or Prior, default "plain"',
            lambda: (
                f"Expert knowledge: a preset ({_presets()}), a YAML file, a mapping or a `Prior`. "
                "A file is read once, when `fit` begins."
            ),
            _prior,
            flag=Flag("--prior", lambda: f"Preset ({_presets()}) or YAML file.", str, "PRIOR"),
            stored=False,
            listed=False,
        ),
    )
    trainer: str | Mapping[str, Any] | PaperSettings | Trainer = field(
        default="fast",
        metadata=_option(
            'str, mapping, PaperSettings or Trainer, default "fast"',
            'How equations are learned: by the fast search ("fast"), or as in the paper, with '
            'settings for a laptop ("paper"), the published ones ("published": hours) or your own '
            "(`ieql.training.paper`).",
            _trainer,
            flag=Flag(
                "--trainer",
                lambda: f"How to train: {_trainers()}.",
                str,
                "NAME",
            ),
        ),
    )
    layers: int | None = field(
        default=None,
        metadata=_option(
            "int, optional",
            "Number of hidden layers; None leaves it to the search.",
            _count,
            flag=Flag("--layers", "Hidden layers.  [default: any]", int, "N", least=1),
        ),
    )
    copies: int | None = field(
        default=None,
        metadata=_option(
            "int, optional",
            "Number of copies of each unit in a layer; None leaves it to the search.",
            _count,
            flag=Flag(
                "--copies", "Copies of each unit per layer.  [default: any]", int, "N", least=1
            ),
        ),
    )
    domain: Any = field(
        default=None,
        metadata=_option(
            "mapping or sequence of (low, high), optional",
            "Where the equation must be safe; default: the range of the data.",
            _as_it_is,
            stored=False,
            listed=False,
        ),
    )
    output_bound: float | None = field(
        default=None,
        metadata=_option(
            "float, optional",
            "Largest absolute value the equation may take in the domain (the paper's bound B).",
            _positive,
            flag=Flag(
                "--output-bound",
                "Largest absolute value in the domain.  [default: any]",
                float,
                "B",
            ),
        ),
    )
    max_complexity: float | None = field(
        default=None,
        metadata=_option(
            "float, optional",
            "Largest complexity, by the costs of the prior, that an equation on the front may "
            "have.",
            _positive,
            flag=Flag(
                "--max-complexity",
                "Largest complexity, by the costs of the prior.  [default: any]",
                float,
                "C",
                least=0,
            ),
        ),
    )
    selection: str = field(
        default="MDL",
        metadata=_option(
            'str, default "MDL"',
            lambda: f"Criterion that picks the equation used by `predict`: {_criteria()}.",
            _selection,
            Resume.KEPT,
            flag=Flag(
                "--select",
                lambda: f"Criterion that picks the equation: {_criteria()}.",
                str,
                "CRITERION",
            ),
            listed=False,
        ),
    )
    validation_fraction: float = field(
        default=0.1,
        metadata=_option(
            "float, default 0.1",
            "Fraction of the rows kept for validation.",
            _fraction,
            flag=Flag(
                "--validation-fraction", "Fraction of the rows to validate with.", float, "SHARE"
            ),
        ),
    )
    loss: str = field(
        default="auto",
        metadata=_option(
            '{"auto", "squared", "huber", "absolute", "relative"}, default "auto"',
            'What errors cost. "auto": squares, but rows that lie far off are left out, and named; '
            '"squared": squares, of every row; "huber" and "absolute": every row is used, those '
            'far off count less; "relative": squares of errors relative to y.',
            _loss,
            flag=Flag(
                "--loss",
                "auto (squares; leaves out rows far off), squared, huber, absolute or relative.",
                str,
                "NAME",
            ),
            before="squared",
        ),
    )
    group_constants: str = field(
        default="auto",
        metadata=_option(
            '{"auto", "shared", "own"} or sequence of str, default "auto"',
            'Which constants differ between groups, if `fit` is given any: ``"auto"`` leaves it to '
            'the evidence of the rows, for each constant; ``"shared"`` says none, ``"own"`` all. '
            'Some of ``"offset"`` (added at the end), ``"factor"`` (before a term) and '
            '``"inside"`` (within a unit) say that those differ and no others.',
            _group_constants,
            flag=Flag(
                "--group-constants",
                "With --groups, which constants differ between groups: auto, shared or own, or "
                "some of offset, factor and inside, with commas between.",
                str,
                "NAMES",
            ),
            before="auto",
        ),
    )
    guesses: Sequence[str] = field(
        default=(),
        metadata=_option(
            "sequence of str, default ()",
            'Equations to start the search from, such as ``"a*speed**2 + b"``: names that are no '
            "inputs are constants, and are fitted. They need not be right.",
            _texts,
            flag=Flag(
                "--guess",
                "An equation to start from, like 'a*speed**2 + b'; repeat it for several.",
                list[str],
                "EQUATION",
                default=None,
            ),
        ),
    )
    categories: Sequence[str] = field(
        default=(),
        metadata=_option(
            "sequence of str, default ()",
            "Columns of X that hold words, or numbers that are only names, such as gears. Each "
            "of their levels is an input ``{gear: 3}``, which is 1 where a row has it, else 0, "
            "so that a level can have an offset or a factor of its own. X must be a DataFrame.",
            _columns,
            flag=Flag(
                "--categories",
                "Columns of words, or of numbers that are names: their levels get an offset or a "
                "factor each where that pays.",
                list[str],
                "NAMES",
                default=None,
            ),
            before=[],
        ),
    )
    form: Any = field(
        default=None,
        metadata=_option(
            "str or mapping, optional",
            'What is known of the equation, such as ``"U*I*f(T) + g(n, T)"``: functions that are '
            "no units are learned, names that are no inputs are constants. A mapping holds it as "
            "``equation`` and a prior of its own for any of the parts, by name.",
            _form,
            flag=Flag(
                "--form",
                "What is known of the equation, like 'U*I*f(T) + g(n, T)'; f and g are learned.",
                str,
                "EQUATION",
            ),
        ),
    )
    max_time: float | None = field(
        default=60.0,
        metadata=_option(
            "float or None, default 60",
            "Seconds that `fit` may take.",
            _positive,
            Resume.ANEW,
            flag=Flag("--time", "Seconds to search, at most.", float, "SECONDS", least=0),
        ),
    )
    min_time: float | None = field(
        default=None,
        metadata=_option(
            "float, optional",
            "Minimum seconds to search. Without it, the search ends by itself when what is left "
            "looks like noise or when nothing better has been found for a long time. With it, the "
            "search ends earlier only when the equations are exact, when `max_trainings` are "
            "done or when `max_time`, which must not be less, is up. When the paper's trainer is "
            "done with its models, it trains them again from other random starts.",
            _positive,
            Resume.ANEW,
            flag=Flag(
                "--at-least",
                "Seconds to search at least, unless an equation is exact.",
                float,
                "SECONDS",
                least=0,
            ),
        ),
    )
    max_trainings: int | None = field(
        default=None,
        metadata=_option(
            "int, optional",
            "Number of trainings per output; with it, and no time limit reached, the result "
            "depends on `random_state` alone.",
            _count,
            Resume.ANEW,
            flag=Flag(
                "--trainings",
                "Trainings, at most, including earlier ones; the seed then fixes the result.",
                int,
                "N",
                least=1,
            ),
        ),
    )
    n_jobs: int | None = field(
        default=-1,
        metadata=_option(
            "int, default -1",
            "Processes, as joblib counts them.",
            _jobs,
            Resume.ANEW,
            flag=Flag("--jobs", "Parallel processes; -1: one per core.", int, "N"),
        ),
    )
    random_state: Any = field(
        default=None,
        metadata=_option(
            "int, RandomState or None",
            "Fixes all random choices.",
            _as_it_is,
            flag=Flag("--seed", "Seed for everything random.", int, "N", least=0, default=0),
            stored=False,
            listed=False,
        ),
    )
    run_dir: str | os.PathLike[str] | None = field(
        default=None,
        metadata=_option(
            "path, optional",
            "Folder to which the run is written as it goes. If it holds a run on the same data "
            "and with the same settings, that run continues, with a new `max_time`.",
            _as_it_is,
            Resume.ANEW,
            stored=False,
            listed=False,
        ),
    )
    progress: bool = field(
        default=False,
        metadata=_option(
            "bool, default False",
            "Show the front as it grows, with the time left, in a terminal or a notebook; plain "
            "lines elsewhere.",
            _as_it_is,
            Resume.ANEW,
            listed=False,
        ),
    )


def checked(given: FitOptions) -> FitOptions:
    """A copy in which every value is checked and plain, and the prior is a `Prior`."""
    found = FitOptions(
        **{name: option.check(name, getattr(given, name)) for name, option in options().items()}
    )
    if found.max_time is None and found.max_trainings is None:
        raise IeqlError("Give max_time or max_trainings: without either, fit would not end.")
    if found.min_time is not None and found.min_time > (found.max_time or float("inf")):
        raise IeqlError(
            f"min_time (--at-least) is {found.min_time:g} s, but max_time (--time) is "
            f"{found.max_time:g} s; lower the one or raise the other."
        )
    return found


def seed_number(given: FitOptions) -> int | None:
    """The random state if it is a number."""
    return int(given.random_state) if is_whole(given.random_state) else None


def seed_of(random_state: Any) -> int:
    """The seed of everything that is drawn in a fit with this random state."""
    # Not at the top: a worker process that finishes equations would load it for seconds.
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


def parameters(given: FitOptions) -> dict[str, Any]:
    """All of them by name, as the estimator takes them."""
    return {name: getattr(given, name) for name in options()}


def stored(given: FitOptions) -> dict[str, Any]:
    """Those that a saved model holds, in JSON's own types."""
    return {name: _plain(getattr(given, name)) for name, o in options().items() if o.stored}


def listed(given: FitOptions) -> dict[str, Any]:
    """Those that the report lists."""
    return {name: getattr(given, name) for name, o in options().items() if o.listed}


def plain_settings(given: FitOptions) -> dict[str, Any]:
    """All of them in JSON's own types: what was asked, spelled out."""
    from ieql.prior import Prior
    from ieql.training.registry import trainer_of

    prior = Prior.of(given.prior)
    spelled_out = {
        "prior": None if prior.unregistered else prior.to_dict(),
        "trainer": trainer_of(given.trainer).settings,
        "random_state": seed_number(given),
        "run_dir": None,  # it is where the settings stand
    }
    return {
        name: spelled_out[name] if name in spelled_out else _plain(getattr(given, name))
        for name in options()
    }


def from_stored(form: Mapping[str, Any], prior: Any, domain: Any) -> FitOptions:
    """The options that a model was saved with; files older than an option do not tell it."""
    # Where a run is written is for its owner to say, not for a file that may be a stranger's.
    known = {n: form[n] for n, option in options().items() if option.stored and n in form}
    return FitOptions(**{**of_old(), **known, "prior": prior, "domain": domain})


def options() -> dict[str, Option]:
    """What is known of each parameter, by its name."""
    return {f.name: f.metadata["option"] for f in _fields()}


def default_of(name: str) -> Any:
    """The default of a parameter in Python."""
    return next(f.default for f in _fields() if f.name == name)


def of_old() -> dict[str, Any]:
    """What fits did whose files are older than an option."""
    return {name: o.before for name, o in options().items() if o.before is not NOT_GIVEN}


def documentation() -> str:
    """The section "Parameters" of the estimator's docstring, in numpydoc's form."""
    import textwrap

    lines = ["Parameters", "----------"]
    for name, option in options().items():
        lines.append(f"{name} : {option.kind}")
        help = option.help() if callable(option.help) else option.help
        lines += textwrap.wrap(help, 91, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def _fields() -> tuple[Field[Any], ...]:
    return fields(FitOptions)


def _plain(value: Any) -> Any:
    """A number of NumPy's as one of Python's, settings as a mapping."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if hasattr(value, "settings"):
        return value.settings  # a trainer
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value.item() if hasattr(value, "item") else value
