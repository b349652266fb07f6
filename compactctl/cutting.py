"""Cut a text to a number of tokens, its note included."""

from __future__ import annotations

from collections.abc import Sequence

from compactctl import placeholders
from compactctl.placeholders import Cut
from compactctl.tokens import Counter

NOTE_TOKENS = 40
"""Room that the note needs; a limit below could not be kept."""

POINTER_TOKENS = 120
"""Room that the pointer to the whole text needs beside it."""

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
    """Give what there is to cut; several texts are put together.

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


def cut_text(counter: Counter, given: Cut, limit: int, ends: Ends) -> str:
    """Cut a text to ``limit`` tokens; the note states its size when it was whole."""
    if not (given.head and given.tail):  # an earlier cut left only one of them
        ends = float(bool(given.head)), float(bool(given.tail))
    room = limit - NOTE_TOKENS // 2
    while True:
        head = _end(counter, given.head, int(room * ends[0]), tail=False)
        tail = _end(counter, given.tail, int(room * ends[1]), tail=True)
        left = counter.count(head) + counter.count(tail)
        short = placeholders.cut(head, tail, given.original, left, given.pointer)
        excess = counter.count(short) - limit
        if excess <= 0 or room <= 0:
            return short
        room = max(0, room - excess - 1)


def _end(counter: Counter, text: str, budget: int, *, tail: bool) -> str:
    """Give the longest head (or tail) of ``text`` within ``budget`` tokens, at a line if near."""
    if budget <= 0 or not text:
        return ""
    low, high = 0, len(text)
    size = min(high, budget * 4)
    for _ in range(12):
        tokens = counter.count(text[-size:] if tail else text[:size])
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
    return _at_line(text[-low:] if low else "", tail=True) if tail else _at_line(text[:low])


def _at_line(text: str, *, tail: bool = False) -> str:
    """Move a cut to the nearest line end inside, when that costs less than a tenth."""
    reach = len(text) // 10
    at = text.find("\n", 0, reach) if tail else text.rfind("\n", len(text) - reach)
    if at < 0:
        return text
    return text[at + 1 :] if tail else text[:at]
