"""Read a FILE argument as lines: whole, unpacked, and exactly as it stood at one moment."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from compactctl.console import say
from compactctl.errors import InputError
from compactctl.files.atomic import stamp
from compactctl.files.beneath import UNOPENED, NotOpenedError, open_beneath
from compactctl.files.compression import (
    MAGIC_LENGTH,
    bounded,
    is_packed,
    unpacked_lines,
)
from compactctl.files.mapped import FileLines
from compactctl.files.pipes import open_to_read
from compactctl.jsonl.lines import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from compactctl.jsonl.lines import MakeEntry

STANDARD = "-"


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
def open_lines(
    path: str, *, hold: bool, root: str | None = None
) -> Iterator[tuple[Iterable[bytes], MakeEntry]]:
    """Open a FILE argument: its lines, and the function that makes entries of them.

    Without ``hold`` those of a plain file are only read while the file is open. With the ``root``
    that it was found below, no link is followed on the way there. Raises as ``read_lines``, at
    the end too.
    """
    with _blaming(path), _open(path) if root is None else _open_found(path, root) as file:
        before = _state(file)
        # Of a file on standard input someone else may have read the beginning.
        if hold or path == STANDARD or before is None or is_packed(_head(file)):
            yield _unchanged(file), Entry
            return
        lines = FileLines(file, bounded)
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
    """Add the name of the file to an error."""
    try:
        yield
    except InputError as error:
        error.file = error.file or path
        raise
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path or "''") from None


def _open(path: str) -> AbstractContextManager[BinaryIO]:
    if path != STANDARD:
        if os.path.isdir(path):  # noqa: PTH112 (no need of pathlib)
            raise InputError(
                "is a directory; name a file in it (validate takes folders, as does compact -o DIR)"
            )
        file = open_to_read(path)
        if _is_device(os.fstat(file.fileno())):
            file.close()
            raise InputError("is a device; give a FILE or a pipe")
        return file
    if sys.stdin is None:  # started with <&-
        raise InputError("standard input is closed; give a FILE or a pipe")
    if sys.stdin.isatty():
        say("compactctl: reading from the terminal; give a FILE or a pipe")
    return contextlib.nullcontext(sys.stdin.buffer)


def _open_found(path: str, root: str) -> BinaryIO:
    try:
        return open_beneath(root, Path(os.path.relpath(path, root)).parts)
    except NotOpenedError as error:
        raise InputError(UNOPENED[error.why]) from None


def _is_device(found: os.stat_result) -> bool:
    """Return whether it may never end; a pipe is fine, <(command) is one, and so is /dev/null."""
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
    """Return what changes when something writes to a file; None for a pipe."""
    now = os.fstat(file.fileno())
    return stamp(now) if stat.S_ISREG(now.st_mode) else None


def _head(file: BinaryIO) -> bytes:
    """Return the first bytes of a plain file without moving on in it."""
    head = file.read(MAGIC_LENGTH)
    file.seek(0)
    return head


def _lines(file: BinaryIO) -> list[bytes]:
    head = file.read(MAGIC_LENGTH)
    if len(head) < MAGIC_LENGTH:
        return io.BytesIO(head).readlines()
    whole = bounded(file, head)
    if is_packed(head):
        return unpacked_lines(whole, head)
    return list(whole)
