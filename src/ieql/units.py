"""The table of atomic units (paper, section "Architecture of the iEQL").

One row per unit holds everything the rest of the package needs to know of it: value, derivatives,
domain of each argument, complexity factor, what algebra may do with it, its code in the compiled
kernels, and its form in interval arithmetic, SymPy and the languages of the exports.
A test evaluates all columns on a grid with edge values, so that they cannot drift apart.

Other files look at a unit's traits, or compare it with a row by its name here (``unit is DIV``);
none spells a unit's name or code.

What is printed is what is computed: no unit is protected. Where a unit is undefined its value is
NaN, in NumPy, in the compiled kernels and in the exported C alike.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from ieql.errors import IeqlError, nearest
from ieql.plugins import load_plugins
from ieql.unit_intervals import (
    Interval,
    abs_interval,
    cos_interval,
    div_interval,
    exp_interval,
    gauss_interval,
    log_interval,
    logistic_at,
    mul_interval,
    power_interval,
    rising,
    signed_power_interval,
    sin_interval,
    square_interval,
)

__all__ = [
    "ABS",
    "ATAN",
    "COS",
    "CUSTOM_CODE",
    "DIV",
    "EVEN",
    "EXP",
    "GAUSS",
    "IDENTITY",
    "LOG",
    "LOGISTIC",
    "MACHINE_UNITS",
    "MAX",
    "MIN",
    "MUL",
    "ODD",
    "POWER",
    "REALS",
    "SIGNED_POWER",
    "SIN",
    "SQRT",
    "SQUARE",
    "STEP",
    "TANH",
    "UNITS",
    "Interval",
    "Unit",
    "is_taken",
    "known_units",
    "register_unit",
    "registered_unit",
    "relaxed_slope",
    "relaxed_value",
    "unit",
]

Array = NDArray[Any]
REALS: Interval = (-math.inf, math.inf)
POSITIVE: Interval = (0.0, math.inf)
CUSTOM_CODE = -1
"""The kernels' code of every user-defined unit; where its compiled functions are, they are told."""
EVEN, ODD = 1, -1
"""What becomes of a unit's value if the sign of its first argument is turned."""


