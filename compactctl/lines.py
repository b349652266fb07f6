"""A file as a list of entries whose bytes, put together, are the file.

An entry is one record, or one stretch of bytes that holds none. Nearly always it is one line; two
objects glued on one line make two entries. The bytes stay as they are until something changes
the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec
import orjson

from compactctl import jsonio

R = TypeVar("R")


class Entry(msgspec.Struct, frozen=True, gc=False):
    """The bytes of one record with its line end, and the number of its line (from 1)."""

    raw: bytes
    line: int


class Fault(msgspec.Struct, frozen=True):
    """Something odd about a line itself, by the id of its rule."""

    rule: str
    line: int
    text: str


def read(
    lines: Iterable[bytes],
    decode: Callable[[bytes], R],
    entries: list[Entry],
    faults: list[Fault],
) -> Iterator[tuple[int, R]]:
    """Yield (index of the entry, record) of each JSON object; fill ``entries`` and ``faults``.

    ``decode`` is the fast, typed way and sees nearly every line. What it refuses is looked at
    slowly: a line that no standard JSON reader takes makes an entry without a record.
    """
    for number, raw in enumerate(lines, 1):
        if raw.isascii() or _is_utf8(raw):
            try:
                record = decode(raw)
            except (msgspec.MsgspecError, RecursionError, UnicodeError):
                pass
            else:
                entries.append(Entry(raw, number))
                yield len(entries) - 1, record
                continue
        yield from _read_odd(raw, number, decode, entries, faults)


def _is_utf8(raw: bytes) -> bool:
    """Check what the typed decoder does not: strings that it skips may hold any bytes."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _read_odd(
    raw: bytes,
    number: int,
    decode: Callable[[bytes], R],
    entries: list[Entry],
    faults: list[Fault],
) -> Iterator[tuple[int, R]]:
    """Read a line that the typed decoder refused: odd, glued, damaged, or no JSON at all."""
    pieces = _pieces(raw, number, faults)
    start = 0
    for position, (end, value) in enumerate(pieces):
        stop = len(raw) if position == len(pieces) - 1 else end
        entries.append(Entry(raw[start:stop], number))
        start = stop
        if isinstance(value, dict):
            yield len(entries) - 1, loosen(value, decode)
    if not pieces:
        entries.append(Entry(raw, number))


def _pieces(raw: bytes, number: int, faults: list[Fault]) -> list[tuple[int, Any]]:
    """Give (end, value) of each JSON value on the line; [] when it cannot be read."""
    if jsonio.is_blank(raw):
        if b"\0" in raw:
            faults.append(Fault("FILE-04", number, f"{raw.count(0):,} NUL bytes"))
        return []
    if raw.lstrip().startswith((b"//", b"#")):
        faults.append(Fault("FILE-06", number, "a comment line"))
        return []
    try:
        values = jsonio.parse_many(raw)
    except jsonio.NotJsonError as error:
        faults.append(Fault(_rule_of(raw, error), number, str(error)))
        return []
    faults.extend(_oddities(raw, number, values))
    return [(end, value) for _, end, value in values]


def _rule_of(raw: bytes, error: jsonio.NotJsonError) -> str:
    """Give the rule that an unreadable line breaks; a line end tells a torn middle from a tail."""
    if isinstance(error, jsonio.NotUtf8Error):
        return "FILE-07"
    if isinstance(error, jsonio.ConstantError):
        return "FILE-08"
    return "FILE-02" if raw.endswith(b"\n") else "FILE-01"


def _oddities(raw: bytes, number: int, values: list[tuple[int, int, Any]]) -> Iterator[Fault]:
    """Name what is odd about a line that can be read all the same."""
    if len(values) > 1:
        yield Fault("FILE-03", number, f"{len(values)} JSON values on one line")
    if b"\0" in raw:
        yield Fault("FILE-04", number, f"{raw.count(0):,} NUL bytes beside a record")
    if raw.startswith(jsonio.BOM):
        yield Fault("FILE-05", number, "a byte order mark")
    if any(not isinstance(value, dict) for _, _, value in values):
        yield Fault("FILE-10", number, "JSON, but not an object")
    for _, _, value in values:
        path = _surrogate_path(value)
        if path is not None:
            yield Fault("FILE-09", number, f"a lone surrogate at {path or '$'}")


def _surrogate_path(value: Any, path: str = "$") -> str | None:
    """Give the JSON path of the first string that holds a lone surrogate."""
    if isinstance(value, str):
        return None if jsonio.without_surrogates(value) == value else path
    if isinstance(value, dict):
        for key, item in value.items():
            name = jsonio.without_surrogates(key)
            found = path if name != key else _surrogate_path(item, f"{path}.{name}")
            if found:
                return found
    if isinstance(value, list):
        for index, item in enumerate(value):
            found = _surrogate_path(item, f"{path}[{index}]")
            if found:
                return found
    return None


def loosen(value: dict[str, Any], decode: Callable[[bytes], R]) -> R:
    """Decode an object whose strings or types the typed decoder refused.

    Lone surrogates are replaced. A member of an unexpected type is dropped, at the deepest place
    that makes the record readable, so that one odd member does not hide the rest.
    """
    clean = jsonio.without_surrogates(value)
    while True:
        try:
            return decode(jsonio.dump(clean))
        except msgspec.ValidationError as error:
            if not _drop_at(clean, str(error)):
                return decode(b"{}")
        except (msgspec.DecodeError, RecursionError):
            return decode(b"{}")


def _drop_at(value: Any, complaint: str) -> bool:
    """Delete the member that a msgspec complaint (``… at `$.a[...].b` ``) points to."""
    path = complaint.rpartition("`$")[2].rstrip("`") if "`$" in complaint else ""
    steps = [step for step in path.replace("[", ".[").split(".") if step]
    return bool(steps) and _drop_path(value, steps)


def _drop_path(value: Any, steps: list[str]) -> bool:
    """Follow ``steps``; msgspec writes every list index as ``[...]``, so all items are tried."""
    step, rest = steps[0], steps[1:]
    if step.startswith("["):
        if not isinstance(value, list):
            return False
        if rest:
            return any([_drop_path(item, rest) for item in value])
        kept = [item for item in value if isinstance(item, dict)]
        if len(kept) == len(value):
            kept = []
        value[:] = kept
        return True
    if not isinstance(value, dict) or step not in value:
        return False
    if not rest:
        del value[step]
        return True
    return _drop_path(value[step], rest)


def objects(lines: Iterable[bytes], limit: int) -> list[dict[str, Any]]:
    """Parse the JSON objects among the first lines, at most ``limit``, to recognise a format."""
    found: list[dict[str, Any]] = []
    for raw in lines:
        if len(found) >= limit:
            break
        try:
            value = orjson.loads(raw)
        except ValueError:
            value = None
            if not jsonio.is_blank(raw):
                found.extend(_odd_objects(raw))
        if isinstance(value, dict):
            found.append(value)
    return found


def _odd_objects(raw: bytes) -> list[dict[str, Any]]:
    try:
        values = jsonio.parse_many(raw)
    except jsonio.NotJsonError:
        return []
    return [value for _, _, value in values if isinstance(value, dict)]
