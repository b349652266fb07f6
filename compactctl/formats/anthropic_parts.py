"""Content blocks of the Messages API, which Claude Code shares: read, edit, make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from compactctl.formats import sent
from compactctl.formats.base import identifier, string
from compactctl.formats.sent import Whole
from compactctl.images import read_image
from compactctl.model import BARE, MADE, Block, Image
from compactctl.opaque import encrypted

_EMPTY = msgspec.Raw(b"{}")


class ContentBlock(msgspec.Struct, gc=False):
    """The members of a content block that the view needs; any other is skipped unread."""

    type: Any = None
    text: Any = None
    thinking: Any = None
    signature: msgspec.Raw = msgspec.Raw()
    data: msgspec.Raw = msgspec.Raw()
    id: Any = None
    name: Any = None
    input: msgspec.Raw = _EMPTY
    tool_use_id: Any = None
    content: str | list[ContentBlock | str] | ContentBlock | None = None
    is_error: Any = None
    source: Any = None
    caller: Any = None
    read_path: Any = msgspec.field(default=None, name="_read_path")


Content = str | list[ContentBlock | str] | ContentBlock | None
"""Strings in a list, and a block that stands alone, are no content that a provider takes."""


def blocks(content: Content, entry: int, whole: Whole, cwd: str = "") -> list[Block]:
    """Return the blocks of a message's content, in order; ``at`` is the index in the list.

    ``cwd`` is the folder that the paths of calls start from.
    """
    if content is None:
        return []
    if isinstance(content, str):
        return [Block("text", content, entry=entry)]
    if isinstance(content, ContentBlock):
        only = _block(content, entry, 0, whole, cwd)
        return [msgspec.structs.replace(only, type=BARE) if only.kind == "text" else only]
    return [_block(block, entry, at, whole, cwd) for at, block in enumerate(content)]


def holds_result(content: Content) -> bool:
    """Return True if a block of a content is a result."""
    if isinstance(content, ContentBlock):
        content = [content]
    return isinstance(content, list) and any(
        not isinstance(block, str) and block.type == "tool_result" for block in content
    )


def _block(block: ContentBlock | str, entry: int, at: int, whole: Whole, cwd: str) -> Block:
    if isinstance(block, str):
        return Block("text", block, type=BARE, entry=entry, at=at)
    kind = block.type
    if kind == "text":
        return Block("text", string(block.text), entry=entry, at=at)
    if kind == "tool_use":
        return Block(
            "call",
            bytes(block.input).decode(errors="replace"),
            identifier(block.id),
            string(block.name),
            entry=entry,
            at=at,
            cwd=cwd,
            caller=None if block.caller is None else _caller(block.caller),
        )
    if kind == "tool_result":
        return Block(
            "result",
            call_id=identifier(block.tool_use_id),
            content=_pieces(block.content, entry, at, whole),
            failed=block.is_error is True,
            entry=entry,
            at=at,
            path=identifier(block.read_path),
        )
    if kind == "thinking":
        text = string(block.thinking)
        hidden = 0 if text else encrypted(_length(block.signature))
        return Block("thinking", text, opaque=hidden, entry=entry, at=at)
    if kind == "redacted_thinking":
        return Block("thinking", opaque=encrypted(_length(block.data)), entry=entry, at=at)
    if kind == "image":
        return Block("image", image=_image(block.source), entry=entry, at=at)
    call_id = identifier(block.id) or identifier(block.tool_use_id)
    found = sent.unfold(sent.part_of(whole, entry, at), entry, at)
    return msgspec.structs.replace(found, call_id=call_id, type=string(kind))


def _pieces(content: Content, entry: int, at: int, whole: Whole) -> tuple[Block, ...]:
    """Return the pieces of the result that is part ``at`` of an entry."""
    if isinstance(content, str):  # nearly always
        return (Block("text", content, entry=entry),)
    if content is None:
        return ()

    def inside(index: int) -> list[Any]:
        return parts(sent.part_of(whole, index, at).get("content"))

    return tuple(blocks(content, entry, inside))


def _length(raw: msgspec.Raw) -> int:
    """Return the length of a string, between its quotes."""
    return max(memoryview(raw).nbytes - 2, 0)


def _caller(value: Any) -> str | None:
    return identifier(value.get("tool_id")) if isinstance(value, dict) else None


def _image(source: Any) -> Image:
    if not isinstance(source, dict):
        return Image("", 0)
    return read_image(string(source.get("media_type")), string(source.get("data")))


def parts(content: Any) -> list[Any]:
    """Return a parsed content as a list of parts, the inverse of :func:`content`."""
    return content if isinstance(content, list) else [content]


def content(edited: list[Any]) -> Any:
    """Put parts back: a single string stays a string, else strings become text blocks."""
    if len(edited) == 1 and isinstance(edited[0], str):
        return edited[0]
    return [{"type": "text", "text": part} if isinstance(part, str) else part for part in edited]


def edit(part: Any, block: Block) -> Any:
    """Return ``part`` with the text of ``block``; every other member stays.

    A text in place of a part of another kind, an image say, is written anew.
    """
    if isinstance(part, str):
        return block.text
    if block.kind == "text":
        return part | {"text": block.text} if part.get("type") == "text" else make(block)
    if block.kind == "call" and block.call_id != part.get("id"):
        return part | {"id": block.call_id}
    if block.kind == "result":
        new = {"content": _edit_result(part.get("content"), block.content)}
        return part | {"tool_use_id": block.call_id} | new
    return sent.refold(part, block) if block.content else part


def _edit_result(old: Any, pieces: tuple[Block, ...]) -> Any:
    if not isinstance(old, list | dict):
        return made(pieces)
    old = parts(old)
    return [make(piece) if piece.entry == MADE else edit(old[piece.at], piece) for piece in pieces]


def made(blocks: Sequence[Block]) -> Any:
    """Return the content of a new message: a string for a single text."""
    return content([block.text if block.kind == "text" else make(block) for block in blocks])


def make(block: Block) -> dict[str, Any]:
    """Return the part for a block that no line holds yet."""
    if block.kind == "call":
        return {
            "type": "tool_use",
            "id": block.call_id,
            "name": block.tool,
            "input": msgspec.json.decode(block.text or "{}"),
        }
    if block.kind == "result":
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": block.call_id}
        made = [make(piece) for piece in block.content]
        only_text = len(made) == 1 and block.content[0].kind == "text"
        result["content"] = made[0]["text"] if only_text else made
        if block.failed:
            result["is_error"] = True
        if block.path is not None:
            result["_read_path"] = block.path
        return result
    if block.kind == "thinking":
        return {"type": "thinking", "thinking": block.text, "signature": ""}
    if block.kind == "image":
        source = {"type": "base64", "media_type": (block.image or Image("", 0)).media_type}
        return {"type": "image", "source": source | {"data": ""}}
    return {
        "type": block.type if block.kind in {"document", "other"} else "text",
        "text": block.text,
    }
