"""A benchmark per change: what got slower or worse since the last release.

    python benchmarks/bench.py                      # beside results/bench.json, ten minutes
    python benchmarks/bench.py --store              # keep the results as those of a release
    python benchmarks/bench.py --source ../before   # beside another source tree, in turns
    python benchmarks/bench.py --only 'start *' --list

Three kinds of parts: ``fit`` with a fixed seed and number of trainings, ``kernel`` for compiled
code, ``start`` for whole processes. Each part runs in a process of its own, on one core. Another
machine, or a busy one, is slower in everything: next to each part a piece of work is timed of which
no line is ours, and with stored results the seconds are compared as multiples of it. With
``--source`` both trees are measured in turns, and the seconds themselves are compared. Only the
best time counts, as other work on the machine only ever makes it slower.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["compared", "main"]

Result = dict[str, Any]

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "benchmarks" / "results" / "bench.json"
PACKAGES = ("ieql", "numpy", "scipy", "numba", "scikit-learn", "pandas", "joblib")
SLOWER = 1.25
"""Ratio of times from which on a part counts as slower, or its inverse as faster."""
WORSE = 1.1
"""Ratio of errors from which on an equation counts as worse."""
SEED, TRAININGS, SECONDS = 0, 16, 60.0
"""Of each fit; the seconds are there so that a slow machine comes to an end."""
ROUNDS = 11
"""How often a kernel, or a start, is timed."""

# One of each family that the search finds in its own way; one or two it does not find.
FITS = (
    *("paper S0", "paper S1", "paper S3", "paper S5", "paper A1", "paper A2", "paper A4"),
    *("random R0-002", "random R0-005", "random R0-009", "random R0-012", "random R0-020"),
    *("random R0-031", "random R0-044", "random R0-057", "random R0-068", "random R0-083"),
    *("feynman I.10.7", "feynman I.12.11", "feynman I.29.16", "feynman II.11.27"),
    *("classic Nguyen-7", "classic Korns-1", "classic Keijzer-14", "wide W0-013", "wide W0-005"),
)


def reference() -> float:
    """Seconds for a fixed piece of work in Python, NumPy and BLAS."""
    import numpy as np

    grid = np.linspace(0.0, 1.0, 250_000).reshape(500, 500)
    began = time.perf_counter()
    for _ in range(4):
        np.exp(-grid @ grid).sum()
        sum(k % 7 for k in range(100_000))
    return time.perf_counter() - began


# --- what is measured ----------------------------------------------------------------------------


def fit(name: str) -> Result:
    """Fit a problem of a suite; what was selected, and whether it is right."""
    from fits import Settings, fit_ieql, warm_up
    from recovery import judge
    from suites import suite

    family, _, wanted = name.partition(" ")
    problems = suite(family, noise=0.01 if family == "random" else None)
    problem = next(p for p in problems if p.name == wanted)
    data = problem.draw(SEED)
    warm_up(1)
    before = reference()
    found = fit_ieql(problem, data, SEED, Settings(SECONDS, 1, TRAININGS))
    verdict = judge(problem, data, found)
    return {
        "seconds": found.seconds,
        "reference": min(before, reference()),
        "error": verdict["rmse"],
        "complexity": found.front[found.selected].errors["complexity"],
        "right": verdict["success"],
        "equation": verdict["equation"],
        "trainings": found.notes["n_trainings"],
        "stopped": found.notes["stop_reason"],
    }


def kernel(name: str) -> Result:
    """Time compiled code: the best of some rounds."""
    run = KERNELS[name]()
    run()  # compiled, or loaded
    times, references = [], []
    for _ in range(ROUNDS):
        references.append(reference())
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return {"seconds": min(times), "reference": min(references)}


def _refits() -> tuple[Any, ...]:
    from refits import EQUATIONS, problem

    return problem(EQUATIONS[-1])  # the longest


def _evaluate() -> Callable[[], Any]:
    program, XT, _, starts = _refits()
    return lambda: [program.evaluate(XT, theta) for theta in starts * 50]


def _jacobian() -> Callable[[], Any]:
    program, XT, _, starts = _refits()
    return lambda: [program.jacobian(XT, theta) for theta in starts * 20]


def _refit() -> Callable[[], Any]:
    from refits import refits

    arguments = _refits()
    return lambda: [refits(*arguments) for _ in range(3)]


def _paper_epoch() -> Callable[[], Any]:
    from training_step import make_trainer, ours

    steps = ours(make_trainer(100))
    return lambda: steps(200)


KERNELS: dict[str, Callable[[], Callable[[], Any]]] = {
    "evaluate": _evaluate,
    "jacobian": _jacobian,
    "fit": _refit,
    "paper's epoch": _paper_epoch,
}

PREPARE = """
import numpy as np
from ieql import IEQLRegressor
X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
model = IEQLRegressor(max_time=20, n_jobs=1, random_state=0).fit(X, 2 * X[:, 0] * X[:, 1] + 1)
"""
PREDICT = """
from ieql import IEQLRegressor
IEQLRegressor.load('model.json').predict([[0.5, 0.5]])
"""
# Whole processes, in a folder with a saved model.
STARTS = {
    "import ieql": ["-c", "import ieql"],
    "ieql --help": ["-m", "ieql", "--help"],
    "predict": ["-c", PREDICT],
    "easy fit": ["-c", PREPARE],
}


def starts(names: list[str], sources: list[Path]) -> dict[Path, dict[str, Result]]:
    """Time whole processes, the sources in turns, in a folder of its own for each."""
    found: dict[Path, dict[str, Result]] = {source: {} for source in sources}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        places = {source: Path(folder) / str(k) for k, source in enumerate(sources)}
        for source, place in places.items():
            place.mkdir()
            _python(source, ["-c", PREPARE + "model.save('model.json')"], place)
        for name in names:
            for _ in range(ROUNDS):
                for source, place in places.items():
                    own = {"reference": reference()}
                    began = time.perf_counter()
                    _python(source, STARTS[name], place)
                    own["seconds"] = time.perf_counter() - began
                    _keep_best(found[source], f"start {name}", own)
    return found


def _keep_best(results: dict[str, Result], part: str, new: Result) -> None:
    old = results.get(part, new)
    times = {key: min(old[key], new[key]) for key in ("seconds", "reference")}
    results[part] = {**old, **times}


def _python(source: Path, arguments: list[str], folder: Path) -> str:
    """What a process prints that runs with a source tree, on one core."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(source / part) for part in ("src", "benchmarks")),
        **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    }
    # -P: this file's own folder is not on the path, as the helpers are those of the source.
    command = [sys.executable, "-P", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)[:200]} failed with {source}:\n{done.stderr[-2000:]}")
    return done.stdout


