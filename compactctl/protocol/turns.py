"""Turns: the units between which one may cut.

A turn is an assistant message with every result that it asked for; the user blocks before it
open it. A cut between closed turns can not part a call from its result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.model import Block, Message


class Turn(msgspec.Struct, frozen=True):
    """Indices into the view: the assistant message, and the user message that prompts it.

    ``prompt`` is None when no user block opens the turn. Results of the turn stand in the user
    message that follows ``assistant``, before any block that opens the next turn.
    """

    assistant: int
    prompt: int | None


def turns(messages: Sequence[Message]) -> list[Turn]:
    """Give the turns in order; a user message at the end that no assistant answers opens none."""
    found: list[Turn] = []
    for position, message in enumerate(messages):
        if message.role != "assistant":
            continue
        before = position - 1
        prompts = before >= 0 and messages[before].role == "user" and is_prompt(messages[before])
        found.append(Turn(position, before if prompts else None))
    return found


def is_prompt(message: Message) -> bool:
    """Say whether a user message holds anything but results."""
    return any(block.kind != "result" for block in message.blocks)


def prompt_blocks(message: Message) -> tuple[Block, ...]:
    """Give the blocks of a user message that open the next turn."""
    return tuple(block for block in message.blocks if block.kind != "result")
