"""Bytes that are not UTF-8 as the text that they were meant for."""

from __future__ import annotations

import codecs
import re

_NAME = "compactctl.cp1252"
_ALONE = (0xC2, 0xC3)
"""Bytes that begin a letter in UTF-8 far more often than they are one in cp1252."""
_MANY_NULS = 1 / 3
_PLAIN = re.compile("[ -~]")


def text_of(raw: bytes) -> str:
    """Return the text of a line: UTF-8, UTF-16 where every other byte is NUL, else cp1252.

    Where UTF-8 is damaged in places, only single bytes are taken for letters of cp1252; what no
    letter explains becomes U+FFFD.
    """
    inside = raw.strip(b"\0\r\n")
    if inside.count(0) > len(inside) * _MANY_NULS and b"\0\0" not in inside:  # no mere run
        return _from_utf16(raw.rstrip(b"\r\n"))
    if not _holds_utf8(raw):
        return raw.decode("cp1252", "replace")
    return raw.decode("utf-8", _NAME)


def _from_utf16(body: bytes) -> str:
    """Decode a line whose ends were cut at the byte of a line end, in the order that fits best."""
    ways = ((body, "utf-16-be"), (body, "utf-16-le"), (body[1:], "utf-16-le"))
    read = (part[: len(part) // 2 * 2].decode(order, "replace") for part, order in ways)
    return max(read, key=lambda text: len(_PLAIN.findall(text)))


def _holds_utf8(raw: bytes) -> bool:
    """Return True if a letter of several bytes is right by UTF-8, or all bytes are ASCII."""
    return raw.isascii() or not raw.decode("utf-8", "ignore").isascii()


def _letter(error: UnicodeError) -> tuple[str, int]:
    """Return a single byte that is not UTF-8 as its letter in cp1252, and where to go on."""
    assert isinstance(error, UnicodeDecodeError)
    bad = error.object[error.start : error.end]
    if len(bad) > 1 or bad[0] in _ALONE:
        return "\ufffd", error.end
    return bad.decode("cp1252", "replace"), error.end


codecs.register_error(_NAME, _letter)