# --- all of it -----------------------------------------------------------------------------------


def parts() -> list[str]:
    """Names of all parts; the quick ones come first."""
    return [
        *(f"start {name}" for name in STARTS),
        *(f"kernel {name}" for name in KERNELS),
        *(f"fit {name}" for name in FITS),
    ]


def measure(wanted: list[str], sources: list[Path]) -> dict[Path, dict[str, Result]]:
    """Run the parts with each source, in turns."""
    fresh = [part.removeprefix("start ") for part in wanted if part.startswith("start ")]
    found = starts(fresh, sources) if fresh else {source: {} for source in sources}
    for part in wanted:
        if not part.startswith("start "):
            for source in sources:
                printed = _python(source, [__file__, "--part", part], ROOT)
                found[source][part] = json.loads(printed.splitlines()[-1])
        print(f"{part:<26} {found[sources[0]][part]['seconds']:9.3f} s", flush=True)
    return found


def compared(new: Result, old: Result, same_run: bool) -> tuple[float, list[str]]:
    """Ratio of the times, new over old, and what is to be said of the part."""
    ratio = new["seconds"] / old["seconds"]
    if not same_run:
        ratio *= old["reference"] / new["reference"]
    words = ["slower"] if ratio > SLOWER else ["faster"] if ratio < 1 / SLOWER else []
    if "right" in new:
        if new["right"] != old["right"]:
            words.append("now right" if new["right"] else "WORSE: no longer right")
        if new["trainings"] != old["trainings"]:  # it stopped earlier, or was cut short
            words.append(f"{old['trainings']} -> {new['trainings']} trainings")
        exact = max(new["error"], old["error"]) < 1e-9
        if not exact and new["error"] > WORSE * old["error"]:
            words.append(f"WORSE: error {old['error']:.3g} -> {new['error']:.3g}")
        if new["complexity"] > old["complexity"]:
            words.append(f"WORSE: complexity {old['complexity']:g} -> {new['complexity']:g}")
        elif new["equation"] != old["equation"]:
            words.append("another equation")
    return ratio, words


