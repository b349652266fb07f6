"""One look through a view, so that no rule needs a walk of its own."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.jsonl import exact
from compactctl.view.pairs import Place, pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.model import Block, Kind, Message
    from compactctl.transcript.loading import Transcript
    from compactctl.view.pairs import Pairing


class Found(msgspec.Struct, frozen=True, gc=False):
    """A block and where it stands."""

    message: int
    at: int
    block: Block

    @property
    def place(self) -> Place:
        """Return the place on its own."""
        return Place(self.message, self.at)


class RuleContext:
    """The blocks of a view by kind; with the transcript, also what its lines tell."""

    def __init__(
        self,
        messages: Sequence[Message],
        profile: str,
        *,
        sendable: bool = False,
        transcript: Transcript | None = None,
        calls_are_answered: bool = False,
        unread: Sequence[bytes] = (),
    ) -> None:
        """Walk over the view once.

        ``calls_are_answered``: the harness answers calls without a result when it sends.
        ``unread`` are lines too long to be read.
        """
        self.calls_are_answered = calls_are_answered
        self._unread = transcript.unread() if transcript is not None else unread
        self.messages = messages
        self.profile = profile
        self.sendable = sendable
        self._transcript = transcript
        self._kinds: dict[Kind, list[Found]] = {
            "text": [],
            "thinking": [],
            "call": [],
            "result": [],
            "image": [],
            "document": [],
            "other": [],
        }
        kinds = self._kinds
        for position, message in enumerate(messages):
            for at, block in enumerate(message.blocks):
                kinds[block.kind].append(Found(position, at, block))

    @cached_property
    def pairing(self) -> Pairing:
        """Match results to calls."""
        return pair(self.messages)

    def of(self, kind: Kind) -> list[Found]:
        """Return the blocks of one kind, in order."""
        return self._kinds[kind]

    def may_be_unread(self, call_id: str | None) -> bool:
        """Return True if what belongs to an id may stand in a line that nothing was read of."""
        return bool(self._unread) and any(exact.dump(call_id) in raw for raw in self._unread)

    def role(self, found: Found) -> str:
        """Return the role of the message that holds a block."""
        return self.messages[found.message].role

    @property
    def lines_are_messages(self) -> bool:
        """Return True if the lines are the very messages that a request would hold.

        Only then do lines tell what the view does not: it merges user messages side by side.
        """
        return self._transcript is not None and self._transcript.format.line_is_message

    @property
    def ids_are_fixed(self) -> bool:
        """Return True if the harness sends calls with the ids that a provider wants."""
        return self._transcript is not None and self._transcript.format.rewrites_ids

    def raw(self, block: Block) -> bytes:
        """Return the line that a block was read from; b"" when that cannot be told."""
        if self._transcript is None or block.entry < 0:
            return b""
        return self._transcript.entries[block.entry].raw

    def part(self, block: Block) -> Any:
        """Return the part of a line that a block was read from; None when that cannot be told."""
        if self._transcript is None:
            return None
        try:
            return self._transcript.format.parts(exact.parse(self.raw(block)))[block.at]
        except (exact.NotJsonError, LookupError, TypeError, AttributeError):
            return None
