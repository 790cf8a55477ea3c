"""An equation as a functional mock-up unit (FMU) of FMI 2.0 or 3.0.

Inputs are the columns, outputs the targets, tunable parameters the constants. It has no states, so
that one file serves model exchange and co-simulation. It holds the C source and, where a compiler
was at hand, a library for the machine on which it was written.
"""

from __future__ import annotations

import hashlib
import html
import math
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from ieql.errors import IeqlError, shown
from ieql.export.c import RESERVED
from ieql.export.fmu_description import (
    TOKEN,
    Model,
    Variable,
    build_description,
    description_2,
    description_3,
)
from ieql.export.functions import PLAIN_WORD, Dialect, Domain, Equation, Function, functions
from ieql.export.names import identifiers
from ieql.export.origin import Origin, about, generated, heading
from ieql.export.reproducible import packed

__all__ = ["write"]

COMPILE = ("-std=c99", "-O2", "-shared", "-fPIC", "-ffp-contract=off", "-s")
SYSTEMS = {"linux": ("linux", ".so"), "darwin": ("darwin", ".dylib")}
MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


def write(
    equations: Sequence[Equation | tuple[Any, ...]],
    domain: Domain | None = None,
    version: str | float = "2.0",
    name: str | None = None,
    binary: bool = True,
    origin: Origin | None = None,
) -> bytes:
    """A functional mock-up unit, for model exchange and co-simulation.

    Parameters
    ----------
    equations : sequence of Equation, or tuples (target, expression, output=0)
        What to write.
    domain : mapping, optional
        Declared bounds of the inputs, which become their minimum and maximum; they start in the
        middle.
    version : {"2.0", "3.0"}, default "2.0"
        Of the standard, FMI.
    name : str, optional
        Name of the model, which should be that of the file; by default ``ieql_`` and the target's
        name, or ``ieql_model`` if there are several.
    binary : bool, default True
        Whether to compile it for this machine, if there is a C compiler. Other machines, and other
        operating systems, compile the source that it holds.
    origin : Origin, optional
        Data, errors and physical units.
    """
    major = {"2": 2, "2.0": 2, "3": 3, "3.0": 3}.get(str(version))
    if major is None:
        raise IeqlError(f"version must be 2.0 or 3.0, not {shown(version)}.")
    model = _model([Equation(*e) for e in equations], domain, name, origin or Origin())
    header = _header(model)
    source = resources.files("ieql.export").joinpath("fmi", f"fmi{major}.c").read_text("utf-8")
    text = "\n".join(about(model.equations, domain, origin))
    description = description_2(model) if major == 2 else description_3(model)
    # The token ties description and library together: it is made from all that they hold.
    token = hashlib.sha256("\0".join([header, source, text, description]).encode()).hexdigest()
    token = "-".join([token[:8], token[8:12], token[12:16], token[16:20], token[20:32]])
    token = f"{{{token}}}"
    header = header.replace(TOKEN, token)
    members = {
        "modelDescription.xml": description.replace(TOKEN, token),
        "sources/model.h": header,
        f"sources/fmi{major}.c": source,
        "documentation/index.html": _page(model.name, text),
    }
    if major == 3:
        members["sources/buildDescription.xml"] = build_description(model.name)
    files = {member: content.encode() for member, content in members.items()}
    library = _library(files, major) if binary else None
    if library is not None:
        files[_binary_name(model.name, major)] = library
    return packed(files)


# --- what there is -------------------------------------------------------------------------------


def _model(
    equations: Sequence[Equation], domain: Domain | None, name: str | None, origin: Origin
) -> Model:
    if name is not None and (not PLAIN_WORD.fullmatch(name) or name in RESERVED):
        raise IeqlError(
            f"A model cannot be called {name!r}: give a word of ASCII letters, digits and single "
            "underscores that C does not use itself."
        )
    written: list[Function] = []
    values: list[float] = []
    begins: list[int] = []
    taken: set[str] = set()
    for equation in equations:
        begins.append(len(values))
        [word] = identifiers([f"ieql_{equation.target}"], RESERVED, taken)
        written += functions([equation], _dialect(values), word)
    used = {column for function in written for column, _ in function.arguments}
    known = dict.fromkeys(name for e in equations for name in e.expression.names)
    columns = [name for name in known if name in used]
    words: set[str] = {"time"}
    names = identifiers(columns, (), words)
    targets = identifiers([e.target for e in equations], (), words)
    constants = identifiers([f"c{k + 1}" for k in range(len(values))], (), words)
    owners = [max(k for k, b in enumerate(begins) if b <= i) for i in range(len(values))]
    bounds = domain or {}
    return Model(
        name or (written[0].name if len(written) == 1 else "ieql_model"),
        tuple(equations),
        tuple(written),
        tuple(columns),
        tuple(
            _input(w, c, bounds.get(c), origin.units.get(c, ""))
            for w, c in zip(names, columns, strict=True)
        ),
        tuple(
            Variable(w, f"constant of the equation of {equations[k].target!r}", v)
            for w, v, k in zip(constants, values, owners, strict=True)
        ),
        tuple(
            Variable(w, f"{e.target} by the equation", unit=origin.units.get(e.target, ""))
            for w, e in zip(targets, equations, strict=True)
        ),
        tuple(begins),
        bounds,
        origin,
    )


