"""Put the pieces of a transcript together into API messages, as a provider would see them.

User pieces that follow one another are one message, since that is how providers read them.
Assistant pieces are one message when they carry the same key (Claude Code: ``message.id``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compactctl.model import Block, Message, Role


class _Draft:
    """A message in the making; ``answers`` are results that come back out of order."""

    __slots__ = ("answers", "blocks", "role")

    def __init__(self, role: Role, blocks: list[Block]) -> None:
        self.role: Role = role
        self.blocks = blocks
        self.answers: list[Block] = []


class Assembler:
    """Collects blocks in file order; :meth:`messages` gives the view."""

    def __init__(self, whole: Callable[[int], list[Any]], *, answers_join: bool = False) -> None:
        """Start with an empty view; ``answers_join`` as ``view.edits.group`` joins them.

        ``whole`` returns the parts of an entry with all their members, also those that the records
        of its format skip: for the few parts that are of no common kind.
        """
        self.whole = whole
        self._answers_join = answers_join
        self._drafts: list[_Draft] = []
        self._by_key: dict[str, _Draft] = {}
        self._open: dict[str, list[_Draft]] = {}
        self.resets = 0
        self.hides = False
        """Whether something that was said is not in the view, and may come into it by a change."""
        self.overreach: dict[int, int] = {}
        """Entries that take back more turns than there are: how many there are."""

    def reset(self) -> None:
        """Start the view anew behind a compaction mark; only system messages stay in force."""
        self._drafts = [draft for draft in self._drafts if draft.role == "system"]
        self._by_key.clear()
        self._open.clear()
        self.resets += 1
        self.hides = True

    def system(self, blocks: list[Block]) -> None:
        """Add a system message."""
        self._drafts.append(_Draft("system", blocks))

    def user(self, blocks: list[Block]) -> None:
        """Add user blocks where they stand."""
        if not blocks:
            return
        if self._drafts and self._drafts[-1].role == "user":
            self._drafts[-1].blocks.extend(blocks)
        else:
            self._drafts.append(_Draft("user", blocks))

    def assistant(self, blocks: Sequence[Block], key: str | None = None) -> None:
        """Add assistant blocks: to the message of the same ``key``, else as a new message."""
        draft = self._by_key.get(key) if key is not None else None
        if draft is None:
            draft = _Draft("assistant", list(blocks))
            self._drafts.append(draft)
            if key is not None:
                self._by_key[key] = draft
        else:
            # Where the message stands hangs on its first line: if that goes, it may move.
            self.hides = self.hides or draft is not self._drafts[-1]
            draft.blocks.extend(blocks)
        for block in blocks:
            if block.kind == "call" and block.call_id:
                self._open.setdefault(block.call_id, []).append(draft)

    def part(self) -> None:
        """Part what comes from what is there: no assistant blocks go into a message before this."""
        self._by_key.clear()

    def answer(self, result: Block) -> None:
        """Put a result right behind the message of its call, wherever it stands in the file.

        Only for harnesses that rebuild the list so (Claude Code); elsewhere the place of a
        result is for the protocol's rules to judge. A result without an open call stays put.
        """
        waiting = self._open.get(result.call_id or "")
        if waiting:
            waiting.pop().answers.append(result)
        else:
            self.user([result])

    def rewrite(self, change: Callable[[Block], Block | None]) -> None:
        """Let ``change`` replace each block of the view, or drop it with None."""
        self.hides = True
        for draft in self._drafts:
            draft.blocks = [new for old in draft.blocks if (new := change(old))]
            draft.answers = [new for old in draft.answers if (new := change(old))]

    def take_back(self, first: tuple[int, int]) -> None:
        """Take back the blocks from an entry and a part of it on, where all stand in that order."""
        self.hides = True
        while self._drafts:
            blocks = self._drafts[-1].blocks
            while blocks and (blocks[-1].entry, blocks[-1].at) >= first:
                blocks.pop()
            if blocks:
                return
            self._drafts.pop()

    def drop_bare_thinking(self) -> None:
        """Empty assistant messages that hold nothing but thinking."""
        for draft in self._drafts:
            if draft.role == "assistant" and all(b.kind == "thinking" for b in draft.blocks):
                draft.blocks = []

    def messages(self) -> list[Message]:
        """Return the view; an empty draft makes no message."""
        view: list[Message] = []
        for draft in self._drafts:
            if view and view[-1].role == draft.role and self._joins(draft):
                view[-1] = Message(draft.role, (*view[-1].blocks, *draft.blocks))
            elif draft.blocks:
                view.append(Message(draft.role, tuple(draft.blocks)))
            if draft.answers:
                view.append(Message("user", tuple(draft.answers)))
        return view

    def _joins(self, draft: _Draft) -> bool:
        """Return True if a draft goes into a message of its role in front of it."""
        return draft.role == "user" or (draft.role == "assistant" and self._answers_join)
