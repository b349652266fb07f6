"""The life of a pending item: open, blocked, done; each step needs a confirmation of its own.

An item may be blocked or done, and a blocked one opened again or done; done is final. Nothing else
changes a status, a summary that says "done" least of all. A state keeps the record of every step:
the last one of an id is what the item is now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from compactctl.durable.records import PendingItem, PendingStatus, instant, label
from compactctl.errors import InvalidTranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterable

_NEXT: Final[dict[PendingStatus, tuple[PendingStatus, ...]]] = {
    "open": ("blocked", "done"),
    "blocked": ("open", "done"),
    "done": (),
}


def transition_pending_item(
    item: PendingItem,
    status: PendingStatus,
    *,
    last_confirmed_at: str,
    source_pointer: str | None = None,
    reason: str | None = None,
) -> PendingItem:
    """Return the item in its new status; ``item`` itself stays what it is.

    Args:
        item: the item as it is now.
        status: ``blocked``, ``done`` or, for a blocked one, ``open``.
        last_confirmed_at: when this was confirmed, later than the last confirmation.
        source_pointer: where it was confirmed; needed unless the item is opened again.
        reason: why it is blocked.

    Raises:
        InvalidTranscriptError: the item cannot take this step; names all that is wrong with it.

    """
    after = msgspec.structs.replace(
        item,
        status=status,
        reason=reason,
        last_confirmed_at=last_confirmed_at,
        source_pointer=item.source_pointer if source_pointer is None else source_pointer,
    )
    refuse_step(item, after)
    return after


def refuse_step(before: PendingItem, after: PendingItem) -> None:
    """Make sure that ``after`` may follow ``before`` in the life of one item.

    Raises:
        InvalidTranscriptError: names all that is wrong with the step.

    """
    faults = _faults(before, after)
    if faults:
        named = label(PendingItem, after.item_id)
        raise InvalidTranscriptError(f"{named}: {'; '.join(faults)}")


def latest(items: Iterable[PendingItem]) -> tuple[PendingItem, ...]:
    """Return each item as it is now, in the order in which they first came.

    Raises:
        InvalidTranscriptError: an id is repeated by anything but a step in the life of the item.

    """
    found: dict[str, PendingItem] = {}
    for item in items:
        before = found.get(item.item_id)
        if before is not None:
            refuse_step(before, item)
        found[item.item_id] = item
    return tuple(found.values())


def _faults(before: PendingItem, after: PendingItem) -> list[str]:
    if after == before or after.description != before.description:
        return ["the id is repeated"]
    if after.status not in _NEXT[before.status]:
        return [_no_such_step(before, after)]
    faults = []
    if instant(after.last_confirmed_at) <= instant(before.last_confirmed_at):
        faults.append(f"last_confirmed_at must be later than {before.last_confirmed_at}")
    if after.status != "open" and after.source_pointer == before.source_pointer:
        faults.append(f"source_pointer must name where it was confirmed as {after.status}")
    return faults


def _no_such_step(before: PendingItem, after: PendingItem) -> str:
    if before.status == "done":
        return "it is done, which is final; add a new item"
    if before.status == after.status:
        return f"it is {before.status} already"
    return f"it is {before.status} and cannot become {after.status}"
