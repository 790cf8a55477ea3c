"""What a guess is worth: how soon the truth is found with one that is nearly right, or forty bad.

Problems are those of the suite `random` with at least two terms, in order, that the search without
a guess does not solve in less than `--least` seconds; noise is one per cent. For each the processor
time is measured of the first right equation on the front (`Problem.succeeds`, on rows that no fit
sees),

- without a guess,
- with a guess in which one term is wrong: another draw of the generator, over the same inputs or
  over as many others, in turn. All numbers of the guess are free constants,
- with forty bad guesses: other draws of the generator over the inputs of the problem.

What is not found in `--time` seconds counts as found then. One process is used, and its time is
what counts, not that on the clock: other work on the machine changes it little.

    python benchmarks/guesses.py --problems 8 --family 7 --time 20 --out guesses.json

Results are written after each problem; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import random_equations
from fits import warm_up
from ieql import IEQLRegressor
from ieql.data.dataset import Dataset
from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.formula import Formula
from ieql.equations.formula_fit import Effort, fit
from ieql.errors import IeqlError
from ieql.guesses import with_guesses
from ieql.options import checked
from ieql.target import Target, prepare
from ieql.training.fast.search import FastTrainer
from ieql.training.trainers import Budget, State, train
from problems import Data, Problem
from suites import suite
from tables import earlier_runs, exit_code, write_results

__all__ = ["bad_guesses", "guess_with_a_wrong_term", "main", "seconds_to_truth", "terms"]

NOISE = 0.01
N_BAD = 40
EFFORT = Effort(starts=60, kept=3, rows=300)
"""Of the fit that tells whether a guess is wrong."""
NUMBER = re.compile(r"(?<![\w.*])(?:\d+\.?\d*|\.\d+)(?![\w.])|(?<=[^*]\*)\d+\.?\d*(?![\w.])")
"""A number that is neither part of a name nor an exponent."""


# --- guesses -----------------------------------------------------------------------------------


def terms(formula: str) -> list[str]:
    """The terms of a formula, each with its sign: split at each + and - outside of brackets."""
    found, depth = [""], 0
    for k, character in enumerate(formula):
        depth += {"(": 1, ")": -1}.get(character, 0)
        is_sign = character in "+-" and depth == 0 and k > 0 and formula[k - 1] != "e"
        if is_sign and found[-1].strip():
            found.append("")
        found[-1] += character
    return [t.strip() for t in found]


def with_free_constants(formula: str) -> str:
    """The same formula with a name in place of each number that is no exponent."""
    count = 0

    def name(_: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"c{count}"

    return NUMBER.sub(name, formula)


def inputs_of(term: str, names: Sequence[str]) -> list[str]:
    """The inputs that a term holds."""
    return [x for x in names if re.search(rf"\b{x}\b", term)]


def guess_with_a_wrong_term(problem: Problem, data: Data, number: int) -> str | None:
    """The truth with one term drawn anew; None if every draw is as good as the truth."""
    names, parts = list(problem.names), terms(problem.formula)
    rng = np.random.default_rng([number, len(problem.formula)])
    places = [k for k, t in enumerate(parts) if inputs_of(t, names)]
    if len(places) < 2:
        return None
    for _ in range(20):
        place = int(rng.choice(places))
        own = inputs_of(parts[place], names)
        if number % 2:
            own = sorted(rng.choice(names, len(own), replace=False).tolist(), key=names.index)
        wrong = random_equations.term(_ranges(data, own), rng)
        guess = " ".join([*parts[:place], f"+ 1*{wrong}", *parts[place + 1 :]])
        guess = with_free_constants(guess.removeprefix("+ "))
        if not _is_right(problem, data, guess):
            return guess
    return None


def bad_guesses(problem: Problem, data: Data, n: int = N_BAD) -> list[str]:
    """Formulas that have nothing to do with the problem but the names of its inputs."""
    found: list[str] = []
    rng = np.random.default_rng([n, len(problem.formula)])
    while len(found) < n:
        names = list(problem.names)
        size = int(rng.integers(1, min(len(names), 3) + 1))
        chosen = sorted(rng.choice(names, size, replace=False).tolist(), key=names.index)
        try:
            drawn = random_equations.formula(_ranges(data, chosen), rng)
        except (ValueError, ZeroDivisionError):  # a term without values, or spread, in these ranges
            continue
        guess = with_free_constants(drawn)
        if Expression.parse(drawn, problem.names).inputs_used:
            found.append(guess)
    return found


def _ranges(data: Data, names: Sequence[str]) -> dict[str, tuple[float, float]]:
    return {x: (float(data.X[x].min()), float(data.X[x].max())) for x in names}


def _is_right(problem: Problem, data: Data, guess: str) -> bool:
    """Whether a guess, fitted, is as good as the truth; also if it cannot be fitted at all."""
    formula = Formula.parse(guess, problem.names)
    X, y = data.X.to_numpy(float), data.y.to_numpy(float)
    try:
        found = fit(formula, Sample(np.ascontiguousarray(X.T), y, np.ones(len(y))), effort=EFFORT)
    except IeqlError:
        return True
    values = formula.filled(found.values).evaluate(data.X_test.to_numpy(float))[:, 0]
    error = float(np.sqrt(np.mean((values - data.y_test.to_numpy(float)) ** 2)))
    return problem.succeeds(data, error, problem.names)


# --- measuring ---------------------------------------------------------------------------------


class _Over(Exception):  # noqa: N818 (no error: it ends a search)
    """The truth was found, or the time is over."""


class _Watch:
    """Ends a search when a right equation is on the front."""

    def __init__(self, problem: Problem, data: Data, limit: float) -> None:
        self.problem, self.data, self.limit = problem, data, limit
        self.inside = data.X_test.to_numpy(float), data.y_test.to_numpy(float)
        self.start = time.process_time()
        self.seconds = limit
        self.found: str | None = None
        self._judged: set[Expression] = set()

    def look(self, state: State, target: Target) -> None:
        """Judge what is new on the front; what that takes does not count."""
        now = time.process_time()
        for candidate in state.archives[0].front:
            if candidate.expression not in self._judged:
                self._judged.add(candidate.expression)
                self._judge(candidate.expression, target)
        if self.found is not None or now - self.start > self.limit:
            self.seconds = min(now - self.start, self.limit)
            raise _Over
        self.start += time.process_time() - now

    def _judge(self, expression: Expression, target: Target) -> None:
        inputs, output = target.inputs, target.scaling
        e = expression.rescaled(
            inputs.offset, inputs.scale, output.offset.item(), output.scale.item()
        )
        with np.errstate(all="ignore"):
            values = e.evaluate(self.inside[0])[:, 0]
        rmse = float(np.sqrt(np.mean((values - self.inside[1]) ** 2)))
        if self.problem.succeeds(self.data, rmse, e.inputs_used):
            self.found = e.text()


def seconds_to_truth(
    problem: Problem, data: Data, seed: int, limit: float, guesses: Sequence[str] = ()
) -> tuple[float, str | None]:
    """Processor time until a right equation is on the front, and that equation."""
    # The wall clock is a backstop: on a busy machine it runs faster than the processor's.
    options = checked(
        IEQLRegressor(max_time=4.0 * limit, n_jobs=1, random_state=seed, guesses=list(guesses))
    )
    rows = Dataset.of(
        data.X.to_numpy(float),
        data.y.to_numpy(float)[:, None],
        feature_names=problem.names,
        target_names=["y"],
    )
    watch = _Watch(problem, data, limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a guess may be left out
        targets = with_guesses(prepare(options, rows, None, seed), options.guesses)
        budget = Budget(options.max_time, seed=seed, n_jobs=1)
        try:
            tasks = [t.task for t in targets]
            train(FastTrainer(), tasks, budget, on_round=lambda s: watch.look(s, targets[0]))
        except _Over:
            pass
    return watch.seconds, watch.found


# --- the command line --------------------------------------------------------------------------


def _measured(problem: Problem, arguments: argparse.Namespace, number: int) -> dict[str, Any]:
    """One problem: the times of all three, or that it does not count.

    What forty bad guesses cost cannot be told where nothing is found without them.
    """
    data = problem.draw(arguments.seed)
    guess = guess_with_a_wrong_term(problem, data, number)
    run: dict[str, Any] = {"problem": problem.name, "truth": problem.formula, "guess": guess}
    if guess is None:
        return run | {"counts": False}
    seed, limit = arguments.seed, arguments.time
    run["without"], run["found_without"] = seconds_to_truth(problem, data, seed, limit)
    run["counts"] = run["without"] >= arguments.least
    if run["counts"]:
        run["with"], run["found_with"] = seconds_to_truth(problem, data, seed, limit, [guess])
    if run["counts"] and run["found_without"]:
        bad = bad_guesses(problem, data)
        run["with_bad"], run["found_with_bad"] = seconds_to_truth(problem, data, seed, limit, bad)
    return run


def _summary(runs: Sequence[dict[str, Any]]) -> str:
    counted = [r for r in runs if r["counts"]]
    if not counted:
        return "no problem took long enough"
    lines = [f"{'problem':10} {'without':>8} {'guess':>8} {'bad':>8}"]
    for r in counted:
        lines.append(
            f"{r['problem']:10}"
            + "".join(f" {r[k]:8.2f}" if k in r else f" {'-':>8}" for k in KEYS)
        )
    for key, name in (("with", "a guess with one wrong term"), ("with_bad", "forty bad guesses")):
        both = [(r["without"], r[key]) for r in counted if key in r]
        if both:
            without, with_it = (statistics.median(times) for times in zip(*both, strict=True))
            ratio = statistics.median(b / a for a, b in both)
            lines.append(
                f"{name}: median {with_it:.2f} s, without {without:.2f} s on the same "
                f"{len(both)} problems: {with_it / without:.2f} of it (median ratio {ratio:.2f})"
            )
    return "\n".join(lines)


KEYS = ("without", "with", "with_bad")


def _run(arguments: argparse.Namespace) -> None:
    warm_up(1)
    about = {k: v for k, v in vars(arguments).items() if k not in ("out", "problems")}
    runs = earlier_runs(arguments.out, about)
    known = {r["problem"] for r in runs}
    problems = suite("random", noise=NOISE, family=arguments.family, n=None)
    for number, problem in enumerate(problems):
        if sum(r["counts"] for r in runs) >= arguments.problems:
            break
        if problem.name in known:
            continue
        runs.append(_measured(problem, arguments, number))
        print(runs[-1], flush=True)
        if arguments.out is not None:
            write_results(arguments.out, {"about": about, "runs": runs})
    print(_summary(runs))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 done, 2 wrong use, 130 interrupted with results kept."""
    parser = argparse.ArgumentParser(description="How soon the truth is found with guesses.")
    parser.add_argument("--problems", type=int, default=8, help="that count")
    parser.add_argument("--family", type=int, default=0, help="of the random equations")
    parser.add_argument("--least", type=float, default=3.0, help="seconds without a guess")
    parser.add_argument("--time", type=float, default=20.0, help="seconds for each fit")
    parser.add_argument("--seed", type=int, default=0, help="of the data and the search")
    parser.add_argument("--out", type=Path, help="result file, written after each problem")
    arguments = parser.parse_args(argv)
    return exit_code(lambda: _run(arguments), "problems")


if __name__ == "__main__":
    sys.exit(main())
