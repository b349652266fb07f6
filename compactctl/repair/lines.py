"""Fix the lines of a file that cannot be read: damaged, glued, split, or in another encoding.

What cannot be read is not thrown away: it becomes a record that holds its text.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from compactctl.formats import detect
from compactctl.jsonl import exact
from compactctl.jsonl.decoding import text_of
from compactctl.jsonl.lines import line_end
from compactctl.repair.case import Deed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compactctl.jsonl.lines import Knows
    from compactctl.transcript.loading import Transcript

UNREADABLE = "compactctl.unreadable"

FIXABLE = frozenset({"FILE-01", "FILE-02", "FILE-04", "FILE-05", "FILE-07", "FILE-08", "FILE-09"})
_READER = json.JSONDecoder(parse_constant=lambda _: None)
_TOLERANT = json.JSONDecoder(parse_constant=lambda _: None, strict=False)
_NOTHING = " \t\r\n\v\f\0\ufeff"
_BEGINS = re.compile(r'[\s\0\ufeff]*\{\s*"')
_MOST_LINES, _TRIES = 10_000, 100
"""How far the rest of a split record is looked for: lines, and times that it may end there."""


def fix_damage(transcript: Transcript, lines: Sequence[bytes], deeds: list[Deed]) -> list[bytes]:
    """Write damaged lines anew; every other line is the very same object."""
    damaged = {fault.line: fault.rule for fault in transcript.faults if fault.rule in FIXABLE}
    if not damaged:
        return list(lines)
    firsts = {entry.line: at for at, entry in reversed([*enumerate(transcript.entries)])}
    knows = partial(detect.knows, transcript.format)
    fixed = list(lines)
    stop = 0
    for number, rule in damaged.items():
        if number <= stop:
            continue
        at = number - 1
        joined, stop = _put_together(lines, at, knows)
        new = joined or _readable(transcript, lines[at], at, knows)
        if new != lines[at]:
            fixed[at:stop] = [new, *[b""] * (stop - number)]
            did = f"put together with {stop - number} more lines" if joined else "made readable"
            deeds.append(Deed(rule, firsts[number], did))
    return fixed


def _put_together(lines: Sequence[bytes], at: int, knows: Knows) -> tuple[bytes, int]:
    """Return the record that line ends inside its strings split, and where its last line ends.

    b"" and the end of this very line where there is none. Inside a string a quote is escaped, so
    a line that begins an object is no part of one.
    """
    parts = [text_of(lines[at])]
    tries = 0
    if _BEGINS.match(parts[0]) and not _is_whole(parts[0]):
        for end in range(at + 1, min(at + _MOST_LINES, len(lines))):
            parts.append(text_of(lines[end]))
            if _BEGINS.match(parts[-1]) or tries == _TRIES:
                break
            if parts[-1].rstrip().endswith("}"):
                tries += 1
                text = "".join(parts).strip(_NOTHING)
                if _is_whole(text, knows):
                    record = exact.dump(exact.without_surrogates(_TOLERANT.decode(text)))
                    return record + line_end(lines[end]), end + 1
    return b"", at + 1


def _is_whole(text: str, knows: Knows | None = None) -> bool:
    """Return True if a text is an object, with line ends in its strings or not."""
    try:
        value = _TOLERANT.decode(text.strip(_NOTHING))
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and (knows is None or knows(value))


def _readable(transcript: Transcript, raw: bytes, at: int, knows: Knows) -> bytes:
    """Return the records of a line, one a line, and what is no record as text in one."""
    end = line_end(raw)
    records = [
        piece if isinstance(piece, bytes) else exact.dump(_kept(transcript, piece, at))
        for piece in _pieces(text_of(raw).replace("\0", "").strip(_NOTHING), knows)
    ]
    return (end or b"\n").join(records) + (end if records else b"")


def _pieces(text: str, knows: Knows) -> Iterator[bytes | str]:
    """Return the records of a text as they are written, and the stretches that are none."""
    while text:
        try:
            value, stop = _READER.raw_decode(text)
            yield _record(text[:stop], value)
        except (ValueError, RecursionError):
            found = exact.whole_behind(text, knows)
            stop = len(text) if found is None else found
            yield text[:stop].strip(_NOTHING)
        text = text[stop:].strip(_NOTHING)


def _record(text: str, value: Any) -> bytes:
    """Return a record byte for byte where nothing is wrong with it."""
    try:
        orjson.loads(text)
    except ValueError:
        return exact.dump(exact.without_surrogates(value))
    return text.encode()


def _kept(transcript: Transcript, text: str, at: int) -> dict[str, Any]:
    """Return a record of a text; where the last line leads the way back, it is part of that."""
    record: dict[str, Any] = {"type": UNREADABLE, "text": text}
    links = transcript.format.links
    if links is None or not links.follows:
        return record
    tags = transcript.references()
    before = (
        own
        for entry, own in zip(reversed(transcript.entries), reversed(tags.ids), strict=True)
        if own is not None and entry.line <= at
    )
    parent = next(before, None)
    digest = hashlib.sha256(f"{at}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
    return record | {links.own: transcript.format.new_id(digest), links.parent: parent}
