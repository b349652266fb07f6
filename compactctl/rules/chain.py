"""How the entries of a file hang together: ids, parents, types and sequence numbers.

A harness resumes from the last entry of the conversation and walks from parent to parent. What
the walk does not reach is lost, but for what other ties bring in: further lines of one API
message, and results of calls that were reached. What hangs on the walk itself is a fork, not a
loss.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import compress
from operator import eq
from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.graph import NOWHERE, EntryGraph
from compactctl.jsonl import DECODE_ERRORS, exact
from compactctl.jsonl.lines import Fault
from compactctl.rules.rule import LOSS, file_rule
from compactctl.text import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from compactctl.model import Message
    from compactctl.transcript.loading import Transcript
    from compactctl.transcript.tags import Tags

_OURS = "compactctl."
_LISTED = 8

RULES = (
    file_rule(
        "11",
        "warning",
        "two entries have the same id",
        "give the later one a new id, or delete it if it is a copy",
    ),
    file_rule(
        "12",
        "warning",
        "the parent of an entry is not in the file",
        "set it to the id of the entry before",
        raised_when=LOSS,
        repaired=True,
        calm="no action needed, resume loses nothing by it",
    ),
    file_rule(
        "13",
        "warning",
        "parent links form a cycle",
        "set the parent of its first entry to the id of the entry before that",
        raised_when=LOSS,
        repaired=True,
        calm="no action needed, resume loses nothing by it",
    ),
    file_rule(
        "14",
        "info",
        "the session forks: it was rewound, or two processes wrote it",
        "nothing to do if the right branch is in the view; else choose it with --leaf",
    ),
    file_rule(
        "15",
        "info",
        "entries of an unknown type",
        "no action needed, they pass through unchanged",
    ),
    file_rule(
        "16",
        "warning",
        "gap in sequence numbers",
        "no action needed if lines were removed on purpose; else look for what is missing",
    ),
    file_rule(
        "18",
        "warning",
        "the parent chain of the last entry ends here; other messages hang on other roots",
        "set the parent of this entry to the id of the entry before",
    ),
    file_rule(
        "20",
        "warning",
        "an answer stands beside the chain of parents, which went on from an error in its place",
        "set the parent of the entry behind it to its last one",
        raised_when=LOSS,
        repaired=True,
    ),
)


def find(transcript: Transcript) -> Iterator[Fault]:
    """Find what is odd about the entries taken together."""
    form = transcript.format
    if not (form.links or form.known_types or form.sequence):
        return
    tags = transcript.references()
    if form.links:
        graph = EntryGraph(tags.ids, tags.parents)
        shown = transcript.shown()
        for index in tags.misfits:
            yield Fault("FILE-17", transcript.entries[index].line, "its id is no string")
        if len(graph.places) < len(tags.ids) - tags.ids.count(None):
            yield from _duplicates(transcript, tags)
        if not graph.is_one:
            yield from _breaks(transcript, tags, graph, shown, follows=form.links.follows)
        if not form.links.follows and not graph.is_chain:
            yield from _beside(transcript, graph)
        yield from _rewinds(transcript, tags, graph, shown)
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


def _breaks(
    transcript: Transcript, tags: Tags, graph: EntryGraph, shown: set[int], *, follows: bool
) -> Iterator[Fault]:
    """Find parents that lead nowhere, and what resume would lose by the one where it stops."""
    reach = _Reach(graph, shown, _kept_by_a_boundary(tags, graph.places))
    if reach.end == NOWHERE or (reach.holds_all(shown) and not follows):
        lost = 0
    elif follows:
        lost = _lost_entries(transcript.messages, reach, tags.types)
    else:
        lost = _lost_messages(transcript.messages, reach)
    loses = f"resume would lose {lost:,} message{'s' * (lost > 1)}"
    broken = dict.fromkeys(graph.missing, "FILE-12") | dict.fromkeys(graph.circles, "FILE-13")
    for index, rule in sorted(broken.items()):
        raised = lost > 0 and index == reach.end
        line = transcript.entries[index].line
        yield Fault(rule, line, loses if raised else "", raised=raised)
    if lost and reach.end not in broken and not follows:  # where it does, roots are branches
        yield Fault("FILE-18", transcript.entries[reach.end].line, loses)


def _beside(transcript: Transcript, graph: EntryGraph) -> Iterator[Fault]:
    """Find the answers that resume loses though their chain hangs on the way back."""
    for first, last, _ in slipped(transcript, graph):
        line = transcript.entries[first].line
        text = f"up to line {transcript.entries[last].line}; resume would lose 1 message"
        yield Fault("FILE-20", line, text, raised=True)


def slipped(transcript: Transcript, graph: EntryGraph) -> list[tuple[int, int, int]]:
    """Return the answers beside the way back: first entry, last one, and what is to follow it.

    The view shows them, for nothing took their place.
    """
    said = [message for message in transcript.messages if message.role == "assistant"]
    shown = transcript.shown()
    path, _ = graph.walk(max(shown, default=NOWHERE))
    found: list[tuple[int, int, int]] = []
    for message in said:
        entries = {block.entry for block in message.blocks} - {NOWHERE}
        first, last = min(entries), max(entries)
        is_one = graph.places.get(graph.ids[first]) == first  # ids that repeat tell nothing
        if is_one and path.keys().isdisjoint(entries) and graph.up[first] in path:
            after = min((at for at in path if at > last), default=NOWHERE)
            if after != NOWHERE:
                found.append((first, last, after))
    return found


class _Reach:
    """What hangs on the walk up from the last entry of the view; ``end`` is where that ends."""

    def __init__(self, graph: EntryGraph, shown: set[int], kept: Sequence[int]) -> None:
        """Take the chains of ``kept`` for one: a harness ties them together itself."""
        self._graph = graph
        last = max(shown, default=NOWHERE)
        has_id = last >= 0 and graph.ids[last] is not None
        self.end = graph.tops[last] if has_id else NOWHERE
        self._tied = {graph.tops[at] for at in kept}

    def holds_all(self, shown: set[int]) -> bool:
        """Return True if every entry of the view hangs on the walk."""
        return {self._graph.tops[at] for at in shown} <= {self.end}

    def is_cut_off(self, entry: int) -> bool:
        """Return True if no chain joins an entry to the walk."""
        top = self._graph.tops[entry]
        if top == self.end or self._graph.ids[entry] is None:
            return False
        return not (top in self._tied and self.end in self._tied)


def _lost_messages(messages: Sequence[Message], reach: _Reach) -> int:
    """Count the messages of the view that the walk does not reach."""
    called: set[str | None] = set()
    lost = 0
    for message in messages:
        cut_off = [block for block in message.blocks if reach.is_cut_off(block.entry)]
        if message.role == "assistant" and len(cut_off) < len(message.blocks):
            called.update(block.call_id for block in message.blocks if block.kind == "call")
        elif cut_off:
            lost += any(b.kind != "result" or b.call_id not in called for b in cut_off)
    return lost


def _lost_entries(messages: Sequence[Message], reach: _Reach, types: Sequence[str | None]) -> int:
    """Count the same where the view is the walk itself, so that it shows nothing lost.

    What was lost then are entries of the types that the view was read from.
    """
    said = {types[block.entry] for message in messages for block in message.blocks}
    return sum(reach.is_cut_off(at) for at, kind in enumerate(types) if kind in said)


def _kept_by_a_boundary(tags: Tags, places: Mapping[str | None, int]) -> list[int]:
    """Return the last boundary that keeps entries from before it, and those that it names."""
    for index in range(len(tags.relinked) - 1, -1, -1):
        if tags.relinked[index] is not None and tags.types[index] == "system":
            kept = [places[name] for name in _strings(tags.relinked[index]) if name in places]
            if kept:
                return [index, *kept]
    return []


def _strings(value: Any) -> Iterator[str]:
    """Return every string in a value."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            waiting.extend(item.values() if isinstance(item, dict) else item)


