"""Programs that checks run in processes of their own, and what is seen of those from outside."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = [
    "FIT",
    "Program",
    "fit",
    "front_of",
    "is_linux",
    "sandbox",
    "table",
    "threads",
    "until",
    "write_table",
]

FIT = """
import json, sys
from ieql import IEQLRegressor
from soak.programs import front_of, table
options = json.loads(sys.argv[1])
frame = table(options.pop("rows", 200), options.pop("seed", 0))
X, y = frame.drop(columns="y"), frame["y"]
model = IEQLRegressor(**options).fit(X, y)
print(json.dumps({"front": front_of(model), "score": model.score(X, y)}))
"""
"""Fits `table` with the parameters in its argument, and tells what came of it."""
is_linux = sys.platform.startswith("linux")
"""Only there are other processes seen, without another package."""
ROOT = Path(__file__).parents[1]


def table(rows: int = 200, seed: int = 0, n_inputs: int = 3, n_outputs: int = 1) -> pd.DataFrame:
    """A product and a wave with a little noise; further inputs do not matter."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.2, 2.0, (rows, n_inputs))
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(n_inputs)])
    for k in range(n_outputs):
        name = "y" if n_outputs == 1 else f"y{k}"
        exact = (1 + k) * X[:, 0] * X[:, 1] + 0.5 * np.cos((1.5 + 0.1 * k) * X[:, 2])
        frame[name] = exact + 0.02 * rng.normal(size=rows)
    return frame


def write_table(path: Path, **options: Any) -> Path:
    """`table` as a CSV file."""
    table(**options).to_csv(path, index=False)
    return path


def front_of(model: Any) -> str:
    """Everything that the front holds, to the last bit, as text."""
    from ieql.run.folder import without_formulas

    return str(without_formulas(model.equations_).to_csv(index=False))


class Program:
    """A Python program in a session of its own, by which all processes that it starts are known.

    Parameters
    ----------
    arguments : str
        What follows ``python`` on the command line.
    folder : path
        Where it runs, and where it and its processes put what is temporary.
    """

    def __init__(self, *arguments: str, folder: Path) -> None:
        self.folder = folder
        places = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
        self.temporary = folder / "temporary"
        self.temporary.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(p for p in places if p),
            "TMPDIR": str(self.temporary),
            "JOBLIB_TEMP_FOLDER": str(self.temporary),
        }
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def end(self, timeout: float = 600.0) -> tuple[int, str, str]:
        """Exit code, output and what was said on the error stream; -9 if it took too long."""
        try:
            output, errors = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.signal_all(signal.SIGKILL)
            output, errors = self.process.communicate()
        return self.process.returncode, output, errors

    def told(self, timeout: float = 600.0) -> dict[str, Any]:
        """What a program printed as JSON; an error if it failed."""
        code, output, errors = self.end(timeout)
        if code != 0:
            raise RuntimeError(f"exit code {code}: {errors[-2000:]}")
        found = json.loads(output.splitlines()[-1])
        assert isinstance(found, dict)
        return found

    def abandoned(self, why: str) -> str:
        """End the program and all its processes at once; gives back why."""
        self.signal_all(signal.SIGKILL)
        return f"{why}: {self.end()[2][-600:]}"

    def signal_all(self, number: int) -> None:
        """Send a signal to the program and all its processes, as a terminal does."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def processes(self) -> list[int]:
        """All processes of the session that are alive, the program among them."""
        return [
            int(pid)
            for pid, state, session in _processes()
            if session == self.process.pid and state not in "ZX"
        ]

    def workers(self) -> list[int]:
        """Those of joblib that do the work."""
        found = []
        for pid in self.processes():
            with contextlib.suppress(OSError):
                if b"popen_loky" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
        return found

    def left_behind(self, seconds: float = 10.0) -> str:
        """What is still there so many seconds after the end: processes, temporary files."""
        until(lambda: not self.processes() and not self._files(), seconds)
        left = [f"{len(self.processes())} processes"] if self.processes() else []
        return ", ".join(left + self._files())

    def _files(self) -> list[str]:
        return [str(p.relative_to(self.folder)) for p in self.temporary.rglob("*") if p.is_file()]


def _processes() -> Iterator[tuple[str, str, int]]:
    """Number, state and session of every process of the machine."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            state, _, _, session = (
                Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[:4]
            )
            yield pid, state, int(session)


def threads(pid: int) -> int:
    """How many threads of a process are running or ready to run now."""
    count = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            count += (task / "stat").read_text().rsplit(")", 1)[1].split()[0] == "R"
    return count


def until(condition: Any, seconds: float) -> bool:
    """Wait for a condition, at most so long; whether it came."""
    end = time.monotonic() + seconds
    while not (come := bool(condition())) and time.monotonic() < end:
        time.sleep(0.05)
    return come


@contextlib.contextmanager
def sandbox() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        yield Path(name)


def fit(folder: Path, options: Mapping[str, Any]) -> Program:
    """Start `FIT` with parameters of the regressor."""
    return Program("-c", FIT, json.dumps(dict(options)), folder=folder)
