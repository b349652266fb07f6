"""Which lines of a Claude Code session are in force: rewinds, and what a compaction kept.

``compactMetadata.preservedMessages`` (before it ``preservedSegment``) of a boundary names lines
in front of it that stay behind its anchor, the summary or the boundary itself: on resume the agent
sets their parents so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from compactctl.formats import anthropic_parts, base
from compactctl.formats.anthropic_parts import Content
from compactctl.graph import NOWHERE, EntryGraph
from compactctl.model import Block


class Body(msgspec.Struct, gc=False):
    """The API message inside a line."""

    id: Any = None
    content: Content = None


SPEAKERS = ("user", "assistant")


class Record(base.Record, rename="camel"):
    """One line."""

    subtype: Any = None
    uuid: Any = None
    parent_uuid: Any = None
    logical_parent_uuid: Any = None
    leaf_uuid: Any = None
    is_sidechain: Any = None
    is_meta: Any = None
    is_compact_summary: Any = None
    is_visible_in_transcript_only: Any = None
    is_api_error_message: Any = None
    cwd: Any = None
    message: Body | None = None
    compact_metadata: Any = None
    attachment: msgspec.Raw = msgspec.Raw()
    rendered: msgspec.Raw = msgspec.Raw()


_PRESERVED = frozenset({"preservedMessages", "preservedSegment"})


class Said(msgspec.Struct, frozen=True):
    """What a line of the conversation says; ``key`` tells which API message it is part of."""

    uuid: Any
    is_answer: bool
    blocks: Sequence[Block] = ()
    key: str | None = None


def is_prompt(record: Record) -> bool:
    """Return True if a line opens a turn: two of them under one parent are a rewind."""
    if record.type != "user" or record.is_compact_summary is True or record.message is None:
        return False
    return not anthropic_parts.holds_result(record.message.content)


class Tree:
    """Which line follows which, to leave out branches that were given up.

    A head is a line that opens a turn: a prompt, or the first line of an answer.
    """

    def __init__(self) -> None:
        """Start without a line."""
        self._entries: list[int] = []
        self._ids: list[str] = []
        self._parents: list[str | None] = []
        self._answers: set[str] = set()
        self._heads: dict[str, str | None] = {}
        self._prompts: set[str] = set()
        self._roots: list[str] = []
        self._last = NOWHERE
        self.is_straight = True
        """Whether all heads are on the way back from the end; known behind :meth:`abandoned`."""

    def begin(self) -> None:
        """Start anew at a boundary: what stands before it is out of the context anyway."""
        self._roots.clear()

    def add(self, index: int, record: Record) -> None:
        """Take in a line."""
        own = record.uuid
        if not isinstance(own, str):
            return
        parent = record.parent_uuid if isinstance(record.parent_uuid, str) else None
        if record.type in SPEAKERS:
            self._last = len(self._ids)
            if self._opens_turn(own, record):
                self._heads[own] = parent
                if parent is None:
                    self._roots.append(own)
        self._entries.append(index)
        self._ids.append(own)
        self._parents.append(parent)

    def _opens_turn(self, own: str, record: Record) -> bool:
        if record.type == "user":
            if is_prompt(record):
                self._prompts.add(own)
                return True
            return False
        key = record.message.id if record.message is not None else None
        if not isinstance(key, str):
            return record.message is not None
        if key in self._answers:
            return False
        self._answers.add(key)
        return True

    def abandoned(self, said: Sequence[Said]) -> set[int]:
        """Return the entries that resume does not come to, for others took their place.

        It walks back from the last line that was said. A head beside its way was rewound, tried
        again, or written by another process. Forks without a head are technical (parallel results,
        progress) and all their branches are in the context. So is what hangs on no chain at all,
        unless a resume copied the history into the file: then its calls are there twice.
        """
        copied = len(self._roots) > 1
        has_forks = len(set(self._parents)) < len(self._parents)
        if self._last == NOWHERE or not (has_forks or copied):
            return set()
        path = self._path()
        beside = self._heads.keys() - path.keys()
        self.is_straight = not beside
        if self.is_straight:
            return set()
        graph = EntryGraph(self._ids, self._parents)
        entries = self._below(self._lost(graph, path, beside))
        return entries | self._copies(graph, said) if copied else entries

    def _path(self) -> dict[str, None]:
        """Return the last line that was said and its ancestors; of two with one id the last."""
        parents = dict(zip(self._ids, self._parents, strict=True))
        path: dict[str, None] = {}
        own: str | None = self._ids[self._last]
        while own in parents and own not in path:
            path[own] = None
            own = parents[own]
        return path

    def _lost(self, graph: EntryGraph, path: Iterable[str], beside: set[str]) -> set[str]:
        """Return the heads beside the way that hang on it, and did not merely slip off it.

        An answer does so where errors of the API went on from its prompt, and another prompt, not
        another answer, follows them: nothing took its place.
        """
        follows: dict[str | None, str] = {}
        head = ""
        for own in path:
            follows[own] = head
            head = own if own in self._heads else head
        end = graph.tops[self._last]
        lost: set[str] = set()
        for own in beside:
            parent = self._heads[own]
            after = follows.get(parent, "")
            slipped = own not in self._prompts and after in self._prompts
            if graph.tops[graph.places[own]] == end and not (
                slipped and self._heads[after] != parent
            ):
                lost.add(own)
        return lost

    def _below(self, lost: set[str]) -> set[int]:
        entries: set[int] = set()
        lines = zip(self._entries, self._ids, self._parents, strict=True) if lost else ()
        for index, uuid, parent in lines:
            if uuid in lost or parent in lost:
                lost.add(uuid)
                entries.add(index)
        return entries

    def _copies(self, graph: EntryGraph, said: Sequence[Said]) -> set[int]:
        """Return the entries under other roots than the last line's whose calls it has as well."""
        tops = dict(zip(self._entries, graph.tops, strict=True))
        roots = {graph.places[root] for root in self._roots}
        calls: dict[int, set[str | None]] = {}
        for line in said:
            for block in line.blocks:
                if block.kind == "call" and tops.get(block.entry) in roots:
                    calls.setdefault(tops[block.entry], set()).add(block.call_id)
        last = graph.tops[self._last]
        mine = calls.pop(last, set())
        copies = {top for top, theirs in calls.items() if not mine.isdisjoint(theirs)}
        return {index for index, top in tops.items() if top in copies}


