"""Pack data with gzip or Zstandard, always into the same bytes; ``unpack`` opens them again."""

from __future__ import annotations

import gzip
import importlib
from typing import Literal, TypeAlias

from compactctl.errors import InputError

Kind: TypeAlias = Literal["gzip", "Zstandard"]

_LEVEL = 6


def pack(data: bytes, kind: Kind) -> bytes:
    """Pack ``data``.

    Raises:
        InputError: the library is not installed.

    """
    return gzip_bytes(data) if kind == "gzip" else _zstd_bytes(data)


def gzip_bytes(data: bytes, level: int = _LEVEL) -> bytes:
    """Pack with gzip, without the time that it would carry."""
    return gzip.compress(data, level, mtime=0)


def _zstd_bytes(data: bytes) -> bytes:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            packed: bytes = importlib.import_module(name).compress(data)
        except ImportError:
            continue
        return packed
    raise InputError("writing Zstandard data needs: pip install 'compactctl[zst]'")
