"""What only the provider can read, and what it costs: encrypted text, pages of a file, sound.

No tokenizer can count it, so it is priced by its size. The prices are estimates on the safe side.
"""

from __future__ import annotations

import re
from binascii import a2b_base64

PAGE_TOKENS = 3_000
"""A page of a PDF: its text, and the picture of it that is sent as well."""

_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_COUNT = re.compile(rb"/Count\s+([0-9]{1,6})")
_PAGE_BYTES = 50_000
"""Bytes of a page where the file does not tell its pages."""
_LEAST_PAGE = 100
"""Bytes that a page takes at least; a file that claims more pages is not believed."""
_SOUND_BYTES = {"wav": 3_200, "pcm16": 3_200}
_PACKED_SOUND_BYTES = 800
"""Bytes of sound a token: a tenth of a second, plain or packed."""


def encrypted(characters: int) -> int:
    """Return the tokens of so much base64: three bytes in four characters, four bytes a token."""
    return -(-characters * 3 // 16)


def document(media_type: str, data: str) -> int:
    """Return the tokens of a file in base64: a PDF by its pages, another by its bytes."""
    return PAGE_TOKENS * _pages(data) if "pdf" in media_type.lower() else encrypted(len(data))


def sound(form: str, data: str) -> int:
    """Return the tokens of sound in base64, by how long it takes to hear it."""
    return len(data) * 3 // 4 // _SOUND_BYTES.get(form, _PACKED_SOUND_BYTES) + 1


def _pages(data: str) -> int:
    """Count the pages of a PDF; newer ones pack the list of them, but tell their number."""
    size = len(data) * 3 // 4
    try:
        raw = a2b_base64(data)
    except ValueError:
        raw = b""
    told = len(_PAGE.findall(raw)) or max(map(int, _COUNT.findall(raw)), default=0)
    return min(told, size // _LEAST_PAGE) or -(-size // _PAGE_BYTES) or 1
