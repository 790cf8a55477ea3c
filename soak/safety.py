"""Safety: fronts of data with poles near the domain, attacked by all means."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ieql import IEQLRegressor
from ieql.data.dataset import Domain, Scaling
from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.finish import finish
from ieql.equations.proof import WORK, prove
from ieql.prior import Prior
from ieql.selection import Candidate
from soak.check import Check, Outcome

__all__ = ["CHECKS", "attacked", "front", "planted", "problem", "smallest", "truth"]

Array = NDArray[np.float64]
FRONTS = 30
PLANTED = 200
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


def _denominator(kind: int, d: int, rng: np.random.Generator) -> tuple[str, float]:
    """A sum that is zero in the domain at a few points only, and the size of its values.

    Of waves, of squares, of differences (zero in a single corner), or of waves and a square.
    """
    x = [f"x{i}" for i in rng.permutation(d)]
    signs = rng.choice([-1.0, 1.0], d)
    if kind == 0:
        waves = [f"cos({rng.uniform(1.6, 2.4):.3f}*{name})" for name in x[: rng.integers(2, 5)]]
        return f"1 + {'*'.join(waves)}", 1.0
    if kind == 1:
        places = signs * rng.uniform(1.1, 0.9 * WIDER, d)
        squares = [
            f"({name} - {place:.3f})**2"
            for name, place in zip(x[: rng.integers(3, 7)], places, strict=False)
        ]
        return " + ".join(squares), 1.0
    if kind == 2:
        terms = [f"{sign:+.0f}*{name}" for sign, name in zip(signs, x, strict=True)]
        return f"{WIDER * d} {' '.join(terms)}".replace("+1*", "+ ").replace("-1*", "- "), float(d)
    slope, middle = rng.uniform(0.1, 0.3), rng.uniform(0.7, 0.9)
    ends = np.array([np.cos(2.0 * WIDER * slope), 1.0])
    largest = np.max((ends - middle) ** 2)
    wave = f"(cos({slope:.5f}*{x[2]} + {slope:.5f}*{x[3]}) - {middle:.5f})**2"
    return f"cos(3*{x[0]})*{wave}*cos(2*{x[1]}) + {largest:.6f}", float(largest)


def truth(number: int, seed: int) -> Expression:
    """A quotient or logarithm of 4 to 16 inputs that is undefined in a small part of the domain.

    In one of three problems the hole just closes.
    """
    rng = np.random.default_rng([seed, number])
    d = int(rng.integers(4, 17))
    z, size = _denominator(number % 4, d, rng)
    depth = size * float(np.exp(rng.uniform(np.log(0.002), np.log(0.05))))
    z = f"{z} {'+' if rng.random() < 1 / 3 else '-'} {depth:.6f}"
    text = f"log({z})" if rng.random() < 0.3 else f"1/({z})"
    return Expression.parse(text, tuple(f"x{i}" for i in range(d)))


def problem(number: int, seed: int) -> tuple[Array, Array]:
    """Rows in [-1, 1], where the truth is defined, with noise."""
    e = truth(number, seed)
    rng = np.random.default_rng([seed, number, 1])
    X = rng.uniform(-1, 1, (2 * ROWS, len(e.names)))
    y = e.evaluate(X)[:, 0]
    X, y = X[np.isfinite(y)][:ROWS], y[np.isfinite(y)][:ROWS]
    return X, y + NOISE * np.std(y) * rng.normal(size=len(y))


def planted(number: int, seed: int) -> Candidate | None:
    """The truth itself as a fit would show it, its constants fitted and rounded, or None."""
    e = truth(number, seed)
    X, y = problem(number, seed)
    domain = Domain.of([(-WIDER, WIDER)] * X.shape[1], e.names, X)
    points = np.concatenate([domain.corners(), domain.sample(20_000, np.random.default_rng(seed))])
    plain = Scaling(np.zeros(X.shape[1]), np.ones(X.shape[1]))
    train = Sample(np.ascontiguousarray(X.T), y, np.ones(len(y)))
    one = Scaling(np.zeros(1), np.ones(1))
    with np.errstate(all="ignore"):
        found = finish(e, plain, one, train, np.ascontiguousarray(points.T), Prior.of("plain"))
    if found is None:
        return None
    e = found.expression
    return Candidate(e, 1.0, e.n_parameters, 0.0, 0.0, proved=found.proved, excess=found.excess)


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of outliers: what is asked is something else
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


def _box(d: int) -> tuple[Array, Array]:
    return np.full(d, -WIDER), np.full(d, WIDER)


def _attack(size: float, seed: int) -> Outcome:
    n_fronts, n_planted = (max(1, round(n * size)) for n in (FRONTS, PLANTED))
    equations = far = 0
    shown: list[Attacked] = []
    chosen: list[Attacked] = []
    for number in range(n_fronts):
        candidates, selected = front(number, seed)
        equations += len(candidates)
        far += sum(c.goes_too_far for c in candidates)
        for k, c in enumerate(candidates):
            result = attacked(c, *_box(len(c.expression.names)), seed + number)
            if result.singular:
                shown.append(result)
                chosen += [result] if k == selected else []
    passed = []
    for number in range(n_planted):
        c_or_none = planted(number, seed)
        if c_or_none is not None:
            box = _box(len(c_or_none.expression.names))
            passed.append(attacked(c_or_none, *box, seed + number))
    everything = shown + passed
    violations = sum(r.violated for r in everything)
    decided = sum(r.decided for r in everything)
    text = (
        f"{equations} equations on {n_fronts} fronts, {len(shown)} with singular units, "
        f"{len(chosen)} of them selected, {far} flagged as going too far; of {n_planted} planted "
        f"equations {len(passed)} were let pass: {violations} violations found in all, {decided} "
        f"of {len(everything)} decided within {IN_TIME:g} s, the longest took "
        f"{max((r.seconds for r in everything), default=0.0):.2f} s"
    )
    good = violations == 0 and decided >= DECIDED * len(everything)
    return Outcome(n_fronts + n_planted, good, text)


CHECKS: tuple[Check, ...] = (
    Check(
        "safety",
        "data with small holes in a wide declared domain, 4 to 16 inputs: every equation of the "
        "front, and the true ones if they are let pass, attacked by differential evolution, "
        "descents and a finer branch and bound",
        _attack,
    ),
)
