"""Source pointers: names of sources that hold no path (grammar: CONTRACT §6 and §11)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Literal

import msgspec

from compactctl.errors import InvalidTranscriptError

if TYPE_CHECKING:
    from compactctl.durable.reasons import Status

# Begins with a letter or digit, so it can be neither "." nor ".." nor look like an option.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", re.ASCII)
# The lowest limit that an interpreter can set on int(); no file has that many records.
_SEQUENCE = re.compile(r"[1-9][0-9]{0,639}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-fA-F]{12}(?:[0-9a-fA-F]{52})?", re.ASCII)


class PointerError(InvalidTranscriptError):
    """A text that is no pointer, with the state and reason code of its resolution."""

    def __init__(self, status: Status, reason: str) -> None:
        """Keep both; the sentence gives the two forms, and not the text, which may be hostile."""
        super().__init__(
            f"source pointer is {status} ({reason}), write transcript:<session>:<sequence> "
            "or artifact:<session>:<filename>:<sha256, 12 or 64 hex>"
        )
        self.status = status
        self.reason = reason


class TranscriptPointer(msgspec.Struct, frozen=True):
    """Names one record of a session's transcript; ``sequence`` counts from 1."""

    source_type: ClassVar[Literal["transcript"]] = "transcript"

    session: str
    sequence: int


class ArtifactPointer(msgspec.Struct, frozen=True):
    """Names a stored tool result; ``digest`` is its sha256 or the start of it, in lower case."""

    source_type: ClassVar[Literal["artifact"]] = "artifact"

    session: str
    filename: str
    digest: str


SourcePointer = TranscriptPointer | ArtifactPointer


def parse_source_pointer(text: str) -> SourcePointer:
    """Read a pointer.

    Raises:
        PointerError: corrupt (``malformed_pointer``) or unsupported (``unsupported_scheme``).
            White space anywhere makes it corrupt, whatever the scheme.

    """
    scheme, colon, rest = text.partition(":")
    if not colon or any(map(str.isspace, text)):
        raise PointerError("corrupt", "malformed_pointer")
    if scheme == "transcript":
        return _transcript(*rest.split(":"))
    if scheme == "artifact":
        return _artifact(*rest.split(":"))
    raise PointerError("unsupported", "unsupported_scheme")


def _transcript(session: str, sequence: str = "", *more: str) -> TranscriptPointer:
    if more or not (_NAME.fullmatch(session) and _SEQUENCE.fullmatch(sequence)):
        raise PointerError("corrupt", "malformed_pointer")
    return TranscriptPointer(session, int(sequence))


def _artifact(session: str, filename: str = "", digest: str = "", *more: str) -> ArtifactPointer:
    names = _NAME.fullmatch(session) and _NAME.fullmatch(filename)
    if more or not (names and _DIGEST.fullmatch(digest)):
        raise PointerError("corrupt", "malformed_pointer")
    return ArtifactPointer(session, filename, digest.lower())