@dataclass(frozen=True, eq=False, init=False)
class Unit:
    r"""An atomic function of one or two arguments.

    A user-defined unit is probed when it is made: its functions are called on points of its domain,
    and a wrong shape, a value that is not finite, or a derivative that disagrees with finite
    differences is refused with the reason. Functions that numba can compile run compiled, as those
    of the built-in units do, others in NumPy.

    Parameters
    ----------
    name : str
        How the unit is called in equations, priors and reports, e.g. ``"tanh"``.
    value : callable
        NumPy function of one or two arrays.
    derivatives : tuple of callables, or one callable for a unit of one argument
        Partial derivative with respect to each argument, with the arguments of `value`.
    domains : tuple of (low, high), optional
        The domain :math:`\mathbb{D}` of each argument inside which equations must keep it
        (section "Atomic Units with Singularities"); default: all real numbers.
    cost : float, default 1
        Complexity factor :math:`c_u` when the prior does not say otherwise.
    sympy : callable, optional
        Builds the SymPy form from SymPy arguments; default: an undefined function of that name.
    latex, c, python : str, optional
        Short for these entries of `templates`: C with ``math.h`` and for doubles, Python with NumPy
        as ``np``. Other programming languages and spreadsheets translate the form in C.
    interval : callable, optional
        Maps intervals of the arguments to an interval that holds all values, or None where the
        unit may be undefined. Default: nothing is known (all real numbers).
    templates : mapping from str to str, optional
        The unit in other languages, by the name of the export, with ``{0}`` and ``{1}`` for the
        arguments: ``{"c": "tanh({0})"}``. Every other brace is doubled.
    closed : bool, default False
        Whether the ends of the domains belong to them, as the zero does to that of the square root.
    powers : tuple of float, optional
        The exponents, where the unit is nothing but a product of powers of its arguments: a
        quotient has ``(1, -1)``. It has to be so for positive arguments only.
    period : float, optional
        The period of a periodic unit.
    parity : int, default 0
        `EVEN` or `ODD`, where the sign of the first argument does not matter or can be taken out.
    raises : bool, default False
        Whether the value is the first argument to the power of the last one, for positive ones: the
        last one is then a number that is fitted, and nothing may enter it.
    selects : bool, default False
        Whether the value always is one of the arguments, as it is with the least of them.
    sharp : bool, default False
        Whether there is a kink or a jump, where an argument is zero or, of those that select, where
        the arguments are equal: the search then tries where to put it.
    stand_in : Unit, optional
        A smooth unit that is trained in the place of one whose derivative is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from ieql import Unit
    >>> tanh = Unit("tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    >>> tanh.arity
    1
    """

    name: str
    value: Callable[..., Array]
    derivatives: tuple[Callable[..., Array], ...]
    domains: tuple[Interval, ...]
    cost: float
    sympy: Callable[..., Any] | None
    interval: Callable[..., Interval | None] | None
    templates: Mapping[str, str]
    closed: bool
    powers: tuple[float, ...]
    period: float | None
    parity: int
    raises: bool
    selects: bool
    sharp: bool
    stand_in: Unit | None = field(repr=False)
    limit: float = field(repr=False)
    """Argument beyond which the unit, relaxed, goes on as a straight line; see `relaxed_value`."""
    cross: Callable[[Sequence[Array], Sequence[Array]], Array] | None = field(repr=False)
    """What the straight line in the last argument adds to the slope of the first one."""
    code: int = field(repr=False)
    """Code of the unit in `ieql.equations.kernels`; all user-defined units share one."""

    def __init__(
        self,
        name: str,
        value: Callable[..., Any],
        derivatives: Callable[..., Any] | Sequence[Callable[..., Any]],
        domains: Sequence[Interval] = (),
        cost: float = 1.0,
        sympy: Callable[..., Any] | None = None,
        latex: str | None = None,
        c: str | None = None,
        interval: Callable[..., Interval | None] | None = None,
        python: str | None = None,
        templates: Mapping[str, str] | None = None,
        closed: bool = False,
        powers: Sequence[float] = (),
        period: float | None = None,
        parity: int = 0,
        raises: bool = False,
        selects: bool = False,
        sharp: bool = False,
        stand_in: Unit | None = None,
        limit: float = math.inf,
        cross: Callable[[Sequence[Array], Sequence[Array]], Array] | None = None,
        code: int = CUSTOM_CODE,
    ) -> None:
        given: Any = derivatives
        slopes = tuple(given) if isinstance(given, tuple | list) else (given,)
        try:
            pairs = tuple((float(a), float(b)) for a, b in domains or (REALS,) * len(slopes))
        except (TypeError, ValueError):
            raise IeqlError(
                f"The domains of unit {name!r} must be one pair (low, high) per argument, "
                f"like ((0, 1),), not {domains!r}."
            ) from None
        short = {"latex": latex, "c": c, "python": python}
        try:
            forms = {**(templates or {}), **{k: t for k, t in short.items() if t is not None}}
        except TypeError:
            raise IeqlError(
                f"The templates of unit {name!r} must be a mapping like {{'c': 'tanh({{0}})'}}, "
                f"not {templates!r}."
            ) from None
        own = {
            "name": name, "value": value, "derivatives": slopes, "domains": pairs, "cost": cost,
            "sympy": sympy, "interval": interval, "templates": MappingProxyType(forms),
            "closed": closed, "powers": tuple(powers), "period": period, "parity": parity,
            "raises": raises, "selects": selects, "sharp": sharp, "stand_in": stand_in,
            "limit": limit, "cross": cross, "code": code,
        }  # fmt: skip
        for column, entry in own.items():
            object.__setattr__(self, column, entry)
        if code == CUSTOM_CODE:
            from ieql.unit_probes import probe  # which knows this class

            probe(self)
        self._bear(os.urandom(16).hex())

    @property
    def arity(self) -> int:
        """Number of arguments."""
        return len(self.derivatives)

    @property
    def trained(self) -> Unit:
        """What a network is trained with: the unit itself, or what stands in for it."""
        return self if self.stand_in is None else self.stand_in

    @property
    def has_middle(self) -> bool:
        """Whether a unit of one argument does what it is for near one value of it.

        So does a kink, a step or a peak; not an exponential, a power or a wave.
        """
        if self.arity != 1 or self.domains != (REALS,):
            return False
        return self.sharp or not (self.powers or self.period is not None or self.limit < math.inf)

    @property
    def is_bounded_curve(self) -> bool:
        """Whether it has a middle and goes nowhere on either side, as saturations and peaks do."""
        if not self.has_middle or self.sharp or self.interval is None:
            return False
        bounds = self.to_interval((-1e300, 1e300))
        return bounds is not None and bounds[1] - bounds[0] < 1e100

    def takes_number(self, argument: int) -> bool:
        """Whether an argument is a fitted number, as an exponent is: nothing enters it."""
        return self.raises and argument == self.arity - 1

    @property
    def singular(self) -> tuple[int, ...]:
        """Indices of the arguments whose domain is bounded: the paper's singular units."""
        return tuple(i for i, d in enumerate(self.domains) if d != REALS)

    @property
    def is_custom(self) -> bool:
        """Whether the unit was defined by the user."""
        return self.code == CUSTOM_CODE

    def __call__(self, *args: Array) -> Array:
        """Value of the unit; NaN where it is undefined, never a warning."""
        with np.errstate(all="ignore"):
            return np.asarray(self.value(*args))

    def derivative(self, argument: int, *args: Array) -> Array:
        """Partial derivative with respect to one argument; NaN or infinite where undefined."""
        with np.errstate(all="ignore"):
            return np.asarray(self.derivatives[argument](*args))

    def to_sympy(self, *args: Any) -> Any:
        """SymPy expression of the unit applied to SymPy arguments."""
        if self.sympy is not None:
            return self.sympy(*args)
        import sympy

        return sympy.Function(self.name)(*args)

    def to_latex(self, *args: str) -> str:
        """LaTeX of the unit applied to LaTeX arguments."""
        if "latex" in self.templates:
            return self.templates["latex"].format(*args)
        name = self.name.replace("_", r"\_")
        return rf"\operatorname{{{name}}}\left({', '.join(args)}\right)"

    def template(self, dialect: str, language: str | None = None) -> str:
        """The unit in the language of an export; without one, a sentence says how to give it."""
        if dialect in self.templates:
            return self.templates[dialect]
        places = ", ".join(f"{{{i}}}" for i in range(self.arity))
        example = f"{self.name}({places})"
        given = (
            f"{dialect}={example!r}"
            if dialect in ("latex", "c", "python")
            else f"templates={{{dialect!r}: {example!r}}}"
        )
        raise IeqlError(
            f"The unit {self.name!r} has no form in {language or dialect}; define it with one, "
            f"such as Unit({self.name!r}, ..., {given})."
        )

    def to_interval(self, *args: Interval) -> Interval | None:
        """Interval that holds all values for arguments in `args`; None if it may be undefined."""
        for domain, (a, b) in zip(self.domains, args, strict=True):
            # As in the paper, the bound itself does not belong to an open domain.
            inside = (
                (domain[0] <= a and b <= domain[1])
                if self.closed
                else (_above(a, domain[0]) and _above(-b, -domain[1]))
            )
            if self.is_custom and not inside:
                return None
        return self.interval(*args) if self.interval is not None else REALS

    @property
    def content(self) -> tuple[object, ...]:
        """All columns, hashable: units with equal ones are the same to a prior."""
        columns = {k: getattr(self, k) for k in self.__dataclass_fields__}
        return tuple((columns | {"templates": frozenset(self.templates.items())}).values())

    def __reduce__(self) -> str | tuple[Any, ...]:
        # Built-in units are singletons: a pickled equation finds the table's own row again.
        if UNITS.get(self.name) is self:
            return unit, (self.name,)
        columns = {k: getattr(self, k) for k in self.__dataclass_fields__}
        return _rebuild, (columns | {"templates": dict(self.templates)}, vars(self)["_token"])

    def _bear(self, token: str) -> None:
        """Take on what tells a unit and its copies in other processes from all others."""
        object.__setattr__(self, "_token", token)
        _living[token] = self


