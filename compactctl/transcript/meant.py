"""Whether two views say the same: what was meant to be written, and what is read back."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import msgspec

from compactctl.jsonl import DECODE_ERRORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compactctl.model import Block, Message, Role


def says(messages: Sequence[Message], meant: Sequence[Message]) -> bool:
    """Say whether ``messages`` hold what was ``meant``, in its order.

    Where a message ends, some formats do not say.
    """
    return all(
        a is not None and b is not None and a[0] == b[0] and _is_same(a[1], b[1])
        for a, b in zip_longest(_blocks(messages), _blocks(meant))
    )


def _blocks(messages: Sequence[Message]) -> Iterator[tuple[Role, Block]]:
    return ((message.role, block) for message in messages for block in message.blocks)


def _is_same(a: Block, b: Block) -> bool:
    """Compare what a model would read of two blocks."""
    return (
        (a.kind, a.call_id, a.image) == (b.kind, b.call_id, b.image)
        and (a.text == b.text or (a.kind == "call" and _is_same_json(a.text, b.text)))
        and len(a.content) == len(b.content)
        and all(map(_is_same, a.content, b.content))
    )


def _is_same_json(a: str, b: str) -> bool:
    """Compare arguments, which a line may spell in another way."""
    try:
        return bool(msgspec.json.decode(a) == msgspec.json.decode(b))
    except DECODE_ERRORS:
        return False
