"""Choose the branch of a forked session: the one that ends at a given entry."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from compactctl.errors import UsageError
from compactctl.graph import EntryGraph
from compactctl.transcript.loading import parse

if TYPE_CHECKING:
    from compactctl.transcript.loading import Transcript


def ending_at(transcript: Transcript, leaf: str) -> Transcript:
    """Return a transcript whose last entry with an id is ``leaf``.

    An agent goes on from the last line of the conversation, so what stands behind the leaf goes,
    but for lines without an id.

    Raises:
        UsageError: the format has no ids, or none of the entries has this one.

    """
    if transcript.format.links is None:
        raise UsageError(f"--leaf: entries of {transcript.format.name} have no ids, so no branches")
    tags = transcript.references()
    place = EntryGraph(tags.ids, tags.parents).places.get(leaf)
    if place is None:
        raise UsageError(f"--leaf: {transcript.name} has no entry with the id {leaf!r}")
    left = [
        entry.raw
        for index, entry in enumerate(transcript.entries)
        if index <= place or tags.ids[index] is None
    ]
    return parse(list(io.BytesIO(b"".join(left))), transcript.name, transcript.format)
