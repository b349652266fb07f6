"""What the model reads: messages made of blocks, the same for every format.

A view is a list of messages. Everything here is immutable: a layer makes new messages, and a
block that it did not touch stays the same object, which is how the writer knows what to leave
byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from compactctl.jsonl import DECODE_ERRORS

Role = Literal["system", "user", "assistant"]
Kind = Literal["text", "thinking", "call", "result", "image", "document", "other"]

MADE = -1
"""The ``entry`` of a block that a layer made and no line of the input holds."""


BARE = "string"
"""The ``type`` of a text that stands where a provider wants content blocks, and is none."""


COMPACTION = "compactctl.compaction"
"""The type of the line that stands in front of a summary: what precedes it is out of the view."""


class Image(msgspec.Struct, frozen=True, gc=False):
    """An image by what its header says. ``size`` is bytes of the file, 0 pixels if unknown."""

    media_type: str
    size: int
    width: int = 0
    height: int = 0


class Block(msgspec.Struct, frozen=True, gc=False):
    """One piece of a message.

    ``text`` is what the model reads: the text itself, the thinking, a call's arguments as JSON
    text, or "" for images. A result keeps its pieces in ``content``; a document, or a block of a
    kind that is not known, keeps there what of it may be cut, and the rest as JSON in ``text``.
    ``entry`` is the index of the entry that holds the block and ``at`` its place among that entry's
    parts.
    """

    kind: Kind
    text: str = ""
    call_id: str | None = None
    tool: str = ""
    """The tool of a call, and of a result whose record names it."""
    content: tuple[Block, ...] = ()
    failed: bool = False
    image: Image | None = None
    entry: int = MADE
    at: int = 0
    path: str | None = None
    """For a result: the path that its record names as the file it shows (``_read_path``)."""
    cwd: str = ""
    """For a call: the folder that relative paths in it start from, when the record says."""
    caller: str | None = None
    """For a call: the id of the server tool's call whose code made it, when its record says."""
    meta: bool = False
    """A user block that the harness wrote and no person did."""
    is_summary: bool = False
    """A text in which a harness summed up what came before."""
    bound: bool = False
    """Reasoning that its provider wants back as it was with the calls of its step, or the call that
    carries its signature. Anthropic's is none of it: it goes stale instead, and may be left out."""
    opaque: int = 0
    """Tokens of what only the provider can read: encrypted text, the pages of a PDF."""
    files: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """For a summary: the files read and modified that its record names beside the text."""
    type: str = ""
    """The format's own type: of a document or a block of kind "other", and of a result that a layer
    made.

    Of a text it is "" or ``BARE``.
    """


class Message(msgspec.Struct, frozen=True, gc=False):
    """One API message: a role and its blocks, from one entry or several."""

    role: Role
    blocks: tuple[Block, ...]


def result_text(block: Block) -> str:
    """Join the text pieces of a result, as the model reads them."""
    if len(block.content) == 1:
        return block.content[0].text
    return "\n".join(part.text for part in block.content if part.kind == "text")


def text_pieces(block: Block) -> Iterator[Block]:
    """Yield the text pieces of a block, those of documents in a result too."""
    for piece in block.content:
        if piece.kind == "text":
            yield piece
        elif piece.content:
            yield from text_pieces(piece)


def with_texts(block: Block, new: Iterator[str]) -> Block:
    """Put new texts into the places of the first old ones; the others go.

    So does a document in a result that has no text any more.
    """
    pieces: list[Block] = []
    for piece in block.content:
        if piece.kind == "text":
            text = next(new, None)
            if text is not None:
                same = text == piece.text
                pieces.append(piece if same else msgspec.structs.replace(piece, text=text))
        else:
            inner = with_texts(piece, new) if piece.content else piece
            if inner is piece or any(text_pieces(inner)) or not any(text_pieces(piece)):
                pieces.append(inner)
    return msgspec.structs.replace(block, content=tuple(pieces))


def arguments(block: Block) -> dict[str, Any]:
    """Parse a call's arguments; {} when they are not a JSON object."""
    try:
        value = msgspec.json.decode(block.text)
    except DECODE_ERRORS:
        return {}
    return value if isinstance(value, dict) else {}


def replace_blocks(message: Message, blocks: Sequence[Block]) -> Message:
    """Return ``message`` with other blocks; the very same message when they are the same blocks."""
    if len(blocks) == len(message.blocks) and all(
        new is old for new, old in zip(blocks, message.blocks, strict=True)
    ):
        return message
    return Message(message.role, tuple(blocks))
