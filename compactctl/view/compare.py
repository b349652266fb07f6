"""Compare two views: which messages were replaced, and whether they say the same."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import msgspec

from compactctl.model import MADE, Block

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compactctl.model import Message, Role


def first_change(old: Sequence[Message], new: Sequence[Message]) -> int | None:
    """Return the index of the first message that is another object; None if all are the same."""
    for position, (before, after) in enumerate(zip(old, new, strict=False)):
        if before is not after:
            return position
    return None if len(old) == len(new) else min(len(old), len(new))


def first_difference(old: Sequence[Message], new: Sequence[Message]) -> int | None:
    """Return the index of the first message that says something else, on whatever line it is."""
    for position, (before, after) in enumerate(zip(old, new, strict=False)):
        if before.role != after.role or [*map(_bare, before.blocks)] != [*map(_bare, after.blocks)]:
            return position
    return None if len(old) == len(new) else min(len(old), len(new))


def same_words(blocks: Sequence[Block], others: Sequence[Block]) -> bool:
    """Return True if blocks say the same, on whatever lines they are."""
    return len(blocks) == len(others) and all(
        a == b or _bare(a) == _bare(b) for a, b in zip(blocks, others, strict=True)
    )


def _bare(block: Block) -> Block:
    content = tuple(map(_bare, block.content))
    return msgspec.structs.replace(block, content=content, entry=MADE, at=0)


def same_view(messages: Sequence[Message], others: Sequence[Message]) -> bool:
    """Return True if a model would read the same in both, in the same order.

    Where a message ends does not count: some formats do not say.
    """
    return all(
        a is not None and b is not None and a[0] == b[0] and _reads_as(a[1], b[1])
        for a, b in zip_longest(_blocks(messages), _blocks(others))
    )


def _blocks(messages: Sequence[Message]) -> Iterator[tuple[Role, Block]]:
    return ((message.role, block) for message in messages for block in message.blocks)


def _reads_as(a: Block, b: Block) -> bool:
    return (
        (a.kind, a.call_id, a.image) == (b.kind, b.call_id, b.image)
        and (a.text == b.text or (a.kind == "call" and _is_same_json(a.text, b.text)))
        and len(a.content) == len(b.content)
        and all(map(_reads_as, a.content, b.content))
    )


def _is_same_json(a: str, b: str) -> bool:
    """Compare arguments, which a line may spell in another way."""
    try:
        return bool(msgspec.json.decode(a) == msgspec.json.decode(b))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return False
