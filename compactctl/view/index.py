"""A view and what follows from it: each analysis is made once, when it is first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from compactctl.view import pairs
from compactctl.view import turns as turning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.model import Block, Message
    from compactctl.view.pairs import Pairing, Place
    from compactctl.view.turns import Turn


class Answered(msgspec.Struct, frozen=True, gc=False):
    """A call that has its result, and where both stand."""

    call: Block
    result: Block
    call_at: Place
    result_at: Place


class View:
    """The messages that a model would be sent; they never change."""

    def __init__(self, messages: Sequence[Message]) -> None:
        """Take the messages; nothing is computed yet."""
        self.messages = messages

    @cached_property
    def pairing(self) -> Pairing:
        """Which result answers which call, and what is left over."""
        return pairs.pair(self.messages)

    @cached_property
    def answered(self) -> list[Answered]:
        """The calls that have a result, in the order of the calls."""
        messages = self.messages
        return [
            Answered(
                pairs.block_at(messages, interaction.call),
                pairs.block_at(messages, interaction.result),
                interaction.call,
                interaction.result,
            )
            for interaction in self.pairing.interactions
            if interaction.result is not None
        ]

    @cached_property
    def tools(self) -> dict[Place, str]:
        """The tool that each result is from; call ids may repeat, places do not."""
        return {found.result_at: found.call.tool for found in self.answered}

    @cached_property
    def results(self) -> list[Place]:
        """The places of all results, in order."""
        return pairs.results(self.messages)

    @cached_property
    def enclosed(self) -> list[Place]:
        """The places of documents, and of answers of the provider's own tools, with texts."""
        return pairs.enclosed(self.messages)

    @cached_property
    def open_loop(self) -> int:
        """The index of the message that opens the loop at the end, else the number of messages."""
        return pairs.open_loop(self.messages)

    @cached_property
    def last_results(self) -> list[int]:
        """For each message the last one that answers a call in front of it, -1 for none."""
        return turning.last_results(self.messages, self.pairing)

    @cached_property
    def turns(self) -> list[Turn]:
        """The turns, in order."""
        return turning.turns(self.messages, self.last_results, self.open_loop)
