"""The durable records: immutable, and checked wherever they are made.

Refused are blank ids or texts, an id that is repeated within its kind, a time without a zone, a
score outside 0 to 1, a rank below 1 and a boolean in the place of a number. The error names all
that is wrong with the record. The annotations say the same to readers of the schema.
"""

from __future__ import annotations

from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

import msgspec

from compactctl.durable.reasons import STATUSES, Status
from compactctl.errors import InvalidTranscriptError
from compactctl.text import escape_field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PendingStatus = Literal["open", "blocked", "done"]

_PENDING_STATUSES: tuple[PendingStatus, ...] = ("open", "blocked", "done")
# More does not fit the integers of common JSON readers, and no retrieval ranks that many.
_LARGEST_RANK = 2**63 - 1
_LONGEST_SHOWN_ID = 80
_MISSING: Final[Any] = object()
"""Stands where a key is missing, until the record is refused for it."""

Text = Annotated[str, msgspec.Meta(pattern=r"\S")]
Time = Annotated[
    str,
    msgspec.Meta(
        description="ISO-8601 with a zone, as 2025-01-31T12:00:00Z",
        extra_json_schema={"format": "date-time"},
    ),
]
Pointer = Annotated[
    str,
    msgspec.Meta(
        pattern=r"\S",
        description="transcript:<session>:<sequence> or "
        "artifact:<session>:<filename>:<sha256, 12 or 64 hex>",
    ),
]
Score = Annotated[float, msgspec.Meta(ge=0, le=1)]
Rank = Annotated[int, msgspec.Meta(ge=1, le=_LARGEST_RANK)]
BlockedReason = Annotated[Text | None, msgspec.Meta(description="of a blocked item only")]
ConflictKey = Annotated[
    Text | None, msgspec.Meta(description="names the conflict that this memory won")
]


class DurableFact(msgspec.Struct, frozen=True, tag_field="type", tag="compactctl.fact"):
    """A confirmed fact and where it was confirmed."""

    fact_id: Text
    content: Text
    source_pointer: Pointer
    last_confirmed_at: Time

    def __post_init__(self) -> None:
        """Raise InvalidTranscriptError if a field is refused."""
        _refuse(
            self,
            _not_text(self, "fact_id", "content", "source_pointer"),
            _not_time(self, "last_confirmed_at"),
        )


class PendingItem(msgspec.Struct, frozen=True, tag_field="type", tag="compactctl.pending_item"):
    """Work that is open, blocked (with the reason) or done."""

    item_id: Text
    description: Text
    source_pointer: Pointer
    last_confirmed_at: Time
    status: PendingStatus = "open"
    reason: BlockedReason = None

    def __post_init__(self) -> None:
        """Raise InvalidTranscriptError if a field is refused."""
        _refuse(
            self,
            _not_text(self, "item_id", "description", "source_pointer"),
            _not_time(self, "last_confirmed_at"),
            self._wrong_status(),
        )

    def _wrong_status(self) -> Iterator[str]:
        if self.status not in _PENDING_STATUSES:
            yield "status must be open, blocked or done"
        elif self.status == "blocked":
            yield from _not_text(self, "reason")
        elif self.reason is not None:
            yield "only a blocked item has a reason"


class RetrievalEvidence(
    msgspec.Struct, frozen=True, tag_field="type", tag="compactctl.retrieval_evidence"
):
    """Why a memory was selected; ``score`` is 0 to 1, ``source_rank`` counts from 1."""

    memory_id: Text
    source_id: Text
    source_type: Text
    source_title: Text
    captured_at: Time
    score: Score
    source_rank: Rank
    conflict_key: ConflictKey = None

    def __post_init__(self) -> None:
        """Raise InvalidTranscriptError if a field is refused."""
        optional = () if self.conflict_key is None else ("conflict_key",)
        _refuse(
            self,
            _not_text(self, "memory_id", "source_id", "source_type", "source_title", *optional),
            _not_time(self, "captured_at"),
            self._wrong_numbers(),
        )

    def _wrong_numbers(self) -> Iterator[str]:
        score, rank = self.score, self.source_rank
        if score is not _MISSING and not (_is_number(score, int, float) and 0 <= score <= 1):
            yield "score must be a number from 0 to 1"
        if rank is not _MISSING and not (_is_number(rank, int) and 1 <= rank <= _LARGEST_RANK):
            yield "source_rank must be an integer of at least 1"


class SourceResolution(
    msgspec.Struct, frozen=True, tag_field="type", tag="compactctl.source_resolution"
):
    """What became of one pointer, at the time it was looked up.

    Its fields are checked one by one here; whether they can stand together is checked by who
    relies on them (:func:`compactctl.durable.binding.bind_resolutions`).
    """

    source_pointer: str
    status: Status
    reason: str
    source_type: str | None
    """``transcript`` or ``artifact``; None when the pointer could not be parsed."""
    evidence_sha256: str | None = None

    def __post_init__(self) -> None:
        """Raise InvalidTranscriptError for a field of the wrong type or an unknown status."""
        names = ("source_type", "evidence_sha256")
        optional = (name for name in names if getattr(self, name) is not None)
        _refuse(self, self._wrong_state(), _not_text(self, "reason", *optional))

    def _wrong_state(self) -> Iterator[str]:
        pointer = self.source_pointer
        if pointer is not _MISSING and not isinstance(pointer, str):  # blank is corrupt
            yield "source_pointer must be text"
        if self.status is not _MISSING and self.status not in STATUSES:
            yield f"status must be one of {', '.join(STATUSES)}"