_living: WeakValueDictionary[str, Unit] = WeakValueDictionary()
"""The units of this process: one that comes back from another, or comes twice, is the same."""


def _above(bound: float, limit: float) -> bool:
    return bound > limit or limit == -math.inf


def _rebuild(columns: dict[str, Any], token: str) -> Unit:
    found = _living.get(token)
    if found is None:
        found = Unit(**columns)
        found._bear(token)
    return found


def unit(name: str, custom: Mapping[str, Unit] | None = None) -> Unit:
    """Look a unit up by name: among `custom`, in the table, then among the registered ones.

    A unit that someone has registered goes before a unit of the table that is not taken.
    """
    found = (custom or {}).get(name) or (None if is_taken(name) else registered_unit(name))
    found = found or UNITS.get(name)
    if found is None:
        known = [*UNITS, *_REGISTERED, *(custom or {})]
        raise IeqlError(
            f"There is no unit {name!r}; known units are {', '.join(known)}.{nearest(name, known)}"
        )
    return found


def register_unit(unit: Unit) -> Unit:
    """Let a unit of one's own be found by its name, in priors, files of runs and saved models.

    A module that calls it may be a plugin (`ieql.plugins`); then the command line knows the unit,
    too. Without, a unit is handed to each `Prior` (``custom=``), and a saved model needs that prior
    to be loaded.

    Parameters
    ----------
    unit : Unit
        With a name that is still free.

    Returns
    -------
    Unit
        The same.
    """
    if is_taken(unit.name) or unit.name in _REGISTERED:
        raise IeqlError(f"There is already a unit {unit.name!r}; choose another name.")
    _REGISTERED[unit.name] = unit
    return unit


