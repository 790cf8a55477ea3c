"""The suites of the recovery benchmark: each is a list of `Problem`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

import classic
import feynman
import measured
import pure_noise
import random_equations
import textbook
from ieql import load_problem
from problems import Data, Problem, drawn_problem, spoilt
from srbench import from_sympy

__all__ = ["SUITES", "Data", "Problem", "Request", "spoilt", "suite"]

PAPER = (*(f"S{k}" for k in range(7)), *(f"A{k}" for k in range(1, 5)))
N_RANDOM = 100
N_WIDE = 20
WIDE_INPUTS = 50
WIDE_RELEVANT = 3
N_TEST = 1_000
"""Rows by which an equation learned from few is judged."""


@dataclass(frozen=True)
class Request:
    """Which problems of a suite are wanted; see `suite`."""

    noise: float | None = None
    relevant_max: int = 6
    family: int = 0
    n: int | None = None
    present: bool = False
    tables: Path = measured.FOLDER


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
        is_like_train=False,
    )


def _paper(ask: Request) -> list[Problem]:
    if ask.noise is not None:
        raise ValueError("The noise of the suite 'paper' is fixed; leave --noise out.")
    problems = []
    for name in PAPER:
        p = load_problem(name)
        draw = partial(_draw_paper, name=name)
        problems.append(Problem(name, p.formula, p.feature_names, "paper", draw))
    return problems


def _random(ask: Request) -> list[Problem]:
    """Draw equations of `random_equations`; those with too many relevant inputs are passed over."""
    found = (
        e
        for e in random_equations.equations(ask.family)
        if len(e.relevant) <= max(ask.relevant_max, 1)
    )
    problems = []
    for e in islice(found, ask.n or N_RANDOM):
        specs = {x: f"U[{low},{high},1000]" for x, (low, high) in e.ranges.items()}
        level = e.noise if ask.noise is None else ask.noise
        problems.append(drawn_problem(e.name, e.formula, specs, specs, level, "noise"))
    return problems


def _wide(ask: Request) -> list[Problem]:
    """Fifty inputs of which three matter."""
    found = random_equations.equations(
        ask.family, letter="W", n_relevant=WIDE_RELEVANT, n_inputs=WIDE_INPUTS
    )
    problems = []
    for e in islice(found, ask.n or N_WIDE):
        specs = {x: f"U[{low},{high},1000]" for x, (low, high) in e.ranges.items()}
        level = 0.01 if ask.noise is None else ask.noise
        problems.append(drawn_problem(e.name, e.formula, specs, specs, level, "inputs"))
    return problems


def _classic(ask: Request) -> list[Problem]:
    return [
        drawn_problem(
            e.name, e.formula, e.train, e.test, ask.noise or 0.0, "noise", is_like_train=False
        )
        for e in classic.EQUATIONS
    ]


def _feynman(ask: Request) -> list[Problem]:
    problems = []
    for e in feynman.EQUATIONS:
        if ask.present and not e.present:
            continue
        train = {x: f"U[{low},{high},10000]" for x, (low, high) in e.ranges.items()}
        test = {x: f"U[{low},{high},2000]" for x, (low, high) in e.ranges.items()}
        exact = None if e.is_expressible else from_sympy(e.formula, tuple(e.ranges))
        problems.append(
            drawn_problem(e.name, e.formula, train, test, ask.noise or 0.0, "r2", exact=exact)
        )
    return problems


def _small(ask: Request) -> list[Problem]:
    """Textbook laws, measured as one would: few rows, tested where they were measured."""
    problems = []
    for law in textbook.LAWS:
        test = {x: _like(how, N_TEST) for x, how in law.inputs.items()}
        level = 0.01 if ask.noise is None else ask.noise
        problems.append(drawn_problem(law.name, law.formula, law.inputs, test, level, "law"))
    return problems


def _like(how: str, n: int) -> str:
    """Random points that are distributed like those of a grid."""
    kind = "V" if how.startswith("L") else "U"
    return f"{kind}{how[1 : how.rindex(',')]},{n}]"


def _noise(ask: Request) -> list[Problem]:
    if ask.noise is not None:
        raise ValueError("The suite 'noise' has nothing else; leave --noise out.")
    return pure_noise.problems()


def _measured(ask: Request) -> list[Problem]:
    if ask.noise is not None:
        raise ValueError("The suite 'measured' has the noise that was measured; leave --noise out.")
    return measured.problems(ask.tables)


SUITES: Mapping[str, Callable[[Request], list[Problem]]] = {
    "paper": _paper,
    "random": _random,
    "classic": _classic,
    "feynman": _feynman,
    "wide": _wide,
    "small": _small,
    "measured": _measured,
    "noise": _noise,
}


def suite(
    name: str,
    *,
    noise: float | None = None,
    relevant_max: int = 6,
    family: int = 0,
    n: int | None = None,
    present: bool = False,
    tables: Path = measured.FOLDER,
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
    present : bool
        Suite ``feynman``: only the 97 equations that older results have.
    tables : path
        Suite ``measured``: the folder that holds the tables.
    """
    return SUITES[name](Request(noise, relevant_max, family, n, present, tables))
