"""Write a changed view back into the lines that it came from.

A line whose blocks are the very same objects leaves byte for byte. A line that lost all its
blocks goes; its children are re-parented. What a layer made gets a line of its own, or goes into
its neighbour where a line is a whole message.
"""

from __future__ import annotations

import bisect
import itertools
from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.errors import CompactctlError
from compactctl.jsonl import DECODE_ERRORS, exact
from compactctl.model import MADE, Block, Message
from compactctl.transcript import placing, relink, usage
from compactctl.transcript.accounting import Output, account, emit
from compactctl.transcript.loading import Transcript, parse
from compactctl.transcript.relink import Made
from compactctl.transcript.usage import Recorded
from compactctl.view.compare import same_view

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = ["Output", "account", "emit", "rewrite", "write"]


def write(
    transcript: Transcript,
    messages: Sequence[Message],
    touched: Collection[int],
    mark: dict[str, Any] | None = None,
    recorded: Recorded | None = None,
) -> tuple[Output, Transcript]:
    """Rewrite and read back: (the lines, what they say).

    Dropping entries must not reveal hidden ones, a branch that was given up in favour of one that
    went, say: those go too; nor may it hide what stays, so forks that would are made straight. And
    a rollback that takes back more turns than there are is cut to those, or it would take back
    what a layer made.

    Raises:
        CompactctlError: what is read back is not what was meant.

    """
    view = {block.entry for message in transcript.messages for block in message.blocks} | {MADE}
    outside: dict[int, bytes | None] = {}
    links, straight = transcript.format.links, False
    while True:
        written = rewrite(transcript, messages, touched, mark, outside, recorded, straight=straight)
        new = parse(written.lines(), transcript.name, transcript.format)
        back = {written.origins[block.entry] for m in new.messages for block in m.blocks} - view
        bounded = dict.fromkeys(back) or _bounded(transcript)
        if not back and (not transcript.hides or same_view(new.messages, messages)):
            return written, new
        if bounded.keys() <= outside.keys():
            if straight or links is None or links.follows:
                raise CompactctlError(_NOT_MEANT, file=transcript.name)
            straight = True
        outside |= bounded


_NOT_MEANT = (
    "internal check failed: the output would not read back as intended; nothing was written"
)


def _bounded(transcript: Transcript) -> dict[int, bytes | None]:
    """Return the oversized rollbacks, cut to the turns that exist."""
    return {
        index: exact.dump(transcript.format.limit_rollback(_record(transcript, index), turns))
        for index, turns in transcript.overreach.items()
    }


def rewrite(
    transcript: Transcript,
    messages: Sequence[Message],
    touched: Collection[int],
    mark: dict[str, Any] | None = None,
    outside: Mapping[int, bytes | None] | None = None,
    recorded: Recorded | None = None,
    *,
    straight: bool = False,
) -> Output:
    """Return the lines of ``transcript`` with ``messages`` as their view.

    ``touched`` are the entries of which a block was changed, moved or taken out.
    ``mark`` is a record to put in front of the first thing that was made; ``outside`` says what
    becomes of entries outside the view, None for those that go as well. ``recorded`` is the usage
    that is true of the new view. ``straight`` is as for ``relink.create``.
    """
    plan = _Plan(transcript, messages, touched)
    changed: dict[int, bytes | None] = dict(outside or {})
    stays = transcript.format.boundary
    for index, old in _blocks_by_entry(transcript.messages, plan.touched).items():
        new = plan.blocks.get(index, [])
        if not new and (stays is None or transcript.tags[index][0] != stays):
            changed[index] = None
        elif len(new) != len(old) or any(a is not b for a, b in zip(new, old, strict=True)):
            changed[index] = _compacted_copy(_edited(transcript, index, new, old))
    created = relink.create(transcript, plan.made, changed, messages, straight=straight)
    if mark is not None:
        at = sum(1 for before, _ in created if before < plan.first)
        first = {"first_kept_entry_id": _name(transcript, plan.first)}
        created.insert(at, (plan.first, exact.dump(mark | first)))
    if recorded is not None:
        at = plan.moves.get(recorded.entry, recorded.entry)
        _set_usage(transcript, at, recorded.size, changed)
    is_new = bool(changed or created)
    written = emit(transcript.entries, changed, created)
    if is_new:
        return account(transcript.entries, *placing.inside(transcript.format, *written))
    return account(transcript.entries, *written)


def _set_usage(
    transcript: Transcript, at: int, size: int, changed: dict[int, bytes | None]
) -> None:
    """Write the size that is true now into the entry of a usage."""
    raw = changed.get(at, transcript.entries[at].raw)
    new = usage.written(transcript.format, raw, size) if raw is not None else None
    if new is not None:
        changed[at] = new


def _name(transcript: Transcript, index: int) -> str | None:
    """Return the id of an entry, or its line where it has none."""
    if index == len(transcript.entries):
        return None
    links = transcript.format.links
    own = _record(transcript, index).get(links.own) if links else None
    return own if isinstance(own, str) else f"line:{transcript.entries[index].line}"


def _blocks_by_entry(
    messages: Sequence[Message], entries: Collection[int]
) -> dict[int, list[Block]]:
    """Return the blocks of some entries, those of an entry in the order of the view."""
    found: dict[int, list[Block]] = {}
    for message in messages:
        for block in message.blocks:
            if block.entry in entries:
                found.setdefault(block.entry, []).append(block)
    return found


