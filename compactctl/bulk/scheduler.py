"""Keep the workers busy, collect their outcomes, and stop when the user asks for it."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias

from compactctl.bulk.manifest import ManifestLine
from compactctl.bulk.task import Job, Outcome
from compactctl.errors import CompactctlError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compactctl.bulk.cluster import Cluster
    from compactctl.bulk.pool import Pool
    from compactctl.bulk.settings import Settings

    Workers: TypeAlias = Pool | Cluster

_STDERR = 2
_STOPPING = b"\ncompactctl: stopping when the files in hand are done; once more ends them\n"
_ONE_REQUEST = 0.1
"""Seconds within which several signals are one request."""

_TICK = 0.25
"""Seconds between two looks at the clock while no task ends."""


class Stop:
    """How often the user has asked to stop, and by which signal."""

    asked = 0
    signal = 0
    _when = float("-inf")

    def __call__(self, number: int, _frame: object) -> None:
        """Handle a signal; ``timeout`` sends it to the process and at once to its group as well."""
        before, self._when = self._when, time.monotonic()
        if self._when - before < _ONE_REQUEST:
            return
        self.asked += 1
        self.signal = number
        if self.asked == 1:
            with suppress(OSError):
                os.write(_STDERR, _STOPPING)  # print may be what the signal has interrupted

    def at_once(self) -> bool:
        """Return whether not even the files in hand are to be finished."""
        return self.asked > 1


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Make SIGINT and SIGTERM a request to stop."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # a caller's thread; signals are none of our business
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def start(settings: Settings, size: int) -> Workers:
    """Start the workers that were asked for; there are ``size`` bytes to do."""
    if settings.engine == "dask":
        from compactctl.bulk.cluster import Cluster  # noqa: PLC0415 (needs an extra)

        assert settings.scheduler is not None
        return Cluster(settings.recipe, settings.scheduler)
    from compactctl.bulk.pool import Pool  # noqa: PLC0415 (only one of the two is needed)

    return Pool(settings.recipe, settings.workers(), settings.memory(), size)


def outcomes(workers: Workers, tasks: Iterator[list[Job]], stop: Stop) -> Iterator[Outcome]:
    """Yield the outcomes of the tasks as they come; hold no more of them than can be worked on.

    A task that did not come to its end is suspected of having brought down its worker. Its files
    run once more, each alone, when all others are done.

    Raises:
        CompactctlError: what is wrong is the same for every file.

    """
    waiting: dict[Future[list[Outcome]], list[Job]] = {}
    suspects: list[Job] = []
    while True:
        while not stop.asked and len(waiting) < workers.width() and (jobs := next(tasks, None)):
            waiting[workers.submit(jobs)] = jobs
        if not waiting or stop.at_once():
            break
        for future, jobs in _finished(workers, waiting):
            blame = workers.release(future)
            error = _error(future)
            if error is None:
                yield from future.result()
            elif blame is not None:
                yield from (_failed(job, blame) for job in jobs)
            else:
                suspects += jobs
    for job in suspects:
        if stop.asked:
            break
        yield from _alone(workers, job, stop)


def _error(future: Future[list[Outcome]]) -> BaseException | None:
    """Return why a task did not come to its end; a cluster that is lost cancels its tasks.

    Raises:
        CompactctlError: it would be the same for every file.

    """
    error = CancelledError() if future.cancelled() else future.exception()
    if isinstance(error, CompactctlError):
        raise error
    return error


def _finished(
    workers: Workers, waiting: dict[Future[list[Outcome]], list[Job]]
) -> Iterator[tuple[Future[list[Outcome]], list[Job]]]:
    """Yield the tasks that have ended, after a moment at most."""
    done, _ = wait(waiting, timeout=_TICK, return_when=FIRST_COMPLETED)
    workers.end_overdue()
    for future in done:
        yield future, waiting.pop(future)


def _alone(workers: Workers, job: Job, stop: Stop) -> Iterator[Outcome]:
    future = workers.submit([job])
    waiting = {future: [job]}
    while waiting and not stop.at_once():
        for _ in _finished(workers, waiting):
            blame = workers.release(future)
            error = _error(future)
            if error is None:
                yield from future.result()
            else:
                yield _failed(job, blame or workers.describe(error))


def _failed(job: Job, why: str) -> Outcome:
    return Outcome(ManifestLine(job.source, None, "failed", error=why), job.size)
