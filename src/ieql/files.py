"""Files: JSON that anyone may have written, read within limits, and texts written whole or not.

What is read is limited in size, number of values and depth.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

from ieql.errors import IeqlError

__all__ = [
    "MAX_NAME",
    "NoFileError",
    "NotWritableError",
    "as_bytes",
    "only_files",
    "parse_json",
    "read_bytes",
    "read_json",
    "save_text",
    "write_whole",
]

MAX_BYTES = 100_000_000
MAX_NAME = 10_000
"""Characters of a column's name that can be kept; no table has longer ones."""
MAX_VALUES = 5_000_000
"""Each takes up to about a hundred bytes of memory: a file of brackets alone holds many."""


def read_json(path: str | os.PathLike[str]) -> Any:
    """Return what a JSON file holds.

    Raises
    ------
    ValueError
        With the reason: it is too large, nested too deeply, or not JSON.
    OSError
        If the file cannot be read.
    """
    return parse_json(read_bytes(path))


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file; a `ValueError` says it if there is too much, or no such end."""
    try:
        file = open(path, "rb", opener=only_files)  # noqa: SIM115
    except NoFileError as error:
        raise ValueError(error.strerror) from None
    with file:
        content = b"" if os.fstat(file.fileno()).st_size > MAX_BYTES else file.read(MAX_BYTES + 1)
        if file.read(1):  # not the size that the system tells: it may grow
            raise ValueError(f"it is larger than {MAX_BYTES // 1_000_000} MB")
    return content


class NoFileError(OSError):
    """A pipe, a socket or a device lies where a file is expected."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EINVAL, "it is not a regular file", path)


def only_files(path: str, flags: int) -> int:
    """An opener: what is no regular file is refused by a `NoFileError`, and never waited for.

    To open a pipe waits for who is at its other end, perhaps for ever.
    """
    try:
        descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a pipe that nobody reads, or a socket
            raise NoFileError(path) from None
        raise
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):  # in the system's own words
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        raise NoFileError(path)
    return descriptor


def parse_json(content: bytes) -> Any:
    """Return what JSON text holds; the errors are those of `read_json`."""
    # Whatever the text is, it holds at most so many values, and one more.
    if sum(content.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUES:
        raise ValueError(f"it holds more than {MAX_VALUES:,} values")
    try:
        return json.loads(content.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


# --- writing -----------------------------------------------------------------------------------


class NotWritableError(IeqlError):
    """A file could not be written: no right to it, no such place, or no space left."""


def save_text(path: str | os.PathLike[str], text: str, what: str = "") -> Path:
    """Write a text to where the user wants it, whole or not at all; return where it is.

    `what` is named in the message should it not be possible, such as ``"the report "``.
    """
    try:
        write_whole(Path(path), text)
    except OSError as error:
        raise NotWritableError(
            f"Cannot write {what}{str(path)!r}: {error.strerror or error}; choose another place."
        ) from error
    return Path(path)


def write_whole(path: Path, text: str) -> None:
    """Write a text file whole or not at all: a reader never sees half of it."""
    content = as_bytes(text)
    # Named by hand, as `tempfile` would make it unreadable for others whatever the umask.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.unlink(missing_ok=True)  # never through a link that lies there
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:  # also after Ctrl-C
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def as_bytes(text: str) -> bytes:
    r"""Return text as UTF-8, halves of characters as ``\udcff``: in JSON that reads back the same.

    Python has such halves for bytes in the name of a file that are no text.
    """
    return text.encode("utf-8", "backslashreplace")
