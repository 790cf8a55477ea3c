"""Data flows one way: a file imports only from what stands above it in `ORDER`."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ieql

SOURCE = Path(ieql.__file__).parent

# From the top down. A folder, and what stands in brackets, is one layer: its files may import one
# another.
ORDER: list[str | tuple[str, ...]] = [
    ("errors", "plugins", "files", "entries", "check_certificate"),
    (
        "unit_intervals",
        "units",
        "unit_probes",
        "shape",
        "rules",
        "quantities",
        "prior",
        "column_units",
    ),
    "data.*",
    ("network", "equations.*"),
    # Problems are data and the equations behind them: the search and the doors may use them, too.
    ("problems", "selection", "doubts", "moved_constants"),
    "training.*",
    ("options", "whole", "model", "alternatives", "ambiguity", "suggestions", "proofs"),
    "export.*",
    "report.*",
    (
        "observer",
        "target",
        "shared_fronts",
        "learn",
        "own_equation",
        "guesses",
        "recalibration",
        "known_constants",
        "fleet",
        "means",
        "form_learning",
        "range_learning",
    ),
    "run.*",
    # The doors, the public names between them.
    ("console", "progress", "plots", "regressor", "fitted_formula"),
    "__init__",
    ("cli.*", "__main__"),
]

# What `import ieql` must not pay for, and what a saved model must not need.
HEAVY = (
    *("numba", "sympy", "sklearn", "pandas", "matplotlib", "scipy", "joblib", "yaml", "typer"),
    "jinja2",
)
ONLY_FOR_TRAINING = ("ieql.training", "ieql.network", "numba")


def module_name(path: Path) -> str:
    """``equations/expression.py`` is equations.expression, ``equations/__init__.py`` equations."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    if len(parts) > 1 and parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)


FILES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def layer(module: str) -> int | None:
    """The place of a module's layer in `ORDER`."""
    own = {module, module.partition(".")[0] + ".*"}
    for place, names in enumerate(ORDER):
        if own & set(names if isinstance(names, tuple) else (names,)):
            return place
    return None


def may_import(own: int | None, other: int | None) -> bool:
    if own is None or other is None:
        return True  # without a place: the test above says so
    names = ORDER[own]
    shared = isinstance(names, tuple) or names.endswith(".*")
    return other < own or (other == own and shared)


def imports(module: str, tree: ast.AST) -> Iterator[str]:
    """The modules of ieql imported anywhere in `tree`: at the top, in functions, for types."""
    path = FILES[module]
    package = ["ieql", *path.relative_to(SOURCE).parts[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "ieql":
                    yield alias.name.partition(".")[2] or "__init__"
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*start, node.module] if node.module else start)
            if origin.partition(".")[0] != "ieql":
                continue
            origin = origin.partition(".")[2]
            for alias in node.names:  # a file of the folder, or a name defined in the origin
                inner = f"{origin}.{alias.name}".lstrip(".")
                yield inner if inner in FILES else origin or "__init__"


def imports_of(module: str) -> set[str]:
    return set(imports(module, ast.parse(FILES[module].read_text(encoding="utf-8"))))


