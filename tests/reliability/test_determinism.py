"""The same seed and number of trainings give the same front, in every bit, whatever runs them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ieql.equations import program
from soak.determinism import SWEEP, both_doors, fronts


@pytest.mark.parametrize(
    "options",
    [{"max_trainings": 12}, {"max_trainings": 3, "trainer": SWEEP}],
    ids=["fast", "paper"],
)
def test_the_number_of_processes_does_not_matter(options):
    one, two = fronts({**options, "random_state": 0, "rows": 100})
    assert one == two
    assert one.count("\n") > 2


def test_python_and_the_command_line_find_the_same():
    command_line, python = both_doors(6, seed=1, n_jobs=1)
    assert command_line == python
    assert python.count("\n") > 2


def test_kernels_are_compiled_in_a_process_of_their_own(tmp_path, monkeypatch):
    """In the process that compiled them they rounded otherwise than in all later ones.

    A first fit, with the paper's trainer, so differed in its seventh digit from the same one later,
    and its worker processes, which read the kernels from the cache, from the process itself.
    """
    (tmp_path / "told_who.py").write_text(
        "import os, pathlib\n"
        "pathlib.Path(__file__).with_suffix('.txt').write_text(str(os.getpid()))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    program._compile_elsewhere(["told_who"])
    assert int((tmp_path / "told_who.txt").read_text()) != os.getpid()
    assert "told_who" not in sys.modules


def test_before_anything_is_imported_it_is_compiled(tmp_path, monkeypatch):
    steps = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.delitem(sys.modules, "ieql.training.paper.steps", raising=False)
    monkeypatch.setattr(program, "_compile_elsewhere", lambda m: steps.append(("compiled", *m)))
    monkeypatch.setattr(program, "import_module", lambda m: steps.append(("imported", m)))
    assert program.compile_kernels("ieql.training.paper.steps")
    assert steps == [
        ("compiled", "ieql.training.paper.steps"),
        ("imported", "ieql.training.paper.steps"),
    ]


def test_a_failing_compiler_is_left_to_the_import(monkeypatch):
    program._compile_elsewhere(["no.such.module"])  # not a word: the import that follows says it
    monkeypatch.setattr(sys, "executable", "")
    program._compile_elsewhere(["no.such.module"])
    monkeypatch.setattr(sys, "executable", "no/such/python")
    program._compile_elsewhere(["no.such.module"])


def test_a_package_that_cannot_be_written_has_its_kernels_in_the_home_folder(
    tmp_path, monkeypatch, capsys
):
    # Found by looking only beside the sources: every process of such an installation said that it
    # compiles, and started another one for it, though numba had the code in the home folder.
    package = Path(program.__file__).parents[1]
    kept = tmp_path / "numba" / "equations_1"
    kept.mkdir(parents=True)
    (kept / "steps.epoch-1.py311.nbi").touch()
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(program, "_is_writable", lambda folder: package not in folder.parents)
    monkeypatch.delitem(sys.modules, "ieql.training.paper.steps", raising=False)
    monkeypatch.setattr(program, "import_module", lambda module: None)
    assert not program.compile_kernels("ieql.training.paper.steps")
    assert capsys.readouterr().err == ""


def test_where_nothing_can_be_kept_nothing_is_compiled_for_later(tmp_path, monkeypatch):
    compiled = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(program, "_is_writable", lambda folder: False)
    monkeypatch.delitem(sys.modules, "ieql.training.paper.steps", raising=False)
    monkeypatch.setattr(program, "import_module", lambda module: None)
    monkeypatch.setattr(program, "_compile_elsewhere", compiled.extend)
    assert program.compile_kernels("ieql.training.paper.steps")
    assert compiled == []
