"""JSON from files that anyone may have written: read within limits of size, number and depth."""

from __future__ import annotations

import errno
import json
import os
import stat
from typing import Any

__all__ = ["MAX_NAME", "NoFileError", "only_files", "parse_json", "read_bytes", "read_json"]

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
