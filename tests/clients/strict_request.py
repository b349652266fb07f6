"""Would the provider take this request? Judged by rules of its own, not by those of compactctl.

Neighbouring messages of one role are one, as the Messages API reads them.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

IDS = re.compile("[a-zA-Z0-9_-]{1,64}")
OUTPUTS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "tool_search_call": "tool_search_output",
}
"""The items of the Responses API that are calls, and what answers each."""


def problems(body: dict[str, Any]) -> list[str]:
    """Return what is wrong with a request, in its order; nothing if the provider takes it."""
    return list(_of_items(body["input"]) if "input" in body else _of_messages(body["messages"]))


def _of_messages(messages: list[dict[str, Any]]) -> Iterator[str]:
    turns = _turns(messages)
    if not turns or turns[0][0] != "user":
        yield "the first message is not the user's"
    if turns and turns[-1][0] != "user":
        yield "the last message is not the user's"
    every = [part for _, parts in turns for part in parts]
    yield from _texts(every)
    yield from _ids(part["id"] for part in every if part["type"] == "tool_use")
    asked: list[str] = []
    for role, parts in turns:
        if role == "user":
            yield from _answers(asked, parts)
        asked = [part["id"] for part in parts if part["type"] == "tool_use"]
        if asked and role == "user":
            yield f"the user calls {asked[0]}"
        if role == "assistant":
            yield from _answer_of_model(parts)
    if asked:
        yield f"nothing answers {asked[0]}"


def _turns(messages: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return role and parts of each message, neighbours of one role together."""
    turns: list[tuple[str, list[dict[str, Any]]]] = []
    for message in messages:
        if message["role"] == "system":
            continue
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if turns and turns[-1][0] == message["role"]:
            turns[-1][1].extend(parts)
        else:
            turns.append((message["role"], list(parts)))
    return turns


def _texts(parts: list[dict[str, Any]]) -> Iterator[str]:
    for part in parts:
        inside = part.get("content")
        if part["type"] == "text" and not part["text"].strip():
            yield "a text is blank"
        elif part["type"] == "tool_result" and isinstance(inside, list):
            yield from _texts(inside)


def _ids(ids: Iterator[str]) -> Iterator[str]:
    for name, times in Counter(ids).items():
        if times > 1:
            yield f"{times} calls have the id {name}"
        if not IDS.fullmatch(name):
            yield f"the id {name!r} is not one that the provider takes"


def _answers(asked: list[str], parts: list[dict[str, Any]]) -> Iterator[str]:
    """Hold the results of a user's message against the calls of the message before it."""
    kinds = [part["type"] == "tool_result" for part in parts]
    if kinds != sorted(kinds, reverse=True):
        yield "a result stands behind other blocks"
    answered = Counter(part["tool_use_id"] for part in parts if part["type"] == "tool_result")
    for name in asked:
        if name not in answered:
            yield f"nothing answers {name}"
    for name, times in answered.items():
        if name not in asked:
            yield f"the result {name} answers no call of the message before it"
        elif times > 1:
            yield f"{times} results answer {name}"


def _answer_of_model(parts: list[dict[str, Any]]) -> Iterator[str]:
    kinds = [part["type"] for part in parts]
    if "tool_result" in kinds:
        yield "a result stands in a message of the assistant"
    if kinds and kinds[-1] in {"thinking", "redacted_thinking"}:
        yield "a message of the assistant ends with thinking"
    for part in parts:
        if part["type"] == "thinking" and not part.get("signature"):
            yield "a thinking block has no signature"


def _of_items(items: list[dict[str, Any]]) -> Iterator[str]:
    waiting: dict[str, str] = {}
    every: Counter[str] = Counter()
    for item, following in zip(items, [*items[1:], {}], strict=False):
        kind, call_id = item["type"], item.get("call_id")
        if kind in OUTPUTS and call_id is not None:
            every[call_id] += 1
            waiting[call_id] = OUTPUTS[kind]
        elif kind.endswith("_output") and call_id is not None:
            if waiting.pop(call_id, None) != kind:
                yield f"the output {call_id} answers no call in front of it"
        elif kind == "message":
            yield from _said(item["content"])
        elif kind == "reasoning" and _is_users(following):
            yield "nothing of the assistant follows a reasoning item"
    yield from (f"{times} calls have the id {name}" for name, times in every.items() if times > 1)
    yield from (f"nothing answers {name}" for name in waiting)
    if not items or not _is_users(items[-1]):
        yield "the last item is not the user's"


def _is_users(item: dict[str, Any]) -> bool:
    return item.get("role", "user" if item.get("type", "").endswith("_output") else "") == "user"


def _said(content: Any) -> Iterator[str]:
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    if not parts:
        yield "a message is empty"
    for part in parts:
        if "text" in part and not part["text"].strip():
            yield "a text is blank"
