"""The items of the Responses API as Codex writes them: whose they are, and their blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from compactctl import opaque
from compactctl.formats import base, openai_parts, sent
from compactctl.formats.base import identifier, string
from compactctl.model import Block

Side = Literal["system", "user", "assistant", "result"]

TOOLS = -1
"""The ``at`` of the piece that stands for the tools that a tool search found."""

_MESSAGES = ("message", "agent_message")  # no set: what is looked up may be anything
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
COMPACTIONS = ("compaction", "compaction_summary", "context_compaction")
"""Summaries that only the provider and the account that wrote them can read.

They are system blocks, which no layer lets go of unasked.
"""
_SIDES: dict[str, Side] = {
    "agent_message": "user",
    "reasoning": "assistant",
    "web_search_call": "assistant",
    "image_generation_call": "assistant",
    **dict.fromkeys(COMPACTIONS, "system"),
    **dict.fromkeys(_CALLS, "assistant"),
    **dict.fromkeys(_OUTPUTS, "result"),
}
KINDS = frozenset({"message", "ghost_snapshot", *_SIDES})
"""The types of all items, also of those that the model is never sent."""

_ROLES: dict[str, Side] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}
_SUMMARY = "Another language model started to solve this problem and produced a summary"
_HARNESS = (
    ("<environment_context>", "</environment_context>"),
    ("<user_instructions>", "</user_instructions>"),
    ("# agents.md instructions", "</instructions>"),
    ("<turn_aborted>", "</turn_aborted>"),
    ("<skill>", "</skill>"),
    ("<user_shell_command>", "</user_shell_command>"),
    ("<subagent_notification>", "</subagent_notification>"),
)
"""How texts begin and end that Codex puts in by itself."""


class Item(base.Record):
    """The members of an item that the view needs."""

    role: Any = None
    content: Any = None
    name: Any = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    execution: Any = None
    call_id: Any = None
    output: Any = None
    tools: Any = None
    summary: Any = None
    encrypted_content: Any = None
    read_path: Any = msgspec.field(default=None, name="_read_path")


def is_item(record: dict[str, Any]) -> bool:
    """Return True for a bare item; a message must hold parts that only the Responses API has."""
    if "schema_version" in record:  # an envelope, though its members lie beside the item's
        return False
    kind = record.get("type")
    if kind == "message":
        return openai_parts.holds(record.get("content"), openai_parts.RESPONSES)
    if kind == "reasoning":
        return "summary" in record
    known = isinstance(kind, str) and kind in _CALLS | _OUTPUTS
    return known and ("call_id" in record or "action" in record)


def side(item: Item) -> Side | None:
    """Return whose an item is, None for one that the model is never sent."""
    if item.type == "message":
        return _ROLES.get(item.role) if isinstance(item.role, str) else None
    if not isinstance(item.type, str):
        return None
    return "assistant" if _is_served(item) else _SIDES.get(item.type)


def _is_served(item: Item) -> bool:
    """Return True for a call that the provider answered itself: no output answers it."""
    served = item.execution == "server" or not isinstance(item.call_id, str)
    return served and item.type in {"tool_search_call", "tool_search_output", "local_shell_call"}


def is_seen(raw: Any) -> bool:
    """Return True if a parsed item has blocks in the view."""
    return isinstance(raw, dict) and bool(parts(raw)) and side(read(raw)) is not None


def read(raw: dict[str, Any]) -> Item:
    """Read an item that stands inside a record."""
    return msgspec.convert(raw, Item)


def blocks(
    item: Item, entry: int, at: int, cwd: str, whole: Callable[[], dict[str, Any]]
) -> list[Block]:
    """Return the blocks of an item that has a side; ``at`` is the index of the first.

    ``whole`` returns it with all its members.
    """
    kind = item.type
    if kind in _MESSAGES:
        found = openai_parts.pieces(item.content, entry, at)
        return [_flagged(block) for block in found] if item.role == "user" else found
    if kind == "reasoning":
        hidden = opaque.encrypted(len(string(item.encrypted_content)))
        thought = _thought(item)
        return [Block("thinking", thought, bound=True, opaque=hidden, entry=entry, at=at)]
    if not _is_served(item):
        call_id = identifier(item.call_id)
        if kind in _CALLS:
            name, arguments = call_of(item)
            return [Block("call", arguments, call_id, name, entry=entry, at=at, cwd=cwd)]
        if kind in _OUTPUTS:
            content, failed = _output(item, entry)
            path = identifier(item.read_path)
            return [
                Block(
                    "result",
                    call_id=call_id,
                    content=content,
                    failed=failed,
                    entry=entry,
                    at=at,
                    path=path,
                )
            ]
    opened = sent.unfold(whole(), entry, at)
    return [msgspec.structs.replace(opened, bound=kind in COMPACTIONS)]


def _flagged(block: Block) -> Block:
    """Mark what Codex wrote, so that it is not taken for a request of the user."""
    if block.kind != "text":
        return block
    if block.text.startswith(_SUMMARY):
        return msgspec.structs.replace(block, meta=True, is_summary=True)
    start = block.text[:40].lstrip().lower()
    for opening, closing in _HARNESS:
        if start.startswith(opening) and block.text[-40:].rstrip().lower().endswith(closing):
            return msgspec.structs.replace(block, meta=True)
    return block


def _thought(item: Item) -> str:
    """Return what is readable of a reasoning; mostly it is encrypted and nothing is."""
    told = [*openai_parts.pieces(item.summary, 0), *openai_parts.pieces(item.content, 0)]
    return "\n".join(piece.text for piece in told)


def call_of(item: Item) -> tuple[str, str]:
    """Return the name of a call and its arguments as JSON text."""
    if item.type == "custom_tool_call":
        return string(item.name), openai_parts.freely(item.input)
    if item.type == "local_shell_call":
        return "local_shell", openai_parts.called(item.action)
    name = "tool_search" if item.type == "tool_search_call" else string(item.name)
    return name, openai_parts.called(item.arguments)


def _output(item: Item, entry: int) -> tuple[tuple[Block, ...], bool]:
    """Return the pieces of an output, and whether its call failed."""
    wrapped = unwrap(item.output)
    told = openai_parts.pieces(wrapped["output"] if wrapped else item.output, entry)
    failed = (
        openai_parts.exit_code(wrapped) != 0
        if wrapped
        else any(openai_parts.failed(p.text) for p in told[:1])
    )
    if item.tools:
        told.append(Block("other", _tools(item), type="tools", entry=entry, at=TOOLS))
    return tuple(told), failed


def unwrap(output: Any) -> dict[str, Any] | None:
    """Read the form of old versions, a JSON text with the output and its exit code in it."""
    if not isinstance(output, str) or not output.startswith("{") or '"metadata"' not in output:
        return None
    given = openai_parts.load(output)
    fits = isinstance(given.get("output"), str) and isinstance(given.get("metadata"), dict)
    return given if fits else None


def _tools(item: Item) -> str:
    return openai_parts.spell(item.tools) if item.tools else ""


def parts(raw: Any) -> list[Any]:
    """Return the parts of a parsed item: those of a message, else the item itself."""
    if isinstance(raw, dict) and raw.get("type") in _MESSAGES:
        return openai_parts.parts(raw.get("content"))
    return [raw]


def replace_parts(raw: Any, new: list[Any]) -> Any:
    """Return the item with other parts."""
    if isinstance(raw, dict) and raw.get("type") in _MESSAGES:
        kind = "output_text" if raw.get("role") == "assistant" else "input_text"
        return raw | {"content": openai_parts.content(new, kind, raw.get("content"))}
    return new[0]
