"""Changes to a view: what stands in the place of a block, and what comes between messages.

A block is known by its entry and its part, whatever message it stands in, so the edits of one
layer compose with those of the next like dictionaries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from compactctl.model import Block, Message, Role, replace_blocks

Key = tuple[int, int]
"""The entry of a block and its part in it; unique in a view but for what no line holds yet."""

Edits = Mapping[Key, Block | None]
"""What stands in the place of a block; None takes it out."""


class Insert(msgspec.Struct, frozen=True):
    """A new block, in front of the message with the index ``before`` (or behind the last)."""

    before: int
    role: Role
    block: Block


def key(block: Block) -> Key:
    """Return what a block is known by."""
    return block.entry, block.at


def apply(
    messages: Sequence[Message],
    edits: Edits,
    insert: Insert | None = None,
    *,
    joins_answers: bool = False,
) -> list[Message]:
    """Return the messages with ``edits``; those that nothing touches stay the same objects.

    A message that loses all its blocks goes. Messages that come to stand side by side are
    grouped as by :func:`group`.
    """
    new: list[Message] = []
    touched = {entry for entry, _ in edits}
    for position, message in enumerate(messages):
        if insert is not None and insert.before == position:
            new.append(Message(insert.role, (insert.block,)))
        for block in message.blocks:
            if block.entry in touched:
                new += _edited(message, edits)
                break
        else:
            new.append(message)
    if insert is not None and insert.before >= len(messages):
        new.append(Message(insert.role, (insert.block,)))
    return group(new, joins_answers=joins_answers)


def _edited(message: Message, edits: Edits) -> list[Message]:
    """Return what is left of a message: none if it lost all its blocks."""
    left = [edits.get((block.entry, block.at), block) for block in message.blocks]
    kept = [block for block in left if block is not None]
    return [replace_blocks(message, kept)] if kept else []


def group(messages: Sequence[Message], *, joins_answers: bool = False) -> list[Message]:
    """Join user messages that stand side by side; all others stay the same objects.

    With ``joins_answers`` so do assistant messages: in some formats nothing else parts them.
    """
    grouped: list[Message] = []
    role = ""
    for message in messages:
        joins = message.role == "user" or (joins_answers and message.role == "assistant")
        if joins and message.role == role:
            grouped[-1] = Message(message.role, (*grouped[-1].blocks, *message.blocks))
        else:
            grouped.append(message)
            role = message.role
    return grouped
