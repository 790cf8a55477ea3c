"""Whether suggested measurements decide between equations that a first table leaves open.

Each pair is a law and a simpler one from which its first table does not tell it, although they
differ elsewhere in the domain. The domain shows enough of the law for five rows to tell it from
other curves, too: three quarters of a wave, as a bell curve imitates half of one within the noise
(at most 0.3 nats between them, wherever the five rows are). After a fit to that table five rows are
added, of the law with the same noise: at the points that `suggest` names or, for comparison, at
random ones of the domain.

    python benchmarks/suggestions.py --time 10 --jobs 2 --out suggestions.json

An equation has the law's structure if with other constants it runs through exact rows of the whole
domain, and has at most one constant more. It is right if its root mean squared error there is at
most the noise.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import platform
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fits import Settings, warm_up
from ieql import IEQLRegressor
from ieql.equations.expression import Expression
from problems import EXTRA_CONSTANTS, points
from reference import contains, n_constants
from tables import exit_code, read_results, write_results

__all__ = ["PAIRS", "Pair", "judged", "main", "run_pairs"]

Array = NDArray[np.float64]
N_POINTS = 5
"""Rows that are added."""
N_EXACT = 2_000
"""Exact rows of the domain to judge by."""
STAGES = ("before", "suggested", "random")
SAME = ("time", "jobs", "max_trainings")
"""What must agree for a result file to be continued."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A law, and a simpler one that its first table does not tell from it.

    Attributes
    ----------
    name, law, rival : str
        The two equations in our grammar; the constants of the rival are a start.
    rows : mapping
        How each input is measured in the first table, in the notation of `problems`.
    domain : mapping
        From each input to (low, high).
    noise : float
        Standard deviation of every row.
    """

    name: str
    law: str
    rival: str
    rows: Mapping[str, str]
    domain: Mapping[str, tuple[float, float]]
    noise: float

    @cached_property
    def truth(self) -> Expression:
        """The law."""
        return Expression.parse(self.law, tuple(self.rows))

    def exact(self, X: Array | pd.DataFrame) -> Array:
        """Values of the law."""
        return self.truth.evaluate(np.asarray(X, dtype=np.float64))[:, 0]

    def first(self, seed: int) -> tuple[pd.DataFrame, Array]:
        """The first table."""
        rng = self._rng(seed, 0)
        X = points(self.rows, rng)
        return X, self.exact(X) + self.noise * rng.normal(size=len(X))

    def measured(self, X: pd.DataFrame, seed: int) -> Array:
        """What is measured at further points; the noise is the same wherever they are."""
        return self.exact(X) + self.noise * self._rng(seed, 1).normal(size=len(X))

    def random(self, n: int, seed: int) -> pd.DataFrame:
        """Points drawn from the whole domain."""
        low, high = np.array(list(self.domain.values())).T
        drawn = self._rng(seed, 2).uniform(low, high, (n, len(low)))
        return pd.DataFrame(drawn, columns=list(self.domain))

    def _rng(self, seed: int, part: int) -> np.random.Generator:
        return np.random.default_rng([seed, zlib.crc32(self.name.encode()), part])


# name | law | rival | input: how it is measured; … | input: its domain; … | noise
_TABLE = """
cosine_parabola     | 2.31*cos(0.83*x) + 0.47    | 2.7 - 0.7*x**2        | x: G[-1.2,1.2,14]                | x: -1.2,4.5             | 0.06
phase_parabola      | 1.87*cos(0.91*x - 1.38)    | 0.4 + 2*x - 0.7*x**2  | x: G[0,1.6,14]                   | x: 0,6                  | 0.08
gauss_parabola      | 4.13*exp(-0.71*x**2)       | 4.1 - 2.4*x**2        | x: G[-0.9,0.9,14]                | x: -0.9,2.4             | 0.1
lorentz_parabola    | 4.87/(x**2 + 1.13)         | 4.3 - 3*x**2          | x: G[-0.6,0.6,14]                | x: -2,0.6               | 0.12
root_parabola       | 1.83*sqrt(x**2 + 2.41)     | 0.4*x**2 + 2.8        | x: G[-2,2,14]                    | x: -2,4.5               | 0.12
saturation_parabola | 4.73 - 4.73*exp(-0.68*x)   | 3*x - 0.6*x**2        | x: G[0,2,14]                     | x: 0,4                  | 0.1
offset_exp_line     | 1.31*exp(0.47*x) - 1.46    | 1.4*x - 0.6           | x: G[-0.5,2.5,14]                | x: -2.5,3.8             | 0.25
saturating_line     | 2.87*x/(1 + 0.043*x)       | 2.3*x + 0.5           | x: G[0,6,14]                     | x: 0,40                 | 0.3
logistic_line       | 6.31/(exp(-1.27*x) + 0.87) | 3.4 + 2*x             | x: G[-1,1,14]                    | x: -3,3                 | 0.1
power_log           | 3.19*x**0.31               | 1.6*log(x) + 3        | x: G[2,12,14]                    | x: 0.02,12              | 0.08
log_root            | 5.93*log(x + 4.31) - 7.04  | 2.7*sqrt(x)           | x: G[1.5,12,14]                  | x: 0,14                 | 0.08
michaelis_root      | 5.31*x/(x + 1.87)          | 2.2*sqrt(x) - 0.2     | x: G[0.4,2.2,14]                 | x: 0,10                 | 0.06
log_rational        | 3.71*log(x + 0.4) + 4.62   | 14*x/(x + 4) + 3      | x: G[1,9,14]                     | x: -0.3,9               | 0.12
damped_parabola     | 2.97*x*exp(-0.63*x)        | 0.7 + 1.1*x - 0.3*x**2 | x: G[0.5,2.8,14]                | x: 0,5.5                | 0.07
arrhenius_log       | 41.3*exp(-5.17/x)          | 14.2*log(x) - 8       | x: G[3.5,10,14]                  | x: 0.5,10               | 0.5
decay_inverse       | 4.27*exp(-0.73*x) + 0.41   | 2.7/x                 | x: G[1.2,7,14]                   | x: 0.15,7               | 0.09
lorentz_inverse     | 7.36/(x**2 + 0.54)         | 6.4/x**2              | x: G[1.3,7,14]                   | x: 0.1,7                | 0.12
shifted_inverse     | 2.63/(x + 0.23)            | 2.4/x                 | x: G[1.5,7,14]                   | x: 0.1,7                | 0.06
power_parabola      | 1.14*x**1.62               | 0.3*x**2 + 1.1*x      | x: G[2,6,14]                     | x: 0.1,9                | 0.3
interaction         | 1.73*x + 0.64*z + 0.58*x*z | 1.7*x + 0.6*z         | x: U[-1,1,18]; z: U[-1,1,18]     | x: -2,2; z: -2,2        | 0.5
root_of_sum         | 1.63*sqrt(x**2 + 2.38*z)   | 1.2*x + 0.6*z + 1     | x: U[1,3,18]; z: U[1,3,18]       | x: 0,3; z: 0,3          | 0.2
decay_factor        | 6.72*x*exp(-0.48*z)        | 1.2*x*(4.3 - z)       | x: U[0.5,2,18]; z: U[0.5,3,18]   | x: 0,3; z: -1,5         | 0.8
growth_factor       | 1.91*x*exp(0.38*z)         | x*(2 + z)             | x: U[0.5,2,18]; z: U[0,1.5,18]   | x: 0,3; z: -2,3.5       | 0.5
log_of_sum          | 4.16*log(x + 0.7*z)        | 1.3*x + 0.9*z + 0.4   | x: U[1,3,18]; z: U[1,3,18]       | x: 0.1,3; z: 0.1,3      | 0.25
log_factor          | 1.73*z*log(x)              | z*(0.5*x + 0.4)       | x: U[2,6,18]; z: U[1,2,18]       | x: 0.3,7; z: 0.5,2.5    | 0.5
competition         | 5.47*x/(x + 0.63*z)        | 0.7*x - 0.7*z + 3     | x: U[1,3,18]; z: U[1,3,18]       | x: 0.1,3; z: 0.1,3      | 0.25
wave_factor         | 2.36*z*cos(0.94*x)         | z*(2.3 - 0.9*x**2)    | x: U[-1,1,18]; z: U[1,2,18]      | x: -1,2.6; z: 0.5,2.5   | 0.3
shifted_ratio       | 2.41*x/(z + 0.37)          | 2*x/z                 | x: U[1,3,18]; z: U[1.2,3,18]     | x: 0.5,3; z: 0.1,3      | 0.4
root_factor         | 1.84*x*sqrt(z)             | x*(0.6*z + 1.4)       | x: U[1,3,18]; z: U[1,3,18]       | x: 0,4; z: 0,4          | 0.45
exp_of_difference   | 2.32*exp(0.42*x - 0.31*z)  | 2 + 1.1*x - 0.7*z     | x: U[0,1.5,18]; z: U[0,1.5,18]   | x: -1,3; z: -1,3        | 0.35
"""  # noqa: E501


def _parts(text: str) -> dict[str, str]:
    pairs = (part.split(":") for part in text.split(";"))
    return {name.strip(): value.strip() for name, value in pairs}


def _interval(text: str) -> tuple[float, float]:
    low, high = map(float, text.split(","))
    return low, high


def _pair(line: str) -> Pair:
    name, law, rival, rows, domain, noise = (cell.strip() for cell in line.split("|"))
    intervals = {input: _interval(text) for input, text in _parts(domain).items()}
    return Pair(name, law, rival, _parts(rows), intervals, float(noise))


PAIRS = tuple(map(_pair, _TABLE.strip().splitlines()))


# --- running -----------------------------------------------------------------------------------


def judged(pair: Pair, found: Expression) -> dict[str, Any]:
    """Compare an equation with the law in the whole domain."""
    X = pair.random(N_EXACT, seed=-1 % 2**32).to_numpy()
    exact = pair.exact(X)
    with np.errstate(all="ignore"):
        error = float(np.sqrt(np.mean((found.evaluate(X)[:, 0] - exact) ** 2))) / pair.noise
        few = n_constants(found, X) <= n_constants(pair.truth, X) + EXTRA_CONSTANTS
        same = few and contains(found, X, exact)
    return {"equation": found.text(), "structure": bool(same), "right": error <= 1.0, "rmse": error}


def run_pair(pair: Pair, seed: int, settings: Settings) -> dict[str, Any]:
    """Fit the first table, and the two longer ones."""
    X, y = pair.first(seed)
    first = _fit(pair, X, y, seed, settings)
    start = time.perf_counter()
    suggested = first.suggest(N_POINTS)
    seconds = time.perf_counter() - start
    added = {
        "suggested": suggested[list(pair.domain)],
        "random": pair.random(N_POINTS, seed),
    }
    run = {"pair": pair.name, "seed": seed, "before": judged(pair, first.expression())}
    for stage, more in added.items():
        longer = np.concatenate([y, pair.measured(more, seed)])
        model = _fit(pair, pd.concat([X, more], ignore_index=True), longer, seed, settings)
        run[stage] = judged(pair, model.expression()) | {"points": more.to_numpy()}
    return run | {"seconds_to_suggest": seconds}


def _fit(pair: Pair, X: pd.DataFrame, y: Array, seed: int, settings: Settings) -> IEQLRegressor:
    model = IEQLRegressor(
        domain=dict(pair.domain),
        max_time=settings.max_time,
        max_trainings=settings.max_trainings,
        n_jobs=settings.n_jobs,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    if model.interrupted_:
        raise KeyboardInterrupt
    return model


def run_pairs(
    pairs: Sequence[Pair],
    seeds: Sequence[int],
    settings: Settings,
    done: Sequence[dict[str, Any]] = (),
    on_run: Callable[[list[dict[str, Any]]], None] = lambda runs: None,
) -> list[dict[str, Any]]:
    """Run pairs one after the other; those in `done` are not repeated."""
    runs = list(done)
    known = {(r["pair"], r["seed"]) for r in runs}
    todo = [(pair, seed) for pair in pairs for seed in seeds]
    for k, (pair, seed) in enumerate(todo, start=1):
        if (pair.name, seed) in known:
            continue
        runs.append(run_pair(pair, seed, settings))
        print(f"[{k}/{len(todo)}] {_line(runs[-1])}", flush=True)
        on_run(runs)
    return runs


def _line(run: Mapping[str, Any]) -> str:
    parts = [f"{run['pair']} seed {run['seed']}"]
    for stage in STAGES:
        found = run[stage]
        structure = "structure" if found["structure"] else "other structure"
        right = "right" if found["right"] else "wrong"
        parts.append(
            f"  {stage:9} {structure}, {right} ({found['rmse']:.2g} σ): {found['equation']}"
        )
    return "\n".join(parts)


def summary(runs: Sequence[Mapping[str, Any]]) -> str:
    """How many are right at each stage, by both criteria."""
    if not runs:
        return "no pair was run"
    lines = [f"{'':10}  structure of the law  right in the whole domain    of {len(runs)}"]
    for stage in STAGES:
        counts = [sum(r[stage][what] for r in runs) for what in ("structure", "right")]
        shown = [f"{n} ({n / len(runs):.0%})" for n in counts]
        lines.append(f"{stage:10}  {shown[0]:>20}  {shown[1]:>25}")
    slowest = max(r["seconds_to_suggest"] for r in runs)
    return "\n".join([*lines, f"a suggestion took {slowest:.2f} s at most"])


# --- the command line --------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Do suggested measurements decide between equations that a table leaves open?",
        epilog="example: python benchmarks/suggestions.py --time 10 --jobs 2 --out results.json",
    )
    parser.add_argument("--pairs", help="names or patterns, with commas: 'gauss*,power_log'")
    parser.add_argument("--limit", type=int, help="only the first pairs")
    parser.add_argument("--seeds", type=int, default=1, help="draws of the noise, from 0 on")
    parser.add_argument("--time", type=float, default=10.0, help="seconds for each fit")
    parser.add_argument("--jobs", type=int, default=2, help="cores for each fit")
    parser.add_argument("--max-trainings", type=int, help="end fits after so many")
    parser.add_argument("--out", type=Path, help="result file, written after every pair")
    parser.add_argument("--resume", action="store_true", help="continue the file of --out")
    parser.add_argument("--overwrite", action="store_true", help="begin the file of --out anew")
    parser.add_argument("--list", action="store_true", help="print the pairs and end")
    return parser


def _chosen(arguments: argparse.Namespace) -> list[Pair]:
    patterns = (arguments.pairs or "*").split(",")
    pairs = [p for p in PAIRS if any(fnmatch.fnmatchcase(p.name, q) for q in patterns)]
    if not pairs:
        raise ValueError("No pair has such a name; --list prints them.")
    return pairs[: arguments.limit]


def _earlier(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The runs of a result file that is continued."""
    if arguments.out is None or not arguments.out.exists() or arguments.overwrite:
        return []
    if not arguments.resume:
        raise ValueError(f"{arguments.out} exists; add --resume or --overwrite.")
    results = read_results(arguments.out)
    other = [k for k in SAME if results["about"]["arguments"].get(k) != vars(arguments)[k]]
    if other:
        raise ValueError(f"{arguments.out} was made with another {', '.join(other)}.")
    return list(results["runs"])


def _run(arguments: argparse.Namespace) -> None:
    pairs = _chosen(arguments)
    if arguments.list:
        for pair in pairs:
            print(f"{pair.name}  y = {pair.law}  or  {pair.rival}")
        return
    runs = _earlier(arguments)
    about = {
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
        "python": platform.python_version(),
        "arguments": {k: v for k, v in vars(arguments).items() if k != "out"},
    }

    def keep(so_far: list[dict[str, Any]]) -> None:
        runs[:] = so_far
        if arguments.out is not None:
            write_results(arguments.out, {"about": about, "runs": runs})

    settings = Settings(arguments.time, arguments.jobs, arguments.max_trainings)
    warm_up(settings.n_jobs)
    try:
        run_pairs(pairs, range(arguments.seeds), settings, list(runs), keep)
    finally:
        print(f"\n{summary(runs)}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 done, 2 wrong use, 130 interrupted with results kept."""
    arguments = _parser().parse_args(argv)
    return exit_code(lambda: _run(arguments), "pairs")


if __name__ == "__main__":
    sys.exit(main())
