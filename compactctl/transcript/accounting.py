"""The lines that a change leaves: put together, and counted against the old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compactctl.jsonl.lines import line_end
from compactctl.model import MADE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.jsonl.lines import Entry


class Written(msgspec.Struct, frozen=True):
    """The new lines, and what became of the old ones (counted by line, not by entry).

    A chunk is an entry with its line end; ``origins`` gives the index of the old entry that each
    of them was, ``MADE`` for a new one.
    """

    chunks: list[bytes]
    origins: list[int]
    kept: int
    changed: int
    dropped: int
    added: int

    def lines(self) -> list[bytes]:
        """Give whole lines; a chunk without a line end shares its line with the next."""
        found: list[bytes] = []
        begun = False
        for chunk in self.chunks:
            if begun:
                found[-1] += chunk
            else:
                found.append(chunk)
            begun = not chunk.endswith(b"\n")
        return found


def emit(
    entries: Sequence[Entry],
    changed: dict[int, bytes | None],
    created: list[tuple[int, bytes]],
) -> tuple[list[bytes], list[int]]:
    """Put the entries together: (chunks, where each is from); ``changed`` is used up."""
    paper = _Paper(entries)
    waiting = created[::-1]
    for index, entry in enumerate(entries):
        while waiting and waiting[-1][0] <= index:
            paper.add(waiting.pop()[1] + paper.newline, MADE, 0)
        if index not in changed:
            paper.add(entry.raw, index, entry.line)
        elif (new := changed.pop(index)) is None:  # let go of at once: it is copied
            paper.drop(entry)
        else:
            paper.add(new + line_end(entry.raw), index, entry.line)
    for _, line in reversed(waiting):
        paper.add(line + paper.newline, MADE, 0)
    return paper.chunks, paper.origins


class _Paper:
    """Takes chunks; a line ends where another begins, and with the line end that it had."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.chunks: list[bytes] = []
        self.origins: list[int] = []
        self.newline = next(filter(None, (line_end(entry.raw) for entry in entries)), b"\n")
        self._line = 0

    def add(self, raw: bytes, origin: int, line: int) -> None:
        if (line == 0 or line != self._line) and self.chunks:
            self._end(self.newline)
        self.chunks.append(raw)
        self.origins.append(origin)
        self._line = line

    def drop(self, entry: Entry) -> None:
        """Leave out an entry; what else stands on its line keeps the line end."""
        if entry.line == self._line:
            self._end(line_end(entry.raw))

    def _end(self, newline: bytes) -> None:
        if not self.chunks[-1].endswith(b"\n"):
            self.chunks[-1] += newline


def account(entries: Sequence[Entry], chunks: list[bytes], origins: list[int]) -> Written:
    """Count what became of the lines of ``entries``; a line end alone is no change."""
    now = dict(zip(origins, chunks, strict=True))
    others = [at for at, entry in enumerate(entries) if now.get(at) is not entry.raw]
    touched = {
        entries[at].line
        for at in others
        if (new := now.get(at)) is None or _bare(new) != _bare(entries[at].raw)
    }
    alive = {entries[at].line for at in now if at != MADE}
    dropped = len(touched - alive)
    kept = entries[-1].line - len(touched)
    added = origins.count(MADE)
    return Written(chunks, origins, kept, len(touched) - dropped, dropped, added)


def _bare(raw: bytes) -> bytes:
    return raw.rstrip(b"\r\n")
