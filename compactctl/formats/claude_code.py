"""``claude-code``: a session of Claude Code, one line a content block.

The view is rebuilt as the harness does on resume: lines of one ``message.id`` are one message,
each result stands behind its call, the active context starts behind the last compaction
boundary, and side chains, progress and other lines that the model never sees stay outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.formats.anthropic_content import blocks, content, edit, make, parts
from compactctl.formats.claude_tree import Preserved, Record, Said, Tree, is_prompt, relink
from compactctl.model import Block

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compactctl.model import Role
    from compactctl.view.builder import Assembler

__all__ = ["Record", "create", "edit", "is_prompt", "make", "parts_of", "recognise", "relink"]
__all__ += ["view", "with_parts"]

DESCRIPTION = "Claude Code session (~/.claude/projects/…/*.jsonl)"
SIGNED = True
PROFILE = "anthropic"
ONE_LINE_A_MESSAGE = False
LINK = ("uuid", "parentUuid")
ALSO_LINKED = ("logicalParentUuid", "leafUuid")
RELINKED = "compactMetadata"
EDITED = ("message",)
KNOWN_TYPES = frozenset({"user", "assistant", "system", "progress", "attachment", "summary"})
KNOWN_TYPES |= {"file-history-snapshot", "queue-operation", "last-prompt", "permission-mode"}
KNOWN_TYPES |= {"mode", "bridge-session", "ai-title", "custom-title", "agent-name", "pr-link"}
KNOWN_TYPES |= {"worktree-state"}

CLEARED = "[Old tool result content cleared]"
"""What the harness shows the model in place of a result that a micro-compaction took out."""

_SPEAKERS = ("user", "assistant")
_ENVELOPE = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "agentId")


def recognise(record: dict[str, Any]) -> bool:
    """Tell by the envelope of a conversation line; metadata lines prove nothing."""
    return (
        record.get("type") in ("user", "assistant", "system", "progress", "attachment")
        and "uuid" in record
        and ("parentUuid" in record or "sessionId" in record)
    )


def view(records: Iterable[tuple[int, Record]], build: Assembler) -> None:
    """Rebuild the active context."""
    side: list[Said] = []
    cleared: set[str] = set()
    tree, preserved = Tree(), Preserved()
    for index, record in records:
        if record.is_sidechain is True:
            side.append(_read(index, record))
            continue
        kind = record.type
        if kind in _SPEAKERS and record.message is not None:
            said = _read(index, record)
            _put(said, build)
            preserved.said.append(said)
        elif kind == "system":
            cleared.update(_begin(record, build, preserved))
        tree.add(index, record)
        if preserved.waiting:
            for kept in preserved.behind(record):
                _put(kept, build)
    build.hides = build.hides or bool(side)
    for said in () if preserved.said else side:
        _put(said, build)
    abandoned = tree.abandoned()
    if abandoned:
        build.rewrite(lambda block: None if block.entry in abandoned else block)
    if cleared:
        build.rewrite(lambda block: _clear(block) if block.call_id in cleared else block)
    build.drop_bare_thinking()


def _begin(record: Record, build: Assembler, preserved: Preserved) -> list[str]:
    """Start anew at a boundary; give the ids of results that a micro-compaction took out."""
    if record.subtype == "compact_boundary":
        build.reset()
        preserved.begin(record)
    return _cleared_ids(record)


def _read(index: int, record: Record) -> Said:
    """Read what one conversation line says."""
    message = record.message
    is_answer = record.type == "assistant"
    hidden = record.is_visible_in_transcript_only is True and record.is_compact_summary is not True
    if message is None or record.is_api_error_message is True or hidden:
        return Said(record.uuid, is_answer)
    cwd = record.cwd if isinstance(record.cwd, str) else ""
    found = [block for block in blocks(message.content, index, cwd) if not _is_blank(block)]
    if is_answer:
        key = message.id if isinstance(message.id, str) else None
        return Said(record.uuid, is_answer, found, key)
    return Said(record.uuid, is_answer, [_flagged(block, record) for block in found])


def _put(said: Said, build: Assembler) -> None:
    """Add a line to the view."""
    if said.is_answer:
        if said.blocks:
            build.assistant(said.blocks, said.key)
        return
    for block in said.blocks:
        if block.kind == "result":
            build.answer(block)
        else:
            build.user([block])


def _flagged(block: Block, record: Record) -> Block:
    """Mark what the harness wrote, so that it is not taken for a request of the user."""
    if block.kind == "result":
        return block
    if record.is_compact_summary is True:
        return msgspec.structs.replace(block, meta=True, is_summary=True)
    if record.is_meta is True:
        return msgspec.structs.replace(block, meta=True)
    return block


def _is_blank(block: Block) -> bool:
    """Spot white-space text: the harness drops it, since a provider refuses it."""
    return block.kind == "text" and (not block.text or block.text.isspace())


def _cleared_ids(record: Record) -> list[str]:
    metadata = record.microcompact_metadata
    ids = metadata.get("compactedToolIds") if isinstance(metadata, dict) else None
    return [item for item in ids if isinstance(item, str)] if isinstance(ids, list) else []


def _clear(block: Block) -> Block:
    if block.kind != "result":
        return block
    piece = Block("text", CLEARED, entry=block.entry)
    return msgspec.structs.replace(block, content=(piece,))


def parts_of(record: dict[str, Any]) -> list[Any]:
    """Give the parts of a parsed line, in the order that ``Block.at`` counts."""
    return parts(record["message"].get("content"))


def with_parts(record: dict[str, Any], edited: list[Any]) -> dict[str, Any]:
    """Give the line with other parts; the harness's own copies beside them stay as they are."""
    return record | {"message": record["message"] | {"content": content(edited)}}


