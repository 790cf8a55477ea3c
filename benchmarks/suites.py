"""The problems of the recovery benchmark: equations, where their data are drawn, and what counts.

A suite is a list of `Problem`; a problem draws its `Data` from a seed. Points are described in the
notation of McDermott et al. (2012): ``U[a,b,n]`` are n random points of [a, b], ``E[a,b,s]`` is the
grid from a to b with step s; inputs with grids are crossed with one another.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import classic
import feynman
import random_equations
from ieql import load_problem
from ieql.equations.expression import Expression
from ieql.equations.simplify import simplify

__all__ = ["SUITES", "Data", "Problem", "spoilt", "suite"]

Array = NDArray[np.float64]
PAPER = (*(f"S{k}" for k in range(7)), *(f"A{k}" for k in range(1, 5)))
PAPER_RMSE = 0.011
EXACT = 1e-3
"""Without noise an equation is right if its RMSE is below this part of the output's spread."""
NOISE_FACTOR = 1.1
R2 = 0.999
MAX_TEST_ROWS = 10_000
N_RANDOM = 100
N_WIDE = 20
WIDE_INPUTS = 50
WIDE_RELEVANT = 3
SPEC = re.compile(r"([UE])\[([^,]+),([^,]+),([^,]+)\]")


@dataclass(frozen=True, eq=False)
class Data:
    """Rows to learn from and rows to judge by.

    Attributes
    ----------
    X, y : DataFrame, Series
        To learn from, with noise.
    X_test, y_test : DataFrame, Series
        To judge by: without noise, except in the suite ``paper``.
    noise, spread : float
        Standard deviation of the noise, and of the exact output over the rows to learn from.
    fit_options : dict
        Further arguments of `fit`: extrapolation points, where the suite has them.
    model_options : dict
        Further parameters of the regressor: criterion and domain, where the suite sets them.
    """

    X: pd.DataFrame
    y: pd.Series
    X_test: pd.DataFrame
    y_test: pd.Series
    noise: float
    spread: float
    fit_options: dict[str, Any]
    model_options: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """An equation to be recovered.

    Attributes
    ----------
    name, formula : str
        The formula is the truth in the grammar of `Expression.parse`.
    names : tuple of str
        All inputs, those that do not matter included.
    criterion : str
        What counts as success, see `succeeds`.
    draw : callable
        Data from a seed.
    """

    name: str
    formula: str
    names: tuple[str, ...]
    criterion: str
    draw: Callable[[int], Data]

    @cached_property
    def truth(self) -> Expression:
        """The equation without noise."""
        return Expression.parse(self.formula, self.names)

    @cached_property
    def n_parameters(self) -> int:
        """Parameters of the truth in our units, as it is written or simpler."""
        X = self.draw(0).X.to_numpy()[:500]
        return min(self.truth.n_parameters, simplify(self.truth, X).n_parameters)

    def succeeds(self, data: Data, rmse: float, inputs_used: Sequence[str]) -> bool:
        """Tell whether an equation with this test error and these inputs counts as found.

        ``paper``: RMSE ≤ 0.011. ``noise``: with noise s, sqrt(RMSE² + s²) ≤ 1.1 s, the test rows
        being exact; without noise, RMSE ≤ 0.001 of the output's spread. ``r2``: R² > 0.999.
        ``inputs``: exactly the inputs of the truth are used, whatever the error.
        """
        if self.criterion == "inputs":
            return set(inputs_used) == set(self.truth.inputs_used)
        if not np.isfinite(rmse):
            return False
        if self.criterion == "paper":
            return rmse <= PAPER_RMSE
        if self.criterion == "r2":
            return bool(1.0 - rmse**2 / np.var(data.y_test) > R2)
        if data.noise > 0:
            return bool(np.hypot(rmse, data.noise) <= NOISE_FACTOR * data.noise)
        return rmse <= EXACT * data.spread


# --- drawing -----------------------------------------------------------------------------------


def _points(specs: Mapping[str, str], rng: np.random.Generator) -> pd.DataFrame:
    """Draw the rows that a mapping from inputs to ``U[...]`` and ``E[...]`` describes."""
    grids: dict[str, NDArray[Any]] = {}
    drawn: dict[str, tuple[float, float]] = {}
    n_rows = 1
    for name, spec in specs.items():
        match = SPEC.fullmatch(spec)
        if match is None:
            raise ValueError(f"{spec!r} is neither U[a,b,n] nor E[a,b,s].")
        low, high, last = (float(match[k]) for k in (2, 3, 4))
        if match[1] == "U":
            drawn[name] = (low, high)
            n_rows = max(n_rows, int(last))
        else:
            grids[name] = low + last * np.arange(int((high - low) / last + 1e-9) + 1)
    mesh = [axis.ravel() for axis in np.meshgrid(*grids.values(), indexing="ij")]
    n_rows = len(mesh[0]) if mesh else n_rows
    columns = dict(zip(grids, mesh, strict=True))
    columns |= {name: rng.uniform(low, high, n_rows) for name, (low, high) in drawn.items()}
    return pd.DataFrame({name: columns[name] for name in specs})


