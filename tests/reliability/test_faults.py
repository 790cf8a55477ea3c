"""Killed processes, Ctrl-C, hardly any time, fits inside of other processes; soak.faults has more.

Each mended bug has a test that tells its story.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import joblib
import numpy as np
import pytest

import ieql.__main__
from ieql import IEQLRegressor, learn
from ieql.run.folder import RunFolder
from ieql.training.parallel import in_parallel, n_processes
from soak import faults
from soak.programs import fit, is_linux, table, write_table

linux_only = pytest.mark.skipif(not is_linux, reason="processes are looked at on Linux alone")
SMALL = {**faults.FAST, "max_trainings": 12, "rows": 100}


def square(x):
    return x * x


def die_once(marker, x):
    """Kill the process that runs this, the first time."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return x * x


def die_elsewhere(home, x):
    """Kill the process that runs this, whichever it is but one."""
    if os.getpid() != home:
        os.kill(os.getpid(), signal.SIGKILL)
    return x * x


# --- worker processes ----------------------------------------------------------------------------


@linux_only
def test_the_work_of_a_killed_process_is_done_by_a_new_one(tmp_path):
    """A worker killed by the system, as memory ran out, once ended the whole fit by an error."""
    jobs = [(k, die_once, (tmp_path / "marker", k)) for k in range(5)]
    with pytest.warns(UserWarning, match="killed, perhaps because memory ran out"):
        found = list(in_parallel(jobs, 2))
    assert sorted(found) == [(k, k * k) for k in range(5)]


@linux_only
def test_what_kills_every_process_is_at_last_run_here():
    jobs = [(k, die_elsewhere, (os.getpid(), k)) for k in range(3)]
    with pytest.warns(UserWarning, match="killed") as said:
        found = dict(in_parallel(jobs, 2))
    assert found == {0: 0, 1: 1, 2: 4}
    assert ["one by one" in str(warning.message) for warning in said] == [False, True]


@pytest.mark.slow
@linux_only
def test_a_fit_goes_on_after_a_kill_as_if_nothing_had_been(tmp_path):
    expected = fit(tmp_path, {**SMALL, "n_jobs": 1}).told()["front"]
    assert faults.killed_worker(tmp_path, SMALL, 0.2, expected) == ""


@linux_only
def test_workers_end_with_the_process_they_work_for(tmp_path):
    """After a kill -9 of it they waited for more work for five minutes, with 250 MB each."""
    assert faults.killed_master(tmp_path, SMALL, 0.0) == ""


def test_inside_the_jobs_of_others_there_is_one_process():
    """Fits with n_jobs=-1 in a grid search on all cores once took as many threads in each."""
    with joblib.parallel_config("threading"):
        inside = joblib.Parallel(n_jobs=2)(joblib.delayed(n_processes)(-1) for _ in range(2))
    assert inside == [1, 1]
    assert joblib.Parallel(n_jobs=2)([joblib.delayed(n_processes)(-1)] * 2) == [1, 1]


def test_there_are_no_more_processes_than_cores():
    """n_jobs=64 meant 64 processes, of 250 MB each, for four pieces of work."""
    assert n_processes(64) == max(joblib.cpu_count(), 2)
    assert n_processes(1) == n_processes(None) == 1
    with joblib.parallel_config("threading"):  # which cost next to nothing
        assert n_processes(64) == 64


