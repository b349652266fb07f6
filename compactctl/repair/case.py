"""What a step of a repair works on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compactctl.layers.base import Action
from compactctl.model import Block, Message, replace_blocks
from compactctl.view.pairs import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compactctl.rules.check import Problem
    from compactctl.transcript.loading import Transcript


class Case(msgspec.Struct, frozen=True):
    """A transcript, what is wrong with its view, and the list that takes what is done."""

    transcript: Transcript
    problems: list[Problem]
    actions: list[Action]

    @property
    def messages(self) -> Sequence[Message]:
        """Give the view."""
        return self.transcript.messages

    @property
    def profile(self) -> str:
        """Name whose rules are to hold."""
        return self.transcript.format.profile

    def places(self, *rules: str) -> set[Place]:
        """Give where one of these rules is broken."""
        return {problem.place for problem in self.problems if problem.rule in rules}

    def done(self, rule: str, block: Block) -> None:
        """Note that a block was mended."""
        self.actions.append(Action(rule, block.entry, block.call_id))

    def replace(self, change: Callable[[Place, Block], Block | None]) -> list[Message]:
        """Let ``change`` replace each block or drop it with None; an emptied message goes."""
        kept: list[Message] = []
        for position, message in enumerate(self.messages):
            every = (change(Place(position, at), b) for at, b in enumerate(message.blocks))
            blocks = [block for block in every if block is not None]
            if blocks or not message.blocks:
                kept.append(replace_blocks(message, blocks))
        return kept
