"""Turns: the units between which one may cut.

A turn is an assistant message with every result that it asked for, and whatever stands before the
last of these; the user blocks before it open it. So a cut between turns can not part a call from
its result, wherever a provider lets that stand (Responses: anywhere behind the call). The open
loop is one turn, even where it is a run of several assistant messages.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec

from compactctl.view.pairs import is_prompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.model import Block, Message
    from compactctl.view.pairs import Pairing


class Turn(msgspec.Struct, frozen=True):
    """Indices into the view: the assistant message, and the user message that prompts it.

    ``prompt`` is None when no user block opens the turn. Results that stand in the prompt belong
    to the turn before.
    """

    assistant: int
    prompt: int | None

    @property
    def first(self) -> int:
        """Return where the turn begins: at its prompt if it has one."""
        return self.assistant if self.prompt is None else self.prompt


def turns(messages: Sequence[Message], reach: Sequence[int], loop: int) -> list[Turn]:
    """Return the turns in order; a user message at the end that no assistant answers opens none.

    ``reach`` is as :func:`last_results` returns it, ``loop`` is where the open loop begins.
    """
    found: list[Turn] = []
    for position, message in enumerate(messages):
        if message.role != "assistant" or reach[position] >= position or position > loop:
            continue
        before = position - 1
        prompts = before >= 0 and messages[before].role == "user" and is_prompt(messages[before])
        found.append(Turn(position, before if prompts else None))
    return found


def last_results(messages: Sequence[Message], pairing: Pairing) -> list[int]:
    """Return for each message the last that answers a call in front of it, -1 for none."""
    reach = [-1] * (len(messages) + 1)
    for interaction in pairing.interactions:
        if interaction.result is not None:
            behind = interaction.call.message + 1
            reach[behind] = max(reach[behind], interaction.result.message)
    return list(accumulate(reach, max))


def prompt_blocks(message: Message) -> tuple[Block, ...]:
    """Return the blocks of a user message that open the next turn."""
    return tuple(block for block in message.blocks if block.kind != "result")
