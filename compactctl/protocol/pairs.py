"""Calls and their results: which answers which, and which calls are still open.

Ids repeat in real files, so a result answers the newest open call of its id, never "the" call of
a global table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.model import Block, Message


class Place(msgspec.Struct, frozen=True, order=True, gc=False):
    """Where a block stands: index of its message, index in the message."""

    message: int
    block: int


class Interaction(msgspec.Struct, gc=False):
    """A call with its result; ``result`` is None while it is open."""

    call: Place
    result: Place | None = None


class Pairing(msgspec.Struct, frozen=True):
    """All interactions in the order of their calls, and results that answer nothing."""

    interactions: list[Interaction]
    orphans: list[Place]


def pair(messages: Sequence[Message]) -> Pairing:
    """Match results to calls: the newest open call of the same id comes first."""
    interactions: list[Interaction] = []
    orphans: list[Place] = []
    waiting: dict[str | None, Interaction] = {}
    older: dict[str | None, list[Interaction]] = {}  # open calls behind the newest of their id
    for position, message in enumerate(messages):
        for at, block in enumerate(message.blocks):
            kind = block.kind
            if kind == "call":
                new = Interaction(Place(position, at))
                interactions.append(new)
                before = waiting.get(block.call_id)
                if before is not None:
                    older.setdefault(block.call_id, []).append(before)
                waiting[block.call_id] = new
            elif kind == "result":
                call = waiting.pop(block.call_id, None)
                if call is None:
                    orphans.append(Place(position, at))
                    continue
                call.result = Place(position, at)
                if older and older.get(block.call_id):
                    waiting[block.call_id] = older[block.call_id].pop()
    return Pairing(interactions, orphans)


def block_at(messages: Sequence[Message], place: Place) -> Block:
    """Give the block that stands at ``place``."""
    return messages[place.message].blocks[place.block]


def open_loop(messages: Sequence[Message]) -> int:
    """Give the index of the message that opens the loop at the end, else ``len(messages)``.

    The open loop is the last assistant message that holds calls, with what answers it, while no
    assistant message follows (CONTRACT §11).
    """
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if message.role == "assistant":
            calls = any(block.kind == "call" for block in message.blocks)
            return position if calls else len(messages)
    return len(messages)
