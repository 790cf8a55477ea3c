"""Columns of words: how often the law is found with the offset or factor of each level.

Problems are drawn from a seed: a law of one or two inputs, a column of two to six levels of which
some do the same, and either an offset or a factor for each; half of them have another column of
words that does nothing. Targets have noise of 1 % of their spread. A problem counts as solved if
the selected equation is closer to the truth than the noise is, on new rows, and does not use the
column that does nothing.

    python benchmarks/category_effects.py --problems 20 --time 20
"""

from __future__ import annotations

import argparse
import os
import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fits import count_processor_time
from ieql import IEQLRegressor

Array = NDArray[np.float64]
ROWS, NEW_ROWS, NOISE = 240, 2_000, 0.01
WORDS = ("red", "green", "blue", "grey", "black", "white")


@dataclass(frozen=True, eq=False)
class Problem:
    """A law with levels.

    Attributes
    ----------
    name : str
        The law and what its levels do.
    value : callable
        The truth for the two inputs and the effect of each row's level.
    effects : array (levels,)
        An offset or a factor for each level.
    idle : bool
        Whether there is another column of words, which does nothing.
    """

    name: str
    value: Callable[[Array, Array, Array], Array]
    effects: Array
    idle: bool

    def rows(self, n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Array]:
        """Rows without noise."""
        a, b = rng.uniform(0.5, 5.0, (2, n))
        level = rng.integers(0, len(self.effects), n)
        table = pd.DataFrame({"a": a, "b": b, "kind": np.array(WORDS)[level]})
        if self.idle:
            table["operator"] = rng.choice(["Ann", "Bob", "Eve"], n)
        return table, self.value(a, b, self.effects[level])


LAWS: dict[str, Callable[[Array, Array, Array], Callable[[Array, Array], Array]]] = {
    "decay": lambda p, q, r: lambda a, b: p * np.exp(-0.3 * q * a),
    "saturation": lambda p, q, r: lambda a, b: p * a / (q + a),
    "root and square": lambda p, q, r: lambda a, b: p * np.sqrt(a) + 0.1 * q * b**2,
    "product": lambda p, q, r: lambda a, b: p * a * b / (r + b),
    "wave": lambda p, q, r: lambda a, b: p * np.cos(q * a) + r * b,
    "logarithm": lambda p, q, r: lambda a, b: p * np.log(a + r) * b,
}


def drawn(number: int, seed: int) -> Problem:
    """A problem by its number."""
    rng = np.random.default_rng([seed, number])
    name = list(LAWS)[number % len(LAWS)]
    law = LAWS[name](*rng.uniform(0.8, 3.0, 3))
    n_levels = int(rng.integers(2, len(WORDS) + 1))
    # Some levels do the same, as of many gears or fuels some do.
    effects = rng.choice(rng.uniform(0.4, 2.5, max(2, n_levels - 1)), n_levels)
    effects[0], effects[1] = 1.0, 1.6
    if (number // len(LAWS)) % 2:
        return Problem(f"{name}, factors", lambda a, b, e: e * law(a, b), effects, number % 2 == 0)
    return Problem(f"{name}, offsets", lambda a, b, e: e + law(a, b), effects, number % 2 == 0)


def solve(problem: Problem, number: int, seed: int, seconds: float) -> tuple[bool, float, str]:
    """Whether it is solved, the error beside the noise, and the selected equation."""
    rng = np.random.default_rng([seed, number, 1])
    X, truth = problem.rows(ROWS, rng)
    noise = NOISE * float(np.std(truth))
    y = pd.Series(truth + noise * rng.normal(size=ROWS), name="y")
    words = [name for name in X.columns if name not in ("a", "b")]
    model = IEQLRegressor(categories=words, max_time=seconds, n_jobs=1, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        new, exact = problem.rows(NEW_ROWS, rng)
        error = float(np.sqrt(np.mean((model.predict(new) - exact) ** 2))) / noise
    e = model.expression()
    is_idle = not any(name.startswith("{operator") for name in e.inputs_used)
    return error < 1.0 and is_idle, error, e.text()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=int, default=12)
    parser.add_argument("--time", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processor", action="store_true", help="count the processor's seconds")
    options = parser.parse_args(arguments)
    if options.processor:
        count_processor_time()
    clock = "of the processor / 1.8" if options.processor else "of the clock"
    print(
        f"{options.problems} problems, seed {options.seed}, {options.time:g} s {clock}, one "
        f"process; {platform.machine()}, {os.cpu_count()} CPUs; Python {platform.python_version()}"
    )
    n_solved = 0
    for number in range(options.problems):
        problem = drawn(number, options.seed)
        start = time.perf_counter()
        solved, error, text = solve(problem, number, options.seed, options.time)
        n_solved += solved
        print(
            f"{number:3d} {problem.name:26s} {len(problem.effects)} levels"
            f"{', one idle column' if problem.idle else '':17s} "
            f"{'solved' if solved else 'MISSED'}, error {error:.2f} of the noise, "
            f"{time.perf_counter() - start:.0f} s: {text}",
            flush=True,
        )
    print(f"{n_solved} of {options.problems} solved")


if __name__ == "__main__":
    main()
