"""``events``: a flat envelope, one event a line, as an agent loop records its session.

Beside the members of its payload an event has ``schema_version``, ``sequence``, ``recorded_at``,
``session_id`` and ``event_id``. All that the model said between two answers to it (texts,
reasoning, calls) is one message, for calls that were made together have to stand together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.formats import openai_content
from compactctl.formats.openai_content import (
    called,
    content,
    edit_output,
    parts,
    pieces,
    spell,
)
from compactctl.formats.values import identifier, string
from compactctl.model import Block

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compactctl.model import Role
    from compactctl.view.builder import Assembler

__all__ = ["create", "edit", "make", "parts_of", "recognise", "view", "with_parts"]

DESCRIPTION = "flat events with sequence numbers, one a line"
SIGNED = False
PROFILE = "anthropic"
ONE_LINE_A_MESSAGE = False
ANSWERS_JOIN = True
LINK = None
SEQUENCE = "sequence"
KNOWN_TYPES = frozenset({"message", "reasoning", "function_call", "function_call_result"})
KNOWN_TYPES |= {"file-history-snapshot", "ai-title"}


class Record(msgspec.Struct, gc=False, rename="camel"):
    """One line, as far as the view needs it."""

    type: Any = None
    sequence: Any = None
    role: Any = None
    content: Any = None
    name: Any = None
    arguments: Any = "{}"
    call_id: Any = None
    output: Any = None


def recognise(record: dict[str, Any]) -> bool:
    """Tell by the version of the envelope, which made lines have too, and a payload's type."""
    return "schema_version" in record and isinstance(record.get("type"), str)


def view(records: Iterable[tuple[int, Record]], build: Assembler) -> None:
    """Put events together; those that are no part of the conversation stay outside."""
    answers = 0
    for index, record in records:
        said = _said(record, index)
        if said:
            build.assistant(said, str(answers))
            continue
        if record.type == "function_call_result":
            build.user([_result(record, index)])
        elif record.type == "message" and record.role == "user":
            build.user(pieces(record.content, index))
        elif record.type == "message" and record.role in ("system", "developer"):
            build.system(pieces(record.content, index))
        else:
            continue
        answers += 1


def _said(record: Record, index: int) -> list[Block]:
    """Give what the model said in an event: a text, reasoning, or one call."""
    if record.type == "message" and record.role == "assistant":
        return pieces(record.content, index)
    if record.type == "reasoning":
        text = "\n".join(piece.text for piece in pieces(record.content, index))
        return [Block("thinking", text, entry=index)]
    if record.type == "function_call":
        text, name = called(record.arguments), string(record.name)
        return [Block("call", text, identifier(record.call_id), name, entry=index)]
    return []


def _result(record: Record, index: int) -> Block:
    """Read a result; no flag of an event says that its call failed (CONTRACT §11)."""
    found = pieces(_told(record.output), index)
    return Block(
        "result",
        call_id=identifier(record.call_id),
        content=tuple(found),
        failed=_failed(record.output),
        entry=index,
    )


def _told(output: Any) -> Any:
    """Give the content of an output: a string, parts, or the JSON text of anything else."""
    if _is_wrapped(output):
        output = output["content"]
    if output is None or isinstance(output, str):
        return output
    listed = output if isinstance(output, list) else [output]
    typed = all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in listed)
    return output if typed else spell(output)


def _is_wrapped(output: Any) -> bool:
    """Recognise what :func:`_output` writes where the text alone does not tell of a failure."""
    return isinstance(output, dict) and output.keys() == {"content", "is_error"}


def _failed(output: Any) -> bool:
    if _is_wrapped(output):
        return output["is_error"] is True
    if isinstance(output, dict):
        return openai_content.failed(spell(output))
    texts = [piece.text for piece in pieces(_told(output), 0) if piece.kind == "text"]
    return bool(texts) and openai_content.failed(texts[0])


def session_of(record: dict[str, Any]) -> Any:
    """Give the name of the session that a line belongs to."""
    return record.get("session_id")


def parts_of(record: dict[str, Any]) -> list[Any]:
    """Give the parts of a parsed line, in the order that ``Block.at`` counts."""
    return parts(record.get("content")) if record["type"] == "message" else [record]


def with_parts(record: dict[str, Any], edited: list[Any]) -> dict[str, Any]:
    """Give the line with other parts; a call, a result or reasoning is the line itself."""
    if record["type"] == "message":
        return record | {"content": content(edited, "text", record["content"])}
    event: dict[str, Any] = edited[0]
    return event


def edit(part: Any, block: Block) -> Any:
    """Give ``part`` with what ``block`` says now; every other member stays."""
    if block.kind == "call":
        return part | {"callId": block.call_id}
    if block.kind == "result":
        output = _output(edit_output(_told(part.get("output")), block.content, "text"), block)
        return part | {"callId": block.call_id, "output": output}
    return openai_content.edit(part, block)


def _output(told: Any, block: Block) -> Any:
    """Write an output so that it is read back as it is, and as failed or not as ``block`` is."""
    if _told(told) is told and _failed(told) == block.failed:
        return told
    return {"content": told, "is_error": block.failed}


def make(block: Block) -> Any:
    """Write a part that no line holds yet."""
    if block.kind == "image":
        return {"type": "input_image", "image_url": ""}
    return {"type": block.type if block.kind == "other" else "text", "text": block.text}


def create(
    role: Role, made: list[Block], like: dict[str, Any], _own: str, _parent: str | None
) -> dict[str, Any] | list[dict[str, Any]]:
    """Write new events: one for each call, result and thought, one for each run of other blocks.

    They have no ``sequence`` and no ``event_id``: those of the original stay its own, pointers
    into it hold on to them.
    """
    envelope = {"schema_version": like.get("schema_version", 1)}
    envelope |= {key: like[key] for key in ("recorded_at", "session_id") if key in like}
    events: list[dict[str, Any]] = []
    run: list[Block] = []
    for block in made:
        if block.kind in {"call", "result", "thinking"}:
            events += [*_message(role, run), _event(block)]
            run = []
        else:
            run.append(block)
    events += _message(role, run)
    written = [envelope | event for event in events]
    return written if len(written) > 1 else written[0]


def _message(role: Role, run: list[Block]) -> list[dict[str, Any]]:
    """Write the event of a message; none for no blocks."""
    return [{"type": "message", "role": role, "content": _content(run)}] if run else []


def _event(block: Block) -> dict[str, Any]:
    if block.kind == "thinking":
        return {"type": "reasoning", "content": block.text}
    if block.kind == "call":
        call = {"type": "function_call", "name": block.tool, "arguments": block.text}
        return call | {"callId": block.call_id}
    output = _output(_content(block.content), block)
    return {"type": "function_call_result", "callId": block.call_id, "output": output}


def _content(run: Iterable[Block]) -> Any:
    return content([b.text if b.kind == "text" else make(b) for b in run], "text")
