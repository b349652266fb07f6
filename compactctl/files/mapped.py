"""The lines of a file that is only looked at: none is held, and what is asked for is read again.

So checking a file takes neither the time nor the memory that its bytes would.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO, cast

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compactctl.jsonl.lines import Entry


class _Noted(msgspec.Struct, frozen=True, gc=False):
    """Where an entry lies in an open file; it has the members of ``lines.Entry``."""

    handle: int
    start: int
    size: int
    line: int

    @property
    def raw(self) -> bytes:
        """Read the bytes; fewer if the file has become shorter, which whoever closes it finds."""
        return os.pread(self.handle, self.size, self.start)


class FileLines:
    """The lines of an open file, as often as they are asked for."""

    def __init__(self, file: BinaryIO, read: Callable[[BinaryIO], Iterator[bytes]]) -> None:
        """Read nothing yet; ``read`` gives the lines from where the file stands."""
        self._file = file
        self._read = read
        self._noted = 0

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines from the first on."""
        self._file.seek(0)
        return self._read(self._file)

    def entry(self, raw: bytes, line: int) -> Entry:
        """Note where an entry lies instead of holding it: they come in order, without a gap."""
        start = self._noted
        self._noted += len(raw)
        return cast("Entry", _Noted(self._file.fileno(), start, len(raw), line))
