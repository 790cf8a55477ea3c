"""Jobs in other processes: no more than pay, run again if one is killed, and none left behind."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.resource_tracker
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any

__all__ = ["STARTING", "in_parallel", "n_processes"]

Job = tuple[Any, Callable[..., Any], tuple[Any, ...]]
"""A key, a function and its arguments."""
STARTING = 3.0
"""Seconds that must be left for starting processes to pay."""
LOOK = 1.0
"""Seconds after which a process at the latest notices that the one it works for has died."""

_was_forked = threading.Event()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_was_forked.set)


def n_processes(n_jobs: int | None) -> int:
    """The number of processes for `n_jobs` in joblib's way of counting.

    It is 1 inside the jobs of others, as of a grid search, and in child processes: they share the
    cores already. A forked process would wait for ever for the workers of the one it was copied
    from, and one made by `multiprocessing` would not end before its workers do, minutes later.
    Processes of this machine are never more than its cores, as each takes 250 MB.
    """
    from joblib import cpu_count, effective_n_jobs
    from joblib.parallel import LokyBackend, get_active_backend

    backend, _ = get_active_backend()
    if (backend.nesting_level or 0) > 0 or _is_child():
        return 1
    number = int(effective_n_jobs(n_jobs))
    # Two are granted on any machine, so that what is tried there is what runs elsewhere.
    return min(number, max(cpu_count(), 2)) if isinstance(backend, LokyBackend) else number


def _is_child() -> bool:
    return _was_forked.is_set() or multiprocessing.parent_process() is not None


def in_parallel(jobs: Iterable[Job], n_jobs: int | None) -> Iterator[tuple[Any, Any]]:
    """Run jobs through joblib, in its active backend; yields (key, result) as they finish.

    A process may be killed, by the system if memory runs out. What was under way is then run again,
    and after a second time in this process, where there is but one job at a time.
    """
    waiting = {job[0]: job for job in jobs}
    number = n_processes(n_jobs)
    for n, then in ((number, "in new ones"), (number, "in this process, one by one"), (1, "")):
        try:
            for key, result in _run(list(waiting.values()), n):
                del waiting[key]
                yield key, result
            return
        except BrokenProcessPool:
            warnings.warn(
                f"A worker process was killed, perhaps because memory ran out; {len(waiting)} jobs "
                f"are run again {then}. Fewer processes (n_jobs) need less memory.",
                stacklevel=2,
            )


def _run(jobs: list[Job], n: int) -> Iterator[tuple[Any, Any]]:
    from joblib import Parallel, delayed
    from joblib.parallel import LokyBackend, get_active_backend

    backend, _ = get_active_backend()
    options: dict[str, Any] = {}
    if isinstance(backend, LokyBackend) and "initializer" not in backend.backend_kwargs:
        options = {"initializer": _end_with, "initargs": (os.getpid(),)}
    parallel = Parallel(n_jobs=n, return_as="generator_unordered", pre_dispatch="all", **options)
    calls = (delayed(_run_one)(*job) for job in jobs)
    # This starts the processes.
    with _interrupts_wait() if n > 1 else contextlib.nullcontext():
        found = parallel(calls)
    yield from found


def _run_one(key: Any, function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, Any]:
    return key, function(*args)


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Processes started in here never see a Ctrl-C: this one does, and then ends them.

    A terminal sends it to all of them, and each would print a traceback. They inherit what signals
    are blocked; one that comes meanwhile reaches this process a little later.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # Python's own helper process, if it were started in here, would unblock them again.
    multiprocessing.resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(master: int) -> None:
    """Let a worker process end soon after the one it works for, however that was ended.

    By itself it would wait for more work for five minutes after a ``kill -9`` of its master.
    """

    def watch() -> None:
        while os.getppid() == master:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
