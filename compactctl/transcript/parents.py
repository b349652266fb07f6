"""The chains of parents: where they break, and what resume would lose there.

A harness resumes from the last entry of the conversation and walks from parent to parent. What
the walk does not reach is lost, but for what other ties bring in: further lines of one API
message, and results of calls that were reached (formats.md §1.3). What hangs on the walk itself
is a fork, not a loss.
"""

from __future__ import annotations

from functools import cached_property, partial
from itertools import compress, count, repeat
from operator import eq, lt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compactctl.model import Message

NOWHERE = -1


class Chains:
    """What is whose parent; ``is_one`` says that nothing is odd about it.

    A circle is broken at its first entry in the file.
    """

    def __init__(self, ids: Sequence[str | None], parents: Sequence[str | None]) -> None:
        """Look up every parent; of entries with one id the last counts."""
        self.places = dict(zip(ids, range(len(ids)), strict=True))
        self.places.pop(None, None)
        self._ids = ids
        self._up = list(map(self.places.get, parents, repeat(NOWHERE)))
        self._broken: dict[int, str] = {}
        if self._up.count(NOWHERE) != parents.count(None):
            self._broken = {
                at: "FILE-12"
                for at, (up, parent) in enumerate(zip(self._up, parents, strict=True))
                if up == NOWHERE and parent is not None
            }
        self._tied: set[int] = set()
        self.is_one = not self._broken and self._grows_from_one()

    def _grows_from_one(self) -> bool:
        """Say whether all hangs together from one entry on, each parent in front of its child."""
        tops = list(compress(self._ids, map(partial(eq, NOWHERE), self._up)))
        return len(tops) - tops.count(None) <= 1 and all(map(lt, self._up, count()))

    @property
    def broken(self) -> dict[int, str]:
        """Give the entries whose parents break a rule, with the rule."""
        return self._broken if self._tops else {}

    @cached_property
    def _tops(self) -> list[int]:
        """Follow every chain to its top once."""
        tops: list[int] = []
        for at, up in enumerate(self._up):
            if up == NOWHERE:
                tops.append(at)
            else:  # nearly always the parent stands before its child
                tops.append(tops[up] if up < at else NOWHERE)
        self._find_other_tops(tops)
        return tops

    def _find_other_tops(self, tops: list[int]) -> None:
        """Walk up from the rest; all entries of a circle have the first of them for their top."""
        for start in [at for at, top in enumerate(tops) if top == NOWHERE]:
            walked: dict[int, None] = {}
            at = start
            while tops[at] == NOWHERE and at not in walked:
                walked[at] = None
                at = self._up[at]  # which is somewhere, else its top would be known
            top = tops[at]
            if top == NOWHERE:  # back at an entry of this very walk
                steps = list(walked)
                top = min(steps[steps.index(at) :])
                self._broken[top] = "FILE-13"
            for step in walked:
                tops[step] = top

    def end(self, shown: set[int]) -> int:
        """Give where the walk from the last entry of the view ends; NOWHERE without ids."""
        last = max(shown, default=NOWHERE)
        return self._tops[last] if last >= 0 and self._ids[last] is not None else NOWHERE

    def tie(self, entries: Iterable[int]) -> None:
        """Take the chains of these entries for one: a harness ties them together itself."""
        self._tied.update(self._tops[at] for at in entries)

    def joined(self, shown: set[int], end: int) -> bool:
        """Say whether every entry of the view hangs on the walk that ends at ``end``."""
        return {self._tops[at] for at in shown} <= {end}

    def lost(self, messages: Sequence[Message], end: int) -> int:
        """Count the messages of the view that a walk which ends at ``end`` does not reach."""
        called: set[str | None] = set()
        lost = 0
        for message in messages:
            cut_off = [block for block in message.blocks if self._is_cut_off(block.entry, end)]
            if message.role == "assistant" and len(cut_off) < len(message.blocks):
                called.update(block.call_id for block in message.blocks if block.kind == "call")
            elif cut_off:
                lost += any(b.kind != "result" or b.call_id not in called for b in cut_off)
        return lost

    def lost_entries(
        self, messages: Sequence[Message], end: int, types: Sequence[str | None]
    ) -> int:
        """Count the same where the view is the walk itself, so that it shows nothing lost.

        What was lost then are entries of the types that the view was read from.
        """
        said = {types[block.entry] for message in messages for block in message.blocks}
        return sum(self._is_cut_off(at, end) for at, kind in enumerate(types) if kind in said)

    def _is_cut_off(self, entry: int, end: int) -> bool:
        """Say whether no chain joins an entry to the walk."""
        top = self._tops[entry]
        if top == end or self._ids[entry] is None:
            return False
        return not (top in self._tied and end in self._tied)
