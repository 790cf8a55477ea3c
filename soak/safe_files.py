"""Files from strangers at their worst: each is opened in a process with little memory and time.

They come as large as a disk holds them: the limits must bite before the memory is spent.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from soak.check import Check, Outcome

__all__ = ["BOMBS", "CHECKS", "laid", "opened"]

MEMORY = 2_000_000_000
"""Bytes of address space, of which the libraries themselves take half."""
SECONDS = 60
"""Of the processor's time: how busy the machine is does not count."""
PATIENCE = 1_800.0
OPEN = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
from ieql.errors import IeqlError
try:
    {code}
except IeqlError as error:
    print("refused:", str(error)[:300])
else:
    print("opened")
"""
MODEL = "from ieql import IEQLRegressor; IEQLRegressor.load(sys.argv[1])"
PRIOR = "from ieql import Prior; Prior.of(sys.argv[1])"
TEXT = (
    "from pathlib import Path; from ieql.equations.expression import Expression; "
    "Expression.parse(Path(sys.argv[1]).read_text(), ['x'])"
)
RUN = (
    "import os; from ieql.run.folder import RunFolder; "
    "folder = RunFolder(os.path.dirname(sys.argv[1])); "
    "folder.description(), folder.records(), folder.checkpoint(), folder.evidence()"
)


def _merges(levels: int) -> str:
    """Mappings that merge the one before nine times: nine lines make a thousand million entries."""
    lines = ["a0: &a0 {cos: 1}"]
    for k in range(levels):
        lines.append(f"a{k + 1}: &a{k + 1} {{<<: [{', '.join([f'*a{k}'] * 9)}]}}")
    return "\n".join(lines)


def _laughs(levels: int) -> str:
    lines = ["units: &a0 [cos]"]
    for k in range(levels):
        lines.append(f"a{k + 1}: &a{k + 1} [{', '.join([f'*a{k}'] * 9)}]")
    return "\n".join(lines)


def _graph(n: int, shared: bool) -> str:
    """A model of one equation in which each unit takes the one before, twice if shared."""
    import json

    argument = "[0.5, [{0}], [1.0]]"
    pair = f'["mul", [{argument}, {argument}]]' if shared else f'["cos", [{argument}]]'
    nodes = ", ".join(pair.format(k) for k in range(n))
    expression = f'{{"names": ["x"], "nodes": [{nodes}], "outputs": [[0.0, [{n}], [1.0]]]}}'
    frame = {
        **{"format": 1, "kind": "ieql model", "parameters": {}, "prior": {}, "named": True},
        **{"features": ["x"], "targets": ["y"], "one_output": True, "domain": {"x": [0.0, 1.0]}},
        **{"domain_is_declared": False, "mean_errors": [{"mean": 0.0, "validation": 1.0}]},
        **{"n_rows": [9, 1], "largest_complexities": [1.0], "criterion": "MDL", "selected": [0]},
        **{"n_trainings": 1, "stop_reason": "", "interrupted": False, "fronts": [[None]]},
    }
    candidate = (
        f'{{"expression": {expression}, "complexity": 1.0, "n_parameters": 1, "rmse_train": 1.0, '
        '"rmse_validation": 1.0, "rmse_extrapolation": null, "standard_errors": null}'
    )
    return json.dumps(frame).replace("[[null]]", f"[[{candidate}]]")


def _nested(size: float, inner: str = "") -> str:
    n = max(2_000, round(1_000_000 * size))
    return "[" * n + inner + "]" * n


BOMBS: dict[str, tuple[str, str, Callable[[float], list[str]]]] = {
    # name: (file name, how it is opened, its text in parts, each written over and over by size)
    "JSON nested a million deep": ("model.json", MODEL, lambda size: [_nested(size)]),
    "a number of a thousand million digits": (
        "model.json",
        MODEL,
        lambda size: ['{"kind": 1', *["1" * 1_000_000] * round(1_000 * size), "}"],
    ),
    "a hundred million brackets": (
        "model.json",
        MODEL,
        lambda size: ["[", *["[]," * 100_000] * max(60, round(330 * size)), "[]]"],
    ),
    "a million units": (
        "model.json",
        MODEL,
        lambda size: [_graph(max(20_000, round(1e6 * size)), False)],
    ),
    "an equation that doubles itself 9,000 times": (
        "model.json",
        MODEL,
        lambda _: [_graph(9_000, True)],
    ),
    "a name of ten million characters": (
        "model.json",
        MODEL,
        lambda size: [_graph(1, False).replace('"x"', '"' + "x" * round(1e7 * size + 2e4) + '"')],
    ),
    "YAML merges of merges": ("prior.yaml", PRIOR, lambda _: [_merges(12)]),
    "YAML aliases of aliases": ("prior.yaml", PRIOR, lambda _: [_laughs(40)]),
    "YAML nested without end": ("prior.yaml", PRIOR, lambda _: ["[" * 190_000]),
    "YAML that makes objects": (
        "prior.yaml",
        PRIOR,
        lambda _: ["units: !!python/object/apply:os.system ['touch harmed']"],
    ),
    "a YAML number in base 60": (
        "prior.yaml",
        PRIOR,
        lambda _: ["costs: {cos: 1", ":1" * 90_000, "}"],
    ),
    "YAML of a thousand million bytes": (
        "prior.yaml",
        PRIOR,
        lambda size: ["- cos\n" * 100_000] * max(1, round(1_700 * size)),
    ),
    "a million opening brackets": ("equation.txt", TEXT, lambda _: ["(" * 999_999]),
    "10**10**10": ("equation.txt", TEXT, lambda _: ["10**10**10"]),
    "a run whose front never ends": (
        "front.jsonl",
        RUN,
        lambda size: ["{}\n" * 1_000_000] * max(40, round(400 * size)),
    ),
    "a run whose checkpoint never ends": (
        "checkpoint.json",
        RUN,
        lambda size: ["[", *["{}," * 1_000_000] * max(6, round(400 * size)), "{}]"],
    ),
}


def laid(name: str, size: float, folder: Path) -> Path:
    """Write a bomb into a folder that looks like a run's; returns the file."""
    file, _, parts = BOMBS[name]
    path = folder / file
    (folder / "run.json").write_text("{}", encoding="utf-8")
    with path.open("w", encoding="utf-8") as out:
        for part in parts(size):
            out.write(part)
    return path


