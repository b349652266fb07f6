"""Read a FILE argument as lines: whole, unpacked, and exactly as it stood at one moment."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
from typing import TYPE_CHECKING, BinaryIO, cast

from compactctl.console import say
from compactctl.errors import InputError
from compactctl.files import unpack
from compactctl.files.atomic import stamp
from compactctl.files.mapped import FileLines
from compactctl.jsonl.lines import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from compactctl.jsonl.lines import MakeEntry

STANDARD = "-"
LARGEST = 4 << 30
"""Bytes of lines that are read at most: a bomb or an endless pipe must not fill the memory."""

_BLOCK = 1 << 20


def read_lines(path: str) -> list[bytes]:
    r"""Read a file, or standard input for ``-``, as lines that keep their line ends.

    Lines end at ``\n`` and nowhere else: U+2028 and a bare carriage return are text. What gzip
    or Zstandard packed is unpacked.

    Raises:
        InputError: the file cannot be read, or something wrote to it meanwhile.

    """
    with _blaming(path), _open(path) as file:
        return _unchanged(file)


@contextlib.contextmanager
def opened(path: str, *, hold: bool) -> Iterator[tuple[Iterable[bytes], MakeEntry]]:
    """Give the lines of a FILE argument, and what makes entries of them.

    Without ``hold`` those of a plain file are only read while the file is open. Raises as
    ``read_lines``, at the end too.
    """
    with _blaming(path), _open(path) as file:
        before = _state(file)
        # Of a file on standard input someone else may have read the beginning.
        if hold or path == STANDARD or before is None or unpack.is_packed(_head(file)):
            yield _unchanged(file), Entry
            return
        lines = FileLines(file, _bounded)
        try:
            yield lines, lines.entry
        except Exception:
            if _state(file) != before:  # then nothing that was found in it says anything
                raise _changed() from None
            raise
        if _state(file) != before:
            raise _changed()


@contextlib.contextmanager
def _blaming(path: str) -> Iterator[None]:
    """Say in an error which file it is about."""
    try:
        yield
    except InputError as error:
        error.file = error.file or path
        raise
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path or "''") from None


def _open(path: str) -> AbstractContextManager[BinaryIO]:
    if path != STANDARD:
        file = open(path, "rb")  # noqa: PTH123, SIM115 (no need of pathlib; the caller closes it)
        if _is_device(os.fstat(file.fileno())):
            file.close()
            raise InputError("is a device; give a FILE or a pipe")
        return file
    if sys.stdin is None:  # started with <&-
        raise InputError("standard input is closed; give a FILE or a pipe")
    if sys.stdin.isatty():
        say("compactctl: reading from the terminal; give a FILE or a pipe")
    return contextlib.nullcontext(sys.stdin.buffer)


def _is_device(found: os.stat_result) -> bool:
    """Tell what may never end; a pipe is fine, <(command) is one, and /dev/null is empty."""
    if stat.S_ISCHR(found.st_mode):
        return found.st_rdev != os.stat(os.devnull).st_rdev  # noqa: PTH116 (no need of pathlib)
    return stat.S_ISBLK(found.st_mode)


def _unchanged(file: BinaryIO) -> list[bytes]:
    before = _state(file)
    lines = _lines(file)
    if _state(file) != before:
        raise _changed()
    return lines


def _changed() -> InputError:
    return InputError("changed while it was read; run again when nothing writes to it")


def _state(file: BinaryIO) -> tuple[int, ...] | None:
    """Give what changes when something writes to a file; a pipe has no such state."""
    now = os.fstat(file.fileno())
    return stamp(now) if stat.S_ISREG(now.st_mode) else None


def _head(file: BinaryIO) -> bytes:
    """Give the first bytes of a plain file, and stay in front of them."""
    head = file.read(unpack.MAGIC_LENGTH)
    file.seek(0)
    return head


def _lines(file: BinaryIO) -> list[bytes]:
    head = file.read(unpack.MAGIC_LENGTH)
    if len(head) < unpack.MAGIC_LENGTH:
        return io.BytesIO(head).readlines()
    whole = _bounded(file, head)
    if unpack.is_packed(head):
        return unpack.unpack(whole, head, lambda unpacked: list(_bounded(unpacked)))
    return list(whole)


def _bounded(file: BinaryIO, head: bytes = b"") -> io.BufferedReader:
    return io.BufferedReader(_Bounded(file, head), _BLOCK)


class _Bounded(io.RawIOBase):
    """The bytes ``head`` and then those of ``file``, until there are too many."""

    def __init__(self, file: BinaryIO, head: bytes) -> None:
        super().__init__()
        self._file = cast("io.BufferedReader", file)
        self._head = head
        self._left = LARGEST
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # all it is called with
        many = min(len(self._head), len(buffer))
        if many:
            buffer[:many], self._head = self._head[:many], self._head[many:]
        elif not self._ended:  # a terminal would ask for a second Ctrl-D
            many = self._file.readinto1(buffer)
            self._ended = many == 0
        self._left -= many
        if self._left < 0:
            raise InputError(f"holds more than {LARGEST >> 30} GiB; split it")
        return many
