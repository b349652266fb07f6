"""The event streams of two APIs, as a provider answers when an agent asks for a message."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Event = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Call:
    """A call of one of the agent's tools."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """One answer of the model: a thought, text and calls, each of them or not."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thought: str = ""


def anthropic(reply: Reply, number: int, model: str, tokens: int) -> Iterator[Event]:
    """Stream a reply of the Messages API; ``number`` makes its ids, ``tokens`` is the input's."""
    blocks: list[dict[str, Any]] = []
    if reply.thought:
        signed = {"thinking": reply.thought, "signature": f"c2lnbmVk{number:04d}"}
        blocks.append({"type": "thinking"} | signed)
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    for at, call in enumerate(reply.calls):
        name = f"toolu_loop{number:04d}{at:02d}"
        blocks.append({"type": "tool_use", "id": name, "name": call.tool, "input": call.arguments})
    usage = {"input_tokens": tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message = {"id": f"msg_loop{number:04d}", "type": "message", "role": "assistant"}
    message |= {"model": model, "content": [], "stop_reason": None, "stop_sequence": None}
    yield "message_start", {"message": message | {"usage": usage | {"output_tokens": 1}}}
    for at, block in enumerate(blocks):
        empty, deltas = _parted(block)
        yield "content_block_start", {"index": at, "content_block": empty}
        for delta in deltas:
            yield "content_block_delta", {"index": at, "delta": delta}
        yield "content_block_stop", {"index": at}
    stop = "tool_use" if reply.calls else "end_turn"
    yield (
        "message_delta",
        {
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": usage | {"output_tokens": 10},
        },
    )
    yield "message_stop", {}


def _parted(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a block as its stream opens it, and the pieces that then come."""
    if block["type"] == "text":
        return block | {"text": ""}, [{"type": "text_delta", "text": block["text"]}]
    if block["type"] == "thinking":
        thinking, signature = block["thinking"], block["signature"]
        return block | {"thinking": "", "signature": ""}, [
            {"type": "thinking_delta", "thinking": thinking},
            {"type": "signature_delta", "signature": signature},
        ]
    arguments = json.dumps(block["input"])
    return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": arguments}]


def responses(reply: Reply, number: int, model: str, tokens: int) -> Iterator[Event]:
    """Stream a reply of the Responses API."""
    name = f"resp_loop{number:04d}"
    response: dict[str, Any] = {"id": name, "object": "response", "model": model}
    yield "response.created", {"response": response | {"status": "in_progress", "output": []}}
    items: list[dict[str, Any]] = []
    if reply.thought:
        sealed = {"summary": [], "encrypted_content": f"c2VhbGVk{number:04d}"}
        items.append({"type": "reasoning"} | sealed)
    if reply.text:
        said = {"type": "output_text", "text": reply.text, "annotations": []}
        items.append({"type": "message", "role": "assistant", "content": [said]})
    items += [
        {
            "type": "function_call",
            "call_id": f"call_loop{number:04d}{at:02d}",
            "name": call.tool,
            "arguments": json.dumps(call.arguments),
        }
        for at, call in enumerate(reply.calls)
    ]
    for at, item in enumerate(items):
        item |= {"id": f"item_loop{number:04d}{at:02d}", "status": "completed"}
        yield "response.output_item.added", {"output_index": at, "item": item}
        yield "response.output_item.done", {"output_index": at, "item": item}
    usage = {"input_tokens": tokens, "output_tokens": 10, "total_tokens": tokens + 10}
    usage |= {"input_tokens_details": {"cached_tokens": 0}}
    usage |= {"output_tokens_details": {"reasoning_tokens": 0}}
    end = {"status": "completed", "output": items, "usage": usage}
    yield "response.completed", {"response": response | end}
