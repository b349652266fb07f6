"""Width and height from the first bytes of an image file.

By the specifications of PNG (IHDR), GIF89a (logical screen), JPEG (ITU T.81, start of frame) and
WebP (RFC 9649).
"""

from __future__ import annotations

import struct

HEADER_BYTES = 48
"""Enough for every format but JPEG."""

JPEG_BYTES = 1 << 18
"""How far into a JPEG its frame is looked for; a profile or a thumbnail may stand before it."""

_NO_LENGTH = frozenset((0x01, *range(0xD0, 0xD9)))
_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_PREFIX, _END_OF_IMAGE, _START_OF_SCAN = 0xFF, 0xD9, 0xDA


def is_jpeg(head: bytes) -> bool:
    """Say whether ``head`` begins a JPEG."""
    return head.startswith(b"\xff\xd8\xff")


def dimensions(head: bytes) -> tuple[int, int]:
    """Give width and height in pixels, (0, 0) if ``head`` does not tell. Never raises."""
    try:
        width, height = _read(head)
    except struct.error:
        return 0, 0
    return (width, height) if width and height else (0, 0)


def _read(head: bytes) -> tuple[int, int]:
    width = height = 0
    if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR":
        width, height = struct.unpack_from(">II", head, 16)
    elif head.startswith((b"GIF87a", b"GIF89a")):
        width, height = struct.unpack_from("<HH", head, 6)
    elif is_jpeg(head):
        width, height = _read_jpeg(head)
    elif head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        width, height = _read_webp(head)
    return width, height


def _read_jpeg(head: bytes) -> tuple[int, int]:
    at = 2
    while True:
        prefix, marker = struct.unpack_from("BB", head, at)
        if prefix != _PREFIX or marker in (_END_OF_IMAGE, _START_OF_SCAN):
            return 0, 0
        if marker == _PREFIX:  # the byte before was a fill byte
            at += 1
        elif marker in _NO_LENGTH:
            at += 2
        elif marker in _FRAME:
            height, width = struct.unpack_from(">HH", head, at + 5)
            return width, height
        else:
            at += 2 + struct.unpack_from(">H", head, at + 2)[0]


def _read_webp(head: bytes) -> tuple[int, int]:
    form = head[12:16]
    if form == b"VP8X":
        width, height = struct.unpack_from("<I", head, 24)[0], struct.unpack_from("<I", head, 27)[0]
        return (width & 0xFFFFFF) + 1, (height & 0xFFFFFF) + 1
    if form == b"VP8L" and head[20:21] == b"\x2f":
        (bits,) = struct.unpack_from("<I", head, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", head, 26)
        return width & 0x3FFF, height & 0x3FFF
    return 0, 0
