"""Kill `ieql fit` with SIGKILL at random moments, and see whether what was shown is still there.

After each kill, `ieql show` must print a front and `ieql resume` must go on; every equation that
stood in `equations.csv` before the kill must, after the resume, be on the front or be beaten by one
that is as simple and, but for the last digits of refitted constants, as accurate.

    python benchmarks/kill_runs.py --kills 10
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from ieql import load_problem

__all__ = ["main"]

IEQL = [sys.executable, "-m", "ieql"]
SLACK = 1.03
"""Refitted on all rows, an error may rise by so much on the validation rows."""


def ieql(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*IEQL, *arguments], cwd=folder, text=True, capture_output=True)


def lost(before: pd.DataFrame, after: pd.DataFrame) -> list[str]:
    """Equations of a front that have no match, as simple and as accurate, on a later one."""
    missing = []
    for row in before.itertuples():
        as_simple = after[after["complexity"] <= row.complexity + 1e-9]
        if not (as_simple["rmse_validation"] <= SLACK * row.rmse_validation + 1e-12).any():
            missing.append(str(row.equation))
    return missing


def one_kill(folder: Path, data: Path, after: float, number: int) -> str:
    """Start a fit, kill it after some seconds, look, go on; returns what was wrong, or nothing."""
    run = f"run{number}"
    start = time.monotonic()
    process = subprocess.Popen(
        [*IEQL, "fit", str(data), "--target", "y", "--time", "60", "--out", run],
        cwd=folder, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(max(0.0, after - (time.monotonic() - start)))
    # The whole group, as a power cut would; worker processes die with it.
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    equations = folder / run / "equations.csv"
    shown = ieql(folder, "show", run)
    if not equations.exists():  # killed before the first equation
        if not (folder / run / "run.json").exists():
            return "" if shown.returncode == 2 else f"show: {shown.stderr}"
        before = pd.DataFrame(columns=["equation", "complexity", "rmse_validation"])
    else:
        before = pd.read_csv(equations)
        if shown.returncode != 0 or "Selected" not in shown.stdout:
            return f"show: {shown.stderr}"
    gone_on = ieql(folder, "resume", run, "--time", "6")
    if gone_on.returncode != 0:
        return f"resume: {gone_on.stderr}"
    missing = lost(before, pd.read_csv(equations))
    return f"lost: {missing}" if missing else ""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--latest", type=float, default=25.0, help="latest second of a kill")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    moments = random.Random(options.seed)
    faults = 0
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        problem = load_problem("S5", seed=options.seed)
        data = folder / "data.csv"
        problem.X.assign(y=problem.y).to_csv(data, index=False)
        for number in range(options.kills):
            after = moments.uniform(0.5, options.latest)
            fault = one_kill(folder, data, after, number)
            faults += bool(fault)
            print(f"killed after {after:5.2f} s: {fault or 'all there'}", flush=True)
    print(f"{options.kills - faults} of {options.kills} without a fault")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
