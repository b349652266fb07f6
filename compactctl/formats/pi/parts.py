"""The lines of pi and the parts of their content: read, edit, make.

Names and shapes are those of pi's own types: ``TextContent``, ``ThinkingContent``,
``ImageContent`` and ``ToolCall`` of its package ``ai``, ``BashExecutionMessage`` of its agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.formats import anthropic_parts, base, sent
from compactctl.formats.base import identifier, string
from compactctl.formats.sent import Whole
from compactctl.images import read_image
from compactctl.model import BARE, MADE, Block, Image
from compactctl.opaque import encrypted

if TYPE_CHECKING:
    from compactctl.model import Role

_ANTHROPIC = frozenset({"", "anthropic-messages", "bedrock-converse-stream"})
"""APIs whose thinking is signed; old entries name none."""
_EMPTY = msgspec.Raw(b"{}")
_NO_USAGE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0} | {
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
}


class Part(msgspec.Struct, gc=False, rename="camel"):
    """The members of a content part that the view needs; any other is skipped unread."""

    type: Any = None
    text: Any = None
    thinking: Any = None
    thinking_signature: Any = None
    thought_signature: Any = None
    redacted: Any = None
    id: Any = None
    name: Any = None
    arguments: msgspec.Raw = _EMPTY
    data: Any = None
    mime_type: Any = None


Content = str | list[Part | str] | Part | None
"""Strings in a list, and a part that stands alone, are none that pi writes."""


class Body(msgspec.Struct, gc=False, rename="camel"):
    """The message inside an entry of type ``message``, of any role."""

    role: Any = None
    content: Content = None
    stop_reason: Any = None
    api: Any = None
    model: Any = None
    tool_call_id: Any = None
    tool_name: Any = None
    is_error: Any = None
    command: Any = None
    output: Any = None
    exit_code: Any = None
    cancelled: Any = None
    truncated: Any = None
    full_output_path: Any = None
    exclude_from_context: Any = None


class Record(base.Record, rename="camel"):
    """One line."""

    id: Any = None
    parent_id: Any = None
    from_id: Any = None
    target_id: Any = None
    message: Body | None = None
    content: Content = None
    summary: Any = None
    details: Any = None
    first_kept_entry_id: Any = None
    first_kept_entry_index: Any = None
    cwd: Any = None


def blocks(
    content: Content, entry: int, whole: Whole, cwd: str = "", *, meta: bool = False
) -> list[Block]:
    """Return the blocks of a content, in order; ``at`` is the index in the list."""
    if isinstance(content, str):
        return [Block("text", content, entry=entry, meta=meta)]
    if isinstance(content, Part):
        only = _block(content, entry, 0, whole, cwd, meta)
        return [msgspec.structs.replace(only, type=BARE) if only.kind == "text" else only]
    return [_block(part, entry, at, whole, cwd, meta) for at, part in enumerate(content or ())]


def answer(message: Body, entry: int, whole: Whole, cwd: str) -> list[Block]:
    """Return the blocks of a message of the model; what its provider wants back is bound."""
    found = blocks(message.content, entry, whole, cwd)
    if string(message.api) in _ANTHROPIC or "claude" in string(message.model).lower():
        return found
    return [
        msgspec.structs.replace(block, bound=True) if block.kind == "thinking" else block
        for block in found
    ]


def _block(part: Part | str, entry: int, at: int, whole: Whole, cwd: str, meta: bool) -> Block:
    if isinstance(part, str):
        return Block("text", part, type=BARE, entry=entry, at=at, meta=meta)
    kind = part.type
    if kind == "text":
        return Block("text", string(part.text), entry=entry, at=at, meta=meta)
    if kind == "toolCall":
        text = bytes(part.arguments).decode(errors="replace")
        name = string(part.name)
        signed = bool(part.thought_signature)
        return Block(
            "call", text, identifier(part.id), name, entry=entry, at=at, cwd=cwd, bound=signed
        )
    if kind == "thinking":
        text = "" if part.redacted is True else string(part.thinking)
        hidden = _hidden(string(part.thinking_signature), text)
        return Block("thinking", text, opaque=hidden, entry=entry, at=at)
    if kind == "image":
        image = read_image(string(part.mime_type), string(part.data))
        return Block("image", image=image, entry=entry, at=at, meta=meta)
    found = sent.unfold(sent.part_of(whole, entry, at), entry, at, meta=meta)
    return msgspec.structs.replace(found, type=string(kind))


def _hidden(signature: str, text: str) -> int:
    """Return the tokens of reasoning that stands in its signature alone, or as a whole item."""
    return encrypted(len(signature)) if not text or signature.startswith("{") else 0


def result(message: Body, entry: int, whole: Whole) -> Block:
    """Return the one result of a message of role ``toolResult``."""

    def inside(index: int) -> list[Any]:
        return anthropic_parts.parts(sent.part_of(whole, index, 0).get("content"))

    return Block(
        "result",
        call_id=identifier(message.tool_call_id),
        tool=string(message.tool_name),
        content=tuple(blocks(message.content, entry, inside)),
        failed=message.is_error is True,
        entry=entry,
    )


def shell_text(message: Body) -> str:
    """Return a command that the user ran, and its output, as pi puts them to the model."""
    output = string(message.output)
    text = f"Ran `{string(message.command)}`\n"
    text += f"```\n{output}\n```" if output else "(no output)"
    if message.cancelled is True:
        text += "\n\n(command cancelled)"
    elif message.exit_code is not None and message.exit_code != 0:
        text += f"\n\nCommand exited with code {message.exit_code}"
    if message.truncated is True and message.full_output_path:
        text += f"\n\n[Output truncated. Full output: {message.full_output_path}]"
    return text


def files_beside(details: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files read and modified that the details of a summary name."""
    lists = details if isinstance(details, dict) else {}
    read, modified = (
        tuple(path for path in listed if isinstance(path, str)) if isinstance(listed, list) else ()
        for listed in (lists.get("readFiles"), lists.get("modifiedFiles"))
    )
    return read, modified


