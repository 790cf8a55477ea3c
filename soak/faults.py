"""Faults: killed processes, Ctrl-C, hardly any time, too many jobs, fits inside of other processes.

Each case is a fit in a process of its own, so that what it leaves behind can be seen from outside.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from soak.check import Check, Outcome
from soak.programs import Program, fit, is_linux, sandbox, threads, until, write_table

__all__ = ["CHECKS"]

FAST: dict[str, Any] = {"max_time": None, "max_trainings": 16, "random_state": 0}
PAPER: dict[str, Any] = {
    **FAST,
    "max_trainings": 4,
    "trainer": {"layers": 1, "copies": 1, "first_epochs": 60, "epochs": 200, "batch": 50,
                "rate": 0.02},
}  # fmt: skip
START = 600.0
"""Seconds that a very busy machine may take to start or end processes."""
Fault = str
"""What was wrong with a case; empty if nothing."""
Case = tuple[str, Callable[[Path], Fault]]
"""Its name, and what is done in a folder of its own."""


def killed_worker(folder: Path, options: Mapping[str, Any], after: float, expected: str) -> Fault:
    """Kill a worker process during a fit: the front must be the same as without."""
    program = fit(folder, {**options, "n_jobs": 2})
    if not until(lambda: program.workers() or program.process.poll() is not None, START):
        return program.abandoned("no worker was started")
    time.sleep(after)
    with contextlib.suppress(ProcessLookupError, IndexError):  # it may be over by now
        os.kill(program.workers()[0], signal.SIGKILL)
    try:
        told = program.told()
    except RuntimeError as error:
        return str(error)
    if told["front"] != expected:
        return "another front"
    return program.left_behind()


def interrupted(folder: Path, after: float, again: float | None) -> Fault:
    """Ctrl-C during ``ieql fit``, once or twice: no traceback, and what was written stays."""
    data, run = folder / "data.csv", folder / f"run{time.monotonic_ns()}"
    options = ["--target", "y", "--time", "60", "--jobs", "2", "--out", str(run)]
    program = Program("-m", "ieql", "fit", str(data), *options, folder=folder)
    if after < 0.2:  # before there is anything of this package to be interrupted
        time.sleep(0.2)
    time.sleep(after)
    equations = run / "equations.csv"
    program.signal_all(signal.SIGINT)
    if again is not None:
        time.sleep(again)
        program.signal_all(signal.SIGINT)
    was_there = equations.exists()
    code, _, errors = program.end(START)
    if "Traceback" in errors or "Exception ignored" in errors:
        return f"a traceback: {errors[-600:]}"
    if code == -signal.SIGINT and not errors and not run.exists():
        return ""  # on a busy machine Python itself was still starting
    if code not in (0, 130):
        return f"exit code {code}: {errors[-300:]}"
    left = program.left_behind() or _unfinished(run)
    if left or not was_there:
        return left
    shown = Program("-m", "ieql", "show", str(run), folder=folder).end()
    return "" if shown[0] == 0 and "Selected" in shown[1] else f"show: {shown[2][-300:]}"


def _unfinished(run: Path) -> Fault:
    hidden = [p.name for p in run.glob(".*")] if run.exists() else []
    return f"left in the run folder: {', '.join(hidden)}" if hidden else ""


def killed_master(folder: Path, options: Mapping[str, Any], after: float) -> Fault:
    """``kill -9`` of the process that called `fit`, alone: its workers must end by themselves."""
    program = fit(folder, {**options, "n_jobs": 2, "max_trainings": 100_000, "max_time": 300})
    if not until(lambda: len(program.workers()) >= 2, START):
        return program.abandoned("no worker was started")
    time.sleep(after)
    os.kill(program.process.pid, signal.SIGKILL)
    # Before their first job, workers are only starting: that takes seconds on a busy machine.
    left = program.left_behind(START)
    program.signal_all(signal.SIGKILL)
    program.end()
    return left


def short(folder: Path, options: Mapping[str, Any]) -> Fault:
    """A fit with hardly any time must give a model that predicts."""
    program = fit(folder, {**options, "max_time": 0.1, "max_trainings": None})
    try:
        told = program.told()
    except RuntimeError as error:
        return str(error)
    return program.left_behind() if told["front"].count("\n") > 1 else "no equation"


def many_jobs(folder: Path, options: Mapping[str, Any], expected: str) -> Fault:
    """As many processes as nobody has cores for."""
    program = fit(folder, {**options, "n_jobs": 64})
    most = 0
    while program.process.poll() is None:
        most = max(most, len(program.workers()))
        time.sleep(0.1)
    try:
        told = program.told()
    except RuntimeError as error:
        return str(error)
    if most > max(os.cpu_count() or 1, 2):
        return f"{most} processes"
    return program.left_behind() if told["front"] == expected else "another front"


NESTED = """
import json, sys
from sklearn.model_selection import GridSearchCV
from ieql import IEQLRegressor
from soak.programs import table
frame = table(150)
model = IEQLRegressor(max_time=None, max_trainings=12, n_jobs=-1, random_state=0)
grid = GridSearchCV(model, {"validation_fraction": [0.1, 0.2]}, cv=2, n_jobs=2, error_score="raise")
grid.fit(frame.drop(columns="y"), frame["y"])
print(json.dumps({"score": grid.best_score_}))
"""


def nested(folder: Path) -> Fault:
    """A grid search in two processes over fits that would take all cores: two threads work."""
    program = Program("-c", NESTED, folder=folder)
    most = [0, 0]
    while program.process.poll() is None:
        workers = program.workers()
        most[0] = max(most[0], len(workers))
        if workers:
            with contextlib.suppress(OSError):
                most[1] = max(most[1], *(threads(pid) for pid in workers))
        time.sleep(0.05)
    try:
        told = program.told()
    except RuntimeError as error:
        return str(error)
    # Some library's thread may be seen in the moment in which it is set up, but not three.
    if most[0] > max(os.cpu_count() or 1, 2) or most[1] > 2:
        return f"{most[0]} processes with {most[1]} threads"
    return program.left_behind() if told["score"] > 0.5 else f"score {told['score']}"


CHILD = """
import multiprocessing, os, sys
from ieql import IEQLRegressor
from soak.programs import table

