"""Where the time of a fit goes: the share of compiled kernels, of BLAS and LAPACK, and of Python.

    python benchmarks/where_time_goes.py [--suite paper] [--problems S1,S3,A2] [--time 20]

A second thread looks two hundred times a second at what a fit in this process (one job) is doing.
The innermost Python function tells whether it is in a kernel, in a function that does nothing but
matrix products and factorisations, or in Python's own bookkeeping. The interpreter's lock is handed
over every tenth of a millisecond, else the watcher would mostly get it when a kernel releases it;
even so it sees kernels too often. A profiler from outside (py-spy) is the judge.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections import Counter
from types import FrameType

from ieql import IEQLRegressor
from ieql.equations.program import compile_kernels
from refits import machine
from suites import SUITES, suite

KERNELS = {("program.py", "_fit"), ("program.py", "_run"), ("bank.py", "_evaluate")}
MATRICES = {
    ("screen.py", "gains"),
    ("screen.py", "replacements"),
    ("screen.py", "__init__"),
    ("path.py", "_step"),
    ("network.py", "forward"),
    ("network.py", "backward"),
    ("network.py", "jacobian"),
    ("reshape.py", "_closest"),
    ("refit.py", "inverse_curvature"),
}


class Watch(threading.Thread):
    """Samples the innermost function of our own on the main thread while a fit runs."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.target_thread = threading.main_thread().ident
        self.counts: Counter[tuple[str, str]] = Counter()
        self.over = threading.Event()

    def run(self) -> None:
        """Look until told to stop."""
        while not self.over.wait(0.005):
            frame = sys._current_frames().get(self.target_thread or 0)
            self.counts[_place(frame)] += 1


def _place(frame: FrameType | None) -> tuple[str, str]:
    """File and function of the innermost frame, looking through NumPy's thin wrappers."""
    while frame is not None:
        path = frame.f_code.co_filename.replace("\\", "/")
        if "/numpy/" not in path and "/scipy/" not in path:
            return path.rsplit("/", 1)[-1], frame.f_code.co_name
        frame = frame.f_back
    return "?", "?"


def main() -> None:
    """Print the shares, and the functions in which most time was spent."""
    parser = argparse.ArgumentParser(description="Where the time of a fit goes.")
    parser.add_argument("--suite", choices=SUITES, default="paper")
    parser.add_argument("--problems", default="S1,S3,A2")
    parser.add_argument("--time", type=float, default=20.0)
    arguments = parser.parse_args()
    chosen = arguments.problems.split(",")
    compile_kernels()
    sys.setswitchinterval(1e-4)
    watch = Watch()
    watch.start()
    began, seconds = time.time(), 0.0
    for problem in suite(arguments.suite):
        if problem.name in chosen:
            data = problem.draw(0)
            model = IEQLRegressor(
                max_time=arguments.time, n_jobs=1, random_state=0, **data.model_options
            )
            began = time.time()
            model.fit(data.X, data.y, **data.fit_options)
            seconds += time.time() - began
    watch.over.set()
    watch.join()
    total = watch.counts.total()
    kernels = sum(watch.counts[place] for place in KERNELS)
    matrices = sum(watch.counts[place] for place in MATRICES)
    print(machine())
    print(f"{arguments.suite} {arguments.problems}: {seconds:.0f} s of fits, one process, seed 0")
    print(f"compiled kernels            {100 * kernels / total:5.1f} %")
    print(f"matrix products and factors {100 * matrices / total:5.1f} %")
    print(f"everything else             {100 * (total - kernels - matrices) / total:5.1f} %, of it")
    others = [(p, n) for p, n in watch.counts.most_common() if p not in KERNELS | MATRICES]
    for (file, function), n in others[:15]:
        print(f"  {100 * n / total:5.1f} %  {file} {function}")


if __name__ == "__main__":
    main()
