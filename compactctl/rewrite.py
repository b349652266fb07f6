"""Write a changed view back into the lines that it came from.

A line whose blocks are the very same objects leaves byte for byte. A line that lost all its
blocks goes; its children are re-parented. What a layer made gets a line of its own, or goes into
its neighbour where a line is a whole message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from compactctl import jsonio, links
from compactctl.links import Made
from compactctl.model import MADE, Block, Message
from compactctl.transcript import Transcript


class Written(msgspec.Struct, frozen=True):
    """The new lines, and what became of the old ones (counted by line, not by entry)."""

    chunks: list[bytes]
    kept: int
    changed: int
    dropped: int
    added: int


def rewrite(
    transcript: Transcript, messages: Sequence[Message], mark: dict[str, Any] | None = None
) -> Written:
    """Give the lines of ``transcript`` with ``messages`` as their view.

    ``mark`` is a record to put in front of the first line that was made.
    """
    blocks, made = _assign(transcript, messages)
    changed: dict[int, bytes | None] = {}
    for index, old in _blocks_by_entry(transcript.messages).items():
        new = blocks.get(index, [])
        if len(new) != len(old) or any(a is not b for a, b in zip(new, old, strict=True)):
            changed[index] = _edited(transcript, index, new) if new else None
    created = links.create(transcript, made, changed)
    if mark is not None:
        created.append((_first_made(messages, len(transcript.entries)), jsonio.dump(mark)))
        # A stable sort on the place: the mark, last in, has to come first among equals.
        created = sorted(created[-1:] + created[:-1], key=lambda new: new[0])
    return _emit(transcript, changed, created)


def _first_made(messages: Sequence[Message], end: int) -> int:
    """Give the entry in front of which the first thing that a layer made will stand."""
    ends = _following_entries(messages, end)
    for position, message in enumerate(messages):
        if any(block.entry == MADE for block in message.blocks):
            return ends[position]
    return end


def _blocks_by_entry(messages: Sequence[Message]) -> dict[int, list[Block]]:
    found: dict[int, list[Block]] = {}
    for message in messages:
        for block in message.blocks:
            found.setdefault(block.entry, []).append(block)
    return found


def _assign(
    transcript: Transcript, messages: Sequence[Message]
) -> tuple[dict[int, list[Block]], list[Made]]:
    """Give each block a line: (blocks by entry, lines to make)."""
    ends = _following_entries(messages, len(transcript.entries))
    by_entry: dict[int, list[Block]] = {}
    made: list[Made] = []
    homes = _homes(transcript) if transcript.format.ONE_LINE_A_MESSAGE else {}
    last = MADE
    for position, message in enumerate(messages):
        home = _home(message, homes) if homes else MADE
        for at, block in enumerate(message.blocks):
            entry = block.entry
            if homes and home != MADE and homes.get(entry) != homes[home]:
                entry = home
            if entry != MADE:
                by_entry.setdefault(entry, []).append(block)
                last = max(last, block.entry)
            elif at and made and message.blocks[at - 1].entry == MADE:
                made[-1].blocks.append(block)
            else:
                before = min(_next_entry(message.blocks[at:], ends[-1]), ends[position + 1])
                made.append(Made(message.role, [block], before, last))
    return by_entry, made


def _homes(transcript: Transcript) -> dict[int, int]:
    """Map each entry of the old view to the message that it was part of."""
    return {
        block.entry: position
        for position, message in enumerate(transcript.messages)
        for block in message.blocks
    }


def _home(message: Message, homes: dict[int, int]) -> int:
    """Give the line that takes in what a layer added to ``message``: its first one."""
    return next((block.entry for block in message.blocks if block.entry in homes), MADE)


def _next_entry(blocks: Sequence[Block], otherwise: int) -> int:
    return min((block.entry for block in blocks if block.entry != MADE), default=otherwise)


def _following_entries(messages: Sequence[Message], end: int) -> list[int]:
    """Give for each message the first entry that it or any later message has, ``end`` if none."""
    ends = [end]
    for message in reversed(messages):
        ends.append(min(_next_entry(message.blocks, end), ends[-1]))
    return ends[::-1]


def _edited(transcript: Transcript, index: int, blocks: Sequence[Block]) -> bytes:
    """Write entry ``index`` anew with ``blocks`` as its parts."""
    module = transcript.format
    record = _record(transcript, index)
    parts: list[Any] = []
    for block in blocks:
        if block.entry == MADE:
            parts.append(module.make(block))
        else:
            source = record if block.entry == index else _record(transcript, block.entry)
            parts.append(module.edit(module.parts_of(source)[block.at], block))
    return jsonio.dump(module.with_parts(record, parts))


def _record(transcript: Transcript, index: int) -> dict[str, Any]:
    record = jsonio.parse(transcript.entries[index].raw)
    assert isinstance(record, dict)
    return record


def _emit(
    transcript: Transcript,
    changed: dict[int, bytes | None],
    created: list[tuple[int, bytes]],
) -> Written:
    """Put the lines together and count them."""
    entries = transcript.entries
    newline = b"\r\n" if entries[0].raw.endswith(b"\r\n") else b"\n"
    chunks: list[bytes] = []
    fates: dict[int, set[str]] = {}
    waiting = created[::-1]
    open_line = 0
    for index, entry in enumerate(entries):
        while waiting and waiting[-1][0] <= index:
            _begin_line(chunks, newline)
            chunks.append(waiting.pop()[1] + newline)
        raw, fate = entry.raw, "kept"
        if index in changed:
            new = changed[index]
            fate = "dropped" if new is None else "changed"
            raw = b"" if new is None else new + _line_end(raw)
        if fate != "kept" or entry.line in fates:
            fates.setdefault(entry.line, set()).add(fate)
        if raw:
            if entry.line != open_line:
                _begin_line(chunks, newline)
            chunks.append(raw)
            open_line = entry.line
    for _, line in reversed(waiting):
        _begin_line(chunks, newline)
        chunks.append(line + newline)
    dropped = sum(fate == {"dropped"} for fate in fates.values())
    kept = entries[-1].line - len(fates)
    return Written(chunks, kept, len(fates) - dropped, dropped, len(created))


def _begin_line(chunks: list[bytes], newline: bytes) -> None:
    """End the line before, if it had no line end of its own."""
    if chunks and not chunks[-1].endswith(b"\n"):
        chunks.append(newline)


def _line_end(raw: bytes) -> bytes:
    if raw.endswith(b"\r\n"):
        return b"\r\n"
    return b"\n" if raw.endswith(b"\n") else b""