def child():
    frame = table(150)
    model = IEQLRegressor(max_time=None, max_trainings=12, n_jobs=2, random_state=0)
    model.fit(frame.drop(columns="y"), frame["y"])
    assert model.n_trainings_ == 12

if __name__ == "__main__":
    method, first, daemon = sys.argv[1:]
    if first == "yes":
        child()  # by now this process has workers of its own
    if method == "os.fork":
        number = os.fork()
        if not number:
            child()
            os._exit(0)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]))
    context = multiprocessing.get_context(method)
    process = context.Process(target=child, daemon=daemon == "yes")
    process.start()
    process.join()
    sys.exit(process.exitcode)
"""
UNGUARDED = """
from ieql import IEQLRegressor
from soak.programs import table
frame = table(150)
model = IEQLRegressor(max_time=None, max_trainings=12, n_jobs=2, random_state=0)
model.fit(frame.drop(columns="y"), frame["y"])
with open("started.txt", "a") as file:
    file.write("once\\n")
"""


def in_child(folder: Path, method: str, first: bool, daemon: bool) -> Fault:
    """A fit in a child process, also after one in its parent."""
    script = folder / "child.py"
    script.write_text(CHILD, encoding="utf-8")
    words = ["yes" if flag else "no" for flag in (first, daemon)]
    program = Program(str(script), method, *words, folder=folder)
    # Long before joblib would end idle workers, for which a child once waited.
    code, _, errors = program.end(240)
    return program.left_behind() if code == 0 else f"exit code {code}: {errors[-600:]}"


def unguarded(folder: Path) -> Fault:
    """A script without ``if __name__ == "__main__"`` runs once, not once per process."""
    script = folder / "unguarded.py"
    script.write_text(UNGUARDED, encoding="utf-8")
    program = Program(str(script), folder=folder)
    code, _, errors = program.end()
    if code != 0 or (folder / "started.txt").read_text() != "once\n":
        return f"exit code {code}: {errors[-600:]}"
    return program.left_behind()


def failing(folder: Path) -> Fault:
    """A fit that ends by an exception, raised while its workers are at work."""
    text = (
        "import time, _thread, threading\nimport ieql.training.fast.search as s\n"
        "real = s._measure\n"
        "def broken(progress, *rest):\n"
        "    if progress.n_trainings > 8: raise OSError('no space left')\n"
        "    return real(progress, *rest)\n"
        "s._measure = broken\n"
        "from soak.programs import table\nfrom ieql import IEQLRegressor\n"
        "frame = table(150)\n"
        "IEQLRegressor(max_trainings=40, n_jobs=2, random_state=0).fit("
        "frame.drop(columns='y'), frame['y'])\n"
    )
    program = Program("-c", text, folder=folder)
    code, _, errors = program.end()
    if code != 1 or "no space left" not in errors:
        return f"exit code {code}: {errors[-600:]}"
    return program.left_behind()


# --- checks --------------------------------------------------------------------------------------


def _outcome(cases: list[Case], good: str) -> Outcome:
    """Run cases one after the other, each in a folder of its own."""
    if not is_linux:
        return Outcome(0, True, "not tried: processes are looked at on Linux alone")
    faults = []
    for name, case in cases:
        with sandbox() as folder:
            fault = case(folder)
        if fault:
            faults.append(f"{name}: {fault}")
    text = good if not faults else f"{len(faults)} failed; the first: {faults[0]}"
    return Outcome(len(cases), not faults, text)


def _count(n: int, size: float) -> int:
    return max(1, round(n * size))


def _expected(options: Mapping[str, Any]) -> str:
    with sandbox() as folder:
        return str(fit(folder, {**options, "n_jobs": 1}).told()["front"])


def _killed_workers(size: float, seed: int) -> Outcome:
    moments = Random(seed)
    cases: list[Case] = []
    for options, name in ((FAST, "fast"), (PAPER, "paper")):
        expected = _expected(options) if is_linux else ""
        for _ in range(_count(10, size)):
            after = moments.uniform(0.0, 6.0)
            tried = partial(killed_worker, options=options, after=after, expected=expected)
            cases.append((f"{name}, after {after:.1f} s", tried))
    return _outcome(cases, "each time its work was run again, and the front was the same")


def _interrupts(twice: bool) -> Callable[[float, int], Outcome]:
    def run(size: float, seed: int) -> Outcome:
        moments = Random(seed)

        def case(after: float, again: float | None) -> Callable[[Path], Fault]:
            def tried(folder: Path) -> Fault:
                write_table(folder / "data.csv")
                return interrupted(folder, after, again)

            return tried

        cases = []
        for k in range(_count(30, size)):
            # Half of them within the first seconds, in which everything is loaded and started.
            after = moments.uniform(0.0, 4.0 if k % 2 else 20.0)
            again = moments.uniform(0.0, 1.5) if twice else None
            cases.append((f"after {after:.2f} s, again {again}", case(after, again)))
        return _outcome(
            cases, "no traceback, exit code 130, nothing written was lost, nothing left behind"
        )

    return run


def _killed_masters(size: float, seed: int) -> Outcome:
    moments = Random(seed)
    cases: list[Case] = []
    for options, name in ((FAST, "fast"), (PAPER, "paper")):
        for _ in range(_count(5, size)):
            after = moments.uniform(0.0, 8.0)
            tried = partial(killed_master, options=options, after=after)
            cases.append((f"{name}, after {after:.1f} s", tried))
    return _outcome(cases, "the worker processes ended by themselves and took their files along")


def _short_times(size: float, seed: int) -> Outcome:
    cases: list[Case] = []
    for options, name in ((FAST, "fast"), ({**FAST, "trainer": "paper"}, "paper")):
        for n_jobs in (1, 2):
            for rows in (10, 200, 5000)[: _count(3, size)]:
                chosen = {**options, "n_jobs": n_jobs, "rows": rows, "random_state": seed}
                cases.append(
                    (f"{name}, {n_jobs} jobs, {rows} rows", partial(short, options=chosen))
                )
    return _outcome(cases, "each gave a model that predicts")


def _many_jobs(size: float, seed: int) -> Outcome:
    cases: list[Case] = []
    for options, name in ((FAST, "fast"), (PAPER, "paper"))[: _count(2, size)]:
        expected = _expected(options) if is_linux else ""
        cases.append((name, partial(many_jobs, options=options, expected=expected)))
    return _outcome(cases, "no more processes than cores were started; the front was the same")


def _children(size: float, seed: int) -> Outcome:
    combinations = [
        ("fork", True, False), ("spawn", True, False), ("os.fork", True, False),
        ("forkserver", True, False), ("fork", True, True), ("spawn", False, True),
        ("fork", False, False), ("spawn", False, False), ("os.fork", False, False),
    ][: _count(9, size)]  # fmt: skip
    cases: list[Case] = [
        (f"{m}, after a fit: {f}, daemon: {d}", partial(in_child, method=m, first=f, daemon=d))
        for m, f, d in combinations
    ]
    if size >= 1:
        cases.append(("a script without a guard", unguarded))
    return _outcome(cases, "every fit was done, and every process ended")


def _nested(size: float, seed: int) -> Outcome:
    cases: list[Case] = [("", nested)] * _count(3, size)
    return _outcome(cases, "never more than two processes, nor two threads at work in one of them")


def _left_behind(size: float, seed: int) -> Outcome:
    def done(folder: Path) -> Fault:
        program = fit(folder, {**FAST, "n_jobs": 2})
        try:
            program.told()
        except RuntimeError as error:
            return str(error)
        return program.left_behind()

    cases: list[Case] = [("a fit", done), ("an error", failing)]
    return _outcome(cases * _count(3, size), "no process and no temporary file was left")


CHECKS: tuple[Check, ...] = (
    Check(
        "killed-worker",
        "one of two worker processes is killed (`kill -9`) at a random moment of a fit, with both "
        "trainers",
        _killed_workers,
    ),
    Check("ctrl-c", "Ctrl-C at a random moment of `ieql fit`", _interrupts(False)),
    Check("ctrl-c-twice", "Ctrl-C twice within 1.5 s during `ieql fit`", _interrupts(True)),
    Check(
        "killed-master",
        "the process that called `fit` is killed (`kill -9`), its workers are not",
        _killed_masters,
    ),
    Check("short-time", "`max_time=0.1`, both trainers, 10 to 5,000 rows", _short_times),
    Check("many-jobs", "`n_jobs=64` on a machine with fewer cores", _many_jobs),
    Check(
        "child-processes",
        "a fit with `n_jobs=2` in a child process (fork, spawn, forkserver, daemons), before and "
        "after a fit of the parent; a script without `if __name__ == '__main__'`",
        _children,
    ),
    Check(
        "nested",
        "fits with `n_jobs=-1` inside `GridSearchCV(n_jobs=2)`",
        _nested,
    ),
    Check("left-behind", "a fit that ends well, and one that fails midway", _left_behind),
)
