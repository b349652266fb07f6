"""``openai``: a list of chat messages, one a line, as Chat Completions takes them.

Servers that speak the same API add members of their own (``reasoning_content``, …); what is not
known here stays as it is. A result is a line of its own, so what a layer adds beside results
gets a line too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from compactctl.formats import base, openai_parts, sent
from compactctl.formats.base import identifier, string
from compactctl.jsonl import exact
from compactctl.jsonl.lines import objects
from compactctl.model import Block

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compactctl.model import Role
    from compactctl.view.builder import Assembler

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_ELSEWHERE = frozenset(
    "tool_use tool_result thinking redacted_thinking image document search_result "
    "server_tool_use mcp_tool_use mcp_tool_result".split()
)
"""Parts that Anthropic's messages hold and these never do."""
_CHAT = re.compile(
    rb'"tool_calls"|"role"\s*:\s*"(?:system|developer|tool)"|"(?:image_url|file|input_audio)"\s*:'
)
_MEDIA = ("image_url", "file", "input_audio")
"""Types of parts that only chat messages have; what they hold is a member of the same name."""
_CHAT_ROLES = ("system", "developer", "tool")
_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
"""Members in which servers put reasoning, and want it back."""
_MEMBERS = (*_REASONING, "content", "refusal", "tool_calls", "function_call")
_TWINS = frozenset({"tool_use", "tool-call"})
"""Parts of a content that hold a call which stands in ``tool_calls`` as well."""
_RESULTS = frozenset({"tool", "function"})
_RESULT = "result"
_SIGNATURE = "thought_signature"
_PLAIN = frozenset({"id", "type", "index", "function", "custom"})
"""Members of a call that are no place for a signature."""


class Record(base.Record):
    """One line."""

    role: Any = None
    content: Any = None
    refusal: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    tool_calls: Any = None
    function_call: Any = None
    tool_call_id: Any = None
    tool_call_ids: Any = None
    name: Any = None
    is_error: Any = None
    read_path: Any = msgspec.field(default=None, name="_read_path")


class Slot(NamedTuple):
    """A part of a line: the member that holds it, and the part itself.

    ``twin``: the same call as a part of the content, if it stands there as well. It goes, stays
    and is renamed with the call.
    """

    member: str
    part: Any
    twin: dict[str, Any] | None = None


class OpenAI(base.Format):
    """A line is a chat message."""

    name = "openai"
    description = "OpenAI chat messages, one message a line"
    profile = "openai-chat"
    flags_failures = False
    record = Record
    bare = True

    def recognises(self, record: dict[str, Any]) -> bool:
        """Recognise a role and a content without a part that only another API has."""
        role = record.get("role")
        if not isinstance(role, str) or role not in _ROLES or "message" in record:
            return False
        if "tool_calls" in record or "function_call" in record:
            return True
        elsewhere = _ELSEWHERE | openai_parts.RESPONSES
        return "content" in record and not openai_parts.holds(record["content"], elsewhere)

    def claims(self, raw: bytes) -> bool:
        """Return True for what no list of Anthropic's has: calls, and some roles and parts."""
        return _CHAT.search(raw) is not None and any(
            record.get("role") in _CHAT_ROLES or "tool_calls" in record or _holds_media(record)
            for record in objects([raw])
        )

    def read(self, records: Iterable[tuple[int, Record]], builder: Assembler) -> None:
        """Take each line as the message that it is; results side by side are one."""
        for index, record in records:
            role = string(record.role)
            if role in _RESULTS:
                builder.user([_result(record, index)])
            elif role == "user":
                builder.user(openai_parts.pieces(record.content, index))
            elif role == "assistant":
                slots = _slots(_members(record))
                said = [_block(slot, index, at) for at, slot in enumerate(slots)]
                builder.assistant(_said_once(said))
            elif role in _ROLES:
                builder.system(openai_parts.pieces(record.content, index))

    def parts(self, record: dict[str, Any]) -> list[Slot]:
        """Return the parts of all members of a message; a result is one part."""
        if record["role"] in _RESULTS:
            return [Slot(_RESULT, record)]
        if record["role"] == "assistant":
            return _slots([*map(record.get, _MEMBERS)])
        return [Slot("content", part) for part in openai_parts.parts(record.get("content"))]

    def replace_parts(self, record: dict[str, Any], parts: list[Slot]) -> dict[str, Any]:
        """Replace the parts of the members; a member that lost all of its parts goes."""
        if parts[0].member == _RESULT:
            new: dict[str, Any] = parts[0].part
            return new
        left: dict[str, list[Any]] = {}
        for slot in parts:
            left.setdefault(slot.member, []).append(slot.part)
        old = self.parts(record)
        had = {slot.member for slot in old}
        if any(slot.twin for slot in old):
            had.add("content")
            twins = [slot.twin for slot in parts if slot.twin]
            left |= {"content": [*left.get("content", []), *twins]} if twins else {}
        new = {key: value for key, value in record.items() if key not in had or key in left}
        for name, values in left.items():
            new[name] = values[0] if name != "tool_calls" else values
        if "content" in left:
            new["content"] = openai_parts.content(left["content"], "text", record["content"])
        elif "content" in had:  # a call without a word, in the API's own form
            new["content"] = None
        return new

    def edit(self, part: Slot, block: Block) -> Slot:
        """Edit a result, a call, or a part of the content."""
        if part.member == _RESULT:
            return part._replace(part=_edit_result(part.part, block))
        if part.member in {"tool_calls", "function_call"}:
            return part._replace(part=_edit_call(part, block), twin=_edit_twin(part.twin, block))
        if part.member == "content":
            return part._replace(part=openai_parts.edit(part.part, block))
        return part

    def make(self, block: Block) -> Slot:
        """Make a part of the member that holds such blocks."""
        return _make(block)

    def create(
        self, role: Role, blocks: list[Block], _like: dict[str, Any], _link: base.Link
    ) -> list[dict[str, Any]]:
        """Write one line for each result and one for all else."""
        lines = [_made_result(block) for block in blocks if block.kind == "result"]
        rest = [_make(block) for block in blocks if block.kind != "result"]
        return [*lines, _made(role, rest)] if rest else lines


