"""JSON as it is found in the field: exact for edits, forgiving for reading, strict for writing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec
import orjson

from compactctl.jsonl import DECODE_ERRORS

_SURROGATE = re.compile("[\ud800-\udfff]")
_SKIP = b" \t\r\n\x00"
BOM = b"\xef\xbb\xbf"


class NotJsonError(ValueError):
    """A text that is not JSON by the standard; the message says why.

    ``torn`` tells a value that merely ends too early from one that is wrong in itself.
    """

    def __init__(self, what: str, *, torn: bool = False) -> None:
        """Keep beside the sentence whether the text only ends too early."""
        super().__init__(what)
        self.torn = torn


class NotUtf8Error(NotJsonError):
    """Bytes that are no text; ``at`` is the index of the first of them."""

    def __init__(self, what: str, at: int) -> None:
        """Keep the place apart, so that whoever knows the file can say where in it."""
        super().__init__(what)
        self.at = at


class ConstantError(NotJsonError):
    """``NaN`` or ``Infinity``, which Python writes and the standard does not know."""


def _refuse_constant(name: str) -> None:
    raise ConstantError(f"{name} is not JSON")


_SAFE_DIGITS = 18
"""Digits that fit into 64 bits whatever they are."""


def _whole_number(digits: str) -> Any:
    """Keep an integer beyond 64 bits as it is spelled: Python may refuse to convert it."""
    return int(digits) if len(digits) <= _SAFE_DIGITS else orjson.Fragment(digits)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_whole_number)
_START = re.compile(r'\{\s*("(?:[^"\\]|\\.)*")')
_OPENING = re.compile(rf"[ \t\0\ufeff]*{_START.pattern}")
_GAP = 8
"""Characters of white space that may stand in front of a value inside a record."""
_EFFORT = 50_000_000
"""Characters that may be gone through in search of a record, if each try went to the end."""
_BETWEEN = re.compile("[ \t\r\n\0\ufeff]*")
_CUT_TOKEN = re.compile(r"t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\.|[eE][+-]?")
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")


def parse(text: bytes) -> Any:
    """Parse one JSON value without losing digits or lone surrogates, for editing.

    msgspec keeps integers of any size; the standard library alone accepts lone surrogates.

    Raises:
        NotJsonError: not UTF-8, not JSON, too deep, or a number too long to hold.

    """
    try:
        return msgspec.json.decode(text)
    except DECODE_ERRORS:
        pass
    values = parse_many(text)
    if len(values) != 1:
        raise NotJsonError(f"{len(values)} values where one was expected")
    return values[0][2]


def object_or_none(text: bytes) -> dict[str, Any] | None:
    """Parse one JSON object; None where there is none."""
    try:
        value = parse(text)
    except NotJsonError:
        return None
    return value if isinstance(value, dict) else None


def parse_many(text: bytes) -> list[tuple[int, int, Any]]:
    """Parse the values that stand one after another in ``text``: (start, end, value) in bytes.

    Raises:
        NotJsonError: as for :func:`parse`.

    """
    values, error = scan(text)
    if error is None:
        return values
    try:
        raise error
    finally:
        del error  # a cycle with its traceback, and millions of lines may be damaged


def scan(text: bytes) -> tuple[list[tuple[int, int, Any]], NotJsonError | None]:
    """Return the values of ``text`` up to the first that cannot be read, and why it cannot.

    NUL runs and a byte order mark around values are skipped: a power loss leaves the first,
    some editors the second.
    """
    try:
        decoded = text.decode()
    except UnicodeDecodeError as error:
        at = error.start
        return [], NotUtf8Error(f"byte {at + 1:,} of the line is not UTF-8", at)
    spans: list[tuple[int, int]] = []
    values: list[Any] = []
    failure: NotJsonError | None = None
    position = _after_gap(decoded, 0)
    while position < len(decoded):
        try:
            value, end = _DECODER.raw_decode(decoded, position)
        except (ValueError, RecursionError) as error:
            failure = _failure(error, decoded)
            break
        spans.append((position, end))
        values.append(value)
        position = _after_gap(decoded, end)
    found = [(*span, value) for span, value in zip(_in_bytes(decoded, spans), values, strict=True)]
    return found, failure


def whole_behind(text: str, knows: Callable[[dict[str, Any]], bool]) -> int | None:
    """Return where a whole record begins behind one that ends too early; None if there is none.

    ``text`` starts with the torn one. What may be a value inside it counts only if it begins as
    the torn record does.
    """
    opening = _OPENING.match(text)
    for tried, found in enumerate(_START.finditer(text, 1)):
        if tried * len(text) > _EFFORT:
            break
        try:
            value, end = _DECODER.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            continue
        at = found.start()
        follows = _after_gap(text, end)
        is_whole = isinstance(value, dict) and text[follows : follows + 1] in {"", "{"}
        may_be_inside = text[max(at - _GAP, 0) : at].rstrip()[-1:] in {":", "[", ","}
        begins_alike = opening is not None and opening[1] == found[1]
        if is_whole and (begins_alike or not may_be_inside) and knows(value):
            return at
    return None


def _after_gap(text: str, position: int) -> int:
    found = _BETWEEN.match(text, position)
    return found.end() if found else position


def _failure(error: Exception, text: str) -> NotJsonError:
    """Return why a value cannot be read, in our own words."""
    if isinstance(error, NotJsonError):
        return error.with_traceback(None)  # which holds on to the text
    if isinstance(error, RecursionError):
        return NotJsonError("nested too deeply to be read")
    if isinstance(error, json.JSONDecodeError):
        what = f"{error.msg.removesuffix(' at')} at character {error.pos + 1:,}"
        return NotJsonError(what, torn=_is_torn(error, text))
    return NotJsonError("a number too long to be read")  # of more digits than Python converts


def _is_torn(error: json.JSONDecodeError, text: str) -> bool:
    """Return True if the parser gave up at the very end, or in a token that the end cuts off."""
    if error.msg.startswith("Unterminated string"):
        return True
    end = len(text.rstrip(" \t\r\n\0"))
    rest = text[error.pos : end]
    if not rest or _CUT_TOKEN.fullmatch(rest) is not None:
        return True
    # A cut escape is reported at different places by different releases of Python.
    return error.msg.startswith("Invalid") and _ends_in_escape(text[:end])


def _ends_in_escape(text: str) -> bool:
    return _CUT_ESCAPE.fullmatch(text, max(text.rfind("\\"), 0)) is not None


def _in_bytes(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Turn character positions into byte positions, each stretch measured once."""
    if text.isascii():
        return spans
    found: list[tuple[int, int]] = []
    byte = done = 0
    for start, end in spans:
        first = byte + len(text[done:start].encode())
        byte = first + len(text[start:end].encode())
        found.append((first, byte))
        done = end
    return found


