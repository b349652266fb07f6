"""Why a source was found to be in its state: the reason codes and the states they belong to.

One table for who resolves a pointer and for who checks that a resolution was not forged.
"""

from __future__ import annotations

from typing import Final, Literal

Status = Literal["available", "missing", "denied", "corrupt", "unsupported"]
SourceType = Literal["transcript", "artifact"]

STATUSES: Final[tuple[Status, ...]] = (
    "available",
    "missing",
    "denied",
    "corrupt",
    "unsupported",
)

_ANY_SOURCE: Final[dict[str, Status]] = {
    "policy_denied": "denied",
    "ownership_boundary": "denied",
    "filesystem_denied": "denied",
    "source_disappeared": "missing",
    "source_read_failed": "corrupt",
}

STATUS_OF: Final[dict[SourceType, dict[str, Status]]] = {
    "transcript": {
        **_ANY_SOURCE,
        "verified_transcript_event": "available",
        "transcript_missing": "missing",
        "transcript_event_missing": "missing",
        "transcript_not_a_file": "corrupt",
        "transcript_record_too_large": "corrupt",
        "transcript_invalid_json": "corrupt",
        "transcript_record_not_object": "corrupt",
        "transcript_sequence_mismatch": "corrupt",
        "transcript_session_mismatch": "corrupt",
        "transcript_event_id_mismatch": "corrupt",
        "source_not_utf8": "corrupt",
    },
    "artifact": {
        **_ANY_SOURCE,
        "verified_artifact": "available",
        "artifact_missing": "missing",
        "artifact_not_a_file": "corrupt",
        "artifact_not_utf8": "corrupt",
        "artifact_digest_mismatch": "corrupt",
    },
}
"""State by kind of source and reason code (CONTRACT §6), for pointers that could be parsed.

The two reasons of a pointer that could not, ``malformed_pointer`` and ``unsupported_scheme``,
come with :class:`~compactctl.durable.pointers.PointerError`.
"""


class RefusedError(Exception):
    """A source that is not available; says by its reason code why, and never where it lies."""

    def __init__(self, reason: str) -> None:
        """Keep the reason code, a key of :data:`STATUS_OF`."""
        super().__init__(reason)
        self.reason = reason


def reason_of(error: OSError) -> str:
    """Give the reason code of a system error that has no closer explanation."""
    return "filesystem_denied" if isinstance(error, PermissionError) else "source_read_failed"
