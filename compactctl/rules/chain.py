"""How the entries of a file hang together: ids, parents, types and sequence numbers.

What there is to check a format says with its ``links``, ``known_types`` and ``sequence``.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import compress
from operator import eq
from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.jsonl import DECODE_ERRORS, exact
from compactctl.jsonl.lines import Fault
from compactctl.transcript.parents import NOWHERE, Chains
from compactctl.transcript.tags import Tags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from compactctl.transcript.loading import Transcript

__all__ = ["Tags", "find"]

_OURS = "compactctl."
_LISTED = 8


def find(transcript: Transcript) -> Iterator[Fault]:
    """Give what is odd about the entries taken together."""
    form = transcript.format
    if not (form.links or form.known_types or form.sequence):
        return
    tags = Tags(transcript)
    if form.links:
        chains = Chains(tags.ids, tags.parents)
        shown = {block.entry for message in transcript.messages for block in message.blocks}
        if len(chains.places) < len(tags.ids) - tags.ids.count(None):
            yield from _duplicates(transcript, tags)
        if not chains.is_one:
            yield from _chains(transcript, tags, chains, shown, follows=form.links.follows)
        yield from _rewinds(transcript, tags, set(map(tags.types.__getitem__, shown)))
    if form.known_types and not form.known_types.issuperset(tags.types):
        yield from _unknown(transcript, tags, form.known_types)
    if form.sequence:
        yield from _gaps(transcript, tags)


def _duplicates(transcript: Transcript, tags: Tags) -> Iterator[Fault]:
    """Find entries with an id that an earlier one has; a copy is told from another entry."""
    entries = transcript.entries
    first: dict[str, int] = {}
    parsed: dict[str, Any] = {}
    for index, own in enumerate(tags.ids):
        if own is None:
            continue
        before = first.setdefault(own, index)
        if before == index:
            continue
        old, new = entries[before], entries[index]
        same = old.raw.strip() == new.raw.strip()
        if not same:
            if own not in parsed:
                parsed[own] = exact.object_or_none(old.raw)
            same = _is_equal(parsed[own], exact.object_or_none(new.raw))
        what = "a copy of" if same else "not the same as"
        yield Fault("FILE-11", new.line, f"{what} line {old.line}")


def _is_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except RecursionError:
        return False


def _chains(
    transcript: Transcript, tags: Tags, chains: Chains, shown: set[int], *, follows: bool
) -> Iterator[Fault]:
    """Find parents that lead nowhere, and what resume would lose by the one where it stops."""
    messages = transcript.messages
    chains.tie(_kept_by_a_boundary(tags, chains.places))
    end = chains.end(shown)
    if end == NOWHERE or (chains.joined(shown, end) and not follows):
        lost = 0
    elif follows:
        lost = chains.lost_entries(messages, end, tags.types)
    else:
        lost = chains.lost(messages, end)
    loses = f"resume would lose {lost:,} message{'s' * (lost > 1)}"
    for index, rule in sorted(chains.broken.items()):
        raised = lost > 0 and index == end
        line = transcript.entries[index].line
        yield Fault(rule, line, loses if raised else "", raised=raised)
    if lost and end not in chains.broken and not follows:  # where it does, roots are branches
        yield Fault("FILE-18", transcript.entries[end].line, loses)


def _kept_by_a_boundary(tags: Tags, places: Mapping[str | None, int]) -> list[int]:
    """Give the last boundary that keeps entries from before it, and those that it names."""
    for index in range(len(tags.relinked) - 1, -1, -1):
        if tags.relinked[index] is not None and tags.types[index] == "system":
            kept = [places[name] for name in _strings(tags.relinked[index]) if name in places]
            if kept:
                return [index, *kept]
    return []


def _strings(value: Any) -> Iterator[str]:
    """Give every string in a value."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            waiting.extend(item.values() if isinstance(item, dict) else item)


def _rewinds(transcript: Transcript, tags: Tags, said: set[str | None]) -> Iterator[Fault]:
    """Find prompts under one parent; other forks are technical (parallel results, progress)."""
    forks = {(kind, parent) for kind in said for parent in _repeated(tags, kind)}
    siblings: dict[Any, dict[str | None, int]] = {fork: {} for fork in forks}
    for index, child in enumerate(zip(tags.types, tags.parents, strict=True) if forks else ()):
        if child in siblings:
            siblings[child][tags.ids[index]] = index  # by its id: a copy is no child of its own
    decode = msgspec.json.Decoder(transcript.format.record).decode
    for group in siblings.values():
        prompts = [i for i in group.values() if _is_prompt(transcript, i, decode)]
        if len(prompts) > 1:
            lines = [transcript.entries[i].line for i in prompts]
            where = ", ".join(map(str, lines[:_LISTED])) + " …" * (len(lines) > _LISTED)
            yield Fault("FILE-14", lines[-1], f"lines {where}")


def _repeated(tags: Tags, kind: str | None) -> set[str]:
    """Give the parents of several entries of one type."""
    parents = list(filter(None, compress(tags.parents, map(partial(eq, kind), tags.types))))
    if len(set(parents)) == len(parents):
        return set()
    return {parent for parent, many in Counter(parents).items() if many > 1}


def _is_prompt(transcript: Transcript, index: int, decode: Callable[[bytes], Any]) -> bool:
    try:
        return transcript.format.is_prompt(decode(transcript.entries[index].raw))
    except DECODE_ERRORS:
        return False


def _unknown(transcript: Transcript, tags: Tags, known: frozenset[str]) -> Iterator[Fault]:
    """Count the entries of each type that the format does not know."""
    places: dict[str, list[int]] = {}
    for index, kind in enumerate(tags.types):
        if kind is not None and kind not in known and not kind.startswith(_OURS):
            places.setdefault(kind, []).append(index)
    for kind, indices in places.items():
        many = f"{len(indices):,} of type {kind[:60]!r}"
        yield Fault("FILE-15", transcript.entries[indices[0]].line, many)


def _gaps(transcript: Transcript, tags: Tags) -> Iterator[Fault]:
    """Find where a sequence number is not one more than that before."""
    before: int | None = None
    for index, number in enumerate(tags.numbers):
        if number is None:
            continue
        if before is not None and number != before + 1:
            text = f"{before} is followed by {number}"
            yield Fault("FILE-16", transcript.entries[index].line, text)
        before = number
