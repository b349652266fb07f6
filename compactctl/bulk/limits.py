"""What one file may cost: time and memory. And workers that do not outlive their driver."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import resource
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


FOR_THE_DRIVER = (signal.SIGINT, signal.SIGTERM)
"""Signals that reach the whole group; the driver takes them, and workers finish what they have."""


class OverdueError(BaseException):
    """A file took too long. A ``BaseException``, so that no ``except Exception`` swallows it."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise ``OverdueError`` in the block after that time; 0 is no end."""
    if not seconds:
        yield
    elif threading.current_thread() is threading.main_thread():
        yield from _by_alarm(seconds)
    else:
        yield from _by_timer(seconds)


def _by_alarm(seconds: float) -> Iterator[None]:
    """Use a signal, which also ends a system call. A worker of the pool works like this."""

    def ring(_number: int, _frame: object) -> None:
        raise OverdueError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _by_timer(seconds: float) -> Iterator[None]:
    """Have another thread raise it here. A Dask worker works in threads, which get no signals."""
    here = ctypes.c_ulong(threading.get_ident())
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    lock = threading.Lock()
    is_over = False

    def ring() -> None:
        with lock:
            if not is_over:
                raise_in(here, ctypes.py_object(OverdueError))

    timer = threading.Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            is_over = True
            raise_in(here, None)  # one that was on its way


def begin_worker(memory: int) -> None:
    """Set up a process that a local pool started; ``memory`` is bytes of address space or 0."""
    for number in FOR_THE_DRIVER:
        signal.signal(number, signal.SIG_IGN)
    if memory:
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        soft = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    threading.Thread(target=_die_with_driver, daemon=True).start()


def _die_with_driver() -> None:
    """End when the driver is gone. Its queue never says so: workers hold both of its ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
