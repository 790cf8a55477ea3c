"""How often equations that come apart are put together from their parts, and in which time.

Random families of separable equations: sums and products of functions of one input, roots and
inverses of sums, products of sums, sums of products; with random constants on random ranges.

    python benchmarks/separability.py --number 5 --noise 0 0.01
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ieql.data.dataset import Scaling
from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.prior import Prior
from ieql.selection import Candidate, description_length
from ieql.training.fast.separate import separated
from ieql.training.task import Task

Array = NDArray[np.float64]
Range = tuple[float, float]
Draw = np.random.Generator
FRESH = 2_000
"""Rows on which an equation is judged."""
RIGHT = 1e-4
"""Error on fresh rows, in spreads of the target, up to which an equation is right ..."""
RIGHT_IN_NOISE = 0.35
"""... and in parts of the noise."""
MORE = 3
"""Constants that a right equation may have beside those of the truth: scaled, it has no ones."""


def _number(rng: Draw, low: float, high: float) -> float:
    return float(np.round(np.exp(rng.uniform(np.log(low), np.log(high))), 3))


def _function(rng: Draw, name: str) -> tuple[str, Range]:
    """A function of one input that is positive or has both signs, and a range for it."""
    a, b = _number(rng, 0.5, 2.0), _number(rng, 0.5, 2.0)
    forms: list[tuple[str, Range]] = [
        (f"({a}*{name})", (0.5, 3.0)),
        (f"({name}**2 + {a})", (-2.0, 2.0)),
        (f"exp(-{a}*{name})", (0.0, 2.0)),
        (f"cos({a}*{name} + {b})", (-2.0, 2.5)),
        (f"(1/({name} + {a}))", (0.0, 3.0)),
        (f"sqrt({name} + {a})", (0.0, 4.0)),
        (f"log({name} + 1.0 + {a})", (0.0, 5.0)),
        (f"({name}/({name} + {a}))", (0.0, 4.0)),
        (f"exp(-{a}*{name}**2)", (-1.5, 1.5)),
    ]
    return forms[rng.integers(len(forms))]


def _several(rng: Draw, number: int, join: str) -> tuple[str, list[Range]]:
    forms = [_function(rng, name) for name in "abcd"[:number]]
    weights = [_number(rng, 0.5, 2.0) if join == " + " else 1.0 for _ in forms]
    return join.join(f"{w}*{f}" for w, (f, _) in zip(weights, forms, strict=True)), [
        r for _, r in forms
    ]


def _kinetic(rng: Draw) -> tuple[str, list[Range]]:
    k = _number(rng, 0.3, 2.0)
    return f"{k}*a*(b**2 + c**2 + d**2)", [(0.5, 3.0), (-2.0, 2.0), (-2.0, 2.0), (-2.0, 2.0)]


def _norm(rng: Draw) -> tuple[str, list[Range]]:
    w = [_number(rng, 0.5, 2.0) for _ in range(2)]
    s = [_number(rng, 0.3, 1.0) for _ in range(2)]
    formula = f"sqrt((a - {s[0]})**2 + {w[0]}*(b - {s[1]})**2 + {w[1]}*c**2)"
    return formula, [(-1.0, 2.0), (-2.0, 2.0), (-1.0, 1.5)]


def _plain_norm(rng: Draw) -> tuple[str, list[Range]]:
    high = _number(rng, 1.0, 3.0)
    return "sqrt(a**2 + b**2 + c**2)", [(0.0, high), (-1.0, 1.0), (0.5, 2.0)]


def _mixed(rng: Draw) -> tuple[str, list[Range]]:
    k, w, s = _number(rng, 0.5, 2.0), _number(rng, 0.7, 2.0), _number(rng, 0.5, 2.0)
    high = (0.0, 2.0)
    return f"a*b*exp(-{k}*c) + {s}*d*cos({w}*e)", [high, high, high, high, (0.0, 3.0)]


def _sums_times(rng: Draw) -> tuple[str, list[Range]]:
    u, v = _number(rng, 0.5, 2.0), _number(rng, 0.5, 2.0)
    return f"(a + {u}*b)*(c + {v}*d)*e", [(-1.0, 2.0)] * 5


def _inverse(rng: Draw) -> tuple[str, list[Range]]:
    u = _number(rng, 0.5, 2.0)
    return f"1/(a + {u}*b*c)", [(0.5, 3.0)] * 3


def _bell(rng: Draw) -> tuple[str, list[Range]]:
    u, v, s = _number(rng, 0.3, 1.0), _number(rng, 0.3, 1.0), _number(rng, 0.5, 3.0)
    return f"{s}*exp(-{u}*a**2 - {v}*b)*c", [(-1.5, 1.5), (0.0, 2.0), (0.5, 2.0)]


def _shifted(rng: Draw) -> tuple[str, list[Range]]:
    formula, ranges = _several(rng, 3, "*")
    return f"{_number(rng, 0.5, 3.0)} + {formula}", ranges


FAMILIES: dict[str, Callable[[Draw], tuple[str, list[Range]]]] = {
    "m(u2+v2+w2)": _kinetic,
    "norm": _plain_norm,
    "weighted norm": _norm,
    "ab exp + d cos": _mixed,
    "(a+b)(c+d)e": _sums_times,
    "sum of 3": lambda rng: _several(rng, 3, " + "),
    "product of 3": lambda rng: _several(rng, 3, "*"),
    "product of 4": lambda rng: _several(rng, 4, "*"),
    "constant + product": _shifted,
    "1/(a+bc)": _inverse,
    "exp(-a2-b)c": _bell,
}


@dataclass(frozen=True)
class Problem:
    """An equation, and what a fit would see of it."""

    formula: str
    truth: Expression
    task: Task
    fresh: Sample
    """Rows without noise, scaled like those of the task."""


def problem(family: str, noise: float, rows: int, seed: tuple[int, int]) -> Problem:
    """An equation of a family with random constants; the last tenth of its rows validates."""
    rng = np.random.default_rng(seed)
    formula, ranges = FAMILIES[family](rng)
    names = tuple("abcdefgh"[: len(ranges)])
    low, high = np.array(ranges).T[:, :, None]
    truth = Expression.parse(formula, names)
    XT = rng.uniform(low, high, (len(names), rows + FRESH))
    y = truth.evaluate(XT.T)[:, 0]
    scale, spread = Scaling.minmax(XT.T).scale[:, None], float(y.std())
    XT, y = XT / scale, y / spread
    y[:rows] += noise * rng.normal(size=rows)
    points = rng.uniform(low, high, (len(names), 500)) / scale
    corners = np.array(list(product(*ranges))).T / scale
    box, n = Scaling.minmax(XT.T), rows - rows // 10

    def sample(start: int, stop: int) -> Sample:
        return Sample(np.ascontiguousarray(XT[:, start:stop]), y[start:stop], np.ones(stop - start))

    task = Task(
        names=names,
        prior=Prior.of("plain"),
        train=sample(0, n),
        validation=sample(n, rows),
        centre=box.offset,
        half=box.scale,
        mean=float(y[:n].mean()),
        domain=np.concatenate([corners, points], axis=1),
    )
    return Problem(formula, truth, task, sample(rows, rows + FRESH))


def n_constants(expression: Expression) -> int:
    """Weights and offsets that are not zero or one."""
    return int(np.sum([c not in (0.0, 1.0, -1.0) for c in expression.constants()]))


def best(task: Task, candidates: list[Candidate]) -> Candidate | None:
    """The candidate with the shortest description."""

    def length(c: Candidate) -> float:
        mse = c.rmse_train**2 + 1e-24
        return description_length(task.train.n_rows, mse, n_constants(c.expression), c.complexity)

    return min(candidates, key=length, default=None)


def is_right(given: Problem, found: Candidate | None, noise: float) -> bool:
    """Whether an equation is accurate on fresh rows with hardly more constants than the truth."""
    if found is None:
        return False
    error = given.fresh.rmse(found.expression.evaluate(given.fresh.XT.T)[:, 0])
    more = n_constants(found.expression) - n_constants(given.truth)
    return error < max(RIGHT, RIGHT_IN_NOISE * noise) and more <= MORE


def main() -> None:
    """Print a line per equation and a table per family."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--number", type=int, default=5, help="equations per family")
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.01])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--family", nargs="*", default=list(FAMILIES))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    table = []
    for noise, family in product(options.noise, options.family):
        rights, times = [], []
        for k in range(options.number):
            given = problem(family, noise, options.rows, (options.seed, k))
            began = time.perf_counter()
            found = best(given.task, separated(given.task, k))
            times.append(time.perf_counter() - began)
            rights.append(is_right(given, found, noise))
            text = "nothing" if found is None else found.expression.text(precision=5)
            print(
                f"{rights[-1]:d} {times[-1]:5.1f} s {noise:g}  {given.formula}  ->  {text}",
                flush=True,
            )
        table.append((noise, family, sum(rights), len(rights), np.median(times), max(times)))
    print("\n| noise | family | right | median s | most s |\n|---|---|---|---|---|")
    for noise, family, right, n, median, most in table:
        print(f"| {noise:g} | {family} | {right} of {n} | {median:.1f} | {most:.1f} |")
    right, n = sum(r[2] for r in table), sum(r[3] for r in table)
    print(f"{right} of {n}")


if __name__ == "__main__":
    main()
