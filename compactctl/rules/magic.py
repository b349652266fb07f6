"""What the bytes of images are, by the first of them; no image is ever decoded."""

from __future__ import annotations

from binascii import a2b_base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = 24
"""Characters of base64 that hold every magic number."""


def types(part: Any) -> list[str]:
    """Return the media type of each base64 image in a part of a line, "" for none that is known.

    The part is of any format: the data stands under ``data`` or in a ``data:`` URI.
    """
    return [_type(data) for data in _data(part)]


def _data(part: Any) -> Iterator[str]:
    """Find the data in a part, in the parts inside it, and in theirs."""
    waiting = [part]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list | tuple):
            waiting.extend(reversed(value))
        elif isinstance(value, dict):
            if isinstance(value.get("data"), str):
                yield value["data"]
            else:
                waiting.extend(reversed(value.values()))
        elif isinstance(value, str) and value[:5].lower() == "data:":
            header, _, data = value.partition(",")
            if header.endswith(";base64"):
                yield data


def _type(data: str) -> str:
    try:
        head = a2b_base64(data[:_HEAD])
    except ValueError:
        return ""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return "image/jpeg" if head.startswith(b"\xff\xd8\xff") else ""
