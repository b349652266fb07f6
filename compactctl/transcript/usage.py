"""Recorded usage: a client takes the newest for the size of its context, so it has to stay true.

A recorded size is on the provider's scale, which also holds the system prompt and the tools, and
covers what stands in front of its line. When that shrinks by our count, the recorded size shrinks
in the same proportion: the tokens saved are taken off it, times the factor between both scales
that the line itself tells. So the factor stays what it was, and a chain of stages comes to the
same figure as its stages one by one, since each goes on from the figure of the one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.jsonl import exact
from compactctl.model import MADE
from compactctl.tokens import count_view

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compactctl.formats.base import Format
    from compactctl.model import Message
    from compactctl.tokens import Counter
    from compactctl.transcript.loading import Transcript


class Recorded(msgspec.Struct, frozen=True):
    """The newest size that a client goes by, and the entry that records it.

    ``covers`` is how many messages of the view stand in front of that entry.
    """

    entry: int
    size: int
    covers: int


class Measured(msgspec.Struct, frozen=True):
    """A view, its tokens, and the newest usage in it."""

    messages: Sequence[Message]
    tokens: int
    recorded: Recorded

    def covered(self, counter: Counter) -> int:
        """Return the tokens that the usage covers; what stands behind it is mostly little."""
        return self.tokens - count_view(counter, self.messages[self.recorded.covers :])


def newest(transcript: Transcript, messages: Sequence[Message]) -> Recorded | None:
    """Return the newest recorded usage of a view; None if there is none."""
    form = transcript.format
    if not form.usage_keys:
        return None
    found = _apart(transcript, messages) if form.usage_is_apart else _in_view(messages)
    sizes = (Recorded(entry, _size(transcript, entry), covers) for entry, covers in found)
    return next((recorded for recorded in sizes if recorded.size), None)


def resized(before: Measured, after: Measured, counter: Counter) -> Recorded:
    """Return the usage of ``after`` as it is true by what was recorded ``before``.

    Where it covers nothing, the count of the view is its bound. It is at least 1, for clients skip
    a zero and take the stale figure in front of it.
    """
    old = before.recorded.size
    was, now = before.covered(counter), after.covered(counter)
    size = (old * now + was // 2) // was if was > 0 and now > 0 else min(old, after.tokens)
    return msgspec.structs.replace(after.recorded, size=max(size, 1))


def written(form: Format, raw: bytes, size: int) -> bytes | None:
    """Return a line with another recorded size; None if it tells this one, or none at all."""
    record = exact.object_or_none(raw)
    if record is None or _told(form, record) in (0, size):
        return None
    return exact.dump(form.with_usage(record, size))


def _in_view(messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Yield the entries of answers, the newest first, and how many messages precede them."""
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].role == "assistant":
            entries = {block.entry for block in messages[position].blocks} - {MADE}
            yield from ((entry, position) for entry in sorted(entries, reverse=True))


def _apart(transcript: Transcript, messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Yield every entry, the newest first, and how many messages precede it."""
    position = len(messages)
    for entry in range(len(transcript.entries) - 1, -1, -1):
        while position and _stands_behind(messages[position - 1], entry):
            position -= 1
        yield entry, position


def _stands_behind(message: Message, entry: int) -> bool:
    """Return True if no block of a message is from a line in front of an entry."""
    return all(block.entry == MADE or block.entry > entry for block in message.blocks)


def _size(transcript: Transcript, entry: int) -> int:
    """Return the size that an entry records, 0 for none."""
    raw = transcript.entries[entry].raw
    if not any(key in raw for key in transcript.format.usage_keys):
        return 0
    record = exact.object_or_none(raw)
    return _told(transcript.format, record) if record is not None else 0


def _told(form: Format, record: dict[str, Any]) -> int:
    found = form.usage(record)
    return found[1] if found else 0
