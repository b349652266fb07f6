"""Replace old conversation by a summary of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from compactctl import summaries
from compactctl._version import __version__
from compactctl.errors import UsageError
from compactctl.layers.base import Action, Change, Context, Layer
from compactctl.layers.template import digest
from compactctl.model import MADE, Block, Message
from compactctl.text import plural
from compactctl.tokens import count_view
from compactctl.view.edits import Insert, Key, apply, key
from compactctl.view.facts import Facts
from compactctl.view.index import View
from compactctl.view.pairs import block_at
from compactctl.view.protected import last_request
from compactctl.view.requests import own_words
from compactctl.view.turns import prompt_blocks

SMALLEST = 150
"""Tokens that the seven headings and a word under each need."""


def summarize(
    context: Context,
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
    view = context.view
    old, kept = _part(view, keep_messages)
    fresh = [message for message in old if message.role != "system"]
    if not any(message.role == "assistant" for message in fresh):
        return Change(note="nothing to summarize")
    first_kept = len(view.messages) - len(kept)
    facts = Facts(view, fresh, first_kept)
    stay = _requests(view, old)
    beside = [own_words(block.text).strip() for block in stay if block.kind == "text"]
    before = context.tokens()
    # A small session has less to say than the room is made for.
    for limit in (max_summary_tokens, min(max_summary_tokens, max(SMALLEST, before // 2))):
        text = digest(facts, context.counter.count, limit, beside=beside)
        edits, insert = _replaced(old, stay, first_kept, Block("text", summaries.fence(text)))
        after = count_view(context.counter, apply(view.messages, edits, insert))
        if after < before:
            break
    else:
        return Change(note="the summary would not be smaller")
    return Change(
        edits,
        insert,
        [Action("summarize", kept[0].blocks[0].entry if kept else MADE, None, before, after)],
        f"{plural(len(old), 'message')} summarized ({summarizer})",
        _mark(context, text, facts, summarizer, before, after),
    )


def _part(view: View, keep: int) -> tuple[list[Message], list[Message]]:
    """Part the view between turns so that at least ``keep`` messages stay.

    A prompt stays with the turn that it opens, results with the turn that asked for them.
    """
    messages = view.messages
    starts = [turn for turn in view.turns if turn.first <= len(messages) - keep]
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


def _requests(view: View, old: Sequence[Message]) -> list[Block]:
    """Return the blocks of the user's last request that are among old messages: they stay."""
    asked = [block_at(view.messages, place) for place in sorted(last_request(view.messages))]
    among = {key(block) for message in old for block in message.blocks}
    return [block for block in asked if key(block) in among]


def _replaced(
    old: Sequence[Message], stay: Sequence[Block], first_kept: int, summary: Block
) -> tuple[dict[Key, Block | None], Insert]:
    """Return the edits that put a summary in the place of ``old``, in front of what stays of it.

    System messages stay as well.
    """
    requests = {key(block) for block in stay}
    edits: dict[Key, Block | None] = {
        key(block): None
        for message in old
        if message.role != "system"
        for block in message.blocks
        if key(block) not in requests
    }
    with_request = (
        position
        for position, message in enumerate(old)
        if any(key(block) in requests for block in message.blocks)
    )
    return edits, Insert(next(with_request, first_kept), "user", summary)


def _mark(
    context: Context, text: str, facts: Facts, summarizer: str, before: int, after: int
) -> dict[str, Any]:
    """Return the record of the compaction."""
    return {
        "type": "compactctl.compaction",
        "summary": text,
        "tokens_before": before,
        "tokens_after": after,
        "files_read": facts.in_full(facts.files.read),
        "files_modified": facts.in_full(facts.files.modified),
        "summarizer": summarizer,
        "model": None,
        "quality": "low" if summarizer == "template" else "normal",
        "input_sha256": context.sha256(),
        "version": __version__,
    }


LAYER = Layer(
    summarize,
    example="compactctl summarize session.jsonl --summarizer template -o small.jsonl",
    leaves_mark=True,
)
