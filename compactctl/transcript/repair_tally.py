"""Which line of the file each line of a mended one was, and what became of every line."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from compactctl.model import MADE, Block, Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compactctl.transcript.loading import Transcript

Pieces = list[tuple[bytes, int]]
"""What a step of a repair gives: bytes, and the index of the entry that they were or MADE."""


class Lines(NamedTuple):
    """Whole lines; ``origins`` gives the number that each had in the file, 0 for a new one."""

    raw: Sequence[bytes]
    origins: Sequence[int]


def first(lines: Sequence[bytes]) -> Lines:
    """Give the lines of a file their numbers."""
    return Lines(lines, range(1, len(lines) + 1))


def of_entries(pieces: Iterable[tuple[bytes, int]], now: Transcript, old: Lines) -> Lines:
    """Put pieces together that were entries of ``old``."""
    return of_lines(
        ((raw, at if at == MADE else now.entries[at].line - 1) for raw, at in pieces), old
    )


def of_lines(pieces: Iterable[tuple[bytes, int]], old: Lines) -> Lines:
    """Put pieces together that were lines of ``old``; a line may be several now, or less."""
    found: list[bytes] = []
    origins: list[int] = []
    begun = False
    for raw, at in pieces:
        origin = 0 if at == MADE else old.origins[at]
        for part in [raw] if raw.count(b"\n") == 1 and raw.endswith(b"\n") else io.BytesIO(raw):
            if begun:
                found[-1] += part
                origins[-1] = origins[-1] or origin
            else:
                found.append(part)
                origins.append(origin)
            begun = not part.endswith(b"\n")
    return Lines(found, origins)


def account(before: Sequence[bytes], after: Lines) -> tuple[dict[str, int], list[bytes]]:
    """Count what became of the lines, and give those that were kept."""
    now: dict[int, list[bytes]] = {}
    for raw, origin in zip(*after, strict=True):
        now.setdefault(origin, []).append(raw)
    kept = [
        raw
        for number, raw in enumerate(before, 1)
        if [each.rstrip(b"\r\n") for each in now.get(number, ())] == [raw.rstrip(b"\r\n")]
    ]
    dropped = sum(number not in now for number in range(1, len(before) + 1))
    changed = len(before) - dropped - len(kept)
    added = len(after.raw) - len(kept) - changed
    counted = {"kept": len(kept), "changed": changed, "dropped": dropped, "added": added}
    return counted, kept


def first_changed(old: Sequence[Message], new: Sequence[Message]) -> int | None:
    """Give the first message that says something else than before, wherever it stands now."""
    for position, (before, after) in enumerate(zip(old, new, strict=False)):
        if before.role != after.role or [*map(_bare, before.blocks)] != [*map(_bare, after.blocks)]:
            return position
    return None if len(old) == len(new) else min(len(old), len(new))


def _bare(block: Block) -> Block:
    content = tuple(map(_bare, block.content))
    return msgspec.structs.replace(block, content=content, entry=MADE, at=0)
