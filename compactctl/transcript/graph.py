"""Who is whose parent among the entries of a file, while some go and others come."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

from compactctl.transcript.tags import Tags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compactctl.transcript.loading import Transcript


class Tree:
    """Ids and parents of all entries, which of them are gone, and which lines are new."""

    def __init__(self, transcript: Transcript, changed: dict[int, bytes | None]) -> None:
        """Sort the ids; ``changed`` maps entries to their new bytes, None for those that go."""
        tags = Tags(transcript)
        self.ids, self.parents = tags.ids, tags.parents
        self.also, self.relinked = tags.also, tags.relinked
        self.dropped = {index for index, new in changed.items() if new is None}
        self.places = self._places()
        self.gone: dict[str | None, str | None] = {}
        for index in sorted(self.dropped):
            own = self.ids[index]
            if own is not None and own not in self.places:  # a second entry of the same id stays
                self.gone[own] = self.parents[index]
        self.heirs: dict[str | None, str] = {}
        self._survivors: dict[str | None, str | None] = {}
        self._before: list[int] = []
        self._made: list[str] = []

    def _places(self) -> dict[str | None, int]:
        """Map each id to the last entry left that has it."""
        many = len(self.ids)
        places: dict[str | None, int] = dict(zip(self.ids, range(many), strict=True))
        places.pop(None, None)
        if len(places) + self.ids.count(None) == many:
            for index in self.dropped:
                places.pop(self.ids[index], None)
            return places
        left = (index for index in range(many) if index not in self.dropped)
        return {own: index for index in left if (own := self.ids[index]) is not None}

    def uncertain(self) -> Iterator[int]:
        """Give the entries left whose parent may be another by now."""
        first = self._before[0] if self._before else len(self.ids)
        for index, parent in enumerate(self.parents):
            if (parent in self.gone or index >= first) and index not in self.dropped:
                yield index

    def insert(self, before: int, identity: str) -> None:
        """Note a new line in front of entry ``before``; no earlier one stands behind it."""
        self._before.append(before)
        self._made.append(identity)

    def surviving(self, parent: str | None) -> str | None:
        """Give the nearest ancestor that stays, from ``parent`` on; None for the root."""
        passed: set[str | None] = set()
        while parent in self.gone and parent not in passed and parent not in self._survivors:
            passed.add(parent)
            parent = self.gone[parent]
        if parent in passed:  # a cycle of parents, all of them gone
            parent = None
        elif parent in self._survivors:
            parent = self._survivors[parent]
        self._survivors.update(dict.fromkeys(passed, parent))  # a long stretch is walked once
        return parent

    def parent_for(self, before: int, after: int) -> str | None:
        """Give the parent of a new line between two entries; ``after`` is -1 for none."""
        if before < len(self.parents):
            parent = self.parent_at(before)
            # A parent that is nowhere may be shared: beside its other children a new line would
            # be a branch that was given up.
            return parent if parent in self.places or parent in self._made else None
        return self._behind(self.surviving(self.ids[after]) if after >= 0 else None)

    def parent_at(self, index: int) -> str | None:
        """Give the parent for entry ``index`` now.

        A new line between an entry and its parent comes between the two; an entry whose parent
        is none of this file takes only a line that was put right in front of it, one without an
        id none at all: it is no part of the tree.
        """
        old = self.parents[index]
        parent = self.surviving(old)
        if self.ids[index] is None:
            return parent
        if parent in self.places or old in self.gone or index in self._before:
            return self._behind(parent, index)
        return parent

    def _behind(self, parent: str | None, index: int | None = None) -> str | None:
        """Give the last new line in front of entry ``index`` if it stands behind ``parent``."""
        many = len(self._before) if index is None else bisect.bisect_right(self._before, index)
        place = self.places.get(parent, -1) if parent is not None else -1
        return self._made[many - 1] if many and self._before[many - 1] > place else parent

    def inherit(self, index: int) -> None:
        """Note who is the first of what follows each entry that went, from ``index`` up."""
        gone, heir = self.parents[index], self.ids[index]
        if gone not in self.gone:
            return
        parent = self.surviving(gone)
        place = self.places.get(parent, -1) if parent is not None else -1
        first = bisect.bisect_right(self._before, place)
        if first < bisect.bisect_right(self._before, index):
            heir = self._made[first]
        while gone in self.gone and heir is not None and gone not in self.heirs:
            self.heirs[gone] = heir
            gone = self.gone[gone]

    def now(self, own: str) -> list[str]:
        """Give what stands at the place of an entry: new lines in front of it, and itself."""
        place = self.places.get(own)
        if place is None:
            return [] if own in self.gone else [own]
        first = bisect.bisect_left(self._before, place)
        return [*self._made[first : bisect.bisect_right(self._before, place)], own]

    def between(self, first: str, last: str) -> list[str]:
        """Give the same for all entries from ``first`` to ``last``."""
        if first not in self.ids or last not in self.ids:
            return []
        own = self.ids[self.ids.index(first) : self.ids.index(last) + 1]
        return [new for one in own if one is not None for new in self.now(one)]

    def first(self, own: str) -> str:
        """Give the first line of what follows from an entry on."""
        if own in self.gone:
            return self.heirs.get(own) or self.surviving(own) or own
        return self.now(own)[0]
