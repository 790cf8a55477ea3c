"""A queue of fits: what is done stays done, and one that fails stops no other."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time

import pytest

from ieql.errors import IeqlError
from ieql.run.fit_batch import BATCH, DONE, FAILED, RUNNING, STOPPED, WAITING, Batch, Job

# In place of a fit: says what it was asked, makes a run folder, and ends as it is told.
FIT = """
import pathlib, signal, sys, time
def stop(*_):
    print("Interrupted.")
    sys.exit(130)
signal.signal(signal.SIGINT, stop)
data, how, out = sys.argv[-2], sys.argv[-1], pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
out.mkdir(exist_ok=True)
(out / "run.json").write_text("{}")
with open("began.txt", "a") as file:
    file.write(out.name + ("!" if "--overwrite" in sys.argv else "") + " ")
if how == "fail":
    sys.exit("Error: The column 'z' is missing.")
if how == "break":
    sys.exit("Traceback\\nMemoryError")
time.sleep(float(how))
"""


@pytest.fixture
def batch_of(tmp_path):
    def made(**jobs):
        found = []
        for name, how in jobs.items():
            file = tmp_path / f"{name}.csv"
            if not file.exists():
                file.write_text("x,y\n1,2\n")
            found.append(Job(name, (file.name, how), (file,)))
        return Batch(tmp_path / "runs", found, tmp_path, (sys.executable, "-c", FIT))

    return made


def run(batch, at_once=1, **more):
    told = []
    batch.run(at_once, lambda name: told.append((name, batch.progress[name].status)), **more)
    return told


def begun(tmp_path):
    return (tmp_path / "began.txt").read_text().split()


def test_jobs_are_done_in_order_and_told_of(batch_of):
    told = run(batch_of(a="0", b="0"))
    assert told == [("a", RUNNING), ("a", DONE), ("b", RUNNING), ("b", DONE)]


def test_one_that_fails_stops_no_other_and_says_why(batch_of):
    batch = batch_of(a="fail", b="break", c="0")
    run(batch)
    assert [batch.progress[name].status for name in "abc"] == [FAILED, FAILED, DONE]
    assert batch.progress["a"].message == "The column 'z' is missing."
    assert batch.progress["b"].message == "The fit ended with code 1. MemoryError"


def test_what_is_done_is_not_done_again(batch_of, tmp_path):
    run(batch_of(a="0", b="fail"))
    run(batch_of(a="0", b="fail"))
    assert begun(tmp_path) == ["a", "b", "b"]


def test_a_job_is_done_again_if_its_file_or_its_options_changed(batch_of, tmp_path):
    run(batch_of(a="0", b="0", c="0"))
    (tmp_path / "a.csv").write_text("x,y\n1,3\n")
    run(batch_of(a="0", b="0.01", c="0"))
    assert begun(tmp_path) == ["a", "b", "c", "a", "b"]


def test_all_can_be_done_anew(batch_of, tmp_path):
    run(batch_of(a="0"))
    run(batch_of(a="0"), overwrite=True)
    assert begun(tmp_path) == ["a", "a!"]


def test_so_many_run_side_by_side(batch_of):
    told = run(batch_of(a="0.5", b="0.5", c="0"), at_once=2)
    assert told[:2] == [("a", RUNNING), ("b", RUNNING)]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_lets_the_running_fits_finish_up_and_the_rest_wait(batch_of):
    batch = batch_of(a="30", b="0")
    start = time.monotonic()

    def interrupt():
        while "a" not in (batch.folder / BATCH).read_text() or not batch.log("a").exists():
            time.sleep(0.05)
        while not (batch.run_folder("a") / "run.json").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    (batch.folder).mkdir()
    (batch.folder / BATCH).write_text("")
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run(batch)
    assert time.monotonic() - start < 25  # it did not wait for the fit's own end
    assert batch.progress["a"].status == STOPPED
    assert batch.progress["b"].status == WAITING
    assert "Interrupted." in batch.log("a").read_text()


def test_a_damaged_note_of_what_is_done_is_as_good_as_none(batch_of, tmp_path):
    run(batch_of(a="0"))
    for text in ("{", "[]", json.dumps({"format": 1, "jobs": {"a": {"nonsense": 1}}}), "\xff"):
        (tmp_path / "runs" / BATCH).write_text(text, encoding="latin-1")
        assert batch_of(a="0").progress["a"].status == WAITING


def test_a_missing_file_is_said_before_anything_begins(tmp_path):
    job = Job("a", ("gone.csv",), (tmp_path / "gone.csv",))
    with pytest.raises(IeqlError, match=r"The job 'a': cannot read .*gone.csv"):
        Batch(tmp_path / "runs", [job], tmp_path)
    assert not (tmp_path / "runs").exists()


def test_a_folder_that_cannot_be_made_is_said_in_a_sentence(batch_of, tmp_path):
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(IeqlError, match="Cannot make the folder"):
        run(batch_of(a="0"))