def opened(name: str, size: float, folder: Path) -> str:
    """Write a bomb and open it; returns what is wrong, or nothing if it was refused in time."""
    _, code, _ = BOMBS[name]
    path = laid(name, size, folder)
    try:
        result = subprocess.run(
            [
                sys.executable,
                "-c",
                OPEN.format(memory=MEMORY, seconds=SECONDS, code=code),
                str(path),
            ],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            cwd=folder,
            # One thread: each takes address space for its stack.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
    except subprocess.TimeoutExpired:
        return f"no end after {PATIENCE:g} s"
    finally:
        path.unlink()
    if (folder / "harmed").exists():
        return "it ran code"
    if result.returncode or not result.stdout.startswith("refused:"):
        return f"not refused: {(result.stdout + result.stderr)[-300:]}"
    return ""


def safe_files(size: float, seed: int) -> Outcome:
    """Open every bomb; `size` is that of the files, 1.0 for up to a gigabyte."""
    with tempfile.TemporaryDirectory() as name:
        faults = {bomb: opened(bomb, size, Path(name)) for bomb in BOMBS}
    bad = [f"{bomb}: {fault}" for bomb, fault in faults.items() if fault]
    text = f"{len(faults) - len(bad)} of {len(faults)} refused within {MEMORY / 1e9:g} GB"
    return Outcome(len(faults), not bad, " | ".join([text, *bad]))


CHECKS: tuple[Check, ...] = (
    Check("safe-files", "models, priors and runs made to exhaust memory or time", safe_files),
)
