"""A session of Claude Code, one line a content block.

The view is rebuilt as the agent does on resume: lines of one ``message.id`` are one message,
each result stands behind its call, the active context starts behind the last compaction
boundary, and side chains, progress and other lines that the model never sees stay outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.formats import anthropic_parts, base, sent
from compactctl.formats.claude_code import attachments, history
from compactctl.formats.claude_code.history import SPEAKERS, Preserved, Record, Said, Tree
from compactctl.formats.sent import Whole
from compactctl.model import Block
from compactctl.view.compare import same_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compactctl.graph import EntryGraph
    from compactctl.model import Role
    from compactctl.view.builder import Assembler

_ENVELOPE = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "agentId")
_METADATA = (
    *("summary", "file-history-snapshot", "queue-operation", "last-prompt", "permission-mode"),
    *("mode", "bridge-session", "ai-title", "custom-title", "agent-name", "pr-link"),
    "worktree-state",
)
_SIZES = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_CONVERSATION = ("user", "assistant", "system", "progress", "attachment")


class ClaudeCode(base.Format):
    """A line is one block of an API message in the agent's envelope, or metadata."""

    name = "claude-code"
    description = "Claude Code session (~/.claude/projects/…/*.jsonl)"
    profile = "anthropic"
    record = Record
    links = base.Links(
        own="uuid",
        parent="parentUuid",
        also=("logicalParentUuid", "leafUuid"),
        keeps="compactMetadata",
    )
    known_types = frozenset((*_CONVERSATION, *_METADATA))
    content_members = ("message", "attachment", "rendered")
    usage_keys = (b'"usage"',)
    slim_keys = (b'"toolUseResult"', b'"progress"')

    def recognises(self, record: dict[str, Any]) -> bool:
        """Recognise the envelope of a conversation line; metadata lines prove nothing."""
        return (
            record.get("type") in _CONVERSATION
            and "uuid" in record
            and ("parentUuid" in record or "sessionId" in record)
        )

    def read(self, records: Iterable[tuple[int, Record]], builder: Assembler) -> None:
        """Rebuild the active context."""
        reading = _Reading(builder)
        for index, record in records:
            reading.add(index, record)
        reading.finish()

    def parts(self, record: dict[str, Any]) -> list[Any]:
        """Return the parts of the API message, or of what was asked in the middle of a turn.

        Another attachment is one part, its line.
        """
        if "message" not in record:
            return anthropic_parts.parts(_asked(record)) if _asked(record) else [record]
        return anthropic_parts.parts(record["message"].get("content"))

    def replace_parts(self, record: dict[str, Any], parts: list[Any]) -> dict[str, Any]:
        """Replace the content; the agent's own copies beside it stay as they are."""
        if "message" not in record:
            if not _asked(record):
                return dict(parts[0])
            asked = {"prompt": anthropic_parts.content(parts)}
            return record | {"attachment": record["attachment"] | asked}
        new = {"content": anthropic_parts.content(parts)}
        return record | {"message": record["message"] | new}

    def edit(self, part: Any, block: Block) -> Any:
        """Edit a content block, or an attachment."""
        if block.kind == "document" and attachments.TYPE in part:
            return attachments.edit(part, block)
        return anthropic_parts.edit(part, block)

    def make(self, block: Block) -> dict[str, Any]:
        """Make a content block."""
        return anthropic_parts.make(block)

    def create(
        self, role: Role, blocks: list[Block], like: dict[str, Any], link: base.Link
    ) -> list[dict[str, Any]]:
        """Write one line; the agent reads a user's line of several blocks too."""
        own, parent = link
        line: dict[str, Any] = {"parentUuid": parent}
        line |= {key: like[key] for key in _ENVELOPE if key in like}
        line |= {"isSidechain": like.get("isSidechain", False), "type": role}
        if role == "user" and all(block.meta for block in blocks):
            line["isMeta"] = True
        if role == "assistant":
            made = [anthropic_parts.make(block) for block in blocks]
            message = {"id": f"msg_{own}", "type": "message", "role": role, "content": made}
        else:
            message = {"role": role, "content": anthropic_parts.made(blocks)}
        return [line | {"message": message, "uuid": own, "timestamp": like.get("timestamp", "")}]

    def new_id(self, digest: str) -> str:
        """Make a UUID."""
        fields = digest[:8], digest[8:12], "8" + digest[13:16], "8" + digest[17:20], digest[20:32]
        return "-".join(fields)

    def relink(self, record: dict[str, Any], graph: EntryGraph) -> dict[str, Any]:
        """Make a boundary keep what is left of its lines, and what was added there."""
        return history.relink(record, graph)

    def is_prompt(self, record: Record) -> bool:
        """Return True for a line of the user whose content holds no result."""
        return history.is_prompt(record)

    def session(self, record: dict[str, Any]) -> str | None:
        """Return the session of a conversation line."""
        return base.identifier(record.get("sessionId"))

    def usage(self, record: dict[str, Any]) -> tuple[Any, int] | None:
        """Return the size of the input: output tokens are no part of the context of the call."""
        message = record.get("message")
        usage = message.get("usage") if isinstance(message, dict) else None
        if message is None or not isinstance(usage, dict) or record.get("isSidechain") is True:
            return None
        size = sum(usage[key] for key in _SIZES if type(usage.get(key)) is int)
        return (message.get("id") or record.get("uuid"), size) if size else None

    def with_usage(self, record: dict[str, Any], size: int) -> dict[str, Any]:
        """Say that all of the input was new; the agent adds up the three sizes."""
        message = record["message"]
        return record | {"message": message | {"usage": _resized(message["usage"], size)}}

    def slim(self, record: dict[str, Any]) -> dict[str, Any] | None:
        """Drop progress, and the second copy of a result that only the agent's screen shows."""
        if record.get("type") == "progress":
            return None
        if "toolUseResult" in record:
            return {key: value for key, value in record.items() if key != "toolUseResult"}
        return record


