"""Where compiled kernels are kept: none is run that was made from other sources."""

from __future__ import annotations

import ast
import os
import shutil
import sys
from pathlib import Path

from ieql.equations import kernel_cache


def imported_from_ieql(path: Path) -> set[str]:
    """The files of the package that a file imports at its top, relative to the package."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ieql."):
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            for module in (node.module, *inside):
                name = module.partition(".")[2].replace(".", "/") + ".py"
                if (kernel_cache.PACKAGE / name).is_file():
                    found.add(name)
    return found


def test_every_source_of_a_kernel_is_in_the_digest():
    """The paper's trainer ran the elementary functions of before (loss 2.135 against 2.224)."""
    package = kernel_cache.PACKAGE
    makes_kernels = {
        str(path.relative_to(package).as_posix())
        for path in package.rglob("*.py")
        if "equations/compiled.py" in imported_from_ieql(path)
    }
    assert "training/paper/steps.py" in makes_kernels
    needed = set(makes_kernels)
    for name in makes_kernels:
        needed |= imported_from_ieql(package / name)
    assert needed <= set(kernel_cache.SOURCES)
    assert all((package / name).is_file() for name in kernel_cache.SOURCES)


def test_a_change_of_any_source_leads_to_another_folder(tmp_path):
    for name in kernel_cache.SOURCES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(kernel_cache.PACKAGE / name, tmp_path / name)
    digests = {kernel_cache._digest(tmp_path), kernel_cache._digest()}
    assert len(digests) == 1
    for name in kernel_cache.SOURCES:
        kernel_cache._digest.cache_clear()
        with (tmp_path / name).open("a") as source:
            source.write("# changed\n")
        digests.add(kernel_cache._digest(tmp_path))
    kernel_cache._digest.cache_clear()
    assert len(digests) == 1 + len(kernel_cache.SOURCES)


def test_kernels_are_kept_in_the_folder_of_their_digest():
    from ieql.equations import kernels  # noqa: F401

    assert kernel_cache._is_kept("ieql.equations.kernels", kernel_cache.cache_folder())


def test_kernels_of_earlier_sources_are_removed_but_not_those_of_others(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = kernel_cache.cache_folder()
    earlier = folder.with_name(folder.name[:-4] + "0000")
    others = tmp_path / "ieql-kernels-elsewhere-0000"
    for place in (folder, earlier, others):
        place.mkdir()
    monkeypatch.delitem(sys.modules, "ieql.training.paper.steps", raising=False)
    monkeypatch.setattr(kernel_cache, "_compile_elsewhere", lambda modules: None)
    monkeypatch.setattr(kernel_cache, "import_module", lambda module: None)
    assert kernel_cache.compile_kernels("ieql.training.paper.steps")
    assert sorted(tmp_path.iterdir()) == sorted([folder, others])


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
    kernel_cache._compile_elsewhere(["told_who"])
    assert int((tmp_path / "told_who.txt").read_text()) != os.getpid()
    assert "told_who" not in sys.modules


def test_before_anything_is_imported_it_is_compiled(tmp_path, monkeypatch):
    steps = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.delitem(sys.modules, "ieql.training.paper.steps", raising=False)
    monkeypatch.setattr(
        kernel_cache, "_compile_elsewhere", lambda m: steps.append(("compiled", *m))
    )
    monkeypatch.setattr(kernel_cache, "import_module", lambda m: steps.append(("imported", m)))
    assert kernel_cache.compile_kernels("ieql.training.paper.steps")
    assert steps == [
        ("compiled", "ieql.training.paper.steps"),
        ("imported", "ieql.training.paper.steps"),
    ]


def test_a_failing_compiler_is_left_to_the_import(monkeypatch):
    kernel_cache._compile_elsewhere(
        ["no.such.module"]
    )  # not a word: the import that follows says it
    monkeypatch.setattr(sys, "executable", "")
    kernel_cache._compile_elsewhere(["no.such.module"])
    monkeypatch.setattr(sys, "executable", "no/such/python")
    kernel_cache._compile_elsewhere(["no.such.module"])


def test_a_package_that_cannot_be_written_has_its_kernels_in_the_home_folder(
    tmp_path, monkeypatch, capsys
):
    # Found by looking only beside the sources: every process of such an installation said that it
    # compiles, and started another one for it, though numba had the code in the home folder.
    package = kernel_cache.PACKAGE
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(kernel_cache, "_is_writable", lambda folder: package not in folder.parents)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path)
    kept = kernel_cache.cache_folder() / "paper_1"
    assert tmp_path in kept.parents
    kept.mkdir(parents=True)
    (kept / "steps.epoch-1.py311.nbi").touch()
    monkeypatch.delitem(sys.modules, "ieql.training.paper.steps", raising=False)
    monkeypatch.setattr(kernel_cache, "import_module", lambda module: None)
    assert not kernel_cache.compile_kernels("ieql.training.paper.steps")
    assert capsys.readouterr().err == ""


def test_where_nothing_can_be_kept_nothing_is_compiled_for_later(tmp_path, monkeypatch):
    compiled = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernel_cache, "_is_writable", lambda folder: False)
    monkeypatch.delitem(sys.modules, "ieql.training.paper.steps", raising=False)
    monkeypatch.setattr(kernel_cache, "import_module", lambda module: None)
    monkeypatch.setattr(kernel_cache, "_compile_elsewhere", compiled.extend)
    assert kernel_cache.compile_kernels("ieql.training.paper.steps")
    assert compiled == []


def test_modules_are_compiled_side_by_side_and_none_in_this_process(tmp_path, monkeypatch):
    """One process compiled one kernel after the other, with all but one core idle."""
    for name, number in (("first_kernels", 1), ("second_kernels", 2)):
        (tmp_path / f"{name}.py").write_text(
            "from numba import types\n"
            "from ieql.equations.compiled import entry\n\n"
            "@entry(types.float64)\n"
            f"def times(x):\n    return {number} * x\n"
        )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    kernel_cache._compile_elsewhere(["first_kernels", "second_kernels"])
    kept = {path.name.partition("-")[0] for path in (tmp_path / "cache").rglob("*.nbi")}
    assert kept == {"first_kernels.times", "second_kernels.times"}
    assert not {"first_kernels", "second_kernels"} & set(sys.modules)


def test_a_process_that_compiles_for_one_module_leaves_the_others_alone(monkeypatch):
    monkeypatch.setenv(kernel_cache.WANTED, "one")
    assert kernel_cache.is_wanted("one")
    assert not kernel_cache.is_wanted("other")
    monkeypatch.delenv(kernel_cache.WANTED)
    assert kernel_cache.is_wanted("other")
