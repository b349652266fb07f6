"""Mend the chain of parents where it breaks, so that resume reaches every message again."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from compactctl import jsonio, structure
from compactctl.layer import Action
from compactctl.lines import Entry
from compactctl.model import Block
from compactctl.placeholders import GAP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compactctl.transcript import Transcript

_BREAKS = frozenset({"FILE-12", "FILE-13"})


def mend_chain(transcript: Transcript, actions: list[Action]) -> list[bytes] | None:
    """Link entries across gaps in the chain, with markers that can be seen.

    None where resume loses nothing. Entries of one id are told apart first: no chain is whole
    that leads to two of them.
    """
    if transcript.format.LINK is None or _broken(transcript) is None:
        return None
    chunks = _with_own_ids(transcript, actions)
    return chunks if actions else _bridged(transcript, actions)


def _broken(transcript: Transcript) -> int | None:
    """Give the entry at which the way back from the last message ends."""
    lines = {f.line for f in structure.find(transcript) if f.rule in _BREAKS and f.raised}
    tags = structure.Tags(transcript)
    for index, entry in enumerate(transcript.entries):
        if entry.line in lines and tags.parents[index] is not None:
            return index
    return None


def _with_own_ids(transcript: Transcript, actions: list[Action]) -> list[bytes]:
    """Give entries of an id that is taken one of their own; what follows follows the nearest.

    A copy of an entry goes, for the entry itself stays.
    """
    own_key, parent_key = transcript.format.LINK
    now: dict[str, str] = {}
    seen: set[bytes] = set()
    chunks: list[bytes] = []
    for index, (entry, own) in enumerate(zip(transcript.entries, _ids(transcript), strict=True)):
        raw = entry.raw
        record = jsonio.object_or_none(raw) or {}
        if raw.strip() in seen and own is not None:
            raw = b""
        elif now.get(record.get(parent_key, ""), record.get(parent_key)) != record.get(parent_key):
            record |= {parent_key: now[record[parent_key]]}
            raw = jsonio.dump(record) + _end(entry.raw)
        seen.add(entry.raw.strip())
        if own is not None and raw:
            new = _free(transcript, own, index) if own in now else own
            now[own] = new
            if new != own:
                raw = jsonio.dump(record | {own_key: new}) + _end(entry.raw)
        if raw != entry.raw:
            actions.append(Action("FILE-11", index))
        chunks.append(raw)
    return chunks


def _ids(transcript: Transcript) -> list[str | None]:
    return structure.Tags(transcript).ids


def _free(transcript: Transcript, own: str, index: int) -> str:
    new: str = transcript.format.identity(_digest([own, index]))
    return new


def _digest(value: Any) -> str:
    return hashlib.sha256(jsonio.dump(value)).hexdigest()


def _end(raw: bytes) -> bytes:
    return raw[len(raw.rstrip(b"\r\n")) :]


def _bridged(transcript: Transcript, actions: list[Action]) -> list[bytes] | None:
    """Mend one break after the other; each opens the way to the next."""
    own_key, parent_key = transcript.format.LINK
    markers: dict[int, dict[str, Any]] = {}
    now = transcript
    while (index := _broken(now)) is not None and index not in markers:
        record = jsonio.object_or_none(now.entries[index].raw) or {}
        parent = next(_candidates(now, index), None)
        if parent is None:
            break
        markers[index] = _marker(transcript, record, parent)
        actions.append(Action("FILE-12", index))
        linked = jsonio.dump(record | {parent_key: parent}) + _end(now.entries[index].raw)
        entries = [*now.entries]
        entries[index] = Entry(linked, entries[index].line)
        now = msgspec.structs.replace(now, entries=entries)
    chunks: list[bytes] = []
    for index, entry in enumerate(now.entries):
        raw = entry.raw
        if index in markers:
            record = jsonio.object_or_none(raw) or {}
            raw = jsonio.dump(record | {parent_key: markers[index][own_key]}) + _end(raw)
            chunks.append(jsonio.dump(markers[index]) + (_end(raw) or b"\n"))
        chunks.append(raw)
    return chunks if markers else None


def _candidates(transcript: Transcript, broken: int) -> Iterator[str]:
    """Give the ids that an entry could follow: of the conversation, and not below itself.

    First those in front of it, the nearest first; where nothing is, the last of the file.
    """
    tags = structure.Tags(transcript)
    places = {own: index for index, own in enumerate(tags.ids) if own is not None}
    shown = {block.entry for m in transcript.messages for block in m.blocks}
    if getattr(transcript.format, "FOLLOWS_LINKS", False):  # the view shows nothing that is lost
        said = {tags.types[index] for index in shown}
        shown = {index for index, kind in enumerate(tags.types) if kind in said}
    below = {broken}
    before = [index for index in sorted(shown, reverse=True) if index < broken]
    behind = [index for index in sorted(shown, reverse=True) if index > broken]
    for index in (*before, *behind):
        own = tags.ids[index]
        if own is not None and places[own] == index and not _leads(tags, places, index, below):
            yield own


def _leads(tags: structure.Tags, places: dict[str, int], start: int, below: set[int]) -> bool:
    """Say whether the way up from an entry meets one of ``below``, which takes in the way."""
    walked: set[int] = set()
    at: int | None = start
    while at is not None and at not in walked and at not in below:
        walked.add(at)
        parent = tags.parents[at]
        at = places.get(parent) if parent is not None else None
    if at in below:
        below |= walked
        return True
    return False


def _marker(transcript: Transcript, record: dict[str, Any], parent: str) -> dict[str, Any]:
    module = transcript.format
    own = module.identity(_digest([parent, record.get(module.LINK[0]), GAP]))
    created = module.create("user", [Block("text", GAP, meta=True)], record, own, parent)
    found: dict[str, Any] = created[0] if isinstance(created, list) else created
    return found
