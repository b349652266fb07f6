"""What confirms a record that is being written: its source is looked at, and dates it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactctl.durable.records import instant
from compactctl.errors import InvalidTranscriptError
from compactctl.jsonl import exact
from compactctl.pointers import PointerError, TranscriptPointer, parse_source_pointer

if TYPE_CHECKING:
    from compactctl.durable.resolver import SourcePointerResolver

_TIMES = ("recorded_at", "timestamp")
"""Where the formats of sessions say when a record was written."""


def confirmation_time(pointer: str, resolver: SourcePointerResolver, given: str | None) -> str:
    """Return when a source confirms what is to be recorded: ``given``, or the time of its record.

    A source for which the resolver has a root must be available there.

    Raises:
        InvalidTranscriptError: the text is malformed as a pointer, its source is not available, or
            there is no time.

    """
    try:
        parsed = parse_source_pointer(pointer)
    except PointerError as error:
        if error.status == "corrupt":
            raise
        parsed = None  # a scheme of somebody else: kept, though it cannot be looked at
    content = None
    if parsed is not None and resolver.has_root(parsed):
        found, content = resolver.read(pointer)
        if content is None:
            raise InvalidTranscriptError(f"{pointer} is {found.status} ({found.reason})")
    if given is not None:
        return given
    if content is None or not isinstance(parsed, TranscriptPointer):
        raise InvalidTranscriptError(
            "no time of confirmation; give --confirmed-at, or the folder of the transcript that "
            "--source points to as --transcripts"
        )
    return _recorded_at(content, pointer)


def _recorded_at(record: bytes, pointer: str) -> str:
    """Return the time that a record of a transcript gives itself."""
    members = exact.object_or_none(record) or {}
    time = next((members[name] for name in _TIMES if name in members), "")
    try:
        instant(time)
    except (ValueError, TypeError):
        raise InvalidTranscriptError(
            f"{pointer} has no time with a zone; give --confirmed-at"
        ) from None
    return str(time)
