"""The paper's problems: its simulated equations, and stand-ins for its two machines.

Each problem is stated once, as the text of its equation; the data are that equation plus noise.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import pi
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ieql.errors import IeqlError, nearest

if TYPE_CHECKING:
    import pandas as pd

    from ieql.equations.expression import Expression

__all__ = ["PROBLEMS", "Problem", "demo_table", "load_problem"]

Array = NDArray[np.float64]

N_TRAIN = 10_000
N_TEST = 1_000
N_EXTRAPOLATION = 40


@dataclass(frozen=True, eq=False)
class Problem:
    """Data to learn from, data to judge by, and the equation behind both.

    Attributes
    ----------
    name, description : str
        What it is.
    X, y : pandas.DataFrame, pandas.Series
        Rows to learn from.
    X_test, y_test : pandas.DataFrame, pandas.Series
        Rows to judge by, from the whole domain, with the same noise: the exact equation has a
        test error of `noise`.
    X_extrapolation, y_extrapolation : pandas.DataFrame, pandas.Series or None
        40 points outside the train domain for the criterion V_int&ex, where the paper has them.
    domain : dict
        The test domain: name to (low, high).
    feature_names : tuple of str
        Names of the inputs.
    noise : float
        Standard deviation of the noise on the outputs, in the unit of y.
    formula : str
        The equation as text.
    """

    name: str
    description: str
    X: pd.DataFrame
    y: pd.Series[float]
    X_test: pd.DataFrame
    y_test: pd.Series[float]
    X_extrapolation: pd.DataFrame | None
    y_extrapolation: pd.Series[float] | None
    domain: dict[str, tuple[float, float]]
    feature_names: tuple[str, ...]
    noise: float
    formula: str

    @cached_property
    def truth(self) -> Expression:
        """The equation without noise."""
        return _expression(self.formula, self.feature_names)


def load_problem(name: str, seed: int = 0) -> Problem:
    """Return one of the problems of the paper.

    Parameters
    ----------
    name : str
        ``S0`` … ``S6``, ``A1`` … ``A4`` and ``ambiguity``: simulated (section "Experiments").
        ``power_loss``: a reconstruction of the electric machine's data. ``engine``,
        ``engine_motor_simple``, ``engine_motor_median``, ``engine_plain_simple``: generated from
        the combustion engine's equations as printed in the appendix (``engine`` is the one called
        plain median), since the measurements are not public.
    seed : int
        Same seed, same data.
    """
    if name not in PROBLEMS:
        raise IeqlError(
            f"There is no problem {name!r}.{nearest(name, PROBLEMS)} "
            f"The problems are {', '.join(PROBLEMS)}."
        )
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise IeqlError(f"The seed must be a whole number of at least 0, but it is {seed!r}.")
    rng = np.random.default_rng([int(seed), zlib.crc32(name.encode())])
    if name in _SIMULATED:
        return _simulated(name, rng)
    return _power_loss(rng) if name == "power_loss" else _engine(name, rng)


# --- simulated equations ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Simulation:
    """A row of the table of data sets: the equation and the box, the same for each input."""

    formula: str
    d: int
    train: tuple[float, float]
    test: tuple[float, float]
    extrapolation: bool = True


_SQUARE = ((-1.0, 1.0), (-2.0, 2.0))
_POSITIVE = ((0.0, 1.0), (0.0, 2.0))

# Table "Complex equations on which the iEQL is evaluated", and eq. (ambiguity), for which the text
# gives no test domain: twice the train domain, as for the others, is a choice.
_SIMULATED: Mapping[str, _Simulation] = MappingProxyType(
    {
        "S0": _Simulation(f"(1 - x2**2)/(sin({2 * pi}*x1) + 1.5)", 4, *_SQUARE),
        "S1": _Simulation(
            f"(sin({pi}*x1) + sin({2 * pi}*x2 + {pi / 8}) + x2 - x3*x4)/3", 4, *_SQUARE
        ),
        "S2": _Simulation(
            f"(sin({pi}*x1) + x2*cos({2 * pi}*x1 + {pi / 4}) + x3 - x4**2)/3", 4, *_SQUARE
        ),
        "S3": _Simulation(f"((1 + x2)*sin({pi}*x1) + x2*x3*x4)/3", 4, *_SQUARE),
        "S4": _Simulation(
            f"(3.0375*x1*x2 + 5.5*sin(2.25*(x1 - {2 / 3})*(x2 - {2 / 3})))/5", 4, *_SQUARE
        ),
        "S5": _Simulation("(5*x1)**4/((5*x1)**4 + 1) + (5*x2)**4/((5*x2)**4 + 1)", 4, *_SQUARE),
        "S6": _Simulation(
            "((1 - x1)**2 + (1 - x3)**2 + 100*(x2 - x1**2)**2 + 100*(x4 - x3**2)**2)/1500",
            4,
            *_SQUARE,
        ),
        "A1": _Simulation("(1.5*exp(1.5*x1) + 5*cos(3*x2))/10", 4, *_SQUARE),
        "A2": _Simulation("log(2*x2 + 1) - log(4*x1**2 + 1)", 2, *_POSITIVE),
        "A3": _Simulation("exp(-(4*x1 - 0.4)**2)/(1.2 + (4*x2 - 1.9)**2)", 2, *_POSITIVE),
        "A4": _Simulation(
            f"{1 / (3 * pi**2)}*(x3 + 1)*(5*x1 + 1)**3"
            "/(exp((x3 + 1)*(5*x1 + 1)/((x4 + 1)*(0.5*x2 + 1))) - 1)",
            4,
            *_POSITIVE,
        ),
        "ambiguity": _Simulation("8*cos(0.5*x1) - 4", 1, *_SQUARE, extrapolation=False),
    }
)


def _simulated(name: str, rng: np.random.Generator) -> Problem:
    problem = _SIMULATED[name]
    names = tuple(f"x{j + 1}" for j in range(problem.d))
    noise = 0.01
    X = rng.uniform(*problem.train, (N_TRAIN, problem.d))
    X_test = rng.uniform(*problem.test, (N_TEST, problem.d))
    train, test = (_labelled(T, names, "y", problem.formula, noise, rng) for T in (X, X_test))
    extrapolation: tuple[pd.DataFrame, pd.Series[float]] | tuple[None, None] = (None, None)
    if problem.extrapolation:
        outside = _outside(problem, rng)
        extrapolation = _labelled(outside, names, "y", problem.formula, noise, rng)
    return Problem(
        name=name,
        description=f"y = {problem.formula}, learned in {list(problem.train)} of each input",
        X=train[0],
        y=train[1],
        X_test=test[0],
        y_test=test[1],
        X_extrapolation=extrapolation[0],
        y_extrapolation=extrapolation[1],
        domain=dict.fromkeys(names, problem.test),
        feature_names=names,
        noise=noise,
        formula=problem.formula,
    )


def _outside(problem: _Simulation, rng: np.random.Generator) -> Array:
    """Draw points of the test domain until enough of them lie outside the train domain."""
    found = np.empty((0, problem.d))
    while len(found) < N_EXTRAPOLATION:
        points = rng.uniform(*problem.test, (N_EXTRAPOLATION, problem.d))
        outside = ((points < problem.train[0]) | (points > problem.train[1])).any(axis=1)
        found = np.concatenate([found, points[outside]])
    return found[:N_EXTRAPOLATION]


# --- electric machine ------------------------------------------------------------------------

_CURRENTS = [*range(1, 502, 25), 525]
_POWER_LOSS_GRID = {
    "I_D": _CURRENTS,
    "I_Q": _CURRENTS,
    "n_mtr": [*range(1, 15_002, 1000), 16_000],
    "T_rot": [-20, 65, 150],
}
_POWER_LOSS_TRAIN = {"I_D": (76, 451), "I_Q": (76, 451), "n_mtr": (2001, 14_001)}
_POWER_LOSS_FORMULA = "0.0082685*(I_D**2 + I_Q**2)"
_POWER_LOSS_NOISE = 0.02


def demo_table() -> pd.DataFrame:
    """Return the reconstruction of the electric machine's data: four inputs and P_mod in watts.

    The 24,684 operating points are the grid that the paper's numbers imply (section "Power Loss of
    an Electric Machine"); the loss is the printed quadratic law in amperes and watts plus noise.
    The measurements themselves are not public.
    """
    return _power_loss_table(np.random.default_rng(0))


def _power_loss_table(rng: np.random.Generator) -> pd.DataFrame:
    names = tuple(_POWER_LOSS_GRID)
    grid = np.meshgrid(*_POWER_LOSS_GRID.values(), indexing="ij")
    X = np.stack([axis.ravel() for axis in grid], axis=1).astype(np.float64)
    frame, loss = _labelled(X, names, "P_mod", _POWER_LOSS_FORMULA, _POWER_LOSS_NOISE, rng)
    return frame.assign(P_mod=loss)


def _power_loss(rng: np.random.Generator) -> Problem:
    """Part the reconstructed data as the paper does (appendix "Power Loss of an Electric Machine").

    A fifth of the whole is for testing; of the rest, only the inner part of the ranges of currents
    and speed is learned from, so that the test extrapolates.
    """
    table = _power_loss_table(rng)
    names = tuple(_POWER_LOSS_GRID)
    test, rest = _part(table, 0.2, rng)
    inner = np.ones(len(rest), dtype=bool)
    for name, (low, high) in _POWER_LOSS_TRAIN.items():
        inner &= rest[name].between(low, high).to_numpy()
    train = rest[inner].reset_index(drop=True)
    return Problem(
        name="power_loss",
        description="power loss of an electric machine in watts, a reconstruction of the data",
        X=train[list(names)],
        y=train["P_mod"],
        X_test=test[list(names)],
        y_test=test["P_mod"],
        X_extrapolation=None,
        y_extrapolation=None,
        domain={name: (float(v[0]), float(v[-1])) for name, v in _POWER_LOSS_GRID.items()},
        feature_names=names,
        noise=_POWER_LOSS_NOISE,
        formula=_POWER_LOSS_FORMULA,
    )


# --- combustion engine -----------------------------------------------------------------------

_ENGINE_ROWS = 1775
# The test error of the paper's most accurate equations, above which noise would be implausible.
_ENGINE_NOISE = 1.4


def _engine_motor_simple() -> str:
    return (
        "2.48*x2 + 0.66*(0.3*x2 + 0.79)*(-0.8*x1 + 1.86*x3 - 0.08)"
        " - 0.52*(-2.13*x3 + 0.57*(0.05 - 1.19*x3)**2 - 0.62*(-0.89*x1"
        " + 0.85*(0.46*x1 - 0.32)*(1.28*x3 + 0.34*x5 + 0.71) + 0.42)**2 + 0.56)**2 + 0.94"
    )


def _engine_motor_median() -> str:
    c1 = "(0.05 - 0.69*x1)*(1.0*x1 + 0.64)"
    c2 = "(-0.95*x2 - 0.69)*(-1.06*x3 + 0.96*(-0.21*x1 + 0.66*x3 - 1.01)**2 - 1.2)"
    c3 = (
        f"(-0.74*x3 - 0.76*(0.6*x1 + 0.73*({c1})"
        " + 0.47*(0.76*x2 + 0.19*x4 - 0.19*x5 - 0.6)**2 - 0.9)**2 + 1.36)"
        f"*(2.0*x3 + 0.88*(-0.73*x1 - 1.17*({c1}) + 0.26)*(0.6*x4 - 0.72*x5 - 0.46) - 0.31)"
    )
    return (
        f"-0.3*x1 + 2.32*x2 + 0.27*x3 + 0.6*({c2}) + 0.3*({c3})"
        f" + 0.35*cos(1.12*x3 + 1.42*({c2}) + 0.59*({c3}) - 0.23) + 0.51"
    )


def _engine_plain_simple() -> str:
    c1 = "cos(4.0*x1 + 2.38)"
    c2 = "(-0.49*x1 + 1.1*x3 + 0.76*(1.02*x1 - 0.02)**2 - 0.85)**2"
    c3 = (
        "(-0.41*x2 - 0.53*x3 - 0.29*x4 + 0.34*x5"
        f" + 0.59*(0.07 - 0.97*x1)*(0.28 - 1.02*x2) + 0.23*{c1} + 0.6)**2"
    )
    return (
        "1.49*x2 + 0.53*(0.94*x2 + 0.8)*(1.89*x3 - 0.29*cos(4.79*x3 + 2.83) + 0.46)"
        " + 0.81*exp(-0.27*x1 + 0.18*x2) + 0.94*exp(-0.32*x1 + 0.25*x2 + 0.55*x3)"
        f" - 0.05*{c1} + 0.22*cos(1.45*x3 - 1.02*{c2} + 0.07)"
        f" - 0.29*cos(0.66*x2 - 1.13*{c2} - 0.74*{c3} + 2.73)"
        " - 0.23*cos(-1.21*x1 + 1.99*x3 - 2.26*(-0.94*x2 - 0.52)*(0.97*x3 + 0.02)"
        f" - 0.97*{c3} + 3.71) - 1.71"
    )


def _engine_plain_median() -> str:
    c1 = "cos(2.07*x1 + 0.21*x2 - 0.02)"
    c2 = f"(0.33*x1 + 1.09*{c1} + 0.51)*(-0.74*x4 + 0.61*x5 + 1.02*{c1} - 0.62)"
    c3 = (
        "(0.29*x1 - 1.65*x3 - 0.09*x4 + 0.09*x5 - 0.27*(-0.69*x1 - 0.14)**2"
        " + 0.35*(0.68*x1 - 1.27*x3 + 0.3)**2 + 0.4)**2"
    )
    c4 = (
        "(-0.43*x4 + 0.36*x5 + 0.8 + 0.86*(-1.22*x2 - 0.94*x3 - 0.66)/(2.11*x1 + 2.35))"
        f"*(0.6*x2 + 1.28*x3 + 0.89*x4 - 1.18*x5 + 0.77*({c2}) - 0.05)"
    )
    return (
        "2.0*x2 + 0.6*x3 + 0.06*x4 - 0.05*x5 - 0.49*(0.83*x2 + 0.58)*(-0.81*x3 - 0.42)"
        f" + 0.39*(0.99*x2 + 0.79)/(6.75*(1.77*{c1} - 0.75)**2 + 1.96)"
        f" - 0.24*(-0.77*x2 - 0.36*{c1} - 0.42)*(1.11*x3 + 0.32*({c2})"
        f" - 0.89*(-1.1*x3 + 0.73*{c1} + 0.41)**2 - 0.47*cos(5.98*x3 + 3.27) + 0.09)"
        f" - 0.29*(-0.78*x2 + 0.35*(1.77*{c1} - 0.75)**2 + 0.35*cos(1.72*x2 - 2.6) - 0.67)**2"
        f" - 0.28*{c3} + 0.18*log(1.08 - 0.88*x1) - 0.2*cos(-1.21*x2 + 1.28*{c3} + 4.61)"
        f" - 0.15*cos(1.95*x2 + 1.58*x3 + 1.0*({c4}) + 3.51)"
        f" + 0.18*cos(0.77*x1 - 1.71*x2 - 0.76*({c4}) + 0.71*{c3} + 1.51) + 0.74"
        " - 0.39*(0.85*x1 - 0.58)/(3.29 - 2.85*x2)"
    )


# The printed equations (appendix "Different Combustion engine Equations", the substitutions c_1 …
# c_4 put in) are in scaled coordinates. The factor turns them into Nm: with it their standard
# deviation over [-1, 1]^5 is 60.17 Nm, the paper's error of the mean predictor.
_ENGINES: Mapping[str, tuple[float, str]] = MappingProxyType(
    {
        "engine": (31.55, _engine_plain_median()),
        "engine_motor_simple": (25.19, _engine_motor_simple()),
        "engine_motor_median": (33.09, _engine_motor_median()),
        "engine_plain_simple": (35.43, _engine_plain_simple()),
    }
)


def _engine(name: str, rng: np.random.Generator) -> Problem:
    """Generate stationary operating points of an engine from a printed equation.

    x1 … x5 stand for exhaust and intake camshaft, relative load, ignition angle and speed, each
    scaled to [-1, 1].
    """
    names = ("x1", "x2", "x3", "x4", "x5")
    factor, equation = _ENGINES[name]
    formula = f"{factor}*({equation})"
    points = rng.uniform(-1, 1, (_ENGINE_ROWS, len(names)))
    X, y = _labelled(points, names, "M_eng", formula, _ENGINE_NOISE, rng)
    test, train = _part(X.assign(M_eng=y), 0.2, rng)
    return Problem(
        name=name,
        description="torque of a combustion engine in Nm, generated from a printed equation",
        X=train[list(names)],
        y=train["M_eng"],
        X_test=test[list(names)],
        y_test=test["M_eng"],
        X_extrapolation=None,
        y_extrapolation=None,
        domain=dict.fromkeys(names, (-1.0, 1.0)),
        feature_names=names,
        noise=_ENGINE_NOISE,
        formula=formula,
    )


# --- shared ----------------------------------------------------------------------------------

PROBLEMS: tuple[str, ...] = (*_SIMULATED, "power_loss", *_ENGINES)
"""The names `load_problem` knows."""


def _expression(formula: str, names: Sequence[str]) -> Expression:
    from ieql.equations.expression import Expression

    return Expression.parse(formula, names)


def _labelled(
    X: Array,
    names: Sequence[str],
    target: str,
    formula: str,
    noise: float,
    rng: np.random.Generator,
) -> tuple[pd.DataFrame, pd.Series[float]]:
    """Return the points as a frame, and the equation's values there with noise."""
    import pandas as pd

    exact = _expression(formula, names).evaluate(X)[:, 0]
    y = pd.Series(exact + rng.normal(0, noise, len(X)), name=target)
    return pd.DataFrame(X, columns=list(names)), y


def _part(
    table: pd.DataFrame, fraction: float, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Part the rows at random into the given fraction and the rest, each numbered anew."""
    order = rng.permutation(len(table))
    n = round(fraction * len(table))
    first, rest = table.iloc[np.sort(order[:n])], table.iloc[np.sort(order[n:])]
    return first.reset_index(drop=True), rest.reset_index(drop=True)
