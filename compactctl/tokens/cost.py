"""What a block, a message and a view cost.

Only what the model reads counts: no frame is added a message, for that differs by provider.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import msgspec

from compactctl.jsonl import DECODE_ERRORS
from compactctl.tokens.images import UNKNOWN_TOKENS, image_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compactctl.model import Block, Message
    from compactctl.tokens.counter import Counter


def count_view(counter: Counter, messages: Iterable[Message]) -> int:
    """Give the tokens of ``messages``; raises what ``Counter.count`` raises."""
    return _count(counter, [block for message in messages for block in message.blocks])


def recount_view(
    counter: Counter, tokens: int, before: Sequence[Message], after: Sequence[Message]
) -> int:
    """Give the tokens of a view that was changed, and had ``tokens`` before.

    Only messages that are in one of the two are looked at.
    """
    if len(after) * 2 < len(before):
        return count_view(counter, after)
    old = set(map(id, before))
    come = count_view(counter, (message for message in after if id(message) not in old))
    old.difference_update(map(id, after))
    gone = count_view(counter, (message for message in before if id(message) in old))
    return tokens + come - gone


def count_message(counter: Counter, message: Message) -> int:
    """Give the tokens of the blocks of ``message``; raises what ``Counter.count`` raises."""
    return sum([count_block(counter, block) for block in message.blocks])


def count_block(counter: Counter, block: Block) -> int:
    """Give the tokens of ``block``: images by their dimensions, a call's name beside its input.

    Raises what ``Counter.count`` raises.
    """
    kind = block.kind
    if kind == "call":
        return counter.count(block.name) + counter.count(_plainly_spelled(block.text))
    if kind == "result":
        return sum([count_block(counter, piece) for piece in block.content])
    return _image_tokens(block) if kind == "image" else counter.count(block.text)


def _count(counter: Counter, blocks: Iterable[Block]) -> int:
    """Count as ``count_block`` does, all texts together."""
    texts: list[str] = []
    images = 0
    for block in blocks:
        kind = block.kind
        if kind == "call":
            texts += (block.name, _plainly_spelled(block.text))
        elif kind == "result":
            for piece in block.content:
                if piece.kind == "image":
                    images += _image_tokens(piece)
                else:
                    texts.append(piece.text)
        elif kind == "image":
            images += _image_tokens(block)
        else:
            texts.append(block.text)
    return counter.total(texts) + images


def _image_tokens(block: Block) -> int:
    return image_tokens(block.image) if block.image else UNKNOWN_TOKENS


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
