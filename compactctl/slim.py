"""Drop what a harness keeps for its own screen: neither context nor needed to resume.

In real Claude Code sessions that is 63 % of the bytes. Tokens do not change, so it is reported
apart from them, in bytes.
"""

from __future__ import annotations

import msgspec

from compactctl.jsonl import exact
from compactctl.pipeline import Result
from compactctl.transcript import relink
from compactctl.transcript.accounting import account, emit
from compactctl.transcript.loading import Transcript, parse


class Slimmed(msgspec.Struct, frozen=True):
    """A result without copies, and how many bytes that saved."""

    result: Result
    bytes_before: int
    bytes_after: int

    def line(self) -> str:
        """Return the line for people."""
        saved = self.bytes_before - self.bytes_after
        share = f" (−{saved / self.bytes_before:.1%})" if saved else ""
        return f"slim: {self.bytes_before:,} → {self.bytes_after:,} bytes{share}"


def slim(result: Result) -> Slimmed:
    """Take the copies out of the lines of a result; formats that keep none are left alone.

    ``Format.slim`` returns what is left of a line: None to drop it, the very line to leave it.
    """
    written = result.written()
    before = sum(map(len, written.chunks))
    old = result.transcript
    if not old.format.slim_keys:
        return Slimmed(result, before, before)
    transcript = parse(written.lines(), old.name, old.format)
    changed = _changed(transcript)
    relink.create(transcript, [], changed)
    chunks, origins = emit(transcript.entries, changed, [])
    first = [written.origins[index] for index in origins]
    lines = account(old.entries, chunks, first)
    return Slimmed(
        msgspec.structs.replace(result, lines=lines), before, sum(map(len, lines.chunks))
    )


def _changed(transcript: Transcript) -> dict[int, bytes | None]:
    """Return the new bytes of each entry that holds copies, None for one that is nothing else."""
    form = transcript.format
    view = transcript.shown()
    changed: dict[int, bytes | None] = {}
    for index, entry in enumerate(transcript.entries):
        if not any(key in entry.raw for key in form.slim_keys):
            continue
        record = exact.object_or_none(entry.raw)
        if record is None:
            continue
        left = form.slim(record)
        if left is None and index not in view:
            changed[index] = None
        elif left is not None and left is not record:
            changed[index] = exact.dump(left)
    return changed
