"""A file as a list of entries whose bytes, put together, are the file.

An entry is one record, or one stretch of bytes that holds none. Nearly always it is one line; two
objects glued on one line make two entries. The bytes stay as they are until something changes
the entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec
import orjson

from compactctl.jsonl import DECODE_ERRORS, exact
from compactctl.jsonl.lenient import decode_leniently

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

R = TypeVar("R")

LONGEST = 1 << 28
"""Bytes of a line that is read; a longer one is passed on as it is."""

_WIDEST = 200
"""Characters of a JSON path that are shown: its keys may be anything."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """The bytes of one record with its line end, and the number of its line (from 1)."""

    raw: bytes
    line: int


Knows: TypeAlias = Callable[[dict[str, Any]], bool]
"""Tells a record of the file's format."""

MakeEntry: TypeAlias = Callable[[bytes, int], Entry]
"""Makes an entry of bytes and the number of their line; is called in the order of a file."""


class Fault(msgspec.Struct, frozen=True):
    """Something odd about a line itself, by the id of its rule.

    ``at`` is the index of the byte in the line that it is about, if it is about one.
    ``raised`` says that the rule's graver severity applies.
    """

    rule: str
    line: int
    text: str
    at: int | None = None
    raised: bool = False


def _nothing(_: dict[str, Any]) -> bool:
    return False


def read(
    lines: Iterable[bytes],
    decode: Callable[[bytes], R],
    entries: list[Entry],
    faults: list[Fault],
    make_entry: MakeEntry = Entry,
    knows: Knows = _nothing,
) -> Iterator[tuple[int, R]]:
    """Yield (index of the entry, record) of each JSON object; fill ``entries`` and ``faults``.

    ``decode`` is the fast, typed way and sees nearly every line. What it refuses is looked at
    slowly: a line that no standard JSON reader takes makes an entry without a record. Behind a
    record that was cut off, what is glued onto it is read if the format ``knows`` it.
    """
    add = entries.append
    at = 0
    for number, raw in enumerate(lines, 1):
        if len(raw) > LONGEST:
            faults.append(Fault("FILE-19", number, f"{len(raw):,} bytes"))
            add(make_entry(raw, number))
            at += 1
            continue
        if raw.isascii() or _is_utf8(raw):
            try:
                record = decode(raw)
            except DECODE_ERRORS:
                pass
            else:
                add(make_entry(raw, number))
                yield at, record
                at += 1
                continue
        start = 0
        for end, value in _pieces(raw, number, faults, knows):
            add(make_entry(raw[start:end], number))
            start = end
            if isinstance(value, dict):
                record, complaint = decode_leniently(value, decode)
                if complaint:
                    faults.append(Fault("FILE-17", number, complaint))
                yield len(entries) - 1, record
        at = len(entries)
    _settle_tails(entries, faults)


