"""Bad input and bad places in the large: damaged files, wide tables, full disks, no home.

The short forms, with the exact sentences, are in ``tests/reliability/test_bad_input.py``.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import ieql
from soak.check import Check, Outcome

__all__ = ["CHECKS"]

PACKAGE = Path(ieql.__file__).parent
FIT = ("--target", "y", "--trainings", "4", "--time", "20", "--jobs", "1", "--out")
ODDITIES = (
    *(b"", b",", b";", b"\t", b'"', b"\n", b"\r", b"\0", b" ", b"nan", b"inf", b"-", b"1e400"),
    *(b"1e-400", b"1,5", b"0x1F", b"\xff\xfe", b"\xef\xbb\xbf", b"\xe4", b"2024-01-01", b"true"),
    *(b"9007199254740993", b"1" * 400, b"=1+1", b"#", b"a", b"y", b"None", b"(", b"`", b"\x85"),
)


# --- damaged files ----------------------------------------------------------------------------


def damaged_files(size: float, seed: int) -> Outcome:
    """Fit random tables with random damage: each is fitted or refused in one sentence."""
    from typer.testing import CliRunner

    from ieql.cli import app

    rng = np.random.default_rng(seed)
    n = max(1, round(300 * size))
    codes: Counter[int] = Counter()
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        for case in range(n):
            path.write_bytes(_damaged(rng))
            options = ["--trainings", "1", "--jobs", "1", "--overwrite", "--out", f"{folder}/run"]
            with warnings.catch_warnings():
                result = CliRunner().invoke(app, ["fit", str(path), "--target", "y", *options])
            codes[result.exit_code] += 1
            said = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
            if result.exit_code not in (0, 2) or len(said) != (result.exit_code == 2):
                faults.append(f"case {case}: {result.exception!r}")
    text = f"{codes[0]} were fitted, {codes[2]} refused in a sentence"
    return Outcome(n, not faults, "; ".join([text, *faults[:3]]))


def _damaged(rng: np.random.Generator) -> bytes:
    """A table of two inputs with some pieces put in, replaced or taken out."""
    separator = str(rng.choice([",", ";", "\t"]))
    rows = [["a", "b [1/min]", "y"]]
    rows += [[f"{v:.6g}" for v in row] for row in rng.normal(size=(rng.integers(8, 30), 3))]
    content = bytearray("\n".join(separator.join(row) for row in rows).encode() + b"\n")
    for _ in range(rng.choice([0, 1, 1, 1, 2, 4])):
        start = int(rng.integers(len(content)))
        end = start + int(rng.choice([0, 1, 1, 4, 40]))
        content[start:end] = ODDITIES[rng.integers(len(ODDITIES))]
    return bytes(content)


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
        _write_table(Path(folder) / "data.csv", seed)
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
    began = "The fit goes on in memory" in run.stderr
    if began and "Selected (*)" not in run.stdout:
        return "the equations are lost"
    return ""


# --- a home that cannot be written ---------------------------------------------------------------


def read_only_home(size: float, seed: int) -> Outcome:
    """Fit, predict and plot with a package and a home that cannot be written."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        _write_table(base / "data.csv", seed)
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


def _write_table(path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.uniform(1, 2, (100, 2))
    y = 2 * X[:, 0] * X[:, 1] + rng.normal(0, 0.05, 100)
    rows = "\n".join(f"{a!r},{b!r},{c!r}" for a, b, c in np.column_stack([X, y]).tolist())
    path.write_text(f"a,b,y\n{rows}\n")


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
    Check("damaged-files", "CSV files with random damage", damaged_files),
    Check("wide-tables", "tables of up to 10,000 columns", wide_tables),
    Check("full-disks", "fits into file systems that are too small", full_disks),
    Check("read-only-home", "a package and a home folder that cannot be written", read_only_home),
)
