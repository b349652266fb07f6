"""Durable records as lines: find them in a stream or a state file, keep their bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from compactctl.durable.lifecycle import refuse_step
from compactctl.durable.records import (
    DurableContextState,
    DurableRecord,
    PendingItem,
    SourceResolution,
    build_state,
    label,
    parse_record,
    record_id,
    to_json,
)
from compactctl.errors import InvalidTranscriptError
from compactctl.jsonl import exact
from compactctl.jsonl.lines import line_end
from compactctl.model import MADE
from compactctl.transcript import placing
from compactctl.transcript.accounting import Output, account_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compactctl.formats.base import Format

_MENTION = re.compile(
    rb'"type"\s*:\s*"compactctl\.(?:fact|pending_item|retrieval_evidence|source_resolution)"'
)


UNREADABLE = "compactctl.unreadable"
"""The type of what `repair` makes of a line that it cannot read; ``text`` is the line."""


class RecordLine(msgspec.Struct, frozen=True):
    """A record with its bytes, without a line end, and where it stands."""

    raw: bytes
    file: str
    number: int
    record: DurableRecord


def read(lines: Iterable[bytes], file: str, *, strict: bool = False) -> list[RecordLine]:
    """Read the records among lines; any other line is passed over.

    ``strict``: every line that holds something must be a record, as in a state file.

    Raises:
        InvalidTranscriptError: a record is refused, or cannot be read; names file and line.

    """
    found: list[RecordLine] = []
    for number, raw in enumerate(lines, 1):
        try:
            values = _values(raw) if strict or b"compactctl." in raw else []
        except exact.NotJsonError as error:
            _refuse_damaged(raw, str(error), file, number)
            values = []
        records = [(text, _record(value, file, number)) for text, value in values]
        if strict and not exact.is_blank(raw) and not (records and all(r for _, r in records)):
            raise InvalidTranscriptError(
                "not a durable record; expected one JSON object with a compactctl type a line",
                file=file,
                line=number,
            )
        found += [RecordLine(text, file, number, record) for text, record in records if record]
    return found


def _values(raw: bytes) -> list[tuple[bytes, Any]]:
    """Return the JSON values of a line, nearly always one, each with its bytes.

    Raises:
        NotJsonError: not all of the line can be read.

    """
    try:
        return [(raw.removeprefix(exact.BOM).strip(b"\r\n\0"), exact.parse(raw))]
    except exact.NotJsonError:
        return [(raw[start:end], value) for start, end, value in exact.parse_many(raw)]


def _refuse_damaged(text: bytes, why: str, file: str, number: int) -> None:
    """Refuse a damaged line that is a durable record, or holds one: it must not be lost silently.

    What a conversation says of records is no such line: its quotes are escaped.
    """
    if _MENTION.search(text):
        raise InvalidTranscriptError(
            f"a durable record cannot be read: {why}; correct the line or delete it",
            file=file,
            line=number,
        )


def _record(value: Any, file: str, number: int) -> DurableRecord | None:
    if not isinstance(value, dict):
        return None
    if value.get("type") == UNREADABLE:  # what repair could not put together
        text = str(value.get("text")).encode("utf-8", "surrogatepass")
        _refuse_damaged(text, "it was damaged", file, number)
    try:
        return parse_record(value)
    except InvalidTranscriptError as error:
        error.file, error.line = file, number
        raise


def merge(stream: Iterable[RecordLine], state: Iterable[RecordLine]) -> list[RecordLine]:
    """Return the records of ``state`` that the stream does not hold yet, word for word the same.

    Resolutions stay out: what a source was like when the state was saved says nothing of now.
    """
    known = {line.record for line in stream}
    return [line for line in without_resolutions(state) if line.record not in known]


def without_resolutions(lines: Iterable[RecordLine]) -> list[RecordLine]:
    """Return the records that are state."""
    return [line for line in lines if not isinstance(line.record, SourceResolution)]


def state_of(lines: Iterable[RecordLine]) -> DurableContextState:
    """Build the state: each pending item as it is now; resolutions are no part of it.

    Raises:
        InvalidTranscriptError: as :func:`refuse_repeated`.

    """
    seen: dict[tuple[type[DurableRecord], str], RecordLine] = {}
    for line in without_resolutions(lines):
        key = type(line.record), record_id(line.record)
        before = seen.get(key)
        if before is not None:
            refuse_repeated(before, line)
        seen[key] = line  # at the place where the id first came
    return build_state(line.record for line in seen.values())


def refuse_repeated(before: RecordLine, after: RecordLine) -> None:
    """Refuse a record whose id there was before, unless it is the next step of a pending item.

    Raises:
        InvalidTranscriptError: names both places.

    """
    old, new = before.record, after.record
    why = f"{label(type(new), record_id(new))}: the id is repeated"
    if isinstance(old, PendingItem) and isinstance(new, PendingItem):
        try:
            refuse_step(old, new)
        except InvalidTranscriptError as error:
            why = error.what
        else:
            return
    raise InvalidTranscriptError(
        f"{why}; see {before.file}:{before.number}", file=after.file, line=after.number
    )


def resolutions_of(lines: Iterable[RecordLine]) -> list[SourceResolution]:
    """Return the resolutions in the order of their lines."""
    return [line.record for line in lines if isinstance(line.record, SourceResolution)]


def weave(
    lines: Sequence[bytes],
    here: Iterable[RecordLine],
    state: Sequence[RecordLine],
    found: Sequence[SourceResolution],
    form: Format | None = None,
) -> Output:
    """Put records of a state and the resolutions found now at the end of a stream.

    Where the agent of a format would not read it then, they stand inside.

    Resolutions that an earlier run left go, unless they say the same. A torn last line stays the
    last: anywhere else it would be damage.
    """
    left = list(lines)
    old = [line for line in here if isinstance(line.record, SourceResolution)]
    new = [exact.dump(to_json(resolution)) for resolution in found]
    if resolutions_of(old) == list(found):
        new = []
    else:
        for line in old:
            left[line.number - 1] = _without(line.raw, left[line.number - 1])
    origins = [index for index, line in enumerate(left) if line]
    added = [*(line.raw for line in state), *new]
    whole, at = _with_end([line for line in left if line], added)
    origins[at:at] = [MADE] * len(added)
    if form is not None and whole != lines:
        return account_lines(lines, *placing.inside(form, whole, origins))
    return account_lines(lines, whole, origins)


def carry(written: Output, state: Sequence[RecordLine]) -> Output:
    """Put records of a state into lines that are about to be written, in front of the last one.

    A client may take the first line for the head of the file, and the last for where it goes on.
    """
    chunks, origins = list(written.chunks), list(written.origins)
    at = _last_line(chunks)
    if at == 0:
        chunks, at = _with_end(chunks, [line.raw for line in state])
    else:
        newline = line_end(chunks[at - 1])
        chunks[at:at] = [line.raw + newline for line in state]
    origins[at:at] = [MADE] * len(state)
    counts = msgspec.structs.replace(written.counts, added=written.counts.added + len(state))
    return Output(chunks, origins, counts)


def _last_line(chunks: Sequence[bytes]) -> int:
    """Return the index of the chunk that begins the last line that is not blank."""
    at = next((at for at in reversed(range(len(chunks))) if not exact.is_blank(chunks[at])), 0)
    while at > 0 and not chunks[at - 1].endswith(b"\n"):
        at -= 1
    return at


def _without(record: bytes, line: bytes) -> bytes:
    """Remove a record from its line; return b"" if the line held nothing else."""
    rest = line.replace(record, b"", 1)
    return b"" if exact.is_blank(rest) else rest


def _is_whole(line: bytes) -> bool:
    try:
        return bool(_values(line))
    except exact.NotJsonError:
        return False


def _with_end(lines: list[bytes], added: Sequence[bytes]) -> tuple[list[bytes], int]:
    """Put records at the end: (the lines, the index of the first record)."""
    if not added:
        return lines, len(lines)
    newline = b"\r\n" if lines and lines[0].endswith(b"\r\n") else b"\n"
    torn = []
    if lines and not lines[-1].endswith(b"\n"):
        if _is_whole(lines[-1]):
            lines[-1] += newline
        else:
            torn.append(lines.pop())
    return [*lines, *(record + newline for record in added), *torn], len(lines)
