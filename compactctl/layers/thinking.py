"""What happens to thinking when something before it changes.

A thinking block is signed, and the signature covers everything before it: it leaves byte for byte
or not at all, and a provider refuses one whose past has changed. Only the open tool loop at the
end keeps its thinking, since there a provider refuses the loop without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from compactctl.model import Block, Message
from compactctl.view.compare import first_change
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


def settle(
    old: Sequence[Message], new: Sequence[Message], mode: Mode, *, signed: bool
) -> Sequence[Message]:
    """Take out of ``new`` the thinking that ``mode`` does not let stay."""
    if mode == "keep" or (mode == "auto" and not signed):
        return new
    start = 0 if mode == "drop" else first_change(old, new)
    if start is None:
        return new
    end = len(new) if mode == "drop" else max(start, open_loop(new))
    kept = list(new[:start])
    for message in new[start:end]:
        blocks = [block for block in message.blocks if block.kind != "thinking"]
        if len(blocks) == len(message.blocks):
            kept.append(message)
        elif blocks:
            kept.append(Message(message.role, tuple(blocks)))
    return [*kept, *new[end:]]
