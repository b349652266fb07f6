"""gzip and Zstandard: recognised by their first bytes, read within bounds, written reproducibly."""

from __future__ import annotations

import importlib
import io
from typing import Any, BinaryIO, Literal, TypeAlias, cast

from compactctl.errors import InputError

Kind: TypeAlias = Literal["gzip", "Zstandard"]

MAGIC_LENGTH = 4
_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "Zstandard"),
)

LARGEST = 4 << 30
"""Bytes of lines that are read at most: a bomb or an endless pipe must not fill the memory."""

_LARGEST_RATIO = 200
"""Times that packed data may grow; transcripts grow 5 to 50 times, bombs 1,000 times and more."""

_ALWAYS = 8 << 20
"""Bytes that are unpacked whatever the ratio."""

_BLOCK = 1 << 20
_PACKED_BLOCK = 1 << 16
_LEVEL = 6


def kind_of(head: bytes) -> Kind | None:
    """Return how a file that starts with ``head`` is compressed; None if it is not."""
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)


def is_packed(head: bytes) -> bool:
    """Return whether a file that starts with ``head`` is compressed."""
    return kind_of(head) is not None


def bounded(file: BinaryIO, head: bytes = b"") -> io.BufferedReader:
    """Return ``head`` and then the bytes of ``file``, as a file that refuses to be too large."""
    return io.BufferedReader(_Bounded(file, head), _BLOCK)


class _Counted(io.RawIOBase):
    """Counts the bytes that are read of a file."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = cast("io.BufferedReader", file)
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # all it is called with
        many = self._file.readinto(buffer)
        self.count += many
        return many


class _Bounded(io.RawIOBase):
    """Raises :class:`InputError` after too many bytes, for ever or for what they are packed in."""

    def __init__(self, file: BinaryIO, head: bytes = b"", packed: _Counted | None = None) -> None:
        super().__init__()
        self._file = cast("io.BufferedReader", file)
        self._head = head
        self._packed = packed
        self._count = 0
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
        self._count += many
        if self._count > LARGEST:
            raise InputError(f"holds more than {LARGEST >> 30} GiB; split it")
        if self._packed and self._count > max(_ALWAYS, _LARGEST_RATIO * self._packed.count):
            raise InputError(
                f"grows more than {_LARGEST_RATIO} times when it is unpacked, as no transcript "
                "does; if you trust it, unpack it first"
            )
        return many


def lines_of(raw: bytes) -> list[bytes]:
    """Return the lines of a file, decompressed if it is compressed.

    Raises:
        InputError: the data is damaged or too much, or a library is missing.

    """
    head = raw[:MAGIC_LENGTH]
    file = io.BytesIO(raw)
    return unpacked_lines(file, head) if is_packed(head) else list(file)


def unpacked_lines(packed: BinaryIO, head: bytes) -> list[bytes]:
    """Return the lines of a compressed file that starts with ``head``.

    Raises:
        InputError: the data is damaged or too much, or reading it needs an extra.

    """
    kind = kind_of(head)
    counted = _Counted(packed)
    source = io.BufferedReader(counted, _PACKED_BLOCK)
    file, damage = _gzip_file(source) if kind == "gzip" else _zstd_file(source)
    try:
        return list(io.BufferedReader(_Bounded(file, packed=counted), _BLOCK))
    except damage as error:
        raise InputError(f"the {kind} data is damaged: {error}") from None


def _gzip_file(packed: BinaryIO) -> tuple[Any, tuple[type[Exception], ...]]:
    import gzip  # noqa: PLC0415 (few inputs are compressed)
    import zlib  # noqa: PLC0415 (the same)

    return gzip.GzipFile(fileobj=packed), (gzip.BadGzipFile, zlib.error, EOFError)


def _zstd_file(packed: BinaryIO) -> tuple[Any, tuple[type[Exception], ...]]:
    zstd = _zstd(
        "Zstandard data; to read it: pip install 'compactctl[zst]', or pipe it through zstdcat"
    )
    return zstd.ZstdFile(packed), (zstd.ZstdError, EOFError)


def _zstd(missing: str) -> Any:
    """Return the standard library's module (Python 3.14) or its backport, which are the same.

    Raises:
        InputError: ``missing``, where there is neither.

    """
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise InputError(missing)


def pack(data: bytes, kind: Kind) -> bytes:
    """Return ``data`` compressed; the same data always gives the same bytes.

    Raises:
        InputError: the library is not installed.

    """
    if kind == "gzip":
        return gzip_bytes(data)
    packed: bytes = _zstd("writing Zstandard data needs: pip install 'compactctl[zst]'").compress(
        data
    )
    return packed


def gzip_bytes(data: bytes, level: int = _LEVEL) -> bytes:
    """Compress with gzip, leaving out the time of day."""
    import gzip  # noqa: PLC0415 (few outputs are compressed)

    return gzip.compress(data, level, mtime=0)


def pack_like(raw: bytes, data: bytes) -> bytes:
    """Return ``data`` compressed as ``raw`` is."""
    kind = kind_of(raw[:MAGIC_LENGTH])
    return data if kind is None else pack(data, kind)


def plain(raw: bytes, lines: list[bytes]) -> bytes:
    """Return the decompressed bytes of ``raw``, which has these ``lines``; copy only if needed."""
    return b"".join(lines) if is_packed(raw[:MAGIC_LENGTH]) else raw
