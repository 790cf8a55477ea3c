"""Jobs of a batch as a user writes them: a YAML file, or a table with one job in each row."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ieql.cli.given import default_folder
from ieql.errors import IeqlError, nearest, shown

if TYPE_CHECKING:
    from typer.core import TyperCommand

    from ieql.run.fit_batch import Job

__all__ = ["PAGE", "read_jobs"]

PAGE = "index.html"
"""The page of a batch, beside its run folders."""

TABLES = (".csv", ".tsv", ".txt")
DELIMITERS = ",;\t"
OF_THE_BATCH = ("out", "overwrite", "help")
"""Options of ``ieql fit`` that a batch gives itself."""
FILES = ("data", "domain", "extrapolation", "prior")
"""Options that may name files."""
TAKEN = ("logs", "batch.json", PAGE)
"""Names in the folder of a batch that are no run's."""
NAME = re.compile(r"[\w+][\w.+ -]*")
EXAMPLE = "lines like '- {data: bench.csv, target: torque}' under 'jobs:'"


def read_jobs(path: Path) -> list[Job]:
    """The jobs of a file, all of them checked as far as that is possible before a fit.

    Parameters
    ----------
    path : Path
        YAML with ``jobs``, a list of mappings, and perhaps ``defaults``; or a table. Keys and
        columns are the options of ``ieql fit`` without dashes, ``data`` and ``name``.
    """
    command = _fit_command()
    jobs = [_job(entry, k, path, command) for k, entry in enumerate(_entries(path))]
    seen: dict[str, int] = {}
    for k, job in enumerate(jobs):
        folded = job.name.casefold()  # some file systems do not tell them apart
        if folded in seen:
            raise IeqlError(
                f"{str(path)!r}: jobs {seen[folded] + 1} and {k + 1} are both called {job.name!r}; "
                "give one of them another 'name'."
            )
        seen[folded] = k
    return jobs


def _fit_command() -> TyperCommand:
    import typer

    from ieql.cli.app import app

    return typer.main.get_command(app).commands["fit"]  # type: ignore[attr-defined,no-any-return]


