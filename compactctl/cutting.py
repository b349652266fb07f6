"""Cut a text to a number of tokens, its note included."""

from __future__ import annotations

from compactctl import placeholders
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


def cut_text(counter: Counter, text: str, limit: int, ends: Ends, pointer: str | None) -> str:
    """Cut ``text`` to ``limit`` tokens; the note states its size when it was whole.

    A text that was cut before keeps its ends, its size and its pointer.
    """
    before = placeholders.read_cut(text)
    if before:
        head_of, tail_of, original = before.head, before.tail, before.original
        pointer = before.pointer or pointer
        ends = ends if head_of and tail_of else (float(bool(head_of)), float(bool(tail_of)))
    else:
        head_of = tail_of = text
        original = counter.count(text)
    room = limit - NOTE_TOKENS // 2
    while True:
        head = _end(counter, head_of, int(room * ends[0]), tail=False)
        tail = _end(counter, tail_of, int(room * ends[1]), tail=True)
        left = counter.count(head) + counter.count(tail)
        short = placeholders.cut(head, tail, original, left, pointer)
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