def _holds_media(record: dict[str, Any]) -> bool:
    said = openai_parts.parts(record.get("content"))
    return any(
        isinstance(part, dict) and part.get("type") in _MEDIA and part["type"] in part
        for part in said
    )


def _result(record: Record, index: int) -> Block:
    told = tuple(openai_parts.pieces(record.content, index))
    call_id = record.tool_call_id if record.role == "tool" else record.name
    if call_id is None and isinstance(record.tool_call_ids, list):  # as SWE-agent writes it
        call_id = next(iter(record.tool_call_ids), None)
    return Block(
        "result",
        call_id=identifier(call_id),
        content=told,
        failed=record.is_error is True
        or any(openai_parts.failed(piece.text) for piece in told[:1]),
        entry=index,
        path=identifier(record.read_path),
    )


def _members(record: Record) -> tuple[Any, ...]:
    return (
        record.reasoning_content,
        record.reasoning,
        record.reasoning_details,
        record.content,
        record.refusal,
        record.tool_calls,
        record.function_call,
    )


def _slots(members: Sequence[Any]) -> list[Slot]:
    """Return the parts of an assistant message, given its ``_MEMBERS``."""
    *thoughts, content, refusal, calls, call = members
    listed = calls if isinstance(calls, list) else []
    slots = [Slot(name, said) for name, said in zip(_REASONING, thoughts, strict=True) if said]
    twins = _twins(content, listed)
    if content or not (listed or call):
        said = openai_parts.parts(content)
        slots += [Slot("content", part) for part in said if not twins or part not in twins]
    if isinstance(refusal, str) and refusal:
        slots.append(Slot("refusal", refusal))
    slots += [Slot("tool_calls", each, _twin_of(each, twins)) for each in listed]
    return [*slots, Slot("function_call", call)] if isinstance(call, dict) else slots