def known_units() -> dict[str, Unit]:
    """All units that can be found by their names: the table's, and those registered so far."""
    return {**UNITS, **_REGISTERED}


def is_taken(name: str) -> bool:
    """Whether a name stands for a unit wherever it appears: nobody can give it to another one.

    Those of `MACHINE_UNITS` are not taken: columns and units of one's own may be called min, step
    or power.
    """
    return name in UNITS and UNITS[name] not in MACHINE_UNITS


def registered_unit(name: str) -> Unit | None:
    """The unit that was registered by this name, if need be by a plugin; None if there is none."""
    if name not in _REGISTERED:
        load_plugins()
    return _REGISTERED.get(name)


_REGISTERED: dict[str, Unit] = {}


# --- relaxation --------------------------------------------------------------------------------


def relaxed_value(unit: Unit, z: Sequence[Array], relax: float) -> Array:
    """Value of a unit that goes on as a straight line close to its singularity.

    Where an argument comes closer than `relax` to the edge of its domain, and where it exceeds the
    unit's limit (that of exp), the unit is replaced by its tangent. As in the paper (equation
    "divergences_relaxation") a forbidden input does no harm during training; but the continuation
    has a slope, which second-order steps need, where the paper's is zero. With ``relax = 0`` the
    value is the honest one.

    Of a jump, what stands in for it is taken, `relax` wide: so a fit can see its edge.
    """
    if relax > 0.0 and unit.stand_in is not None:
        return unit.stand_in(z[0] / relax)
    if relax == 0.0 or not any(_is_relaxed(unit, a) for a in range(unit.arity)):
        return unit(*z)
    with np.errstate(all="ignore"):
        inside = _clipped(unit, z, relax)
        value = unit.value(*inside)
        for a, x in enumerate(z):
            if _is_relaxed(unit, a):
                value = value + unit.derivatives[a](*inside) * (x - inside[a])
    return value


def relaxed_slope(unit: Unit, argument: int, z: Sequence[Array], relax: float) -> Array:
    """Derivative of `relaxed_value` with respect to one argument."""
    if relax == 0.0:
        return unit.derivative(argument, *z)
    if unit.stand_in is not None:
        return unit.stand_in.derivative(0, z[0] / relax) / relax
    with np.errstate(all="ignore"):
        inside = _clipped(unit, z, relax)
        slope = unit.derivatives[argument](*inside)
        if unit.cross is not None and argument == 0:
            slope = slope + unit.cross(z, inside)
    return slope


def _is_relaxed(unit: Unit, argument: int) -> bool:
    return unit.limit < math.inf or unit.domains[argument] != REALS


def _clipped(unit: Unit, z: Sequence[Array], relax: float) -> list[Array]:
    clipped = []
    for a, x in enumerate(z):
        low, high = unit.domains[a][0] + relax, min(unit.domains[a][1] - relax, unit.limit)
        clipped.append(np.clip(x, low, high) if _is_relaxed(unit, a) else x)
    return clipped


# --- the table ---------------------------------------------------------------------------------


def _sympy(name: str) -> Callable[..., Any]:
    def build(*args: Any) -> Any:
        import sympy

        return getattr(sympy, name)(*args)

    return build


def _nonzero(b: Array) -> Array:
    return np.where(b == 0, np.nan, b)