def edit(part: Any, block: Block) -> Any:
    """Return ``part`` with what ``block`` says now; every other member stays.

    A result is the whole message of its entry. A text in place of anything but a text, say of an
    image or of a command that the user ran, is written anew.
    """
    if isinstance(part, str):
        return block.text
    if block.kind == "text":
        return part | {"text": block.text} if part.get("type") == "text" else make(block)
    if block.kind == "call":
        return part | {"id": block.call_id}
    if block.kind == "result":
        pieces = _edit_pieces(part.get("content"), block.content)
        return part | {"toolCallId": block.call_id, "content": pieces}
    return sent.refold(part, block) if block.content else part


def _edit_pieces(old: Any, pieces: tuple[Block, ...]) -> list[Any]:
    if isinstance(old, str):
        old = [{"type": "text", "text": old}]
    parts = anthropic_parts.parts(old)
    return [make(new) if new.entry == MADE else edit(parts[new.at], new) for new in pieces]


def make(block: Block) -> dict[str, Any]:
    """Return the part for a block that no entry holds yet; a result is a whole message."""
    if block.kind == "call":
        given = msgspec.json.decode(block.text or "{}")
        return {"type": "toolCall", "id": block.call_id, "name": block.tool, "arguments": given}
    if block.kind == "result":
        return {
            "role": "toolResult",
            "toolCallId": block.call_id,
            "toolName": block.tool,
            "content": [make(piece) for piece in block.content],
            "isError": block.failed,
        }
    if block.kind == "thinking":
        return {"type": "thinking", "thinking": block.text, "thinkingSignature": ""}
    if block.kind == "image":
        return {"type": "image", "data": "", "mimeType": (block.image or Image("", 0)).media_type}
    if block.kind in {"document", "other"}:
        return {"type": block.type, "text": block.text}
    return {"type": "text", "text": block.text}


def written(role: Role, run: list[Block], like: dict[str, Any]) -> dict[str, Any]:
    """Return a new entry; an answer takes the model from its neighbour, since pi asks for one."""
    if run[0].kind == "result":
        return {"type": "message", "message": make(run[0])}
    pieces = [make(block) for block in run]
    if role != "assistant" and run[0].meta:
        entry = {"type": "custom_message", "customType": "compactctl"}
        return entry | {"content": pieces, "display": True}
    message: dict[str, Any] = {"role": "user", "content": pieces}
    if role == "assistant":
        near = like.get("message") or {}
        calls = any(block.kind == "call" for block in run)
        message = {"role": role, "content": pieces}
        message |= {key: near.get(key, "") for key in ("api", "provider", "model")}
        message |= {"usage": _NO_USAGE, "stopReason": "toolUse" if calls else "stop"}
    return {"type": "message", "message": message}
