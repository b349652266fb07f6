"""Rules that only lines can break: damage, and messages that the view does not show.

Damage is found while a file is read. A message that holds nothing is not in the view, and
neither is what a line says about caching.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compactctl.jsonl import exact
from compactctl.jsonl.lines import Fault
from compactctl.rules.rule import ANTHROPIC, CHAT, SENDABLE, Rule, file_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compactctl.transcript.loading import Transcript

MAX_CACHED = 4

DAMAGE = (
    file_rule(
        "01",
        "warning",
        "the last line is torn: it ends inside a JSON value",
        "no action needed, all other lines load; delete the line to silence this",
    ),
    file_rule(
        "02",
        "error",
        "a line is not JSON",
        "correct it by hand; what it holds is not in the view",
        repaired=True,
    ),
    file_rule(
        "03",
        "warning",
        "several JSON values stand on one line",
        "no action needed, all are read; break the line between them to silence this",
    ),
    file_rule(
        "04",
        "warning",
        "a run of NUL bytes, as left by a power loss",
        "no action needed, records next to it are read; delete the NUL bytes to silence this",
    ),
    file_rule(
        "05",
        "warning",
        "a byte order mark",
        "no action needed, what follows it is read; delete it to silence this",
    ),
    file_rule("06", "warning", "a comment line, which JSONL does not allow", "delete the line"),
    file_rule(
        "07",
        "error",
        "a line is not UTF-8",
        "save it as UTF-8; what it holds is not in the view",
        repaired=True,
    ),
    file_rule(
        "08",
        "error",
        "a line contains NaN or Infinity, which JSON does not allow",
        "write null instead; what the line holds is not in the view",
        repaired=True,
    ),
    file_rule(
        "09",
        "warning",
        "a lone surrogate: half of a character",
        "replace it with U+FFFD; providers reject it",
        repaired=True,
        raised_when=SENDABLE,
        provider="The request body is not valid JSON: no low surrogate in string",
    ),
    file_rule(
        "10",
        "warning",
        "a line is JSON but not an object",
        "no action needed, it passes through; delete it if it should not be there",
    ),
    file_rule(
        "17",
        "warning",
        "a member of a record is not of the expected type",
        "correct the member; what it holds is not in the view",
    ),
    file_rule(
        "19",
        "warning",
        "a line is too long to read; it passes through unchanged",
        "split or remove the line",
    ),
)
"""Found by ``jsonl.lines`` while a file is read."""

RULES = (
    Rule(
        id="TEXT-03",
        profiles=ANTHROPIC,
        severity="error",
        says="a user message is empty",
        fix="remove the message",
        repaired=True,
        provider={"anthropic": "user messages must have non-empty content"},
    ),
    Rule(
        id="TEXT-04",
        profiles=CHAT,
        severity="error",
        says="an assistant message has neither content nor tool_calls",
        fix='remove the message, or set its content to ""',
        repaired=True,
        provider={"openai-chat": "Invalid value for 'content': expected a string, got null."},
    ),
    Rule(
        id="CACHE-01",
        profiles=ANTHROPIC,
        severity="error",
        says="more than 4 blocks have cache_control",
        fix="keep only the last 4",
        repaired=True,
        provider={
            "anthropic": "A maximum of 4 blocks with cache_control may be provided. Found 5."
        },
    ),
)


def find(transcript: Transcript, profile: str = "anthropic") -> Iterator[Fault]:
    """Look at the lines of the view that made no block, and count what is to be cached."""
    if not transcript.format.bare:
        return
    shown = transcript.shown()
    own = {*transcript.durable}
    first = min(shown, default=0)  # what stands before belongs to an earlier view
    last = max(shown, default=-1)
    for index, entry in enumerate(transcript.entries[first:], first):
        if index not in shown and index not in own and not exact.is_blank(entry.raw):
            rule = _empty(exact.object_or_none(entry.raw) or {}, final=index > last)
            if rule:
                yield Fault(rule, entry.line, "")
    if profile in ANTHROPIC:
        yield from _overcached(transcript, sorted(shown))


def _empty(record: dict[str, Any], *, final: bool) -> str:
    """Return the rule that an empty message breaks; only the last answer may be empty."""
    content = record.get("content")
    if record.get("role") == "user" and content in ("", [], None):
        return "TEXT-03"
    if record.get("role") == "assistant" and not record.get("tool_calls"):
        if content is None and not record.get("refusal") and not record.get("function_call"):
            return "TEXT-04"
        if content in ("", []) and not final:
            return "GATE-05"
    return ""


def _overcached(transcript: Transcript, shown: list[int]) -> Iterator[Fault]:
    """Find the line whose block is one too many; quotes tell a key from what a text says."""
    found = 0
    for index in shown:
        entry = transcript.entries[index]
        if b'"cache_control"' not in entry.raw:
            continue
        found += len(cached(exact.object_or_none(entry.raw) or {}))
        if found > MAX_CACHED:
            yield Fault("CACHE-01", entry.line, f"{found} up to here")
            return


def cached(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of a message with cache_control; those inside a result come before it."""
    every = (each for block in blocks(record) for each in (*blocks(block), block))
    return [block for block in every if isinstance(block.get("cache_control"), dict)]


def blocks(holder: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks that the content of a message, or of a result, holds."""
    content = holder.get("content")
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
