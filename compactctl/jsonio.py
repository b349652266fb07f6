"""JSON as it is found in the field: exact for edits, forgiving for reading, strict for writing."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import orjson

_SURROGATE = re.compile("[\ud800-\udfff]")
_SKIP = b" \t\r\n\x00"
BOM = b"\xef\xbb\xbf"


class NotJsonError(ValueError):
    """A text that is not JSON by the standard; the message says why."""


class NotUtf8Error(NotJsonError):
    """Bytes that are no text."""


class ConstantError(NotJsonError):
    """``NaN`` or ``Infinity``, which Python writes and the standard does not know."""


def _refuse_constant(name: str) -> None:
    raise ConstantError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def parse(text: bytes) -> Any:
    """Parse one JSON value without losing digits or lone surrogates, for editing.

    msgspec keeps integers of any size; the standard library alone accepts lone surrogates.

    Raises:
        NotJsonError: not UTF-8, not JSON, too deep, or a number too long to hold.

    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        pass
    values = parse_many(text)
    if len(values) != 1:
        raise NotJsonError(f"{len(values)} values where one was expected")
    return values[0][2]


def parse_many(text: bytes) -> list[tuple[int, int, Any]]:
    """Parse the values that stand one after another in ``text``: (start, end, value) in bytes.

    NUL runs and a byte order mark around values are skipped: a power loss leaves the first,
    some editors the second.

    Raises:
        NotJsonError: as for :func:`parse`.

    """
    try:
        decoded = text.decode()
    except UnicodeDecodeError as error:
        raise NotUtf8Error(f"byte {error.start + 1} of the line is not UTF-8") from None
    values: list[tuple[int, int, Any]] = []
    position = 0
    while True:
        while position < len(decoded) and decoded[position] in " \t\r\n\x00\ufeff":
            position += 1
        if position == len(decoded):
            break
        try:
            value, end = _DECODER.raw_decode(decoded, position)
        except RecursionError:
            raise NotJsonError("nested too deeply to be read") from None
        except NotJsonError:
            raise
        except json.JSONDecodeError as error:
            raise NotJsonError(f"{error.msg} at character {error.pos + 1}") from None
        except ValueError:  # an integer of more digits than Python converts
            raise NotJsonError("a number too long to be read") from None
        values.append((position, end, value))
        position = end
    if decoded.isascii():
        return values
    return [
        (len(decoded[:start].encode()), len(decoded[:end].encode()), value)
        for start, end, value in values
    ]


def without_surrogates(value: Any) -> Any:
    """Copy ``value`` with each lone surrogate replaced by U+FFFD, so that it can be encoded."""
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
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:
            return json.dumps(value, separators=(",", ":")).encode()


def is_blank(line: bytes) -> bool:
    """Say whether a line holds nothing but white space, NULs or a byte order mark."""
    return not line.removeprefix(BOM).strip(_SKIP)
