"""The standard streams: lines for people on standard error, and streams that are not there."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from compactctl.text import escape_terminal

DRY_RUN = "nothing written (a dry run); -o FILE writes it, -o - prints it"
"""What is said when there was no place to write to."""


def say(text: str) -> None:
    """Write one line to standard error, in UTF-8 whatever the locale.

    Text from a transcript cannot steer the terminal. A standard error that is closed or full
    loses the line and nothing else: the transcript matters more than what is said about it.
    """
    if sys.stderr is None:  # started with 2>&-
        return
    try:
        sys.stderr.buffer.write(escape_terminal(text).encode("utf-8", "backslashreplace") + b"\n")
        sys.stderr.buffer.flush()
    except OSError:
        silence(sys.stderr)


def silence(stream: TextIO | None) -> None:
    """Redirect a broken stream to /dev/null, so that Python does not fail at exit."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def occupy() -> None:
    """Return the numbers of closed standard streams to /dev/null.

    Else the next file opened would get one, and what a library prints would land in it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
