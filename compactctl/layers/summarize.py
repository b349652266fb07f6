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
from compactctl.view import protected
from compactctl.view.edits import Insert, Key, apply, key
from compactctl.view.facts import Facts
from compactctl.view.index import View
from compactctl.view.pairs import block_at
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
    stays = _stays(context, old, kept)
    fresh = [message for message in old if message.role != "system"]
    answers = [message for message in fresh if message.role == "assistant"]
    if all(key(block) in stays for message in answers for block in message.blocks):
        return Change(note="nothing to summarize")
    first_kept = len(view.messages) - len(kept)
    facts = Facts(view, fresh, first_kept, stays=stays)
    beside = [own_words(b.text).strip() for m in fresh for b in m.blocks if key(b) in stays]
    before = context.tokens()
    # A small session has less to say than the room is made for.
    for limit in (max_summary_tokens, min(max_summary_tokens, max(SMALLEST, before // 2))):
        text = digest(facts, context.counter.count, limit, beside=beside)
        edits, insert = _replaced(old, stays, first_kept, Block("text", summaries.fence(text)))
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


def _stays(context: Context, old: Sequence[Message], kept: Sequence[Message]) -> set[Key]:
    """Return the old blocks that stay as they are: what is protected, and the last request.

    The request only if no later one stays.
    """
    protects = context.protected
    stays = {key(block_at(context.view.messages, at)) for at in protects.rules | protects.todo}
    if not protected.last_request(kept):
        stays |= {key(block_at(old, at)) for at in protected.last_request(old)}
    return stays


def _replaced(
    old: Sequence[Message], stays: set[Key], first_kept: int, summary: Block
) -> tuple[dict[Key, Block | None], Insert]:
    """Return the edits that put a summary in front of what stays; system messages stay too."""
    edits: dict[Key, Block | None] = {}
    first = first_kept
    for position, message in enumerate(old):
        if message.role == "system":
            continue
        gone = [key(block) for block in message.blocks if key(block) not in stays]
        edits |= dict.fromkeys(gone)
        if len(gone) < len(message.blocks):
            first = min(first, position)
    return edits, Insert(first, "user", summary)


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
