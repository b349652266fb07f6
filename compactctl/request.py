"""The body of a request: the durable context and the view, in the provider's own words.

Only keys that the provider takes are in it. What it would refuse and nothing hangs on is left out:
thinking without a signature, images whose bytes are not in the transcript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from compactctl.errors import InvalidTranscriptError
from compactctl.jsonl import exact
from compactctl.model import MADE, arguments
from compactctl.view import pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compactctl.model import Block, Message
    from compactctl.transcript.loading import Transcript

_SERVER_RESULT = ("tool_use_id", "content", "caller")
BLOCK_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "image": ("source",),
    "document": ("source", "title", "context", "citations"),
    "search_result": ("content", "source", "title", "citations"),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "server_tool_use": ("id", "name", "input", "caller"),
    "web_search_tool_result": _SERVER_RESULT,
    "web_fetch_tool_result": _SERVER_RESULT,
    "code_execution_tool_result": _SERVER_RESULT[:2],
    "bash_code_execution_tool_result": _SERVER_RESULT[:2],
    "text_editor_code_execution_tool_result": _SERVER_RESULT[:2],
    "tool_search_tool_result": _SERVER_RESULT[:2],
    "container_upload": ("file_id",),
    "tool_reference": ("tool_name",),
}
"""What the Messages API takes of the blocks that are passed on as they are, beside ``type``."""

_CHAT_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "system": ("content", "name"),
    "developer": ("content", "name"),
    "user": ("content", "name"),
    # Servers that give a reasoning want it back with its call.
    "assistant": ("content", "name", "refusal", "reasoning_content", "tool_calls", "function_call"),
    "tool": ("content", "tool_call_id"),
    "function": ("content", "name"),
}

_ITEM_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "reasoning": ("id", "summary", "content", "encrypted_content"),
    "function_call": ("call_id", "name", "arguments"),
    "function_call_output": ("call_id", "output"),
    "custom_tool_call": ("call_id", "name", "input"),
    "custom_tool_call_output": ("call_id", "output"),
    "local_shell_call": ("id", "call_id", "action", "status"),
    "web_search_call": ("id", "status", "action"),
    "compaction": ("id", "encrypted_content"),
}
_PIECE_KEYS: Final = ("type", "text", "image_url", "file_id", "detail", "refusal")


def request_body(transcript: Transcript, context: str) -> dict[str, Any]:
    """Return the body for the provider that the transcript is for.

    ``system`` and ``messages`` of the Messages API, ``messages`` of Chat Completions, or
    ``instructions`` and ``input`` of the Responses API. The durable ``context`` comes after what
    the transcript itself holds of the system prompt.

    Raises:
        InvalidTranscriptError: calls at the end wait for their results.

    """
    waiting = next(
        (at for at in pairs.pair(transcript.messages).interactions if not at.result), None
    )
    if waiting is not None:
        call = pairs.block_at(transcript.messages, waiting.call)
        raise InvalidTranscriptError(
            "a call has no result yet, so the request cannot be sent; add the result first",
            file=transcript.name,
            line=transcript.line_of(call.entry),
        )
    if transcript.format.profile == "openai-responses":
        return _responses_body(transcript, context)
    if transcript.format.profile == "openai-chat":
        return {"messages": _chat_messages(transcript, context)}
    return _messages_body(transcript, context)


def _messages_body(transcript: Transcript, context: str) -> dict[str, Any]:
    source = _Source(transcript)
    system: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    for message in transcript.messages:
        content = [part for block in message.blocks for part in source.parts(block)]
        if message.role == "system":
            system += [part for part in content if part["type"] == "text"]
        elif content:
            messages.append({"role": message.role, "content": content})
    if context:
        system.append({"type": "text", "text": context})
    return ({"system": system} if system else {}) | {"messages": messages}


class _Source:
    """Gives blocks of the view as parts of the Messages API, from the lines that hold them."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._last: tuple[int, list[Any]] = (MADE, [])

    def parts(self, block: Block) -> Iterator[dict[str, Any]]:
        """Yield the part of a block; none where the provider takes none."""
        if block.kind == "text":
            if block.text.strip():
                yield {"type": "text", "text": block.text}
        elif block.kind == "call":
            yield self._call(block)
        elif block.kind == "result":
            yield self._result(block)
        else:
            yield from self._as_it_is(block, self._raw(block))

    def _call(self, block: Block) -> dict[str, Any]:
        call = {"type": "tool_use", "id": block.call_id, "name": block.tool}
        raw = self._raw(block)
        caller = raw.get("caller") if block.caller is not None else None
        return call | {"input": arguments(block)} | ({"caller": caller} if caller else {})

    def _result(self, block: Block) -> dict[str, Any]:
        raw = self._raw(block)
        told = raw.get("content")
        told = told if isinstance(told, list) else []
        content: list[dict[str, Any]] = []
        for piece in block.content:
            if piece.kind == "text":
                content += [{"type": "text", "text": piece.text}] if piece.text else []
            elif not block.failed and piece.entry != MADE and piece.at < len(told):
                content += self._as_it_is(piece, told[piece.at])
        result = {"type": "tool_result", "tool_use_id": block.call_id, "content": content}
        return result | ({"is_error": True} if block.failed else {})

    def _as_it_is(self, block: Block, raw: Any) -> Iterator[dict[str, Any]]:
        """Yield what only the line holds: an image, signed thinking, blocks of other kinds."""
        if not isinstance(raw, dict):
            return
        kind = raw.get("type")
        if block.kind == "image":
            source = _image_source(raw)
            if source is not None:
                yield {"type": "image", "source": source}
        elif kind == "thinking" and not isinstance(raw.get("signature"), str):
            return
        elif isinstance(kind, str) and kind in BLOCK_KEYS:
            yield {"type": kind} | {key: raw[key] for key in BLOCK_KEYS[kind] if key in raw}
        elif block.kind == "other" and block.text.strip():
            yield {"type": "text", "text": block.text}

    def _raw(self, block: Block) -> dict[str, Any]:
        """Return the part of a block as an object; {} for what a layer made, and for strings."""
        raw = self.part(block)
        return raw if isinstance(raw, dict) else {}

    def part(self, block: Block) -> Any:
        """Return the part of a line that a block is of, whatever the format takes it for."""
        if block.entry == MADE:
            return None
        if self._last[0] != block.entry:
            record = exact.parse(self._transcript.entries[block.entry].raw)
            self._last = block.entry, self._transcript.format.parts(record)
        parts = self._last[1]
        return parts[block.at] if block.at < len(parts) else None


