"""Which entries of a pi session are in force, and in what order the model gets them.

They are as in ``buildSessionContext`` of pi's agent; files without ids as after its migration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from compactctl.formats.base import Graph
    from compactctl.formats.pi.parts import Record


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A record, its index, and its place among all records, which is how the old form counts."""

    record: Record
    index: int
    place: int


def context(entries: list[Entry]) -> list[Entry]:
    """Return the entries in force; the last compaction stands in front of what it kept.

    An earlier compaction among those has no effect any more.
    """
    path = _path(entries)
    marks = [at for at, entry in enumerate(path) if entry.record.type == "compaction"]
    if not marks:
        return path
    at = marks[-1]
    mark = path[at].record
    first = next((n for n, entry in enumerate(path[:at]) if _is_first_kept(entry, mark)), at)
    kept = [entry for entry in path[first:at] if entry.record.type != "compaction"]
    return [path[at], *kept, *path[at + 1 :]]


def _path(entries: list[Entry]) -> list[Entry]:
    """Return the last entry behind all its ancestors; every entry if none has an id."""
    by_id = {entry.record.id: entry for entry in entries if isinstance(entry.record.id, str)}
    if not by_id:
        return entries
    path: dict[str, Entry] = {}
    step = next(entry.record.id for entry in reversed(entries) if isinstance(entry.record.id, str))
    while isinstance(step, str) and step in by_id and step not in path:
        path[step] = by_id[step]
        step = by_id[step].record.parent_id
    return list(path.values())[::-1]


def _is_first_kept(entry: Entry, mark: Record) -> bool:
    """Return True if ``mark`` names this entry; the old form counts records, the header is 0."""
    first = mark.first_kept_entry_index
    if isinstance(first, int):
        return entry.place >= first
    return isinstance(entry.record.id, str) and entry.record.id == mark.first_kept_entry_id


def relink(record: dict[str, Any], graph: Graph) -> dict[str, Any]:
    """Make a compaction keep from the first entry left of those that it kept."""
    first = record.get("firstKeptEntryId")
    return record | {"firstKeptEntryId": graph.first(first)} if isinstance(first, str) else record