def test_processes_never_see_a_ctrl_c_that_is_meant_for_all():
    """A terminal sends it to each of them, and each printed a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        pytest.skip("Windows has no blocked signals")
    blocked = in_parallel([(k, blocked_signals, ()) for k in range(2)], 2)
    assert all(signal.SIGINT in found for _, found in blocked)
    assert signal.SIGINT not in blocked_signals()


def blocked_signals():
    return signal.pthread_sigmask(signal.SIG_BLOCK, ())


# --- child processes -----------------------------------------------------------------------------


@pytest.mark.slow
@linux_only
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_fit_in_a_child_process_after_one_in_its_parent(tmp_path, method):
    """A forked one waited for ever for the workers of its parent, of which it has but a copy.

    One made by spawn did not end before its own workers did, five minutes later.
    """
    assert faults.in_child(tmp_path, method, first=True, daemon=False) == ""


def test_a_child_process_says_so():
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        assert pool.apply(n_processes, (2,)) == 1


# --- Ctrl-C --------------------------------------------------------------------------------------


@pytest.mark.slow
@linux_only
@pytest.mark.parametrize(("after", "again"), [(0.3, None), (4.0, 0.2)])
def test_ctrl_c_on_the_command_line(tmp_path, after, again):
    write_table(tmp_path / "data.csv", rows=100)
    assert faults.interrupted(tmp_path, after, again) == ""


@linux_only
def test_workers_are_started_with_ctrl_c_blocked():
    """A helper of Python's, started in between, had unblocked it: workers printed tracebacks."""
    program = (
        "import signal, multiprocessing.resource_tracker as tracker\n"
        "from ieql.training.parallel import _interrupts_wait\n"
        "with _interrupts_wait():\n"
        "    tracker.ensure_running()\n"
        "    assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.fixture
def interrupt_handler():
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupt_handler")
def test_ctrl_c_while_the_command_line_loads_is_no_traceback(monkeypatch):
    """Python printed one, as the import of the commands stood outside of everything."""

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("ieql.cli.main", interrupted)
    with pytest.raises(SystemExit) as end:
        ieql.__main__.main()
    assert end.value.code == 130
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.usefixtures("interrupt_handler")
def test_ctrl_c_between_the_commands_gives_130_too(monkeypatch, capsys):
    """Typer, which reads the options, would say 1."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["ieql", "show", "nowhere"])
    monkeypatch.setattr("typer.core.TyperGroup.invoke", interrupted)
    with pytest.raises(SystemExit) as end:
        ieql.__main__.main()
    assert end.value.code == 130
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.usefixtures("interrupt_handler")
def test_other_exit_codes_stay(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["ieql", "show", "nowhere"])
    with pytest.raises(SystemExit) as end:
        ieql.__main__.main()
    assert end.value.code == 2
    assert "There is no folder" in capsys.readouterr().err


def test_ctrl_c_while_a_file_is_written_leaves_no_half_of_it(tmp_path, monkeypatch):
    """Its temporary file stayed in the run folder."""
    run = RunFolder(tmp_path)
    run.write_model("old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.write_model("new")
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]
    assert run.model_path().read_text() == "old"


def test_a_second_ctrl_c_loses_nothing_that_was_written(tmp_path, monkeypatch):
    """The first ends the search; the second comes while the equations are being finished."""
    frame = table(100)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(learn, "finish_candidate", interrupted)
    model = IEQLRegressor(max_trainings=4, n_jobs=1, random_state=0, run_dir=tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        model.fit(frame.drop(columns="y"), frame["y"])
    loaded = IEQLRegressor.load(tmp_path / "run" / "model.json")
    assert len(loaded.equations_) > 1
    assert not list((tmp_path / "run").glob(".*"))


# --- hardly any time -----------------------------------------------------------------------------


@pytest.mark.parametrize("trainer", ["fast", "paper"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_with_hardly_any_time_there_is_a_model(trainer, n_jobs):
    frame = table(60)
    X, y = frame.drop(columns="y"), frame["y"]
    model = IEQLRegressor(trainer=trainer, max_time=0.1, n_jobs=n_jobs, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_a_fit_in_a_thread(tmp_path):
    """Signals belong to the main thread; blocking them for new processes must not need it."""
    found = []
    thread = threading.Thread(
        target=lambda: found.extend(in_parallel([(k, square, (k,)) for k in range(3)], 2))
    )
    thread.start()
    thread.join()
    assert sorted(found) == [(0, 0), (1, 1), (2, 4)]
