"""The durable records (CONTRACT §6): immutable, and checked wherever they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec

from compactctl.durable.checks import (
    is_number,
    label,
    refuse,
    require_text,
    require_time,
    require_unique,
)
from compactctl.durable.reasons import STATUSES, Status
from compactctl.errors import InvalidTranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterable

PendingStatus = Literal["open", "blocked", "done"]

_PENDING_STATUSES: tuple[PendingStatus, ...] = ("open", "blocked", "done")
# More does not fit the integers of common JSON readers, and no retrieval ranks that many.
_LARGEST_RANK = 2**63 - 1


class DurableFact(msgspec.Struct, frozen=True, tag_field="type", tag="compactctl.fact"):
    """A confirmed fact and where it was confirmed."""

    fact_id: str
    content: str
    source_pointer: str
    last_confirmed_at: str

    def __post_init__(self) -> None:
        """Refuse with InvalidTranscriptError what CONTRACT §6 refuses."""
        require_text(self, "fact_id", "content", "source_pointer", "last_confirmed_at")
        require_time(self, "last_confirmed_at")


class PendingItem(msgspec.Struct, frozen=True, tag_field="type", tag="compactctl.pending_item"):
    """Work that is open, blocked (with the reason) or done."""

    item_id: str
    description: str
    source_pointer: str
    last_confirmed_at: str
    status: PendingStatus = "open"
    reason: str | None = None

    def __post_init__(self) -> None:
        """Refuse with InvalidTranscriptError what CONTRACT §6 refuses."""
        require_text(self, "item_id", "description", "source_pointer", "last_confirmed_at")
        require_time(self, "last_confirmed_at")
        if self.status not in _PENDING_STATUSES:
            refuse(self, "status must be open, blocked or done")
        if self.status == "blocked":
            require_text(self, "reason")
        elif self.reason is not None:
            refuse(self, "only a blocked item has a reason")


class RetrievalEvidence(
    msgspec.Struct, frozen=True, tag_field="type", tag="compactctl.retrieval_evidence"
):
    """Why a memory was selected; ``score`` is 0 to 1, ``source_rank`` counts from 1."""

    memory_id: str
    source_id: str
    source_type: str
    source_title: str
    captured_at: str
    score: float
    source_rank: int
    conflict_key: str | None = None

    def __post_init__(self) -> None:
        """Refuse with InvalidTranscriptError what CONTRACT §6 refuses."""
        require_text(self, "memory_id", "source_id", "source_type", "source_title", "captured_at")
        require_time(self, "captured_at")
        if not (is_number(self.score, int, float) and 0 <= self.score <= 1):
            refuse(self, "score must be a number from 0 to 1")
        if not (is_number(self.source_rank, int) and 1 <= self.source_rank <= _LARGEST_RANK):
            refuse(self, "source_rank must be an integer of at least 1")
        if self.conflict_key is not None:
            require_text(self, "conflict_key")


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
        """Refuse with InvalidTranscriptError a field of the wrong type or an unknown status."""
        if not isinstance(self.source_pointer, str):  # blank is possible: it is corrupt
            refuse(self, "source_pointer must be text")
        if self.status not in STATUSES:
            refuse(self, f"status must be one of {', '.join(STATUSES)}")
        require_text(self, "reason")
        for name in ("source_type", "evidence_sha256"):
            if getattr(self, name) is not None:
                require_text(self, name)


Record = DurableFact | PendingItem | RetrievalEvidence | SourceResolution


class DurableContextState(msgspec.Struct, frozen=True):
    """Everything durable, in the order in which it came; ids are unique within a kind."""

    facts: tuple[DurableFact, ...] = ()
    pending_items: tuple[PendingItem, ...] = ()
    retrieval_evidence: tuple[RetrievalEvidence, ...] = ()

    def __post_init__(self) -> None:
        """Refuse with InvalidTranscriptError anything but tuples of records with unique ids."""
        require_unique("facts", self.facts, DurableFact)
        require_unique("pending_items", self.pending_items, PendingItem)
        require_unique("retrieval_evidence", self.retrieval_evidence, RetrievalEvidence)


_RECORDS: dict[object, type[Record]] = {
    cls.__struct_config__.tag: cls
    for cls in (DurableFact, PendingItem, RetrievalEvidence, SourceResolution)
}


def parse_record(data: dict[str, Any]) -> Record | None:
    """Read a durable record from the JSON object ``data``; None when it is of another type.

    Unknown keys are left aside.

    Raises:
        InvalidTranscriptError: a key is missing, or its value is refused by CONTRACT §6.

    """
    kind = data.get("type")
    cls = _RECORDS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        return None
    fields = cls.__struct_fields__
    for name in fields[: len(fields) - len(cls.__struct_defaults__)]:
        if name not in data:
            named = label(cls, data.get(fields[0]))
            raise InvalidTranscriptError(f"{named}: the key {name} is missing")
    return cls(**{name: data[name] for name in fields if name in data})


def to_json(record: Record) -> dict[str, Any]:
    """Give the record as the JSON object of CONTRACT §6, ``type`` first."""
    return cast("dict[str, Any]", msgspec.to_builtins(record))


def build_state(records: Iterable[Record]) -> DurableContextState:
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
    """Give each distinct pointer of facts, then of pending items, in first-seen order."""
    items: tuple[DurableFact | PendingItem, ...] = (*state.facts, *state.pending_items)
    return tuple(dict.fromkeys(item.source_pointer for item in items))
