"""C compilers and checkers for the tests of exported code."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

__all__ = ["COMPILER", "compiled", "loop", "misra", "needs_compiler", "needs_cppcheck", "ran"]

COMPILER = shutil.which("gcc") or shutil.which("cc")
CPPCHECK = shutil.which("cppcheck")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow"]
STRICT += ["-Wmissing-prototypes", "-Wstrict-prototypes"]
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler (gcc or cc)")
needs_cppcheck = pytest.mark.skipif(CPPCHECK is None, reason="needs cppcheck")


def compiled(source: str, folder: Path, *options: str) -> ctypes.CDLL:
    """The shared library of a C source, which must give no warning."""
    # Another name each time: what is loaded under a name stays loaded.
    number = len(list(folder.iterdir()))
    code, library = folder / f"equation{number}.c", folder / f"equation{number}.so"
    code.write_text(source, encoding="utf-8")
    command = [COMPILER, *STRICT, "-O1", "-shared", "-fPIC", *options]
    result = subprocess.run(
        [*command, str(code), "-o", str(library), "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not result.stderr, result.stderr[:2000]
    return ctypes.CDLL(str(library))


def ran(folder: Path, *sources: str, options: tuple[str, ...] = ()) -> int:
    """Compile some sources to one program, without a warning, and run it: what it returns."""
    files = [folder / f"file{k}.c" for k in range(len(sources))]
    for file, source in zip(files, sources, strict=True):
        file.write_text(source, encoding="utf-8")
    program = folder / "program"
    command = [COMPILER, *STRICT, *options, *map(str, files), "-o", str(program), "-lm"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not result.stderr, result.stderr[:2000]
    return subprocess.run([str(program)], check=False, capture_output=True).returncode


def loop(code: str, name: str, n_inputs: int, kind: str, folder: Path, *options: str):
    """The exported function over the rows of an array, as one compiled loop."""
    inputs = ", ".join(f"x[{n_inputs} * i + {j}]" for j in range(n_inputs))
    head = f"void over_rows(const {kind} *x, {kind} *y, int n)"
    body = f"{{ for (int i = 0; i < n; i++) {{ y[i] = {name}({inputs}); }} }}"
    library = compiled(f"{code}\n{head};\n{head}\n{body}\n", folder, "-O2", *options)
    dtype = {"int32_t": np.int32, "double": np.float64, "float": np.float32}[kind]

    def values(X):
        X = np.ascontiguousarray(X, dtype=dtype)
        y = np.empty(len(X), dtype=dtype)
        library.over_rows(
            X.ctypes.data_as(ctypes.c_void_p), y.ctypes.data_as(ctypes.c_void_p), len(X)
        )
        return y

    return values


def misra(source: str, folder: Path) -> set[str]:
    """The rules of MISRA C:2012 that cppcheck finds broken, and what else it remarks on."""
    file = folder / "checked.c"
    file.write_text(source, encoding="utf-8")
    command = [CPPCHECK, "--addon=misra", "--enable=style", "--inline-suppr", "-q", str(file)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return set(re.findall(r"\[([\w.-]+)\]$", result.stderr, re.MULTILINE))
