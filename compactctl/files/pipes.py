"""Open a named pipe, which nobody may ever open at the other end."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, BinaryIO, Literal, NoReturn

from compactctl.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 5.0
"""Seconds that the other end may take: who names a pipe starts both at about the same time."""


def open_pipe(path: str | Path, mode: Literal["rb", "wb"], patience: float = PATIENCE) -> BinaryIO:
    """Open what is no plain file; the wait for the other end of a pipe comes to an end.

    Once it is open there is no hurry: who writes may take as long as it takes. For the main
    thread, which alone gets signals.

    Raises:
        InputError: nobody opened the other end.

    """

    def give_up(_number: int, _frame: object) -> NoReturn:
        does = "writes to" if mode == "rb" else "reads from"
        raise InputError(f"nothing {does} this pipe; start that first", file=str(path))

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, patience)
    try:
        return open(path, mode)  # noqa: PTH123 (the caller closes it)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
