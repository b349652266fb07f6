"""Fix the chain of parents where it breaks, so that resume reaches every message again."""

from __future__ import annotations

import bisect
import hashlib
import itertools
from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.formats.base import Link
from compactctl.graph import NOWHERE, EntryGraph
from compactctl.jsonl import exact
from compactctl.jsonl.lines import Entry, line_end
from compactctl.model import MADE, Block
from compactctl.placeholders import GAP
from compactctl.repair.case import Deed
from compactctl.repair.entries import gone
from compactctl.rules import chain
from compactctl.transcript import loading
from compactctl.view.index import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compactctl.formats.base import Links
    from compactctl.model import Message
    from compactctl.repair.case import Pieces
    from compactctl.transcript.loading import Transcript
    from compactctl.transcript.tags import Tags

_CAREFUL = 20
"""So many breaks are fixed one by one, and no more than is needed; beyond them all are."""

BREAKS = frozenset({"FILE-12", "FILE-13"})
"""Rules about a way back that ends too early."""

BESIDE = "FILE-20"
"""The rule about answers that stand beside the way back."""


def fix_chain(transcript: Transcript, deeds: list[Deed]) -> Pieces | None:
    """Link entries across gaps in the chain, with markers that can be seen.

    None where resume loses nothing. Entries of one id are told apart first: no chain is whole
    that leads to two of them.
    """
    links = transcript.format.links
    if links is None:
        return None
    if _broken(transcript) is None:
        return _rejoined(transcript, links, deeds)
    return tell_apart(transcript, deeds) or _bridged(transcript, links, deeds)


def _rejoined(transcript: Transcript, links: Links, deeds: list[Deed]) -> Pieces | None:
    """Link answers that stand beside the way back into it."""
    if not any(fault.rule == BESIDE for fault in chain.find(transcript)):
        return None
    tags = transcript.references()
    ids = tags.ids
    slipped = chain.slipped(transcript, EntryGraph(ids, tags.parents))
    parents = {after: own for _, last, after in slipped if (own := ids[last]) is not None}
    deeds += [Deed(BESIDE, at, did=_JOINED) for at in parents]
    return [
        (_relinked(transcript, links, at, (None, parents[at])) if at in parents else entry.raw, at)
        for at, entry in enumerate(transcript.entries)
    ]


_JOINED = "the entry follows the answer now"


def _broken(transcript: Transcript) -> int | None:
    """Return the entry at which the way back from the last message ends."""
    lines = {f.line for f in chain.find(transcript) if f.rule in BREAKS and f.raised}
    if not lines:
        return None
    tags = transcript.references()
    graph = EntryGraph(tags.ids, tags.parents)
    for index in sorted((*graph.missing, *graph.circles)):
        if transcript.entries[index].line in lines:
            return index
    return None


def tell_apart(transcript: Transcript, deeds: list[Deed]) -> Pieces | None:
    """Assign new ids to entries whose id is taken; children follow the nearest entry of an id.

    An exact copy of an entry is dropped. None where every id is there once.
    """
    links = transcript.format.links
    if links is None:
        return None
    tags = transcript.references()
    now: dict[str, str] = {}
    seen: set[bytes] = set()
    pieces: Pieces = []
    for index, entry in enumerate(transcript.entries):
        own, parent = tags.ids[index], tags.parents[index]
        said = entry.raw.strip()
        if own is not None and said in seen:
            pieces.append((gone(transcript, index), index))
            deeds.append(Deed("FILE-11", index, "copy dropped"))
            continue
        seen.add(said)
        after = None if parent is None else now.get(parent, parent)
        if own is not None:
            now[own] = own if own not in now else _free(transcript, own, index)
        new = (None if own is None else now[own], after)
        pieces.append((entry.raw, index))
        if new != (own, parent):
            pieces[-1] = (_relinked(transcript, links, index, new), index)
            deeds.append(Deed("FILE-11", index, "told apart"))
    return pieces if deeds else None


def _relinked(
    transcript: Transcript, links: Links, index: int, new: tuple[str | None, str | None]
) -> bytes:
    """Write an entry with another id and parent; None for what it has none of."""
    raw = transcript.entries[index].raw
    link = zip((links.own, links.parent), new, strict=True)
    given = {key: value for key, value in link if value is not None}
    record = exact.object_or_none(raw) or {}
    return bytes(exact.dump(record | given)) + line_end(raw)


def _free(transcript: Transcript, own: str, index: int) -> str:
    return transcript.format.new_id(_digest([own, index]))


def _digest(value: Any) -> str:
    return hashlib.sha256(exact.dump(value)).hexdigest()


