"""What happens to thinking when something before it changes.

Anthropic's thinking is signed, and the signature covers everything before it: it leaves byte for
byte or not at all, and is refused when its past has changed. Only the open tool loop at the end
keeps its thinking, since the loop is refused without it. Reasoning of other providers is bound to
its calls instead: it stays with them, whatever stands before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from compactctl.model import Block, Message
from compactctl.view.edits import Key, key
from compactctl.view.pairs import open_loop
from compactctl.view.reasoning import is_sealed

Mode = Literal["auto", "keep", "drop"]


def left_of(blocks: Sequence[Block], stays: Sequence[bool]) -> list[Block]:
    """Return the blocks of a message that stay; thinking goes with the last of what it led to.

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
    messages: Sequence[Message], first: int | None, mode: Mode
) -> dict[Key, Block | None]:
    """Return the edits that take out the thinking which ``mode`` does not let stay.

    ``first`` is the index of the first message that changed, None if none did. What is dropped on
    demand is also a summary that only its provider can read.
    """
    if mode == "keep" or (mode == "auto" and first is None):
        return {}
    if mode == "drop":
        every = (block for message in messages for block in message.blocks)
        return {key(b): None for b in every if b.kind == "thinking" or is_sealed(b)}
    return {
        key(block): None
        for message in messages[first : open_loop(messages)]
        for block in message.blocks
        if block.kind == "thinking" and not block.bound
    }
