"""Bind resolutions to the pointers they are about, and refuse what cannot be true."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compactctl.durable.reasons import STATUS_OF
from compactctl.durable.records import DurableContextState, SourceResolution, source_pointers
from compactctl.errors import InvalidTranscriptError
from compactctl.pointers import ArtifactPointer, PointerError, parse_source_pointer
from compactctl.text import escape_field

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_LONGEST_SHOWN_POINTER = 120


def bind_resolutions(
    state: DurableContextState, resolutions: Iterable[SourceResolution]
) -> dict[str, SourceResolution]:
    """Return the resolution of each distinct pointer of the state's facts and pending items.

    Raises:
        InvalidTranscriptError: one is missing, extra or repeated, or forged: its state, reason,
            kind and hash cannot have come about together for this pointer.

    """
    pointers = dict.fromkeys(source_pointers(state))
    bound: dict[str, SourceResolution] = {}
    for resolution in resolutions:
        if not isinstance(resolution, SourceResolution):
            raise InvalidTranscriptError("source resolutions must be SourceResolution records")
        pointer = resolution.source_pointer
        if pointer in bound:
            raise _refused(pointer, "is repeated")
        if pointer not in pointers:
            raise _refused(pointer, "belongs to no durable record")
        if not _is_possible(resolution):
            raise _refused(pointer, "contradicts itself or its pointer, run resolve again")
        bound[pointer] = resolution
    for pointer in pointers:
        if pointer not in bound:
            raise _refused(pointer, "is missing, run resolve again")
    return bound


def _is_possible(resolution: SourceResolution) -> bool:
    """Return True if a resolver could have given this answer."""
    digest = resolution.evidence_sha256
    given = (resolution.status, resolution.reason, resolution.source_type)
    try:
        pointer = parse_source_pointer(resolution.source_pointer)
    except PointerError as error:
        return given == (error.status, error.reason, None) and digest is None
    kind = pointer.source_type
    if given != (STATUS_OF[kind].get(resolution.reason), resolution.reason, kind):
        return False
    if digest is None or resolution.status != "available":
        return digest is None and resolution.status != "available"
    prefix = pointer.digest if isinstance(pointer, ArtifactPointer) else ""
    return bool(_SHA256.fullmatch(digest)) and digest.lower().startswith(prefix)


def _refused(pointer: str, why: str) -> InvalidTranscriptError:
    shown = escape_field(pointer[:_LONGEST_SHOWN_POINTER])
    return InvalidTranscriptError(f"the source resolution of {shown} {why}")
