"""Where the tokens of a view are."""

from __future__ import annotations

from typing import Any

import msgspec

from compactctl import placeholders
from compactctl.jsonl import exact
from compactctl.layers.dedup import superseded as superseded_reads
from compactctl.model import Block, result_text
from compactctl.tokens import Counter, count_block, count_view
from compactctl.transcript.loading import Transcript
from compactctl.view.index import View
from compactctl.view.protected import Protected
from compactctl.view.reads import reads_of

LARGEST = 10
"""Results that are listed by size, unless more are asked for."""


class Share(msgspec.Struct):
    """Blocks of one kind: how many and how many tokens."""

    count: int = 0
    tokens: int = 0

    def add(self, tokens: int) -> None:
        """Count one more block."""
        self.count += 1
        self.tokens += tokens


class Large(msgspec.Struct, frozen=True):
    """A large result: where it is and which tool gave it."""

    line: int
    tool: str
    call_id: str | None
    tokens: int


class Usage(msgspec.Struct, frozen=True):
    """The context size that the provider recorded, beside the count of the view.

    The recorded size also holds what no transcript does: system prompt and tool definitions.
    """

    calls: int
    first: int
    last: int
    counted: int


class Stats(msgspec.Struct, frozen=True):
    """All figures are tokens of the view, unless they say otherwise."""

    tokens: int
    messages: int
    roles: dict[str, Share]
    kinds: dict[str, Share]
    tools: dict[str, Share]
    files: dict[str, Share]
    largest: list[Large]
    superseded_reads: Share
    stale_reads: Share
    usage: Usage | None


def stats(transcript: Transcript, counter: Counter, most: int = LARGEST) -> Stats:
    """Measure a transcript; ``tools`` and ``files`` count results, not calls.

    ``most`` is how many of the largest results are listed.
    """
    total = count_view(counter, transcript.messages)  # first, for it loads but one engine
    roles: dict[str, Share] = {}
    kinds: dict[str, Share] = {}
    for message in transcript.messages:
        for block in message.blocks:
            tokens = count_block(counter, block)
            roles.setdefault(message.role, Share()).add(tokens)
            kinds.setdefault(_kind(block), Share()).add(tokens)
    view = View(transcript.messages)
    by_tool, by_file, largest = _results(transcript, view, counter, most)
    superseded, stale = _reads(view, counter, flags_failures=transcript.format.flags_failures)
    return Stats(
        total,
        len(transcript.messages),
        _sorted(roles),
        _sorted(kinds),
        by_tool,
        by_file,
        largest,
        superseded,
        stale,
        _usage(transcript, total),
    )


def _kind(block: Block) -> str:
    """Return the kind of a block, by its own type where that says more.

    What a harness puts in by itself has many types, and is an attachment.
    """
    if block.kind == "document" and block.meta:
        return "attachment"
    return (block.type or block.kind) if block.kind in {"document", "other"} else block.kind


def _results(
    transcript: Transcript, view: View, counter: Counter, most: int
) -> tuple[dict[str, Share], dict[str, Share], list[Large]]:
    by_tool: dict[str, Share] = {}
    by_file: dict[str, Share] = {}
    largest: list[Large] = []
    for found in view.answered:
        call, result = found.call, found.result
        tokens = count_block(counter, result)
        by_tool.setdefault(call.tool, Share()).add(tokens)
        line = transcript.entries[result.entry].line
        largest.append(Large(line, call.tool, result.call_id, tokens))
        reads = reads_of(call, result)
        if reads:  # the result of a call that read several files is theirs in common
            by_file.setdefault(", ".join(read.path for read in reads), Share()).add(tokens)
    largest.sort(key=lambda large: -large.tokens)
    return _sorted(by_tool), _sorted(by_file), largest[:most]


def _sorted(shares: dict[str, Share]) -> dict[str, Share]:
    return dict(sorted(shares.items(), key=lambda item: -item[1].tokens))


def _reads(view: View, counter: Counter, *, flags_failures: bool) -> tuple[Share, Share]:
    """Count what ``dedup`` drops, and what ``dedup --stale`` replaces beyond that."""
    shares = Share(), Share()
    reads, stale = (
        superseded_reads(view, Protected(view), stale=stale, flags_failures=flags_failures)
        for stale in (False, True)
    )
    superseded = {read.found.result_at for read in reads}
    for read in stale:
        if not _is_placeholder(read.found.result):
            share = shares[read.found.result_at not in superseded]
            share.add(count_block(counter, read.found.result))
    return shares


def _is_placeholder(result: Block) -> bool:
    text = result_text(result)
    return placeholders.is_superseded(text) or placeholders.read_cleared(text)


def _usage(transcript: Transcript, counted: int) -> Usage | None:
    """Take the recorded context sizes: once for each message, the last line of it wins."""
    form = transcript.format
    if not form.usage_keys:
        return None
    sizes: dict[Any, int] = {}
    for index, entry in enumerate(transcript.entries):
        if not any(key in entry.raw for key in form.usage_keys):
            continue
        record = exact.object_or_none(entry.raw)
        found = None if record is None else form.usage(record)
        if found is not None:
            name, size = found
            sizes[name if isinstance(name, str | int | None) else (index,)] = size
    if not sizes:
        return None
    recorded = list(sizes.values())
    return Usage(len(recorded), recorded[0], recorded[-1], counted)
