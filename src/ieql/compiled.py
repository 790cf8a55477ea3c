"""How kernels are compiled: decorators around numba with the settings that all of them share.

NaN and infinity keep their meaning everywhere, so "nnan" and "ninf" are never among the flags.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

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

    def compiled(kernel: Kernel) -> Kernel:
        decorate = njit([arguments], fastmath={"contract"}, cache=True, **_SETTINGS)
        return cast(Kernel, decorate(kernel))

    return compiled
