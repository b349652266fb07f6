r"""Text for people: made safe to print, and counts with their nouns.

What a transcript holds is printed by way of this module alone. Escapes are visible instead of
deleted, so that a reader sees that something was there.
"""

from __future__ import annotations

import re

_UNSEEN = (
    r"\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: line ends, cursor moves, terminal commands
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidi: shows text in another order
    r"\xad\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"  # shown as nothing
    r"\U000e0000-\U000e0fff"  # tags and variation selectors: whole sentences can hide in them
    r"\u2028\u2029"  # line ends to some readers
    r"\ud800-\udfff"  # lone surrogates: fail at the first encoding
)
_TERMINAL = re.compile(f"[{_UNSEEN}]")
# The separator of fields too: a reader that splits a line without minding quotes is not misled.
_FIELD = re.compile(rf'[{_UNSEEN}"\\;]')

_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_FIRST_ASTRAL = 0x10000
_FIRST_BEYOND_LATIN = 0x100


def escape_field(text: str) -> str:
    r"""Return ``text`` as a quoted value that can forge neither a field nor a line beside it.

    The result is a JSON string, so ``json.loads`` returns ``text``. What cannot be seen is
    escaped, and so are the quote, the backslash and ``;``, which stands between fields.
    """
    return f'"{_FIELD.sub(_json_escape, text)}"'


def escape_terminal(text: str) -> str:
    r"""Return ``text`` on one line, as ``\n``, ``\x1b``, ``\u202e`` what would act on a terminal.

    For reading only: a backslash stays as it is, so what is already escaped is not escaped twice.
    """
    return _TERMINAL.sub(_plain_escape, text)


def escape_json(line: bytes) -> bytes:
    """Return a line of JSON that says the same and cannot act on a terminal."""
    body = line.rstrip(b"\n")
    return _TERMINAL.sub(_json_escape, body.decode()).encode() + line[len(body) :]


def _json_escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in '"\\':
        return f"\\{char}"
    if ord(char) < _FIRST_ASTRAL:
        return _SHORT.get(char) or f"\\u{ord(char):04x}"
    # JSON has no escape beyond four digits: such a character is written as its surrogate pair.
    high, low = divmod(ord(char) - _FIRST_ASTRAL, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def _plain_escape(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    if code < _FIRST_BEYOND_LATIN:
        return _SHORT.get(char) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _FIRST_ASTRAL else f"\\U{code:08x}"


def sizes(before: int, after: int) -> str:
    """Return what became of a size: ``1,000 → 250 (−75.0%)``."""
    share = f" ({(after - before) / before:+.1%})".replace("-", "−") if before != after else ""
    return f"{before:,} → {after:,}{share}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun: ``1 result``, ``1,204 results``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def middle_cut(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` characters, without its middle if it is longer."""
    if len(text) <= width:
        return text
    head = max(width - 3, 0) * 3 // 5
    tail = max(width - 3 - head, 0)
    return f"{text[:head].rstrip()} … {text[len(text) - tail :].lstrip()}" if tail else "…"[:width]
