"""Where lines of this tool stand: where the agent whose file it is still reads it.

pi takes a file that does not begin with its header for none of its own and overwrites it, and takes
the last line, by its id, for the end of the session. Codex reads neither a file that begins with
another line nor, in its newest form, one that ends without a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compactctl.formats.base import Record
from compactctl.jsonl import DECODE_ERRORS
from compactctl.model import COMPACTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.formats.base import Format

_OURS = "compactctl."
_type_of = msgspec.json.Decoder(Record).decode


def inside(
    form: Format, chunks: Sequence[bytes], origins: Sequence[int]
) -> tuple[Sequence[bytes], Sequence[int]]:
    """Return lines, with where they are from, of which none of ours is the first or the last.

    What stands in front of the first line goes right behind it, and what stands behind the last
    one right in front of it. Formats that bear ours anywhere are left as they are.
    """
    if not form.ours_stand_inside:
        return chunks, origins
    many = len(chunks)
    first = next((at for at in range(many) if not _may_move(chunks[at])), many)
    last = next((at for at in range(many - 1, first, -1) if not _may_move(chunks[at])), first)
    if first == many or (first == 0 and last == many - 1):
        return chunks, origins
    ends = [*range(first + 1), *range(max(last, first), many)]
    if not all(chunks[at].endswith(b"\n") for at in ends if at < many - 1):
        return chunks, origins  # several entries share a line
    behind = [*range(last + 1, many)]
    middle = [*range(first + 1, last), *behind, last] if last > first else behind
    order = [first, *range(first), *middle]
    return [_whole(chunks, at) for at in order], [origins[at] for at in order]


def _may_move(raw: bytes) -> bool:
    """Return True for a line of this tool and for a blank one; a mark of a cut has its place."""
    if not raw.strip():
        return True
    if _OURS.encode() not in raw:
        return False
    try:
        kind = _type_of(raw).type
    except DECODE_ERRORS:
        return False
    return isinstance(kind, str) and kind.startswith(_OURS) and kind != COMPACTION


def _whole(chunks: Sequence[bytes], at: int) -> bytes:
    """Return a line with a line end, now that another may follow it."""
    if chunks[at].endswith(b"\n"):
        return chunks[at]
    return chunks[at] + (b"\r\n" if chunks[0].endswith(b"\r\n") else b"\n")
