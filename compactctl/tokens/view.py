"""What a block, a message and a view cost.

Only what the model reads counts: no frame is added a message, for that differs by provider.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compactctl.tokens.images import UNKNOWN_TOKENS, image_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compactctl.model import Block, Message
    from compactctl.tokens.counter import Counter


def count_view(counter: Counter, messages: Iterable[Message]) -> int:
    """Give the tokens of ``messages``; raises what ``Counter.count`` raises."""
    return sum(count_message(counter, message) for message in messages)


def count_message(counter: Counter, message: Message) -> int:
    """Give the tokens of the blocks of ``message``; raises what ``Counter.count`` raises."""
    return sum(count_block(counter, block) for block in message.blocks)


def count_block(counter: Counter, block: Block) -> int:
    """Give the tokens of ``block``: images by their dimensions, a call's name beside its input.

    Raises what ``Counter.count`` raises.
    """
    match block.kind:
        case "call":
            return counter.count(block.name) + counter.count(_plainly_spelled(block.text))
        case "result":
            return sum(count_block(counter, part) for part in block.content)
        case "image":
            return image_tokens(block.image) if block.image else UNKNOWN_TOKENS
        case _:
            return counter.count(block.text)


def _plainly_spelled(text: str) -> str:
    r"""Write JSON without escapes and spaces that it can do without; other text as it is.

    The same arguments reach the model the same however a format spelled them: an object in one,
    a string with ``\u`` escapes in another.
    """
    try:
        return msgspec.json.encode(msgspec.json.decode(text)).decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return text
