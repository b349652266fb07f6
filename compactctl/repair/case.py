"""What a step of a repair works on, and what it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from compactctl.model import Block, Message, replace_blocks
from compactctl.view.pairs import Place

if TYPE_CHECKING:
    from compactctl.rules.check import Problem
    from compactctl.transcript.loading import Transcript

Pieces = list[tuple[bytes, int]]
"""New bytes, and the index of the entry that they were or ``MADE``."""


class Deed(msgspec.Struct, frozen=True):
    """One thing that a repair did: by which rule, to which entry, and what."""

    rule: str
    entry: int
    did: str
    call_id: str | None = None
    tool: str = ""


class Case(msgspec.Struct, frozen=True):
    """A transcript, what a step is to fix in its view, and the list that takes what is done."""

    transcript: Transcript
    problems: list[Problem]
    deeds: list[Deed]

    @property
    def messages(self) -> Sequence[Message]:
        """The view."""
        return self.transcript.messages

    @property
    def profile(self) -> str:
        """The profile whose rules are to hold."""
        return self.transcript.format.profile

    def broken(self, *rules: str) -> dict[Place, str]:
        """Return the places to fix, each with its rule; only those of ``rules`` if any is given."""
        return {p.place: p.rule for p in self.problems if not rules or p.rule in rules}

    def done(self, rule: str, block: Block, did: str) -> None:
        """Note what was done to a block."""
        self.deeds.append(Deed(rule, block.entry, did, block.call_id, block.tool))

    def replace(self, change: Callable[[Place, Block], Block | None]) -> list[Message]:
        """Let ``change`` replace each block or drop it with None; an emptied message goes."""
        kept: list[Message] = []
        for position, message in enumerate(self.messages):
            every = (change(Place(position, at), b) for at, b in enumerate(message.blocks))
            blocks = [block for block in every if block is not None]
            if blocks or not message.blocks:
                kept.append(replace_blocks(message, blocks))
        return kept


class Step(NamedTuple):
    """A fix, and the rules whose breaches it takes away; its case holds those and no others."""

    rules: tuple[str, ...]
    fix: Callable[[Case], Sequence[Message]]
