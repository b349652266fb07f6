"""Calls and their results: which answers which, and which calls are still open.

Ids repeat in real files, so a result answers the newest open call of its id, never "the" call of
a global table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compactctl.model import text_pieces

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
    """Return the block that stands at ``place``."""
    return messages[place.message].blocks[place.block]


def results(messages: Sequence[Message]) -> list[Place]:
    """Return the places of all results, in order."""
    return [
        Place(position, at)
        for position, message in enumerate(messages)
        for at, block in enumerate(message.blocks)
        if block.kind == "result"
    ]


def enclosed(messages: Sequence[Message]) -> list[Place]:
    """Return the places of other blocks with texts that may be cut, in order."""
    return [
        Place(position, at)
        for position, message in enumerate(messages)
        for at, block in enumerate(message.blocks)
        if block.content and block.kind != "result" and any(text_pieces(block))
    ]


def is_prompt(message: Message) -> bool:
    """Return True if a message holds more than results and what the harness adds to them."""
    return any(
        block.kind != "result" and not (block.meta and block.kind == "document")
        for block in message.blocks
    )


def last_run(messages: Sequence[Message], *, joined: bool = True) -> range:
    """Return the last run of assistant messages, which a provider reads as one message.

    System messages do not part it; without ``joined`` each assistant message is a run of its own.
    """
    end = len(messages)
    while end and messages[end - 1].role != "assistant":
        end -= 1
    start = end
    for position in range(end - 1, -1, -1):
        if messages[position].role == "assistant":
            start = position
        if messages[position].role == "user" or not joined:
            break
    return range(start, end)


def open_tail(messages: Sequence[Message], *, joined: bool = True) -> int:
    """Return where the last run begins if nothing but results follows it, else ``len(messages)``.

    Calls from there on that have no result are the open tail: the session stopped there.
    """
    run = last_run(messages, joined=joined)
    parts = {"user"} if joined else {"user", "system"}
    for message in messages[run.stop :]:
        if message.role in parts and is_prompt(message):
            return len(messages)
    return run.start


def open_loop(messages: Sequence[Message]) -> int:
    """Return the index of the message that opens the loop at the end, else ``len(messages)``.

    The open loop is the last run of assistant messages, from the first that holds calls, with
    what answers it. So the open tail is part of it, whoever's rules apply.
    """
    for position in last_run(messages):
        if any(block.kind == "call" for block in messages[position].blocks):
            return position
    return len(messages)
