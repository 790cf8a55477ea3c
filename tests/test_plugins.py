"""Plugins are modules that are imported when a registry is asked for more than it knows."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from ieql.errors import IeqlError
from ieql.plugins import GROUP, VARIABLE, load_plugins


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Nothing loaded yet, and nothing left behind."""
    load_plugins.cache_clear()
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [])
    before = set(sys.modules)
    yield
    load_plugins.cache_clear()
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_files_and_modules_named_in_the_environment(tmp_path, monkeypatch):
    (tmp_path / "one_plugin.py").write_text("import two_plugin\n")
    (tmp_path / "two_plugin.py").write_text("")
    (tmp_path / "three_plugin.py").write_text("")
    monkeypatch.setenv(VARIABLE, f"{tmp_path / 'one_plugin.py'}, three_plugin ,")
    load_plugins()
    assert {"one_plugin", "two_plugin", "three_plugin"} <= set(sys.modules)


def test_installed_packages_name_theirs_as_entry_points(tmp_path, monkeypatch):
    (tmp_path / "packaged_plugin.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    points = {GROUP: [EntryPoint("mine", "packaged_plugin", GROUP)]}
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points[group])
    load_plugins()
    assert "packaged_plugin" in sys.modules


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("broken_plugin.py", "1/0", "ZeroDivisionError: division by zero"),
        ("refused_plugin.py", "from ieql.units import unit; unit('coss')", "There is no unit"),
        ("json.py", "", "there is another module 'json'; rename the file"),
        ("missing_plugin.py", None, "there is no such file"),
    ],
)
def test_a_plugin_that_fails_is_named_in_one_sentence(tmp_path, monkeypatch, name, content, reason):
    if content is not None:
        (tmp_path / name).write_text(content)
    monkeypatch.setenv(VARIABLE, str(tmp_path / name))
    with pytest.raises(IeqlError, match=rf"^The plugin '.*{name}' in IEQL_PLUGINS.*{reason}"):
        load_plugins()


def test_a_format_in_a_file_of_ones_own_is_known_to_the_command_line(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from ieql.export.formats import Format, register_format\n"
        "def write(equations, domain):\n"
        "    return repr(equations)\n"
        "register_format(Format('mine', 'As Python shows it.', '.txt', write))\n"
    )
    result = subprocess.run(
        [sys.executable, "-m", "ieql", "export", "--list"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), VARIABLE: "mine.py"},
        check=False,
    )
    assert result.stdout.splitlines()[-1].split(maxsplit=1) == ["mine", "As Python shows it."]
