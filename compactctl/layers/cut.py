"""Cut a text to a number of tokens, its note included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from compactctl import placeholders
from compactctl.placeholders import Cut
from compactctl.tokens import Counter
from compactctl.tokens.chunks import LONGEST, seam_after, seam_before

NOTE_TOKENS = 40
"""Room that the note needs; a limit below could not be kept."""

POINTER_TOKENS = 120
"""Room that the pointer to the whole text needs beside it."""

_STRIDE = 2000
"""Characters that are counted at once while looking for a cut; whole lines count by themselves."""

Ends = tuple[float, float]
"""The shares of the room that go to the head and to the tail."""


def shares(sizes: list[int], limit: int) -> list[int]:
    """Share ``limit`` among texts: small ones stay whole, the rest divide what is left."""
    given = list(sizes)
    left, many = limit, len(sizes)
    for size, at in sorted((size, at) for at, size in enumerate(sizes)):
        given[at] = min(size, left // many)
        left -= given[at]
        many -= 1
    return given


def source(counter: Counter, texts: Sequence[str]) -> Cut:
    """Return what there is to cut; several texts are put together.

    A text that was cut before gives its two ends, its size when it was whole, and its pointer.
    Another gives itself as both ends.
    """
    found = [placeholders.read_cut(text) or Cut(text, text, counter.count(text)) for text in texts]
    if len(found) == 1:
        return found[0]
    whole = "\n".join(
        one.head if one.head == one.tail else f"{one.head}\n{one.tail}" for one in found
    )
    pointer = next((one.pointer for one in found if one.pointer), None)
    return Cut(whole, whole, sum(one.original for one in found), pointer)


class _End(NamedTuple):
    """A head or a tail, its tokens, and those of it with a line end behind."""

    text: str
    tokens: int
    ended: int


def cut_text(counter: Counter, given: Cut, limit: int, ends: Ends) -> str:
    """Cut a text to ``limit`` tokens; the note states its size when it was whole."""
    if not (given.head and given.tail):  # an earlier cut left only one of them
        ends = float(bool(given.head)), float(bool(given.tail))
    room = limit - NOTE_TOKENS // 2
    while True:
        head = _head(counter, given.head, int(room * ends[0]))
        tail = _tail(counter, given.tail, int(room * ends[1]))
        left = head.tokens + tail.tokens
        left_of = msgspec.structs.replace(given, head=head.text, tail=tail.text)
        short = placeholders.cut(left_of, left)
        excess = _count(counter, short, head, tail) - limit
        if excess <= 0 or room <= 0:
            return short
        room = max(0, room - excess - 1)


def _count(counter: Counter, short: str, head: _End, tail: _End) -> int:
    """Count a text between whose ends a note stands, by the counts of the ends.

    No token reaches over the line end in front of the note's bracket, nor over the one behind
    the note, which the closing bracket takes to itself, unless more line ends or slashes follow.
    """
    if not counter.adds_up or tail.text[:1] in {"\r", "\n", "/"}:
        return counter.count(short)
    start = len(head.text) + 1 if head.text else 0
    note = short[start : len(short) - len(tail.text)]
    tokens = head.ended + counter.measure(note) + tail.tokens
    counter.remember(short, tokens)
    return tokens


def _head(counter: Counter, text: str, budget: int) -> _End:
    """Return the longest head of ``text`` within ``budget`` tokens, at a line if near."""
    start = end = used = 0
    exact = counter.adds_up
    while start < len(text):
        end, seam = seam_after(text, start + _STRIDE, start + LONGEST)
        tokens = counter.measure(text[start:end])
        if used + tokens > budget:
            break
        start, used, exact = end, used + tokens, exact and seam
    fit = start + _fitting(counter, text[start:end], budget - used, tail=False)
    head = _at_line(text[:fit])
    rest = head[start:]
    if len(head) <= start or not exact:  # the last piece was cut, so it is to be counted anew
        return _counted(counter, head)
    return _End(head, used + counter.measure(rest), used + counter.measure(f"{rest}\n"))


def _tail(counter: Counter, text: str, budget: int) -> _End:
    """Return the longest tail of ``text`` within ``budget`` tokens, at a line if near."""
    start = end = len(text)
    used = 0
    exact = counter.adds_up
    while end > 0:
        start, seam = seam_before(text, end - LONGEST, end - _STRIDE)
        tokens = counter.measure(text[start:end])
        if used + tokens > budget:
            break
        end, used, exact = start, used + tokens, exact and seam
    fit = end - _fitting(counter, text[start:end], budget - used, tail=True)
    tail = _at_line(text[fit:], tail=True)
    rest = len(tail) - (len(text) - end)
    if not tail or rest < 0 or not exact:
        return _counted(counter, tail)
    return _End(tail, used + counter.measure(tail[:rest]), 0)


def _counted(counter: Counter, text: str) -> _End:
    return _End(text, counter.measure(text), counter.measure(f"{text}\n") if text else 0)


def _fitting(counter: Counter, text: str, budget: int, *, tail: bool) -> int:
    """Return how many characters at one end of ``text`` are within ``budget`` tokens."""
    if budget <= 0 or not text:
        return 0
    low, high = 0, len(text)
    size = min(high, budget * 4)
    for _ in range(12):
        tokens = counter.measure(text[-size:] if tail else text[:size])
        if tokens > budget:
            high = size
        else:
            low = size
            if size == len(text) or tokens >= budget * 0.98:
                break
        guess = int(size * budget * 0.99 / max(tokens, 1))
        size = guess if low < guess < high else (low + high) // 2
        if size <= low:
            break
    return low


def _at_line(text: str, *, tail: bool = False) -> str:
    """Move a cut to the nearest line end inside, when that costs less than a tenth."""
    reach = len(text) // 10
    at = text.find("\n", 0, reach) if tail else text.rfind("\n", len(text) - reach)
    if at < 0:
        return text
    return text[at + 1 :] if tail else text[:at]
