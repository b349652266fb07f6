"""Write a changed view back into the lines that it came from.

A line whose blocks are the very same objects leaves byte for byte. A line that lost all its
blocks goes; its children are re-parented. What a layer made gets a line of its own, or goes into
its neighbour where a line is a whole message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.errors import CompactctlError
from compactctl.jsonl import exact
from compactctl.model import MADE, Block, Message
from compactctl.transcript import relink
from compactctl.transcript.accounting import Output, account, emit
from compactctl.transcript.loading import Transcript, parse
from compactctl.transcript.relink import Made
from compactctl.view.compare import same_view

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = ["Output", "account", "emit", "rewrite", "write"]


def write(
    transcript: Transcript, messages: Sequence[Message], mark: dict[str, Any] | None = None
) -> tuple[Output, Transcript]:
    """Rewrite and read back: (the lines, what they say).

    What was not in the view before does not come into it by what goes, a branch that was given
    up in favour of one that went, say: it goes too. And what takes back more turns than there are
    does not take back those that a layer made.

    Raises:
        CompactctlError: what is read back is not what was meant.

    """
    view = {block.entry for message in transcript.messages for block in message.blocks} | {MADE}
    outside: dict[int, bytes | None] = {}
    while True:
        written = rewrite(transcript, messages, mark, outside)
        new = parse(written.lines(), transcript.name, transcript.format)
        back = {written.origins[block.entry] for m in new.messages for block in m.blocks} - view
        bounded = dict.fromkeys(back) or _bounded(transcript)
        if not back and (not transcript.hides or same_view(new.messages, messages)):
            return written, new
        if bounded.keys() <= outside.keys():
            raise CompactctlError(_NOT_MEANT, file=transcript.name)
        outside |= bounded


_NOT_MEANT = "what would be written does not read back as it was meant, so nothing is written"


def _bounded(transcript: Transcript) -> dict[int, bytes | None]:
    """Let what takes back more turns than there are take back just these."""
    return {
        index: exact.dump(transcript.format.bounded(_record(transcript, index), turns))
        for index, turns in transcript.overreach.items()
    }


def rewrite(
    transcript: Transcript,
    messages: Sequence[Message],
    mark: dict[str, Any] | None = None,
    outside: Mapping[int, bytes | None] | None = None,
) -> Output:
    """Give the lines of ``transcript`` with ``messages`` as their view.

    ``mark`` is a record to put in front of the first thing that was made; ``outside`` says what
    becomes of entries outside the view, None for those that go as well.
    """
    plan = _Plan(transcript, messages)
    changed: dict[int, bytes | None] = dict(outside or {})
    stays = getattr(transcript.format, "STAYS", None)
    needed = set(plan.blocks)
    if stays is not None:
        needed |= {at for at, row in enumerate(transcript.tags) if row[0] == stays}
    for index, old in _blocks_by_entry(transcript.messages, needed).items():
        new = plan.blocks.get(index, [])
        if not new:
            goes = stays is None or transcript.tags[index][0] != stays
            changed[index] = None if goes else _settled(_edited(transcript, index, new, old))
        elif len(new) != len(old) or any(a is not b for a, b in zip(new, old, strict=True)):
            changed[index] = _settled(_edited(transcript, index, new, old))
    created = relink.create(transcript, plan.made, changed)
    if mark is not None:
        at = sum(1 for before, _ in created if before < plan.first)
        first = {"first_kept_entry_id": _name(transcript, plan.first)}
        created.insert(at, (plan.first, exact.dump(mark | first)))
    return account(transcript.entries, *emit(transcript.entries, changed, created))


def _name(transcript: Transcript, index: int) -> str | None:
    """Give the id of an entry, or its line where it has none."""
    if index == len(transcript.entries):
        return None
    link = transcript.format.LINK
    own = _record(transcript, index).get(link[0]) if link else None
    return own if isinstance(own, str) else f"line:{transcript.entries[index].line}"


def _blocks_by_entry(
    messages: Sequence[Message], needed: Collection[int]
) -> dict[int, Sequence[Block]]:
    """Give the blocks of the entries that are needed, and of the others only that they are."""
    found: dict[int, list[Block]] = {index: [] for index in needed}
    others: dict[int, Sequence[Block]] = {}
    for message in messages:
        for block in message.blocks:
            if block.entry in found:
                found[block.entry].append(block)
            else:
                others[block.entry] = ()
    return others | {index: blocks for index, blocks in found.items() if blocks}


_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Plan:
    """A line for each block: ``blocks`` by entry, lines to be ``made``.

    ``first`` is the entry in front of which the first thing that was made will stand.
    """

    def __init__(self, transcript: Transcript, messages: Sequence[Message]) -> None:
        self.transcript = transcript
        self.blocks: dict[int, list[Block]] = {}
        self.made: list[Made] = []
        self.first = len(transcript.entries)
        self._ends = _following_entries(messages, len(transcript.entries))
        self._last = MADE
        whole = transcript.format.ONE_LINE_A_MESSAGE
        homes = _homes(transcript.messages) if whole else {}
        for position, message in enumerate(messages):
            self._place(position, message, homes)

    def _place(self, position: int, message: Message, homes: dict[int, int]) -> None:
        """Give each block the entry that it is from, or that its message is at home in."""
        home = next((block.entry for block in message.blocks if block.entry in homes), MADE)
        for at, block in enumerate(message.blocks):
            if home != MADE:
                if homes.get(block.entry) == homes[home]:
                    home = block.entry
                self._put(block, home)
            elif block.entry != MADE:
                self._put(block, block.entry)
            else:
                rest = _next_entry(message.blocks[at:], self._ends[position + 1])
                self._make(message, at, min(rest, self._ends[position + 1]))

    def _put(self, block: Block, entry: int) -> None:
        self.blocks.setdefault(entry, []).append(block)
        self._last = max(self._last, block.entry)
        if block.entry == MADE:
            self.first = min(self.first, entry)

    def _make(self, message: Message, at: int, before: int) -> None:
        """Plan a line for a block; what is made side by side shares it."""
        block = message.blocks[at]
        if self._takes_in(before):
            self._put(block, before)
        elif at and self.made and message.blocks[at - 1].entry == MADE:
            self.made[-1].blocks.append(block)
        else:
            self.made.append(Made(message.role, [block], before, self._last))
            self.first = min(self.first, before)

    def _takes_in(self, entry: int) -> bool:
        """Say whether the view starts inside a line, so that nothing can stand in front of it."""
        takes_in = getattr(self.transcript.format, "takes_in", None)
        if takes_in is None or entry == len(self.transcript.entries):
            return False
        return bool(takes_in(_record(self.transcript, entry)))


def _homes(messages: Sequence[Message]) -> dict[int, int]:
    """Map each entry of a view to the message that it is part of."""
    return {
        block.entry: position
        for position, message in enumerate(messages)
        for block in message.blocks
    }


def _next_entry(blocks: Sequence[Block], otherwise: int) -> int:
    return min((block.entry for block in blocks if block.entry != MADE), default=otherwise)


def _following_entries(messages: Sequence[Message], end: int) -> list[int]:
    """Give for each message the first entry that it or any later message has, ``end`` if none."""
    ends = [end]
    for message in reversed(messages):
        ends.append(min(_next_entry(message.blocks, end), ends[-1]))
    return ends[::-1]


def _settled(line: bytes) -> bytes:
    """Copy a line into the room that its parsed form took, now that this is free.

    Otherwise the lines lie in between such rooms: in one session a third of the memory.
    """
    return bytes(memoryview(line))


def _edited(
    transcript: Transcript, index: int, blocks: Sequence[Block], old: Sequence[Block]
) -> bytes:
    """Write entry ``index`` anew with ``blocks`` as its parts, which the view had as ``old``."""
    module = transcript.format
    record = _opened(transcript, index)
    parts: list[Any] = []
    for block in blocks:
        if block.entry == MADE:
            parts.append(module.make(block))
        else:
            source = record if block.entry == index else _record(transcript, block.entry)
            parts.append(module.edit(module.parts_of(source)[block.at], block))
    if hasattr(module, "beside"):
        parts += module.beside(record, {block.at for block in old})
    return exact.dump(module.with_parts(record, parts))


def _opened(transcript: Transcript, index: int) -> dict[str, Any]:
    """Parse an entry that is to be edited; where its format names what it edits, nothing else."""
    edited = getattr(transcript.format, "EDITED", None)
    if edited is not None:
        try:
            members = _MEMBERS.decode(transcript.entries[index].raw)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):  # an odd line
            return _record(transcript, index)
        return {
            key: exact.parse(bytes(raw)) if key in edited else exact.as_it_is(bytes(raw))
            for key, raw in members.items()
        }
    return _record(transcript, index)


def _record(transcript: Transcript, index: int) -> dict[str, Any]:
    record = exact.parse(transcript.entries[index].raw)
    assert isinstance(record, dict)
    return record
