"""Open what may be a named pipe, which nobody may ever open at the other end."""

# Names stay strings: nothing else of pathlib is of use here.
# ruff: noqa: PTH116, PTH123

from __future__ import annotations

import errno
import os
import signal
import stat
import time
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from compactctl.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 5.0
"""Seconds that the other end may take: who names a pipe starts both at about the same time."""

_PAUSE = 0.01


def open_to_read(path: str | Path, patience: float = PATIENCE) -> BinaryIO:
    """Open a file; once a pipe is open, who writes to it may take as long as it takes.

    Raises:
        InputError: nothing writes to the pipe.
        OSError: as the system gave it.

    """

    def give_up(_number: int, _frame: object) -> NoReturn:
        raise InputError("nothing writes to this pipe; start that first", file=str(path))

    if not stat.S_ISFIFO(os.stat(path).st_mode):
        return open(path, "rb")
    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, patience)
    try:
        return open(path, "rb")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def open_to_write(path: str | Path, flags: int, patience: float = PATIENCE) -> int:
    """Open a file with the ``flags`` of ``os.open``, a new one for its owner alone.

    Raises:
        InputError: nothing reads from the pipe.
        OSError: as the system gave it.

    """
    until = time.monotonic() + patience
    while True:
        try:
            handle = os.open(path, flags | os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > until:
                what = "nothing reads from this pipe; start that first"
                raise InputError(what, file=str(path)) from None
            time.sleep(_PAUSE)
        else:
            os.set_blocking(handle, True)
            return handle
