"""A session of pi (badlogic/pi-mono), a tree of entries or, in its first form, a list.

The view is what pi sends on resume (``buildSessionContext`` and ``convertToLlm`` of its agent,
``transformMessages`` of its package ``ai``): the last entry and its ancestors; of these, from the
last compaction on, its summary, the entries that it kept and those behind it. Answers that were
aborted or failed are not sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactctl.formats import anthropic_parts, base
from compactctl.formats.base import string
from compactctl.formats.pi import branch, parts
from compactctl.formats.pi.branch import Entry
from compactctl.formats.pi.parts import Record
from compactctl.formats.sent import Whole
from compactctl.model import Block

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compactctl.graph import EntryGraph
    from compactctl.model import Role
    from compactctl.view.builder import Assembler

_TYPES = frozenset({"session", "message", "compaction", "branch_summary", "custom_message"})
_TYPES |= {"custom", "label", "model_change", "thinking_level_change", "session_info"}
_SUMMARIES = ("compaction", "branch_summary")
_SIZES = ("input", "cacheRead", "cacheWrite")
_USERS = ("user", "custom", "hookMessage")


class Pi(base.Format):
    """A line is an entry: a message, a summary, or metadata."""

    name = "pi"
    description = "pi session (~/.pi/agent/sessions/…/*.jsonl)"
    profile = "anthropic"
    record = Record
    rewrites_ids = True
    answers_open_calls = True
    links = base.Links(
        own="id",
        parent="parentId",
        also=("firstKeptEntryId", "fromId", "targetId"),
        keeps="firstKeptEntryId",
        follows=True,
    )
    known_types = _TYPES
    boundary = "compaction"
    ours_stand_inside = True
    usage_keys = (b'"usage"',)

    def recognises(self, record: dict[str, Any]) -> bool:
        """Recognise a type of entry and the time that every entry has."""
        kind = record.get("type")
        if not isinstance(kind, str) or kind not in _TYPES or "timestamp" not in record:
            return False
        if kind == "message":
            return isinstance(record.get("message"), dict)
        return "sessionId" not in record

    def read(self, records: Iterable[tuple[int, Record]], builder: Assembler) -> None:
        """Rebuild the active context; what stands before the last reset is out of it.

        The way back leads through it all the same, for lines may be out of order.
        """
        entries: list[Entry] = []
        resets = first = 0
        cwd = ""
        builder.hides = True  # other branches
        for place, (index, record) in enumerate(records):
            if builder.resets != resets:
                resets, first = builder.resets, index
            if record.type == "session":
                cwd = string(record.cwd)
            else:
                entries.append(Entry(record, index, place))
        sent = branch.context(entries)
        _send([entry for entry in sent if entry.index >= first], cwd, builder)

    def parts(self, record: dict[str, Any]) -> list[Any]:
        """Return the parts of the content; a summary or a result is one part."""
        if record["type"] in _SUMMARIES:
            return [record["summary"]]
        if record["type"] == "custom_message":
            return anthropic_parts.parts(record.get("content"))
        message = record["message"]
        return [message] if _is_whole(message) else anthropic_parts.parts(message.get("content"))

    def replace_parts(self, record: dict[str, Any], parts: list[Any]) -> dict[str, Any]:
        """Replace the content, the summary, or the message that is one part."""
        if record["type"] in _SUMMARIES:
            return record | {"summary": parts[0] if parts else ""}
        if record["type"] == "custom_message":
            return record | {"content": anthropic_parts.content(parts)}
        message = record["message"]
        if _is_whole(message) and "role" in parts[0]:
            return record | {"message": parts[0]}
        if _is_whole(message):
            message = {"role": "user", "timestamp": message.get("timestamp")}
        return record | {"message": message | {"content": anthropic_parts.content(parts)}}

    def edit(self, part: Any, block: Block) -> Any:
        """Edit a part, or the message of a result."""
        return parts.edit(part, block)

    def make(self, block: Block) -> dict[str, Any]:
        """Make a part, or the message of a result."""
        return parts.make(block)

    def create(
        self, role: Role, blocks: list[Block], like: dict[str, Any], link: base.Link
    ) -> list[dict[str, Any]]:
        """Write one entry for each result and for each run of other blocks.

        The old form has no ids; there the entry ``like``, a neighbour, has none either.
        """
        import hashlib  # noqa: PLC0415 (as in placeholders: detection loads every format)

        id_key = "version" if like.get("type") == "session" else "id"
        linked = id_key in like or not self.recognises(like)
        own, parent = link
        entries: list[dict[str, Any]] = []
        for run in _runs(blocks):
            new = parts.written(role, run, like)
            ids = {"id": own, "parentId": parent} if linked else {}
            stamp = {"timestamp": like.get("timestamp", "")}
            entries.append({"type": new["type"]} | ids | stamp | new)
            parent, own = own, self.new_id(hashlib.sha256(own.encode()).hexdigest())
        return entries

    def new_id(self, digest: str) -> str:
        """Make eight hex digits."""
        return digest[:8]

    def relink(self, record: dict[str, Any], graph: EntryGraph) -> dict[str, Any]:
        """Make a compaction keep from the first entry left of those that it kept."""
        return branch.relink(record, graph)

    def is_prompt(self, record: Record) -> bool:
        """Return True for a message of the user."""
        message = record.message if record.type == "message" else None
        return message is not None and bool(message.role == "user")

    def session(self, record: dict[str, Any]) -> str | None:
        """Return the id in the first line."""
        return base.identifier(record.get("id")) if record.get("type") == "session" else None

    def usage(self, record: dict[str, Any]) -> tuple[Any, int] | None:
        """Return the size of the input, read from the cache or not."""
        message = record.get("message")
        usage = message.get("usage") if isinstance(message, dict) else None
        if not isinstance(usage, dict):
            return None
        size = sum(usage[key] for key in _SIZES if type(usage.get(key)) is int)
        return (record.get("id") or record.get("timestamp"), size) if size else None

    def with_usage(self, record: dict[str, Any], size: int) -> dict[str, Any]:
        """Say that all of the input was new; pi takes the total, or else adds up the parts."""
        message = record["message"]
        usage = message["usage"]
        new = usage | dict.fromkeys([key for key in _SIZES if key in usage], 0) | {"input": size}
        if "totalTokens" in usage:
            output = usage.get("output")
            new["totalTokens"] = size + (output if type(output) is int else 0)
        return record | {"message": message | {"usage": new}}


def _send(entries: list[Entry], cwd: str, builder: Assembler) -> None:
    """Add the entries to the view; an answer that was not finished takes its results with it."""
    dead: set[str | None] = set()
    for entry in entries:
        record, message, index = entry.record, entry.record.message, entry.index
        if record.type != "message" or message is None:
            builder.user(_sent(_from_pi(record, index, builder.whole)))
        elif message.role == "assistant":
            found = _sent(parts.answer(message, index, builder.whole, cwd))
            calls = {block.call_id for block in found if block.kind == "call"}
            if message.stop_reason in ("aborted", "error"):
                dead |= calls
            elif found:
                dead -= calls
                builder.assistant(found)
        elif message.role == "toolResult":
            answer = parts.result(message, index, builder.whole)
            if answer.call_id not in dead:
                builder.user([answer])
        elif message.role in _USERS:
            meta = message.role != "user"
            builder.user(_sent(parts.blocks(message.content, index, builder.whole, meta=meta)))
        elif message.role == "bashExecution" and message.exclude_from_context is not True:
            builder.user([Block("text", parts.shell_text(message), entry=index, meta=True)])


def _from_pi(record: Record, index: int, whole: Whole) -> list[Block]:
    """Return what pi or an extension of it tells the model; [] for all other entries."""
    if record.type in _SUMMARIES:
        files = parts.files_beside(record.details)
        text = string(record.summary)
        return [Block("text", text, is_summary=True, files=files, entry=index, meta=True)]
    if record.type == "custom_message":
        return parts.blocks(record.content, index, whole, meta=True)
    return []


def _sent(found: list[Block]) -> list[Block]:
    """Return the blocks without texts of white space alone, as pi does."""
    return [block for block in found if block.kind != "text" or block.text.strip()]


def _is_whole(message: dict[str, Any]) -> bool:
    """Return True if a message is a single part: a result, or a command that the user ran."""
    return message.get("role") in ("toolResult", "bashExecution")


def _runs(made: list[Block]) -> list[list[Block]]:
    """Split blocks into what one entry can hold."""
    runs: list[list[Block]] = []
    for block in made:
        last = runs[-1][-1] if runs else block
        if not runs or "result" in {block.kind, last.kind} or block.meta != last.meta:
            runs.append([])
        runs[-1].append(block)
    return runs


FORMAT = Pi()