def show(new: dict[str, Result], old: dict[str, Result], same_run: bool) -> None:
    """Print a table of ratios, and below it what got slower or worse."""
    bad = []
    print(f"\n{'part':<26} {'seconds':>9} {'before':>9} {'ratio':>6}")
    for part, result in new.items():
        if part not in old:
            print(f"{part:<26} {result['seconds']:9.3f} {'-':>9} {'-':>6}  new")
            continue
        ratio, words = compared(result, old[part], same_run)
        line = f"{part:<26} {result['seconds']:9.3f} {old[part]['seconds']:9.3f} {ratio:6.2f}"
        print(f"{line}  {'; '.join(words)}".rstrip())
        bad += [f"{part}: {word}" for word in words if word == "slower" or word[:5] == "WORSE"]
    if not same_run:
        print("Ratios are of the times as multiples of the reference work on each machine.")
    both = [part for part in new if part in old and "right" in new[part]]
    if both:
        counts = [sum(r[part]["right"] for part in both) for r in (new, old)]
        print(f"Right equations: {counts[0]} of {len(both)}, before {counts[1]}.")
    ratios = [compared(new[part], old[part], same_run)[0] for part in new if part in old]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"Geometric mean of the ratios: {mean:.2f}.")
        print("Slower or worse:" if bad else "Nothing got slower or worse.")
        print("".join(f"  {line}\n" for line in bad), end="")


def machine() -> Result:
    """The machine and the versions, and what the fits were given."""
    from importlib import metadata

    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan
    return {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "load": round(load, 1),
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in PACKAGES},
        "fits": {"seed": SEED, "trainings": TRAININGS, "seconds": SECONDS},
    }


def main(arguments: list[str] | None = None) -> int:
    """Measure and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", action="store_true", help=f"keep the results in {STORED.name}")
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    parser.add_argument("--stored", type=Path, default=STORED, help="results to compare with")
    parser.add_argument("--source", type=Path, help="another source tree, measured in turns")
    parser.add_argument("--only", default="*", help="parts to run, such as 'kernel *'")
    parser.add_argument("--list", action="store_true", help="print the parts and end")
    parser.add_argument("--part", help=argparse.SUPPRESS)  # one part, in a process of its own
    options = parser.parse_args(arguments)
    if options.part:
        kind, _, name = options.part.partition(" ")
        print(json.dumps({"fit": fit, "kernel": kernel}[kind](name)))
        return 0
    wanted = fnmatch.filter(parts(), options.only)
    if options.list or not wanted:
        print("\n".join(wanted) or f"No part is called {options.only!r}; try --list.")
        return 0 if wanted else 2
    about = machine()
    print(
        f"{about['machine']}, load {about['load']}, Python {about['python']}; fits: {about['fits']}"
    )
    sources = [ROOT] if options.source is None else [ROOT, options.source.resolve()]
    found = measure(wanted, sources)
    results = {**about, "parts": found[ROOT]}
    for path in filter(None, [options.out, STORED if options.store else None]):
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if options.source is not None:
        show(found[ROOT], found[sources[1]], same_run=True)
    elif options.stored.exists() and not options.store:
        old = json.loads(options.stored.read_text(encoding="utf-8"))
        versions = ", ".join(f"{name} {number}" for name, number in old["versions"].items())
        print(f"\nBefore: {old['machine']}, load {old['load']}, Python {old['python']}, {versions}")
        show(found[ROOT], old["parts"], same_run=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
