"""Many fits as one queue: each is a process of its own, and what is done is not done again.

A batch keeps ``batch.json`` beside its run folders, which says for every job what it was asked, of
which files, and how it ended. So a batch that was stopped continues with the jobs that are left.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ieql.errors import IeqlError
from ieql.files import read_json, save_text
from ieql.run.folder import RunFolder
from ieql.run.lock import locked

__all__ = ["DONE", "FAILED", "FIT", "RUNNING", "STOPPED", "WAITING", "Batch", "Job", "Progress"]

BATCH, LOGS = "batch.json", "logs"
FORMAT = 1
FIT = (sys.executable, "-m", "ieql", "fit")
WAITING, RUNNING, DONE, FAILED, STOPPED = "waiting", "running", "done", "failed", "stopped"
LOOK = 0.1
"""Seconds between two looks at the fits that are running."""
MOST_LOG = 20_000
"""Bytes at the end of a log in which the reason of a failure is looked for."""


@dataclass(frozen=True)
class Job:
    """One fit of a batch.

    Attributes
    ----------
    name : str
        Of its run folder.
    arguments : tuple of str
        Of ``ieql fit``, without the run folder.
    files : tuple of Path
        What it reads: if one of them changes the job is done again.
    """

    name: str
    arguments: tuple[str, ...]
    files: tuple[Path, ...] = ()

    def digest(self) -> str:
        """What tells whether a job is still the same, with the same files."""
        found = hashlib.sha256("\0".join(self.arguments).encode())
        for path in self.files:
            try:
                with path.open("rb") as file:
                    found.update(hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise IeqlError(
                    f"The job {self.name!r}: cannot read {str(path)!r}: "
                    f"{error.strerror or error}. Paths are relative to the file of jobs."
                ) from error
        return found.hexdigest()


@dataclass(frozen=True)
class Progress:
    """How far a job has come.

    Attributes
    ----------
    digest : str
        Of the job when it began, see `Job.digest`.
    status : str
        `WAITING`, `RUNNING`, `DONE`, `FAILED` or `STOPPED`.
    seconds : float
        That it took.
    message : str
        Why it failed.
    """

    digest: str = ""
    status: str = WAITING
    seconds: float = 0.0
    message: str = ""


class Batch:
    """Jobs, the folder of their runs, and how far each has come.

    Parameters
    ----------
    folder : Path
        Of the batch; each job has a run folder of its name in it.
    jobs : sequence of Job
        In the order in which they begin; their names differ.
    place : Path
        The working directory of the fits: their relative paths start there.
    command : sequence of str
        What does a job, in front of its arguments; how many processes it has is no part of a job.
    """

    def __init__(
        self, folder: Path, jobs: Sequence[Job], place: Path, command: Sequence[str] = FIT
    ) -> None:
        self.folder, self.jobs, self.place = folder, tuple(jobs), place
        self.command = tuple(command)
        digests = {job.name: job.digest() for job in jobs}
        known = self._known()
        self.progress = {
            name: known[name]
            if name in known and known[name].digest == digest
            else Progress(digest=digest)
            for name, digest in digests.items()
        }

    def run(self, at_once: int, tell: Callable[[str], None], *, overwrite: bool = False) -> None:
        """Do all jobs that are not done, so many at once; Ctrl-C lets the running ones finish up.

        Parameters
        ----------
        at_once : int
            Fits that run side by side.
        tell : callable
            Called with the name of a job whenever one has begun or ended.
        overwrite : bool
            Whether all jobs are done anew.
        """
        try:
            (self.folder / LOGS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise IeqlError(
                f"Cannot make the folder {str(self.folder)!r}: {error.strerror or error}; choose "
                "another one with --out."
            ) from error
        with locked(self.folder), ExitStack() as logs:
            waiting = [j for j in self.jobs if overwrite or self.progress[j.name].status != DONE]
            for job in waiting:
                self._note(job.name, Progress(digest=self.progress[job.name].digest))
            running: dict[str, tuple[subprocess.Popen[bytes], float]] = {}
            try:
                while waiting or running:
                    while waiting and len(running) < at_once:
                        job = waiting.pop(0)
                        log = logs.enter_context(self.log(job.name).open("wb"))
                        running[job.name] = self._begun(job, log, overwrite), time.monotonic()
                        self._note(job.name, replace(self.progress[job.name], status=RUNNING))
                        tell(job.name)
                    for name in [n for n, (fit, _) in running.items() if fit.poll() is not None]:
                        self._end(name, *running.pop(name))
                        tell(name)
                    time.sleep(LOOK)
            finally:
                for fit, _ in running.values():
                    if os.name == "posix":  # elsewhere the console tells them itself
                        with suppress(ProcessLookupError):
                            fit.send_signal(signal.SIGINT)
                for name, (fit, start) in running.items():
                    fit.wait()
                    self._end(name, fit, start)

    def run_folder(self, name: str) -> Path:
        """Where a job's fit keeps its results."""
        return self.folder / name

    def log(self, name: str) -> Path:
        """What a job's fit prints."""
        return self.folder / LOGS / f"{name}.txt"

    def _begun(self, job: Job, log: Any, overwrite: bool) -> subprocess.Popen[bytes]:
        """A fit that has begun, or continues where it was stopped."""
        own = ["--out", str(self.run_folder(job.name).resolve())] + ["--overwrite"] * overwrite
        return subprocess.Popen(
            [*self.command, *own, *job.arguments],
            cwd=self.place,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # A Ctrl-C is for the batch, which hands it on once.
            start_new_session=True,
        )

    def _end(self, name: str, fit: subprocess.Popen[bytes], start: float) -> None:
        status = {0: DONE, 130: STOPPED}.get(fit.returncode, FAILED)
        if status == STOPPED and not RunFolder.exists(self.run_folder(name)):
            status = WAITING
        seconds = round(time.monotonic() - start, 1)
        message = self._reason(name, fit.returncode) if status == FAILED else ""
        before = self.progress[name]
        self._note(name, replace(before, status=status, seconds=seconds, message=message))

    def _reason(self, name: str, code: int) -> str:
        """The last sentence of a fit that failed."""
        lines = self.log(name).read_bytes()[-MOST_LOG:].decode(errors="replace").splitlines()
        for line in reversed(lines):
            if line.startswith("Error: "):
                return line.removeprefix("Error: ")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"The fit ended with code {code}. {last}".strip()

    def _note(self, name: str, progress: Progress) -> None:
        self.progress[name] = progress
        form = {"format": FORMAT, "jobs": {n: asdict(p) for n, p in self.progress.items()}}
        save_text(self.folder / BATCH, json.dumps(form, indent=1) + "\n")

    def _known(self) -> dict[str, Progress]:
        """How far the jobs of an earlier time have come; a damaged file is as good as none."""
        path = self.folder / BATCH
        if not path.exists():
            return {}
        try:
            form = read_json(path)
            if form["format"] != FORMAT:
                return {}
            return {str(name): Progress(**entry) for name, entry in form["jobs"].items()}
        except (ValueError, OSError, KeyError, TypeError, AttributeError):
            return {}
