"""Put entries behind their parents, which is the order that they were written in.

A view is read in the order of the lines, and what a repair makes goes between them; a harness
that walks from parent to parent minds neither. So a valid file stays as it is, whatever its order.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from compactctl.graph import EntryGraph
from compactctl.repair.case import Deed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.repair.case import Pieces
    from compactctl.transcript.loading import Transcript

ORDER = "order"
"""What this is reported as; no rule is against children in front of their parents."""


def fix_order(transcript: Transcript, deeds: list[Deed]) -> Pieces | None:
    """Return the entries with parents in front; None where they stand so already."""
    if transcript.format.links is None:
        return None
    parents = _parents(transcript)
    if not any(parent is not None and parent > at for at, parent in enumerate(parents)):
        return None
    order = _sorted(parents)
    if order == [*range(len(order))]:  # nothing but circles
        return None
    for at, parent in enumerate(parents):
        if parent is not None and parent > at:
            deeds.append(Deed(ORDER, at, "put behind the parent, which stood further down"))
    return [(_whole(transcript.entries[at].raw), at) for at in order]


def _parents(transcript: Transcript) -> list[int | None]:
    """Return the parent of each entry; of entries with one id the first."""
    tags = transcript.references()
    first = EntryGraph(tags.ids, tags.parents).first_places
    return [first.get(parent) for parent in tags.parents]


def _sorted(parents: Sequence[int | None]) -> list[int]:
    """Sort by place, but for what waits for its parent; a circle opens at its first entry."""
    children: dict[int, list[int]] = {}
    for at, parent in enumerate(parents):
        if parent is not None:
            children.setdefault(parent, []).append(at)
    ready = [at for at, parent in enumerate(parents) if parent is None]
    found: dict[int, None] = {}
    for start in range(len(parents)):
        while ready:
            at = heapq.heappop(ready)
            found[at] = None
            for child in children.get(at, ()):
                if child not in found:
                    heapq.heappush(ready, child)
        if start not in found:
            ready.append(start)
    return list(found)


def _whole(raw: bytes) -> bytes:
    """Return an entry as a line of its own."""
    return raw if raw.endswith(b"\n") else raw + b"\n"
