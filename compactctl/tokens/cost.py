"""What a block, a message and a view cost.

Only what the model reads counts: no frame is added a message, for that differs by provider.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec

from compactctl.jsonl import DECODE_ERRORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compactctl.model import Block, Image, Message
    from compactctl.tokens.counter import Counter

PATCH = 28
"""Edge in pixels of the square that costs one token."""

MAX_EDGE = 2576
MAX_TOKENS = 4784
"""What a larger image is scaled down to."""

UNKNOWN_TOKENS = 1568
"""For an image of unknown size: the most one costs models without high resolution."""


def count_view(counter: Counter, messages: Iterable[Message]) -> int:
    """Return the tokens of ``messages``; raises what ``Counter.count`` raises."""
    return _count(counter, [block for message in messages for block in message.blocks])


def recount_view(
    counter: Counter, tokens: int, before: Sequence[Message], after: Sequence[Message]
) -> int:
    """Return the tokens of a view that was changed, and had ``tokens`` before.

    Only messages that are in one of the two, not in both, are counted.
    """
    if len(after) * 2 < len(before):
        return count_view(counter, after)
    old = set(map(id, before))
    come = count_view(counter, (message for message in after if id(message) not in old))
    old.difference_update(map(id, after))
    gone = count_view(counter, (message for message in before if id(message) in old))
    return tokens + come - gone


def count_message(counter: Counter, message: Message) -> int:
    """Return the tokens of the blocks of ``message``; raises what ``Counter.count`` raises."""
    return sum([count_block(counter, block) for block in message.blocks])


def count_block(counter: Counter, block: Block) -> int:
    """Return the tokens of ``block``: images by their dimensions, a call's name beside its input.

    Raises what ``Counter.count`` raises.
    """
    kind = block.kind
    if kind == "call":
        return counter.count(block.tool) + counter.count(_plainly_spelled(block.text))
    if kind == "result":
        return sum([count_block(counter, piece) for piece in block.content])
    if kind == "image":
        return image_tokens(block.image)
    if kind == "text":
        return counter.count(block.text)
    pieces = sum([count_block(counter, piece) for piece in block.content])
    return counter.count(block.text) + block.opaque + pieces


def image_tokens(image: Image | None) -> int:
    """Return what an image costs, by the formula of Anthropic's vision documentation.

    One token for each patch of 28 by 28 pixels, after the image is scaled down until its edges,
    padded to whole patches, are at most 2,576 pixels and its patches at most 4,784 (the limits of
    high resolution, so the count errs on the safe side elsewhere). An image of unknown size costs
    ``UNKNOWN_TOKENS``.
    """
    short, long = sorted((image.width, image.height)) if image else (0, 0)
    if short < 1:
        return UNKNOWN_TOKENS

    def patches(edge: int) -> int:
        return -(-edge // PATCH) * -(-max(1, round(short * edge / long)) // PATCH)

    edges = range(1, min(long, MAX_EDGE) + 1)
    return patches(bisect_right(edges, MAX_TOKENS, key=patches))


def _count(counter: Counter, blocks: Iterable[Block]) -> int:
    """Count as ``count_block`` does, all texts together."""
    texts: list[str] = []
    known = 0
    for block in blocks:
        kind = block.kind
        if kind == "text":
            texts.append(block.text)
        elif kind == "call":
            texts += (block.tool, _plainly_spelled(block.text))
        elif kind == "result":
            for piece in block.content:
                if piece.kind == "text":
                    texts.append(piece.text)
                else:
                    known += _take(piece, texts)
        else:
            known += _take(block, texts)
    return counter.total(texts) + known


def _take(block: Block, texts: list[str]) -> int:
    """Add the texts of a block that is no call to ``texts``; return the tokens of all else."""
    if block.kind == "image":
        return image_tokens(block.image)
    texts.append(block.text)
    return block.opaque + sum([_take(piece, texts) for piece in block.content])


@functools.lru_cache(maxsize=1 << 16)
def _plainly_spelled(text: str) -> str:
    r"""Write JSON without escapes and spaces that it can do without; other text as it is.

    The same arguments reach the model the same however a format spelled them: an object in one,
    a string with ``\u`` escapes in another.
    """
    try:
        plain = msgspec.json.encode(msgspec.json.decode(text)).decode()
    except DECODE_ERRORS:
        return text
    return text if plain == text else plain  # the same object takes no more room
