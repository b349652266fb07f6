"""Images as a transcript holds them: type and size, told by their first bytes.

The data stands in base64. No pixel is ever decoded, and of the data no more than the header:
PNG's IHDR, GIF's logical screen, JPEG's start of frame (ITU T.81), WebP's first chunk (RFC 9649).
"""

from __future__ import annotations

import struct
from binascii import a2b_base64
from collections.abc import Callable

from compactctl.model import Image

JPEG_BYTES = 1 << 18
"""How far into a JPEG its frame is looked for; a profile or a thumbnail may stand before it."""

_HEADER_BYTES = 48
"""Enough for every type but JPEG."""

# Whitespace and padding carry no bytes; "-" and "_" are the URL-safe spelling of "+" and "/".
_BARE = str.maketrans(
    {"\r": None, "\n": None, "\t": None, " ": None, "=": None, "-": "+", "_": "/"}
)


def read_image(media_type: str, data: str) -> Image:
    """Describe an image by its base64.

    ``media_type`` is passed on as stated. ``size`` is the length in bytes that the base64 stands
    for. Width and height are 0 for a type that is not known, a damaged header, and a JPEG whose
    frame does not begin in its first 256 KiB. Never raises.
    """
    return Image(media_type, _decoded_size(data), *_dimensions(data))


def read_data_uri(uri: str) -> Image | None:
    """Describe the image in a ``data:`` URI; None for any other address."""
    found = split_data_uri(uri)
    return read_image(*found) if found else None


def split_data_uri(uri: str) -> tuple[str, str] | None:
    """Return the media type and the base64 of a ``data:`` URI; None for any other address."""
    if uri[:5].lower() != "data:":
        return None
    header, _, data = uri.partition(",")
    media_type, *parameters = header[5:].split(";")
    if not parameters or parameters[-1].strip().lower() != "base64":
        return None
    return media_type.strip(), data


def actual_type(data: str) -> str:
    """Return the media type that the bytes are of, "" if it is none that is known."""
    return _recognise(_first_bytes(data, _HEADER_BYTES))[0]


def _dimensions(data: str) -> tuple[int, int]:
    head = _first_bytes(data, _HEADER_BYTES)
    media_type, read = _recognise(head)
    if media_type == "image/jpeg":
        head = _first_bytes(data, JPEG_BYTES)
    try:
        width, height = read(head)
    except struct.error:  # the header is cut off
        return 0, 0
    return (width, height) if width and height else (0, 0)


def _first_bytes(data: str, length: int) -> bytes:
    """Decode at most the first ``length`` bytes; b"" where that is not base64."""
    bare = data[: length // 3 * 4].translate(_BARE)
    if len(bare) % 4 == 1:
        bare = bare[:-1]
    try:
        return a2b_base64(bare + "=" * (-len(bare) % 4))
    except ValueError:
        return b""


def _decoded_size(data: str) -> int:
    return (len(data) - sum(map(data.count, "\r\n\t ="))) * 3 // 4


def _png(head: bytes) -> tuple[int, int]:
    if head[12:16] != b"IHDR":
        return 0, 0
    width, height = struct.unpack_from(">II", head, 16)
    return width, height


def _gif(head: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", head, 6)
    return width, height


_NO_LENGTH = frozenset((0x01, *range(0xD0, 0xD9)))
_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_PREFIX, _END_OF_IMAGE, _START_OF_SCAN = 0xFF, 0xD9, 0xDA


def _jpeg(head: bytes) -> tuple[int, int]:
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


def _webp(head: bytes) -> tuple[int, int]:
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


def _unknown(_head: bytes) -> tuple[int, int]:
    return 0, 0


_TYPES: tuple[tuple[bytes, bytes, str, Callable[[bytes], tuple[int, int]]], ...] = (
    (b"\x89PNG\r\n\x1a\n", b"", "image/png", _png),
    (b"GIF87a", b"", "image/gif", _gif),
    (b"GIF89a", b"", "image/gif", _gif),
    (b"\xff\xd8\xff", b"", "image/jpeg", _jpeg),
    (b"RIFF", b"WEBP", "image/webp", _webp),
)
"""What an image begins with, what its bytes from the eighth on are, its type, its dimensions."""


def _recognise(head: bytes) -> tuple[str, Callable[[bytes], tuple[int, int]]]:
    for start, form, media_type, read in _TYPES:
        if head.startswith(start) and head[8 : 8 + len(form)] == form:
            return media_type, read
    return "", _unknown
