"""Freeze retrieval hits as evidence: why each memory was selected, and nothing of what it says.

The hits come from a retrieval that has ranked and chosen. Their order and their values are kept;
nothing is ranked again, and what lost a conflict does not come back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from compactctl.durable.records import RetrievalEvidence, build_state, parse_record
from compactctl.errors import InvalidTranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TAG: Final = "compactctl.retrieval_evidence"
_PROVENANCE: Final = {
    "source_id": "source_id",
    "source_type": "source_type",
    "title": "source_title",
    "captured_at": "captured_at",
}
_RANKS: Final = ("source_rank", "rank")


def capture_retrieval_evidence(hits: Iterable[object]) -> tuple[RetrievalEvidence, ...]:
    """Return the evidence of selected hits, in their order.

    A hit is a mapping or an object with ``memory_id``, ``score``, ``rank`` or ``source_rank``,
    maybe ``conflict_key``, and ``provenance`` with ``source_id``, ``source_type``, ``title`` and
    ``captured_at``. One with ``selected`` false is passed over.

    Raises:
        InvalidTranscriptError: a hit is refused, or two are of one memory.

    """
    evidence = tuple(evidence_of(hit) for hit in hits if is_selected(hit))
    build_state(evidence)  # no memory twice
    return evidence


def evidence_of(hit: object) -> RetrievalEvidence:
    """Return the evidence of one hit.

    Raises:
        InvalidTranscriptError: names all that is missing or refused.

    """
    data: dict[str, Any] = {"type": _TAG}
    provenance = _member(hit, "provenance")
    for name in ("memory_id", "score", "conflict_key"):
        _copy(hit, name, data, name)
    for name, field in _PROVENANCE.items():
        _copy(provenance, name, data, field)
    ranks = [rank for name in _RANKS if (rank := _member(hit, name)) is not None]
    if ranks:
        data["source_rank"] = ranks[0]
    if len(ranks) > 1 and ranks[0] != ranks[1]:
        raise InvalidTranscriptError("a hit with two ranks; give rank or source_rank")
    record = parse_record(data)
    assert isinstance(record, RetrievalEvidence)  # by its tag
    return record


def is_selected(hit: object) -> bool:
    """Return False for a candidate that the retrieval says it did not take."""
    return _member(hit, "selected") is not False


def decision(hits: Sequence[object], query: str | None) -> dict[str, Any]:
    """Return what the retrieval decided, for a trace: ids and conflicts, no text of a memory."""
    conflicts: dict[str, dict[str, list[Any]]] = {}
    taken: list[Any] = []
    left: list[Any] = []
    for hit in hits:
        name, key = _member(hit, "memory_id"), _member(hit, "conflict_key")
        selected = is_selected(hit)
        (taken if selected else left).append(name)
        if isinstance(key, str):
            found = conflicts.setdefault(key, {"won": [], "lost": []})
            found["won" if selected else "lost"].append(name)
    return {"query": query, "taken": taken, "left": left, "conflicts": conflicts}


def _copy(source: object, name: str, data: dict[str, Any], field: str) -> None:
    value = _member(source, name)
    if value is not None:
        data[field] = value


def _member(source: object, name: str) -> Any:
    """Return a member of a hit; None where there is none.

    Retrievals of other programs have classes of their own, whose attributes have these names.
    """
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
