"""Shorten long tool results."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from compactctl import placeholders
from compactctl.errors import UsageError
from compactctl.layer import Action, Change, View, number
from compactctl.model import Block, Message, replace_blocks
from compactctl.tools import is_shell

EXAMPLE = "compactctl truncate session.jsonl --max-tokens 2000 -o small.jsonl"

Keep = Literal["auto", "head", "tail", "both"]

SMALLEST = 40
"""Tokens below which the note that states the original size would not fit."""


def truncate(
    view: View,
    *,
    max_tokens: Annotated[int, "Tokens that one tool result may keep, its note included."] = 5000,
    keep: Annotated[
        Keep,
        "What to keep of a long result: its head, its tail or both ends; auto keeps both ends of "
        "shell output, where the error is at the end, and the head of all else.",
    ] = "auto",
) -> Change:
    """Cut tool results over --max-tokens; a note in the gap states the original size."""
    if max_tokens < SMALLEST:
        raise UsageError(f"--max-tokens must be at least {SMALLEST}, the room that the note needs")
    names: dict[str | None, str] = {}
    actions: list[Action] = []
    messages: list[Message] = []
    for message in view.messages:
        blocks: list[Block] = []
        for block in message.blocks:
            if block.kind == "call":
                names[block.call_id] = block.name
            elif block.kind == "result":
                ends = _ends(keep, names.get(block.call_id, ""))
                blocks.append(_cut(view, block, max_tokens, ends, actions))
                continue
            blocks.append(block)
        messages.append(replace_blocks(message, blocks))
    return Change(messages, actions, f"{number(len(actions), 'result')} cut")


def _ends(keep: Keep, tool: str) -> tuple[float, float]:
    """Give the shares of the budget that go to the head and to the tail."""
    if keep == "auto":
        keep = "both" if is_shell(tool) else "head"
    return {"head": (1.0, 0.0), "tail": (0.0, 1.0)}.get(keep, (1 / 3, 2 / 3))


def _cut(
    view: View, result: Block, limit: int, ends: tuple[float, float], actions: list[Action]
) -> Block:
    """Cut the texts of one result to ``limit`` tokens in all; images stay where they are."""
    texts = [piece.text for piece in result.content if piece.kind == "text"]
    if sum(map(len, texts)) * 4 <= limit or (len(texts) == 1 and view.counter.fits(texts[0], limit)):
        return result
    sizes = [view.counter.count(text) for text in texts]
    if sum(sizes) <= limit:
        return result
    room = iter(_shares(sizes, limit))
    content = tuple(
        _cut_piece(view, piece, next(room), ends) if piece.kind == "text" else piece
        for piece in result.content
    )
    after = sum(view.counter.count(piece.text) for piece in content if piece.kind == "text")
    if after >= sum(sizes):
        return result
    actions.append(Action("truncate", result.entry, result.call_id, sum(sizes), after))
    return msgspec.structs.replace(result, content=content)


def _shares(sizes: list[int], limit: int) -> list[int]:
    """Share ``limit`` among texts: small ones stay whole, the rest divide what is left."""
    shares = list(sizes)
    left, many = limit, len(sizes)
    for size, at in sorted((size, at) for at, size in enumerate(sizes)):
        shares[at] = min(size, left // many)
        left -= shares[at]
        many -= 1
    return shares


def _cut_piece(view: View, piece: Block, limit: int, ends: tuple[float, float]) -> Block:
    """Cut one text to ``limit`` tokens, note included."""
    if view.counter.fits(piece.text, limit):
        return piece
    before = placeholders.read_cut(piece.text)
    if before:
        head_of, tail_of, original = before.head, before.tail, before.original
        ends = ends if head_of and tail_of else (float(bool(head_of)), float(bool(tail_of)))
    else:
        head_of = tail_of = piece.text
        original = view.counter.count(piece.text)
    room = limit - SMALLEST // 2
    while True:
        head = _end(view, head_of, int(room * ends[0]), tail=False)
        tail = _end(view, tail_of, int(room * ends[1]), tail=True)
        left = view.counter.count(head) + view.counter.count(tail)
        text = placeholders.cut(head, tail, original, left)
        excess = view.counter.count(text) - limit
        if excess <= 0 or room <= 0:
            return msgspec.structs.replace(piece, text=text)
        room = max(0, room - excess - 1)


def _end(view: View, text: str, budget: int, *, tail: bool) -> str:
    """Give the longest head (or tail) of ``text`` within ``budget`` tokens, at a line if near."""
    if budget <= 0 or not text:
        return ""
    low, high = 0, len(text)
    size = min(high, budget * 4)
    for _ in range(12):
        piece = text[-size:] if tail else text[:size]
        tokens = view.counter.count(piece)
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
