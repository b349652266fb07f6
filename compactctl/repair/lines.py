"""Fix the lines of a file: damaged ones, and messages that hold nothing.

What cannot be read is not thrown away: it becomes a record that holds its text.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import orjson

from compactctl.jsonl import exact
from compactctl.jsonl.lines import line_end
from compactctl.layers.base import Action
from compactctl.rules import lines as rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compactctl.repair.case import Pieces
    from compactctl.transcript.loading import Transcript

UNREADABLE = "compactctl.unreadable"

FIXABLE = frozenset({"FILE-01", "FILE-02", "FILE-04", "FILE-05", "FILE-07", "FILE-08", "FILE-09"})
ENTRY_RULES = frozenset({"TEXT-03", "TEXT-04", "CACHE-01"})
"""What is fixed in the lines of the view."""
_READER = json.JSONDecoder(parse_constant=lambda _: None)


def fix_damage(
    transcript: Transcript, lines: Sequence[bytes], actions: list[Action]
) -> list[bytes]:
    """Write damaged lines anew; every other line is the very same object."""
    damaged = {fault.line: fault.rule for fault in transcript.faults if fault.rule in FIXABLE}
    firsts = {entry.line: at for at, entry in reversed([*enumerate(transcript.entries)])}
    fixed = list(lines)
    for number, rule in damaged.items():
        new = _readable(lines[number - 1])
        if new != lines[number - 1]:
            fixed[number - 1] = new
            actions.append(Action(rule, firsts[number]))
    return fixed


def _readable(raw: bytes) -> bytes:
    """Return the records of a line, one a line, and what is no record as text in one."""
    text = raw.replace(b"\0", b"").decode("utf-8", "replace").strip(_NOTHING)
    end = line_end(raw)
    records: list[bytes] = []
    while text:
        try:
            value, stop = _READER.raw_decode(text)
            records.append(_record(text[:stop], value))
        except (ValueError, RecursionError):
            records.append(exact.dump({"type": UNREADABLE, "text": text}))
            break
        text = text[stop:].strip(_NOTHING)
    return (end or b"\n").join(records) + (end if records else b"")


_NOTHING = " \t\r\n\v\f\ufeff"


def _record(text: str, value: Any) -> bytes:
    """Return a record byte for byte where nothing is wrong with it."""
    try:
        orjson.loads(text)
    except ValueError:
        return exact.dump(exact.without_surrogates(value))
    return text.encode()


def fix_empty(transcript: Transcript, actions: list[Action]) -> Pieces | None:
    """Drop messages of users that hold nothing, and marks for the cache that are too many."""
    profile = transcript.format.profile
    bound = {rule.id for rule in rules.RULES if profile in rule.profiles}
    faults = {f.line: f for f in rules.find(transcript) if f.rule in bound}
    chunks = [entry.raw for entry in transcript.entries]
    for index, entry in enumerate(transcript.entries):
        fault = faults.get(entry.line)
        if fault is None or fault.rule == "CACHE-01":
            continue
        record = exact.object_or_none(entry.raw) or {}
        if fault.rule == "TEXT-03" and record.get("role") == "user":
            chunks[index] = gone(transcript, index)
        elif fault.rule == "TEXT-04" and record.get("role") == "assistant":
            chunks[index] = exact.dump(record | {"content": ""}) + line_end(entry.raw)
        if chunks[index] != entry.raw:
            actions.append(Action(fault.rule, index))
    if not actions and any(fault.rule == "CACHE-01" for fault in faults.values()):
        _uncache(transcript, chunks, actions)
    return [*zip(chunks, itertools.count())] if actions else None


def gone(transcript: Transcript, index: int) -> bytes:
    """Return what is left of an entry that goes: the line end, if another one shares its line."""
    entry = transcript.entries[index]
    shares = index > 0 and transcript.entries[index - 1].line == entry.line
    return line_end(entry.raw) if shares else b""


def _uncache(transcript: Transcript, chunks: list[bytes], actions: list[Action]) -> None:
    """Take ``cache_control`` off all blocks of the view but the last few."""
    shown = sorted(transcript.shown())
    left = rules.MAX_CACHED
    for index in reversed(shown):
        raw = transcript.entries[index].raw
        record = exact.object_or_none(raw) if b'"cache_control"' in raw else None
        if record is None:
            continue
        marked = rules.cached(record)
        spare = marked[: max(len(marked) - left, 0)]
        left -= len(marked) - len(spare)
        for block in spare:
            del block["cache_control"]
        if spare:
            chunks[index] = exact.dump(record) + line_end(raw)
            actions.append(Action("CACHE-01", index))
