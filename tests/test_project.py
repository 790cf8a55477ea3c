"""What surrounds the code agrees with it: versions, hooks, workflow, recipes."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def script(name: str) -> ModuleType:
    """A file of .ci/, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_lowest_versions_are_those_of_the_project():
    assert read("constraints-lowest.txt") == script("lowest").lowest(), (
        "python .ci/lowest.py > constraints-lowest.txt"
    )


def test_the_tested_versions_satisfy_the_bounds():
    names = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in read("constraints.txt").split()
    }
    bounds = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]
    assert {re.match(r"[\w-]+", bound)[0].lower() for bound in bounds} <= names


def test_the_workflow_tries_every_python_that_the_project_names():
    jobs = yaml.safe_load(read(".github/workflows/test.yml"))["jobs"]
    tried = jobs["systems"]["strategy"]["matrix"]
    named = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    assert tried["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert {name.partition("-")[0] for name in tried["os"]} == {"ubuntu", "macos", "windows"}


def test_hooks_use_the_tools_of_the_project():
    (local,) = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    assert local["repo"] == "local"
    assert {hook["language"] for hook in local["hooks"]} == {"system"}
    assert all(hook["entry"].startswith(".venv/bin/") for hook in local["hooks"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("a", "a\n"),
        ("a \t\nb\n\n\n", "a\nb\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("  indented\n", "  indented\n"),
        ("\n\n", ""),
    ],
)
def test_files_are_tidied(before, after):
    assert script("tidy").tidied(before) == after


def test_a_file_is_tidied_and_an_unfinished_merge_is_said(tmp_path, capsys):
    tidy = script("tidy")
    (tmp_path / "a").write_bytes(b"x  \n")
    assert tidy.main([str(tmp_path / "a")]) == 1
    assert (tmp_path / "a").read_bytes() == b"x\n"
    assert tidy.main([str(tmp_path / "a")]) == 0
    (tmp_path / "a").write_bytes(b"<<<<<<< ours\n")
    assert tidy.main([str(tmp_path / "a")]) == 1
    assert "unfinished merge" in capsys.readouterr().out


def test_no_page_holds_an_unfinished_merge():
    """The changelog did, and nobody saw it: the hooks look at changes only, if they are there."""
    marks = script("tidy").MARKS
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]
    assert ROOT / "CHANGELOG.md" in pages
    assert [page.name for page in pages if marks.search(page.read_text(encoding="utf-8"))] == []