def _bridged(transcript: Transcript, links: Links, deeds: list[Deed]) -> Pieces | None:
    """Fix one break after the other; each opens the way to the next."""
    end = _broken(transcript)
    tags = transcript.references()
    missing = {*EntryGraph(tags.ids, tags.parents).missing}
    parents: dict[int, str] = {}
    for at, parent in _bridges(transcript, end) if end is not None else ():
        parents[at] = parent
        rule = "FILE-12" if at in missing else "FILE-13"
        deeds.append(Deed(rule, at, "linked to what comes before it"))
        if len(parents) < _CAREFUL and _broken(_with_parents(transcript, links, parents)) is None:
            break
    return _with_markers(transcript, links, parents) if parents else None


def _bridges(transcript: Transcript, end: int) -> Iterator[tuple[int, str]]:
    """Yield each entry where the way back ends and the id of what it can follow, from there on.

    ``below`` holds the entries that are known to lead to the end of the way. The way is done
    where it leads to the start of the session, or to an end that was bridged before.
    """
    tags = transcript.references()
    graph = EntryGraph(tags.ids, tags.parents)
    said = _said(transcript, tags)
    below = {end}
    bridged: set[int] = set()
    while end not in bridged:
        for index in _candidates(said, end):
            own = graph.ids[index]
            if own is None or graph.places[own] != index or index in below:
                continue
            passed, last = graph.walk(index, below)
            below.update(passed)
            if last == NOWHERE or last in passed:
                break
        else:
            return
        yield end, own
        bridged.add(end)
        graph.up[end] = index
        top = next(reversed(passed))
        if last == NOWHERE and graph.parents[top] is None:
            return
        walked = list(passed)
        end = top if last == NOWHERE else min(walked[walked.index(last) :])


def _candidates(said: Sequence[int], end: int) -> Iterator[int]:
    """Yield what stands in front of the end, the nearest first; then from the last one back."""
    at = bisect.bisect_left(said, end)
    before, behind = range(at - 1, -1, -1), range(len(said) - 1, at - 1, -1)
    return (said[i] for i in itertools.chain(before, behind) if said[i] != end)


def _said(transcript: Transcript, tags: Tags) -> list[int]:
    """Return the entries of the conversation, in order."""
    shown = transcript.shown()
    links = transcript.format.links
    if links is not None and links.follows:  # the view shows nothing that is lost
        kinds = {tags.types[index] for index in shown}
        return [index for index, kind in enumerate(tags.types) if kind in kinds]
    return sorted(shown)


def _with_parents(transcript: Transcript, links: Links, parents: dict[int, str]) -> Transcript:
    entries = [*transcript.entries]
    for index, parent in parents.items():
        linked = _relinked(transcript, links, index, (None, parent))
        entries[index] = Entry(linked, entries[index].line)
    return msgspec.structs.replace(transcript, entries=entries)


def _with_markers(transcript: Transcript, links: Links, parents: dict[int, str]) -> Pieces:
    """Link each entry to its new parent, by a marker that the model sees where it may stand."""
    linked = _with_parents(transcript, links, parents)
    together = _together(linked, parents)
    pieces: Pieces = []
    for index, entry in enumerate(transcript.entries):
        if index in together:
            pieces.append((linked.entries[index].raw, index))
        elif index in parents:
            record = exact.object_or_none(entry.raw) or {}
            marker = _marker(transcript, links, record, parents[index])
            pieces.append((exact.dump(marker) + (line_end(entry.raw) or b"\n"), MADE))
            pieces.append((_relinked(transcript, links, index, (None, marker[links.own])), index))
        else:
            pieces.append((entry.raw, index))
    return pieces


def _together(linked: Transcript, parents: dict[int, str]) -> set[int]:
    """Return the entries in front of which nothing may stand.

    That is inside an answer, and between a call and its result.
    """
    raws = [entry.raw for entry in linked.entries]
    messages = loading.parse(raws, linked.name, linked.format).messages
    inside = [0] * (len(raws) + 2)
    for first, last in _stretches(messages):
        inside[first + 1] += 1
        inside[last + 1] -= 1
    depth = [*itertools.accumulate(inside)]
    return {at for at in parents if depth[at] > 0}


def _stretches(messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Return (first, last entry) of each answer, and of each call and its result."""
    for message in messages:
        entries = [block.entry for block in message.blocks]
        if message.role == "assistant" and entries:
            yield min(entries), max(entries)
    for found in View(messages).answered:
        if found.call.entry < found.result.entry:
            yield found.call.entry, found.result.entry


def _marker(
    transcript: Transcript, links: Links, record: dict[str, Any], parent: str
) -> dict[str, Any]:
    own = transcript.format.new_id(_digest([parent, record.get(links.own), GAP]))
    gap = Block("text", GAP, meta=True)
    return transcript.format.create("user", [gap], record, Link(own, parent))[0]
