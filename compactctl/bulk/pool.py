"""Run tasks in processes of this machine, so that no file can stop the others.

Each worker is a ``concurrent.futures`` pool of one process. So when a process dies or is ended
there is no doubt which file it was at, and none of the other files is lost with it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING

import msgspec

from compactctl.bulk import limits, task
from compactctl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compactctl.bulk.settings import Recipe
    from compactctl.bulk.task import Job, Outcome

PRELOAD = "COMPACTCTL_BULK_PRELOAD"
"""Tells ``preload`` which tokenizer the workers need and how many bytes there are for each."""

_START = 2.0
"""Seconds to wait for the pid of a worker that is to be killed."""

_GRACE = 3.0
"""Seconds that a worker gets to give up an overdue file itself before it is killed."""


class _Worker(msgspec.Struct, frozen=True):
    executor: ProcessPoolExecutor
    pid: Future[int]


class _Busy(msgspec.Struct):
    worker: _Worker
    until: float
    is_overdue: bool = False


class Pool:
    """Workers, started when there is something to do and reused for the next task."""

    def __init__(self, recipe: Recipe, workers: int, memory: int, size: int = 0) -> None:
        """Start nothing yet.

        ``memory`` bounds the address space of a worker, ``size`` is what there is to do, in bytes.
        """
        self._preload = f"{recipe.tokenizer}:{size // workers}"
        self._recipe = recipe
        self._workers = workers
        self._memory = memory
        self._idle: list[_Worker] = []
        self._busy: dict[Future[list[Outcome]], _Busy] = {}
        methods = multiprocessing.get_all_start_methods()
        # Never fork: this process has threads.
        method = "forkserver" if "forkserver" in methods else "spawn"
        self._context = multiprocessing.get_context(method)
        self._context.set_forkserver_preload(["compactctl.bulk.preload"])

    def width(self) -> int:
        """Return the number of tasks that can run at a time."""
        return self._workers

    def submit(self, jobs: Sequence[Job]) -> Future[list[Outcome]]:
        """Give a task to an idle worker, or to a new one."""
        while True:
            worker = self._idle.pop() if self._idle else self._start()
            try:
                future = worker.executor.submit(task.run_batch, self._recipe, jobs)
                break
            except BrokenProcessPool:  # it died while it had nothing to do
                worker.executor.shutdown(wait=False)
        allowed = self._recipe.timeout * len(jobs) + _GRACE
        until = time.monotonic() + allowed if self._recipe.timeout else float("inf")
        self._busy[future] = _Busy(worker, until)
        return future

    def _start(self) -> _Worker:
        _start_tracker()
        # A signal to the whole group is for the driver alone, also while a process is starting.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, limits.FOR_THE_DRIVER)
        try:
            with _environment(PRELOAD, self._preload):
                executor = ProcessPoolExecutor(
                    1, self._context, initializer=limits.begin_worker, initargs=(self._memory,)
                )
                return _Worker(executor, executor.submit(os.getpid))
        except (OSError, EOFError) as error:
            raise InputError(f"no worker can be started ({type(error).__name__})") from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def end_overdue(self) -> None:
        """Kill the workers that should have given up their file themselves and have not."""
        now = time.monotonic()
        for busy in self._busy.values():
            if now > busy.until and not busy.is_overdue:
                busy.is_overdue = True
                _kill(busy.worker)

    def release(self, future: Future[list[Outcome]]) -> str | None:
        """Take the worker back; return why the file is to blame if the worker had to be ended."""
        busy = self._busy.pop(future)
        if isinstance(future.exception(), BrokenProcessPool):
            busy.worker.executor.shutdown(wait=False)
        else:
            self._idle.append(busy.worker)
        if busy.is_overdue:
            return f"took longer than {self._recipe.timeout:g} s; give it more with --file-timeout"
        return None

    def close(self, *, now: bool = False) -> None:
        """End all workers, at once or when they have finished."""
        workers = [*self._idle, *(busy.worker for busy in self._busy.values())]
        for worker in workers if now else ():
            _kill(worker)
        for worker in workers:
            worker.executor.shutdown(wait=True, cancel_futures=True)

    def describe(self, error: BaseException) -> str:
        """Return why a task that ran alone came to nothing."""
        if isinstance(error, BrokenProcessPool):
            return "its worker died twice (out of memory? see --max-memory), the second time alone"
        return f"its worker failed: {type(error).__name__}"


def _start_tracker() -> None:
    """Start what cleans up behind a driver that was killed; it is to do so without a word.

    Before the workers: starting it ends the blocking of signals.
    """
    with _environment("PYTHONWARNINGS", "ignore::UserWarning:multiprocessing.resource_tracker"):
        resource_tracker.ensure_running()


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """Give processes that are started in the block another environment."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _kill(worker: _Worker) -> None:
    with suppress(ProcessLookupError, BrokenProcessPool, TimeoutError, CancelledError):
        os.kill(worker.pid.result(_START), signal.SIGKILL)