def _draw(
    seed: int,
    *,
    name: str,
    formula: str,
    train: Mapping[str, str],
    test: Mapping[str, str],
    noise: float,
) -> Data:
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    X, X_test = _points(train, rng), _points(test, rng)
    if len(X_test) > MAX_TEST_ROWS:
        X_test = X_test.iloc[np.sort(rng.permutation(len(X_test))[:MAX_TEST_ROWS])]
        X_test = X_test.reset_index(drop=True)
    truth = Expression.parse(formula, tuple(train))
    exact, exact_test = (truth.evaluate(T.to_numpy())[:, 0] for T in (X, X_test))
    spread = float(np.std(exact))
    y = exact + rng.normal(0.0, 1.0, len(X)) * noise * spread
    return Data(
        X,
        pd.Series(y, name="y"),
        X_test,
        pd.Series(exact_test, name="y"),
        noise * spread,
        spread,
        {},
        {},
    )


def _problem(
    name: str,
    formula: str,
    train: Mapping[str, str],
    test: Mapping[str, str],
    noise: float,
    criterion: str,
) -> Problem:
    draw = partial(_draw, name=name, formula=formula, train=train, test=test, noise=noise)
    return Problem(name, formula, tuple(train), criterion, draw)


# --- suites ------------------------------------------------------------------------------------


def _draw_paper(seed: int, *, name: str) -> Data:
    p = load_problem(name, seed)
    return Data(
        p.X,
        p.y,
        p.X_test,
        p.y_test,
        p.noise,
        float(np.std(p.truth.evaluate(p.X.to_numpy())[:, 0])),
        {"X_extrapolation": p.X_extrapolation, "y_extrapolation": p.y_extrapolation},
        {"selection": "V_int&ex", "domain": p.domain},
    )


def _paper(noise: float | None, relevant_max: int, family: int, n: int | None) -> list[Problem]:
    if noise is not None:
        raise ValueError("The noise of the suite 'paper' is fixed; leave --noise out.")
    problems = []
    for name in PAPER:
        p = load_problem(name)
        draw = partial(_draw_paper, name=name)
        problems.append(Problem(name, p.formula, p.feature_names, "paper", draw))
    return problems


def _random(noise: float | None, relevant_max: int, family: int, n: int | None) -> list[Problem]:
    """Draw equations of `random_equations`; those with too many relevant inputs are passed over."""
    found = (
        e for e in random_equations.equations(family) if len(e.relevant) <= max(relevant_max, 1)
    )
    problems = []
    for e in islice(found, n or N_RANDOM):
        specs = {x: f"U[{low},{high},1000]" for x, (low, high) in e.ranges.items()}
        level = e.noise if noise is None else noise
        problems.append(_problem(e.name, e.formula, specs, specs, level, "noise"))
    return problems


def _wide(noise: float | None, relevant_max: int, family: int, n: int | None) -> list[Problem]:
    """Fifty inputs of which three matter."""
    found = random_equations.equations(
        family, letter="W", n_relevant=WIDE_RELEVANT, n_inputs=WIDE_INPUTS
    )
    problems = []
    for e in islice(found, n or N_WIDE):
        specs = {x: f"U[{low},{high},1000]" for x, (low, high) in e.ranges.items()}
        level = 0.01 if noise is None else noise
        problems.append(_problem(e.name, e.formula, specs, specs, level, "inputs"))
    return problems


def _classic(noise: float | None, relevant_max: int, family: int, n: int | None) -> list[Problem]:
    return [
        _problem(e.name, e.formula, e.train, e.test, noise or 0.0, "noise")
        for e in classic.EQUATIONS
    ]


def _feynman(noise: float | None, relevant_max: int, family: int, n: int | None) -> list[Problem]:
    problems = []
    for name, formula, ranges in feynman.EQUATIONS:
        train = {x: f"U[{low},{high},10000]" for x, (low, high) in ranges.items()}
        test = {x: f"U[{low},{high},2000]" for x, (low, high) in ranges.items()}
        problems.append(_problem(name, formula, train, test, noise or 0.0, "r2"))
    return problems


SUITES: Mapping[str, Callable[[float | None, int, int, int | None], list[Problem]]] = {
    "paper": _paper,
    "random": _random,
    "classic": _classic,
    "feynman": _feynman,
    "wide": _wide,
}


def spoilt(draw: Callable[[int], Data], share: float, seed: int) -> Data:
    """Data of which some rows to learn from are off by 5 to 50 times the output's spread."""
    data = draw(seed)
    rng = np.random.default_rng([seed, 17])
    n = len(data.y)
    rows = rng.choice(n, round(share * n), replace=False)
    y = data.y.to_numpy(copy=True)
    y[rows] += data.spread * rng.uniform(5, 50, len(rows)) * rng.choice([-1, 1], len(rows))
    return replace(data, y=pd.Series(y, index=data.y.index, name=data.y.name))


def suite(
    name: str,
    *,
    noise: float | None = None,
    relevant_max: int = 6,
    family: int = 0,
    n: int | None = None,
) -> list[Problem]:
    """Return the problems of a suite.

    Parameters
    ----------
    name : str
        One of `SUITES`.
    noise : float, optional
        Noise as a part of the output's spread; default: what the suite has.
    relevant_max : int
        Suite ``random``: leave out equations with more relevant inputs.
    family : int
        Suites ``random`` and ``wide``: seed of the equations. Tune on family 0, judge on another.
    n : int, optional
        Suites ``random`` and ``wide``: how many equations.
    """
    return SUITES[name](noise, relevant_max, family, n)
