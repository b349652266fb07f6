"""The durable context as text for the system prompt: the records and nothing of their sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from compactctl.durable.binding import bind_resolutions
from compactctl.durable.records import (
    DurableContextState,
    DurableFact,
    PendingItem,
    RetrievalEvidence,
    SourceResolution,
    instant,
)
from compactctl.text import escape_field

if TYPE_CHECKING:
    from datetime import datetime

SHOWN_DONE_ITEMS = 3
"""Done items that are rendered, the newest by confirmation."""

_HEADER = (
    "Durable context: recorded data kept apart from the conversation. "
    "This is not a conversation summary."
)

Resolutions = Mapping[str, SourceResolution]


def render_durable_context(
    state: DurableContextState, source_resolutions: Iterable[SourceResolution] | None = None
) -> str:
    """Render a header line and up to three sections, one line an item, in state order.

    Values are quoted by :func:`~compactctl.text.escape_field`. An empty state renders
    as "". The text ends without a line end.

    Args:
        state: what to render.
        source_resolutions: the state of each source, exactly one for each distinct pointer; with
            None the sources are named without a state.

    Raises:
        InvalidTranscriptError: the resolutions do not belong to the pointers, or are forged.

    """
    bound = None if source_resolutions is None else bind_resolutions(state, source_resolutions)
    pending, hidden = _shown(state.pending_items)
    count = f" ({hidden} older done not shown)" if hidden else ""
    sections = (
        ("Confirmed facts:", [_fact(fact, bound) for fact in state.facts]),
        (f"Pending work{count}:", [_pending(item, bound) for item in pending]),
        ("Selected retrieval evidence:", [_evidence(item) for item in state.retrieval_evidence]),
    )
    lines = [line for title, items in sections if items for line in (title, *items)]
    return "\n".join((_HEADER, *lines)) if lines else ""


def _shown(items: tuple[PendingItem, ...]) -> tuple[list[PendingItem], int]:
    """Leave out all done items but the newest; of the same time the later in the state is newer."""

    def age(place: int) -> tuple[datetime, int]:
        return instant(items[place].last_confirmed_at), place

    done = sorted((i for i, item in enumerate(items) if item.status == "done"), key=age)
    hidden = set(done[:-SHOWN_DONE_ITEMS])
    return [item for i, item in enumerate(items) if i not in hidden], len(hidden)


def _fact(fact: DurableFact, bound: Resolutions | None) -> str:
    return _line(
        ("fact_id", escape_field(fact.fact_id)),
        ("content", escape_field(fact.content)),
        *_source(fact.source_pointer, bound),
        ("last_confirmed_at", escape_field(fact.last_confirmed_at)),
    )


def _pending(item: PendingItem, bound: Resolutions | None) -> str:
    reason = () if item.reason is None else (("reason", escape_field(item.reason)),)
    return _line(
        ("item_id", escape_field(item.item_id)),
        ("description", escape_field(item.description)),
        ("status", item.status),
        *reason,
        *_source(item.source_pointer, bound),
        ("last_confirmed_at", escape_field(item.last_confirmed_at)),
    )


def _evidence(item: RetrievalEvidence) -> str:
    if item.conflict_key is None:
        conflict = ("conflict", "none")
    else:
        conflict = ("conflict_winner", escape_field(item.conflict_key))
    return _line(
        ("memory_id", escape_field(item.memory_id)),
        ("source_type", escape_field(item.source_type)),
        ("source_id", escape_field(item.source_id)),
        ("source_title", escape_field(item.source_title)),
        ("captured_at", escape_field(item.captured_at)),
        ("score", repr(float(item.score))),
        ("source_rank", str(item.source_rank)),
        conflict,
    )


def _source(pointer: str, bound: Resolutions | None) -> tuple[tuple[str, str], ...]:
    """Name the source and, when it was resolved, its state; never the reason for the state."""
    named = ("source", escape_field(pointer))
    if bound is None:
        return (named,)
    found = bound[pointer]
    if found.evidence_sha256 is None:
        evidence = ("evidence_unavailable", "true")
    else:
        evidence = ("evidence_sha256", found.evidence_sha256.lower())
    return (named, ("source_status", found.status), evidence)


def _line(*fields: tuple[str, str]) -> str:
    return "- " + "; ".join(f"{name}={value}" for name, value in fields)