def _is_utf8(raw: bytes) -> bool:
    """Check what the typed decoder does not: strings that it skips may hold any bytes."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _settle_tails(entries: list[Entry], faults: list[Fault]) -> None:
    """Raise torn lines in the middle, which lost what they held, from FILE-01 to FILE-02."""
    last = next((e.line for e in reversed(entries) if not exact.is_blank(e.raw)), 0)
    for at, fault in enumerate(faults):
        if fault.rule == "FILE-01" and fault.line != last:
            faults[at] = Fault("FILE-02", fault.line, fault.text)


def _pieces(raw: bytes, number: int, faults: list[Fault], knows: Knows) -> list[tuple[int, Any]]:
    """Part an odd line: (end, value) of each JSON value, and None for what cannot be read."""
    if exact.is_blank(raw):
        if b"\0" in raw:
            faults.append(Fault("FILE-04", number, f"{raw.count(0):,} NUL bytes"))
        elif exact.BOM in raw:
            faults.append(Fault("FILE-05", number, ""))
        return [(len(raw), None)]
    if raw.removeprefix(exact.BOM).lstrip().startswith((b"//", b"#")):
        faults.append(Fault("FILE-06", number, ""))
        return [(len(raw), None)]
    pieces: list[tuple[int, Any]] = []
    start = 0
    while start < len(raw):
        found, error = _values(raw[start:], number, faults)
        pieces += [(start + end, value) for end, value in found]
        if error is None:
            pieces[-1] = (len(raw), pieces[-1][1])
            break
        torn = pieces[-1][0] if found else start
        start = _behind(raw, torn, error, knows)
        if start < len(raw):
            what = f"{error}; what stands behind it is read"
            faults.append(Fault("FILE-02", number, what))
        else:
            faults.append(_damage(error, number, read=torn > 0))
        pieces.append((start, None))
    return pieces


def _behind(raw: bytes, torn: int, error: exact.NotJsonError, knows: Knows) -> int:
    """Return where a whole record begins behind a torn one, or else the end of the line."""
    if isinstance(error, exact.NotUtf8Error):
        return len(raw)
    text = raw[torn:].decode()
    found = exact.whole_behind(text, knows)
    return len(raw) if found is None else torn + len(text[:found].encode())


def _values(
    raw: bytes, number: int, faults: list[Fault]
) -> tuple[list[tuple[int, Any]], exact.NotJsonError | None]:
    """Return (end, value) of each JSON value up to the first that is damaged, and the damage."""
    values, error = exact.scan(raw)
    pieces = [(end, value) for _, end, value in values]
    readable = raw if error is None else raw[: pieces[-1][0] if pieces else 0]
    try:
        odd = [*_oddities(readable, number, [value for _, value in pieces])]
        if b"\\u" in readable:  # the only way to half a character
            pieces = [(end, exact.without_surrogates(value)) for end, value in pieces]
    except RecursionError:
        odd, pieces = [], []
        error = exact.NotJsonError("nested too deeply to be read")
    faults.extend(odd)
    return pieces, error


def _damage(error: exact.NotJsonError, number: int, *, read: bool) -> Fault:
    """Return the fault of an unreadable line."""
    what = f"{error}; what stands before it is read" if read else str(error)
    if isinstance(error, exact.NotUtf8Error):
        return Fault("FILE-07", number, what, error.at)
    if isinstance(error, exact.ConstantError):
        return Fault("FILE-08", number, what)
    return Fault("FILE-01" if error.torn else "FILE-02", number, what)


def _oddities(raw: bytes, number: int, values: list[Any]) -> Iterator[Fault]:
    """Name what is odd about a line, or the start of one, that can be read all the same."""
    if len(values) > 1:
        yield Fault("FILE-03", number, f"{len(values)}")
    if b"\0" in raw:
        yield Fault("FILE-04", number, f"{raw.count(0):,} NUL bytes beside a record")
    if raw.lstrip(b" \t\r\n\0").startswith(exact.BOM):
        yield Fault("FILE-05", number, "")
    if any(not isinstance(value, dict) for value in values):
        yield Fault("FILE-10", number, "")
    for value in values if b"\\u" in raw else ():
        path = _surrogate_path(value)
        if path is not None:
            yield Fault("FILE-09", number, f"at {path[:_WIDEST]}")


def _surrogate_path(value: Any, path: str = "$") -> str | None:
    """Return the JSON path of the first string with a lone surrogate, None if there is none."""
    if isinstance(value, str):
        return None if exact.without_surrogates(value) == value else path
    if isinstance(value, dict):
        for key, item in value.items():
            if exact.without_surrogates(key) != key:
                return path
            found = _surrogate_path(item, f"{path}.{key}")
            if found:
                return found
    if isinstance(value, list):
        for at, item in enumerate(value):
            found = _surrogate_path(item, f"{path}[{at}]")
            if found:
                return found
    return None


def line_end(raw: bytes) -> bytes:
    """Return the line end of ``raw``, b"" if it has none."""
    if raw.endswith(b"\r\n"):
        return b"\r\n"
    return b"\n" if raw.endswith(b"\n") else b""


def objects(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Parse the JSON objects among lines, as far as they are asked for: to recognise a format."""
    for raw in lines:
        if len(raw) > LONGEST:
            continue
        try:
            value = orjson.loads(raw)
        except ValueError:
            value = None
            if not exact.is_blank(raw):
                yield from _odd_objects(raw)
        if isinstance(value, dict):
            yield value


def _odd_objects(raw: bytes) -> list[dict[str, Any]]:
    try:
        values = exact.parse_many(raw)
    except exact.NotJsonError:
        return []
    return [value for _, _, value in values if isinstance(value, dict)]
