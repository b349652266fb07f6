"""Which lines of a Claude Code session are in force: rewinds, and what a compaction kept.

``compactMetadata.preservedMessages`` (before it ``preservedSegment``) of a boundary names lines
in front of it that stay behind its anchor, the summary or the boundary itself: on resume the agent
sets their parents so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from compactctl.formats import anthropic_parts, base
from compactctl.formats.anthropic_parts import Content
from compactctl.graph import EntryGraph
from compactctl.model import Block


class Body(msgspec.Struct, gc=False):
    """The API message inside a line."""

    id: Any = None
    content: Content = None


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
    microcompact_metadata: Any = None


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
    """Which line follows which, to leave out branches that were given up."""

    def __init__(self) -> None:
        """Start without a line."""
        self._lines: list[tuple[int, str, str | None]] = []
        self._prompts: dict[str, list[str]] = {}

    def add(self, index: int, record: Record) -> None:
        """Take in a line."""
        own, parent = record.uuid, base.identifier(record.parent_uuid)
        if not isinstance(own, str):
            return
        self._lines.append((index, own, parent))
        if record.type == "user" and parent is not None and is_prompt(record):
            self._prompts.setdefault(parent, []).append(own)

    def abandoned(self) -> set[int]:
        """Return the entries below a prompt whose sibling prompt leads to the end of the file.

        Two prompts under one parent are a rewind, or two processes that wrote one file; other
        forks are technical (parallel results, progress) and all their branches are in the context.
        """
        forks = [prompts for prompts in self._prompts.values() if len(prompts) > 1]
        if not forks:
            return set()
        path = self._path()
        lost = {
            prompt
            for prompts in forks
            if any(prompt in path for prompt in prompts)
            for prompt in prompts
            if prompt not in path
        }
        entries: set[int] = set()
        for index, uuid, parent in self._lines:
            if uuid in lost or parent in lost:
                lost.add(uuid)
                entries.add(index)
        return entries

    def _path(self) -> set[str]:
        """Return the ids of the last line and its ancestors."""
        ids = [own for _, own, _ in self._lines]
        path, _ = EntryGraph(ids, [parent for *_, parent in self._lines]).walk(len(ids) - 1)
        return {ids[at] for at in path}


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