def _log(z: Array) -> Array:
    return np.log(np.where(z > 0, z, np.nan))


EXP_LIMIT = 30.0
"""Exponent beyond which a relaxed exponential goes on as a straight line."""

IDENTITY = Unit(
    name="identity",
    value=lambda z: +z,
    derivatives=(np.ones_like,),
    sympy=lambda z: z,
    latex="{0}",
    c="({0})",
    python="+({0})",
    interval=lambda x: x,
    powers=(1.0,),
    parity=ODD,
    code=0,
)
COS = Unit(
    name="cos",
    value=np.cos,
    derivatives=(lambda z: -np.sin(z),),
    sympy=_sympy("cos"),
    latex=r"\cos\left({0}\right)",
    c="cos({0})",
    python="np.cos({0})",
    interval=cos_interval,
    period=2.0 * math.pi,
    parity=EVEN,
    code=1,
)
SIN = Unit(
    name="sin",
    value=np.sin,
    derivatives=(np.cos,),
    sympy=_sympy("sin"),
    latex=r"\sin\left({0}\right)",
    c="sin({0})",
    python="np.sin({0})",
    interval=sin_interval,
    period=2.0 * math.pi,
    parity=ODD,
    code=2,
)
EXP = Unit(
    name="exp",
    value=np.exp,
    derivatives=(np.exp,),
    sympy=_sympy("exp"),
    latex=r"\exp\left({0}\right)",
    c="exp({0})",
    python="np.exp({0})",
    interval=exp_interval,
    limit=EXP_LIMIT,
    code=3,
)
LOG = Unit(
    name="log",
    value=_log,
    derivatives=(lambda z: 1.0 / np.where(z > 0, z, np.nan),),
    domains=(POSITIVE,),
    sympy=_sympy("log"),
    latex=r"\log\left({0}\right)",
    c="((({0}) > 0.0) ? log({0}) : NAN)",
    python="np.log(np.where({0} > 0, {0}, np.nan))",
    templates={"excel": "LN({0})", "modelica": "log({0})"},
    interval=log_interval,
    code=4,
)
SQRT = Unit(
    name="sqrt",
    value=np.sqrt,
    derivatives=(lambda z: 0.5 / np.sqrt(z),),
    domains=(POSITIVE,),
    sympy=_sympy("sqrt"),
    latex=r"\sqrt{{{0}}}",
    c="sqrt({0})",
    python="np.sqrt({0})",
    templates={"mathml": "<msqrt>{0}</msqrt>"},
    interval=lambda x: (math.sqrt(x[0]), math.sqrt(x[1])) if x[0] >= 0 else None,
    closed=True,
    powers=(0.5,),
    code=5,
)
SQUARE = Unit(
    name="square",
    value=np.square,
    derivatives=(lambda z: 2.0 * z,),
    sympy=lambda z: z**2,
    latex=r"\left({0}\right)^{{2}}",
    c="(({0}) * ({0}))",
    python="np.square({0})",
    templates={"excel": "POWER({0},2)"},
    interval=square_interval,
    powers=(2.0,),
    parity=EVEN,
    code=6,
)
MUL = Unit(
    name="mul",
    value=np.multiply,
    derivatives=(lambda a, b: +b, lambda a, b: +a),
    sympy=lambda a, b: a * b,
    latex=r"\left({0}\right) \left({1}\right)",
    c="(({0}) * ({1}))",
    python="({0}) * ({1})",
    interval=mul_interval,
    powers=(1.0, 1.0),
    code=7,
)
DIV = Unit(
    name="div",
    # The learner keeps to the positive branch of the denominator and lets the numerator choose
    # the sign (section "Atomic Units with Singularities"); the value is defined on both.
    value=lambda a, b: a / _nonzero(b),
    derivatives=(
        lambda a, b: 1.0 / _nonzero(b),
        lambda a, b: -(a / _nonzero(b)) / b,
    ),
    domains=(REALS, POSITIVE),
    sympy=lambda a, b: a / b,
    latex=r"\frac{{{0}}}{{{1}}}",
    c="((({1}) == 0.0) ? NAN : (({0}) / ({1})))",
    python="({0}) / np.where({1} == 0, np.nan, {1})",
    templates={"excel": "(({0}) / ({1}))", "modelica": "(({0}) / ({1}))"},
    interval=div_interval,
    powers=(1.0, -1.0),
    # The straight line replaces 1/b by its tangent; the numerator multiplies it.
    cross=lambda z, inside: -(z[1] - inside[1]) / inside[1] ** 2,
    code=8,
)

