"""Replace old conversation by a summary of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from compactctl import pins, summaries
from compactctl._version import __version__
from compactctl.assemble import merge_users
from compactctl.digest import digest, known_files
from compactctl.errors import UsageError
from compactctl.layer import Action, Change, View, number
from compactctl.model import MADE, Block, Message
from compactctl.protocol.turns import prompt_blocks, turns
from compactctl.tokens import count_view
from compactctl.tools import Files

EXAMPLE = "compactctl summarize session.jsonl --summarizer template -o small.jsonl"

SMALLEST = 150
"""Tokens that the seven headings and a word under each need."""


def summarize(
    view: View,
    *,
    summarizer: Annotated[
        Literal["template"], "Who writes the summary; template does it on the spot, by rule."
    ] = "template",
    keep_messages: Annotated[
        int, "Newest messages to keep, widened so that no turn is parted."
    ] = 4,
    max_summary_tokens: Annotated[int, "Tokens that the summary may have."] = 2000,
) -> Change:
    """Replace all but the newest messages by a summary that carries the active request."""
    if keep_messages < 1:
        raise UsageError("--keep-messages must be at least 1")
    old, kept = _part(view.messages, keep_messages)
    system = [message for message in old if message.role == "system"]
    previous, fresh = _previous(old)
    if not any(message.role == "assistant" for message in fresh):
        return Change(view.messages, (), "nothing to summarize")
    if max_summary_tokens < SMALLEST:
        raise UsageError(f"--max-summary-tokens must be at least {SMALLEST}")
    text = digest(fresh, previous, lambda text: view.counter.fits(text, max_summary_tokens))
    made = [Block("text", summaries.fence(text)), *_request(old, kept)]
    new = merge_users([*system, Message("user", tuple(made)), *kept])
    before, after = view.tokens(), count_view(view.counter, new)
    if after >= before:
        return Change(view.messages, (), "the summary would not be smaller")
    return Change(
        new,
        [Action("summarize", kept[0].blocks[0].entry if kept else MADE, None, before, after)],
        f"{number(len(old), 'message')} summarized ({summarizer})",
        _mark(view, text, known_files(fresh, previous), summarizer, before, after),
    )


def _part(messages: Sequence[Message], keep: int) -> tuple[list[Message], list[Message]]:
    """Part the view between turns so that at least ``keep`` messages stay.

    A prompt stays with the turn that it opens, results with the turn that asked for them.
    """
    starts = [turn for turn in turns(messages) if turn.assistant <= len(messages) - keep]
    at = starts[-1].assistant if starts else 0
    if not starts:
        return [], list(messages)
    old, kept = list(messages[:at]), list(messages[at:])
    if old and old[-1].role == "user":
        prompt = prompt_blocks(old[-1])
        results = tuple(block for block in old[-1].blocks if block.kind == "result")
        if prompt:
            kept.insert(0, old[-1] if not results else Message("user", prompt))
        old[-1:] = [Message("user", results)] if results else [] if prompt else old[-1:]
    return old, kept


def _previous(old: Sequence[Message]) -> tuple[str | None, list[Message]]:
    """Take an earlier summary out of the old messages, to be updated and never nested."""
    previous: str | None = None
    fresh: list[Message] = []
    for message in old:
        if message.role == "system":
            continue
        blocks = []
        for block in message.blocks:
            summary = summaries.unfence(block.text) if message.role == "user" else None
            if summary is None:
                blocks.append(block)
            else:
                previous = summary
        if blocks:
            fresh.append(Message(message.role, tuple(blocks)))
    return previous, fresh


def _request(old: Sequence[Message], kept: Sequence[Message]) -> list[Block]:
    """Carry the user's last request word for word, unless it is in what stays."""
    if pins.last_request(kept):
        return []
    for place in sorted(pins.last_request(old)):
        block = old[place.message].blocks[place.block]
        if block.kind == "text":
            carried = block.text.startswith(summaries.REQUEST)
            return [Block("text", block.text if carried else summaries.carry(block.text))]
    return []


def _mark(
    view: View, text: str, files: Files, summarizer: str, before: int, after: int
) -> dict[str, Any]:
    """Write the record of the compaction (CONTRACT §3)."""
    return {
        "type": "compactctl.compaction",
        "summary": text,
        "tokens_before": before,
        "tokens_after": after,
        "files_read": files.read,
        "files_modified": files.modified,
        "summarizer": summarizer,
        "model": None,
        "quality": "low" if summarizer == "template" else "normal",
        "input_sha256": view.sha256(),
        "version": __version__,
    }
