"""Who is whose parent among the entries of a file: walks up, deletions, insertions.

The graph knows ids and nothing of lines or formats, so formats, rules, repair and rewriting all
share it.
"""

from __future__ import annotations

import bisect
from functools import cached_property, partial
from itertools import compress, count, repeat
from operator import eq, lt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterator, Sequence

NOWHERE = -1
"""The index of a parent that is none of the entries."""


class EntryGraph:
    """Entries by index, with their ids and the ids of their parents; None where there is none.

    Of several entries with one id the last counts. ``deleted`` holds the entries that go; what
    comes is noted with :meth:`insert`, in the order of the file. ``gone`` maps each id that no
    entry has any more to the parent that it had.
    """

    def __init__(
        self,
        ids: Sequence[str | None],
        parents: Sequence[str | None],
        deleted: Collection[int] = (),
    ) -> None:
        """Look up every id once."""
        self.ids = ids
        self.parents = parents
        self.deleted = deleted
        self.places = self._places()
        self.gone: dict[str | None, str | None] = {}
        for index in sorted(deleted):
            own = ids[index]
            if own is not None and own not in self.places:  # a second entry of the same id stays
                self.gone[own] = parents[index]
        self._heirs: dict[str | None, str] = {}
        self._survivors: dict[str | None, str | None] = {}
        self._before: list[int] = []
        self._made: list[str] = []
        self._new: set[str | None] = set()
        self._tied: dict[int, list[str]] = {}
        self._order: list[int] = []
        self._straight: set[int] = set()

    def _places(self) -> dict[str | None, int]:
        """Map each id to the last entry left that has it."""
        many = len(self.ids)
        places: dict[str | None, int] = dict(zip(self.ids, range(many), strict=True))
        places.pop(None, None)
        if len(places) + self.ids.count(None) == many:
            for index in self.deleted:
                places.pop(self.ids[index], None)
            return places
        left = (index for index in range(many) if index not in self.deleted)
        return {own: index for index in left if (own := self.ids[index]) is not None}

    @cached_property
    def first_places(self) -> dict[str | None, int]:
        """The first entry of each id, deleted or not."""
        many = len(self.ids)
        places: dict[str | None, int] = dict(
            zip(reversed(self.ids), range(many - 1, -1, -1), strict=True)
        )
        places.pop(None, None)
        return places

    @cached_property
    def is_chain(self) -> bool:
        """True if each entry follows the one in front of it, be they deleted or not."""
        ids = list(filter(None, self.ids))
        parents = list(compress(self.parents, self.ids))
        return parents[1:] == ids[:-1]

    @cached_property
    def is_ordered(self) -> bool:
        """True if no entry stands in front of its parent, be they deleted or not."""
        many = len(self.ids)
        places: dict[str | None, int] = dict(zip(self.ids, range(many), strict=True))
        places.pop(None, None)
        return all(map(lt, map(places.get, self.parents, repeat(NOWHERE)), count()))

    # Walks up

    @cached_property
    def up(self) -> list[int]:
        """The parent of each entry, by index; NOWHERE for none of this file."""
        return list(map(self.places.get, self.parents, repeat(NOWHERE)))

    @cached_property
    def missing(self) -> list[int]:
        """The entries whose parent is not in the file."""
        if self.up.count(NOWHERE) == self.parents.count(None):
            return []
        links = zip(self.up, self.parents, strict=True)
        return [at for at, (up, parent) in enumerate(links) if up == NOWHERE and parent is not None]

    @property
    def circles(self) -> list[int]:
        """The first entry of each circle of parents."""
        links = zip(self.tops, self.up, strict=True)
        return [at for at, (top, up) in enumerate(links) if top == at and up != NOWHERE]

    @property
    def is_one(self) -> bool:
        """True if all entries descend from one, each behind its parent."""
        if self.missing:
            return False
        tops = list(compress(self.ids, map(partial(eq, NOWHERE), self.up)))
        return len(tops) - tops.count(None) <= 1 and all(map(lt, self.up, count()))

    @cached_property
    def tops(self) -> list[int]:
        """Where the walk up from each entry ends; a circle ends at its first entry in the file."""
        tops: list[int] = []
        for at, up in enumerate(self.up):
            if up == NOWHERE:
                tops.append(at)
            else:  # nearly always the parent stands before its child
                tops.append(tops[up] if up < at else NOWHERE)
        for start in [at for at, top in enumerate(tops) if top == NOWHERE]:
            if tops[start] == NOWHERE:
                self._find_top(start, tops)
        return tops

    def _find_top(self, start: int, tops: list[int]) -> None:
        """Walk up to an entry whose top is known, or round a circle."""
        passed: dict[int, None] = {}
        at = start
        while tops[at] == NOWHERE and at not in passed:
            passed[at] = None
            at = self.up[at]  # which is in the file, else its top would be known
        top = tops[at]
        if top == NOWHERE:  # back at an entry of this very walk
            steps = list(passed)
            top = min(steps[steps.index(at) :])
        for step in passed:
            tops[step] = top

    def walk(self, start: int, stop: Container[int] = ()) -> tuple[dict[int, None], int]:
        """Walk up from an entry: (the entries passed, in order, and the one that ended the walk).

        A walk ends at an entry of ``stop``, at one that it has passed already, or NOWHERE.
        """
        passed: dict[int, None] = {}
        at = start
        while at != NOWHERE and at not in passed and at not in stop:
            passed[at] = None
            at = self.up[at]
        return passed, at

    # Deletions and insertions

    def insert(self, before: int, own: str) -> None:
        """Note a new entry in front of entry ``before``; no earlier one stands behind it."""
        self._before.append(before)
        self._made.append(own)
        self._new.add(own)

    def keep_together(self, entries: Sequence[int]) -> None:
        """Let what loses its parent follow the nearest of these entries in front of it.

        They are what has to stay in the context, in order. Where results branch off, the nearest
        ancestor left may be the parent of others as well, and what follows it a fork that a harness
        takes for given up.
        """
        self._order = [at for at in entries if at not in self.deleted and self.ids[at] is not None]

    def straighten(self, entries: Sequence[int]) -> None:
        """Let each of these entries, in order, follow the one in front of it."""
        self.keep_together(entries)
        self._straight = set(self._order[1:])

    def tie(self, child: int, own: str) -> None:
        """Note a new entry between an entry and its parent, wherever both stand.

        For files that are not in order, where the place of the new one tells nothing.
        """
        self._tied.setdefault(child, []).append(own)

    def uncertain(self) -> Iterator[int]:
        """Yield the entries left whose parent may be another by now."""
        first = self._before[0] if self._before else len(self.ids)
        known = self._straight.union(self._tied)
        for index, parent in enumerate(self.parents):
            may = parent in self.gone or index >= first or index in known
            if may and index not in self.deleted:
                yield index

    def surviving(self, parent: str | None) -> str | None:
        """Return the nearest ancestor that stays, from ``parent`` on; None for the root."""
        passed: set[str | None] = set()
        while parent in self.gone and parent not in passed and parent not in self._survivors:
            passed.add(parent)
            parent = self.gone[parent]
        if parent in passed:  # a circle of parents, all of them gone
            parent = None
        elif parent in self._survivors:
            parent = self._survivors[parent]
        self._survivors.update(dict.fromkeys(passed, parent))  # a long stretch is walked once
        return parent

    def parent_for(self, before: int, after: int) -> str | None:
        """Return the parent of a new entry between two others; ``after`` is -1 for none."""
        if before < len(self.parents):
            parent = self.parent_at(before)
            # A parent that is nowhere may be shared: beside its other children a new entry would
            # be a branch that was given up.
            return parent if parent in self.places or parent in self._new else None
        return self._behind(self.surviving(self.ids[after]) if after >= 0 else None)

    def parent_at(self, index: int) -> str | None:
        """Return the parent for entry ``index`` now.

        A new entry between an entry and its parent comes between the two. An entry whose parent
        is not in the file takes only a new one right in front of it, but for lines without an id;
        an entry without an id takes none at all, for it is no part of the graph.
        """
        if index in self._tied:
            return self._tied[index][-1]
        old = self.parents[index]
        parent = self.surviving(old)
        if index in self._straight:
            parent = self._nearest(index, None)
        elif old in self.gone and self._order:
            parent = self._nearest(index, parent)
        if self.ids[index] is None or not self._before:
            return parent
        if parent in self.places or old in self.gone or self._opens(index):
            return self._behind(parent, index)
        return parent

    def _nearest(self, index: int, parent: str | None) -> str | None:
        """Return what stands nearest in front of an entry: its ancestor, or what is kept."""
        at = bisect.bisect_left(self._order, index) - 1
        while at >= 0 and self.ids[self._order[at]] == self.ids[index]:  # an entry written twice
            at -= 1
        if at < 0 or self._order[at] <= self.places.get(parent, NOWHERE):
            return parent
        return self.ids[self._order[at]]

    def _opens(self, index: int) -> bool:
        """Return True if a new entry stands in front of an entry, and none with an id between."""
        start = index
        while start and (self.ids[start - 1] is None or start - 1 in self.deleted):
            start -= 1
        first = bisect.bisect_left(self._before, start)
        return any(at <= index for at in self._before[first : first + 1])

    def _behind(self, parent: str | None, index: int | None = None) -> str | None:
        """Return the last new entry in front of entry ``index`` if it stands behind ``parent``."""
        many = len(self._before) if index is None else bisect.bisect_right(self._before, index)
        place = self.places.get(parent, -1) if parent is not None else -1
        return self._made[many - 1] if many and self._before[many - 1] > place else parent

    # What other references to an entry follow

    def inherit(self, index: int) -> None:
        """Note the first that follows each deleted entry, from ``index`` up."""
        gone, heir = self.parents[index], self.ids[index]
        if gone not in self.gone:
            return
        parent = self.surviving(gone)
        place = self.places.get(parent, -1) if parent is not None else -1
        first = bisect.bisect_right(self._before, place)
        if first < bisect.bisect_right(self._before, index):
            heir = self._made[first]
        while gone in self.gone and heir is not None and gone not in self._heirs:
            self._heirs[gone] = heir
            gone = self.gone[gone]

    def heir(self, own: str) -> str | None:
        """Return what follows a deleted entry, or else its nearest ancestor; None for neither.

        What follows the nearest deleted ancestor comes first: then it makes no difference
        whether both went at once or one after the other.
        """
        step: str | None = own
        passed: set[str | None] = set()
        while step in self.gone and step not in self._heirs and step not in passed:
            passed.add(step)
            step = self.gone[step]
        return self._heirs.get(step) or self.surviving(own)

    def first(self, own: str) -> str:
        """Return the first entry of what follows from an entry on."""
        return self.heir(own) or own if own in self.gone else self.now(own)[0]

    def now(self, own: str) -> list[str]:
        """Return what stands at the place of an entry: new ones in front of it, and itself."""
        place = self.places.get(own)
        if place is None:
            return [] if own in self.gone else [own]
        first = bisect.bisect_left(self._before, place)
        made = self._made[first : bisect.bisect_right(self._before, place)]
        return [*made, *self._tied.get(place, ()), own]

    def between(self, first: str, last: str) -> list[str]:
        """Return the same for all entries from ``first`` to ``last``."""
        start, end = self.first_places.get(first), self.first_places.get(last)
        if start is None or end is None:
            return []
        ids = self.ids[start : end + 1]
        return [new for own in ids if own is not None for new in self.now(own)]
