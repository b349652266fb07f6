"""Recognise the format of a file by its content."""

from __future__ import annotations

from itertools import dropwhile, islice
from typing import TYPE_CHECKING, Any

from compactctl import formats
from compactctl.errors import InputError
from compactctl.formats import documents
from compactctl.jsonl.lines import objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from compactctl.formats.base import Format

_SAMPLE = 200
"""Records looked at, from the first that any format knows."""

_FEW = 30
"""Records that do if one format knows ``_ENOUGH`` of them and no other knows any."""

_ENOUGH = 20


def format_of(lines: Iterable[bytes]) -> Format:
    """Return the format that knows most of the first records.

    Raises:
        InputError: no format knows any of them, or the file is no JSONL.

    """
    document = documents.whole(lines)
    best = _detected(lines) if document is None else None
    if best is not None:
        refuse_foreign(best, lines)
    if best is None:
        raise InputError(_unknown(lines, list(islice(_records(lines), _SAMPLE)), document))
    return best


def refuse_foreign(form: Format, lines: Iterable[bytes]) -> None:
    """Refuse messages that a format without an envelope takes by half, and would lose the rest of.

    Raises:
        InputError: names whose messages they are.

    """
    for record in islice(_records(lines), _SAMPLE if form.bare else 0):
        foreign = documents.foreign_message(record)
        if foreign:
            raise InputError(f"messages of {foreign}, which are not supported")


def _detected(lines: Iterable[bytes]) -> Format | None:
    every = [formats.load(name) for name in formats.names()]
    few = _first_known(every, lines, _FEW)
    scores = _scores(every, few)
    most = max(scores)
    if sum(scores) == most >= _ENOUGH:
        return every[scores.index(most)]
    if len(few) == _FEW:
        scores = _scores(every, _first_known(every, lines, _SAMPLE))
        most = max(scores)
    if not most:
        return None
    best = [each for each, score in zip(every, scores, strict=True) if score == most]
    return _settled(best, lines) if len(best) > 1 else best[0]


def _settled(best: Sequence[Format], lines: Iterable[bytes]) -> Format:
    """Return the first format that claims a line, else the first."""
    return next((each for raw in lines for each in best if each.claims(raw)), best[0])


def _records(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    return (record for record in objects(lines) if not _is_ours(record))


def _first_known(every: Sequence[Format], lines: Iterable[bytes], many: int) -> list[Any]:
    """Return so many records from the first that any format knows: metadata may precede it."""

    def is_unknown(record: dict[str, Any]) -> bool:
        return not any(knows(each, record) for each in every)

    return list(islice(dropwhile(is_unknown, _records(lines)), many))


def _scores(every: Sequence[Format], records: Sequence[dict[str, Any]]) -> list[int]:
    """Count for each format the records that it knows."""
    known = [_knowing(every, record) for record in records]
    return [sum(each in found for found in known) for each in every]


def _knowing(every: Sequence[Format], record: dict[str, Any]) -> list[Format]:
    """Return the formats that know a record; bare ones only where no other does."""
    found = [each for each in every if knows(each, record)]
    return [each for each in found if not each.bare] or found


def knows(each: Format, record: dict[str, Any]) -> bool:
    """Return True if a format recognises a record."""
    try:
        return each.recognises(record)
    except TypeError:  # a list or an object where every format has a word
        return False


def _is_ours(record: dict[str, Any]) -> bool:
    return str(record.get("type", "")).startswith("compactctl.")


def _unknown(lines: Iterable[bytes], records: Sequence[dict[str, Any]], document: Any) -> str:
    """Return why no format fits and what to do."""
    found = document if document is not None else next(iter(records), None)
    advice = documents.advice(found, len(records) if document is None else 1)
    if advice:
        return advice
    first = next((line.strip() for line in lines if line.strip()), b"")
    if document is not None or first == b"{":
        return "a pretty-printed JSON document, not JSONL; one object a line: jq -c . FILE"
    if not records and any(True for _ in objects(lines)):
        return "only compactctl records and no transcript; resolve and render take such a file"
    encoding = documents.utf_16(first)
    if encoding:
        return f"{encoding} text; turn it into UTF-8 with: iconv -f {encoding} -t UTF-8 FILE"
    if not records and documents.is_wrapped(lines):
        return (
            "the records are wrapped over several lines; "
            "put them together with: tr -d '\\r\\n' < FILE | jq -c ."
        )
    if not records:
        return "no line is a JSON object; expected one JSON object a line"
    known = ", ".join(formats.names())
    return f"no known format; known are {known} (choose one with --format)"
