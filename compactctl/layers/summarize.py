"""Replace old conversation by a summary of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from compactctl import summaries
from compactctl._version import __version__
from compactctl.errors import UsageError
from compactctl.layers.base import Action, Change, View
from compactctl.layers.template import digest, known_files
from compactctl.model import MADE, Block, Message
from compactctl.text import plural
from compactctl.tokens import count_view
from compactctl.view import protected
from compactctl.view.builder import merge_users
from compactctl.view.tools import Files
from compactctl.view.turns import prompt_blocks, turns

EXAMPLE = "compactctl summarize session.jsonl --summarizer template -o small.jsonl"

LEAVES_MARK = True
"""The record that it leaves names lines and bytes of what it read: they must be there."""

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
    if max_summary_tokens < SMALLEST:
        raise UsageError(f"--max-summary-tokens must be at least {SMALLEST}")
    old, kept = _part(view.messages, keep_messages)
    previous, fresh = _previous(old)
    if not any(message.role == "assistant" for message in fresh):
        return Change(view.messages, (), "nothing to summarize")
    text = digest(fresh, previous, lambda text: view.counter.fits(text, max_summary_tokens))
    new = merge_users([*_opening(old, kept, Block("text", summaries.fence(text))), *kept])
    before, after = view.tokens(), count_view(view.counter, new)
    if after >= before:
        return Change(view.messages, (), "the summary would not be smaller")
    return Change(
        new,
        [Action("summarize", kept[0].blocks[0].entry if kept else MADE, None, before, after)],
        f"{plural(len(old), 'message')} summarized ({summarizer})",
        _mark(view, text, known_files(fresh, previous), summarizer, before, after),
    )


def _part(messages: Sequence[Message], keep: int) -> tuple[list[Message], list[Message]]:
    """Part the view between turns so that at least ``keep`` messages stay.

    A prompt stays with the turn that it opens, results with the turn that asked for them.
    """
    starts = [turn for turn in turns(messages) if turn.first <= len(messages) - keep]
    if not starts:
        return [], list(messages)
    at = starts[-1].assistant
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


def _opening(old: Sequence[Message], kept: Sequence[Message], summary: Block) -> list[Message]:
    """Give what stands before the messages that stay: system messages, and the summary.

    The blocks of the user's last request stay as they are behind it, if no later one stays.
    """
    asked = sorted(protected.last_request(old)) if not protected.last_request(kept) else []
    request = [old[place.message].blocks[place.block] for place in asked]
    opening = Message("user", (summary, *request))
    systems = [(at, message) for at, message in enumerate(old) if message.role == "system"]
    at = asked[0].message if asked else len(old)
    return [
        *(message for position, message in systems if position < at),
        opening,
        *(message for position, message in systems if position > at),
    ]


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
