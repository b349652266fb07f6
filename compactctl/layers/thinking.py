"""What happens to thinking when something before it changes.

A thinking block is signed, and the signature covers everything before it: it leaves byte for byte
or not at all, and a provider refuses one whose past has changed. Only the open tool loop at the
end keeps its thinking, since there a provider refuses the loop without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from compactctl.model import Block, Message
from compactctl.view.edits import Key, key
from compactctl.view.pairs import open_loop

Mode = Literal["auto", "keep", "drop"]


def left_of(blocks: Sequence[Block], stays: Sequence[bool]) -> list[Block]:
    """Give the blocks of a message that stay; thinking goes with the last of what it led to.

    Providers refuse reasoning without the item that follows it.
    """
    left: list[Block] = []
    led_to: list[bool] = []
    is_behind = False
    for block, stay in zip(reversed(blocks), reversed(stays), strict=True):
        is_thought = block.kind == "thinking"
        if not is_thought:
            led_to = [stay] if is_behind else [*led_to, stay]
        is_behind = is_thought
        if stay and not (is_thought and led_to and not any(led_to)):
            left.append(block)
    return left[::-1]


def stale_thinking(
    messages: Sequence[Message], first: int | None, mode: Mode, *, signed: bool
) -> dict[Key, Block | None]:
    """Return the edits that take out the thinking which ``mode`` does not let stay.

    ``first`` is the index of the first message that changed, None if none did.
    """
    if mode == "keep" or (mode == "auto" and (first is None or not signed)):
        return {}
    stop = len(messages) if mode == "drop" else open_loop(messages)
    return {
        key(block): None
        for message in messages[0 if mode == "drop" else first : stop]
        for block in message.blocks
        if block.kind == "thinking"
    }
