"""A state file: one durable record a line, to which records are only ever added.

Its lines keep their bytes. An item whose status changes gets another line, so that the file tells
how it came there.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from compactctl.durable import stream
from compactctl.durable.records import DurableRecord, record_id, to_json
from compactctl.errors import InvalidTranscriptError
from compactctl.jsonl import exact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compactctl.durable.records import DurableContextState
    from compactctl.durable.stream import RecordLine

_ID_DIGITS = 12


class StateFile(msgspec.Struct, frozen=True):
    """The lines of a state file, and the state that they come to."""

    name: str
    lines: Sequence[bytes]
    records: Sequence[RecordLine]
    state: DurableContextState

    def with_record(self, record: DurableRecord) -> list[bytes]:
        """Return the lines with one record more.

        Raises:
            InvalidTranscriptError: the state does not hold with it.

        """
        raw = exact.dump(to_json(record))
        added = stream.RecordLine(raw, self.name, len(self.lines) + 1, record)
        stream.state_of([*self.records, added])
        return [*ended(self.lines), raw + _line_end(self.lines)]


def read_state(lines: Sequence[bytes], name: str) -> StateFile:
    """Read the lines of a state file.

    Raises:
        InvalidTranscriptError: a line is no record, or the records do not make a state.

    """
    records = stream.read(lines, name, strict=True)
    return StateFile(name, lines, records, stream.state_of(records))


def faults(lines: Iterable[bytes], name: str) -> list[InvalidTranscriptError]:
    """Return all that is wrong in a state file, in the order of its lines."""
    found: list[InvalidTranscriptError] = []
    seen: dict[tuple[type[DurableRecord], str], RecordLine] = {}
    for number, raw in enumerate(lines, 1):
        try:
            records = stream.read([raw], name, strict=True)
        except InvalidTranscriptError as error:
            error.line = number
            found.append(error)
            continue
        for record in stream.without_resolutions(records):
            line = msgspec.structs.replace(record, number=number)
            key = type(line.record), record_id(line.record)
            try:
                if key in seen:
                    stream.refuse_repeated(seen[key], line)
            except InvalidTranscriptError as error:
                found.append(error)
            else:
                seen[key] = line
    return found


def derive_id(kind: str, *texts: str) -> str:
    """Return an id that says the kind of a record and is the same for the same texts."""
    digest = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass"))
    return f"{kind}-{digest.hexdigest()[:_ID_DIGITS]}"


def ended(lines: Sequence[bytes]) -> list[bytes]:
    """Return lines of which the last one ends too, as it must where another follows."""
    if not lines or lines[-1].endswith(b"\n"):
        return list(lines)
    return [*lines[:-1], lines[-1] + _line_end(lines)]


def _line_end(lines: Sequence[bytes]) -> bytes:
    return b"\r\n" if lines and lines[0].endswith(b"\r\n") else b"\n"
