"""Check what an opened source holds, without keeping more of it than one bounded record."""

from __future__ import annotations

import codecs
import hashlib
import json
import sys
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, NoReturn

from compactctl.durable.reasons import reason_of
from compactctl.pointers import TranscriptPointer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

MAX_RECORD = 100_000
"""Characters of a transcript record, its line end not counted."""

LONGEST_EXCERPT = 2000
"""Characters of a source that are shown beside its resolution at most."""

_CHUNK = 64 * 1024
# A character has at most four bytes: a line beyond this is too large, whatever it holds.
_MAX_LINE = 4 * MAX_RECORD + len(b"\r\n")
_CONTINUATION = bytes(range(0x80, 0xC0))


class _RefusedError(Exception):
    """A record that is not as it must be; says by its reason code why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


WHOLE = sys.maxsize
"""How many bytes to keep to keep them all."""


def enough_for(characters: int) -> int:
    """Return how many bytes hold so many characters, whatever they are."""
    return 4 * characters


def excerpt(content: bytes, characters: int) -> str:
    """Return the first characters of verified bytes, of which the last may be cut short."""
    return content.decode(errors="ignore")[:characters]


class Verification(NamedTuple):
    """A reason code, and for a verified source the sha256 of its bytes in hex.

    ``content`` is the start of these very bytes, as far as it was asked for.
    """

    reason: str
    sha256: str | None = None
    content: bytes | None = None


def verify_events(
    file: BinaryIO, session: str, sequences: Collection[int], *, keep: int = 0
) -> dict[int, Verification]:
    """Verify the records at ``sequences`` (from 1) in one pass that stops behind the last.

    A record is only as good as all records before it; what comes later does not touch it. Of what
    is verified the first ``keep`` bytes are kept.
    """
    last = max(sequences)
    found: dict[int, Verification] = {}
    stopped_by = "transcript_event_missing"
    try:
        for sequence, record in enumerate(_records(file), 1):
            _check_envelope(_parse(record), session, sequence)
            if sequence in sequences:
                digest = hashlib.sha256(record).hexdigest()
                content = record[:keep] if keep else None
                found[sequence] = Verification("verified_transcript_event", digest, content)
            if sequence == last:
                break
    except _RefusedError as refusal:
        stopped_by = refusal.reason
    except OSError as error:
        stopped_by = reason_of(error)
    return {sequence: found.get(sequence, Verification(stopped_by)) for sequence in sequences}


def verify_artifact(file: BinaryIO, digest: str, *, keep: int = 0) -> Verification:
    """Verify that the file is UTF-8 and that its sha256 starts with ``digest`` (lower case)."""
    sha256 = hashlib.sha256()
    decoder = codecs.getincrementaldecoder("utf-8")()
    kept: list[bytes] = []
    room = keep
    try:
        while chunk := file.read(_CHUNK):
            sha256.update(chunk)
            decoder.decode(chunk)
            if room:
                kept.append(chunk[:room])
                room -= len(kept[-1])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return Verification("artifact_not_utf8")
    except OSError as error:
        return Verification(reason_of(error))
    if not sha256.hexdigest().startswith(digest):
        return Verification("artifact_digest_mismatch")
    content = b"".join(kept) if keep else None
    return Verification("verified_artifact", sha256.hexdigest(), content)


def _records(file: BinaryIO) -> Iterator[bytes]:
    """Yield each record without its line end; only a line feed ends one.

    A carriage return at the end of the file goes too: it is half of a line end, and the hash of
    the record must not change when the other half arrives.
    """
    while line := file.readline(_MAX_LINE + 1):
        record = line.removesuffix(b"\n").removesuffix(b"\r")
        # Every character has one byte that is not a continuation byte.
        if len(line) > _MAX_LINE or (
            len(record) > MAX_RECORD and len(record.translate(None, _CONTINUATION)) > MAX_RECORD
        ):
            raise _RefusedError("transcript_record_too_large")
        yield record


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _parse(record: bytes) -> dict[str, object]:
    try:
        value = _DECODER.decode(record.decode())
    except UnicodeDecodeError:
        raise _RefusedError("source_not_utf8") from None
    except (ValueError, RecursionError):  # no JSON, integers of 4,300 digits, deep nesting
        raise _RefusedError("transcript_invalid_json") from None
    if not isinstance(value, dict):
        raise _RefusedError("transcript_record_not_object")
    return value


def _check_envelope(record: dict[str, object], session: str, sequence: int) -> None:
    """Compare what the record says of its place; what it does not say is taken as right."""
    found = record.get("sequence", sequence)
    if type(found) is not int or found != sequence:  # True and 1.0 equal 1, but are no sequence
        raise _RefusedError("transcript_sequence_mismatch")
    if record.get("session_id", session) != session:
        raise _RefusedError("transcript_session_mismatch")
    event_id = str(TranscriptPointer(session, sequence))
    if record.get("event_id", event_id) != event_id:
        raise _RefusedError("transcript_event_id_mismatch")
