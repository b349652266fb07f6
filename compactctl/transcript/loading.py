"""A transcript: its entries, byte for byte, and the view that a model would be sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import Any

import msgspec

from compactctl import formats
from compactctl.errors import InputError
from compactctl.formats import detect
from compactctl.formats.base import Format, Record
from compactctl.jsonl import exact, lines
from compactctl.jsonl.lines import Entry, Fault, MakeEntry
from compactctl.model import COMPACTION, MADE, Message
from compactctl.transcript import tags
from compactctl.transcript.tags import Row, Tags
from compactctl.view.builder import Assembler

_HEAD = 100
"""Entries among which a record that names the session is looked for."""


class Transcript(msgspec.Struct, frozen=True):
    """What one file holds.

    ``messages`` is the view. ``durable`` holds the indices of entries that are records of this
    tool (facts, pending items, evidence, resolutions); ``unreadable`` counts lines without a
    record. ``tags`` are the members that tie the entries together. ``hides``: what was given up or
    cut off may come into the view when the lines that hide it go. ``overreach``: how many turns
    there are for each entry that takes back more.
    """

    name: str
    format: Format
    entries: list[Entry]
    messages: list[Message]
    faults: list[Fault]
    durable: list[int]
    unreadable: int
    tags: list[Row]
    hides: bool = True
    overreach: dict[int, int] = {}

    def references(self) -> Tags:
        """Return what ties the entries together, member by member."""
        return Tags(self.format, self.tags)

    def unread(self) -> list[bytes]:
        """Return the lines that are too long to be read."""
        if not any(fault.rule == "FILE-19" for fault in self.faults):
            return []
        return [entry.raw for entry in self.entries if len(entry.raw) > lines.LONGEST]

    def shown(self) -> set[int]:
        """Return the entries that the view shows anything of."""
        return {block.entry for message in self.messages for block in message.blocks}

    def line_of(self, entry: int) -> int | None:
        """Return the line that an entry stands on; None for what a layer made."""
        return None if entry == MADE else self.entries[entry].line


def load(
    raw_lines: Iterable[bytes],
    name: str = "-",
    format_name: str | None = None,
    make_entry: MakeEntry = Entry,
) -> Transcript:
    """Read lines (with their line ends) into a transcript; they are gone through several times.

    Raises:
        InputError: no line holds anything, or no format is recognised.
        UsageError: ``format_name`` names no format.

    """
    if not any(map(bytes.strip, raw_lines)):
        raise InputError("the input is empty; an earlier stage may have failed", file=name)
    try:
        if format_name:
            form = formats.choose(format_name)
            detect.refuse_foreign(form, raw_lines)
        else:
            form = detect.format_of(raw_lines)
    except InputError as error:
        error.file = name
        raise
    return parse(raw_lines, name, form, make_entry)


def parse(
    raw_lines: Iterable[bytes], name: str, form: Format, make_entry: MakeEntry = Entry
) -> Transcript:
    """Read lines of a known format."""
    entries: list[Entry] = []
    faults: list[Fault] = []
    durable: list[int] = []
    every: list[Row] = []
    build = Assembler(_whole(form, entries), answers_join=form.joins_answers)
    tags_of = tags.reader(form)
    nothing = tags_of(form.record())

    def conversation() -> Iterator[tuple[int, Record]]:
        """Pass on the format's own records; keep this tool's aside."""
        decode = msgspec.json.Decoder(form.record).decode
        add = every.append
        knows = partial(detect.knows, form)
        for line in lines.read(raw_lines, decode, entries, faults, make_entry, knows):
            index, record = line
            if index > len(every):  # entries without a record
                every.extend([nothing] * (index - len(every)))
            add(tags_of(record))
            kind = record.type
            if isinstance(kind, str) and kind.startswith("compactctl."):
                if kind == COMPACTION:
                    build.reset()
                else:
                    durable.append(index)
            else:
                yield line

    form.read(conversation(), build)
    every.extend([nothing] * (len(entries) - len(every)))
    readable = {entry.line for entry, row in zip(entries, every, strict=True) if row is not nothing}
    unreadable = (entries[-1].line if entries else 0) - len(readable)
    return Transcript(
        name,
        form,
        entries,
        build.messages(),
        faults,
        durable,
        unreadable,
        every,
        build.hides,
        build.overreach,
    )


def _whole(form: Format, entries: Sequence[Entry]) -> Callable[[int], list[Any]]:
    """Return what parses an entry and returns its parts; of the last entry they are kept."""

    @lru_cache(maxsize=1)
    def whole(index: int) -> list[Any]:
        raw = entries[index].raw
        record = exact.object_or_none(raw)
        if record is None:
            return []
        try:
            return form.parts(exact.without_surrogates(record) if b"\\u" in raw else record)
        except RecursionError:  # nested too deeply to be copied
            return []

    return whole


def session(transcript: Transcript) -> str:
    """Return the name of the session by the first record that has one; else ``transcript``."""
    raw = (entry.raw for entry in transcript.entries[:_HEAD])
    names = map(transcript.format.session, islice(lines.objects(raw), _HEAD))
    return next(filter(None, names), "transcript")
