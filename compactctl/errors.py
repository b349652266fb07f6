"""What can go wrong, each with the exit code that a shell script can act on."""

from __future__ import annotations

import os


class CompactctlError(Exception):
    """One sentence saying what is wrong and what to do; becomes one line on standard error.

    ``file`` and ``line`` (1-based) are where it happened, when known.
    """

    exit_code = 1

    def __init__(self, what: str, *, file: str | None = None, line: int | None = None) -> None:
        """Keep the parts apart, so that whoever knows the file can add it."""
        super().__init__(what)
        self.what = what
        self.file = file
        self.line = line

    def __str__(self) -> str:
        """Return ``FILE:LINE: what``, in the form that editors can jump to."""
        place = self.file or ""
        if self.line is not None:
            place = f"{place or '-'}:{self.line}"
        return f"{place}: {self.what}" if place else self.what


class InvalidTranscriptError(CompactctlError):
    """The view breaks a rule of the protocol, or a durable record was refused."""


class UsageError(CompactctlError):
    """The command line asks for something that cannot be done."""

    exit_code = 2


class InputError(CompactctlError):
    """The input is unreadable, empty or of no known format."""

    exit_code = 3


class HardLimitError(CompactctlError):
    """All layers ran and the view is still at or above the hard limit."""

    exit_code = 4


def internal(error: BaseException) -> str:
    """Return where a bug showed, without the exception's words: they may hold a transcript's."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    assert place is not None  # it was raised
    file = os.path.basename(place.tb_frame.f_code.co_filename)  # noqa: PTH119 (no need of pathlib)
    return f"internal error: {type(error).__name__} in {file}, line {place.tb_lineno}"
