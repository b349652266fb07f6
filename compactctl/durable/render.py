"""The durable context as text for the system prompt: the records and nothing of their sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

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
    "This is not a conversation summary; where a summary says otherwise, this holds."
)
_WORDS = frozenset({"status", "source_status", "evidence_sha256", "conflict"})
"""Fields whose values are words of this program's own, which need no quotes."""

Resolutions = Mapping[str, SourceResolution]
Row = dict[str, Any]
"""An item as it is shown: its fields by their names, in order."""


class Shown(msgspec.Struct, frozen=True):
    """What is shown of a state, with the states of its sources."""

    facts: list[Row]
    pending_items: list[Row]
    done_not_shown: int
    retrieval_evidence: list[Row]


def show_state(
    state: DurableContextState, source_resolutions: Iterable[SourceResolution] | None = None
) -> Shown:
    """Return what is rendered of a state, as values: see :func:`render_durable_context`."""
    bound = None if source_resolutions is None else bind_resolutions(state, source_resolutions)
    pending, hidden = _shown(state.pending_items)
    return Shown(
        [_fact(fact, bound) for fact in state.facts],
        [_pending(item, bound) for item in pending],
        hidden,
        [_evidence(item) for item in state.retrieval_evidence],
    )


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
    shown = show_state(state, source_resolutions)
    hidden = shown.done_not_shown
    count = f" ({hidden} older done not shown)" if hidden else ""
    sections = (
        ("Confirmed facts:", shown.facts),
        (f"Pending work{count}:", shown.pending_items),
        ("Selected retrieval evidence:", shown.retrieval_evidence),
    )
    lines = [line for title, rows in sections if rows for line in (title, *map(_line, rows))]
    return "\n".join((_HEADER, *lines)) if lines else ""


def _shown(items: tuple[PendingItem, ...]) -> tuple[list[PendingItem], int]:
    """Leave out all done items but the newest; of the same time the later in the state is newer."""

    def age(place: int) -> tuple[datetime, int]:
        return instant(items[place].last_confirmed_at), place

    done = sorted((i for i, item in enumerate(items) if item.status == "done"), key=age)
    hidden = set(done[:-SHOWN_DONE_ITEMS])
    return [item for i, item in enumerate(items) if i not in hidden], len(hidden)


def _fact(fact: DurableFact, bound: Resolutions | None) -> Row:
    return {
        "fact_id": fact.fact_id,
        "content": fact.content,
        **_source(fact.source_pointer, bound),
        "last_confirmed_at": fact.last_confirmed_at,
    }


def _pending(item: PendingItem, bound: Resolutions | None) -> Row:
    return {
        "item_id": item.item_id,
        "description": item.description,
        "status": item.status,
        **({} if item.reason is None else {"reason": item.reason}),
        **_source(item.source_pointer, bound),
        "last_confirmed_at": item.last_confirmed_at,
    }


def _evidence(item: RetrievalEvidence) -> Row:
    key = item.conflict_key
    return {
        "memory_id": item.memory_id,
        "source_type": item.source_type,
        "source_id": item.source_id,
        "source_title": item.source_title,
        "captured_at": item.captured_at,
        "score": float(item.score),
        "source_rank": item.source_rank,
        **({"conflict": "none"} if key is None else {"conflict_winner": key}),
    }


def _source(pointer: str, bound: Resolutions | None) -> Row:
    """Name the source and, when it was resolved, its state; never the reason for the state."""
    if bound is None:
        return {"source": pointer}
    found = bound[pointer]
    row: Row = {"source": pointer, "source_status": found.status}
    if found.evidence_sha256 is None:
        return row | {"evidence_unavailable": True}
    return row | {"evidence_sha256": found.evidence_sha256.lower()}


def _line(row: Row) -> str:
    return "- " + "; ".join(f"{name}={_value(name, value)}" for name, value in row.items())


def _value(name: str, value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if name in _WORDS else escape_field(value)
    return repr(value)