def identity(digest: str) -> str:
    """Give a line its id: a UUID made from a digest of its content."""
    fields = digest[:8], digest[8:12], "8" + digest[13:16], "8" + digest[17:20], digest[20:32]
    return "-".join(fields)


def create(
    role: Role, made: list[Block], like: dict[str, Any], own: str, parent: str | None
) -> dict[str, Any]:
    """Write a new line with the envelope of its neighbour ``like``."""
    line: dict[str, Any] = {"parentUuid": parent}
    line |= {key: like[key] for key in _ENVELOPE if key in like}
    line |= {"isSidechain": like.get("isSidechain", False), "type": role}
    if role == "user" and all(block.meta for block in made):
        line["isMeta"] = True
    if role == "assistant":
        blocks_made = [make(block) for block in made]
        message = {"id": f"msg_{own}", "type": "message", "role": role, "content": blocks_made}
    else:
        pieces = [block.text if block.kind == "text" else make(block) for block in made]
        message = {"role": role, "content": content(pieces)}
    return line | {"message": message, "uuid": own, "timestamp": like.get("timestamp", "")}


SLIM_KEYS = (b'"toolUseResult"', b'"progress"')
"""Bytes that a line with something for :func:`slim` holds."""


def slim(record: dict[str, Any]) -> dict[str, Any] | None:
    """Give a line without the copies that only the harness's own screen shows."""
    if record.get("type") == "progress":
        return None
    if "toolUseResult" in record:
        return {key: value for key, value in record.items() if key != "toolUseResult"}
    return record


def session_of(record: dict[str, Any]) -> Any:
    """Give the name of the session that a line belongs to."""
    return record.get("sessionId")


def usage_of(record: dict[str, Any]) -> tuple[Any, int] | None:
    """Give (message, context size in tokens) where a line records what its call was sent.

    Lines of one message repeat it, the last is right; output tokens are no part of the size.
    """
    message = record.get("message")
    usage = message.get("usage") if isinstance(message, dict) else None
    if message is None or not isinstance(usage, dict) or record.get("isSidechain") is True:
        return None
    keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    size = sum(usage[key] for key in keys if type(usage.get(key)) is int)
    return (message.get("id") or record.get("uuid"), size) if size else None
