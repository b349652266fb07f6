"""Source pointers: names of sources that hold no path.

``transcript:<session>:<sequence>`` or ``artifact:<session>:<filename>:<digest>``. All that reads or
writes one takes the grammar from here.
"""

from __future__ import annotations

import re
from typing import ClassVar, Literal

import msgspec

from compactctl.errors import InvalidTranscriptError

# Begins with a letter or digit, so it can be neither "." nor ".." nor look like an option.
_NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,199}"
# The lowest limit that an interpreter can set on int(); no file has that many records.
_SEQUENCE = "[1-9][0-9]{0,639}"
_DIGEST = "[0-9a-fA-F]{12}(?:[0-9a-fA-F]{52})?"

ARTIFACT = f"artifact:{_NAME}:{_NAME}:{_DIGEST}"
"""A pattern of an artifact's pointer, without groups."""

_SHOWN_DIGITS = 12
_ARTIFACT = re.compile(f"artifact:({_NAME}):({_NAME}):({_DIGEST})")
_TRANSCRIPT = re.compile(f"transcript:({_NAME}):({_SEQUENCE})")
_WHOLE_NAME = re.compile(_NAME)


class PointerError(InvalidTranscriptError):
    """A text that is no pointer, with the state and reason code of its resolution."""

    def __init__(self, status: Literal["corrupt", "unsupported"], reason: str) -> None:
        """Keep both; the message names the two forms and not the text, which may be hostile."""
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

    def __str__(self) -> str:
        """Return the text that is parsed to this pointer."""
        return f"transcript:{self.session}:{self.sequence}"


class ArtifactPointer(msgspec.Struct, frozen=True):
    """Names a stored tool result; ``digest`` is its sha256 or the start of it, in lower case."""

    source_type: ClassVar[Literal["artifact"]] = "artifact"

    session: str
    filename: str
    digest: str

    def __str__(self) -> str:
        """Return the text that is parsed to this pointer."""
        return f"artifact:{self.session}:{self.filename}:{self.digest}"


SourcePointer = TranscriptPointer | ArtifactPointer


def is_name(text: str) -> bool:
    """Return whether a pointer can hold ``text`` as a session or a filename."""
    return _WHOLE_NAME.fullmatch(text) is not None


def artifact_pointer(session: str, filename: str, sha256: str) -> str:
    """Return the pointer of an artifact, with as much of its hash as one needs."""
    return str(ArtifactPointer(session, filename, sha256[:_SHOWN_DIGITS]))


def parse_source_pointer(text: str) -> SourcePointer:
    """Read a pointer.

    Raises:
        PointerError: corrupt (``malformed_pointer``) or unsupported (``unsupported_scheme``).
            White space anywhere makes it corrupt, whatever the scheme.

    """
    scheme, colon, _ = text.partition(":")
    if not colon or any(map(str.isspace, text)):
        raise PointerError("corrupt", "malformed_pointer")
    if scheme not in ("transcript", "artifact"):
        raise PointerError("unsupported", "unsupported_scheme")
    if found := _TRANSCRIPT.fullmatch(text):
        return TranscriptPointer(found[1], int(found[2]))
    if found := _ARTIFACT.fullmatch(text):
        return ArtifactPointer(found[1], found[2], found[3].lower())
    raise PointerError("corrupt", "malformed_pointer")
