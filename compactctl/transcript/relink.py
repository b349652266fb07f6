"""Keep the chain of parents whole when entries go or come.

Harnesses rebuild a session by walking from the last entry to its parent and so on, through
progress and metadata lines too: an entry whose parent is gone would hide everything before it.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.formats.base import Link
from compactctl.graph import NOWHERE, EntryGraph
from compactctl.jsonl import DECODE_ERRORS, exact
from compactctl.model import MADE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Mapping, Sequence

    from compactctl.model import Block, Message, Role
    from compactctl.transcript.loading import Transcript
    from compactctl.transcript.tags import Tags


class Made(msgspec.Struct, frozen=True):
    """A new line: what it holds, and the entries (by index) that it goes before and after.

    ``place`` is where its first block stands in the new view: message, and block in it.
    """

    role: Role
    blocks: list[Block]
    before: int
    after: int
    place: tuple[int, int]


def create(
    transcript: Transcript,
    made: Sequence[Made],
    changed: dict[int, bytes | None],
    messages: Sequence[Message] = (),
    *,
    straight: bool = False,
) -> list[tuple[int, bytes]]:
    """Write the new lines as (index of the entry that follows, bytes) and re-parent children.

    ``changed`` maps entries to their new bytes, None for dropped; lines whose parent is replaced
    are added to it, and those outside the view that belong to what goes. ``messages`` is the new
    view. ``straight`` makes one chain of its lines, for a file whose forks are too tangled to stay
    as they are.
    """
    form, links = transcript.format, transcript.format.links
    if links is None:
        return [
            (new.before, exact.dump(record))
            for new in made
            for record in _write(transcript, new, Link(_identity(new, ""), None))
        ]
    tags = None
    if transcript.hides:
        tags = transcript.references()
        changed.update(dict.fromkeys(_copies(transcript, tags, changed)))
    if not made and None not in changed.values():
        return []
    tags = tags or transcript.references()
    changed.update(dict.fromkeys(_between(transcript, tags, changed)))
    deleted = {index for index, new in changed.items() if new is None}
    graph = EntryGraph(tags.ids, tags.parents, deleted)
    ordered = straight or graph.is_chain or graph.is_ordered
    if straight:
        graph.straighten(sorted(transcript.shown()))
    elif ordered and deleted and not (links.follows or graph.is_chain):
        graph.keep_together(sorted(transcript.shown()))
    path = {} if ordered else _path(graph, messages)
    created: list[tuple[int, bytes]] = []
    for new in made:
        child = None if ordered else _child(new, messages, path)
        if child is not None:
            parent = graph.parent_at(child)
        else:
            parent = graph.parent_for(new.before, new.after if ordered else next(iter(path), -1))
        identity = form.new_id(_identity(new, parent or ""))
        records = _write(transcript, new, Link(identity, parent))
        created += [(new.before, exact.dump(record)) for record in records]
        for record in records:
            own = record.get(links.own, identity)
            if child is None:
                graph.insert(new.before, own)
            else:
                graph.tie(child, own)
    _adopt(transcript, graph, tags, changed)
    return created


def _copies(transcript: Transcript, tags: Tags, changed: Collection[int]) -> list[int]:
    """Return entries with the id of one that changed: a harness would take them for it."""
    ids = tags.ids
    if len(set(ids)) == len(ids) - max(ids.count(None) - 1, 0):
        return []
    shown = transcript.shown()
    names = {ids[at] for at in changed if at in shown} - {None}
    return [at for at, own in enumerate(ids) if own in names and at not in shown]


def _between(transcript: Transcript, tags: Tags, changed: Mapping[int, bytes | None]) -> set[int]:
    """Return lines of the conversation that show nothing, between two of which one goes.

    They are a part of the same message, or of what went on around it.
    """
    shown = transcript.shown()
    said = set(map(tags.types.__getitem__, shown)) - {None, transcript.format.boundary}
    if sum(map(tags.types.count, said)) <= len(shown):
        return set()
    graph = EntryGraph(tags.ids, tags.parents)
    goes: set[int] = set()
    stays: set[int] = set()
    for start in shown:
        if graph.up[start] in shown:
            continue
        passed, end = graph.walk(graph.up[start], shown)
        if end in shown:
            ends = (start, end)
            gone = any(changed.get(at, b"") is None for at in ends)
            (goes if gone else stays).update(at for at in passed if tags.types[at] in said)
    return goes - stays


def _path(graph: EntryGraph, messages: Sequence[Message]) -> dict[int, None]:
    """Return the last entry of a view and its ancestors, without those that go."""
    entries = (block.entry for message in reversed(messages) for block in reversed(message.blocks))
    at = next((entry for entry in entries if entry != MADE), NOWHERE)
    path: dict[int, None] = {}
    while at != NOWHERE and at not in path:
        path[at] = None
        at = graph.places.get(graph.surviving(graph.parents[at]), NOWHERE)
    return path


def _child(new: Made, messages: Sequence[Message], path: Container[int]) -> int | None:
    """Return the first entry behind a new one, as the view has them, that is on the path."""
    message, at = new.place
    rest = (block for other in messages[message + 1 :] for block in other.blocks)
    behind = itertools.chain(messages[message].blocks[at:], rest)
    return next((block.entry for block in behind if block.entry in path), None)


def _identity(new: Made, parent: str) -> str:
    """Derive an id from content, so that the same input gives the same output."""
    digest = hashlib.sha256(f"{parent}\n{new.role}\n".encode())
    for block in new.blocks:
        digest.update(repr(_content(block)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _content(block: Block) -> tuple[object, ...]:
    """Return what a block says; where it stands has no part in the id of its line."""
    pieces = [_content(piece) for piece in block.content]
    return block.kind, block.text, block.call_id, block.tool, pieces, block.failed


def _write(transcript: Transcript, new: Made, link: Link) -> list[dict[str, Any]]:
    """Return the records that hold ``new``: one, or several where a line holds less than a run."""
    near = new.before if new.before < len(transcript.entries) else new.after
    like = _parsed(transcript.entries[near].raw) if near >= 0 else {}
    records = transcript.format.create(new.role, new.blocks, like, link)
    key = transcript.format.ordinal
    last = _ordinal(transcript, key, new.before) if key else None
    if key is None or last is None:
        return records
    return [
        {"timestamp": record.get("timestamp"), key: last + at} | record
        for at, record in enumerate(records, 1)
    ]


def _ordinal(transcript: Transcript, key: str, before: int) -> int | None:
    """Return the number of the nearest line that has one, from ``before`` back."""
    name = exact.dump(key)
    for at in range(before - 1, -1, -1):
        raw = transcript.entries[at].raw
        number = _member(raw, key) if name in raw else None
        if type(number) is int:
            return number
    return None


def _adopt(
    transcript: Transcript, graph: EntryGraph, links: Tags, changed: dict[int, bytes | None]
) -> None:
    """Return a new parent to each entry that lost its own or now follows a new line."""
    assert transcript.format.links is not None
    key = transcript.format.links.parent
    for index in graph.uncertain():
        old, new = graph.parents[index], graph.parent_at(index)
        if new != old:
            _change(transcript, changed, index, (key, old, new))
        graph.inherit(index)
    for also, values in links.also.items() if graph.gone else ():
        _follow(transcript, graph, changed, also, values)
    for index, value in enumerate(links.relinked):
        if value is not None and index not in graph.deleted:
            _relink(transcript, graph, changed, index)


def _relink(
    transcript: Transcript, graph: EntryGraph, changed: dict[int, bytes | None], index: int
) -> None:
    """Rewrite the list of earlier lines that a line keeps."""
    record = _parsed(changed.get(index) or transcript.entries[index].raw)
    new = transcript.format.relink(record, graph)
    if new != record:
        changed[index] = exact.dump(new)


def _follow(
    transcript: Transcript,
    graph: EntryGraph,
    changed: dict[int, bytes | None],
    key: str,
    values: Sequence[Any],
) -> None:
    """Redirect other references to deleted entries; a dangling reference is normal."""
    for index, old in enumerate(values):
        if isinstance(old, str) and old in graph.gone and index not in graph.deleted:
            new = graph.heir(old)
            if new is not None:
                _change(transcript, changed, index, (key, old, new))


def _change(
    transcript: Transcript,
    changed: dict[int, bytes | None],
    index: int,
    member: tuple[str, str | None, str | None],
) -> None:
    """Replace one member of an entry, and where it can be seen plainly nothing but its bytes."""
    key, old, new = member
    raw = changed.get(index) or transcript.entries[index].raw.rstrip(b"\r\n")
    name = exact.dump(key) + b":"
    found = name + exact.dump(old)
    edited = raw.replace(found, name + exact.dump(new))
    # The one that is seen plainly may be in a record inside this one.
    seen = raw.count(found) == 1 and _member(edited, key) == new
    changed[index] = edited if seen else exact.dump(_parsed(raw) | {key: new})


def _member(raw: bytes, key: str) -> Any:
    """Read one member of an entry."""
    try:
        return _reader(key)(raw).value
    except DECODE_ERRORS:  # an odd line
        return _parsed(raw).get(key)


@functools.cache
def _reader(key: str) -> Callable[[bytes], Any]:
    """Make a reader of one member that skips all else."""
    record = msgspec.defstruct("Member", [("value", Any, None)], rename={"value": key}, gc=False)
    return msgspec.json.Decoder(record).decode


def _parsed(raw: bytes) -> dict[str, Any]:
    """Parse the object of an entry; {} when there is none."""
    return exact.object_or_none(raw) or {}
