"""What a durable record may hold (CONTRACT §6), one plain sentence for each refusal."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NoReturn

from compactctl.errors import InvalidTranscriptError
from compactctl.text import escape_field

if TYPE_CHECKING:
    import msgspec

_LONGEST_SHOWN_ID = 80


def instant(time: str) -> datetime:
    """Read an ISO-8601 time with zone; the results compare as instants, whatever their zones.

    Raises:
        ValueError: not such a time, or without a zone.

    """
    value = datetime.fromisoformat(time)
    if value.utcoffset() is None:
        raise ValueError("a time without a zone")
    return value


def label(cls: type[msgspec.Struct], identity: object) -> str:
    """Name a record in an error: by its type, and by its id made fit to print."""
    kind = str(cls.__struct_config__.tag)
    if not isinstance(identity, str) or not identity.strip():
        return kind
    return f"{kind} {escape_field(identity[:_LONGEST_SHOWN_ID])}"


def refuse(record: msgspec.Struct, why: str) -> NoReturn:
    """Raise InvalidTranscriptError; the first field of a record is its id."""
    identity = getattr(record, record.__struct_fields__[0])
    raise InvalidTranscriptError(f"{label(type(record), identity)}: {why}")


def require_text(record: msgspec.Struct, *names: str) -> None:
    """Refuse the record unless each named field is text that is not blank."""
    for name in names:
        value = getattr(record, name)
        if not isinstance(value, str) or not value.strip():
            refuse(record, f"{name} must be text that is not blank")


def require_time(record: msgspec.Struct, name: str) -> None:
    """Refuse the record unless the named text is a time with a zone."""
    try:
        instant(getattr(record, name))
    except ValueError:
        refuse(record, f"{name} must be an ISO-8601 time with a zone, as 2025-01-31T12:00:00Z")


def is_number(value: object, *kinds: type) -> bool:
    """Say whether ``value`` is a number; a boolean is none here, though Python counts it as one."""
    return isinstance(value, kinds) and not isinstance(value, bool)


def require_unique(field: str, records: object, cls: type[msgspec.Struct]) -> None:
    """Refuse anything but a tuple of ``cls`` in which no id is repeated."""
    if not isinstance(records, tuple) or not all(isinstance(record, cls) for record in records):
        raise InvalidTranscriptError(f"{field} must be a tuple of {cls.__name__}")
    seen: set[str] = set()
    for record in records:
        identity = getattr(record, cls.__struct_fields__[0])
        if identity in seen:
            raise InvalidTranscriptError(f"{label(cls, identity)}: the id is repeated")
        seen.add(identity)
