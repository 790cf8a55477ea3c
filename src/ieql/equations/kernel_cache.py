"""Where compiled kernels are kept, and how they get there before anything is timed or compared.

The folder bears a digest of every source that goes into a kernel. Numba itself looks only at the
file of the kernel that is called from Python: after a change to `ieql.equations.kernels` alone the
paper's trainer went on with the elementary functions of before. Versions of Python, numba and the
processor numba tells apart by itself.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

__all__ = ["SOURCES", "cache_folder", "compile_kernels", "is_wanted"]

SOURCES = (
    "units.py",
    "equations/kernel_cache.py",
    "equations/compiled.py",
    "equations/user_units.py",
    "equations/kernels.py",
    "training/fast/law_kernel.py",
    "training/fast/structure_kernel.py",
    "training/fast/styles.py",
    "training/paper/gates.py",
    "training/paper/steps.py",
)
"""All files of the package that hold kernels or numbers that are compiled into them."""
PACKAGE = Path(__file__).parents[1]
LOOK = 0.1
"""Seconds between two looks at processes that compile."""
WANTED = "IEQL_COMPILE"
"""The environment variable that names the one module whose kernels a process compiles."""


def compile_kernels(*modules: str) -> bool:
    """Load compiled kernels, once per installation compiling them; True if that was needed.

    The compiled code is kept beside the sources, where other processes find it. Compiling takes
    some twenty seconds, about which a first user deserves a word: it goes to the error stream.
    """
    folder = cache_folder()
    missing = [m for m in modules if m not in sys.modules and not _is_kept(m, folder)]
    if missing:
        print("Compiling the kernels, once; this takes about 20 seconds.", file=sys.stderr)
        if _is_writable(folder):
            _remove_others(folder)
            _compile_elsewhere(missing)
    for module in modules:
        import_module(module)
    return bool(missing)


def cache_folder() -> Path:
    """The folder of the kernels compiled from these very sources.

    It stands in ``NUMBA_CACHE_DIR`` if that is set, else beside the sources, or, where these cannot
    be written, in the user's cache.
    """
    name = f"ieql-kernels-{_place()}-{_digest()}"
    if os.environ.get("NUMBA_CACHE_DIR"):
        return Path(os.environ["NUMBA_CACHE_DIR"]) / name
    beside = PACKAGE / "__pycache__"
    if _is_writable(beside):
        return beside / name
    from platformdirs import user_cache_path

    return user_cache_path("ieql", appauthor=False) / name


@functools.cache
def _place() -> str:
    """Tells installations apart that share a cache: none may remove the kernels of another."""
    return hashlib.sha256(str(PACKAGE).encode()).hexdigest()[:8]


@functools.cache
def _digest(package: Path = PACKAGE) -> str:
    sources = hashlib.sha256()
    for name in SOURCES:
        # A packed program has no sources to read, and none that change.
        with contextlib.suppress(OSError):
            sources.update(name.encode() + (package / name).read_bytes())
    return sources.hexdigest()[:16]


def is_wanted(module: str) -> bool:
    """Whether this process compiles the kernels of a module: not if it is there for another one."""
    return os.environ.get(WANTED, module) == module


def _is_kept(module: str, folder: Path) -> bool:
    name = module.rpartition(".")[2]
    return any(folder.rglob(f"{name}.*.nbi"))


def _is_writable(folder: Path) -> bool:
    """Whether a folder, or the place where it would be made, can be written to."""
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    return os.access(existing, os.W_OK)


def _remove_others(folder: Path) -> None:
    """Remove what was compiled from earlier sources of this installation."""
    for other in folder.parent.glob(f"ieql-kernels-{_place()}-*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)


def _compile_elsewhere(modules: Sequence[str]) -> None:
    """Compile each in a process of its own, so that this one runs the same code as all later ones.

    The code that numba runs where it compiles is not the code that it stores (it seems that calls
    are bound to copies of a kernel's parts that were optimised apart): in single precision, sums
    differ in the seventh digit from those of every process that reads the stored code. And numba
    compiles one kernel at a time in a process, however many cores there are.
    """
    if getattr(sys, "frozen", False) or not sys.executable:
        return  # no interpreter of its own: the import compiles, here
    program = (
        "import importlib, json, sys; module, sys.path[:] = json.loads(sys.argv[1]);"
        "importlib.import_module(module)"
    )
    waiting = list(modules)
    running: list[subprocess.Popen[bytes]] = []
    # What goes wrong here goes wrong again in the import that follows, and is said there.
    with contextlib.suppress(OSError), contextlib.ExitStack() as ended:
        while waiting or running:
            while waiting and len(running) < max(os.cpu_count() or 1, 2):
                module = waiting.pop(0)
                job = subprocess.Popen(
                    [sys.executable, "-c", program, json.dumps([module, sys.path])],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, WANTED: module},
                )
                ended.callback(job.wait)
                ended.callback(job.kill)
                running.append(job)
            with contextlib.suppress(subprocess.TimeoutExpired):
                running[0].wait(LOOK)
            running = [job for job in running if job.poll() is None]
