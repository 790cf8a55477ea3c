"""The run folder: what a fit leaves on disk; a kill at any moment loses nothing already found.

``run.json`` (settings, versions, seed, SHA-256 of the data), ``front.jsonl`` (one equation per
line, appended as they are found), ``equations.csv``, ``constants.csv``, ``model.json``,
``evidence.json`` (a sample of the data, for the report) and ``checkpoint.json`` (from which the
search goes on), all written after every round of the search, and ``report.html``, written at its
end.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import shlex
import stat
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ieql.errors import IeqlError
from ieql.files import NotWritableError, as_bytes, parse_json, read_bytes, read_json, write_whole
from ieql.report.evidence import Evidence
from ieql.run.lock import not_through_links

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "RunFolder",
    "sha256_of",
    "sha256_of_texts",
    "without_formulas",
]

RUN, FRONT, EQUATIONS, MODEL = "run.json", "front.jsonl", "equations.csv", "model.json"
CHECKPOINT, EVIDENCE, REPORT = "checkpoint.json", "evidence.json", "report.html"
CONSTANTS = "constants.csv"
RESULTS = (CHECKPOINT, REPORT, EVIDENCE, MODEL, EQUATIONS, CONSTANTS, FRONT)
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class RunFolder:
    """A folder with the results of one fit. Use `create` for a new run, `open` for an old one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        settings: Mapping[str, Any],
        data_sha256: str,
        *,
        search_seed: int | None = None,
        source: Mapping[str, Any] | None = None,
    ) -> RunFolder:
        """Start a run in `path`, replacing the run that may be there.

        Parameters
        ----------
        path : path-like
            Made with its parents if it does not exist.
        settings : mapping
            What the fit was asked to do; its ``random_state`` is kept as the seed, too.
        data_sha256 : str
            From `sha256_of`.
        search_seed : int, optional
            The number behind all random choices, also where the user gave none.
        source : mapping, optional
            The files and columns that the data came from, so that the run can be resumed.

        Raises
        ------
        IeqlError
            If the folder cannot be written, or holds files of these names that are not a run's.
        """
        from ieql.model import versions  # not at the top: `ieql --help` would wait for it

        run = cls(path)
        if not run.exists(path):
            run._refuse_foreign_files()
        description = {
            "settings": dict(settings),
            "seed": settings.get("random_state"),
            "search_seed": search_seed,
            "data_sha256": data_sha256,
            "source": source,
            "versions": versions(),
            "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        }
        text = _to_json(description, indent=2)  # before anything is taken away
        run.make()
        try:
            # run.json stays while the old results go: killed here, the folder is still a run's.
            for name in RESULTS:
                (run.path / name).unlink(missing_ok=True)
        except OSError as error:
            raise run._not_writable(error) from error
        run._write(RUN, text + "\n")
        return run

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunFolder:
        """Return the run in `path`; an `IeqlError` says it if there is none."""
        run = cls(path)
        if not run.path.is_dir():
            raise IeqlError(
                f"There is no folder {str(path)!r}; give the one named by --out in the fit."
            )
        if not cls.exists(path):
            raise IeqlError(
                f"The folder {str(path)!r} holds no run ({RUN} is missing); "
                "give the one named by --out in the fit."
            )
        return run

    @staticmethod
    def exists(path: str | os.PathLike[str]) -> bool:
        """Tell whether `path` holds a run, finished or not."""
        return RunFolder(path)._has(RUN)

    def _has(self, name: str) -> bool:
        """Tell whether a file of the run is there; what is no file is refused, not waited for."""
        path = self.path / name
        try:
            mode = path.stat().st_mode
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):  # or a link to nothing
                return False
            raise IeqlError(f"Cannot read {str(path)!r}: {error.strerror or error}.") from error
        if not stat.S_ISREG(mode):
            raise IeqlError(f"{str(path)!r} is not a regular file; delete it to use this folder.")
        return True

    def description(self) -> dict[str, Any]:
        """Return what ``run.json`` says: settings, seed, data_sha256, versions, command."""
        try:
            found = read_json(self.path / RUN)
        except ValueError as error:
            raise IeqlError(f"{self.path / RUN} is damaged ({error}); fit again.") from error
        if not isinstance(found, dict):
            raise IeqlError(f"{self.path / RUN} is damaged (it is not a JSON object); fit again.")
        return found

    def make(self) -> list[Path]:
        """Make the folder, with its parents, if it does not exist; return those made, it first."""
        try:
            made = [p for p in (self.path, *self.path.parents) if not p.exists()]
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._not_writable(error) from error
        return made

    @staticmethod
    def unmake(made: Sequence[Path]) -> None:
        """Take away the folders that `make` made, if nothing is in them."""
        with contextlib.suppress(OSError):
            for path in made:
                path.rmdir()

    def check_files(self) -> None:
        """Refuse a folder in which a pipe or the like has the name of a file of the run."""
        for name in (RUN, *RESULTS):
            self._has(name)

    def has_model(self) -> bool:
        """Tell whether ``model.json`` is there."""
        return self._has(MODEL)

    def check_same(self, settings: Mapping[str, Any], data_sha256: str) -> None:
        """Refuse to continue this run with other data or settings, and say which."""
        from ieql.run.settings import differences

        told = self.description()
        advice = "choose another folder, or replace this run (--overwrite, or delete the folder)"
        if told.get("data_sha256") != data_sha256:
            raise IeqlError(f"The folder {str(self.path)!r} holds a run on other data; {advice}.")
        stored = told.get("settings")
        before = stored if isinstance(stored, dict) else {}
        different = differences(before, _plain(settings))
        if different:
            raise IeqlError(
                f"The folder {str(self.path)!r} holds a run with other settings "
                f"({', '.join(different)}); {advice}."
            )

    def append(self, record: Mapping[str, Any]) -> None:
        """Add one equation to ``front.jsonl``; when this returns, the line is on the disk.

        Numbers that are not finite are written as null, as JSON has no other word for them.
        """
        line = as_bytes(_to_json(record) + "\n")
        try:
            with open(self.path / FRONT, "a+b", opener=not_through_links) as file:
                _drop_unfinished_line(file)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._not_writable(error) from error

    def records(self) -> list[dict[str, Any]]:
        """Return the lines of ``front.jsonl``; one cut short by a kill is no line yet."""
        path = self.path / FRONT
        if not self._has(FRONT):
            return []
        records = []
        try:
            lines = read_bytes(path).split(b"\n")[:-1]
        except ValueError as error:
            raise IeqlError(f"{path} is damaged ({error}); delete it to continue.") from error
        for number, line in enumerate(lines, start=1):
            try:
                record = parse_json(line)
            except ValueError:
                record = None
            if not isinstance(record, dict):
                raise IeqlError(
                    f"Line {number} of {path} is damaged; delete that line to use the others."
                )
            records.append(record)
        return records

    def seconds(self) -> float:
        """Return the seconds after which the last equation was found."""
        found = [record.get("seconds") for record in self.records()]
        return max((float(s) for s in found if isinstance(s, int | float)), default=0.0)

    def write_checkpoint(self, form: Mapping[str, Any]) -> None:
        """Write where the search stands as ``checkpoint.json``."""
        self._write(CHECKPOINT, _to_json(form))

    def checkpoint(self) -> Any:
        """Return what ``checkpoint.json`` holds; None if the run never got that far."""
        if not self._has(CHECKPOINT):
            return None
        try:
            return read_json(self.path / CHECKPOINT)
        except ValueError as error:
            raise IeqlError(
                f"{self.path / CHECKPOINT} is damaged ({error}); delete that file to start "
                "the search again in this folder."
            ) from error

    def write_equations(self, frame: pd.DataFrame) -> None:
        """Write the front as ``equations.csv``; see `without_formulas`."""
        self._write(EQUATIONS, without_formulas(frame).to_csv(index=False, lineterminator="\n"))

    def write_constants(self, frame: pd.DataFrame) -> None:
        """Write the constants of the front as ``constants.csv``; see `without_formulas`."""
        self._write(CONSTANTS, without_formulas(frame).to_csv(index=False, lineterminator="\n"))

    def write_model(self, text: str) -> None:
        """Write the fitted model, already as JSON text, as ``model.json``."""
        self._write(MODEL, text)

    def write_evidence(self, evidence: Evidence) -> None:
        """Write what the report needs beyond the model as ``evidence.json``."""
        self._write(EVIDENCE, _to_json(evidence.to_form()) + "\n")

    def write_report(self, text: str) -> Path:
        """Write the report, already as HTML, as ``report.html``; return where it is."""
        self._write(REPORT, text)
        return self.report_path

    @property
    def report_path(self) -> Path:
        """Where the report is, or will be."""
        return self.path / REPORT

    def evidence(self) -> Evidence | None:
        """Return what ``evidence.json`` holds; None if the run has none."""
        path = self.path / EVIDENCE
        if not self._has(EVIDENCE):
            return None
        try:
            form = read_json(path)
        except ValueError as error:
            raise IeqlError(f"{path} is damaged ({error}); fit again.") from error
        return Evidence.from_form(form, str(path))

    def model_path(self) -> Path:
        """Return where ``model.json`` is; an `IeqlError` if the run never got that far."""
        path = self.path / MODEL
        if not self.has_model():
            raise IeqlError(
                f"The run in {str(self.path)!r} was cut short before it found an equation "
                f"({MODEL} is missing); continue it: ieql resume {shlex.quote(str(self.path))}."
            )
        return path

    def _write(self, name: str, text: str) -> None:
        """Write a file whole or not at all: a reader never sees half of it."""
        try:
            write_whole(self.path / name, text)
        except OSError as error:
            raise self._not_writable(error) from error

    def _refuse_foreign_files(self) -> None:
        for name in RESULTS:
            if (self.path / name).exists():
                raise IeqlError(
                    f"{self.path / name} would be overwritten but belongs to no run "
                    f"({RUN} is not beside it); choose another folder."
                )

    def _not_writable(self, error: OSError) -> NotWritableError:
        return NotWritableError(
            f"Cannot write the run folder {str(self.path)!r}: {error.strerror or error}; "
            "choose another folder or free this one."
        )


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table that a spreadsheet, which opens it as CSV, finds nothing to run in.

    A text that begins like a formula (``=``, ``+``, ``-``, ``@``, tab, carriage return), a name of
    a column too, gets a space before it, which `Expression.parse` and most readers pass over.
    Numbers stay as they are.
    """
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    columns = [
        column if is_numeric_dtype(column.dtype) else column.map(_no_formula)
        for _, column in frame.items()
    ]
    return pd.concat(columns, axis=1).set_axis([_no_formula(n) for n in frame.columns], axis=1)


def _no_formula(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell.startswith(FORMULA):
        return cell
    return cell if NUMBER.fullmatch(cell) else f" {cell}"


def sha256_of(X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> str:
    """Return the SHA-256 of the data as 64-bit floats: the same numbers give the same text.

    Frames, arrays and lists with the same values, shapes and order agree; names do not count.
    """
    digest = hashlib.sha256()
    for name, values in (("X", X), ("y", y), ("weight", weight)):
        if values is None:
            continue
        array = np.ascontiguousarray(values, dtype="<f8")
        digest.update(f"{name}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def sha256_of_texts(texts: Sequence[str] | NDArray[np.str_]) -> str:
    """Return the SHA-256 of texts in their order."""
    return hashlib.sha256(json.dumps([str(t) for t in texts]).encode()).hexdigest()


def _drop_unfinished_line(file: Any) -> None:
    """Cut what a killed process left after the last newline, so that the next line starts clean."""
    end = file.seek(0, os.SEEK_END)
    if end == 0:
        return
    file.seek(end - 1)
    if file.read(1) == b"\n":
        return
    file.seek(0)
    file.truncate(file.read().rfind(b"\n") + 1)
    file.seek(0, os.SEEK_END)


def _to_json(value: Any, indent: int | None = None) -> str:
    write = partial(json.dumps, indent=indent, allow_nan=False, ensure_ascii=False)
    try:
        return write(value)
    except (TypeError, ValueError):  # rarely: walking through it takes ten times as long
        return write(_plain(value))


def _plain(value: Any) -> Any:
    """Return `value` in JSON's own types: NumPy's become Python's, non-finite numbers null."""
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value
