"""``events``: a flat envelope, one event a line, as an agent loop records its session.

Beside the members of its payload an event has ``schema_version``, ``sequence``, ``recorded_at``,
``session_id`` and ``event_id``. All that the model said between two answers to it (texts,
reasoning, calls) is one message, for calls that were made together have to stand together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactctl.formats import base, openai_parts
from compactctl.formats.base import identifier, string
from compactctl.model import Block

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compactctl.model import Role
    from compactctl.view.builder import Assembler


class Record(base.Record, rename="camel"):
    """One line."""

    sequence: Any = None
    role: Any = None
    content: Any = None
    name: Any = None
    arguments: Any = "{}"
    call_id: Any = None
    output: Any = None


class Events(base.Format):
    """A line is a message of texts, a reasoning, a call, or a result."""

    name = "events"
    description = "flat events with sequence numbers, one a line"
    profile = "anthropic"
    flags_failures = False
    record = Record
    joins_answers = True
    sequence = "sequence"
    known_types = frozenset(
        {"message", "reasoning", "function_call", "function_call_result"}
        | {"file-history-snapshot", "ai-title"}
    )

    def recognises(self, record: dict[str, Any]) -> bool:
        """Recognise the version of the envelope, which new lines have too, and the type."""
        return "schema_version" in record and isinstance(record.get("type"), str)

    def read(self, records: Iterable[tuple[int, Record]], builder: Assembler) -> None:
        """Put events together; those that are no part of the conversation stay outside."""
        answers = 0
        for index, record in records:
            said = _said(record, index)
            if said:
                builder.assistant(said, str(answers))
                continue
            if record.type == "function_call_result":
                builder.user([_result(record, index)])
            elif record.type == "message" and record.role == "user":
                builder.user(openai_parts.pieces(record.content, index))
            elif record.type == "message" and record.role in ("system", "developer"):
                builder.system(openai_parts.pieces(record.content, index))
            else:
                continue
            answers += 1

    def parts(self, record: dict[str, Any]) -> list[Any]:
        """Return the parts of a message; a call, a result or reasoning is the line itself."""
        is_message = record["type"] == "message"
        return openai_parts.parts(record.get("content")) if is_message else [record]

    def replace_parts(self, record: dict[str, Any], parts: list[Any]) -> dict[str, Any]:
        """Replace the content of a message, else the line."""
        if record["type"] == "message":
            return record | {"content": openai_parts.content(parts, "text", record["content"])}
        event: dict[str, Any] = parts[0]
        return event

    def edit(self, part: Any, block: Block) -> Any:
        """Edit a call, a result, or a part of a message."""
        if block.kind == "call":
            return part | {"callId": block.call_id}
        if block.kind == "result":
            told = openai_parts.edit_output(_told(part.get("output")), block.content, "text")
            return part | {"callId": block.call_id, "output": _output(told, block)}
        return openai_parts.edit(part, block)

    def make(self, block: Block) -> dict[str, Any]:
        """Make a part of a message."""
        return _make(block)

    def create(
        self, role: Role, blocks: list[Block], like: dict[str, Any], _link: base.Link
    ) -> list[dict[str, Any]]:
        """Write one event for each call, result and thought, and for each run of other blocks.

        They have no ``sequence`` and no ``event_id``: those of the original stay its own, since
        pointers into it use them.
        """
        envelope = {"schema_version": like.get("schema_version", 1)}
        envelope |= {key: like[key] for key in ("recorded_at", "session_id") if key in like}
        events: list[dict[str, Any]] = []
        run: list[Block] = []
        for block in blocks:
            if block.kind in {"call", "result", "thinking"}:
                events += [*_message(role, run), _event(block)]
                run = []
            else:
                run.append(block)
        events += _message(role, run)
        return [envelope | event for event in events]

    def session(self, record: dict[str, Any]) -> str | None:
        """Return the session that every event names."""
        return identifier(record.get("session_id"))


def _said(record: Record, index: int) -> list[Block]:
    """Return what the model said in an event: a text, reasoning, or one call."""
    if record.type == "message" and record.role == "assistant":
        return openai_parts.pieces(record.content, index)
    if record.type == "reasoning":
        text = "\n".join(piece.text for piece in openai_parts.pieces(record.content, index))
        return [Block("thinking", text, bound=True, entry=index)]
    if record.type == "function_call":
        text, name = openai_parts.called(record.arguments), string(record.name)
        return [Block("call", text, identifier(record.call_id), name, entry=index)]
    return []


def _result(record: Record, index: int) -> Block:
    """Return a result; no flag of an event says that its call failed."""
    found = openai_parts.pieces(_told(record.output), index)
    return Block(
        "result",
        call_id=identifier(record.call_id),
        content=tuple(found),
        failed=_failed(record.output),
        entry=index,
    )


def _told(output: Any) -> Any:
    """Return the content of an output: a string, parts, or the JSON text of anything else."""
    if _is_wrapped(output):
        output = output["content"]
    if output is None or isinstance(output, str):
        return output
    listed = output if isinstance(output, list) else [output]
    typed = all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in listed)
    return output if typed else openai_parts.spell(output)


def _is_wrapped(output: Any) -> bool:
    """Return True for what :func:`_output` writes if the text alone does not tell of a failure."""
    return isinstance(output, dict) and output.keys() == {"content", "is_error"}


def _failed(output: Any) -> bool:
    if _is_wrapped(output):
        return output["is_error"] is True
    if isinstance(output, dict):
        return openai_parts.failed(openai_parts.spell(output))
    texts = [piece.text for piece in openai_parts.pieces(_told(output), 0) if piece.kind == "text"]
    return bool(texts) and openai_parts.failed(texts[0])


def _output(told: Any, block: Block) -> Any:
    """Return an output that is read back as it is, and as failed or not as ``block`` is."""
    if _told(told) is told and _failed(told) == block.failed:
        return told
    return {"content": told, "is_error": block.failed}


def _make(block: Block) -> dict[str, Any]:
    if block.kind == "image":
        return {"type": "input_image", "image_url": ""}
    return {"type": block.type if block.kind == "other" else "text", "text": block.text}


def _message(role: Role, run: list[Block]) -> list[dict[str, Any]]:
    """Return the event of a message; none for no blocks."""
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
    return openai_parts.content([b.text if b.kind == "text" else _make(b) for b in run], "text")


FORMAT = Events()