# --- units of real machines --------------------------------------------------------------------


def _tanh_slope(z: Array) -> Array:
    # 1 - tanh² would be nothing but rounding where the curve is flat.
    decay = np.exp(-2.0 * np.abs(z))
    return 4.0 * decay / np.square(1.0 + decay)


def _logistic(z: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-z))


def _logistic_slope(z: Array) -> Array:
    decay = np.exp(-np.abs(z))
    return decay / np.square(1.0 + decay)


def _gauss(z: Array) -> Array:
    return np.exp(-np.square(z))


def _step(z: Array) -> Array:
    return np.where(z >= 0, 1.0, np.where(z < 0, 0.0, np.nan))


def _least_first(a: Array, b: Array) -> Array:
    """The slope of the least of two by the first: half of it where both are equal."""
    return np.where(a == b, 0.5, np.where(a < b, 1.0, 0.0))


def _power(z: Array, p: Array) -> Array:
    # NaN to the power of zero would be one, and so would be one to the power of NaN.
    return np.where((z > 0) & ~np.isnan(p), np.abs(z) ** p, np.nan)


def _power_slope(z: Array, p: Array) -> Array:
    return np.where((z > 0) & ~np.isnan(p), p * np.abs(z) ** (p - 1.0), np.nan)


def _signed_power(z: Array, p: Array) -> Array:
    return np.where(p > 0, np.copysign(np.abs(z) ** p, z), np.nan)


def _signed_power_slope(z: Array, p: Array) -> Array:
    # Infinite where a root crosses zero. There, as at a kink, the slope is set to that of neither
    # side: a single row at zero must not end a fit.
    slope = np.where((z == 0) & (p < 1), 0.0, p * np.abs(z) ** (p - 1.0))
    return np.where(p > 0, slope, np.nan)


def _times_log(power: Array, z: Array) -> Array:
    """A power times the logarithm of its base, which is zero where the power is."""
    return np.where(power == 0, power, power * np.log(np.where(z == 0, 1.0, np.abs(z))))


def _sympy_signed_power(z: Any, p: Any) -> Any:
    import sympy

    value = sympy.sign(z) * sympy.Abs(z) ** p
    return sympy.Piecewise((value, p > 0), (sympy.nan, True))


def _sympy_power(z: Any, p: Any) -> Any:
    import sympy

    return sympy.Piecewise((z**p, z > 0), (sympy.nan, True))


def _sympy_step(z: Any) -> Any:
    import sympy

    return sympy.Heaviside(z, 1)