def without_surrogates(value: Any) -> Any:
    """Return ``value`` with each lone surrogate replaced with U+FFFD, so that it can be encoded."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value


def dump(value: Any) -> bytes:
    """Write compact UTF-8 JSON; lone surrogates leave as the escapes that they came as."""
    try:
        return orjson.dumps(value)
    except (TypeError, ValueError):  # a lone surrogate, or an integer of more than 64 bits
        try:
            return _dump_slowly(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return _dump_slowly(value, ensure_ascii=True).encode()


def as_it_is(text: bytes) -> Any:
    """Return a value that :func:`dump` writes as exactly this JSON."""
    return orjson.Fragment(text)


def _dump_slowly(value: Any, *, ensure_ascii: bool) -> str:
    """Write with the standard library, which knows no fragments: strings hold their places."""
    mark = "number "
    while True:
        numbers: list[str] = []

        def spell(fragment: Any, mark: str = mark, numbers: list[str] = numbers) -> str:
            numbers.append(orjson.dumps(fragment).decode())
            return f"{mark}{len(numbers) - 1}"

        text = json.dumps(value, ensure_ascii=ensure_ascii, separators=(",", ":"), default=spell)
        if text.count(f'"{mark}') == len(numbers):
            break
        mark += "_"  # some text begins like the strings that hold places
    if not numbers:
        return text
    return re.sub(f'"{mark}([0-9]+)"', lambda place: numbers[int(place[1])], text)


def is_blank(line: bytes) -> bool:
    """Return True if a line contains only whitespace, NULs or byte order marks."""
    rest = line.strip(_SKIP)
    if rest.startswith(BOM):
        rest = rest.replace(BOM, b"").strip(_SKIP)
    return not rest
