"""A lock on a folder: one process at a time, and none forgotten, however that process ended."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ieql.errors import IeqlError
from ieql.files import NoFileError, only_files

__all__ = ["locked", "not_through_links"]

NAME = ".lock"


@contextlib.contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the lock of an existing folder; an `IeqlError` says it if another process has it.

    The lock is the system's, on an open file: it ends with its process, also by ``kill -9``.
    """
    path = Path(folder) / NAME
    file = _taken(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()  # while it is held: who opens it now finds a file of their own
        file.close()


def _taken(path: Path) -> IO[bytes]:
    while True:
        try:
            # It stays open as long as the lock is held, and is never a link to another file.
            file = open(path, "ab", opener=not_through_links)  # noqa: SIM115
        except NoFileError:
            raise IeqlError(
                f"{str(path)!r} is not a regular file; delete it to use this folder."
            ) from None
        except OSError as error:
            raise IeqlError(
                f"Cannot write the run folder {str(path.parent)!r}: {error.strerror or error}; "
                "choose another folder or free this one."
            ) from error
        try:
            _lock(file)
        except OSError as error:
            file.close()
            if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
                raise IeqlError(
                    f"The run folder {str(path.parent)!r} cannot be locked "
                    f"({error.strerror or error}); choose one on another disk."
                ) from error
            raise IeqlError(
                f"Another process is writing the run folder {str(path.parent)!r}; "
                "wait for it to end, or choose another folder."
            ) from None
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                return file
        file.close()  # the last holder took the file away between our two steps


def not_through_links(path: str, flags: int) -> int:
    """An opener: in a folder from elsewhere a name may be a link to any file of the user's.

    Or a pipe, which would be waited for: see `only_files`.
    """
    return only_files(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _lock(file: IO[bytes]) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
