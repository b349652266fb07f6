"""A summary without a model: what can be taken from the messages themselves.

Each kind of facts has its share of the room, and what some kinds leave goes to the others, in the
order in which an agent needs them. Nothing is invented, so nothing can be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from compactctl import summaries
from compactctl.summaries import (
    ALSO,
    ANSWERED,
    ASKED,
    BRANCH,
    CONSTRAINTS,
    GOAL,
    MODIFIED,
    NEXT,
    OBSERVED,
    OPEN_RESULTS,
    RAN,
    SAID,
    STATUS,
)
from compactctl.text import middle_cut, plural
from compactctl.view.facts import Counts, Facts
from compactctl.view.requests import says_something

Count = Callable[[str], int]

_GOAL = 3000
"""Characters of the goal."""
_REPEATED = 400
"""Characters of the goal where the whole request stands beside the summary."""
_PASTED = 800
"""Characters of any other request; more is pasted, and is cut in its middle."""
_BRANCHES = 5
"""Branches and commits that are named, the latest."""
_AROUND = 3
"""Tokens that a line of a list takes beside its item."""
_SMALLEST = 12
"""Tokens below which there is no use in what is left of an item."""
_LONGEST = 8000
"""Characters of an item that are looked at."""


class _Kind(NamedTuple):
    """Items of one section, the most needed first; some are of no use when they are cut."""

    section: str
    share: float
    items: Sequence[str]
    cuts: bool = True
    is_counted: bool = True


def digest(facts: Facts, count: Count, limit: int, *, beside: Sequence[str] = ()) -> str:
    """Write the seven sections within ``limit`` tokens; ``beside`` are requests that stay whole."""
    counts = _counts(facts.counts)
    kinds = _kinds(facts, beside)
    bare = summaries.write({STATUS: [counts]})
    room = limit - count(bare)
    while True:
        sections = _filled(kinds, facts.counts.left_out, count, room)
        sections[STATUS].insert(0, counts)
        text = summaries.write(sections)
        if room <= 0:
            return bare
        if count(text) <= limit:
            return text
        room = room * 9 // 10 - 1


def _kinds(facts: Facts, beside: Sequence[str]) -> list[_Kind]:
    """Return what the summary says, the most needed first."""
    files, todos = facts.files, facts.todos
    modified = set(files.modified)
    goal, asked, also = _requests(facts, beside)
    rules = [rule for rule in facts.rules if rule not in goal]
    return [
        _Kind(MODIFIED, 0.12, files.modified[::-1], cuts=False),
        _Kind(OBSERVED, 0.06, [p for p in files.read[::-1] if p not in modified], cuts=False),
        _Kind(GOAL, 0.15, goal),
        _Kind(CONSTRAINTS, 0.15, rules[::-1]),
        _Kind(OPEN_RESULTS, 0.12, facts.failures[::-1]),
        _Kind(NEXT, 0.08, todos),
        _Kind(STATUS, 0.08, [ANSWERED + facts.answered] if facts.answered else []),
        _Kind(STATUS, 0.03, [BRANCH + one for one in facts.branches[: -_BRANCHES - 1 : -1]]),
        _Kind(STATUS, 0.12, [ASKED + words for words in asked]),
        _Kind(STATUS, 0.05, also, is_counted=False),
        _Kind(STATUS, 0.12, [SAID + facts.last_words] if facts.last_words else []),
        _Kind(NEXT, 0.05, [s for s in facts.next_steps[::-1] if s not in todos], is_counted=False),
        _Kind(STATUS, 0.15, facts.notes[::-1], is_counted=False),
        _Kind(STATUS, 0.08, [RAN + one for one in facts.calls[::-1]], cuts=False, is_counted=False),
    ]


def _requests(facts: Facts, beside: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the goal, other requests, the newest first, and those that say next to nothing."""
    requests = facts.requests
    goal = next(filter(says_something, requests), "".join(requests[:1]))
    known = {goal, *beside, *facts.rules}
    rest = [words for words in requests[::-1] if words not in known]
    asked = [middle_cut(_flat(words), _PASTED) for words in rest if says_something(words)]
    short = [_flat(words) for words in rest if not says_something(words)]
    also = [ALSO + "; ".join(short)] if short else []
    width = _REPEATED if goal in beside else _GOAL
    return [middle_cut(_flat(goal), width)] if goal else [], asked, also


def _counts(counts: Counts) -> str:
    said = f"{plural(counts.messages, 'message')} with {plural(counts.calls, 'tool call')}"
    gone = f", and {plural(counts.removed, 'message')} removed before" if counts.removed else ""
    return f"Summarised here: {said}{gone}; lists have the newest first."


def _filled(
    kinds: Sequence[_Kind], left_out: dict[str, int], count: Count, room: int
) -> dict[str, list[str]]:
    """Return the sections with what fits into ``room`` tokens."""
    priced = [_priced(kind, count, room) for kind in kinds]
    needs = [sum(price for _, price in items) for items in priced]
    given = [min(need, int(kind.share * room)) for need, kind in zip(needs, kinds, strict=True)]
    rest = room - sum(given)
    for at, need in enumerate(needs):
        more = max(0, min(need - given[at], rest))
        given[at] += more
        rest -= more
    sections: dict[str, list[str]] = {name: [] for name in summaries.SECTIONS}
    hidden = dict(left_out)
    for kind, items, has in zip(kinds, priced, given, strict=True):
        listed = _fitting(kind, items, has, count)
        sections[kind.section] += listed
        if kind.is_counted and len(listed) < len(kind.items):
            hidden[kind.section] = hidden.get(kind.section, 0) + len(kind.items) - len(listed)
    for name, many in hidden.items():
        sections[name].append(f"({many:,} earlier not listed)")
    return sections


def _priced(kind: _Kind, count: Count, room: int) -> list[tuple[str, int]]:
    """Return the first items with their tokens, as many as could fit at best."""
    found: list[tuple[str, int]] = []
    left = room
    for item in kind.items:
        if left <= 0:
            break
        flat = _flat(middle_cut(item, _LONGEST))
        price = count(flat) + _AROUND
        found.append((flat, price))
        left -= price
    return found


def _fitting(kind: _Kind, items: Sequence[tuple[str, int]], room: int, count: Count) -> list[str]:
    listed: list[str] = []
    for item, price in items:
        if price > room:
            if kind.cuts and room >= _SMALLEST:
                listed.append(_cut_to(item, room - _AROUND, count))
            break
        listed.append(item)
        room -= price
    return listed


def _cut_to(item: str, room: int, count: Count) -> str:
    """Cut an item in its middle until it has no more than ``room`` tokens."""
    width = min(len(item), room * 6)
    while count(short := middle_cut(item, width)) > room and width > 1:
        width = width * 4 // 5
    return short


def _flat(text: str) -> str:
    return " ".join(text.split())