def _input(word: str, column: str, bounds: Sequence[float] | None, unit: str) -> Variable:
    low, high = (float(b) for b in bounds) if bounds is not None else (-math.inf, math.inf)
    finite = math.isfinite(low) and math.isfinite(high)
    start = low + (high - low) / 2 if finite else min(max(1.0, low), high)
    return Variable(word, f"column {column!r}", start, low, high, unit)


def _dialect(values: list[float]) -> Dialect:
    def parameter(value: float) -> str:
        values.append(float(value))
        return f"c[{len(values) - 1}]"

    return Dialect(
        RESERVED | {"c"},
        lambda value: repr(float(value)) if math.isfinite(value) else _not_finite(value),
        lambda unit: unit.template("c", "C"),
        parameter=parameter,
    )


def _not_finite(value: float) -> str:
    return "NAN" if math.isnan(value) else "-INFINITY" if value < 0 else "INFINITY"


# --- the source ----------------------------------------------------------------------------------


def _header(model: Model) -> str:
    """The part of the source that is this model's own."""
    starts = [0.0, *(v.start for v in (*model.inputs, *model.parameters))]
    starts += [0.0] * len(model.outputs)
    first = 1 + len(model.inputs)
    lines = ["/*", f" * {generated()}", " */", "#include <math.h>", ""]
    lines += [f'#define TOKEN "{TOKEN}"', f"#define N_VALUES {len(starts)}"]
    lines += [f"#define FIRST_OUTPUT {model.n_before_outputs}", ""]
    lines += [
        "/* By reference: time, inputs, parameters c1, c2, ... (below c[0], c[1], ...), outputs. */"
    ]
    lines += ["static const double START[N_VALUES] = {"]
    lines += [f"    {_number(value)}," for value in starts] + ["};", ""]
    for function in model.functions:
        comment = heading(function, model.domain, model.origin)
        arguments = "".join(f", double {word}" for _, word in function.arguments)
        lines += ["/*", *(f" * {_harmless(line)}".rstrip() for line in comment), " */"]
        lines += [
            f"static double {function.name}(const double c[]{arguments})",
            "{",
            "    (void)c;",
        ]
        lines += [f"    const double {word} = {code};" for word, code in function.assignments]
        lines += [f"    return {function.result};", "}", ""]
    lines += ["static void evaluate(double value[])", "{"]
    for k, function in enumerate(model.functions):
        places = [1 + model.columns.index(column) for column, _ in function.arguments]
        arguments = "".join(f", value[{i}]" for i in places)
        place = model.n_before_outputs + k
        lines.append(f"    value[{place}] = {function.name}(value + {first}{arguments});")
    return "\n".join([*lines, "}", ""])


def _harmless(line: str) -> str:
    """A line of a comment, in which nothing ends it, begins another or is a trigraph."""
    return re.sub(r"\*(?=/)|/(?=\*)|\?(?=\?)", r"\g<0> ", line)


def _number(value: float | None) -> str:
    return repr(float(value or 0.0)) if math.isfinite(value or 0.0) else _not_finite(value or 0.0)


def _library(files: dict[str, bytes], major: int) -> bytes | None:
    """The compiled source; None if there is no compiler, or no name for the machine."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not _binary_name("", major):
        return None
    with tempfile.TemporaryDirectory() as folder:
        for name in ("model.h", f"fmi{major}.c"):
            (Path(folder) / name).write_bytes(files[f"sources/{name}"])
        command = [compiler, *COMPILE, f"fmi{major}.c", "-o", "library", "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        if done.returncode != 0:
            return None
        return (Path(folder) / "library").read_bytes()


def _binary_name(model: str, major: int) -> str:
    """The place of the library in the archive; empty where the standard has none."""
    system, suffix = SYSTEMS.get(sys.platform, ("", ""))
    machine = MACHINES.get(platform.machine().lower(), "")
    if not system or not machine or (major == 2 and machine != "x86_64"):
        return ""
    folder = f"{system}64" if major == 2 else f"{machine}-{system}"
    return f"binaries/{folder}/{model}{suffix}"


def _page(name: str, text: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{name}</title></head>\n"
        f"<body><pre>{html.escape(text)}</pre></body></html>\n"
    )
