"""Open packed transcripts, and pack what was made of them in the same way."""

from __future__ import annotations

import io
from typing import BinaryIO

from compactctl.errors import InputError
from compactctl.files import pack, unpack
from compactctl.files.reading import LARGEST

_BLOCK = 1 << 20


def lines_of(raw: bytes) -> list[bytes]:
    """Give the lines of a file, unpacked if it is packed.

    Raises:
        InputError: the data is damaged or too much, or a library is missing.

    """
    head = raw[: unpack.MAGIC_LENGTH]
    file = io.BytesIO(raw)
    return unpack.unpack(file, head, _bounded) if unpack.is_packed(head) else list(file)


def plain(raw: bytes, lines: list[bytes]) -> bytes:
    """Give the bytes that ``lines`` of ``raw`` are, without another copy where there is one."""
    return b"".join(lines) if unpack.is_packed(raw[: unpack.MAGIC_LENGTH]) else raw


def _bounded(file: BinaryIO) -> list[bytes]:
    """Read lines, but not all that a small file made to fill the memory would give."""
    data = io.BytesIO()
    # Not at one go: that takes address space for all that there might be.
    while block := file.read(_BLOCK):
        if data.tell() + len(block) > LARGEST:
            raise InputError(f"holds more than {LARGEST >> 30} GiB; split it")
        data.write(block)
    data.seek(0)
    return list(data)


def pack_like(raw: bytes, data: bytes) -> bytes:
    """Pack ``data`` as ``raw`` is; the same data always gives the same bytes."""
    head = raw[: unpack.MAGIC_LENGTH]
    if not unpack.is_packed(head):
        return data
    return pack.pack(data, "gzip" if head.startswith(unpack.GZIP) else "Zstandard")
