"""What a view says, and what a request says, in the same words; and where the two differ."""

from __future__ import annotations

import contextlib
import json
import re
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from compactctl.model import result_text, text_pieces
from compactctl.transcript import loading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compactctl.model import Block

SHOWN = 120
"""Characters of a piece that a difference shows."""


class Said(NamedTuple):
    """One block of a message: who says it, what kind it is, and all that it says."""

    role: str
    kind: str
    text: str


def of_view(data: bytes) -> list[Said]:
    """Return what compactctl reads in a session, without the system's messages."""
    found = loading.load(data.splitlines(keepends=True))
    return [
        said
        for message in found.messages
        if message.role != "system"
        for block in message.blocks
        for said in _of_block(message.role, block)
    ]


def of_request(body: dict[str, Any]) -> list[Said]:
    """Return what a request says, of either API, without the system's messages."""
    if "input" in body:
        return [said for item in body["input"] for said in _of_item(item)]
    return [
        _of_part(message["role"], part)
        for message in body["messages"]
        if message["role"] != "system"
        for part in _parts(message["content"], "text")
    ]


def unsent(view: list[Said], body: dict[str, Any]) -> list[Said]:
    """Return the attachments of a view that a request does not hold, wherever it has them.

    Line by line: some versions number the lines of a file when they send it.
    """
    sent = _bare("\n".join(_strings(body)))
    attached = (said for said in view if said.kind == "document")
    return [
        said for said in attached if any(_bare(line) not in sent for line in said.text.splitlines())
    ]


def _bare(text: str) -> str:
    """Return a text without the tags of reminders, which a message of the system has not."""
    return " ".join(re.sub("</?system-reminder>", " ", text).split())


def _strings(value: Any) -> Iterator[str]:
    """Yield all strings inside a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def difference(view: list[Said], sent: list[Said], added: str = "(?!)") -> str:
    """Return the first place where a request and the view part; "" if both say the same.

    Attachments are left aside: their place is the agent's to choose. What it puts in by itself, as
    ``added`` matches it, may stand between the blocks and behind what one of the user's says; white
    space at the end of that is no difference, nor is the order of results side by side.
    """
    own = re.compile(f"(?:{added})*", re.DOTALL)
    view = _settled([said for said in view if said.kind != "document"])
    at = 0
    for said in _settled(sent):
        wanted = view[at] if at < len(view) else None
        if wanted and _is(said, wanted, own):
            at += 1
        elif not own.fullmatch(said.text):
            then = f"; the view goes on with {_shown(wanted, said)}" if wanted else ""
            return f"block {at} sent is not in the view: {_shown(said, wanted)}{then}"
    return f"block {at} of {len(view)} is not sent: {_shown(view[at])}" if at < len(view) else ""


def _settled(every: list[Said]) -> list[Said]:
    """Return the same with results that stand side by side in the order of their ids."""
    runs = groupby(every, lambda said: said.kind == "result")
    return [said for is_result, run in runs for said in (sorted(run) if is_result else run)]


def _is(said: Said, wanted: Said, own: re.Pattern[str]) -> bool:
    """Return True if a block says what the view wants, and no more than the agent added."""
    if said == wanted:
        return True
    text = wanted.text.rstrip()
    if said[:2] != wanted[:2] or said.role != "user" or not said.text.startswith(text):
        return False
    return bool(own.fullmatch(said.text[len(text) :].strip()))


def _shown(said: Said, other: Said | None = None) -> str:
    """Return a block in short, from a little before where it parts from ``other``."""
    start = 0
    if other and other[:2] == said[:2]:
        parted = (a != b for a, b in zip(said.text, other.text, strict=False))
        same = next((at for at, differs in enumerate(parted) if differs), len(other.text))
        start = max(same - SHOWN // 4, 0)
    text = said.text[start : start + SHOWN]
    before = f"… (after {start:,})" if start else ""
    after = f"… (of {len(said.text):,})" if start + SHOWN < len(said.text) else ""
    return f"{said.role} {said.kind} {before}{text!r}{after}"


def _of_block(role: str, block: Block) -> Iterator[Said]:
    """Yield what a block of the view says: of an attachment each text by itself."""
    if block.kind == "call":
        yield _call(block.call_id, block.tool, block.text)
    elif block.kind == "result":
        images = sum(piece.kind == "image" for piece in block.content)
        yield _result(block.call_id, result_text(block), images)
    elif block.kind == "document":
        yield from (Said(role, "document", piece.text) for piece in text_pieces(block))
    else:
        yield Said(role, block.type if block.kind == "other" else block.kind, block.text)


def _of_part(role: str, part: dict[str, Any]) -> Said:
    """Return what a content block of the Messages API says."""
    kind = part["type"]
    if kind == "tool_use":
        return _call(part["id"], part["name"], json.dumps(part["input"]))
    if kind == "tool_result":
        return _result(part["tool_use_id"], *_texts(_parts(part.get("content"), "text")))
    return Said(role, kind, part.get(kind, "") if kind in {"text", "thinking"} else "")


def _of_item(item: dict[str, Any]) -> Iterator[Said]:
    """Return what an item of the Responses API says."""
    kind = item["type"]
    if kind == "message":
        if item["role"] in {"user", "assistant"}:
            for part in _parts(item["content"], "input_text"):
                image = part["type"] == "input_image"
                yield Said(item["role"], "image" if image else "text", part.get("text", ""))
    elif kind.endswith("_call") and "call_id" in item:
        free = {"input": item["input"]} if "input" in item else {}
        arguments = item.get("arguments") or json.dumps(free)
        yield _call(item["call_id"], item.get("name", kind), arguments)
    elif kind.endswith("_output"):
        yield _result(item["call_id"], *_texts(_parts(item["output"], "input_text")))
    elif kind == "reasoning":
        yield Said("assistant", "thinking", "")
    else:
        yield Said("assistant", kind, "")


def _call(call_id: str | None, tool: str, arguments: str) -> Said:
    with contextlib.suppress(ValueError):
        arguments = json.dumps(json.loads(arguments), sort_keys=True)
    return Said("assistant", "call", f"{call_id} {tool} {arguments}")


def _result(call_id: str | None, text: str, images: int) -> Said:
    return Said("user", "result", f"{call_id} {text}{' and an image' * images}")


def _texts(parts: list[dict[str, Any]]) -> tuple[str, int]:
    """Join the texts of a result, and count its images."""
    texts = [part["text"] for part in parts if "text" in part]
    return "\n".join(texts), sum("image" in part["type"] for part in parts)


def _parts(content: Any, kind: str) -> list[dict[str, Any]]:
    """Return a content as a list of parts, a string as a part of ``kind``."""
    if isinstance(content, list):
        return content
    return [{"type": kind, "text": content}] if content else []
