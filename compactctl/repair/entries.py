"""Fix the entries of a view where only their lines tell: parts, emptiness, marks for the cache."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from compactctl.jsonl import exact
from compactctl.jsonl.lines import line_end
from compactctl.repair.case import Deed
from compactctl.rules import BY_ID, content, lines
from compactctl.rules.rule import ANTHROPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compactctl.repair.case import Pieces
    from compactctl.transcript.loading import Transcript

RULES = frozenset({"TEXT-03", "TEXT-04", "CACHE-01", "PART-01"})
"""What is fixed here."""


class _Entries:
    """The bytes of each entry, some of them written anew."""

    def __init__(self, transcript: Transcript, deeds: list[Deed]) -> None:
        self.transcript = transcript
        self.chunks = [entry.raw for entry in transcript.entries]
        self._deeds = deeds

    def record(self, index: int) -> dict[str, Any]:
        """Return what an entry holds now; it is a copy."""
        return exact.object_or_none(self.chunks[index]) or {}

    def write(self, index: int, record: dict[str, Any] | None, rule: str, did: str) -> None:
        """Replace the record of an entry; None removes it."""
        raw = self.transcript.entries[index].raw
        new = gone(self.transcript, index) if record is None else exact.dump(record)
        self.chunks[index] = new if record is None else new + line_end(raw)
        self._deeds.append(Deed(rule, index, did))

    def pieces(self) -> Pieces | None:
        """Return all of them; None if none was written."""
        return [*zip(self.chunks, itertools.count())] if self._deeds else None


def gone(transcript: Transcript, index: int) -> bytes:
    """Return what is left of an entry that goes: the line end, if another one shares its line."""
    entry = transcript.entries[index]
    shares = index > 0 and transcript.entries[index - 1].line == entry.line
    return line_end(entry.raw) if shares else b""


def fix_parts(transcript: Transcript, deeds: list[Deed]) -> Pieces | None:
    """Write what stands among content blocks and is none as texts."""
    form = transcript.format
    if form.profile not in BY_ID["PART-01"].profiles:
        return None
    entries = _Entries(transcript, deeds)
    blocks = (block for message in transcript.messages for block in message.blocks)
    for index in sorted({block.entry for block in blocks if content.is_no_part(block)}):
        record = entries.record(index)
        parts = [new for part in form.parts(record) for new in _sound(part)]
        entries.write(index, form.replace_parts(record, parts), "PART-01", "written as a text")
    return entries.pieces()


def _sound(part: Any) -> list[Any]:
    """Return a part as a content block, none for null; what a result holds is looked at too."""
    if part is None:
        return []
    if not isinstance(part, dict):
        return [{"type": "text", "text": part if isinstance(part, str) else _spelled(part)}]
    if part.get("type") == "tool_result" or part.get("role") == "toolResult":
        held = part.get("content")
        listed = [held] if isinstance(held, dict) else held
        if isinstance(listed, list):
            return [part | {"content": [new for each in listed for new in _sound(each)]}]
        return [part]
    if isinstance(part.get("type"), str) and part["type"]:
        return [part]
    said = part.get("text")
    return [{"type": "text", "text": said if isinstance(said, str) else _spelled(part)}]


def _spelled(value: Any) -> str:
    return exact.dump(value).decode()


def fix_empty(transcript: Transcript, deeds: list[Deed]) -> Pieces | None:
    """Drop messages of users that hold nothing, and give an assistant's an empty content."""
    profile = transcript.format.profile
    bound = {rule.id for rule in lines.RULES if profile in rule.profiles}
    faults = {f.line: f.rule for f in lines.find(transcript) if f.rule in bound}
    entries = _Entries(transcript, deeds)
    for index, entry in enumerate(transcript.entries if faults else ()):
        rule = faults.get(entry.line)
        record = entries.record(index) if rule in {"TEXT-03", "TEXT-04"} else {}
        if rule == "TEXT-03" and record.get("role") == "user":
            entries.write(index, None, rule, "message dropped")
        elif rule == "TEXT-04" and record.get("role") == "assistant":
            entries.write(index, record | {"content": ""}, rule, "given an empty content")
    return entries.pieces()


def fix_caching(transcript: Transcript, deeds: list[Deed]) -> Pieces | None:
    """Move marks for the cache off empty texts, which go, and take off those too many."""
    if transcript.format.profile not in ANTHROPIC or not transcript.format.bare:
        return None
    entries = _Entries(transcript, deeds)
    _move_marks(entries)
    if not deeds:
        _take_off_marks(entries)
    return entries.pieces()


def _move_marks(entries: _Entries) -> None:
    """Move the mark of an empty text to the block before it, or else to the one after it."""
    for index in _marked(entries):
        record = entries.record(index)
        blocks = lines.blocks(record)
        moved = False
        for at, block in enumerate(blocks):
            if not (_is_empty_text(block) and "cache_control" in block):
                continue
            mark = block.pop("cache_control")
            near = [*reversed(blocks[:at]), *blocks[at + 1 :]]
            takes = next((b for b in near if _takes_a_mark(b)), None)
            if takes is not None:
                takes.setdefault("cache_control", mark)
            moved = True
        if moved:
            entries.write(index, record, "TEXT-01", "cache_control moved off it")


def _is_empty_text(block: dict[str, Any]) -> bool:
    said = block.get("text")
    return block.get("type") == "text" and isinstance(said, str) and not said.strip()


def _takes_a_mark(block: dict[str, Any]) -> bool:
    return not _is_empty_text(block) and "thinking" not in str(block.get("type"))


def _marked(entries: _Entries) -> list[int]:
    """Return the entries of the view in which a block may be marked for the cache."""
    shown = sorted(entries.transcript.shown())
    return [index for index in shown if b'"cache_control"' in entries.chunks[index]]


def _take_off_marks(entries: _Entries) -> None:
    """Take ``cache_control`` off all blocks of the view but the last few."""
    left = lines.MAX_CACHED
    for index in reversed(_marked(entries)):
        record = entries.record(index)
        marked = lines.cached(record)
        spare = marked[: max(len(marked) - left, 0)]
        left -= len(marked) - len(spare)
        for block in spare:
            del block["cache_control"]
        if spare:
            entries.write(index, record, "CACHE-01", "cache_control taken off")


STEPS: Sequence[Callable[[Transcript, list[Deed]], Pieces | None]] = (
    fix_parts,
    fix_empty,
    fix_caching,
)
