"""How kernels are compiled: decorators around numba with the settings that all of them share.

NaN and infinity keep their meaning everywhere, so "nnan" and "ninf" are never among the flags.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import njit

from ieql.equations.kernel_cache import cache_folder, is_wanted

__all__ = ["entry", "exact", "loose"]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
_SETTINGS: dict[str, Any] = {"error_model": "numpy", "nogil": True}
_INNER: dict[str, Any] = {**_SETTINGS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def exact(kernel: Kernel) -> Kernel:
    """Compile a part of a kernel."""
    return cast(Kernel, njit(fastmath={"contract"}, **_INNER)(kernel))


def loose(kernel: Kernel) -> Kernel:
    """Compile a part of a kernel in which sums may be taken in any order."""
    return cast(Kernel, njit(fastmath={"contract", "reassoc"}, **_INNER)(kernel))


def entry(*arguments: Any) -> Callable[[Kernel], Kernel]:
    """Compile a kernel that is called from Python, for these types alone, and cache it."""

    def compiled(kernel: Kernel, cache: bool = True) -> Kernel:
        decorate = njit([arguments], fastmath={"contract"}, cache=cache, **_SETTINGS)
        return cast(Kernel, decorate(kernel))

    def compiled_somehow(kernel: Kernel) -> Kernel:
        if not is_wanted(kernel.__module__):
            return kernel  # this process compiles those of another module
        return _interruptible(stored(kernel))

    def stored(kernel: Kernel) -> Kernel:
        # numba refuses to compile where it finds no folder to write to, or a full disk.
        for folder in (cache_folder, _temporary_cache):
            try:
                with _kept_in(folder):
                    return compiled(kernel)
            except (RuntimeError, OSError) as error:
                if isinstance(error, RuntimeError) and "cannot cache" not in str(error):
                    raise
        return compiled(kernel, cache=False)

    return compiled_somehow


@contextlib.contextmanager
def _kept_in(folder: Callable[[], Path]) -> Iterator[None]:
    """Let numba keep what it compiles in a folder, for once."""
    settings: Any = numba.config  # typed in some versions, and never with all its names
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(folder())
    try:
        yield
    finally:
        settings.CACHE_DIR = before


def _interruptible(kernel: Kernel) -> Kernel:
    """The same kernel, in which a Ctrl-C is a Ctrl-C.

    A signal that comes while a kernel takes or returns its arguments leaves an exception behind
    that numba does not look at, and Python makes a `SystemError` of it.
    """

    @functools.wraps(kernel)
    def call(*args: Any) -> Any:
        try:
            return kernel(*args)
        except SystemError as error:
            if _comes_from_interrupt(error):
                raise KeyboardInterrupt from None
            raise

    return cast(Kernel, call)


def _comes_from_interrupt(error: BaseException | None) -> bool:
    """Whether a Ctrl-C stands at the beginning of an error, however many others came after it."""
    for _ in range(10):
        if error is None or isinstance(error, KeyboardInterrupt):
            break
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


_temporary: str | None = None


def _temporary_cache() -> Path:
    """Return a folder for compiled kernels that lasts as long as this process.

    Never one of a fixed name: compiled code that somebody else has put there would be run.
    """
    global _temporary
    if _temporary is None:
        _temporary = tempfile.mkdtemp(prefix="ieql-kernels-")
        atexit.register(shutil.rmtree, _temporary, ignore_errors=True)
        # For the processes that this one starts: they would compile everything again.
        os.environ["NUMBA_CACHE_DIR"] = _temporary
        warnings.warn(
            "The compiled kernels cannot be kept, because neither the package folder nor the home "
            "folder is writable; set NUMBA_CACHE_DIR to a folder that is, to compile only once.",
            stacklevel=2,
        )
    return cache_folder()
