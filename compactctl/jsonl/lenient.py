"""Read a record whose members are not all of the types that its format has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from compactctl.jsonl import exact

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")

_MISFIT = object()
"""Stands for a value of which nothing fits."""


def decode_leniently(value: dict[str, Any], decode: Callable[[bytes], R]) -> tuple[R, str]:
    """Decode an object whose types ``decode`` may refuse: (record, first complaint or "").

    A member of an unexpected type is left out, as deep inside as possible, so that one odd member
    does not hide the rest. The format's members must all be optional.
    """
    complaint = ""
    try:
        try:
            return decode(exact.dump(value)), complaint
        except msgspec.ValidationError as error:
            complaint = str(error)
            return decode(exact.dump(_fitting(value, (), decode))), complaint
    except (msgspec.DecodeError, RecursionError) as error:
        return decode(b"{}"), complaint or str(error)


def _fitting(value: Any, path: tuple[str | None, ...], decode: Callable[[bytes], R]) -> Any:
    """Return what of ``value`` fits at ``path``: member names, and None for an item of a list."""
    if path and _fits(value, path, decode):
        return value
    if not isinstance(value, dict | list) or not _fits(type(value)(), path, decode):
        return _MISFIT
    if isinstance(value, dict):
        members = {name: _fitting(each, (*path, name), decode) for name, each in value.items()}
        return {name: each for name, each in members.items() if each is not _MISFIT}
    items = [_fitting(each, (*path, None), decode) for each in value]
    # An empty object takes the place of what does not fit: what follows keeps its number.
    numbered = [{} if each is _MISFIT else each for each in items]
    return numbered if _fits(numbered, path, decode) else []


def _fits(value: Any, path: tuple[str | None, ...], decode: Callable[[bytes], R]) -> bool:
    for name in reversed(path):
        value = [value] if name is None else {name: value}
    try:
        decode(exact.dump(value))
    except msgspec.ValidationError:
        return False
    return True
