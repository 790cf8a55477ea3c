"""The lock of a folder."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import pytest

from ieql.errors import IeqlError
from ieql.run import lock
from ieql.run.lock import locked

HOLDER = """
import sys, time
from ieql.run.lock import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_it_is_held_once(tmp_path):
    with locked(tmp_path):
        with pytest.raises(IeqlError, match=r"Another process is writing .*choose another folder"):
            locked(tmp_path).__enter__()
        assert (tmp_path / ".lock").exists()
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path):
        pass


def test_it_ends_with_an_error_too(tmp_path):
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        raise ZeroDivisionError
    with locked(tmp_path):
        pass


def test_a_killed_process_leaves_no_lock_behind(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, env=os.environ
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(IeqlError):
        locked(tmp_path).__enter__()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with locked(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(IeqlError, match=r"Cannot write the run folder .*No such file"):
        locked(tmp_path / "nowhere").__enter__()


def test_a_disk_without_locks_is_said(tmp_path, monkeypatch):
    def refuse(file):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock, "_lock", refuse)
    with pytest.raises(IeqlError, match=r"cannot be locked \(No locks available\)"):
        locked(tmp_path).__enter__()
