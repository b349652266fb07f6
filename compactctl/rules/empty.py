"""Rules that only lines can break, where a line is a message.

A message that holds nothing is not in the view, and neither is what a line says about caching.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactctl.jsonl import exact
from compactctl.jsonl.lines import Fault
from compactctl.rules.rule import ANTHROPIC, CHAT, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compactctl.transcript.loading import Transcript

MAX_CACHED = 4

RULES = (
    Rule(
        id="TEXT-03",
        profiles=ANTHROPIC,
        severity="error",
        says="a user message holds nothing",
        mend="drop the message",
        provider={"anthropic": "user messages must have non-empty content"},
    ),
    Rule(
        id="TEXT-04",
        profiles=CHAT,
        severity="error",
        says="an assistant message has neither a content nor tool_calls",
        mend='drop the message, or write "" for its content',
        provider={"openai-chat": "Invalid value for 'content': expected a string, got null."},
    ),
    Rule(
        id="CACHE-01",
        profiles=ANTHROPIC,
        severity="error",
        says="more than 4 blocks carry cache_control",
        mend="keep the last 4",
        provider={
            "anthropic": "A maximum of 4 blocks with cache_control may be provided. Found 5."
        },
    ),
)


def find(transcript: Transcript, profile: str = "anthropic") -> Iterator[Fault]:
    """Look at the lines of the view that made no block, and count what is to be cached."""
    if not transcript.format.bare:
        return
    shown = {block.entry for message in transcript.messages for block in message.blocks}
    own = {*transcript.durable}
    first = min(shown, default=0)  # what stands before belongs to an earlier view
    last = max(shown, default=-1)
    for index, entry in enumerate(transcript.entries[first:], first):
        if index not in shown and index not in own and not exact.is_blank(entry.raw):
            rule = _hollow(exact.object_or_none(entry.raw) or {}, final=index > last)
            if rule:
                yield Fault(rule, entry.line, "")
    if profile in ANTHROPIC:
        yield from _cached(transcript, sorted(shown))


def _hollow(record: dict[str, Any], *, final: bool) -> str:
    """Give the rule that a message without any block breaks; only the last answer may be empty."""
    content = record.get("content")
    if record.get("role") == "user" and content in ("", [], None):
        return "TEXT-03"
    if record.get("role") == "assistant" and not record.get("tool_calls"):
        if content is None and not record.get("refusal") and not record.get("function_call"):
            return "TEXT-04"
        if content in ("", []) and not final:
            return "GATE-05"
    return ""


def _cached(transcript: Transcript, shown: list[int]) -> Iterator[Fault]:
    """Find the line whose block is one too many; quotes tell a key from what a text says."""
    found = 0
    for index in shown:
        entry = transcript.entries[index]
        if b'"cache_control"' not in entry.raw:
            continue
        found += _count(exact.object_or_none(entry.raw) or {})
        if found > MAX_CACHED:
            yield Fault("CACHE-01", entry.line, f"{found} up to here")
            return


def _count(record: dict[str, Any]) -> int:
    """Count the blocks with cache_control, also those inside results."""
    blocks = _blocks(record)
    blocks += [piece for block in blocks for piece in _blocks(block)]
    return sum(isinstance(block.get("cache_control"), dict) for block in blocks)


def _blocks(holder: dict[str, Any]) -> list[dict[str, Any]]:
    content = holder.get("content")
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