_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Plan:
    """A line for each block that something happened to.

    ``touched`` are the entries to be looked at, ``blocks`` is what is left of them and came in,
    ``made`` are the new lines. ``first`` is the entry in front of which the first new thing stands.
    """

    def __init__(
        self, transcript: Transcript, messages: Sequence[Message], touched: Collection[int]
    ) -> None:
        self.transcript = transcript
        self.messages = messages
        self.touched = set(touched)
        self.blocks: dict[int, list[Block]] = {}
        self.made: list[Made] = []
        self.first = len(transcript.entries)
        self._last = MADE
        stays = transcript.format.boundary
        if stays is not None:  # what is new may go into one of these
            self.touched |= {at for at, row in enumerate(transcript.tags) if row[0] == stays}
        homes = _homes(transcript.messages) if transcript.format.line_is_message else {}
        if homes:
            self.touched |= _entries_of_new(transcript.messages, messages)
        self.moves = _moves(transcript, messages)
        self.touched |= self.moves.keys()
        for position, message in enumerate(messages):
            self._place(position, message, homes)

    def _place(self, position: int, message: Message, homes: dict[int, int]) -> None:
        """Return each block the entry that it is from, or that its message is at home in."""
        home = MADE
        if homes:
            home = next((block.entry for block in message.blocks if block.entry in homes), MADE)
        for at, block in enumerate(message.blocks):
            if home != MADE:
                if homes.get(block.entry) == homes[home]:
                    home = block.entry
                self._put(block, home)
            elif block.entry != MADE:
                self._put(block, self.moves.get(block.entry, block.entry))
            else:
                self._make(position, at)

    def _put(self, block: Block, entry: int) -> None:
        if entry in self.touched:
            self.blocks.setdefault(entry, []).append(block)
        self._last = max(self._last, block.entry)
        if block.entry == MADE:
            self.first = min(self.first, entry)

    def _make(self, position: int, at: int) -> None:
        """Plan a line for a new block; what is made side by side shares it."""
        message = self.messages[position]
        before = self._following(position, at)
        if self._takes_in(before):
            self.touched.add(before)
            self._put(message.blocks[at], before)
        elif at and self.made and message.blocks[at - 1].entry == MADE:
            self.made[-1].blocks.append(message.blocks[at])
        else:
            place = position, at
            self.made.append(Made(message.role, [message.blocks[at]], before, self._last, place))
            self.first = min(self.first, before)

    def _following(self, position: int, at: int) -> int:
        """Return the first entry of all that stands behind a block, in whatever order."""
        rest = (block for message in self.messages[position + 1 :] for block in message.blocks)
        behind = itertools.chain(self.messages[position].blocks[at:], rest)
        end = len(self.transcript.entries)
        entries = (block.entry for block in behind if block.entry != MADE)
        return min((self.moves.get(entry, entry) for entry in entries), default=end)

    def _takes_in(self, entry: int) -> bool:
        """True if the view starts inside a line, so that nothing can stand in front of it."""
        form, tags = self.transcript.format, self.transcript.tags
        if form.boundary is None or entry == len(tags) or tags[entry][0] != form.boundary:
            return False
        return form.opens_view(_record(self.transcript, entry))


def _moves(transcript: Transcript, messages: Sequence[Message]) -> dict[int, int]:
    """Map entries of answers to the entry in whose place their blocks go.

    The first line of an answer says where it stands, be others between its lines. When all of it
    goes, thinking say, what is left of the answer goes there, or it would move behind its results.
    """
    links = transcript.format.links
    if not transcript.hides or links is None or links.follows:  # lines stand as they are read
        return {}
    first = {
        block.entry: min(other.entry for other in message.blocks)
        for message in transcript.messages
        if message.role == "assistant"
        for block in message.blocks
    }
    left = sorted({block.entry for message in messages for block in message.blocks})
    moves: dict[int, int] = {}
    for message in messages:
        own = {block.entry for block in message.blocks} - {MADE}
        at = min(own, default=MADE)
        place = first.get(at, at)
        if place < at and bisect.bisect_left(left, at) > bisect.bisect_left(left, place):
            moves[at] = place
    return moves


def _homes(messages: Sequence[Message]) -> dict[int, int]:
    """Map each entry of a view to the message that it is part of."""
    return {
        block.entry: position
        for position, message in enumerate(messages)
        for block in message.blocks
    }


def _entries_of_new(old: Sequence[Message], new: Sequence[Message]) -> set[int]:
    """Return the entries of messages that were not there before: they may have moved together."""
    known = set(map(id, old))
    return {block.entry for message in new if id(message) not in known for block in message.blocks}


def changed_entries(old: Sequence[Message], new: Sequence[Message]) -> set[int]:
    """Return the entries of all messages that are not the same objects in both views."""
    return _entries_of_new(old, new) | _entries_of_new(new, old)


def _compacted_copy(line: bytes) -> bytes:
    """Copy a line into the room that its parsed form took, now that this is free.

    Otherwise the lines lie in between such rooms: in one session a third of the memory.
    """
    return bytes(memoryview(line))


def _edited(
    transcript: Transcript, index: int, blocks: Sequence[Block], old: Sequence[Block]
) -> bytes:
    """Write entry ``index`` anew with ``blocks`` as its parts, which the view had as ``old``."""
    form = transcript.format
    record = _opened(transcript, index)
    parts: list[Any] = []
    for block in blocks:
        if block.entry == MADE:
            parts.append(form.make(block))
        else:
            source = record if block.entry == index else _record(transcript, block.entry)
            parts.append(form.edit(form.parts(source)[block.at], block))
    parts += form.unseen_parts(record, {block.at for block in old})
    return exact.dump(form.replace_parts(record, parts))


def _opened(transcript: Transcript, index: int) -> dict[str, Any]:
    """Parse an entry that is to be edited; where its format names what it edits, nothing else."""
    edited = transcript.format.content_members
    if edited:
        try:
            members = _MEMBERS.decode(transcript.entries[index].raw)
        except DECODE_ERRORS:  # an odd line
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
