"""Why a source was found to be in its state: the reason codes and the states they belong to.

One table for who resolves a pointer and for who checks that a resolution was not forged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from compactctl.files.beneath import Why

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
        "manifest_denied": "denied",
        "artifact_missing": "missing",
        "artifact_not_a_file": "corrupt",
        "artifact_not_utf8": "corrupt",
        "artifact_digest_mismatch": "corrupt",
    },
}
"""State by kind of source and reason code, for pointers that could be parsed.

The two reasons of a pointer that could not, ``malformed_pointer`` and ``unsupported_scheme``,
come with :class:`~compactctl.pointers.PointerError`.
"""


def reason_of(error: OSError) -> str:
    """Return the reason code of a system error that has no closer explanation."""
    if isinstance(error, FileNotFoundError):  # an object is only looked for when it is read
        return "source_disappeared"
    return "filesystem_denied" if isinstance(error, PermissionError) else "source_read_failed"


_UNOPENED: Final[dict[Why, str]] = {
    "link": "ownership_boundary",
    "vanished": "source_disappeared",
    "denied": "filesystem_denied",
    "unreadable": "source_read_failed",
}


def reason_unopened(why: Why, kind: SourceType) -> str:
    """Return the reason code of a source of that kind that could not be opened."""
    return _UNOPENED.get(why, f"{kind}_{why}")
