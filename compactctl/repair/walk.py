"""The way back from the last entry, along parents, and what it could go on to where it ends."""

from __future__ import annotations

import bisect
import itertools
from typing import TYPE_CHECKING

from compactctl.transcript.tags import Tags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compactctl.transcript.loading import Transcript


class Walk:
    """All entries that are known to lead to the end of the way are ``below`` it."""

    def __init__(self, transcript: Transcript, end: int) -> None:
        """Stand at the entry where the way ends."""
        tags = Tags(transcript)
        self.ids = tags.ids
        self.end: int | None = end
        self._parents = tags.parents
        self._places = {own: index for index, own in enumerate(tags.ids) if own is not None}
        self._said = _said(transcript, tags)
        self._below = {end}

    def go_on(self) -> str | None:
        """Find what the end can follow and walk on from there; None when there is nothing.

        Then ``end`` is where the way ends now, None where it leads to the start of the session.
        """
        assert self.end is not None
        for index in self._candidates(self.end):
            own = self.ids[index]
            if own is None or self._places[own] != index or index in self._below:
                continue
            walked, last = self._up_from(index)
            self._below.update(walked)
            if last in walked or last is None:
                self._parents[self.end] = own
                self.end = self._top(list(walked), last)
                return own
        return None

    def _candidates(self, end: int) -> Iterator[int]:
        """Give first what stands in front of the end, the nearest first; then from behind."""
        at = bisect.bisect_left(self._said, end)
        before, behind = range(at - 1, -1, -1), range(len(self._said) - 1, at - 1, -1)
        return (self._said[i] for i in itertools.chain(before, behind) if self._said[i] != end)

    def _up_from(self, start: int) -> tuple[dict[int, None], int | None]:
        """Walk up: (what was passed, what stopped it); None at the top of a chain."""
        walked: dict[int, None] = {}
        at: int | None = start
        while at is not None and at not in walked and at not in self._below:
            walked[at] = None
            parent = self._parents[at]
            at = self._places.get(parent) if parent is not None else None
        return walked, at

    def _top(self, walked: list[int], last: int | None) -> int | None:
        """Give the entry whose parent is missing, or the first of a circle; None for neither."""
        if last is not None:
            return min(walked[walked.index(last) :])
        return walked[-1] if self._parents[walked[-1]] is not None else None


def _said(transcript: Transcript, tags: Tags) -> list[int]:
    """Give the entries of the conversation, in order."""
    shown = {block.entry for message in transcript.messages for block in message.blocks}
    links = transcript.format.links
    if links is not None and links.follows:  # the view shows nothing that is lost
        kinds = {tags.types[index] for index in shown}
        return [index for index, kind in enumerate(tags.types) if kind in kinds]
    return sorted(shown)