def _rewinds(
    transcript: Transcript, tags: Tags, graph: EntryGraph, shown: set[int]
) -> Iterator[Fault]:
    """Find prompts under one parent, and branches of which the view shows nothing.

    Other forks are technical (parallel results, progress).
    """
    said = set(map(tags.types.__getitem__, shown))
    forks = {(kind, parent) for kind in said for parent in _repeated(tags, kind)}
    if not forks:
        return
    siblings: dict[Any, dict[str | None, int]] = {fork: {} for fork in forks}
    for index, child in enumerate(zip(tags.types, tags.parents, strict=True)):
        if child in siblings:
            siblings[child][tags.ids[index]] = index  # by its id: a copy is no child of its own
    groups = [[*group.values()] for group in siblings.values()]
    talk = [index for index, kind in enumerate(tags.types) if kind in said]
    sizes, seen, ends = _branches(graph, {i for group in groups for i in group}, talk, shown)
    decode = msgspec.json.Decoder(transcript.format.record).decode
    for group in groups:
        prompts = [i for i in group if _is_prompt(transcript, i, decode)]
        left = [i for i in group if i in seen]
        heads = prompts if len(prompts) > 1 else group
        if len(prompts) > 1 or 0 < len(left) < len(group):
            told = [
                f"line {transcript.entries[i].line}: {plural(sizes[i], 'entry', 'entries')}"
                f"{', in the view' if i in seen else f', --leaf {tags.ids[ends[i]]}'}"
                for i in heads
            ]
            where = "; ".join(told[:_LISTED]) + " …" * (len(told) > _LISTED)
            yield Fault("FILE-14", transcript.entries[heads[-1]].line, where)


def _branches(
    graph: EntryGraph, heads: set[int], talk: Sequence[int], shown: set[int]
) -> tuple[Counter[int], set[int], dict[int, int]]:
    """Return for each head how much is said from there on, the heads shown, and where they end."""
    sizes: Counter[int] = Counter()
    seen: set[int] = set()
    own = {head: head for head in heads}
    ends = dict(own)
    for at in talk:
        passed, end = graph.walk(at, own)
        head = own.get(end, NOWHERE)
        own.update(dict.fromkeys(passed, head))
        sizes[head] += 1
        ends[head] = at
        if at in shown:
            seen.add(head)
    for head in sorted(heads, reverse=True):  # what hangs on a branch of a branch is of both
        outer = own.get(graph.up[head], NOWHERE)
        sizes[outer] += sizes[head]
        ends[outer] = max(ends.get(outer, outer), ends[head])
        if head in seen:
            seen.add(outer)
    return sizes, seen, ends


def _repeated(tags: Tags, kind: str | None) -> set[str]:
    """Return the parents of several entries of one type."""
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