def loaded_by(program: str, *arguments: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after `program`."""
    program += "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return set(json.loads(result.stdout.splitlines()[-1]))


LIGHT = {"ieql.training", "ieql.training.registry"}  # the names of the trainers, and no more


def among(loaded: set[str], names: tuple[str, ...]) -> list[str]:
    loaded = loaded - LIGHT
    return sorted(m for m in loaded if any(m == n or m.startswith(n + ".") for n in names))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("import ieql.units", {"units"}),
        ("import ieql", {"__init__"}),
        ("from ieql import Prior", {"__init__"}),
        ("from ieql import units, Prior", {"units", "__init__"}),
        ("from ieql.units import Unit", {"units"}),
        ("from ieql.equations import expression", {"equations.expression"}),
        ("from .expression import Expression", {"equations.expression"}),
        ("from . import expression", {"equations.expression"}),
        ("from ..units import Unit", {"units"}),
        ("def late():\n    from ieql.prior import Prior", {"prior"}),
        ("import numpy\nfrom numpy import linalg", set()),
    ],
)
def test_every_way_to_write_an_import_is_seen(line, expected):
    assert set(imports("equations.text", ast.parse(line))) == expected


@pytest.mark.parametrize("module", FILES)
def test_every_file_has_its_place(module):
    assert layer(module) is not None, (
        f"ieql.{module} has no place: add it to ORDER, below all that it imports."
    )


@pytest.mark.parametrize("module", [m for m in FILES if m != "__init__"])
def test_a_file_imports_only_from_above(module):
    own = layer(module)
    below = [other for other in sorted(imports_of(module)) if not may_import(own, layer(other))]
    assert not below, f"ieql.{module} imports {below}, which stand below it."


DOORS = {"regressor", "__init__"}
# Matplotlib's name of a logarithmic axis, the minute, an operator of a unit's grammar, and the
# bounds of a variable in FMI.
OTHER_MEANINGS = {
    ("report.figures", "log"), ("column_units", "min"), ("quantities", "power"),
    ("data.dates", "min"), ("data.unit_words", "min"), ("export.fmu_description", "min"),
    ("export.fmu_description", "max"),
}  # fmt: skip


@pytest.mark.parametrize(
    "module", [m for m in FILES if m not in DOORS and not m.startswith("cli.")]
)
def test_nothing_below_the_doors_knows_the_estimator(module):
    tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    names |= {a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
    assert "IEQLRegressor" not in names


# The checker knows nothing of ieql, the table of units included.
NAMES_UNITS = {"units", "check_certificate"}


@pytest.mark.parametrize("module", [m for m in FILES if m not in NAMES_UNITS])
def test_units_are_named_in_their_table_alone(module):
    """Elsewhere a unit is a row (`node.unit is DIV`) or what its traits say, never a text."""
    from ieql.units import UNITS

    tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    assert [x for x in texts if x in UNITS and (module, x) not in OTHER_MEANINGS] == []


def test_trainers_are_named_in_their_registry_alone():
    """There is no ``if trainer == "fast"``: a trainer is an entry, and says itself what it is."""
    known = {"training.registry": {"fast", "paper", "published"}, "options": {"fast"}}
    known |= {"training.fast.search": {"fast"}, "training.paper.sweep": {"paper"}}
    known |= {"prior": {"paper"}}  # a preset
    for module, path in FILES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
        assert texts & {"fast", "paper", "published"} <= known.get(module, set()), module


def test_the_regressor_imports_the_learner_inside_fit_alone():
    """`predict` must not load the training code, so `fit` pays for it when it is called."""
    tree = ast.parse(FILES["regressor"].read_text(encoding="utf-8"))
    learner = {"learn", "run.recorder", "training.trainers"}
    fit = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "_fit")
    assert learner & set(imports("regressor", fit))
    fit.body = []
    names_only = next(n for n in tree.body if isinstance(n, ast.If))  # if TYPE_CHECKING
    names_only.body = []
    assert not learner & set(imports("regressor", tree))


def test_import_ieql_loads_nothing_heavy():
    assert among(loaded_by("import ieql"), HEAVY) == []


def test_help_loads_nothing_heavy():
    heavy = tuple(name for name in HEAVY if name != "typer")
    assert among(loaded_by("import ieql.cli"), heavy) == []


def test_a_saved_model_predicts_and_reports_without_the_training_code(tmp_path):
    import numpy as np

    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    model = ieql.IEQLRegressor(max_trainings=1, n_jobs=1, random_state=0)
    model.fit(X, 2 * X[:, 0] + 1).save(tmp_path / "model.json")

    program = (
        "import sys; from ieql import IEQLRegressor\n"
        "model = IEQLRegressor.load(sys.argv[1])\n"
        "print(model.predict([[0.5, 0.5]]), model.predict_interval([[0.5, 0.5]]))\n"
        "print(model.suggest())"
    )
    loaded = loaded_by(program, str(tmp_path / "model.json"))
    assert "ieql.regressor" in loaded
    assert among(loaded, (*ONLY_FOR_TRAINING, "matplotlib", "jinja2")) == []

    program = (
        "import sys; from ieql import IEQLRegressor\n"
        "IEQLRegressor.load(sys.argv[1]).report(sys.argv[2])"
    )
    loaded = loaded_by(program, str(tmp_path / "model.json"), str(tmp_path / "report.html"))
    assert among(loaded, (*ONLY_FOR_TRAINING, "matplotlib")) == []
