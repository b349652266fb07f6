"""Edit and make items of the Responses API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactctl.formats import openai_parts
from compactctl.formats.codex.items import TOOLS, call_of, read, unwrap

if TYPE_CHECKING:
    from compactctl.model import Block, Role


_ANSWERS = {
    "custom_tool_call": "custom_tool_call_output",
    "tool_search_call": "tool_search_output",
}


def edit(part: Any, block: Block) -> Any:
    """Return a part with what ``block`` says; every other member stays."""
    if block.kind == "call":
        return _edit_call(part, block)
    if block.kind == "result":
        return _edit_result(part, block)
    return openai_parts.edit(part, block)


def _edit_call(raw: dict[str, Any], block: Block) -> dict[str, Any]:
    new = raw if raw.get("call_id") == block.call_id else raw | {"call_id": block.call_id}
    if call_of(read(raw))[1] == block.text:
        return new
    if raw["type"] == "custom_tool_call":
        return new | {"input": openai_parts.free_text(block)}
    return new | {"arguments": block.text}


def _edit_result(raw: dict[str, Any], block: Block) -> dict[str, Any]:
    new = raw if raw.get("call_id") == block.call_id else raw | {"call_id": block.call_id}
    pieces = tuple(piece for piece in block.content if piece.at != TOOLS)
    if len(pieces) == len(block.content) and raw.get("tools"):
        new = new | {"tools": []}
    if not pieces and "output" not in raw:
        return new
    old = raw.get("output")
    wrapped = unwrap(old)
    if wrapped is None:
        return new | {"output": openai_parts.edit_output(old, pieces, "input_text")}
    told = openai_parts.edit_output(wrapped["output"], pieces, "input_text")
    if not isinstance(told, str):
        return new | {"output": told}
    return (
        new
        if told == wrapped["output"]
        else new | {"output": openai_parts.spell(wrapped | {"output": told})}
    )


def answer_type(call: dict[str, Any]) -> str:
    """Return the type of the item that answers a call."""
    return _ANSWERS.get(call["type"], "function_call_output")


def said(role: str, content: Any) -> dict[str, Any]:
    """Return a message item."""
    return {"type": "message", "role": role, "content": content}


def made(role: Role, new: list[Block]) -> list[dict[str, Any]]:
    """Return items for blocks that no line holds yet; texts side by side are one message."""
    written: list[dict[str, Any]] = []
    open_message = False
    for block in new:
        if block.kind in {"call", "result", "thinking"}:
            written.append(_made(block))
            open_message = False
            continue
        kind = "output_text" if role == "assistant" else "input_text"
        part = {"type": kind, "text": block.text}
        if open_message:
            written[-1]["content"].append(part)
        else:
            written.append(said("developer" if role == "system" else role, [part]))
        open_message = True
    return written


def _made(block: Block) -> dict[str, Any]:
    if block.kind == "thinking":
        told = [{"type": "summary_text", "text": block.text}] if block.text else []
        return {"type": "reasoning", "summary": told}
    if block.kind == "call":
        call = {"type": "function_call", "name": block.tool, "arguments": block.text or "{}"}
        return call | {"call_id": block.call_id}
    item = {"type": block.type or "function_call_output", "call_id": block.call_id}
    if block.type == "tool_search_output":
        return item | {"status": "completed", "execution": "client", "tools": []}
    output = openai_parts.content([piece.text for piece in block.content], "input_text")
    if block.failed and isinstance(output, str):  # there is no flag, so in the form that told it
        output = openai_parts.spell({"output": output, "metadata": {"exit_code": 1}})
    path = {} if block.path is None else {"_read_path": block.path}
    return item | {"output": output} | path