DurableRecord = DurableFact | PendingItem | RetrievalEvidence | SourceResolution


class DurableContextState(msgspec.Struct, frozen=True):
    """Everything durable, in the order in which it came; ids are unique within a kind."""

    facts: tuple[DurableFact, ...] = ()
    pending_items: tuple[PendingItem, ...] = ()
    retrieval_evidence: tuple[RetrievalEvidence, ...] = ()

    def __post_init__(self) -> None:
        """Raise InvalidTranscriptError for anything but tuples of records with unique ids."""
        _require_unique("facts", self.facts, DurableFact)
        _require_unique("pending_items", self.pending_items, PendingItem)
        _require_unique("retrieval_evidence", self.retrieval_evidence, RetrievalEvidence)


_RECORDS: dict[object, type[DurableRecord]] = {
    cls.__struct_config__.tag: cls
    for cls in (DurableFact, PendingItem, RetrievalEvidence, SourceResolution)
}


def parse_record(data: dict[str, Any]) -> DurableRecord | None:
    """Read a durable record from the JSON object ``data``; None when it is of another type.

    Unknown keys are left aside.

    Raises:
        InvalidTranscriptError: a key is missing, or its value is refused; names all of them.

    """
    kind = data.get("type")
    cls = _RECORDS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        return None
    fields = cls.__struct_fields__
    required = fields[: len(fields) - len(cls.__struct_defaults__)]
    values = {name: data[name] for name in fields if name in data}
    return cls(**dict.fromkeys(required, _MISSING) | values)


def record_id(record: DurableRecord) -> str:
    """Return what tells a record from others of its kind: its first field."""
    identity: str = getattr(record, record.__struct_fields__[0])
    return identity


def to_json(record: DurableRecord) -> dict[str, Any]:
    """Return the record as a JSON object, ``type`` first."""
    return cast("dict[str, Any]", msgspec.to_builtins(record))


def build_state(records: Iterable[DurableRecord]) -> DurableContextState:
    """Collect facts, pending items and evidence in their order.

    Source resolutions are left aside: they are observations of sources, not state.

    Raises:
        InvalidTranscriptError: an id is repeated within its kind, also by an identical record.

    """
    kept = tuple(records)
    return DurableContextState(
        tuple(record for record in kept if isinstance(record, DurableFact)),
        tuple(record for record in kept if isinstance(record, PendingItem)),
        tuple(record for record in kept if isinstance(record, RetrievalEvidence)),
    )


def source_pointers(state: DurableContextState) -> tuple[str, ...]:
    """Return each distinct pointer of facts, then of pending items, in first-seen order."""
    items: tuple[DurableFact | PendingItem, ...] = (*state.facts, *state.pending_items)
    return tuple(dict.fromkeys(item.source_pointer for item in items))


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


def _refuse(record: msgspec.Struct, *faults: Iterable[str]) -> None:
    """Raise InvalidTranscriptError if there is any fault; the first field of a record is its id."""
    fields = record.__struct_fields__
    missing = [f"the key {name} is missing" for name in fields if getattr(record, name) is _MISSING]
    found = [*missing, *chain.from_iterable(faults)]
    if found:
        named = label(type(record), getattr(record, fields[0]))
        raise InvalidTranscriptError(f"{named}: {'; '.join(found)}")


def _not_text(record: msgspec.Struct, *names: str) -> Iterator[str]:
    """Say which of the named fields is not text, or blank."""
    for name in names:
        value = getattr(record, name)
        if value is not _MISSING and not (isinstance(value, str) and value.strip()):
            yield f"{name} must be text that is not blank"


def _not_time(record: msgspec.Struct, name: str) -> Iterator[str]:
    """Yield a complaint if the named field is no time with a zone."""
    value = getattr(record, name)
    if value is _MISSING:
        return
    try:
        instant(value)
    except (ValueError, TypeError):
        yield f"{name} must be an ISO-8601 time with a zone, as 2025-01-31T12:00:00Z"


def _is_number(value: object, *kinds: type) -> bool:
    """Return True if ``value`` is a number, which a boolean is not here."""
    return isinstance(value, kinds) and not isinstance(value, bool)


def _require_unique(field: str, records: object, cls: type[msgspec.Struct]) -> None:
    """Refuse anything but a tuple of ``cls`` in which no id is repeated."""
    if not isinstance(records, tuple) or not all(isinstance(record, cls) for record in records):
        raise InvalidTranscriptError(f"{field} must be a tuple of {cls.__name__}")
    seen: set[str] = set()
    for record in records:
        identity = getattr(record, cls.__struct_fields__[0])
        if identity in seen:
            raise InvalidTranscriptError(f"{label(cls, identity)}: the id is repeated")
        seen.add(identity)
