"""The version stands in one place, and whoever asks gets the same answer."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import ieql
from ieql.cli import app

ROOT = Path(__file__).parents[1]


def test_the_command_line_and_the_installed_metadata_agree():
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"ieql {ieql.__version__}\n"
    assert metadata.version("ieql") == ieql.__version__, "install again: pip install --editable ."


def test_the_help_names_the_option():
    assert "--version" in CliRunner().invoke(app, ["--help"]).output


def test_the_changelog_and_the_citation_know_the_version():
    """The top entry of the changelog is "Unreleased", or this version."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    latest = re.findall(r"^## \[?([\w.]+)", changelog, re.MULTILINE)[0]
    assert latest in ("Unreleased", ieql.__version__)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == ieql.__version__


@pytest.mark.parametrize("line", ['version = "', "__version__ ="])
def test_the_version_is_written_once(line):
    files = [ROOT / "pyproject.toml", *(ROOT / "src").rglob("*.py")]
    found = [path.name for path in files if re.search(rf"^{line}", path.read_text("utf-8"), re.M)]
    assert found == (["__init__.py"] if line.startswith("__") else [])
