"""What a message holds: no empty text, an object as arguments, only text where a call failed.

Emptiness is refused in three ways and legal in two: ``content: []`` and a bare ``""`` of an
assistant were accepted (measured).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compactctl.jsonl import DECODE_ERRORS
from compactctl.model import BARE
from compactctl.rules.rule import ANTHROPIC, EVERY, GATEWAY, Breach, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compactctl.model import Block
    from compactctl.rules.context import Found, RuleContext

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])

RULES = (
    Rule(
        id="TEXT-01",
        profiles=ANTHROPIC,
        severity="error",
        says="a text is empty",
        fix="remove the text",
        repaired=True,
        provider={"anthropic": "messages: text content blocks must be non-empty"},
    ),
    Rule(
        id="TEXT-02",
        profiles=ANTHROPIC,
        severity="error",
        says="a text is only whitespace",
        fix="remove the text",
        repaired=True,
        provider={"anthropic": "messages: text content blocks must contain non-whitespace text"},
    ),
    Rule(
        id="RESULT-01",
        profiles=ANTHROPIC,
        severity="error",
        says="an error result contains non-text content",
        fix="keep only the text",
        repaired=True,
        provider={"anthropic": "all content must be type `text` if `is_error` is true"},
    ),
    Rule(
        id="GATE-05",
        profiles=GATEWAY,
        severity="error",
        says="an assistant message is empty",
        fix="remove the message, or give it a text",
        provider={
            "gateway": "all messages must have non-empty content except for the optional final "
            "assistant message"
        },
    ),
    Rule(
        id="PART-01",
        profiles=ANTHROPIC,
        severity="error",
        says="a part of a message is not a content block",
        fix='write it as {"type": "text", "text": …}',
        repaired=True,
    ),
    Rule(
        id="ARGS-01",
        profiles=EVERY - {"core"},
        severity="warning",
        says="the arguments of a call are not a JSON object",
        fix="write them as a JSON object; clients and strict providers reject anything else",
    ),
)


def find(context: RuleContext) -> Iterator[Breach]:
    """Judge each text, each call and each result."""
    yield from _texts(context)
    for call in context.of("call"):
        if not _is_object(call.block.text):
            yield Breach("ARGS-01", call.place)
    for result in context.of("result"):
        if result.block.failed and any(piece.kind != "text" for piece in result.block.content):
            yield Breach("RESULT-01", result.place)
        if _has_empty_piece(context, result.block):
            yield Breach("TEXT-01", result.place, "in a result")
    for found in (*context.of("text"), *context.of("other"), *context.of("result")):
        if is_no_part(found.block):
            yield Breach("PART-01", found.place)


def is_no_part(block: Block) -> bool:
    """Return True if a block, or a piece of a result, is no content block by its type.

    What was no object has no type at all, and a string keeps its words.
    """
    if block.kind == "other":
        return not block.type
    return block.type == BARE if block.kind == "text" else any(map(is_no_part, block.content))


def _texts(context: RuleContext) -> Iterator[Breach]:
    for found in context.of("text"):
        text = found.block.text
        if not text:
            if not _may_be_empty(context, found):
                yield Breach("TEXT-01", found.place)
            elif found.message < len(context.messages) - 1:
                yield Breach("GATE-05", found.place)
        elif text.isspace() and context.role(found) != "system":
            yield Breach("TEXT-02", found.place)


def _may_be_empty(context: RuleContext, found: Found) -> bool:
    """Return True if an empty text is an assistant's bare ``""`` and no text block.

    Without the lines that cannot be told, and what may be legal is not reported.
    """
    if context.role(found) != "assistant" or len(context.messages[found.message].blocks) > 1:
        return False
    return not isinstance(context.part(found.block), dict)


def _has_empty_piece(context: RuleContext, result: Block) -> bool:
    """Return True if a text block in a result is empty; a bare ``""`` is a legal content."""
    for piece in result.content:
        if not piece.text and piece.kind == "text":
            break
    else:
        return False
    part = context.part(result) if len(result.content) == 1 else {"content": []}
    return isinstance(part, dict) and isinstance(part.get("content"), list)


def _is_object(arguments: str) -> bool:
    """Return True if arguments parse; a call without any has the text ""."""
    if not arguments:
        return True
    try:
        _OBJECT.decode(arguments)
    except DECODE_ERRORS:
        return False
    return True
