"""Open gzip and Zstandard data, told by magic bytes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from compactctl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

MAGIC_LENGTH = 4
GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


def is_packed(head: bytes) -> bool:
    """Say whether a file that starts with ``head`` is packed in a way that can be opened."""
    return head.startswith((GZIP, _ZSTD))


def unpack(packed: BinaryIO, head: bytes, read: Callable[[BinaryIO], list[bytes]]) -> list[bytes]:
    """Let ``read`` read what ``packed`` holds; ``head`` says how it is packed.

    Raises:
        InputError: the data is damaged, or reading it needs an extra.

    """
    name = "gzip" if head.startswith(GZIP) else "Zstandard"
    file, damage = _gzip(packed) if name == "gzip" else _zstd(packed)
    try:
        return read(file)
    except damage as error:
        raise InputError(f"the {name} data is damaged: {error}") from None


def _gzip(packed: BinaryIO) -> tuple[Any, tuple[type[Exception], ...]]:
    import gzip  # noqa: PLC0415 (few inputs are packed)
    import zlib  # noqa: PLC0415 (the same)

    return gzip.GzipFile(fileobj=packed), (gzip.BadGzipFile, zlib.error, EOFError)


def _zstd(packed: BinaryIO) -> tuple[Any, tuple[type[Exception], ...]]:
    """Use the standard library's module (Python 3.14) or its backport, which are the same."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            zstd = importlib.import_module(name)
        except ImportError:
            continue
        return zstd.ZstdFile(packed), (zstd.ZstdError, EOFError)
    raise InputError(
        "Zstandard data; to read it: pip install 'compactctl[zst]', or pipe it through zstdcat"
    )
