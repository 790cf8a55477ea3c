"""How often, how soon and how exactly is the true equation found? See README.md in this folder.

python benchmarks/recovery.py --suite paper --seeds 5 --time 60 --jobs 2 --out results.json
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import measured
from feynman_units import UNITS, measured_in_units, violation
from fits import Fit, Settings, count_processor_time, fit_ieql
from judging import failed, judge
from peers import PEERS, missing
from suites import SUITES, Data, Problem, spoilt, suite
from tables import comparison, exit_code, read_results, summary, table, write_results

__all__ = ["judge", "main", "run_suite"]

Method = Callable[[Problem, Data, int, Settings], Fit]
PACKAGES = ("ieql", "numpy", "scipy", "numba", "scikit-learn", "joblib", "pyoperon", "gplearn")
# What must agree for a result file to be continued.
SAME = (
    "suite",
    "time",
    "jobs",
    "noise",
    "outliers",
    "loss",
    "relevant_max",
    "family",
    "max_trainings",
    "quantities",
    "processor",
)


# --- running -----------------------------------------------------------------------------------


def run_suite(
    problems: Sequence[Problem],
    methods: dict[str, Method],
    seeds: Sequence[int],
    settings: Settings,
    done: Sequence[dict[str, Any]] = (),
    on_run: Callable[[list[dict[str, Any]]], None] = lambda runs: None,
) -> list[dict[str, Any]]:
    """Run every method on every problem and seed, one after the other, and judge what they find.

    Parameters
    ----------
    problems, methods, seeds, settings
        What to run; each seed is one draw of the data, and the seed of the method.
    done : sequence of dict
        Runs that need not be repeated.
    on_run : callable
        Called with all runs so far after each.
    """
    runs = list(done)
    known = {(r["method"], r["problem"], r["seed"]) for r in runs}
    todo = [(p, s, m) for p in problems for s in seeds for m in methods]
    for k, (problem, seed, method) in enumerate(todo, start=1):
        if (method, problem.name, seed) in known:
            continue
        data = problem.draw(seed)
        try:
            fit = methods[method](problem, data, seed, settings)
            found = judge(problem, data, fit) | _violations(data, fit)
        except Exception as error:
            found = failed(problem, error)
        run = {"method": method, "problem": problem.name, "seed": seed, **found}
        runs.append(run)
        print(f"[{k}/{len(todo)}] {_line(run)}", flush=True)
        on_run(runs)
    return runs


def _violations(data: Data, fit: Fit) -> dict[str, Any]:
    """What pint has against the equations of a front, where units were given."""
    units = data.model_options.get("prior", {}).get("quantities")
    if units is None:
        return {}
    target = str(data.y.name)
    checked = [violation(e.expression, units, target) for e in fit.front if e.expression]
    return {"violations": [text for text in checked if text]}


def _line(run: dict[str, Any]) -> str:
    start = f"{run['method']} {run['problem']} seed {run['seed']}: "
    if "error" in run:
        return f"{start}{run['error']}"
    rmse = "undefined" if run["rmse"] == float("inf") else f"{run['rmse']:.4g}"
    first = run["first_success"]
    return start + ", ".join(
        [
            f"rmse {rmse}",
            _verdict(run),
            "never on the front" if first is None else f"first at {first:.1f} s",
            f"fit {run['seconds']:.1f} s",
            f"{run['n_constants']} constants (truth {run['n_constants_truth']})",
            "same structure" if run["same_structure"] else "other structure",
            run["equation"],
        ]
    )


def _verdict(run: dict[str, Any]) -> str:
    if run["success"] is None:
        return f"test R² {run['r2_test']:.4f}"
    if not run["success"]:
        return "not found"
    return "found" if run["right"] else "found inside, wrong beyond"


def _about(arguments: argparse.Namespace) -> dict[str, Any]:
    """Where and with what the figures were measured."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        },
        "versions": versions,
        "commit": _commit(),
        "date": time.strftime("%Y-%m-%d %H:%M:%S"),
        "arguments": {
            k: v for k, v in vars(arguments).items() if k not in ("out", "compare", "tables")
        },
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _commit() -> str:
    def git(*arguments: str) -> str:
        here = Path(__file__).parent
        command = ["git", "-C", str(here), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + (" with changes" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


# --- the command line --------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="How often, how soon and how exactly is the true equation found?",
        epilog="example: python benchmarks/recovery.py --suite random --relevant-max 3 --noise "
        "0.01 --seeds 1 --time 60 --jobs 2 --out random.json",
    )
    parser.add_argument("--suite", choices=SUITES, default="paper")
    parser.add_argument("--problems", help="names or patterns, with commas: 'S1,A*'")
    parser.add_argument("--limit", type=int, help="only the first problems")
    parser.add_argument("--seeds", type=int, default=1, help="draws of the data, from 0 on")
    parser.add_argument("--time", type=float, default=60.0, help="seconds for each fit")
    parser.add_argument("--jobs", type=int, default=2, help="cores for each fit")
    parser.add_argument(
        "--processor",
        action="store_true",
        help="for a machine that is busy: one process, seconds of the processor divided by 1.8",
    )
    parser.add_argument("--max-trainings", type=int, help="end our own fits after so many")
    parser.add_argument("--noise", type=float, help="part of the output's spread, like 0.01")
    parser.add_argument("--outliers", type=float, help="part of the rows that is grossly wrong")
    parser.add_argument("--loss", default="auto", help="of our own fits, like huber")
    parser.add_argument("--relevant-max", type=int, default=6, help="suite random: inputs")
    parser.add_argument("--family", type=int, default=0, help="suites random, wide: equations")
    parser.add_argument(
        "--present", action="store_true", help="suite feynman: only the 97 of older results"
    )
    parser.add_argument(
        "--quantities",
        action="store_true",
        help="suite feynman: tell the fits the physical units, and that constants have none",
    )
    parser.add_argument("--every", type=int, default=1, help="only every so many-th problem")
    parser.add_argument(
        "--tables", type=Path, default=measured.FOLDER, help="suite measured: folder of the tables"
    )
    parser.add_argument("--peers", default="", help=f"with commas: {','.join(PEERS)}")
    parser.add_argument("--only-peers", action="store_true", help="leave our own fits out")
    parser.add_argument("--out", type=Path, help="result file, written after every run")
    parser.add_argument("--resume", action="store_true", help="continue the file of --out")
    parser.add_argument("--overwrite", action="store_true", help="begin the file of --out anew")
    parser.add_argument("--list", action="store_true", help="print the problems and end")
    parser.add_argument(
        "--compare",
        nargs=2,
        metavar=("A.json", "B.json"),
        help="two result files side by side; A.json:operon means the runs of that peer",
    )
    return parser


def _problems(arguments: argparse.Namespace) -> list[Problem]:
    problems = suite(
        arguments.suite,
        noise=arguments.noise,
        relevant_max=arguments.relevant_max,
        family=arguments.family,
        n=None if arguments.problems else arguments.limit,
        present=arguments.present,
        tables=arguments.tables,
    )
    if arguments.problems:
        patterns = arguments.problems.split(",")
        problems = [p for p in problems if any(fnmatch.fnmatchcase(p.name, q) for q in patterns)]
    if not problems:
        raise ValueError(f"No problem of the suite {arguments.suite!r} has such a name.")
    if arguments.outliers:
        problems = [replace(p, draw=partial(spoilt, p.draw, arguments.outliers)) for p in problems]
    problems = problems[:: arguments.every]
    if arguments.quantities:
        problems = [_with_units(p) for p in problems]
    return problems[: arguments.limit]


def _with_units(problem: Problem) -> Problem:
    """The same problem, whose fits are told the physical units of all columns."""
    if problem.name not in UNITS:
        raise ValueError(f"The units of {problem.name!r} are not known; see feynman_units.py.")
    return replace(problem, draw=partial(measured_in_units, problem.name, problem.draw))


def _methods(arguments: argparse.Namespace) -> dict[str, Method]:
    methods: dict[str, Method] = {} if arguments.only_peers else {"ieql": fit_ieql}
    for name in filter(None, arguments.peers.split(",")):
        if name not in PEERS:
            raise ValueError(f"There is no peer {name!r}; known are {', '.join(PEERS)}.")
        line = missing(name)
        if line:
            print(line)
        else:
            methods[name] = PEERS[name]
    return methods


def _earlier(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The runs of a result file that is continued."""
    if arguments.out is None or not arguments.out.exists() or arguments.overwrite:
        return []
    if not arguments.resume:
        raise ValueError(f"{arguments.out} exists; add --resume or --overwrite.")
    results = read_results(arguments.out)
    before, now = results["about"]["arguments"], vars(arguments)
    before = {"loss": "auto", **before}
    other = [k for k in SAME if before.get(k) != now[k] and (before.get(k) or now[k])]
    if other:
        raise ValueError(f"{arguments.out} was made with another {', '.join(other)}.")
    return list(results["runs"])


def _runs_of(path: str) -> tuple[str, list[dict[str, Any]]]:
    """The runs of a file, ours or those of the peer after the colon."""
    name, colon, method = path.rpartition(":")
    if not colon or method not in (*PEERS, "ieql"):
        name, method = path, "ieql"
    results = read_results(name)
    about = results["about"]
    label = f"{path}  ({method}, commit {about['commit'][:12]}, {about['date']})"
    return label, [r for r in results["runs"] if r["method"] == method]


def _report(runs: list[dict[str, Any]], methods: Sequence[str]) -> None:
    of = {name: [r for r in runs if r["method"] == name] for name in methods}
    for name, own in of.items():
        if own:
            print(f"\n{name}\n{table(own)}\n{name}: {summary(own)}")
    for name in methods:
        if name != "ieql" and of.get("ieql") and of[name]:
            print(f"\n{comparison(of['ieql'], of[name], ('ieql', name))}")


def _run(arguments: argparse.Namespace) -> None:
    if arguments.suite == "measured" and not arguments.tables.is_dir():
        print("measured: skipped, its tables are not there (give their folder by --tables)")
        return
    problems, methods = _problems(arguments), _methods(arguments)
    if arguments.list:
        for p in problems:
            law = f"{p.n_constants} constants  y = {p.formula}" if p.formula else "no law"
            print(f"{p.name}  {law}")
        return
    if arguments.processor:
        arguments.jobs = 1
        count_processor_time()
    earlier = _earlier(arguments)
    about = _about(arguments)
    settings = Settings(arguments.time, arguments.jobs, arguments.max_trainings, arguments.loss)
    runs = list(earlier)

    def keep(so_far: list[dict[str, Any]]) -> None:
        runs[:] = so_far
        if arguments.out is not None:
            write_results(arguments.out, {"about": about, "runs": runs})

    try:
        run_suite(problems, methods, range(arguments.seeds), settings, earlier, keep)
    finally:
        _report(runs, list(methods))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 done, 2 wrong use, 130 interrupted with results kept."""
    arguments = _parser().parse_args(argv)

    def run() -> None:
        if arguments.compare:
            (name_a, a), (name_b, b) = (_runs_of(path) for path in arguments.compare)
            print(comparison(a, b, (name_a, name_b)))
        else:
            _run(arguments)

    return exit_code(run, "runs")


if __name__ == "__main__":
    sys.exit(main())
