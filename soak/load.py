"""Load: many rows, many inputs, many outputs, and many fits in one process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from soak.check import Check, Outcome
from soak.programs import Program, sandbox

__all__ = ["CHECKS"]

LARGE = """
import json, resource, sys, time
from ieql import IEQLRegressor
from soak.programs import table
shape, options = json.loads(sys.argv[1])
frame = table(**shape)
targets = [name for name in frame if name.startswith("y")]
y = frame[targets[0]] if len(targets) == 1 else frame[targets]
X = frame.drop(columns=targets)
start = time.perf_counter()
model = IEQLRegressor(**options).fit(X, y)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": seconds, "peak": peak, "score": model.score(X, y),
                  "outputs": len(model.fronts_)}))
"""
MANY_FITS = """
import gc, json, os, sys
from pathlib import Path
from ieql import IEQLRegressor
from soak.programs import table

def memory():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20

n, n_jobs = json.loads(sys.argv[1])
marks = sorted({max(1, n // 10), max(1, n // 2), n})
found = {}
for k in range(1, n + 1):
    frame = table(150, seed=k)
    model = IEQLRegressor(max_time=None, max_trainings=12, n_jobs=n_jobs, random_state=k)
    model.fit(frame.drop(columns="y"), frame["y"])
    if k in marks:
        found[k] = [memory(), len(os.listdir("/proc/self/fd"))]
print(json.dumps(found))
"""
ALLOWED = 1.10
"""The memory may grow by so much from a tenth of the fits to all of them: allocators keep some."""


def large(shape: Mapping[str, int], options: Mapping[str, Any]) -> dict[str, Any]:
    """One fit of a large table in a process of its own: seconds, peak memory (MB), score."""
    with sandbox() as folder:
        program = Program("-c", LARGE, json.dumps([shape, options]), folder=folder)
        told = program.told(timeout=3600)
        return {**told, "left": program.left_behind()}


def many_fits(n: int, n_jobs: int) -> dict[str, list[float]]:
    """Memory (MB) and open files of a process after a tenth, half and all of so many fits."""
    with sandbox() as folder:
        return Program("-c", MANY_FITS, json.dumps([n, n_jobs]), folder=folder).told(timeout=7200)


def _scaled(number: int, size: float, least: int) -> int:
    return max(least, round(number * min(size, 1.0)))


def _large(shape: Mapping[str, int], size: float, seed: int, max_time: float) -> Outcome:
    options = {"max_time": max_time * max(size, 0.1), "n_jobs": 2, "random_state": seed}
    told = large({**shape, "seed": seed}, options)
    good = told["score"] > 0.9 and not told["left"] and told["outputs"] == shape.get("n_outputs", 1)
    text = (
        f"R² {told['score']:.4f} after {told['seconds']:.0f} s (limit "
        f"{options['max_time']:.0f} s), {told['peak']:.0f} MB at most"
    )
    return Outcome(1, good, text + (f"; left: {told['left']}" if told["left"] else ""))


def _many_rows(size: float, seed: int) -> Outcome:
    shape = {"rows": _scaled(1_000_000, size, 1000), "n_inputs": 10}
    return _large(shape, size, seed, 120.0)


def _many_inputs(size: float, seed: int) -> Outcome:
    shape = {"rows": _scaled(500, size, 100), "n_inputs": _scaled(200, size, 10)}
    return _large(shape, size, seed, 120.0)


def _many_outputs(size: float, seed: int) -> Outcome:
    shape = {"rows": 500, "n_inputs": 3, "n_outputs": _scaled(20, size, 2)}
    return _large(shape, size, seed, 240.0)


def _many_fits(size: float, seed: int) -> Outcome:
    n = _scaled(200, size, 10)
    told = many_fits(n, 2)
    first, last = told[min(told, key=int)], told[max(told, key=int)]
    good = last[0] <= ALLOWED * first[0] and last[1] <= first[1] + 2
    after = ", ".join(f"{memory:.0f} MB after {k}" for k, (memory, _) in told.items())
    return Outcome(n, good, f"{after} fits; open files: {first[1]:.0f}, then {last[1]:.0f}")


CHECKS: tuple[Check, ...] = (
    Check("many-rows", "1,000,000 rows × 10 inputs, `max_time=120`", _many_rows),
    Check("many-inputs", "500 rows × 200 inputs, `max_time=120`", _many_inputs),
    Check("many-outputs", "20 outputs, `max_time=240`", _many_outputs),
    Check("many-fits", "200 fits one after the other in one process", _many_fits),
)
