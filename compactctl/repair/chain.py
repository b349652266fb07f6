"""Mend the chain of parents where it breaks, so that resume reaches every message again."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.formats.base import Link
from compactctl.jsonl import exact
from compactctl.jsonl.lines import Entry, line_end
from compactctl.layers.base import Action
from compactctl.model import MADE, Block
from compactctl.placeholders import GAP
from compactctl.repair.lines import gone
from compactctl.repair.walk import Walk
from compactctl.rules import chain
from compactctl.transcript.parents import Chains
from compactctl.transcript.tags import Tags

if TYPE_CHECKING:
    from compactctl.formats.base import Links
    from compactctl.transcript.loading import Transcript
    from compactctl.transcript.repair_tally import Pieces

_CAREFUL = 20
"""So many breaks are mended one by one, and no more than is needed; beyond them all are."""

_BREAKS = frozenset({"FILE-12", "FILE-13"})


def mend_chain(transcript: Transcript, actions: list[Action]) -> Pieces | None:
    """Link entries across gaps in the chain, with markers that can be seen.

    None where resume loses nothing. Entries of one id are told apart first: no chain is whole
    that leads to two of them.
    """
    links = transcript.format.links
    if links is None or _broken(transcript) is None:
        return None
    return tell_apart(transcript, actions) or _bridged(transcript, links, actions)


def _broken(transcript: Transcript) -> int | None:
    """Give the entry at which the way back from the last message ends."""
    lines = {f.line for f in chain.find(transcript) if f.rule in _BREAKS and f.raised}
    if not lines:
        return None
    tags = Tags(transcript)
    for index in sorted(Chains(tags.ids, tags.parents).broken):
        if transcript.entries[index].line in lines:
            return index
    return None


def tell_apart(transcript: Transcript, actions: list[Action]) -> Pieces | None:
    """Give entries of an id that is taken one of their own; what follows follows the nearest.

    A copy of an entry goes, for the entry itself stays. None where every id is there once.
    """
    links = transcript.format.links
    if links is None:
        return None
    tags = Tags(transcript)
    now: dict[str, str] = {}
    seen: set[bytes] = set()
    pieces: Pieces = []
    for index, entry in enumerate(transcript.entries):
        own, parent = tags.ids[index], tags.parents[index]
        said = entry.raw.strip()
        if own is not None and said in seen:
            pieces.append((gone(transcript, index), index))
            actions.append(Action("FILE-11", index))
            continue
        seen.add(said)
        after = None if parent is None else now.get(parent, parent)
        if own is not None:
            now[own] = own if own not in now else _free(transcript, own, index)
        new = (None if own is None else now[own], after)
        pieces.append((entry.raw, index))
        if new != (own, parent):
            pieces[-1] = (_relinked(transcript, links, index, new), index)
            actions.append(Action("FILE-11", index))
    return pieces if actions else None


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


def _bridged(transcript: Transcript, links: Links, actions: list[Action]) -> Pieces | None:
    """Mend one break after the other; each opens the way to the next."""
    end = _broken(transcript)
    walk = Walk(transcript, end) if end is not None else None
    parents: dict[int, str] = {}
    while walk and walk.end is not None and walk.end not in parents:
        end, parent = walk.end, walk.go_on()
        if parent is None:
            break
        parents[end] = parent
        actions.append(Action("FILE-12", end))
        if len(parents) < _CAREFUL and _broken(_with_parents(transcript, links, parents)) is None:
            break
    return _with_markers(transcript, links, parents) if parents else None


def _with_parents(transcript: Transcript, links: Links, parents: dict[int, str]) -> Transcript:
    entries = [*transcript.entries]
    for index, parent in parents.items():
        linked = _relinked(transcript, links, index, (None, parent))
        entries[index] = Entry(linked, entries[index].line)
    return msgspec.structs.replace(transcript, entries=entries)


def _with_markers(transcript: Transcript, links: Links, parents: dict[int, str]) -> Pieces:
    pieces: Pieces = []
    for index, entry in enumerate(transcript.entries):
        if index in parents:
            record = exact.object_or_none(entry.raw) or {}
            marker = _marker(transcript, links, record, parents[index])
            pieces.append((exact.dump(marker) + (line_end(entry.raw) or b"\n"), MADE))
            pieces.append((_relinked(transcript, links, index, (None, marker[links.own])), index))
        else:
            pieces.append((entry.raw, index))
    return pieces


def _marker(
    transcript: Transcript, links: Links, record: dict[str, Any], parent: str
) -> dict[str, Any]:
    own = transcript.format.new_id(_digest([parent, record.get(links.own), GAP]))
    gap = Block("text", GAP, meta=True)
    return transcript.format.create("user", [gap], record, Link(own, parent))[0]
