"""JSON that is no JSONL: the documents that sessions come in, and how to turn them into lines."""

from __future__ import annotations

import contextlib
import itertools
import json
from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.jsonl import exact

if TYPE_CHECKING:
    from collections.abc import Iterable

_HOLDERS = ("messages", "loglines", "history", "traj")
"""Members that hold a session: request bodies, web exports, SWE-agent, tau-bench."""


def whole(lines: Iterable[bytes]) -> Any:
    """Return the JSON value that a file is, if it is an array or spans lines; else None."""
    said = [*itertools.islice((raw for raw in lines if not exact.is_blank(raw)), 2)]
    start = said[0].removeprefix(exact.BOM).strip() if said else b""
    spans = len(said) > 1 and start.startswith(b"{") and not start.endswith(b"}")
    if not spans and not start.startswith(b"["):
        return None
    text = b"".join(lines)
    for parse in (msgspec.json.decode, json.loads):  # the second takes lone surrogates and a BOM
        with contextlib.suppress(ValueError, RecursionError):
            return parse(text)
    return None


def advice(value: Any, many: int = 1) -> str | None:
    """Return how to turn a document into lines; None for an object that holds no session.

    ``many`` is how many such documents the file has, one a line.
    """
    if isinstance(value, list):
        is_shared = bool(value) and _is_shared(value[0])
        into = f".[0] | {_SHARED}" if is_shared else _path_into(value)
        return f"a JSON array, not JSONL; {_command(into)}"
    if not isinstance(value, dict):
        return None
    if _is_shared(value):
        source = "sed -n 1p FILE | " if many > 1 else ""
        return f"conversations in the form of ShareGPT; {_command(_SHARED, source)}"
    foreign = _foreign(value) or foreign_message(value)
    if foreign:
        return f"a session of {foreign}, which is not supported"
    path = _path(value)
    if path is None:
        return None
    if many > 1:
        return f"each line is a whole session, not a message; {_command(path, 'sed -n 1p FILE | ')}"
    return f"a JSON document, not JSONL; {_command(path)}"


_MARKS = (b"\xff\xfe", b"\xfe\xff")
_WRAPPED = 1000
"""Lines among which the end of a wrapped record is looked for."""


def utf_16(first: bytes) -> str:
    """Return the name of the UTF-16 encoding that a file begins with; "" for none."""
    if first.startswith(_MARKS):
        return "UTF-16"
    if first[:4:2] == b"\0\0" and first[1:4].count(0) == 1:
        return "UTF-16BE"
    return "UTF-16LE" if first[1:4:2] == b"\0\0" and first[:3].count(0) == 1 else ""


def is_wrapped(lines: Iterable[bytes]) -> bool:
    """Return True if the first record is whole once the line ends inside it are gone."""
    text = b"".join(line.strip(b"\r\n") for line in itertools.islice(lines, _WRAPPED))
    with contextlib.suppress(ValueError, RecursionError):
        value, _ = json.JSONDecoder().raw_decode(text.decode(errors="replace").lstrip())
        return isinstance(value, dict)
    return False


def _command(path: str, source: str = "") -> str:
    return f"turn it into lines with: {source}jq -c '{path}'{'' if source else ' FILE'}"


_SHARED = (
    ".conversations | to_entries[] | .key as $n | .value | "
    'if .from == "function_call" then {role: "assistant", content: null, tool_calls: '
    '[{id: "call_\\($n)", type: "function", '
    "function: (.value | fromjson | {name, arguments: (.arguments | tojson)})}]} "
    'elif .from == "observation" then '
    '{role: "tool", tool_call_id: "call_\\($n - 1)", content: .value} '
    'else {role: ({human: "user", gpt: "assistant"}[.from] // .from), content: .value} end'
)
"""Makes chat messages of a conversation in the form of ShareGPT."""

_VERCEL = frozenset({"tool-call", "tool-result", "tool-approval-request", "tool-approval-response"})
_CONVERSE = frozenset({"toolUse", "toolResult", "reasoningContent"})


def _is_shared(value: Any) -> bool:
    said = value.get("conversations") if isinstance(value, dict) else None
    first = said[0] if isinstance(said, list) and said else None
    return isinstance(first, dict) and "from" in first and "value" in first


def foreign_message(record: dict[str, Any]) -> str | None:
    """Name the library or API whose messages look like those of a format here, but are others."""
    content, parts = record.get("content"), record.get("parts")
    if "role" in record and isinstance(parts, list) and "content" not in record:
        is_model = record["role"] == "model" or not _kinds(parts)
        return "the Gemini API (contents)" if is_model else "the AI SDK (UIMessage)"
    if "lc" in record or (record.get("type") in ("human", "ai") and "data" in record):
        return "LangChain"
    if "tool_calls" in record or not isinstance(content, list):
        return None
    if not _VERCEL.isdisjoint(_kinds(content)):
        return "the AI SDK (ModelMessage)"
    members = {key for part in content if isinstance(part, dict) for key in part}
    return None if _CONVERSE.isdisjoint(members) else "the Converse API of Bedrock"


def _kinds(parts: list[Any]) -> set[str]:
    kinds = (part.get("type") for part in parts if isinstance(part, dict))
    return {kind for kind in kinds if isinstance(kind, str)}


def _path_into(array: list[Any]) -> str:
    """Return the path to the messages of an array; of several sessions, those of the first."""
    path = _path(array[0]) if array and isinstance(array[0], dict) else None
    return f".[0]{path}" if path else ".[]"


def _path(document: dict[str, Any]) -> str | None:
    return next((f".{key}[]" for key in _HOLDERS if isinstance(document.get(key), list)), None)


def _foreign(document: dict[str, Any]) -> str | None:
    """Name the agent whose documents no format reads."""
    said = document.get("messages")
    first = said[0] if isinstance(said, list) and said and isinstance(said[0], dict) else {}
    if "projectHash" in document or ("type" in first and "role" not in first):
        return "Gemini CLI"
    return "OpenCode" if "info" in first and "parts" in first else None
