"""What is written: lines, where each is from, and what became of the old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from compactctl.jsonl.lines import line_end
from compactctl.model import MADE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from compactctl.jsonl.lines import Entry


class LineCounts(msgspec.Struct, frozen=True):
    """What became of the lines of a file.

    ``unreadable`` counts lines without a record; no other figure includes them where it is set.
    """

    kept: int
    changed: int = 0
    dropped: int = 0
    added: int = 0
    unreadable: int = 0

    def without(self, unreadable: int) -> LineCounts:
        """Return the counts with so many of the kept lines as unreadable ones."""
        return msgspec.structs.replace(self, kept=self.kept - unreadable, unreadable=unreadable)


class Output(msgspec.Struct, frozen=True):
    """New chunks, each an entry or a line with its line end.

    ``origins`` gives for each the index of the old entry or line that it was, ``MADE`` for a new
    one. ``counts`` is by line, not by entry.
    """

    chunks: Sequence[bytes]
    origins: Sequence[int]
    counts: LineCounts

    def lines(self) -> list[bytes]:
        """Return whole lines; a chunk without a line end shares its line with the next."""
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
    """Put the entries together: (chunks, where each is from).

    ``changed`` is empty afterwards: each of its lines is copied into its chunk and let go of at
    once, or all the lines that changed would be in memory twice.
    """
    paper = _Paper(entries)
    waiting = created[::-1]
    for index, entry in enumerate(entries):
        while waiting and waiting[-1][0] <= index:
            paper.add(waiting.pop()[1] + paper.newline, MADE, 0)
        if index not in changed:
            paper.add(entry.raw, index, entry.line)
        elif (new := changed.pop(index)) is None:
            paper.drop(entry)
        else:
            paper.add(new + line_end(entry.raw), index, entry.line)
    for _, line in reversed(waiting):
        paper.add(line + paper.newline, MADE, 0)
    return paper.chunks, paper.origins


class _Paper:
    """Joins chunks into lines; each line keeps the line end that it had."""

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


def account(entries: Sequence[Entry], chunks: Sequence[bytes], origins: Sequence[int]) -> Output:
    """Count what became of the lines of ``entries``; a line end alone is no change."""
    now = dict(zip(origins, chunks, strict=True))
    others = [at for at, entry in enumerate(entries) if now.get(at) is not entry.raw]
    touched = {
        entries[at].line
        for at in others
        if (new := now.get(at)) is None or bare(new) != bare(entries[at].raw)
    }
    alive = {entries[at].line for at in now if at != MADE}
    counts = _counts(entries[-1].line, touched, alive, origins.count(MADE))
    return Output(chunks, origins, counts)


def account_lines(
    before: Sequence[bytes], lines: Sequence[bytes], origins: Sequence[int]
) -> Output:
    """Count what became of the lines ``before``, each of which may be several now."""
    if lines is before:
        return Output(lines, origins, LineCounts(len(lines)))
    kept = kept_lines(before, lines, origins)
    touched = set(range(len(before))) - kept
    counts = _counts(len(before), touched, set(origins), 0)
    added = len(lines) - counts.kept - counts.changed
    return Output(lines, origins, msgspec.structs.replace(counts, added=added))


def kept_lines(before: Sequence[bytes], lines: Sequence[bytes], origins: Sequence[int]) -> set[int]:
    """Return the indices of the old lines that are there as they were, but for the line end."""
    now: dict[int, list[bytes]] = {}
    for raw, origin in zip(lines, origins, strict=True):
        now.setdefault(origin, []).append(bare(raw))
    return {index for index, raw in enumerate(before) if now.get(index) == [bare(raw)]}


def _counts(
    many: int, touched: AbstractSet[int], alive: AbstractSet[int], added: int
) -> LineCounts:
    """Part the lines that were touched into those that are left and those that are not."""
    dropped = len(touched - alive)
    return LineCounts(many - len(touched), len(touched) - dropped, dropped, added)


def bare(raw: bytes) -> bytes:
    """Return a line without its line end."""
    return raw.rstrip(b"\r\n")
