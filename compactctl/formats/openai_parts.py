"""Content in OpenAI's forms: of Chat Completions, of the Responses API, and of Codex.

A content is a string or a list of parts; the two APIs only name the parts differently.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from compactctl.formats import sent
from compactctl.formats.base import string
from compactctl.images import read_data_uri
from compactctl.jsonl import DECODE_ERRORS, exact
from compactctl.model import MADE, Block
from compactctl.placeholders import NO_RESULT, tells_failure

_TEXTS = frozenset({"text", "input_text", "output_text", "summary_text", "reasoning_text"})
_IMAGES = frozenset({"image_url", "input_image"})
CHAT = frozenset({"image_url", "input_audio", "file", "refusal"})
"""Types of parts that only Chat Completions has."""
RESPONSES = frozenset({"input_text", "output_text", "input_image"})
"""Types of parts that only the Responses API has."""
_STATUS = re.compile(
    r"(?:(?:Chunk ID|Wall time|Original token count|Total output lines)[^\n]*\n)*"
    r"(?:Process exited with code|Exit code:)[ ]*(-?[0-9]+)"
)
"""The header that Codex puts before the output of a command, up to the exit status."""
_TELLING = re.compile(r'"(?:error|is_error|exit_code)"')


def pieces(content: Any, entry: int, first: int = 0) -> list[Block]:
    """Return the blocks of a content, in order; ``at`` counts from ``first``."""
    return [_piece(part, entry, first + at) for at, part in enumerate(parts(content))]


def parts(content: Any) -> list[Any]:
    """Return a parsed content as a list of parts, the inverse of :func:`content`."""
    if isinstance(content, list):
        return content
    return [content] if isinstance(content, (str, dict)) else []


def holds(content: Any, kinds: frozenset[str]) -> bool:
    """Return True if a content has a part of one of these types."""
    said = (part.get("type") for part in parts(content) if isinstance(part, dict))
    return any(kind in kinds for kind in said if isinstance(kind, str))


def _piece(part: Any, entry: int, at: int) -> Block:
    if isinstance(part, str):
        return Block("text", part, entry=entry, at=at)
    if not isinstance(part, dict):
        return Block("other", entry=entry, at=at)
    kind = part.get("type")
    if not isinstance(kind, str):  # a tool that answered with an object
        return Block("text", spell(part), entry=entry, at=at)
    if kind in _TEXTS:
        return Block("text", string(part.get("text")), entry=entry, at=at)
    if kind in _IMAGES:
        url = part.get("image_url")
        uri = url.get("url") if isinstance(url, dict) else url
        image = read_data_uri(uri) if isinstance(uri, str) else None
        return Block("image", image=image, entry=entry, at=at)
    return sent.unfold(part, entry, at)


def content(edited: list[Any], kind: str, old: Any = "") -> Any:
    """Return parts as a content: a list stays a list, else a single part stands for itself.

    Strings in a list become parts of ``kind``.
    """
    if len(edited) == 1 and not isinstance(old, list) and isinstance(edited[0], (str, type(old))):
        return edited[0]
    return [{"type": kind, "text": part} if isinstance(part, str) else part for part in edited]


def edit(part: Any, block: Block) -> Any:
    """Return ``part`` with the text of ``block``; every other member stays."""
    if block.kind != "text":
        return sent.refold(part, block) if block.content else part
    if isinstance(part, dict) and string(part.get("type")) in _TEXTS:
        return part if part.get("text") == block.text else part | {"text": block.text}
    return part if isinstance(part, dict) and spell(part) == block.text else block.text


def edit_output(old: Any, blocks: tuple[Block, ...], kind: str) -> Any:
    """Return what a tool answered with other pieces; new ones are text of ``kind``."""
    told = parts(old)
    edited = [
        piece.text if piece.entry == MADE else edit(told[piece.at], piece) for piece in blocks
    ]
    return content(edited, kind, old)


def called(arguments: Any) -> str:
    """Return the arguments of a call as JSON text: they come as a string that holds it."""
    return arguments if isinstance(arguments, str) else spell(arguments)


def freely(text: Any) -> str:
    """Return the free text that a custom tool is called with as JSON text."""
    return spell({"input": text})


def free_text(block: Block) -> Any:
    """Return the free text in the JSON text that :func:`freely` wrote."""
    return msgspec.json.decode(block.text)["input"]


def spell(value: Any) -> str:
    """Return a value as JSON text."""
    return exact.dump(value).decode()


def failed(text: str) -> bool:
    """Return True if the text of a result tells that its call failed, since no flag does.

    That is an object with a true ``error`` or ``is_error``, or a header with an exit status other
    than 0; an object may carry the status as ``metadata.exit_code``, as Codex once wrote it. A
    placeholder for such a text tells it too.
    """
    if text == NO_RESULT or tells_failure(text):
        return True
    if text.startswith("{"):
        given = load(text) if _TELLING.search(text) else {}
        return bool(given.get("error")) or given.get("is_error") is True or exit_code(given) != 0
    found = _STATUS.match(text)
    return found is not None and found[1].strip("-0") != ""


def load(text: str) -> dict[str, Any]:
    """Parse a JSON object; return {} if the text is none."""
    try:
        value = msgspec.json.decode(text)
    except DECODE_ERRORS:
        return {}
    return value if isinstance(value, dict) else {}


def exit_code(given: dict[str, Any]) -> int:
    """Return ``metadata.exit_code``, 0 if there is none."""
    metadata = given.get("metadata")
    code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    return code if isinstance(code, int) else 0