class Preserved:
    """The lines that a boundary keeps from before it, until their place comes."""

    def __init__(self) -> None:
        """Start without a line; ``said`` takes those of the conversation."""
        self.said: list[Said] = []
        self.waiting: dict[str, list[Said]] = {}
        self._by_uuid: dict[str, Said] = {}
        self._noted = 0

    def begin(self, boundary: Record) -> None:
        """Take what ``boundary`` keeps, to be returned when its anchor comes."""
        self.waiting.clear()
        metadata = boundary.compact_metadata
        if not isinstance(metadata, dict) or _PRESERVED.isdisjoint(metadata):
            return
        new = self.said[self._noted :]
        self._noted += len(new)
        self._by_uuid.update((said.uuid, said) for said in new if isinstance(said.uuid, str))
        anchor, uuids = _kept(metadata, list(self._by_uuid))
        if anchor is not None:
            kept = dict.fromkeys(uuid for uuid in uuids if uuid in self._by_uuid)
            self.waiting[anchor] = [self._by_uuid[uuid] for uuid in kept]

    def behind(self, record: Record) -> list[Said]:
        """Return the lines kept behind an anchor."""
        return self.waiting.pop(record.uuid, []) if isinstance(record.uuid, str) else []


def _kept(metadata: Any, said: list[str]) -> tuple[str | None, list[str]]:
    """Return the anchor and the lines kept; a segment is all that was said from head to tail.

    That includes lines of parallel calls, which no walk along the parents reaches.
    """
    listed = _member(metadata, "preservedMessages")
    uuids = listed.get("uuids")
    if isinstance(uuids, list):
        return _uuid(listed, "anchorUuid"), _strings(uuids)
    segment = _member(metadata, "preservedSegment")
    head, tail = _uuid(segment, "headUuid"), _uuid(segment, "tailUuid")
    if head not in said or tail not in said:
        return None, []
    return _uuid(segment, "anchorUuid"), said[said.index(head) : said.index(tail) + 1]


def _member(value: Any, key: str) -> dict[str, Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _uuid(value: dict[str, Any], key: str) -> str | None:
    found = value.get(key)
    return found if isinstance(found, str) else None


def relink(record: dict[str, Any], graph: EntryGraph) -> dict[str, Any]:
    """Make a boundary keep what is left of its lines, and what was added there."""
    metadata = record.get("compactMetadata")
    listed, segment = _member(metadata, "preservedMessages"), _member(metadata, "preservedSegment")
    if not isinstance(metadata, dict) or not (listed or segment):
        return record
    if listed:
        uuids = [new for uuid in _strings(listed.get("uuids")) for new in graph.now(uuid)]
    else:
        uuids = graph.between(_uuid(segment, "headUuid") or "", _uuid(segment, "tailUuid") or "")
    rest = {key: value for key, value in metadata.items() if not key.startswith("preserved")}
    if not uuids:
        return record | {"compactMetadata": rest}
    anchor = {"anchorUuid": graph.surviving(_uuid(listed or segment, "anchorUuid"))}
    new = {"preservedSegment": segment | {"headUuid": uuids[0], "tailUuid": uuids[-1]} | anchor}
    if listed:
        new["preservedMessages"] = listed | {"uuids": uuids, "allUuids": uuids} | anchor
    return record | {"compactMetadata": rest | new}