def _image_source(raw: dict[str, Any]) -> dict[str, Any] | None:
    """Return the source of an image, from the form of any format; None without its bytes."""
    source = raw.get("source")
    if isinstance(source, dict):
        keys = {"base64": ("media_type", "data"), "url": ("url",), "file": ("file_id",)}
        kind = source.get("type")
        taken = keys.get(kind, ()) if isinstance(kind, str) else ()
        whole = taken and all(isinstance(source.get(key), str) for key in taken)
        return {"type": kind} | {key: source[key] for key in taken} if whole else None
    data, media_type = raw.get("data"), raw.get("mimeType")
    if isinstance(data, str) and isinstance(media_type, str) and data:
        return {"type": "base64", "media_type": media_type, "data": data}
    url = raw.get("image_url")
    return _url_source(url.get("url") if isinstance(url, dict) else url)


def _url_source(url: Any) -> dict[str, Any] | None:
    if not isinstance(url, str) or not url:
        return None
    head, comma, data = url.partition(";base64,")
    if head.startswith("data:") and comma:
        return {"type": "base64", "media_type": head.removeprefix("data:"), "data": data}
    return {"type": "url", "url": url} if url.startswith("https://") else None


def _chat_messages(transcript: Transcript, context: str) -> list[dict[str, Any]]:
    messages = [_chat_message(transcript, entry) for entry in _entries(transcript.messages)]
    if context:
        first = next(
            (at for at, message in enumerate(messages) if message["role"] not in _SYSTEM),
            len(messages),
        )
        messages.insert(first, {"role": "system", "content": context})
    return messages


_SYSTEM = ("system", "developer")


def _entries(messages: Sequence[Message]) -> list[int]:
    """Return the entries that the view shows, in its order."""
    return list(dict.fromkeys(b.entry for message in messages for b in message.blocks))


def _chat_message(transcript: Transcript, entry: int) -> dict[str, Any]:
    record = exact.parse(transcript.entries[entry].raw)
    role = record["role"]
    kept = {key: record[key] for key in _CHAT_KEYS[role] if key in record}
    if isinstance(kept.get("tool_calls"), list):
        kept["tool_calls"] = [_chat_call(call) for call in kept["tool_calls"]]
    return {"role": role} | kept


def _chat_call(call: Any) -> Any:
    if not isinstance(call, dict):
        return call
    return {key: call[key] for key in ("id", "type", "function", "custom") if key in call}


def _responses_body(transcript: Transcript, context: str) -> dict[str, Any]:
    """Put the pieces of a message together again; every other item is a block of its own."""
    source = _Source(transcript)
    given: list[dict[str, Any]] = []
    last: tuple[int, int] | None = None
    for message in transcript.messages:
        for block in message.blocks:
            number, part = source.part(block)
            kind = part.get("type") if isinstance(part, dict) else None
            if kind in _ITEM_KEYS:
                given.append({"type": kind} | {k: part[k] for k in _ITEM_KEYS[kind] if k in part})
            elif block.kind != "other":
                if last != (block.entry, number):
                    role = "developer" if message.role == "system" else message.role
                    given.append({"type": "message", "role": role, "content": []})
                given[-1]["content"].append(_piece(part, message.role))
            last = block.entry, number
    return ({"instructions": context} if context else {}) | {"input": given}


def _piece(part: Any, role: str) -> dict[str, Any]:
    if isinstance(part, dict):
        return {key: part[key] for key in _PIECE_KEYS if key in part}
    return {"type": "output_text" if role == "assistant" else "input_text", "text": part}