def _twins(content: Any, calls: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the parts of a content that are calls which stand in ``tool_calls`` as well."""
    if not calls or not isinstance(content, list):
        return []
    ids = [call.get("id") for call in calls if isinstance(call, dict)]
    return [
        part
        for part in content
        if isinstance(part, dict) and part.get("type") in _TWINS and _twin_id(part) in ids
    ]


def _twin_of(call: Any, twins: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    own = call.get("id") if isinstance(call, dict) else None
    return next((twin for twin in twins if _twin_id(twin) == own), None)


def _twin_id(part: dict[str, Any]) -> Any:
    return part.get("id", part.get("toolCallId"))


def _block(slot: Slot, index: int, at: int) -> Block:
    name, part = slot.member, slot.part
    if name in _REASONING:
        hidden = 0 if isinstance(part, str) else sent.unfold({"details": part}, index, at).opaque
        return Block("thinking", _thought(part), bound=True, opaque=hidden, entry=index, at=at)
    if name == "refusal":
        return Block("other", part, type="refusal", entry=index, at=at)
    if name == "content":
        return openai_parts.pieces([part], index, at)[0]
    call_id, tool, arguments = _call(slot)
    signed = isinstance(part, dict) and _is_signed(part, call_id)
    return Block("call", arguments, call_id, tool, bound=signed, entry=index, at=at)


def _is_signed(call: dict[str, Any], call_id: str | None) -> bool:
    """Return True if a call carries the signature of the thought that led to its step.

    Gemini puts it on the first of parallel calls and wants it back; servers in front of it write
    it in places of their own.
    """
    function = call.get("function")
    if "__thought__" in (call_id or "") or (isinstance(function, dict) and _SIGNATURE in function):
        return True
    beside = [call[key] for key in call.keys() - _PLAIN]
    return any(_SIGNATURE.encode() in exact.dump(member) for member in beside)


def _thought(part: Any) -> str:
    """Return what is readable of reasoning: a text, or a list of details with texts."""
    if isinstance(part, str):
        return part
    details = [detail for detail in openai_parts.parts(part) if isinstance(detail, dict)]
    return "\n".join(string(each.get("text")) or string(each.get("summary")) for each in details)


def _said_once(blocks: list[Block]) -> list[Block]:
    """Return the blocks of an answer, with reasoning that several members tell in the last."""
    told = [block.text for block in blocks if block.kind == "thinking"]
    if len(told) == len(set(told)):
        return blocks
    return [
        msgspec.structs.replace(block, text="")
        if block.kind == "thinking" and block.text in told[at + 1 :]
        else block
        for at, block in enumerate(blocks)
    ]


def _call(slot: Slot) -> tuple[str | None, str, str]:
    """Return the id, the name and the arguments of a call.

    A call of the old form has no id and one result, of its name: the name is its id.
    """
    part = slot.part if isinstance(slot.part, dict) else {}
    if slot.member == "function_call":
        name = string(part.get("name"))
        return name or None, name, openai_parts.called(part.get("arguments"))
    call_id, custom = identifier(part.get("id")), part.get("custom")
    if isinstance(custom, dict):
        return call_id, string(custom.get("name")), openai_parts.freely(custom.get("input"))
    function = part.get("function")
    function = function if isinstance(function, dict) else {}
    return call_id, string(function.get("name")), openai_parts.called(function.get("arguments"))


def _edit_result(record: dict[str, Any], block: Block) -> dict[str, Any]:
    new = record | {
        "content": openai_parts.edit_output(record.get("content"), block.content, "text")
    }
    if "tool_call_id" not in record and isinstance(record.get("tool_call_ids"), list):
        return new | {"tool_call_ids": [block.call_id, *record["tool_call_ids"][1:]]}
    return new | {"tool_call_id" if record["role"] == "tool" else "name": block.call_id}


def _edit_twin(twin: dict[str, Any] | None, block: Block) -> dict[str, Any] | None:
    if twin is None or _twin_id(twin) == block.call_id:
        return twin
    return twin | {"id" if "id" in twin else "toolCallId": block.call_id}


def _edit_call(slot: Slot, block: Block) -> Any:
    part, (call_id, _, arguments) = slot.part, _call(slot)
    if not isinstance(part, dict):  # no call by any reading: it is written as one
        return _make(block).part
    if call_id != block.call_id and slot.member == "tool_calls":
        part = part | {"id": block.call_id}
    if arguments == block.text:
        return part
    if slot.member == "function_call":
        return part | {"arguments": block.text}
    if "custom" in part:
        return part | {"custom": part["custom"] | {"input": openai_parts.free_text(block)}}
    return part | {"function": part["function"] | {"arguments": block.text}}


def _make(block: Block) -> Slot:
    if block.kind == "call":
        function = {"name": block.tool, "arguments": block.text or "{}"}
        call = {"id": block.call_id, "type": "function", "function": function}
        return Slot("tool_calls", call)
    return Slot("reasoning_content" if block.kind == "thinking" else "content", block.text)


def _made(role: Role, slots: list[Slot]) -> dict[str, Any]:
    content = [slot.part for slot in slots if slot.member == "content"]
    thoughts = [slot.part for slot in slots if slot.member == "reasoning_content"]
    calls = [slot.part for slot in slots if slot.member == "tool_calls"]
    line: dict[str, Any] = {
        "role": role,
        "content": openai_parts.content(content, "text") or None,
    }
    if thoughts:
        line["reasoning_content"] = "\n".join(thoughts)
    return line | {"tool_calls": calls} if calls else line


def _made_result(block: Block) -> dict[str, Any]:
    told = openai_parts.content([piece.text for piece in block.content], "text")
    line = {"role": "tool", "tool_call_id": block.call_id, "content": told}
    return line if block.path is None else line | {"_read_path": block.path}


FORMAT = OpenAI()
