"""Pipes, sockets and devices in place of files: refused in one sentence, and never waited for.

To open a pipe waits for who is at its other end. Each command runs with a clock, so that a test
that would hang fails instead.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket

import pytest
from typer.testing import CliRunner

from ieql.cli import app
from ieql.run.folder import RunFolder
from soak import fuzz

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
READ_BY = {
    "run.json": ("resume", "show", "report", "export"),
    "model.json": ("resume", "show", "report", "export"),
    "evidence.json": ("resume", "report"),
    "front.jsonl": ("resume",),
    "checkpoint.json": ("resume",),
    ".lock": ("resume",),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return fuzz.good_run(tmp_path_factory.mktemp("good"))


@pytest.fixture
def run(good, tmp_path):
    return shutil.copytree(good, tmp_path / "run")


@pytest.fixture(autouse=True)
def _a_clock():
    def too_late(*_):
        raise AssertionError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def refusal(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == 2, result.output
    *_, last = result.stderr.splitlines()
    assert last.startswith("Error: ")
    return last


@pytest.mark.parametrize(
    ("name", "command"), [(name, command) for name, read in READ_BY.items() for command in read]
)
def test_a_pipe_in_place_of_a_file_of_a_run(run, name, command):
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    options = fuzz.TRAINING if command == "resume" else ()
    assert f"{str(run / name)!r} is not a regular file" in refusal(command, run, *options)


@pytest.mark.parametrize("name", ["checkpoint.json", ".lock"])
def test_a_socket_in_place_of_a_file_of_a_run(run, name, monkeypatch):
    monkeypatch.chdir(run)  # the name of a socket must be short
    (run / name).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(name)
        assert "is not a regular file" in refusal("resume", run, *fuzz.TRAINING)


def test_a_link_to_a_device(run):
    (run / "model.json").unlink()
    (run / "model.json").symlink_to("/dev/zero")
    assert "is not a regular file" in refusal("show", run)


def test_a_pipe_is_not_appended_to(run):
    (run / "front.jsonl").unlink()
    os.mkfifo(run / "front.jsonl")
    with pytest.raises(ValueError, match="not a regular file"):
        RunFolder(run).append({"equation": "x"})


def test_a_pipe_in_place_of_the_data(tmp_path):
    """It is read more than once, and the second time never came to an end."""
    os.mkfifo(tmp_path / "data.csv")
    said = refusal("fit", tmp_path / "data.csv", "--target", "y", "--out", tmp_path / "run")
    assert "is not a regular file; save the table as a file first" in said
