"""Safety: fronts of data with poles near the domain, attacked by all means."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql import IEQLRegressor
from ieql.equations.expression import Expression
from ieql.equations.proof import WORK, prove
from ieql.selection import Candidate
from soak.check import Check, Outcome

__all__ = ["CHECKS", "attacked", "problem", "smallest"]

Array = NDArray[np.float64]
FRONTS = 30
ROWS = 300
TRAININGS = 12
NOISE = 0.01
PRIORS = ("plain", {"preset": "plain", "units": ["cos", "log", "sqrt", "mul", "div"]})
"""All units, and those with singularities above all: more to attack."""
WIDER = 2.0
"""The declared domain is so many times as wide as the data."""
IN_TIME = 1.0
DECIDED = 0.98
FINER = 10.0
"""Work of the finer branch and bound, in those of a fit."""


# --- problems ------------------------------------------------------------------------------------


def _denominator(kind: int, X: Array, rng: np.random.Generator) -> Array:
    """A sum that is zero somewhere around the data: of waves, of squares, or of differences."""
    d = X.shape[1]
    some = rng.permutation(d)[: rng.integers(2, 5)]
    if kind == 0:
        return np.asarray(np.prod([np.cos(rng.uniform(0.7, 2.5) * X[:, i]) for i in some], axis=0))
    if kind == 1:
        parts = [(X[:, i] - rng.uniform(-1.5, 1.5)) ** 2 for i in some]
        return np.asarray(np.sum(parts, axis=0))
    if kind == 2:
        signs = rng.choice([-1.0, 1.0], d)
        return np.asarray(X @ signs)
    return np.asarray(X[:, some[0]] * X[:, some[1]] + np.cos(2 * X[:, some[0]]) - X[:, some[-1]])


def problem(number: int, seed: int) -> tuple[Array, Array]:
    """Rows in [-1, 1] of a quotient or logarithm, 4 to 16 inputs, that has a pole close to them."""
    rng = np.random.default_rng([seed, number])
    d = int(rng.integers(4, 17))
    X = rng.uniform(-1, 1, (ROWS, d))
    z = _denominator(number % 4, X, rng)
    z = z - z.min() + rng.uniform(0.03, 0.3) * (z.max() - z.min())
    above = rng.uniform(0.5, 2) + (X[:, rng.integers(d)] if rng.random() < 0.5 else 0.0)
    y = above * np.log(z) if rng.random() < 0.2 else above / z
    y = y / np.std(y)
    return X, y + NOISE * rng.normal(size=ROWS)


def front(number: int, seed: int, trainings: int = TRAININGS) -> tuple[list[Candidate], int]:
    """The front of a problem, with a domain wider than its data."""
    X, y = problem(number, seed)
    model = IEQLRegressor(
        PRIORS[number % 3 > 0],
        domain=[(-WIDER, WIDER)] * X.shape[1],
        max_time=None,
        max_trainings=trainings,
        n_jobs=1,
        random_state=seed + number,
    )
    model.fit(X, y)
    return list(model.fronts_[0]), model.selected_[0]


# --- the attack ----------------------------------------------------------------------------------


def _distances(expression: Expression, X: Array) -> Array:
    """How far each singular argument is from zero, (arguments, rows); -1 where it is undefined."""
    rows = [
        args[a]
        for node, args in zip(expression.nodes, expression.arguments(X), strict=True)
        for a in node.unit.singular
    ]
    return np.where(np.isfinite(rows), rows, -1.0)


def _is_closed(expression: Expression) -> list[bool]:
    return [node.unit.name == "sqrt" for node in expression.nodes for _ in node.unit.singular]


Attack = Callable[[Callable[[Array], Array], Array, Array, np.random.Generator], float]


def by_evolution(f: Callable[[Array], Array], low: Array, high: Array, rng: object) -> float:
    """The least value that differential evolution finds."""
    from scipy.optimize import differential_evolution

    found = differential_evolution(
        lambda x: f(x.T) if x.ndim == 2 else f(x[None, :])[0],
        list(zip(low, high, strict=True)),
        maxiter=50,
        popsize=6,
        rng=rng,
        vectorized=True,
        updating="deferred",
        polish=False,
    )
    return float(found.fun)


def by_descent(
    f: Callable[[Array], Array], low: Array, high: Array, rng: np.random.Generator
) -> float:
    """The least value that quasi-Newton descents from the lowest of many points find."""
    from scipy.optimize import minimize

    X = rng.uniform(low, high, (4000, len(low)))
    X[:2000] = np.where(rng.random((2000, len(low))) < 0.5, low, high)
    value = f(X)
    step = 1e-7 * (high - low)

    def with_slope(x: Array) -> tuple[float, Array]:
        around = f(np.concatenate([[x], x + np.diag(step), x - np.diag(step)]))
        d = len(x)
        return float(around[0]), (around[1 : d + 1] - around[d + 1 :]) / (2 * step)

    best = float(value.min())
    bounds = list(zip(low, high, strict=True))
    for start in X[np.argsort(value)[:10]]:
        found = minimize(
            with_slope, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 60}
        )
        best = min(best, float(f(np.clip(found.x, low, high)[None, :])[0]))
    return best


def smallest(expression: Expression, low: Array, high: Array, seed: int) -> list[float]:
    """The least value of each singular argument that an attack finds."""
    rng = np.random.default_rng(seed)
    count = len(_is_closed(expression))
    found = []
    for k in range(count):

        def f(X: Array, k: int = k) -> Array:
            return np.asarray(_distances(expression, X)[k])

        found.append(min(attack(f, low, high, rng) for attack in (by_evolution, by_descent)))
    return found


@dataclass(frozen=True)
class Attacked:
    """What an attack on an equation has found.

    Attributes
    ----------
    singular : bool
        Whether it has singular units; nothing is tried if not.
    violated : bool
        Whether a point was found where it is undefined.
    decided : bool
        Whether it was decided in time.
    seconds : float
        Time of its proof.
    """

    singular: bool
    violated: bool = False
    decided: bool = True
    seconds: float = 0.0


def attacked(candidate: Candidate, low: Array, high: Array, seed: int) -> Attacked:
    """Attack one equation of a front."""
    e = candidate.expression
    closed = _is_closed(e)
    if not closed:
        return Attacked(False)
    with np.errstate(all="ignore"):
        start = time.thread_time()
        proof = prove(e, low, high)
        seconds = time.thread_time() - start
        values = smallest(e, low, high, seed)
        violated = any(z < 0 or (z == 0 and not c) for z, c in zip(values, closed, strict=True))
        if proof.proved is None:
            proof = prove(e, low, high, seconds=FINER, work=FINER * WORK)
    decided = candidate.proved is not None and seconds <= IN_TIME
    return Attacked(True, violated or proof.proved is False, decided, seconds)


def _fronts(size: float, seed: int) -> Iterator[tuple[int, list[Candidate], int]]:
    for number in range(max(1, round(FRONTS * size))):
        yield number, *front(number, seed)


def _attack(size: float, seed: int) -> Outcome:
    fronts, equations, found, chosen = 0, 0, [], []
    far = 0
    for number, candidates, selected in _fronts(size, seed):
        fronts += 1
        equations += len(candidates)
        far += sum(c.goes_too_far for c in candidates)
        low, high = (np.full(len(candidates[0].expression.names), s * WIDER) for s in (-1.0, 1.0))
        for k, c in enumerate(candidates):
            result = attacked(c, low, high, seed + number)
            if result.singular:
                found.append(result)
                if k == selected:
                    chosen.append(result)
    violations = sum(r.violated for r in found)
    decided = sum(r.decided for r in found)
    longest = max((r.seconds for r in found), default=0.0)
    text = (
        f"{equations} equations on {fronts} fronts, {len(found)} with singular units, "
        f"{len(chosen)} of them selected: {violations} violations found; {decided} decided within "
        f"{IN_TIME:g} s, the longest took {longest:.2f} s; {far} flagged as going too far"
    )
    passed = violations == 0 and decided >= DECIDED * len(found)
    return Outcome(fronts, passed, text)


CHECKS: tuple[Check, ...] = (
    Check(
        "safety",
        "data with poles near a wide declared domain, 4 to 16 inputs: every equation of the front "
        "attacked by differential evolution, descents and a finer branch and bound",
        _attack,
    ),
)
