"""Bad input and bad places in the large: wide tables, full disks, no home.

The short forms, with the exact sentences, are in ``tests/reliability/test_bad_input.py``.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import ieql
from soak.check import Check, Outcome
from soak.programs import write_table

__all__ = ["CHECKS"]

PACKAGE = Path(ieql.__file__).parent
FIT = ("--target", "y", "--trainings", "4", "--time", "20", "--jobs", "1", "--out")


# --- wide tables ------------------------------------------------------------------------------

WIDE = """
import resource, sys, time
import numpy as np
from ieql import IEQLRegressor, IeqlError
rows, columns, seed = map(int, sys.argv[1:])
X = np.random.default_rng(seed).uniform(size=(rows, columns))
model = IEQLRegressor(max_time=10, n_jobs=1, random_state=0)
start = time.time()
try:
    model.fit(X, 3 * X[:, 7] * X[:, 3] + X[:, 1])
    word = "fitted"
except IeqlError as error:
    word = "refused"
# In kB, as Linux counts.
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(word, time.time() - start, peak)
"""


def wide_tables(size: float, seed: int) -> Outcome:
    """Fit tables of up to 10,000 columns within 10 s and 2 GB, or refuse them at once."""
    widths = [w for w in (100, 1_000, 2_000, 10_000) if w <= max(100, 10_000 * size)]
    words, passed = [], True
    for columns in widths:
        run = _python("-c", WIDE, "200", str(columns), str(seed))
        if run.returncode:
            return Outcome(len(widths), False, f"{columns} columns: {run.stderr[-300:]}")
        word, seconds, peak = run.stdout.split()
        passed &= float(seconds) < 11 and float(peak) < 2
        words.append(f"{columns:,} columns: {word} in {float(seconds):.1f} s, {float(peak):.1f} GB")
    return Outcome(len(widths), passed, "; ".join(words))


# --- full disks -------------------------------------------------------------------------------


def full_disks(size: float, seed: int) -> Outcome:
    """Fit into file systems too small for the run: equations are printed, one error says it."""
    kilobytes = [4, 8, 12, 20, 40, 60, 100, 200][: max(1, round(8 * size))]
    codes: Counter[int] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        write_table(Path(folder) / "data.csv", rows=100, seed=seed)
        place = Path(folder) / "disk"
        place.mkdir()
        for limit in kilobytes:
            mount = f"mount -t tmpfs -o size={limit}k tmpfs {place} && cd {folder} && exec "
            command = [sys.executable, "-m", "ieql", "fit", "data.csv", *FIT, "disk/run"]
            run = subprocess.run(
                ["unshare", "-rm", "sh", "-c", mount + '"$@"', "sh", *command],
                capture_output=True,
                text=True,
                env=_environment(),
                check=False,
            )
            codes[run.returncode] += 1
            fault = _fault_of(run)
            if fault:
                return Outcome(len(kilobytes), False, f"{limit} kB: {fault}")
    text = f"on {codes[2]} of {len(kilobytes)} disks there was too little space, and it was said"
    return Outcome(len(kilobytes), codes[2] > 0, text)


def _fault_of(run: subprocess.CompletedProcess[str]) -> str:
    errors = [line for line in run.stderr.splitlines() if line.startswith("Error: ")]
    if run.returncode not in (0, 2) or "Traceback" in run.stderr:
        return f"exit code {run.returncode}, {run.stderr[-300:]}"
    if run.returncode == 2 and (len(errors) != 1 or "No space left" not in errors[0]):
        return f"another error: {run.stderr[-300:]}"
    began = "The fit continues in memory" in run.stderr
    if began and "Selected (*)" not in run.stdout:
        return "the equations are lost"
    return ""


# --- a home that cannot be written ---------------------------------------------------------------


def read_only_home(size: float, seed: int) -> Outcome:
    """Fit, predict and plot with a package and a home that cannot be written."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        write_table(base / "data.csv", rows=100, seed=seed)
        shutil.copytree(
            PACKAGE, base / "lib" / "ieql", ignore=shutil.ignore_patterns("__pycache__")
        )
        (base / "home").mkdir()
        (base / "work").mkdir()
        closed = [base / "home", *(base / "lib").rglob("*"), base / "lib"]
        _allow(closed, False)
        plot = "import ieql; ieql.IEQLRegressor.load('run/model.json').plot_pareto()"
        try:
            runs = [
                _without_home(base, "-m", "ieql", "fit", "../data.csv", *FIT, "run"),
                _without_home(base, "-m", "ieql", "predict", "run", "../data.csv"),
                _without_home(base, "-c", plot),
            ]
        finally:
            _allow(closed, True)
    bad = [run.stderr[-300:] for run in runs if run.returncode or "Traceback" in run.stderr]
    text = "; ".join(bad) or "a fit, a prediction and a figure came without an error"
    return Outcome(len(runs), not bad, text)


def _without_home(base: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    if os.getuid() == 0:  # to whom permissions mean nothing, unless the capabilities are dropped
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG", "MPL"))},
        "HOME": str(base / "home"),
        "PYTHONPATH": str(base / "lib"),
        "MPLBACKEND": "Agg",
    }
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=base / "work",
        env=environment,
        check=False,
    )


def _allow(paths: list[Path], writing: bool) -> None:
    for path in paths:
        mode = path.stat().st_mode
        path.chmod(mode | stat.S_IWUSR if writing else mode & ~0o222)


# --- what all share -----------------------------------------------------------------------------


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), *sys.path[1:]])}


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env=_environment(),
        check=False,
    )


CHECKS: tuple[Check, ...] = (
    Check("wide-tables", "tables of up to 10,000 columns", wide_tables),
    Check("full-disks", "fits into file systems that are too small", full_disks),
    Check("read-only-home", "a package and a home folder that cannot be written", read_only_home),
)
