"""Fuzzing: random files, nasty but plausible, through the same door as a user's own.

Every case has a number and is made from it and the seed alone, so that one that fails can be looked
at by itself: ``csv_case(seed, number)``. It passes if ``ieql fit`` ends with equations that hold no
NaN, or with exit code 2 and one sentence; a traceback, a warning of NumPy's or a hang is a failure.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import signal
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from soak.check import Check, Outcome
from soak.random_csv import random_csv
from soak.random_prior import random_prior
from soak.random_run import spoil_run

__all__ = ["CHECKS", "csv_case", "prior_case", "run_case", "try_csv", "try_prior", "try_run"]

N_CASES = 10_000
PATIENCE = 60.0
"""Seconds after which a case counts as a hang; the fits are limited to less than a tenth of it."""
FIT_EVERY = 10
"""One in so many priors that load is fitted with; to read the others is what is tried."""
LONGEST_MESSAGE = 3_000
TRAINING = ("--trainings", "1", "--time", "4", "--jobs", "1")
"""A real but tiny fit."""
EXAMPLE = "a;b c;y\n" + "".join(f"{i};{i * i % 7};{2 * i + (i * i % 7) ** 2}\n" for i in range(20))


class HangError(BaseException):
    """A case took too long; no `except Exception` may swallow it."""


@contextlib.contextmanager
def watchdog(seconds: float = PATIENCE) -> Iterator[None]:
    """Raise `HangError` in the main thread after so many seconds."""
    start, cpu = time.perf_counter(), time.process_time()

    def bark(*_: object) -> None:
        # On a machine that is busy with other things a case may wait long for its turn.
        worked, waited = time.process_time() - cpu, time.perf_counter() - start
        if worked < seconds / 2 and waited < 20 * seconds:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        else:
            raise HangError(f"no end after {waited:.0f} s")

    before = signal.signal(signal.SIGALRM, bark)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# --- one case ------------------------------------------------------------------------------------


def csv_case(seed: int, number: int) -> tuple[bytes, list[str]]:
    """Bytes of a CSV file, and the options that go with it."""
    rng = Random(f"csv {seed} {number}")
    data, targets = random_csv(rng)
    options = [f"--target={target}" for target in targets]
    if rng.random() < 0.2:
        options += ["--prior", rng.choice(["motor", "paper"])]
    if rng.random() < 0.2:
        options += ["--select", rng.choice(["V_int", "V_int-S", "V_int&ex", "best"])]
    if rng.random() < 0.1:
        options += ["--extrapolation", "data.csv"]
    return data, options


def prior_case(seed: int, number: int) -> bytes:
    """Bytes of a prior file."""
    return random_prior(Random(f"prior {seed} {number}"))


def try_csv(data: bytes, options: list[str], folder: Path) -> tuple[str, str]:
    """Fit to a file; returns a word for what happened, and what is wrong with it or nothing."""
    (folder / "data.csv").write_bytes(data)
    run = folder / "run"
    options = [str(folder / o) if o == "data.csv" else o for o in options]
    kind, fault = command("fit", str(folder / "data.csv"), "--out", str(run), *TRAINING, *options)
    if kind == "fitted":
        fault = fault_of_front(run)
    shutil.rmtree(run, ignore_errors=True)
    return kind, fault


def try_prior(text: bytes, folder: Path, fit: bool) -> tuple[str, str]:
    """Read a prior file, write it and read it again; and fit with it if asked to."""
    from ieql.errors import IeqlError
    from ieql.prior import Prior

    path = folder / "prior.yaml"
    path.write_bytes(text)
    try:
        with watchdog():
            prior = Prior.of(path)
            prior.words()
            if Prior.from_yaml(prior.to_yaml()) != prior:
                return "read", "what it writes does not read back"
    except IeqlError as error:
        return "refused", fault_of_message(str(error))
    except (Exception, HangError) as error:
        return "failed", repr(error)
    if not fit:
        return "read", ""
    (folder / "example.csv").write_text(EXAMPLE, encoding="utf-8")
    run = folder / "run"
    arguments = ("--target", "y", "--prior", str(path), "--out", str(run), *TRAINING)
    kind, fault = command("fit", str(folder / "example.csv"), *arguments)
    if kind == "fitted":
        fault = fault_of_front(run)
    shutil.rmtree(run, ignore_errors=True)
    return kind, fault


def run_case(seed: int, number: int, good: Path, folder: Path) -> tuple[Path, list[str]]:
    """A copy of a good run folder with something wrong in it, and a command to use it by."""
    rng = Random(f"run {seed} {number}")
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(good, run)
    spoil_run(rng, run)
    table = str(good.parent / "example.csv")
    commands = [["show"], ["predict", table], ["report"], ["resume", *TRAINING]]
    commands += [["export", "--format", form] for form in ("c", "python", "latex", "sympy", "text")]
    name, *options = rng.choice(commands)
    return run, [name, str(run), *options]


def try_run(run: Path, arguments: list[str]) -> tuple[str, str]:
    """Use a run folder that someone has spoilt."""
    kind, fault = command(*arguments)
    if kind == "fitted":
        kind = "used"
    return kind, f"{arguments[0]}: {fault}" if fault else ""


def command(*arguments: str) -> tuple[str, str]:
    """Run ``ieql`` in this process: "fitted" or "refused" and a fault or nothing, or "failed"."""
    from typer.testing import CliRunner

    from ieql.cli import app

    try:
        with warnings.catch_warnings(), watchdog():
            # What users are told on purpose is a UserWarning; anything else slipped through.
            warnings.simplefilter("error")
            warnings.simplefilter("default", UserWarning)
            result = CliRunner().invoke(app, list(arguments))
    except HangError as error:
        return "failed", str(error)
    if result.exit_code == 0:
        return "fitted", ""
    if result.exit_code != 2 or not isinstance(result.exception, SystemExit):
        return "failed", f"exit code {result.exit_code}, {result.exception!r}"
    return "refused", fault_of_message(result.stderr.rpartition("Error: ")[2].rstrip("\n"))


def fault_of_message(message: str) -> str:
    """What is wrong with the sentence of a refusal: it must be one line that can be read."""
    if not message or "\n" in message or "Traceback" in message:
        return f"not one sentence: {message[:200]!r}"
    if len(message) > LONGEST_MESSAGE:
        return f"a message of {len(message)} characters: {message[:200]!r}"
    return ""


def fault_of_front(run: Path) -> str:
    """What is wrong with the equations of a run: all must be numbers, and so must their values."""
    import json

    import numpy as np

    from ieql.regressor import IEQLRegressor

    model = IEQLRegressor.load(run / "model.json")
    evidence = json.loads((run / "evidence.json").read_text(encoding="utf-8"))
    X = np.array(evidence["X"][: len(evidence["X"]) - evidence["n_outside"]])
    if not (run / "report.html").is_file():
        return "no report was written"
    for front in model.fronts_:
        if not front:
            return "an empty front"
        for c in front:
            if not all(map(math.isfinite, (c.complexity, c.rmse_train, c.rmse_validation))):
                return f"not a number on the front: {c}"
            if not np.all(np.isfinite(c.expression.evaluate(X))):
                return f"undefined in a row of the data: {c.expression.text()}"
    return ""


# --- many cases ----------------------------------------------------------------------------------


@dataclass
class Tally:
    """What happened in all cases."""

    kinds: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    start: float = field(default_factory=time.perf_counter)

    def add(self, number: int, kind: str, fault: str) -> None:
        """Count a case; a fault is kept with its number."""
        self.kinds[kind] += 1
        if fault:
            self.faults.append(f"case {number}: {fault}")

    def outcome(self) -> Outcome:
        """All cases in a sentence, with the first faults."""
        n = sum(self.kinds.values())
        seconds = (time.perf_counter() - self.start) / max(n, 1)
        parts = ", ".join(f"{count:,} {kind}" for kind, count in self.kinds.most_common())
        text = f"{parts}; {len(self.faults)} faults; {seconds:.3f} s per case"
        return Outcome(n, not self.faults, " | ".join([text, *self.faults[:5]]))


def csv_files(size: float, seed: int) -> Outcome:
    """Fit to random CSV files."""
    return many(size, lambda number, folder: try_csv(*csv_case(seed, number), folder))


def prior_files(size: float, seed: int) -> Outcome:
    """Read random prior files, and fit with some."""
    return many(
        size,
        lambda number, folder: try_prior(
            prior_case(seed, number), folder, fit=number % FIT_EVERY == 0
        ),
    )


def run_folders(size: float, seed: int) -> Outcome:
    """Show, export, report and go on with spoilt run folders."""
    with tempfile.TemporaryDirectory() as name:
        good = good_run(Path(name))

        def attempt(number: int, folder: Path) -> tuple[str, str]:
            return try_run(*run_case(seed, number, good, folder))

        return many(size, attempt)


def good_run(folder: Path) -> Path:
    """A run folder as ``ieql fit`` leaves it."""
    from typer.testing import CliRunner

    from ieql.cli import app

    table, run = folder / "example.csv", folder / "good"
    table.write_text(EXAMPLE, encoding="utf-8")
    arguments = ["fit", str(table), "--target", "y", "--out", str(run), *TRAINING]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return run


def many(size: float, attempt: Callable[[int, Path], tuple[str, str]]) -> Outcome:
    """Try so many cases, after one that loads and compiles what they all need."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warm_up(folder)
        tally = Tally()
        for number in range(max(1, round(N_CASES * size))):
            tally.add(number, *attempt(number, folder))
        return tally.outcome()


def warm_up(folder: Path) -> None:
    """Fit once without a watchdog: the first fit of an installation compiles for a minute."""
    from ieql.data.reading import read_csv
    from ieql.regressor import IEQLRegressor

    path = folder / "example.csv"
    path.write_text(EXAMPLE, encoding="utf-8")
    frame = read_csv(path)
    model = IEQLRegressor(max_trainings=1, max_time=4, n_jobs=1, random_state=0)
    model.fit(frame[["a", "b c"]], frame["y"])


CHECKS: tuple[Check, ...] = (
    Check("fuzz-csv", "random CSV files: odd separators, encodings, numbers and names", csv_files),
    Check("fuzz-prior", "random prior files: wrong keys, types, numbers and nesting", prior_files),
    Check("fuzz-run", "spoilt run folders: shown, exported, reported, resumed", run_folders),
)
