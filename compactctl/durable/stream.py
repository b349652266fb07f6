"""Durable records as lines: find them in a stream or a state file, keep their bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from compactctl import jsonio
from compactctl.durable.records import (
    DurableContextState,
    Record,
    SourceResolution,
    build_state,
    parse_record,
)
from compactctl.errors import InvalidTranscriptError


class Line(msgspec.Struct, frozen=True):
    """A record with the bytes of its line, without the line end, and the line's number."""

    raw: bytes
    number: int
    record: Record


def read(lines: Iterable[tuple[int, bytes]], file: str, *, strict: bool = False) -> list[Line]:
    """Read the records among numbered lines; any other line is passed over.

    ``strict``: every line that holds something must be a record, as in a state file.

    Raises:
        InvalidTranscriptError: a record is refused; names file and line.

    """
    found: list[Line] = []
    for number, raw in lines:
        try:
            record = _record(raw)
        except InvalidTranscriptError as error:
            error.file, error.line = file, number
            raise
        if record is not None:
            found.append(Line(raw.rstrip(b"\r\n"), number, record))
        elif strict and not jsonio.is_blank(raw):
            raise InvalidTranscriptError(
                "not a durable record; expected one JSON object with a compactctl type a line",
                file=file,
                line=number,
            )
    return found


def _record(raw: bytes) -> Record | None:
    if b"compactctl." not in raw:
        return None
    try:
        value: Any = jsonio.parse(raw)
    except jsonio.NotJsonError:
        return None
    return parse_record(value) if isinstance(value, dict) else None


def merge(stream: Sequence[Line], state: Sequence[Line]) -> list[Line]:
    """Give the lines of ``state`` that the stream does not hold yet, word for word the same."""
    known = [line.record for line in stream]
    return [line for line in state if line.record not in known]


def state_of(lines: Iterable[Line]) -> DurableContextState:
    """Build the state; resolutions are no part of it.

    Raises:
        InvalidTranscriptError: an id is repeated within its kind.

    """
    return build_state(
        line.record for line in lines if not isinstance(line.record, SourceResolution)
    )


def resolutions_of(lines: Iterable[Line]) -> list[SourceResolution]:
    """Give the resolutions in the order of their lines."""
    return [line.record for line in lines if isinstance(line.record, SourceResolution)]
