"""``pi``: a session of pi (badlogic/pi-mono), a tree of entries or, in its first form, a list.

The view is what pi sends on resume (``buildSessionContext`` and ``convertToLlm`` of its agent,
``transformMessages`` of its package ``ai``): the last entry and its ancestors; of these, from the
last compaction on, its summary, the entries that it kept and those behind it. Answers that were
aborted or failed are not sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactctl.formats.anthropic_content import content, parts
from compactctl.formats.pi_content import (
    Record,
    blocks,
    edit,
    make,
    result,
    shell_text,
    written,
)
from compactctl.formats.pi_path import Entry, context, relink
from compactctl.formats.values import string
from compactctl.model import Block

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compactctl.model import Role
    from compactctl.view.builder import Assembler

__all__ = ["Record", "create", "edit", "make", "parts_of", "recognise", "relink", "view"]
__all__ += ["with_parts"]

DESCRIPTION = "pi session (~/.pi/agent/sessions/…/*.jsonl)"
SIGNED = True
PROFILE = "anthropic"
STAYS = "compaction"
ONE_LINE_A_MESSAGE = False
MENDS_IDS = True
ANSWERS_CALLS = True
LINK = ("id", "parentId")
ALSO_LINKED = ("firstKeptEntryId", "fromId", "targetId")
RELINKED = "firstKeptEntryId"
FOLLOWS_LINKS = True
KNOWN_TYPES = frozenset({"session", "message", "compaction", "branch_summary", "custom_message"})
KNOWN_TYPES |= {"custom", "label", "model_change", "thinking_level_change", "session_info"}

_SUMMARIES = ("compaction", "branch_summary")
_USERS = ("user", "custom", "hookMessage")


def recognise(record: dict[str, Any]) -> bool:
    """Tell by the types of pi's entries and the time that each of them has."""
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in KNOWN_TYPES or "timestamp" not in record:
        return False
    return (
        isinstance(record.get("message"), dict) if kind == "message" else "sessionId" not in record
    )


def view(records: Iterable[tuple[int, Record]], build: Assembler) -> None:
    """Rebuild the active context; what stands before the last reset is out of it."""
    entries: list[Entry] = []
    resets = 0
    cwd = ""
    build.hides = True  # other branches
    for place, (index, record) in enumerate(records):
        if build.resets != resets:
            resets = build.resets
            entries.clear()
        if record.type == "session":
            cwd = string(record.cwd)
        else:
            entries.append(Entry(record, index, place))
    _send(context(entries), cwd, build)


def _send(entries: list[Entry], cwd: str, build: Assembler) -> None:
    """Add the entries to the view; an answer that was not finished takes its results with it."""
    dead: set[str | None] = set()
    for entry in entries:
        record, message, index = entry.record, entry.record.message, entry.index
        if record.type != "message" or message is None:
            build.user(_sent(_from_harness(record, index)))
        elif message.role == "assistant":
            found = _sent(blocks(message.content, index, cwd))
            calls = {block.call_id for block in found if block.kind == "call"}
            if message.stop_reason in ("aborted", "error"):
                dead |= calls
            elif found:
                dead -= calls
                build.assistant(found)
        elif message.role == "toolResult":
            answer = result(message, index)
            if answer.call_id not in dead:
                build.user([answer])
        elif message.role in _USERS:
            build.user(_sent(blocks(message.content, index, meta=message.role != "user")))
        elif message.role == "bashExecution" and message.exclude_from_context is not True:
            build.user([Block("text", shell_text(message), entry=index, meta=True)])


def _from_harness(record: Record, index: int) -> list[Block]:
    """Read an entry by which pi or an extension of it speaks to the model; [] for all others."""
    if record.type in _SUMMARIES:
        return [Block("text", string(record.summary), is_summary=True, entry=index, meta=True)]
    if record.type == "custom_message":
        return blocks(record.content, index, meta=True)
    return []


def _sent(found: list[Block]) -> list[Block]:
    """Leave out texts of nothing but white space, as pi does."""
    return [block for block in found if block.kind != "text" or block.text.strip()]


def parts_of(record: dict[str, Any]) -> list[Any]:
    """Give the parts of a parsed line, in the order that ``Block.at`` counts."""
    if record["type"] in _SUMMARIES:
        return [record["summary"]]
    if record["type"] == "custom_message":
        return parts(record.get("content"))
    message = record["message"]
    return [message] if _is_whole(message) else parts(message.get("content"))


def with_parts(record: dict[str, Any], edited: list[Any]) -> dict[str, Any]:
    """Give the line with other parts."""
    if record["type"] in _SUMMARIES:
        return record | {"summary": edited[0] if edited else ""}
    if record["type"] == "custom_message":
        return record | {"content": content(edited)}
    message = record["message"]
    if _is_whole(message) and "role" in edited[0]:
        return record | {"message": edited[0]}
    if _is_whole(message):
        message = {"role": "user", "timestamp": message.get("timestamp")}
    return record | {"message": message | {"content": content(edited)}}


def _is_whole(message: dict[str, Any]) -> bool:
    """Say whether a message is a single part: a result, or a command that the user ran."""
    return message.get("role") in ("toolResult", "bashExecution")


def is_prompt(record: Record) -> bool:
    """Say whether an entry is what a person asked: two of them under one parent are a rewind."""
    message = record.message if record.type == "message" else None
    return message is not None and bool(message.role == "user")


def session_of(record: dict[str, Any]) -> Any:
    """Give the name of the session, which the first line tells."""
    return record.get("id") if record.get("type") == "session" else None


def usage_of(record: dict[str, Any]) -> tuple[Any, int] | None:
    """Give (entry, context size in tokens) where an answer records what its call was sent."""
    message = record.get("message")
    usage = message.get("usage") if isinstance(message, dict) else None
    if not isinstance(usage, dict):
        return None
    sizes = [usage.get(key) for key in ("input", "cacheRead", "cacheWrite")]
    size = sum(size for size in sizes if type(size) is int)
    return (record.get("id") or record.get("timestamp"), size) if size else None


def identity(digest: str) -> str:
    """Give an entry its id: eight hex digits, as pi makes them."""
    return digest[:8]


def create(
    role: Role, made: list[Block], like: dict[str, Any], own: str, parent: str | None
) -> dict[str, Any] | list[dict[str, Any]]:
    """Write new entries: one for each result, one for each run of other blocks.

    The old form has no ids; there the entry ``like``, a neighbour, has none either.
    """
    import hashlib  # noqa: PLC0415 (as in placeholders: all formats are loaded to tell a file's)

    linked = ("version" if like.get("type") == "session" else "id") in like or not recognise(like)
    entries: list[dict[str, Any]] = []
    for run in _runs(made):
        new = written(role, run, like)
        ids = {"id": own, "parentId": parent} if linked else {}
        stamp = {"timestamp": like.get("timestamp", "")}
        entries.append({"type": new["type"]} | ids | stamp | new)
        parent, own = own, identity(hashlib.sha256(own.encode()).hexdigest())
    return entries if len(entries) > 1 else entries[0]


def _runs(made: list[Block]) -> list[list[Block]]:
    """Part blocks into what one entry can hold."""
    runs: list[list[Block]] = []
    for block in made:
        last = runs[-1][-1] if runs else block
        if not runs or "result" in {block.kind, last.kind} or block.meta != last.meta:
            runs.append([])
        runs[-1].append(block)
    return runs
