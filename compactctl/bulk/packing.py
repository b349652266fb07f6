"""Open packed transcripts, and pack what was made of them in the same way."""

from __future__ import annotations

import gzip
import importlib
import io
from typing import BinaryIO

from compactctl import unpack
from compactctl.errors import InputError
from compactctl.reading import LARGEST

_LEVEL = 6


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
    data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(f"holds more than {LARGEST >> 30} GiB; split it")
    return list(io.BytesIO(data))


def pack_like(raw: bytes, data: bytes) -> bytes:
    """Pack ``data`` as ``raw`` is; the same data always gives the same bytes."""
    head = raw[: unpack.MAGIC_LENGTH]
    if not unpack.is_packed(head):
        return data
    if head.startswith(b"\x1f\x8b"):
        return gzip_bytes(data)
    for name in ("compression.zstd", "backports.zstd"):
        try:
            packed: bytes = importlib.import_module(name).compress(data)
        except ImportError:
            continue
        return packed
    raise InputError("writing Zstandard data needs: pip install 'compactctl[zst]'")


def gzip_bytes(data: bytes, level: int = _LEVEL) -> bytes:
    """Pack with gzip, without the time that it would carry."""
    return gzip.compress(data, level, mtime=0)