def _asked(record: dict[str, Any]) -> Any:
    """Return what the user asked in an attachment, None if it is another."""
    held = record.get(attachments.TYPE)
    if not isinstance(held, dict) or held.get("type") != "queued_command":
        return None
    return held.get("prompt") if held.get("commandMode") in (None, "prompt") else None


def _resized(usage: dict[str, Any], size: int) -> dict[str, Any]:
    """Return a usage with another size, which its parts and its last iteration tell as well."""
    new = usage | dict.fromkeys([key for key in _SIZES if key in usage], 0)
    new["input_tokens"] = size
    parts, rounds = usage.get("cache_creation"), usage.get("iterations")
    if isinstance(parts, dict):
        new["cache_creation"] = dict.fromkeys(parts, 0)
    if isinstance(rounds, list) and rounds and isinstance(rounds[-1], dict):
        new["iterations"] = [*rounds[:-1], _resized(rounds[-1], size)]
    return new


class _Reading:
    """What is known of a session while its lines are read."""

    def __init__(self, builder: Assembler) -> None:
        self.builder = builder
        self.side: list[Said] = []
        self.speaks = False
        self.known: dict[str, Said] = {}
        self.tree = Tree()
        self.preserved = Preserved()

    def add(self, index: int, record: Record) -> None:
        """Put a line into the view where it stands, and what a boundary keeps behind it."""
        if record.is_sidechain is True:
            self.side.append(_read(index, record, self.builder.whole))
            return
        kind = record.type
        if kind in SPEAKERS and record.message is not None:
            self._say(index, record)
        elif kind == "system":
            self._begin(record)
        elif kind == attachments.TYPE:
            self._attach(index, record)
        self.tree.add(index, record)
        if self.preserved.waiting:
            for kept in self.preserved.behind(record):
                _put(kept, self.builder)

    def _say(self, index: int, record: Record) -> None:
        self.speaks = True
        said = _read(index, record, self.builder.whole)
        if isinstance(record.uuid, str):
            known = self.known.setdefault(record.uuid, said)
            if known is not said and same_words(known.blocks, said.blocks):
                self.builder.hides = True  # of a line that was written twice the agent takes one
                return
        _put(said, self.builder)
        self.preserved.said.append(said)

    def _attach(self, index: int, record: Record) -> None:
        """Put in what the user asked in the middle of a turn, or what the agent added."""
        attachment = attachments.read(record.attachment)
        asked = attachment.asked()
        if asked is not None:
            found = anthropic_parts.blocks(asked, index, self.builder.whole)
            said = Said(record.uuid, False, [block for block in found if not _is_blank(block)])
        elif bytes(record.rendered) or attachment.is_sent():
            added = attachments.block(sent.part_of(self.builder.whole, index, 0), index)
            said = Said(record.uuid, False, [added])
            self.builder.hides = True  # it parts answers that would be one without it
        else:
            return
        _put(said, self.builder)
        self.preserved.said.append(said)

    def _begin(self, record: Record) -> None:
        """Start anew at a boundary; what a micro-compaction took out, resume sends in full."""
        if record.subtype == "compact_boundary":
            self.builder.reset()
            self.preserved.begin(record)
            self.tree.begin()
            self.known.clear()

    def finish(self) -> None:
        """Take out what resume does not come to, and what the agent never sends."""
        builder, said = self.builder, self.preserved.said
        for line in () if self.speaks else self.side:
            _put(line, builder)
        abandoned = self.tree.abandoned(said)
        builder.hides = builder.hides or bool(self.side) or not self.tree.is_straight
        if abandoned:
            builder.rewrite(lambda block: None if block.entry in abandoned else block)
        builder.drop_bare_thinking()


def _read(index: int, record: Record, whole: Whole) -> Said:
    """Read what one conversation line says."""
    message = record.message
    is_answer = record.type == "assistant"
    hidden = record.is_visible_in_transcript_only is True and record.is_compact_summary is not True
    if message is None or record.is_api_error_message is True or hidden:
        return Said(record.uuid, is_answer)
    cwd = record.cwd if isinstance(record.cwd, str) else ""
    found = [
        block
        for block in anthropic_parts.blocks(message.content, index, whole, cwd)
        if not _is_blank(block)
    ]
    if is_answer:
        key = message.id if isinstance(message.id, str) else None
        return Said(record.uuid, is_answer, found, key)
    return Said(record.uuid, is_answer, [_flagged(block, record) for block in found])


def _put(said: Said, builder: Assembler) -> None:
    """Add a line to the view."""
    if said.is_answer:
        if said.blocks:
            builder.assistant(said.blocks, said.key)
        return
    for block in said.blocks:
        if block.kind == "result":
            builder.answer(block)
        else:
            builder.user([block])
    if said.blocks and all(block.kind != "result" for block in said.blocks):
        builder.part()


def _flagged(block: Block, record: Record) -> Block:
    """Mark what the agent wrote, so that it is not taken for a request of the user."""
    if block.kind == "result":
        return block
    if record.is_compact_summary is True:
        return msgspec.structs.replace(block, meta=True, is_summary=True)
    if record.is_meta is True:
        return msgspec.structs.replace(block, meta=True)
    return block


def _is_blank(block: Block) -> bool:
    """Return True for text of white space alone: the agent drops it, as a provider refuses it."""
    return block.kind == "text" and (not block.text or block.text.isspace())


FORMAT = ClaudeCode()