TANH = Unit(
    name="tanh",
    value=np.tanh,
    derivatives=(_tanh_slope,),
    sympy=_sympy("tanh"),
    latex=r"\tanh\left({0}\right)",
    c="tanh({0})",
    python="np.tanh({0})",
    interval=rising(math.tanh),
    parity=ODD,
    code=9,
)
ATAN = Unit(
    name="atan",
    value=np.arctan,
    derivatives=(lambda z: 1.0 / (1.0 + np.square(z)),),
    sympy=_sympy("atan"),
    latex=r"\arctan\left({0}\right)",
    c="atan({0})",
    python="np.arctan({0})",
    interval=rising(math.atan),
    parity=ODD,
    code=10,
)
ABS = Unit(
    name="abs",
    value=np.abs,
    derivatives=(np.sign,),
    sympy=_sympy("Abs"),
    latex=r"\left|{0}\right|",
    c="fabs({0})",
    python="np.abs({0})",
    templates={"mathml": "<mrow><mo>|</mo>{0}<mo>|</mo></mrow>"},
    interval=abs_interval,
    powers=(1.0,),
    parity=EVEN,
    sharp=True,
    code=11,
)
MIN = Unit(
    name="min",
    value=np.minimum,
    derivatives=(lambda a, b: _least_first(a, b), lambda a, b: _least_first(b, a)),
    sympy=_sympy("Min"),
    latex=r"\min\left({0}, {1}\right)",
    c="(({0}) < ({1}) ? ({0}) : (({1}) <= ({0}) ? ({1}) : NAN))",
    python="np.minimum({0}, {1})",
    interval=lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    selects=True,
    sharp=True,
    code=12,
)
MAX = Unit(
    name="max",
    value=np.maximum,
    derivatives=(lambda a, b: _least_first(b, a), lambda a, b: _least_first(a, b)),
    sympy=_sympy("Max"),
    latex=r"\max\left({0}, {1}\right)",
    c="(({0}) > ({1}) ? ({0}) : (({1}) >= ({0}) ? ({1}) : NAN))",
    python="np.maximum({0}, {1})",
    interval=lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    selects=True,
    sharp=True,
    code=13,
)
LOGISTIC = Unit(
    name="logistic",
    value=_logistic,
    derivatives=(_logistic_slope,),
    sympy=lambda z: 1 / (1 + _sympy("exp")(-z)),
    latex=r"\operatorname{{logistic}}\left({0}\right)",
    c="(1.0 / (1.0 + exp(-({0}))))",
    python="1.0 / (1.0 + np.exp(-({0})))",
    interval=rising(logistic_at),
    code=14,
)
GAUSS = Unit(
    name="gauss",
    value=_gauss,
    derivatives=(lambda z: -2.0 * z * _gauss(z),),
    sympy=lambda z: _sympy("exp")(-(z**2)),
    latex=r"\exp\left(-\left({0}\right)^{{2}}\right)",
    c="exp(-(({0}) * ({0})))",
    python="np.exp(-np.square({0}))",
    interval=gauss_interval,
    parity=EVEN,
    code=15,
)
STEP = Unit(
    name="step",
    value=_step,
    derivatives=(lambda z: np.where(np.isnan(z), z, 0.0),),
    sympy=_sympy_step,
    latex=r"\operatorname{{step}}\left({0}\right)",
    c="(({0}) >= 0.0 ? 1.0 : (({0}) < 0.0 ? 0.0 : NAN))",
    python="np.where({0} >= 0, 1.0, np.where({0} < 0, 0.0, np.nan))",
    interval=lambda x: (1.0 if x[0] >= 0.0 else 0.0, 1.0 if x[1] >= 0.0 else 0.0),
    powers=(0.0,),
    sharp=True,
    stand_in=LOGISTIC,
    code=16,
)
POWER = Unit(
    name="power",
    value=_power,
    derivatives=(_power_slope, lambda z, p: _times_log(_power(z, p), z)),
    domains=(POSITIVE, REALS),
    sympy=_sympy_power,
    latex=r"\left({0}\right)^{{{1}}}",
    c="(({0}) > 0.0 && !isnan({1}) ? pow({0}, {1}) : NAN)",
    python="np.where(({0} > 0) & ~np.isnan({1}), np.abs({0}) ** ({1}), np.nan)",
    templates={
        "mathml": "<msup><mrow><mo>(</mo>{0}<mo>)</mo></mrow>{1}</msup>",
        # They have no NaN for an exponent to be.
        "excel": "IF(({0}) > 0,POWER({0}, {1}),NA())",
        "modelica": "ieql_defined(({0}) > 0.0, (({0}) ^ ({1})))",
    },
    interval=power_interval,
    raises=True,
    code=17,
)
SIGNED_POWER = Unit(
    name="signed_power",
    value=_signed_power,
    derivatives=(_signed_power_slope, lambda z, p: _times_log(_signed_power(z, p), z)),
    domains=(REALS, POSITIVE),
    sympy=_sympy_signed_power,
    latex=r"\operatorname{{signed\_power}}\left({0}, {1}\right)",
    c="(({1}) > 0.0 ? copysign(pow(fabs({0}), {1}), {0}) : NAN)",
    python="np.where({1} > 0, np.copysign(np.abs({0}) ** ({1}), {0}), np.nan)",
    interval=signed_power_interval,
    parity=ODD,
    raises=True,
    code=18,
)

MACHINE_UNITS = (TANH, ATAN, ABS, MIN, MAX, LOGISTIC, GAUSS, STEP, POWER, SIGNED_POWER)
"""Saturations, kinks, switches, peaks: what real machines have. Only a prior that names them uses
them, and their names are not taken (`is_taken`)."""
_TABLE = (IDENTITY, COS, SIN, EXP, LOG, SQRT, SQUARE, MUL, DIV, *MACHINE_UNITS)
UNITS: Mapping[str, Unit] = MappingProxyType({row.name: row for row in _TABLE})
"""All built-in units by name."""