def _entries(path: Path) -> list[dict[str, Any]]:
    """What the file says of each job, in the words of the options, defaults filled in."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise IeqlError(f"Cannot read {str(path)!r}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise IeqlError(f"{str(path)!r} is not UTF-8 text.") from error
    defaults: dict[str, Any] = {}
    if path.suffix.lower() in TABLES:
        entries = _rows(text, path)
    else:
        defaults, entries = _of_yaml(text, path)
    if not entries:
        raise IeqlError(f"{str(path)!r} holds no job; write {EXAMPLE}.")
    return [{**defaults, **entry} for entry in entries]


def _rows(text: str, path: Path) -> list[dict[str, Any]]:
    lines = text.splitlines()
    header = lines[0] if lines else ""
    delimiter = max(DELIMITERS, key=header.count)
    try:
        names, *rows = list(csv.reader(lines, delimiter=delimiter)) or [[]]
    except csv.Error as error:
        raise IeqlError(f"{str(path)!r} is not a table: {error}.") from error
    if "data" not in map(str.strip, names):
        raise IeqlError(f"{str(path)!r} has no column 'data'; each row names the file of a job.")
    entries = []
    for row in rows:
        if len(row) > len(names):
            raise IeqlError(
                f"{str(path)!r}: {shown(delimiter.join(row))} has more cells than the header; put "
                "values with commas in quotation marks."
            )
        cells = {_key(n): v.strip() for n, v in zip(names, row, strict=False) if v.strip()}
        if cells:
            entries.append(cells)
    return entries


def _of_yaml(text: str, path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    from ieql.prior import parse_yaml

    try:
        found = parse_yaml(text)
    except IeqlError as error:
        raise IeqlError(f"{str(path)!r} is not a YAML file: {error}") from error
    if isinstance(found, list):
        found = {"jobs": found}
    if not isinstance(found, dict) or "jobs" not in found:
        raise IeqlError(f"{str(path)!r} has no jobs; write {EXAMPLE}.")
    for key in found:
        if key not in ("jobs", "defaults"):
            raise IeqlError(
                f"{str(path)!r}: {shown(key)} is neither 'jobs' nor 'defaults'."
                f"{nearest(str(key), ('jobs', 'defaults'))}"
            )
    entries, defaults = found["jobs"] or [], found.get("defaults") or {}
    for entry in (defaults, *entries) if isinstance(entries, list) else (None,):
        if not isinstance(entry, dict):
            raise IeqlError(f"{str(path)!r}: write {EXAMPLE}, not {shown(entry)}.")
    return _keyed(defaults), [_keyed(entry) for entry in entries]


def _keyed(entry: Mapping[Any, Any]) -> dict[str, Any]:
    return {_key(name): value for name, value in entry.items()}


def _key(name: Any) -> str:
    return str(name).strip().lstrip("-").replace("_", "-").lower()


def _job(entry: Mapping[str, Any], number: int, path: Path, command: TyperCommand) -> Job:
    from ieql.run.fit_batch import Job

    where = f"{str(path)!r}, job {number + 1}"
    if not entry.get("data"):
        raise IeqlError(f"{where}: 'data' is missing; it names the file to learn from.")
    arguments = _arguments(entry, where, command)
    _check(arguments, where, command)
    data = [Path(str(file)) for file in _as_list(entry["data"])]
    targets = [t.strip() for text in _as_list(entry["target"]) for t in str(text).split(",")]
    name = str(entry.get("name") or default_folder(data[0], targets, len(data)).name).strip()
    if not NAME.fullmatch(name) or name.casefold() in TAKEN:
        raise IeqlError(
            f"{where}: {shown(name)} cannot be the name of its run folder; use letters, digits, "
            "'-', '_' and '.'."
        )
    return Job(name, tuple(arguments), tuple(_files(entry, path.resolve().parent)))


def _arguments(entry: Mapping[str, Any], where: str, command: TyperCommand) -> list[str]:
    """A job as arguments of ``ieql fit``."""
    options = {p.opts[0].lstrip("-"): p for p in command.params if p.param_type_name == "option"}
    known = [name for name in options if name not in OF_THE_BATCH]
    arguments: list[str] = []
    for key, value in entry.items():
        if key in ("data", "name"):
            continue
        if key not in known:
            raise IeqlError(
                f"{where}: there is no option {shown(key)}.{nearest(key, [*known, 'data', 'name'])}"
            )
        if getattr(options[key], "is_flag", False):
            arguments += [f"--{key}"] * _truth(value, f"{where}: {key}")
        elif value is not None:
            arguments += [f"--{key}={_text(own, f'{where}: {key}')}" for own in _as_list(value)]
    data = [_text(file, f"{where}: data") for file in _as_list(entry["data"])]
    return [*arguments, "--", *data]  # the name of a file may begin with a dash


def _check(arguments: Sequence[str], where: str, command: TyperCommand) -> None:
    """Let the command line judge the arguments, without a fit."""
    import typer

    try:
        command.make_context("fit", list(arguments))
    except typer.BadParameter as error:  # a value that is missing, too
        raise IeqlError(f"{where}: {error.format_message()}") from error


def _files(entry: Mapping[str, Any], place: Path) -> list[Path]:
    found = []
    for key in FILES:
        for value in _as_list(entry.get(key) or []):
            path = place / str(value)
            if key != "prior" or path.is_file():  # it may be the name of a preset
                found.append(path)
    return found


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(value: Any, where: str) -> str:
    if value is None or isinstance(value, bool | dict | list) or "\0" in str(value):
        raise IeqlError(f"{where} takes a text or a number, not {shown(value)}.")
    return str(value)


def _truth(value: Any, where: str) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "yes", "1", "x"):
        return True
    if isinstance(value, str) and value.lower() in ("false", "no", "0", ""):
        return False
    if value is None or isinstance(value, bool):
        return bool(value)
    raise IeqlError(f"{where} is true or false, not {shown(value)}.")
